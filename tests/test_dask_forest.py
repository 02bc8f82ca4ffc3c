"""Forests on a Dask cluster: the same bytes as in one process, wherever partitions begin and whoever adds them up."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd
from distributed import Client

import boscage
import boscage.dask as on_dask
from boscage import Axis, IncompatibleParts
from boscage.dask._passes import ClusterPasses
from boscage.splits import WeightedOblique

pytestmark = pytest.mark.timeout(240)

N = 11_000
FAMILIES = {
    "axis": Axis(max_bins=16),
    "stochastic": "stochastic",
    "oblique": WeightedOblique(max_bins=16, max_iter=3),
}
FEW = {"n_estimators": 3, "max_leaf_nodes": 5, "random_state": 1}


@pytest.fixture(scope="module")
def client():
    with Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
        yield client


@pytest.fixture(scope="module")
def data():
    draws = np.random.default_rng(0)
    X = draws.normal(size=(N, 4))
    y = (X[:, 0] + X[:, 1] > draws.normal(size=N)).astype(int) + (X[:, 2] > 1)
    return X, y, draws.integers(0, 4, N) / 2


def collections(arrays, chunks):
    return [da.from_array(array, chunks=(chunks, *array.shape[1:])) for array in arrays]


def same(forest, cluster, tmp_path):
    """Whether the files of two forests are the same, byte by byte."""
    return forest.save(tmp_path / "a").read_bytes() == cluster.to_local().save(tmp_path / "b").read_bytes()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_bytes_as_in_memory(client, data, family, weighted, tmp_path):
    given = data if weighted else data[:2]
    settings = FEW | {"splits": FAMILIES[family]}
    forest = boscage.ForestClassifier(**settings).fit(*given)
    cluster = on_dask.ForestClassifier(**settings).fit(*collections(given, 2300))
    assert same(forest, cluster, tmp_path)
    assert cluster.reading_.rows == N


@pytest.mark.parametrize("bootstrap", [{"max_samples": 0.1}, {"bootstrap": False}, {"bootstrap": "bayesian"}])
@pytest.mark.parametrize("chunks", [(N,), (1, 0, 4095, 1, 4096, 2807), (900,) * 12 + (200,)])
def test_any_bags_and_partitions(client, data, bootstrap, chunks, tmp_path):
    settings = FEW | {"splits": FAMILIES["axis"]} | bootstrap
    forest = boscage.ForestClassifier(**settings).fit(*data[:2])
    held = [each.persist() for each in collections(data[:2], chunks)]
    assert same(forest, on_dask.ForestClassifier(**settings).fit(*held), tmp_path)
    assert same(forest, on_dask.ForestClassifier(**settings).fit(*collections(data[:2], chunks)), tmp_path)


def test_answers_merged_on_the_workers(client, data, monkeypatch, tmp_path):
    for module in ("_cluster", "_passes"):
        monkeypatch.setattr(f"boscage.dask.{module}.MERGED_AT_ONCE", 2)
    monkeypatch.setattr("boscage.dask._passes.group_numbers", lambda *known: [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7]])
    settings = FEW | {"splits": FAMILIES["stochastic"], "max_samples": 0.3}
    forest = boscage.ForestClassifier(**settings).fit(*data)
    assert same(forest, on_dask.ForestClassifier(**settings).fit(*collections(data, 1000)), tmp_path)


def test_rows_at_the_edges_are_asked_for_once(client, data, monkeypatch):
    asked = []
    ask = ClusterPasses.ask

    def watched(self, task, work, merge=None):
        def seen(numbers):
            made = work(numbers)
            if task.__name__ == "answer_trees":
                asked.extend(each.edges for each in made if each.question.is_sum)
            return made

        return ask(self, task, seen, merge)

    monkeypatch.setattr(ClusterPasses, "ask", watched)
    on_dask.ForestClassifier(splits="stochastic", **FEW).fit(*collections(data[:2], 2300))
    assert asked[:3] == [True] * 3
    assert len(asked) > 6
    assert not any(asked[6:])  # workers may be known only after the second pass


def test_out_of_bag_and_growing_on(client, data, tmp_path):
    settings = {"splits": FAMILIES["axis"], "max_depth": 2, "oob_score": True, "calibrate": True, "random_state": 0}
    forest = boscage.ForestClassifier(25, **settings).fit(*data)
    lazy = collections(data, 2300)
    cluster = on_dask.ForestClassifier(22, warm_start=True, **settings).fit(*lazy)
    cluster.set_params(n_estimators=25).fit(*lazy)
    assert cluster.trees_ == forest.trees_
    np.testing.assert_array_equal(cluster.oob_decision_function_, forest.oob_decision_function_[data[2] > 0])
    assert (cluster.oob_score_, cluster.exponent_) == (forest.oob_score_, forest.exponent_)
    assert cluster.exponent_ != 1
    assert cluster.to_local().oob_score_ == forest.oob_score_


@pytest.mark.parametrize("outputs", [1, 2])
def test_numbers(client, data, outputs):
    X, y, weight = data
    target = X[:, 0] * 2 + y if outputs == 1 else np.column_stack([X[:, 0] * 2 + y, X[:, 1]])
    settings = FEW | {"splits": FAMILIES["axis"], "n_estimators": 25, "max_leaf_nodes": 3, "oob_score": True}
    forest = boscage.ForestRegressor(**settings).fit(X, target, weight)
    cluster = on_dask.ForestRegressor(**settings).fit(*collections((X, target, weight), 2300))
    assert cluster.trees_ == forest.trees_
    assert cluster.oob_score_ == forest.oob_score_
    found = cluster.predict(da.from_array(X, chunks=(3000, 4)))
    assert found.shape == target.shape
    np.testing.assert_array_equal(found.compute(), forest.predict(X))
    with pytest.raises(ValueError, match="kept no targets"):
        cluster.predict_quantiles(X)


def test_tables_with_categories_and_missing_values(client, data):
    X, y, _ = data
    table = pd.DataFrame(X, columns=list("abcd"))
    table["town"] = pd.Categorical(np.array(["u", "v", "w"])[y], categories=["u", "v", "w"])
    table.loc[::5, "a"] = np.nan
    settings = FEW | {"splits": FAMILIES["axis"]}
    forest = boscage.ForestClassifier(**settings).fit(table, y)
    lazy = dd.from_pandas(table.assign(y=y), npartitions=5)
    cluster = on_dask.ForestClassifier(**settings).fit(lazy[table.columns.tolist()], lazy["y"])
    assert cluster.trees_ == forest.trees_
    np.testing.assert_array_equal(
        cluster.predict_proba(lazy[table.columns.tolist()]).compute(), forest.predict_proba(table)
    )
    np.testing.assert_array_equal(cluster.predict(table), forest.predict(table))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "splits=ForestMix\\(\\)"),
        ({"splits": Axis(max_bins=8), "refit": "leaves"}, "refit='leaves'"),
        ({"splits": Axis(max_bins=8), "class_weight": "balanced_subsample"}, "balanced_subsample"),
        ({"splits": Axis(max_bins=8), "retries": -1}, "retries=-1"),
        ({"splits": Axis(max_bins=8), "retries": 1.5}, "retries=1.5 is not allowed. Pass an integer >= 0"),
        ({"splits": Axis(max_bins=8), "timeout": np.nan}, "timeout=nan is not allowed. Pass a number >= 0"),
        ({"splits": Axis(max_bins=8), "deadline": "soon"}, "deadline='soon' is not allowed. Pass None or a number > 0"),
        ({"splits": Axis(max_bins=8), "deadline": 0}, "deadline=0 is not allowed"),
        ({"splits": Axis(max_bins=8), "oob_score": True, "bootstrap": False}, "oob_score=True cannot be combined"),
    ],
)
def test_what_cannot_be_done_is_refused(client, data, settings, message):
    forest = on_dask.ForestClassifier(2, **settings)
    with pytest.raises((ValueError, IncompatibleParts), match=message):
        forest.fit(*collections(data[:2], 5000))
    assert not hasattr(forest, "trees_")


def test_a_partition_that_fails_is_named(client, data):
    X, y = collections(data[:2], 5000)
    broken = X.map_blocks(lambda rows, block_id: rows[block_id[0] :], dtype=X.dtype)
    with pytest.raises(on_dask.ClusterError, match="partition 1"):
        on_dask.ForestClassifier(2, Axis(max_bins=8), max_depth=2).fit(broken, y)


@pytest.mark.parametrize(
    "kind", ["ForestClassifier", "ForestRegressor", "TopDownTreeClassifier", "TopDownTreeRegressor"]
)
def test_files_are_those_of_the_local_estimator(client, data, kind, tmp_path):
    X, y = data[0], data[1]
    few = {name: value for name, value in FEW.items() if "Forest" in kind or name != "n_estimators"}
    model = getattr(on_dask, kind)(splits=Axis(max_bins=16), **few).fit(*collections([X, y], 4000))
    loaded = boscage.load(model.save(tmp_path / "model.boscage"))
    assert type(loaded) is getattr(boscage, kind)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.get_params() == model.to_local().get_params()


def test_parameters_are_those_of_the_local_forest():
    for cluster, local in (
        (on_dask.ForestClassifier, boscage.ForestClassifier),
        (on_dask.ForestRegressor, boscage.ForestRegressor),
    ):
        more = {"client": None, "max_message_mb": 64.0, "retries": 3, "timeout": 60.0, "deadline": None}
        assert cluster().get_params() == local().get_params() | more
