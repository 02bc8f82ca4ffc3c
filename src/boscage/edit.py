"""Changing a fitted tree by hand: prune, move a threshold, set a leaf, refit the leaves. Nothing changes in place."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.data.weights import near_one
from boscage.engine.recount import Rows, checked_rows, is_majority, job_of, leaf_part, recount
from boscage.model import predict as _predict
from boscage.pruning import collapse, surviving_nodes
from boscage.show.describe import Describer
from boscage.tree import LINEAR, Bools, Floats, Int64s, LeafModels, Tree

__all__ = ["EditReport", "TreeEdit"]

_IMPOSSIBLE = -1000.0  # intercept of a class that cannot occur
_STALE = ("status_", "objective_", "lower_bound_", "gap_", "n_nodes_explored_", "reading_")  # of the fit


@dataclass(frozen=True, eq=False)
class EditReport:
    """The effect of an edit on some rows.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    accuracy_before, accuracy_after : float
        Weighted accuracy of the tree; for a regression tree, the root mean squared error.
    changed : ndarray of int64
        Indices of the rows whose prediction changes.
    n_leaves_before, n_leaves_after : int
        Size of the tree.
    is_numbers : bool
        Whether the tree is a regression tree.
    """

    n_rows: int
    accuracy_before: float
    accuracy_after: float
    changed: Int64s
    n_leaves_before: int
    n_leaves_after: int
    is_numbers: bool = False

    def __str__(self) -> str:
        rows = f"{len(self.changed):,} of {self.n_rows:,} rows change their {'value' if self.is_numbers else 'class'}"
        accuracy = f"accuracy {self.accuracy_before:.4f} -> {self.accuracy_after:.4f}"
        if self.is_numbers:
            accuracy = f"RMSE {self.accuracy_before:.6g} -> {self.accuracy_after:.6g}"
        return f"{accuracy}; {rows}; {self.n_leaves_before} -> {self.n_leaves_after} leaves"


@dataclass(frozen=True, eq=False, repr=False)
class TreeEdit:
    """A tree with edits, created by ``estimator.edit(X, y)`` or ``tree.edit(X, y)``.

    Every method returns a new object, so changes can be chained and an earlier state kept. **Node numbers are always
    those of the original tree**; only :attr:`tree` and :attr:`estimator` renumber the remaining nodes.

    Attributes
    ----------
    tree : Tree
        The changed tree.
    estimator : estimator
        A fitted estimator with the changed tree, otherwise a copy of the original.
    report : EditReport
        The effect on the rows passed to ``edit``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import TopDownTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TopDownTreeClassifier(max_leaf_nodes=5).fit(X, y)
    >>> edited = model.edit(X, y).prune(3).set_threshold(2, 1.6)
    >>> print(edited.report)
    accuracy 0.9800 -> 0.9600; 5 of 150 rows change their class; 5 -> 3 leaves
    >>> edited.estimator.get_n_leaves()
    3
    """

    _start: Tree
    _classes: npt.NDArray[Any] | None
    _owner: Any = None
    _rows: Rows | None = None
    _thresholds: dict[int, float] = field(default_factory=dict)
    _pruned: frozenset[int] = frozenset()
    _values: dict[int, Floats] = field(default_factory=dict)
    _refit: Rows | None = None

    def __repr__(self) -> str:
        parts = [f"prune {node}" for node in sorted(self._pruned)]
        parts += [f"threshold of {node}" for node in self._thresholds]
        parts += [f"leaf {node}" for node in self._values]
        parts += ["leaves refitted"] if self._refit is not None else []
        return f"TreeEdit({self._start!r}: {', '.join(parts) or 'no change'})"

    # --- changes -----------------------------------------------------------------------------------------------------

    def prune(self, node: int) -> TreeEdit:
        """Turn an inner node into a leaf that predicts the class fractions (or the value) of the node.

        Parameters
        ----------
        node : int
            Number of an inner node.
        """
        self._require(node, leaf=False)
        below = _below(self._start, [node])
        return replace(
            self,
            _pruned=self._pruned | {int(node)},
            _values={at: value for at, value in self._values.items() if not below[at]},
        )

    def set_threshold(self, node: int, value: float) -> TreeEdit:
        """Change the threshold of an inner node.

        Nodes below are recounted from the rows passed to ``edit``; without rows they keep their counts and class
        fractions. A leaf that no row reaches any more predicts like its nearest ancestor with rows.

        Parameters
        ----------
        node : int
            Number of an inner node with a numeric test.
        value : float
            The threshold in the units in which the test is shown: of a linear test, after division by its leading
            weight.
        """
        self._require(node, leaf=False)
        threshold = self._stored_threshold(int(node), value)
        return replace(self, _thresholds={**self._thresholds, int(node): threshold})

    def set_leaf(self, node: int, value: Any) -> TreeEdit:
        """Set what a leaf predicts.

        Parameters
        ----------
        node : int
            Number of a leaf, or of a node that was pruned.
        value : label, number or array of shape (K,)
            A class, predicted with certainty, or a probability for each class; in a regression tree, a value for each
            output.
        """
        self._require(node, leaf=True)
        return replace(self, _values={**self._values, int(node): self._checked_value(value)})

    def refit_leaves(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> TreeEdit:
        """Recount every node and refit the leaves on some rows, as the estimator's ``leaf`` says.

        Leaves set by :meth:`set_leaf` stay as they were set. Leaf settings of "auto" are not chosen again: shrinkage is
        0 then, and ``l2`` is 1.

        Parameters
        ----------
        X : array-like of shape (n, d), optional
            Rows. Default: those passed to ``edit``.
        y : array-like of shape (n,), optional
            Labels.
        sample_weight : array-like of shape (n,), optional
            Weights.
        """
        if X is None and self._rows is None:
            raise ValueError("refit_leaves needs rows. Pass X and y here or to edit.")
        rows = self._rows if X is None else checked_rows(self._owner, self._start, self._classes, X, y, sample_weight)
        return replace(self, _refit=rows)

    # --- results -----------------------------------------------------------------------------------------------------

    @cached_property
    def tree(self) -> Tree:
        """The changed tree, with its nodes renumbered."""
        start = self._start
        threshold = start.threshold.copy()
        threshold[list(self._thresholds)] = list(self._thresholds.values())
        tree = replace(start, threshold=threshold)
        counted = _below(start, list(self._thresholds))
        if self._refit is not None:
            counted[:] = True
        rows = self._rows if self._refit is None else self._refit
        if rows is not None and counted.any():
            tree = recount(tree, self._as_fitted(rows), counted, self._owner)
        elif self._refit is None:
            counted[:] = False
        return self._with_leaves(tree, counted)

    def _as_fitted(self, rows: Rows) -> Rows:
        return rows.as_fitted(getattr(self._owner, "class_weight", None), self._classes)

    @property
    def estimator(self) -> Any:
        """A fitted estimator with the changed tree."""
        if self._owner is None:
            raise AttributeError("This edit began with a bare tree and has no estimator; see its attribute tree.")
        twin = copy(self._owner)
        for name in _STALE:
            twin.__dict__.pop(name, None)
        twin.tree_ = self.tree
        return twin

    @property
    def report(self) -> EditReport:
        """The effect on the rows passed to ``edit``; they are training rows, so see :meth:`compare_on` too."""
        if self._rows is None:
            raise AttributeError("edit() was called without rows. Call compare_on(X, y), or edit(X, y).")
        return self._compare(self._rows)

    def compare_on(self, X: Any, y: Any, sample_weight: Any = None) -> EditReport:
        """Compare the tree before and after on other rows, such as rows held out from the fit.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Weights.
        """
        return self._compare(checked_rows(self._owner, self._start, self._classes, X, y, sample_weight))

    def _compare_numbers(self, rows: Rows) -> EditReport:
        before, after = (_predict.predict_proba(tree, rows.X) for tree in (self._start, self.tree))
        first, last = (_root_mean_square(found - rows.y, rows.weight) for found in (before, after))
        tiny = 1e-12 * np.abs(before).max(axis=0)  # of rounding, as where leaves are refitted to the rows of the fit
        changed = np.flatnonzero((np.abs(after - before) > tiny).any(axis=1)).astype(np.int64)
        return EditReport(len(rows.y), first, last, changed, self._start.n_leaves, self.tree.n_leaves, is_numbers=True)

    def _compare(self, rows: Rows) -> EditReport:
        if self._classes is None:
            return self._compare_numbers(rows)
        before, after = (_predict.predict_class(tree, rows.X) for tree in (self._start, self.tree))
        weight = np.ones(len(rows.y)) if rows.weight is None else near_one(rows.weight)
        total = float(weight.sum())
        return EditReport(
            n_rows=len(rows.y),
            accuracy_before=float(weight @ (before == rows.y)) / total,
            accuracy_after=float(weight @ (after == rows.y)) / total,
            changed=np.flatnonzero(before != after).astype(np.int64),
            n_leaves_before=self._start.n_leaves,
            n_leaves_after=self.tree.n_leaves,
        )

    # --- leaves ------------------------------------------------------------------------------------------------------

    def _with_leaves(self, tree: Tree, counted: Bools) -> Tree:
        """Collapse what is pruned and give every leaf what it predicts."""
        start, order = self._start, np.arange(tree.node_count)
        if self._pruned:
            marks = np.zeros(tree.node_count, np.bool_)
            marks[list(self._pruned)] = True
            order = surviving_nodes(tree, marks)[0]
            tree = replace(collapse(replace(tree, leaf_models=None), marks), leaf_models=None)
        else:
            tree = replace(tree, leaf_value=None, leaf_models=None)
        old = order[tree.leaves]  # numbers that the leaves had
        is_kept = start.is_leaf[old] & ~counted[old] & ~np.isin(old, list(self._values))
        if self._refit is not None:
            tree = self._refitted(tree, self._refit)
        elif start.leaf_value is not None or start.leaf_models is not None or self._values:
            fractions = tree.value[tree.leaves]
            proba = _votes(fractions) if self._classes is not None and is_majority(start) else fractions.copy()
            proba[is_kept] = start.leaf_proba[start.leaf_index[old[is_kept]]]
            tree = replace(tree, leaf_value=proba)
        for at, value in self._values.items():
            proba = tree.leaf_proba.copy()
            proba[old == at] = value
            tree = replace(tree, leaf_value=proba)
        return self._with_models(tree, start.leaf_index[old], is_kept, np.isin(old, list(self._values)))

    def _with_models(self, tree: Tree, index: Int64s, is_kept: Bools, is_set: Bools) -> Tree:
        """Give the leaves of a tree with linear leaves their models: the old one, or a constant."""
        models, proba = self._start.leaf_models, tree.leaf_proba
        if models is None:
            return tree
        coef = np.zeros((len(index), tree.n_outputs, tree.n_features))
        intercept = proba.copy() if self._classes is None else _logs(proba)
        source, at = (models, index[is_kept]) if tree.leaf_models is None else (tree.leaf_models, ~is_set)
        kept = is_kept if tree.leaf_models is None else ~is_set
        coef[kept], intercept[kept] = source.coef[at], source.intercept[at]
        if source.low is None or source.high is None:
            return replace(tree, leaf_models=LeafModels(coef, intercept))
        low, high = proba.copy(), proba.copy()
        low[kept], high[kept] = source.low[at], source.high[at]
        return replace(tree, leaf_models=LeafModels(coef, intercept, low, high))

    def _refitted(self, tree: Tree, rows: Rows) -> Tree:
        leaf, job = leaf_part(self._owner, self._start), job_of(self._owner, tree, self._classes, self._as_fitted(rows))
        return leaf.refit(tree, job)

    # --- checks ------------------------------------------------------------------------------------------------------

    def _require(self, node: int, *, leaf: bool) -> None:
        tree = self._start
        if not isinstance(node, (int, np.integer)) or not 0 <= node < tree.node_count:
            raise ValueError(f"node must be an integer from 0 to {tree.node_count - 1}, got {node!r}.")
        for up in _ancestors(tree, int(node)):
            if up in self._pruned:
                raise ValueError(f"node={node} is below node {up}, which was pruned.")
        is_leaf = bool(tree.is_leaf[node]) or int(node) in self._pruned
        if is_leaf != leaf:
            what = "a leaf" if is_leaf else "not a leaf; prune it first"
            raise ValueError(f"node={node} is {what}.")

    def _stored_threshold(self, node: int, value: float) -> float:
        tree = self._start
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
            raise ValueError(f"value must be a finite number, got {value!r}.")
        if tree.feature[node] != LINEAR:
            if tree.category_offset[node] >= 0:
                raise ValueError(f"node={node} tests categories and has no threshold.")
            return float(value)
        words = Describer(tree)
        score = words.score(node)
        if words.test(node).column >= 0 and words.is_coded(words.test(node).column):
            raise ValueError(f"node={node} tests categories and has no threshold.")
        by_norm = tree.input_map is not None and tree.input_map.unit_rows
        return float(value) * score.unit + (0.0 if by_norm else score.constant * score.unit)

    def _checked_value(self, value: Any) -> Floats:
        k = self._start.n_outputs
        array = np.asarray(value)
        if self._classes is None:
            if array.size != k or array.dtype.kind not in "fiu" or not (np.abs(array) <= 1e300).all():
                raise ValueError(f"value must be {'a number' if k == 1 else f'{k} numbers'}, got {value!r}.")
            return array.reshape(k).astype(np.float64)
        if array.ndim == 1 and array.dtype.kind in "fiu":
            if array.shape != (k,) or not (array >= 0).all() or abs(float(array.sum()) - 1) > 1e-6:
                raise ValueError(
                    f"value must be a class or {k} probabilities that sum to 1, one for each class, got {value!r}."
                )
            proba: Floats = array / array.sum()
            return proba
        at = np.flatnonzero([label == value for label in self._classes.tolist()])
        if array.ndim or len(at) != 1:
            shown = ", ".join(map(repr, self._classes.tolist()[:10]))
            raise ValueError(f"value={value!r} is not a class of this tree. Pass one of {shown}, or {k} probabilities.")
        votes = np.zeros(k)
        votes[at] = 1.0
        return votes


# --- parts of the work ----------------------------------------------------------------------------------------------


def _below(tree: Tree, nodes: list[int]) -> Bools:
    """Whether each node is below one of some nodes."""
    found = np.zeros(tree.node_count, np.bool_)
    is_top = np.zeros(tree.node_count, np.bool_)
    is_top[nodes] = True
    for node in np.flatnonzero(~tree.is_leaf):  # parents come before their children
        if found[node] or is_top[node]:
            found[[tree.children_left[node], tree.children_right[node]]] = True
    return found


def _ancestors(tree: Tree, node: int) -> list[int]:
    found = []
    while (node := int(tree.parent[node])) >= 0:
        found.append(node)
    return found


def _root_mean_square(away: Floats, weight: Floats | None) -> float:
    """Root of the weighted mean of squares, over rows and outputs; numbers and weights may be of any size."""
    exponent = np.frexp(np.abs(away).max(initial=0.0))[1]
    share = np.ones(len(away)) if weight is None else near_one(weight)
    square = np.ldexp(away, -exponent) ** 2
    return float(np.ldexp(np.sqrt(share @ square.mean(axis=1) / share.sum()), exponent))


def _votes(fractions: Floats) -> Floats:
    votes = np.zeros_like(fractions)
    votes[np.arange(len(fractions)), fractions.argmax(axis=1)] = 1.0
    return votes


def _logs(proba: Floats) -> Floats:
    """Return intercepts whose softmax is the given probabilities."""
    return np.log(proba, out=np.full_like(proba, _IMPOSSIBLE), where=proba > 0)
