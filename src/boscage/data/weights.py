"""Sample weights: checked, multiplied by class weights, and put on a grid on which sums are exact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from boscage.data.labels import without_codes

Floats = npt.NDArray[np.float64]


def check_sample_weight(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return the weights as float64, or None if none were given; refuse what is not a set of weights.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,), number or None
        Finite, not negative, not all zero.
    n_rows : int
        Number of rows of X.
    """
    if sample_weight is None:
        return None
    if np.ma.isMaskedArray(sample_weight) and np.ma.is_masked(sample_weight):
        raise TypeError(
            "sample_weight is a masked array with masked entries. Pass sample_weight.filled(0) to leave these rows out."
        )
    given = np.asarray(without_codes(sample_weight))
    try:
        if given.dtype.kind not in "biufO":
            raise TypeError
        weights = given.astype(np.float64)  # a copy: the caller's array stays as it is
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight={_short(sample_weight)} is not numeric. Pass one number per row.") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}. Pass one weight per row, shape ({n_rows},).")
    if not np.isfinite(weights).all():
        row = int(np.argmin(np.isfinite(weights)))
        raise ValueError(f"sample_weight[{row}]={weights[row]} is not allowed. Weights must be finite, not NaN or inf.")
    if weights.min() < 0:
        row = int(np.argmin(weights))
        raise ValueError(f"sample_weight[{row}]={weights[row]} is negative. Pass weights >= 0; 0 leaves a row out.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row. Pass at least one weight that is not zero.")
    return weights


def near_one(weights: Floats) -> Floats:
    """Return weights divided by a power of two, so that their sum is a number and no bit of it changes."""
    found: Floats = np.ldexp(weights, -np.frexp(weights.max())[1])
    return found


def apply_class_weight(
    class_weight: Any, codes: npt.NDArray[np.int32], classes: npt.NDArray[Any], weights: Floats | None
) -> Floats | None:
    """Multiply the weights by those of the classes.

    "balanced" makes the classes equally heavy and keeps the sum: a class of weight n_c counts n / (K·n_c) times,
    n the sum and K the number of classes that have weight, so that weight 2 is the same as the row twice.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        A dict gives a factor >= 0 for each class; classes it does not name count 1.
    """
    if class_weight is None:
        return weights
    if weights is None or class_weight != "balanced":
        mass = [int(count) for count in np.bincount(codes, minlength=len(classes))]
    else:
        mass = exact_sums(weights, codes, len(classes))
    result = times_class_weight(weights, codes, class_factors(class_weight, classes, mass))
    if not result.any():
        raise ValueError("class_weight and sample_weight leave weight zero for every row.")
    return result


class Factors(NamedTuple):
    """What weights are multiplied by: number·2^exponent for each class. Exponents are 0 but beyond about 10^±300."""

    number: Floats
    exponent: npt.NDArray[np.int64]


