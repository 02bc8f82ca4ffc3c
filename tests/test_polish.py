import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning

from boscage import IncompatibleParts, Polish, TopDownTreeClassifier, _core, load
from boscage.polish import as_linear, without_empty
from boscage.splits import OC1, LinearTest, ProposingFamily, WeightedOblique
from reference_refine import sigmoid, soft_loss

FEW = settings(derandomize=True, deadline=None, max_examples=25)


def random_shape(rng, splits):
    left, right = [-1], [-1]
    for _ in range(splits):
        leaf = rng.choice([node for node, child in enumerate(left) if child < 0])
        left[leaf], right[leaf] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    return np.array(left, np.int32), np.array(right, np.int32)


def objective(shape, theta, logits, slope, l2, X, y, w, batch=64, threads=1):
    sample = _core.Sample(np.arange(len(y)), y, w)
    call = _core.PolishCall()
    call.batch, call.l2, call.first_slope, call.threads = batch, l2, slope, threads
    point = theta.ravel(), logits.ravel()
    value, by_test, by_leaf = _core.polish_objective(X, shape, sample, call, point, logits.shape[1])
    return value, by_test.reshape(theta.shape), by_leaf.reshape(logits.shape)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, d, k = draw(st.integers(1, 70)), draw(st.integers(1, 20)), draw(st.integers(1, 4))
    shape = random_shape(rng, draw(st.integers(1, 30)))
    inner = int((shape[0] >= 0).sum())
    theta, logits = rng.normal(size=(inner, d + 1)), rng.normal(size=(inner + 1, k))
    w = rng.exponential(size=n) if draw(st.booleans()) else np.ones(n)
    y = rng.integers(0, k, n).astype(np.int32)
    return shape, theta, logits, draw(st.sampled_from([0.5, 2.0])), 0.05, rng.normal(size=(n, d)), y, w


@FEW
@given(problem=problems(), batch=st.sampled_from([1, 7, 32, 1000]))
def test_objective_against_the_reference(problem, batch):
    shape, theta, logits, *rest = problem
    value, _, _ = objective(*problem, batch=batch)
    assert value == pytest.approx(soft_loss(*shape, theta, logits, *rest), rel=1e-10)


@FEW
@given(problem=problems())
def test_gradient_against_finite_differences(problem):
    shape, theta, logits, *rest = problem
    _, by_test, by_leaf = objective(*problem)

    def of_tests(point):
        return objective(shape, point.reshape(theta.shape), logits, *rest)[0]

    def of_leaves(point):
        return objective(shape, theta, point.reshape(logits.shape), *rest)[0]

    np.testing.assert_allclose(by_test.ravel(), approx_fprime(theta.ravel(), of_tests, 1e-7), atol=2e-6)
    np.testing.assert_allclose(by_leaf.ravel(), approx_fprime(logits.ravel(), of_leaves, 1e-7), atol=2e-6)


def test_floats_are_near_doubles_and_threads_give_the_same_bits(rng):
    shape = random_shape(rng, 60)
    X, y = rng.normal(size=(700, 33)), rng.integers(0, 3, 700).astype(np.int32)
    theta, logits = rng.normal(size=(60, 34)) / 6, rng.normal(size=(61, 3))
    rest = (theta, logits, 1.5, 1e-3)
    for dtype in (np.float64, np.float32):
        parts = [objective(shape, *rest, X.astype(dtype), y, np.ones(700), 256, threads) for threads in (1, 3)]
        for one, other in zip(*parts):
            np.testing.assert_array_equal(one, other)
    double = objective(shape, *rest, X, y, np.ones(700))
    for one, other in zip(parts[0], double):
        np.testing.assert_allclose(one, other, atol=1e-6)


def fit(X, y, w=None, *, polish="soft", splits="oblique", seed=0, **parameters):
    parameters = {"max_leaf_nodes": 8, **parameters}
    return TopDownTreeClassifier(splits, polish=polish, random_state=seed, **parameters).fit(X, y, sample_weight=w)


@pytest.fixture
def blobs():
    X, y = make_classification(
        900, 8, n_informative=6, n_redundant=0, n_classes=3, n_clusters_per_class=2, flip_y=0.05, random_state=3
    )
    return X[:600], y[:600], X[600:], y[600:]


def log_loss(tree, X, y):
    return -np.log(np.maximum(tree.predict_proba(X)[np.arange(len(y)), y], 1e-12)).mean()


