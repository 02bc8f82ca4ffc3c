"""Trees over Dask collections: the same parameters, the same tree to the byte, rows wherever the cluster has them.

`_top_down` and `_forests` are the estimators, `_base` what they share; `_passes` is the executor of a fit, and
`_cluster` the one place that waits for the cluster. What a worker does is in `boscage.batches.partitions`.
"""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError("boscage.dask needs dask[array,distributed]: pip install 'boscage[dask]'") from error

from boscage.batches.partitions import ClusterError
from boscage.dask._forests import ForestClassifier, ForestRegressor
from boscage.dask._top_down import TopDownTreeClassifier, TopDownTreeRegressor

__all__ = ["ClusterError", "ForestClassifier", "ForestRegressor", "TopDownTreeClassifier", "TopDownTreeRegressor"]
