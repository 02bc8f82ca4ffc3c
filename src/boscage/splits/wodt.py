"""Weighted oblique trees: tests that minimise the entropy of two soft sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from boscage import _core
from boscage._component import IncompatibleParts, register
from boscage._distinct import fold_numbers, take_rows
from boscage._grow import Job, Limits
from boscage._predict import predict_class
from boscage.splits import IN_PASSES
from boscage.splits._oblique import ObliqueFamily, category_numbers, oblique_tree
from boscage.tree import Tree

if TYPE_CHECKING:
    from boscage.batches.reading import Passes

# Values that l2="auto" chooses from; folds of its validation, and the size from which only one of them is held out.
AUTO_L2 = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
AUTO_FOLDS = 5
AUTO_ONE_FOLD = 1_000_000


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
    l2 : float or "auto", default=0.0
        Strength of the penalty, at least 0. 0 is the published form; .01 to .1 often gives smaller errors and trees,
        1 to 3 on many columns that are alike, as pixels. "auto" grows trees with 0, .01, .03, .1, .3, 1 and 3 on four
        fifths of the rows, takes the value that is right on most of the weight held out (of equal ones that of the
        smallest trees) and grows the tree with it: about 30 times the work of one tree, or seven times where X has a
        million numbers or more and only one fifth is held out.
    n_init : int, default=1
        Random starts at each node, at least 1; the one with the best hard cut is kept.
    recut : bool, default=True
        Whether the threshold is found again along the direction; False cuts where σ = ½, as published.
    max_iter : int, default=100
        Largest number of L-BFGS steps of a start, at least 1.
    tol : float, default=1e-5
        A start ends when a step lowers the objective by less than this (bits per unit of weight).
    sparsity_tolerance : float or None, default=None
        None keeps all terms of a test. A number in [0, 1] lets small terms go (the others are fitted again) while the
        gain of the test under the criterion stays above (1 − this number) times what all terms gain, so that tests
        can be read: .1 often leaves a few terms of dozens.
    lookahead : bool, default=False
        Whether two levels are searched at once where a single test gains little: pairs of planes from the second
        moments of the classes, refined together (up to 200 columns). It sees XOR, which no single test does.
    max_bins : int or None, default=None
        None tries every threshold along a direction. A number in [2, 65536] counts the projections θ·x of a node in so
        many bins of about equal weight, then once more in as many between the ends of the two bins about the best edge,
        and cuts at the best edge of both. Then the search is made of sums over rows alone. Needed in batches and
        with Dask, where it gives the same tree as here; not with ``sparsity_tolerance`` or ``lookahead``.

    Notes
    -----
    Columns that are constant in a node get no weight there. Rows may be a CSR matrix: it is never made dense, the
    centring of columns is moved out of the sums.

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
        l2: float | Literal["auto"] = 0.0,
        n_init: int = 1,
        recut: bool = True,
        max_iter: int = 100,
        tol: float = 1e-5,
        sparsity_tolerance: float | None = None,
        lookahead: bool = False,
        max_bins: int | None = None,
        scale: Literal["standard", "range"] = "standard",
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
        if self.max_bins is not None:
            for name, without in (("sparsity_tolerance", None), ("lookahead", False)):
                if getattr(self, name) is not without:
                    raise IncompatibleParts(
                        f"WeightedOblique.{name}={getattr(self, name)!r} does not go with max_bins={self.max_bins}: "
                        f"it needs more of the rows than sums. Pass {name}={without}, or max_bins=None."
                    )

    def grow(self, job: Job) -> Tree:
        """Grow a tree in the compiled core, with the penalty that is given or found best."""
        if self.l2 == "auto":
            return self._with_l2(self._best_l2(job)).grow(job)
        return super().grow(job) if self.max_bins is None else self._grow_in_bins(job)

    def _grow_in_bins(self, job: Job) -> Tree:
        """Grow over rows in memory by the passes of `grow_in_passes`."""
        from boscage.batches.oblique import MemoryPasses, grow_in_passes

        offset, codes, X = category_numbers(job.data)
        passes = MemoryPasses(X, job.data.y, job.weight, job.threads)
        places = np.zeros(passes.n_rows, np.int32)
        arrays = grow_in_passes(self, job, passes, passes.ranges(), lambda total: job.limits, places)
        return oblique_tree(arrays, job, offset, codes)

    def check_in_passes(self) -> None:
        """Refuse what needs all rows in memory."""
        if self.max_bins is None:
            raise IncompatibleParts(
                "splits=WeightedOblique(max_bins=None) tries every threshold along a direction and needs all rows in "
                f"memory. In batches and with Dask pass {IN_PASSES}; or call fit."
            )
        if self.l2 == "auto":
            raise IncompatibleParts(
                "WeightedOblique.l2='auto' compares trees of parts of the rows and needs all of them in memory. In "
                "batches and with Dask pass a number, for example l2=0.03; or call fit."
            )

    def grow_in_passes(self, job: Job, passes: Passes, limits: Callable[[float], Limits]) -> Tree:
        """Grow a tree over rows that are not in memory: two passes for the scaling, then one for each step."""
        from boscage.batches.oblique import grow_in_passes

        ranges = passes.survey.low, passes.survey.high
        return oblique_tree(grow_in_passes(self, job, passes, ranges, limits), job)

    def _with_l2(self, l2: float) -> WeightedOblique:
        return WeightedOblique(**{**self.get_params(deep=False), "l2": l2})

    def _best_l2(self, job: Job) -> float:
        """Compare penalties on rows held out."""
        fold = fold_numbers(job.data, AUTO_FOLDS, job.seed)
        size = job.data.X.nnz if sparse.issparse(job.data.X) else job.data.X.size
        right, leaves = np.zeros(len(AUTO_L2)), np.zeros(len(AUTO_L2))
        for held_out in range(1 if size >= AUTO_ONE_FOLD else AUTO_FOLDS):
            is_test = fold == held_out
            if is_test.all() or not is_test.any():
                continue
            train, test = take_rows(job.data, ~is_test), take_rows(job.data, is_test)
            part = replace(job, data=train, limits=job.limits.for_share(train.mass / job.data.mass))
            weight = np.ones(len(test.y)) if test.weight is None else test.weight
            for i, l2 in enumerate(AUTO_L2):
                tree = self._with_l2(l2).grow(part)
                right[i] += weight @ (predict_class(tree, test.X, job.threads) == test.y)
                leaves[i] += tree.n_leaves
        return AUTO_L2[int(np.lexsort((leaves, -right))[0])]

    def _grow_native(self, X: Any, job: Job, problem: Any) -> dict[str, Any]:
        arrays: dict[str, Any] = _core.grow_wodt(
            X,
            problem,
            self.scale,
            float(self.l2),
            int(self.n_init),
            int(self.max_iter),
            float(self.tol),
            self.recut,
            -1.0 if self.sparsity_tolerance is None else float(self.sparsity_tolerance),
            job.seed,
            job.progress,
        )
        return arrays
