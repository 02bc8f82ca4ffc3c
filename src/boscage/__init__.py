"""Every top-down decision tree of one theory, with a scikit-learn face and a small compiled core.

The names below are found in their modules when first used, so that ``import boscage`` and ``boscage --help`` do not
wait for scikit-learn. A new public name goes into three lists: the imports for type checkers, ``_HOME``, ``__all__``.
Public modules are found in the same way.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boscage import datasets
    from boscage._component import IncompatibleParts
    from boscage._file_reader import ModelFileError
    from boscage.criteria import Entropy, Gini, ModifiedGini, Separation, Sqrt
    from boscage.duplication import DuplicateWeights, duplicate_dab, duplicate_sampled, duplication_bound
    from boscage.files import load
    from boscage.growth import BestFirst, DepthFirst, HeaviestFirst
    from boscage.leaves import Frequency, Linear, Majority
    from boscage.online import LOMTreeClassifier, OnlineTreeClassifier
    from boscage.optimal import OptimalTreeClassifier
    from boscage.polish import Polish
    from boscage.splits import CO2, OC1, Axis, CartLC, Householder, StochasticLinear, WeightedOblique
    from boscage.top_down import TopDownTreeClassifier
    from boscage.tree import Tree

__version__ = "0.1.0"

_HOME = {
    "Axis": "splits",
    "BestFirst": "growth",
    "CO2": "splits",
    "CartLC": "splits",
    "DepthFirst": "growth",
    "DuplicateWeights": "duplication",
    "Entropy": "criteria",
    "Frequency": "leaves",
    "Gini": "criteria",
    "HeaviestFirst": "growth",
    "Householder": "splits",
    "IncompatibleParts": "_component",
    "LOMTreeClassifier": "online",
    "Linear": "leaves",
    "Majority": "leaves",
    "ModelFileError": "_file_reader",
    "ModifiedGini": "criteria",
    "OC1": "splits",
    "OnlineTreeClassifier": "online",
    "OptimalTreeClassifier": "optimal",
    "Polish": "polish",
    "Separation": "criteria",
    "Sqrt": "criteria",
    "StochasticLinear": "splits",
    "TopDownTreeClassifier": "top_down",
    "Tree": "tree",
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
    "Axis",
    "BestFirst",
    "CartLC",
    "DepthFirst",
    "DuplicateWeights",
    "Entropy",
    "Frequency",
    "Gini",
    "HeaviestFirst",
    "Householder",
    "IncompatibleParts",
    "LOMTreeClassifier",
    "Linear",
    "Majority",
    "ModelFileError",
    "ModifiedGini",
    "OnlineTreeClassifier",
    "OptimalTreeClassifier",
    "Polish",
    "Separation",
    "Sqrt",
    "StochasticLinear",
    "TopDownTreeClassifier",
    "Tree",
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
