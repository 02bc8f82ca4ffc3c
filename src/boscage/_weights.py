"""Sample weights: checked, multiplied by class weights, and put on a grid on which sums are exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

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
    given = np.asarray(sample_weight)
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
    if isinstance(class_weight, str) and class_weight == "balanced":
        largest = 1.0 if weights is None else weights.max()
        mass = np.bincount(codes, None if weights is None else weights / largest, len(classes))
        present = mass > 0
        factors = np.divide(mass.sum() / present.sum(), mass, out=np.zeros(len(classes)), where=present)
    elif isinstance(class_weight, dict):
        factors = _factors(class_weight, classes)
    else:
        raise ValueError(f"class_weight={class_weight!r} is not known. Pass a dict, 'balanced' or None.")
    with np.errstate(over="ignore"):
        result: Floats = factors[codes] if weights is None else weights * factors[codes]
    if not result.any():
        raise ValueError("class_weight and sample_weight leave weight zero for every row.")
    if not np.isfinite(result).all():
        raise ValueError("class_weight times sample_weight is too large for a float. Divide the weights by a constant.")
    return result


def _factors(class_weight: dict[Any, Any], classes: npt.NDArray[Any]) -> Floats:
    factors = np.ones(len(classes))
    known = {label: code for code, label in enumerate(classes.tolist())}
    unnamed = [label for label in known if label not in class_weight]
    # Labels the data lack are harmless unless they stand in for labels that it has.
    if unnamed and len(known) - len(unnamed) != len(class_weight):
        raise ValueError(
            f"class_weight has no entry for the classes {unnamed!r}, but entries for "
            f"{[label for label in class_weight if label not in known]!r}, which y does not hold."
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
    >>> from boscage._weights import snap_weights
    >>> snap_weights(np.array([1.0, 0.25, 3.0]))
    array([1.  , 0.25, 3.  ])
    >>> w = snap_weights(np.array([0.1, 0.2, 0.3, 0.4]))
    >>> bool(w[0] + w[1] + w[2] + w[3] == w[3] + w[2] + w[1] + w[0])
    True
    """
    top = math.frexp(float(weights.max()))[1] + math.frexp(len(weights))[1]  # total < 2^top
    if top > 1000 or top < -900:
        weights = np.ldexp(weights, -top)
    total = float(weights.sum())
    mantissa, exponent = math.frexp(total)
    # A sum in floating point may land on the wrong side of a power of two, depending on the order of the rows.
    if mantissa < 0.5 + 1e-6 or mantissa > 1 - 1e-6:
        exponent = math.frexp(math.fsum(weights.tolist()))[1]
    grid = math.ldexp(1.0, exponent - 52)
    return np.maximum(np.rint(weights / grid) * grid, grid)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
