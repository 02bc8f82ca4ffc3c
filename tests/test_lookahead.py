"""Two levels at once: XOR, which no single test sees."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from boscage import TopDownTreeClassifier
from boscage.datasets import make_xor
from boscage.splits import CO2, OC1, CartLC, Householder, WeightedOblique
from boscage.tree import LINEAR


def xor(rng, n, d, planes=None, scale=None):
    planes = rng.normal(size=(2, d)) if planes is None else planes
    X = rng.normal(size=(n, d))
    X = X if scale is None else X * scale
    return X, (X @ planes[0] > 0) ^ (X @ planes[1] > 0)


def fit(X, y, splits=None, **parameters):
    splits = splits or WeightedOblique(l2=0.0, lookahead=True)
    return TopDownTreeClassifier(splits=splits, random_state=0, **parameters).fit(X, y)


@pytest.mark.parametrize("d", [2, 6, 14, 30, 60])
def test_xor_of_two_planes_is_four_leaves(rng, d):
    """Grown out, without a limit: the four leaves are pure."""
    X, y = make_xor(15_000, d, random_state=d)
    tree = fit(X[:10_000], y[:10_000])
    assert tree.get_n_leaves() == 4
    assert tree.score(X[10_000:], y[10_000:]) >= 0.97
    planes = rng.normal(size=(2, d))
    tree = fit(*xor(rng, 10_000, d, planes), max_leaf_nodes=4)
    assert tree.score(*xor(rng, 5000, d, planes)) >= 0.97


def test_a_time_limit_ends_the_refinement(rng):
    X, y = xor(rng, 3000, 20)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        fit(X, y, Householder(lookahead=True, time_limit=1e-6), max_leaf_nodes=4)


@pytest.mark.parametrize("splits", [OC1, CartLC, CO2, Householder])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_time_there_is_no_look_ahead(rng, splits):
    X, y = xor(rng, 500, 5)
    late = fit(X, y, splits(lookahead=True, time_limit=1e-6)).tree_
    assert late == fit(X, y, splits(time_limit=1e-6)).tree_
    assert (late.feature != LINEAR).all()


def test_columns_of_unequal_size_and_a_narrow_angle(rng):
    planes = np.array([[1.0, 0, 0, 0], [1.0, 0.6, 0, 0]])
    scale = np.array([5, 1, 0.3, 100])
    X, y = xor(rng, 5000, 4, planes / scale, scale)
    assert fit(X, y, max_leaf_nodes=4).score(*xor(rng, 2000, 4, planes / scale, scale)) > 0.95


@pytest.mark.parametrize("splits", [OC1(n_restarts=2), CartLC(), CO2(), Householder()], ids=repr)
def test_every_linear_family_can_look_ahead(rng, splits):
    X, y = xor(rng, 1500, 4)
    blind = fit(X, y, splits, max_leaf_nodes=4).score(X, y)
    seeing = fit(X, y, splits.set_params(lookahead=True), max_leaf_nodes=4).score(X, y)
    splits.set_params(lookahead=False)
    assert seeing > 0.95
    assert blind < 0.85


def test_rows_are_counted_in_the_leaves_they_reach(rng):
    X, y = xor(rng, 2000, 3)
    y = y.astype(int) + 2 * (X[:, 0] > 1)
    tree = fit(X, y)
    counts = np.bincount(tree.apply(X), minlength=tree.tree_.node_count)
    leaves = tree.tree_.is_leaf
    np.testing.assert_array_equal(counts[leaves], tree.tree_.n_node_samples[leaves])
    assert tree.score(X, y) == 1
    tree.tree_.check()


@pytest.mark.parametrize("splits", [WeightedOblique, OC1, CartLC, Householder])
def test_copies_of_a_row_are_its_weight(splits):
    """Seven rows are too few for four columns, and they do not become more by being repeated."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = xor(rng, 7, 4, np.eye(4)[:2], [1, 1, 0, 0])
        if y.all() or not y.any():
            continue
        weighted = TopDownTreeClassifier(splits(lookahead=True), random_state=0).fit(X, y, np.full(7, 3.0))
        copied = fit(np.repeat(X, 3, axis=0), np.repeat(y, 3), splits(lookahead=True))
        Z = rng.normal(size=(200, 4))
        np.testing.assert_array_equal(weighted.predict(Z), copied.predict(Z))


def test_limits_and_threads(rng):
    X, y = xor(rng, 3000, 3)
    for limit in ({"max_leaf_nodes": 3}, {"max_depth": 1}, {"max_leaf_nodes": 7, "min_samples_leaf": 100}):
        tree = fit(X, y, **limit)
        assert tree.get_n_leaves() <= limit.get("max_leaf_nodes", 2)
        assert tree.tree_.n_node_samples.min() >= limit.get("min_samples_leaf", 1)
    assert fit(X, y, n_jobs=3).tree_ == fit(X, y).tree_


def test_it_changes_nothing_where_single_tests_do_well():
    X, y = load_iris(return_X_y=True)
    parts = {"max_leaf_nodes": 3}
    assert fit(X, y, WeightedOblique(lookahead=True), **parts).tree_ == fit(X, y, WeightedOblique(), **parts).tree_


def test_a_bad_setting_is_refused():
    with pytest.raises(ValueError, match=r"WeightedOblique.lookahead=1 is not allowed"):
        fit([[0.0], [1.0]], [0, 1], WeightedOblique(lookahead=1))
