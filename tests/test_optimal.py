"""OptimalTreeClassifier: against exhaustive search, its promises about weights, starts and threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import boscage
from boscage import OptimalTreeClassifier, TopDownTreeClassifier
from boscage.datasets import load_dataset, make_linear_with_errors, make_three_spheres
from boscage.optimal import parse_bytes
from reference_optimal import optimal_objective, tree_objective

ALPHAS = [0.0, 0.001, 0.01, 0.02, 0.05]


def random_problem(seed, most_rows, depth):
    """Rows with ties, duplicates and constant columns; 2 to 4 classes; several kinds of weights."""
    g = np.random.default_rng(seed)
    n, d, k = int(g.integers(2, most_rows)), int(g.integers(1, 4 if depth < 4 else 3)), int(g.integers(2, 5))
    X = g.normal(size=(n, d))
    kind = seed % 3
    if kind == 1:
        X = g.integers(0, [3, 6, 12][seed // 3 % 3], (n, d)).astype(float)
    elif kind == 2:
        X = np.round(X, 1)
    if g.random() < 0.2:
        X[:, 0] = 1.0
    y = np.where(g.random(n) < 0.7, (X[:, -1] > np.median(X[:, -1])) + (X[:, 0] > 0), g.integers(0, k, n)) % k
    kinds = [None, g.integers(1, 4, n).astype(float), g.uniform(0.5, 1.5, n), g.exponential(size=n)]
    weight = kinds[int(g.integers(4))]
    X = X.astype(np.float32) if g.random() < 0.3 else X
    return X, np.unique(y, return_inverse=True)[1], weight, ALPHAS[int(g.integers(len(ALPHAS)))]


def check_against_exhaustive(seed, most_rows, depth):
    X, y, weight, alpha = random_problem(seed, most_rows, depth)
    tree = OptimalTreeClassifier(depth, alpha, time_limit=None).fit(X, y, weight)
    weights = np.ones(len(y)) if weight is None else weight
    best = optimal_objective(X, y, weights, alpha, depth)
    assert tree.status_ == "optimal"
    assert tree.objective_ == pytest.approx(best, abs=1e-9)
    assert tree.gap_ == 0
    assert tree_objective({"leaf": tree.apply(X)}, y, weights, alpha) == pytest.approx(best, abs=1e-9)
    wrong = weights[tree.predict(X) != y].sum() / weights.sum()
    assert wrong + alpha * tree.get_n_leaves() == pytest.approx(best, abs=1e-9)
    tree.tree_.check()


@pytest.mark.parametrize(("depth", "most_rows", "seeds"), [(1, 120, 20), (2, 91, 60), (3, 30, 25), (4, 17, 15)])
def test_equals_exhaustive_search(depth, most_rows, seeds):
    for seed in range(seeds):
        check_against_exhaustive(1000 * depth + seed, most_rows, depth)


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "most_rows"), [(2, 91), (3, 36), (4, 17)])
def test_equals_exhaustive_search_at_length(depth, most_rows):
    for seed in range(400):
        check_against_exhaustive(100_000 * depth + seed, most_rows, depth)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 3))
def test_medium_sizes_with_ties_and_three_classes(seed, depth):
    """Sizes at which bounds between siblings work: n from 30 to 90, three classes, values 0..8."""
    g = np.random.default_rng(seed)
    n = int(g.integers(30, 90 if depth == 2 else 40))
    X = g.integers(0, 9, (n, 2)).astype(float)
    y = np.unique((X[:, 0] > X[:, 1]) + (g.random(n) < 0.3), return_inverse=True)[1]
    weight = g.uniform(0.5, 1.5, n)
    tree = OptimalTreeClassifier(depth, 0.01, time_limit=None).fit(X, y, weight)
    assert tree.objective_ == pytest.approx(optimal_objective(X, y, weight, 0.01, depth), abs=1e-9)


def test_equals_pycontree_on_larger_data():
    pycontree = pytest.importorskip("pycontree")
    for seed in range(6):
        X, y = make_linear_with_errors(250, 3, 2 + seed % 2, 0.15, random_state=seed)
        depth, alpha = 2 + seed % 2, [0.0, 0.002][seed // 2 % 2]
        ours = OptimalTreeClassifier(depth, alpha, time_limit=None).fit(X, y)
        peer = pycontree.ConTree(max_depth=depth, complexity_cost=alpha, time_limit=120)
        peer.fit(X, y)
        theirs = (peer.predict(X) != y).mean() + alpha * peer.get_num_leaf_nodes()
        assert ours.objective_ == pytest.approx(theirs, abs=1e-9)


def same_tree(a, b):
    names = ("children_left", "children_right", "feature", "threshold")
    return all(np.array_equal(getattr(a.tree_, name), getattr(b.tree_, name)) for name in names)


def test_weight_two_is_the_row_twice(rng):
    X, y = make_linear_with_errors(120, 2, 3, 0.3, random_state=0)
    counts = rng.integers(0, 4, len(y))
    weighted = OptimalTreeClassifier(3).fit(X, y, counts)
    repeated = OptimalTreeClassifier(3).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert same_tree(weighted, repeated)
    assert weighted.objective_ == pytest.approx(repeated.objective_, abs=1e-12)
    np.testing.assert_allclose(weighted.tree_.value, repeated.tree_.value)


@pytest.mark.parametrize("factor", [3.0, 0.1, 1e-6, 1e300])
def test_scaling_all_weights_changes_nothing(factor, rng):
    X, y = make_linear_with_errors(150, 2, 2, 0.3, random_state=1)
    for weight in (np.ones(150), rng.integers(1, 5, 150), rng.uniform(0.5, 1.5, 150)):
        plain = OptimalTreeClassifier(3, 0.004).fit(X, y, weight)
        scaled = OptimalTreeClassifier(3, 0.004).fit(X, y, weight * factor)
        assert same_tree(plain, scaled)
        assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-12)


def test_row_order_zero_weights_and_copies_change_nothing(rng):
    X, y = make_linear_with_errors(150, 3, 2, 0.3, random_state=2)
    weight = rng.uniform(0.5, 1.5, 150)
    tree = OptimalTreeClassifier(3).fit(X, y, weight)
    order = rng.permutation(150)
    assert same_tree(tree, OptimalTreeClassifier(3).fit(X[order], y[order], weight[order]))
    more = np.concatenate([X, X + 0.01]), np.concatenate([y, 1 - y]), np.concatenate([weight, np.zeros(150)])
    assert same_tree(tree, OptimalTreeClassifier(3).fit(*more))
    assert same_tree(tree, OptimalTreeClassifier(3).fit(np.asfortranarray(X), y, weight))


def test_threads_and_starts_give_the_same_tree():
    X, y = make_three_spheres(600, random_state=0)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(600) < 0.05, 1 - y, y)
    for weight in (None, rng.uniform(0.5, 1.5, 600)):
        one = OptimalTreeClassifier(4, 0.002, time_limit=None).fit(X, y, weight)
        start = TopDownTreeClassifier(max_depth=4).fit(X, y)
        for tree in (
            OptimalTreeClassifier(4, 0.002, time_limit=None, n_jobs=2),
            OptimalTreeClassifier(4, 0.002, time_limit=None, n_jobs=3),
            OptimalTreeClassifier(4, 0.002, time_limit=None, warm_start_tree=start),
            OptimalTreeClassifier(4, 0.002, time_limit=None, warm_start_tree=one.tree_),
        ):
            assert same_tree(one, tree.fit(X, y, weight))
            assert tree.status_ == "optimal"


def test_never_worse_than_greedy_and_lookahead():
    for name in ("heart", "wine", "iris"):
        data = load_dataset(name)
        X, y = np.asarray(data.X, float), np.asarray(data.y)
        exact = OptimalTreeClassifier(2, 0.005).fit(X, y)
        ahead = OptimalTreeClassifier(2, 0.005, "lookahead").fit(X, y)
        greedy = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
        assert exact.objective_ <= ahead.objective_ + 1e-12
        assert exact.objective_ <= 1 - greedy.score(X, y) + 0.005 * greedy.get_n_leaves() + 1e-12


def test_files_and_text(tmp_path, rng):
    X, y = make_three_spheres(300, random_state=0)
    tree = OptimalTreeClassifier(4).fit(X, np.array(["in", "out"])[y])
    tree.save(tmp_path / "tree.boscage")
    other = boscage.load(tmp_path / "tree.boscage")
    assert isinstance(other, OptimalTreeClassifier)
    np.testing.assert_array_equal(tree.predict(X), other.predict(X))
    assert tree.feature_importances_.sum() == pytest.approx(1)


def test_class_weight_multiplies(rng):
    X, y = make_linear_with_errors(150, 2, 2, 0.3, random_state=1)
    by_class = OptimalTreeClassifier(3, class_weight={0: 2.0, 1: 0.7}).fit(X, y)
    by_row = OptimalTreeClassifier(3).fit(X, y, np.where(y == 0, 2.0, 0.7))
    assert same_tree(by_class, by_row)


def test_a_class_of_no_weight_keeps_its_place():
    X = np.arange(12.0)[:, None]
    tree = OptimalTreeClassifier(2, 0.0).fit(X, np.arange(12) // 4, sample_weight=np.arange(12) >= 4)
    assert tree.classes_.tolist() == [0, 1, 2]
    assert tree.predict_proba(X).shape == (12, 3)
    assert set(tree.predict(X)) == {1, 2}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_depth": -1}, "max_depth=-1"),
        ({"max_depth": 2.5}, "max_depth=2.5"),
        ({"alpha": -0.1}, "alpha=-0.1"),
        ({"alpha": np.nan}, "alpha=nan"),
        ({"method": "magic"}, "'exact' or 'lookahead'"),
        ({"time_limit": -1}, "time_limit=-1"),
        ({"memory_limit": "much"}, "memory_limit='much'"),
        ({"memory_limit": 0}, "memory_limit=0"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    tree = OptimalTreeClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        tree.fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(tree, "tree_")


def test_bad_data_is_refused():
    X, y = np.array([[0.0], [1.0], [2.0]]), [0, 1, 0]
    with pytest.raises(ValueError, match="SimpleImputer"):
        OptimalTreeClassifier().fit(np.array([[np.nan], [1.0], [2.0]]), y)
    for weight in ([1, -1, 1], [1, np.nan, 1], [0, 0, 0]):
        with pytest.raises(ValueError, match="sample_weight"):
            OptimalTreeClassifier().fit(X, y, weight)
    with pytest.raises(TypeError, match="warm_start_tree"):
        OptimalTreeClassifier(warm_start_tree=3).fit(X, y)
    with pytest.raises(ValueError, match="1 columns, X has 2"):
        OptimalTreeClassifier(warm_start_tree=OptimalTreeClassifier().fit(X, y)).fit(np.c_[X, X], y)


def test_bytes_are_read():
    assert parse_bytes(None) > 2**60
    assert parse_bytes("2 GiB") == 2**31
    assert parse_bytes("1.5kb") == 1500


@parametrize_with_checks([OptimalTreeClassifier(), OptimalTreeClassifier(method="lookahead")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
