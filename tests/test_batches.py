"""Batches: the same bytes as in memory, from every kind of source, with bounded memory and clear refusals."""

import gzip
import math
import subprocess
import sys
import threading
import time
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boscage import Axis, IncompatibleParts, StochasticLinear, TopDownTreeClassifier, load
from boscage.batches.files import read_ahead
from boscage.batches.reduction import Part, join, total
from boscage.batches.rows import BLOCK_ROWS, Rows, in_blocks
from boscage.batches.source import open_source
from boscage.batches.threads import Workers
from boscage.data.weights import Grid, exact_sums, snap_weights, sum_value
from boscage.datasets import DataFileError
from boscage.datasets._csv import read_csv

try:
    import polars as pl
except ImportError:  # it has no wheels for every Python
    pl = None


def saved(tree, folder):
    path = folder / "tree.boscage"
    tree.save(path)
    return path.read_bytes()


def make_data(n=9001, d=5, seed=0, dtype=np.float64, classes=3):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * rng.uniform(0.1, 10, d) + rng.normal(size=d)).astype(dtype)
    score = X[:, 0] / X[:, 0].std() + X[:, 1] * X[:, 2] / (X[:, 1].std() * X[:, 2].std())
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    weight = rng.exponential(size=n)
    weight[rng.random(n) < 0.1] = 0
    return X, y, weight


def in_pieces(cuts, *arrays):
    """A function that returns a fresh iterator of tuples of the arrays, cut before these rows."""
    edges = [0, *cuts, len(arrays[0])]
    return lambda: (tuple(array[a:b] for array in arrays) for a, b in pairwise(edges))


# The reduction


def whole_sum(values):
    """The shape of the sum, written once more: recursion over the largest power of two below the number of blocks."""
    if len(values) == 1:
        return values[0]
    half = 1 << (len(values) - 1).bit_length() - 1
    return whole_sum(values[:half]) + whole_sum(values[half:])


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.integers(1, 70), st.data())
def test_any_runs_of_blocks_have_the_same_sum(n, data):
    values = np.random.default_rng(n).normal(size=(n, 3)) * 10.0 ** np.arange(n)[:, None]
    blocks = [Part(0, i, values[i]) for i in range(n)]
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=8)))
    edges = [0, *cuts, n]
    runs = [join([blocks[a:b]]) for a, b in pairwise(edges)]
    while len(runs) > 1 and data.draw(st.booleans()):  # neighbours may be joined before, in any tree
        at = data.draw(st.integers(0, len(runs) - 2))
        runs[at : at + 2] = [join(runs[at : at + 2])]
    expected = whole_sum(list(values))
    assert total(join(runs)).tobytes() == expected.tobytes()
    assert all(len(run) <= 2 * math.ceil(math.log2(n + 1)) for run in runs)


def test_a_missing_run_is_noticed():
    with pytest.raises(ValueError, match="block 1 is missing"):
        join([[Part(0, 0, np.ones(1))], [Part(0, 2, np.ones(1))]])
    with pytest.raises(ValueError, match="do not begin with block 0"):
        total([Part(0, 1, np.ones(1))])


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 3 * BLOCK_ROWS), max_size=8))
def test_batches_are_cut_into_whole_blocks(lengths):
    n = sum(lengths)
    X = np.arange(n, dtype=np.float64)[:, None]
    edges = np.cumsum([0, *lengths])
    batches = [Rows(X[a:b], np.zeros(b - a, np.int32)) for a, b in pairwise(edges)]
    cut = list(in_blocks(batches))
    assert np.array_equal(np.concatenate([rows.X for _, rows in cut] or [X]), X)
    at = 0
    for first, rows in cut:
        assert first * BLOCK_ROWS == at
        at += len(rows)
    assert all(len(rows) % BLOCK_ROWS == 0 for _, rows in cut[:-1])


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.floats(5e-324, 1e308), min_size=1, max_size=40), st.integers(0, 40))
def test_weights_are_summed_exactly_in_any_order(values, cut):
    weights = np.array(values)
    parts = exact_sums(weights[:cut])[0] if cut and len(weights[:cut]) else 0
    parts += exact_sums(weights[cut:])[0] if len(weights[cut:]) else 0
    assert parts == exact_sums(weights[::-1])[0]
    if weights.max() < 1e306:
        assert sum_value(parts) == math.fsum(values)
    grid = Grid.of(float(weights.max()), len(weights), parts)
    assert grid.snap(weights).tobytes() == snap_weights(weights).tobytes()


