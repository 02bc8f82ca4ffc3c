"""How long fits go on after Ctrl-C: alone, and inside cross_val_score and GridSearchCV in the same process.

``python benchmarks/interrupts.py [PART OF A NAME ...]`` runs the long fits of ``tests/test_interrupt.py``, fits in
batches and fits over a Dask cluster of two processes; each is interrupted at random moments of its run. Printed are the
longest times from the signal to the exception, in milliseconds: alone, in cross_val_score, in GridSearchCV.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import distributed
from sklearn.base import clone, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score

import boscage.dask
from boscage import (
    Axis,
    ForestClassifier,
    ForestRegressor,
    TopDownTreeClassifier,
    TopDownTreeRegressor,
    WeightedOblique,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from test_interrupt import LABELS, LONG_FITS, NUMBERS, ROWS

ALONE, SEARCHES = 6, 3  # interruptions of each
ON_SUMS = {
    "axis": TopDownTreeClassifier(Axis(max_bins=255), max_leaf_nodes=500),
    "wodt": TopDownTreeClassifier(WeightedOblique(max_bins=64), max_leaf_nodes=50),
    "stochastic": TopDownTreeClassifier("stochastic", max_leaf_nodes=500),
    "axis, regression": TopDownTreeRegressor(Axis(max_bins=255), max_leaf_nodes=500),
    "wodt, regression": TopDownTreeRegressor(WeightedOblique(max_bins=64), max_leaf_nodes=50),
    "stochastic, regression": TopDownTreeRegressor("stochastic", max_leaf_nodes=500),
    "forest": ForestClassifier(20, Axis(max_bins=255), max_leaf_nodes=500),
    "forest, regression": ForestRegressor(20, "stochastic", max_leaf_nodes=500),
}


def interrupted(call: Callable[[], Any], rng: random.Random, latest: float) -> float:
    """Milliseconds from SIGINT, sent at a random moment, until KeyboardInterrupt; calls that end begin anew."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(rng.uniform(0.02, latest), send)
    timer.start()
    try:
        while True:
            call()
    except KeyboardInterrupt:
        return 1000 * (time.perf_counter() - sent[0])


def worst(call: Callable[[], Any], rng: random.Random, times: int, latest: float) -> float:
    return max(interrupted(call, rng, latest) for _ in range(times))


def measure(fit: str, rng: random.Random) -> list[float]:
    """Return the longest times of a fit in memory: alone, and in the two searches."""
    estimator = LONG_FITS[fit]
    y = NUMBERS if is_regressor(estimator) else LABELS
    name = next(each for each in ("random_state", "budget", "time_limit") if each in estimator.get_params())
    search = GridSearchCV(estimator, {name: [2, 3]}, cv=3)
    return [
        worst(lambda: clone(estimator).fit(ROWS, y), rng, ALONE, 1.0),
        worst(lambda: cross_val_score(estimator, ROWS, y, cv=3), rng, SEARCHES, 2.0),
        worst(lambda: search.fit(ROWS, y), rng, SEARCHES, 2.0),
    ]


def measure_cluster(tree: Any, client: Any, rng: random.Random) -> list[float]:
    """Return the longest time of a fit over partitions that two workers hold."""
    y = NUMBERS if is_regressor(tree) else LABELS
    X, y = (part.persist() for part in (da.from_array(ROWS, (10_000, 20)), da.from_array(y, 10_000)))
    spread = getattr(boscage.dask, type(tree).__name__)(client=client, **tree.get_params(deep=False))
    return [worst(lambda: spread.fit(X, y), rng, ALONE, 1.0)]


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART OF A NAME", help="what to measure; default: all")
    parts = parser.parse_args().parts
    warnings.simplefilter("ignore")
    rng = random.Random(0)

    def show(name: str, call: Callable[[], list[float]]) -> None:
        if not parts or any(part in name for part in parts):
            print(f"{name:40}" + "".join(f"{took:8.0f}" for took in call()), flush=True)

    for name in LONG_FITS:
        show(name, lambda: measure(name, rng))  # noqa: B023
    for name, tree in ON_SUMS.items():
        y = NUMBERS if is_regressor(tree) else LABELS
        batches = [(ROWS[i : i + 20_000], y[i : i + 20_000]) for i in range(0, len(y), 20_000)]
        show(f"batches: {name}", lambda: [worst(lambda: clone(tree).fit_batches(batches), rng, ALONE, 1.0)])  # noqa: B023
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=60) as client:
        for name, tree in ON_SUMS.items():
            show(f"Dask: {name}", lambda: measure_cluster(tree, client, rng))  # noqa: B023


if __name__ == "__main__":
    main()
