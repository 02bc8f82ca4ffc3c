"""TopDownTreeClassifier and TopDownTreeRegressor over Dask collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from distributed import Client

from boscage.criteria import Criterion
from boscage.dask._base import OnCluster
from boscage.growth import Growth
from boscage.leaves import Leaf
from boscage.polish import Polish
from boscage.splits import SplitFamily
from boscage.top_down import TopDownTreeClassifier as LocalClassifier
from boscage.top_down import TopDownTreeRegressor as LocalRegressor


class TopDownTreeClassifier(OnCluster, LocalClassifier):
    """The classifier of :class:`boscage.TopDownTreeClassifier`, fitted on dask arrays or dataframes.

    Parameters
    ----------
    splits, criterion, growth, leaf, max_leaf_nodes, max_depth, min_samples_leaf, min_samples_split, \
min_weight_fraction_leaf, min_impurity_decrease, max_features, ccp_alpha, polish, categorical_features, \
class_weight, n_jobs, random_state, verbose
        As in :class:`boscage.TopDownTreeClassifier`, for the split families that :meth:`fit_batches` supports.
        ``n_jobs`` is the number of threads of the client; each task on a worker uses one thread.
    client : distributed.Client or None, default=None
        None uses the current client.
    max_message_mb : float, default=64
        Maximum size of the result of a task, in 10⁶ bytes; levels with larger sums are processed in several passes.
    retries : int, default=3
        Number of times a failed task is retried.
    timeout : float, default=60
        Seconds without any worker before a fit fails.
    deadline : float or None, default=None
        Maximum duration of a fit in seconds, after which it fails; None for no limit.

    Attributes
    ----------
    tree_, classes_, n_features_in_, feature_names_in_, feature_importances_, trajectory_, reading_
        As in :class:`boscage.TopDownTreeClassifier`.

    Notes
    -----
    See :doc:`/batches` for clusters, :doc:`/categories` for categories and missing values, :doc:`/weights` for sample
    and class weights, and :doc:`/running` for the random state, threads and interruption.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from boscage.dask import TopDownTreeClassifier
    >>> client = Client(n_workers=2, threads_per_worker=1)  # doctest: +SKIP
    >>> X = da.random.default_rng(0).normal(size=(1_000_000, 10), chunks=(100_000, 10))  # doctest: +SKIP
    >>> tree = TopDownTreeClassifier(splits="stochastic").fit(X, X[:, 0] > X[:, 1])  # doctest: +SKIP
    >>> tree.predict_proba(X)  # doctest: +SKIP
    dask.array<...>
    """

    _local: ClassVar[type[Any]] = LocalClassifier

    def __init__(
        self,
        splits: str | SplitFamily = "axis",
        criterion: str | Criterion | Any = "gini",
        growth: str | Growth = "best_first",
        leaf: str | Leaf = "frequency",
        *,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 1,
        min_samples_split: int | float = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        ccp_alpha: float = 0.0,
        polish: str | Polish | None = None,
        categorical_features: str | Sequence[Any] | None = "from_dtype",
        class_weight: str | Mapping[Any, float] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | None = None,
        client: Client | None = None,
        max_message_mb: float = 64.0,
        retries: int = 3,
        timeout: float = 60.0,
        deadline: float | None = None,
    ) -> None:
        super().__init__(
            splits,
            criterion,
            growth,
            leaf,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            min_samples_split=min_samples_split,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            min_impurity_decrease=min_impurity_decrease,
            max_features=max_features,
            ccp_alpha=ccp_alpha,
            polish=polish,
            categorical_features=categorical_features,
            class_weight=class_weight,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.client = client
        self.max_message_mb = max_message_mb
        self.retries = retries
        self.timeout = timeout
        self.deadline = deadline

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TopDownTreeClassifier:
        """Grow the tree on the cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n, d)
            Rows in partitions of any length, empty ones included.
        y : dask array or series of shape (n,)
            Class labels, partitioned like X.
        sample_weight : dask array or series of shape (n,), optional
            Non-negative weights; rows with weight 0 are ignored.

        Returns
        -------
        self
        """
        self._fit_on_cluster(X, y, sample_weight)
        return self

    def to_local(self) -> LocalClassifier:
        """Return the fitted tree as an estimator that does not need Dask.

        Returns
        -------
        boscage.TopDownTreeClassifier
        """
        local: LocalClassifier = self._to_local()
        return local

    def predict(self, X: Any) -> Any:
        """Predict the most probable class; ties go to the first class.

        Parameters
        ----------
        X : dask array or dataframe, array-like or DataFrame of shape (n, d)
            Rows.

        Returns
        -------
        dask array or ndarray of shape (n,)
            Lazy, and computed partition by partition, for a dask collection.
        """
        return self._lazily("predict", X, self._fitted() and self.classes_.dtype, ())

    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities.

        Parameters
        ----------
        X : dask array or dataframe, array-like or DataFrame of shape (n, d)
            Rows.

        Returns
        -------
        dask array or ndarray of shape (n, K)
            In the order of ``classes_``. Lazy, and computed partition by partition, for a dask collection.
        """
        return self._lazily("predict_proba", X, np.dtype(np.float64), (self._fitted().value.shape[1],))


