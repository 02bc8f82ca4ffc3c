"""How much each column moved the prediction of a row away from the root's class fractions or number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from boscage.data.targets import MOST
from boscage.model import predict as _predict
from boscage.model.many_trees import sharpened, softmax
from boscage.tree import LINEAR, Floats, Int64s, LeafModels, Tree

_NODES = 32  # of the quadrature for calibrated probabilities
_HALF = 520  # powers of two that are taken from both factors of a product that overflows


class Contributions(NamedTuple):
    """``base`` of shape (K,) and ``columns`` of shape (d, K) sum to the prediction."""

    base: Floats
    columns: Floats


def plain_row(tree: Tree, x: Floats) -> Floats:
    """Return the row with categories as the numbers that stand for them and missing values filled."""
    row_map = tree.input_map
    plain = x.astype(np.float64)
    if row_map is None:
        return plain
    if row_map.code_offset is not None and row_map.codes is not None:
        for j in np.flatnonzero(row_map.code_offset >= 0).tolist():
            is_known = 0 <= plain[j] < tree.schema.n_categories[j] and plain[j] == int(plain[j])
            plain[j] = row_map.codes[row_map.code_offset[j] + int(plain[j])] if is_known else np.nan
    if row_map.fill is not None:
        plain = np.where(np.isnan(plain), row_map.fill, plain)
    return plain


def contributions(tree: Tree, x: Floats) -> Contributions:
    """Follow a row down the tree and give every change of the prediction to the columns that made it.

    Parameters
    ----------
    tree : Tree
        The tree.
    x : array of shape (d,)
        The row, categories as codes.
    """
    reach = _predict.decision_path(tree, x[None, :]).toarray()[0]
    plain = plain_row(tree, x)
    value: Floats = tree.value.copy()
    # Leaves of a soft tree that are fitted together may lie far apart and cancel out: what they say beyond the means of
    # their rows is shared once, as a whole.
    is_fitted_together = tree.is_soft and tree.leaf_value is not None and tree.leaf_models is None
    if not is_fitted_together:
        value[tree.leaves] = tree.leaf_proba
    columns = np.zeros((tree.n_features, tree.n_outputs))
    base = np.zeros(tree.n_outputs)
    if tree.leaf_models is not None:
        _add_leaf_models(tree, plain, reach, value, columns)
    inner = np.flatnonzero(~tree.is_leaf & (reach > 0))
    axis, linear = inner[tree.feature[inner] >= 0], inner[tree.feature[inner] == LINEAR]
    for children, towards in ((tree.children_left, -1.0), (tree.children_right, 1.0)):
        moves = reach[children[inner], None] * (value[children[inner]] - value[inner])
        np.add.at(columns, tree.feature[axis], moves[tree.feature[inner] >= 0])
        if not len(linear):
            continue
        shares = _test_shares(tree, linear, plain, towards)
        change = moves[tree.feature[inner] == LINEAR]
        columns += shares.T @ change
        base += (1 - shares.sum(axis=1).round()) @ change  # of tests without a column
    if is_fitted_together:
        return _with_rest(value[0] + base, columns, columns, reach[tree.leaves] @ tree.leaf_proba)
    return Contributions(value[0] + base, columns)


def _with_rest(base: Floats, columns: Floats, otherwise: Floats, answer: Floats) -> Contributions:
    """Share what is missing to the answer in proportion to what the columns have."""
    missed = answer - base - columns.sum(axis=0)
    shares = _normalised(np.abs(columns).T, np.abs(otherwise).T).T
    return Contributions(base + missed * (1 - shares.sum(axis=0).round()), columns + shares * missed)


def sharpened_contributions(mean: Contributions, exponent: float) -> Contributions:
    r"""Carry contributions over to the calibrated probabilities :math:`g_k(q) = q_k^t / \sum_m q_m^t`.

    On the straight line from the base q to the prediction, column j moves :math:`g_k` by the integral of
    :math:`\sum_m \partial g_k / \partial q_m \, c_{jm}`. These sum to the prediction again.
    """
    end = np.maximum(mean.base + mean.columns.sum(axis=0), 0.0)  # a class that no tree votes for, but for rounding

    def slopes(q: Floats) -> tuple[Floats, Floats]:
        q = np.maximum(q, np.finfo(float).tiny)
        return sharpened(q[None, :], exponent)[0], exponent * mean.columns / q

    return _carried(mean, end, sharpened(np.stack([mean.base, end]), exponent), slopes)


def softmax_contributions(mean: Contributions) -> Contributions:
    r"""Carry contributions to scores z over to the probabilities :math:`g_k(z) = e^{z_k} / \sum_m e^{z_m}`."""
    end = mean.base + mean.columns.sum(axis=0)
    return _carried(mean, end, softmax(np.stack([mean.base, end])), lambda z: (softmax(z[None, :])[0], mean.columns))


def _carried(
    mean: Contributions, end: Floats, ends: Floats, slopes: Callable[[Floats], tuple[Floats, Floats]]
) -> Contributions:
    """Integrate along the straight line from the base to ``end``, where the probabilities are ``ends``.

    ``slopes(q)`` returns the probabilities g at q, and each column's change of their logarithms but for a constant.
    """
    base, answer = ends
    places, weights = np.polynomial.legendre.leggauss(_NODES)
    columns = np.zeros_like(mean.columns)
    for place, weight in zip((places + 1) / 2, weights / 2, strict=True):
        g, relative = slopes(mean.base + place * (end - mean.base))
        columns += weight * g * (relative - (relative @ g)[:, None])
    return _with_rest(base, columns, mean.columns, answer)  # what the quadrature misses


def _normalised(parts: Floats, otherwise: Floats) -> Floats:
    """Rows that sum to 1; rows of zeros, or of numbers too large to add, are replaced by the others' shares."""
    with np.errstate(invalid="ignore", over="ignore"):
        totals = parts.sum(axis=1, keepdims=True)
        is_good = (totals > 0) & np.isfinite(totals)
        parts = np.where(is_good, parts, otherwise)
        totals = parts.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(parts, totals, out=np.zeros_like(parts), where=totals > 0)
    return shares


