"""A user's G as a table: sampled once, checked for permissibility, interpolated by cubic pieces.

Knots are uniform in u, q = u⁴ on [0, ½] (the other half is the mirror image). Square roots and logarithms at q = 0,
√q = u² and q ln q = 4u⁴ ln u, are then smooth enough for cubic pieces: 1024 of them are right to about 1e-11.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CELLS = 1024
_U_MAX = 0.5**0.25
_TOLERANCE = 1e-9
_RULES = "A criterion needs G(0) = G(1) = 0, G(1/2) = 1, G(q) = G(1 - q) and concavity"


def sample(function: Callable[[Any], Any], q: Floats) -> Floats:
    """Evaluate a function of one number on an array, in one call if it allows that."""
    with np.errstate(all="ignore"):
        try:
            values = np.asarray(function(q.copy()), dtype=np.float64)
            if values.shape == q.shape and np.allclose(
                values[[1, -2]], [float(function(float(q[i]))) for i in (1, -2)], rtol=1e-12, atol=0
            ):
                return values
        except (TypeError, ValueError):
            pass
        return np.array([float(function(float(x))) for x in q], dtype=np.float64)


def tabulate(function: Callable[[Any], Any]) -> Floats:
    """Return the rows (G, dG/du, -G''(q) (q(1-q))^1.5) at the knots, or refuse G with the rule it breaks.

    Parameters
    ----------
    function : callable
        G on [0, 1], for one number or for arrays.

    Returns
    -------
    ndarray of shape (CELLS + 1, 3)
    """
    q = (np.linspace(0.0, _U_MAX, CELLS + 1)) ** 4
    q[-1] = 0.5
    values = sample(function, q)
    _check_permissible(function, q, values)
    values[0], values[-1] = 0.0, 1.0
    return np.column_stack([values, _slopes(values), _curvatures(function, q, values)])


def _refuse(function: object, broken: str) -> None:
    raise ValueError(f"criterion={function!r} is not permissible: {broken}. {_RULES}.")


def _check_permissible(function: Callable[[Any], Any], q: Floats, values: Floats) -> None:
    mirrored = 1.0 - q  # 1 - mirrored is exact, so a symmetric formula gives equal numbers at both points
    right, left = sample(function, mirrored), sample(function, 1.0 - mirrored)
    for x, y in ((q, values), (mirrored, right)):
        if not np.isfinite(y).all():
            worst = int(np.argmin(np.isfinite(y)))
            _refuse(function, f"G({x[worst]:.6g}) = {y[worst]}")
    for point, found, wanted in ((0, values[0], 0), (1, right[0], 0), (0.5, values[-1], 1)):
        if abs(found - wanted) > _TOLERANCE:
            _refuse(function, f"G({point:g}) = {found:.10g}, not {wanted}")
    worst = int(np.argmax(np.abs(left - right)))
    if abs(left[worst] - right[worst]) > _TOLERANCE:
        _refuse(
            function,
            f"it is not symmetric, G({1 - mirrored[worst]:.6g}) = {left[worst]:.10g} "
            f"but G({mirrored[worst]:.6g}) = {right[worst]:.10g}",
        )
    rise = np.append(np.diff(values) / np.diff(q), 0.0)  # the mirror image starts with the opposite slope
    noise = 2e-15 / np.diff(q)  # of a G computed by subtraction, 1 - (1 - 2q)^2
    noise += np.append(noise[1:], 0.0)
    excess = np.diff(rise) - _TOLERANCE * (np.abs(rise[1:]) + np.abs(rise[:-1])) - noise - 1e-11
    worst = int(np.argmax(excess))
    if excess[worst] > 0:
        _refuse(function, f"it is not concave near q = {q[worst + 1]:.6g}")


def _slopes(values: Floats) -> Floats:
    """dG/du by fourth-order differences, kept within the neighbouring secants so that kinks do not ring."""
    h = _U_MAX / CELLS
    secants = np.diff(values) / h
    ends = np.array([[-25.0, 48.0, -36.0, 16.0, -3.0], [-3.0, -10.0, 18.0, -6.0, 1.0]]) / (12 * h)
    inner = (8 * (values[3:-1] - values[1:-3]) - (values[4:] - values[:-4])) / (12 * h)
    slopes = np.concatenate([ends @ values[:5], inner, -(ends @ values[:-6:-1])[::-1]])
    around = np.lib.stride_tricks.sliding_window_view(secants, 4)
    # At an inflection the slope leaves the range of the secants by a sixth of their own differences.
    margin = 0.25 * np.minimum(np.abs(around[:, 1] - around[:, 0]), np.abs(around[:, 3] - around[:, 2]))
    slopes[2:-2] = np.clip(slopes[2:-2], around.min(axis=1) - margin, around.max(axis=1) + margin)
    for knot, near, far in ((0, 0, 1), (1, 0, 1), (-1, -1, -2), (-2, -1, -2)):
        spread = abs(secants[far] - secants[near])
        low, high = sorted((secants[near], secants[far if knot in (1, -2) else near]))
        slopes[knot] = np.clip(slopes[knot], low - spread, high + spread)
    # G rises up to one half, and so do cubic pieces whose slopes are at most three times the secants'.
    steepest = 3 * np.minimum(np.append(secants, secants[-1]), np.insert(secants, 0, secants[0]))
    result: Floats = np.clip(slopes, 0.0, np.maximum(steepest, 0.0))
    return result


def _curvatures(function: Callable[[Any], Any], q: Floats, values: Floats) -> Floats:
    """-G''(q) (q(1-q))^1.5 by second differences over a thousandth of q; the end takes its neighbour's value."""
    step = 1e-3 * q[1:]
    second = 2 * values[1:] - sample(function, q[1:] + step) - sample(function, q[1:] - step)
    curvatures = np.maximum(second / step**2, 0.0) * (q[1:] * (1 - q[1:])) ** 1.5
    return np.concatenate([curvatures[:1], curvatures])


