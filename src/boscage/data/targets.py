"""Targets that are numbers: from any y to float64, and a hint where labels look like numbers."""

from __future__ import annotations

import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import r2_score

from boscage.data.labels import twin, without_codes
from boscage.data.weights import check_sample_weight, near_one

Floats = npt.NDArray[np.float64]

MOST = 1e300  # sums over trees, and steps towards ancestors, stay finite
_FARTHEST = 1e120  # from the mean, in units of the largest target: squares stay finite
_MANY_LABELS = 30
_ROWS_PER_LABEL = 50


def encode_numbers(y: Any, owner: str, *, several: bool = True) -> Floats:
    """Return a target of numbers as float64, C-contiguous, of shape (n,), or (n, m) for m > 1 outputs.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Numbers of any type: floats, integers, booleans, decimals; columns of tables.
    owner : str
        Name of the estimator, for messages.
    several : bool, default=True
        Whether several outputs are allowed; if not, a column in place of a vector gets scikit-learn's warning.
    """
    if not several and getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples, ), for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
    if type(y) is np.ndarray and y.dtype == np.float64 and y.ndim == 1:
        numbers: Floats = np.ascontiguousarray(y)
    else:
        numbers = _as_floats(_as_array(y, owner), owner)
    if numbers.size and not np.abs(numbers).max() <= MOST:
        _refuse_size(numbers)
    return numbers


def numbers_for(y: Any, owner: str, outputs: int) -> Floats:
    """Return a target for a fitted tree as float64 of shape (n, outputs)."""
    numbers = encode_numbers(y, owner)
    numbers = numbers.reshape(len(numbers), -1)
    if numbers.shape[1] != outputs:
        raise ValueError(f"y must have {outputs} outputs, got {numbers.shape[1]}.")
    return numbers


def power_of_two(y: Floats, weight: Floats | None = None) -> float:
    """Power of two that brings y near 1; adding and multiplying by it changes no digit."""
    centre = y.mean(axis=0) / 4 if weight is None else np.average(y / 4, axis=0, weights=near_one(weight))
    most = float(np.abs(y / 4 - centre).max()) if len(y) else 0.0
    return float(np.ldexp(1.0, int(np.frexp(most)[1]) + 2)) if most > 0 else 1.0


def _as_array(y: Any, owner: str) -> npt.NDArray[Any]:
    if y is None:
        raise ValueError(f"This {owner} estimator requires y to be passed, but the target y is None.")
    if np.ma.isMaskedArray(y) and np.ma.is_masked(y):
        raise TypeError("y is a masked array with masked entries. Drop these rows from X and y first.")
    if type(y).__name__ == "LazyFrame":
        raise TypeError("y is a LazyFrame: call .collect() first.")
    try:
        array = np.asarray(without_codes(y))
    except ValueError:
        raise ValueError("y mixes sequences and single numbers. Pass one number per row.") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise ValueError(
            f"y has shape {array.shape}. Pass one number per row, shape (n_samples,), or several, shape "
            "(n_samples, n_outputs)."
        )
    return array


def _as_floats(array: npt.NDArray[Any], owner: str) -> Floats:
    kind = array.dtype.kind
    if kind == "c":
        raise ValueError(f"Complex data not supported: y has type {array.dtype}. Pass real numbers.")
    if kind in "biuf":
        return np.ascontiguousarray(array, dtype=np.float64)
    if kind in "OT":
        return _from_objects(array, owner)
    first = f" ({array.flat[0]!s})" if array.size else ""
    if kind in "US":
        raise ValueError(_text_message(first, owner))
    raise ValueError(f"y has type {array.dtype}{first}: {owner} needs numbers, for example y.astype(float).")


def _text_message(first: str, owner: str) -> str:
    return (
        f"y holds text{first}: {owner} needs numbers. For classes use {twin(owner, 'Classifier')}; "
        "numbers written as text become floats with np.asarray(y, dtype=float)."
    )


def _from_objects(array: npt.NDArray[Any], owner: str) -> Floats:
    numbers = np.empty(array.shape, np.float64)
    for place, value in np.ndenumerate(array):
        if isinstance(value, str):
            raise ValueError(_text_message(f" ({value[:40]!r} in row {place[0]})", owner))
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            numbers[place] = np.nan
        elif isinstance(value, (int, float, Decimal, Fraction, np.number, np.bool_)) and not isinstance(value, complex):
            numbers[place] = _as_float(value)
        else:
            raise ValueError(
                f"y holds an object of type {type(value).__name__} in row {place[0]}: {owner} needs numbers, for "
                "example np.asarray(y, dtype=float)."
            )
    return numbers


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer or a fraction beyond all floats
        return float("inf") if value > 0 else -float("inf")


def _refuse_size(numbers: Floats) -> None:
    bad = ~(np.abs(numbers) <= MOST)
    row = int(np.argwhere(bad)[0][0])
    value = numbers[bad][0]
    if np.isnan(numbers).any():
        row = int(np.argwhere(np.isnan(numbers))[0][0])
        raise ValueError(f"Input y contains NaN or None: row {row} has no number. Drop such rows first.")
    if np.isinf(value):
        raise ValueError(
            f"Input y contains infinity or a value too large for {numbers.dtype!r} (row {row}). Drop or repair such "
            "rows first."
        )
    raise ValueError(f"y holds {value:g} in row {row}: numbers must lie between -{MOST:g} and {MOST:g}. Scale y.")


def r2(y: Any, predicted: Any, weight: Any, owner: str) -> float:
    """R² of numbers and weights of any size. It has no units: each output is divided by a power of two."""
    y = _as_floats(_as_array(y, owner), owner)
    exponent = -np.frexp(np.abs(y).max(axis=0, initial=0.0))[1]
    with np.errstate(over="ignore"):
        found = np.clip(np.ldexp(np.asarray(predicted), exponent), -_FARTHEST, _FARTHEST)
    weight = check_sample_weight(weight, len(y))
    return float(r2_score(np.ldexp(y, exponent), found, sample_weight=None if weight is None else near_one(weight)))


def warn_if_numbers(classes: npt.NDArray[Any], n_rows: int, owner: str) -> None:
    """Warn where a classifier was given floats of very many values: they are numbers, not classes."""
    if classes.dtype.kind != "f" or len(classes) <= _MANY_LABELS or n_rows >= _ROWS_PER_LABEL * len(classes):
        return
    warnings.warn(
        f"y holds {len(classes):,} distinct floats in {n_rows:,} rows, each of which becomes a class. For regression "
        f"use {twin(owner, 'Regressor')}; for classification pass integers or strings.",
        UserWarning,
        stacklevel=_outside(),
    )


def _outside() -> int:
    """Return the stack level of the caller's own code, seen from the function that warns."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("boscage", "sklearn"):
        level, frame = level + 1, frame.f_back
    return level
