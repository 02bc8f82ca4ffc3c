"""Decision trees and forests for scikit-learn users, with a C++ core."""

# The names below are found in their modules when first used, so that `import boscage` and `boscage --help` do not wait
# for scikit-learn. A new public name goes into three lists: the imports for type checkers, `_HOME`, `__all__`. Public
# modules are found in the same way.

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boscage import datasets
    from boscage.base.component import IncompatibleParts
    from boscage.criteria import (
        AbsoluteError,
        Entropy,
        Gamma,
        Gini,
        ModifiedGini,
        Poisson,
        Quantile,
        Separation,
        Sqrt,
        SquaredError,
        Tweedie,
    )
    from boscage.duplication import DuplicateWeights, duplicate_dab, duplicate_sampled, duplication_bound
    from boscage.files import load
    from boscage.forest import ForestClassifier, ForestRegressor
    from boscage.growth import BestFirst, DepthFirst, HeaviestFirst
    from boscage.leaves import Constant, Frequency, Linear, Majority, Mean, Median, RefitLeaves, RidgeLeaf
    from boscage.model.file_bytes import ModelFileError
    from boscage.online import LOMTreeClassifier, OnlineTreeClassifier
    from boscage.optimal import OptimalTreeClassifier
    from boscage.polish import Polish
    from boscage.splits import CO2, OC1, Axis, CartLC, ForestMix, Householder, StochasticLinear, WeightedOblique
    from boscage.top_down import TopDownTreeClassifier, TopDownTreeRegressor
    from boscage.tree import Tree

__version__ = "0.1.0"

_HOME = {
    "AbsoluteError": "criteria",
    "Axis": "splits",
    "BestFirst": "growth",
    "CO2": "splits",
    "CartLC": "splits",
    "Constant": "leaves",
    "DepthFirst": "growth",
    "DuplicateWeights": "duplication",
    "Entropy": "criteria",
    "ForestClassifier": "forest",
    "ForestMix": "splits",
    "ForestRegressor": "forest",
    "Frequency": "leaves",
    "Gamma": "criteria",
    "Gini": "criteria",
    "HeaviestFirst": "growth",
    "Householder": "splits",
    "IncompatibleParts": "base.component",
    "LOMTreeClassifier": "online",
    "Linear": "leaves",
    "Majority": "leaves",
    "Mean": "leaves",
    "Median": "leaves",
    "ModelFileError": "model.file_bytes",
    "ModifiedGini": "criteria",
    "OC1": "splits",
    "OnlineTreeClassifier": "online",
    "OptimalTreeClassifier": "optimal",
    "Poisson": "criteria",
    "Polish": "polish",
    "Quantile": "criteria",
    "RefitLeaves": "leaves",
    "RidgeLeaf": "leaves",
    "Separation": "criteria",
    "Sqrt": "criteria",
    "SquaredError": "criteria",
    "StochasticLinear": "splits",
    "TopDownTreeClassifier": "top_down",
    "TopDownTreeRegressor": "top_down",
    "Tree": "tree",
    "Tweedie": "criteria",
    "WeightedOblique": "splits",
    "datasets": "",
    "duplicate_dab": "duplication",
    "duplicate_sampled": "duplication",
    "duplication_bound": "duplication",
    "load": "files",
}

__all__ = [
    "CO2",
    "OC1",
    "AbsoluteError",
    "Axis",
    "BestFirst",
    "CartLC",
    "Constant",
    "DepthFirst",
    "DuplicateWeights",
    "Entropy",
    "ForestClassifier",
    "ForestMix",
    "ForestRegressor",
    "Frequency",
    "Gamma",
    "Gini",
    "HeaviestFirst",
    "Householder",
    "IncompatibleParts",
    "LOMTreeClassifier",
    "Linear",
    "Majority",
    "Mean",
    "Median",
    "ModelFileError",
    "ModifiedGini",
    "OnlineTreeClassifier",
    "OptimalTreeClassifier",
    "Poisson",
    "Polish",
    "Quantile",
    "RefitLeaves",
    "RidgeLeaf",
    "Separation",
    "Sqrt",
    "SquaredError",
    "StochasticLinear",
    "TopDownTreeClassifier",
    "TopDownTreeRegressor",
    "Tree",
    "Tweedie",
    "WeightedOblique",
    "datasets",
    "duplicate_dab",
    "duplicate_sampled",
    "duplication_bound",
    "load",
]


_MODULES = (
    "batches",
    "cli",
    "compare",
    "criteria",
    "dask",
    "datasets",
    "duplication",
    "edit",
    "experiments",
    "explain",
    "export",
    "files",
    "forest",
    "growth",
    "html",
    "leaves",
    "online",
    "optimal",
    "plot",
    "polish",
    "pruning",
    "splits",
    "theory",
    "top_down",
    "tree",
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"boscage.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'boscage' has no attribute {name!r}")
    value = getattr(import_module(f"boscage.{_HOME[name]}"), name)
    globals()[name] = value  # the next use does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))})
