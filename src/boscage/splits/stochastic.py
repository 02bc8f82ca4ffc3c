"""Stochastic linear tests: a row goes right with a probability that is linear in it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from boscage import _core
from boscage.base.component import IncompatibleParts, check_compatible, register, resolve
from boscage.criteria._numbers import NumberCriterion
from boscage.engine.grow import Job, Limits, native_criterion, tree_of
from boscage.splits._family import SplitFamily
from boscage.tree import Floats, InputMap, Tree

if TYPE_CHECKING:
    from boscage.batches.passes import NumberFacts
    from boscage.batches.reading import Executor

__all__ = ["SplitSolution", "StochasticLinear", "solve_split"]

SEARCHES = ("exact", "fixed_pq", "fixed_p_search_q")
SCALES = ("standard", "unit", False)

_DEFAULT_LEAVES = 64
_DEFAULT_DEPTH = 6
_DEFAULT_DROP = 1e-4
_LOOKAHEAD_COLUMNS = 2000


@register("splits", "stochastic")
class StochasticLinear(SplitFamily):
    r"""Soft linear tests: right with probability (1 + w·x)/2, where ‖w‖ ≤ 1 and ‖x‖ ≤ 1.

    Every row has a probability distribution over the leaves, and a prediction is the average over it. The best test of
    a node needs only the weighted sums a = Σ D x and b_k = Σ D 1[y = k] x of its rows. For the Gini index of two
    classes

    .. math:: w^* \propto c + \frac{a\cdot c}{1-\|a\|^2}\,a, \qquad c = b_1 - \rho_1 a,

    is exactly the best test; it decreases 4ρ(1−ρ) by 4(‖c‖² + (a·c)²/(1 − ‖a‖²)). More classes lead to an
    eigenproblem of the size of the number of classes, other criteria to a search over one angle (two classes) or over
    the sphere of span(b_k). Squared error leads to the same formulas, with two classes for each output. If no limit is
    set, growth stops at 64 leaves, or when a split lowers the potential by less than 1e-4 of that of the root.

    Parameters
    ----------
    search : {"exact", "fixed_pq", "fixed_p_search_q"}, default="exact"
        "exact" is the formula above and its extensions. The other two are the published Algorithms 2 and 3 (grids of
        C/ε steps with C = 100, Algorithm 4 where a and b are parallel), for two classes and Gini; where the grid of
        "fixed_pq" holds no feasible point, the extreme feasible q of each p is taken.
    epsilon : float, default=0.1
        Accuracy of the published searches, in (0, 1]: their Gini index is within ε of the best.
    fit_intercept : bool, default=True
        Whether to append a constant to the rows, so that tests have a threshold.
    intercept_scaling : float, default=1.0
        That constant, > 0 (b in the paper, before rows are normalised). A larger one allows larger thresholds and
        leaves less of the unit norm to the columns.
    scale : {"standard", "unit"} or False, default="standard"
        "standard" centres the columns, divides them by their standard deviation and the rows by their norm; "unit"
        only divides rows by their norm; False takes rows as they are: their norm must not exceed 1 in training, and
        scores are clipped to [−1, 1] in prediction. A column whose deviation is below 1e-290 counts as constant.
    lookahead : bool, default=False
        Whether a node may be split twice at once, by u and then ±v, if the target depends on a product of two linear
        functions (XOR) rather than on a linear one. Below such a product, nodes are split only where that explains more
        than the product did, and the leaves are fitted jointly (see `Frequency` and `Constant`). It computes the second
        moments of each node: time n·d², memory d² for each class (3d² for regression).

    References
    ----------
    Jurgenson, Mansour: Learning decision trees with stochastic linear classifiers, ALT 2018.

    Examples
    --------
    >>> from boscage import StochasticLinear, TopDownTreeClassifier
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]]
    >>> tree = TopDownTreeClassifier(splits=StochasticLinear(), max_leaf_nodes=2)
    >>> tree.fit(X, [0, 0, 1, 1]).predict([[0.0, 0.0], [3.0, 3.0]])
    array([0, 1])
    """

    provides = frozenset({"soft", "linear tests", "squared error"})
    allows_sparse = True

    def __init__(
        self,
        search: str = "exact",
        *,
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        scale: str | bool = "standard",
        lookahead: bool = False,
    ) -> None:
        self.search = search
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.scale = scale
        self.lookahead = lookahead

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """Return what this search asks of the other parts: the published ones know Gini and two classes only."""
        published = self.search != "exact"
        return frozenset({"impurity", "complete rows"} | ({"gini", "two classes"} if published else set()))

    def check(self) -> None:
        """Refuse unknown words and numbers out of range."""
        self._check_choice("search", SEARCHES)
        self._check_choice("scale", SCALES)
        self._check_choice("fit_intercept", (True, False))
        self._check_choice("lookahead", (True, False))
        self._check_real("epsilon", low=0, high=1, open_low=True)
        self._check_real("intercept_scaling", low=0, open_low=True)

    def limits(self, limits: Limits, job: Job) -> Limits:
        """Stop at 64 leaves or at drops under 1e-4 of the root's potential if nothing else was asked for."""
        if isinstance(job.criterion, NumberCriterion):
            with np.errstate(over="ignore"):
                potential = job.criterion.impurity(job.data.y, job.data.weight) * job.data.mass
            return self.limits_from(limits, job, potential if math.isfinite(potential) else 0.0)
        root = np.bincount(job.data.y, job.data.weight, job.n_classes).astype(np.float64)
        return self.limits_from(limits, job, float(job.criterion.total(root)))

    def limits_from(self, limits: Limits, job: Job, potential: float) -> Limits:
        """Return the limits for a root of this potential: weight times impurity."""
        if limits.max_leaf_nodes is not None or limits.max_depth is not None or limits.min_drop > 0:
            return limits
        drop = _DEFAULT_DROP * potential
        if job.growth.native() == "depth_first":  # a leaf budget would fill the left side first
            return replace(limits, max_depth=_DEFAULT_DEPTH, min_drop=drop)
        return replace(limits, max_leaf_nodes=_DEFAULT_LEAVES, min_drop=drop)

    def grow(self, job: Job) -> Tree:
        """Grow a tree in the compiled core."""
        check_compatible(criterion=job.criterion, splits=self)
        X = job.data.X
        columns = X.shape[1] + bool(self.fit_intercept)
        if self.lookahead and columns > _LOOKAHEAD_COLUMNS:
            raise ValueError(
                "StochasticLinear(lookahead=True) needs d² numbers per class or output, too many for X with "
                f"{X.shape[1]} columns. Pass lookahead=False, or at most {_LOOKAHEAD_COLUMNS} columns."
            )
        given: Any = (*_native_rows(X), self.native_settings(job))
        arrays = _core.grow_stochastic(*given)
        spread = None if self.scale == "standard" else _deviations(X, job)
        return self._tree(arrays, job, spread)

    def check_in_passes(self) -> None:
        """Refuse to look ahead over rows that are not in memory."""
        if self.lookahead:
            raise IncompatibleParts(
                "StochasticLinear(lookahead=True) looks at the rows of each node several times and needs them in "
                "memory. Pass lookahead=False, or call fit."
            )

    def grow_in_passes(self, job: Job, passes: Executor, limits: Callable[[float], Limits]) -> Tree:
        """Grow a tree over rows that are not in memory: one pass for each level."""
        from boscage.batches.growth.stochastic import grow_in_passes

        check_compatible(criterion=job.criterion, splits=self)
        arrays, spread = grow_in_passes(self, job, passes, limits)
        return self._tree(arrays, job, spread)

    def native_settings(self, job: Job, constant: float | None = None, numbers: NumberFacts | None = None) -> Any:
        """Return what the compiled core must know besides the rows.

        Parameters
        ----------
        job : Job
            The tree.
        constant : float, optional
            In place of ``intercept_scaling``.
        numbers : NumberFacts, optional
            Range of the numbers of rows that are not in memory.
        """
        from boscage.batches.passes import NO_NUMBERS

        return _core.stochastic_settings(
            job.native_target() if numbers is None else _core.Target(np.empty(0, np.int32), job.weight, job.n_classes),
            (numbers or NO_NUMBERS).native(),
            job.native_spec(),
            self.native_frame(constant),
            _core.StochasticSearch(
                self.search,
                float(self.epsilon),
                1e-6 if job.data.X.dtype == np.float32 else 1e-9,
                bool(self.lookahead),
            ),
        )

    def native_frame(self, constant: float | None = None) -> _core.StochasticFrame:
        """Return how tests see rows, with this constant in place of ``intercept_scaling``."""
        constant = float(self.intercept_scaling) if constant is None else constant
        return _core.StochasticFrame(str(self.scale or "none"), bool(self.fit_intercept), constant)

    def _tree(self, arrays: dict[str, Any], job: Job, spread: Floats | None) -> Tree:
        tree = tree_of(arrays, job.data, "linear", self._input_map(arrays))
        if spread is None:
            return tree  # the input map holds the columns' deviations
        return replace(tree, schema=replace(tree.schema, spread=spread))

    def _input_map(self, arrays: dict[str, Any]) -> InputMap:
        shift, scale = arrays["shift"], arrays["scale"]
        return InputMap(
            shift=shift if len(shift) else None,
            scale=scale if len(scale) else None,
            constant=arrays["constant"] if self.fit_intercept else None,
            unit_rows=bool(self.scale),
        )


