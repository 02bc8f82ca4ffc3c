"""The oblique searches written plainly, to compare with."""

import numpy as np
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
