"""Permissible criteria: what Kearns and Mansour ask of a G on [0, 1], checked point by point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from boscage.base.component import resolve
from boscage.base.tabulate import sample
from boscage.criteria import Criterion


@dataclass(frozen=True)
class Permissibility:
    """Which of the four rules a criterion keeps; true as a whole if it keeps all of them.

    Parameters
    ----------
    symmetric : bool
        G(q) = G(1 − q).
    zero_when_pure : bool
        G(0) = G(1) = 0.
    one_at_half : bool
        G(½) = 1.
    concave : bool
        G lies above its chords.
    worst : dict
        The largest violation of each rule.
    """

    symmetric: bool
    zero_when_pure: bool
    one_at_half: bool
    concave: bool
    worst: dict[str, float]

    def __bool__(self) -> bool:
        return self.symmetric and self.zero_when_pure and self.one_at_half and self.concave


def check_permissible(
    criterion: str | Criterion | Callable[[Any], Any], *, points: int = 2001, tolerance: float = 1e-9
) -> Permissibility:
    """Check whether a criterion is permissible: symmetric, concave, 0 when pure and 1 at ½.

    A permissible G lies above 2 min(q, 1 − q), so that the error of a tree is at most half its potential.

    Parameters
    ----------
    criterion : str, Criterion or callable
        A registered criterion (divided by its value at ½), or any function on [0, 1], taken as it is.
    points : int, default=2001
        Size of the grid, denser towards 0 and 1.
    tolerance : float, default=1e-9
        Violations up to this size are rounding.

    Returns
    -------
    Permissibility

    Examples
    --------
    >>> from boscage.theory import check_permissible
    >>> bool(check_permissible("entropy"))
    True
    >>> check_permissible(lambda q: 4 * q * (1 - q) ** 2).symmetric
    False
    """
    if callable(criterion) and not isinstance(criterion, (str, Criterion)):
        function = criterion
    else:
        part: Any = resolve("criterion", criterion)

        def function(q: Any) -> Any:
            shares = np.asarray(q, dtype=np.float64)
            return part.total(np.stack([1 - shares, shares], axis=-1)) / part.unit

    # q = sin²φ: square-root ends are resolved, and 0, ½, 1 are grid points.
    half = np.sin(np.linspace(0, np.pi / 4, points // 2 + 1)) ** 2
    half[-1] = 0.5
    q = np.concatenate([half, 1 - half[-2::-1]])
    G = sample(function, q)
    slopes = np.diff(G) / np.diff(q)
    # Rounding in G is magnified where grid points are close.
    allowed = tolerance + 4e-15 / np.minimum(np.diff(q)[1:], np.diff(q)[:-1])
    rise = np.diff(slopes)
    worst = {
        "symmetric": float(np.abs(G - G[::-1]).max()),
        "zero_when_pure": float(max(abs(G[0]), abs(G[-1]))),
        "one_at_half": float(abs(G[len(half) - 1] - 1)),
        "concave": float(np.maximum(rise - allowed, 0).max()),
    }
    kept = {name: bool(value <= (0 if name == "concave" else tolerance)) for name, value in worst.items()}
    return Permissibility(**kept, worst=worst)
