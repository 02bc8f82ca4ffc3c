"""The questions of a weighted oblique tree: means and deviations, then whatever the searches of its open leaves need.

A search is made of sums only (class weights on two soft sides and their gradient, counts of projections in bins), so
one pass serves every open leaf at once. The same passes run over rows in memory (`MemoryPasses`), which remember how
far down the tree each row has got.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage import _core
from boscage.base.component import IncompatibleParts
from boscage.batches.numbers import native_target
from boscage.batches.reading import SumExecutor, SumPass
from boscage.batches.reduction import Parts, join, to_parts, total
from boscage.batches.rows import BLOCK_ROWS, Rows

if TYPE_CHECKING:
    from boscage.engine.grow import Job, Limits
    from boscage.splits.wodt import WeightedOblique

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int32]

_NO_PLACES = np.empty(0, np.int32)
# A column that varies by less is constant, and so is one whose numbers differ by their last rounding alone.
_SMALLEST_DEVIATION, _RELATIVE_NOISE = 1e-290, 2.0**-52
# Sums of a block, in 10⁶ bytes, above which leaves are searched in groups even where nothing is sent.
_MOST_MB = 64.0
# Numbers of a sparse matrix that are made dense at once, and the largest number of columns for which this is done.
_DENSE_NUMBERS, _DENSE_COLUMNS = 1 << 24, 1 << 15


@dataclass(frozen=True)
class ColumnSums:
    """By column weight, sum and sum of squares of (x − shift)·per_unit where x is there; the weight of each class."""

    shift: Floats
    per_unit: Floats
    n_classes: int

    def sums(self, rows: Rows, first_block: int, threads: int) -> Parts:
        """Return the sums of some rows."""
        target = native_target(rows, self.n_classes)
        native = _core.sum_columns(rows.X, target, self.shift, self.per_unit, first_block, threads)
        return to_parts(native)


@dataclass(frozen=True)
class LeafSums:
    """Sums of the rows in some leaves: a route to them and tasks, see ``ObliquePass`` of the core."""

    mean: Floats
    centre: Floats
    inverse: Floats
    route: Any
    places: Places = field(default_factory=lambda: _NO_PLACES)  # of rows in memory: never sent

    @cached_property
    def _native(self) -> Any:
        return _core.ObliquePass(self.mean, self.centre, self.inverse, self.route)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_native"}

    def sums(self, rows: Rows, first_block: int, threads: int) -> Parts:
        """Return the sums of some rows."""
        places = self.places
        if len(places):
            start = first_block * BLOCK_ROWS
            places = places[start : start + len(rows)]
        target = native_target(rows, self.route[4].shape[1])
        return to_parts(self._native.sums(rows.X, target, places, first_block, threads))


@dataclass(frozen=True)
class Scaling:
    """Scaling of the columns by two passes, (x − centre)·inverse, and the weight of the classes.

    Means and standard deviations are of the values that are not missing; inverse is 0 for a constant column.
    """

    mean: Floats
    deviation: Floats
    centre: Floats
    inverse: Floats
    mass: Floats

    @classmethod
    def of(cls, scale: str, sums: Callable[[SumPass], Floats], low: Floats, high: Floats, n_classes: int) -> Scaling:
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
            Number of classes.
        """
        is_there = low <= high
        low, high = np.where(is_there, low, 0.0) + 0.0, np.where(is_there, high, 0.0) + 0.0  # one zero, not two
        # In powers of two near half the range no square leaves the range of doubles.
        half = high / 2 - low / 2
        safe = np.ldexp(1.0, -np.clip(np.frexp(half)[1], -1000, 1000))
        per_unit = np.where(half > 0, safe, 0.0)
        middle = low / 2 + high / 2
        first = sums(ColumnSums(middle, per_unit, n_classes))
        weight, off = first[: len(low)], first[len(low) : 2 * len(low)]
        share = np.divide(off, weight, out=np.zeros_like(off), where=weight > 0)
        mean = np.clip(middle + share / safe, low, high)
        second = sums(ColumnSums(mean, per_unit, n_classes))[2 * len(low) : 3 * len(low)]
        deviation = np.sqrt(np.divide(second, weight, out=np.zeros_like(second), where=weight > 0)) / safe
        varies = (deviation > _RELATIVE_NOISE * np.abs(mean)) & (deviation > _SMALLEST_DEVIATION) & (per_unit > 0)
        deviation = np.where(varies, deviation, 0.0)
        centre, unit = (mean, deviation) if scale == "standard" else (middle, np.where(varies, half, 0.0))
        inverse = np.divide(1.0, unit, out=np.zeros_like(unit), where=unit > _SMALLEST_DEVIATION)
        return cls(mean, deviation, centre, inverse, first[3 * len(low) :])


