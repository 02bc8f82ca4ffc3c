"""From which size a cluster pays: Dask with two workers on this machine against ``fit_batches`` on both cores.

Rows of six columns lie in the memory of the workers (persisted arrays of ten partitions, five on each worker), those of
``fit_batches`` in the memory of the process. The two take turns, and the lowest figure of each is kept: elapsed time,
and CPU time of all processes together, which a busy machine disturbs less. What a cluster of one machine costs beyond
``fit_batches`` is what a cluster of several machines must win back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from _measure import report
from boscage import Axis, TopDownTreeClassifier

COLUMNS = 6
PARTITIONS = 10
ROUNDS = 5
SIZES = (10_000, 100_000, 1_000_000)
MODELS: dict[str, dict[str, Any]] = {
    "axis, 64 bins, depth 8": {"splits": Axis(max_bins=64), "max_depth": 8},
    "stochastic, 64 leaves": {"splits": "stochastic", "max_leaf_nodes": 64},
}


def main() -> None:
    import dask.array as da
    from dask import config
    from distributed import Client, LocalCluster, wait

    from boscage.dask import TopDownTreeClassifier as DaskClassifier

    rows = []
    with (
        config.set({"distributed.comm.timeouts.connect": "60s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.run(__import__, "boscage.dask")
        for n in SIZES:
            X = da.random.default_rng(0).normal(size=(n, COLUMNS), chunks=(n // PARTITIONS, COLUMNS))
            y = (X[:, 0] * X[:, 1] + X[:, 2] > 0.3 * X[:, 3]).astype(np.int64)
            X, y = evenly(client, X, y)
            wait([X, y])
            rows_here, labels = X.compute(), y.compute()

            def batches(X: Any = rows_here, y: Any = labels, step: int = n // PARTITIONS) -> Iterator[tuple[Any, Any]]:
                return ((X[i : i + step], y[i : i + step]) for i in range(0, len(y), step))

            for name, options in MODELS.items():
                here, there = [], []
                for _ in range(ROUNDS):
                    model = TopDownTreeClassifier(**options, random_state=0, n_jobs=2, verbose=False)
                    here.append(measured(client, model.fit_batches, batches))
                    other = DaskClassifier(**options, random_state=0, verbose=False)
                    there.append(measured(client, other.fit, X, y))
                    assert other.tree_ == model.tree_
                passes = other.reading_.passes
                (seconds, cpu), (dask_seconds, dask_cpu) = np.min(here, axis=0), np.min(there, axis=0)
                rows.append({"tree": name, "rows": n, "passes": passes, "fit_batches s": seconds,
                             "Dask s": dask_seconds, "ratio": dask_seconds / seconds, "fit_batches CPU s": cpu,
                             "Dask CPU s": dask_cpu, "CPU ratio": dask_cpu / cpu,
                             "load": os.getloadavg()[0]})  # fmt: skip
                print(rows[-1], flush=True)
    report("batches_cluster", "Dask with two workers on one machine over fit_batches on two cores, elapsed time", rows)


def evenly(client: Any, *arrays: Any) -> list[Any]:
    """Persist arrays, partitions in turns on the workers: by itself Dask may put six on one and four on the other."""
    import dask.array as da

    homes = list(client.scheduler_info()["workers"])
    turns = [[array.blocks[i] for array in arrays] for i in range(PARTITIONS)]
    kept = [client.persist(blocks, workers=[homes[i % len(homes)]]) for i, blocks in enumerate(turns)]
    return list(client.persist([da.concatenate(blocks) for blocks in zip(*kept)]))  # stay where they are


def cpu_seconds() -> float:
    spent = os.times()
    return spent.user + spent.system


def measured(client: Any, call: Any, *arguments: Any) -> tuple[float, float]:
    """Elapsed time of a call, and CPU time of this process and the workers."""
    before = cpu_seconds() + sum(client.run(cpu_seconds).values())
    start = time.perf_counter()
    call(*arguments)
    elapsed = time.perf_counter() - start
    return elapsed, cpu_seconds() + sum(client.run(cpu_seconds).values()) - before


if __name__ == "__main__":
    main()
