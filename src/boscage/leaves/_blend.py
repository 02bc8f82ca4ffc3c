"""Soft tests for trees with linear leaves: both sides mixed near a threshold, all models fitted again jointly."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage.leaves._numbers import weighted_quantile
from boscage.leaves._ridge import _LEAST_REACH, _MOST_UNKNOWNS, _Rows
from boscage.tree import LINEAR, LeafModels, Tree

if TYPE_CHECKING:
    from boscage.engine.grow import Job
    from boscage.tree import Floats

_BLOCK_ROWS: int = _core.BLOCK_ROWS
_LEAST_SPREAD = 0.02  # of a column in a leaf, in standard deviations of all rows
_BEYOND = 0.5  # of a leaf's range of y: how far its model may leave it
_MOST_ERROR = 2.0  # of a refined tree on the rows it was fitted to: times the squared error of the hard tree
_ROUNDING = 1e-20  # of a squared error, in squares of the largest y
_TYPICAL = 1.5  # a standard deviation, in median distances from the centre of a normal distribution


def blended(tree: Tree, job: Job, blend: float, strength: float, clip: bool, *, refine: bool = False) -> Tree:
    """Return the tree with logistic routing and jointly fitted models; the tree itself if its tests cannot be soft.

    ``refine`` fits the tests too; ``strength`` does not count then.
    """
    if tree.n_leaves == 1 or tree.is_soft or tree.leaf_models is None or (tree.feature == LINEAR).any():
        return tree
    rows = _Rows.of(job, tree.input_map)
    weights, threshold = _soft_tests(tree, job, rows, blend)
    if weights is None:
        return tree
    inner = ~tree.is_leaf
    soft = replace(
        tree,
        routing="logistic",
        feature=np.where(inner, LINEAR, tree.feature),
        threshold=threshold,
        missing_go_to_left=np.zeros(tree.node_count, np.bool_),
        category_offset=np.full(tree.node_count, -1),
        category_bits=np.empty(0, np.uint8),
        linear_row=np.where(inner, np.cumsum(inner) - 1, -1),
        weights=weights,
    )
    # Numbers of any size: what is no float any more is not taken.
    with np.errstate(over="ignore", invalid="ignore"):
        if refine:
            from boscage.leaves._refine import refined

            found = refined(soft, tree, job, rows, clip)
        else:
            found = fitted_jointly(soft, tree, job, rows, strength, clip)
    is_spoilt = refine and clip and not _fits(found, tree, job)
    return found if _is_finite(found) and not is_spoilt else tree


def _fits(soft: Tree, hard: Tree, job: Job) -> bool:
    """Whether a refined tree is not far worse on its own rows than the hard one it was made of.

    Where leaves cancel each other far outside the range of y, clipping their predictions spoils the fit.
    """
    from boscage.model.predict import predict_proba

    y = job.data.y.reshape(len(job.data.y), -1)
    weight = np.ones(len(y)) if job.data.weight is None else job.data.weight
    size = float(np.abs(y).max()) or 1.0
    errors = [weight @ (((predict_proba(tree, job.data.X, job.threads) - y) / size) ** 2) for tree in (soft, hard)]
    return float(errors[0].sum()) <= _MOST_ERROR * float(errors[1].sum()) + _ROUNDING * float(weight.sum())


def _is_finite(tree: Tree) -> bool:
    models = tree.leaf_models
    assert models is not None
    return all(np.isfinite(array).all() for array in (tree.weights, tree.threshold, models.coef, models.intercept))


def wider_bounds(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Ranges of y in the leaves and half of them beyond, within the range of all rows."""
    margin = _BEYOND * (high - low)
    return np.maximum(low - margin, low.min(axis=0)), np.minimum(high + margin, high.max(axis=0))


@np.errstate(over="ignore", invalid="ignore")
def _soft_tests(tree: Tree, job: Job, rows: _Rows, blend: float) -> tuple[Floats | None, Floats]:
    """Weights of one column each: the distance to the threshold in units of the blend."""
    from boscage.model.predict import decision_path

    path: Any = decision_path(tree, job.data.X, job.threads).tocsc()
    inner = np.flatnonzero(~tree.is_leaf)
    weights, threshold = np.zeros((len(inner), tree.n_features)), np.zeros(tree.node_count)
    for line, node in enumerate(inner.tolist()):
        members = path.indices[path.indptr[node] : path.indptr[node + 1]]
        column = int(tree.feature[node])
        z, w = rows.Z[members, column], rows.weight[members]
        goes_left = np.isin(
            members, path.indices[path.indptr[tree.children_left[node]] : path.indptr[tree.children_left[node] + 1]]
        )
        low, high = float(z[goes_left].max()), float(z[~goes_left].min())
        if not low < high:  # sets of categories that are not in the order of their numbers
            return None, threshold
        bound = rows.mean[column] + rows.spread[column] * (low + high) / 2
        if tree.category_offset[node] < 0 and np.isfinite(tree.threshold[node]):
            bound = float(tree.threshold[node])
        # Halfway to the nearer side's median: long tails do not widen a test.
        cut = (low + high) / 2
        away = [weighted_quantile(np.abs(z[side] - cut), w[side], 0.5) for side in (goes_left, ~goes_left)]
        width = blend * _TYPICAL * min(away) * rows.spread[column]
        if not width > 0:
            return None, threshold
        weights[line, column], threshold[node] = np.divide([1.0, bound], width)
    return weights if np.isfinite(weights).all() and np.isfinite(threshold).all() else None, threshold


