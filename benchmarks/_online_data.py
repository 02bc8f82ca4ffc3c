"""Data and the one peer of the online benchmarks: Gaussian classes, published sets, and Vowpal Wabbit in a process."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from _measure import data_folder
from boscage.datasets import load_dataset


class Split(NamedTuple):
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    @property
    def n_classes(self) -> int:
        return int(max(self.y.max(), self.y_test.max())) + 1


def gaussian(k: int, rows_per_class: int = 45, test: int = 20_000, seed: int = 0) -> Split:
    """Return k classes without structure: centres 0.7·N(0, I) in 64 columns, noise N(0, I)."""
    rng = np.random.default_rng(seed)
    centres = 0.7 * rng.standard_normal((k, 64))
    parts = []
    for n in (k * rows_per_class, test):
        y = rng.integers(0, k, n)
        X = np.empty((n, 64), np.float32)
        for start in range(0, n, 10_000):  # the largest set should not need its double in memory
            rows = slice(start, start + 10_000)
            X[rows] = centres[y[rows]] + rng.standard_normal((len(y[rows]), 64))
        parts += [X, y]
    return Split(*parts)


@cache
def split(name: str) -> Split | None:
    """Return g100 and the like, or the published train and test part of a data set; None if it is not there."""
    if name[0] == "g" and name[1:].isdigit():
        return gaussian(int(name[1:]))
    if data_folder() is None:
        return None
    loaded = load_dataset(name)
    X, y, n = loaded.X, np.asarray(loaded.y), loaded.n_train
    X = X.astype(np.float32)
    if n is None:
        rows = np.random.default_rng(0).permutation(len(y))
        X, y, n = X[rows], y[rows], len(y) * 2 // 3
    return Split(X[:n], y[:n], X[n:], y[n:])


def has_vw() -> bool:
    return importlib.util.find_spec("vowpalwabbit") is not None


_CHILD = """
import sys, time, vowpalwabbit
start = time.process_time()
model = vowpalwabbit.Workspace(sys.argv[1])
model.run_parser()
model.finish()
print(time.process_time() - start)
"""


def _write(path: Path, X: Any, y: np.ndarray, order: np.ndarray) -> None:
    with open(path, "w") as file:
        for i in order:
            if sparse.issparse(X):
                at = slice(X.indptr[i], X.indptr[i + 1])
                pairs = zip(X.indices[at], X.data[at])
            else:
                pairs = enumerate(X[i])
            file.write(f"{y[i] + 1} | " + " ".join(f"{j}:{v:.6g}" for j, v in pairs) + "\n")


def _vw(arguments: str) -> float:
    done = subprocess.run([sys.executable, "-c", _CHILD, arguments], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def vw(data: Split, options: str, passes: int, seed: int = 0) -> dict[str, float]:
    """Error in per cent and CPU µs per row of training (from its binary cache, parsing left out) and prediction."""
    folder = Path(tempfile.mkdtemp())
    try:
        order = np.random.default_rng(seed).permutation(len(data.y))
        _write(folder / "train", data.X, data.y, order)
        _write(folder / "test", data.X_test, data.y_test, np.arange(len(data.y_test)))
        bits = 24 if sparse.issparse(data.X) else 20
        base = f"--quiet -b {bits} --holdout_off {options.format(k=data.n_classes)} -d {folder}/train"
        once = _vw(f"{base} --cache_file {folder}/once -k --passes 1")
        total = (
            _vw(f"{base} --cache_file {folder}/cache -k --passes {passes} -f {folder}/model") if passes > 1 else once
        )
        if passes == 1:
            _vw(f"{base} -f {folder}/model")
        test = f"--quiet -t -i {folder}/model -d {folder}/test -p {folder}/found --cache_file {folder}/test_cache"
        _vw(f"{test} -k")
        predict = _vw(test)
        found = np.loadtxt(folder / "found")[: len(data.y_test)].astype(int) - 1
        train = (total - once) / (passes - 1) if passes > 1 else once
        return {
            "error": 100 * float(np.mean(found != data.y_test)),
            "train": 1e6 * train / len(data.y),
            "predict": 1e6 * predict / len(data.y_test),
        }
    finally:
        shutil.rmtree(folder)
