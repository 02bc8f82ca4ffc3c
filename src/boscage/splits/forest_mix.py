"""The tests of a forest's trees: at every node a few random offers, the best of which is taken."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from boscage import _core
from boscage.base.component import register
from boscage.base.numbers import is_number
from boscage.engine.grow import Job, native_table, tree_of
from boscage.splits._family import SplitFamily
from boscage.splits._oblique import category_codes
from boscage.tree import InputMap, Tree

FINDERS = ("wodt", "ridge", "axis")


@register("splits", "mixed")
class ForestMix(SplitFamily):
    r"""Tests for forests: the best of a few axis-parallel and linear candidates over random columns.

    With probability ``axis_share`` a node considers only axis-parallel tests of ``max_features`` random columns.
    Otherwise each of the ``finders`` proposes one test, and the one with the largest gain is used; ties go to the
    first:

    * ``"wodt"``: a direction that minimises the entropy of a soft split, as in `WeightedOblique`, from one random
      start. If the node has more than two classes, a fraction ``super_classes`` of these tests first divides the
      classes into two random groups.
    * ``"ridge"``: ridge regression on the two classes, or on two random groups of classes, which is linear discriminant
      analysis with a penalty; over at most 128 columns.
    * ``"axis"``: axis-parallel tests of ``max_features`` random columns.

    In regression, "wodt" minimises the squared error of a soft split, and "ridge" is ridge regression on y, or on a
    random combination of several outputs.

    Each linear test uses its own random columns, centred and scaled on the rows of the node. Its threshold is always
    the best one under the criterion for all classes and all rows of the node. All random numbers depend only on the
    seed of the tree and the position of the node, so trees do not depend on threads.

    For forests only: ``ForestClassifier(splits="mixed")``. A single tree of this kind is weak. All criteria are
    supported except absolute error and quantiles.

    Parameters
    ----------
    axis_share : float, default=0.5
        Fraction of the nodes that consider only axis-parallel tests, in [0, 1].
    finders : sequence of {"wodt", "ridge", "axis"}, default=("wodt", "ridge", "axis")
        How the other nodes find their candidates, in this order; a name may be repeated.
    max_features : int, float, "auto", "sqrt", "log2" or None, default="auto"
        Number of columns to search for an axis-parallel test: a number, a fraction of all columns, or all (None);
        "auto" is "sqrt" for classification and all for regression. Columns that are constant in the node do not count.
        ``max_features`` of the estimator, if given, overrides it.
    linear_features : int, float, "sqrt", "log2" or None, default=None
        Number of columns of a linear test, likewise; None chooses it at random for each test, from 1 to all columns.
    l2 : float, default=0.1
        Strength of the L2 penalty of linear tests, at least 0, as in `WeightedOblique`.
    super_classes : float, default=0.5
        Fraction of the "wodt" tests that separate two groups of classes, in [0, 1].
    max_iter : int, default=30
        Maximum number of L-BFGS steps of a "wodt" test, at least 1.
    max_rows : int or None, default=2000
        Maximum number of rows of a node, sampled at random, that are used to find directions; None uses all rows.
        Thresholds always use all rows.

    Notes
    -----
    Missing values: axis-parallel tests learn a side for them, as in `Axis`; linear tests replace them by the column
    mean over the rows of the tree. Categories: axis-parallel tests divide them into two sets, as in `Axis`; linear
    tests encode them as numbers, computed once per tree from y. Sparse matrices stay sparse and give the same trees as
    dense arrays.

    Rows with weight 0 are ignored. A row with weight 2 is equivalent to the same row twice, up to rounding in the
    directions and as long as no node has more than ``max_rows`` rows.

    Examples
    --------
    >>> from boscage import ForestClassifier, ForestMix
    >>> from boscage.datasets import load_dataset
    >>> wine = load_dataset("wine")
    >>> splits = ForestMix(axis_share=0.2, linear_features=4)
    >>> forest = ForestClassifier(20, splits, oob_score=True, random_state=0)
    >>> forest = forest.fit(wine.X, wine.y)
    >>> forest.oob_score_ > 0.95
    True
    """

    provides = frozenset({"cut", "hard", "linear tests", "column sample", "squared error", "numeric sums"})
    needs = frozenset({"forest"})
    forest_only: ClassVar[bool] = True
    allows_missing = True
    allows_categories = True
    allows_sparse = True
    is_random: ClassVar[bool] = True
    takes_zero_weights: ClassVar[bool] = True

    def __init__(
        self,
        axis_share: float = 0.5,
        finders: Sequence[str] = FINDERS,
        max_features: int | float | str | None = "auto",
        linear_features: int | float | str | None = None,
        l2: float = 0.1,
        super_classes: float = 0.5,
        max_iter: int = 30,
        max_rows: int | None = 2000,
    ) -> None:
        self.axis_share = axis_share
        self.finders = finders
        self.max_features = max_features
        self.linear_features = linear_features
        self.l2 = l2
        self.super_classes = super_classes
        self.max_iter = max_iter
        self.max_rows = max_rows

    def check(self) -> None:
        """Refuse settings out of range."""
        self._check_real("axis_share", low=0, high=1)
        given = self.finders
        if not isinstance(given, (tuple, list)) or not given or not all(name in FINDERS for name in given):
            self._refuse("finders", f"one or more of {', '.join(map(repr, FINDERS))} in a tuple")
        self._check_columns("max_features", ("auto", "sqrt", "log2"))
        self._check_columns("linear_features", ("sqrt", "log2"))
        self._check_real("l2", low=0)
        self._check_real("super_classes", low=0, high=1)
        self._check_integer("max_iter", low=1, high=10**6)
        self._check_integer("max_rows", low=2, optional=True)

    def _check_columns(self, name: str, rules: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if value is None or (isinstance(value, str) and value in rules):
            return
        whole = is_number(value, whole=True) and value >= 1
        share = isinstance(value, (float, np.floating)) and 0 < value <= 1
        if isinstance(value, str) or not (whole or share):
            self._refuse(name, f"an integer >= 1, a fraction in (0, 1], {', '.join(map(repr, rules))} or None")

    def grow(self, job: Job) -> Tree:
        """Grow a tree in the compiled core; rows of weight 0 are left out."""
        d = int(job.data.X.shape[1])
        offset, codes = category_codes(job.data)
        rule = self.max_features
        if rule == "auto":
            rule = None if job.data.is_regression else "sqrt"
        options = _core.MixedOptions()
        for name in ("axis_share", "l2", "super_classes"):
            setattr(options, name, float(getattr(self, name)))
        options.finders = [getattr(_core.Finder, name) for name in self.finders]
        options.axis_columns = job.max_features or _columns(rule, d) or d
        options.linear_columns = _columns(self.linear_features, d)
        options.max_iter, options.max_rows, options.seed = int(self.max_iter), int(self.max_rows or 0), job.seed
        arrays = _core.grow_mixed(
            native_table(job.data.X),
            job.native_target(),
            job.native_spec(),
            options,
            job.data.n_categories,
            (np.empty(0, np.int64) if offset is None else offset, np.empty(0) if codes is None else codes),
        )
        tests = (arrays["weights"], arrays["weight_columns"], arrays["weight_offsets"])
        arrays["weights"] = sparse.csr_array(tests, shape=(len(tests[2]) - 1, d))
        input_map = InputMap(fill=arrays["mean"], code_offset=offset, codes=codes)
        tree = tree_of(arrays, job.data, input_map=input_map)
        return replace(tree, schema=replace(tree.schema, spread=arrays["deviation"]))


def _columns(rule: Any, d: int) -> int:
    """Turn a number of columns, a fraction or a rule into a number from 1 to d; None gives 0."""
    if rule is None:
        return 0
    if rule == "sqrt":
        count = math.isqrt(d)
    elif rule == "log2":
        count = int(math.log2(d))
    else:
        count = int(rule * d) if isinstance(rule, (float, np.floating)) else int(rule)
    return min(d, max(1, count))
