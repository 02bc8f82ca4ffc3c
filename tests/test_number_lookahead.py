"""Two levels at once for numbers: products of two planes, which no single test sees."""

import numpy as np
import pytest

from boscage import Constant, StochasticLinear, TopDownTreeRegressor
from boscage.model.predict import apply, decision_path, predict_numbers
from boscage.splits import OC1, CartLC, Householder, WeightedOblique
from number_jobs import grow_numbers

HARD = [WeightedOblique(l2=0.0, lookahead=True), OC1(n_restarts=1, lookahead=True), CartLC(lookahead=True),
        Householder(lookahead=True)]  # fmt: skip


def xor(rng, n, d, outputs=1, noise=0.3):
    """Numbers by the quadrant of two random planes."""
    X, planes = rng.normal(size=(n, d)), np.random.default_rng(d).normal(size=(2, d))
    sign = np.sign(X @ planes[0]) * np.sign(X @ planes[1])
    Y = sign[:, None] * np.arange(1, outputs + 1) + noise * rng.normal(size=(n, outputs))
    return X, Y[:, 0] if outputs == 1 else Y


def r2(tree, X, Y):
    found = predict_numbers(tree, X)
    return 1 - np.mean((found - Y) ** 2) / np.mean((Y - Y.mean(axis=0)) ** 2)


