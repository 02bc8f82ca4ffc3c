"""Rows by content: equal rows merged, folds that do not depend on where a row stands.

What is learned from merged rows in the order of their hashes does not depend on the order of rows, and a row of weight
2 is the same as the row twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage import _core
from boscage.data.validation import Dataset

Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


class Distinct(NamedTuple):
    """One row of each kind: its number in X, class and weight."""

    rows: Int64s
    label: npt.NDArray[np.int32]
    weight: Floats

    def native(self) -> Any:
        """Return what crosses into the compiled core."""
        return _core.Sample(self.rows, self.label, self.weight)


def native_rows(X: Any) -> Any:
    """Take X apart for the compiled half: the matrix itself, or the three arrays of a CSR matrix."""
    if not sparse.issparse(X):
        return (X,)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    offsets = X.indptr if X.indptr.dtype == X.indices.dtype else X.indptr.astype(X.indices.dtype)
    return X.data, X.indices, offsets


def row_hashes(data: Dataset) -> Hashes:
    """Return one number for each row and its class, equal for equal ones; numbers as targets do not count."""
    columns = (data.X.shape[1],) if sparse.issparse(data.X) else ()
    label = np.zeros(len(data.y), np.int32) if data.is_regression else data.y
    given: Any = (*native_rows(data.X), *columns, label)
    hashes: Hashes = _core.row_hashes(*given)
    return hashes


def mean_row_weight(data: Dataset) -> float:
    """Mean weight of the distinct rows and their y: neither the unit of the weights nor repeated rows matter."""
    y = np.ascontiguousarray(data.y, dtype=np.float64).reshape(len(data.y), -1)
    distinct = np.unique(np.column_stack([row_hashes(data), y.view(np.uint64)]), axis=0)
    return data.mass / len(distinct)


def distinct_rows(data: Dataset) -> Distinct:
    """Merge equal rows of equal class, adding their weights."""
    _, first, kind = np.unique(row_hashes(data), return_index=True, return_inverse=True)
    weight = np.bincount(kind.ravel(), data.weight, len(first)).astype(np.float64)
    return Distinct(first.astype(np.int64), data.y[first], weight)


def fold_numbers(data: Dataset, folds: int, seed: int) -> Int64s:
    """Put every row into one of the folds by its content: copies of a row share a fold."""
    keys = row_hashes(data) ^ np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    # Each class is divided among the folds in the order of its keys: small classes are in every fold they can be in.
    _, kind = np.unique(keys * np.uint64(0xBF58476D1CE4E5B9), return_inverse=True)
    fold: Int64s
    if data.is_regression:
        fold = kind.ravel().astype(np.int64) % folds
        return fold
    fold = np.empty(len(keys), np.int64)
    for label in np.unique(data.y):
        mine = np.flatnonzero(data.y == label)
        _, rank = np.unique(kind.ravel()[mine], return_inverse=True)
        fold[mine] = (rank.ravel() + label) % folds
    return fold


def take_rows(data: Dataset, chosen: npt.NDArray[np.bool_]) -> Dataset:
    """Return some of the rows; the classes stay."""
    return replace(
        data,
        X=data.X[chosen],
        y=np.ascontiguousarray(data.y[chosen]),
        weight=None if data.weight is None else data.weight[chosen],
    )
