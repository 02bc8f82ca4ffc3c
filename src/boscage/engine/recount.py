"""Rows for an edited tree: checked, counted again at its nodes, and handed to leaves that are fitted again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage.data.labels import without_codes
from boscage.model import predict as _predict
from boscage.tree import Bools, Floats, Int64s, Schema, Tree

if TYPE_CHECKING:
    from boscage.engine.grow import Job
    from boscage.leaves import Leaf

_BLOCK = 65536  # rows


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as the tree reads them, class codes or numbers (rows × outputs), and weights (None: all 1)."""

    X: Any
    y: npt.NDArray[Any]
    weight: Floats | None

    def as_fitted(self, class_weight: Any, classes: npt.NDArray[Any] | None) -> Rows:
        """Return the rows as a fit counts them: class weights multiplied in, rows of weight 0 left out."""
        from boscage.data.weights import apply_class_weight, snap_weights

        weight = self.weight
        if classes is not None:
            weight = apply_class_weight(class_weight, self.y.astype(np.int32), classes, weight)
        if weight is None:
            return self
        kept = np.flatnonzero(weight > 0)
        return Rows(self.X[kept], self.y[kept], snap_weights(weight[kept]))


def recount(tree: Tree, rows: Rows, nodes: Bools, owner: Any = None) -> Tree:
    """Count some nodes again: fractions, rows, weight, impurity. An empty node takes its parent's fractions."""
    if tree.target == "numbers":
        return _recount_numbers(tree, rows, nodes, owner)
    mass, count = np.zeros((tree.node_count, tree.n_classes)), np.zeros(tree.node_count, np.int64)
    for begin in range(0, len(rows.y), _BLOCK):
        part = slice(begin, begin + _BLOCK)
        reach = sparse.csr_array(_predict.decision_path(tree, rows.X[part]))
        y = rows.y[part]
        weight = np.ones(len(y)) if rows.weight is None else rows.weight[part]
        member = sparse.csr_array((weight, (np.arange(len(y)), y)), shape=(len(y), tree.n_classes))
        mass += (reach.T @ member).toarray()
        count += np.asarray((reach > 0).sum(axis=0)).ravel()
    total = mass.sum(axis=1)
    impurity_of = _impurity_function(tree, owner)
    value, impurity = tree.value.copy(), tree.impurity.copy()
    for node in np.flatnonzero(nodes):
        if total[node] > 0:
            value[node] = mass[node] / total[node]
        elif tree.parent[node] >= 0:
            value[node] = value[tree.parent[node]]
    impurity[nodes] = np.where(total > 0, impurity_of(value), 0.0)[nodes]
    return replace(
        tree,
        value=value,
        impurity=impurity,
        n_node_samples=np.where(nodes, count, tree.n_node_samples),
        weighted_n_node_samples=np.where(nodes, total, tree.weighted_n_node_samples),
    )


def _recount_numbers(tree: Tree, rows: Rows, nodes: Bools, owner: Any) -> Tree:
    """Compute numbers, rows, weight and impurity of some nodes again. An empty node takes its parent's number."""
    from boscage.base.component import resolve

    given: Any = getattr(owner, "criterion", None) or "squared_error"
    criterion: Any = resolve("criterion", given, "numbers")
    path: Any = sparse.csc_array(_predict.decision_path(tree, rows.X))
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    value, impurity = tree.value.copy(), tree.impurity.copy()
    count, total = tree.n_node_samples.copy(), tree.weighted_n_node_samples.copy()
    for node in np.flatnonzero(nodes).tolist():  # parents come before their children
        part = slice(path.indptr[node], path.indptr[node + 1])
        members = path.indices[part]
        share = path.data[part] * weight[members]
        count[node], total[node] = len(members), float(share.sum())
        if total[node] > 0:
            y = rows.y[members]
            value[node] = np.clip(criterion.value(y, share), y.min(axis=0), y.max(axis=0))
            impurity[node] = max(criterion.impurity(y, share), 0.0)
        else:
            impurity[node] = 0.0
            value[node] = value[max(int(tree.parent[node]), 0)]
    return replace(tree, value=value, impurity=impurity, n_node_samples=count, weighted_n_node_samples=total)


def _error(value: Floats) -> Floats:
    rest: Floats = 1 - value.max(axis=1)
    return rest


