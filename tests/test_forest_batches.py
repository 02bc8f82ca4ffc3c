"""Forests in batches: the same bytes as in memory, in passes that the trees share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import boscage
from boscage import ForestClassifier, ForestRegressor
from boscage.splits import Axis, WeightedOblique

FAMILIES = {"axis": Axis(max_bins=16), "stochastic": "stochastic", "oblique": WeightedOblique(max_bins=16, max_iter=5)}


def data(n=300, d=4, seed=0):
    draws = np.random.default_rng(seed)
    X = draws.normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] > draws.normal(size=n)).astype(int) + (X[:, 2] > 1), draws.integers(0, 4, n) / 2


def batches(*arrays, size=70):
    return lambda: iter([tuple(array[i : i + size] for array in arrays) for i in range(0, len(arrays[0]), size)])


def saved(forest, path):
    return forest.save(path).read_bytes()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("bootstrap", [True, False, "bayesian"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_bytes_as_in_memory(family, bootstrap, weighted, tmp_path):
    X, y, weight = data()
    given = (X, y, weight) if weighted else (X, y)
    settings = {"splits": FAMILIES[family], "bootstrap": bootstrap, "max_leaf_nodes": 6, "random_state": 1}
    whole = ForestClassifier(4, **settings).fit(*given)
    parts = ForestClassifier(4, n_jobs=2, **settings).fit_batches(batches(*given))
    assert saved(whole, tmp_path / "a") == saved(parts, tmp_path / "b")


@pytest.mark.parametrize("settings", [{"max_samples": 0.5}, {"max_samples": 100, "bootstrap": False}, {}])
def test_out_of_bag_and_the_exponent(settings, tmp_path):
    X, y, _ = data(6000)
    settings |= {"splits": Axis(max_bins=8), "max_depth": 4, "oob_score": True, "calibrate": True, "random_state": 0}
    whole = ForestClassifier(30, **settings).fit(X, y)
    parts = ForestClassifier(30, **settings).fit_batches(batches(X, y, size=2500))
    np.testing.assert_array_equal(whole.oob_decision_function_, parts.oob_decision_function_)
    assert (whole.oob_score_, whole.exponent_) == (parts.oob_score_, parts.exponent_)
    assert saved(whole, tmp_path / "a") == saved(parts, tmp_path / "b")


@pytest.mark.parametrize("family", ["axis", "stochastic"])
def test_numbers(family):
    X, y, weight = data(seed=2)
    target = X[:, 0] * 2 + y
    settings = {"splits": FAMILIES[family], "max_leaf_nodes": 8, "oob_score": True, "random_state": 3}
    whole = ForestRegressor(15, **settings).fit(X, target, weight)
    parts = ForestRegressor(15, **settings).fit_batches(batches(X, target, weight))
    assert whole.trees_ == parts.trees_
    assert whole.oob_score_ == parts.oob_score_
    with pytest.raises(ValueError, match="all rows in memory"):
        parts.predict_interval(X)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 120), st.integers(1, 5), st.booleans())
def test_any_batches(seed, size, trees, weighted):
    X, y, weight = data(80, 3, seed)
    X[np.random.default_rng(seed).uniform(size=X.shape) < 0.1] = np.nan
    given = (X, y, weight + (weight.max() == 0)) if weighted else (X, y)
    settings = {"splits": Axis(max_bins=5), "random_state": seed, "calibrate": False}
    whole = ForestClassifier(trees, **settings).fit(*given)
    assert whole.trees_ == ForestClassifier(trees, **settings).fit_batches(batches(*given, size=size)).trees_


def test_default_limits_of_a_family_are_those_of_the_bag(tmp_path):
    X, y, _ = data(500)
    settings = {"splits": "stochastic", "random_state": 0}
    whole, parts = ForestClassifier(3, **settings), ForestClassifier(3, **settings)
    assert saved(whole.fit(X, y), tmp_path / "a") == saved(parts.fit_batches(batches(X, y)), tmp_path / "b")


def test_trees_share_passes():
    X, y, _ = data(400)
    one, many = (
        ForestClassifier(trees, Axis(max_bins=16), max_depth=3, calibrate=False, random_state=0).fit_batches(
            batches(X, y)
        )
        for trees in (1, 20)
    )
    assert many.reading_.passes == one.reading_.passes
    assert many.reading_.rows == 400
    many.fit(X, y)
    assert not hasattr(many, "reading_")


def test_files_and_growing_on(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    X, y, _ = data(900)
    names = ["a", "b", "c", "d"]
    pq.write_table(pa.table({**dict(zip(names, X.T)), "y": y}), tmp_path / "rows.parquet", row_group_size=200)
    import pandas as pd

    frame = pd.DataFrame(X, columns=names)
    settings = {"splits": Axis(max_bins=32), "max_leaf_nodes": 10, "random_state": 0}
    whole = ForestClassifier(8, **settings).fit(frame, y)
    steps = ForestClassifier(5, warm_start=True, n_jobs=2, **settings)
    steps.fit_batches(tmp_path / "rows.parquet", "y").set_params(n_estimators=8)
    steps.fit_batches(tmp_path / "rows.parquet", "y")
    assert steps.trees_ == whole.trees_
    assert steps.predict_batches(tmp_path / "rows.parquet", tmp_path / "out.parquet", "y", proba=True) == 900
    found = pq.read_table(tmp_path / "out.parquet").to_pandas()
    np.testing.assert_array_equal(found["prediction"], steps.predict(frame))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "all rows in memory"),
        ({"splits": "axis"}, "all rows in memory"),
        ({"splits": Axis(max_bins=8), "class_weight": "balanced_subsample"}, "balanced_subsample"),
        ({"splits": Axis(max_bins=8), "bootstrap": "bayesian", "oob_score": True}, "out of bag"),
        ({"splits": Axis(max_bins=8), "max_samples": 5000}, "max_samples=5000"),
    ],
)
def test_what_cannot_be_done_in_batches_is_refused(settings, message):
    X, y, _ = data()
    forest = ForestClassifier(3, random_state=0, **settings)
    with pytest.raises(ValueError, match=message):
        forest.fit_batches(batches(X, y))
    assert not hasattr(forest, "trees_")


def test_an_error_of_one_tree_or_of_the_source_ends_the_fit():
    X, y, _ = data()
    turns = iter(range(100))

    def failing():
        if next(turns) >= 3:
            raise OSError("the disk is gone")
        return iter([(X, y)])

    with pytest.raises(OSError, match="the disk is gone"):
        ForestClassifier(5, Axis(max_bins=8), random_state=0).fit_batches(failing)
    lengths = iter(range(300, 0, -50))
    with pytest.raises(ValueError, match="rows"):
        ForestClassifier(5, Axis(max_bins=8), random_state=0).fit_batches(lambda: iter([(X[: next(lengths)], y)]))


def test_saved_in_batches_and_loaded(tmp_path):
    X, _, _ = data()
    forest = ForestRegressor(3, Axis(max_bins=8), random_state=0).fit_batches(batches(X, X[:, 0]))
    loaded = boscage.load(forest.save(tmp_path / "forest"))
    np.testing.assert_array_equal(loaded.predict(X), forest.predict(X))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("model", [boscage.TopDownTreeClassifier(), ForestClassifier(2)], ids=repr)
@pytest.mark.parametrize(
    ("columns", "rows", "message"),
    [
        (3, range(300), "a batch has 3 columns, and there were 4 in the first pass"),
        (4, range(299), "brought 299 rows and the first one 300"),
        (4, [*range(300), 0], "brought 301 rows and the first one 300"),
    ],
)
def test_a_source_that_changes_after_two_passes(family, model, columns, rows, message):
    X, y, _ = data()
    passes = []

    def changing():
        passes.append(1)
        return iter([(X, y)] if len(passes) < 3 else [(X[rows, :columns], y[rows])])

    with pytest.raises(ValueError, match=message):
        model.set_params(splits=FAMILIES[family], max_depth=2).fit_batches(changing)
    assert len(passes) == 3