# The same tree


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_leaf_nodes": 10, "criterion": "entropy", "min_weight_fraction_leaf": 0.02},
        {"growth": "heaviest_first", "max_leaf_nodes": 7, "class_weight": "balanced", "leaf": "majority"},
        {"growth": "depth_first", "max_depth": 3, "class_weight": {0: 2.0, 1: 0.0, 2: 1.5}, "ccp_alpha": 1e-3},
        {"min_impurity_decrease": 1e-3, "min_samples_leaf": 0.05},
    ],
    ids=["default", "entropy", "heaviest", "depth", "decrease"],
)
def test_same_bytes_as_in_memory(settings, weighted, dtype, tmp_path):
    X, y, weight = make_data(dtype=dtype)
    arrays = (X, y, weight) if weighted else (X, y)
    tree = TopDownTreeClassifier("stochastic", **settings)
    expected = saved(tree.fit(*arrays), tmp_path)
    trajectory = tree.trajectory_.tobytes()
    assert tree.get_n_leaves() > 2
    for cuts in ([], [1, 2, 4097, 8000], range(500, 9001, 500)):
        tree.fit_batches(in_pieces(cuts, *arrays))
        assert saved(tree, tmp_path) == expected
        assert tree.trajectory_.tobytes() == trajectory


@pytest.mark.parametrize(
    "family",
    [
        StochasticLinear(scale="unit"),
        StochasticLinear(scale="unit", fit_intercept=False),
        StochasticLinear("fixed_p_search_q", intercept_scaling=2.0),
        StochasticLinear(scale=False),
    ],
)
def test_same_bytes_with_every_scale(family, tmp_path):
    X, y, weight = make_data(classes=2)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    tree = TopDownTreeClassifier(family, max_leaf_nodes=6)
    expected = saved(tree.fit(X, y, weight), tmp_path)
    assert saved(tree.fit_batches(in_pieces([700, 5000], X, y, weight)), tmp_path) == expected


@pytest.mark.parametrize("far", [1e3, 1e4])
def test_same_bytes_where_rows_nearly_agree(far, tmp_path):
    """Rows of nearly one direction: sums are made once more about the mean row."""
    X, y, weight = make_data(classes=2)
    X = X + far
    tree = TopDownTreeClassifier(StochasticLinear(scale="unit"), max_depth=3)
    expected = saved(tree.fit(X, y, weight), tmp_path)
    tree.fit_batches(in_pieces([700, 5000], X, y, weight))
    assert tree.get_n_leaves() > 2
    assert saved(tree, tmp_path) == expected
    if far == 1e4:
        assert tree.reading_.passes > 4 + tree.get_depth()


def test_threads_and_memory_order_change_nothing(tmp_path):
    X, y, weight = make_data(n=30_000)
    expected = saved(TopDownTreeClassifier("stochastic", max_leaf_nodes=8).fit(X, y, weight), tmp_path)
    source = in_pieces([10_000, 21_111], np.asfortranarray(X), y, weight)
    for n_jobs in (1, 3):
        tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=8, n_jobs=n_jobs).fit_batches(source)
        assert saved(tree, tmp_path) == expected


@settings(derandomize=True, deadline=None, max_examples=12)
@given(st.lists(st.integers(0, 6000), max_size=6), st.integers(0, 3))
def test_cuts_change_nothing(cuts, seed):
    X, y, weight = make_data(n=6000, d=3, seed=seed)
    tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=5)
    expected = tree.fit(X, y, weight).tree_
    found = tree.fit_batches(in_pieces(sorted(cuts), X, y, weight)).tree_
    assert found.weights.tobytes() == expected.weights.tobytes()
    assert found.value.tobytes() == expected.value.tobytes()


def test_small_messages_mean_more_passes_and_the_same_tree(monkeypatch, tmp_path):
    X, y, _ = make_data()
    tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=12).fit_batches(in_pieces([4000], X, y))
    expected, passes = saved(tree, tmp_path), tree.reading_.passes
    monkeypatch.setattr("boscage.batches.reading.BatchPasses.max_message_mb", 3 * 7 * 8 / 1e6)  # one node
    tree.fit_batches(in_pieces([4000], X, y))
    assert saved(tree, tmp_path) == expected
    assert tree.reading_.passes > passes


