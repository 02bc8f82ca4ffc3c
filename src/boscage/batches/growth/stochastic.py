"""The questions of a stochastic linear tree: means, deviations, and the sums of the nodes of a level."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage.batches.passes import NO_NUMBERS, NOTHING, ColumnUnits, Pass
from boscage.batches.reading import Executor

if TYPE_CHECKING:
    from boscage.engine.grow import Job, Limits
    from boscage.splits.stochastic import StochasticLinear

Floats = npt.NDArray[np.float64]

# A route without steps leads to the root.
_NO_ROUTE = (
    np.empty((0, 0)),
    np.empty((0, 2), np.int32),
    np.empty((0, 2)),
    np.empty((0, 5), np.uint8),
    np.empty((0, 0)),
)


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
        cls, sums: Callable[[Pass], Floats], low: Floats, high: Floats, weight: float, columns: ColumnUnits
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
        given: dict[str, Any] = {"weight_unit": unit, "centre": columns.centre, "unit": columns.unit}
        means = sums(Pass.of("means", **given))
        shift = columns.settle(np.clip(means[:-1] / means[-1], low, high))
        variance = sums(Pass.of("squares", shift=shift, per_unit=_core.per_unit(low, high), **given)) / means[-1]
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
        columns = ColumnUnits.of(survey.low, survey.high, survey.dtype, common=True) if family.scale else ColumnUnits()
        constant *= float(columns.unit[0]) if columns else 1.0
    shift, factor = (moments.shift, moments.factor) if is_standard else (NOTHING, NOTHING)
    n_columns = survey.n_columns
    numbers = NO_NUMBERS
    if job.data.is_regression:
        numbers = passes.collect(Pass.of("number_range"))
    question = Pass.of(
        "stochastic_sums",
        _NO_ROUTE,
        scale=str(family.scale or "none"),
        has_constant=bool(family.fit_intercept),
        constant=constant,
        shift=shift,
        factor=factor,
        n_classes=job.n_classes,
        n_columns=n_columns,
        **numbers.fields(),
        centre=columns.centre,
        unit=columns.unit,
    )
    root = passes.sums(question)
    if job.data.is_regression:
        *halves, squares = root.reshape(2 * len(numbers.low) + 1, -1)[:, 0]
        weight = float(sum(halves))
        potential = numbers.potential(weight, np.subtract(halves[1::2], halves[::2]), float(squares))
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
        growth.tell(passes.sums(question.along(route)))
    arrays: dict[str, Any] = growth.tree()
    if columns:
        arrays["constant"] = float(family.intercept_scaling)
        if is_standard:
            arrays["shift"] = columns.undo_shift(arrays["shift"])
            arrays["scale"] = columns.undo_factor(arrays["scale"])
    return arrays, None if is_standard else moments.deviations
