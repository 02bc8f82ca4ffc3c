"""Linear leaves: a multinomial logistic model in each leaf."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage import _core
from boscage.base.component import register
from boscage.data.distinct import Distinct, distinct_rows, native_rows
from boscage.leaves._leaf import Floats, Frequency, Leaf, Nodes

if TYPE_CHECKING:
    from boscage.engine.grow import Job
    from boscage.tree import InputMap, Tree

_STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)
_LEAST_REACH = 1e-3
_BLOCK_ROWS: int = _core.BLOCK_ROWS


@register("leaf", "linear")
class Linear(Leaf):
    r"""Each leaf has its own multinomial logistic regression.

    In a leaf with mean m and class shares q (its class fractions, shrunk slightly towards those of its ancestors as by
    ``Frequency(shrinkage=1)``), the probability of class c is the softmax of

    .. math:: z_c = \log q_c + \delta_c + B_c \cdot (x - m)/s,

    s being the columns' standard deviations over all rows (at least a tenth of their ranges), and

    .. math:: \sum_i w_i\,[\log \sum_c e^{z_c} - z_{y_i}] + \frac{l_2}{2}\,(\|B\|^2 + \|\delta\|^2)

    is minimised over the rows of the leaf; classes that do not occur in the leaf keep log q. The loss grows with the
    weight of the leaf while the penalty does not, so a leaf with few rows predicts nearly q, and a pure leaf predicts
    q. In soft trees a row counts in each leaf with the probability of reaching it (if that is at least 0.001), and
    prediction averages the leaves.

    Parameters
    ----------
    l2 : float or "auto", default=1.0
        Strength of the penalty, > 0, in units of sample weight. "auto" chooses from 0.1, 1, 10, 100 and 1000 the value
        with the least squared error of the probabilities on held-out rows, which takes growing one more tree.
    max_iter : int, default=200
        Largest number of L-BFGS steps in a leaf, at least 1.

    Notes
    -----
    A missing value is replaced by its column's mean, a category by one number, as in linear tests. Linear leaves suit
    small trees: limit ``max_leaf_nodes`` or ``max_depth``. Their models take n_leaves·K·d numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import Linear, TopDownTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TopDownTreeClassifier(max_leaf_nodes=2, leaf=Linear()).fit(X, y)
    >>> tree.tree_.leaf_models.coef.shape
    (2, 3, 4)
    """

    needs = frozenset({"rows"})

    def __init__(self, l2: float | str = 1.0, max_iter: int = 200) -> None:
        self.l2 = l2
        self.max_iter = max_iter

    def check(self) -> None:
        """Refuse settings out of range."""
        if not (isinstance(self.l2, str) and self.l2 == "auto"):
            if isinstance(self.l2, str):
                self._refuse("l2", "'auto' or a number > 0")
            self._check_real("l2", low=0, open_low=True)
        self._check_integer("max_iter", low=1, high=10**6)

    def candidates(self) -> list[Leaf]:
        """Return one leaf for each strength to be tried."""
        return [Linear(l2, self.max_iter) for l2 in _STRENGTHS] if isinstance(self.l2, str) else [self]

    def leaf_values(self, tree: Nodes) -> Floats:
        """Return the shares q that models are drawn towards."""
        shares = Frequency(shrinkage=1.0).leaf_values(tree)
        return np.empty((0, 0)) if shares is None else np.maximum(shares, 0.0)

    def finish(self, tree: Tree, job: Job) -> Tree:
        """Fit the models of all leaves in the compiled core."""
        from boscage.tree import LeafModels

        if tree.input_map is None and job.splits.allows_missing:
            tree = replace(tree, input_map=_numbers(job))
        sample = distinct_rows(job.data)
        shares = self.leaf_values(tree)
        offsets, members, weight = _members(tree, job, sample)
        call = _core.LeafModelCall(offsets, members, weight, shares.ravel())
        call.l2, call.max_iter, call.threads = float(self.l2), int(self.max_iter), job.threads
        call.progress = job.progress
        given: Any = (tree._native, *native_rows(job.data.X), sample.native(), call)
        coef, intercept = _core.fit_leaf_models(*given)
        return replace(tree, leaf_value=shares, leaf_models=LeafModels(coef, intercept))


def _numbers(job: Job) -> InputMap:
    """Put means for missing values and numbers for categories, as linear tests do."""
    from boscage.splits._oblique import category_numbers
    from boscage.tree import InputMap

    offset, codes, X = category_numbers(job.data)
    weight = np.ones(len(job.data.y)) if job.data.weight is None else job.data.weight
    with np.errstate(over="ignore", invalid="ignore"):
        mean = _means(X, weight)
    if not np.isfinite(mean).all():  # sums of very large numbers: those of shares of them do not overflow
        most = np.finfo(np.float64).max
        small = _means(X * 2.0**-64, weight / weight.sum())
        with np.errstate(over="ignore"):
            mean = np.where(np.isfinite(mean), mean, np.clip(np.ldexp(small, 64), -most, most))
    return InputMap(fill=mean, code_offset=offset, codes=codes)


def _means(X: Any, weight: Floats) -> Floats:
    """Weighted mean of each column where it is not missing; 0 if it always is."""
    total, mass = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    if sparse.issparse(X):
        missing = np.isnan(X.data)
        known = sparse.csr_array((np.where(missing, 0.0, X.data), X.indices, X.indptr), shape=X.shape)
        unknown = sparse.csr_array((missing.astype(np.float64), X.indices, X.indptr), shape=X.shape)
        total, mass = known.T @ weight, weight.sum() - unknown.T @ weight
    else:
        for start in range(0, X.shape[0], _BLOCK_ROWS):
            rows = np.ascontiguousarray(X[start : start + _BLOCK_ROWS], dtype=np.float64)
            present = ~np.isnan(rows)
            shares = weight[start : start + _BLOCK_ROWS, None] * present
            total += (shares * np.where(present, rows, 0.0)).sum(axis=0)
            mass += shares.sum(axis=0)
    return np.divide(total, mass, out=np.zeros_like(total), where=mass > 0)


def _members(
    tree: Tree, job: Job, sample: Distinct
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Rows of the sample in each leaf with their weight there, leaf after leaf."""
    from boscage.model.predict import apply, decision_path

    blocks = []
    for start in range(0, len(sample.rows), _BLOCK_ROWS):
        X: Any = job.data.X[sample.rows[start : start + _BLOCK_ROWS]]
        if tree.is_soft:
            reach = decision_path(tree, X, job.threads)[:, tree.leaves]
            reach.data[reach.data < _LEAST_REACH] = 0.0
            reach.eliminate_zeros()
        else:
            leaf = tree.leaf_index[apply(tree, X, job.threads)]
            reach = sparse.csr_matrix((np.ones(len(leaf)), leaf, np.arange(len(leaf) + 1)), (len(leaf), tree.n_leaves))
        blocks.append(reach)
    by_leaf = sparse.vstack(blocks, format="csc")
    rows = by_leaf.indices.astype(np.int64)
    return by_leaf.indptr.astype(np.int64), rows, by_leaf.data * sample.weight[rows]
