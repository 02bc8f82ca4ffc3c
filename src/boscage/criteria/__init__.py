"""Criteria G: how impure a node is, and what a test is worth. Those of numbers are in `boscage.criteria._numbers`.

Everything here rests on Φ(W) = |W|·G(W/|W|), a function of the vector W of class weights of a node: concave,
homogeneous, zero when one class is left. The compiled core has the same roster in the same order
(``class_criteria.hpp``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from boscage.base.component import ROLES, Component, register
from boscage.base.tabulate import curvature_at, slope_at, tabulate, value_at
from boscage.criteria._numbers import (
    AbsoluteError,
    Gamma,
    NumberCriterion,
    Poisson,
    Quantile,
    SquaredError,
    Tweedie,
)
from boscage.data.class_weights import entropy_gap, moderate, of_both_sides, rest

Floats = npt.NDArray[np.float64]

__all__ = [
    "AbsoluteError",
    "Criterion",
    "Custom",
    "Entropy",
    "Gamma",
    "Gini",
    "ModifiedGini",
    "NumberCriterion",
    "Poisson",
    "Quantile",
    "Separation",
    "Sqrt",
    "SquaredError",
    "Tweedie",
]

_NO_TABLE = np.empty((0, 3))
_SMALLEST = 1e-300  # class weights are floored here where a slope would be infinite


class Criterion(Component, ABC):
    """A function of class weights: total(W) = Φ(W) = |W|·G(W/|W|).

    Weights are arrays of shape (..., K); results have shape (...). Any scale is allowed: weights are brought to
    moderate size by a power of two, which changes no digit.
    """

    role: ClassVar[str] = "criterion"
    target: ClassVar[Literal["classes", "numbers"]] = "classes"
    provides = frozenset({"impurity", "slope"})
    needs = frozenset({"class target"})

    @property
    @abstractmethod
    def unit(self) -> float:
        """G of two equal classes: values divided by it are 1 there, as in Kearns and Mansour."""

    @abstractmethod
    def native(self) -> tuple[str, float, Floats]:
        """Return what crosses into the compiled core: name, parameter, table."""

    @abstractmethod
    def _total(self, W: Floats) -> Floats:
        """Φ of weights of moderate size, not all zero."""

    @abstractmethod
    def _slope(self, W: Floats) -> Floats:
        """dΦ/dW of weights of moderate size."""

    @abstractmethod
    def _gain(self, right: Floats, left: Floats) -> Floats:
        """Φ(right + left) − Φ(right) − Φ(left) without cancellation; both sides have weight."""

    def _drop(self, right: Floats, left: Floats) -> Floats:
        return self._gain(right, left)

    def total(self, W: npt.ArrayLike) -> Floats:
        """Return Φ(W): weight times impurity.

        Parameters
        ----------
        W : array-like of shape (..., K)
            Class weights.
        """
        weights, exponent = moderate(np.asarray(W, dtype=np.float64))
        empty = weights.sum(axis=-1) == 0
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.ldexp(self._total(weights), exponent)
        return np.where(empty, 0.0, value)

    def slope(self, W: npt.ArrayLike) -> Floats:
        """Return the derivatives of `total` by the class weights; a very large number where one is infinite.

        Parameters
        ----------
        W : array-like of shape (..., K)
            Class weights.
        """
        weights = moderate(np.asarray(W, dtype=np.float64))[0]
        return self._slope(np.maximum(weights, _SMALLEST))

    def gain(self, parent: npt.ArrayLike, right: npt.ArrayLike) -> Floats:
        """Return the gain of a test that sends the class weights ``right`` out of ``parent`` to one side.

        Parameters
        ----------
        parent, right : array-like of shape (..., K)
            Class weights of the node and of one side.
        """
        left = np.asarray(parent, dtype=np.float64) - np.asarray(right, dtype=np.float64)
        return self.split_gain(right, np.maximum(left, 0.0))

    def split_gain(self, right: npt.ArrayLike, left: npt.ArrayLike) -> Floats:
        """Return the gain of a test; 0 if a side is empty, never negative.

        Parameters
        ----------
        right, left : array-like of shape (..., K)
            Class weights of the two sides.
        """
        return of_both_sides(self._gain, right, left)

    def split_drop(self, right: npt.ArrayLike, left: npt.ArrayLike) -> Floats:
        """Return Φ(right + left) − Φ(right) − Φ(left): the gain, except for `Separation`.

        Parameters
        ----------
        right, left : array-like of shape (..., K)
            Class weights of the two sides.
        """
        return of_both_sides(self._drop, right, left)


@register("criterion", "gini")
class Gini(Criterion):
    """Gini impurity: G(π) = Σ π_k (1 − π_k).

    The gain of a test is Σ_k d_k² / (P Q (P + Q)), where P and Q are the weights of its sides, R_k and L_k those of
    class k on them, and d_k = R_k Q − L_k P.

    References
    ----------
    Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984.

    Examples
    --------
    >>> from boscage.criteria import Gini
    >>> float(Gini().total([2.0, 2.0]))
    2.0
    >>> float(Gini().gain([2.0, 2.0], [0.0, 2.0]))
    2.0
    """

    provides = frozenset({"impurity", "slope", "gini"})
    unit = 0.5

    def native(self) -> tuple[str, float, Floats]:
        """Return what crosses into the compiled core: name, parameter, table."""
        return "gini", 0.0, _NO_TABLE

    def _total(self, W: Floats) -> Floats:
        result: Floats = (W * rest(W)).sum(axis=-1) / W.sum(axis=-1)
        return result

    def _slope(self, W: Floats) -> Floats:
        shares = W / W.sum(axis=-1, keepdims=True)
        result: Floats = 1 - 2 * shares + (shares**2).sum(axis=-1, keepdims=True)
        return result

    def _gain(self, right: Floats, left: Floats) -> Floats:
        p, q = right.sum(axis=-1), left.sum(axis=-1)
        if right.shape[-1] == 2:
            d = right[..., 1] * left[..., 0] - left[..., 1] * right[..., 0]
            squares = 2 * (d / p) * (d / q)
        else:
            d = right * q[..., None] - left * p[..., None]
            squares = ((d / p[..., None]) * (d / q[..., None])).sum(axis=-1)
        result: Floats = squares / (p + q)
        return result


@register("criterion", "log_loss")  # scikit-learn has both names
@register("criterion", "entropy")
class Entropy(Criterion):
    """Entropy in bits: G(π) = −Σ π_k log₂ π_k; the gain of a test is its information gain.

    References
    ----------
    Quinlan: Induction of decision trees, Machine Learning 1, 1986.
    Kearns, Mansour: On the boosting ability of top-down decision tree learning algorithms, JCSS 58, 1999.

    Examples
    --------
    >>> from boscage.criteria import Entropy
    >>> float(Entropy().total([1.0, 1.0, 1.0, 1.0]))
    8.0
    """

    unit = 1.0

    def native(self) -> tuple[str, float, Floats]:
        """Return what crosses into the compiled core: name, parameter, table."""
        return "entropy", 0.0, _NO_TABLE

    def _total(self, W: Floats) -> Floats:
        everything = W.sum(axis=-1, keepdims=True)
        shares = W / everything
        logs = np.where(shares > 0.5, np.log1p(-rest(W) / everything), np.log(shares))
        result: Floats = -np.where(W > 0, W * logs, 0.0).sum(axis=-1) / math.log(2)
        return result

    def _slope(self, W: Floats) -> Floats:
        result: Floats = -np.log2(W / W.sum(axis=-1, keepdims=True))
        return result

    def _gain(self, right: Floats, left: Floats) -> Floats:
        p, q = right.sum(axis=-1, keepdims=True), left.sum(axis=-1, keepdims=True)
        both = right + left
        d = (right * q - left * p) / both
        terms = both * (p * entropy_gap(d / p, right) + q * entropy_gap(-d / q, left))
        result: Floats = np.where(both > 0, terms, 0.0).sum(axis=-1) / (p + q)[..., 0] / math.log(2)
        return result


class _Root(Criterion):
    """Σ √(π_k (C − π_k)) − √(C − 1), shared by `Sqrt` (C = 1) and `ModifiedGini`."""

    def _c(self) -> float:
        return 1.0

    def _total(self, W: Floats) -> Floats:
        # The largest class carries the shift, so that nothing cancels near a pure node.
        c, everything, others = self._c(), W.sum(axis=-1, keepdims=True), rest(W)
        roots = np.sqrt(W) * np.sqrt((c - 1) * everything + others)
        shifted = others * ((2 - c) * everything - others) / (roots + everything * math.sqrt(c - 1))
        is_largest = np.arange(W.shape[-1]) == W.argmax(axis=-1)[..., None]
        terms = np.where(is_largest, np.where(others > 0, shifted, 0.0), roots)
        result: Floats = np.maximum(terms.sum(axis=-1), 0.0)
        return result

    def _slope(self, W: Floats) -> Floats:
        c = self._c()
        t = (c - 1) * W.sum(axis=-1, keepdims=True) + np.maximum(rest(W), _SMALLEST)
        up, down = np.sqrt(t) / np.sqrt(W), np.sqrt(W) / np.sqrt(t)
        result: Floats = 0.5 * (up + c * down.sum(axis=-1, keepdims=True) - down) - math.sqrt(c - 1)
        return result

    def _gain(self, right: Floats, left: Floats) -> Floats:
        # √(wt) − √(r·tr) − √(l·tl), t = C|W| − w, rationalised twice.
        shift = self._c() - 1
        tr = shift * right.sum(axis=-1, keepdims=True) + rest(right)
        tl = shift * left.sum(axis=-1, keepdims=True) + rest(left)
        a, b = np.sqrt(right) * np.sqrt(tl), np.sqrt(left) * np.sqrt(tr)
        difference = (right * tl - left * tr) / (a + b)
        children = np.sqrt(right) * np.sqrt(tr) + np.sqrt(left) * np.sqrt(tl)
        terms = difference**2 / (np.sqrt(right + left) * np.sqrt(tr + tl) + children)
        result: Floats = np.where(a + b > 0, terms, 0.0).sum(axis=-1)
        return result


@register("criterion", "sqrt")
class Sqrt(_Root):
    """Square root: G(π) = Σ √(π_k (1 − π_k)); for two classes, 2√(q(1−q)).

    Of the criteria of Kearns and Mansour it has the best theoretical guarantee: see :doc:`/parts`.

    References
    ----------
    Kearns, Mansour: On the boosting ability of top-down decision tree learning algorithms, JCSS 58, 1999.

    Examples
    --------
    >>> from boscage.criteria import Sqrt
    >>> float(Sqrt().total([0.5, 0.5]))
    1.0
    """

    unit = 1.0

    def native(self) -> tuple[str, float, Floats]:
        """Return what crosses into the compiled core: name, parameter, table."""
        return "sqrt", 0.0, _NO_TABLE


@register("criterion", "modified_gini")
class ModifiedGini(_Root):
    """Modified Gini: G(π) = Σ √(π_k (C − π_k)) − √(C − 1); the constant makes pure nodes 0.

    Parameters
    ----------
    C : float, default=3.0
        At least 1; with C = 1 this is `Sqrt`.

    References
    ----------
    Choromanska, Choromanski, Bojarski: On the boosting ability of top-down decision tree learning algorithm for
    multiclass classification, 2016.

    Examples
    --------
    >>> from boscage.criteria import ModifiedGini
    >>> round(float(ModifiedGini(C=3.0).total([0.5, 0.5])), 6)
    0.821854
    """

    def __init__(self, C: float = 3.0) -> None:
        self.C = C

    def check(self) -> None:
        """Refuse C below 1."""
        self._check_real("C", low=1)

    def _c(self) -> float:
        return float(self.C)

    @property
    def unit(self) -> float:
        """G of two equal classes, √(2C − 1) − √(C − 1)."""
        return math.sqrt(2 * self._c() - 1) - math.sqrt(self._c() - 1)

    def native(self) -> tuple[str, float, Floats]:
        """Return what crosses into the compiled core: name, parameter, table."""
        return "modified_gini", self._c(), _NO_TABLE


@register("criterion", "separation")
class Separation(Entropy):
    """LOMtree's objective: J = 2 Σ π_k |P − P_k|, P the share of the weight going right, P_k that of class k.

    J is large for tests that are balanced and keep each class together; 0 ≤ J ≤ 4P(1 − P) ≤ 1. It is a gain without
    an impurity: the tree's potential, limits and pruning use the entropy (`total`, `split_drop`).

    References
    ----------
    Choromanska, Langford: Logarithmic time online multiclass prediction, NIPS 2015.

    Examples
    --------
    >>> from boscage.criteria import Separation
    >>> float(Separation().gain([0.5, 0.5], [0.0, 0.5]))
    1.0
    """

    provides = frozenset()
    needs = frozenset({"class target", "cut"})

    def native(self) -> tuple[str, float, Floats]:
        """Return what crosses into the compiled core: name, parameter, table."""
        return "separation", 0.0, _NO_TABLE

    def _drop(self, right: Floats, left: Floats) -> Floats:
        return Entropy._gain(self, right, left)

    def _gain(self, right: Floats, left: Floats) -> Floats:
        p, q = right.sum(axis=-1, keepdims=True), left.sum(axis=-1, keepdims=True)
        result: Floats = 2 * np.abs(right * q - left * p).sum(axis=-1) / (p + q)[..., 0]
        return result


class Custom(Criterion):
    """Your own permissible G on [0, 1], for K classes ½ Σ G(π_k).

    Permissible means G(0) = G(1) = 0, G(½) = 1, G(q) = G(1 − q) and concave (Kearns and Mansour). G is sampled once
    per fit into a table, checked there, and runs in the compiled core like every other criterion.
    ``criterion=function`` is short for ``criterion=Custom(function)``.

    Parameters
    ----------
    function : callable
        G, called with an array of numbers if it allows that, else with one number at a time.

    References
    ----------
    Kearns, Mansour: On the boosting ability of top-down decision tree learning algorithms, JCSS 58, 1999.

    Examples
    --------
    >>> from boscage.criteria import Custom
    >>> G = Custom(lambda q: (4 * q * (1 - q)) ** 0.75)
    >>> round(float(G.total([1.0, 3.0])), 9)
    3.223709795
    """

    unit = 1.0

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def check(self) -> None:
        """Refuse what is not callable or not permissible."""
        function: object = self.function
        if not callable(function):
            self._refuse("function", "a callable on [0, 1]")
        self.table()

    def table(self) -> Floats:
        """Return rows (G, dG/du, curvature) at the knots, computed once."""
        cached: tuple[object, Floats] | None = self.__dict__.get("_cached")
        if cached is None or cached[0] is not self.function:
            cached = self.function, tabulate(self.function)
            self._cached = cached
        return cached[1]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_cached"}

    def native(self) -> tuple[str, float, Floats]:
        """Return what crosses into the compiled core: name, parameter, table."""
        return "table", 0.0, self.table()

    def _total(self, W: Floats) -> Floats:
        everything = W.sum(axis=-1, keepdims=True)
        shares = np.nan_to_num(np.minimum(W, rest(W)) / everything)
        result: Floats = 0.5 * everything[..., 0] * value_at(self.table(), shares).sum(axis=-1)
        return result

    def _slope(self, W: Floats) -> Floats:
        shares, others = W / W.sum(axis=-1, keepdims=True), rest(W) / W.sum(axis=-1, keepdims=True)
        minor = np.maximum(np.minimum(shares, others), _SMALLEST)
        values, slopes = value_at(self.table(), minor), slope_at(self.table(), minor)
        slopes = np.where(shares > others, -slopes, slopes)
        result: Floats = 0.5 * (slopes + (values - shares * slopes).sum(axis=-1, keepdims=True))
        return result

    def _gain(self, right: Floats, left: Floats) -> Floats:
        table = self.table()
        p, q = right.sum(axis=-1, keepdims=True), left.sum(axis=-1, keepdims=True)
        rest_right, rest_left, both = rest(right), rest(left), p + q
        share, others = (right + left) / both, (rest_right + rest_left) / both
        here = value_at(table, np.minimum(share, others))
        right_value = value_at(table, np.minimum(right, rest_right) / p)
        left_value = value_at(table, np.minimum(left, rest_left) / q)
        by_value = p * (here - right_value) + q * (here - left_value)
        # Children too close for a difference of values: Taylor's remainder at its centre of mass.
        d = right * rest_left - left * rest_right
        to_right, to_left = d / p / both, -d / q / both
        by_curvature = 0.5 * (
            p * to_right * to_right * curvature_at(table, share + to_right / 3, others - to_right / 3)
            + q * to_left * to_left * curvature_at(table, share + to_left / 3, others - to_left / 3)
        )
        terms = np.where(by_value > 1e-6 * both * here, by_value, by_curvature)
        result: Floats = 0.5 * np.where(d == 0, 0.0, terms).sum(axis=-1)
        return result


ROLES["criterion"].wrap = Custom
