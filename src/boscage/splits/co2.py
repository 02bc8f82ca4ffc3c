"""CO2: descent on a continuous upper bound of the loss of a hard split."""

from __future__ import annotations

from typing import Any

from boscage import _core
from boscage.base.component import register
from boscage.splits._oblique import TimedFamily


@register("splits", "co2")
class CO2(TimedFamily):
    r"""CO2: linear tests that minimise a convex-concave bound on the log-loss of the two sides.

    With ℓ_g(y) the log-loss of class y on side g (smoothed by a hundredth of the node's weight), the loss of a hard
    split is bounded by

    .. math:: \sum_i s_i \Bigl[\max_{g = \pm 1}\bigl(g\,w^\top x_i + \ell_g(y_i)\bigr) - |w^\top x_i|\Bigr],
        \qquad \|w\|^2 \le \nu,

    over standardised columns with a constant. Subgradient steps over all rows of the node, each followed by a
    projection onto the ball, alternate with updates of the losses of both sides. The best hyperplane is kept, and its
    threshold is chosen by the criterion. For classification only.

    Parameters
    ----------
    init : {"axis", "random"}, default="axis"
        Starting point: the best axis-parallel test (which is kept if nothing better is found), or a random hyperplane.
    nu : float, default=10.0
        Bound of the squared norm, above 0: larger values make the bound tighter and less smooth.
    eta : float, default=0.3
        Step size, above 0.
    max_iter : int, default=300
        Maximum number of steps at a node, at least 1.
    recut : bool, default=True
        Whether to choose the threshold along the direction by the criterion; False cuts at w·x = 0, as published.
    time_limit : float or None, default=None
        Time limit in seconds, after which the remaining nodes get the best axis-parallel test, with a
        ConvergenceWarning.
    lookahead : bool, default=False
        Whether to search two levels at once where a single test gains little: pairs of hyperplanes are proposed from
        second moments and optimised together (up to 200 columns). This finds XOR, which no single test can.

    References
    ----------
    Norouzi, Collins, Fleet, Kohli: CO2 forest: improved random forest by continuous optimization of oblique splits,
    arXiv 1506.06155, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import TopDownTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TopDownTreeClassifier(splits="co2", max_leaf_nodes=3).fit(X, y)
    >>> bool(tree.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        init: str = "axis",
        nu: float = 10.0,
        eta: float = 0.3,
        max_iter: int = 300,
        recut: bool = True,
        time_limit: float | None = None,
        lookahead: bool = False,
    ) -> None:
        self.init = init
        self.nu = nu
        self.eta = eta
        self.max_iter = max_iter
        self.recut = recut
        self.time_limit = time_limit
        self.lookahead = lookahead

    def check(self) -> None:
        """Refuse settings out of range."""
        super().check()
        self._check_choice("init", ("axis", "random"))
        self._check_real("nu", low=0, open_low=True)
        self._check_real("eta", low=0, open_low=True)
        self._check_integer("max_iter", low=1, high=10**6)
        self._check_choice("recut", (True, False))

    def _grow_timed(self, X: _core.Table, problem: _core.ObliqueProblem, seed: int) -> dict[str, Any]:
        options = _core.Co2Options(self.init, seed)
        options.nu, options.eta = float(self.nu), float(self.eta)
        options.max_iter, options.recut = int(self.max_iter), bool(self.recut)
        return _core.grow_co2(X, problem, options)