@np.errstate(over="ignore", invalid="ignore")
def fitted_jointly(soft: Tree, hard: Tree, job: Job, rows: _Rows, strength: float, clip: bool) -> Tree:
    """Correct the models of all leaves at once, by ridge regression on the reach of each."""
    assert soft.leaf_models is not None
    leaves, reach = soft.leaves, leaf_reach(soft, job)
    centre, spread, columns = _local_columns(hard, job, rows)
    before = _answers(soft, reach, rows)
    left = np.ascontiguousarray(rows.y - before)
    reached = _core.ReachedLeaves(
        reach.indptr.astype(np.int64), reach.indices.astype(np.int32), reach.data, columns, centre, spread
    )
    gram, right = _core.joint_ridge_sums(_core.NumberRows(rows.Z, left, rows.weight), reached, job.threads)
    step = _core.solve_ridge(gram, right, strength)
    if step is None:
        return hard
    width = columns.shape[1] + 1
    step = step.reshape(-1, len(leaves), width)
    outputs = rows.y.shape[1]
    coef, intercept = np.zeros((len(leaves), outputs, rows.Z.shape[1])), np.zeros((len(leaves), outputs))
    for leaf in range(len(leaves)):
        slopes = step[:, leaf, 1:] / spread[leaf]
        coef[leaf][:, columns[leaf]] = slopes
        intercept[leaf] = step[:, leaf, 0] - slopes @ centre[leaf]
    plain, constant = rows.in_units(coef, intercept)
    models = soft.leaf_models
    # in_units adds the centre of y, which the models have already.
    bounds = (None, None) if models.low is None or models.high is None else wider_bounds(models.low, models.high)
    coef, intercept = models.coef + plain, models.intercept + constant - rows.centre
    if not np.isfinite(coef).all() or not np.isfinite(intercept).all():
        return hard
    return replace(soft, leaf_models=LeafModels(coef, intercept, *bounds))


def leaf_reach(tree: Tree, job: Job) -> Any:
    """Rows × leaves: the probability of reaching each leaf, small ones left out, of each row summing to 1."""
    from scipy import sparse

    from boscage.model.predict import decision_path

    blocks = []
    for start in range(0, job.data.X.shape[0], _BLOCK_ROWS):
        block = decision_path(tree, job.data.X[start : start + _BLOCK_ROWS], job.threads)[:, tree.leaves]
        block.data[block.data < _LEAST_REACH] = 0.0
        block.eliminate_zeros()
        blocks.append(block)
    reach: Any = sparse.vstack(blocks, format="csr")
    reach.sort_indices()
    reach.data /= np.repeat(np.asarray(reach.sum(axis=1)).ravel(), np.diff(reach.indptr))
    return reach


def local_units(tree: Tree, job: Job, rows: _Rows, least: float) -> tuple[Floats, Floats]:
    """Centre and spread of the columns in each leaf."""
    from boscage.model.predict import apply

    leaf = tree.leaf_index[apply(tree, job.data.X, job.threads)]
    count, d = tree.n_leaves, rows.Z.shape[1]
    mass = np.maximum(np.bincount(leaf, rows.weight, count), 1e-300)  # a soft leaf may be no row's first
    mean, square = np.empty((count, d)), np.empty((count, d))
    for j in range(d):
        mean[:, j] = np.bincount(leaf, rows.weight * rows.Z[:, j], count) / mass
        square[:, j] = np.bincount(leaf, rows.weight * (rows.Z[:, j] - mean[leaf, j]) ** 2, count) / mass
    return mean, np.maximum(np.sqrt(square), least)


def _local_columns(tree: Tree, job: Job, rows: _Rows) -> tuple[Floats, Floats, npt.NDArray[np.int32]]:
    """Centre and spread in each leaf of the columns that its correction sees, those of the largest terms, and which."""
    mean, spread = local_units(tree, job, rows, _LEAST_SPREAD)
    kept = int(np.clip(_MOST_UNKNOWNS // tree.n_leaves - 1, 1, rows.Z.shape[1]))
    assert tree.leaf_models is not None
    sizes = np.abs(tree.leaf_models.coef).sum(axis=1) * rows.spread * spread
    columns = np.sort(np.argsort(-sizes, axis=1, kind="stable")[:, :kept], axis=1).astype(np.int32)
    taken = np.take_along_axis
    return (
        np.ascontiguousarray(taken(mean, columns, 1)),
        np.ascontiguousarray(taken(spread, columns, 1)),
        np.ascontiguousarray(columns),
    )


def standardised(models: LeafModels, rows: _Rows) -> tuple[Floats, Floats]:
    """Models of standardised rows and of y of size 1: the inverse of `_Rows.in_units`."""
    constant = (models.intercept + models.coef @ rows.mean - rows.centre) / rows.scale
    return models.coef * rows.spread / rows.scale, constant


def _answers(tree: Tree, reach: Any, rows: _Rows) -> Floats:
    """Compute what the models as they are predict for the rows, in units of size 1."""
    assert tree.leaf_models is not None
    coef, constant = standardised(tree.leaf_models, rows)
    total = np.empty((rows.Z.shape[0], coef.shape[1]))
    for start in range(0, len(total), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        weights = reach[part].toarray()
        for output in range(coef.shape[1]):
            # einsum and not a product: its bits do not depend on the threads of a BLAS.
            answers = np.einsum("id,ld->il", rows.Z[part], coef[:, output]) + constant[:, output]
            total[part, output] = np.einsum("il,il->i", weights, answers)
    return total
