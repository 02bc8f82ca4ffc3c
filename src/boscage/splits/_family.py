"""The base classes of split families.

A family that is written in Python subclasses `ProposingFamily`; one with a compiled search subclasses `SplitFamily`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage.base.component import Component, IncompatibleParts
from boscage.engine.grow import Job, Limits, tree_of
from boscage.tree import Tree

if TYPE_CHECKING:
    from boscage.batches.reading import Executor

# Families that grow over rows that are not in memory, for messages.
IN_PASSES = "splits='stochastic', splits=Axis(max_bins=255) or splits=WeightedOblique(max_bins=256)"


class SplitFamily(Component):
    """Base class of split families; :class:`~boscage.splits.ProposingFamily` is for those written in Python.

    Class attributes declare what a family supports. A family that needs more from other parts, or from the data, than
    these provide raises :class:`boscage.IncompatibleParts` before anything is computed.

    Attributes
    ----------
    allows_missing, allows_sparse, allows_categories : bool
        Whether X may have missing values, be sparse, or have categories. False by default.
    is_random : bool
        Whether the family uses random numbers. False by default.
    provides : frozenset of str
        What other parts can rely on, for example "linear tests" or "cut" (the criterion chooses the thresholds).
    needs : frozenset of str
        What the family requires of the other parts and of the data, for example "two classes".
    """

    role: ClassVar[str] = "splits"
    allows_missing: ClassVar[bool] = False
    allows_sparse: ClassVar[bool] = False
    allows_categories: ClassVar[bool] = False
    allows_categories_in_passes: ClassVar[bool] = False
    is_random: ClassVar[bool] = False
    forest_max_features: ClassVar[str | None] = None
    """What ``max_features="auto"`` of a forest stands for."""
    takes_zero_weights: ClassVar[bool] = False
    """Whether `grow` leaves rows of weight 0 out by itself; else a forest copies the rows of each tree."""
    forest_only: ClassVar[bool] = False

    def limits(self, limits: Limits, job: Job) -> Limits:
        """Return the limits of a fit; families that would never stop by themselves add theirs here."""
        return limits

    @abstractmethod
    def grow(self, job: Job) -> Tree:
        """Grow a tree."""

    def check_in_passes(self) -> None:
        """Refuse to grow over rows that are not in memory; families whose search is made of sums override this."""
        raise IncompatibleParts(
            f"splits={self!r} is not available in batches or with Dask: it needs all rows in memory. Pass "
            f"{IN_PASSES}, or call fit."
        )

    def grow_in_passes(self, job: Job, passes: Executor, limits: Callable[[float], Limits]) -> Tree:
        """Grow a tree over rows that are not in memory, if `check_in_passes` has nothing against it.

        Parameters
        ----------
        job : Job
            Everything but the rows; its limits are those of a rough total weight.
        passes : Executor
            Answers questions about all rows.
        limits : callable
            Makes the limits from the exact total weight, which the first sums tell.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class LinearTest:
    """A linear test: a row goes right if weights·x > threshold.

    Parameters
    ----------
    weights : array-like of shape (d,)
        Weight of each column.
    threshold : float or None, default=None
        The threshold; None takes the best one under the criterion.

    Examples
    --------
    >>> from boscage.splits import LinearTest
    >>> LinearTest([1.0, -1.0])
    LinearTest(weights=[1.0, -1.0], threshold=None)
    """

    weights: npt.ArrayLike
    threshold: float | None = None


@dataclass(frozen=True)
class NodeData:
    """The rows of a node, as :meth:`~boscage.splits.ProposingFamily.propose` gets them.

    Attributes
    ----------
    X : ndarray of float64 of shape (n, d)
        The rows.
    y : ndarray of int32 of shape (n,)
        Class numbers.
    weight : ndarray of float64 of shape (n,)
        Sample weights.
    seed : int
        Seed of the fit.
    path : int
        Position of the node in the tree.
    may_triple : bool
        Whether proposals of three tests (of a node and both its children) are accepted.
    """

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float64]
    seed: int
    path: int
    may_triple: bool

    def generator(self) -> np.random.Generator:
        """Return a random number generator that depends only on the seed and the position of the node."""
        return np.random.default_rng([self.seed, self.path])


class ProposingFamily(SplitFamily):
    """Base class of split families written in Python: implement :meth:`~boscage.splits.ProposingFamily.propose`.

    The library finds the best threshold for each proposed direction, compares the tests by the criterion, and keeps to
    the limits and the order of growth. See :doc:`/extending`.

    Examples
    --------
    >>> import numpy as np
    >>> from boscage import TopDownTreeClassifier
    >>> from boscage.splits import LinearTest, ProposingFamily
    >>> class MeanDifference(ProposingFamily):
    ...     def propose(self, node):
    ...         means = [node.X[node.y == k].mean(axis=0) for k in np.unique(node.y)]
    ...         yield [LinearTest(means[-1] - means[0])]
    >>> X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 1.0], [3.0, 2.0]])
    >>> tree = TopDownTreeClassifier(splits=MeanDifference()).fit(X, [0, 0, 1, 1])
    >>> tree.get_n_leaves()
    2
    """

    provides = frozenset({"cut", "hard", "linear tests"})

    @abstractmethod
    def propose(self, node: NodeData) -> Iterable[Sequence[LinearTest]]:
        """Yield the tests to try at a node.

        Parameters
        ----------
        node : NodeData
            The rows of the node.

        Yields
        ------
        sequence of LinearTest
            One test, or three (of the node, its left and its right child) if ``node.may_triple``.
        """

    def grow(self, job: Job) -> Tree:
        """Grow a tree from the proposals."""
        return _grow_by_proposals(self, job)


def _grow_by_proposals(family: ProposingFamily, job: Job) -> Tree:
    """Grow a hard tree from the directions a Python family proposes, one node at a time.

    The family only proposes; thresholds along its directions, gains and the order of growth are the core's.
    """
    X, y = job.data.X, job.data.y
    weight = np.ones(len(y)) if job.data.weight is None else job.data.weight
    grower = _core.ProposalGrower(job.native_target(), job.native_spec())
    searched = 0
    while requests := grower.ask():
        for node, path, may_triple in requests:
            searched += 1
            if job.progress is not None:
                job.progress(searched)
            rows = grower.rows(node)
            here = NodeData(X[rows].astype(np.float64, copy=False), y[rows], weight[rows], job.seed, path, may_triple)
            for proposal in family.propose(here):
                weights = np.ascontiguousarray([test.weights for test in proposal], dtype=np.float64)
                thresholds = np.array([np.nan if t.threshold is None else t.threshold for t in proposal])
                if len(proposal) == 1 or may_triple:
                    grower.offer(node, weights, np.ascontiguousarray(weights @ here.X.T), thresholds)
            grower.tell(node)
    return tree_of(grower.tree(X.shape[1]), job.data)
