"""Stochastic linear trees as a user meets them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import boscage
import reference_stochastic as reference
from boscage import IncompatibleParts, StochasticLinear, TopDownTreeClassifier
from boscage.criteria import Entropy, Gini
from boscage.splits.stochastic import solve_split
from test_interrupt import interrupted_after
from test_stochastic_solve import solve, unit

SETTINGS = settings(derandomize=True, deadline=None, max_examples=25)


@st.composite
def data(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, d, K = draw(st.integers(5, 80)), draw(st.integers(1, 5)), draw(st.integers(2, 4))
    X = rng.normal(size=(n, d)) * rng.exponential(size=d) + 3 * rng.normal(size=d)
    y = np.minimum((X[:, 0] > X[:, 0].mean()) + rng.integers(0, K, n), K - 1)
    return X, y, rng.exponential(size=n), rng


def fit(X, y, w=None, *, leaves=8, **parameters):
    names = StochasticLinear().get_params()
    family = StochasticLinear(**{k: parameters.pop(k) for k in list(parameters) if k in names})
    return TopDownTreeClassifier(splits=family, max_leaf_nodes=leaves, **parameters).fit(X, y, sample_weight=w)


def xor(n, d, rng):
    X = unit(rng.normal(size=(n, d)))
    other = np.where(np.arange(d) < d // 2, -1, 1)
    return X, ((X.sum(axis=1) > 0) ^ (X @ other > 0)).astype(int)


@SETTINGS
@given(
    data(), st.sampled_from([Gini(), Entropy()]), st.sampled_from(["standard", "unit"]), st.sampled_from([None, 0.5])
)
def test_growth_is_that_of_the_reference(problem, criterion, scale, constant):
    X, y, w, _ = problem
    settings = {"scale": scale, "fit_intercept": constant is not None, "intercept_scaling": constant or 1.0}
    tree = fit(X, y, w, criterion=criterion, **settings)
    labels = np.searchsorted(tree.classes_, y)
    K = len(tree.classes_)

    def best_test(W, B):
        found = solve(W, B, criterion)
        return found if len(found) else None

    Z = reference.seen_rows(X, w, scale, constant)
    nodes = reference.grow(Z, labels, w, K, criterion, best_test, 8)
    tree.tree_.check()
    assert tree.tree_.node_count == len(nodes)
    # Rows that hardly reach a node are dropped from it: at most 1e-9 of its weight at each level.
    np.testing.assert_allclose(tree.predict_proba(X), reference.predict_proba(nodes, Z), atol=1e-8)
    np.testing.assert_allclose(tree.tree_.value, [node["value"] for node in nodes], atol=1e-8)
    np.testing.assert_allclose(tree.tree_.weighted_n_node_samples, [node["weight"] for node in nodes], rtol=1e-8)


def test_the_potential_falls_with_every_split_even_where_leaves_are_nearly_pure():
    """The square root sees a share of 1e-6; the sums must not lose it."""
    angle = np.linspace(0, 2 * np.pi, 500, endpoint=False)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X = X[np.abs(X[:, 0]) >= 0.3]
    y = X[:, 0] > 0
    tree = fit(X, y, leaves=400, criterion="sqrt", scale=False, fit_intercept=False)
    potential = tree.trajectory_["potential"]
    assert (np.diff(potential) < 0).all()
    reach = tree.decision_path(X).toarray()[:, tree.tree_.leaves]
    ones, zeros = reach[y].sum(axis=0), reach[~y].sum(axis=0)
    assert potential[-1] == pytest.approx(2 * np.sqrt(ones * zeros).sum() / len(y), rel=1e-5)


@SETTINGS
@given(data())
def test_weights_are_repetitions(problem):
    X, y, _, rng = problem
    w = rng.integers(1, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), w)
    weighted, copied = fit(X, y, w), fit(X[repeated], y[repeated])
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-7)


@SETTINGS
@given(data())
def test_zero_weights_row_order_and_scales(problem):
    X, y, w, rng = problem
    plain = fit(X, y, w).predict_proba(X)
    junk = np.vstack([X, 1e6 * rng.normal(size=(3, X.shape[1]))])
    with_junk = fit(junk, np.append(y, y[:3]), np.append(w, np.zeros(3)))
    np.testing.assert_array_equal(with_junk.predict_proba(X), plain)
    order = rng.permutation(len(y))
    np.testing.assert_allclose(fit(X[order], y[order], w[order]).predict_proba(X), plain, atol=1e-10)
    factor = 2.0 ** rng.integers(-20, 20, X.shape[1])
    np.testing.assert_allclose(fit(X * factor, y, w).predict_proba(X * factor), plain, atol=1e-12)
    np.testing.assert_allclose(fit(X, y, 7.3 * w).predict_proba(X), plain, atol=1e-10)


@pytest.mark.parametrize("parameters", [{}, {"criterion": "entropy"}, {"lookahead": True}, {"scale": "unit"}])
def test_threads_and_memory_layout_change_no_byte(parameters, rng):
    X = rng.normal(size=(13_000, 7)) + 2
    y = ((X[:, 0] - 2) * (X[:, 1] - 2) > 0) + rng.integers(0, 2, 13_000)
    w = rng.exponential(size=13_000)
    one = fit(X, y, w, leaves=12, **parameters).tree_
    for n_jobs in (2, 5):
        assert fit(X, y, w, leaves=12, n_jobs=n_jobs, **parameters).tree_ == one
    assert fit(np.asfortranarray(X), y, w, leaves=12, **parameters).tree_ == one
    assert fit(np.repeat(X, 2, axis=1)[:, ::2], y, w, leaves=12, **parameters).tree_ == one


@pytest.mark.parametrize("scale", ["standard", "unit"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_give_the_dense_tree(scale, dtype, rng):
    X = (rng.normal(size=(5000, 12)) * (rng.random((5000, 12)) < 0.2)).astype(dtype)
    X[:, 3] = 0
    X[:, 4] = 2
    y = (X[:, 0] + X[:, 1] > 0.1) + rng.integers(0, 2, 5000)
    dense = fit(X, y, leaves=12, scale=scale)
    for make in (sparse.csr_matrix, sparse.csr_array):
        rows = make(X)
        tree = fit(rows, y, leaves=12, scale=scale)
        np.testing.assert_allclose(tree.predict_proba(rows), dense.predict_proba(X), atol=1e-9)
        np.testing.assert_allclose(tree.predict_proba(X), dense.predict_proba(X), atol=1e-9)


def test_float32_rows_stay_float32(rng):
    X = rng.normal(size=(2000, 6)).astype(np.float32)
    y = (X[:, 0] > X[:, 1]).astype(int)
    tree = fit(X, y)
    assert tree.tree_.schema.dtype == "float32"
    np.testing.assert_allclose(tree.predict_proba(X), fit(X.astype(float), y).predict_proba(X.astype(float)), atol=1e-6)


@pytest.mark.parametrize("scale", ["standard", "unit", False])
def test_probabilities_for_wild_rows(scale, rng):
    X = unit(rng.normal(size=(300, 4))) * 0.99
    tree = fit(X, (X[:, 0] > 0).astype(int), scale=scale)
    wild = np.array([[1e300, -1e300, 1e-300, 0], [0, 0, 0, 0], [1e-320, 0, 0, 0], [1.7e308] * 4, [5, -7, 1e5, 3]])
    proba = tree.predict_proba(wild)
    assert proba.min() >= 0
    assert proba.max() <= 1
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(tree.decision_path(wild).toarray()[:, tree.tree_.leaves].sum(axis=1), 1)


def test_rows_as_given(rng):
    X = unit(rng.normal(size=(400, 3)))
    y = (X @ [1, 1, 0] > 0).astype(int)
    tree = fit(X, y, scale=False, fit_intercept=False, leaves=2)
    w = tree.tree_.weights[0]
    np.testing.assert_allclose(w, solve_split(X, y).weights, atol=1e-12)
    np.testing.assert_allclose(tree.decision_path(X).toarray()[:, 2], (1 + X @ w) / 2, atol=1e-12)
    with pytest.raises(ValueError, match=r"scale=False.*norm at most 1.*row 1.*scale='unit'"):
        fit(X * [[1], [1.5]] * 1.0 if len(X) == 2 else np.vstack([X[:1], 1.5 * X[1:]]), y, scale=False)
    # The constant takes its share of the norm: theta_b = 1 / sqrt(1 + b²).
    bias = fit(X, y, scale=False, intercept_scaling=2.0, leaves=2).tree_
    np.testing.assert_allclose(bias.input_map.scale, 1 / np.sqrt(5))
    np.testing.assert_allclose(bias.input_map.constant, 2 / np.sqrt(5))


def test_leaves_and_paths(rng):
    X = rng.normal(size=(500, 4))
    y = (X[:, 0] + 0.3 * rng.normal(size=500) > 0).astype(int)
    for leaf in ("frequency", "majority"):
        tree = fit(X, y, leaf=leaf)
        inner = tree.tree_
        reach = tree.decision_path(X).toarray()
        values = inner.value[inner.leaves]
        if leaf == "majority":
            values = np.eye(2)[values.argmax(axis=1)]
        np.testing.assert_allclose(tree.predict_proba(X), reach[:, inner.leaves] @ values, atol=1e-12)
        np.testing.assert_array_equal(tree.apply(X), inner.leaves[reach[:, inner.leaves].argmax(axis=1)])
    drawn = tree.sample_path(np.repeat(X[:1], 4000, axis=0), random_state=0)
    np.testing.assert_allclose(np.asarray(drawn.mean(axis=0)).ravel(), reach[0], atol=0.05)


def test_default_stopping(rng):
    X = rng.normal(size=(3000, 5))
    noise = TopDownTreeClassifier(splits="stochastic").fit(X, rng.integers(0, 2, 3000))
    assert noise.get_n_leaves() < 64
    assert (-np.diff(noise.trajectory_["potential"]) >= 1e-4 * noise.trajectory_["potential"][0] * (1 - 1e-9)).all()
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    assert TopDownTreeClassifier(splits="stochastic").fit(X, y).get_n_leaves() == 64
    assert TopDownTreeClassifier(splits="stochastic", max_depth=2).fit(X, y).get_n_leaves() == 4
    assert TopDownTreeClassifier(splits="stochastic", growth="depth_first").fit(X, y).get_depth() <= 6
    small = TopDownTreeClassifier(splits="stochastic", min_impurity_decrease=0.01).fit(X, y)
    assert 1 < small.get_n_leaves() < 64
    assert TopDownTreeClassifier(splits="stochastic", min_weight_fraction_leaf=0.2).fit(X, y).tree_.value.min() >= 0


@pytest.mark.parametrize("scale", ["standard", "unit"])
def test_importances_are_in_units_of_deviation(scale, rng):
    X = rng.normal(size=(2000, 3)) * [1, 10, 0.1]
    y = (X @ [1.0, 0.0, 10.0] > 0).astype(int)
    importances = fit(X, y, scale=scale, leaves=2).feature_importances_
    np.testing.assert_allclose(importances.sum(), 1)
    assert importances[0] > importances[1]
    rows = sparse.csr_matrix(X)
    np.testing.assert_allclose(fit(rows, y, scale=scale, leaves=2).feature_importances_, importances, rtol=1e-6)


def test_degenerate_data():
    for X, y in (
        ([[1.0, 2.0]], ["a"]),
        ([[0.0, 0.0], [0.0, 0.0]], [0, 1]),
        ([[3.0, 3.0], [3.0, 3.0], [3.0, 3.0]], [0, 1, 1]),
    ):
        tree = TopDownTreeClassifier(splits="stochastic").fit(X, y)
        assert tree.get_n_leaves() == 1
        np.testing.assert_allclose(tree.predict_proba(X)[0], np.unique(y, return_counts=True)[1] / len(y))
    for scale in ("standard", "unit"):
        hard = fit([[-1.0], [1.0], [2.0]], [0, 1, 1], scale=scale, fit_intercept=False)
        np.testing.assert_array_equal(hard.predict([[-3.0], [5.0]]), [0, 1])


def test_columns_of_very_different_size(rng):
    X = rng.normal(size=(1000, 4))
    y = (X.sum(axis=1) > 0).astype(int)
    plain = fit(X, y).predict_proba(X)
    moved = X * [1e-150, 1e150, 1.0, 1e9] + [0, 0, 1e6, 0]
    np.testing.assert_allclose(fit(moved, y).predict_proba(moved), plain, atol=1e-6)


def test_refusals(rng):
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
    with pytest.raises(ValueError, match="Imputer"):
        fit(np.where(X > 1, np.nan, X), y)
    for search in ("fixed_pq", "fixed_p_search_q"):
        with pytest.raises(IncompatibleParts, match="two classes"):
            fit(X, y, search=search)
        with pytest.raises(IncompatibleParts, match="Gini"):
            fit(X, y > 1, search=search, criterion="entropy")
    for parameters in ({"search": "best"}, {"epsilon": 0.0}, {"epsilon": 2.0}, {"scale": "minmax"}, {"scale": True},
                       {"intercept_scaling": -1.0}, {"lookahead": "yes"}, {"fit_intercept": None}):  # fmt: skip
        with pytest.raises(ValueError, match=f"StochasticLinear.{next(iter(parameters))}="):
            fit(X, y, **parameters)
    with pytest.raises(IncompatibleParts):
        fit(X, y, criterion="separation")
    with pytest.raises(ValueError, match=r"lookahead=True.*columns"):
        fit(np.zeros((2, 3000)), [0, 1], lookahead=True)


def test_published_searches_grow_the_same_tree_nearly(rng):
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] > 0.3 * X[:, 1]).astype(int)
    exact = fit(X, y).trajectory_["potential"]
    for search in ("fixed_pq", "fixed_p_search_q"):
        found = fit(X, y, search=search, epsilon=0.3).trajectory_["potential"]
        assert found[1] >= exact[1] - 1e-12
        np.testing.assert_allclose(found, exact, atol=0.02)


def test_deep_trees_drop_rows_that_cannot_reach(rng):
    """Rows near the poles of a test go one way for certain."""
    side = rng.integers(0, 4, 12_000)
    X = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])[side] + 1e-4 * rng.normal(size=(12_000, 2))
    y = (rng.random(12_000) < np.array([1.0, 0.0, 0.3, 0.6])[side]).astype(int)
    tree = fit(X, y, leaves=40, scale="unit", fit_intercept=False)
    assert tree.tree_.n_node_samples.min() < 12_000
    Z = reference.seen_rows(X, np.ones(12_000), "unit", None)
    nodes = reference.grow(Z, y, np.ones(12_000), 2, Gini(), lambda W, B: solve(W, B) if len(solve(W, B)) else None, 40)
    np.testing.assert_allclose(tree.predict_proba(X[::50]), reference.predict_proba(nodes, Z[::50]), atol=1e-4)


def test_level_by_level_is_best_first_without_a_budget(rng):
    X = rng.normal(size=(9000, 6))
    y = (X[:, 0] * X[:, 1] > 0.2).astype(int)
    level = TopDownTreeClassifier(splits="stochastic", max_depth=4).fit(X, y)
    budget = TopDownTreeClassifier(splits="stochastic", max_depth=4, max_leaf_nodes=16).fit(X, y)
    assert level.tree_ == budget.tree_


@pytest.mark.parametrize("d", [6, 30, pytest.param(60, marks=pytest.mark.slow)])
def test_lookahead_sees_xor(d, rng):
    X, y = xor(10_000, d, rng)
    test_X, test_y = xor(20_000, d, rng)
    for family in ({"scale": "unit", "fit_intercept": False}, {}):
        for leaves in (4, 5, 8):  # a finished look-ahead is not split again
            tree = fit(X, y, leaves=leaves, lookahead=True, **family)
            assert tree.score(test_X, test_y) >= (0.94 if d <= 30 else 0.92)
            assert tree.get_n_leaves() == 4
            np.testing.assert_allclose(tree.tree_.weights[1], -tree.tree_.weights[2])
    assert TopDownTreeClassifier(StochasticLinear(lookahead=True)).fit(X, y).score(test_X, test_y) >= 0.92
    assert fit(X, y, leaves=4).score(test_X, test_y) < 0.7


def test_lookahead_goes_on_where_a_linear_signal_is_stronger(rng):
    """A faint product first, a strong linear dependence below it."""
    X = rng.normal(size=(6000, 4))
    y = np.where(rng.random(6000) < 0.15, X[:, 0] * X[:, 1] > 0, rng.random(6000) < 0.5).astype(int)
    faint = fit(X, y, leaves=8, lookahead=True)
    linear = np.where(X[:, 0] * X[:, 1] > 0, X[:, 2] > 0, X[:, 3] > 0).astype(int)
    both = fit(X, linear, leaves=8, lookahead=True)
    assert faint.get_n_leaves() <= 8
    assert both.get_n_leaves() == 8


def test_lookahead_at_other_angles_and_scales(rng):
    X = rng.normal(size=(10_000, 6)) * [5, 1, 0.3, 1, 1, 1]
    u, v = np.array([0.2, 1, 0, 0, 0, 0]), np.array([0, 0.5, 2, 0.5, 0, 0])
    y = ((X @ u > 0) ^ (X @ v > 0)).astype(int)  # one class has 62 %: it is the majority everywhere
    for parameters in ({}, {"leaf": "majority", "class_weight": "balanced"}):
        assert fit(X, y, leaves=4, lookahead=True, **parameters).score(X, y) > 0.9


def test_lookahead_leaves_linear_problems_alone(rng):
    X = rng.normal(size=(3000, 6))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    assert fit(X, y, lookahead=True).tree_ == fit(X, y).tree_


def test_lookahead_with_three_classes(rng):
    X = unit(rng.normal(size=(6000, 5)))
    y = np.where(rng.random(6000) < 0.2, 2, (X[:, 0] * X[:, 1] > 0).astype(int))
    tree = fit(X, y, leaves=4, lookahead=True)
    tree.tree_.check()
    assert tree.trajectory_["potential"][-1] < fit(X, y, leaves=4).trajectory_["potential"][-1]


def test_saved_and_loaded(tmp_path, rng):
    X = rng.normal(size=(200, 3))
    tree = fit(X, (X[:, 0] > 0).astype(int))
    tree.save(tmp_path / "tree.boscage")
    loaded = boscage.load(tmp_path / "tree.boscage")
    assert loaded.tree_ == tree.tree_
    np.testing.assert_array_equal(loaded.predict_proba(X), tree.predict_proba(X))


@pytest.mark.parametrize("scale", [False, "unit"])
def test_rows_that_are_nearly_alike_keep_their_digits(scale, rng):
    """Sums of rows near one unit vector lose what the rows differ in; summed again from the mean row they do not."""
    X = unit(np.c_[np.ones(6000), 2e-5 * rng.normal(size=(6000, 3))])
    y = rng.integers(0, 2, 6000)
    y[X[:, 1] > 3e-5] = 1
    X = X if scale == "unit" else X / np.linalg.norm(X, axis=1).max()
    tree = fit(X, y, leaves=2, scale=scale, fit_intercept=False).tree_
    exact = exact_direction(X if scale is False else unit(X), y)
    np.testing.assert_allclose(tree.weights[0], exact, rtol=1e-7)
    plain_exact = exact_direction(X, y)
    np.testing.assert_allclose(solve_split(X, y).weights, plain_exact, rtol=1e-7)
    plain = solve(*reference.node_sums(X, y, np.ones(6000), 2))
    assert np.abs(plain / plain_exact - 1).max() > 3e-7, "the sums alone would do"


def exact_direction(Z, y):
    """w* in exact arithmetic on the given floats."""
    rows = [[Fraction(float(x)) for x in row] for row in Z]
    n, ones = len(rows), int(y.sum())
    total = [sum(column) for column in zip(*rows)]
    one = [sum(x for x, label in zip(column, y) if label) for column in zip(*rows)]
    a = [t / n for t in total]
    c = [b / n - Fraction(ones, n) * x for b, x in zip(one, a)]
    factor = sum(x * z for x, z in zip(a, c)) / (1 - sum(x * x for x in a))
    w = [z + factor * x for x, z in zip(a, c)]
    largest = max(abs(x) for x in w)
    return unit(np.array([float(x / largest) for x in w]))


def test_classes_whose_means_nearly_agree(rng):
    """A difference of 1e-6 between sums of size 1, in rows that are far apart."""
    half = unit(rng.normal(size=(3000, 3)) + np.array([1.0, 0, 0])) * 0.99
    X = np.r_[half, half + 1.4e-6 * unit(rng.normal(size=3))]
    y = np.repeat([0, 1], 3000)
    tree = fit(X, y, leaves=2, scale=False, fit_intercept=False).tree_
    exact = exact_direction(X, y)
    np.testing.assert_allclose(tree.weights[0], exact, rtol=2e-11)
    plain = solve(*reference.node_sums(X, y, np.ones(6000), 2))
    assert np.abs(plain / exact - 1).max() > 1e-10, "the sums alone would do"


def test_interrupted_by_ctrl_c(rng):
    X, y = rng.normal(size=(200_000, 20)), rng.integers(0, 2, 200_000)
    for family in (StochasticLinear(), StochasticLinear("fixed_pq", epsilon=0.001), StochasticLinear(lookahead=True)):
        tree = TopDownTreeClassifier(family, max_leaf_nodes=500, max_depth=12)
        assert interrupted_after(0.5, lambda tree=tree: tree.fit(X, y)) < 2.0
        assert not hasattr(tree, "tree_")
