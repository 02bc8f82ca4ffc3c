"""Sums over rows of their reach of a soft tree's leaves, which its leaves are fitted jointly from."""

from __future__ import annotations

from typing import Any

import numpy as np

from boscage import _core
from boscage.batches.passes import NOTHING, Pass
from boscage.batches.reduction import Parts, join, to_parts
from boscage.batches.rows import BLOCK_ROWS, Rows
from boscage.model import predict as _predict
from boscage.tree import LEAF, LINEAR, Floats, InputMap, Schema, Tree

_NUMBERS_AT_ONCE = 1 << 22


def reach_parts(tree: Tree, unit: float, rows: Rows, first_block: int, threads: int) -> Parts:
    """Add up Σ s r (r, Y)ᵀ over blocks of rows, r a row's reach of each leaf and Y its class as a unit vector.

    Of numbers Y are their distances from the root's, over ``unit``.
    """
    parts: Parts = []
    length = BLOCK_ROWS * max(1, _NUMBERS_AT_ONCE // (BLOCK_ROWS * (tree.n_leaves + tree.n_outputs)))
    for start in range(0, rows.X.shape[0], length):
        some = rows.part(start, start + length)
        reach = _predict.leaf_reach(tree, some.X, threads)
        wanted = _as_numbers(tree, unit, some.y)
        sums = _core.reach_sums(reach, wanted, some.weight, first_block + start // BLOCK_ROWS, threads)
        parts = join([parts, to_parts(sums)])
    return parts


def from_root(tree: Tree, y: Floats, unit: float) -> Floats:
    """Return the distances of numbers from the root's, over ``unit``."""
    distance: Floats = y / unit - tree.value[0] / unit
    return distance


def _as_numbers(tree: Tree, unit: float, y: Any) -> Floats:
    if tree.target == "numbers":
        return np.ascontiguousarray(from_root(tree, y.reshape(len(y), -1), unit))
    member: Floats = (y[:, None] == np.arange(tree.n_classes)).astype(np.float64)
    return member


def reach_pass(tree: Tree, unit: float) -> Pass:
    """Return the question for these sums about a tree of stochastic linear tests."""
    seen = tree.input_map or InputMap()
    return Pass.of(
        "reach_sums",
        children=np.stack([tree.children_left, tree.children_right], axis=1),
        linear_row=tree.linear_row,
        weights=tree.weights,
        shift=NOTHING if seen.shift is None else seen.shift,
        scale=NOTHING if seen.scale is None else seen.scale,
        constant=NOTHING if seen.constant is None else np.array([seen.constant]),
        unit_rows=seen.unit_rows,
        root=tree.value[0],
        is_numbers=tree.target == "numbers",
        unit=unit,
    )


def tree_of_pass(asked: Any) -> Tree:
    """Return what the question says of its tree: tests, leaves and the root's value."""
    left, right = np.ascontiguousarray(asked.children.T)
    nodes, columns = len(left), asked.weights.shape[1] - len(asked.constant)
    nothing = np.zeros(nodes)
    return Tree(
        children_left=left,
        children_right=right,
        feature=np.where(left < 0, LEAF, LINEAR).astype(np.int32),
        threshold=nothing,
        value=np.repeat(asked.root[None, :], nodes, axis=0),
        n_node_samples=np.ones(nodes, np.int64),
        weighted_n_node_samples=nothing + 1,
        impurity=nothing,
        schema=Schema(columns),
        routing="linear",
        linear_row=asked.linear_row,
        weights=asked.weights,
        input_map=InputMap(
            shift=asked.shift if len(asked.shift) else None,
            scale=asked.scale if len(asked.scale) else None,
            constant=float(asked.constant[0]) if len(asked.constant) else None,
            unit_rows=asked.unit_rows,
        ),
        target="numbers" if asked.is_numbers else "classes",
    )
