"""The engine against the slow reference: tests, numbers, order, limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from boscage import StochasticLinear, TopDownTreeClassifier, WeightedOblique
from boscage.base.component import names
from boscage.criteria import Entropy, Gini, ModifiedGini, Separation, Sqrt
from reference_grow import check_grown

CRITERIA = [Gini(), Entropy(), Sqrt(), ModifiedGini(C=2.5), Separation()]
ORDERS = ["best_first", "heaviest_first", "depth_first"]


@st.composite
def problems(draw, missing=False, categories=False):
    """Small data with many ties, real or integer weights, missing values, categories."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, d, k = draw(st.integers(2, 30)), draw(st.integers(1, 3)), draw(st.integers(2, 4))
    X = rng.integers(0, draw(st.integers(2, 12)), (n, d)).astype(draw(st.sampled_from([np.float32, np.float64])))
    if draw(st.booleans()):
        X = (X + rng.normal(size=X.shape)).astype(X.dtype)
    categorical = []
    if categories:
        X[:, 0] = rng.integers(0, 5, n)
        categorical = [0]
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, k, n)
    weights = draw(st.sampled_from(["none", "integer", "real"]))
    w = {"none": None, "integer": rng.integers(0, 4, n).astype(float), "real": rng.exponential(size=n)}[weights]
    if w is not None and len(np.unique(y[w > 0])) == 0:
        w = None
    return X, y, w, categorical


def fitted(problem, **parameters):
    X, y, w, categorical = problem
    tree = TopDownTreeClassifier(categorical_features=categorical or None, **parameters).fit(X, y, sample_weight=w)
    coded = np.searchsorted(tree.classes_, y)
    X = X.astype(np.float64)
    for j in categorical:  # the reference sees codes, as the engine does
        names = list(tree.tree_.schema.categories[j])
        X[:, j] = [names.index(v) if v in names else np.nan for v in X[:, j]]
    return tree.tree_, X, coded, w


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda c: type(c).__name__)
@settings(derandomize=True, deadline=None, max_examples=40)
@given(problem=problems())
def test_every_test_is_the_best_of_all(criterion, problem):
    tree, X, y, w = fitted(problem, criterion=criterion)
    check_grown(tree, X, y, w, criterion)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(problem=problems(missing=True), order=st.sampled_from(ORDERS))
def test_missing_values_go_to_the_better_side(problem, order):
    tree, X, y, w = fitted(problem, growth=order)
    check_grown(tree, X, y, w, Gini(), order)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(problem=problems(missing=True, categories=True).filter(lambda p: len(np.unique(p[1])) == 2))
def test_category_sets_are_the_best_subsets_for_two_classes(problem):
    tree, X, y, w = fitted(problem, criterion="entropy")
    check_grown(tree, X, y, w, Entropy())


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    problem=problems(missing=True),
    order=st.sampled_from(ORDERS[:2]),
    leaves=st.one_of(st.none(), st.integers(1, 8)),
    depth=st.one_of(st.none(), st.integers(1, 4)),
    rows=st.integers(1, 4),
    split=st.integers(2, 10),
)
def test_limits_hold_and_stop_nothing_else(problem, order, leaves, depth, rows, split):
    limits = {"max_leaf_nodes": leaves, "max_depth": depth, "min_samples_leaf": rows, "min_samples_split": split}
    tree, X, y, w = fitted(problem, growth=order, **limits)
    check_grown(tree, X, y, w, Gini(), order, split, max_leaf_nodes=leaves, max_depth=depth, min_rows=rows)
    assert tree.n_node_samples[tree.is_leaf].min() >= min(rows, tree.n_node_samples[0])


@pytest.mark.parametrize("splits", names("splits"))
@pytest.mark.parametrize("limit", [40, 0.25, np.float32(0.25)], ids=str)
def test_no_family_splits_a_node_of_too_few_rows(splits, limit, rng):
    """160 rows: a fraction is rounded up. The default is the tree without a limit, to the byte."""
    X, y = rng.normal(size=(160, 3)), rng.integers(0, 2, 160)
    free, default, tree = (
        TopDownTreeClassifier(splits, max_leaf_nodes=60, random_state=0, **limits).fit(X, y).tree_
        for limits in ({}, {"min_samples_split": 2}, {"min_samples_split": limit})
    )
    assert default.threshold.tobytes() == free.threshold.tobytes()
    assert tree.n_node_samples[~tree.is_leaf].min() >= 40
    if tree.routing == "hard":
        assert free.n_node_samples[~free.is_leaf].min() < 40
    nothing = TopDownTreeClassifier(splits, min_samples_split=161).fit(X, y)
    assert nothing.get_n_leaves() == 1


