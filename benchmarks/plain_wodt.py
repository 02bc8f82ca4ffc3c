"""WODT as one would write it with NumPy and SciPy: the same objective, optimiser and cut, one node at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def objective(theta: Any, X: Any, onehot: Any, l2: float) -> tuple[float, Any]:
    """Entropy of two soft sides per row, with the penalty, and its gradient; the bias is the last entry."""
    right = expit(X @ theta[:-1] + theta[-1])
    sides = right @ onehot, (1 - right) @ onehot
    with np.errstate(divide="ignore"):
        bits = [np.log2(side.sum() / np.maximum(side, 1e-300)) for side in sides]
    value = sum(side @ bit for side, bit in zip(sides, bits)) / len(X)
    slope = right * (1 - right) * (onehot @ (bits[0] - bits[1])) / len(X)
    penalty = l2 / np.sqrt(len(X)) * theta[:-1]
    return value + penalty @ theta[:-1] / 2, np.append(slope @ X + penalty, slope.sum())


def best_cut(scores: Any, onehot: Any) -> float:
    """Threshold of the largest information gain along the scores."""
    order = np.argsort(scores)
    left = np.cumsum(onehot[order], axis=0)[:-1]
    right = onehot.sum(axis=0) - left
    with np.errstate(divide="ignore", invalid="ignore"):
        left_bits = -np.where(left > 0, left * np.log2(left / left.sum(axis=1, keepdims=True)), 0).sum(axis=1)
        right_bits = -np.where(right > 0, right * np.log2(right / right.sum(axis=1, keepdims=True)), 0).sum(axis=1)
    s = scores[order]
    cost = np.where(s[1:] > s[:-1], left_bits + right_bits, np.inf)
    at = int(np.argmin(cost))
    return (s[at] + s[at + 1]) / 2 if np.isfinite(cost[at]) else np.inf


class PlainWODT:
    """Grow to purity; predict by walking node by node with all its rows."""

    def __init__(self, l2: float = 0.0, seed: int = 0) -> None:
        self.l2, self.rng = l2, np.random.default_rng(seed)

    def fit(self, X: Any, y: Any) -> PlainWODT:
        """Scale the columns and grow."""
        self.mean, self.scale = X.mean(axis=0), np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
        self.n_nodes = 0
        self.root = self._grow((X - self.mean) / self.scale, np.eye(int(y.max()) + 1)[y])
        return self

    def _grow(self, X: Any, onehot: Any) -> Any:
        counts = onehot.sum(axis=0)
        if np.count_nonzero(counts) == 1 or (X[0] == X).all():
            return int(counts.argmax())
        self.n_nodes += 1
        start = self.rng.normal(size=X.shape[1] + 1) / np.sqrt(X.shape[1] + 1)
        options = {"maxiter": 100, "ftol": 1e-5}
        theta = minimize(objective, start, (X, onehot, self.l2), jac=True, method="L-BFGS-B", options=options).x
        scores = X @ theta[:-1]
        threshold = best_cut(scores, onehot)
        right = scores > threshold
        if right.all() or not right.any():
            return int(counts.argmax())
        return theta[:-1], threshold, self._grow(X[~right], onehot[~right]), self._grow(X[right], onehot[right])

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy."""
        out = np.empty(len(X), dtype=int)
        self._walk(self.root, (X - self.mean) / self.scale, np.arange(len(X)), out)
        return float((out == y).mean())

    def _walk(self, node: Any, X: Any, rows: Any, out: Any) -> None:
        if isinstance(node, int):
            out[rows] = node
            return
        theta, threshold, left, right = node
        goes_right = X[rows] @ theta > threshold
        self._walk(left, X, rows[~goes_right], out)
        self._walk(right, X, rows[goes_right], out)
