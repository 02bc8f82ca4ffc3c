r"""Telling contenders apart: corrected intervals and tests for accuracies from shared folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from boscage._compare_types import Result, Settings

LEVEL = 0.05
"""Differences with a smaller p count as significant."""


def corrected_t_test(differences: Sequence[float], test_share: float) -> tuple[float, float, float]:
    r"""Corrected resampled t-test of Nadeau and Bengio.

    Folds share training rows, so their differences are not independent and the plain t-test finds too much. With J
    differences of mean m and variance s² (divisor J − 1), and n_test/n_train rows tested for each one trained on,

    .. math:: t = \frac{m}{\sqrt{\left(\frac{1}{J} + \frac{n_{test}}{n_{train}}\right) s^2}},\qquad J - 1
              \text{ degrees of freedom.}

    Parameters
    ----------
    differences : sequence of float
        One number for each fold and repetition, at least two.
    test_share : float
        n_test/n_train, which is 1/(k − 1) for k folds.

    Returns
    -------
    t, p, half_width : float
        The statistic, its two-sided p, and half the 95 % confidence interval of the mean.

    References
    ----------
    Nadeau, Bengio: Inference for the generalization error, Machine Learning 52, 2003.

    Examples
    --------
    >>> from boscage.compare import corrected_t_test
    >>> t, p, half = corrected_t_test([0.02, 0.01, 0.03, 0.00, 0.04], test_share=0.25)
    >>> round(t, 3), round(p, 3), round(half, 3)
    (1.886, 0.132, 0.029)
    """
    values = np.asarray(differences, dtype=np.float64)
    count = len(values)
    if count < 2:
        return math.nan, math.nan, math.nan
    mean = float(values.mean())
    error = math.sqrt((1 / count + test_share) * float(values.var(ddof=1)))
    half = float(stats.t.ppf(1 - LEVEL / 2, count - 1)) * error
    if error <= 1e-15:  # all folds agree
        return (0.0, 1.0, half) if abs(mean) <= 1e-15 else (math.copysign(math.inf, mean), 0.0, half)
    t = mean / error
    return t, float(2 * stats.t.sf(abs(t), count - 1)), half


@dataclass(frozen=True)
class Standing:
    """Where a contender stands: its corrected interval, and the test of its difference to the best one."""

    name: str
    half_width: float | None
    behind: float | None
    p: float | None
    is_best: bool = False

    @property
    def is_worse(self) -> bool:
        """Whether it is significantly less accurate than the best."""
        return self.p is not None and self.p < LEVEL and not self.is_best


def rank(result: Result) -> tuple[bool, float, float]:
    """Sort key: the most accurate first, fewer leaves on ties, failures last."""
    return bool(result.error), -(result.mean("accuracy") or 0.0), result.mean("leaves") or float("inf")


def standings(results: list[Result], settings: Settings) -> dict[str, Standing]:
    """Compare every result with the most accurate one (fewer leaves on ties), fold by fold.

    The p values are not corrected for the number of contenders, and the best was chosen on the same folds: read them
    as a guide to what is surely worse.
    """
    share = 1 / max(1, settings.folds - 1)
    done = sorted((result for result in results if not result.error and result.accuracy), key=rank)
    if not done:
        return {}
    best = done[0]
    found = {}
    for result in done:
        half = corrected_t_test(result.accuracy, share)[2]
        gaps = np.subtract(best.accuracy, result.accuracy) if len(result.accuracy) == len(best.accuracy) else []
        p = corrected_t_test(list(gaps), share)[1]
        mean = (best.mean("accuracy") or 0.0) - (result.mean("accuracy") or 0.0)
        found[result.name] = Standing(
            result.name, None if math.isnan(half) else half, mean, None if math.isnan(p) else p, result is best
        )
    return found
