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
    r"""Tests for the trees of a forest: axis cuts and linear tests over random columns, the best of a few offers.

    With probability ``axis_share`` a node is offered axis cuts alone, along ``max_features`` random columns. Otherwise
    each of the ``finders`` makes one offer, and the test that gains most under the criterion is taken, the first of
    equal ones:

    * ``"wodt"``: a direction that minimises the entropy of two soft sides, as in `WeightedOblique`, from one random
      start. With more than two classes in the node a share ``super_classes`` of these offers first puts the classes
      into two groups at random.
    * ``"ridge"``: ridge regression on the two classes, or on two groups of classes at random, which is linear
      discriminant analysis with a penalty; over at most 128 columns.
    * ``"axis"``: cuts along ``max_features`` random columns.

    Where y holds numbers, "wodt" minimises the squared error of two soft sides and "ridge" is ridge regression on y; of
    several outputs, on a random combination of them.

    Each linear offer has random columns of its own, centred and scaled by the rows of the node. Whatever the direction
    was found from, its threshold is the best one under the criterion of all classes and all rows of the node. Every
    draw is a function of the seed of the tree and the node's place in it: trees do not depend on threads.

    For forests only: ``ForestClassifier(splits="mixed")``. A single tree of this kind is weak. It takes every criterion
    of classes, and those of numbers but the absolute error and quantiles.

    Parameters
    ----------
    axis_share : float, default=0.5
        Share of the nodes that are offered axis cuts alone, in [0, 1].
    finders : sequence of {"wodt", "ridge", "axis"}, default=("wodt", "ridge", "axis")
        Who makes offers to the other nodes, in this order; a name may be repeated.
    max_features : int, float, "auto", "sqrt", "log2" or None, default="auto"
        Columns of an axis offer: a number, a fraction of all columns, or all (None); "auto" is "sqrt" for classes and
        all for numbers. Columns with one value in the node do not count. ``max_features`` of the estimator replaces it
        where that is given.
    linear_features : int, float, "sqrt", "log2" or None, default=None
        Columns of a linear offer, likewise; None draws the number for each offer, from 1 to all columns.
    l2 : float, default=0.1
        Strength of the penalty of linear offers, at least 0, as in `WeightedOblique`.
    super_classes : float, default=0.5
        Share of the offers of "wodt" that see two groups of classes, in [0, 1].
    max_iter : int, default=30
        Largest number of L-BFGS steps of an offer of "wodt", at least 1.
    max_rows : int or None, default=2000
        Directions are found from at most so many rows of a node, drawn at random; None takes all rows. Thresholds are
        always those of all rows.

    Notes
    -----
    Missing values: an axis cut learns their side, as those of `Axis` do; in a linear test they stand at the column's
    mean over the rows of the tree. Categories: an axis cut divides them into two sets, as in `Axis`; in a linear test
    numbers stand for them, found once per tree from y. Sparse rows stay sparse: offers read the columns they
    want. Trees from sparse rows and from the same dense rows are equal.

    Rows of weight 0 are as good as left out. A row of weight 2 is the same as the row twice up to rounding in the
    directions, and as long as no node has more than ``max_rows`` rows.
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
        options = _core.MixedOptions(
            float(self.axis_share),
            list(self.finders),
            job.max_features or _columns(rule, d) or d,
            _columns(self.linear_features, d),
            float(self.l2),
            float(self.super_classes),
            int(self.max_iter),
            int(self.max_rows or 0),
            job.seed,
        )
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
