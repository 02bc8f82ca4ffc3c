"""Dask: real workers, odd partitions, and every way in which a cluster can fail. Nothing may hang."""

import asyncio
import os
import signal
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import boscage
from boscage import Axis, IncompatibleParts, StochasticLinear, WeightedOblique
from boscage import TopDownTreeClassifier as LocalClassifier

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from dask.delayed import delayed  # noqa: E402
from distributed import futures_of, wait  # noqa: E402
from distributed.utils import get_mp_context  # noqa: E402

import boscage.dask as boscage_dask  # noqa: E402
from boscage.batches.partitions import homes_of, in_memory, to_loaders, to_partitions  # noqa: E402
from boscage.dask import ClusterError, TopDownTreeClassifier, _cluster  # noqa: E402
from boscage.dask._passes import ClusterPasses  # noqa: E402

pytestmark = pytest.mark.timeout(240)

N, D = 13_001, 4


@pytest.fixture(scope="module")
def cluster():
    # Workers are forked from a process that has imported everything: they start in a tenth of the time.
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(["distributed", "dask.array", "dask.dataframe", "boscage.dask"])
        # Any free port: two clusters run at once when the tests of this file are shared by two processes.
        made = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        )
        with made, distributed.Client(made) as client:
            yield made, client


@pytest.fixture
def client(cluster):
    scale(cluster, 2)
    return cluster[1]


def scale(cluster, n):
    made, client = cluster
    made.scale(n)
    limit = time.monotonic() + 100
    while len(client.scheduler_info(n_workers=-1)["workers"]) != n:
        assert time.monotonic() < limit, "the cluster does not reach its size"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = (rng.normal(size=(N, D)) * [1, 5, 0.1, 2] + 1).astype(np.float32)
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 3] / 10, [0.5, 2])
    weight = rng.exponential(size=N)
    weight[::9] = 0
    return X, y, weight


OBLIQUE = {"splits": WeightedOblique(max_iter=3, max_bins=32), "max_leaf_nodes": 3, "random_state": 3}


def local(data, **settings):
    return saved(LocalClassifier(**{"splits": "stochastic", "max_leaf_nodes": 6} | settings).fit(*data))


@pytest.fixture(scope="module")
def expected(data):
    return local(data)


@pytest.fixture(scope="module")
def expected_oblique(data):
    return local(data, **OBLIQUE)


def saved(tree):
    fields = ("weights", "value", "children_left", "threshold", "n_node_samples", "impurity", "weighted_n_node_samples")
    return (*(getattr(tree.tree_, name).tobytes() for name in fields), tree.trajectory_.tobytes())


def collections(data, cuts, load=None):
    """X, y and weights whose partitions are loaded by tasks of their own, so that they can be lost and made again."""
    edges = [0, *cuts, N]
    parts = [[], [], []]
    for number, (a, b) in enumerate(pairwise(edges)):
        for collected, array in zip(parts, data):
            piece = array[a:b]
            task = delayed(load or _itself, pure=False)(piece, number)
            collected.append(da.from_delayed(task, shape=piece.shape, dtype=piece.dtype))
    return tuple(da.concatenate(pieces) for pieces in parts)


def _itself(piece, number):
    return piece


def fit(collected, **options):
    settings = {"splits": "stochastic", "max_leaf_nodes": 6} | options
    return TopDownTreeClassifier(**settings, timeout=20, deadline=200).fit(*collected)