def test_a_class_and_a_column_that_only_late_batches_have(tmp_path):
    X, y, _ = make_data(n=10_000)
    order = np.argsort(y, kind="stable")
    X, y = X[order], np.array(["a", "bb", "ccc"])[y[order]]
    tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=6)
    expected = saved(tree.fit(X, y), tmp_path)
    assert saved(tree.fit_batches(in_pieces([100, 3000, 3001], X, y)), tmp_path) == expected


def test_passes_grow_with_depth_and_not_with_leaves():
    X, y, _ = make_data(n=20_000)
    tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=32).fit_batches(in_pieces([5000], X, y))
    assert tree.get_n_leaves() == 32
    assert tree.reading_.rows == 20_000
    assert tree.reading_.passes <= 4 + tree.get_depth()
    assert tree.reading_.bytes_read == tree.reading_.passes * X.nbytes
    tree.fit(X, y)
    assert not hasattr(tree, "reading_")


# Sources


@pytest.fixture
def table():
    X, y, weight = make_data(n=7000, dtype=np.float32)
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    return pa.table(columns | {"label": np.array(["no", "yes", "maybe"])[y], "w": weight})


@pytest.fixture
def expected(table, tmp_path):
    X = table.drop_columns(["label", "w"]).to_pandas()
    tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=6)
    return saved(tree.fit(X, table["label"].to_pandas(), table["w"].to_numpy()), tmp_path)


def sources(table, folder):
    pq.write_table(table, folder / "all.parquet", row_group_size=1500)
    yield folder / "all.parquet"
    yield str(folder / "all.parquet")
    (folder / "several").mkdir()
    for i, start in enumerate(range(0, 7000, 2000)):
        pq.write_table(table.slice(start, 2000), folder / "several" / f"part-{i}.parquet")
    yield folder / "several"
    yield str(folder / "several" / "part-*.parquet")
    yield sorted((folder / "several").iterdir())
    pa.feather.write_feather(table, folder / "all.arrow", compression="uncompressed")
    yield folder / "all.arrow"
    yield pa.dataset.dataset(table)
    yield table
    yield table.to_pandas()
    yield [table.slice(0, 10), table.slice(10).to_pandas()]
    if pl is not None:
        yield [pl.from_arrow(table.slice(0, 5000)), pl.from_arrow(table.slice(5000))]
    yield lambda: iter(table.to_batches(max_chunksize=999))


def test_every_source_gives_the_same_tree(table, expected, tmp_path):
    for source in sources(table, tmp_path):
        tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=6).fit_batches(source, "label", weight="w")
        assert saved(tree, tmp_path) == expected, source
        assert tree.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3", "x4"]


def test_csv(table, tmp_path):
    pa.csv.write_csv(table, tmp_path / "all.csv")
    frame = pd.read_csv(tmp_path / "all.csv")
    tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=6)
    expected = saved(tree.fit(frame.drop(columns=["label", "w"]), frame["label"], frame["w"]), tmp_path)
    assert saved(tree.fit_batches(tmp_path / "all.csv", "label", weight="w"), tmp_path) == expected


def write_rows(path, rows, separator, header="a,b,y"):
    with gzip.open(path, "wt") if path.suffix == ".gz" else open(path, "w") as file:
        for row in [*([header.split(",")] if header else []), *rows]:
            file.write(separator.join(map(str, row)) + "\n")
    return path


@pytest.mark.parametrize(
    ("name", "separator", "missing"),
    [("a.csv", ";", "?"), ("a.tsv", "\t", "None"), ("a.csv.gz", ",", "NA"), ("a.txt", ",", "")],
)
def test_csv_is_understood_as_in_memory(name, separator, missing, tmp_path, rng):
    a, b = rng.normal(size=(2, 200)).round(4).tolist()
    rows = [[x if i % 9 else missing, z, "u" if z > 0 else "v"] for i, (x, z) in enumerate(zip(a, b, strict=True))]
    path = write_rows(tmp_path / name, rows, separator)
    tree = TopDownTreeClassifier(Axis(max_bins=16), max_leaf_nodes=4)
    read, _ = read_csv(path)
    assert read.column_names == ["a", "b", "y"]
    expected = saved(tree.fit(read.select(["a", "b"]), read["y"].to_pandas()), tmp_path)
    assert saved(tree.fit_batches(path, "y"), tmp_path) == expected
    rows[5][2] = missing
    with pytest.raises(ValueError, match="row 5 has no label"):
        tree.fit_batches(write_rows(path, rows, separator), "y")


