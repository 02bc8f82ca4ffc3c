"""Categories: which columns are named as categorical, and their levels as codes 0..C−1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.data.labels import check_text

Label = str | int | float | bool

FEW_LEVELS = 20
"""Text with no more levels than this is treated as categories however few rows there are."""
MOST_LEVELS = 255
"""Text with more levels than this is treated as categories only if its column is named."""

_ALLOWED = "Pass None, 'from_dtype', a list of column names or indices, or a boolean mask with one entry per column."


@dataclass(frozen=True)
class Labelled:
    """A column as codes into labels; −1 stands for a missing value.

    ``is_text`` marks text that nobody declared to be categories: names and free text are refused by `check_levels`.
    """

    codes: npt.NDArray[np.int64]
    labels: list[Any]
    is_text: bool = False


def check_levels(n_levels: int, n_rows: int, shown: str, example: Any) -> None:
    """Refuse text that looks like names or free text: it would make a useless category.

    Parameters
    ----------
    n_levels, n_rows : int
        Number of different texts, and of rows that have one.
    shown : str
        The column, for the message.
    example : str
        One of the texts.
    """
    if n_levels <= FEW_LEVELS or n_levels <= min(MOST_LEVELS, n_rows // 2):
        return
    count = f"more than {MOST_LEVELS}" if n_levels > MOST_LEVELS else str(n_levels)
    raise ValueError(
        f"X has {count} different text values in column {shown}, such as {example!r}: too many to be treated as "
        "categories automatically. Drop the column (--drop on the command line), or declare it categorical by its type "
        "or in categorical_features (--categorical)."
    )


def categorical_columns(categorical_features: Any, n_features: int, names: npt.NDArray[Any] | None) -> list[int]:
    """Return the numbers of the columns that are named, sorted.

    Parameters
    ----------
    categorical_features : array-like of str, int or bool
        As in scikit-learn's HistGradientBoostingClassifier.
    n_features : int
        Number of columns.
    names : ndarray of str or None
        Feature names, if all are strings.
    """
    if isinstance(categorical_features, str):
        raise ValueError(f"categorical_features={categorical_features!r} is not known. {_ALLOWED}")
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
    return Labelled(all_codes, found.tolist())


def settle(column: Labelled, shown: str) -> tuple[npt.NDArray[np.float64], tuple[Label, ...]]:
    """Return the codes of the labels that occur, NaN where missing, and those labels in order.

    A label without a row gets no code: at prediction it is unseen, like any other.
    """
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.labels))
    kept = np.flatnonzero(counts)
    found = [column.labels[i] for i in kept]
    if column.is_text and len(kept):
        check_levels(len(kept), int(counts.sum()), shown, found[0])
    labels = sorted_labels(found, shown)
    return codes_of(column, labels), labels


def sorted_labels(found: list[Any], shown: str) -> tuple[Label, ...]:
    """Return labels as Python values in the order of their codes: sorted, never as they happen to appear."""
    labels = list(dict.fromkeys(_plain(label, shown) for label in found))
    if len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError(
            f"X mixes text and numbers in the categorical column {shown}. Make them all text, for example with "
            "astype(str)."
        )
    labels.sort()
    if labels and all(isinstance(label, float) and label.is_integer() for label in labels):
        return tuple(int(label) for label in labels)
    return tuple(labels)


def codes_of(column: Labelled, labels: tuple[Label, ...]) -> npt.NDArray[np.float64]:
    """Return the codes of known labels, NaN for missing and unseen ones."""
    code_of_label = {label: float(code) for code, label in enumerate(labels)}
    code_of = np.array([*(code_of_label.get(_item(label), np.nan) for label in column.labels), np.nan])
    codes: npt.NDArray[np.float64] = code_of[column.codes]
    return codes


def recode(column: Labelled, labels: tuple[Label, ...], dtype: str, shown: str) -> npt.NDArray[np.float64]:
    """Return the codes of remembered labels, NaN for missing and unseen values."""
    _check_same_type(column.labels, labels, shown)
    if any(isinstance(label, float) for label in labels):
        values = np.array([*map(float, column.labels), np.nan])[column.codes]
        return recode_numbers(values, labels, dtype, shown)
    return codes_of(column, labels)


def recode_numbers(
    values: npt.NDArray[Any], labels: tuple[Label, ...], dtype: str, shown: str
) -> npt.NDArray[np.float64]:
    """Return the codes of the values of a numeric column.

    Numbers are compared in single precision if the fit or the values are of that type.
    """
    if labels and all(isinstance(label, str) for label in labels):
        _check_same_type([float(v) for v in values[~np.isnan(values)][:1]], labels, shown)
        return np.full(len(values), np.nan)
    if not labels:
        return np.full(len(values), np.nan)
    narrow = np.float32 if np.float32 in (np.dtype(dtype), values.dtype) else np.float64
    with np.errstate(over="ignore"):
        known, values = np.array(labels, dtype=np.float64).astype(narrow), values.astype(narrow, copy=False)
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known[order], values), len(known) - 1)
    return np.where(known[order][place] == values, order[place].astype(np.float64), np.nan)


def _check_same_type(found: list[Any], labels: tuple[Label, ...], shown: str) -> None:
    """Text where numbers were fitted, or numbers where text was: a mistake, not an unseen category."""
    if not found or not labels:
        return
    was_text = all(isinstance(label, str) for label in labels)
    is_text = [isinstance(label, str) for label in found]
    if (was_text and not any(is_text)) or (not was_text and any(is_text)):
        fitted, given = ("text", "numbers") if was_text else ("numbers", "text")
        raise ValueError(f"X holds {given} in the categorical column {shown}, which was fitted with {fitted}.")


def _item(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _plain(label: Any, shown: str) -> Label:
    """Return the label as a Python str, int, float or bool."""
    value = _item(label)
    if isinstance(value, str):
        check_text(value, f"X holds in the categorical column {shown} the text")
        return str(value)
    if isinstance(value, (int, float)):
        return value
    raise ValueError(
        f"X holds {value!r} in the categorical column {shown}. Categories are text, numbers or booleans: "
        "convert the column, for example with astype(str)."
    )
