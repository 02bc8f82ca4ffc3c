"""The record that every data set comes in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table with a target and the names of its columns, classes and category levels.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_array of shape (n_rows, n_features)
        float32 or float64; NaN marks a missing cell, category columns hold level numbers 0, 1, ...
    y : ndarray of int64 of shape (n_rows,), or of float64 of shape (n_rows,) or (n_rows, n_outputs)
        Class numbers 0 .. K-1, in the order of ``target_names``; or regression targets.
    feature_names : tuple of str
        One name per column of ``X``.
    target_names : tuple of str
        One name per class; empty for regression.
    n_train : int or None
        Number of rows, from the first, that are the published training set; None if there is no published split.
    categorical_features : tuple of int
        The columns that hold categories, ready for the parameter of the same name.
    categories : tuple
        For each column the names of its levels, or None for a column of numbers.
    origin : str
        Where the data come from.
    fold : ndarray of int64 of shape (n_rows,), or None
        Published folds: the rows numbered f are the test set of fold f, all others its training set.

    Examples
    --------
    >>> from boscage.datasets import load_dataset
    >>> load_dataset("wine")
    Dataset(178 rows, 13 features, 3 classes)
    """

    X: Any
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    n_train: int | None
    categorical_features: tuple[int, ...]
    categories: tuple[tuple[str, ...] | None, ...]
    origin: str
    fold: NDArray[np.int64] | None = None

    @property
    def is_regression(self) -> bool:
        """Whether this is a regression data set."""
        return bool(self.y.dtype.kind == "f")

    def __repr__(self) -> str:
        n_rows, n_features = self.X.shape
        target = f"{len(self.target_names)} classes"
        if self.is_regression:
            outputs = 1 if self.y.ndim == 1 else self.y.shape[1]
            target = f"{outputs} output{'s' * (outputs != 1)}"
        return f"Dataset({n_rows} rows, {n_features} features, {target})"