def at_pass(monkeypatch, actions):
    """Do something when pass k begins."""
    begin = ClusterPasses._begin

    def hooked(self):
        begin(self)
        if self.n_passes in actions:
            actions[self.n_passes]()

    monkeypatch.setattr(ClusterPasses, "_begin", hooked)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_same_bytes_for_workers_and_partitions(cluster, data, expected, workers):
    scale(cluster, workers)
    layouts = {1: ([], [4096, 8192]), 2: ([1, 1, 4095, 4097, 9000],), 3: (range(700, N, 1700),)}
    for cuts in layouts[workers]:
        tree = fit(collections(data, cuts))
        assert saved(tree) == expected
        assert tree.reading_.passes <= 4 + tree.get_depth()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_same_oblique_tree_for_workers_and_partitions(cluster, data, expected_oblique, workers):
    scale(cluster, workers)
    cuts = {1: [4096, 8192], 2: [1, 1, 4095, 4097, 9000], 3: [700, 700, 3333, 9999]}[workers]
    tree = fit(collections(data, cuts), **OBLIQUE)
    assert saved(tree) == expected_oblique
    assert tree.get_n_leaves() == 3


def test_empty_partitions_a_missing_class_and_few_columns_per_chunk(client, data, expected):
    order = np.argsort(data[1], kind="stable")
    by_class = tuple(array[order] for array in data)
    counts = np.cumsum(np.bincount(data[1]))[:-1].tolist()
    cuts = sorted([0, 0, *counts, counts[0], N, N])
    assert saved(fit(collections(by_class, cuts))) == local(by_class)
    X, y, weight = data
    split_columns = da.from_array(X, chunks=(5000, 3))
    assert saved(fit((split_columns, da.from_array(y, chunks=N), da.from_array(weight, chunks=999)))) == expected


def test_dataframes(client, data):
    X, y, _ = data
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=np.array(["u", "v", "w"])[y])
    expected = LocalClassifier("stochastic", max_leaf_nodes=6).fit(frame[list("abcd")], frame["label"])
    lazy = dd.from_pandas(frame, npartitions=3)
    tree = fit((lazy[list("abcd")], lazy["label"]))
    assert saved(tree) == saved(expected)
    assert tree.feature_names_in_.tolist() == list("abcd")
    found = tree.predict(lazy[list("abcd")])
    assert isinstance(found, da.Array)
    assert np.array_equal(found.compute(), expected.predict(frame[list("abcd")]))


def test_predictions_are_lazy(client, data):
    X = data[0]
    tree = fit(collections(data, [5000]))
    lazy = da.from_array(X, chunks=(3000, D))
    found = tree.predict_proba(lazy)
    assert isinstance(found, da.Array)
    assert found.shape == (N, 3)
    assert found.chunks[0] == lazy.chunks[0]
    plain = tree.to_local()
    assert type(plain) is LocalClassifier
    np.testing.assert_allclose(found.compute(), plain.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(tree.predict(X), plain.predict(X))
    assert tree.predict(lazy).dtype == tree.classes_.dtype


def test_small_messages_and_other_settings(client, data):
    family = StochasticLinear(scale="unit")
    oblique = {"splits": WeightedOblique(max_iter=2, max_bins=8), "max_leaf_nodes": 3, "random_state": 0}
    for settings in (
        {"class_weight": {0: 0.0, 1: 1.0, 2: 3.0}},
        {"splits": family, "class_weight": "balanced"},
        oblique | {"class_weight": "balanced"},
    ):
        options = {"splits": "stochastic", "max_leaf_nodes": 5} | settings
        tree = TopDownTreeClassifier(**options, max_message_mb=1e-4, timeout=20).fit(*collections(data, [6000, 6001]))
        assert saved(tree) == saved(LocalClassifier(**options).fit(*data))


@pytest.mark.parametrize("more", [{}, {"max_features": 2, "random_state": 4, "min_samples_split": 0.2}], ids=str)
def test_axis_trees(client, data, more):
    X, y, weight = data
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.05, np.nan, X).astype(np.float32)
    options = {"splits": Axis(max_bins=16), "max_leaf_nodes": 7} | more
    expected = LocalClassifier(**options).fit(X, y, weight)
    found = TopDownTreeClassifier(**options, timeout=20).fit(*collections((X, y, weight), [0, 1, 5000, 5000, 9001]))
    assert saved(found) == saved(expected)
    assert found.tree_.missing_go_to_left.tobytes() == expected.tree_.missing_go_to_left.tobytes()


