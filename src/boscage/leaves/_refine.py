"""Soft trees of numbers refined: all tests and all leaves fitted jointly to the squared error, by L-BFGS."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from boscage import _core
from boscage.leaves._blend import leaf_reach, local_units, standardised, wider_bounds
from boscage.leaves._ridge import _Rows
from boscage.tree import LeafModels, Tree

if TYPE_CHECKING:
    from boscage.engine.grow import Job
    from boscage.tree import Floats

_LEAST_SPREAD = 0.05  # of a column in a leaf, in standard deviations of all rows
_UNIT_OF_TESTS = 0.3  # of the largest weight of a test
_TEST_L2, _MODEL_L2 = 0.1, 5.0  # of refined tests and models, in units of weight and of the variance of y
_STEPS, _FEWEST_STEPS, _ROW_STEPS = 200, 60, 2_000_000  # fewer steps for many rows
_SOME_REACH = 0.1  # rows that count for the range of a refined leaf
_FAR = 3.0  # columns are scaled down to this size where tests are refined: long tails move no test far
_HARDER = (1.0, 4.0, 8.0)  # slopes of tests that will be hard again, by stages, relative to soft ones


def refined(soft: Tree, hard: Tree, job: Job, rows: _Rows, clip: bool) -> Tree:
    """Fit all tests and all models jointly; both are drawn to where they start."""
    assert soft.leaf_models is not None
    near = rows.within(_FAR)
    centre, spread = local_units(hard, job, near, _LEAST_SPREAD)
    coef, constant = standardised(soft.leaf_models, near)
    at_centre = constant + np.einsum("lkd,ld->lk", coef, centre)
    models = np.concatenate([at_centre[:, :, None], coef * spread[:, None]], axis=2)
    moved, models = _fitted(soft, rows, models, (centre, spread), None, _TEST_L2, job)
    centre, spread = _steady(centre), _steady(spread)
    slopes = models[:, :, 1:] / spread[:, None]
    plain, constant = near.in_units(slopes, models[:, :, 0] - np.einsum("lkd,ld->lk", slopes, centre))
    moved = replace(moved, leaf_models=LeafModels(plain, constant, None, None))
    bounds = wider_bounds(*_ranges(moved, job)) if clip else (None, None)
    return replace(moved, leaf_models=LeafModels(plain, constant, *bounds))


@np.errstate(over="ignore", invalid="ignore")
def polished(tree: Tree, job: Job, slope: float, steps: int | None, l2: float, *, harden: bool) -> tuple[Tree, Floats]:
    """Return a tree of linear tests, fitted with one number for each leaf and output, and these numbers.

    Tests are stretched so that the mean of their size over a node's rows is 1, times the slope; ``harden`` makes them
    steeper by stages. ``l2`` is in units of the mean squared error and of the variance of y.
    """
    rows = _Rows.of(job, tree.input_map)
    soft = _stretched(tree, job, rows, slope)
    d, outputs = rows.Z.shape[1], rows.y.shape[1]
    units = np.zeros((tree.n_leaves, d)), np.ones((tree.n_leaves, d))
    models = np.zeros((tree.n_leaves, outputs, d + 1))
    models[:, :, 0] = (tree.value[tree.leaves] - rows.centre) / rows.scale
    for factor in _HARDER if harden else (1.0,):
        steeper = replace(soft, weights=soft.weights * factor, threshold=soft.threshold * factor)
        found, models = _fitted(steeper, rows, models, units, steps, l2 * float(rows.weight.sum()), job, slopes=False)
        soft = replace(found, weights=found.weights / factor, threshold=found.threshold / factor)
    return found, rows.number(models[:, :, 0])


def _steady(numbers: Floats) -> Floats:
    """Round to 2^-30 of the largest: what differs by rounding alone becomes the same number.

    Hundreds of steps would turn such differences, as of a row of weight 2 and the row twice, into visible ones.
    """
    most = float(np.abs(numbers).max(initial=0.0))
    if not most > 0:
        return numbers
    exponent = int(np.frexp(most)[1]) - 30
    rounded: Floats = np.ldexp(np.round(np.ldexp(numbers, -exponent)), exponent)
    return rounded


def _merged(rows: _Rows) -> tuple[Floats, Floats, Floats]:
    """Return rows, y and weights with equal rows merged, in an order that follows from their content."""
    both = np.hstack([_steady(rows.Z), _steady(rows.y)])
    found, kind = np.unique(both, axis=0, return_inverse=True)
    d = rows.Z.shape[1]
    weight = np.bincount(kind.ravel(), rows.weight).astype(np.float64)
    return np.ascontiguousarray(found[:, :d]), np.ascontiguousarray(found[:, d:]), weight


def _fitted(
    soft: Tree,
    rows: _Rows,
    models: Floats,
    units: tuple[Floats, Floats],
    steps: int | None,
    test_l2: float,
    job: Job,
    *,
    slopes: bool = True,
) -> tuple[Tree, Floats]:
    """Return the tree with tests that were moved, and the models in units of the leaves."""
    unit = _steady(_UNIT_OF_TESTS * np.abs(soft.weights * rows.spread).max(axis=1))
    rows = rows.within(_FAR)
    tests = np.column_stack([soft.weights @ rows.mean - soft.threshold[~soft.is_leaf], soft.weights * rows.spread])
    Z, y, weight = _merged(rows)
    share = weight / weight.sum()
    settings = _core.SoftSettings()
    settings.steps = steps or int(np.clip(_ROW_STEPS // len(y), _FEWEST_STEPS, _STEPS))
    settings.slopes = slopes
    settings.model_l2 = _MODEL_L2
    settings.test_l2 = test_l2 * float((share @ (y - share @ y) ** 2).sum())
    start = _core.SoftStart(
        (soft.children_left, soft.children_right),
        np.ascontiguousarray(_steady(tests)),
        unit,
        np.ascontiguousarray(_steady(models.reshape(len(models), -1))),
        *(np.ascontiguousarray(_steady(part)) for part in units),
    )
    found = _core.fit_soft_tree(_core.NumberRows(Z, y, weight), start, settings, job.threads, job.progress)
    inverse = np.divide(1.0, rows.spread, out=np.zeros_like(rows.spread), where=rows.spread > 0)
    weights = found["tests"][:, 1:] * inverse
    threshold = np.zeros(soft.node_count)
    threshold[~soft.is_leaf] = weights @ rows.mean - found["tests"][:, 0]
    return replace(soft, weights=weights, threshold=threshold), found["models"].reshape(models.shape)


def _stretched(tree: Tree, job: Job, rows: _Rows, slope: float) -> Tree:
    """Make the tests of a tree logistic: of mean size 1 over the rows of their node, times the slope."""
    from boscage.model.predict import decision_path

    path = decision_path(tree, job.data.X, job.threads).tocsc()
    inner = np.flatnonzero(~tree.is_leaf)
    bias = tree.weights @ rows.mean - tree.threshold[inner]
    directions = tree.weights * rows.spread
    factor = np.ones(len(inner))
    for line, node in enumerate(inner.tolist()):
        members = path.indices[path.indptr[node] : path.indptr[node + 1]]
        size = np.abs(bias[line] + np.einsum("id,d->i", rows.Z[members], directions[line]))
        mean = float(rows.weight[members] @ size) / float(rows.weight[members].sum())
        factor[line] = slope / mean if mean > 0 else 1.0
    threshold = np.array(tree.threshold)
    threshold[inner] *= factor
    return replace(tree, routing="logistic", weights=tree.weights * factor[:, None], threshold=threshold)


def _ranges(tree: Tree, job: Job) -> tuple[Floats, Floats]:
    """Smallest and largest y of the rows that reach each leaf with some probability; of all rows if none does."""
    y = job.data.y.reshape(len(job.data.y), -1)
    reach = leaf_reach(tree, job).tocsc()
    low, high = np.tile(y.min(axis=0), (tree.n_leaves, 1)), np.tile(y.max(axis=0), (tree.n_leaves, 1))
    for leaf in range(tree.n_leaves):
        part = slice(reach.indptr[leaf], reach.indptr[leaf + 1])
        mine = y[reach.indices[part][reach.data[part] >= _SOME_REACH]]
        if len(mine):
            low[leaf], high[leaf] = mine.min(axis=0), mine.max(axis=0)
    return low, high
