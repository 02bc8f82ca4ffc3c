"""Growing: what crosses into the compiled core, and the loop for families written in Python.

A `Job` is everything a split family needs to grow a tree: checked data, parts, limits and a seed. The core gives
back flat arrays; `tree_of` turns them into a `Tree`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage import _core
from boscage.base.numbers import MOST
from boscage.criteria._numbers import NumberCriterion
from boscage.data.distinct import take_rows
from boscage.tree import InputMap, Routing, Tree

if TYPE_CHECKING:
    from boscage.batches.reading import SumExecutor
    from boscage.criteria import Criterion
    from boscage.data.validation import Dataset
    from boscage.growth import Growth
    from boscage.splits import SplitFamily

Floats = npt.NDArray[np.float64]

_UNIT_WEIGHT = np.empty(0)


@dataclass(frozen=True)
class Limits:
    """When growth stops; None and 0 mean no limit, weights and drops are absolute."""

    max_leaf_nodes: int | None = None
    max_depth: int | None = None
    min_samples_leaf: int = 1
    min_samples_split: int = 2
    min_weight_leaf: float = 0.0
    min_drop: float = 0.0

    def native(self) -> Any:
        """Return what crosses into the compiled core: -1 for no limit, splits in place of leaves."""
        splits = -1 if self.max_leaf_nodes is None else min(self.max_leaf_nodes - 1, MOST)
        depth = -1 if self.max_depth is None else min(self.max_depth, MOST)
        rows, rows_split = min(self.min_samples_leaf, MOST), min(self.min_samples_split, MOST)
        return _core.Limits(splits, depth, rows, rows_split, self.min_weight_leaf, self.min_drop)

    def for_share(self, share: float) -> Limits:
        """Return the limits of a tree of a share of the weight."""
        return replace(self, min_weight_leaf=self.min_weight_leaf * share, min_drop=self.min_drop * share)


@dataclass(frozen=True)
class Job:
    """One tree to be grown."""

    data: Dataset
    criterion: Criterion | NumberCriterion
    growth: Growth
    limits: Limits
    seed: int
    threads: int
    splits: SplitFamily
    max_features: int = 0  # columns a node looks at; 0 means all
    progress: Callable[[int], None] | None = None
    weight_exponent: int = 0  # weights of the data are divided by 2 to the power of this
    table: _core.Table | None = None  # X in the core, if trees share it
    passes: SumExecutor | None = None  # who has the rows, if they are not in memory

    @property
    def n_classes(self) -> int:
        """Number of classes, those without weight included."""
        return len(self.data.classes)

    @property
    def weight(self) -> Floats:
        """Row weights as the core takes them: empty when every row counts 1."""
        return _UNIT_WEIGHT if self.data.weight is None else self.data.weight

    def of_rows(self, chosen: npt.NDArray[np.bool_]) -> Job:
        """Return the same job for some of the rows, with limits for their share of the weight."""
        data = take_rows(self.data, chosen)
        return replace(self, data=data, limits=self.limits.for_share(data.mass / self.data.mass), table=None)

    def native_target(self) -> _core.Target:
        """Return y and the weights as the core takes them; it borrows both."""
        y = self.data.y
        if isinstance(self.criterion, NumberCriterion):
            self.criterion.check_target(y)
            return _core.Target(y.reshape(len(y), -1), self.weight)
        return _core.Target(y, self.weight, self.n_classes)

    def native_spec(self, limits: Limits | None = None) -> _core.GrowthSpec:
        """Return everything but rows and target as the core takes it."""
        return _core.GrowthSpec(
            native_criterion(self.criterion),
            self.growth.native(),
            (limits or self.limits).native(),
            self.seed,
            self.threads,
            self.progress,
        )


def native_criterion(criterion: Criterion | NumberCriterion) -> _core.Criterion:
    """Return a criterion as the core takes it."""
    name, parameter, table = criterion.native()
    return _core.Criterion(name, parameter, table.ravel())


def native_table(X: Any, *, shared: bool = False) -> _core.Table:
    """Hand rows to the core, which borrows them; a CSR matrix stays one. Of a shared one columns are sorted once."""
    if sparse.issparse(X):
        return _core.Table(X.data, X.indices, X.indptr.astype(X.indices.dtype, copy=False), X.shape[1], shared)
    return _core.Table(X, shared)


def with_given_weights(tree: Tree, job: Job) -> Tree:
    """Return the tree with weights in the user's units again."""
    if not job.weight_exponent:
        return tree
    return replace(tree, weighted_n_node_samples=np.ldexp(tree.weighted_n_node_samples, job.weight_exponent))


def tree_of(
    arrays: dict[str, Any], data: Dataset, routing: Routing = "hard", input_map: InputMap | None = None
) -> Tree:
    """Make a `Tree` of the core's arrays."""
    weight = arrays["weight"]
    return Tree(
        children_left=arrays["children_left"],
        children_right=arrays["children_right"],
        feature=arrays["feature"],
        threshold=arrays["threshold"],
        missing_go_to_left=arrays["missing_go_to_left"].view(np.bool_),
        category_offset=arrays["category_offset"],
        category_bits=arrays["category_bits"],
        linear_row=arrays["linear_row"],
        weights=arrays["weights"],
        value=arrays["value"] if data.is_regression else arrays["value"] / weight[:, None],
        n_node_samples=arrays["rows"],
        weighted_n_node_samples=weight,
        impurity=arrays["impurity"],
        routing=routing,
        input_map=input_map,
        schema=data.schema,
        target="numbers" if data.is_regression else "classes",
    )
