"""How much each column took part in making a tree's leaves purer."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from boscage.tree import LINEAR, Floats, Tree


def impurity_drops(tree: Tree) -> Floats:
    """Weighted drop of impurity at each inner node, 0 at leaves, as a share of the total training weight."""
    # Weights below 1, impurity below 2^1000: products and sums of the largest numbers stay finite.
    exponent = int(np.frexp(tree.weighted_n_node_samples[0])[1])
    weight = np.ldexp(np.minimum(tree.weighted_n_node_samples, tree.weighted_n_node_samples[0]), -exponent)
    mass = weight * np.minimum(tree.impurity, 2.0**1000)
    inner = np.flatnonzero(~tree.is_leaf)
    drops = np.zeros(tree.node_count)
    drops[inner] = mass[inner] - mass[tree.children_left[inner]] - mass[tree.children_right[inner]]
    total = weight[0]
    return np.maximum(drops, 0.0) / total if total > 0 else drops


def feature_importances(tree: Tree) -> Floats:
    """Share of each column in the total drop of impurity, normalised to 1 (all 0 if nothing dropped).

    An axis or category test gives its whole drop to its column; a linear test shares it among its columns in
    proportion to |θ_j|·sd_j (:attr:`boscage.tree.Tree.term_sizes`).
    """
    drops = impurity_drops(tree)
    drops = np.ldexp(drops, -int(np.frexp(drops.max())[1]))  # shares have no units
    axis = tree.feature >= 0
    importances = np.bincount(tree.feature[axis], weights=drops[axis], minlength=tree.n_features).astype(np.float64)
    linear = tree.feature == LINEAR
    if linear.any():
        sizes: Any = _scaled_rows(tree.term_sizes)
        totals = np.asarray(sizes.sum(axis=1)).ravel()
        share = np.bincount(tree.linear_row[linear], weights=drops[linear], minlength=len(totals))
        share = np.divide(share, totals, out=np.zeros_like(share), where=totals > 0)
        importances += sizes.T @ share if sparse.issparse(sizes) else share @ sizes
    total = importances.sum()
    return importances / total if total > 0 else importances


def _scaled_rows(sizes: Any) -> Any:
    """Divide each row by a power of two near its total, so that no quotient or product leaves the range of floats."""
    exponent = -np.frexp(np.asarray(sizes.sum(axis=1)).ravel())[1]
    if not sparse.issparse(sizes):
        return np.ldexp(sizes, exponent[:, None])
    data = np.ldexp(sizes.data, np.repeat(exponent, np.diff(sizes.indptr)))
    return sparse.csr_array((data, sizes.indices, sizes.indptr), shape=sizes.shape)
