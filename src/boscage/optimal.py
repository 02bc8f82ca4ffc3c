"""OptimalTreeClassifier: the best tree of a given depth, with a proof, for real-valued sample weights."""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from boscage import _core
from boscage.base.callbacks import FRAMES, fit_task, with_callbacks
from boscage.base.numbers import check_number, is_number
from boscage.base.progress import Progress
from boscage.base.threads import n_threads
from boscage.data.validation import Dataset, fit_data
from boscage.engine.estimator import TreeClassifier
from boscage.engine.grow import native_table
from boscage.files import saveable
from boscage.tree import LINEAR, Tree

__all__ = ["OptimalTreeClassifier"]

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_NO_LIMIT = 2**62
_NO_STATES = 2**63 - 1
_MAX_DEPTH = 30
_STOPPED = {
    "time_limit": "the time limit of {0.time_limit} s was reached; raise time_limit",
    "memory_limit": "the memory limit of {0.memory_limit} was reached; raise memory_limit",
    "max_explored": "the limit of {0.max_explored} states was reached; raise max_explored",
    "interrupted": "the search was interrupted; let it run longer",
}


@saveable
class OptimalTreeClassifier(TreeClassifier):
    r"""Provably optimal decision tree: the least weighted error plus a penalty per leaf, by branch and bound.

    Over all axis-parallel trees T of depth at most ``max_depth``, with all thresholds between values of the data, it
    minimises

    .. math:: \sum_i w_i\,[T(x_i) \ne y_i] \,/ \sum_i w_i + \alpha \cdot \mathrm{leaves}(T).

    Sums of weights are exact: whole-number weights (or whole multiples of a common unit) are used as they are, others
    are rounded to multiples of 2⁻⁴⁶ of their total. ``status_ == "optimal"`` therefore means: no tree is better by more
    than n·2⁻⁴⁶. Among equally good trees the one with the first column, then the lowest threshold, node by node, is
    returned, whatever the number of threads.

    Parameters
    ----------
    max_depth : int, default=4
        Maximum depth, 0 to 30 (the root has depth 0). The search time grows steeply with it.
    alpha : float, default=0.001
        Penalty per leaf, in units of the error rate, at least 0.
    method : {"exact", "lookahead"}, default="exact"
        "exact" searches until it has a proof or meets a limit. "lookahead" is for data of any size: it tries many
        splits near the root, completes each tree by a greedy search that looks two levels ahead, solves the lowest
        levels exactly if they are small enough, and spends the same time again on the lower bound.
    time_limit : float or None, default=60
        Time limit in seconds; None for no limit. When it is reached, the best tree found so far is kept, and a
        ConvergenceWarning reports the gap.
    memory_limit : int, str or None, default=None
        Maximum memory of the search in bytes, or a string such as "500MB" or "2GiB"; None for no limit.
    max_explored : int or None, default=None
        Maximum number of states (sets of rows) to explore, at least 1; None for no limit. With ``time_limit=None`` and
        one thread the result is then the same on every machine, proven or not.
    warm_start_tree : Tree, fitted tree classifier or None, default=None
        A tree with axis tests to start from: a better start shortens the search. The result does not depend on it.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does: "raise" raises KeyboardInterrupt and leaves the estimator as it was; "keep" ends the search
        and keeps the best tree found so far, with a ConvergenceWarning and ``status_ == "interrupted"``. See
        :ref:`interrupting`.
    class_weight : dict, "balanced" or None, default=None
        Class weights, multiplied by the sample weights.
    n_jobs : int or None, default=None
        Number of threads: None means 1, -1 means all cores. The fitted tree does not depend on it.
    verbose : bool or None, default=None
        Whether to show the best objective, the lower bound and the gap while searching: None shows them on a terminal
        if the fit takes longer than two seconds, True always, False never.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, as read-only arrays. ``impurity`` is the error rate of a node.
    objective_ : float
        Error rate plus alpha times the number of leaves of ``tree_``.
    lower_bound_ : float
        No tree of this depth has a lower objective; equal to ``objective_`` if proven optimal.
    gap_ : float
        ``objective_ - lower_bound_``.
    status_ : str
        "optimal", "time_limit", "memory_limit", "max_explored", "interrupted" (Ctrl-C with ``on_interrupt="keep"``), or
        "heuristic" (method "lookahead" without a proof).
    n_nodes_explored_ : int
        Number of sets of rows explored.
    classes_, n_classes_, n_features_in_, feature_names_in_, feature_importances_
        As in :class:`boscage.TopDownTreeClassifier`.

    Notes
    -----
    X must be numeric, without missing values: see :doc:`/categories`. See :doc:`/weights` for sample and class weights,
    and :doc:`/running` for threads and interruption. No random numbers are used.

    References
    ----------
    Shar, Lécuyer: Weighted optimal decision trees.
    Brița, van der Linden, Demirović: Optimal classification trees for continuous feature data using dynamic programming
    with branch-and-bound, AAAI 2025.

    Examples
    --------
    >>> from boscage import OptimalTreeClassifier
    >>> X, y, w = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], [1.5, 1, 1, 0.5]
    >>> tree = OptimalTreeClassifier(max_depth=2).fit(X, y, sample_weight=w)
    >>> tree.status_, round(tree.objective_, 6), tree.get_n_leaves()
    ('optimal', 0.004, 4)
    """

    def __init__(
        self,
        max_depth: int = 4,
        alpha: float = 0.001,
        method: str = "exact",
        *,
        time_limit: float | None = 60,
        memory_limit: int | str | None = None,
        max_explored: int | None = None,
        warm_start_tree: Any = None,
        on_interrupt: str = "raise",
        class_weight: str | Mapping[Any, float] | None = None,
        n_jobs: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.alpha = alpha
        self.method = method
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.max_explored = max_explored
        self.warm_start_tree = warm_start_tree
        self.on_interrupt = on_interrupt
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose

    status_: str
    objective_: float
    lower_bound_: float
    gap_: float
    n_nodes_explored_: int

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OptimalTreeClassifier:
        """Search for the optimal tree.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Training rows; float32 and float64 are not converted. Impute missing values first.
        y : array-like of shape (n,)
            Class labels of any type.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; rows with weight 0 are ignored.

        Returns
        -------
        self
        """
        with fit_task(self, X, y, sample_weight):
            self._fit(X, y, sample_weight)
        if self.status_ in _STOPPED:
            reason = _STOPPED[self.status_].format(self)
            warnings.warn(
                f"The tree is not proven optimal: {reason}. Its objective is {self.objective_:.6g}, the lower bound "
                f"is {self.lower_bound_:.6g} (gap {self.gap_:.3g}).",
                ConvergenceWarning,
                stacklevel=2 + FRAMES,
            )
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        start = time.monotonic()
        seconds, memory = self._check_limits()
        threads = n_threads(self.n_jobs)
        data = fit_data(self, X, y, sample_weight, class_weight=self.class_weight, allow_nan=False)
        warm = _as_start(self.warm_start_tree, data.X.shape[1])
        labels = np.unique(data.y, return_inverse=True)[1]
        weights = np.empty(0) if data.weight is None else data.weight / data.weight.max()
        settings = _core.OptimalSettings()
        settings.max_depth, settings.alpha = min(int(self.max_depth), _MAX_DEPTH), float(self.alpha)
        settings.exact, settings.threads = self.method == "exact", threads
        settings.memory_limit = memory
        settings.max_explored = _NO_STATES if self.max_explored is None else int(self.max_explored)
        settings.keep_on_interrupt = self.on_interrupt == "keep"
        settings.time_limit = max(0.0, seconds - (time.monotonic() - start))
        with _BoundsLine(self.verbose) as line:
            target = _core.Target(labels.astype(np.int32), weights, int(labels.max()) + 1)
            found = _core.solve_optimal(native_table(data.X), target, settings, warm, line.callback)
        tree = _tree_of(found, data)
        self._publish(data, tree_=tree, **self._certificate(tree, found))

    def _certificate(self, tree: Tree, found: dict[str, Any]) -> dict[str, Any]:
        """Objective and bound, the objective summed again in float64."""
        leaves = np.flatnonzero(tree.is_leaf)
        wrong = float(np.dot(tree.weighted_n_node_samples[leaves], tree.impurity[leaves]))
        objective = wrong / float(tree.weighted_n_node_samples[0]) + float(self.alpha) * len(leaves)
        bound = objective if found["status"] == "optimal" else min(objective, float(found["lower_bound"]))
        return {
            "status_": found["status"],
            "objective_": objective,
            "lower_bound_": bound,
            "gap_": objective - bound,
            "n_nodes_explored_": found["explored"],
        }

    def _check_limits(self) -> tuple[float, int]:
        check_number("max_depth", self.max_depth, f"an integer in [0, {_MAX_DEPTH}]", 0, _MAX_DEPTH, whole=True)
        check_number("alpha", self.alpha, "a number >= 0", 0)
        if self.method not in ("exact", "lookahead"):
            raise ValueError(f"method={self.method!r} is not known. Pass 'exact' or 'lookahead'.")
        if self.on_interrupt not in ("raise", "keep"):
            raise ValueError(f"on_interrupt={self.on_interrupt!r} is not known. Pass 'raise' or 'keep'.")
        if self.max_explored is not None:
            allowed = "an integer >= 1, or None for no limit"
            check_number("max_explored", self.max_explored, allowed, 1, _NO_LIMIT, whole=True)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, "seconds >= 0, or None for no limit", 0)
        return math.inf if self.time_limit is None else float(self.time_limit), parse_bytes(self.memory_limit)


