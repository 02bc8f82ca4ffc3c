"""What passes over batches on disk and over Dask cost: memory, time against reading the file, two workers, levels.

``python benchmarks/run.py batches`` uses two million rows; BOSCAGE_BATCH_ROWS=20000000 is the full size. The Parquet
file is generated beside the system's temporary files (or in BOSCAGE_BATCH_FOLDER) and kept for the next run. Elapsed
time counts here, so the machine must be quiet.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from _measure import RESULTS, report, wall_seconds

COLUMNS, LEAVES, GROUP = 20, 64, 1 << 17
FULL = int(os.environ.get("BOSCAGE_BATCH_ROWS", "2000000"))
FOLDER = Path(os.environ.get("BOSCAGE_BATCH_FOLDER", tempfile.gettempdir()))


def rows_of(part: int, n: int):
    """Rows of one row group: a linear rule, a product of two columns, and noise."""
    rng = np.random.default_rng(part)
    X = rng.standard_normal((n, COLUMNS), dtype=np.float32)
    y = X[:, :5].sum(axis=1) + 2 * X[:, 5] * X[:, 6] + rng.standard_normal(n) > 0
    return X, y.astype(np.int8)


def parquet(n: int) -> Path:
    """Write a file of n rows once, with pyarrow's own settings."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = FOLDER / f"boscage-{n}x{COLUMNS}.parquet"
    if path.exists():
        return path
    writer = None
    for part, start in enumerate(range(0, n, GROUP)):
        X, y = rows_of(part, min(GROUP, n - start))
        table = pa.table({f"x{j}": X[:, j] for j in range(COLUMNS)} | {"y": y})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()
    return path


def read(path: Path) -> None:
    """Read the file with pyarrow, batch by batch."""
    import pyarrow.dataset as ds

    for _ in ds.dataset(path).to_batches():
        pass


SCRIPT = """
import json, os, sys, time
from boscage import TopDownTreeClassifier
import pyarrow, pyarrow.dataset, pyarrow.parquet
if {jobs} == 1:  # one core for everything, pyarrow's threads included
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    pyarrow.set_cpu_count(1)
start, cpu = time.perf_counter(), time.process_time()
tree = TopDownTreeClassifier("stochastic", max_leaf_nodes={leaves}, n_jobs={jobs}, verbose=False)
tree.fit_batches({path!r}, "y")
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
peak = int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))) * 1024
print(json.dumps(dict(seconds=seconds, cpu=cpu, peak=peak, passes=tree.reading_.passes, depth=tree.get_depth())))
"""


def fit_alone(path: Path, jobs: int = -1) -> dict[str, float]:
    """Fit in a process of its own, so that its peak memory is that of the fit; ``jobs=1`` means one core."""
    code = SCRIPT.format(path=str(path), leaves=LEAVES, jobs=jobs)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def batches(n: int) -> dict[str, object]:
    path = parquet(n)
    read(path)  # into the page cache: both sides read from memory
    reading, fits = [], []
    for _ in range(2):  # in turns, so that a slow spell of the machine does not fall on one of them
        reading += [wall_seconds(lambda: read(path), 1) for _ in range(3)]
        fits.append(fit_alone(path))
        reading += [wall_seconds(lambda: read(path), 1) for _ in range(3)]
    fit = min(fits, key=lambda one: one["seconds"])
    once = float(np.median(reading))  # a pass is the mean of ten
    return {
        "rows": n,
        "file MB": path.stat().st_size / 1e6,
        "peak MB": fit["peak"] / 1e6,
        "passes": fit["passes"],
        "fit s": fit["seconds"],
        "pass s": fit["seconds"] / fit["passes"],
        "read s": once,
        "pass over read": fit["seconds"] / fit["passes"] / once,
    }


def _part(path: str, groups: list[int]):
    """Load some row groups as X and y."""
    import pyarrow.parquet as pq

    table = pq.ParquetFile(path).read_row_groups(groups, use_threads=False)
    X = np.empty((COLUMNS, table.num_rows), np.float32)
    for j in range(COLUMNS):
        X[j] = table[f"x{j}"].to_numpy()
    return X.T, table["y"].to_numpy()


def dask_fit(path: Path, workers: int, leaves: int = LEAVES, groups_at_once: int = 1) -> tuple[float, int]:
    """Seconds and passes of a fit on a local cluster whose partitions read their row groups anew in every pass."""
    import dask.array as da
    import pyarrow.parquet as pq
    from dask.delayed import delayed
    from distributed import Client, LocalCluster

    from boscage.dask import TopDownTreeClassifier

    file = pq.ParquetFile(path).metadata
    load = delayed(_part, nout=2)
    X, y = [], []
    for first in range(0, file.num_row_groups, groups_at_once):
        groups = list(range(first, min(first + groups_at_once, file.num_row_groups)))
        length = sum(file.row_group(group).num_rows for group in groups)
        part, labels = load(str(path), groups)
        X.append(da.from_delayed(part, (length, COLUMNS), np.float32))
        y.append(da.from_delayed(labels, (length,), np.int8))
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.run(__import__, "boscage.dask")
        tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=leaves, verbose=False)
        start = time.perf_counter()
        tree.fit(da.concatenate(X), da.concatenate(y))
        return time.perf_counter() - start, tree.reading_.passes


def plot(rows: list[dict[str, object]]) -> None:
    """Cost against rows, for the documentation."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    n = [row["rows"] for row in rows]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    axes[0].loglog(n, [row["pass s"] for row in rows], "o-", label="one pass of a fit")
    axes[0].loglog(n, [row["read s"] for row in rows], "s--", label="reading with pyarrow")
    axes[0].set(xlabel="rows", ylabel="seconds")
    axes[0].legend(frameon=False)
    axes[1].loglog(n, [row["peak MB"] for row in rows], "o-", label="peak memory of a fit")
    axes[1].loglog(n, [row["file MB"] for row in rows], "s--", label="size of the file")
    axes[1].set(xlabel="rows", ylabel="MB")
    axes[1].legend(frameon=False)
    folder = RESULTS.parent.parent / "docs" / "results"
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / "batches.svg")


def main() -> None:
    sizes = [n for n in (100_000, 400_000, 2_000_000, 6_000_000, 20_000_000) if n <= FULL]
    rows = [batches(n) for n in sizes]
    report("batches", f"Stochastic tree of {LEAVES} leaves over a Parquet file, elapsed time, all cores", rows)
    plot(rows)
    path = parquet(FULL)
    one_core, two_cores = fit_alone(path, jobs=1)["seconds"], rows[-1]["fit s"]
    at_once = 4 if FULL > 4_000_000 else 1  # partitions of about half a million rows, or of an eighth
    one, _ = dask_fit(path, 1, groups_at_once=at_once)
    two, passes = dask_fit(path, 2, groups_at_once=at_once)
    small, few = dask_fit(parquet(100_000), 2, leaves=16)
    report(
        "batches_dask",
        f"The same tree with Dask over {FULL:,} rows, elapsed time; workers have one thread and read files themselves",
        [
            {"figure": "fit_batches on one core, seconds", "value": one_core},
            {"figure": "fit_batches on both cores, seconds", "value": two_cores},
            {"figure": "one worker, seconds", "value": one},
            {"figure": "two workers, seconds", "value": two},
            {"figure": "seconds per pass of two workers", "value": two / passes},
            {"figure": "fit_batches on one core over two workers", "value": one_core / two},
            {"figure": "one worker over two workers", "value": one / two},
            {"figure": "seconds per level where there is little to do (100,000 rows)", "value": small / few},
        ],
    )


if __name__ == "__main__":
    main()
