"""The questions of a stochastic linear tree: means, deviations, and the sums of the nodes of a level."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage.batches.numbers import NO_NUMBERS, NumberFacts, NumberRange, native_target
from boscage.batches.reading import Executor, SumPass
from boscage.batches.reduction import Parts, to_parts
from boscage.batches.rows import Rows

if TYPE_CHECKING:
    from boscage.engine.grow import Job, Limits
    from boscage.splits.stochastic import StochasticLinear

Floats = npt.NDArray[np.float64]
_NOTHING = np.empty(0)


@dataclass(frozen=True)
class ColumnUnits:
    """How sums read columns: (x − centre)·unit, unit a power of two; empty arrays if all are read as they are.

    Sums of very large or very small numbers would leave the range of doubles, and those of columns that vary little
    for their size would lose their digits. Single precision needs neither: its sums are made in double precision.
    """

    centre: Floats = field(default_factory=lambda: _NOTHING)
    unit: Floats = field(default_factory=lambda: _NOTHING)

    @classmethod
    def of(cls, low: Floats, high: Floats, dtype: Any, *, common: bool = False) -> ColumnUnits:
        """Return the units for columns of these ranges; with ``common`` one power of two for all of them."""
        if np.dtype(dtype) != np.float64:
            return cls()
        return cls(*(_core.common_unit if common else _core.column_units)(low, high))

    def __bool__(self) -> bool:
        """Whether any column is not read as it is."""
        return len(self.unit) > 0

    def read(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return numbers as sums read them."""
        return (X - self.centre) * self.unit if self else X

    def settle(self, shift: Floats) -> Floats:
        """Return the nearest shifts for which centre + shift/unit is a number: prediction subtracts the same."""
        return self.read(self.undo_shift(shift))

    def undo_shift(self, shift: Floats) -> Floats:
        """Return shifts for columns as they are."""
        return self.centre + shift / self.unit if self else shift

    def undo_factor(self, factor: Floats) -> Floats:
        """Return factors for columns as they are."""
        return factor * self.unit if self else factor


_AS_THEY_ARE = ColumnUnits()


@dataclass(frozen=True)
class Means:
    """Weighted sums of the columns, then the weight; in units of a power of two."""

    unit: float
    columns: ColumnUnits = _AS_THEY_ARE

    def sums(self, rows: Rows, first_block: int, threads: int) -> Parts:
        """Return the sums of some rows."""
        X = self.columns.read(rows.X)
        return to_parts(_core.sum_means(X, rows.weight, self.unit, first_block, threads))


@dataclass(frozen=True)
class Squares:
    """Weighted squares of the distance from the shift, in a unit for each column: a power of two near its range."""

    unit: float
    shift: Floats
    per_unit: Floats
    columns: ColumnUnits = _AS_THEY_ARE

    def sums(self, rows: Rows, first_block: int, threads: int) -> Parts:
        """Return the sums of some rows."""
        X = self.columns.read(rows.X)
        native = _core.sum_squares(X, rows.weight, self.unit, (self.shift, self.per_unit), first_block, threads)
        return to_parts(native)