def test_csv_without_a_header_and_with_fractions_late(tmp_path):
    rows = [[i % 7, i % 5, i % 2] for i in range(400_000)]
    rows[-1][0] = 2.5  # far behind the rows that tell the types of columns
    path = write_rows(tmp_path / "a.csv", rows, ",", header=None)
    tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=3).fit_batches(path, "x2")
    assert tree.feature_names_in_.tolist() == ["x0", "x1"]
    assert tree.classes_.tolist() == [0, 1]
    assert tree.classes_.dtype.kind == "i"
    assert tree.reading_.rows == 400_000


def test_damaged_csv_is_refused_by_name(tmp_path):
    tree = TopDownTreeClassifier("stochastic")
    good = write_rows(tmp_path / "a.csv", [[1, 2, "u"], [3, 4, "v"]], ",")
    bad = write_rows(tmp_path / "b.csv", [[1, 2, "u"], [3, 4]], ",")
    other = write_rows(tmp_path / "c.csv", [[1, 2, "u"]], ";", header="c,b,y")
    for sources in ([bad], [good, bad], [good, other]):
        says = (
            "line 3 has 2 cells, the first line 3"
            if sources[-1] == bad
            else "cannot be read as CSV: it has no column 'a'"
        )
        with pytest.raises(DataFileError, match=f"{sources[-1].name}: {says}"):
            tree.fit_batches(sources, "y")
    (tmp_path / "d.csv").touch()
    with pytest.raises(DataFileError, match=r"d\.csv: is empty"):
        tree.fit_batches(tmp_path / "d.csv", "y")


def datasets(table, folder):
    pa.feather.write_feather(table, folder / "small.arrow", compression="zstd", chunksize=900)
    yield pa.dataset.dataset(folder / "small.arrow", format="ipc")
    coded = table.set_column(table.schema.get_field_index("label"), "label", table["label"].dictionary_encode())
    pq.write_table(coded, folder / "coded.parquet", row_group_size=3000)
    yield folder / "coded.parquet"
    shuffled = table.select(["w", "x4", "label", "x0", "x1", "x2", "x3"])
    (folder / "orders").mkdir()
    pq.write_table(table.slice(0, 3000), folder / "orders" / "a.parquet")
    pq.write_table(shuffled.slice(3000), folder / "orders" / "b.parquet")
    yield folder / "orders"
    double = table.set_column(0, "x0", table["x0"].cast(pa.float64()))
    pq.write_table(table.slice(0, 3000), folder / "orders" / "a.parquet")
    pq.write_table(double.slice(3000), folder / "orders" / "b.parquet")
    yield pa.dataset.dataset(folder / "orders", schema=table.schema)
    both = pa.concat_tables([table, table])
    both = both.append_column("half", pa.array([1] * 7000 + [2] * 7000))
    pq.write_table(both, folder / "both.parquet", row_group_size=4000)
    yield (
        pa.dataset.dataset(folder / "both.parquet", schema=both.schema).filter(pa.dataset.field("half") == 2),
        ["half"],
    )
    pa.dataset.write_dataset(
        table.append_column("day", pa.array([1] * 4000 + [2] * 3000)),
        folder / "days",
        format="parquet",
        partitioning=pa.dataset.partitioning(pa.schema([("day", pa.int64())]), flavor="hive"),
    )
    yield pa.dataset.dataset(folder / "days", partitioning="hive"), ["day"]


@pytest.mark.parametrize("group_bytes", [0, 1 << 26])
def test_every_dataset_gives_the_same_tree(table, expected, tmp_path, monkeypatch, group_bytes):
    monkeypatch.setattr("boscage.batches.files._GROUP_BYTES", group_bytes)
    for source in datasets(table, tmp_path):
        source, drop = source if isinstance(source, tuple) else (source, [])
        opened = open_source(source, "label", "w", drop=drop)
        tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=6).fit_batches(opened)
        assert saved(tree, tmp_path) == expected, source


