"""What estimators over Dask collections have beside the local ones they extend."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, ClassVar

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.delayed import delayed
from distributed import Client

from boscage.base.numbers import check_number
from boscage.base.progress import Progress
from boscage.batches.partitions import row_chunks, row_partitions, to_partitions
from boscage.dask._cluster import Cluster, current_client
from boscage.dask._passes import ClusterPasses
from boscage.engine.top_down import category_rule


class OnCluster:
    """What estimators over Dask collections have beside the local ones they extend."""

    client: Client | None
    max_message_mb: float
    retries: int
    timeout: float
    deadline: float | None
    _local: ClassVar[type[Any]]

    def _fit_on_cluster(self: Any, X: Any, y: Any, sample_weight: Any) -> None:
        parts = self._parts("boscage.dask")
        self._check_limits()
        partitions = to_partitions(X, y, sample_weight)
        limit = time.monotonic() + self.deadline if self.deadline is not None else None
        cluster = Cluster(current_client(self.client), int(self.retries), float(self.timeout), limit)
        with Progress("passes over the cluster", self.verbose) as progress:
            passes = ClusterPasses(
                cluster,
                partitions,
                type(self).__name__,
                self.class_weight,
                allow_nan=parts["splits"].allows_missing,
                categories=category_rule(self.categorical_features, parts["splits"], "boscage.dask"),
                max_message_mb=float(self.max_message_mb),
                progress=progress,
                target=self._target,
            )
            self._fit_passes(parts, passes)

    def _check_limits(self) -> None:
        check_number("max_message_mb", self.max_message_mb, "a number >= 1e-06", 1e-6)
        check_number("retries", self.retries, "an integer >= 0", 0, whole=True)
        check_number("timeout", self.timeout, "a number >= 0", 0)
        if self.deadline is not None:
            check_number("deadline", self.deadline, "None or a number > 0", 0, above=True)

    def _to_local(self: Any) -> Any:
        tree = self._fitted()
        known = self._local().get_params()
        local = self._local(**{name: value for name, value in self.get_params().items() if name in known})
        local.tree_, local.n_features_in_ = tree, self.n_features_in_
        local._impurity_unit = self._impurity_unit
        for name in ("classes_", "feature_names_in_"):
            if name in self.__dict__:
                setattr(local, name, getattr(self, name))
        return local

    def save(self: Any, path: str | Path) -> Path:
        """Save the model as an estimator that does not need Dask.

        Parameters
        ----------
        path : str or path-like
            The file to write. If writing fails, an existing file is left unchanged.

        Returns
        -------
        Path
            The path.
        """
        saved: Path = self._to_local().save(path)
        return saved

    def _lazily(self: Any, method: str, X: Any, dtype: Any, width: tuple[int, ...]) -> Any:
        if not dask.is_dask_collection(X):
            return getattr(self._local, method)(self, X)
        model = delayed(self.to_local(), traverse=False)
        chunks = row_chunks(X)
        call = delayed(_predict_partition, pure=True)
        blocks = [
            da.from_delayed(call(model, method, part, dtype, width), shape=(length, *width), dtype=dtype)
            for part, length in zip(row_partitions(X), chunks)
        ]
        return da.concatenate(blocks)


def _predict_partition(model: Any, method: str, X: Any, dtype: Any, width: tuple[int, ...]) -> npt.NDArray[Any]:
    return np.asarray(getattr(model, method)(X)) if len(X) else np.empty((0, *width), dtype)
