"""The arithmetic of passes over rows in NumPy arrays, found by the kind of a pass.

The kernels of `SUMS` add up blocks of 4096 rows, which `boscage.batches.reduction` joins. Those of `MERGED` give
answers that are merged without rounding, so that their order does not matter: class weights lie on a grid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage.batches.passes import ColumnUnits, Floats, NumberFacts, Pass
from boscage.batches.reach import reach_parts, tree_of_pass
from boscage.batches.reduction import Parts, to_parts
from boscage.batches.rows import Rows
from boscage.batches.survey import column_ranges
from boscage.data.weights import exact_sums
from boscage.tree import Tree

Numbers = npt.NDArray[Any]


class _Kernel:
    """A pass on the side of the rows; `asked` has its arrays by name, those without dimensions as numbers or text."""

    def __init__(self, question: Pass) -> None:
        self.question = question
        self.asked = SimpleNamespace(
            **{name: array if array.ndim else array.item() for name, array in question.arrays.items()}
        )


class SumKernel(_Kernel, ABC):
    """Sums of blocks."""

    @abstractmethod
    def sums(self, rows: Rows, first_block: int, threads: int) -> Parts:
        """Return the sums of rows that begin with this block."""


class MergeKernel(_Kernel, ABC):
    """Answers that are merged in any order."""

    @abstractmethod
    def answer(self, rows: Rows, threads: int) -> Any:
        """Answer for some rows."""

    @abstractmethod
    def merge(self, one: Any, other: Any) -> Any:
        """Return the answer for the rows of both."""


@dataclass(frozen=True)
class RowFacts:
    """Number of some rows, ranges of their columns and weights."""

    count: int
    low: Floats
    high: Floats
    smallest: float
    largest: float
    total: int  # see `exact_sums`


class _RowFacts(MergeKernel):
    def answer(self, rows: Rows, threads: int) -> RowFacts:
        weight = rows.weight if len(rows.weight) else np.ones(len(rows))
        ends = float(weight.min()), float(weight.max())
        return RowFacts(len(rows), *column_ranges(rows.X), *ends, exact_sums(weight)[0])

    def merge(self, one: RowFacts, other: RowFacts) -> RowFacts:
        return RowFacts(
            one.count + other.count,
            np.fmin(one.low, other.low),
            np.fmax(one.high, other.high),
            min(one.smallest, other.smallest),
            max(one.largest, other.largest),
            one.total + other.total,
        )


class _NumberRange(MergeKernel):
    """The range of numbers to predict."""

    def answer(self, rows: Rows, threads: int) -> NumberFacts:
        y = _outputs(rows.y)
        weight = float(rows.weight.sum()) if len(rows.weight) else float(len(y))
        is_whole = bool((rows.weight == np.floor(rows.weight)).all())
        return NumberFacts(y.min(axis=0), y.max(axis=0), weight, is_whole)

    def merge(self, one: NumberFacts, other: NumberFacts) -> NumberFacts:
        return NumberFacts(
            np.minimum(one.low, other.low),
            np.maximum(one.high, other.high),
            one.weight + other.weight,  # exact: weights lie on a grid
            one.is_whole and other.is_whole,
        )


class _Distinct(MergeKernel):
    """The distinct values of columns while there are no more than ``most``, else None; and their weight."""

    def answer(self, rows: Rows, threads: int) -> list[tuple[Numbers | None, float]]:
        return [self._column(rows.X[:, j], rows.weight) for j in self.asked.columns.tolist()]

    def _column(self, values: Numbers, weight: Floats) -> tuple[Numbers | None, float]:
        is_here = ~np.isnan(values)
        here = values[is_here]
        mass = float(len(here) if not len(weight) else weight[is_here].sum())
        if len(np.unique(here[:4096])) > self.asked.most:
            return None, mass
        found = np.unique(here + here.dtype.type(0))
        return (found if len(found) <= self.asked.most else None), mass

    def merge(self, one: Any, other: Any) -> list[tuple[Numbers | None, float]]:
        merged = []
        for (mine, weight), (theirs, more) in zip(one, other):
            both = None if mine is None or theirs is None else np.union1d(mine, theirs)
            merged.append((both if both is not None and len(both) <= self.asked.most else None, weight + more))
        return merged


class _Digits(MergeKernel):
    """Weight by the next digit of the keys that begin like one of the prefixes, for some columns."""

    def answer(self, rows: Rows, threads: int) -> list[Floats]:
        asked = self.asked
        wanted = zip(asked.columns.tolist(), np.split(asked.prefixes, asked.start[1:-1]))
        with ThreadPoolExecutor(threads) as pool:
            found = pool.map(
                lambda each: _core.digit_counts(rows.X, each[0], rows.weight, each[1], asked.shift), wanted
            )
            return list(found)

    def merge(self, one: Any, other: Any) -> list[Floats]:
        return [mine + theirs for mine, theirs in zip(one, other)]


class _BinMinima(MergeKernel):
    """The smallest value by place: bins of all columns, each followed by a place for missing numbers."""

    def answer(self, rows: Rows, threads: int) -> Numbers:
        smallest: Numbers = _core.bin_minima(rows.X, self.asked.start, self.asked.last, threads)
        return smallest

    def merge(self, one: Numbers, other: Numbers) -> Numbers:
        return np.minimum(one, other)


class _Histograms(MergeKernel):
    """Sums by bin, and smallest numbers and negated numbers by bin, for the nodes that a route leads to."""

    def answer(self, rows: Rows, threads: int) -> tuple[Floats, Floats]:
        asked = self.asked
        target, bins = native_target(rows, asked.n_classes), (asked.start, asked.last)
        criterion = (asked.criterion, asked.parameter)
        found: tuple[Floats, Floats] = _core.bin_histograms(
            rows.X, target, bins, self.question.route, criterion, threads
        )
        return found

    def merge(self, one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        return one[0] + other[0], np.minimum(one[1], other[1])


class _ColumnSums(SumKernel):
    """By column weight, sum and sum of squares of (x − shift)·per_unit where x is there; the weight of each class.

    Of numbers the weight, the sum of each output and that of their squares, in units of their range.
    """

    def sums(self, rows: Rows, first_block: int, threads: int) -> Parts:
        asked = self.asked
        target, units = native_target(rows, asked.n_classes), (asked.shift, asked.per_unit)
        return to_parts(_core.sum_columns(rows.X, target, units, _number_range(asked), first_block, threads))


class _ObliqueSums(SumKernel):
    """Sums of the rows in some leaves: a route to them and tasks, see ``ObliquePass`` of the core."""

    @cached_property
    def _native(self) -> _core.ObliquePass:
        asked = self.asked
        return _core.ObliquePass(
            asked.mean, asked.column_centre, asked.inverse, _number_range(asked), self.question.route
        )

    def sums(self, rows: Rows, first_block: int, threads: int) -> Parts:
        target = native_target(rows, self.asked.numbers.shape[1])
        return to_parts(self._native.sums(rows.X, target, rows.places, first_block, threads))


class _InUnits(SumKernel):
    def read(self, rows: Rows) -> npt.NDArray[Any]:
        return ColumnUnits(self.asked.centre, self.asked.unit).read(rows.X)


class _Means(_InUnits):
    """Weighted sums of the columns, then the weight; in units of a power of two."""

    def sums(self, rows: Rows, first_block: int, threads: int) -> Parts:
        native = _core.sum_means(self.read(rows), rows.weight, self.asked.weight_unit, first_block, threads)
        return to_parts(native)


class _Squares(_InUnits):
    """Weighted squares of the distance from the shift, in a unit for each column: a power of two near its range."""

    def sums(self, rows: Rows, first_block: int, threads: int) -> Parts:
        asked = self.asked
        columns = asked.shift, asked.per_unit
        return to_parts(
            _core.sum_squares(self.read(rows), rows.weight, asked.weight_unit, columns, first_block, threads)
        )


class _StochasticSums(_InUnits):
    """Class sums of the nodes below the wanted steps of a route; without steps those of the root."""

    @cached_property
    def _native(self) -> _core.StochasticPass:
        asked = self.asked
        return _core.StochasticPass(
            _core.StochasticFrame(asked.scale, asked.has_constant, asked.constant),
            (asked.shift, asked.factor),
            asked.n_columns,
            asked.n_classes,
            _number_range(asked),
            self.question.route,
        )

    def sums(self, rows: Rows, first_block: int, threads: int) -> Parts:
        target = native_target(rows, self.asked.n_classes)
        return to_parts(self._native.sums(self.read(rows), target, first_block, threads))


class _ReachSums(SumKernel):
    """Products of the reach of all leaves with each other and with what is to be predicted."""

    @cached_property
    def _tree(self) -> Tree:
        return tree_of_pass(self.asked)

    def sums(self, rows: Rows, first_block: int, threads: int) -> Parts:
        return reach_parts(self._tree, self.asked.unit, rows, first_block, threads)


SUMS: dict[str, type[SumKernel]] = {
    "column_sums": _ColumnSums,
    "means": _Means,
    "oblique_sums": _ObliqueSums,
    "reach_sums": _ReachSums,
    "squares": _Squares,
    "stochastic_sums": _StochasticSums,
}
MERGED: dict[str, type[MergeKernel]] = {
    "bin_minima": _BinMinima,
    "digits": _Digits,
    "distinct": _Distinct,
    "histograms": _Histograms,
    "number_range": _NumberRange,
    "row_facts": _RowFacts,
}


def sum_kernel(question: Pass) -> SumKernel:
    """Return the arithmetic of a pass whose answer is a sum."""
    question.check()
    return SUMS[question.kind](question)


def merge_kernel(question: Pass) -> MergeKernel:
    """Return the arithmetic of a pass whose answers are merged."""
    question.check()
    return MERGED[question.kind](question)


def native_target(rows: Rows, n_classes: int) -> _core.Target:
    """Hand y and the weights of some rows to the core, which borrows them; no classes: y holds numbers."""
    if n_classes:
        return _core.Target(rows.y, rows.weight, n_classes)
    return _core.Target(_outputs(rows.y), rows.weight)


def _number_range(asked: Any) -> _core.NumberRange:
    return _core.NumberRange(asked.low, asked.high, asked.number_weight, asked.whole_weights)


def _outputs(y: npt.NDArray[Any]) -> Floats:
    """Numbers as rows × outputs."""
    outputs: Floats = np.ascontiguousarray(y).reshape(len(y), -1)
    return outputs