@dataclass(frozen=True)
class NodeSums:
    """Class sums of the nodes below the wanted steps of a route; without a route those of the root."""

    scale: str
    has_constant: bool
    constant: float
    shift: Floats
    factor: Floats
    n_classes: int
    n_columns: int
    columns: ColumnUnits = _AS_THEY_ARE
    numbers: NumberFacts = NO_NUMBERS
    route: Any = field(
        default=(
            np.empty((0, 0)),
            np.empty((0, 2), np.int32),
            np.empty((0, 2)),
            np.empty((0, 5), np.uint8),
            np.empty((0, 0)),
        )
    )

    @cached_property
    def _native(self) -> Any:
        return _core.StochasticPass(
            _core.StochasticFrame(self.scale, self.has_constant, self.constant),
            (self.shift, self.factor),
            self.n_columns,
            self.n_classes,
            self.numbers.native(),
            self.route,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_native"}

    def sums(self, rows: Rows, first_block: int, threads: int) -> Parts:
        """Return the sums of some rows."""
        X = self.columns.read(rows.X)
        return to_parts(self._native.sums(X, native_target(rows, self.n_classes), first_block, threads))


@dataclass(frozen=True)
class Moments:
    """Means and standard deviations of the columns as sums read them, made by two passes."""

    shift: Floats
    variance: Floats  # in powers of two near the columns' ranges, squared
    low: Floats
    high: Floats
    columns: ColumnUnits

    @classmethod
    def of(
        cls, sums: Callable[[SumPass], Floats], low: Floats, high: Floats, weight: float, columns: ColumnUnits
    ) -> Moments:
        """Ask for them.

        Parameters
        ----------
        sums : callable
            Answers a question about all rows.
        low, high : ndarray
            Range of each column.
        weight : float
            About the weight of all rows.
        columns : ColumnUnits
            How columns are read.
        """
        low, high = columns.read(low), columns.read(high)
        unit = math.ldexp(1.0, -math.frexp(weight)[1])  # any power of two gives the same bits in the end
        means = sums(Means(unit, columns))
        shift = columns.settle(np.clip(means[:-1] / means[-1], low, high))
        variance = sums(Squares(unit, shift, _core.per_unit(low, high), columns)) / means[-1]
        return cls(shift, variance, low, high, columns)

    @property
    def deviations(self) -> Floats:
        """Standard deviations of the columns as they are; 0 for a constant column."""
        per_unit = _core.per_unit(self.low, self.high)
        found: Floats = np.divide(np.sqrt(self.variance), per_unit, out=np.zeros_like(per_unit), where=per_unit > 0)
        return found / self.columns.unit if self.columns else found

    @property
    def factor(self) -> Floats:
        """Reciprocal deviations; 0 for a constant column."""
        columns = self.columns
        factor: Floats = _core.reciprocal_deviations(self.variance, self.low, self.high, columns.centre, columns.unit)
        return factor


def grow_in_passes(
    family: StochasticLinear, job: Job, passes: Executor, limits: Callable[[float], Limits]
) -> tuple[dict[str, Any], Floats | None]:
    """Grow a tree by passes over the rows: one for each level.

    Returns
    -------
    arrays : dict
        The core's arrays, as from growth in memory.
    spread : ndarray or None
        Standard deviations of the columns, where the arrays do not hold them.
    """
    survey = passes.survey
    is_standard = family.scale == "standard"
    columns = ColumnUnits.of(survey.low, survey.high, survey.dtype)
    moments = Moments.of(passes.sums, survey.low, survey.high, passes.weight, columns)
    constant = float(family.intercept_scaling)
    if not is_standard:
        columns = ColumnUnits.of(survey.low, survey.high, survey.dtype, common=True) if family.scale else _AS_THEY_ARE
        constant *= float(columns.unit[0]) if columns else 1.0
    shift, factor = (moments.shift, moments.factor) if is_standard else (_NOTHING, _NOTHING)
    n_columns = survey.n_columns
    numbers = NO_NUMBERS
    if job.data.is_regression:
        numbers = passes.collect(NumberRange())
    question = NodeSums(
        str(family.scale or "none"),
        bool(family.fit_intercept),
        constant,
        shift,
        factor,
        job.n_classes,
        n_columns,
        columns,
        numbers,
    )
    root = passes.sums(question)
    if job.data.is_regression:
        low, high, squares = root.reshape(3, -1)[:, 0].tolist()
        weight = low + high
        potential = numbers.potential(weight, high - low, squares)
    else:
        root_weights = root.reshape(job.n_classes, -1)[:, 0]
        weight, potential = float(root_weights.sum()), float(job.criterion.total(root_weights))
    job = replace(job, limits=family.limits_from(limits(weight), job, potential))
    settings = family.native_settings(job, constant, numbers)
    growth = _core.StochasticGrowth(settings, shift, factor, n_columns, passes.n_rows)
    most_numbers = int(passes.max_message_mb * 1e6 / 8)
    growth.ask(most_numbers)  # the root, which is known
    growth.tell(root)
    while (route := growth.ask(most_numbers)) is not None:
        growth.tell(passes.sums(replace(question, route=route)))
    arrays: dict[str, Any] = growth.tree()
    if columns:
        arrays["constant"] = float(family.intercept_scaling)
        if is_standard:
            arrays["shift"] = columns.undo_shift(arrays["shift"])
            arrays["scale"] = columns.undo_factor(arrays["scale"])
    return arrays, None if is_standard else moments.deviations
