"""How potential and training error fell with each split, read off a tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boscage.tree import Tree

TRAJECTORY = np.dtype([("node", np.int64), ("potential", np.float64), ("error", np.float64)])


def trajectory(tree: Tree, unit: float) -> npt.NDArray[np.void]:
    """Potential and training error of a tree before and after each of its splits.

    Parameters
    ----------
    tree : Tree
        The i-th split made nodes 2i + 1 and 2i + 2, so the order of growth can be read off the numbers.
    unit : float
        What the potential is divided by: the impurity of two equal classes, or that of the root for numbers.

    Notes
    -----
    The error of a tree of numbers is the mean loss of its criterion, with one number in each leaf: the mean squared
    error for squared error, the mean absolute error for absolute error.
    """
    share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    potential = share * tree.impurity / unit
    error = share * (tree.impurity if tree.target == "numbers" else 1 - tree.value.max(axis=1))
    inner = np.flatnonzero(~tree.is_leaf)
    split = inner[np.argsort(tree.children_left[inner])]
    left, right = tree.children_left[split], tree.children_right[split]
    steps = np.empty(len(split) + 1, TRAJECTORY)
    steps["node"] = np.concatenate([[-1], split])
    for name, amount in (("potential", potential), ("error", error)):
        changes = amount[left] + amount[right] - amount[split]
        steps[name] = np.maximum(np.cumsum(np.concatenate([amount[:1], changes])), 0.0)
    return steps
