"""Slow, obvious growing: what the engine must have done, checked node by node.

`Growth` holds the training rows of every node of a fitted hard tree; `candidates` lists every axis test a node could
have asked. A fitted tree is right if each of its tests is one of the best, its numbers are recounts, its leaves are
leaves for a reason, and its splits were made in the promised order.
"""

from __future__ import annotations

import itertools

import numpy as np

from boscage.criteria import Poisson, Tweedie
from boscage.data.weights import snap_weights

TOLERANCE = 1e-9


def goes_left(tree, node, X):
    """Which rows a hard axis or category test sends left."""
    column = X[:, tree.feature[node]].astype(np.float64)
    missing = np.isnan(column)
    if tree.category_offset[node] >= 0:
        start, count = tree.category_offset[node], tree.schema.n_categories[tree.feature[node]]
        bits = [(tree.category_bits[start + c // 8] >> (c % 8)) & 1 for c in range(count)]
        left = np.array([bool(bits[int(v)]) if not np.isnan(v) else False for v in column])
    else:
        left = column <= tree.threshold[node]
    return np.where(missing, tree.missing_go_to_left[node], left)


def node_rows(tree, X):
    """Rows of every node, from the root down."""
    rows = {0: np.arange(len(X))}
    for node in range(tree.node_count):
        if tree.children_left[node] >= 0:
            left = goes_left(tree, node, X[rows[node]])
            rows[tree.children_left[node]] = rows[node][left]
            rows[tree.children_right[node]] = rows[node][~left]
    return rows


def class_weights(y, w, n_classes):
    return np.array([w[y == k].sum() for k in range(n_classes)])


def thresholds(column):
    """Every way to divide a numeric column: masks of the left side."""
    values = np.unique(column[~np.isnan(column)])
    missing = np.isnan(column)
    for low in values[:-1]:
        yield (column <= low) & ~missing
        if missing.any():
            yield (column <= low) | missing
    if missing.any() and len(values):
        yield ~missing


def subsets(column):
    """Every way to divide the categories (missing is one more) into two non-empty sets."""
    codes = np.where(np.isnan(column), -1, column)
    present = np.unique(codes)
    for size in range(1, len(present)):
        for chosen in itertools.combinations(present, size):
            yield np.isin(codes, chosen)


def candidates(X, n_categories, min_rows, min_weight, w):
    """All valid left masks of a node."""
    for j in range(X.shape[1]):
        masks = subsets(X[:, j]) if n_categories[j] else thresholds(X[:, j].astype(np.float64))
        for left in masks:
            rows = min(left.sum(), (~left).sum())
            weight = min(w[left].sum(), w[~left].sum())
            if rows >= max(1, min_rows) and weight >= min_weight:
                yield left


class ClassRows:
    """Classes of training rows, and what a criterion says about any of them."""

    def __init__(self, y, w, criterion, n_classes):
        self.y, self.w, self.criterion, self.n_classes = np.asarray(y), w, criterion, n_classes

    def sums(self, rows):
        return class_weights(self.y[rows], self.w[rows], self.n_classes)

    def value(self, rows):
        return self.sums(rows) / self.sums(rows).sum()

    def potential(self, rows):
        return float(self.criterion.total(self.sums(rows)))

    def is_mixed(self, rows):
        return np.count_nonzero(self.sums(rows)) > 1

    def gain(self, right, left):
        """Gain of a test, None if it is not valid."""
        return float(self.criterion.split_gain(self.sums(right), self.sums(left)))


class NumberRows(ClassRows):
    """The same for numbers."""

    def __init__(self, y, w, criterion):
        super().__init__(y, w, criterion, 0)
        self.y = self.y.reshape(len(self.y), -1)

    def value(self, rows):
        return np.atleast_1d(self.criterion.value(self.y[rows], self.w[rows]))

    def potential(self, rows):
        return self.criterion.impurity(self.y[rows], self.w[rows]) * self.w[rows].sum()

    def is_mixed(self, rows):
        return (self.y[rows] != self.y[rows][0]).any()

    def gain(self, right, left):
        if isinstance(self.criterion, (Poisson, Tweedie)) and not (self.y[right].any() and self.y[left].any()):
            return None
        return self.potential(np.concatenate([right, left])) - self.potential(right) - self.potential(left)


def best_gain(X, target, here, n_categories, min_rows=1, min_weight=0.0):
    """Largest gain over all valid tests of the rows ``here``, None if there is none."""
    gains = [
        target.gain(here[~left], here[left])
        for left in candidates(X, n_categories, min_rows, min_weight, target.w[here])
    ]
    return max((gain for gain in gains if gain is not None), default=None)


def mix(z):
    """The finaliser of splitmix64."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def column_order(seed, path, n_columns):
    """All columns in the random order in which a node with this path looks at them."""
    golden = 0x9E3779B97F4A7C15
    start = mix((mix(seed ^ 0x636F6C756D6E73) + golden) % 2**64) ^ path
    return sorted(range(n_columns), key=lambda j: mix((mix(start) + golden * (j + 1)) % 2**64))


def sampled_columns(X, w, n_categories, order, max_features, min_rows=1, min_weight=0.0):
    """Columns that a node looks at: max_features that are not constant, and more until one has a valid test."""
    varying, found = [], False
    for j in order:
        if len(varying) >= max_features and found:
            break
        if len(np.unique(X[:, j])) > 1:  # all missing values count as one
            varying.append(j)
            found |= any(True for _ in candidates(X[:, [j]], n_categories[[j]], min_rows, min_weight, w))
    return sorted(varying)


def paths(tree):
    """Path of every node: 1 for the root, 2p for the left child of p, 2p + 1 for its right child."""
    path = {0: 1}
    for node in np.flatnonzero(tree.children_left >= 0):
        path[tree.children_left[node]], path[tree.children_right[node]] = 2 * path[node], 2 * path[node] + 1
    return path


def check_grown(tree, X, y, w, criterion, order="best_first", min_split=2, sample=None, tolerance=1e-12, **limits):
    """Raise AssertionError unless the tree is what slow growing could have made.

    ``sample``: (seed, max_features) of trees that look at some columns only.
    """
    n_categories = tree.schema.n_categories
    X, w = np.asarray(X), np.ones(len(X)) if w is None else np.asarray(w, float)
    keep = w > 0
    X, y, w = X[keep], np.asarray(y)[keep], snap_weights(w[keep])
    target = NumberRows(y, w, criterion) if tree.target == "numbers" else ClassRows(y, w, criterion, tree.n_classes)
    rows, best, gain = node_rows(tree, X), {}, {}
    size, unit = np.abs(tree.value).max(), target.potential(np.arange(len(X)))
    max_depth, max_leaves = limits.pop("max_depth", None), limits.pop("max_leaf_nodes", None)
    for node, here in rows.items():
        weight = w[here].sum()
        assert tree.n_node_samples[node] == len(here)
        np.testing.assert_allclose(tree.weighted_n_node_samples[node], weight, rtol=1e-12)
        np.testing.assert_allclose(tree.value[node], target.value(here), atol=tolerance * size)
        impurity = target.potential(here) / weight
        np.testing.assert_allclose(tree.impurity[node], impurity, atol=tolerance * max(1.0, unit / w.sum()))
        best[node] = None
        is_deep = max_depth is not None and tree.depth[node] >= max_depth
        if target.is_mixed(here) and not is_deep and len(here) >= min_split:
            columns = list(range(X.shape[1]))
            if sample is not None:
                columns = column_order(sample[0], paths(tree)[node], X.shape[1])
                columns = sampled_columns(X[here], w[here], n_categories, columns, sample[1], **limits)
                assert tree.feature[node] in [-1, *columns]
            best[node] = best_gain(X[np.ix_(here, columns)], target, here, n_categories[columns], **limits)
        if tree.children_left[node] >= 0:
            gain[node] = target.gain(rows[tree.children_right[node]], rows[tree.children_left[node]])
            assert best[node] is not None
            assert gain[node] >= best[node] - TOLERANCE * target.potential(here), (node, gain[node], best[node])
        elif max_leaves is None:
            assert best[node] is None, f"node {node} could be split"
    check_order(tree, best, order, max(w.sum(), unit))
    if max_leaves is not None:
        assert tree.n_leaves <= max_leaves
        assert tree.n_leaves == max_leaves or all(best[leaf] is None for leaf in tree.leaves)


def check_order(tree, best, order, total):
    """The i-th split makes nodes 2i + 1 and 2i + 2, and takes the leaf the order of growth says."""
    inner = np.flatnonzero(tree.children_left >= 0)
    splits = inner[np.argsort(tree.children_left[inner])]
    open_leaves = [0]
    for i, node in enumerate(splits):
        assert tree.children_left[node] == 2 * i + 1
        assert tree.children_right[node] == 2 * i + 2
        can = [leaf for leaf in open_leaves if best[leaf] is not None]
        if order == "best_first":
            assert best[node] >= max(best[leaf] for leaf in can) - TOLERANCE * total
        elif order == "heaviest_first":
            heaviest = max(tree.weighted_n_node_samples[leaf] for leaf in can)
            assert tree.weighted_n_node_samples[node] >= heaviest * (1 - 1e-12)
        else:
            assert node == can[-1], "depth first: the newest open leaf, left before right"
        open_leaves.remove(node)
        open_leaves += [2 * i + 2, 2 * i + 1]
