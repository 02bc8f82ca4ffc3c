"""Growth: in which order the leaves of a growing tree are split. It orders leaves and knows nothing else."""

from __future__ import annotations

from typing import ClassVar

from boscage.base.component import Component, register

__all__ = ["BestFirst", "DepthFirst", "Growth", "HeaviestFirst"]


class Growth(Component):
    """An order of growth. Ties go to the lower node number."""

    role: ClassVar[str] = "growth"
    name: ClassVar[str] = ""

    def native(self) -> str:
        """Return what crosses into the compiled core."""
        return self.name


@register("growth", "best_first")
class BestFirst(Growth):
    """Split the leaf with the largest weighted impurity decrease first: TopDown of Kearns and Mansour.

    References
    ----------
    Kearns, Mansour: On the boosting ability of top-down decision tree learning algorithms, JCSS 58, 1999.

    Examples
    --------
    >>> from boscage.growth import BestFirst
    >>> BestFirst().native()
    'best_first'
    """

    name = "best_first"
    provides = frozenset({"leaf budget"})


@register("growth", "heaviest_first")
class HeaviestFirst(Growth):
    """Split the leaf of largest weight first, as the analysis of LOMtree does.

    References
    ----------
    Choromanska, Choromanski, Bojarski: On the boosting ability of top-down decision tree learning algorithm for
    multiclass classification, 2016.

    Examples
    --------
    >>> from boscage.growth import HeaviestFirst
    >>> HeaviestFirst().native()
    'heaviest_first'
    """

    name = "heaviest_first"
    provides = frozenset({"leaf budget"})


@register("growth", "depth_first")
class DepthFirst(Growth):
    """Finish the left branch before the right one; not with ``max_leaf_nodes``, which would leave one long branch.

    Examples
    --------
    >>> from boscage.growth import DepthFirst
    >>> DepthFirst().native()
    'depth_first'
    """

    name = "depth_first"
