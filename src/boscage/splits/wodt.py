"""Weighted oblique trees: tests that minimise the entropy of two soft sides."""

from __future__ import annotations

from typing import Any

from boscage import _core
from boscage._component import register
from boscage._grow import Job
from boscage.splits._oblique import ObliqueFamily


@register("splits", "wodt")
class WeightedOblique(ObliqueFamily):
    r"""WODT: a linear test whose direction minimises the entropy left on two soft sides.

    A row goes right with probability σ(θ·x) and left with σ(−θ·x). With the soft class weights
    :math:`W_R^k, W_L^k` and their sums :math:`W_R, W_L`, L-BFGS minimises from random starts

    .. math:: E(\theta)/W + \frac{l_2}{2\sqrt{W}}\,\|\theta\|^2, \qquad
        E(\theta) = \sum_k W_R^k \log_2\frac{W_R}{W_R^k} + W_L^k \log_2\frac{W_L}{W_L^k}

    over standardised columns (the penalty leaves the bias out). The hard test has θ's direction; its threshold is then
    found again under the tree's criterion. Scaling is folded back, so tests are in the units of X.

    Parameters
    ----------
    l2 : float, default=0.0
        Strength of the penalty, at least 0. 0 is the published form; .01 to .1 often gives smaller errors.
    n_init : int, default=1
        Random starts at each node, at least 1; the one with the best hard cut is kept.
    recut : bool, default=True
        Whether the threshold is found again along the direction; False cuts where σ = ½, as published.
    max_iter : int, default=100
        Largest number of L-BFGS steps of a start, at least 1.
    tol : float, default=1e-5
        A start ends when a step lowers the objective by less than this (bits per unit of weight).
    lookahead : bool, default=False
        Whether two levels are searched at once where a single test gains little: pairs of planes from the second
        moments of the classes, refitted in turns (up to 200 columns). It sees XOR, which no single test does.

    References
    ----------
    Yang, Shen, Gao: Weighted oblique decision trees, AAAI 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import TopDownTreeClassifier
    >>> from boscage.splits import WeightedOblique
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TopDownTreeClassifier(splits=WeightedOblique(), max_leaf_nodes=3, random_state=0).fit(X, y)
    >>> bool(tree.score(X, y) > 0.97)
    True
    """

    def __init__(
        self,
        l2: float = 0.0,
        n_init: int = 1,
        recut: bool = True,
        max_iter: int = 100,
        tol: float = 1e-5,
        lookahead: bool = False,
    ) -> None:
        self.l2 = l2
        self.n_init = n_init
        self.recut = recut
        self.max_iter = max_iter
        self.tol = tol
        self.lookahead = lookahead

    def check(self) -> None:
        """Refuse settings out of range."""
        super().check()
        self._check_real("l2", low=0)
        self._check_integer("n_init", low=1, high=10**6)
        self._check_choice("recut", (True, False))
        self._check_integer("max_iter", low=1, high=10**6)
        self._check_real("tol", low=0)

    def _grow_native(self, X: Any, job: Job, problem: Any) -> dict[str, Any]:
        arrays: dict[str, Any] = _core.grow_wodt(
            X,
            problem,
            float(self.l2),
            int(self.n_init),
            int(self.max_iter),
            float(self.tol),
            self.recut,
            job.seed,
            job.progress,
        )
        return arrays