def _slowly(piece, number):
    time.sleep([0.12, 0.0, 0.07, 0.02][number % 4])
    return piece


def test_finishing_order_changes_nothing(client, data, expected):
    assert saved(fit(collections(data, [1000, 5000, 9000], _slowly))) == expected


def _dies_once(marker):
    def load(piece, number):
        if number == 1 and os.path.exists(marker):
            os.remove(marker)
            os._exit(1)
        return piece

    return load


def test_a_worker_that_dies(client, data, expected, tmp_path, monkeypatch):
    marker = tmp_path / "die"
    at_pass(monkeypatch, {5: marker.touch})
    assert saved(fit(collections(data, [4000, 8000], _dies_once(str(marker))))) == expected
    assert not marker.exists()


def test_a_worker_that_dies_in_the_middle_of_a_descent(client, data, expected_oblique, tmp_path, monkeypatch):
    marker = tmp_path / "die"
    at_pass(monkeypatch, {9: marker.touch})
    assert saved(fit(collections(data, [4000, 8000], _dies_once(str(marker))), **OBLIQUE)) == expected_oblique
    assert not marker.exists()


def test_workers_come_and_go(cluster, data, expected, monkeypatch):
    scale(cluster, 1)
    at_pass(monkeypatch, {3: lambda: scale(cluster, 3), 5: lambda: cluster[0].scale(1)})
    assert saved(fit(collections(data, range(1000, N, 1000), _slowly))) == expected


def test_adaptive_clusters(cluster, data, expected):
    scale(cluster, 1)
    adaptive = cluster[0].adapt(minimum=1, maximum=3, interval="100ms")
    try:
        assert saved(fit(collections(data, range(1000, N, 1000), _slowly))) == expected
    finally:
        adaptive.stop()


def test_results_on_the_cluster_and_tasks_that_partitions_share(client, data, expected):
    cuts = [3000, 6000]
    kept = dask.persist(*collections(data, cuts))
    assert saved(fit(kept)) == expected
    assert all(isinstance(part, list) for part in to_loaders(to_partitions(*kept)))
    shared = delayed(_itself, pure=False)(data, 0)  # one task brings everything
    lazy = [da.from_delayed(shared[i], array.shape, array.dtype) for i, array in enumerate(data)]
    lazy = [array.rechunk({0: (3000, 3000, N - 6000)}) for array in lazy]
    assert all(isinstance(part, list) for part in to_loaders(to_partitions(*lazy)))
    assert saved(fit(lazy)) == expected


@pytest.mark.parametrize("kept", [False, True], ids=["loaded", "held"])
@pytest.mark.parametrize(
    "shares", [[[0, 2, 4], [1, 3, 5]], [[5], [4], [3], [2], [1], [0]], [[0, 1, 2, 3, 4, 5]]], ids=str
)
def test_groups_and_merging_change_nothing(client, data, expected, shares, kept, monkeypatch):
    """Whoever works on which partitions, in whatever order, and with merging on the workers."""
    monkeypatch.setattr("boscage.dask._passes.group_numbers", lambda *args: shares)
    for module in ("_cluster", "_passes"):
        monkeypatch.setattr(f"boscage.dask.{module}.MERGED_AT_ONCE", 2)
    lazy = collections(data, [1, 900, 5000, 8192, 12288])
    assert saved(fit(dask.persist(*lazy) if kept else lazy)) == expected
    options = {"splits": Axis(max_bins=16), "max_leaf_nodes": 7}
    X, y, weight = data
    assert saved(TopDownTreeClassifier(**options).fit(*lazy)) == saved(LocalClassifier(**options).fit(X, y, weight))


