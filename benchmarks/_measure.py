"""Measuring: CPU seconds of repeated runs, ratios in one run, tables and a JSON file for the documentation."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"


def seconds(call: Callable[[], Any], repeats: int = 3, budget: float = 30.0) -> float:
    """Lowest CPU time of some runs; fewer when a run is long."""
    best, spent = math.inf, 0.0
    for _ in range(repeats):
        start = time.process_time()
        call()
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
        if spent > budget:
            break
    return best


def in_turns(rounds: int, **calls: Callable[[], Any]) -> dict[str, list[float]]:
    """CPU times of calls that take turns, so that a busy spell of the machine does not fall on one of them."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds(call, repeats=1))
    return times


def wall_seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """Lowest elapsed time: only for questions about threads."""
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def geometric_mean(values: Iterable[float]) -> float:
    return float(np.exp(np.mean(np.log(list(values)))))


def peak_growth(code: str) -> float:
    """Bytes by which ``run()`` raises the peak memory of a fresh process; ``code`` defines it after its set-up."""
    # The high-water mark of the new process alone: getrusage would start from that of this one.
    peak = "int(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    script = f"{code}\nbefore = {peak}\nrun()\nprint(1024 * ({peak} - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def machine() -> dict[str, str]:
    """Say what the figures were measured on, without naming the machine."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return {
        "cpu": model,
        "cores": str(len(os.sched_getaffinity(0))),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }


def data_folder() -> Path | None:
    """Return the folder of benchmark data, if the environment names one."""
    folder = os.environ.get("BOSCAGE_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


def report(name: str, title: str, rows: list[dict[str, Any]], folder: Path = RESULTS) -> None:
    """Print a table and keep it as JSON; what is directly in RESULTS gets onto the page of benchmarks."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = [[_shown(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in [columns, *text]) for i in range(len(columns))]
    print(f"\n{title}")
    for line in [columns, *text]:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    folder.mkdir(exist_ok=True)
    content = {"title": title, "machine": machine(), "rows": rows}
    (folder / f"{name}.json").write_text(json.dumps(content, indent=1, default=lambda value: value.item()) + "\n")


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