def parse_bytes(limit: Any) -> int:
    """Turn a memory limit into bytes.

    Parameters
    ----------
    limit : int, str or None
        A number of bytes, a text such as "500MB" or "2 GiB" (MB = 10⁶, MiB = 2²⁰), or None for no limit.

    Examples
    --------
    >>> from boscage.optimal import parse_bytes
    >>> parse_bytes("1.5MB"), parse_bytes("2GiB"), parse_bytes(1000)
    (1500000, 2147483648, 1000)
    """
    if limit is None:
        return _NO_LIMIT
    size = limit
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([A-Za-z]*)\s*", limit)
        size = float(match[1]) * _UNITS.get(match[2].upper(), 0) if match else 0
    if is_number(size) and 0 < size < _NO_LIMIT:
        return int(size)
    raise ValueError(f"memory_limit={limit!r} is not allowed. Pass bytes, a text such as '2GB', or None for no limit.")


def _as_start(start: Any, n_features: int) -> Any:
    """Children, features and thresholds of a tree to start from; empty arrays for none."""
    if start is None:
        none = np.empty(0, np.int32)
        return none, none, none, np.empty(0)
    tree = getattr(start, "tree_", start)
    if not isinstance(tree, Tree):
        raise TypeError(
            f"warm_start_tree of type {type(start).__name__} is not allowed. Pass a Tree, a fitted classifier of this "
            "library, or None."
        )
    if tree.n_features != n_features:
        raise ValueError(
            f"warm_start_tree has {tree.n_features} columns, X has {n_features}. Pass a tree on these columns."
        )
    if (tree.feature == LINEAR).any() or (tree.category_offset >= 0).any():
        raise ValueError(
            "warm_start_tree has linear or category tests. Pass a tree with axis tests x <= threshold only."
        )
    return tree.children_left, tree.children_right, tree.feature, tree.threshold