def test_a_column_in_the_names_of_folders_is_a_column(table, tmp_path):
    days = table.append_column("day", pa.array([1] * 4000 + [2] * 3000))
    pa.dataset.write_dataset(
        days,
        tmp_path / "days",
        format="parquet",
        partitioning=pa.dataset.partitioning(pa.schema([("day", pa.int64())]), flavor="hive"),
    )
    source = pa.dataset.dataset(tmp_path / "days", partitioning="hive")
    found = TopDownTreeClassifier("stochastic", max_leaf_nodes=6).fit_batches(source, "label", weight="w")
    plain = TopDownTreeClassifier("stochastic", max_leaf_nodes=6).fit_batches(days, "label", weight="w")
    assert found.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3", "x4", "day"]
    assert found.tree_.value.tobytes() == plain.tree_.value.tobytes()


def test_axis_trees_from_files(tmp_path):
    X, y, weight = mixed_columns(9000, 1, np.float32)
    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y, "w": weight})
    pq.write_table(table, tmp_path / "data.parquet", row_group_size=700)
    tree = TopDownTreeClassifier(Axis(max_bins=20), max_leaf_nodes=10)
    expected = saved(tree.fit(pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), y, weight), tmp_path)
    assert saved(tree.fit_batches(tmp_path / "data.parquet", "y", weight="w"), tmp_path) == expected


def test_no_thread_is_left_after_an_error(table, tmp_path):
    pq.write_table(table, tmp_path / "data.parquet", row_group_size=100)
    with pytest.raises(ValueError, match="not numeric") as caught:
        TopDownTreeClassifier("stochastic").fit_batches(tmp_path / "data.parquet", "x0")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("boscage")]
    pq.write_table(table.set_column(0, "x0", pa.array([np.inf] * 7000)), tmp_path / "data.parquet", row_group_size=100)
    with pytest.raises(ValueError, match="infinity") as caught:
        TopDownTreeClassifier("stochastic").fit_batches(tmp_path / "data.parquet", "label", weight="w")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("boscage")]
    assert caught.tb is not None  # the traceback is alive still


def test_labels_that_are_missing_are_refused(table, tmp_path):
    labels = [None, *table["label"].to_pylist()[1:]]
    pq.write_table(table.set_column(5, "label", pa.array(labels)), tmp_path / "none.parquet")
    with pytest.raises(ValueError, match="row 0 has no label"):
        TopDownTreeClassifier("stochastic").fit_batches(tmp_path / "none.parquet", "label", weight="w")


def test_reading_ahead_keeps_order_hands_on_errors_and_ends_early():
    assert list(read_ahead(iter(range(20)), 2)) == list(range(20))

    def failing():
        yield 1
        raise OSError("the disk is gone")

    ahead = read_ahead(failing(), 1)
    assert next(ahead) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)
    read = []
    ahead = read_ahead((read.append(i) or i for i in range(100)), 1)
    assert next(ahead) == 0
    ahead.close()
    assert len(read) < 5
    assert not [thread for thread in threading.enumerate() if thread.name == "boscage-reader"]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_workers_keep_order_hand_on_errors_and_end(threads):
    def late(i):
        time.sleep(0.002 * (i % 3))
        return i

    with Workers(threads) as workers:
        assert list(workers.ahead(partial(late, i) for i in range(30))) == list(range(30))
        assert [workers.submit(late, i).result() for i in range(5)] == list(range(5))
    begun = []

    def failing(i):
        begun.append(i)
        if i == 3:
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"), Workers(threads) as workers:
        list(workers.ahead(partial(failing, i) for i in range(100)))
    assert len(begun) <= 3 + 2 * threads
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("boscage")]


@pytest.mark.parametrize("rows", [37, 4096, 5000])
def test_threads_and_row_groups_change_nothing(table, expected, tmp_path, monkeypatch, rows):
    pq.write_table(table, tmp_path / "data.parquet", row_group_size=rows)
    for batch_rows, threads in ((1 << 17, 2), (1 << 12, 3), (1 << 12, 1)):  # small row groups together, large ones cut
        monkeypatch.setattr("boscage.batches.files.BATCH_ROWS", batch_rows)
        tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=6, n_jobs=threads)
        tree.fit_batches(tmp_path / "data.parquet", "label", weight="w").set_params(n_jobs=None)
        assert saved(tree, tmp_path) == expected, (batch_rows, threads)
        assert tree.reading_.rows == 7000


