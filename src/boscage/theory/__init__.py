"""The theory of top-down growing in use: edges of weak hypotheses and the drops they promise."""

from boscage.theory.drops import entropy_drop, gini_drop, promised_drop, sqrt_drop
from boscage.theory.edges import EDGES, edge, node_edges
from boscage.theory.margins import binomial_margin, margin_depth, margin_tree

__all__ = [
    "EDGES",
    "binomial_margin",
    "edge",
    "entropy_drop",
    "gini_drop",
    "margin_depth",
    "margin_tree",
    "node_edges",
    "promised_drop",
    "sqrt_drop",
]