def _tree_of(found: dict[str, Any], data: Dataset) -> Tree:
    """Count rows and class weights at every node, leaves first."""
    left, right = found["children_left"], found["children_right"]
    n_nodes, n_classes = len(left), len(data.classes)
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    mass = np.bincount(found["leaf"] * np.int64(n_classes) + data.y, weight, n_nodes * n_classes)
    mass = mass.reshape(n_nodes, n_classes)
    rows = np.bincount(found["leaf"], minlength=n_nodes)
    for node in reversed(np.flatnonzero(left >= 0)):
        mass[node] = mass[left[node]] + mass[right[node]]
        rows[node] = rows[left[node]] + rows[right[node]]
    total = mass.sum(axis=1)
    value = mass / total[:, None]
    return Tree(
        children_left=left,
        children_right=right,
        feature=found["feature"],
        threshold=found["threshold"],
        value=value,
        n_node_samples=rows.astype(np.int64),
        weighted_n_node_samples=total,
        impurity=(total - mass.max(axis=1)) / total,
        schema=data.schema,
    )


class _BoundsLine(Progress):
    """Progress line of the search: best objective, lower bound and what lies between."""

    def __init__(self, verbose: bool | None) -> None:
        super().__init__("optimal tree", verbose)

    def __call__(self, objective: float, bound: float) -> None:  # type: ignore[override]
        """Show the bounds."""
        self.text = f"optimal tree: objective {objective:.5f}, bound {bound:.5f}, gap {objective - bound:.5f}; update"
        super().__call__(0)
        if self._bar is not None:
            self._bar.update(self._task, description=self.text, advance=1)
