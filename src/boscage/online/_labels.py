"""Labels that arrive over time: numbers in order of appearance inside, sorted classes outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.data.labels import Int32s, encode_labels

Labels = npt.NDArray[Any]


class LabelBook:
    """The classes met so far.

    The learner numbers classes as they appear, so that its numbers never change; users see them sorted.

    Attributes
    ----------
    labels : ndarray
        By number.
    classes : ndarray
        Sorted.
    column_of : ndarray of int32
        Place in ``classes`` by number.
    """

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.classes = np.unique(labels)
        self.column_of: Int32s = np.searchsorted(self.classes, labels).astype(np.int32)

    def __len__(self) -> int:
        return len(self.labels)

    def numbers(self, classes: Labels) -> tuple[Int32s, npt.NDArray[np.bool_]]:
        """Return the numbers of sorted labels and which of them are known; -1 for an unknown one."""
        _check_same_kind(self.classes, classes)
        place = np.searchsorted(self.classes, classes)
        inside = np.minimum(place, len(self.classes) - 1)
        known: npt.NDArray[np.bool_] = np.asarray(self.classes[inside] == classes)
        number_at = np.argsort(self.column_of).astype(np.int32)
        return np.where(known, number_at[inside], np.int32(-1)), known

    def extended(self, new: Labels) -> LabelBook:
        """Return a book with more labels at its end."""
        return LabelBook(np.concatenate([self.labels, new])) if len(new) else self


def enter(book: LabelBook | None, y: Any, declared: Any, owner: str) -> tuple[LabelBook, Int32s]:
    """Give the labels of a batch their numbers; new ones get the next numbers in the order of their rows.

    Parameters
    ----------
    book : LabelBook or None
        The classes so far; not changed.
    y : array-like of shape (n_samples,)
        Labels.
    declared : array-like or None
        Classes to enter before those of y; y may then hold no others.
    owner : str
        Name of the estimator, for messages.

    Returns
    -------
    book : LabelBook
    numbers : ndarray of int32
        One per row.
    """
    codes, classes = encode_labels(y, owner)
    if declared is not None:
        names = encode_labels(declared, owner)[1]
        if len(names) == 0:
            raise ValueError("classes is empty. Pass the labels that may occur, or None.")
        allowed = np.isin(classes, names)
        if not allowed.all():
            extra = classes[~allowed][:5].tolist()
            raise ValueError(f"y holds labels that are not in classes: {extra!r}. Name all of them, or pass None.")
        book = LabelBook(names) if book is None else book.extended(names[~book.numbers(names)[1]])
    if book is None:
        first = np.unique(codes, return_index=True)[1]
        book = LabelBook(classes[np.argsort(first)])
    numbers, known = book.numbers(classes)
    if not known.all():
        first = np.full(len(classes), len(codes))
        np.minimum.at(first, codes, np.arange(len(codes)))
        fresh = np.flatnonzero(~known)
        book = book.extended(classes[fresh[np.argsort(first[fresh])]])
        numbers, _ = book.numbers(classes)
    return book, numbers[codes]


def _check_same_kind(old: Labels, new: Labels) -> None:
    kinds = [_kind(labels) for labels in (old, new)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"y holds labels of another type than before: {kinds[1]} after {kinds[0]}. Pass labels of one type."
        )


def _kind(labels: Labels) -> str:
    if labels.dtype.kind in "UOT":
        return "text"
    return "truth values" if labels.dtype.kind == "b" else "numbers"
