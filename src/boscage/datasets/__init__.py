"""Small data sets inside the package, and a loader of larger ones.

`load_dataset` looks a name up among the embedded sets, then in the folder named by the environment
variable ``BOSCAGE_DATA``, then on OpenML. The file layout is described in the documentation, page "Data".
"""

from boscage.datasets._load import list_datasets, load_dataset
from boscage.datasets._npz import DataFileError, read_npz
from boscage.datasets._record import Dataset
from boscage.datasets.optimal import (
    bias_class_weights,
    bias_error_weights,
    make_four_spheres,
    make_linear_with_errors,
    make_three_spheres,
)
from boscage.datasets.planes import make_hyperplane, make_xor

__all__ = [
    "DataFileError",
    "Dataset",
    "bias_class_weights",
    "bias_error_weights",
    "list_datasets",
    "load_dataset",
    "make_four_spheres",
    "make_hyperplane",
    "make_linear_with_errors",
    "make_three_spheres",
    "make_xor",
    "read_npz",
]