def _place(table: Floats, share: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
    cells = len(table) - 1
    position = np.sqrt(np.sqrt(share)) * cells * 1.189207115002721  # 2^(1/4)
    cell = np.minimum(np.floor(position), cells - 1)
    return cell.astype(np.intp), np.minimum(position - cell, 1.0)


def value_at(table: Floats, share: Floats) -> Floats:
    """G at shares up to one half."""
    cell, x = _place(table, share)
    h = _U_MAX / (len(table) - 1)
    here, slope = table[cell, 0], table[cell, 1]
    rise = table[cell + 1, 0] - here
    m0, m1 = h * slope - rise, rise - h * table[cell + 1, 1]
    result: Floats = here + x * (rise + (1 - x) * ((1 - x) * m0 + x * m1))
    return result


def slope_at(table: Floats, share: Floats) -> Floats:
    """dG/dq at shares in (0, ½]."""
    cell, x = _place(table, share)
    h = _U_MAX / (len(table) - 1)
    rise = table[cell + 1, 0] - table[cell, 0]
    m0, m1 = h * table[cell, 1] - rise, rise - h * table[cell + 1, 1]
    by_u = (rise + (1 - x) * (1 - 3 * x) * m0 + x * (2 - 3 * x) * m1) / h
    result: Floats = by_u / (4 * np.sqrt(share) * np.sqrt(np.sqrt(share)))
    return result


def curvature_at(table: Floats, share: Floats, others: Floats) -> Floats:
    """-G'' where a class has this share and the others the rest."""
    cell, x = _place(table, np.minimum(share, others))
    product = share * others
    with np.errstate(divide="ignore", invalid="ignore"):
        result = (table[cell, 2] + x * (table[cell + 1, 2] - table[cell, 2])) / (product * np.sqrt(product))
    return np.where(product > 1e-200, result, 0.0)
