"""A linear separator with a margin as a stochastic tree: the same test at every node, votes counted at the leaves."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import stats

from boscage.tree import LEAF, LINEAR, Floats, Schema, Tree

_LARGEST_DEPTH = 14


def margin_depth(margin: float, error: float) -> int:
    """Depth at which a tree with the same test at every node reaches an error: ⌈2 ln(1/error) / margin²⌉.

    Parameters
    ----------
    margin : float
        Smallest |w·x|, in (0, 1], for rows and w of norm at most 1.
    error : float
        Probability that a sampled path ends in a leaf of the wrong class, in (0, 1).

    References
    ----------
    Jurgenson, Mansour: Learning decision trees with stochastic linear classifiers, ALT 2018, Theorem H.1.

    Examples
    --------
    >>> from boscage.theory import margin_depth
    >>> margin_depth(0.3, 0.05)
    67
    """
    if not (0 < margin <= 1 and 0 < error < 1):
        raise ValueError(f"margin={margin!r} and error={error!r} are not allowed. Pass numbers in (0, 1] and (0, 1).")
    return math.ceil(2 * math.log(1 / error) / margin**2)


def binomial_margin(X: npt.ArrayLike, w: npt.ArrayLike, depth: int) -> Floats:
    """Probability of class 1 in the tree of :func:`margin_tree`: Pr(Bin(depth, (1 + w·x)/2) > depth/2).

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows of norm at most 1.
    w : array-like of shape (d,)
        The separator, of norm at most 1.
    depth : int
        Depth of the tree, at least 1. No tree is built, so it can be large.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from boscage.theory import binomial_margin
    >>> binomial_margin([[0.5]], [1.0], 1)
    array([0.75])
    """
    score = np.clip(np.asarray(X, dtype=np.float64) @ np.asarray(w, dtype=np.float64), -1, 1)
    result: Floats = stats.binom.sf(depth // 2, depth, (1 + score) / 2)
    return result


def margin_tree(w: npt.ArrayLike, depth: int) -> Tree:
    """Build a full tree with the same stochastic test at every node; a leaf has class 1 if most steps to it go right.

    Parameters
    ----------
    w : array-like of shape (d,)
        The separator, of norm at most 1.
    depth : int
        Depth of the tree, 1 to 14: it has 2^depth leaves.

    Returns
    -------
    Tree
        With linear routing, nodes numbered level by level.

    Examples
    --------
    >>> from boscage.theory import margin_tree
    >>> margin_tree([0.6, 0.8], 2)
    Tree(7 nodes, 4 leaves, depth 2, 2 classes, 2 features, linear routing, 1 linear test)
    """
    if not 1 <= depth <= _LARGEST_DEPTH:
        raise ValueError(f"depth={depth!r} is not allowed. Pass 1 to {_LARGEST_DEPTH}, or use binomial_margin.")
    weights = np.atleast_2d(np.asarray(w, dtype=np.float64))
    inner = 2**depth - 1
    n = 2 * inner + 1
    number = np.arange(n)
    left = np.where(number < inner, 2 * number + 1, -1)
    rights = np.zeros(n, dtype=np.int64)
    for node in range(1, n):  # an even number is a right child
        rights[node] = rights[(node - 1) // 2] + (node % 2 == 0)
    level = np.floor(np.log2(number + 1)).astype(np.int64)
    label = (2 * rights > level).astype(np.float64)
    return Tree(
        children_left=left,
        children_right=np.where(left >= 0, left + 1, -1),
        feature=np.where(left >= 0, LINEAR, LEAF),
        threshold=np.zeros(n),
        value=np.stack([1 - label, label], axis=1),
        n_node_samples=np.ones(n),
        weighted_n_node_samples=np.ones(n),
        impurity=np.zeros(n),
        schema=Schema(weights.shape[1]),
        routing="linear",
        linear_row=np.where(left >= 0, 0, -1),
        weights=weights,
    )
