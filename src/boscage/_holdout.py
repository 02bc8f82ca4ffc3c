"""Rows set aside to choose a setting by: which rows is a function of their content, never of their place.

Copies of a row fall together and weights count like copies, so that weight 2 remains a row twice, and neither the order
of rows nor rows of weight zero change what is chosen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage._validation import Dataset

Bools = npt.NDArray[np.bool_]
Keys = npt.NDArray[np.uint64]
_ODD = np.uint64(0x9E3779B97F4A7C15)


def _mixed(keys: Keys) -> Keys:
    """Scramble 64 bits (the finaliser of SplitMix64)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def row_keys(X: Any, y: npt.NDArray[Any], seed: int) -> Keys:
    """Return a number for each row that depends on its values, its class and the seed alone.

    Zeros add nothing, so that dense and sparse rows have the same number.
    """
    column_keys = _mixed((np.arange(X.shape[1], dtype=np.uint64) + np.uint64(1)) * _ODD)
    keys: Keys = _mixed(y.astype(np.uint64) + np.array([seed], dtype=np.uint64) * _ODD)
    if sparse.issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        np.add.at(keys, rows, _terms(X.data, column_keys[X.indices]))
        return _mixed(keys)
    for column, key in zip(X.T, column_keys[:, None], strict=True):
        keys += _terms(column, key)
    return _mixed(keys)


def _terms(values: npt.NDArray[Any], keys: Any) -> Keys:
    bits = values.astype(np.float64)
    bits = np.where(np.isnan(bits), np.nan, bits).view(np.uint64)
    return np.where(values == 0, np.uint64(0), _mixed(bits ^ keys))


def folds_of(data: Dataset, n_folds: int, seed: int) -> npt.NDArray[np.int64]:
    """Deal the rows of each class into folds of about equal weight.

    Parameters
    ----------
    data : Dataset
        Checked data.
    n_folds : int
        Number of folds.
    seed : int
        Another seed, other folds.

    Returns
    -------
    ndarray of int64
        Fold of each row.
    """
    keys = row_keys(data.X, data.y, seed)
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    fold = np.zeros(len(data.y), dtype=np.int64)
    for label in np.unique(data.y):
        rows = np.flatnonzero(data.y == label)
        _, group = np.unique(keys[rows], return_inverse=True)
        mass = np.bincount(group, weight[rows])
        middle = np.cumsum(mass) - mass / 2
        fold[rows] = np.minimum((middle / mass.sum() * n_folds).astype(np.int64), n_folds - 1)[group]
    return fold


def subset(data: Dataset, rows: Bools) -> Dataset:
    """Keep some rows; classes and columns stay as they are."""
    weight = None if data.weight is None else data.weight[rows]
    return replace(data, X=data.X[rows], y=data.y[rows], weight=weight, rows=None)
