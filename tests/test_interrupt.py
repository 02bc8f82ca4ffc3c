"""Ctrl-C: KeyboardInterrupt within a fifth of a second, and nothing half-fitted left behind."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score

from boscage import (
    CO2,
    OC1,
    Axis,
    DuplicateWeights,
    ForestClassifier,
    ForestRegressor,
    Householder,
    Linear,
    LOMTreeClassifier,
    OnlineTreeClassifier,
    OptimalTreeClassifier,
    Polish,
    RidgeLeaf,
    StochasticLinear,
    TopDownTreeClassifier,
    TopDownTreeRegressor,
    WeightedOblique,
)


def stops_soon(seconds, call):
    """Whether call() ends soon after Ctrl-C.

    The promise is 0.2 s on an idle machine; a test machine may be busy, so the best of some runs counts.
    """
    return any(interrupted_after(seconds, call) < 0.5 for _ in range(5))


def interrupted_after(seconds, call):
    """Run call(), send SIGINT after some seconds, return how long the call went on after it."""
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.perf_counter() - sent[0]
    finally:
        timer.cancel()


def many_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 20)).astype(np.float32)
    return X, rng.integers(0, 3, 60_000)


ROWS, LABELS = many_rows()
NUMBERS = ROWS[:, 0] + ROWS[:, 1] ** 2 + np.random.default_rng(2).normal(size=len(LABELS))
WEIGHTS = np.random.default_rng(1).exponential(size=len(LABELS))
BATCHES = [(ROWS[i : i + 20_000], LABELS[i : i + 20_000]) for i in range(0, len(LABELS), 20_000)]
SLOW_STOCHASTIC = StochasticLinear(lookahead=True)
LONG_FITS = {
    "axis": TopDownTreeClassifier(),
    "axis, max_features": TopDownTreeClassifier(max_features=10),
    "axis, linear leaves chosen": TopDownTreeClassifier(leaf=Linear(l2="auto"), max_leaf_nodes=200),
    "forest": ForestClassifier(1000, "axis"),
    "forest, two threads": ForestClassifier(1000, "wodt", n_jobs=2),
    "forest, linear leaves": ForestClassifier(1000, "axis", leaf="linear", max_leaf_nodes=100, n_jobs=2),
    "forest, leaves fitted together": ForestClassifier(50, "axis", max_leaf_nodes=30, refit="leaves", n_jobs=2),
    "wodt": TopDownTreeClassifier("wodt"),
    "oc1": TopDownTreeClassifier("oc1"),
    "cart_lc": TopDownTreeClassifier("cart_lc"),
    "co2": TopDownTreeClassifier("co2"),
    "hhcart": TopDownTreeClassifier("hhcart"),
    "stochastic": TopDownTreeClassifier(SLOW_STOCHASTIC, max_leaf_nodes=500),
    "polish": TopDownTreeClassifier(WeightedOblique(max_iter=1), max_leaf_nodes=3, polish=Polish(epochs=10**4)),
    "optimal": OptimalTreeClassifier(4, time_limit=30),
    "optimal, look-ahead": OptimalTreeClassifier(5, method="lookahead", time_limit=30),
    "online": OnlineTreeClassifier(n_passes=10**4, random_state=0),
    "lomtree": LOMTreeClassifier(n_passes=10**4, random_state=0),
    "duplicated rows": DuplicateWeights(TopDownTreeClassifier(), budget=3),
    "numbers": TopDownTreeRegressor(max_features=15),
    "numbers, absolute error": TopDownTreeRegressor(criterion="absolute_error"),
    "numbers, oc1": TopDownTreeRegressor("oc1"),
    "numbers, stochastic": TopDownTreeRegressor("stochastic", max_leaf_nodes=5000),
    "numbers, linear leaves": TopDownTreeRegressor(leaf="linear", max_leaf_nodes=2000),
    "numbers, models of a grown tree": TopDownTreeRegressor(leaf=RidgeLeaf(grow=False)),
    "numbers, blended leaves": TopDownTreeRegressor(leaf=RidgeLeaf(blend="auto"), max_leaf_nodes=300),
    "forest of numbers": ForestRegressor(1000, n_jobs=2),
    "forest of numbers, leaves fitted together": ForestRegressor(50, max_leaf_nodes=30, refit="leaves"),
    "forest of numbers, linear leaves": ForestRegressor(1000, "axis", leaf="linear"),
}


@pytest.mark.parametrize("name", LONG_FITS)
def test_ctrl_c_raises_and_changes_nothing(name):
    """After 0.2 s of a fit that takes much longer: alone, then inside a cross-validation, which must end too.

    The promise is 0.2 s on an idle machine; here a busy one has 1.5 s.
    """
    estimator = clone(LONG_FITS[name])
    y = NUMBERS if is_regressor(estimator) else LABELS
    if isinstance(estimator, (LOMTreeClassifier, OnlineTreeClassifier)):
        estimator.set_params(n_passes=1).fit(ROWS[:40], y[:40]).set_params(n_passes=10**4)
    else:
        estimator.fit(ROWS[:40], y[:40])
    before, predicted = dict(vars(estimator)), estimator.predict(ROWS[:40])
    took = interrupted_after(0.2, lambda: estimator.fit(ROWS, y, sample_weight=WEIGHTS))
    print(f"{name}: {took:.3f} s")
    assert took < 1.5
    after = dict(vars(estimator))
    assert {key: id(value) for key, value in after.items()} == {key: id(value) for key, value in before.items()}
    np.testing.assert_array_equal(estimator.predict(ROWS[:40]), predicted)
    took = interrupted_after(0.2, lambda: cross_val_score(LONG_FITS[name], ROWS, y, cv=5))
    print(f"{name}, in a cross-validation: {took:.3f} s")
    assert took < 1.5


@pytest.mark.parametrize(
    "model",
    [
        TopDownTreeClassifier("stochastic"),
        TopDownTreeClassifier(Axis(max_bins=255)),
        TopDownTreeClassifier(WeightedOblique(max_bins=64)),
        TopDownTreeRegressor("stochastic"),
        TopDownTreeRegressor(WeightedOblique(max_bins=64)),
        ForestClassifier(20, Axis(max_bins=255)),
        ForestRegressor(20, "stochastic"),
    ],
    ids=repr,
)
def test_ctrl_c_stops_a_fit_in_batches(model):
    model = clone(model).set_params(max_leaf_nodes=2000, min_impurity_decrease=1e-12)
    batches = [(X, NUMBERS[: len(y)] if is_regressor(model) else y) for X, y in BATCHES]
    took = interrupted_after(0.2, lambda: model.fit_batches(batches))
    print(f"{model}: {took:.3f} s")
    assert took < 1.5
    assert not [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]


@pytest.mark.parametrize(
    ("estimator", "grid", "y"),
    [
        (OptimalTreeClassifier(4), {"alpha": [0.001, 0.01]}, LABELS),
        (ForestRegressor(300), {"max_samples": [0.5, 0.9]}, NUMBERS),
        (TopDownTreeRegressor(leaf=RidgeLeaf(blend="auto")), {"max_leaf_nodes": [100, 200]}, NUMBERS),
    ],
    ids=repr,
)
def test_ctrl_c_stops_a_grid_search(estimator, grid, y):
    search = GridSearchCV(estimator, grid, cv=3)
    assert interrupted_after(0.4, lambda: search.fit(ROWS[:4000], y[:4000])) < 1.5
    assert not hasattr(search, "best_estimator_")


@pytest.fixture(scope="module")
def fitted():
    forest = ForestRegressor(5, max_depth=6, random_state=0).fit(ROWS[:20_000], NUMBERS[:20_000])
    linear = TopDownTreeRegressor(leaf="linear").fit(ROWS[:20_000], NUMBERS[:20_000])
    return forest, linear, TopDownTreeClassifier().fit(ROWS[:20_000], LABELS[:20_000])


LONG_CALLS = {
    "shuffled columns": lambda forest, linear, tree: forest.oob_permutation_importance(
        ROWS[:20_000], NUMBERS[:20_000], n_repeats=10**6
    ),
    "prediction": lambda forest, linear, tree: [forest.predict(ROWS) for _ in range(10**6)],
    "page": lambda forest, linear, tree: [tree.to_html() for _ in range(10**6)],
    "exports": lambda forest, linear, tree: [tree.to_c() + tree.to_sql(table="t") for _ in range(10**6)],
    "models of leaves": lambda forest, linear, tree: [
        linear.edit().refit_leaves(ROWS, NUMBERS).tree for _ in range(10**6)
    ],
}


@pytest.mark.parametrize("name", LONG_CALLS)
def test_ctrl_c_stops_what_a_fitted_model_does(name, fitted):
    took = interrupted_after(0.2, lambda: LONG_CALLS[name](*fitted))
    print(f"{name}: {took:.3f} s")
    assert took < 1.5


def test_ctrl_c_stops_a_long_fit_of_few_numbers(rng):
    """A single column takes many levels: few numbers, much work."""
    X, y = rng.normal(size=(130_000, 1)), rng.integers(0, 2, 130_000)
    tree = TopDownTreeClassifier(growth="depth_first")
    assert stops_soon(0.05, lambda: tree.fit(X, y))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_a_fit(n_jobs, rng):
    X, y = rng.normal(size=(400_000, 30)).astype(np.float32), rng.integers(0, 2, 400_000)
    tree = TopDownTreeClassifier(n_jobs=n_jobs)
    assert stops_soon(0.5, lambda: tree.fit(X, y))
    assert not [name for name in vars(tree) if name.endswith("_") and not name.startswith("_")]


@pytest.mark.parametrize("splits", [Householder(), OC1(), CO2()], ids=repr)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_ctrl_c_stops_the_search_of_a_node(splits, layout, rng):
    X, y = layout(rng.normal(size=(20_000, 400))), rng.integers(0, 2, 20_000)
    tree = TopDownTreeClassifier(splits)
    assert stops_soon(0.3, lambda: tree.fit(X, y))


def test_ctrl_c_stops_polishing(rng):
    X, y = rng.normal(size=(20_000, 40)), rng.integers(0, 20, 20_000)
    tree = TopDownTreeClassifier(WeightedOblique(max_iter=1), max_leaf_nodes=3, polish=Polish(epochs=10**6))
    assert stops_soon(1.5, lambda: tree.fit(X, y))
    assert not hasattr(tree, "tree_")


def test_an_error_in_a_progress_bar_stops_the_fit(rng):
    from boscage import _core

    def broken(done):
        raise RuntimeError("planted")

    X, y = rng.normal(size=(300_000, 20)), rng.integers(0, 2, 300_000).astype(np.int32)
    nothing = np.empty(0)
    target = _core.Target(y, nothing, 2)
    spec = _core.GrowthSpec(_core.Criterion("gini", 0.0, nothing), "best_first", _core.Limits(), 0, 1, broken)
    with pytest.raises(RuntimeError, match="planted"):
        _core.grow_axis(_core.Table(X), target, spec, np.empty(0, np.int64), 0, 0)