@pytest.mark.parametrize("max_message_mb", [64.0, 0.01], ids=["kept", "too many"])
def test_rows_between_groups_are_sent_once_for_the_same_groups(client, data, expected, max_message_mb, monkeypatch):
    sent = []
    run, groups_of = _cluster.Cluster.run, ClusterPasses._groups

    def watched(self, task, asked, groups, merge=None, homes=None):
        answers = run(self, task, asked, groups, merge, homes)
        if asked.question is not None:
            sent.append(sum(len(rows) for each in answers for answer in each for _, rows in answer.edges()))
        return answers

    def turned(self, **only):
        """The other way round from pass 7 on."""
        return groups_of(self, **only)[:: -1 if self.n_passes > 6 else 1]

    monkeypatch.setattr("boscage.dask._passes.group_numbers", lambda *args: [[0, 2, 4], [1, 3, 5]])
    monkeypatch.setattr(_cluster.Cluster, "run", watched)
    monkeypatch.setattr(ClusterPasses, "_groups", turned)
    assert saved(fit(collections(data, [1, 900, 5000, 8192, 12288]), max_message_mb=max_message_mb)) == expected
    assert len(sent) > 5
    first, *others = [rows > 0 for rows in sent]
    assert first
    assert others.count(True) == (1 if max_message_mb > 1 else len(others))


@pytest.mark.parametrize("trouble", ["none", "out of reach", "lost"])
def test_rows_held_by_workers_are_asked_for_directly_while_that_works(cluster, data, expected, trouble, monkeypatch):
    """Passes that go wrong are made again as tasks."""
    scale(cluster, 2)
    client = cluster[1]
    answered, asked = [], []
    ask = _cluster.Cluster._ask

    def watched(self, task, question, groups, homes):
        asked.append(homes)
        answers = ask(self, task, question, groups, homes)
        answered.append(answers is not None)
        return answers

    def kill():
        client.run(os._exit, 1, workers=asked[-1][:1], on_error="ignore")

    kept = held_whole(client, collections(data, [3000, 6000, 9000]))
    monkeypatch.setattr(_cluster.Cluster, "_ask", watched)
    monkeypatch.setattr(_cluster, "_CONNECT_SECONDS", 60.0)  # a busy machine may be slow to answer
    if trouble == "out of reach":
        monkeypatch.setattr(_cluster.Cluster, "_reaches", lambda self, home: False)
    at_pass(monkeypatch, {4: kill if trouble == "lost" else lambda: None})
    tree = fit(kept)
    assert saved(tree) == expected
    passes = tree.reading_.passes
    if trouble == "lost":
        assert answered[:3] == [True] * 3
        assert answered.count(True) < passes
    else:
        assert answered == [trouble == "none"] * passes


def held_whole(client, collected):
    """Persist collections so that one worker holds all of each partition: a fit brings the pieces together."""
    kept = dask.persist(*collected)
    wait(kept)
    held = in_memory(to_loaders(to_partitions(*kept)))
    limit = time.monotonic() + 100
    while not homes_of(client, held)[1]:
        assert time.monotonic() < limit, "the partitions stay in pieces"
        fit(kept)
    return kept


def test_a_worker_that_does_not_hold_a_partition_says_so(client, data):
    asked, group = None, boscage.batches.partitions.Group([0], [], [0], [5])
    found = client.run(_cluster._answer_here, None, asked, [["no such result"]], group)
    assert set(found.values()) == {None}


def test_a_pass_is_one_task_for_each_thread_of_the_worker_that_holds_the_rows(client, data, monkeypatch):
    seen = []
    run = _cluster.Cluster.run

    def watched(self, task, asked, groups, merge=None, homes=None):
        seen.append([group.numbers for group in groups])
        assert homes is None or len(homes) == len(groups)
        return run(self, task, asked, groups, merge, homes)

    monkeypatch.setattr(_cluster.Cluster, "run", watched)
    kept = dask.persist(*collections(data, range(1000, N, 1000)))
    wait(kept)
    held = client.who_has(futures_of(kept[0]))
    fit(kept)
    assert len(seen) > 3
    workers = {worker for places in held.values() for worker in places}
    for numbers in seen:
        assert len(numbers) == len(workers)
        assert sorted(number for group in numbers for number in group) == list(range(len(held)))


