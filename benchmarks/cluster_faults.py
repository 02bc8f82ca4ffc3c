"""Faults on a cluster: workers are killed at random, or have too little memory, while trees grow.

``python benchmarks/cluster_faults.py --kills 100`` starts a Dask cluster of three worker processes and fits trees and
forests of every family, for classification and regression, in turn, while a thread kills a random worker (SIGKILL)
every second or so; the cluster starts another in its place. Then workers have less memory than a partition needs. Every
fit must end before its deadline, with the bytes of a fit in memory or with ``ClusterError``; anything else ends the
program with an error.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import threading
import time
from collections import Counter
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
from dask.delayed import delayed
from distributed.core import Status
from distributed.utils import get_mp_context
from sklearn.base import clone, is_regressor

import boscage.dask
from boscage import (
    Axis,
    ForestClassifier,
    ForestRegressor,
    TopDownTreeClassifier,
    TopDownTreeRegressor,
    WeightedOblique,
)
from boscage.dask import ClusterError

AXIS, OBLIQUE = Axis(max_bins=64), WeightedOblique(max_iter=3, max_bins=32)
SMALL, FEW_TREES = {"max_leaf_nodes": 3, "random_state": 3}, {"n_estimators": 3, "max_leaf_nodes": 6, "random_state": 3}
FAMILIES: dict[str, Any] = {
    "axis": TopDownTreeClassifier(AXIS, max_leaf_nodes=12),
    "oblique": TopDownTreeClassifier(OBLIQUE, **SMALL),
    "stochastic": TopDownTreeClassifier("stochastic", max_leaf_nodes=12),
    "axis, regression": TopDownTreeRegressor(AXIS, max_leaf_nodes=12),
    "oblique, regression": TopDownTreeRegressor(OBLIQUE, **SMALL),
    "stochastic, regression": TopDownTreeRegressor("stochastic", max_leaf_nodes=12),
    "forest, axis": ForestClassifier(splits=AXIS, **FEW_TREES),
    "forest, stochastic": ForestClassifier(splits="stochastic", **FEW_TREES),
    "forest, regression": ForestRegressor(splits=AXIS, **FEW_TREES),
}
PARTS = 8


def make_data(name: str, n: int = 40_000) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with a numeric target, or with three classes."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    y = X[:, 0] + X[:, 1] * X[:, 3]
    return X, y if is_regressor(FAMILIES[name]) else np.digitize(y, [-0.5, 1])


def collections(X: np.ndarray, y: np.ndarray, waste_mb: int = 0, pause: float = 0.0) -> tuple[da.Array, da.Array]:
    """Return X and y whose partitions are made by tasks, each of which takes so much time and memory."""

    def load(piece: np.ndarray) -> np.ndarray:
        waste = np.ones(waste_mb * 2**17)
        time.sleep(pause + 0.01 * len(waste) // 2**17)
        return piece

    made = []
    for array in (X, y):
        pieces = [
            da.from_delayed(delayed(load, pure=False)(piece), piece.shape, piece.dtype)
            for piece in np.array_split(array, PARTS)
        ]
        made.append(da.concatenate(pieces))
    return made[0], made[1]


def saved(model: Any) -> bytes:
    """Return the bytes of the trees."""
    fields = ("weights", "value", "children_left", "feature", "threshold", "n_node_samples", "impurity")
    trees = model.trees_ if hasattr(model, "trees_") else [model.tree_]
    return b"".join(getattr(tree, name).tobytes() for tree in trees for name in fields)


class Killer:
    """Kills a random worker now and then, until the block ends."""

    def __init__(self, cluster: Any, rng: random.Random, most: int) -> None:
        self.cluster, self.rng, self.most, self.kills = cluster, rng, most, 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while self.kills < self.most and not self._end.wait(self.rng.uniform(0.5, 3.0)):
            # Not while they start: a nanny whose worker dies then gives up, and the cluster gets smaller.
            known = set(self.cluster.scheduler.workers)
            nannies = [nanny for nanny in self.cluster.workers.values() if nanny.worker_address in known]
            started = [nanny.process for nanny in nannies if nanny.process is not None]
            alive = [process.pid for process in started if process.status == Status.running and process.pid]
            if not alive:
                continue
            try:
                os.kill(self.rng.choice(alive), signal.SIGKILL)
            except ProcessLookupError:
                continue
            self.kills += 1

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


def start(n_workers: int, memory_limit: str | int) -> Any:
    """Start a cluster of processes that are forked from one which has imported everything."""
    get_mp_context().set_forkserver_preload(["distributed", "dask.array", "boscage.dask"])
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=60,
        memory_limit=memory_limit,
    )


def try_fit(client: Any, name: str, data: tuple[da.Array, da.Array], expected: bytes, deadline: float) -> str:
    """Fit once; return how it ended."""
    begin = time.monotonic()
    try:
        on_cluster = getattr(boscage.dask, type(FAMILIES[name]).__name__)
        settings = FAMILIES[name].get_params(deep=False)
        model = on_cluster(client=client, timeout=30, deadline=deadline, **settings).fit(*data)
        outcome = "same bytes" if saved(model) == expected else "OTHER BYTES"
    except ClusterError as error:
        print(f"ClusterError: {error}", flush=True)
        outcome = "ClusterError"
    # Some time for the last tasks to be given up.
    return outcome if time.monotonic() - begin < deadline + 30 else "TOO LATE"


def kill_workers(kills: int, seed: int, deadline: float) -> Counter[tuple[str, str]]:
    """Fit trees of all families in turn until so many workers were killed; count how the fits ended."""
    expected = {name: saved(clone(tree).fit(*make_data(name))) for name, tree in FAMILIES.items()}
    found: Counter[tuple[str, str]] = Counter()
    rng, done, slowest = random.Random(seed), 0, 0.0
    while done < kills:
        with start(3, 0) as cluster, distributed.Client(cluster) as client:
            for name in FAMILIES:
                begin = time.monotonic()
                with Killer(cluster, rng, kills - done) as killer:
                    outcome = try_fit(client, name, collections(*make_data(name), pause=0.02), expected[name], deadline)
                done += killer.kills
                slowest = max(slowest, time.monotonic() - begin)
                found[name, outcome] += 1
                print(f"{done} killed; {name}: {outcome}, {time.monotonic() - begin:.0f} s", flush=True)
                if not cluster.scheduler.workers:  # Dask gives up a worker that dies while it starts
                    break
    print(f"{done} workers killed in {found.total()} fits; the slowest took {slowest:.0f} s")
    return found


def starve_workers(deadline: float) -> Counter[tuple[str, str]]:
    """Fit where a partition needs more memory than a worker may have: the cluster kills workers again and again."""
    found: Counter[tuple[str, str]] = Counter()
    with start(2, "600MB") as cluster, distributed.Client(cluster) as client:
        for name in FAMILIES:
            begin = time.monotonic()
            data = collections(*make_data(name), waste_mb=900)
            found[name, try_fit(client, name, data, b"", deadline)] += 1
            print(f"{name}: workers without memory, {time.monotonic() - begin:.0f} s")
    return found


def main() -> None:
    """Run both and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--deadline", type=float, default=120)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        killed = kill_workers(options.kills, options.seed, options.deadline)
        starved = starve_workers(options.deadline)
    for title, found in (("killed workers", killed), ("workers without memory", starved)):
        for (name, outcome), count in sorted(found.items()):
            print(f"{title:24}{name:24}{outcome:16}{count}")
    bad = [outcome for found in (killed, starved) for _, outcome in found if outcome.isupper()]
    if bad or any(outcome != "ClusterError" for _, outcome in starved):
        raise SystemExit(f"broken: {bad or starved}")


if __name__ == "__main__":
    main()
