"""Labels: from any y to class codes 0..K−1 and the sorted classes."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import column_or_1d

Int32s = npt.NDArray[np.int32]

_DROP = "Drop such rows first."
_MULTI_OUTPUT = (
    "y has shape {shape}: several outputs are not supported. Pass one label per row, shape (n_samples,), "
    "or wrap {owner} in sklearn.multioutput.MultiOutputClassifier; for numbers use {twin}."
)


def without_codes(column: Any) -> Any:
    """Return a dictionary column of Arrow as its values: NumPy takes a missing code in chunks for the last value."""
    has_codes = hasattr(getattr(column, "type", None), "index_type")
    return column.cast(column.type.value_type) if has_codes else column


def encode_labels(y: Any, owner: str) -> tuple[Int32s, npt.NDArray[Any]]:
    """Return (codes, classes) of the labels.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Integers, strings, booleans, or floats with integer values.
    owner : str
        Name of the estimator, for messages.

    Returns
    -------
    codes : ndarray of int32
    classes : ndarray
        Sorted, of y's own type.
    """
    labels = _one_dimensional(without_codes(y), owner)
    kind = labels.dtype.kind
    if kind == "c":
        raise ValueError(f"Complex data not supported: y has type {labels.dtype}. Pass integers or strings.")
    if kind == "S":
        raise TypeError("y holds bytes. Pass strings or integers, for example np.char.decode(y).")
    if kind in ("O", "T"):
        labels = _from_objects(labels)
        kind = labels.dtype.kind
    if kind == "f":
        _check_whole(labels, owner)
    if kind in "mM" and np.isnat(labels).any():
        raise ValueError(f"Input y contains NaT: row {int(np.isnat(labels).argmax())} has no label. {_DROP}")
    if kind in "biu":
        return _encode_integers(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    for label in classes.tolist() if kind in "UOT" else ():
        check_text(label, "y holds the label")
    return codes.astype(np.int32), classes


def check_text(text: str, what: str) -> None:
    """Refuse text that cannot be written as UTF-8, and so to no file: half of a pair of surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{what} {text!r}, which is not valid Unicode text: it has half of a pair of surrogates. Repair it, for "
            "example with text.encode('utf-8', 'replace').decode()."
        ) from None


def _one_dimensional(y: Any, owner: str) -> npt.NDArray[Any]:
    if y is None:
        raise ValueError(f"This {owner} estimator requires y to be passed, but the target y is None.")
    if type(y) is np.ndarray and y.ndim == 1:
        return y
    if np.ma.isMaskedArray(y) and np.ma.is_masked(y):
        raise TypeError("y is a masked array with masked labels. Drop these rows from X and y first.")
    if type(y).__name__ == "LazyFrame":
        raise TypeError("y is a LazyFrame: call .collect() first.")
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples, ), for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        return np.asarray(y).reshape(-1)
    if isinstance(y, (list, tuple)) and any(isinstance(label, (str, bool, np.bool_)) or label is None for label in y):
        labels = np.empty(len(y), dtype=object)  # np.asarray would write numbers among strings as strings
        labels[:] = y
        return labels
    try:
        shape = np.asarray(y).shape  # array-likes may refuse NumPy's functions
    except ValueError:
        raise ValueError("Unknown label type: y mixes sequences and single labels. Pass one label per row.") from None
    if len(shape) != 1:
        if len(shape) < 2:
            raise ValueError(f"y={y!r} is not a list of labels.")
        raise ValueError(_MULTI_OUTPUT.format(shape=shape, owner=owner, twin=twin(owner, "Regressor")))
    column: npt.NDArray[Any] = column_or_1d(y, dtype=None)
    return column


def _from_objects(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels of one sortable type, out of an array of objects."""
    values = labels.tolist()
    check_all_labelled(values)
    kinds = {_kind(label) for label in values}
    if len(kinds) > 1 or "other" in kinds:
        found = ", ".join(sorted({type(label).__name__ for label in values}))
        raise ValueError(
            f"Unknown label type: y holds objects of type {found}. Pass labels of one type: integers or strings, "
            "for example np.asarray(y, dtype=str)."
        )
    return labels if kinds == {"text"} else np.array(values)


def check_all_labelled(labels: Iterable[Any]) -> None:
    """Refuse labels that are missing, by the first row that has none."""
    for row, label in enumerate(labels):
        is_nan = isinstance(label, numbers.Number) and label != label
        if label is None or is_nan or type(label).__name__ in ("NAType", "NaTType"):
            raise ValueError(f"Input y contains NaN or None: row {row} has no label. {_DROP}")


def _kind(label: object) -> str:
    if isinstance(label, str):
        return "text"
    if isinstance(label, (bool, np.bool_)):
        return "truth"
    return "number" if isinstance(label, (int, float, np.integer, np.floating)) else "other"


def twin(owner: str, kind: str) -> str:
    """Return the name of the estimator for the other kind of target: "Classifier" or "Regressor"."""
    from boscage import __all__ as names

    other = owner.replace("Regressor", kind).replace("Classifier", kind)
    return other if other != owner and other in names else f"TopDownTree{kind}"


def _check_whole(labels: npt.NDArray[Any], owner: str) -> None:
    if not np.isfinite(labels).all():
        what = "NaN" if np.isnan(labels).any() else "infinity"
        raise ValueError(f"Input y contains {what}. Drop or repair such rows first.")
    fractional = labels != np.rint(labels)
    if fractional.any():
        value = labels[int(np.argmax(fractional))]
        raise ValueError(
            f"Unknown label type: continuous. y holds {value!s}: a classifier needs discrete classes. "
            "Pass integers or strings, for example after cutting y into bins; for regression use "
            f"{twin(owner, 'Regressor')}."
        )


def _encode_integers(labels: npt.NDArray[Any]) -> tuple[Int32s, npt.NDArray[Any]]:
    """Count where the labels lie close together, sort where they do not."""
    low, high = (int(labels.min()), int(labels.max())) if len(labels) else (0, 0)
    span = high - low + 1
    if span > max(2 * len(labels), 1024) or max(high, -low) > 2**62:
        classes, codes = np.unique(labels, return_inverse=True)
        return codes.astype(np.int32), classes
    offsets = labels.astype(np.int64) - low
    present = np.bincount(offsets, minlength=1) > 0
    found = np.flatnonzero(present)
    classes = (found + low).astype(labels.dtype)
    if len(found) < span:
        offsets = (np.cumsum(present) - 1)[offsets]
    return offsets.astype(np.int32), classes
