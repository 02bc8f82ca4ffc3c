"""Data and the one peer of the online benchmarks: Gaussian classes, published sets, and Vowpal Wabbit."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from _measure import data_folder
from boscage.datasets import load_dataset
from boscage.experiments._lomtree import vowpal as _vowpal
from boscage.experiments._lomtree.vowpal import has_vw

__all__ = ["Split", "gaussian", "has_vw", "split", "vw"]


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


def vw(data: Split, options: str, passes: int, seed: int = 0) -> dict[str, float]:
    """Error in per cent and CPU µs per row of training (parsing left out) and prediction."""
    found = _vowpal.vw((data.X, data.y), (data.X_test, data.y_test), options, passes, seed)
    return found | {"error": 100 * found["error"]}