def test_soft_polish_lowers_the_loss_and_keeps_logistic_routing(blobs):
    X, y, X_test, y_test = blobs
    grown, soft = fit(X, y, polish=None), fit(X, y)
    assert soft.tree_.routing == "logistic"
    assert soft.get_n_leaves() == grown.get_n_leaves() == 8
    assert log_loss(soft, X, y) < log_loss(grown, X, y)
    assert soft.score(X_test, y_test) > grown.score(X_test, y_test)
    soft.tree_.check()


def test_hard_polish_keeps_hard_routing_and_makes_no_more_errors(blobs):
    X, y, _, _ = blobs
    grown, hard = fit(X, y, polish=None), fit(X, y, polish="hard")
    assert hard.tree_.routing == "hard"
    assert hard.tree_.leaf_value is None
    assert hard.tree_ != grown.tree_
    assert hard.score(X, y) > grown.score(X, y)
    hard.tree_.check()
    assert (hard.tree_.weighted_n_node_samples > 0).all()


def test_a_hardened_tree_that_is_worse_is_not_taken(blobs):
    X, y, _, _ = blobs
    grown, hard = (fit(X, y, polish=polish) for polish in (None, Polish("hard", l2=100.0)))
    assert hard.tree_ == grown.tree_


def test_auto_takes_what_errs_least_on_held_out_rows(blobs):
    X, y, _, _ = blobs
    auto = fit(X, y, polish="auto")
    assert auto.tree_ in [fit(X, y, polish=mode).tree_ for mode in (None, "soft", "hard")]
    assert auto.tree_.routing == "logistic"
    # Labels by a hard tree of four leaves: nothing to polish.
    steps = (X[:, 0] > 0) * 1 + (X[:, 1] > 0) * 2
    plain = TopDownTreeClassifier(AxisLike(), polish="auto", random_state=0).fit(X, steps)
    assert plain.tree_.routing == "hard"


class AxisLike(ProposingFamily):
    """Axis tests written as linear ones."""

    def propose(self, node):
        for direction in np.eye(node.X.shape[1]):
            yield [LinearTest(direction)]


def test_counts_of_a_soft_tree_are_sums_of_reach(blobs):
    X, y, _, _ = blobs
    w = np.random.default_rng(0).exponential(size=len(y))
    soft = fit(X, y, w)
    reach = soft.decision_path(X).toarray()
    np.testing.assert_allclose(soft.tree_.weighted_n_node_samples, w @ reach, rtol=1e-6)
    expected = np.stack([(w * (y == c)) @ reach for c in range(3)], 1) / (w @ reach)[:, None]
    np.testing.assert_allclose(soft.tree_.value, expected, atol=1e-6)
    np.testing.assert_allclose(soft.tree_.impurity, (expected * (1 - expected)).sum(axis=1), atol=1e-6)
    assert (soft.trajectory_["potential"] >= 0).all()


def test_polished_tests_route_as_the_formula_says(blobs):
    X, y, X_test, _ = blobs
    tree = fit(X, y, max_leaf_nodes=2).tree_
    right = sigmoid(X_test @ tree.weights[0] - tree.threshold[0])
    expected = (1 - right)[:, None] * tree.leaf_value[0] + right[:, None] * tree.leaf_value[1]
    soft = fit(X, y, max_leaf_nodes=2)
    np.testing.assert_allclose(soft.predict_proba(X_test), expected, atol=1e-12)


