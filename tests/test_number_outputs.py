"""Linear tests for several outputs: closed form and gradient against definitions, sums over outputs, invariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from boscage import _core
from boscage.model.predict import apply, predict_numbers
from boscage.splits import OC1, StochasticLinear, WeightedOblique
from boscage.splits._oblique import category_codes
from number_jobs import grow_numbers, number_data
from test_number_batches import in_batches
from test_number_growth import same as same_arrays

EASY = settings(derandomize=True, deadline=None, max_examples=25)
HARD = ["wodt", "oblique", OC1(n_restarts=2), "cart_lc", "hhcart"]


def unit_rows(rng, n, d):
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.uniform(0.2, 1, (n, 1))


def error_after(Y, sides):
    """Weighted squared error about the means of weighted sides, averaged over outputs."""
    return sum(side @ (Y - side @ Y / side.sum()) ** 2 for side in sides).mean()


@EASY
@given(seed=st.integers(0, 2**31), d=st.integers(1, 4), outputs=st.integers(2, 5), weighted=st.booleans())
def test_the_stochastic_test_is_the_closed_form_and_the_best(seed, d, outputs, weighted):
    rng = np.random.default_rng(seed)
    X, Y = unit_rows(rng, 40, d), rng.exponential(size=(40, outputs)) @ rng.normal(size=(outputs, outputs))
    weight = rng.exponential(size=40) if weighted else np.ones(40)
    family = StochasticLinear(scale=False, fit_intercept=False)
    tree = grow_numbers(X, Y, weight, splits=family, limits={"max_leaf_nodes": 2})
    w, share = tree.weights[0], weight / weight.sum()

    def drop(w):
        right = (1 + X @ w) / 2
        return error_after(Y, [share]) - error_after(Y, [share * right, share * (1 - right)])

    # w ∝ (I − bbᵀ)^(−1/2) u, u the top eigenvector of (I − bbᵀ)^(−1/2) A Aᵀ (I − bbᵀ)^(−1/2).
    A, b = X.T @ (share[:, None] * (Y - share @ Y)), share @ X
    values, vectors = np.linalg.eigh(np.eye(d) - np.outer(b, b))
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    best, directions = np.linalg.eigh(root @ A @ A.T @ root)
    expected = root @ directions[:, -1]
    expected /= np.linalg.norm(expected)
    assert abs(w @ expected) == pytest.approx(1, rel=1e-7)
    assert drop(w) == pytest.approx(best[-1] / outputs, rel=1e-8)
    found = tree.impurity[0] - tree.impurity[1:] @ tree.weighted_n_node_samples[1:] / weight.sum()
    assert found == pytest.approx(best[-1] / outputs, rel=1e-7)
    for other in rng.normal(size=(200, d)):
        assert drop(other / np.linalg.norm(other)) <= best[-1] / outputs * (1 + 1e-9)


def test_more_outputs_than_columns_and_many_of_both(rng):
    for d, outputs in ((3, 40), (120, 60)):
        X = unit_rows(rng, 300, d)
        Y = X @ rng.normal(size=(d, outputs)) + rng.normal(size=(300, outputs))
        family = StochasticLinear(scale=False, fit_intercept=False)
        w = grow_numbers(X, Y, splits=family, limits={"max_leaf_nodes": 2}).weights[0]
        A, b = X.T @ (Y - Y.mean(axis=0)) / 300, X.mean(axis=0)
        values, vectors = np.linalg.eigh(np.eye(d) - np.outer(b, b))
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        best = np.linalg.eigvalsh(root @ A @ A.T @ root)[-1]
        assert np.sum((A.T @ w) ** 2) / (1 - (w @ b) ** 2) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_stochastic_nodes_hold_soft_means_and_variances(weighted, rng):
    X, Y = rng.normal(size=(500, 4)), rng.normal(size=(500, 3)) ** 3 * [1.0, 10.0, 0.1] + [0.0, 5.0, -7.0]
    weight = rng.exponential(size=500) if weighted else np.ones(500)
    tree = grow_numbers(X, Y, weight, splits="stochastic", limits={"max_leaf_nodes": 12})
    z = (X - tree.input_map.shift) * tree.input_map.scale
    z = np.column_stack([z, np.full(500, tree.input_map.constant)])
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    reach = {0: weight}
    for node in range(tree.node_count):
        here = reach[node]
        np.testing.assert_allclose(tree.value[node], here @ Y / here.sum(), rtol=1e-7, atol=1e-8)
        assert tree.impurity[node] == pytest.approx(error_after(Y, [here]) / here.sum(), rel=1e-7)
        if tree.children_left[node] >= 0:
            right = (1 + np.clip(z @ tree.weights[tree.linear_row[node]], -1, 1)) / 2
            reach[tree.children_right[node]] = here * right
            reach[tree.children_left[node]] = here * (1 - right)
    tree.check()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_stochastic_trees_in_batches_are_those_of_memory(dtype, weighted, rng):
    X = rng.normal(size=(9000, 11)).astype(dtype)
    Y = np.column_stack([1e6 + X[:, 0] + X[:, 1] * X[:, 2], X @ rng.normal(size=11), rng.normal(size=9000)])
    weight = rng.exponential(size=9000) if weighted else None
    parts = {"splits": StochasticLinear(), "limits": {"max_leaf_nodes": 20}}
    one = grow_numbers(X, Y, weight, **parts)
    assert one.n_leaves == 20
    for size in (1000, 4096):
        same_arrays(one, in_batches(X, Y, weight, size=size, **parts))
    same_arrays(one, grow_numbers(X, Y, weight, **parts, threads=3))


@EASY
@given(seed=st.integers(0, 2**31), d=st.integers(1, 5), outputs=st.integers(1, 4), l2=st.sampled_from([0.0, 0.1]))
def test_the_soft_squared_error_and_its_gradient(seed, d, outputs, l2):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(50, d)), rng.uniform(-1, 1, (50, outputs))
    weight, theta = rng.exponential(size=50), rng.normal(size=d + 1)

    def objective(theta):
        right = 1 / (1 + np.exp(-(X @ theta[:-1] + theta[-1])))
        left = error_after(Y, [weight * right, weight * (1 - right)]) / error_after(Y, [weight])
        return left + l2 / (2 * np.sqrt(weight.sum())) * (theta[:-1] @ theta[:-1])

    value, gradient = _core.soft_objective(X, _core.Target(Y, weight), l2, theta, 1)
    assert value == pytest.approx(objective(theta), rel=1e-9)
    for j in range(d + 1):
        step = np.eye(d + 1)[j] * 1e-6
        slope = (objective(theta + step) - objective(theta - step)) / 2e-6
        assert gradient[j] == pytest.approx(slope, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("splits", HARD, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_hard_trees_hold_recounts_and_cut_at_the_best_place(splits, weighted, rng):
    X, Y = rng.normal(size=(300, 3)), np.column_stack([rng.lognormal(0, 3, 300), rng.normal(size=300), np.ones(300)])
    weight = rng.exponential(size=300) if weighted else np.ones(300)
    tree = grow_numbers(X, Y, weight, splits=splits, limits={"max_leaf_nodes": 10})
    tree.check()
    leaf = apply(tree, X)
    for node in tree.leaves:
        here = leaf == node
        np.testing.assert_allclose(tree.value[node], np.average(Y[here], axis=0, weights=weight[here]), rtol=1e-8)
        error = error_after(Y, [weight * here]) / weight[here].sum()
        assert tree.impurity[node] == pytest.approx(error, rel=1e-6, abs=1e-9 * Y.max() ** 2)
        assert tree.n_node_samples[node] == here.sum()
    if splits == "wodt":
        return  # its threshold is that of the soft test
    along = X @ tree.weights[tree.linear_row[0]] if tree.linear_row[0] >= 0 else X[:, tree.feature[0]]
    order = np.argsort(along)
    left = (np.arange(1, 300)[:, None] > np.arange(300)) * weight[order]
    errors = [error_after(Y[order], [one, weight[order] - one]) for one in left]
    found = tree.impurity[[tree.children_left[0], tree.children_right[0]]]
    found = found @ tree.weighted_n_node_samples[[tree.children_left[0], tree.children_right[0]]]
    assert found == pytest.approx(min(errors), rel=1e-7)


@pytest.mark.parametrize("splits", [*HARD, "stochastic"], ids=repr)
def test_copies_of_an_output_change_nothing(splits, rng):
    X, y = rng.normal(size=(250, 3)), rng.normal(size=250)
    limits = {"max_leaf_nodes": 6}
    one = grow_numbers(X, y, splits=splits, limits=limits)
    two = grow_numbers(X, np.column_stack([y, y]), splits=splits, limits=limits)
    np.testing.assert_allclose(predict_numbers(two, X), predict_numbers(one, X)[:, None] * [1, 1], rtol=1e-6)
    np.testing.assert_allclose(two.impurity, one.impurity, rtol=1e-6)


@pytest.mark.parametrize("splits", [*HARD, "stochastic", WeightedOblique(lookahead=True)], ids=repr)
def test_weights_are_repetition_and_threads_change_nothing(splits, rng):
    X, Y = rng.normal(size=(200, 4)), rng.normal(size=(200, 2))
    Y[:, 0] += 3 * np.sign(X[:, 0] * X[:, 1])
    weight = rng.integers(1, 4, 200)
    copies = np.repeat(np.arange(200), weight)
    limits = {"max_leaf_nodes": 7}
    one = grow_numbers(X, Y, weight.astype(float), splits=splits, limits=limits)
    other = grow_numbers(X[copies], Y[copies], splits=splits, limits=limits)
    np.testing.assert_allclose(predict_numbers(one, X), predict_numbers(other, X), atol=1e-6)
    same_arrays(one, grow_numbers(X, Y, weight.astype(float), splits=splits, limits=limits, threads=3))


@pytest.mark.parametrize("splits", HARD, ids=repr)
def test_gaps_and_categories(splits, rng):
    X = np.column_stack([rng.integers(0, 5, 300), rng.normal(size=(300, 2))]).astype(float)
    Y = np.array([[3.0, 0.0], [-1.0, 1.0], [0.5, 5.0], [7.0, 2.0], [-4.0, 0.0]])[X[:, 0].astype(int)]
    Y = Y + X[:, 1:] + 0.1 * rng.normal(size=(300, 2))
    X[rng.random(X.shape) < 0.05] = np.nan
    tree = grow_numbers(X, Y, n_categories=[5, 0, 0], splits=splits, limits={"max_leaf_nodes": 30})
    tree.check()
    assert np.mean((predict_numbers(tree, X) - Y) ** 2) < 0.35 * Y.var(axis=0).mean()


def test_categories_of_opposite_outputs_have_one_order(rng):
    X = np.column_stack([rng.integers(0, 6, 120), rng.normal(size=120)])
    Y = np.exp(X[:, 1:]) * [1, -1, 0] + rng.normal(size=(120, 1)) * [0, 0, 1]
    for _ in range(20):
        times = rng.integers(1, 4, 120)
        rows = np.repeat(np.arange(120), times)
        weighted, repeated = number_data(X, Y, times, [6, 0]), number_data(X[rows], Y[rows], n_categories=[6, 0])
        np.testing.assert_allclose(category_codes(weighted)[1], category_codes(repeated)[1], atol=1e-9)


@pytest.mark.parametrize("splits", ["wodt", "oblique", "cart_lc", "hhcart", "stochastic"])
def test_sparse_rows(splits, rng):
    X = rng.normal(size=(300, 8)) * (rng.random((300, 8)) < 0.4)
    Y = X @ rng.normal(size=(8, 3)) + 0.1 * rng.normal(size=(300, 3))
    parts = {"splits": splits, "limits": {"max_leaf_nodes": 8}}
    one, other = grow_numbers(X, Y, **parts), grow_numbers(sparse.csr_array(X), Y, **parts)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-5, atol=1e-7)