class TopDownTreeRegressor(OnCluster, LocalRegressor):
    """The regressor of :class:`boscage.TopDownTreeRegressor`, fitted on dask arrays or dataframes.

    Parameters
    ----------
    splits, criterion, growth, leaf, max_leaf_nodes, max_depth, min_samples_leaf, min_samples_split, \
min_weight_fraction_leaf, min_impurity_decrease, max_features, ccp_alpha, polish, categorical_features, n_jobs, \
random_state, verbose
        As in :class:`boscage.TopDownTreeRegressor`, for the split families and criteria that :meth:`fit_batches`
        supports.
    client, max_message_mb, retries, timeout, deadline
        As in :class:`TopDownTreeClassifier`.

    Attributes
    ----------
    tree_, n_features_in_, n_outputs_, feature_names_in_, feature_importances_, trajectory_, reading_
        As in :class:`boscage.TopDownTreeRegressor`.

    Notes
    -----
    See :doc:`/batches` for clusters, :doc:`/regression` for criteria, :doc:`/categories` for categories and missing
    values, :doc:`/weights` for sample weights, and :doc:`/running` for the random state, threads and interruption.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from boscage.dask import TopDownTreeRegressor
    >>> client = Client(n_workers=2, threads_per_worker=1)  # doctest: +SKIP
    >>> X = da.random.default_rng(0).normal(size=(1_000_000, 10), chunks=(100_000, 10))  # doctest: +SKIP
    >>> tree = TopDownTreeRegressor(splits="stochastic").fit(X, X[:, 0] - X[:, 1])  # doctest: +SKIP
    >>> tree.predict(X)  # doctest: +SKIP
    dask.array<...>
    """

    _local: ClassVar[type[Any]] = LocalRegressor

    def __init__(
        self,
        splits: str | SplitFamily = "axis",
        criterion: str | Criterion | Any = "squared_error",
        growth: str | Growth = "best_first",
        leaf: str | Leaf = "constant",
        *,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 1,
        min_samples_split: int | float = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        ccp_alpha: float = 0.0,
        polish: str | Polish | None = None,
        categorical_features: str | Sequence[Any] | None = "from_dtype",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | None = None,
        client: Client | None = None,
        max_message_mb: float = 64.0,
        retries: int = 3,
        timeout: float = 60.0,
        deadline: float | None = None,
    ) -> None:
        super().__init__(
            splits,
            criterion,
            growth,
            leaf,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            min_samples_split=min_samples_split,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            min_impurity_decrease=min_impurity_decrease,
            max_features=max_features,
            ccp_alpha=ccp_alpha,
            polish=polish,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.client = client
        self.max_message_mb = max_message_mb
        self.retries = retries
        self.timeout = timeout
        self.deadline = deadline

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TopDownTreeRegressor:
        """Grow the tree on the cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n, d)
            Rows in partitions of any length, empty ones included.
        y : dask array or series of shape (n,), or dask array of shape (n, m)
            Numbers, partitioned like X.
        sample_weight : dask array or series of shape (n,), optional
            Non-negative weights; rows with weight 0 are ignored.

        Returns
        -------
        self
        """
        self._fit_on_cluster(X, y, sample_weight)
        return self

    def to_local(self) -> LocalRegressor:
        """Return the fitted tree as an estimator that does not need Dask.

        Returns
        -------
        boscage.TopDownTreeRegressor
        """
        local: LocalRegressor = self._to_local()
        return local

    def predict(self, X: Any) -> Any:
        """Predict the target.

        Parameters
        ----------
        X : dask array or dataframe, array-like or DataFrame of shape (n, d)
            Rows.

        Returns
        -------
        dask array or ndarray of shape (n,), or (n, m) for m outputs
            Lazy, and computed partition by partition, for a dask collection.
        """
        outputs = self._fitted().n_outputs
        return self._lazily("predict", X, np.dtype(np.float64), () if outputs == 1 else (outputs,))
