"""ForestClassifier and ForestRegressor over Dask collections."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from distributed import Client
from sklearn.utils.validation import check_is_fitted

from boscage.batches.reading import FitExecutor
from boscage.criteria import Criterion
from boscage.dask._base import OnCluster
from boscage.forest import ForestClassifier as LocalForestClassifier
from boscage.forest import ForestRegressor as LocalForestRegressor
from boscage.forest._bags import Bags
from boscage.forest._cluster import ClusterSharedPasses
from boscage.leaves import Leaf, RefitLeaves
from boscage.splits import SplitFamily


class _ForestOnCluster(OnCluster):
    """What forests over Dask collections have beside the local ones they extend."""

    def _parts(self: Any, where: str) -> dict[str, Any]:
        parts: dict[str, Any] = self._batch_parts()
        return parts

    def _shared_passes(self, passes: FitExecutor, bags: Bags, numbers: Sequence[int]) -> ClusterSharedPasses:
        return ClusterSharedPasses(passes, bags, numbers, 1)

    def _to_local(self: Any) -> Any:
        check_is_fitted(self, "trees_")
        fit = copy.copy(self)
        given = fit.get_params(deep=False)
        known = self._local().get_params(deep=False)
        local = self._local(**{name: value for name, value in given.items() if name in known})
        local.__dict__.update({name: value for name, value in vars(fit).items() if name not in given})
        return local


class ForestClassifier(_ForestOnCluster, LocalForestClassifier):
    """The classifier of :class:`boscage.ForestClassifier`, fitted on dask arrays or dataframes.

    Parameters
    ----------
    n_estimators, splits, criterion, leaf, max_leaf_nodes, max_depth, min_samples_leaf, min_samples_split, \
min_weight_fraction_leaf, min_impurity_decrease, max_features, ccp_alpha, refit, bootstrap, max_samples, oob_score, \
calibrate, warm_start, categorical_features, class_weight, n_jobs, random_state, verbose
        As in :class:`boscage.ForestClassifier`, for the families whose search is made of sums: pass ``splits`` such as
        ``Axis(max_bins=255)``, and limit the depth or the leaves. A task on a worker uses one thread.
    client, max_message_mb, retries, timeout, deadline
        As in :class:`TopDownTreeClassifier`.

    Attributes
    ----------
    trees_, estimators_, classes_, n_classes_, n_features_in_, feature_names_in_, feature_importances_, exponent_, \
oob_decision_function_, oob_score_, reading_
        As in :class:`boscage.ForestClassifier`.

    Notes
    -----
    The trees grow side by side and share the passes over the rows. The client keeps up to 4,096 rows for each tree and
    each task of a pass. See :doc:`/batches` for clusters and :doc:`/forests` for forests.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from boscage import Axis
    >>> from boscage.dask import ForestClassifier
    >>> client = Client(n_workers=2, threads_per_worker=1)  # doctest: +SKIP
    >>> X = da.random.default_rng(0).normal(size=(1_000_000, 10), chunks=(100_000, 10))  # doctest: +SKIP
    >>> forest = ForestClassifier(50, Axis(max_bins=255), max_depth=8).fit(X, X[:, 0] > X[:, 1])  # doctest: +SKIP
    >>> forest.predict_proba(X)  # doctest: +SKIP
    dask.array<...>
    """

    _local: ClassVar[type[Any]] = LocalForestClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        splits: str | SplitFamily = "mixed",
        criterion: str | Criterion | Any = "entropy",
        leaf: str | Leaf = "frequency",
        *,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 1,
        min_samples_split: int | float = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = "auto",
        ccp_alpha: float = 0.0,
        refit: str | RefitLeaves | None = None,
        bootstrap: bool | str = True,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[..., float] = False,
        calibrate: bool | str = "auto",
        warm_start: bool = False,
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
            n_estimators,
            splits,
            criterion,
            leaf,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            min_samples_split=min_samples_split,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            min_impurity_decrease=min_impurity_decrease,
            max_features=max_features,
            ccp_alpha=ccp_alpha,
            refit=refit,
            bootstrap=bootstrap,
            max_samples=max_samples,
            oob_score=oob_score,
            calibrate=calibrate,
            warm_start=warm_start,
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ForestClassifier:
        """Grow the trees on the cluster.

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

    def to_local(self) -> LocalForestClassifier:
        """Return the fitted forest as an estimator that does not need Dask.

        Returns
        -------
        boscage.ForestClassifier
        """
        local: LocalForestClassifier = self._to_local()
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
        check_is_fitted(self, "trees_")
        return self._lazily("predict", X, self.classes_.dtype, ())

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
        check_is_fitted(self, "trees_")
        return self._lazily("predict_proba", X, np.dtype(np.float64), (len(self.classes_),))