@pytest.mark.parametrize("splits", HARD, ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_product_of_planes_is_four_leaves(splits, outputs, rng):
    X, Y = xor(rng, 3000, 4, outputs)
    tree = grow_numbers(X[:2000], Y[:2000], splits=splits, limits={"max_leaf_nodes": 4})
    assert r2(tree, X[2000:], Y[2000:]) > 0.8
    plain = type(splits)(**{**splits.get_params(), "lookahead": False})
    plain = grow_numbers(X[:2000], Y[:2000], splits=plain, limits={"max_leaf_nodes": 4})
    assert r2(plain, X[2000:], Y[2000:]) < 0.4


@pytest.mark.parametrize("d", [2, 6, 14])
def test_wodt_finds_it_among_many_columns(d, rng):
    X, y = xor(rng, 9000, d)
    tree = grow_numbers(X[:6000], y[:6000], splits=HARD[0], limits={"max_leaf_nodes": 4})
    assert r2(tree, X[6000:], y[6000:]) > 0.85


@pytest.mark.parametrize("size", [1.0, 1e-150, 1e140])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("leaves", [3, 4, 12])
def test_nodes_hold_recounts(size, weighted, leaves, rng):
    X, Y = xor(rng, 600, 3, 2)
    Y = Y * [size, 5 * size]
    Y[:20] *= 1e6  # nodes below need a grid of their own
    weight = rng.exponential(size=600) if weighted else np.ones(600)
    tree = grow_numbers(X, Y, weight, splits=HARD[0], limits={"max_leaf_nodes": leaves})
    tree.check()
    path = decision_path(tree, X).toarray() > 0
    for node in range(tree.node_count):
        here = path[:, node]
        mean = np.average(Y[here], axis=0, weights=weight[here])
        scale = np.abs(Y[here]).max()
        np.testing.assert_allclose(tree.value[node], mean, rtol=1e-9, atol=1e-9 * scale)
        error = np.average(((Y[here] - mean) / scale) ** 2, axis=0, weights=weight[here]).mean()
        assert tree.impurity[node] / scale / scale == pytest.approx(error, rel=1e-6, abs=1e-9)
        assert tree.n_node_samples[node] == here.sum()


def test_threads_and_scales_change_nothing(rng):
    X, y = xor(rng, 1500, 4)
    one = grow_numbers(X, y, splits=HARD[0], limits={"max_leaf_nodes": 9})
    np.testing.assert_array_equal(
        one.weights, grow_numbers(X, y, splits=HARD[0], limits={"max_leaf_nodes": 9}, threads=3).weights
    )
    other = grow_numbers(X, np.ldexp(y, 200), splits=HARD[0], limits={"max_leaf_nodes": 9})
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(np.ldexp(one.value, 200), other.value)


def test_a_limit_of_two_levels_and_a_budget_that_a_triple_exceeds(rng):
    X, y = xor(rng, 1000, 3)
    assert grow_numbers(X, y, splits=HARD[0], limits={"max_leaf_nodes": 3}).n_leaves == 3
    assert grow_numbers(X, y, splits=HARD[0], limits={"max_depth": 1}).n_leaves == 2
    deep = grow_numbers(X, y, splits=HARD[0], limits={"max_depth": 2})
    assert deep.n_leaves == 4
    assert len(np.unique(apply(deep, X))) == 4


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("square", [False, True])
def test_a_stochastic_triple_sees_products(outputs, square, rng):
    X = rng.normal(size=(4000, 5))
    planes = rng.normal(size=(2, 5))
    z = X / np.linalg.norm(X, axis=1, keepdims=True)
    planes /= np.linalg.norm(planes, axis=1, keepdims=True)
    second = planes[0] if square else planes[1]
    product = (z @ planes[0]) * (z @ second)
    Y = product[:, None] * np.arange(1, outputs + 1) + 0.02 * rng.normal(size=(4000, outputs))
    Y = Y[:, 0] if outputs == 1 else Y
    look, blind = (
        TopDownTreeRegressor(StochasticLinear(lookahead=lookahead), leaf=Constant(joint=lookahead), max_leaf_nodes=4)
        for lookahead in (True, False)
    )
    look.fit(X[:3000], Y[:3000])
    blind.fit(X[:3000], Y[:3000])
    assert blind.score(X[3000:], Y[3000:]) < 0.3
    assert look.score(X[3000:], Y[3000:]) > 0.7
    weights = look.tree_.weights
    np.testing.assert_array_equal(weights[1], -weights[2])


@pytest.mark.parametrize("shrinkage", [0.0, 50.0])
@pytest.mark.parametrize("outputs", [1, 2])
def test_joint_leaves_are_least_squares(shrinkage, outputs, rng):
    X, Y = rng.normal(size=(400, 3)), rng.normal(size=(400, outputs)) * 100 + 7
    Y[:, 0] += 50 * X[:, 0]
    w = rng.exponential(size=400)
    model = TopDownTreeRegressor("stochastic", leaf=Constant(shrinkage, joint=True), max_leaf_nodes=6)
    model.fit(X, Y[:, 0] if outputs == 1 else Y, sample_weight=w)
    tree = model.tree_
    R = model.decision_path(X).toarray()[:, tree.leaves]
    share = tree.weighted_n_node_samples[tree.leaves] / tree.weighted_n_node_samples[0]
    pull = np.sqrt((shrinkage + 1e-9 * w.sum()) * share)
    A = np.r_[np.sqrt(w)[:, None] * R, np.diag(pull)]
    b = np.r_[np.sqrt(w)[:, None] * (Y - tree.value[0]), pull[:, None] * (tree.value[tree.leaves] - tree.value[0])]
    expected = tree.value[0] + np.linalg.lstsq(A, b, rcond=None)[0]
    np.testing.assert_allclose(R @ tree.leaf_value, R @ expected, rtol=1e-5, atol=1e-5)
    if shrinkage:
        np.testing.assert_allclose(tree.leaf_value, expected, rtol=1e-5)


def test_joint_leaves_of_huge_and_tiny_numbers(rng):
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    for size in (1e-290, 1e290):
        leaf = Constant(joint=True)
        model = TopDownTreeRegressor("stochastic", leaf=leaf, max_leaf_nodes=4).fit(X, y * size)
        plain = TopDownTreeRegressor("stochastic", leaf=leaf, max_leaf_nodes=4).fit(X, y)
        np.testing.assert_allclose(model.predict(X) / size, plain.predict(X), rtol=1e-6)
