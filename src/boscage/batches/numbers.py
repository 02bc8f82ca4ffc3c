"""Numbers to predict, in passes: their range, and rows as the core takes them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage.batches.rows import Rows

Floats = npt.NDArray[np.float64]


class NumberFacts(NamedTuple):
    """Smallest and largest number of each output, the total weight and whether all weights are whole numbers."""

    low: Floats
    high: Floats
    weight: float
    is_whole: bool

    def native(self) -> Any:
        """Return them as the core takes them."""
        return _core.NumberRange(self.low, self.high, self.weight, self.is_whole)

    def potential(self, weight: float, total: float, squares: float) -> float:
        """Weight times variance from sums in the core's units: distances from the middle over a power of two."""
        exponent = math.frexp(self.high[0] / 2 - self.low[0] / 2)[1]
        return math.ldexp(max(0.0, squares - total * total / weight), 2 * exponent) if abs(exponent) < 500 else 0.0


NO_NUMBERS = NumberFacts(np.empty(0), np.empty(0), 0.0, True)


class NumberRange:
    """The question for `NumberFacts`."""

    def answer(self, rows: Rows, threads: int) -> NumberFacts:
        """Answer for some rows."""
        y = as_outputs(rows.y)
        weight = float(rows.weight.sum()) if len(rows.weight) else float(len(y))
        is_whole = bool((rows.weight == np.floor(rows.weight)).all())
        return NumberFacts(y.min(axis=0), y.max(axis=0), weight, is_whole)

    def merge(self, one: NumberFacts, other: NumberFacts) -> NumberFacts:
        """Return what both say together; weights lie on a grid, so their sum is exact."""
        return NumberFacts(
            np.minimum(one.low, other.low),
            np.maximum(one.high, other.high),
            one.weight + other.weight,
            one.is_whole and other.is_whole,
        )


def as_outputs(y: npt.NDArray[Any]) -> Floats:
    """Numbers as rows × outputs."""
    outputs: Floats = np.ascontiguousarray(y).reshape(len(y), -1)
    return outputs


def native_target(rows: Rows, n_classes: int) -> Any:
    """Hand y and the weights of some rows to the core, which borrows them; no classes: y holds numbers."""
    if n_classes:
        return _core.Target(rows.y, rows.weight, n_classes)
    return _core.Target(as_outputs(rows.y), rows.weight)
