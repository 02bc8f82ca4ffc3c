"""Edges of the tests of a fitted tree: how much better than a coin each is on its node's balanced rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from boscage import _predict
from boscage._component import resolve
from boscage._validation import predict_data
from boscage.theory.drops import promised_drop
from boscage.tree import Floats, Tree

EDGES = np.dtype(
    [
        ("node", np.int64),
        ("weight", np.float64),
        ("share", np.float64),
        ("edge", np.float64),
        ("drop", np.float64),
        ("promised", np.float64),
    ]
)
"""One entry for each test: node, its share of all weight, share of class 1, edge, drop of G, promised drop of G."""


def edge(right: npt.ArrayLike, left: npt.ArrayLike) -> Floats:
    """Edge of a test for class 1 from the class weights of its sides, arrays of shape (..., 2).

    γ = (Pr(right | 1) − Pr(right | 0)) / 2, the advantage over ½ where both classes have weight ½.

    Parameters
    ----------
    right, left : array-like of shape (..., 2)
        Weights of the classes 0 and 1.

    Examples
    --------
    >>> from boscage.theory import edge
    >>> float(edge([1, 3], [3, 1]))
    0.25
    """
    R, L = np.asarray(right, dtype=np.float64), np.asarray(left, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = R / (R + L)
    result: Floats = (rate[..., 1] - rate[..., 0]) / 2
    return result


def node_edges(
    model: Any, X: Any = None, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None, *,
    criterion: Any = None,
) -> npt.NDArray[np.void]:  # fmt: skip
    """Edge, drop and promised drop of every test of a tree for two classes.

    The theorems on top-down growing rest on one number: if every test has an edge of at least γ on its balanced
    node, the potential falls as fast as the promised drops say. Here is what the tests really had.

    Parameters
    ----------
    model : Tree, or estimator with ``tree_``
        Two classes; any family of tests.
    X, y, sample_weight : array-like, optional
        Rows to measure on. Default: the training rows, from the numbers in the tree.
    criterion : str or Criterion, optional
        The criterion G, normalised to G(½) = 1. Default: the estimator's, or Gini for a tree.

    Returns
    -------
    structured ndarray
        One entry for each test with the fields of `EDGES`; edge and drops are NaN where a node has one class only.

    Examples
    --------
    >>> from boscage import TopDownTreeClassifier
    >>> from boscage.theory import node_edges
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], [0, 0, 1, 1]
    >>> model = TopDownTreeClassifier("stochastic", max_leaf_nodes=2).fit(X, y)
    >>> found = node_edges(model)
    >>> bool((found["drop"] >= found["promised"]).all())
    True
    """
    tree: Tree = model if isinstance(model, Tree) else model.tree_
    if tree.n_classes != 2:
        raise ValueError(f"node_edges needs a tree for two classes, this one has {tree.n_classes}.")
    part: Any = resolve("criterion", criterion if criterion is not None else getattr(model, "criterion", "gini"))
    weights = _class_weights(tree) if X is None else _measured(model, tree, X, y, sample_weight)
    inner = np.flatnonzero(~tree.is_leaf)
    right, left = weights[tree.children_right[inner]], weights[tree.children_left[inner]]
    both = right + left
    total = both.sum(axis=1)
    out = np.empty(len(inner), EDGES)
    with np.errstate(invalid="ignore", divide="ignore"):
        out["node"], out["weight"], out["share"] = inner, total / weights[0].sum(), both[:, 1] / total
        out["edge"] = edge(right, left)
        out["drop"] = np.where(np.isnan(out["edge"]), np.nan, part.split_drop(right, left) / total / part.unit)
        out["promised"] = promised_drop(part, out["edge"], out["share"])
    return out


def _class_weights(tree: Tree) -> Floats:
    result: Floats = tree.value * tree.weighted_n_node_samples[:, None]
    return result


def _measured(model: Any, tree: Tree, X: Any, y: Any, sample_weight: Any) -> Floats:
    """Class weights of every node on given rows."""
    if y is None:
        raise ValueError("node_edges needs y with X.")
    rows = X if isinstance(model, Tree) else predict_data(model, X, accept_sparse=True)
    reach = _predict.decision_path(tree, rows)
    labels = np.asarray(y)
    is_one = labels == (1 if isinstance(model, Tree) else model.classes_[1])
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    result: Floats = reach.T @ np.stack([weight * ~is_one, weight * is_one], axis=1)
    return result
