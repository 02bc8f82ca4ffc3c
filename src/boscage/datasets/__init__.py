"""Small data sets inside the package, and one door to larger ones.

`load_dataset` looks a name up among the embedded sets, then in the folder named by the environment
variable ``BOSCAGE_DATA``, then on OpenML. The file layout is described in the documentation, page "Data".
"""

from boscage.datasets._load import list_datasets, load_dataset
from boscage.datasets._npz import DataFileError, read_npz
from boscage.datasets._record import Dataset

__all__ = ["DataFileError", "Dataset", "list_datasets", "load_dataset", "read_npz"]
