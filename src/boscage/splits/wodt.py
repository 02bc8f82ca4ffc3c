"""Weighted oblique trees: linear tests that minimise the entropy of two soft sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage import _core
from boscage.base.component import IncompatibleParts, register
from boscage.data.distinct import fold_numbers, take_rows
from boscage.data.targets import power_of_two
from boscage.data.validation import Dataset
from boscage.engine.grow import Job, Limits
from boscage.model.predict import predict_class, predict_numbers
from boscage.pruning import prune_bits
from boscage.splits._family import IN_PASSES
from boscage.splits._oblique import ObliqueFamily, category_numbers, oblique_tree
from boscage.tree import Tree

if TYPE_CHECKING:
    from boscage.batches.reading import Executor

# Values that l2="auto" and prune_bits="auto" choose from; folds of their validation, and the size from which only one
# of them is held out.
AUTO_L2 = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
AUTO_BITS = (0.0, 2.0, 4.0, 8.0, 16.0, 32.0)
AUTO_FOLDS = 5
AUTO_ONE_FOLD = 1_000_000


@register("splits", "oblique")
@register("splits", "wodt", l2=0.0, n_init=1, recut=False, scale="range")
class WeightedOblique(ObliqueFamily):
    r"""Linear tests that minimise the weighted entropy of a soft split (WODT), with an L2 penalty.

    A row goes right with probability σ(θ·x + b) and left with σ(−θ·x − b). With the soft class weights
    :math:`W_R^k, W_L^k` and their sums :math:`W_R, W_L`, L-BFGS minimises from random starts

    .. math:: E(\theta)/W + \frac{l_2}{2\sqrt{W}}\,\|\theta\|^2, \qquad
        E(\theta) = \sum_k W_R^k \log_2\frac{W_R}{W_R^k} + W_L^k \log_2\frac{W_L}{W_L^k}

    over scaled columns (the bias is not penalised). The hard test has the direction θ; its threshold is chosen by the
    tree's criterion, or stays at θ·x + b = 0. Tests are stored in the units of X.

    ``splits="oblique"`` is this class with its default settings, which are recommended. ``splits="wodt"`` is the
    published method: ``WeightedOblique(l2=0, n_init=1, recut=False, scale="range")``.

    Parameters
    ----------
    l2 : float or "auto", default=0.03
        Strength of the penalty, at least 0; 0 is the published form. Larger values suit many similar columns, such as
        pixels. "auto" chooses from 0, .01, .03, .1, .3, 1 and 3 by validation: see the notes.
    n_init : int, default=1
        Number of random starts at each node, at least 1; the one with the best hard test is kept.
    recut : bool, default=True
        Whether to choose the threshold along the direction by the criterion. False uses the published threshold, σ = ½,
        unless it leaves a side empty or too small.
    max_iter : int, default=100
        Maximum number of L-BFGS steps per start, at least 1.
    tol : float, default=1e-5
        L-BFGS stops when a step lowers the objective by less than this (in bits per unit of weight).
    sparsity_tolerance : float or None, default=None
        A number in [0, 1] drops small terms and refits the others, as long as the gain of the test stays above (1 −
        ``sparsity_tolerance``) times that of all terms. This makes tests readable: 0.1 often leaves a few of dozens of
        terms. None keeps all terms.
    max_terms : int or None, default=None
        Maximum number of columns in a test; None for no limit. The best such test is searched for by backward
        elimination, forward selection and exchanges, refitting the weights each time. Cannot be combined with
        ``sparsity_tolerance``, ``lookahead``, ``max_bins`` or ``polish``.
    lookahead : bool, default=False
        Whether to search two levels at once where a single test gains little: pairs of hyperplanes are proposed from
        second moments and optimised together (up to 200 columns). This finds XOR, which no single test can.
    max_bins : int or None, default=None
        None tries every threshold along a direction. A number in [2, 65536] divides the projections θ·x of a node into
        that many bins of about equal weight, then the neighbourhood of the best edge into as many bins again, and uses
        the best edge of both. Required in batches and with Dask, where it gives the same tree as in memory. Cannot be
        combined with ``sparsity_tolerance`` or ``lookahead``.
    scale : {"standard", "range"}, default="standard"
        How columns are scaled during the search. "standard": mean 0 and standard deviation 1; starts have length 1 on
        average. "range": the range of the training rows becomes [−1, 1], as published; starts are drawn from N(0, 1).
    prune_bits : float or "auto", default=0.0
        Bits of entropy that a split must save, summed over the weighted training rows; splits that save less are pruned
        after growth (weakest-link pruning, for any criterion). 0 disables pruning. "auto" chooses from 0, 2, 4, 8, 16
        and 32 by validation: see the notes.

    Notes
    -----
    **Validation.** Where ``l2`` or ``prune_bits`` is "auto", trees are grown on four fifths of the rows with each
    penalty and pruned with each strength; the pair with the highest weighted accuracy on the held-out rows (in
    regression, the least squared error) is chosen, with ties going to the smallest trees. The final tree is grown with
    it on all rows. Each fifth is held out in turn, or only one of them if X has a million values or more. "auto" costs
    about six times the work of one tree for ``prune_bits``, 25 times for ``l2`` and 35 times for both.

    Columns that are constant in a node get no weight there. Sparse matrices are never made dense.

    References
    ----------
    Yang, Shen, Gao: Weighted oblique decision trees, AAAI 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import TopDownTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TopDownTreeClassifier(splits="oblique", max_leaf_nodes=3, random_state=0)
    >>> bool(tree.fit(X, y).score(X, y) > 0.97)
    True
    """

    provides = frozenset({"cut", "hard", "linear tests", "squared error"})

    def __init__(
        self,
        l2: float | Literal["auto"] = 0.03,
        n_init: int = 1,
        recut: bool = True,
        max_iter: int = 100,
        tol: float = 1e-5,
        sparsity_tolerance: float | None = None,
        lookahead: bool = False,
        max_bins: int | None = None,
        scale: Literal["standard", "range"] = "standard",
        prune_bits: float | Literal["auto"] = 0.0,
        max_terms: int | None = None,
    ) -> None:
        self.l2 = l2
        self.n_init = n_init
        self.recut = recut
        self.max_iter = max_iter
        self.tol = tol
        self.sparsity_tolerance = sparsity_tolerance
        self.lookahead = lookahead
        self.max_bins = max_bins
        self.scale = scale
        self.prune_bits = prune_bits
        self.max_terms = max_terms

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """Polishing gives every column a weight again."""
        return frozenset() if self.max_terms is None else frozenset({"tests as found"})

    def check(self) -> None:
        """Refuse settings out of range."""
        super().check()
        if self.l2 != "auto":
            self._check_real("l2", low=0, otherwise="'auto'")
        self._check_integer("n_init", low=1, high=10**6)
        self._check_choice("recut", (True, False))
        self._check_integer("max_iter", low=1, high=10**6)
        self._check_real("tol", low=0)
        if self.sparsity_tolerance is not None:
            self._check_real("sparsity_tolerance", low=0, high=1)
        self._check_integer("max_bins", low=2, high=65536, optional=True)
        self._check_choice("scale", ("standard", "range"))
        if self.prune_bits != "auto":
            self._check_real("prune_bits", low=0, otherwise="'auto'")
        self._check_integer("max_terms", low=1, high=2**31 - 1, optional=True)
        if self.max_terms is not None:
            for name, without in (("sparsity_tolerance", None), ("lookahead", False), ("max_bins", None)):
                if getattr(self, name) is not without:
                    raise IncompatibleParts(
                        f"WeightedOblique.{name}={getattr(self, name)!r} cannot be combined with "
                        f"max_terms={self.max_terms}. Pass {name}={without}, or max_terms=None."
                    )
        if self.max_bins is not None:
            for name, without in (("sparsity_tolerance", None), ("lookahead", False)):
                if getattr(self, name) is not without:
                    raise IncompatibleParts(
                        f"WeightedOblique.{name}={getattr(self, name)!r} cannot be combined with "
                        f"max_bins={self.max_bins}: it needs more of the rows than sums. "
                        f"Pass {name}={without}, or max_bins=None."
                    )

    def grow(self, job: Job) -> Tree:
        """Grow a tree in the compiled core and prune it, with the settings that are given or found best."""
        self._check_target(job)
        if "auto" in (self.l2, self.prune_bits):
            return self._validated(job).grow(job)
        tree = super().grow(job) if self.max_bins is None else self._grow_in_bins(job)
        return prune_bits(tree, float(self.prune_bits))

    def _check_target(self, job: Job) -> None:
        if job.data.is_regression and self.prune_bits != 0:
            raise IncompatibleParts(
                f"WeightedOblique.prune_bits={self.prune_bits!r} counts bits of entropy, and y holds numbers. Pass "
                "prune_bits=0, and ccp_alpha to prune."
            )

    def _grow_in_bins(self, job: Job) -> Tree:
        """Grow over rows in memory by the passes of `grow_in_passes`."""
        from boscage.batches.growth.oblique import grow_in_passes
        from boscage.batches.reading import MemoryPasses

        offset, codes, X = category_numbers(job.data)
        passes = MemoryPasses(X, job.data.y, job.weight, job.threads)
        arrays = grow_in_passes(self, job, passes, passes.ranges(), lambda total: job.limits)
        return oblique_tree(arrays, job, offset, codes)

    def check_in_passes(self) -> None:
        """Refuse what needs all rows in memory."""
        if self.max_bins is None:
            raise IncompatibleParts(
                f"splits={self!r} needs all rows in memory: without max_bins it compares all thresholds along a "
                f"direction. In batches and with Dask add max_bins=256 to these settings, or pass {IN_PASSES}; or call "
                "fit."
            )
        for name, number in (("l2", 0.03), ("prune_bits", 4)):
            if getattr(self, name) == "auto":
                raise IncompatibleParts(
                    f"WeightedOblique.{name}='auto' compares trees of parts of the rows and needs all of them in "
                    f"memory. In batches and with Dask pass a number, for example {name}={number}; or call fit."
                )

    def grow_in_passes(self, job: Job, passes: Executor, limits: Callable[[float], Limits]) -> Tree:
        """Grow a tree over rows that are not in memory: two passes for the scaling, then one for each step."""
        from boscage.batches.growth.oblique import grow_in_passes

        self._check_target(job)
        ranges = passes.survey.low, passes.survey.high
        return prune_bits(oblique_tree(grow_in_passes(self, job, passes, ranges, limits), job), float(self.prune_bits))

    def _with(self, **changes: Any) -> WeightedOblique:
        return WeightedOblique(**{**self.get_params(deep=False), **changes})

    def _validated(self, job: Job) -> WeightedOblique:
        """Compare penalties and strengths of pruning on rows held out."""
        penalties = AUTO_L2 if self.l2 == "auto" else (self.l2,)
        strengths = AUTO_BITS if self.prune_bits == "auto" else (float(self.prune_bits),)
        fold = fold_numbers(job.data, AUTO_FOLDS, job.seed)
        size = job.data.X.nnz if sparse.issparse(job.data.X) else job.data.X.size
        right, leaves = np.zeros((2, len(penalties), len(strengths)))
        scale = power_of_two(job.data.y) if job.data.is_regression else 1.0
        for held_out in range(1 if size >= AUTO_ONE_FOLD else AUTO_FOLDS):
            is_test = fold == held_out
            if is_test.all() or not is_test.any():
                continue
            part, test = job.of_rows(~is_test), take_rows(job.data, is_test)
            weight = np.ones(len(test.y)) if test.weight is None else test.weight
            for i, l2 in enumerate(penalties):
                grown = self._with(l2=l2, prune_bits=0.0).grow(part)
                for j, bits in enumerate(strengths):
                    tree = prune_bits(grown, bits)
                    right[i, j] += weight @ _quality(tree, test, scale, job.threads)
                    leaves[i, j] += tree.n_leaves
        i, j = np.unravel_index(np.lexsort((leaves.ravel(), -right.ravel()))[0], right.shape)
        return self._with(l2=penalties[i], prune_bits=strengths[j])

    def native_options(self, seed: int) -> _core.WodtOptions:
        """Return the settings as the core takes them."""
        options = _core.WodtOptions(self.scale, seed)
        options.l2, options.n_init, options.recut = float(self.l2), int(self.n_init), bool(self.recut)
        options.sparsity_tolerance = -1.0 if self.sparsity_tolerance is None else float(self.sparsity_tolerance)
        options.max_terms = self.max_terms or 0
        options.lbfgs.max_iter, options.lbfgs.tolerance = int(self.max_iter), float(self.tol)
        return options

    def _grow_native(self, X: _core.Table, problem: _core.ObliqueProblem, seed: int) -> dict[str, Any]:
        return _core.grow_wodt(X, problem, self.native_options(seed))


def _quality(tree: Tree, data: Dataset, scale: float, threads: int) -> npt.NDArray[Any]:
    """Whether each row is right; of numbers, in units of ``scale``, the squared error over all outputs, negated."""
    found: npt.NDArray[Any]
    if data.is_regression:
        errors = (predict_numbers(tree, data.X, threads) / scale - data.y / scale).reshape(len(data.y), -1)
        found = -(errors**2).sum(axis=1)
    else:
        found = predict_class(tree, data.X, threads) == data.y
    return found