def _away(tree: Tree, plain: Floats) -> Floats | None:
    """Return the row's distance from the columns' means, 0 where it has no number; None without means."""
    mean = tree.column_means
    return None if mean is None else np.nan_to_num(plain - mean, nan=0.0)


def _dense(matrix: Any, rows: Any) -> Floats:
    part: Any = matrix[rows]
    dense: Floats = part.toarray() if sparse.issparse(part) else part
    return dense


def _test_shares(tree: Tree, nodes: Any, plain: Floats, towards: float) -> Floats:
    """Share of each column in the step to one side at linear tests, (nodes, d).

    Columns that pushed the row to that side share it in proportion to θ_j·(x_j − mean_j); where none did, or the
    means are not known, all share in proportion to |θ_j|·sd_j.
    """
    rows = tree.linear_row[nodes]
    sizes = _dense(tree.term_sizes, rows)
    away = _away(tree, plain)
    if away is None:
        return _normalised(sizes, sizes)
    with np.errstate(over="ignore", invalid="ignore"):
        pushes = np.maximum(towards * _dense(tree.user_weights, rows) * away, 0.0)
    return _normalised(pushes, sizes)


def _model_scores(models: LeafModels, index: Int64s, plain: Floats) -> tuple[Floats, int]:
    """Scores of the linear models of some leaves, and the power of two that they lack: 0 unless terms overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores: Floats = models.coef[index] @ plain + models.intercept[index]
    if np.isfinite(scores).all():
        return scores, 0
    low = np.ldexp(models.coef[index], -_HALF) @ np.ldexp(plain, -_HALF)
    return low + np.ldexp(models.intercept[index], -2 * _HALF), 2 * _HALF


def _add_leaf_models(tree: Tree, plain: Floats, reach: Floats, value: Floats, columns: Floats) -> None:
    """Add what the linear models of leaves change; ``value`` of a leaf whose model sees no column becomes its answer.

    The step from the leaf's class shares to the model's answer is shared in proportion to
    Σ_k |B_kj − mean_k B_kj|·|x_j − mean_j|; from its number to that of the model, in proportion to Σ_k |B_kj|·|x_j −
    mean_j|.
    """
    models = tree.leaf_models
    assert models is not None
    leaves = tree.leaves[reach[tree.leaves] > 0]
    index = tree.leaf_index[leaves]
    scores, exponent = _model_scores(models, index, plain)
    if tree.target == "numbers":
        low: Any = -MOST
        high: Any = MOST
        if models.low is not None and models.high is not None:
            low, high = models.low[index], models.high[index]
        with np.errstate(over="ignore"):
            answer = np.clip(np.ldexp(scores, exponent), low, high)
        effects = np.abs(models.coef[index]).sum(axis=1)
    else:
        with np.errstate(over="ignore"):
            answer = np.exp(np.ldexp(scores - scores.max(axis=1, keepdims=True), exponent))
        answer /= answer.sum(axis=1, keepdims=True)
        effects = np.abs(models.coef[index] - models.coef[index].mean(axis=1, keepdims=True)).sum(axis=1)
    spread, away = tree.column_spreads, _away(tree, plain)
    sizes = effects if spread is None else effects * spread
    otherwise = np.where(sizes.any(axis=1, keepdims=True), sizes, effects)
    with np.errstate(over="ignore"):
        shares = _normalised(sizes if away is None else effects * np.abs(away), otherwise)
    columns += shares.T @ (reach[leaves, None] * (answer - value[leaves]))
    is_constant = ~shares.any(axis=1)
    value[leaves[is_constant]] = answer[is_constant]
