"""The base class of leaves, and the leaves that predict class frequencies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from boscage.base.component import Component, register

if TYPE_CHECKING:
    from boscage.engine.grow import Job
    from boscage.tree import Tree

Floats = npt.NDArray[np.float64]

SHRINKAGES = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


class Nodes(Protocol):
    """The arrays of a tree that leaves read."""

    @property
    def children_left(self) -> npt.NDArray[np.int32]: ...
    @property
    def children_right(self) -> npt.NDArray[np.int32]: ...
    @property
    def value(self) -> Floats: ...
    @property
    def weighted_n_node_samples(self) -> Floats: ...


class Leaf(Component, ABC):
    """How leaves predict."""

    role: ClassVar[str] = "leaf"
    target: ClassVar[str] = "classes"
    folds_of_many: ClassVar[int] = 1  # fifths held out in turn where there are many rows

    @abstractmethod
    def leaf_values(self, tree: Nodes) -> Floats | None:
        """Return an array (leaves in node order, K), or None for the values that the leaves have."""

    def candidates(self) -> list[Leaf]:
        """Return the leaves to be compared by validation: only this one, unless something is "auto"."""
        return [self]

    @property
    def growth(self) -> Any:
        """What tells apart how trees are grown for the candidates: those with equal ones share a tree."""
        return None

    def grows(self, job: Job) -> bool:
        """Whether trees for these leaves are grown by `grow_tree` rather than by the family of tests."""
        return False

    def grow_tree(self, job: Job) -> Tree:
        """Grow a tree whose tests are chosen for these leaves."""
        raise NotImplementedError

    def finish(self, tree: Tree, job: Job) -> Tree:
        """Give a grown tree its leaves."""
        value = self.leaf_values(tree)
        return tree if value is None else replace(tree, leaf_value=value)

    def refit(self, tree: Tree, job: Job) -> Tree:
        """Fit the leaves of a tree that was changed by hand; its tests stay."""
        return self.finish(tree, job)


@register("leaf", "majority")
class Majority(Leaf):
    """The leaf predicts its heaviest class (the first on ties) with probability 1.

    Examples
    --------
    >>> from boscage import Majority, TopDownTreeClassifier
    >>> X, y = [[0], [0], [0], [1]], ["low", "low", "high", "high"]
    >>> TopDownTreeClassifier(leaf=Majority()).fit(X, y).predict_proba([[0], [1]])
    array([[0., 1.],
           [1., 0.]])
    """

    def leaf_values(self, tree: Nodes) -> Floats:
        """Return one-hot rows."""
        value = tree.value[tree.children_left < 0]
        votes = np.zeros_like(value)
        votes[np.arange(len(value)), value.argmax(axis=1)] = 1.0
        return votes


class ShrunkenLeaf(Leaf):
    """The leaf predicts the value of its node, optionally shrunk towards those of its ancestors."""

    def __init__(self, shrinkage: float | str = 0.0, *, joint: str | bool = "auto") -> None:
        self.shrinkage = shrinkage
        self.joint = joint

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """Validation grows another tree on some of the rows."""
        return frozenset({"rows"} if self.shrinkage == "auto" else ())

    def check(self) -> None:
        """Refuse negative and infinite shrinkage and unknown words."""
        if self.shrinkage != "auto":
            self._check_real("shrinkage", low=0)
        self._check_choice("joint", ("auto", True, False))

    def candidates(self) -> list[Leaf]:
        """Return one leaf for each shrinkage to be tried."""
        return [self._with(s) for s in SHRINKAGES] if self.shrinkage == "auto" else [self]

    def _with(self, shrinkage: float) -> Leaf:
        return type(self)(shrinkage, joint=self.joint)

    def finish(self, tree: Tree, job: Job) -> Tree:
        """Give a grown tree its leaves, those of a soft tree jointly if asked."""
        from boscage.leaves._joint import joint_values

        values = joint_values(tree, job, self.joint, float(self.shrinkage))
        return super().finish(tree, job) if values is None else replace(tree, leaf_value=values)

    def leaf_values(self, tree: Nodes) -> Floats | None:
        """Return the shrunken values of the nodes, or None without shrinkage."""
        return None if self.shrinkage == 0 else shrunken_values(tree, tree.value, float(self.shrinkage))


@register("leaf", "frequency")
class Frequency(ShrunkenLeaf):
    r"""The leaf predicts its class fractions, optionally shrunk towards those of its ancestors.

    With n the weight of a node, the value of a leaf is the root's fractions plus, along the path to the leaf, the sum
    of (child's − parent's fractions) / (1 + shrinkage / n_parent). This is a weighted mean of the fractions on the
    path, in which nodes of little weight count less.

    A soft tree averages its leaves, so its predictions are less extreme than those of any leaf, and tests that only
    work in combination, such as those found by look-ahead, can cancel out. Its leaves can be fitted jointly instead:
    with r_il the probability that row i of weight s_i reaches leaf l, Y_i its class as a unit vector, p_l the leaf's
    share of the weight and f_l its class fractions, the leaves' class shares V_l minimise

    .. math:: \sum_i s_i \Bigl\|\sum_l r_{il} V_l - Y_i\Bigr\|^2 + \text{shrinkage}\,\sum_l p_l \|V_l - f_l\|^2.

    Then the average is rescaled about its mean until it is calibrated, and moved towards 1/K as far as needed to keep
    every V_l a distribution. In a hard tree this gives the class fractions again.

    Parameters
    ----------
    shrinkage : float or "auto", default=0.0
        At least 0, in units of sample weight: 0 leaves the fractions as they are, larger values smooth more (in joint
        leaves: stay closer to the fractions). "auto" chooses from 0, 1, 3, 10, …, 1000 the value with the least squared
        error of the probabilities on held-out rows, which takes growing one more tree.
    joint : {"auto", True, False}, default="auto"
        Whether to fit the leaves of a soft tree jointly, at the cost of one more pass over the rows and n·leaves²
        operations. "auto" does so for trees in which look-ahead has placed tests.

    References
    ----------
    Agarwal, Tan, Ronen, Singh, Yu: Hierarchical shrinkage, ICML 2022.

    Examples
    --------
    >>> from boscage.leaves import Frequency
    >>> Frequency(shrinkage=10.0)
    Frequency(shrinkage=10.0)
    """


def shrunken_values(tree: Nodes, found: Floats, shrinkage: float) -> Floats:
    """Return values of the leaves drawn towards those of their ancestors; ``found`` holds one row for each node."""
    children = np.stack([tree.children_left, tree.children_right], axis=1)
    value: Floats = np.array(found, dtype=np.float64)
    parents: npt.NDArray[Any] = np.zeros(1, dtype=np.intp)
    # Level by level: the parents' shrunken values are known when the children's are made.
    while len(parents := parents[children[parents, 0] >= 0]):
        steps = 1 / (1 + shrinkage / tree.weighted_n_node_samples[parents])
        for side in (0, 1):
            child = children[parents, side]
            value[child] = value[parents] + steps[:, None] * (found[child] - found[parents])
        parents = children[parents].ravel()
    return value[tree.children_left < 0]
