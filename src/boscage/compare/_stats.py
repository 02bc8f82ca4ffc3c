r"""Telling contenders apart: corrected intervals and tests for scores from shared folds, and what size costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from boscage.compare._types import Result, Settings

LEVEL = 0.05
"""Differences with a smaller p count as significant."""


def corrected_t_test(differences: Sequence[float], test_share: float) -> tuple[float, float, float]:
    r"""Corrected resampled t-test of Nadeau and Bengio.

    Folds share training rows, so their differences are not independent and a plain t-test is overconfident. With J
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
        The statistic, its two-sided p-value, and half the 95 % confidence interval of the mean.

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
    """How a contender compares with the best one.

    Attributes
    ----------
    name : str
        Name of the contender.
    half_width : float or None
        Half the corrected 95 % confidence interval of its mean score.
    behind : float or None
        Difference of its mean score from that of the best contender, at least 0.
    p : float or None
        p-value of this difference, by :func:`corrected_t_test`.
    is_best : bool
        Whether it is the best contender.
    """

    name: str
    half_width: float | None
    behind: float | None
    p: float | None
    is_best: bool = False

    @property
    def is_worse(self) -> bool:
        """Whether it is significantly worse than the best."""
        return self.p is not None and self.p < LEVEL and not self.is_best


def rank(result: Result) -> tuple[bool, float, float]:
    """Sort key: the best first, fewer leaves on ties, failures last."""
    mean = result.mean(result.metric)
    merit = -math.inf if mean is None else result.measured_by.sign * mean
    return bool(result.error), -merit, result.mean("leaves") or math.inf


def _finished(results: list[Result]) -> list[Result]:
    """Return the contenders that have scores, the best first."""
    return sorted((result for result in results if not result.error and result.score), key=rank)


def standings(results: list[Result], settings: Settings) -> dict[str, Standing]:
    """Compare every result with the best one, fold by fold; ties go to the result with fewer leaves.

    The p-values are not corrected for the number of contenders, and the best one was chosen on the same folds, so
    treat them as a guide.

    Parameters
    ----------
    results : list of Result
        The results of `run_comparison`.
    settings : Settings
        Its settings.

    Returns
    -------
    dict
        For each name of a contender that finished, a `Standing`.
    """
    done = _finished(results)
    if not done:
        return {}
    best, share = done[0], _test_share(settings)
    found = {}
    for result in done:
        half = corrected_t_test(result.score, share)[2]
        gaps = np.subtract(best.score, result.score) if len(result.score) == len(best.score) else []
        p = corrected_t_test(list(gaps), share)[1]
        behind = best.measured_by.sign * float(np.mean(best.score) - np.mean(result.score))
        found[result.name] = Standing(
            result.name, None if math.isnan(half) else half, behind, None if math.isnan(p) else p, result is best
        )
    return found


def _test_share(settings: Settings) -> float:
    return 1 / max(1, settings.folds - 1)


@dataclass(frozen=True)
class TradeOff:
    """A small tree compared with the best contender.

    Attributes
    ----------
    best : Result
        The best contender of any kind.
    tree : Result or None
        The smallest single tree within one standard error of the best; if there is none, the best single tree.
    is_within : bool
        Whether ``tree`` is within one standard error.
    standard_error : float
        Standard error of the best contender's mean score, corrected for folds that share training rows.
    reference : Result or None
        scikit-learn's best tree, to compare with.
    front : tuple of Result
        The single trees that are not beaten by any tree with as few leaves, the smallest first.
    """

    best: Result
    tree: Result | None
    is_within: bool
    standard_error: float
    reference: Result | None
    front: tuple[Result, ...]


def trade_off(results: list[Result], settings: Settings) -> TradeOff | None:
    """Weigh score against leaves: find the smallest tree within one standard error of the best contender.

    Parameters
    ----------
    results : list of Result
        The results of `run_comparison`.
    settings : Settings
        Its settings.

    Returns
    -------
    TradeOff or None
        None if no contender finished.
    """
    done = _finished(results)
    if not done:
        return None
    best = done[0]
    error = math.sqrt((1 / len(best.score) + _test_share(settings)) * float(np.var(best.score, ddof=1)))
    sign = best.measured_by.sign

    def merit(result: Result) -> float:
        return sign * float(np.mean(result.score))

    def size(result: Result) -> float:
        return float(np.mean(result.leaves))

    trees = sorted((result for result in done if result.leaves), key=lambda result: (size(result), -merit(result)))
    within = [result for result in trees if merit(result) >= merit(best) - error]
    front: list[Result] = []
    for tree in trees:
        if not front or merit(tree) > merit(front[-1]):
            front.append(tree)
    chosen = within[0] if within else max(trees, key=merit, default=None)
    reference = next((result for result in done if result.family == "sklearn tree"), None)
    return TradeOff(best, chosen, bool(within), error, reference, tuple(front))