def test_three_tests_at_once_keep_the_limit_of_rows(rng):
    """The children of a look-ahead are split with their parent: they need the rows of a split too."""
    X = rng.uniform(-1, 1, size=(400, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    for splits in (WeightedOblique(lookahead=True), StochasticLinear(lookahead=True)):
        for limit in (2, 150, 220, 300):
            tree = TopDownTreeClassifier(splits, max_leaf_nodes=8, min_samples_split=limit, random_state=0).fit(X, y)
            assert tree.tree_.n_node_samples[~tree.tree_.is_leaf].min(initial=400) >= limit


def test_min_samples_split_counts_as_scikit_learn_does(rng):
    X, y = rng.normal(size=(101, 2)), rng.integers(0, 2, 101)
    for limit in (2, 7, 0.011, 0.1, 1.0):
        ours = TopDownTreeClassifier(min_samples_split=limit).fit(X, y)
        theirs = DecisionTreeClassifier(min_samples_split=limit, random_state=0).fit(X, y)
        assert ours.tree_.n_node_samples[~ours.tree_.is_leaf].min() >= np.ceil(limit * 101 if limit <= 1 else limit)
        assert (ours.tree_.n_node_samples[0], ours.get_n_leaves() > 1) == (101, theirs.get_n_leaves() > 1)


@pytest.mark.parametrize("value", [1, 0, 0.0, 1.01, "many", True, None, np.nan])
def test_wrong_min_samples_split(value):
    with pytest.raises(ValueError, match=r"min_samples_split=.* Pass an integer >= 2 or a fraction in \(0, 1\]"):
        TopDownTreeClassifier(min_samples_split=value).fit([[0.0], [1.0]], [0, 1])


def test_log_loss_is_another_name_of_entropy(rng):
    X, y = rng.normal(size=(90, 3)), rng.integers(0, 3, 90)
    tree, other = (TopDownTreeClassifier(criterion=name).fit(X, y) for name in ("log_loss", "entropy"))
    assert tree.get_params()["criterion"] == "log_loss"
    assert tree.tree_.threshold.tobytes() == other.tree_.threshold.tobytes()
    assert tree.tree_.impurity.tobytes() == other.tree_.impurity.tobytes()


def test_weight_of_leaves_has_its_limit(rng):
    X, y, w = rng.normal(size=(200, 3)), rng.integers(0, 3, 200), rng.exponential(size=200)
    tree = TopDownTreeClassifier(min_weight_fraction_leaf=0.07).fit(X, y, sample_weight=w).tree_
    assert tree.node_count > 3
    assert tree.weighted_n_node_samples[tree.is_leaf].min() >= 0.07 * w.sum() * (1 - 1e-12)
    check_grown(tree, X, y, w, Gini(), min_weight=0.07 * w.sum())


def test_small_drops_are_refused(rng):
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    tree = TopDownTreeClassifier(min_impurity_decrease=0.003).fit(X, y).tree_
    share = tree.weighted_n_node_samples / 300 * tree.impurity
    inner = np.flatnonzero(~tree.is_leaf)
    drops = share[inner] - share[tree.children_left[inner]] - share[tree.children_right[inner]]
    assert len(inner) >= 1
    assert drops.min() >= 0.003 - 1e-15
    assert tree.node_count < TopDownTreeClassifier().fit(X, y).tree_.node_count


def test_xor_needs_a_cut_without_gain():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
    tree = TopDownTreeClassifier().fit(X, [0, 1, 1, 0])
    assert tree.score(X, [0, 1, 1, 0]) == 1
    assert tree.tree_.feature[0] == 0  # the first column, as nothing is better
    assert tree.get_n_leaves() == 4


def test_equal_rows_of_different_classes_stay_together():
    tree = TopDownTreeClassifier().fit(np.ones((6, 2)), [0, 1, 0, 1, 1, 1])
    assert tree.get_n_leaves() == 1
    np.testing.assert_allclose(tree.predict_proba([[1.0, 1.0]]), [[2 / 6, 4 / 6]])


def test_ties_go_to_the_first_column_and_the_smallest_threshold():
    X = np.array([[0, 0], [1, 1], [2, 2], [3, 3]], float)
    tree = TopDownTreeClassifier(max_leaf_nodes=2).fit(X, [0, 1, 1, 0]).tree_
    assert (tree.feature[0], tree.threshold[0]) == (0, 0.5)


def test_thresholds_lie_between_neighbours_in_the_type_of_x():
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2))
    X = np.array([[low], [high]], np.float32)
    tree = TopDownTreeClassifier().fit(X, [0, 1])
    assert tree.tree_.threshold[0] == low
    assert tree.score(X, [0, 1]) == 1
    huge = np.array([[-1.7e308], [1.7e308]])
    assert TopDownTreeClassifier().fit(huge, [0, 1]).score(huge, [0, 1]) == 1


