"""Leaves: what a leaf predicts, computed from the values and rows of a grown tree. They know nothing of growing."""

from boscage.leaves._leaf import Frequency, Leaf, Majority
from boscage.leaves._linear import Linear
from boscage.leaves._numbers import Constant, Mean, Median
from boscage.leaves._refit import RefitLeaves, refit_part
from boscage.leaves._ridge import RidgeLeaf

__all__ = [
    "Constant",
    "Frequency",
    "Leaf",
    "Linear",
    "Majority",
    "Mean",
    "Median",
    "RefitLeaves",
    "RidgeLeaf",
    "refit_part",
]