def test_what_can_be_read_only_once_is_refused_at_once():
    X, y, _ = make_data(n=100)
    read = []

    def batches():
        read.append(1)
        yield X, y

    tree = TopDownTreeClassifier("stochastic")
    with pytest.raises(TypeError, match="can be read only once"):
        tree.fit_batches(batches())
    assert not read
    once = iter([(X, y)])
    with pytest.raises(TypeError, match="same iterator again"):
        tree.fit_batches(lambda: once)
    assert not hasattr(tree, "tree_")


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        ([], {}, ValueError, "empty list"),
        (3, {}, TypeError, "int, which is not known"),
        (lambda: 3, {}, TypeError, "returned a int, not an iterator"),
        ([(np.ones((3, 2)),)], {}, ValueError, "tuple of 1"),
        ([np.ones((3, 2))], {}, TypeError, "batch 0 is a ndarray"),
        ("nowhere.parquet", {"target": "y"}, FileNotFoundError, "no such file"),
        ("nowhere-*.parquet", {"target": "y"}, FileNotFoundError, "no file has such a name"),
        ([(np.ones((0, 2)), np.ones(0))], {}, ValueError, "no rows"),
        ([(np.ones((3, 2)), [0, 1])], {}, ValueError, "3 rows of X and 2 of y"),
        ([(np.ones((2, 2)), [0, 1]), (np.ones((2, 3)), [0, 1])], {}, ValueError, "one has 2 columns"),
        ([(np.ones((2, 2)), [0, 1]), (np.ones((2, 2)), [0, 1], [1, 1])], {}, ValueError, "some batches have weights"),
        ([(np.ones((2, 2)), [0, 1]), (np.ones((2, 2)), ["a", "b"])], {}, ValueError, "batches differ: y holds"),
        ([(np.ones((2, 2)), [0, 1], [0, 0])], {}, ValueError, "zero for every row"),
        ([(np.ones((2, 2)), [0, 1], [1, -1])], {}, ValueError, "is negative"),
        ([(np.full((2, 2), np.nan), [0, 1])], {}, ValueError, "contains NaN"),
        ([(np.full((2, 2), np.inf), [0, 1])], {}, ValueError, "infinity"),
        ([pd.DataFrame({"a": [1.0], "y": [0]})], {}, ValueError, "target=None"),
        ([pd.DataFrame({"a": [1.0], "y": [0]})], {"target": "z"}, ValueError, "target='z' is not a column"),
        ([pd.DataFrame({"a": [1.0], "y": [0]})], {"target": "y", "weight": "v"}, ValueError, "weight='v' is not"),
        ([pa.table({"a": ["t"], "y": [0]})], {"target": "y"}, ValueError, "not numeric: 'a'"),
    ],
)
def test_refusals(source, options, error, message):
    tree = TopDownTreeClassifier("stochastic")
    with pytest.raises(error, match=message):
        tree.fit_batches(source, **options)
    assert not hasattr(tree, "tree_")


def test_a_source_that_changes_is_noticed():
    X, y, _ = make_data(n=500)
    calls = []

    def shrinking():
        calls.append(1)
        return iter([(X[: -len(calls)], y[: -len(calls)])])

    with pytest.raises(ValueError, match="brought 498 rows and the first one 499"):
        TopDownTreeClassifier("stochastic").fit_batches(shrinking)


@pytest.mark.parametrize("splits", ["oc1", "cart_lc", "co2", "hhcart", "wodt", "oblique"])
def test_other_families_refuse_and_say_which_do_not(splits):
    with pytest.raises(IncompatibleParts, match=r"splits='stochastic'.*Axis\(max_bins.*WeightedOblique\(max_bins"):
        TopDownTreeClassifier(splits).fit_batches([(np.eye(2), [0, 1])])


def test_lookahead_refuses():
    with pytest.raises(IncompatibleParts, match="lookahead=False"):
        TopDownTreeClassifier(StochasticLinear(lookahead=True)).fit_batches([(np.eye(2), [0, 1])])


