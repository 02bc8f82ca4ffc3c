r"""The drop a test promises by its edge, for two classes.

A node has a share ρ of class 1, and a test the edge γ = ½ − Pr(test ≠ class) where both classes weigh ½. The criteria
are normalised: G(½) = 1. Each function gives the sharp bound, or with ``printed=True`` that of Kearns and Mansour.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage._component import resolve
from boscage.criteria import Entropy, Gini, Sqrt

Floats = npt.NDArray[np.float64]


def gini_drop(edge: npt.ArrayLike, share: npt.ArrayLike, *, printed: bool = False) -> Floats:
    r"""Least drop of 4ρ(1−ρ): 64 γ² (ρ(1−ρ))² = 4γ²G² (printed: 16 in place of 64).

    Parameters
    ----------
    edge : array-like
        γ, in [−½, ½].
    share : array-like
        ρ, in [0, 1].
    printed : bool, default=False
        Whether to return the bound of the paper's Lemma 5 in place of the sharp one.

    Examples
    --------
    >>> from boscage.theory import gini_drop
    >>> float(gini_drop(0.5, 0.5))
    1.0
    """
    gamma, spread = _arguments(edge, share)
    result: Floats = (16.0 if printed else 64.0) * gamma**2 * spread**2
    return result


def entropy_drop(edge: npt.ArrayLike, share: npt.ArrayLike, *, printed: bool = False) -> Floats:
    r"""Least drop of the entropy in bits: 8 γ² ρ(1−ρ) / ln 2 (printed: 1 in place of 8).

    Parameters
    ----------
    edge, share, printed
        As in `gini_drop`; the paper's Lemma 6.

    Examples
    --------
    >>> from boscage.theory import entropy_drop
    >>> round(float(entropy_drop(0.5, 0.5)), 3)
    0.721
    """
    gamma, spread = _arguments(edge, share)
    result: Floats = (1.0 if printed else 8.0) * gamma**2 * spread / math.log(2)
    return result


def sqrt_drop(edge: npt.ArrayLike, share: npt.ArrayLike, *, printed: bool = False) -> Floats:
    r"""Least drop of G = 2√(ρ(1−ρ)): G (1 − √(1 − 4γ²)) (printed: γ²G/4).

    Parameters
    ----------
    edge, share, printed
        As in `gini_drop`; the paper's Lemma 7.

    Examples
    --------
    >>> from boscage.theory import sqrt_drop
    >>> float(sqrt_drop(0.5, 0.5))
    1.0
    """
    gamma, spread = _arguments(edge, share)
    G = 2 * np.sqrt(spread)
    factor = gamma**2 / 4 if printed else 1 - np.sqrt(np.maximum(1 - 4 * gamma**2, 0))
    result: Floats = G * factor
    return result


def promised_drop(criterion: Any, edge: npt.ArrayLike, share: npt.ArrayLike, *, printed: bool = False) -> Floats:
    """Least drop under a criterion of which a bound is known, else NaN.

    Parameters
    ----------
    criterion : str or Criterion
        "gini", "entropy" or "sqrt".
    edge, share, printed
        As in `gini_drop`.
    """
    part = resolve("criterion", criterion)
    bounds = {Gini: gini_drop, Entropy: entropy_drop, Sqrt: sqrt_drop}
    if type(part) not in bounds:
        return np.full(np.broadcast(edge, share).shape, np.nan)
    return bounds[type(part)](edge, share, printed=printed)


def _arguments(edge: npt.ArrayLike, share: npt.ArrayLike) -> tuple[Floats, Floats]:
    gamma, rho = np.asarray(edge, dtype=np.float64), np.asarray(share, dtype=np.float64)
    return gamma, rho * (1 - rho)
