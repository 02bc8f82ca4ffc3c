"""What the compiled oblique families share on the Python side."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from boscage import _core
from boscage._distinct import row_hashes
from boscage._grow import Job, native_table, tree_of
from boscage._validation import Dataset
from boscage.splits import SplitFamily
from boscage.tree import InputMap, Tree

Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]
# Weights of so many numbers, of which at most this share is not 0, are kept as a sparse matrix.
_LARGE = 10_000
_FEW = 0.2


class ObliqueFamily(SplitFamily):
    """Hard linear tests found in the compiled core, on columns scaled inside.

    A missing value stands at its column's training mean, in training and in prediction. Categories are turned into
    numbers once per tree (`category_numbers`).
    """

    provides = frozenset({"cut", "hard", "linear tests"})
    allows_missing = True
    allows_categories = True
    allows_sparse = True
    is_random: ClassVar[bool] = True
    lookahead: bool

    def check(self) -> None:
        """Refuse settings out of range."""
        self._check_choice("lookahead", (True, False))

    def grow(self, job: Job) -> Tree:
        """Grow a tree in the compiled core."""
        offset, codes, X = category_numbers(job.data)
        problem = _core.ObliqueProblem(
            job.data.y,
            job.weight,
            job.n_classes,
            *job.native_criterion(),
            job.growth.native(),
            job.limits.native(),
            self.lookahead,
            offset is not None,
            job.threads,
        )
        return oblique_tree(self._grow_native(native_table(X), job, problem), job, offset, codes)

    def _grow_native(self, X: Any, job: Job, problem: Any) -> dict[str, Any]:
        """Call the family's function of the core."""
        raise NotImplementedError


class TimedFamily(ObliqueFamily):
    """A slow family: after ``time_limit`` seconds the remaining nodes get what is cheap."""

    time_limit: float | None

    def check(self) -> None:
        """Refuse settings out of range."""
        super().check()
        if self.time_limit is not None:
            self._check_real("time_limit", low=0, open_low=True)

    def _grow_native(self, X: Any, job: Job, problem: Any) -> dict[str, Any]:
        seconds = np.inf if self.time_limit is None else float(self.time_limit)
        arrays = self._grow_timed(X, job, problem, seconds)
        if arrays["timed_out"]:
            warnings.warn(
                f"{type(self).__name__}: time_limit={self.time_limit} s is over; the remaining nodes were given tests "
                "without a full search. Pass a larger time_limit or None.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return arrays

    def _grow_timed(self, X: Any, job: Job, problem: Any, seconds: float) -> dict[str, Any]:
        """Call the family's function of the core."""
        raise NotImplementedError


def oblique_tree(arrays: dict[str, Any], job: Job, offset: Int64s | None = None, codes: Floats | None = None) -> Tree:
    """Make a tree of the core's arrays, with means in place of missing values and numbers in place of categories."""
    weights = arrays["weights"]
    if weights.size >= _LARGE and np.count_nonzero(weights) <= _FEW * weights.size:
        arrays["weights"] = sparse.csr_array(weights)
    tree = tree_of(arrays, job.data, input_map=InputMap(fill=arrays["mean"], code_offset=offset, codes=codes))
    return replace(tree, schema=replace(tree.schema, spread=arrays["deviation"]))


def category_numbers(data: Dataset) -> tuple[Int64s | None, Floats | None, Any]:
    """Numbers that stand for categories in linear tests: one per category and tree.

    A category's class shares, drawn towards the shares of all rows as by one more row, are projected on the direction
    in which the categories of the column differ most (for two classes: the share of the second class, up to scale).
    That row has the mean weight of the distinct rows, so that neither the unit of the weights nor repeated rows matter.

    Returns
    -------
    code_offset, codes : arrays or None
        As in `InputMap`; None if no column is categorical.
    X : ndarray
        The rows with numbers in place of codes.
    """
    if not data.n_categories.any():
        return None, None, data.X
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    prior = np.bincount(data.y, weight, len(data.classes)) / weight.sum()
    one_row = weight.sum() / len(np.unique(row_hashes(data)))
    X = np.array(data.X, dtype=np.float64, order="C")
    offset = np.where(data.n_categories > 0, np.cumsum(data.n_categories) - data.n_categories, -1)
    codes = np.zeros(int(data.n_categories.sum()))
    for column in np.flatnonzero(data.n_categories):
        present = ~np.isnan(X[:, column])
        cell = X[present, column].astype(np.int64)
        count = int(data.n_categories[column])
        table = np.zeros((count, len(prior)))
        np.add.at(table, (cell, data.y[present]), weight[present])
        numbers = _leading_scores(table / one_row, prior)
        codes[offset[column] : offset[column] + count] = numbers
        X[present, column] = numbers[cell]
    return offset, codes, X


def _leading_scores(table: Floats, prior: Floats) -> Floats:
    """Smoothed class shares of each category (row of class weights) on their first principal direction."""
    mass = table.sum(axis=1, keepdims=True)
    apart = (table + prior) / (mass + 1) - prior
    values, vectors = np.linalg.eigh(apart.T @ (mass * apart))
    direction = vectors[:, -1] if values[-1] > 0 else np.zeros(len(prior))
    numbers: Floats = apart @ direction * np.sign(direction[np.argmax(np.abs(direction))])
    return numbers