# Memory and prediction

MEMORY = """
import numpy as np
from boscage import TopDownTreeClassifier

def batches():
    for seed in range({batches}):
        X = np.random.default_rng(seed).normal(size=(50_000, 10)).astype(np.float32)
        yield X, X[:, 0] > X[:, 1]

def peak():
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))

TopDownTreeClassifier("stochastic", max_leaf_nodes=4).fit_batches(lambda: [next(batches())])
before = peak()
TopDownTreeClassifier("stochastic", max_leaf_nodes=4).fit_batches(batches)
print(peak() - before)
"""


def test_memory_does_not_grow_with_rows():
    done = subprocess.run([sys.executable, "-c", MEMORY.format(batches=25)], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 12_000  # kB; all rows together are 50 MB


FILE_MEMORY = """
import numpy as np, pyarrow as pa, pyarrow.parquet as pq, time
from boscage import TopDownTreeClassifier

rng = np.random.default_rng(0)
schema = pa.schema([(f"x{{j}}", pa.float32()) for j in range(10)] + [("y", pa.int8())])
with pq.ParquetWriter({path!r}, schema) as writer:
    for _ in range({groups}):
        X = rng.normal(size=(20_000, 10)).astype(np.float32)
        columns = {{f"x{{j}}": X[:, j] for j in range(10)}} | {{"y": (X[:, 0] > X[:, 1]).astype(np.int8)}}
        writer.write_table(pa.table(columns))
before = pa.default_memory_pool().max_memory()
TopDownTreeClassifier("stochastic", max_leaf_nodes=4).fit_batches({path!r}, "y")
print(before, pa.default_memory_pool().max_memory())
"""


def test_files_are_not_read_far_ahead(tmp_path):
    code = FILE_MEMORY.format(path=str(tmp_path / "rows.parquet"), groups=120)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert max(before, after) < 35e6  # all rows together are 98 MB


def test_predict_batches_writes_parquet(table, tmp_path):
    pq.write_table(table, tmp_path / "data.parquet", row_group_size=1000)
    tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=6)
    tree.fit_batches(tmp_path / "data.parquet", "label", weight="w")
    n = tree.predict_batches(tmp_path / "data.parquet", tmp_path / "out.parquet", proba=True)
    found = pq.read_table(tmp_path / "out.parquet")
    X = table.drop_columns(["label", "w"]).to_pandas()
    assert n == found.num_rows == 7000
    assert found["prediction"].to_pylist() == tree.predict(X).tolist()
    for k, label in enumerate(tree.classes_):
        np.testing.assert_allclose(found[f"probability {label}"], tree.predict_proba(X)[:, k], atol=1e-12)
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out.parquet"]


def test_predict_batches_of_arrays_and_failures(tmp_path):
    X, y, _ = make_data(n=3000)
    tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=4).fit(X, y)
    assert tree.predict_batches([X[:1000], (X[1000:], y[1000:])], tmp_path / "out.parquet") == 3000
    assert pq.read_table(tmp_path / "out.parquet")["prediction"].to_pylist() == tree.predict(X).tolist()
    with pytest.raises(ValueError, match="features"):
        tree.predict_batches([X, X[:, :2]], tmp_path / "bad.parquet")
    assert not list(tmp_path.glob("bad*"))


def test_saved_and_loaded(tmp_path):
    X, y, _ = make_data(n=3000)
    tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=4).fit_batches([(X, y)])
    tree.save(tmp_path / "tree.boscage")
    assert np.array_equal(load(tmp_path / "tree.boscage").predict(X), tree.predict(X))


def test_progress_shows_passes_and_is_silent_in_pipes(capfd):
    X, y, _ = make_data(n=3000)
    TopDownTreeClassifier("stochastic", max_leaf_nodes=4).fit_batches([(X, y)])
    assert capfd.readouterr() == ("", "")
    TopDownTreeClassifier("stochastic", max_leaf_nodes=4, verbose=True).fit_batches([(X, y)])
    assert "MB read" in capfd.readouterr().err


# The command line