def class_factors(class_weight: Any, classes: npt.NDArray[Any], mass: list[int]) -> Factors:
    """Return the factor of each class.

    Parameters
    ----------
    class_weight : dict or "balanced"
        As in `apply_class_weight`.
    classes : ndarray
        The labels.
    mass : list of int
        Weight of each class in any unit: counts of rows, or `exact_sums`.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        everything, present = sum(mass), sum(part > 0 for part in mass)
        found = [_ratio(everything, present * part) if part else (0.0, 0) for part in mass]
        return Factors(np.array([number for number, _ in found]), np.array([exponent for _, exponent in found]))
    if isinstance(class_weight, dict):
        return Factors(_factors(class_weight, classes), np.zeros(len(classes), np.int64))
    raise ValueError(f"class_weight={class_weight!r} is not known. Pass a dict, 'balanced' or None.")


def _ratio(numerator: int, denominator: int) -> tuple[float, int]:
    """Return x and k so that x·2^k is the ratio of two whole numbers of any size; k is 0 unless it must not be."""
    k = numerator.bit_length() - denominator.bit_length()
    return (numerator / denominator, 0) if k < 1000 else (numerator / (denominator << k), k)


def times_class_weight(weights: Floats | None, codes: npt.NDArray[np.int32], factors: Factors) -> Floats:
    """Multiply weights by the factors of their classes."""
    number = factors.number[codes]
    with np.errstate(over="ignore"):
        if weights is None:
            weights = np.ones(len(codes))
        if factors.exponent.any():  # the product may be a number where the factor is not
            mantissa, exponent = np.frexp(weights)
            result: Floats = np.ldexp(mantissa * number, exponent + factors.exponent[codes])
        else:
            result = weights * number
    if not np.isfinite(result).all():
        raise ValueError("class_weight times sample_weight is too large for a float. Divide the weights by a constant.")
    return result


def exact_sums(weights: Floats, codes: npt.NDArray[np.int32] | None = None, n_classes: int = 1) -> list[int]:
    """Return the sum of the weights of each class without any rounding, as integers in units of 2⁻¹¹²⁶.

    Such sums can be added in any order and over any batches: `sum_value` makes the same float of them.

    Examples
    --------
    >>> import numpy as np
    >>> from boscage.data.weights import exact_sums, sum_value
    >>> sum_value(exact_sums(np.array([0.1] * 10))[0])
    1.0
    """
    totals = [0] * n_classes
    for start in range(0, len(weights), 1 << 22):
        chunk = slice(start, start + (1 << 22))
        mantissa, exponent = np.frexp(weights[chunk])
        lowest = int(exponent.min())
        span = int(exponent.max()) - lowest + 1
        cell = (exponent - lowest).astype(np.int64)
        if codes is not None:
            cell += span * codes[chunk].astype(np.int64)
        whole = np.ldexp(mantissa, 53).astype(np.int64)
        places = np.arange(n_classes * span) if n_classes * span <= len(cell) else None
        if places is None:  # many classes times many exponents: only the cells that hold anything
            places, cell = np.unique(cell, return_inverse=True)
        high = np.bincount(cell, whole >> 27, len(places))  # sums of 2²² numbers below 2²⁷ are exact
        low = np.bincount(cell, whole & (2**27 - 1), len(places))
        for i in np.flatnonzero((high > 0) | (low > 0)).tolist():
            place = int(places[i])
            part = (int(high[i]) << 27) + int(low[i])
            totals[place // span] += part << (place % span + lowest + 1073)
    return totals


def sum_value(total: int, exponent: int = 0) -> float:
    """Return the float nearest to an exact sum times 2^exponent."""
    return total / (1 << 1126 - exponent) if exponent <= 1126 else float(total << exponent - 1126)


def _factors(class_weight: dict[Any, Any], classes: npt.NDArray[Any]) -> Floats:
    factors = np.ones(len(classes))
    known = {label: code for code, label in enumerate(classes.tolist())}
    unnamed = [label for label in known if label not in class_weight]
    # Labels the data lack are harmless unless they stand in for labels that it has.
    if unnamed and len(known) - len(unnamed) != len(class_weight):
        raise ValueError(
            f"class_weight has no entry for the classes {unnamed!r}, but entries for "
            f"{[label for label in class_weight if label not in known]!r}, which y does not hold. "
            "Use the labels of y as keys."
        )
    for label, factor in class_weight.items():
        try:
            value = float(factor)
        except (TypeError, ValueError):
            value = math.nan
        if not (0 <= value < math.inf):
            raise ValueError(f"class_weight[{label!r}]={factor!r} is not allowed. Pass a finite number >= 0.")
        if label in known:
            factors[known[label]] = value
    return factors


def snap_weights(weights: Floats) -> Floats:
    """Round positive weights to a grid of 2⁻⁵² of their total, so that every sum of them is exact.

    Sums of doubles depend on their order in the last bit, and one bit decides ties between tests: trees would depend
    on the order of rows and on threads. On the grid q = 2^(⌊log₂ total⌋ − 51) every sum of weights is a multiple of q
    below 2⁵³·q, hence exact and the same in any order. Weights are moved by at most q/2, and never to 0; integers and
    dyadic fractions of small sum stay as they are.

    Parameters
    ----------
    weights : ndarray of float64
        Positive and finite.

    Returns
    -------
    ndarray of float64
        Multiplied by a power of two if the total would leave the range of doubles.

    Examples
    --------
    >>> import numpy as np
    >>> from boscage.data.weights import snap_weights
    >>> snap_weights(np.array([1.0, 0.25, 3.0]))
    array([1.  , 0.25, 3.  ])
    >>> w = snap_weights(np.array([0.1, 0.2, 0.3, 0.4]))
    >>> bool(w[0] + w[1] + w[2] + w[3] == w[3] + w[2] + w[1] + w[0])
    True
    """
    shift = _range_shift(float(weights.max()), len(weights))
    if shift:
        weights = np.ldexp(weights, -shift)
    total = float(weights.sum())
    mantissa, _ = math.frexp(total)
    # A sum in floating point may land on the wrong side of a power of two, depending on the order of the rows.
    if mantissa < 0.5 + 1e-6 or mantissa > 1 - 1e-6:
        total = math.fsum(weights.tolist())
    return Grid(0, _spacing(total)).snap(weights)


@dataclass(frozen=True)
class Grid:
    """The grid of `snap_weights`: weights are multiplied by 2^−shift and rounded to multiples of the spacing."""

    shift: int
    spacing: float

    @classmethod
    def of(cls, largest: float, count: int, total: int) -> Grid:
        """Return the grid for so many weights with this exact sum (`exact_sums`)."""
        shift = _range_shift(largest, count)
        return cls(shift, _spacing(sum_value(total, -shift)))

    def divided(self, exponent: int) -> Grid:
        """Return the same grid for weights that are divided by 2^exponent."""
        return Grid(self.shift + exponent, math.ldexp(self.spacing, -exponent))

    def snap(self, weights: Floats) -> Floats:
        """Put positive weights on the grid."""
        if self.shift:
            weights = np.ldexp(weights, -self.shift)
        return np.maximum(np.rint(weights / self.spacing) * self.spacing, self.spacing)


def moderate_exponent(total: float) -> int:
    """Return k so that total·2⁻ᵏ is between 2⁻⁶⁰ and 2⁶⁰, 0 if it is without.

    Trees are grown with weights divided by 2ᵏ, which changes no bit of them: products with weights of any size then
    stay in the range of doubles, and in that of single precision too.
    """
    top = math.frexp(total)[1]
    return min(top + 60, 0) + max(top - 60, 0)


def _range_shift(largest: float, count: int) -> int:
    """Exponent by which weights are divided if their total would leave the range of doubles.

    Large weights stay large and small ones small, beside settings in units of weight.
    """
    top = math.frexp(largest)[1] + math.frexp(count)[1]  # total < 2^top
    return top - 60 if top > 1000 else top + 60 if top < -900 else 0


def _spacing(total: float) -> float:
    return math.ldexp(1.0, math.frexp(total)[1] - 52)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
