"""Categories: which columns are categorical, and their values as codes 0..C−1 in a matrix of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from boscage._frames import Frame, Labelled

Label = str | int | float | bool

_ALLOWED = "Pass None, 'from_dtype', a list of column names or indices, or a boolean mask with one entry per column."


def categorical_columns(
    categorical_features: Any, n_features: int, names: npt.NDArray[Any] | None, frame: Frame | None
) -> list[int]:
    """Return the numbers of the categorical columns, sorted.

    Parameters
    ----------
    categorical_features : None, "from_dtype", or array-like of str, int or bool
        As in scikit-learn's HistGradientBoostingClassifier.
    n_features : int
        Number of columns.
    names : ndarray of str or None
        Feature names, if all are strings.
    frame : Frame or None
        The table, if X is one.
    """
    if categorical_features is None:
        return []
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(f"categorical_features={categorical_features!r} is not known. {_ALLOWED}")
        return [] if frame is None else [j for j in range(n_features) if frame.kind(j) == "category"]
    given = np.asarray(categorical_features)
    if given.ndim != 1:
        raise ValueError(f"categorical_features={categorical_features!r} is not a list. {_ALLOWED}")
    if given.size == 0:
        return []
    if given.dtype.kind == "b":
        if len(given) != n_features:
            raise ValueError(f"categorical_features is a mask of {len(given)} entries, but X has {n_features} columns.")
        return [int(j) for j in np.flatnonzero(given)]
    if given.dtype.kind in "iu":
        wrong = given[(given < 0) | (given >= n_features)]
        if len(wrong):
            raise ValueError(
                f"categorical_features holds {int(wrong[0])}, but X has {n_features} columns: "
                f"indices go from 0 to {n_features - 1}."
            )
        return sorted({int(j) for j in given})
    if not all(isinstance(name, str) for name in given.tolist()):
        raise ValueError(f"categorical_features={categorical_features!r} is not allowed. {_ALLOWED}")
    if names is None:
        raise ValueError("categorical_features holds names, but X has no feature names. Pass column indices.")
    position = {name: j for j, name in enumerate(names.tolist())}
    for name in given.tolist():
        if name not in position:
            raise ValueError(f"categorical_features holds {name!r}, which is not a column of X.")
    return sorted({position[name] for name in given.tolist()})


def label_numbers(values: npt.NDArray[Any]) -> Labelled:
    """Return a numeric column as codes and labels in increasing order; NaN is missing."""
    known = ~np.isnan(values)
    found, codes = np.unique(values[known], return_inverse=True)
    all_codes = np.full(len(values), -1, dtype=np.int64)
    all_codes[known] = codes
    whole = bool((found == np.rint(found)).all())
    return Labelled(all_codes, [int(v) if whole else float(v) for v in found.tolist()])


def label_objects(values: npt.NDArray[Any]) -> Labelled:
    """Return a column of an object array as codes and labels in the order of appearance."""
    position: dict[Any, int] = {}
    codes = [-1 if _is_missing(v) else position.setdefault(v, len(position)) for v in values.tolist()]
    return Labelled(np.array(codes, dtype=np.int64), list(position))


def settle(column: Labelled, shown: str) -> tuple[npt.NDArray[np.float64], tuple[Label, ...]]:
    """Return the codes of the labels that occur, NaN where missing, and those labels.

    Labels are sorted unless the column's type orders them. A label without a row gets no code: at prediction it is
    unseen, like any other.
    """
    used = np.bincount(column.codes[column.codes >= 0], minlength=len(column.labels)) > 0
    kept = np.flatnonzero(used)
    labels = [_plain(column.labels[i], shown) for i in kept]
    order = np.arange(len(labels)) if column.is_ordered else _sorted_order(labels, shown)
    code_of = np.full(len(column.labels) + 1, np.nan)  # the last entry serves code −1
    code_of[kept[order]] = np.arange(len(labels))
    return code_of[column.codes], tuple(labels[i] for i in order)


def recode(column: Labelled, labels: tuple[Label, ...], shown: str) -> npt.NDArray[np.float64]:
    """Return the codes of remembered labels, NaN for missing and unseen values."""
    _check_same_type(column.labels, labels, shown)
    code_of_label = {label: float(code) for code, label in enumerate(labels)}
    code_of = np.array([*(code_of_label.get(_item(label), np.nan) for label in column.labels), np.nan])
    result: npt.NDArray[np.float64] = code_of[column.codes]
    return result


def recode_numbers(values: npt.NDArray[Any], labels: tuple[Label, ...], shown: str) -> npt.NDArray[np.float64]:
    """Return the codes of the values of a numeric column."""
    if labels and all(isinstance(label, str) for label in labels):
        _check_same_type([float(v) for v in values[:1]], labels, shown)
    known = np.array([float(label) for label in labels])
    order = np.argsort(known)
    if not len(known):
        return np.full(len(values), np.nan)
    place = np.minimum(np.searchsorted(known[order], values), len(known) - 1)
    return np.where(known[order][place] == values, order[place].astype(np.float64), np.nan)


def _check_same_type(found: list[Any], labels: tuple[Label, ...], shown: str) -> None:
    """Text where numbers were fitted, or numbers where text was: a mistake, not an unseen category."""
    if not found or not labels:
        return
    was_text = all(isinstance(label, str) for label in labels)
    is_text = [isinstance(label, str) for label in found]
    if (was_text and not any(is_text)) or (not was_text and all(is_text)):
        fitted, given = ("text", "numbers") if was_text else ("numbers", "text")
        raise ValueError(f"X holds {given} in the categorical column {shown}, which was fitted with {fitted}.")


def _sorted_order(labels: list[Label], shown: str) -> npt.NDArray[np.intp]:
    if len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError(
            f"X mixes text and numbers in the categorical column {shown}. Make them all text, for example with "
            "astype(str)."
        )
    return np.array(sorted(range(len(labels)), key=lambda i: labels[i]), dtype=np.intp)


def _item(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _plain(label: Any, shown: str) -> Label:
    """Return the label as a Python str, int, float or bool."""
    value = _item(label)
    if isinstance(value, (str, int, float)):
        return value
    raise ValueError(
        f"X holds {value!r} in the categorical column {shown}. Categories are text, numbers or booleans: "
        "convert the column, for example with astype(str)."
    )


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)
