"""Passes: what a growing tree wants to know about all rows, as plain data.

A `Pass` is a kind and named arrays. It holds no code: whoever has the rows finds the arithmetic by the kind, see
`boscage.batches.kernels`, and may have its own. `SCHEMAS` says what each kind holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from boscage import _core

Floats = npt.NDArray[np.float64]
Route = tuple[npt.NDArray[Any], ...]

_NUMBERS = {"low": "f8 1", "high": "f8 1", "number_weight": "f8 0", "whole_weights": "b1 0"}  # see `NumberFacts`
_UNITS = {"centre": "f8 1", "unit": "f8 1"}  # of columns, see `ColumnUnits`
_STOCHASTIC_ROUTE = {"weights": "f8 2", "links": "i4 2", "cuts": "f8 2", "flags": "u1 2", "means": "f8 2"}
_AXIS_ROUTE = {
    "feature": "i4 1",
    "position": "i8 1",
    "missing_left": "u1 1",
    "steps": "i4 2",
    "histograms": "i4 2",
    "category_start": "i8 1",
    "category_bits": "u1 1",
    "grids": "f8 2",
}
_OBLIQUE_ROUTE = {
    "weights": "f8 2",
    "thresholds": "f8 1",
    "links": "i4 2",
    "places": "i4 1",
    "numbers": "i4 2",
    "leaf_places": "i4 1",
    "wanted": "u1 1",
    "leaves": "i4 1",
    "vectors": "f8 2",
    "edges": "f8 1",
    "edge_start": "i8 1",
}
# The tests on the way to the nodes of a pass, in the order in which the core gives and takes them.
ROUTES = {
    "stochastic_sums": tuple(_STOCHASTIC_ROUTE),
    "histograms": tuple(_AXIS_ROUTE),
    "oblique_sums": tuple(_OBLIQUE_ROUTE),
}
# Types and number of dimensions of the arrays of every kind.
SCHEMAS: dict[str, dict[str, str]] = {
    "row_facts": {},
    "number_range": {},
    "distinct": {"most": "i8 0", "columns": "i8 1"},
    "digits": {"columns": "i8 1", "start": "i8 1", "prefixes": "u4|u8 1", "shift": "i8 0"},
    "bin_minima": {"start": "i8 1", "last": "f4|f8 1"},
    "histograms": {
        "start": "i8 1",
        "last": "f4|f8 1",
        "n_classes": "i8 0",
        "criterion": "U 0",
        "parameter": "f8 0",
        **_AXIS_ROUTE,
    },
    "column_sums": {"shift": "f8 1", "per_unit": "f8 1", "n_classes": "i8 0", **_NUMBERS},
    "oblique_sums": {"mean": "f8 1", "column_centre": "f8 1", "inverse": "f8 1", **_NUMBERS, **_OBLIQUE_ROUTE},
    "means": {"weight_unit": "f8 0", **_UNITS},
    "squares": {"weight_unit": "f8 0", "shift": "f8 1", "per_unit": "f8 1", **_UNITS},
    "reach_sums": {
        "children": "i4 2",
        "linear_row": "i4 1",
        "weights": "f8 2",
        "shift": "f8 1",
        "scale": "f8 1",
        "constant": "f8 1",
        "unit_rows": "b1 0",
        "root": "f8 1",
        "is_numbers": "b1 0",
        "unit": "f8 0",
    },
    "stochastic_sums": {
        "scale": "U 0",
        "has_constant": "b1 0",
        "constant": "f8 0",
        "shift": "f8 1",
        "factor": "f8 1",
        "n_classes": "i8 0",
        "n_columns": "i8 0",
        **_NUMBERS,
        **_UNITS,
        **_STOCHASTIC_ROUTE,
    },
}


@dataclass(frozen=True, eq=False)
class Pass:
    """A question about all rows: its kind and its arrays, as `SCHEMAS` has them.

    Examples
    --------
    >>> from boscage.batches.passes import Pass
    >>> Pass.of("distinct", most=256, columns=[0, 2]).arrays["columns"]
    array([0, 2])
    """

    kind: str
    arrays: dict[str, npt.NDArray[Any]]

    @classmethod
    def of(cls, kind: str, route: Route = (), **values: Any) -> Pass:
        """Make a pass of arrays and numbers, and of a route as the core gives it."""
        values |= zip(ROUTES[kind] if route else (), route)
        found = cls(kind, {name: np.asarray(value) for name, value in values.items()})
        found.check()
        return found

    def along(self, route: Route) -> Pass:
        """Return the same question about the nodes that another route leads to."""
        return Pass.of(self.kind, route, **self.arrays)

    @property
    def route(self) -> Any:
        """The tests on the way to the nodes, as the core takes them."""
        return tuple(self.arrays[name] for name in ROUTES[self.kind])

    def check(self) -> None:
        """Refuse what is not as its schema says."""
        schema = SCHEMAS.get(self.kind)
        if schema is None or schema.keys() != self.arrays.keys():
            raise ValueError(f"a pass of kind {self.kind!r} with {sorted(self.arrays)} is not known.")
        for name, array in self.arrays.items():
            types, ndim = schema[name].split()
            if array.ndim != int(ndim) or not any(array.dtype.str[1:].startswith(one) for one in types.split("|")):
                raise ValueError(
                    f"{name} of a pass of kind {self.kind!r} is an array of {array.dtype} in {array.ndim} dimensions, "
                    f"not {types} in {ndim}."
                )


class NumberFacts(NamedTuple):
    """Smallest and largest number of each output, the total weight and whether all weights are whole numbers."""

    low: Floats
    high: Floats
    weight: float
    is_whole: bool

    def native(self) -> _core.NumberRange:
        """Return them as the core takes them."""
        return _core.NumberRange(self.low, self.high, self.weight, self.is_whole)

    def fields(self) -> dict[str, Any]:
        """Return them as a pass holds them."""
        return {"low": self.low, "high": self.high, "number_weight": self.weight, "whole_weights": self.is_whole}

    def potential(self, weight: float, halves: Floats, squares: float) -> float:
        """Weight times mean variance from sums in the core's units: distances from the middle over a power of two.

        ``halves`` hold for each output its sum over the number of outputs.
        """
        outputs = len(self.low)
        exponent = math.frexp(float((self.high / 2 - self.low / 2).max()))[1]
        if abs(exponent) >= 500:
            return 0.0
        left = squares - outputs**2 * float((halves**2).sum()) / weight
        return math.ldexp(max(0.0, left) / outputs, 2 * exponent)


NO_NUMBERS = NumberFacts(np.empty(0), np.empty(0), 0.0, True)
NOTHING = np.empty(0)


@dataclass(frozen=True)
class ColumnUnits:
    """How sums read columns: (x − centre)·unit, unit a power of two; empty arrays if all are read as they are.

    Sums of very large or very small numbers would leave the range of doubles, and those of columns that vary little
    for their size would lose their digits. Single precision needs neither: its sums are made in double precision.
    """

    centre: Floats = field(default_factory=lambda: NOTHING)
    unit: Floats = field(default_factory=lambda: NOTHING)

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
