"""Edges of the tests of a fitted tree: how much better than a coin each is on its node's balanced rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.base.component import resolve
from boscage.data.validation import predict_data
from boscage.model import predict as _predict
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
    """Edge of a test, from the class weights of its sides: γ = (Pr(right | 1) − Pr(right | 0)) / 2.

    It is the difference between ½ and the error of the test, if both classes have the weight ½ and the test predicts
    class 1 on the right.

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
    criterion: Any = None, form: str = "sharp",
) -> npt.NDArray[np.void]:  # fmt: skip
    """Edge, drop and promised drop of every test of a tree for two classes.

    The theorems on top-down growth depend on one number: if every test has an edge of at least γ on its balanced
    node, each split lowers the potential by at least the promised drop. This function measures the edges and drops of
    a fitted tree.

    Parameters
    ----------
    model : Tree, or estimator with ``tree_``
        Two classes; any family of tests.
    X, y, sample_weight : array-like, optional
        Rows to measure on. Default: the training rows, from the numbers in the tree.
    criterion : str or Criterion, optional
        The criterion G, normalised to G(½) = 1. Default: the estimator's, or Gini for a tree.
    form : {"sharp", "printed"}, default="sharp"
        Which form of the promised drop.

    Returns
    -------
    structured ndarray
        One entry for each test: ``node`` (its number), ``weight`` (of the node, as a fraction of the total), ``share``
        (of class 1 in the node), ``edge``, ``drop`` (of G in the node) and ``promised`` (the drop that the edge
        guarantees). Edge and drops are NaN where a node has one class only.

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
    part: Any = criterion_of(model, criterion)
    weights = node_class_weights(model, X, y, sample_weight)
    inner = np.flatnonzero(~tree.is_leaf)
    right, left = weights[tree.children_right[inner]], weights[tree.children_left[inner]]
    both = right + left
    total = both.sum(axis=1)
    out = np.empty(len(inner), EDGES)
    with np.errstate(invalid="ignore", divide="ignore"):
        out["node"], out["weight"], out["share"] = inner, total / weights[0].sum(), both[:, 1] / total
        out["edge"] = edge(right, left)
        out["drop"] = np.where(np.isnan(out["edge"]), np.nan, part.split_drop(right, left) / total / part.unit)
        out["promised"] = promised_drop(part, out["edge"], out["share"], form=form)
    return out


def balanced_weights(
    model: Any, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None, *, node: int = 0
) -> Floats:
    """Weigh rows by the balanced distribution of a node: proportional to reach × weight, every class the same total.

    This is the distribution on which the weak hypothesis assumption asks for an edge: a test has the edge γ at a node
    if it errs with probability ½ − γ under it.

    Parameters
    ----------
    model : Tree, or estimator with ``tree_``
        Any family of tests.
    X, y, sample_weight : array-like
        The rows.
    node : int, default=0
        Number of the node; 0 is the root.

    Returns
    -------
    ndarray of shape (n,)
        Sums to 1; all zero if no row reaches the node.

    Examples
    --------
    >>> from boscage import TopDownTreeClassifier
    >>> from boscage.theory import balanced_weights
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 1]
    >>> balanced_weights(TopDownTreeClassifier().fit(X, y), X, y).round(3).tolist()
    [0.5, 0.167, 0.167, 0.167]
    """
    tree: Tree = model if isinstance(model, Tree) else model.tree_
    if not 0 <= node < tree.node_count:
        raise ValueError(f"node={node!r} is not in the tree. Pass a number from 0 to {tree.node_count - 1}.")
    reach, one_hot = _reach_and_labels(model, tree, X, y, sample_weight)
    here = reach[:, [node]].toarray() * one_hot
    totals = here.sum(axis=0)
    present = totals > 0
    shares = np.divide(here, totals, out=np.zeros_like(here), where=present)
    result: Floats = shares.sum(axis=1) / max(1, int(present.sum()))
    return result


def criterion_of(model: Any, criterion: Any = None) -> Any:
    """Resolve a given criterion, or the estimator's, or Gini."""
    return resolve("criterion", criterion if criterion is not None else getattr(model, "criterion", "gini"))


def order_of_growth(tree: Tree) -> npt.NDArray[np.int64]:
    """Inner nodes in the order they were split: a split appends its left child, then its right."""
    inner = np.flatnonzero(~tree.is_leaf)
    return inner[np.argsort(tree.children_left[inner])]


def node_class_weights(model: Any, X: Any = None, y: Any = None, sample_weight: Any = None) -> Floats:
    """Weights of the classes at every node: of the training rows, or of given ones."""
    tree: Tree = model if isinstance(model, Tree) else model.tree_
    if X is None:
        known: Floats = tree.value * tree.weighted_n_node_samples[:, None]
        return known
    reach, one_hot = _reach_and_labels(model, tree, X, y, sample_weight)
    result: Floats = reach.T @ one_hot
    return result


def _reach_and_labels(model: Any, tree: Tree, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Floats]:
    """Reach probabilities (n, nodes), and one-hot labels times weight (n, K)."""
    if y is None:
        raise ValueError("y is missing. Pass the labels of the rows X.")
    rows = X if isinstance(model, Tree) else predict_data(model, X, accept_sparse=True)
    reach = _predict.decision_path(tree, rows)
    labels = np.asarray(y)
    classes = np.arange(tree.n_classes) if isinstance(model, Tree) else model.classes_
    one_hot = (labels[:, None] == classes).astype(np.float64)
    unknown = one_hot.sum(axis=1) == 0
    if unknown.any():
        raise ValueError(f"y holds the label {labels[unknown].tolist()[0]!r}, which the tree does not know.")
    if sample_weight is not None:
        one_hot *= np.asarray(sample_weight, dtype=np.float64)[:, None]
    return reach, one_hot