def _native_rows(X: Any) -> Any:
    """Take X apart for the compiled half: the matrix itself, or the arrays of a CSR matrix and its width."""
    if not sparse.issparse(X):
        return (X,)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    offsets = X.indptr if X.indptr.dtype == X.indices.dtype else X.indptr.astype(X.indices.dtype)
    return X.data, X.indices, offsets, X.shape[1]


def _deviations(X: Any, job: Job) -> Floats:
    """Weighted standard deviation of each column: what importances are measured in."""
    from boscage.batches.growth.stochastic import Moments
    from boscage.batches.passes import ColumnUnits
    from boscage.batches.reading import MemoryPasses

    if sparse.issparse(X):
        X = X.astype(np.float64)
        low, high = (part.toarray().ravel() for part in (X.min(axis=0), X.max(axis=0)))
        columns = ColumnUnits.of(low, high, X.dtype)
        if columns:
            X.data = (X.data - columns.centre[X.indices]) * columns.unit[X.indices]
        _, variance = mean_variance_axis(X, axis=0, weights=job.data.weight)
        deviation = np.sqrt(np.asarray(variance, dtype=np.float64))
        return deviation / columns.unit if columns else deviation
    weight = float(len(X)) if job.data.weight is None else float(job.data.weight.sum())
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    columns = ColumnUnits.of(low, high, X.dtype)
    return Moments.of(MemoryPasses(X, job.data.y, job.weight, job.threads).sums, low, high, weight, columns).deviations


