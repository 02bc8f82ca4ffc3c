"""Axis-parallel tests: one column against a threshold, or a set of categories."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from boscage import _core
from boscage.base.component import IncompatibleParts, register
from boscage.engine.grow import Job, Limits, native_table, tree_of
from boscage.splits._family import IN_PASSES, SplitFamily
from boscage.tree import Tree

if TYPE_CHECKING:
    from boscage.batches.reading import Executor


@register("splits", "axis")
class Axis(SplitFamily):
    """Axis-parallel tests: left if x_j ≤ t, or if x_j is in a set of categories.

    Every threshold between neighbouring values is tried. Categories are sorted by the fraction of a class and split
    like numbers, which is optimal for two classes and a heuristic for more. Missing values go to the side with the
    larger gain, or to the heavier side if none were missing in training.

    Parameters
    ----------
    max_bins : int or None, default=None
        None tries every threshold. A number ≥ 2 first groups each numeric column into at most this many bins of about
        equal weight (a column with no more distinct values than that is searched exactly). Required in batches and with
        Dask; not supported for sparse rows.

    References
    ----------
    Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984.

    Examples
    --------
    >>> from boscage import TopDownTreeClassifier
    >>> from boscage.splits import Axis
    >>> X, y = [[0.0], [1.0], [2.0]], ["a", "b", "b"]
    >>> tree = TopDownTreeClassifier(splits=Axis(max_bins=32)).fit(X, y)
    >>> print(tree.export_text(feature_names=["size"]))
    |--- size <= 0.50
    |   |--- class: a
    |--- size >  0.50
    |   |--- class: b
    """

    provides = frozenset({"cut", "hard", "column sample", "squared error", "numeric sums", "quantiles"})
    allows_missing = True
    allows_categories = True
    allows_categories_in_passes = True
    forest_max_features = "sqrt"

    def __init__(self, max_bins: int | None = None) -> None:
        self.max_bins = max_bins

    @property
    def allows_sparse(self) -> bool:  # type: ignore[override]
        """Whether sparse rows can be searched: bins are made of dense columns only."""
        return self.max_bins is None

    @property
    def takes_zero_weights(self) -> bool:  # type: ignore[override]
        """Whether rows of weight 0 may stay: the edges of bins depend on the rows that are there."""
        return self.max_bins is None

    def check(self) -> None:
        """Refuse fewer than two bins."""
        self._check_integer("max_bins", low=2, optional=True)

    def grow(self, job: Job) -> Tree:
        """Grow a tree in the compiled core."""
        arrays = _core.grow_axis(
            job.table or native_table(job.data.X),
            job.native_target(),
            job.native_spec(),
            job.data.n_categories,
            self.max_bins or 0,
            job.max_features,
        )
        return tree_of(arrays, job.data)

    def check_in_passes(self) -> None:
        """Refuse to try every threshold over rows that are not in memory."""
        if self.max_bins is None:
            raise IncompatibleParts(
                "splits=Axis(max_bins=None) tries every threshold and needs all rows in memory. In batches and with "
                f"Dask pass {IN_PASSES}; or call fit."
            )

    def grow_in_passes(self, job: Job, passes: Executor, limits: Callable[[float], Limits]) -> Tree:
        """Grow a tree over rows that are not in memory: some passes for the bins, then one for each level."""
        from boscage.batches.growth.axis import grow_in_passes

        return tree_of(grow_in_passes(job, passes, limits, int(self.max_bins or 0)), job.data)
