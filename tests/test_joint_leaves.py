"""Leaves of soft trees fitted jointly: against brute force, and where they are used."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import lsq_linear

from boscage import Constant, Frequency, Majority, StochasticLinear, TopDownTreeClassifier, TopDownTreeRegressor
from boscage.batches.reach import reach_parts
from boscage.batches.reduction import total
from boscage.batches.rows import Rows
from boscage.leaves._joint import _nearest_shares, has_opposite_tests
from boscage.model.predict import decision_path, leaf_reach


def problem(rng, n=600, d=4, classes=2):
    X = rng.normal(size=(n, d))
    y = np.clip(np.digitize(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n), np.linspace(-0.5, 0.5, classes - 1)), 0, None)
    return X, y, rng.exponential(size=n)


def grow(X, y, w=None, leaf="frequency", leaves=10, lookahead=False, **parameters):
    family = StochasticLinear(lookahead=lookahead)
    return TopDownTreeClassifier(family, leaf=leaf, max_leaf_nodes=leaves, **parameters).fit(X, y, sample_weight=w)


def reach(model, X):
    return model.decision_path(X).toarray()[:, model.tree_.leaves]


@pytest.mark.parametrize("shrinkage", [0.0, 20.0])
def test_two_classes_are_bounded_least_squares_made_calibrated(shrinkage, rng):
    X, y, w = problem(rng)
    model = grow(X, y, w, Frequency(shrinkage, joint=True))
    R, tree = reach(model, X), model.tree_
    share = tree.weighted_n_node_samples[tree.leaves] / w.sum()
    pull = np.sqrt((shrinkage + 1e-9 * w.sum()) * share)
    fractions = tree.value[tree.leaves, 1]
    A, b = np.r_[np.sqrt(w)[:, None] * R, np.diag(pull)], np.r_[np.sqrt(w) * y, pull * fractions]
    value = lsq_linear(A, b, bounds=(0, 1), method="bvls", tol=1e-14).x
    # The regression of the class on the prediction has slope at least 1; then everything is drawn to a half.
    D = w / w.sum()
    p, q = R @ value, D @ R @ value
    slope = max(1.0, D @ ((y - D @ y) * (p - q)) / (D @ (p - q) ** 2))
    stretched = D @ y + slope * (value - q)
    expected = 0.5 + (stretched - 0.5) * min(1.0, 0.5 / np.abs(stretched - 0.5).max())
    np.testing.assert_allclose(tree.leaf_value[:, 1], expected, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), R @ tree.leaf_value, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), (R @ stretched > 0.5).astype(int))


def test_more_classes_cannot_be_improved_by_moving_shares(rng):
    X, y, w = problem(rng, classes=4)
    model = grow(X, y, w)
    sums = total(reach_parts(model.tree_, 1.0, Rows(X, y, w), 0, 1))
    gram, cross = np.hsplit(sums.reshape(model.tree_.n_leaves, -1), [model.tree_.n_leaves])
    value = _nearest_shares(gram, cross, model.tree_.value[model.tree_.leaves])
    np.testing.assert_allclose(value.sum(axis=1), 1)
    assert value.min() >= 0
    R = reach(model, X)

    def loss(V):
        return np.sum(w * ((R @ V - np.eye(4)[y]) ** 2).sum(axis=1))

    best = loss(value)
    for _ in range(300):
        way = rng.dirichlet(np.ones(4), len(value)) - value
        assert loss(value + rng.random() * rng.random((len(value), 1)) * way) >= best - 1e-9


@pytest.mark.parametrize("classes", [2, 3])
def test_values_are_distributions_and_weights_are_repetitions(classes, rng):
    X, y, _ = problem(rng, classes=classes)
    w = rng.integers(1, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), w)
    weighted = grow(X, y, w, Frequency(joint=True))
    copied = grow(X[repeated], y[repeated], leaf=Frequency(joint=True))
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-7)
    np.testing.assert_allclose(weighted.tree_.leaf_value.sum(axis=1), 1)
    assert weighted.tree_.leaf_value.min() >= 0
    weighted.tree_.check()


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_passes_give_the_same_bytes(classes, dtype, rng):
    X, y, w = problem(rng, n=30_000, classes=max(classes, 2))
    X = X.astype(dtype)
    if classes == 0:
        y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=len(X))
    estimator = TopDownTreeClassifier if classes else TopDownTreeRegressor
    model = estimator("stochastic", leaf=(Frequency if classes else Constant)(joint=True), max_leaf_nodes=9)
    whole = model.fit(X, y, sample_weight=w).tree_
    cuts = [0, 5, 4096, 3 * 4096 + 7, 30_000]
    batches = [(X[i:j], y[i:j], w[i:j]) for i, j in itertools.pairwise(cuts)]
    assert model.fit_batches(batches).tree_ == whole
    assert whole.leaf_value is not None


def test_sums_are_those_of_the_formula(rng):
    X, y, w = problem(rng, n=9000, classes=3)
    tree = grow(X, y, w, leaves=7).tree_
    found = total(reach_parts(tree, 1.0, Rows(X, y, w), 0, 2)).reshape(7, 10)
    R = decision_path(tree, X).toarray()[:, tree.leaves]
    np.testing.assert_array_equal(leaf_reach(tree, X), R)
    np.testing.assert_allclose(found, (R * w[:, None]).T @ np.hstack([R, np.eye(3)[y]]), rtol=1e-12)
    np.testing.assert_array_equal(leaf_reach(tree, sparse.csr_array(X)), R)
    hard = TopDownTreeClassifier(max_leaf_nodes=6).fit(X, y)
    np.testing.assert_array_equal(hard.tree_.leaves[leaf_reach(hard.tree_, X).argmax(axis=1)], hard.apply(X))


def test_they_lower_the_squared_error(rng):
    X = rng.normal(size=(2000, 4))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    error = []
    for joint in (True, False):
        model = grow(X[:1000], y[:1000], leaf=Frequency(joint=joint))
        error.append(np.mean((model.predict_proba(X[1000:])[:, 1] - y[1000:]) ** 2))
    assert error[0] < 0.95 * error[1]


def test_auto_means_look_ahead(rng):
    X, y, _ = problem(rng, n=2000)
    triple, plain = grow(X, y, leaves=4, lookahead=True), grow(X, y, leaves=4)
    assert has_opposite_tests(triple.tree_)
    assert not has_opposite_tests(plain.tree_)
    assert triple.tree_.leaf_value is not None
    assert plain.tree_.leaf_value is None
    fractions = grow(X, y, leaf=Frequency(joint=False), leaves=4, lookahead=True)
    assert fractions.tree_.leaf_value is None
    assert set(np.unique(grow(X, y, leaf=Majority(), leaves=4, lookahead=True).tree_.leaf_value)) == {0.0, 1.0}


def test_hard_trees_keep_their_fractions(rng):
    X, y, _ = problem(rng)
    trees = [TopDownTreeClassifier(leaf=Frequency(joint=joint), max_leaf_nodes=8).fit(X, y) for joint in (True, False)]
    assert trees[0].tree_ == trees[1].tree_


def test_a_single_leaf_and_pruning(rng):
    X, y, _ = problem(rng)
    stump = grow(X, y, leaf=Frequency(joint=True), leaves=1)
    np.testing.assert_allclose(stump.predict_proba(X)[0], np.bincount(y) / len(y), atol=1e-9)
    alphas = grow(X, y).cost_complexity_pruning_path(X, y).ccp_alphas
    pruned = grow(X, y, leaf=Frequency(joint=True), ccp_alpha=alphas[len(alphas) // 2])
    assert 1 < pruned.get_n_leaves() < 10
    assert len(pruned.tree_.leaf_value) == pruned.get_n_leaves()


def test_nonsense_is_refused(rng):
    X, y, _ = problem(rng)
    with pytest.raises(ValueError, match=r"Frequency.joint='both'"):
        grow(X, y, leaf=Frequency(joint="both"))