class SplitSolution(NamedTuple):
    """What a search found: the test w, and the weighted impurity after it (Gini: the paper's WGI, 1 at worst)."""

    weights: Floats
    value: float


def solve_split(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    *,
    search: str = "exact",
    epsilon: float = 0.1,
    criterion: Any = "gini",
) -> SplitSolution:
    """Find the best stochastic linear test of a single node, for weighted rows of norm at most 1.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows of norm at most 1, used as they are.
    y : array-like of int of shape (n,)
        Classes 0, 1, …
    sample_weight : array-like of shape (n,), optional
        The distribution D, of any sum.
    search, epsilon
        As in `StochasticLinear`.
    criterion : str, Criterion or callable, default="gini"
        The criterion; the published searches support only Gini.

    Returns
    -------
    SplitSolution
        ``weights`` (zeros if no test gains anything) and ``value``, the criterion after the split, where two equal
        classes have 1.

    Examples
    --------
    >>> from boscage.splits.stochastic import solve_split
    >>> solution = solve_split([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    >>> solution.weights.round(3), round(solution.value, 3)
    (array([-0.707,  0.707]), 0.5)
    """
    family = StochasticLinear(search, epsilon=epsilon)
    family.check()
    part: Any = resolve("criterion", criterion)
    rows = np.asarray(X, dtype=np.float64)
    labels = np.asarray(y, dtype=np.intp)
    weight = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    is_class = (labels[:, None] == np.arange(max(2, labels.max() + 1))) * (weight / weight.sum())[:, None]
    # Plain sums in place of matrix products, whose last digits depend on the BLAS and the processor.
    mass, sums = is_class.sum(axis=0), np.einsum("nk,nd->kd", is_class, rows)
    # Differences from the mean row, and 1 − ‖a‖², from the rows: the sums alone lose digits where all rows are alike.
    mean = sums.sum(axis=0)
    away = rows - mean
    centred = np.einsum("nk,nd->kd", is_class, away)
    spread = float(np.sum(is_class.sum(axis=1) * (1 - (rows**2).sum(axis=1) + (away**2).sum(axis=1))))
    w: Floats = _core.solve_stochastic(mass, sums, native_criterion(part), search, float(epsilon), (centred, spread))
    w = w if len(w) else np.zeros(rows.shape[1])
    right = (mass + (sums * w).sum(axis=1)) / 2
    value = (part.total(mass) - part.gain(mass, right)) / part.unit
    return SplitSolution(w, float(value))
