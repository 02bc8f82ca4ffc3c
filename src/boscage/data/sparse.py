"""Sparse matrices of users: their indices are checked, not their flags, before any compiled code follows them."""

from __future__ import annotations

from typing import Any

import numpy as np


def canonical_rows(X: Any) -> Any:
    """Return a sparse matrix as CSR in which each row names its columns once and in increasing order.

    What scipy remembers of a matrix (``has_canonical_format``) is wrong after its arrays were changed in place, so the
    indices themselves are read. Only a matrix that is not in order is copied.

    Parameters
    ----------
    X : sparse matrix or array of any format
        Not changed.
    """
    if X.ndim != 2:  # refused by scikit-learn's check
        return X
    _check_indices(X)
    rows = X if X.format == "csr" else X.tocsr()
    is_ordered = _is_ordered(rows)
    parts = (rows.data, rows.indices, rows.indptr)
    is_contiguous = all(part.flags.c_contiguous for part in parts)  # as the core reads them
    # A new matrix around the same arrays remembers nothing.
    fresh = type(rows)(parts, shape=rows.shape, copy=not (is_ordered and is_contiguous))
    if is_ordered:
        fresh.has_sorted_indices = fresh.has_canonical_format = True
    else:
        fresh.sum_duplicates()
    return fresh


def _is_ordered(rows: Any) -> bool:
    indices, indptr = rows.indices[: rows.indptr[-1]], rows.indptr
    if len(indices) < 2:
        return True
    falls = indices[1:] <= indices[:-1]
    starts = indptr[1:-1]
    falls[starts[(starts > 0) & (starts < len(indices))] - 1] = False  # the first entry of a row may be anything
    return not falls.any()


def _check_indices(X: Any) -> None:
    """Refuse indices that lead out of the arrays: compiled code would follow them."""
    if X.format in ("csr", "csc", "bsr"):
        block = X.blocksize if X.format == "bsr" else (1, 1)
        height, width = X.shape[0] // block[0], X.shape[1] // block[1]
        lines, across = (width, height) if X.format == "csc" else (height, width)
        indptr = X.indptr
        n_entries = min(len(X.indices), len(X.data))
        is_sound = len(indptr) == lines + 1 and indptr[0] == 0 and int(indptr[-1]) <= n_entries
        if not is_sound or (np.diff(indptr) < 0).any():
            raise ValueError(
                f"X is a sparse matrix ({X.format}) with a broken indptr: it must have {lines + 1} entries, begin with "
                f"0, never fall, and end with at most {n_entries}. Build the matrix again."
            )
        pairs = [(X.indices[: indptr[-1]], across)]
    elif X.format == "coo":
        if any(len(index) != len(X.data) for index in X.coords):
            raise ValueError("X is a sparse matrix (coo) whose arrays differ in length. Build the matrix again.")
        pairs = list(zip(X.coords, X.shape))
    else:
        return
    for index, size in pairs:
        if len(index) and (int(index.min()) < 0 or int(index.max()) >= size):
            wrong = int(index.max()) if int(index.max()) >= size else int(index.min())
            raise ValueError(
                f"X is a sparse matrix ({X.format}) with the index {wrong}, which is outside of 0 .. {size - 1}. Build "
                "the matrix again."
            )