def test_a_partition_is_loaded_once_in_a_pass(client, data, expected, tmp_path):
    def load(number, a, b):
        with open(tmp_path / str(number), "a") as log:
            log.write("x")
        return [array[a:b] for array in data]

    parts = [delayed(load, nout=3, pure=False)(i, a, b) for i, (a, b) in enumerate([(0, 5000), (5000, N)])]
    lengths = [5000, N - 5000]
    lazy = [
        da.concatenate(
            [da.from_delayed(part[i], (n, *array.shape[1:]), array.dtype) for part, n in zip(parts, lengths)]
        )
        for i, array in enumerate(data)
    ]
    tree = fit(lazy)
    assert saved(tree) == expected
    assert [len((tmp_path / str(i)).read_text()) for i in range(2)] == [tree.reading_.passes] * 2


def test_an_answer_that_dies_with_its_worker_is_made_anew(cluster, data):
    made, client = cluster

    def answer():
        time.sleep(2)
        return 7

    scale(cluster, 2)
    future = client.submit(answer, pure=False)
    wait(future)
    (holder,) = client.who_has(future)[future.key]
    (nanny,) = (nanny for nanny in made.workers.values() if nanny.worker_address == holder)
    os.kill(nanny.process.pid, signal.SIGKILL)
    while future.status == "finished":
        time.sleep(0.01)
    assert future.status == "lost"
    passes = _cluster.Cluster(client, retries=3, timeout=60, limit=None)
    passes._wait([future])
    assert future.result() == 7


def test_no_workers_left(cluster, data, monkeypatch):
    scale(cluster, 1)
    at_pass(monkeypatch, {3: lambda: scale(cluster, 0)})
    start = time.monotonic()
    tree = TopDownTreeClassifier("stochastic", timeout=1)
    try:
        with pytest.raises(ClusterError, match="there has been no worker for 1 seconds"):
            tree.fit(*collections(data, [4000]))
    finally:
        cluster[0].scale(2)
    assert time.monotonic() - start < 60
    assert not hasattr(tree, "tree_")


def _raises(piece, number):
    if number == 2:
        raise OSError("the disk is gone")
    return piece


def test_a_partition_that_raises(client, data):
    with pytest.raises(ClusterError, match="partition 2: OSError: the disk is gone"):
        fit(collections(data, [3000, 6000, 9000], _raises), retries=1)


def test_the_client_is_of_use_after_a_failure(client, data, expected, tmp_path, monkeypatch):
    marker = tmp_path / "fail"

    def load(piece, number):
        if number == 1 and os.path.exists(marker):
            raise OSError("gone")
        return piece

    at_pass(monkeypatch, {5: marker.touch})  # sums, which are made of partitions by tasks that nobody waits for
    with pytest.raises(ClusterError, match="gone"):
        fit(collections(data, range(1000, N, 1000), load), retries=0)
    monkeypatch.undo()
    assert saved(fit(collections(data, [4000, 8000]))) == expected
    actions = [event["action"] for _, event in client.get_events(client.id)]
    assert "remove-client" not in actions, "the scheduler has broken off the connection"


def test_a_partition_that_fails_at_first(client, data, expected, tmp_path):
    marker = tmp_path / "fail"
    marker.touch()

    def load(piece, number):
        if number == 1 and marker.exists():
            marker.unlink()
            raise OSError("not yet")
        return piece

    assert saved(fit(collections(data, [3000, 6000], load))) == expected


def _very_slowly(piece, number):
    time.sleep(9)
    return piece


def test_deadline(client, data):
    start = time.monotonic()
    with pytest.raises(ClusterError, match="deadline"):
        TopDownTreeClassifier("stochastic", deadline=0.5).fit(*collections(data, [3000], _very_slowly))
    assert time.monotonic() - start < 8


