"""What pages and pictures know of each column: its name, its range, a typical value."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage._describe import Describer
from boscage._importances import feature_importances
from boscage.tree import Floats, InputMap, Tree


def column_facts(words: Describer, X: npt.NDArray[Any] | None) -> list[dict[str, Any]]:
    """Describe every column: name, categories, importance, range and a typical value."""
    tree = words.tree
    low, high, typical = column_ranges(tree, X)
    importances = feature_importances(tree)
    facts: list[dict[str, Any]] = []
    for j in range(tree.n_features):
        fact: dict[str, Any] = {"name": words.name(j), "importance": float(importances[j])}
        count = int(tree.schema.n_categories[j])
        if count:
            names = tree.schema.categories and tree.schema.categories[j]
            fact["categories"] = [str(name) for name in (range(count) if names is None else names)]
        facts.append(fact | {"low": float(low[j]), "high": float(high[j]), "typical": float(typical[j])})
    return facts


def column_ranges(tree: Tree, X: npt.NDArray[Any] | None) -> tuple[Floats, Floats, Floats]:
    """Least, largest and typical value of every column.

    They come from the rows where these were given (the typical value is the median, or the most frequent category),
    else from what the tree itself remembers: thresholds of axis tests, centre and scale of the input map.
    """
    return _from_tree(tree) if X is None else _from_rows(tree, X)


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
