"""Split families F: which tests a tree may ask.

A family answers one question: good tests for the weighted rows of a node. `SplitFamily.grow` is the joint with the
engine; a family with its own compiled search (`Axis`) overrides it, a family written in Python subclasses
`ProposingFamily` and only proposes directions: thresholds, gains, limits and the order of growth are the engine's.
"""

from boscage.splits._family import LinearTest, NodeData, ProposingFamily, SplitFamily
from boscage.splits.axis import Axis
from boscage.splits.co2 import CO2
from boscage.splits.coordinate import OC1, CartLC
from boscage.splits.forest_mix import ForestMix
from boscage.splits.householder import Householder
from boscage.splits.stochastic import StochasticLinear
from boscage.splits.wodt import WeightedOblique

__all__ = [
    "CO2",
    "OC1",
    "Axis",
    "CartLC",
    "ForestMix",
    "Householder",
    "LinearTest",
    "NodeData",
    "ProposingFamily",
    "SplitFamily",
    "StochasticLinear",
    "WeightedOblique",
]
