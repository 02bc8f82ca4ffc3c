"""Leaves that predict one number for each output: that of the criterion, the mean or the median."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from boscage import _core
from boscage.base.component import register
from boscage.leaves._leaf import Floats, Leaf, ShrunkenLeaf, shrunken_values

if TYPE_CHECKING:
    from boscage.engine.grow import Job
    from boscage.tree import Tree

_BLOCK_ROWS: int = _core.BLOCK_ROWS


@register("leaf", "constant")
class Constant(ShrunkenLeaf):
    r"""The leaf predicts the value that minimises the criterion, optionally shrunk towards those of its ancestors.

    This is the mean of y in the leaf for squared error, Poisson, gamma and Tweedie deviance, the median for absolute
    error and the q-quantile for ``Quantile(q)``. With shrinkage, the value of a leaf is the root's value plus, along
    the path to the leaf, the sum of (child's − parent's value) / (1 + shrinkage / n_parent), where n is the weight of a
    node. This is a weighted mean of the values on the path, in which nodes of little weight count less.

    A soft tree averages its leaves, so its predictions lie closer together than its leaves do. Its leaves can be fitted
    jointly instead: with r_il the probability that row i of weight s_i reaches leaf l, p_l the leaf's share of the
    weight and f_l its mean, the leaf values V_l minimise

    .. math:: \sum_i s_i \Bigl(\sum_l r_{il} V_l - y_i\Bigr)^2 + \text{shrinkage}\,\sum_l p_l (V_l - f_l)^2.

    Parameters
    ----------
    shrinkage : float or "auto", default=0.0
        At least 0, in units of sample weight: 0 leaves the values as they are, larger values smooth more (in joint
        leaves: stay closer to the means). "auto" chooses from 0, 1, 3, 10, …, 1000 the value with the least error on
        held-out rows, which takes growing one more tree.
    joint : {"auto", True, False}, default="auto"
        Whether to fit the leaves of a soft tree jointly, at the cost of one more pass over the rows and n·leaves²
        operations. "auto" does so for stochastic trees of at most 256 leaves, and of any number where look-ahead has
        placed tests.

    References
    ----------
    Agarwal, Tan, Ronen, Singh, Yu: Hierarchical shrinkage, ICML 2022.

    Examples
    --------
    >>> from boscage.leaves import Constant
    >>> Constant(shrinkage=10.0)
    Constant(shrinkage=10.0)
    """

    target: ClassVar[str] = "numbers"


class _OfRows(Constant):
    """Numbers that are computed from the rows again, whatever the criterion."""

    needs = frozenset({"rows"})

    def __init__(self, shrinkage: float | str = 0.0) -> None:
        super().__init__(shrinkage, joint=False)

    def _with(self, shrinkage: float) -> Leaf:
        return type(self)(shrinkage)

    def _values(self, tree: Tree, job: Job) -> Floats:
        raise NotImplementedError

    def finish(self, tree: Tree, job: Job) -> Tree:
        """Give a grown tree its leaves."""
        values = self._values(tree, job)
        if self.shrinkage == 0:
            return replace(tree, leaf_value=values[tree.leaves])
        return replace(tree, leaf_value=shrunken_values(tree, values, float(self.shrinkage)))


@register("leaf", "mean")
class Mean(_OfRows):
    """The leaf predicts the mean of y, whatever the criterion, optionally shrunk towards its ancestors' means.

    For squared error, Poisson, gamma and Tweedie deviance this is what :class:`Constant` predicts.

    Parameters
    ----------
    shrinkage : float or "auto", default=0.0
        As in :class:`Constant`.

    Examples
    --------
    >>> from boscage import TopDownTreeRegressor
    >>> tree = TopDownTreeRegressor(criterion="absolute_error", leaf="mean", max_depth=1)
    >>> tree.fit([[0.0], [1.0], [1.0], [1.0]], [0.0, 5.0, 6.0, 10.0]).predict([[1.0]])
    array([7.])
    """

    def finish(self, tree: Tree, job: Job) -> Tree:
        """Give a grown tree its leaves; means that the tree has are not computed again."""
        if "quantiles" not in job.criterion.needs:
            values = self.leaf_values(tree)
            return tree if values is None else replace(tree, leaf_value=values)
        return super().finish(tree, job)

    def _values(self, tree: Tree, job: Job) -> Floats:
        y = job.data.y.reshape(len(job.data.y), -1)
        weight = np.ones(len(y)) if job.data.weight is None else job.data.weight
        weight = np.ldexp(weight, -int(np.frexp(weight.sum())[1]))  # products with any numbers are finite
        total, mass = np.zeros((tree.node_count, y.shape[1])), np.zeros(tree.node_count)
        centre = tree.value[0]
        for start, reach in _reach(tree, job):
            part = slice(start, start + reach.shape[0])
            total += reach.T @ (weight[part, None] * (y[part] - centre))
            mass += reach.T @ weight[part]
        shift = np.divide(total, mass[:, None], out=np.zeros_like(total), where=mass[:, None] > 0)
        return np.where(mass[:, None] > 0, centre + shift, tree.value)


@register("leaf", "median")
class Median(_OfRows):
    """The leaf predicts the weighted median of y, whatever the criterion.

    If the median falls exactly between two values, their midpoint is predicted. Each output has its own median. In soft
    trees, every row counts with the probability of reaching the leaf.

    Parameters
    ----------
    shrinkage : float or "auto", default=0.0
        As in :class:`Constant`.

    Examples
    --------
    >>> from boscage import TopDownTreeRegressor
    >>> tree = TopDownTreeRegressor(leaf="median", max_depth=1)
    >>> tree.fit([[0.0], [1.0], [1.0], [1.0]], [0.0, 5.0, 6.0, 10.0]).predict([[1.0]])
    array([6.])
    """

    def _values(self, tree: Tree, job: Job) -> Floats:
        y = job.data.y.reshape(len(job.data.y), -1)
        weight = np.ones(len(y)) if job.data.weight is None else job.data.weight
        by_node: Any = sparse.vstack([reach for _, reach in _reach(tree, job)], format="csc")
        values = np.array(tree.value)
        wanted = tree.leaves if self.shrinkage == 0 else np.arange(tree.node_count)
        for node in wanted.tolist():
            part = slice(by_node.indptr[node], by_node.indptr[node + 1])
            rows = by_node.indices[part]
            if len(rows):
                shares = by_node.data[part] * weight[rows]
                values[node] = [weighted_quantile(y[rows, m], shares, 0.5) for m in range(y.shape[1])]
        return values


def weighted_quantile(y: Floats, weight: Floats, q: float) -> float:
    """Return the smallest number with at least the share q of the weight at or below it.

    Where the share is met exactly it is the middle between this number and the next: the median of an even number of
    rows. Weight 2 is the number twice.
    """
    order = np.argsort(y, kind="stable")
    sums = np.cumsum(weight[order])
    wanted = q * sums[-1]
    at = min(int(np.searchsorted(sums, wanted * (1 - 1e-12))), len(y) - 1)
    low = float(y[order[at]])
    if at + 1 < len(y) and abs(sums[at] - wanted) <= 1e-12 * sums[-1]:
        return low + (float(y[order[at + 1]]) - low) / 2
    return low


def _reach(tree: Tree, job: Job) -> Any:
    """Blocks of rows: the number of the first, and the probability that each reaches each node."""
    from boscage.model.predict import decision_path

    for start in range(0, job.data.X.shape[0], _BLOCK_ROWS):
        X: Any = job.data.X[start : start + _BLOCK_ROWS]
        yield start, decision_path(tree, X, job.threads)
