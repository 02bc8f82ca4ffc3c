"""The oblique searches written plainly, to compare with."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

FLOOR = 1e-300


def soft_entropy(theta, X, y, w, classes, l2=0.0):
    """WODT's objective per unit of weight and its gradient; the last entry of theta is the bias."""
    z = X @ theta[:-1] + theta[-1]
    right, left = w * expit(z), w * expit(-z)
    side_r = np.bincount(y, right, classes)
    side_l = np.bincount(y, left, classes)
    bits_r = np.log2(np.maximum(side_r.sum(), FLOOR) / np.maximum(side_r, FLOOR))
    bits_l = np.log2(np.maximum(side_l.sum(), FLOOR) / np.maximum(side_l, FLOOR))
    total = w.sum()
    value = (side_r @ bits_r + side_l @ bits_l) / total + l2 / (2 * np.sqrt(total)) * theta[:-1] @ theta[:-1]
    slope = w * expit(z) * expit(-z) * (bits_r - bits_l)[y] / total
    gradient = np.append(slope @ X + l2 / np.sqrt(total) * theta[:-1], slope.sum())
    return value, gradient


def standardise(X, w=None):
    w = np.ones(len(X)) if w is None else w
    mean = np.average(X, axis=0, weights=w)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
    return (X - mean) / np.where(deviation > 0, deviation, np.inf)


def to_range(X):
    """Every column from its smallest to its largest value becomes [-1, 1]; a constant one 0."""
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    return (2 * X - low - high) / np.where(high > low, high - low, np.inf)


def published_node(X, y, start):
    """Minimise the objective of the WODT paper at one node by SciPy: columns in [-1, 1], then theta and bias."""
    Z, w = to_range(X), np.ones(len(y))
    return minimize(soft_entropy, start, (Z, y, w, y.max() + 1), jac=True, method="L-BFGS-B", options={"maxiter": 2000})


def _gain(criterion, right, left):
    return criterion.total(right + left) - criterion.total(right) - criterion.total(left)


def best_cut(scores, y, w, criterion):
    """Largest weighted drop over all thresholds of the scores; 0 if there is none."""
    best, classes = 0.0, y.max() + 1
    for threshold in np.unique(np.round(scores, 9))[:-1]:
        right = scores > threshold + 1e-9
        sides = [np.bincount(y[side], w[side], classes) for side in (right, ~right)]
        best = max(best, _gain(criterion, *sides))
    return best


def best_step(start, change, y, w, criterion):
    """Largest weighted drop over the hyperplanes start + step * change > 0."""
    moving = np.abs(change) > 1e-12
    crossings = np.unique(-start[moving] / change[moving])
    best = 0.0
    for step in (crossings[1:] + crossings[:-1]) / 2:
        right = start + step * change > 0
        if right.all() or not right.any():
            continue
        sides = [np.bincount(y[side], w[side], y.max() + 1) for side in (right, ~right)]
        best = max(best, _gain(criterion, *sides))
    return best


def reflections(Z, y, w):
    """For each class the columns of its Householder matrix; classes that are one point are left out."""
    for label in np.unique(y):
        rows, weight = Z[y == label], w[y == label]
        centred = rows - np.average(rows, axis=0, weights=weight)
        covariance = (weight[:, None] * centred).T @ centred / weight.sum()
        if np.trace(covariance) < 1e-20:
            continue
        u = np.linalg.eigh(covariance)[1][:, -1]
        u = u * np.sign(u[np.argmax(np.abs(u))])
        u[0] += -1 if u[0] < 0 else 1
        u /= np.linalg.norm(u)
        yield np.eye(len(u)) - 2 * np.outer(u, u)


def bound(theta, Z, y):
    """CO2's bound for unit weights, the sides' losses taken from the hard split."""
    scores, classes = Z @ theta[:-1] + theta[-1], y.max() + 1
    right = scores > 0
    prior, more = np.bincount(y, minlength=classes) / 100, len(y) / 100
    counts = [np.bincount(y[side], minlength=classes) for side in (right, ~right)]
    loss = [-np.log((count + prior) / (count.sum() + more)) for count in counts]
    return np.mean(np.maximum(scores + loss[0][y], -scores + loss[1][y]) - np.abs(scores))


SPREAD, SIDES, MASS, CUT = range(4)


def task_sums(wanted, Z, X, y, w, classes, vector, edges):
    """What a task of a pass brings for the rows of one leaf: Z is X scaled, classes those present."""
    if wanted == SPREAD:
        return np.concatenate([w @ Z, w @ Z**2])
    if wanted == SIDES:
        z = Z @ vector[:-1] + vector[-1]
        right, left = w * expit(z), w * expit(-z)
        with_one = np.column_stack([Z, np.ones(len(Z))])
        sums = [[]]
        for c in classes:
            mine = y == c
            sums += [[right[mine].sum(), left[mine].sum()], (right * expit(-z))[mine] @ with_one[mine]]
        return np.concatenate(sums)
    place = (np.asarray(X @ vector[:-1])[:, None] > edges).sum(axis=1)
    bins = len(edges) + 1
    if wanted == MASS:
        return np.bincount(place, w, bins)
    table = [[w[(place == b) & (y == c)].sum() for c in classes] for b in range(bins)]
    return np.concatenate([np.ravel(table), np.bincount(place, minlength=bins)])


def binned_cut(scores, y, w, criterion, bins, low, high):
    """Best cut in bins: threshold and weighted drop, or (None, -1).

    First 256 bins of equal width, then bins of about equal weight (made again, up to twice, while one of several
    classes is heavy), then bins of equal width between the neighbours of the best edge.
    """

    def count(edges):
        place = (scores[:, None] > edges).sum(axis=1)
        return np.stack([np.bincount(place[y == c], w[y == c], len(edges) + 1) for c in range(y.max() + 1)], axis=1)

    def quantiles(edges, mass):
        ends = np.concatenate([[low], edges, [high]])
        up_to = np.concatenate([[0], np.cumsum(mass)])
        full = np.flatnonzero(mass)
        found = []
        for wanted in np.arange(1, bins) / bins * mass.sum():
            b = full[np.searchsorted(up_to[full + 1], wanted * (1 - 1e-12))]
            found.append(ends[b] + (ends[b + 1] - ends[b]) * (wanted - up_to[b]) / mass[b])
        return np.array(found), ends[full[0]], ends[full[-1] + 1]

    edges = low + (high - low) * np.arange(1, 256) / 256
    edges, low, high = quantiles(edges, count(edges).sum(axis=1))
    best, cuts = (None, -1.0), 0
    while True:
        table = count(edges)
        tried = [_gain(criterion, table[i:].sum(axis=0), table[:i].sum(axis=0)) for i in range(1, len(table))]
        full = np.flatnonzero(table.sum(axis=1))
        i = int(np.argmax(np.round(tried, 9)))  # the first of equal ones
        left, right = full[full <= i][-1], full[full > i][0]
        if tried[i] >= best[1] - 1e-9:
            best = (edges[left] + edges[right - 1]) / 2, tried[i]
        cuts += 1
        if cuts == 4:
            return best
        mixed = table.sum(axis=1)[(table > 0).sum(axis=1) > 1]
        if cuts < 3 and (mixed * bins > 8 * w.sum()).any():
            edges, low, high = quantiles(edges, table.sum(axis=1))
            continue
        cuts = 3
        ends = np.concatenate([[low], edges, [high]])
        edges = ends[left] + (ends[right + 1] - ends[left]) * np.arange(1, bins) / bins