class ForestRegressor(_ForestOnCluster, LocalForestRegressor):
    """The regressor of :class:`boscage.ForestRegressor`, fitted on dask arrays or dataframes.

    Parameters
    ----------
    n_estimators, splits, criterion, leaf, max_leaf_nodes, max_depth, min_samples_leaf, min_samples_split, \
min_weight_fraction_leaf, min_impurity_decrease, max_features, ccp_alpha, refit, bootstrap, max_samples, oob_score, \
warm_start, categorical_features, n_jobs, random_state, verbose
        As in :class:`boscage.ForestRegressor`, for the families and criteria whose search is made of sums.
    client, max_message_mb, retries, timeout, deadline
        As in :class:`TopDownTreeClassifier`.

    Attributes
    ----------
    trees_, estimators_, n_features_in_, n_outputs_, feature_names_in_, feature_importances_, oob_prediction_, \
oob_score_, reading_
        As in :class:`boscage.ForestRegressor`; there are no quantiles.

    Notes
    -----
    As for :class:`ForestClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from boscage import Axis
    >>> from boscage.dask import ForestRegressor
    >>> client = Client(n_workers=2, threads_per_worker=1)  # doctest: +SKIP
    >>> X = da.random.default_rng(0).normal(size=(1_000_000, 10), chunks=(100_000, 10))  # doctest: +SKIP
    >>> forest = ForestRegressor(50, Axis(max_bins=255), max_depth=8).fit(X, X[:, 0] - X[:, 1])  # doctest: +SKIP
    >>> forest.predict(X)  # doctest: +SKIP
    dask.array<...>
    """

    _local: ClassVar[type[Any]] = LocalForestRegressor

    def __init__(
        self,
        n_estimators: int = 100,
        splits: str | SplitFamily = "mixed",
        criterion: str | Criterion | Any = "squared_error",
        leaf: str | Leaf = "constant",
        *,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 1,
        min_samples_split: int | float = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = "auto",
        ccp_alpha: float = 0.0,
        refit: str | RefitLeaves | None = None,
        bootstrap: bool | str = True,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
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
            n_estimators,
            splits,
            criterion,
            leaf,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            min_samples_split=min_samples_split,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            min_impurity_decrease=min_impurity_decrease,
            max_features=max_features,
            ccp_alpha=ccp_alpha,
            refit=refit,
            bootstrap=bootstrap,
            max_samples=max_samples,
            oob_score=oob_score,
            warm_start=warm_start,
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ForestRegressor:
        """Grow the trees on the cluster.

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

    def to_local(self) -> LocalForestRegressor:
        """Return the fitted forest as an estimator that does not need Dask.

        Returns
        -------
        boscage.ForestRegressor
        """
        local: LocalForestRegressor = self._to_local()
        return local

    def predict(self, X: Any) -> Any:
        """Predict the mean of the trees' predictions.

        Parameters
        ----------
        X : dask array or dataframe, array-like or DataFrame of shape (n, d)
            Rows.

        Returns
        -------
        dask array or ndarray of shape (n,), or (n, m) for m outputs
            Lazy, and computed partition by partition, for a dask collection.
        """
        check_is_fitted(self, "trees_")
        return self._lazily("predict", X, np.dtype(np.float64), () if self.n_outputs_ == 1 else (self.n_outputs_,))