def test_fit_in_batches_from_the_command_line(table, tmp_path, capsys):
    from boscage.cli import app

    pq.write_table(table, tmp_path / "data.parquet")
    common = ["--target", "label", "--weight", "w", "--splits", "stochastic", "--max-leaf-nodes", "6", "--drop", "x4"]
    models = []
    for flag in ("--batches", "--in-memory"):
        models.append(tmp_path / f"model{flag}")
        with pytest.raises(SystemExit) as done:
            app(["fit", str(tmp_path / "data.parquet"), "-o", str(models[-1]), *common, flag, "--json"])
        assert done.value.code in (0, None)
    output = capsys.readouterr()
    assert "passes" in output.err
    assert '"bytes_read"' in output.out
    trees = [load(model) for model in models]
    assert trees[0].tree_.weights.tobytes() == trees[1].tree_.weights.tobytes()
    assert trees[0].tree_.value.tobytes() == trees[1].tree_.value.tobytes()


# Axis trees


def mixed_columns(n, seed, dtype):
    """Continuous, few-valued, heavily tied, constant and negative-zero columns, with missing values in two of them."""
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n), rng.integers(0, 7, n), np.where(rng.random(n) < 0.6, 0.0, rng.normal(size=n))]
    columns += [np.full(n, 3.0), np.where(rng.random(n) < 0.5, -0.0, np.round(rng.normal(size=n), 1))]
    X = np.stack(columns, axis=1).astype(dtype)
    y = np.digitize(X[:, 0] + X[:, 1] / 3 + X[:, 2], [0.5, 2.0])
    X[rng.random(n) < 0.1, 0] = np.nan
    X[rng.random(n) < 0.05, 1] = np.nan
    weight = rng.exponential(size=n)
    weight[rng.random(n) < 0.1] = 0
    return X, y, weight


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_bins", [2, 9, 255])
@pytest.mark.parametrize("weighted", [False, True])
def test_axis_trees_have_the_same_bytes(dtype, max_bins, weighted, tmp_path):
    X, y, weight = mixed_columns(9000, max_bins, dtype)
    arrays = (X, y, weight) if weighted else (X, y)
    for limits in ({"max_leaf_nodes": 12}, {"max_depth": 5, "criterion": "entropy", "min_samples_leaf": 20}):
        tree = TopDownTreeClassifier(Axis(max_bins=max_bins), **limits)
        expected = saved(tree.fit(*arrays), tmp_path)
        assert tree.get_n_leaves() > 3
        for cuts in ([1, 4097], range(0, 9000, 1000)):
            assert saved(tree.fit_batches(in_pieces(cuts, *arrays)), tmp_path) == expected


@settings(derandomize=True, deadline=None, max_examples=15)
@given(st.lists(st.integers(0, 3000), max_size=4), st.integers(0, 50), st.integers(2, 40))
def test_cuts_change_nothing_in_axis_trees(cuts, seed, max_bins):
    X, y, weight = mixed_columns(3000, seed, np.float32)
    tree = TopDownTreeClassifier(Axis(max_bins=max_bins), max_leaf_nodes=8, class_weight="balanced")
    expected = tree.fit(X, y, weight).tree_
    found = tree.fit_batches(in_pieces(sorted(cuts), X, y, weight)).tree_
    for name in ("feature", "threshold", "missing_go_to_left", "value", "n_node_samples", "impurity"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes()


def test_axis_trees_with_enough_bins_are_exact(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 30, (5000, 3)).astype(np.float64)
    y = (X[:, 0] + X[:, 1] > 25).astype(int)
    expected = saved(TopDownTreeClassifier("axis", max_leaf_nodes=20).fit(X, y), tmp_path)
    tree = TopDownTreeClassifier(Axis(max_bins=30), max_leaf_nodes=20).fit_batches(in_pieces([777], X, y))
    assert saved(tree.set_params(splits="axis"), tmp_path) == expected  # files hold the parameters too


def test_axis_trees_need_bins():
    with pytest.raises(IncompatibleParts, match="max_bins=255"):
        TopDownTreeClassifier("axis").fit_batches([(np.eye(2), [0, 1])])


@pytest.mark.parametrize("settings", [{"leaf": "linear"}, {"polish": "soft"}])
def test_what_needs_rows_refuses(settings):
    with pytest.raises(IncompatibleParts, match="all rows in memory"):
        TopDownTreeClassifier("stochastic", **settings).fit_batches([(np.eye(2), [0, 1])])
