r"""The domain of the weighted Gini index of a stochastic split, and its partition into cells (Theorem 6.3).

A node has a share ρ of class 1. A split that sends a share p of the weight right, and q of class 1, leaves the weighted
Gini index

.. math:: \mathrm{WGI}(p, q) = 4 \Bigl(\rho - \frac{q^2}{p} - \frac{(\rho - q)^2}{1 - p}\Bigr).

The pairs (p, q) that a split can have form the domain R: max(0, p + ρ − 1) ≤ q ≤ min(ρ, p). The line q = ρp, on which
nothing is gained, divides R into R_a above and R_b below it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from boscage.theory._forms import Floats

Region = Literal["a,l", "a,r", "b,l", "b,r"]
REGIONS: tuple[Region, ...] = ("b,l", "b,r", "a,l", "a,r")
# How much WGI varies in a cell of size ε at most, as a multiple of ε, by the paper's proof.
PRINTED_VARIATION = {"b,l": 48.0, "b,r": 84.0, "a,l": 50.0, "a,r": 44.0}


def weighted_gini(p: npt.ArrayLike, q: npt.ArrayLike, share: float) -> Floats:
    """Weighted Gini index of the two sides, 4ρ(1 − ρ) at p = 0 and p = 1.

    Parameters
    ----------
    p : array-like
        Share of the weight that goes right, in [0, 1].
    q : array-like
        Weight of class 1 that goes right, in the domain of p.
    share : float
        ρ, in [0, 1].

    Examples
    --------
    >>> from boscage.theory.cells import weighted_gini
    >>> float(weighted_gini(0.5, 0.5, 0.5)), float(weighted_gini(0.5, 0.25, 0.5))
    (0.0, 1.0)
    """
    right, ones = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    inside = (right > 0) & (right < 1)
    safe = np.where(inside, right, 0.5)
    # The drop (q - ρp)² / (p(1 - p)) taken from the start: no cancellation near the line q = ρp.
    drop = np.where(inside, (ones - share * right) ** 2 / (safe * (1 - safe)), 0.0)
    result: Floats = 4 * (share * (1 - share) - drop)
    return result


def domain_bounds(p: npt.ArrayLike, share: float) -> tuple[Floats, Floats]:
    """Least and largest q of the domain R at each p.

    Examples
    --------
    >>> from boscage.theory.cells import domain_bounds
    >>> [float(end) for end in domain_bounds(0.75, 0.5)]
    [0.25, 0.5]
    """
    right = np.asarray(p, dtype=np.float64)
    return np.maximum(0.0, right + share - 1), np.minimum(share, right)


@dataclass(frozen=True)
class Cell:
    """A trapezoid of the partition: ``low <= p <= high``, and q between two lines through the region.

    ``floor`` and ``ceiling`` are shares of the way from the region's lower line to its upper one.
    """

    region: Region
    low: float
    high: float
    floor: float
    ceiling: float
    share: float

    def lines(self, p: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return the smallest and largest q of the cell at each p."""
        lower, upper = _region_lines(self.region, np.asarray(p, dtype=np.float64), self.share)
        return lower + self.floor * (upper - lower), lower + self.ceiling * (upper - lower)

    def corners(self) -> Floats:
        """Return the four corners as rows (p, q)."""
        ends = np.array([self.low, self.high])
        bottom, top = self.lines(ends)
        return np.array([[ends[0], bottom[0]], [ends[1], bottom[1]], [ends[1], top[1]], [ends[0], top[0]]])

    def contains(self, p: npt.ArrayLike, q: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether points (p, q) lie in the cell, its edges included."""
        right, ones = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
        bottom, top = self.lines(right)
        slack = 1e-12
        result: npt.NDArray[np.bool_] = (
            (right >= self.low - slack)
            & (right <= self.high + slack)
            & (ones >= bottom - slack)
            & (ones <= top + slack)
        )
        return result

    def variation(self) -> float:
        """Return the largest difference of WGI between two points of the cell.

        WGI is monotone in p and in q on either side of q = ρp, and at fixed p the extremes lie on the two lines, where
        it is a function of p alone; its extremes are found on a fine grid with both ends.
        """
        p = np.linspace(self.low, self.high, 65)
        values = np.concatenate([weighted_gini(p, q, self.share) for q in self.lines(p)])
        return float(values.max() - values.min())


def _region_lines(region: Region, p: Floats, share: float) -> tuple[Floats, Floats]:
    if region == "b,l":
        return np.zeros_like(p), share * p
    if region == "b,r":
        return p + share - 1, share * p
    if region == "a,l":
        return share * p, p
    return share * p, np.full_like(p, share)


def _region_range(region: Region, share: float) -> tuple[float, float]:
    return {"b,l": (0.0, 1 - share), "b,r": (1 - share, 1.0), "a,l": (0.0, share), "a,r": (share, 1.0)}[region]


def partition(share: float, epsilon: float) -> Iterator[Cell]:
    """Partition the domain of WGI into cells of size ε (Theorem 6.3).

    Every region is cut into slices of p no wider than ε, and every slice into as many parts of equal share of the way
    from its lower to its upper line. There are at most about 4/ε² cells, and WGI varies by at most
    ``PRINTED_VARIATION[region]`` · ε in each, so that cells of ε/100 make Algorithms 2 and 3 exact to ε.

    Parameters
    ----------
    share : float
        ρ, in (0, 1).
    epsilon : float
        Size of the cells, in (0, 1].

    Yields
    ------
    Cell

    Examples
    --------
    >>> from boscage.theory.cells import partition
    >>> cells = list(partition(0.6, 0.1))
    >>> len(cells), round(max(cell.variation() for cell in cells), 3)
    (200, 0.46)
    """
    if not 0 < share < 1:
        raise ValueError(f"share={share!r} is not allowed. Pass a number between 0 and 1, without the ends.")
    if not 0 < epsilon <= 1:
        raise ValueError(f"epsilon={epsilon!r} is not allowed. Pass a number > 0 and <= 1.")
    parts = int(np.ceil(1 / epsilon - 1e-9))
    levels = np.linspace(0, 1, parts + 1)
    for region in REGIONS:
        low, high = _region_range(region, share)
        slices = int(np.ceil((high - low) / epsilon - 1e-9))
        edges = np.linspace(low, high, slices + 1)
        for left, right in itertools.pairwise(edges):
            for bottom, top in itertools.pairwise(levels):
                yield Cell(region, float(left), float(right), float(bottom), float(top), share)


def extreme_gap(share: float, delta: float, end: Literal[0, 1]) -> float:
    """Largest difference of WGI from 4ρ(1 − ρ) where p is within δ of an end (Lemmas C.2 and C.3).

    Lemma C.2 (p ≤ δ) prints the bound 6δ, Lemma C.3 (p ≥ 1 − δ) 3δ. Since a drop is at most 4p(1 − p), both hold with
    4δ; the printed 3δ does not.

    Parameters
    ----------
    share : float
        ρ, in (0, 1).
    delta : float
        δ, in (0, ½].
    end : {0, 1}
        Which end of p.

    Examples
    --------
    >>> from boscage.theory.cells import extreme_gap
    >>> round(extreme_gap(0.9, 0.1, 1), 3)  # above 3δ = 0.3
    0.36
    """
    p = np.linspace(0, delta, 2001)[1:]
    p = p if end == 0 else 1 - p
    inside = (p > 0) & (p < 1)
    gaps = [4 * share * (1 - share) - weighted_gini(p[inside], q[inside], share) for q in domain_bounds(p, share)]
    return float(max(gap.max() for gap in gaps))


def least_norm(a: npt.ArrayLike, b: npt.ArrayLike, p: float, q: float, share: float) -> float:
    """Least norm of a w with P_w = p and Q_w = q (Lemma E.1, with the sign that its proof needs).

    Parameters
    ----------
    a, b : array-like of shape (d,)
        Weighted mean of the rows, and of those of class 1 times their share; linearly independent.
    p, q : float
        The point wanted.
    share : float
        ρ.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    gram = np.array([[first @ first, first @ second], [first @ second, second @ second]])
    wanted = np.array([2 * p - 1, 2 * q - share])
    square = float(wanted @ np.linalg.solve(gram, wanted))
    return math.sqrt(max(square, 0.0))


def least_norm_in_cell(a: npt.ArrayLike, b: npt.ArrayLike, cell: Cell) -> tuple[float, float]:
    """Least norm over a whole cell and over its corners: Lemma E.2 says they are equal, which is false in general.

    The norm is a convex function of (p, q), so its least value over a cell can lie on an edge or inside.

    Returns
    -------
    tuple of float
        Over the cell (on a fine grid), over its corners.

    Examples
    --------
    >>> from boscage.theory.cells import Cell, least_norm_in_cell
    >>> around_the_middle = Cell("b,l", 0.4, 0.6, 0.0, 1.0, 0.5)
    >>> inside, corner = least_norm_in_cell([1.0, 0.0], [0.0, 1.0], around_the_middle)
    >>> round(inside, 3), round(corner, 3)
    (0.0, 0.224)
    """
    corners = min(least_norm(a, b, p, q, cell.share) for p, q in cell.corners())
    inside = corners
    for p in np.linspace(cell.low, cell.high, 41):
        bottom, top = cell.lines(p)
        inside = min(inside, *(least_norm(a, b, p, q, cell.share) for q in np.linspace(bottom, top, 41)))
    return inside, corners