class MemoryPasses:
    """Passes over rows in memory: blocks and sums are those of batches, so trees are too.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Rows; a sparse matrix is made dense a few blocks at a time.
    y, weight
        Class codes, and weights or nothing.
    threads : int
        Threads of each pass.
    """

    max_message_mb = _MOST_MB

    def __init__(self, X: Any, y: npt.NDArray[np.int32], weight: Floats, threads: int) -> None:
        self._X, self._y, self._weight = X, y, weight
        self._threads = threads
        self.n_rows, n_columns = X.shape
        if sparse.issparse(X) and n_columns > _DENSE_COLUMNS:
            raise IncompatibleParts(
                f"X is a sparse matrix of {n_columns} columns, and with max_bins its rows are made dense {BLOCK_ROWS} "
                f"at a time: at most {_DENSE_COLUMNS} columns. Pass max_bins=None."
            )

    def _rows(self) -> Iterator[tuple[int, Rows]]:
        """Give pairs of the number of the first block and rows."""
        whole = Rows(self._X, self._y, self._weight)
        if not sparse.issparse(self._X):
            yield 0, whole
            return
        length = BLOCK_ROWS * max(1, _DENSE_NUMBERS // (BLOCK_ROWS * self._X.shape[1]))
        for start in range(0, self.n_rows, length):
            part = whole.part(start, start + length)
            yield start // BLOCK_ROWS, replace(part, X=self._X[start : start + length].toarray())

    def ranges(self) -> tuple[Floats, Floats]:
        """Smallest and largest number of each column."""
        found = [_core.survey_columns(rows.X, self._threads)[:2] for _, rows in self._rows()]
        low, high = np.fmin.reduce([low for low, _ in found]), np.fmax.reduce([high for _, high in found])
        return low, high

    def sums(self, question: SumPass) -> Floats:
        """Answer a question about all rows."""
        parts: Parts = []
        for first_block, rows in self._rows():
            parts = join([parts, question.sums(rows, first_block, self._threads)])
        return total(parts)


def grow_in_passes(
    family: WeightedOblique,
    job: Job,
    passes: SumExecutor,
    ranges: tuple[Floats, Floats],
    limits: Callable[[float], Limits],
    places: Places = _NO_PLACES,
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
    places : ndarray, default=empty
        For rows in memory: one 0 for each.

    Returns
    -------
    dict
        The core's arrays, as from growth in memory, with the means and deviations of the columns.
    """
    scaling = Scaling.of(family.scale, passes.sums, *ranges, job.n_classes)
    growth = _core.ObliqueGrowth(
        (scaling.centre, scaling.inverse, *ranges),
        scaling.mass,
        passes.n_rows,
        family.native_options(job.seed),
        int(family.max_bins or 0),
        job.native_spec(limits(float(scaling.mass.sum()))),
    )
    most_numbers = int(min(passes.max_message_mb, _MOST_MB) * 1e6 / 8)
    while (route := growth.ask(most_numbers)) is not None:
        growth.tell(passes.sums(LeafSums(scaling.mean, scaling.centre, scaling.inverse, route, places)))
        if job.progress is not None:
            job.progress(growth.searched())
    arrays: dict[str, Any] = growth.tree()
    return arrays | {"mean": scaling.mean, "deviation": scaling.deviation}
