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
    """Split the leaf with the largest weighted impurity decrease first, as TopDown of Kearns and Mansour does.

    References
    ----------
    Kearns, Mansour: On the boosting ability of top-down decision tree learning algorithms, JCSS 58, 1999.

    Examples
    --------
    >>> from boscage import BestFirst, TopDownTreeClassifier
    >>> tree = TopDownTreeClassifier(growth=BestFirst(), max_leaf_nodes=3)
    >>> tree.fit([[0], [1], [2], [3]], [0, 1, 0, 0]).get_n_leaves()
    3
    """

    name = "best_first"
    provides = frozenset({"leaf budget"})


@register("growth", "heaviest_first")
class HeaviestFirst(Growth):
    """Split the leaf with the largest weight first, as in the analysis of LOMtree.

    References
    ----------
    Choromanska, Choromanski, Bojarski: On the boosting ability of top-down decision tree learning algorithm for
    multiclass classification, 2016.

    Examples
    --------
    >>> from boscage import HeaviestFirst, TopDownTreeClassifier
    >>> tree = TopDownTreeClassifier(growth=HeaviestFirst(), max_leaf_nodes=3)
    >>> tree.fit([[0], [1], [2], [3]], [0, 1, 0, 0]).get_n_leaves()
    3
    """

    name = "heaviest_first"
    provides = frozenset({"leaf budget"})


@register("growth", "depth_first")
class DepthFirst(Growth):
    """Split the left branch completely before the right one; cannot be combined with ``max_leaf_nodes``.

    Examples
    --------
    >>> from boscage import DepthFirst, TopDownTreeClassifier
    >>> tree = TopDownTreeClassifier(growth=DepthFirst(), max_depth=2)
    >>> tree.fit([[0], [1], [2], [3]], [0, 1, 0, 0]).get_depth()
    2
    """

    name = "depth_first"
