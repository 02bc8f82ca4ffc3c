"""The nodes of one or several trees in one set of tables, for programs that walk them in a loop.

Inner nodes and leaves are numbered apart and on through all trees. A child is the number of an inner node, or
−1 − the number of a leaf.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage.show.exported import Exported, row_map
from boscage.tree import LINEAR, Bools, Bytes, Floats, InputMap, Int64s, Tree


@dataclass(frozen=True, eq=False)
class FlatTrees:
    """Tables of inner nodes (I), leaves (L) and trees (T).

    Attributes
    ----------
    roots, first_inner, first_leaf, map_of_tree : arrays of shape (T,), the middle two (T + 1,)
        Where each tree begins, and which of ``maps`` it uses.
    child : array of shape (I, 2)
        Left and right.
    column : array of shape (I,)
        Column tested; of a linear test the row of ``weights``.
    threshold : array of shape (I,)
    missing_left, is_linear, is_category : bool arrays of shape (I,)
    set_offset : array of shape (I,)
        First byte of a category set in ``category_bits``, else 0.
    weights : array or CSR array
        Of all linear tests; the constant, if any tree has one, is the last column.
    maps : list of InputMap
        Without duplicates.
    values : array of shape (V, K)
        What leaves predict, without duplicates.
    value_of_leaf : array of shape (L,)
        Row of ``values``.
    coef, intercept, low, high : arrays of shape (L, K, d) and (L, K), or None
        Linear models of the leaves, 0 where a tree has none, and bounds of the numbers that they predict.
    has_models : bool array of shape (T,)
    """

    roots: Int64s
    first_inner: Int64s
    first_leaf: Int64s
    map_of_tree: Int64s
    child: Int64s
    column: Int64s
    threshold: Floats
    missing_left: Bools
    is_linear: Bools
    is_category: Bools
    set_offset: Int64s
    category_bits: Bytes
    weights: Any
    maps: list[InputMap]
    values: Floats
    value_of_leaf: Int64s
    coef: Floats | None
    intercept: Floats | None
    low: Floats | None
    high: Floats | None
    has_models: Bools


def flatten(model: Exported) -> FlatTrees:
    """Build the tables."""
    trees = model.trees
    inner = [np.flatnonzero(~tree.is_leaf) for tree in trees]
    first_inner = np.cumsum([0, *map(len, inner)])
    first_leaf = np.cumsum([0, *(tree.n_leaves for tree in trees)])
    numbers = [_numbers(tree, first_inner[t], first_leaf[t]) for t, tree in enumerate(trees)]
    first_row = np.cumsum([0, *(tree.weights.shape[0] for tree in trees)])
    first_byte = np.cumsum([0, *(tree.category_bits.size for tree in trees)])
    maps, map_of_tree = _distinct_maps(trees)
    values, value_of_leaf = np.unique(np.concatenate([tree.leaf_proba for tree in trees]), axis=0, return_inverse=True)

    def joined(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.concatenate([array[nodes] for array, nodes in zip(arrays, inner)])

    return FlatTrees(
        roots=np.array([number[0] for number in numbers]),
        first_inner=first_inner,
        first_leaf=first_leaf,
        map_of_tree=map_of_tree,
        child=np.column_stack(
            [
                joined([number[tree.children_left] for number, tree in zip(numbers, trees)]),
                joined([number[tree.children_right] for number, tree in zip(numbers, trees)]),
            ]
        ),
        column=joined(
            [np.where(t.feature == LINEAR, t.linear_row + first_row[i], t.feature) for i, t in enumerate(trees)]
        ),
        threshold=joined([tree.threshold for tree in trees]),
        missing_left=joined([tree.missing_go_to_left for tree in trees]),
        is_linear=joined([tree.feature == LINEAR for tree in trees]),
        is_category=joined([tree.category_offset >= 0 for tree in trees]),
        set_offset=joined([np.maximum(t.category_offset + first_byte[i], 0) for i, t in enumerate(trees)]),
        category_bits=np.concatenate([tree.category_bits for tree in trees]),
        weights=_joined_weights(trees),
        maps=maps,
        values=values,
        value_of_leaf=value_of_leaf.reshape(-1),
        coef=_of_models(model, "coef", 0.0),
        intercept=_of_models(model, "intercept", 0.0),
        low=_of_models(model, "low", -np.inf),
        high=_of_models(model, "high", np.inf),
        has_models=np.array([tree.leaf_models is not None for tree in trees]),
    )


def _numbers(tree: Tree, first_inner: int, first_leaf: int) -> Int64s:
    """Return the number of each node in the tables: of an inner node, or −1 − that of a leaf."""
    found: Int64s = np.where(tree.is_leaf, -1 - (tree.leaf_index + first_leaf), 0)
    found[~tree.is_leaf] = first_inner + np.arange(tree.node_count - tree.n_leaves)
    return found


def _distinct_maps(trees: tuple[Tree, ...]) -> tuple[list[InputMap], Int64s]:
    maps: list[InputMap] = []
    places = []
    for tree in trees:
        found = row_map(tree)
        place = next((i for i, known in enumerate(maps) if known is found or known == found), len(maps))
        if place == len(maps):
            maps.append(found)
        places.append(place)
    return maps, np.array(places)


def _joined_weights(trees: tuple[Tree, ...]) -> Any:
    """Weights of all trees, as wide as the widest; sparse where that takes less memory."""
    width = max(tree.n_columns for tree in trees)
    parts = [sparse.csr_array(tree.weights) for tree in trees]
    for part in parts:
        part.resize((part.shape[0], width))
    whole = sparse.csr_array(sparse.vstack(parts))
    return whole if whole.nnz * 5 < 3 * whole.shape[0] * width else whole.toarray()


def _of_models(model: Exported, name: str, neutral: float) -> Floats | None:
    """Join an array of the leaf models of all trees; None if no tree has it."""
    arrays = [None if tree.leaf_models is None else getattr(tree.leaf_models, name) for tree in model.trees]
    if all(array is None for array in arrays):
        return None
    shape = (model.width, model.schema.n_features) if name == "coef" else (model.width,)
    return np.concatenate(
        [np.full((tree.n_leaves, *shape), neutral) if a is None else a for tree, a in zip(model.trees, arrays)]
    )
