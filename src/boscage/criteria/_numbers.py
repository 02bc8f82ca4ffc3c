"""Criteria of numbers: what a tree minimises when its target is a number.

Each criterion is a loss; a node predicts the constant with the least loss, and that loss is its impurity. The compiled
core decides by the sums (w, w·y) of a node (``number_criteria.hpp``), or for quantiles by the order of y; the functions
here say the same in plain NumPy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from boscage.base.component import Component, register

Floats = npt.NDArray[np.float64]

__all__ = ["AbsoluteError", "Gamma", "NumberCriterion", "Poisson", "Quantile", "SquaredError", "Tweedie"]

_MOST_IMPURITY = 1e300  # squares of the largest numbers are no floats
_NO_TABLE = np.empty((0, 3))


def _floats(values: npt.ArrayLike) -> Floats:
    return np.asarray(values, np.float64)


def _weights(weight: npt.ArrayLike | None) -> Floats | None:
    """Weights times a power of two, so that their sum is about 1 and products with any numbers are finite."""
    if weight is None:
        return None
    weights = _floats(weight)
    return np.ldexp(weights, -int(np.frexp(weights.sum())[1]))


class NumberCriterion(Component, ABC):
    """A loss of numbers, and with it the impurity of a node: the least mean loss of a constant."""

    role: ClassVar[str] = "criterion"
    target: ClassVar[Literal["classes", "numbers"]] = "numbers"
    provides = frozenset({"impurity"})
    needs = frozenset({"numeric target", "squared error", "numeric sums"})
    unit = 1.0
    several_outputs: ClassVar[bool] = False
    _least: ClassVar[tuple[float, bool]] = (-np.inf, False)  # bound of y, and whether y may be equal to it

    @abstractmethod
    def native(self) -> tuple[str, float, Floats]:
        """Return what crosses into the compiled core: name, parameter, table."""

    @abstractmethod
    def loss(self, y: npt.ArrayLike, prediction: npt.ArrayLike) -> Floats:
        """Return the loss of each number.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            Numbers.
        prediction : array-like
            Predictions for them.
        """

    def value(self, y: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> Floats:
        """Return the constant with the smallest loss: the weighted mean.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            Numbers.
        weight : array-like of shape (n,), optional
            Sample weights.
        """
        result: Floats = np.average(_floats(y), axis=0, weights=_weights(weight))
        return result

    def impurity(self, y: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> float:
        """Return the weighted mean loss of the best constant; for several outputs, its mean.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            Numbers.
        weight : array-like of shape (n,), optional
            Sample weights.
        """
        numbers = _floats(y)
        with np.errstate(over="ignore", invalid="ignore"):
            losses = self.loss(numbers, self.value(numbers, weight))
            found = np.mean(np.average(losses, axis=0, weights=_weights(weight)))
        return float(np.nan_to_num(found, nan=_MOST_IMPURITY, posinf=_MOST_IMPURITY))

    def check_target(self, y: npt.NDArray[Any]) -> None:
        """Refuse numbers that this loss does not know."""
        rows = y.reshape(len(y), -1)
        row = int(np.argmin(rows.min(axis=1)))
        self.check_least(rows.min(axis=0), f"y[{row}]={y[row]}")

    def check_least(self, least: Floats, shown: str) -> None:
        """Refuse outputs of which these are the smallest numbers; ``shown`` says which in messages."""
        if len(least) > 1 and not self.several_outputs:
            raise ValueError(
                f"criterion={self!r} knows one output and y has {len(least)}. Pass criterion='squared_error', or fit "
                "one tree for each output."
            )
        low, is_allowed = self._least
        if not (least >= low if is_allowed else least > low).all():
            raise ValueError(
                f"{shown} is not allowed with criterion={self!r}: it needs y {'>=' if is_allowed else '>'} {low:g}. "
                "Pass criterion='squared_error' for other numbers."
            )


@register("criterion", "squared_error")
class SquaredError(NumberCriterion):
    """Squared error: a node predicts the mean of y, and its impurity is the variance.

    With several outputs the impurity is the mean of their variances.

    References
    ----------
    Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984.

    Examples
    --------
    >>> from boscage.criteria import SquaredError
    >>> SquaredError().impurity([1.0, 2.0, 3.0, 6.0])
    3.5
    """

    needs = frozenset({"numeric target", "squared error"})
    several_outputs = True

    def native(self) -> tuple[str, float, Floats]:
        """Return what crosses into the compiled core: name, parameter, table."""
        return "squared_error", 0.0, _NO_TABLE

    def loss(self, y: npt.ArrayLike, prediction: npt.ArrayLike) -> Floats:
        """Return (y − prediction)².

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            Numbers.
        prediction : array-like
            Predictions for them.
        """
        result: Floats = (_floats(y) - _floats(prediction)) ** 2
        return result


class _Deviance(NumberCriterion):
    """Half the deviance of a Tweedie distribution with log link, up to terms without the prediction at its best."""

    def _power(self) -> float:
        return 1.0

    def native(self) -> tuple[str, float, Floats]:
        """Return what crosses into the compiled core: name, parameter, table."""
        return "tweedie", self._power(), _NO_TABLE

    def loss(self, y: npt.ArrayLike, prediction: npt.ArrayLike) -> Floats:
        """Return half the unit deviance of each number.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            Numbers.
        prediction : array-like
            Predictions for them.
        """
        y, mean = _floats(y), _floats(prediction)
        power = self._power()
        with np.errstate(divide="ignore", invalid="ignore"):
            if power == 1:
                found = np.where(y > 0, y * np.log(y / mean), 0.0) - y + mean
            elif power == 2:
                found = np.log(mean / y) + y / mean - 1
            else:
                a = 2 - power
                found = y**a / (a * (a - 1)) - y * mean ** (a - 1) / (a - 1) + mean**a / a
        result: Floats = np.where((y == 0) & (mean == 0), 0.0, found)
        return result


@register("criterion", "poisson")
class Poisson(_Deviance):
    """Half Poisson deviance, for counts and rates: y ≥ 0. Pass exposures as sample weights; y is then the rate.

    A test that leaves a side without events (y = 0 throughout) is not valid.

    References
    ----------
    Therneau, Atkinson: An introduction to recursive partitioning using the RPART routines, 1997.

    Examples
    --------
    >>> from boscage.criteria import Poisson
    >>> round(Poisson().impurity([0.0, 1.0, 5.0]), 6)
    1.296102
    """

    _least = (0.0, True)


@register("criterion", "gamma")
class Gamma(_Deviance):
    """Half gamma deviance, for positive amounts whose spread grows with their mean: y > 0.

    Examples
    --------
    >>> from boscage.criteria import Gamma
    >>> round(Gamma().impurity([1.0, 2.0, 4.0]), 6)
    0.154151
    """

    _least = (0.0, False)

    def _power(self) -> float:
        return 2.0


@register("criterion", "tweedie")
class Tweedie(_Deviance):
    """Half Tweedie deviance, for totals of a random number of amounts, such as a year's claims: y ≥ 0.

    A test that leaves a side where y = 0 throughout is not valid.

    Parameters
    ----------
    power : float, default=1.5
        The variance grows like the mean to this power; strictly between 1 (`Poisson`) and 2 (`Gamma`).

    Examples
    --------
    >>> from boscage.criteria import Tweedie
    >>> round(Tweedie(power=1.5).impurity([0.0, 1.0, 4.0]), 6)
    1.163978
    """

    _least = (0.0, True)

    def __init__(self, power: float = 1.5) -> None:
        self.power = power

    def check(self) -> None:
        """Refuse powers outside (1, 2)."""
        instead = "use Poisson() for 1 and Gamma() for 2"
        self._check_real("power", low=1, high=2, open_low=True, open_high=True, otherwise=instead)

    def _power(self) -> float:
        return float(self.power)


class Quantile(NumberCriterion):
    """Pinball loss: a node predicts the q-quantile of y.

    If the quantile falls exactly between two values, their midpoint is predicted. Not available
    in batches or with Dask.

    Parameters
    ----------
    q : float, default=0.5
        Quantile level, in (0, 1).

    References
    ----------
    Koenker, Bassett: Regression quantiles, Econometrica 46, 1978.

    Examples
    --------
    >>> from boscage.criteria import Quantile
    >>> float(Quantile(q=0.9).value(range(11)))
    9.0
    """

    needs = frozenset({"numeric target", "squared error", "quantiles", "rows"})

    def __init__(self, q: float = 0.5) -> None:
        self.q = q

    def check(self) -> None:
        """Refuse shares outside (0, 1)."""
        self._check_real("q", low=0, high=1, open_low=True, open_high=True)

    def _q(self) -> float:
        return float(self.q)

    def native(self) -> tuple[str, float, Floats]:
        """Return what crosses into the compiled core: name, parameter, table."""
        return "quantile", self._q(), _NO_TABLE

    def loss(self, y: npt.ArrayLike, prediction: npt.ArrayLike) -> Floats:
        """Return q·(y − prediction) above the prediction, (1 − q)·(prediction − y) below.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            Numbers.
        prediction : array-like
            Predictions for them.
        """
        above = _floats(y) - _floats(prediction)
        result: Floats = np.maximum(self._q() * above, (self._q() - 1) * above)
        return result

    def value(self, y: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> Floats:
        """Return the weighted quantile; the median for absolute error.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            Numbers.
        weight : array-like of shape (n,), optional
            Sample weights.
        """
        numbers = _floats(y).ravel()
        order = np.argsort(numbers, kind="stable")
        weights = np.ones(len(numbers)) if weight is None else _floats(weight)
        up_to = np.cumsum(weights[order])
        wanted = self._q() * up_to[-1]
        first = int(np.argmax(up_to >= wanted))
        last = min(first + 1, len(order) - 1) if up_to[first] == wanted else first
        return np.asarray(numbers[order[first]] / 2 + numbers[order[last]] / 2)


@register("criterion", "absolute_error")
class AbsoluteError(Quantile):
    """Absolute error: a node predicts the median of y, and its impurity is the mean absolute deviation from it.

    Not available in batches or with Dask.

    Examples
    --------
    >>> from boscage.criteria import AbsoluteError
    >>> AbsoluteError().impurity([1.0, 2.0, 3.0, 6.0])
    1.5
    """

    def __init__(self) -> None:
        super().__init__()

    def native(self) -> tuple[str, float, Floats]:
        """Return what crosses into the compiled core: name, parameter, table."""
        return "absolute_error", 0.5, _NO_TABLE

    def loss(self, y: npt.ArrayLike, prediction: npt.ArrayLike) -> Floats:
        """Return |y − prediction|.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            Numbers.
        prediction : array-like
            Predictions for them.
        """
        result: Floats = np.abs(_floats(y) - _floats(prediction))
        return result
