"""Polish: all tests and leaves of a grown linear tree refined together, with logistic routing."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from boscage import _core
from boscage.base.component import Component, IncompatibleParts
from boscage.base.progress import Progress
from boscage.data.distinct import distinct_rows, native_rows
from boscage.engine.grow import Job
from boscage.model.predict import apply
from boscage.tree import LEAF, LINEAR, Floats, Int64s, Tree

__all__ = ["Polish"]

MODES = ("soft", "hard", "auto")
_FIRST_SLOPE = 2.0
_LAST_SLOPE = {"soft": 2.0, "hard": 16.0}
_STEPS = 1500


class Polish(Component):
    r"""Joint optimisation of all tests and leaves of a grown tree with linear tests.

    Every test becomes logistic, every leaf a softmax. With :math:`s_v(x) = \sigma(\kappa\,(\theta_v\cdot x + b_v))` the
    probability of going right at node v, :math:`r_l(x)` the product of these along the path to leaf l and
    :math:`V_l = \mathrm{softmax}(\beta_l)`, Adam descends over all θ, b and β together

    .. math:: -\frac{1}{W} \sum_i w_i \log \sum_l r_l(x_i)\,V_{l,y_i} + \frac{l_2}{2} \sum_v \|\theta_v\|^2

    over standardised columns (the deviation taken as at least a tenth of the column's range), while κ goes from its
    first to its last value. Tests begin at those of the grown tree, scaled so that the mean of |θ·x + b| over the
    rows of a node is 1.

    Parameters
    ----------
    mode : {"soft", "hard", "auto"}, default="soft"
        "soft" keeps the routing logistic: a row reaches every leaf with some probability, and prediction averages them.
        "hard" increases κ further, then makes every test hard again and recomputes the leaves; the result is kept only
        if it makes no more training errors than the grown tree, so it cannot improve a tree whose leaves are pure.
        "auto" chooses between no polishing, "soft" and "hard" by the error on held-out rows.
    epochs : int or "auto", default="auto"
        Passes over the rows, at least 1. "auto": 40, or more if that would be fewer than 1,500 steps.
    batch_size : int, default=256
        Number of distinct rows per step, at least 1.
    learning_rate : float, default=0.01
        Initial step size of Adam, > 0; it decreases to 0 along a cosine.
    l2 : float, default=3e-4
        Strength of the penalty, at least 0. Without it polishing overfits.
    dropout : float, default=0.0
        Fraction of the entries of a row, in [0, 0.9], that are replaced by their column's mean in a step, chosen at
        random for each step; the others are scaled up to compensate. It reduces overfitting on wide data.
    slope : float or "auto", default="auto"
        Last value of κ, > 0; the first is 2. "auto": 2 for "soft", 16 for "hard".
    time_limit : float or None, default=None
        Time limit in seconds, after which the optimisation stops, with a warning. The result then depends on the
        speed of the machine.

    Notes
    -----
    In regression (squared error, hard split families), a leaf has one value for each output, and L-BFGS over all rows
    replaces Adam: ``l2`` pulls the tests towards those of the grown tree, in units of the variance of y, ``epochs``
    counts steps ("auto": up to 200), ``slope`` is the first κ, which "hard" raises in stages to eight times its value.
    ``batch_size`` and ``learning_rate`` have no effect; ``dropout`` and ``time_limit`` are refused.

    The cost is about that of 4·epochs products of the rows with the matrix of all tests. Limits on the size of leaves
    may be exceeded, because rows move between leaves. Equal rows are merged and shuffled in an order that depends on
    their content only, so a row with weight 2 is equivalent to the same row twice.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import Polish, TopDownTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> polish = Polish(epochs=50)
    >>> tree = TopDownTreeClassifier("oblique", max_leaf_nodes=4, polish=polish, random_state=0)
    >>> tree.fit(X, y).tree_.routing
    'logistic'
    """

    role: ClassVar[str] = "polish"
    needs = frozenset({"linear tests", "rows"})

    def __init__(
        self,
        mode: str = "soft",
        *,
        epochs: int | str = "auto",
        batch_size: int = 256,
        learning_rate: float = 0.01,
        l2: float = 3e-4,
        dropout: float = 0.0,
        slope: float | str = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.mode = mode
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.l2 = l2
        self.dropout = dropout
        self.slope = slope
        self.time_limit = time_limit

    def check(self) -> None:
        """Refuse unknown words and numbers out of range."""
        self._check_choice("mode", MODES)
        if not (isinstance(self.epochs, str) and self.epochs == "auto"):
            if isinstance(self.epochs, str):
                self._refuse("epochs", "'auto' or an integer >= 1")
            self._check_integer("epochs", low=1)
        self._check_integer("batch_size", low=1)
        self._check_real("learning_rate", low=0, open_low=True)
        self._check_real("l2", low=0)
        self._check_real("dropout", low=0, high=0.9)
        if not (isinstance(self.slope, str) and self.slope == "auto"):
            if isinstance(self.slope, str):
                self._refuse("slope", "'auto' or a number > 0")
            self._check_real("slope", low=0, open_low=True)
        if self.time_limit is not None:
            self._check_real("time_limit", low=0, open_low=True)

    def check_numbers(self, criterion: Any, splits: Any) -> None:
        """Refuse what a polish of numbers cannot do."""
        if criterion.native()[0] != "squared_error":
            raise IncompatibleParts(
                f"polish={self!r} cannot be combined with criterion={criterion!r}: in regression it minimises the "
                "squared error. Pass criterion='squared_error', or polish=None."
            )
        if "hard" not in splits.provides:
            raise IncompatibleParts(
                f"polish={self!r} cannot be combined with splits={splits!r}: in regression it refines hard tests. Pass "
                "splits='oblique', or polish=None."
            )
        for name, without in (("dropout", 0.0), ("time_limit", None)):
            if getattr(self, name) != without:
                self._refuse(name, f"{without!r}: it is for classification, and y is numeric")

    def candidates(self) -> list[Polish | None]:
        """Return what is to be compared by validation: a single choice unless the mode is "auto"."""
        if self.mode != "auto":
            return [self]
        return [None, *(Polish(**{**self.get_params(), "mode": mode}) for mode in ("hard", "soft"))]

    def refine(self, tree: Tree, job: Job, verbose: bool | None = None) -> Tree:
        """Return the refined tree; a single leaf stays as it is."""
        if tree.node_count == 1:
            return tree
        start = as_linear(tree)
        if job.data.is_regression:
            return self._refine_numbers(start, tree, job)
        sample = distinct_rows(job.data)
        batches = -(-len(sample.rows) // min(int(self.batch_size), len(sample.rows)))
        epochs = max(40, -(-_STEPS // batches)) if isinstance(self.epochs, str) else int(self.epochs)
        call = _core.PolishCall()
        call.epochs, call.batch = epochs, int(self.batch_size)
        call.learning_rate, call.l2, call.dropout = float(self.learning_rate), float(self.l2), float(self.dropout)
        call.first_slope = _FIRST_SLOPE
        call.last_slope = _LAST_SLOPE[self.mode] if isinstance(self.slope, str) else float(self.slope)
        call.seed, call.threads = job.seed, job.threads
        call.time_limit = np.inf if self.time_limit is None else float(self.time_limit)
        with Progress("polishing a tree: epochs", verbose, epochs) as progress:
            call.progress = progress.callback
            given: Any = (start._native, *native_rows(job.data.X), sample.native(), call)
            found = _core.polish(*given)
        if found["timed_out"]:
            warnings.warn(
                f"Polish: time_limit={self.time_limit} s ended it after {len(found['losses'])} of {epochs} epochs. "
                "Pass a larger time_limit or None, or fewer epochs.",
                ConvergenceWarning,
                stacklevel=4,
            )
        threshold = np.zeros(tree.node_count)
        threshold[~start.is_leaf] = found["threshold"]
        moved = replace(start, weights=found["weights"], threshold=threshold)
        return _softened(moved, found, job) if self.mode == "soft" else _hardened(moved, tree, job)

    def _refine_numbers(self, start: Tree, grown: Tree, job: Job) -> Tree:
        """Return the tree refined for squared error."""
        from boscage.engine.recount import Rows, recount
        from boscage.leaves._refine import polished

        slope = _FIRST_SLOPE if isinstance(self.slope, str) else float(self.slope)
        steps = None if isinstance(self.epochs, str) else int(self.epochs)
        found, values = polished(start, job, slope, steps, float(self.l2), harden=self.mode == "hard")
        rows = Rows(job.data.X, job.data.y.reshape(len(job.data.y), -1), job.data.weight)
        everywhere = np.ones(start.node_count, bool)
        if self.mode == "soft":
            return replace(recount(replace(found, leaf_value=None), rows, everywhere), leaf_value=values)
        hard = without_empty(recount(replace(found, routing="hard", leaf_value=None), rows, everywhere))
        return hard if _loss_of(hard) <= _loss_of(grown) * (1 + 1e-12) else grown


def _loss_of(tree: Tree) -> float:
    """Mean impurity of the leaves, by their weight."""
    return float(
        tree.impurity[tree.leaves] @ (tree.weighted_n_node_samples[tree.leaves] / tree.weighted_n_node_samples[0])
    )


def polish_part(value: object) -> Polish | None:
    """Turn the value of the parameter ``polish`` into a checked part, or None."""
    if value is None:
        return None
    part: Any = Polish(value) if isinstance(value, str) and value in MODES else value
    if not isinstance(part, Polish):
        raise ValueError(
            f"polish={value!r} is not known. Pass None, 'soft', 'hard', 'auto', or an object of boscage.Polish."
        )
    part.check()
    return part


def as_linear(tree: Tree) -> Tree:
    """Write every test as a dense row of weights, one for each inner node in the order of the nodes."""
    inner = np.flatnonzero(~tree.is_leaf)
    if (tree.category_offset >= 0).any():
        raise ValueError("A tree with category tests cannot be written as linear tests.")
    weights = np.zeros((len(inner), tree.n_columns))
    is_linear = tree.feature[inner] == LINEAR
    known: Any = tree.weights[tree.linear_row[inner[is_linear]]]
    weights[is_linear] = known.toarray() if sparse.issparse(known) else known
    axis = np.flatnonzero(~is_linear)
    weights[axis, tree.feature[inner[axis]]] = 1.0
    feature, row = np.full(tree.node_count, LEAF, np.int32), np.full(tree.node_count, -1, np.int32)
    feature[inner], row[inner] = LINEAR, np.arange(len(inner))
    nowhere = np.zeros(tree.node_count, bool)
    return replace(tree, feature=feature, linear_row=row, weights=weights, missing_go_to_left=nowhere)


def _softened(tree: Tree, found: dict[str, Any], job: Job) -> Tree:
    sums = summed_up(tree, found["leaf_sums"])
    rows = np.full(tree.node_count, len(job.data.y))
    return replace(_counted(tree, sums, rows, job), routing="logistic", leaf_value=found["leaf_value"])


def _hardened(tree: Tree, grown: Tree, job: Job) -> Tree:
    """Make the tests hard, drop branches that no row takes; the grown tree if that is worse in training."""
    data = job.data
    leaf = tree.leaf_index[apply(replace(tree, routing="hard", leaf_value=None), data.X, job.threads)]
    sums = np.zeros((tree.n_leaves, job.n_classes))
    np.add.at(sums, (leaf, data.y), 1.0 if data.weight is None else data.weight)
    if grown.routing == "hard":
        before = summed_up(grown, grown.value[grown.leaves] * grown.weighted_n_node_samples[grown.leaves, None])
        missed_before = before[0].sum() - before[grown.leaves].max(axis=1).sum()
        missed = sums.sum() - sums.max(axis=1).sum()
        if missed > missed_before * (1 + 1e-12):
            return grown
    rows = summed_up(tree, np.bincount(leaf, minlength=tree.n_leaves)[:, None])[:, 0]
    hard = replace(tree, routing="hard", leaf_value=None)
    return without_empty(_counted(hard, summed_up(tree, sums), rows, job))


def summed_up(tree: Tree, leaf_sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Add the sums of leaves (in node order) up to every node."""
    sums = np.zeros((tree.node_count, leaf_sums.shape[1]), leaf_sums.dtype)
    sums[tree.leaves] = leaf_sums
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:
        sums[node] = sums[tree.children_left[node]] + sums[tree.children_right[node]]
    return sums


def _counted(tree: Tree, sums: Floats, rows: npt.NDArray[Any], job: Job) -> Tree:
    """Class fractions, weights and impurities from the class weights of every node."""
    weight = sums.sum(axis=1)
    value = np.divide(sums, weight[:, None], out=np.zeros_like(sums), where=weight[:, None] > 0)
    return replace(
        tree,
        value=value,
        weighted_n_node_samples=weight,
        n_node_samples=rows.astype(np.int64),
        impurity=np.maximum(job.criterion.total(value), 0.0),
    )


def without_empty(tree: Tree) -> Tree:
    """Put in the place of every inner node with an empty child the other child, and number what is left."""
    weight, left, right = tree.weighted_n_node_samples, tree.children_left, tree.children_right
    stand_in: Int64s = np.arange(tree.node_count)
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:
        for empty, other in ((left[node], right[node]), (right[node], left[node])):
            if weight[empty] <= 0:
                stand_in[node] = stand_in[other]
                break
    order, splits, alive = [int(stand_in[0])], [], np.zeros(tree.node_count, bool)
    alive[order[0]] = True
    inner = np.flatnonzero(~tree.is_leaf)
    for node in inner[np.argsort(left[inner], kind="stable")]:  # in the order of growth
        if alive[node] and stand_in[node] == node:
            children = [int(stand_in[left[node]]), int(stand_in[right[node]])]
            alive[children] = True
            order += children
            splits.append(int(node))
    number = np.full(tree.node_count, -1, np.int32)
    number[order] = np.arange(len(order))
    new_left, new_right = np.full(len(order), -1, np.int32), np.full(len(order), -1, np.int32)
    row = np.full(len(order), -1, np.int32)
    places = number[splits] if splits else np.empty(0, np.intp)
    new_left[places] = number[stand_in[left[splits]]] if splits else []
    new_right[places] = number[stand_in[right[splits]]] if splits else []
    row[np.sort(places)] = np.arange(len(splits))
    kept = np.asarray(order)[np.sort(places)]
    return replace(
        tree,
        children_left=new_left,
        children_right=new_right,
        feature=tree.feature[order],
        threshold=tree.threshold[order],
        missing_go_to_left=tree.missing_go_to_left[order],
        category_offset=tree.category_offset[order],
        linear_row=row,
        weights=tree.weights[tree.linear_row[kept]],
        value=tree.value[order],
        n_node_samples=tree.n_node_samples[order],
        weighted_n_node_samples=weight[order],
        impurity=tree.impurity[order],
    )
