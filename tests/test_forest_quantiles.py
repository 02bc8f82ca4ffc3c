"""Quantiles and intervals of a ForestRegressor against a slow reference."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import boscage
from boscage import ForestRegressor
from boscage.leaves import RidgeLeaf

SEEDS = st.integers(0, 2**32 - 2)


def data(n=150, seed=0, outputs=1):
    draws = np.random.default_rng(seed)
    X = draws.normal(size=(n, 4))
    y = X[:, :1] + draws.normal(size=(n, outputs)) * (1 + np.abs(X[:, 1:2]))
    return X, np.round(y, 1)[:, 0] if outputs == 1 else np.round(y, 1)


def quantile_by_hand(forest, X, y, weight, row, level):
    mine, theirs = forest.apply(row[None])[0], forest.apply(X)
    share = np.zeros(len(y))
    for tree, leaf in enumerate(mine):
        together = (theirs[:, tree] == leaf) * weight
        share += together / together.sum() / len(mine)
    below = 0.0
    for i in np.argsort(y, kind="stable"):
        below += share[i]
        if share[i] and below >= level - 1e-9:
            return y[i]
    return y[np.flatnonzero(share)].max()


@settings(max_examples=25, deadline=None)
@given(
    SEEDS, st.integers(1, 6), st.booleans(), st.sampled_from([1, 3, 40]), st.sampled_from([0.0, 0.1, 0.5, 0.83, 1.0])
)
def test_quantiles_are_those_of_the_rows_in_the_leaves(seed, trees, weighted, leaf, level):
    X, y = data(60, seed)
    weight = np.random.default_rng(seed).integers(1, 5, len(y)) / 4 if weighted else None
    forest = ForestRegressor(trees, min_samples_leaf=leaf, random_state=seed).fit(X, y, weight)
    fresh = np.random.default_rng(seed + 1).normal(size=(5, 4))
    mass = np.ones(len(y)) if weight is None else weight
    expected = [quantile_by_hand(forest, X, y, mass, row, level) for row in fresh]
    np.testing.assert_array_equal(forest.predict_quantiles(fresh, level), expected)


def test_shapes_order_and_threads():
    X, y = data(outputs=2)
    forest = ForestRegressor(10, random_state=0).fit(X, y)
    found = forest.predict_quantiles(X, [0.1, 0.5, 0.9])
    assert found.shape == (len(X), 2, 3)
    assert (np.diff(found, axis=2) >= 0).all()
    np.testing.assert_array_equal(forest.set_params(n_jobs=3).predict_quantiles(X, [0.1, 0.5, 0.9]), found)
    np.testing.assert_array_equal(forest.predict_quantiles(X, 0.5), found[:, :, 1])
    single = ForestRegressor(10, random_state=0).fit(X, y[:, 0])
    assert single.predict_quantiles(X).shape == (len(X), 3)
    assert single.predict_interval(X).shape == (len(X), 2)
    assert single.predict_quantiles(X, 0.5).shape == (len(X),)


def test_intervals_hold_about_as_many_rows_as_they_say():
    X, y = data(1500)
    forest = ForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X[:1000], y[:1000])
    for coverage in (0.5, 0.8, 0.95):
        low, high = forest.predict_interval(X[1000:], coverage).T
        assert abs(np.mean((low <= y[1000:]) & (y[1000:] <= high)) - coverage) < 0.07


def test_rows_of_weight_zero_do_not_count():
    X, y = data()
    weight = np.where(y > 2, 0.0, 1.0)
    forest = ForestRegressor(10, random_state=0).fit(X, y, weight)
    assert forest.predict_quantiles(X, 1.0).max() <= 2


def test_saved_and_pickled(tmp_path):
    X, y = data()
    forest = ForestRegressor(5, random_state=0).fit(X, y, np.linspace(0.5, 2, len(y)))
    before = forest.predict_quantiles(X)
    loaded = boscage.load(forest.save(tmp_path / "forest"))
    np.testing.assert_array_equal(loaded.predict_quantiles(X), before)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(forest)).predict_quantiles(X), before)
    assert loaded.save(tmp_path / "again").read_bytes() == (tmp_path / "forest").read_bytes()


def test_warm_start_keeps_the_rows_of_all_trees():
    X, y = data()
    whole = ForestRegressor(8, random_state=0).fit(X, y)
    steps = ForestRegressor(3, warm_start=True, random_state=0).fit(X, y).set_params(n_estimators=8).fit(X, y)
    np.testing.assert_array_equal(steps.predict_quantiles(X), whole.predict_quantiles(X))


@pytest.mark.parametrize(
    "settings",
    [{"leaf": RidgeLeaf(), "splits": "axis", "max_leaf_nodes": 4}, {"splits": "stochastic", "max_leaf_nodes": 4}],
)
def test_forests_without_targets_in_their_leaves_say_so(settings):
    X, y = data()
    forest = ForestRegressor(3, random_state=0, **settings).fit(X, y)
    with pytest.raises(ValueError, match="leaf='constant'"):
        forest.predict_interval(X)


@pytest.mark.parametrize("levels", [-0.1, 1.1, [], "half", [0.5, np.nan], [[0.5]], None])
def test_bad_levels(levels):
    X, y = data()
    forest = ForestRegressor(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="quantiles="):
        forest.predict_quantiles(X, levels)
    with pytest.raises(ValueError, match="coverage="):
        forest.predict_interval(X, 0)


@pytest.mark.parametrize("wrong", ["targets", "row_weights", "row_leaves", "missing"])
def test_damaged_tensors_are_refused(wrong, tmp_path):
    X, y = data()
    forest = ForestRegressor(3, random_state=0).fit(X, y)
    kept = forest._leaf_targets
    changed = {
        "targets": {"y": kept.y * np.nan},
        "row_weights": {"weight": np.ones(3)},
        "row_leaves": {"leaf": np.zeros_like(kept.leaf)},
        "missing": {"leaf": kept.leaf[:2]},
    }
    from dataclasses import replace

    forest._leaf_targets = replace(kept, **changed[wrong])
    with pytest.raises(boscage.ModelFileError):
        boscage.load(forest.save(tmp_path / "forest"))