@pytest.mark.parametrize("is_silent", [False, True])
def test_answers_that_never_come_end_with_the_deadline(client, data, monkeypatch, is_silent):
    """Sums that a worker has made and cannot send, and a scheduler that says nothing any more."""

    async def never(*_, **__):
        await asyncio.sleep(1000)

    monkeypatch.setattr(client, "gather", lambda *_, **__: never())
    if is_silent:
        monkeypatch.setattr(_cluster, "_ANSWER_SECONDS", 0.3)
        monkeypatch.setattr(client.scheduler, "identity", never, raising=False)
    begin = time.monotonic()
    with pytest.raises(ClusterError, match="deadline"):
        TopDownTreeClassifier("stochastic", client=client, deadline=2).fit(*collections(data, [3000]))
    assert time.monotonic() - begin < 60


def _set_version(version):
    boscage.__version__ = version


def test_other_versions_are_refused(client, data):
    client.run(_set_version, "0.0.7")
    try:
        with pytest.raises(ClusterError, match=r"worker has boscage 0\.0\.7 and the client"):
            fit(collections(data, [5000]), retries=0)
    finally:
        client.run(_set_version, boscage.__version__)


def test_refusals(client, data):
    X, y, _ = collections(data, [5000])
    tree = TopDownTreeClassifier("stochastic")
    with pytest.raises(TypeError, match="X is a ndarray, not a dask array"):
        tree.fit(data[0], y)
    with pytest.raises(TypeError, match="sample_weight is a ndarray"):
        tree.fit(X, y, data[2])
    with pytest.raises(ValueError, match="13001 rows and y 5000"):
        tree.fit(X, y[:5000])
    with pytest.raises(ValueError, match="max_message_mb=0"):
        TopDownTreeClassifier("stochastic", max_message_mb=0).fit(X, y)
    with pytest.raises(IncompatibleParts, match="splits='stochastic'"):
        TopDownTreeClassifier("oc1").fit(X, y)
    for broken in (0, 1):
        holed = data[0].copy()
        holed[5000 * broken + 7] = np.nan
        X, y, _ = collections((holed, *data[1:]), [5000])
        with pytest.raises(ClusterError, match=f"partition {broken}: ValueError: Input X contains NaN"):
            TopDownTreeClassifier("stochastic", retries=0).fit(X, y)


def test_no_client(data, monkeypatch):
    def none():
        raise ValueError("no client")

    monkeypatch.setattr(_cluster, "default_client", none)
    with pytest.raises(ClusterError, match="no Dask client"):
        TopDownTreeClassifier("stochastic").fit(*collections(data, []))


def test_parameters_are_those_of_the_local_class():
    own = {"client", "max_message_mb", "retries", "timeout", "deadline"}
    assert set(TopDownTreeClassifier().get_params()) == set(LocalClassifier().get_params()) | own


@pytest.mark.parametrize("family", [StochasticLinear(), WeightedOblique(max_bins=16)])
def test_the_largest_numbers_and_columns_far_from_zero_give_the_bytes_of_fit(client, family):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    X[rng.random((100, 3)) < 0.1] = np.finfo(np.float64).max
    X[:, 0] = rng.normal(size=100) + 1e14
    y, w = rng.integers(0, 2, 100), 10.0 ** rng.uniform(-300, 300, 100)
    settings = {"criterion": "entropy", "max_leaf_nodes": 6, "random_state": 0}
    local = LocalClassifier(family, **settings).fit(X, y, sample_weight=w)
    spread = TopDownTreeClassifier(family, client=client, **settings)
    spread.fit(*(da.from_array(part, chunks=(40, *part.shape[1:])) for part in (X, y)), da.from_array(w, chunks=40))
    assert spread.tree_ == local.tree_
    assert local.get_n_leaves() > 1


