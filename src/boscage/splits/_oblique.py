"""What the compiled oblique families share on the Python side."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from boscage import _core
from boscage.base.component import check_compatible
from boscage.data.distinct import row_hashes
from boscage.data.validation import Dataset
from boscage.engine.grow import Job, native_table, tree_of
from boscage.splits._family import SplitFamily
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
        check_compatible(criterion=job.criterion, splits=self)
        offset, codes, X = category_numbers(job.data)
        problem = _core.ObliqueProblem(
            job.native_target(), job.native_spec(), self.lookahead, offset is not None, self._seconds()
        )
        return oblique_tree(self._grow_native(native_table(X), problem, job.seed), job, offset, codes)

    def _seconds(self) -> float:
        return math.inf

    def _grow_native(self, X: _core.Table, problem: _core.ObliqueProblem, seed: int) -> dict[str, Any]:
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

    def _seconds(self) -> float:
        return math.inf if self.time_limit is None else float(self.time_limit)

    def _grow_native(self, X: _core.Table, problem: _core.ObliqueProblem, seed: int) -> dict[str, Any]:
        arrays = self._grow_timed(X, problem, seed)
        if arrays["timed_out"]:
            warnings.warn(
                f"{type(self).__name__}: time_limit={self.time_limit} s has passed; the remaining nodes were given "
                "tests without a full search. Pass a larger time_limit or None.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return arrays

    def _grow_timed(self, X: _core.Table, problem: _core.ObliqueProblem, seed: int) -> dict[str, Any]:
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
    """Numbers that stand for categories in linear tests, and the rows with them in place of codes.

    Returns
    -------
    code_offset, codes : arrays or None
        As in `category_codes`.
    X : ndarray
        The rows with numbers in place of codes.
    """
    offset, codes = category_codes(data)
    if offset is None or codes is None:
        return None, None, data.X
    X = np.array(data.X, dtype=np.float64, order="C")
    for column in np.flatnonzero(data.n_categories):
        present = ~np.isnan(X[:, column])
        X[present, column] = codes[offset[column] + X[present, column].astype(np.int64)]
    return offset, codes, X


def category_codes(data: Dataset) -> tuple[Int64s | None, Floats | None]:
    """Numbers that stand for categories in linear tests: one per category and tree. Weights may be 0.

    A category's class shares, drawn towards the shares of all rows as by one more row, are projected on the direction
    in which the categories of the column differ most (for two classes: the share of the second class, up to scale).
    That row has the mean weight of the distinct rows, so that neither the unit of the weights nor repeated rows matter.
    Where y holds numbers, the deviations of their means take the place of shares.

    Returns
    -------
    code_offset, codes : arrays or None
        As in `InputMap`; None if no column is categorical.
    """
    if not data.n_categories.any():
        return None, None
    hashes = row_hashes(data)
    rows = np.arange(len(data.y)) if data.weight is None else np.flatnonzero(data.weight)
    weight = np.ones(len(rows)) if data.weight is None else data.weight[rows]
    one_row = weight.sum() / len(np.unique(hashes[rows]))
    counts = _NumberSums(data.y[rows], weight) if data.is_regression else _ClassSums(data, rows, weight)
    offset = np.where(data.n_categories > 0, np.cumsum(data.n_categories) - data.n_categories, -1)
    codes = np.zeros(int(data.n_categories.sum()))
    for column in np.flatnonzero(data.n_categories):
        values = data.X[rows, column]
        present = ~np.isnan(values)
        count = int(data.n_categories[column])
        table, mass = counts(values[present].astype(np.int64), present, count)
        numbers = _leading_scores(table / one_row, mass[:, None] / one_row, counts.mean)
        codes[offset[column] : offset[column] + count] = numbers
    return offset, codes


class _ClassSums:
    """Class weights of categories."""

    def __init__(self, data: Dataset, rows: Int64s, weight: Floats) -> None:
        self.y, self.weight = data.y[rows], weight
        self.mean = np.bincount(self.y, weight, len(data.classes)) / weight.sum()

    def __call__(self, cell: Int64s, present: npt.NDArray[np.bool_], count: int) -> tuple[Floats, Floats]:
        """Return sums and weight of each category."""
        k = len(self.mean)
        table: Floats = np.bincount(cell * k + self.y[present], self.weight[present], count * k).astype(np.float64)
        return table.reshape(count, k), table.reshape(count, k).sum(axis=1)


class _NumberSums:
    """Sums of the numbers of categories, in units of the largest deviation from the mean."""

    def __init__(self, y: Floats, weight: Floats) -> None:
        apart = y.reshape(len(y), -1) - (weight / weight.sum()) @ y.reshape(len(y), -1)
        self.numbers, self.weight = apart / (np.abs(apart).max() or 1.0), weight
        self.mean = np.zeros(self.numbers.shape[1])

    def __call__(self, cell: Int64s, present: npt.NDArray[np.bool_], count: int) -> tuple[Floats, Floats]:
        """Return sums and weight of each category."""
        weight = self.weight[present]
        sums = [np.bincount(cell, weight * column[present], count) for column in self.numbers.T]
        return np.stack(sums, axis=1), np.bincount(cell, weight, count).astype(np.float64)


def _leading_scores(table: Floats, mass: Floats, mean: Floats) -> Floats:
    """Smoothed shares or means of each category on their first principal direction."""
    apart = (table + mean) / (mass + 1) - mean
    values, vectors = np.linalg.eigh(apart.T @ (mass * apart))
    direction = vectors[:, -1] if values[-1] > 0 else np.zeros(len(mean))
    size = np.abs(direction)
    first = direction[np.argmax(size >= 0.99 * size.max())]  # rounding does not choose between equal sizes
    numbers: Floats = apart @ direction * np.sign(first)
    return numbers
