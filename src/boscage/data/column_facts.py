"""What pages and pictures know of each column: its range and a typical value."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage.tree import Floats, InputMap, Tree


def column_ranges(tree: Tree, X: Any) -> tuple[Floats, Floats, Floats]:
    """Least, largest and typical value of every column.

    They come from the rows where these were given (the typical value is the median, or the most frequent category),
    else from what the tree itself remembers: thresholds of axis tests, centre and scale of the input map.
    """
    if X is None:
        return _from_tree(tree)
    return _from_sparse(X) if sparse.issparse(X) else _from_rows(tree, X)


def _from_sparse(X: Any) -> tuple[Floats, Floats, Floats]:
    """Ranges without making rows dense; columns of mostly zeros have the median 0."""
    columns = sparse.csc_array(X, dtype=np.float64)
    low, high = (
        np.asarray(part.toarray(), dtype=np.float64).ravel() for part in (columns.min(axis=0), columns.max(axis=0))
    )
    typical = np.zeros(columns.shape[1])
    for j in np.flatnonzero(2 * np.diff(columns.indptr) >= columns.shape[0]):
        typical[j] = np.median(columns[:, [j]].toarray())
    return low, high, typical


def _from_rows(tree: Tree, X: npt.NDArray[Any]) -> tuple[Floats, Floats, Floats]:
    values = X.astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column of nothing but NaN
        low, high, typical = np.nanmin(values, axis=0), np.nanmax(values, axis=0), np.nanmedian(values, axis=0)
    for j in np.flatnonzero(tree.schema.n_categories):
        codes = values[:, j][~np.isnan(values[:, j])].astype(np.int64)
        typical[j] = np.bincount(codes).argmax() if codes.size else 0.0
    backup = _from_tree(tree)
    empty = np.isnan(typical)
    for found, other in zip((low, high, typical), backup):
        found[empty] = other[empty]
    return low, high, typical


def _from_tree(tree: Tree) -> tuple[Floats, Floats, Floats]:
    row_map, d = tree.input_map or InputMap(), tree.n_features
    typical = np.zeros(d) if row_map.shift is None else row_map.shift.copy()
    spread = np.ones(d) if row_map.scale is None else 1 / np.where(row_map.scale > 0, row_map.scale, 1.0)
    if tree.schema.spread is not None:
        spread = np.where(tree.schema.spread > 0, tree.schema.spread, 1.0)
    if row_map.fill is not None and row_map.shift is None:
        typical = row_map.fill.copy()
    typical = _rounded(typical, spread)
    low, high = typical - 2.5 * spread, typical + 2.5 * spread
    is_axis = (tree.feature >= 0) & (tree.category_offset < 0) & np.isfinite(tree.threshold)
    for j in np.unique(tree.feature[is_axis]):
        cuts = tree.threshold[is_axis & (tree.feature == j)]
        pad = 0.5 * (cuts.max() - cuts.min()) or max(1.0, 0.5 * abs(float(cuts[0])))
        low[j], high[j], typical[j] = cuts.min() - pad, cuts.max() + pad, np.median(cuts)
    is_category = tree.schema.n_categories > 0
    low[is_category] = typical[is_category] = 0.0
    high[is_category] = tree.schema.n_categories[is_category] - 1
    limit = np.finfo(np.float64).max / 4
    return np.clip(low, -limit, limit), np.clip(high, -limit, limit), typical


def _rounded(values: Floats, spread: Floats) -> Floats:
    """Values with no more digits than a hundredth of the spread needs."""
    decimals = np.clip(2 - np.floor(np.log10(spread)), -300, 300)
    return np.array([round(value, int(places)) for value, places in zip(values.tolist(), decimals)])
