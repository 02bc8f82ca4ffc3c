"""Unit vectors labelled by hyperplanes: the artificial problems of the stochastic tree paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

__all__ = ["make_hyperplane", "make_xor"]


def make_hyperplane(
    n_samples: int = 1000, n_features: int = 2, noise: float = 0.0, random_state: Any = None
) -> tuple[Floats, Labels]:
    """Random unit vectors, labelled by the side of a random plane through the origin.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_features : int, default=2
        Number of columns.
    noise : float, default=0.0
        Probability that a label is flipped.
    random_state : int, RandomState or None, default=None
        Seed.

    Examples
    --------
    >>> from boscage.datasets import make_hyperplane
    >>> X, y = make_hyperplane(5, 3, random_state=0)
    >>> X.shape, y.shape
    ((5, 3), (5,))
    """
    rng = check_random_state(random_state)
    w = rng.normal(size=n_features)
    X = _unit_rows(rng, n_samples, n_features)
    return X, ((X @ w > 0) ^ (rng.uniform(size=n_samples) < noise)).astype(np.int64)


def make_xor(
    n_samples: int = 1000, n_features: int = 2, planes: int | None = None, random_state: Any = None
) -> tuple[Floats, Labels]:
    """Random unit vectors, labelled by the parity of the sides of several planes through the origin.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_features : int, default=2
        Number of columns.
    planes : int or None, default=None
        Number of random planes; None takes the two perpendicular ones (1, …, 1) and (−1, …, −1, 1, …, 1).
    random_state : int, RandomState or None, default=None
        Seed.

    Examples
    --------
    >>> from boscage.datasets import make_xor
    >>> X, y = make_xor(1000, 6, random_state=0)
    >>> bool(0.4 < y.mean() < 0.6)
    True
    """
    rng = check_random_state(random_state)
    if planes is None:
        W = np.stack([np.ones(n_features), np.where(np.arange(n_features) < n_features // 2, -1.0, 1.0)])
    else:
        W = rng.normal(size=(planes, n_features))
    X = _unit_rows(rng, n_samples, n_features)
    return X, ((X @ W.T > 0).sum(axis=1) % 2).astype(np.int64)


def _unit_rows(rng: Any, n: int, d: int) -> Floats:
    X = rng.normal(size=(n, d))
    result: Floats = X / np.linalg.norm(X, axis=1, keepdims=True)
    return result
