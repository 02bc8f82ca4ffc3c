r"""The drop a test promises by its edge, for two classes.

A node has a share ρ of class 1, and a test the edge γ = ½ − Pr(test ≠ class) where both classes weigh ½. The criteria
are normalised: G(½) = 1. Every bound comes in two forms: "printed" as Kearns and Mansour have it, and "sharp", which
is at least four times as large and attained or approached by some test.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.base.component import resolve
from boscage.criteria import Entropy, Gini, Sqrt
from boscage.theory._forms import Floats, is_sharp


def spread_of_children(edge: npt.ArrayLike, share: npt.ArrayLike, *, form: str = "sharp") -> Floats:
    r"""Least τ(1−τ)δ of a test: 2γρ(1−ρ), an equality (printed, Lemma 2: without the 2).

    τ is the share of the weight going right and δ the difference of the children's shares of class 1.

    Parameters
    ----------
    edge : array-like
        γ, in [−½, ½].
    share : array-like
        ρ, in [0, 1].
    form : {"sharp", "printed"}, default="sharp"
        Which form of the bound.

    Examples
    --------
    >>> from boscage.theory import spread_of_children
    >>> float(spread_of_children(0.5, 0.5))
    0.25
    >>> float(spread_of_children(0.5, 0.5, form="printed"))
    0.125
    """
    gamma, product = _arguments(edge, share)
    result: Floats = (2.0 if is_sharp(form) else 1.0) * gamma * product
    return result


def gini_drop(edge: npt.ArrayLike, share: npt.ArrayLike, *, form: str = "sharp") -> Floats:
    r"""Least drop of 4ρ(1−ρ): 64 γ² (ρ(1−ρ))² = 4γ²G² (printed, Lemma 5: 16 in place of 64).

    Parameters
    ----------
    edge : array-like
        γ, in [−½, ½].
    share : array-like
        ρ, in [0, 1].
    form : {"sharp", "printed"}, default="sharp"
        Which form of the bound.

    Examples
    --------
    >>> from boscage.theory import gini_drop
    >>> float(gini_drop(0.5, 0.5)), float(gini_drop(0.5, 0.5, form="printed"))
    (1.0, 0.25)
    """
    gamma, product = _arguments(edge, share)
    result: Floats = (64.0 if is_sharp(form) else 16.0) * gamma**2 * product**2
    return result


def entropy_drop(edge: npt.ArrayLike, share: npt.ArrayLike, *, form: str = "sharp") -> Floats:
    r"""Least drop of the entropy in bits: 8 γ² ρ(1−ρ) / ln 2 (printed, Lemma 6: 1 in place of 8).

    Lemma 6 counts in nats, as the derivatives in its proof show; here both forms are in bits, so that G(½) = 1.

    Parameters
    ----------
    edge, share, form
        As in `gini_drop`.

    Examples
    --------
    >>> from boscage.theory import entropy_drop
    >>> round(float(entropy_drop(0.5, 0.5)), 3)
    0.721
    """
    gamma, product = _arguments(edge, share)
    result: Floats = (8.0 if is_sharp(form) else 1.0) * gamma**2 * product / math.log(2)
    return result


def sqrt_drop(edge: npt.ArrayLike, share: npt.ArrayLike, *, form: str = "sharp") -> Floats:
    r"""Least drop of G = 2√(ρ(1−ρ)): G (1 − √(1 − 4γ²)) ≥ 2γ²G (printed, Lemma 7: γ²G/4).

    Parameters
    ----------
    edge, share, form
        As in `gini_drop`.

    Examples
    --------
    >>> from boscage.theory import sqrt_drop
    >>> float(sqrt_drop(0.5, 0.5))
    1.0
    """
    gamma, product = _arguments(edge, share)
    G = 2 * np.sqrt(product)
    # 1 − √(1 − x) as x / (1 + √(1 − x)): no cancellation for a small edge.
    sharp = 4 * gamma**2 / (1 + np.sqrt(np.maximum(1 - 4 * gamma**2, 0)))
    result: Floats = G * (sharp if is_sharp(form) else gamma**2 / 4)
    return result


def taylor_drop(criterion: Any, share: npt.ArrayLike, tau: npt.ArrayLike, delta: npt.ArrayLike) -> Floats:
    r"""Lower bound of the drop of a split by the second and third derivative of the criterion (Lemma 3).

    .. math:: -\frac{\tau(1-\tau)\delta^2}{2}\,G''(\rho) - \frac{\tau(1-\tau)(1-2\tau)\delta^3}{6}\,G'''(\rho)

    Parameters
    ----------
    criterion : str or Criterion
        "gini", "entropy" or "sqrt".
    share : array-like
        ρ, the node's share of class 1, in (0, 1).
    tau : array-like
        τ, the share of the weight that goes right, in [0, 1].
    delta : array-like
        δ, the difference of the children's shares of class 1, in [0, 1].

    Examples
    --------
    >>> from boscage.theory import taylor_drop
    >>> float(taylor_drop("gini", 0.5, 0.5, 1.0))
    1.0
    """
    part = resolve("criterion", criterion)
    if type(part) not in _DERIVATIVES:
        raise ValueError(f"criterion={criterion!r} is not one of Lemma 3. Pass 'gini', 'entropy' or 'sqrt'.")
    rho, right, apart = (np.asarray(a, dtype=np.float64) for a in (share, tau, delta))
    second, third = _DERIVATIVES[type(part)](rho)
    spread = right * (1 - right) * apart**2
    result: Floats = -spread / 2 * second - spread * (1 - 2 * right) * apart / 6 * third
    return result


def _gini_derivatives(q: Floats) -> tuple[Floats, Floats]:
    return np.full_like(q, -8.0), np.zeros_like(q)


def _entropy_derivatives(q: Floats) -> tuple[Floats, Floats]:
    return -1 / (q * (1 - q)) / math.log(2), (1 / q**2 - 1 / (1 - q) ** 2) / math.log(2)


def _sqrt_derivatives(q: Floats) -> tuple[Floats, Floats]:
    product = q * (1 - q)
    return -0.5 * product**-1.5, 0.75 * (1 - 2 * q) * product**-2.5


# second and third derivative of each normalised criterion
_DERIVATIVES = {Gini: _gini_derivatives, Entropy: _entropy_derivatives, Sqrt: _sqrt_derivatives}


def promised_drop(criterion: Any, edge: npt.ArrayLike, share: npt.ArrayLike, *, form: str = "sharp") -> Floats:
    """Least drop under a criterion of which a bound is known, else NaN.

    Parameters
    ----------
    criterion : str or Criterion
        "gini", "entropy" or "sqrt".
    edge, share, form
        As in `gini_drop`.

    Examples
    --------
    >>> from boscage.theory import promised_drop
    >>> float(promised_drop("gini", 0.5, 0.5))
    1.0
    >>> float(promised_drop("modified_gini", 0.5, 0.5))
    nan
    """
    part = resolve("criterion", criterion)
    bounds = {Gini: gini_drop, Entropy: entropy_drop, Sqrt: sqrt_drop}
    if type(part) not in bounds:
        return np.full(np.broadcast(edge, share).shape, np.nan)
    return bounds[type(part)](edge, share, form=form)


def _arguments(edge: npt.ArrayLike, share: npt.ArrayLike) -> tuple[Floats, Floats]:
    gamma, rho = np.asarray(edge, dtype=np.float64), np.asarray(share, dtype=np.float64)
    return gamma, rho * (1 - rho)
