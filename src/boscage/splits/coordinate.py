"""OC1 and CART-LC: hyperplanes improved one coefficient at a time."""

from __future__ import annotations

from typing import Any

from boscage import _core
from boscage.base.component import register
from boscage.splits._oblique import TimedFamily

ORDERS = ("sequential", "best", "random")


@register("splits", "oc1")
class OC1(TimedFamily):
    """OC1: each coefficient in turn moves to its best value; random jumps and restarts escape local optima.

    Along the line θ + δ·e_j every row crosses the hyperplane at one δ, so the best δ under the criterion is found
    exactly by sorting these crossings. When no coefficient helps any more, the best step along ``n_jumps`` random
    directions is tried. Columns are standardised internally.

    Parameters
    ----------
    init : {"axis", "random"}, default="axis"
        First start: the best test of a single column (which is kept where it is better), or a random hyperplane.
        Nodes with fewer than two different rows for each column get the best test of a single column, as published.
    n_restarts : int, default=20
        Starts at each node, at least 1; all but the first are random.
    n_jumps : int, default=5
        Random directions that may fail before a start ends, at least 0.
    order : {"sequential", "best", "random"}, default="sequential"
        Which coefficient is moved next: one after the other, the one that gains most, or a random one.
    time_limit : float or None, default=None
        Time limit in seconds, after which the remaining nodes get the best axis-parallel test, with a
        ConvergenceWarning.
    lookahead : bool, default=False
        Whether to search two levels at once where a single test gains little: pairs of hyperplanes are proposed from
        second moments and optimised together (up to 200 columns). This finds XOR, which no single test can.

    References
    ----------
    Murthy, Kasif, Salzberg: A system for induction of oblique decision trees, JAIR 2, 1994.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import TopDownTreeClassifier
    >>> from boscage.splits import OC1
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TopDownTreeClassifier(OC1(n_restarts=5), max_leaf_nodes=3, random_state=0)
    >>> bool(tree.fit(X, y).score(X, y) > 0.97)
    True
    """

    provides = frozenset({"cut", "hard", "linear tests", "squared error", "numeric sums"})

    def __init__(
        self,
        init: str = "axis",
        n_restarts: int = 20,
        n_jumps: int = 5,
        order: str = "sequential",
        time_limit: float | None = None,
        lookahead: bool = False,
    ) -> None:
        self.init = init
        self.n_restarts = n_restarts
        self.n_jumps = n_jumps
        self.order = order
        self.time_limit = time_limit
        self.lookahead = lookahead

    def check(self) -> None:
        """Refuse settings out of range."""
        super().check()
        self._check_choice("init", ("axis", "random"))
        self._check_integer("n_restarts", low=1, high=10**6)
        self._check_integer("n_jumps", low=0, high=10**6)
        self._check_choice("order", ORDERS)

    def _grow_timed(self, X: _core.Table, problem: _core.ObliqueProblem, seed: int) -> dict[str, Any]:
        settings = self.init, int(self.n_restarts), int(self.n_jumps), ORDERS.index(self.order)
        return _core.grow_oc1(X, problem, *settings)


@register("splits", "cart_lc")
class CartLC(TimedFamily):
    """CART-LC: deterministic coordinate descent, starting from the best axis-parallel test.

    Each cycle tries to replace θ·x by θ·x + δ·(x_j + γ) for every column x_j in turn, with γ in {−¼, 0, ¼} and the best
    δ under the criterion (found exactly). Cycles end when they gain little; then unimportant columns are eliminated.
    Columns are standardised internally.

    Parameters
    ----------
    init : {"axis", "random"}, default="axis"
        Starting point: the best axis-parallel test (which is kept if nothing better is found), or a random hyperplane.
    tol : float, default=1e-3
        Cycles end when one gains less than this fraction of the node's impurity.
    elimination : float, default=0.2
        Backward elimination: the column whose removal costs least is removed as long as that costs less than this
        fraction of what the removal of the most important column would cost; 0 keeps all. In [0, 1].
    time_limit : float or None, default=None
        Time limit in seconds, after which the remaining nodes get the best axis-parallel test, with a
        ConvergenceWarning.
    lookahead : bool, default=False
        Whether to search two levels at once where a single test gains little: pairs of hyperplanes are proposed from
        second moments and optimised together (up to 200 columns). This finds XOR, which no single test can.

    References
    ----------
    Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984, section 5.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import TopDownTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TopDownTreeClassifier(splits="cart_lc", max_leaf_nodes=3).fit(X, y)
    >>> bool(tree.score(X, y) > 0.94)
    True
    """

    provides = frozenset({"cut", "hard", "linear tests", "squared error", "numeric sums"})

    def __init__(
        self,
        init: str = "axis",
        tol: float = 1e-3,
        elimination: float = 0.2,
        time_limit: float | None = None,
        lookahead: bool = False,
    ) -> None:
        self.init = init
        self.tol = tol
        self.elimination = elimination
        self.time_limit = time_limit
        self.lookahead = lookahead

    def check(self) -> None:
        """Refuse settings out of range."""
        super().check()
        self._check_choice("init", ("axis", "random"))
        self._check_real("tol", low=0)
        self._check_real("elimination", low=0, high=1)

    def _grow_timed(self, X: _core.Table, problem: _core.ObliqueProblem, seed: int) -> dict[str, Any]:
        return _core.grow_cart_lc(X, problem, self.init, float(self.tol), float(self.elimination))
