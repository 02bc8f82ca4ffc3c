r"""The examples of Kearns and Mansour in which no tree can be small, as exact computations and as rows to fit.

*Majority*: n fair bits, the class is that of most of them, a test asks for one bit. Every test has an edge of about
1/√(2πn) at the root, and at least 1/(2n) anywhere, yet the tree must be exponential in n.
*One weak test*: a single random test that is right with probability ½ + γ, drawn anew at each node. A tree over it can
do nothing but count votes, so its size must be (1/ε)^{c/γ²}.

Leaves of equal state are alike, so `TopDown` is run on counts of states: exact, and without rows.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from boscage.theory._forms import Floats, within
from boscage.theory.edges import criterion_of

_State = tuple[int, int]
CURVE = np.dtype([("splits", np.int64), ("potential", np.float64), ("error", np.float64)])
"""One entry after each run of equal splits: how many were made, the potential and the error."""


def majority_rows(n: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return all 2ⁿ rows of n bits, labelled by their majority.

    Parameters
    ----------
    n : int
        Number of bits, odd and at most 19.

    Returns
    -------
    X : ndarray of shape (2ⁿ, n)
        The rows.
    y : ndarray of int64 of shape (2ⁿ,)
        1 where most bits are 1.

    Examples
    --------
    >>> from boscage.theory import majority_rows
    >>> X, y = majority_rows(3)
    >>> X.shape, y.tolist()
    ((8, 3), [0, 0, 0, 1, 0, 1, 1, 1])
    """
    if not (1 <= n <= 19 and n % 2):
        raise ValueError(f"n={n!r} is not allowed. Pass an odd number from 1 to 19.")
    X = np.array(list(itertools.product((0.0, 1.0), repeat=n)))
    return X, (X.sum(axis=1) > n / 2).astype(np.int64)


def majority_curve(n: int, splits: int, criterion: Any = "sqrt") -> npt.NDArray[np.void]:
    """Potential and error of a top-down tree for the majority of n bits, computed exactly.

    Parameters
    ----------
    n : int
        Number of bits, odd.
    splits : int
        Maximum number of splits.
    criterion : str or Criterion, default="sqrt"
        The criterion, normalised to G(½) = 1.

    Returns
    -------
    structured ndarray
        ``splits`` (made so far), ``potential`` and ``error``. Equal splits are made in one step, and the last entry may
        have fewer than ``splits`` splits.

    Examples
    --------
    >>> from boscage.theory import majority_curve
    >>> majority_curve(3, 10)["error"].tolist()
    [0.5, 0.0]
    """
    if n < 1 or n % 2 == 0:
        raise ValueError(f"n={n!r} is not allowed. Pass an odd number.")

    def masses(state: _State) -> tuple[float, float]:
        asked, ones = state
        rest, needed = n - asked, (n + 1) // 2 - ones
        above = float(stats.binom.sf(needed - 1, rest, 0.5))
        below = float(stats.binom.cdf(needed - 1, rest, 0.5))
        return math.ldexp(below, -asked), math.ldexp(above, -asked)

    def children(state: _State) -> tuple[_State, _State] | None:
        asked, ones = state
        return None if asked == n else ((asked + 1, ones), (asked + 1, ones + 1))

    return _grow((0, 0), masses, children, splits, criterion)


