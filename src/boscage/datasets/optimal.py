"""Synthetic data and weights on which weighted optimal trees are compared.

References
----------
Shar, Lécuyer: Weighted optimal decision trees, sections 3.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from boscage.base.numbers import check_number

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


def make_linear_with_errors(
    n_samples: int = 1500,
    n_features: int = 2,
    n_classes: int = 2,
    p_wrong: float = 0.25,
    random_state: Any = None,
) -> tuple[Floats, Labels]:
    """Boxes along the diagonal, one per class, with a fraction of wrong labels (LSE).

    Column j is cut into ``n_classes`` neighbouring ranges of one width (3, 4 or 5), from a start in [−10, 0]; a row of
    class c is uniform on the c-th range of every column. A share ``p_wrong`` of the rows gets one of the other labels.
    Labels are pure noise at p_wrong = (n_classes − 1) / n_classes; with two classes p_wrong = 1 is separable again.

    Parameters
    ----------
    n_samples : int, default=1500
        Number of rows, at least 1.
    n_features : int, default=2
        Number of columns, at least 1.
    n_classes : int, default=2
        Number of classes, at least 2.
    p_wrong : float, default=0.25
        Share of wrong labels, in [0, 1].
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of int64 of shape (n_samples,)
        Labels 0..n_classes − 1.

    Examples
    --------
    >>> from boscage.datasets import make_linear_with_errors
    >>> X, y = make_linear_with_errors(100, p_wrong=0.1, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 2), [0, 1])
    """
    for name, value, low in (("n_samples", n_samples, 1), ("n_features", n_features, 1), ("n_classes", n_classes, 2)):
        check_number(name, value, f"an integer >= {low}", low, whole=True)
    check_number("p_wrong", p_wrong, "a share in [0, 1]", 0, 1)
    random = check_random_state(random_state)
    start = random.uniform(-10, 0, n_features)
    width = np.rint(random.uniform(3, 5, n_features))
    n_wrong = int(np.floor(p_wrong * n_samples + 1e-9))
    parts = [np.arange(count) % n_classes for count in (n_samples - n_wrong, n_wrong)]
    box = np.concatenate(parts)
    X = start + (box[:, None] + random.random_sample((n_samples, n_features))) * width
    y = box.copy()
    y[n_samples - n_wrong :] += random.randint(1, n_classes, n_wrong)
    order = random.permutation(n_samples)
    return X[order], (y[order] % n_classes).astype(np.int64)


def make_three_spheres(
    n_samples: int = 1500,
    n_features: int = 2,
    labels: Sequence[int] = (1, 0, 1),
    center: npt.ArrayLike = 0.0,
    random_state: Any = None,
) -> tuple[Floats, Labels]:
    """Points on three concentric spheres of radius 1, 2 and 3, a third on each.

    Parameters
    ----------
    n_samples : int, default=1500
        Number of rows, at least 1.
    n_features : int, default=2
        Number of columns, at least 1.
    labels : sequence of three int, default=(1, 0, 1)
        Labels of the inner, middle and outer sphere.
    center : float or array-like of shape (n_features,), default=0
        The centre.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of int64 of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from boscage.datasets import make_three_spheres
    >>> X, y = make_three_spheres(6, random_state=0)
    >>> np.sort(np.linalg.norm(X, axis=1).round(6)).tolist()
    [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    """
    check_number("n_samples", n_samples, "an integer >= 1", 1, whole=True)
    check_number("n_features", n_features, "an integer >= 1", 1, whole=True)
    if len(labels) != 3:
        raise ValueError(f"labels={labels!r} is not allowed. Pass the labels of the three spheres.")
    random = check_random_state(random_state)
    sphere = random.permutation(np.arange(n_samples) % 3)
    X = _directions(random, n_samples, n_features) * (sphere[:, None] + 1.0)
    return X + np.asarray(center, dtype=np.float64), np.asarray(labels, dtype=np.int64)[sphere]


def make_four_spheres(
    n_samples: int = 1500, n_features: int = 2, labels: Sequence[int] = (1, 0, 1), random_state: Any = None
) -> tuple[Floats, Labels]:
    """Four sets of three spheres, a quarter of the points each, centred in four corners of [−10, 10]^d.

    The centres are (−10, …), (10, …) and the two whose first half has the opposite sign of the second.

    Parameters
    ----------
    n_samples : int, default=1500
        Number of rows, at least 1.
    n_features : int, default=2
        Number of columns, at least 2.
    labels : sequence of three int, default=(1, 0, 1)
        Labels of the inner, middle and outer spheres.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of int64 of shape (n_samples,)

    Examples
    --------
    >>> from boscage.datasets import make_four_spheres
    >>> X, y = make_four_spheres(400, random_state=0)
    >>> ((X > 0) == [True, False]).all(axis=1).sum()
    np.int64(100)
    """
    check_number("n_samples", n_samples, "an integer >= 1", 1, whole=True)
    check_number("n_features", n_features, "an integer >= 2", 2, whole=True)
    random = check_random_state(random_state)
    first = np.arange(n_features) < n_features // 2
    centers = 10.0 * np.array(
        [-np.ones(n_features), np.ones(n_features), np.where(first, 1, -1), np.where(first, -1, 1)]
    )
    corner = random.permutation(np.arange(n_samples) % 4)
    X, y = np.empty((n_samples, n_features)), np.empty(n_samples, np.int64)
    for c in range(4):
        here = np.flatnonzero(corner == c)
        if len(here):
            X[here], y[here] = make_three_spheres(len(here), n_features, labels, centers[c], random)
    return X, y


def bias_class_weights(y: npt.ArrayLike, label: Any = 1, value: float = 3.0) -> Floats:
    """Return sample weights: ``value`` for the rows of one class, 1 for the others.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    label : label, default=1
        The class that weighs more; must occur.
    value : float, default=3
        Its weight, > 0.

    Examples
    --------
    >>> from boscage.datasets import bias_class_weights
    >>> bias_class_weights([0, 1, 1], label=1, value=3)
    array([1., 3., 3.])
    """
    check_number("value", value, "a weight > 0", 0, above=True)
    chosen = np.asarray(y) == label
    if not np.any(chosen):
        raise ValueError(f"label={label!r} does not occur in y. Pass one of its labels.")
    return np.where(chosen, float(value), 1.0)


def bias_error_weights(y: npt.ArrayLike, predicted: npt.ArrayLike, value: float = 3.0) -> Floats:
    """Return sample weights: ``value`` for the rows that an unweighted model got wrong, 1 for the others.

    Parameters
    ----------
    y, predicted : array-like of shape (n,)
        Labels, and the labels an unweighted model predicted for the same rows.
    value : float, default=3
        Weight of the mistakes, > 0.

    Examples
    --------
    >>> from boscage.datasets import bias_error_weights
    >>> bias_error_weights([0, 1, 1], [0, 0, 1], value=3)
    array([1., 3., 1.])
    """
    check_number("value", value, "a weight > 0", 0, above=True)
    truth, guess = np.asarray(y), np.asarray(predicted)
    if truth.shape != guess.shape or truth.ndim != 1:
        raise ValueError(f"y has shape {truth.shape} and predicted {guess.shape}. Pass two lists of the same length.")
    return np.where(truth != guess, float(value), 1.0)


def _directions(random: np.random.RandomState, n: int, d: int) -> Floats:
    """Uniform on the unit sphere."""
    X = random.normal(size=(n, d))
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1.0)
