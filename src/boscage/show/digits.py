"""How many digits of a number are shown: as few as tell it apart from its neighbours."""

from __future__ import annotations

import numpy as np

from boscage.tree import Floats, Tree

_EXACT_DIGITS = 6  # a threshold of no more digits is shown as it is
_SHARE_OF_SPREAD = 0.005
_NOISE = {"float64": 1e-12, "float32": 2.0**-23}  # how far rounding may move a midpoint, as a share of it


def number(x: float, decimals: int) -> str:
    """Write x with so many decimals, or so many digits where decimals would hide it."""
    if x == 0 or 10.0**-decimals <= abs(x) < 1e15 or not np.isfinite(x):
        return f"{x + 0.0:.{decimals}f}"  # + 0.0 so that no zero is negative
    return f"{x:.{max(decimals, 1)}g}"


def rounded(x: float, tolerance: float) -> str:
    """Write x with the fewest digits, at least two decimals, that are off by no more than the tolerance."""
    if x == 0 or not np.isfinite(x):
        return f"{x + 0.0:.2f}"
    is_plain = 1e-4 <= abs(x) < 1e15
    for digits in range(2 if is_plain else 0, 18):
        text = f"{x:.{digits}{'f' if is_plain else 'e'}}"
        if abs(float(text) - x) <= tolerance:
            break
    return text if float(text) else f"{0.0:.2f}"  # no negative zero


def three_digits(x: float) -> float:
    """Tolerance that leaves three significant digits."""
    return 0.0 if x == 0 or not np.isfinite(x) else 0.5 * 10.0 ** (np.floor(np.log10(abs(x))) - 2)


def threshold_tolerance(x: float, dtype: str, spread: float = 0.0, gap: float = np.inf) -> float:
    """How far from the threshold x the shown number may be.

    A threshold lies half way between two training values. Of values with few digits it has few digits itself and is
    shown exactly, so that it separates them. Any other is shown with three significant digits, and more if that would
    be off by more than 0.5 % of the column's standard deviation or a quarter of the gap to the next threshold.
    """
    noise = _NOISE[dtype] * abs(x)
    if abs(float(f"{x:.{_EXACT_DIGITS}g}") - x) <= noise:
        return 10 * noise
    tolerance = min(three_digits(x), gap / 4)
    return min(tolerance, _SHARE_OF_SPREAD * spread) if spread > 0 else tolerance


def threshold_gaps(tree: Tree) -> Floats:
    """Distance of each numeric axis test's threshold to the next other one of its column; infinite elsewhere."""
    gaps = np.full(tree.node_count, np.inf)
    nodes = np.flatnonzero((tree.feature >= 0) & (tree.category_offset < 0) & np.isfinite(tree.threshold))
    order = nodes[np.lexsort((tree.threshold[nodes], tree.feature[nodes]))]
    column, threshold = tree.feature[order], tree.threshold[order]
    step = np.where(np.diff(column) == 0, np.diff(threshold), np.inf)
    step[step == 0] = np.inf  # the same threshold again
    gaps[order[:-1]] = step
    gaps[order[1:]] = np.minimum(gaps[order[1:]], step)
    return gaps
