"""The leaves of all trees of a forest fitted together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from boscage import _core
from boscage.base.component import Component, IncompatibleParts
from boscage.criteria import SquaredError
from boscage.data.targets import MOST, power_of_two
from boscage.leaves._leaf import Frequency
from boscage.leaves._numbers import Constant
from boscage.model.many_trees import ManyTrees

if TYPE_CHECKING:
    from boscage.engine.grow import Job
    from boscage.leaves._leaf import Leaf
    from boscage.tree import Floats, Int32s

__all__ = ["RefitLeaves", "refit_part"]

_MOST_STEPS = 1000
_FARTHEST = 600.0  # between logarithms of probabilities of a leaf


class RefitLeaves(Component):
    r"""Refit the values of all leaves of a forest jointly, after the trees are grown.

    A row of weight w reaches one leaf of each tree, which gives it the score
    :math:`z = b + \sum_t B_{t,\,\mathrm{leaf}_t(x)}`. The values B minimise, over all training rows,

    .. math:: \sum_i w_i\,\ell(z_i, y_i) + \frac{l_2}{2} \sum_{t,\,\mathrm{leaf}} \|B_{t,\,\mathrm{leaf}}
        - S_{t,\,\mathrm{leaf}} / T\|^2.

    In regression :math:`\ell` is half the squared error, b the mean of y, and b + S the mean of y in the leaf. In
    classification :math:`\ell` is the log-loss of softmax(z), b the logarithms of the class fractions, and b + S those
    of the leaf's class fractions, smoothed by one additional row with the class fractions of all rows. The larger the
    penalty, the closer each tree stays to its own prediction.

    Parameters
    ----------
    l2 : float, default=10.0
        Strength of the penalty, > 0, in units of sample weight.

    Notes
    -----
    Only the predictions of the leaves change; tests, counts and class fractions stay as they are. With T trees, a leaf
    predicts :math:`\mathrm{softmax}(b + T B)` in classification and :math:`b + T B` in regression. A regression forest
    predicts the mean of its trees, as without ``refit``; a classification forest predicts their geometric mean, scaled
    to sum to 1.

    Rows with the same class that reach the same leaves are merged first, so a row with weight 2 is equivalent to the
    same row twice. Each step of the optimisation costs n·T·K operations for K classes or outputs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import ForestClassifier, RefitLeaves
    >>> X, y = load_iris(return_X_y=True)
    >>> refit = RefitLeaves(l2=1.0)
    >>> forest = ForestClassifier(10, max_leaf_nodes=8, refit=refit, random_state=0)
    >>> forest.fit(X, y).score(X, y) > 0.97
    True
    """

    role: ClassVar[str] = "refit"

    def __init__(self, l2: float = 10.0) -> None:
        self.l2 = l2

    def check(self) -> None:
        """Refuse strengths that are not above 0."""
        self._check_real("l2", low=0, open_low=True)

    def check_parts(self, splits: Any, leaf: Leaf, criterion: Any) -> None:
        """Refuse trees whose leaves are not numbers of their own, and losses of another kind."""
        if "hard" not in splits.provides:
            raise IncompatibleParts(
                f"refit={self!r} cannot be combined with splits={splits!r}: it needs tests that send a row to one "
                "side. Pass splits='axis' or an oblique family."
            )
        if not isinstance(leaf, (Constant, Frequency)):
            raise IncompatibleParts(
                f"refit={self!r} cannot be combined with leaf={leaf!r}: it gives each leaf one value. Leave leaf as "
                "it is."
            )
        if isinstance(leaf, Constant) and not isinstance(criterion, SquaredError):
            raise IncompatibleParts(
                f"refit={self!r} cannot be combined with criterion={criterion!r}: it minimises the squared error. "
                "Pass criterion='squared_error'."
            )

    def fit(self, trees: ManyTrees, job: Job) -> ManyTrees:
        """Return the trees with leaves fitted to the rows of the job."""
        first = np.cumsum([0, *(tree.n_leaves for tree in trees)]).astype(np.int32)
        rows = _merged(_leaf_numbers(trees, first, job), job)
        with np.errstate(over="ignore"):  # endless: the leaves stay as they are
            l2 = float(np.ldexp(float(self.l2), -job.weight_exponent))
        if job.data.is_regression:
            values = _numbers(rows, first, l2, job)
        else:
            values = _probabilities(rows, first, l2, job)
        fitted = [replace(tree, leaf_value=values[first[t] : first[t + 1]]) for t, tree in enumerate(trees)]
        return ManyTrees(fitted, geometric=not job.data.is_regression)


class _Rows(NamedTuple):
    """Rows of each kind: leaves (trees × rows), class or numbers, and weight."""

    leaf: Int32s
    target: Any
    weight: Floats


def _leaf_numbers(trees: ManyTrees, first: Int32s, job: Job) -> Int32s:
    """Return the leaf of each row in each tree, rows × trees; leaves are numbered through all trees."""
    reached = trees.apply(job.data.X, job.threads)
    for t, tree in enumerate(trees):
        reached[:, t] = first[t] + tree.leaf_index[reached[:, t]]
    return reached.astype(np.int32)


def _merged(leaf: Int32s, job: Job) -> _Rows:
    """Merge rows of the same target and leaves, in an order that follows from these alone."""
    y = job.data.y
    kind = np.zeros(len(y), np.int64)
    for column in y.reshape(len(y), -1).T:
        kind = _divided(kind, np.unique(column, return_inverse=True)[1])
    for column in leaf.T:
        kind = _divided(kind, column)
    place = np.empty(kind.max() + 1, np.int64)
    place[kind[::-1]] = np.arange(len(kind))[::-1]  # the first row of each kind
    weight = np.bincount(kind, job.data.weight, len(place)).astype(np.float64)
    return _Rows(np.take(leaf.T, place, axis=1), y[place], weight)


def _divided(kind: Any, label: Any) -> Any:
    """Divide kinds of rows, numbered from 0, by a label of the rows; their order stays.

    One column at a time, so that Ctrl-C is heard; rows that are alone are not looked at again.
    """
    shared = np.flatnonzero(np.bincount(kind)[kind] > 1)
    if shared.size == 0:
        return kind
    span = np.int64(label.max()) + 1
    key, place = np.unique(kind[shared] * span + label[shared], return_inverse=True)
    owner = key // span
    parts = np.maximum(np.bincount(owner, minlength=kind.max() + 1), 1)
    fresh = (np.cumsum(parts) - parts)[kind]
    fresh[shared] += (np.arange(len(key)) - np.searchsorted(owner, owner))[place]
    return fresh


def _probabilities(rows: _Rows, first: Int32s, l2: float, job: Job) -> Floats:
    mass = np.bincount(rows.target, rows.weight, len(job.data.classes))
    seen = np.flatnonzero(mass)  # all rows of a class may have weight 0
    shares = mass[seen] / mass.sum()
    base = np.log(shares)
    own = np.stack([_leaf_sums(rows, np.where(rows.target == c, rows.weight, 0.0), first) for c in seen], 1)
    own += shares * np.ldexp(1.0, -job.weight_exponent)  # one row of all classes
    own = np.log(own / own.sum(axis=1, keepdims=True)) - base
    label = np.searchsorted(seen, rows.target).astype(np.int32)
    found = _fitted(rows, first, label, np.empty((0, 0)), (base, own), l2, job)
    scores = np.full((first[-1], len(mass)), -np.inf)
    scores[:, seen] = base + (len(first) - 1) * found
    scores -= scores.max(axis=1, keepdims=True)
    values: Floats = np.exp(np.maximum(scores, -_FARTHEST))
    values /= values.sum(axis=1, keepdims=True)
    return values


def _numbers(rows: _Rows, first: Int32s, l2: float, job: Job) -> Floats:
    y = rows.target.reshape(len(rows.weight), -1)
    scale = power_of_two(y)
    y = y / scale
    share = rows.weight / rows.weight.sum()
    mean = (share[:, None] * y).sum(axis=0)
    y = y - mean
    own = np.stack([_leaf_sums(rows, rows.weight * column, first) for column in y.T], 1)
    mass = _leaf_sums(rows, rows.weight, first)[:, None]
    own /= np.where(mass > 0, mass, 1.0)  # grown on other rows, with warm_start: a leaf may be empty
    found = _fitted(rows, first, np.empty(0, np.int32), y, (np.zeros(len(mean)), own), l2, job)
    with np.errstate(over="ignore"):
        values: Floats = np.clip((mean + (len(first) - 1) * found) * scale, -MOST, MOST)
    return values


def _leaf_sums(rows: _Rows, numbers: Floats, first: Int32s) -> Floats:
    """Return the sum of the rows' numbers in each leaf."""
    return np.concatenate([
        np.bincount(leaf - begin, numbers, end - begin)
        for leaf, begin, end in zip(rows.leaf, first, first[1:], strict=False)
    ])  # fmt: skip


def _fitted(
    rows: _Rows, first: Int32s, label: Int32s, y: Floats, centre: tuple[Floats, Floats], l2: float, job: Job
) -> Floats:
    base, own = centre
    start = np.ascontiguousarray(own / (len(first) - 1))
    given = _core.ForestRows(rows.leaf, first, label, np.ascontiguousarray(y), rows.weight, start)
    found: Floats = _core.fit_joint_leaves(given, base, l2, _MOST_STEPS, job.threads, job.progress)
    return found


def refit_part(value: object) -> RefitLeaves | None:
    """Turn the value of the parameter ``refit`` into a checked part, or None."""
    if value is None:
        return None
    part = RefitLeaves() if isinstance(value, str) and value == "leaves" else value
    if not isinstance(part, RefitLeaves):
        raise ValueError(f"refit={value!r} is not known. Pass None, 'leaves', or an object of boscage.RefitLeaves.")
    part.check()
    return part
