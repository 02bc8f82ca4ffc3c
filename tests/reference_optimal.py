"""Exhaustive search for optimal trees: every split of every column, nothing pruned. The specification."""

import numpy as np


def leaf_error(weights, labels, classes):
    """Weight that the best single label gets wrong."""
    return weights.sum() - np.bincount(labels, weights, classes).max()


def stump_cost(X, labels, weights, classes, penalty):
    """Least error + penalty * leaves of a tree of depth at most one, all cuts of a column at once."""
    best = leaf_error(weights, labels, classes) + penalty
    onehot = np.zeros((len(labels), classes))
    onehot[np.arange(len(labels)), labels] = weights
    for column in X.T:
        order = np.argsort(column, kind="stable")
        left = np.cumsum(onehot[order], axis=0)
        cuts = np.flatnonzero(column[order][1:] != column[order][:-1])
        if len(cuts):
            right = left[-1] - left[cuts]
            right_ones = left[cuts].max(axis=1) + right.max(axis=1)
            best = min(best, weights.sum() - right_ones.max() + 2 * penalty)
    return best


def best_cost(X, labels, weights, classes, penalty, depth):
    """Least weighted error + penalty * leaves over all trees of at most this depth."""
    best = leaf_error(weights, labels, classes) + penalty
    if depth == 0 or len(labels) < 2:
        return best
    if depth == 1:
        return stump_cost(X, labels, weights, classes, penalty)
    for column in X.T:
        for value in np.unique(column)[:-1]:
            left = column <= value
            cost = sum(
                best_cost(X[side], labels[side], weights[side], classes, penalty, depth - 1) for side in (left, ~left)
            )
            best = min(best, cost)
    return best


def optimal_objective(X, labels, weights, alpha, depth):
    """Weighted error share + alpha * leaves of the best tree."""
    total = weights.sum()
    return best_cost(X, labels, weights, int(labels.max()) + 1, alpha * total, depth) / total


def tree_objective(result, labels, weights, alpha):
    """The same for a returned tree, from the leaf of every row."""
    leaves = np.unique(result["leaf"])
    wrong = sum(
        leaf_error(weights[result["leaf"] == leaf], labels[result["leaf"] == leaf], int(labels.max()) + 1)
        for leaf in leaves
    )
    return wrong / weights.sum() + alpha * len(leaves)
