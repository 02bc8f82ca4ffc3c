"""Minimal cost-complexity pruning: Tree in, smaller Tree out.

R_α(T) = Σ_leaves w_l·i_l + α·|leaves|, weights as shares of the whole and i the impurity in the tree. The subtree of
least R_α is found by cutting weakest links; the trees for growing α are nested.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from boscage import _core
from boscage.tree import LEAF, Tree


def _path(tree: Tree, impurity: npt.NDArray[np.float64] | None = None) -> dict[str, npt.NDArray[np.float64]]:
    impurity = tree.impurity if impurity is None else impurity
    risk = impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    path: dict[str, npt.NDArray[np.float64]] = _core.pruning_path(tree.children_left, tree.children_right, risk)
    return path


def pruning_path(tree: Tree) -> Bunch:
    """Return ``ccp_alphas`` and the ``impurities`` of the pruned trees, from the whole tree to its root."""
    path = _path(tree)
    return Bunch(ccp_alphas=path["alphas"], impurities=path["risks"])


def prune(tree: Tree, alpha: float) -> Tree:
    """Return the smallest subtree that minimises R_α."""
    collapsed = _path(tree)["collapse"] <= alpha
    return collapse(tree, collapsed) if collapsed.any() else tree


def prune_bits(tree: Tree, bits: float) -> Tree:
    """Return the smallest subtree of least Σ_leaves w_l·entropy_l + bits·|leaves|, whatever the tree's criterion."""
    if not bits:
        return tree
    share = np.where(tree.value > 0, tree.value, 1.0)
    entropy = -(share * np.log2(share)).sum(axis=1)
    collapsed = _path(tree, entropy)["collapse"] <= bits / tree.weighted_n_node_samples[0]
    return collapse(tree, collapsed) if collapsed.any() else tree


def surviving_nodes(tree: Tree, collapsed: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the nodes left when marked inner nodes become leaves, in their new order, and those that stay splits."""
    inner = np.flatnonzero(~tree.is_leaf)
    alive = np.zeros(tree.node_count, bool)
    alive[0] = True
    split_order = inner[np.argsort(tree.children_left[inner], kind="stable")]
    kept = []
    for node in split_order:  # parents come before their children
        if alive[node] and not collapsed[node]:
            alive[tree.children_left[node]] = alive[tree.children_right[node]] = True
            kept.append(node)
    splits = np.array(kept, dtype=np.intp)
    order = np.concatenate([[0], np.stack([tree.children_left[splits], tree.children_right[splits]], 1).ravel()])
    return order.astype(np.intp), splits


def collapse(tree: Tree, collapsed: npt.NDArray[np.bool_]) -> Tree:
    """Make every marked inner node a leaf, and number what is left as if it had been grown alone."""
    order, splits = surviving_nodes(tree, collapsed)
    number = np.full(tree.node_count, -1, np.int32)
    number[order] = np.arange(len(order))
    is_split = np.zeros(len(order), bool)
    is_split[number[splits]] = True

    def at_splits(array: npt.NDArray[Any], otherwise: float) -> npt.NDArray[Any]:
        return np.where(is_split, array[order], np.asarray(otherwise, array.dtype))

    linear = order[is_split & (tree.linear_row[order] >= 0)]
    linear_row = np.full(len(order), -1, np.int32)
    linear_row[number[linear]] = np.arange(len(linear))
    offset, bits = _kept_categories(tree, order, is_split)
    return replace(
        tree,
        children_left=np.where(is_split, number[tree.children_left[order]], -1),
        children_right=np.where(is_split, number[tree.children_right[order]], -1),
        feature=at_splits(tree.feature, LEAF),
        threshold=at_splits(tree.threshold, 0.0),
        missing_go_to_left=at_splits(tree.missing_go_to_left, False),
        category_offset=offset,
        category_bits=bits,
        linear_row=linear_row,
        weights=tree.weights[tree.linear_row[linear]],
        value=tree.value[order],
        n_node_samples=tree.n_node_samples[order],
        weighted_n_node_samples=tree.weighted_n_node_samples[order],
        impurity=tree.impurity[order],
        leaf_value=None,
        leaf_models=None,
    )


def _kept_categories(
    tree: Tree, order: npt.NDArray[np.intp], is_split: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    offset = np.where(is_split, tree.category_offset[order], -1)
    chosen = np.flatnonzero(offset >= 0)
    lengths = (tree.schema.n_categories[tree.feature[order[chosen]]] + 7) // 8
    pieces = [tree.category_bits[start : start + length] for start, length in zip(offset[chosen], lengths)]
    offset[chosen] = np.concatenate([[0], np.cumsum(lengths)])[:-1] if len(chosen) else []
    return offset, np.concatenate(pieces) if pieces else tree.category_bits[:0]