def test_trajectory_follows_the_tree(rng):
    X, y = rng.normal(size=(120, 4)), rng.integers(0, 3, 120)
    for criterion in CRITERIA:
        tree = TopDownTreeClassifier(criterion=criterion, max_leaf_nodes=12).fit(X, y)
        steps = tree.trajectory_
        assert len(steps) == tree.get_n_leaves()
        assert steps["node"][0] == -1
        smaller = TopDownTreeClassifier(criterion=criterion, max_leaf_nodes=7).fit(X, y)
        share = smaller.tree_.weighted_n_node_samples / 120
        leaf = smaller.tree_.is_leaf
        potential = (share * smaller.tree_.impurity)[leaf].sum() / criterion.unit
        np.testing.assert_allclose(steps["potential"][6], potential, atol=1e-12)
        np.testing.assert_allclose(steps["error"][6], 1 - smaller.score(X, y), atol=1e-12)
        assert np.all(np.diff(steps["potential"]) <= 1e-12)


def test_two_equal_classes_have_potential_one():
    for criterion in CRITERIA:
        tree = TopDownTreeClassifier(criterion=criterion).fit([[0.0], [1.0]], [0, 1])
        np.testing.assert_allclose(tree.trajectory_["potential"], [1, 0], atol=1e-12)


def test_bins_keep_the_tree_where_values_are_few(rng):
    from boscage import Axis

    X, y = rng.integers(0, 30, (500, 4)).astype(float), rng.integers(0, 3, 500)
    exact = TopDownTreeClassifier(max_leaf_nodes=40).fit(X, y)
    assert TopDownTreeClassifier(splits=Axis(max_bins=64), max_leaf_nodes=40).fit(X, y).tree_ == exact.tree_
    coarse = TopDownTreeClassifier(splits=Axis(max_bins=4)).fit(X, y).tree_
    for j in range(4):
        assert len(np.unique(coarse.threshold[coarse.feature == j])) <= 3


def test_columns_of_many_values_and_of_few_agree(rng):
    """Sorted and counted columns are two ways to the same tree: 300 rows of few values, then the same values spread."""
    X, y = rng.integers(0, 100, (2000, 3)).astype(float), rng.integers(0, 4, 2000)
    X[rng.random(X.shape) < 0.05] = np.nan
    counted = TopDownTreeClassifier(max_leaf_nodes=60).fit(X, y).tree_
    # An extra value per row beyond all others, in rows of weight almost nothing, makes the column one of many values.
    extra = np.column_stack([1000.0 + np.arange(600)] * 3)
    sorted_ = TopDownTreeClassifier(max_leaf_nodes=60).fit(
        np.vstack([X, extra]),
        np.concatenate([y, np.zeros(600, int)]),
        sample_weight=np.r_[np.ones(2000), np.full(600, 1e-13)],
    )
    np.testing.assert_array_equal(sorted_.tree_.feature, counted.feature)
    np.testing.assert_array_equal(sorted_.tree_.threshold, counted.threshold)


def test_a_function_of_your_own_is_a_criterion(rng):
    X, y = rng.normal(size=(300, 4)), rng.choice(["no", "yes"], 300)
    own = TopDownTreeClassifier(criterion=lambda q: 4 * q * (1 - q), max_leaf_nodes=20).fit(X, y)
    gini = TopDownTreeClassifier(criterion="gini", max_leaf_nodes=20).fit(X, y)
    np.testing.assert_array_equal(own.tree_.feature, gini.tree_.feature)
    np.testing.assert_array_equal(own.tree_.threshold, gini.tree_.threshold)
    np.testing.assert_allclose(own.trajectory_["potential"], gini.trajectory_["potential"], atol=1e-9)
    with pytest.raises(ValueError, match="concave"):
        TopDownTreeClassifier(criterion=lambda q: (4 * q * (1 - q)) ** 2).fit(X, y)
