"""Values of all leaves of a soft tree at once: those whose average by reach comes nearest to the labels, or numbers.

The sums that they are fitted from are linear in the rows; who reads the rows is not known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from boscage import _core
from boscage.batches.reach import from_root, reach_parts, reach_pass
from boscage.batches.reduction import total
from boscage.batches.rows import Rows
from boscage.data.targets import MOST, power_of_two

if TYPE_CHECKING:
    from boscage.engine.grow import Job
    from boscage.tree import Floats, Tree

__all__ = ["has_opposite_tests", "joint_values"]

_STEPS = 5000
_MANY_LEAVES = 256  # beyond it the joint fit takes much longer than growing
_RIDGE = 1e-9  # of the total weight: leaves that every row reaches alike keep their own fractions


def has_opposite_tests(tree: Tree) -> bool:
    """Whether a look-ahead has placed three tests together: two siblings with opposite tests."""
    weights: Any = tree.weights
    if tree.routing != "linear" or weights.shape[0] < 3:
        return False
    inner = np.flatnonzero(~tree.is_leaf)
    left, right = tree.linear_row[tree.children_left[inner]], tree.linear_row[tree.children_right[inner]]
    both = (left >= 0) & (right >= 0)
    return bool((weights[left[both]] == -weights[right[both]]).all(axis=1).any())


def joint_values(tree: Tree, job: Job, joint: str | bool, shrinkage: float) -> Floats | None:
    """Return values of the leaves fitted jointly; None if they are not to be.

    "auto" does so below a look-ahead, and for stochastic trees of numbers unless there are many leaves.
    """
    if joint == "auto":
        looked_ahead = getattr(job.splits, "lookahead", False) and has_opposite_tests(tree)
        is_stochastic = tree.target == "numbers" and tree.routing == "linear"  # polishing has fitted the leaves too
        joint = looked_ahead or (is_stochastic and tree.n_leaves <= _MANY_LEAVES)
    if not tree.is_soft or not joint or tree.n_leaves == 1:
        return None
    unit = power_of_two(tree.value) if tree.target == "numbers" else 1.0
    if job.passes is not None:
        found = job.passes.sums(reach_pass(tree, unit))
    else:
        found = total(reach_parts(tree, unit, Rows(job.data.X, job.data.y, job.weight), 0, job.threads))
    return _fitted_together(tree, unit, found, shrinkage)


def _fitted_together(tree: Tree, unit: float, sums: Floats, shrinkage: float) -> Floats:
    """Return the leaves' class shares, or numbers, from the sums of `boscage.batches.reach`.

    Numbers V minimise Σ s ‖Σ_l r_l V_l − Y‖² + shrinkage·Σ_l p_l ‖V_l − f_l‖², f being the leaves' means.

    Class shares minimise Σ s ‖Σ_l r_l V_l − Y‖² + shrinkage·Σ_l p_l ‖V_l − f_l‖² over class shares V, p being the
    leaves' shares of the weight and f their class fractions. Where no such V separates the classes far enough the
    average is squeezed towards the whole sample's class fractions, and comparing it with 1/K would only tell
    which class is the larger one: so the average is stretched to the slope 1 of a calibrated prediction, and
    then drawn to 1/K until every V_l is a distribution again, which changes no predicted class.
    """
    gram, cross = np.hsplit(sums.reshape(tree.n_leaves, -1), [tree.n_leaves])
    weight = float(gram.sum())
    fractions = tree.value[tree.leaves]
    pull = (shrinkage + _RIDGE * weight) * tree.weighted_n_node_samples[tree.leaves]
    pull /= tree.weighted_n_node_samples[0]
    if tree.target == "numbers":
        right = cross + pull[:, None] * from_root(tree, fractions, unit)
        found = _core.solve_ridge(gram + np.diag(pull), np.ascontiguousarray(right.T), 0.0)
        if found is None:
            return fractions
        with np.errstate(over="ignore"):
            numbers: Floats = np.clip(tree.value[0] + found.T * unit, -MOST, MOST)
        return numbers
    value = _nearest_shares(gram + np.diag(pull), cross + pull[:, None] * fractions, fractions)
    return _stretched(value, gram, cross, weight)


def _nearest_shares(gram: Floats, cross: Floats, start: Floats) -> Floats:
    """Minimise tr(Vᵀ G V) − 2 tr(Vᵀ B) over rows V_l in the simplex: accelerated projected gradient steps."""
    step = 1 / float(np.linalg.eigvalsh(gram)[-1])
    value = ahead = _on_simplex(start)
    speed = 1.0
    for _ in range(_STEPS):
        after = _on_simplex(ahead - step * (gram @ ahead - cross))
        move = after - value
        if np.abs(move).max() < 1e-12:
            return after
        if float(np.sum((ahead - after) * move)) > 0:  # it has swung too far: start again from here
            speed = 1.0
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        ahead = after + (speed - 1) / faster * move
        value, speed = after, faster
    return value


def _on_simplex(rows: Floats) -> Floats:
    """Nearest distribution to each row."""
    falling = -np.sort(-rows, axis=1)
    excess = np.cumsum(falling, axis=1) - 1
    count = np.arange(1, rows.shape[1] + 1)
    last = (falling * count > excess).sum(axis=1) - 1
    shift = excess[np.arange(len(rows)), last] / (last + 1)
    nearest: Floats = np.maximum(rows - shift[:, None], 0.0)
    nearest /= nearest.sum(axis=1, keepdims=True)
    return nearest


def _stretched(value: Floats, gram: Floats, cross: Floats, weight: float) -> Floats:
    reach = gram.sum(axis=1) / weight
    mean, classes = reach @ value, cross.sum(axis=0) / weight
    away = value - mean
    spread = float(np.sum(away * (gram @ away)))
    slope = float(np.sum(away * cross)) / spread if spread > 0 else 1.0
    stretched = classes + max(slope, 1.0) * away
    middle = 1 / value.shape[1]
    farthest = max(float((stretched - middle).max()) / (1 - middle), float((middle - stretched).max()) / middle, 1.0)
    return _on_simplex(middle + (stretched - middle) / farthest)