def _impurity_function(tree: Tree, owner: Any) -> Callable[[Floats], Floats]:
    """Find the criterion under which the tree's impurities are those of its fractions; gini if there is none."""
    from boscage.base.component import resolve
    from boscage.criteria import Entropy, Gini, ModifiedGini, Sqrt

    parts: list[Any] = [resolve("criterion", owner.criterion)] if hasattr(owner, "criterion") else []
    parts += [Gini(), Entropy(), Sqrt(), ModifiedGini()]
    known: list[Callable[[Floats], Floats]] = [*(part.total for part in parts), _error]
    has_rows = tree.weighted_n_node_samples > 0
    for function in known:
        if np.allclose(function(tree.value)[has_rows], tree.impurity[has_rows], rtol=1e-6, atol=1e-9):
            return function
    return Gini().total


def is_majority(tree: Tree) -> bool:
    """Whether every leaf votes for one class."""
    return tree.leaf_value is not None and tree.leaf_models is None and bool((tree.leaf_value.max(axis=1) == 1).all())


def leaf_part(owner: Any, tree: Tree) -> Leaf:
    """Return the leaf that the tree was made with, as far as it can be told."""
    from boscage.base.component import resolve
    from boscage.leaves import Constant, Frequency, Linear, Majority, RidgeLeaf

    part: Any = resolve("leaf", owner.leaf, tree.target) if hasattr(owner, "leaf") else None
    if tree.target == "numbers":
        if tree.leaf_models is not None:
            return part if isinstance(part, RidgeLeaf) and part.blend != "auto" else RidgeLeaf()
        is_fixed = isinstance(part, Constant) and part.shrinkage != "auto"
        return part if is_fixed else Constant()
    if tree.leaf_models is not None:
        return part if isinstance(part, Linear) and part.l2 != "auto" else Linear()
    if is_majority(tree):
        return Majority()
    return part if isinstance(part, Frequency) and part.shrinkage != "auto" else Frequency()


def job_of(owner: Any, tree: Tree, classes: npt.NDArray[Any] | None, rows: Rows) -> Job:
    """Return what a leaf needs to be fitted: the rows, and the family of the tests."""
    from boscage.base.component import resolve
    from boscage.criteria import Gini
    from boscage.data.validation import Dataset
    from boscage.engine.grow import Job, Limits
    from boscage.growth import BestFirst
    from boscage.splits import Axis

    schema: Schema = tree.schema
    entries = rows.X.data if sparse.issparse(rows.X) else rows.X
    data = Dataset(
        rows.X,
        np.ascontiguousarray(rows.y) if classes is None else rows.y.astype(np.int32),
        np.empty(0) if classes is None else classes,
        rows.weight,
        schema.n_categories,
        schema.categories,
        schema.feature_names,
        bool(np.isnan(entries).any()),
    )
    splits: Any = resolve("splits", owner.splits) if hasattr(owner, "splits") else Axis()
    criterion: Any = Gini()
    if classes is None:
        criterion = resolve("criterion", getattr(owner, "criterion", None) or "squared_error", "numbers")
    return Job(data, criterion, BestFirst(), Limits(), 0, 1, splits=splits)


def checked_rows(owner: Any, tree: Tree, classes: npt.NDArray[Any] | None, X: Any, y: Any, sample_weight: Any) -> Rows:
    """Check rows, labels and weights; labels become class codes. Without classes y holds numbers."""
    from boscage.data.targets import numbers_for
    from boscage.data.weights import check_sample_weight

    if y is None:
        raise ValueError("y is needed: the labels of the rows of X.")
    if owner is not None:
        rows = owner._rows(X)[1]
    else:
        rows = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    codes: npt.NDArray[Any]
    if classes is None:
        codes = numbers_for(y, "Tree" if owner is None else type(owner).__name__, tree.n_outputs)
    else:
        codes = _codes(y, classes)
    if len(codes) != rows.shape[0]:
        raise ValueError(f"y must have one label for each of the {rows.shape[0]} rows of X, got {len(codes)}.")
    return Rows(rows, codes, check_sample_weight(sample_weight, rows.shape[0]))


def _codes(y: Any, classes: npt.NDArray[Any]) -> Int64s:
    labels = np.asarray(without_codes(y)).reshape(-1)
    number = {label: code for code, label in enumerate(classes.tolist())}
    codes = [number.get(label, -1) for label in labels.tolist()]
    if -1 in codes:
        unknown = labels[codes.index(-1)]
        raise ValueError(f"y holds {unknown!r}, which is not a class of this tree.".replace("np.", ""))
    return np.array(codes, dtype=np.int64)