def weak_test_rows(edge: float) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return two rows on which the best stochastic test has the edge γ: 2γ of class 1 and −2γ of class 0.

    The test w = 1 sends a row right with probability (1 + x)/2. Fit the rows with
    ``StochasticLinear(scale=False, fit_intercept=False)``.

    Parameters
    ----------
    edge : float
        γ, in (0, ½].

    Returns
    -------
    X : ndarray of shape (2, 1)
        The rows.
    y : ndarray of int64 of shape (2,)
        Their classes.

    Examples
    --------
    >>> from boscage.theory import weak_test_rows
    >>> weak_test_rows(0.1)[0].tolist()
    [[-0.2], [0.2]]
    """
    gamma = within("edge", edge, 0, 0.5)
    return np.array([[-2 * gamma], [2 * gamma]]), np.array([0, 1])


def weak_test_curve(edge: float, splits: int, criterion: Any = "sqrt") -> npt.NDArray[np.void]:
    """Potential and error of a top-down tree that uses one weak test at every node, computed exactly.

    Parameters
    ----------
    edge : float
        γ, in (0, ½]: the test is right with probability ½ + γ, whatever the row.
    splits : int
        Maximum number of splits.
    criterion : str or Criterion, default="sqrt"
        The criterion, normalised to G(½) = 1.

    Returns
    -------
    structured ndarray
        ``splits`` (made so far), ``potential`` and ``error``. Equal splits are made in one step, and the last entry may
        have fewer than ``splits`` splits.

    Examples
    --------
    >>> from boscage.theory import weak_test_curve
    >>> weak_test_curve(0.25, 3)["potential"].round(4).tolist()
    [1.0, 0.866, 0.808, 0.75]
    """
    gamma = within("edge", edge, 0, 0.5)
    good, bad = math.log(0.5 + gamma), math.log(0.5 - gamma) if gamma < 0.5 else -math.inf

    def masses(state: _State) -> tuple[float, float]:
        right, left = state
        if gamma == 0.5:
            return 0.5 * (right == 0), 0.5 * (left == 0)
        return 0.5 * math.exp(left * good + right * bad), 0.5 * math.exp(right * good + left * bad)

    def children(state: _State) -> tuple[_State, _State]:
        right, left = state
        return (right, left + 1), (right + 1, left)

    return _grow((0, 0), masses, children, splits, criterion)


def weak_test_error(edge: float, depth: int) -> float:
    """Error of a full tree that uses one weak test at every node: a majority vote of the tests on the path.

    Ties are decided at random. No tree of that depth over this test has a smaller error, so a tree of error ε has a
    depth of order ln(1/ε)/γ².

    Parameters
    ----------
    edge : float
        γ, in (0, ½]: the test is right with probability ½ + γ, whatever the row.
    depth : int
        Depth of the tree, at least 0.

    Returns
    -------
    float

    Examples
    --------
    >>> from boscage.theory import weak_test_error
    >>> weak_test_error(0.25, 1), weak_test_error(0.25, 3)
    (0.25, 0.15625)
    """
    gamma = within("edge", edge, 0, 0.5)
    if depth < 0:
        raise ValueError(f"depth={depth!r} is not allowed. Pass a number from 0.")
    p = 0.5 - gamma
    tie = float(stats.binom.pmf(depth // 2, depth, p)) / 2 if depth % 2 == 0 else 0.0
    return float(stats.binom.sf(depth // 2, depth, p)) + tie


def _grow(
    root: _State,
    masses: Callable[[_State], tuple[float, float]],
    children: Callable[[_State], tuple[_State, _State] | None],
    splits: int,
    criterion: Any,
) -> npt.NDArray[np.void]:
    """Run TopDown on counts of equal leaves, which are split together.

    A child can be worth more than its parent's twins. The curve then has a point only once those are done too: there
    every leaf worth the least drop so far, or more, has been split, as in the tree.
    """
    part = criterion_of(None, criterion)

    @cache
    def sides_of(state: _State) -> tuple[Floats, float]:
        pair = children(state)
        if pair is None:
            return np.zeros((2, 2)), 0.0
        sides = np.array([masses(side) for side in pair])
        return sides, float(part.split_drop(sides[1], sides[0])) / part.unit

    start = np.array(masses(root))
    potential, error = float(part.total(start)) / part.unit, float(start.min())
    curve, counts, heap = [(0, potential, error)], {root: 1}, [(-sides_of(root)[1], root)]
    done, least = 0, math.inf
    while heap and heap[0][0] < -1e-300:
        drop, state = heapq.heappop(heap)
        sides, pair = sides_of(state)[0], children(state) or ()
        taken = counts.pop(state)
        if done + taken > splits:
            if any(-drop < sides_of(side)[1] for side in pair):
                break
            taken = splits - done
        done += taken
        least = min(least, -drop)
        potential += taken * drop
        error -= taken * float(sides.sum(axis=0).min() - sides.min(axis=1).sum())
        for side in pair:
            if side not in counts:
                heapq.heappush(heap, (-sides_of(side)[1], side))
            counts[side] = counts.get(side, 0) + taken
        if not heap or -heap[0][0] <= least:
            curve.append((done, max(potential, 0.0), max(error, 0.0)))
        if done >= splits:
            break
    return np.array(curve, CURVE)
