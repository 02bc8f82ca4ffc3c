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
import json, sys, time
from boscage import TopDownTreeClassifier
import pyarrow.dataset
start, cpu = time.perf_counter(), time.process_time()
tree = TopDownTreeClassifier("stochastic", max_leaf_nodes={leaves}, n_jobs={jobs}, verbose=False)
tree.fit_batches({path!r}, "y")
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
peak = int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))) * 1024
print(json.dumps(dict(seconds=seconds, cpu=cpu, peak=peak, passes=tree.reading_.passes, depth=tree.get_depth())))
"""


def fit_alone(path: Path, jobs: int = -1) -> dict[str, float]:
    """Fit in a process of its own, so that its peak memory is that of the fit."""
    code = SCRIPT.format(path=str(path), leaves=LEAVES, jobs=jobs)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def batches(n: int) -> dict[str, object]:
    path = parquet(n)
    read(path)  # into the page cache: both sides read from memory
    reading = wall_seconds(lambda: read(path))
    fit = fit_alone(path)
    return {
        "rows": n,
        "file MB": path.stat().st_size / 1e6,
        "peak MB": fit["peak"] / 1e6,
        "passes": fit["passes"],
        "fit s": fit["seconds"],
        "pass s": fit["seconds"] / fit["passes"],
        "read s": reading,
        "pass over read": fit["seconds"] / fit["passes"] / reading,
    }


def _part(path: str, group: int):
    import pyarrow.parquet as pq

    table = pq.ParquetFile(path).read_row_group(group, use_threads=False)
    columns = [table[f"x{j}"].to_numpy() for j in range(COLUMNS)]
    return np.stack(columns).T, table["y"].to_numpy()


def dask_fit(path: Path, n: int, workers: int, leaves: int = LEAVES) -> tuple[float, int]:
    """Seconds and passes of a fit on a local cluster whose partitions read their row groups anew in every pass."""
    import dask.array as da
    import pyarrow.parquet as pq
    from dask.delayed import delayed
    from distributed import Client, LocalCluster

    from boscage.dask import TopDownTreeClassifier

    groups = pq.ParquetFile(path).metadata
    load = delayed(_part, nout=2)
    X, y = [], []
    for group in range(groups.num_row_groups):
        length = groups.row_group(group).num_rows
        part, labels = load(str(path), group)
        X.append(da.from_delayed(part, (length, COLUMNS), np.float32))
        y.append(da.from_delayed(labels, (length,), np.int8))
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
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
    alone = fit_alone(path, jobs=1)
    two, passes = dask_fit(path, FULL, 2)
    small, few = dask_fit(parquet(100_000), 100_000, 2, leaves=16)
    report(
        "batches_dask",
        "The same tree with Dask, elapsed time",
        [
            {"figure": "one process, one thread, seconds", "value": alone["seconds"]},
            {"figure": "two workers, seconds", "value": two},
            {"figure": "two workers over one process", "value": alone["seconds"] / two},
            {"figure": "passes", "value": passes},
            {"figure": "seconds per level where there is little to do (100,000 rows)", "value": small / few},
        ],
    )


if __name__ == "__main__":
    main()