@pytest.mark.parametrize("polish", ["soft", "hard", "auto"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_and_memory_order_change_nothing(blobs, polish, dtype):
    X, y, _, _ = blobs
    X = X.astype(dtype)
    polish = Polish(polish, epochs=20, dropout=0.2)
    one = fit(X, y, polish=polish, n_jobs=1)
    assert fit(X, y, polish=polish, n_jobs=3).tree_ == one.tree_
    assert fit(np.asfortranarray(X), y, polish=polish).tree_ == one.tree_
    assert fit(X, y, polish=polish, seed=1).tree_ != one.tree_


@pytest.mark.parametrize("polish", ["soft", "hard"])
def test_weight_is_repetition_and_row_order_does_not_matter(blobs, polish):
    X, y, X_test, _ = blobs
    X, y = X[:200], y[:200]
    rng = np.random.default_rng(1)
    times = rng.integers(0, 4, 200)
    again = rng.permutation(np.repeat(np.arange(200), times))
    polish = Polish(polish, epochs=60)
    weighted = fit(X, y, times.astype(float), polish=polish, max_leaf_nodes=5)
    repeated = fit(X[again], y[again], polish=polish, max_leaf_nodes=5)
    np.testing.assert_allclose(weighted.predict_proba(X_test), repeated.predict_proba(X_test), atol=1e-6)


def test_scale_of_columns_does_not_matter(blobs):
    X, y, X_test, _ = blobs
    scale, shift = np.array([1e-3, 1e3, 1, 7, 0.1, 50, 1, 1]), np.arange(8.0)
    polish = Polish(batch_size=600)  # smaller batches are drawn by the content of rows
    plain, moved = fit(X, y, polish=polish), fit(X * scale + shift, y, polish=polish)
    np.testing.assert_allclose(plain.predict_proba(X_test), moved.predict_proba(X_test * scale + shift), atol=1e-3)


@pytest.mark.parametrize("polish", ["soft", "hard"])
def test_missing_values_and_categories_are_those_of_linear_tests(polish, rng):
    X = rng.normal(size=(300, 3))
    X[:, 2] = rng.integers(0, 5, 300)
    y = ((X[:, 0] + np.array([0, 2, -2, 1, -1])[X[:, 2].astype(int)]) > 0).astype(int)
    X[rng.uniform(size=300) < 0.1, 1] = np.nan
    tree = fit(X, y, polish=polish, categorical_features=[2])
    assert tree.score(X, y) > 0.95
    filled = X.copy()
    filled[np.isnan(X[:, 1]), 1] = tree.tree_.input_map.fill[1]
    np.testing.assert_array_equal(tree.predict_proba(X), tree.predict_proba(filled))


@pytest.mark.parametrize("polish", ["soft", "hard"])
def test_stochastic_trees_dense_and_sparse(polish, blobs):
    X, y, X_test, y_test = blobs
    X, X_test = X.copy(), X_test.copy()
    X[:, 6:] = np.where(X[:, 6:] > 1, X[:, 6:], 0)
    X_test[:, 6:] = np.where(X_test[:, 6:] > 1, X_test[:, 6:], 0)
    grown = fit(X, y, splits="stochastic", polish=None)
    dense = fit(X, y, splits="stochastic", polish=polish)
    rows = fit(sparse.csr_matrix(X), y, splits="stochastic", polish=polish)
    assert dense.score(X_test, y_test) > grown.score(X_test, y_test)
    assert dense.tree_.routing == {"soft": "logistic", "hard": "hard"}[polish]
    np.testing.assert_allclose(rows.predict_proba(X_test), dense.predict_proba(X_test), atol=1e-6)


@pytest.mark.parametrize("splits", ["oc1", "cart_lc", "co2", "hhcart"])
def test_every_oblique_family_can_be_polished(splits):
    X, y = load_iris(return_X_y=True)
    tree = fit(X, y, splits=splits, max_leaf_nodes=4)
    assert tree.score(X, y) > 0.96


def test_axis_tests_among_linear_ones_are_written_as_linear():
    X, y = load_wine(return_X_y=True)
    grown = TopDownTreeClassifier(OC1(time_limit=None), random_state=0).fit(X, y).tree_
    assert (grown.feature >= 0).any()
    tree = as_linear(grown)
    tree.check()
    np.testing.assert_array_equal(
        TopDownTreeClassifier("oc1", random_state=0).fit(X, y).apply(X), tree._native.apply(X, 1)
    )


@FEW
@given(seed=st.integers(0, 10**6), splits=st.integers(1, 12))
def test_empty_branches_are_dropped(seed, splits):
    rng = np.random.default_rng(seed)
    left, right = random_shape(rng, splits)
    inner = np.flatnonzero(left >= 0)
    X = rng.normal(size=(5, 3))
    weights, threshold = rng.normal(size=(len(inner), 3)), np.where(left >= 0, 0.1 * rng.normal(size=len(left)), 0)
    row = np.full(len(left), -1, np.int32)
    row[inner] = np.arange(len(inner))
    tree = hand_made(left, right, row, weights, threshold)
    counts = np.asarray((tree._native.paths(X, 1, None)[1][:, None] == np.arange(len(left))).sum(axis=0), float)
    value = np.column_stack([np.ones(len(left)), np.zeros(len(left))])
    tree = hand_made(left, right, row, weights, threshold, counts, value)
    smaller = without_empty(tree)
    smaller.check()
    assert (smaller.weighted_n_node_samples > 0).all()
    same = [
        tree.weighted_n_node_samples[tree._native.apply(X, 1)],
        smaller.weighted_n_node_samples[smaller._native.apply(X, 1)],
    ]
    np.testing.assert_array_equal(*same)


def hand_made(left, right, row, weights, threshold, counts=None, value=None):
    from boscage.tree import Schema, Tree

    counts = np.ones(len(left)) if counts is None else counts
    return Tree(
        children_left=left,
        children_right=right,
        feature=np.where(left >= 0, -3, -1),
        threshold=threshold,
        value=np.full((len(left), 2), 0.5) if value is None else value,
        n_node_samples=counts.astype(int),
        weighted_n_node_samples=counts,
        impurity=np.zeros(len(left)),
        linear_row=row,
        weights=weights,
        schema=Schema(n_features=3),
    )


@pytest.mark.parametrize("polish", ["soft", "hard"])
def test_files_texts_and_pictures(tmp_path, blobs, polish):
    X, y, X_test, _ = blobs
    tree = fit(X, y, polish=polish)
    tree.save(tmp_path / "tree.boscage")
    again = load(tmp_path / "tree.boscage")
    np.testing.assert_array_equal(again.predict_proba(X_test), tree.predict_proba(X_test))
    assert again.tree_ == tree.tree_
    text = tree.export_text()
    assert ("sigmoid" in text) == (polish == "soft")
    assert tree.to_dict()["routing"] == {"soft": "logistic", "hard": "hard"}[polish]
    assert tree.export_graphviz().startswith("digraph")
    tree.plot()
    assert tree.feature_importances_.sum() == pytest.approx(1)


def test_a_single_leaf_and_a_single_class_stay():
    X, y = load_iris(return_X_y=True)
    assert fit(X, y, max_leaf_nodes=1).tree_.routing == "hard"
    assert fit(X, np.zeros(150)).get_n_leaves() == 1


@pytest.mark.parametrize("mode", ["soft", "hard", "auto"])
def test_axis_tests_are_refused(mode):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(
        IncompatibleParts, match=r"polish=Polish\(.*\) cannot be combined with splits=Axis\(\): it needs tests"
    ):
        TopDownTreeClassifier("axis", polish=mode).fit(X, y)


@pytest.mark.parametrize(
    ("polish", "message"),
    [
        ("warm", r"polish='warm' is not known. Pass None, 'soft', 'hard', 'auto'"),
        (True, r"polish=True is not known"),
        (Polish("warm"), r"Polish.mode='warm' is not allowed. Pass one of 'soft', 'hard', 'auto'"),
        (Polish(epochs=0), r"Polish.epochs=0 is not allowed. Pass an integer >= 1"),
        (Polish(epochs="many"), r"Polish.epochs='many' is not allowed. Pass 'auto' or an integer"),
        (Polish(l2=-1), r"Polish.l2=-1 is not allowed"),
        (Polish(dropout=1), r"Polish.dropout=1 is not allowed. Pass a finite number >= 0 and <= 0.9"),
        (Polish(slope=0), r"Polish.slope=0 is not allowed"),
        (Polish(slope="steep"), r"Polish.slope='steep' is not allowed"),
        (Polish(learning_rate=0), r"Polish.learning_rate=0 is not allowed"),
        (Polish(batch_size=0), r"Polish.batch_size=0 is not allowed"),
        (Polish(time_limit=0), r"Polish.time_limit=0 is not allowed"),
    ],
)
def test_bad_settings_are_refused_by_name(polish, message):
    X, y = load_iris(return_X_y=True)
    tree = TopDownTreeClassifier("wodt", polish=polish)
    with pytest.raises(ValueError, match=message):
        tree.fit(X, y)
    assert not hasattr(tree, "tree_")


def test_a_time_limit_warns_and_leaves_a_sound_tree(blobs):
    X, y, _, _ = blobs
    with pytest.warns(ConvergenceWarning, match=r"Polish: time_limit=0.01 s ended it after \d+ of 100000 epochs"):
        tree = fit(X, y, polish=Polish(epochs=100_000, time_limit=0.01))
    tree.tree_.check()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(X, y, polish=Polish(epochs=2, time_limit=1000))


def test_dropout_guards_against_overfitting(rng):
    X = rng.normal(size=(400, 60))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=400) > 0).astype(int)
    gap = []
    for dropout in (0.0, 0.5):
        tree = fit(X[:200], y[:200], polish=Polish(l2=0.0, dropout=dropout))
        gap.append(log_loss(tree, X[200:], y[200:]) - log_loss(tree, X[:200], y[:200]))
    assert gap[1] < gap[0] / 2


def test_settings_are_parameters(blobs):
    X, y, _, _ = blobs
    tree = TopDownTreeClassifier(WeightedOblique(), polish=Polish(epochs=5), max_leaf_nodes=4, random_state=0)
    assert tree.set_params(polish__l2=0.5).polish == Polish(epochs=5, l2=0.5)
    strong, weak = tree.fit(X, y).tree_.weights, tree.set_params(polish__l2=0.0).fit(X, y).tree_.weights
    assert np.linalg.norm(strong) < np.linalg.norm(weak)