@pytest.mark.parametrize("splits", [Axis(max_bins=16), StochasticLinear()], ids=repr)
def test_passes_for_numbers_give_the_tree_of_memory(client, splits, rng):
    from boscage.base.progress import Progress
    from boscage.batches.survey import schema_data
    from boscage.data.column_kinds import NUMBERS_ONLY
    from boscage.engine.grow import Limits
    from number_jobs import grow_numbers, number_job

    X, y, weight = rng.normal(size=(N, D)), rng.lognormal(size=N), rng.exponential(size=N)
    limits = Limits(max_leaf_nodes=9)
    memory = grow_numbers(X, y, weight, splits=splits, limits={"max_leaf_nodes": 9})
    chunks = (5000, 1, 8000)
    pieces = to_partitions(*(da.from_array(part, chunks=(chunks, *part.shape[1:])) for part in (X, y, weight)))
    with Progress("passes", False) as progress:
        cluster = _cluster.Cluster(client, 2, 60.0, None)
        passes = ClusterPasses(
            cluster, pieces, "Test", None, allow_nan=True, categories=NUMBERS_ONLY, max_message_mb=64.0,
            progress=progress, target="numbers",
        )  # fmt: skip
        job = number_job(schema_data(passes.survey), splits=splits, limits=limits)
        tree = splits.grow_in_passes(job, passes, lambda total: limits)
    for name in ("feature", "threshold", "value", "impurity", "weights"):
        np.testing.assert_array_equal(getattr(memory, name), getattr(tree, name), err_msg=name)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("splits", [StochasticLinear(), WeightedOblique(max_bins=16, tol=0.01)])
def test_a_regressor_on_a_cluster_is_the_one_of_memory(client, splits, outputs, rng):
    X, weight = rng.normal(size=(N, D)), rng.integers(0, 3, N).astype(float)
    Y = rng.lognormal(size=(N, outputs)) + X[:, :1]
    Y = Y[:, 0] if outputs == 1 else Y
    parts = {"splits": splits, "max_leaf_nodes": 7, "random_state": 0}
    local = boscage.TopDownTreeRegressor(**parts).fit(X, Y, weight)
    lazy = [da.from_array(part, chunks=(4000, *[1] * (part.ndim - 1))) for part in (X, Y, weight)]
    tree = boscage_dask.TopDownTreeRegressor(**parts, client=client).fit(*lazy)
    assert tree.tree_ == local.tree_
    assert tree.n_outputs_ == outputs
    found = tree.predict(lazy[0])
    assert dask.is_dask_collection(found)
    assert found.shape == Y.shape
    np.testing.assert_allclose(
        found.compute(), local.predict(X), rtol=1e-13, atol=1e-14 * np.abs(local.tree_.leaf_proba).max()
    )
    np.testing.assert_array_equal(tree.predict(X[:5]), local.predict(X[:5]))
    alone = tree.to_local()
    assert type(alone) is boscage.TopDownTreeRegressor
    np.testing.assert_array_equal(alone.predict(X), local.predict(X))


def test_a_regressor_takes_dataframes_and_criteria_of_sums(client, rng):
    frame = pd.DataFrame({"a": rng.normal(size=3000), "town": pd.Categorical(rng.choice(["x", "y", "z"], 3000))})
    frame["y"] = rng.poisson(np.exp(frame["a"] + (frame["town"] == "x"))).astype(float)
    rows = dd.from_pandas(frame, npartitions=4)
    parts = {"splits": Axis(max_bins=32), "criterion": "poisson", "max_leaf_nodes": 6}
    tree = boscage_dask.TopDownTreeRegressor(**parts, client=client).fit(rows[["a", "town"]], rows["y"])
    local = boscage.TopDownTreeRegressor(**parts).fit(frame[["a", "town"]], frame["y"])
    assert tree.tree_ == local.tree_
    broken = rows["y"] / rows["y"]
    with pytest.raises((ValueError, ClusterError), match="NaN"):
        boscage_dask.TopDownTreeRegressor(**parts, client=client).fit(rows[["a", "town"]], broken)
