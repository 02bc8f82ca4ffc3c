"""The questions of a weighted oblique tree: means and deviations, then whatever the searches of its open leaves need.

A search is made of sums only (class weights on two soft sides and their gradient, counts of projections in bins), so
one pass serves every open leaf at once. The same passes run over rows in memory, see `MemoryPasses`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage.batches.passes import NO_NUMBERS, NOTHING, NumberFacts, Pass
from boscage.batches.reading import SumExecutor

if TYPE_CHECKING:
    from boscage.engine.grow import Job, Limits
    from boscage.splits.wodt import WeightedOblique

Floats = npt.NDArray[np.float64]

# Sums of a block, in 10⁶ bytes, above which leaves are searched in groups even where nothing is sent.
_MOST_MB = 64.0


@dataclass(frozen=True)
class Scaling:
    """Scaling of the columns by two passes, (x − centre)·inverse, and the weight of the classes.

    Of numbers ``mass`` holds the weight, the sum of each output and that of squares, in units of their range. Means
    and standard deviations are of the values that are not missing; inverse is 0 for a constant column.
    """

    mean: Floats
    deviation: Floats
    centre: Floats
    inverse: Floats
    mass: Floats

    @classmethod
    def of(
        cls,
        scale: str,
        sums: Callable[[Pass], Floats],
        low: Floats,
        high: Floats,
        n_classes: int,
        numbers: NumberFacts = NO_NUMBERS,
    ) -> Scaling:
        """Ask for them.

        Parameters
        ----------
        scale : {"standard", "range"}
            Whether mean 0 and standard deviation 1 are wanted, or the range [−1, 1].
        sums : callable
            Answers a question about all rows.
        low, high : ndarray
            Range of each column; (∞, −∞) where all numbers are missing.
        n_classes : int
            Number of classes; 0 for numbers.
        numbers : NumberFacts
            Their range.
        """
        is_there = low <= high
        low, high = np.where(is_there, low, 0.0) + 0.0, np.where(is_there, high, 0.0) + 0.0  # one zero, not two
        # In powers of two near half the range no square leaves the range of doubles.
        half, middle, per_unit = high / 2 - low / 2, low / 2 + high / 2, _core.per_unit(low, high)
        unit = _quotient(1.0, per_unit)
        question = partial(Pass.of, "column_sums", per_unit=per_unit, n_classes=n_classes, **numbers.fields())
        weight, off, _, mass = _parts(sums(question(shift=middle)), len(low))
        mean = np.clip(middle + _quotient(off, weight) * unit, low, high)
        _, _, squares, _ = _parts(sums(question(shift=mean)), len(low))
        variance = _quotient(squares, weight)
        inverse = _core.reciprocal_deviations(variance, low, high, NOTHING, NOTHING)
        deviation = np.where(inverse > 0, np.sqrt(variance) * unit, 0.0)
        if scale == "standard":
            return cls(mean, deviation, mean, inverse, mass)
        return cls(mean, deviation, middle, _quotient(1.0, np.where(inverse > 0, half, 0.0)), mass)


def _parts(sums: Floats, columns: int) -> list[Floats]:
    """Weight, sum and sum of squares of every column, and what is known of the target."""
    return np.split(sums, [columns, 2 * columns, 3 * columns])


def _quotient(above: Floats | float, below: Floats) -> Floats:
    """Divide; 0 where the divisor is."""
    found: Floats = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
    return found


def grow_in_passes(
    family: WeightedOblique,
    job: Job,
    passes: SumExecutor,
    ranges: tuple[Floats, Floats],
    limits: Callable[[float], Limits],
) -> dict[str, Any]:
    """Grow a tree by passes over the rows: two for the scaling, then one for each step of all open searches.

    Parameters
    ----------
    family, job
        What to grow; the rows of the job are not looked at.
    passes : SumExecutor
        Answers questions.
    ranges : tuple of ndarray
        Smallest and largest number of each column.
    limits : callable
        Makes the limits from the exact total weight.

    Returns
    -------
    dict
        The core's arrays, as from growth in memory, with the means and deviations of the columns.
    """
    numbers, n_classes = NO_NUMBERS, job.n_classes
    if job.data.is_regression:
        numbers, n_classes = passes.collect(Pass.of("number_range")), 0
    scaling = Scaling.of(family.scale, passes.sums, *ranges, n_classes, numbers)
    weight = float(scaling.mass.sum() if n_classes else scaling.mass[0])
    growth = _core.ObliqueGrowth(
        (scaling.centre, scaling.inverse, *ranges),
        (scaling.mass, passes.n_rows),
        numbers.native(),
        family.native_options(job.seed),
        int(family.max_bins or 0),
        job.native_spec(limits(weight)),
    )
    columns = {"mean": scaling.mean, "column_centre": scaling.centre, "inverse": scaling.inverse, **numbers.fields()}
    most_numbers = int(min(passes.max_message_mb, _MOST_MB) * 1e6 / 8)
    while (route := growth.ask(most_numbers)) is not None:
        growth.tell(passes.sums(Pass.of("oblique_sums", route, **columns)))
        if job.progress is not None:
            job.progress(growth.searched())
    arrays: dict[str, Any] = growth.tree()
    return arrays | {"mean": scaling.mean, "deviation": scaling.deviation}
