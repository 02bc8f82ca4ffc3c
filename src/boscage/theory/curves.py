r"""How fast the potential G_t must fall, and how many splits suffice: Theorems 1 and 8-10 of Kearns and Mansour.

If every leaf has a test of edge γ, the best of the t + 1 leaves after t splits drops by at least f(G_t)/(t + 1), f
the least drop as a function of G (convex, so Jensen's inequality applies). A curve G(s) with G' = −f(G), s = ln(t + 1),
therefore stays above the potential. The sharp curves solve this for the sharp drops; the printed ones solve the
recurrences of the paper, with t + 1 leaves after t splits and its inequality for the inverse entropy corrected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from boscage.criteria import Criterion, Entropy, Gini, Sqrt
from boscage.theory._forms import Floats, is_sharp, name_of, within

_LN2 = math.log(2)
_PRINTED_GINI = 64.0  # recurrence (40): G_t <= (1 + γ² ln(t+1)/64)^(-1/2)
_PRINTED_ENTROPY = 12.0  # recurrence (44) with 6 in place of 2 in the bound of the inverse entropy


def potential_bound(
    criterion: Any, edge: float, splits: npt.ArrayLike, *, start: float = 1.0, form: str = "sharp"
) -> Floats:
    r"""Largest potential G_t after t splits if every leaf always has a test of edge γ.

    ============ ==================================================== =============================================
    criterion    sharp                                                printed (its recurrence solved)
    ============ ==================================================== =============================================
    gini         1 / (1/G₀ + 4γ² ln(t+1))                             1 / √(1/G₀² + γ² ln(t+1)/64)
    entropy      H(q), ln((1−q)/q) = √(u₀² + 16γ² ln(t+1))            2^(1 − √(v₀² + γ² ln(t+1)/(6 ln 2)))
    sqrt         G₀ (t+1)^(−(1 − √(1−4γ²)))                           G₀ exp(−γ² log₂(t+1)/32)
    ============ ==================================================== =============================================

    Here u₀ belongs to G₀ as u to G, and v₀ = log₂(2/G₀). The error is at most G_t/2 (printed: G_t).

    Parameters
    ----------
    criterion : {"gini", "entropy", "sqrt"} or Criterion
        Normalised to G(½) = 1.
    edge : float
        γ, in (0, ½].
    splits : array-like of int
        t, not negative.
    start : float, default=1.0
        G₀, the potential of the root, in (0, 1].
    form : {"sharp", "printed"}, default="sharp"
        Which form of the bound.

    Examples
    --------
    >>> from boscage.theory import potential_bound
    >>> potential_bound("sqrt", 0.4, [0, 1, 9]).round(3).tolist()
    [1.0, 0.758, 0.398]
    >>> potential_bound("sqrt", 0.4, [9], form="printed").round(3).tolist()
    [0.984]
    """
    kind = name_of(criterion)
    gamma, first = within("edge", edge, 0, 0.5), within("start", start, 0, 1)
    steps = np.asarray(splits, dtype=np.float64)
    if (steps < 0).any():
        raise ValueError("splits holds a negative number. Pass counts of splits.")
    curves = _SHARP if is_sharp(form) else _PRINTED
    return curves[kind](gamma, np.log1p(steps), first)


def splits_needed(criterion: Any, edge: float, error: float, *, form: str = "sharp", log: bool = False) -> float:
    r"""Count the splits that suffice for a training error ε if every leaf always has a test of edge γ.

    ============ ============================================= =====================================================
    criterion    sharp: ln(t+1) ≥                              printed (Theorems 1, 8-10): t ≥
    ============ ============================================= =====================================================
    gini         (1/(2ε) − 1) / (4γ²)                          2^(c/(γε)²), c = 64 / ln 2
    entropy      u²/(16γ²), u = ln((1−q)/q), H(q) = 2ε         (1/ε)^(c log₂(1/ε)/γ²), c = 18
    sqrt         ln(1/(2ε)) / (1 − √(1−4γ²))                   (1/ε)^(32/γ²)
    ============ ============================================= =====================================================

    The paper leaves two constants c open; these are what its own recurrences give.

    Parameters
    ----------
    criterion : {"gini", "entropy", "sqrt"} or Criterion
        The criterion.
    edge : float
        γ, in (0, ½].
    error : float
        ε, in (0, ½]; at ½ no split is needed.
    form : {"sharp", "printed"}, default="sharp"
        Which form of the bound.
    log : bool, default=False
        Whether to return ln t (printed) or ln(t + 1) (sharp) in place of t: the numbers are soon too large for a float.

    Returns
    -------
    float
        A whole number, or inf where it is beyond floating point.

    Examples
    --------
    >>> from boscage.theory import splits_needed
    >>> [splits_needed(name, 0.3, 0.1) for name in ("gini", "entropy", "sqrt")]
    [66910.0, 3673.0, 3124.0]
    >>> round(splits_needed("sqrt", 0.3, 0.1, form="printed", log=True))
    819
    """
    kind = name_of(criterion)
    gamma, epsilon = within("edge", edge, 0, 0.5), within("error", error, 0, 0.5)
    if epsilon == 0.5:
        return -math.inf if log and not is_sharp(form) else 0.0
    if is_sharp(form):
        value = _SHARP_COUNTS[kind](gamma, epsilon)
        if log:
            return value
        return float(np.ceil(math.expm1(value) - 1e-9)) if value < 700 else math.inf
    value = _PRINTED_COUNTS[kind](gamma, epsilon)
    if log:
        return value
    return float(np.ceil(math.exp(value))) if value < 700 else math.inf


def effective_edge(criterion: Any, potential: npt.ArrayLike) -> float:
    r"""Largest edge γ whose sharp bound is above a measured potential after every split.

    Parameters
    ----------
    criterion : {"gini", "entropy", "sqrt"} or Criterion
        The criterion.
    potential : array-like of shape (t + 1,)
        G_0, …, G_t, normalised, as ``trajectory_["potential"]``.

    Returns
    -------
    float
        In [0, ½]; NaN without a split, or if G_0 is 0.

    Examples
    --------
    >>> from boscage.theory import effective_edge, potential_bound
    >>> round(effective_edge("entropy", potential_bound("entropy", 0.2, range(50))), 6)
    0.2
    """
    kind = name_of(criterion)
    G = np.minimum(np.asarray(potential, dtype=np.float64), 1.0)
    if len(G) < 2 or not G[0] > 0:
        return math.nan
    steps = np.log1p(np.arange(1, len(G)))
    with np.errstate(divide="ignore"):
        if kind is Gini:
            square = (1 / G[1:] - 1 / G[0]) / (4 * steps)
        elif kind is Entropy:
            square = (_logit(G[1:]) ** 2 - _logit(G[:1]) ** 2) / (16 * steps)
        else:
            rate = np.minimum(np.log(G[0] / G[1:]) / steps, 1.0)
            square = (1 - (1 - rate) ** 2) / 4
    return float(np.sqrt(np.clip(square.min(), 0, 0.25)))


def inverse_entropy(value: npt.ArrayLike) -> Floats:
    r"""Return the q in [0, ½] whose binary entropy H(q), in bits, has a given value.

    Parameters
    ----------
    value : array-like
        Entropies, in [0, 1].

    Returns
    -------
    ndarray
        Of the shape of ``value``.

    Examples
    --------
    >>> from boscage.theory import inverse_entropy
    >>> inverse_entropy([0.0, 0.5, 1.0]).round(4).tolist()
    [0.0, 0.11, 0.5]
    """
    given = np.asarray(value, dtype=np.float64)
    flat = [_inverse_entropy(float(one)) for one in given.ravel()]
    return np.array(flat).reshape(given.shape)


def _inverse_entropy(value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"value={value!r} is not an entropy of two classes. Pass a number in [0, 1].")
    if value in (0.0, 1.0):
        return value / 2
    # In ln q the search is as good for tiny q as for large.
    found: float = brentq(lambda x: _entropy(math.exp(x)) - value, -745.0, -_LN2, xtol=1e-15, rtol=1e-15)
    return math.exp(found)


def _entropy(q: float) -> float:
    if q <= 0:
        return 0.0
    return -(q * math.log(q) + (1 - q) * math.log1p(-q)) / _LN2


def _logit(potential: Floats) -> Floats:
    """U = ln((1−q)/q) of the q with entropy ``potential``."""
    q = inverse_entropy(potential)
    result: Floats = np.log1p(-q) - np.log(q)
    return result


def _sharp_gini(gamma: float, s: Floats, first: float) -> Floats:
    result: Floats = 1 / (1 / first + 4 * gamma**2 * s)
    return result


def _sharp_entropy(gamma: float, s: Floats, first: float) -> Floats:
    u = np.sqrt(_logit(np.array(first)) ** 2 + 16 * gamma**2 * s)
    # H in bits at q = 1/(1 + e^u): q u + ln(1 + e^-u), in nats.
    result: Floats = (u * np.exp(-np.logaddexp(0, u)) + np.log1p(np.exp(-u))) / _LN2
    return result


def _sharp_sqrt(gamma: float, s: Floats, first: float) -> Floats:
    result: Floats = first * np.exp(-_rate(gamma) * s)
    return result


def _rate(gamma: float) -> float:
    """1 − √(1 − 4γ²) without cancellation."""
    return 4 * gamma**2 / (1 + math.sqrt(max(1 - 4 * gamma**2, 0.0)))


def _printed_gini(gamma: float, s: Floats, first: float) -> Floats:
    result: Floats = 1 / np.sqrt(1 / first**2 + gamma**2 * s / _PRINTED_GINI)
    return result


def _printed_entropy(gamma: float, s: Floats, first: float) -> Floats:
    v = np.sqrt((1 - math.log2(first)) ** 2 + 2 * gamma**2 * s / (_PRINTED_ENTROPY * _LN2))
    result: Floats = np.exp2(1 - v)
    return result


def _printed_sqrt(gamma: float, s: Floats, first: float) -> Floats:
    result: Floats = first * np.exp(-(gamma**2) * s / _LN2 / 32)
    return result


_Curve = Callable[[float, Floats, float], Floats]
_SHARP: dict[type[Criterion], _Curve] = {Gini: _sharp_gini, Entropy: _sharp_entropy, Sqrt: _sharp_sqrt}
_PRINTED: dict[type[Criterion], _Curve] = {Gini: _printed_gini, Entropy: _printed_entropy, Sqrt: _printed_sqrt}

_Count = Callable[[float, float], float]
_SHARP_COUNTS: dict[type[Criterion], _Count] = {
    Gini: lambda gamma, error: (1 / (2 * error) - 1) / (4 * gamma**2),
    Entropy: lambda gamma, error: float(_logit(np.array(2 * error)) ** 2) / (16 * gamma**2),
    Sqrt: lambda gamma, error: math.log(1 / (2 * error)) / _rate(gamma),
}
_PRINTED_COUNTS: dict[type[Criterion], _Count] = {
    Gini: lambda gamma, error: _PRINTED_GINI / (gamma * error) ** 2,
    Entropy: lambda gamma, error: 18 * _LN2 * math.log2(1 / error) ** 2 / gamma**2,
    Sqrt: lambda gamma, error: math.log(1 / error) * 32 / gamma**2,
}
