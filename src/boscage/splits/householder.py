"""HHCART: axis cuts in reflected columns."""

from __future__ import annotations

from typing import Any

from boscage import _core
from boscage.base.component import register
from boscage.splits._oblique import TimedFamily


@register("splits", "hhcart")
class Householder(TimedFamily):
    r"""HHCART: axis-parallel tests after reflecting the principal axis of a class onto a coordinate axis.

    For each class let d be the leading eigenvector of its covariance. The Householder reflection

    .. math:: H = I - 2uu^\top, \qquad u \propto d + \operatorname{sign}(d_1)\,e_1

    takes d to the first axis. Every threshold of every column of XH is tried, and of X itself; the best test under
    the criterion is kept. Columns are standardised internally.

    In regression, which the paper does not cover, the rows below and above the mean of the node take the place of two
    classes.

    Parameters
    ----------
    time_limit : float or None, default=None
        Time limit in seconds, after which the remaining nodes get the best axis-parallel test, with a
        ConvergenceWarning.
    lookahead : bool, default=False
        Whether to search two levels at once where a single test gains little: pairs of hyperplanes are proposed from
        second moments and optimised together (up to 200 columns). This finds XOR, which no single test can.

    References
    ----------
    Wickramarachchi, Robertson, Reale, Price, Brown: HHCART, an oblique decision tree, Computational Statistics and
    Data Analysis 96, 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import TopDownTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TopDownTreeClassifier(splits="hhcart", max_leaf_nodes=3).fit(X, y)
    >>> bool(tree.score(X, y) > 0.95)
    True
    """

    provides = frozenset({"cut", "hard", "linear tests", "squared error", "numeric sums"})
    is_random = False

    def __init__(self, time_limit: float | None = None, lookahead: bool = False) -> None:
        self.time_limit = time_limit
        self.lookahead = lookahead

    def _grow_timed(self, X: _core.Table, problem: _core.ObliqueProblem, seed: int) -> dict[str, Any]:
        return _core.grow_householder(X, problem)
