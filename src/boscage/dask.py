"""Trees over Dask collections: the same parameters, the same tree to the byte, rows wherever the cluster has them.

Each pass sends a question (the tests on the way to the open leaves) to every partition and brings back sums: a
partition adds up the blocks of 4096 rows that lie inside it, blocks that lie across partitions are made of the few
rows at their edges, and sums are reduced pairwise by block number in a tree of tasks. Splits are solved in the
client. Workers keep nothing from pass to pass, so they may come, go and die: what is lost is computed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

try:
    import dask
    import dask.array as da
    from dask.delayed import Delayed, delayed
    from distributed import Client, Future, default_client, wait
    from distributed.scheduler import KilledWorker
except ImportError as error:
    raise ImportError("boscage.dask needs dask[array,distributed]: pip install 'boscage[dask]'") from error

import boscage
from boscage._column_kinds import CategoryRule
from boscage._progress import Progress
from boscage.batches.partitions import (
    Asked,
    ClusterError,
    answer_across,
    answer_partition,
    join_runs,
    look_at_partition,
    merge_answers,
    row_chunks,
    row_partitions,
    survey_partition,
    to_loaders,
    to_partitions,
    weigh_partition,
)
from boscage.batches.reading import Look, Question, Reading
from boscage.batches.reduction import total
from boscage.batches.rows import BLOCK_ROWS
from boscage.batches.survey import Preparation, Survey, WeightSurvey, preparation
from boscage.criteria import Criterion
from boscage.growth import Growth
from boscage.leaves import Leaf
from boscage.splits import SplitFamily
from boscage.top_down import TopDownTreeClassifier as LocalClassifier
from boscage.top_down import category_rule

__all__ = ["ClusterError", "TopDownTreeClassifier"]

Floats = npt.NDArray[np.float64]

_JOINED_AT_ONCE = 8
_POLL_SECONDS = 0.5


class TopDownTreeClassifier(LocalClassifier):
    """The classifier of :class:`boscage.TopDownTreeClassifier`, fitted on dask arrays or dataframes.

    Parameters
    ----------
    splits, criterion, growth, leaf, max_leaf_nodes, max_depth, min_samples_leaf, min_samples_split, \
min_weight_fraction_leaf, min_impurity_decrease, max_features, ccp_alpha, polish, categorical_features, \
class_weight, n_jobs, random_state, verbose
        As in :class:`boscage.TopDownTreeClassifier`, for the families whose search is made of sums. ``n_jobs`` is the
        number of threads with which the client solves splits; a task on a worker uses one thread.
    client : distributed.Client or None, default=None
        None takes the client in use.
    max_message_mb : float, default=64
        Largest answer of a task, in 10⁶ bytes: levels whose sums take more are made in several passes.
    retries : int, default=3
        How often a task that fails is tried again.
    timeout : float, default=60
        Seconds without any worker after which a fit ends with an error.
    deadline : float or None, default=None
        Seconds after which a fit ends with an error in any case.

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

    def __init__(
        self,
        splits: str | SplitFamily = "axis",
        criterion: str | Criterion | Any = "gini",
        growth: str | Growth = "best_first",
        leaf: str | Leaf = "frequency",
        *,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: Any = 1,
        min_samples_split: Any = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: Any = None,
        ccp_alpha: float = 0.0,
        polish: Any = None,
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
            Non-negative weights; a row of weight 0 counts as absent.

        Returns
        -------
        self
        """
        parts = self._parts("boscage.dask")
        for name, low in (("max_message_mb", 1e-6), ("retries", 0), ("timeout", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not value >= low:
                raise ValueError(f"{name}={value!r} is not allowed. Pass a number >= {low:g}.")
        partitions = to_partitions(X, y, sample_weight)
        limit = time.monotonic() + self.deadline if self.deadline is not None else None
        cluster = Cluster(_client(self.client), int(self.retries), float(self.timeout), limit)
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
            )
            self._fit_passes(parts, passes)
        self.reading_ = passes.reading
        return self

    def to_local(self) -> LocalClassifier:
        """Return the fitted tree as a :class:`boscage.TopDownTreeClassifier`, which knows nothing of Dask."""
        tree = self._fitted()
        known = LocalClassifier().get_params()
        local = LocalClassifier(**{name: value for name, value in self.get_params().items() if name in known})
        local.tree_, local.classes_, local.n_features_in_ = tree, self.classes_, self.n_features_in_
        local._impurity_unit = self._impurity_unit
        if hasattr(self, "feature_names_in_"):
            local.feature_names_in_ = self.feature_names_in_
        return local

    def predict(self, X: Any) -> Any:
        """Predict classes: lazily for a dask collection, partition by partition."""
        return self._lazily("predict", X, self._fitted() and self.classes_.dtype, ())

    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities: lazily for a dask collection, partition by partition."""
        return self._lazily("predict_proba", X, np.dtype(np.float64), (self._fitted().value.shape[1],))

    def _lazily(self, method: str, X: Any, dtype: Any, width: tuple[int, ...]) -> Any:
        if not dask.is_dask_collection(X):
            return getattr(super(), method)(X)
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


def _client(client: Client | None) -> Client:
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        raise ClusterError(
            "no Dask client is there. Make one first, for example distributed.Client(n_workers=2), or pass client=; "
            "TopDownTreeClassifier.fit_batches needs none."
        ) from None


class Cluster:
    """The one place that waits for the cluster: bounded, and with errors that say what went wrong.

    Parameters
    ----------
    client : Client
        Connection to the scheduler.
    retries : int
        How often a failed task is tried again.
    timeout : float
        Seconds without any worker.
    limit : float or None
        Time (``time.monotonic``) at which to give up.
    """

    def __init__(self, client: Client, retries: int, timeout: float, limit: float | None) -> None:
        self.client = client
        self.retries = retries
        self.timeout = timeout
        self.limit = limit

    def compute(self, partitions: list[Delayed], final: Delayed | None = None) -> list[Any]:
        """Return the values of the partitions' tasks, or that of ``final``, which is made of them."""
        wanted = partitions if final is None else [final, *partitions]
        futures: list[Future] = self.client.compute(wanted, retries=self.retries, optimize_graph=True)
        goal = futures if final is None else futures[:1]
        try:
            self._wait(goal)
            self._raise_failure(futures if final is None else futures[1:], goal)
            values: list[Any] = self.client.gather(goal, errors="raise")
        except BaseException:
            self.client.cancel(futures, force=True)
            raise
        return values

    def _wait(self, futures: list[Future]) -> None:
        seen = time.monotonic()
        while True:
            try:
                wait(futures, timeout=_POLL_SECONDS)
                return
            except TimeoutError:
                pass
            if any(future.status == "error" for future in futures):
                return
            if any(future.status in ("cancelled", "lost") for future in futures):
                raise ClusterError("the scheduler has dropped the tasks of this fit: was the cluster closed?")
            now = time.monotonic()
            if self._has_workers():
                seen = now
            elif now - seen > self.timeout:
                raise ClusterError(
                    f"no worker has been there for {self.timeout:g} seconds (timeout={self.timeout:g}). Start workers "
                    "and fit again."
                )
            if self.limit is not None and now > self.limit:
                raise ClusterError("the fit has taken longer than its deadline. Pass a larger one, or more workers.")

    def _has_workers(self) -> bool:
        if self.client.status != "running":
            raise ClusterError(f"the client is {self.client.status}: the connection to the scheduler is lost.")
        return bool(self.client.scheduler_info(n_workers=-1)["workers"])

    def _raise_failure(self, partitions: list[Future], goal: list[Future]) -> None:
        """Raise the error of the first partition that failed, with its number."""
        for number, future in enumerate(partitions):
            if future.status == "error":
                _raise_from(future, f"partition {number}")
        for future in goal:
            if future.status == "error":
                _raise_from(future, "a sum of partitions")


def _raise_from(future: Future, where: str) -> None:
    error = future.exception(timeout=_POLL_SECONDS * 20)
    if isinstance(error, KilledWorker):
        raise ClusterError(
            f"{where}: the workers that tried it died one after the other ({error}). Is there too little memory for a "
            "partition? Make them smaller."
        ) from error
    if isinstance(error, ClusterError):
        raise error
    raise ClusterError(f"{where}: {type(error).__name__}: {error}") from error


class ClusterPasses:
    """Passes over the partitions of dask collections.

    Parameters
    ----------
    cluster : Cluster
        Computes tasks.
    partitions : list of lists
        X, y and perhaps weights of each, delayed.
    owner, class_weight, allow_nan
        As in `BatchPasses`.
    categories : CategoryRule
        Which columns are categories.
    max_message_mb : float
        Largest answer of a task.
    progress : Progress
        Told of every pass.
    """

    def __init__(
        self,
        cluster: Cluster,
        partitions: list[list[Delayed]],
        owner: str,
        class_weight: Any,
        *,
        allow_nan: bool,
        categories: CategoryRule,
        max_message_mb: float,
        progress: Progress,
    ) -> None:
        self._cluster = cluster
        self._partitions = to_loaders(partitions)
        self._progress = progress
        self._asked = Asked(boscage.__version__, owner, allow_nan, categories)
        self.max_message_mb = max_message_mb
        self.n_passes = 0
        surveys: list[Survey | None] = self._on_partitions(survey_partition, self._asked)
        found = [survey for survey in surveys if survey is not None]
        if not found:
            raise ValueError("X holds no rows. Pass at least one partition with rows.")
        self._lengths = [0 if s is None else s.rows if s.weight is None else s.weight.count for s in surveys]
        prepared = preparation(reduce(Survey.merge, found), owner, class_weight, self._weigh)
        prepare, self.survey, self.n_rows, self.weight, self.weight_exponent = prepared
        self._asked = self._asked._replace(prepare=prepare)

    @property
    def reading(self) -> Reading:
        """What has been read so far."""
        return Reading(self.n_passes, self.survey.rows, self.n_passes * self.survey.n_bytes)

    def _begin(self) -> None:
        self.n_passes += 1
        if self._progress.callback is not None:
            self._progress(self.n_passes)

    def _on_partitions(self, task: Callable[..., Any], asked: Asked) -> list[Any]:
        self._begin()
        shared, call = delayed(asked, traverse=False), delayed(task, pure=False)
        return self._cluster.compute([call(shared, partition) for partition in self._partitions])

    def _weigh(self, prepare: Preparation) -> WeightSurvey:
        weights = self._on_partitions(weigh_partition, self._asked._replace(prepare=prepare))
        self._lengths = [0 if weight is None else weight.count for weight in weights]
        merged: WeightSurvey = reduce(WeightSurvey.merge, [weight for weight in weights if weight is not None])
        return merged

    def sums(self, question: Question) -> Floats:
        """Answer a question by one pass over all partitions."""
        self._begin()
        shared = delayed(self._asked._replace(question=question), traverse=False)
        answer, across = delayed(answer_partition, pure=False), delayed(answer_across, pure=False)
        tasks: list[Delayed] = []
        runs: list[Delayed] = []
        waiting: list[Delayed] = []  # partitions with rows of the block that is not yet whole
        row = 0
        for partition, length in zip(self._partitions, self._lengths):
            if not length:
                continue
            task = answer(shared, partition, row, length)
            tasks.append(task)
            end = row + length
            first, last = -(-row // BLOCK_ROWS), end // BLOCK_ROWS  # blocks first .. last - 1 lie inside
            if row % BLOCK_ROWS:
                waiting.append(task)
                if end >= first * BLOCK_ROWS:
                    runs.append(across(shared, first - 1, waiting))
                    waiting = []
            if last > first:
                runs.append(task)
            if end % BLOCK_ROWS and end > first * BLOCK_ROWS:
                waiting.append(task)
            row = end
        if waiting:
            runs.append(across(shared, row // BLOCK_ROWS, waiting))
        gather = delayed(join_runs, pure=False)
        while True:
            runs = [gather(runs[i : i + _JOINED_AT_ONCE]) for i in range(0, len(runs), _JOINED_AT_ONCE)]
            if len(runs) == 1:
                break
        return total(self._cluster.compute(tasks, runs[0])[0])

    def collect(self, question: Look) -> Any:
        """Answer a question of exact answers by one pass over all partitions."""
        self._begin()
        shared = delayed(self._asked._replace(look=question), traverse=False)
        look, merge = delayed(look_at_partition, pure=False), delayed(merge_answers, pure=False)
        tasks = [look(shared, part, length) for part, length in zip(self._partitions, self._lengths) if length]
        runs = list(tasks)
        while len(runs) > 1:
            runs = [merge(shared, runs[i : i + _JOINED_AT_ONCE]) for i in range(0, len(runs), _JOINED_AT_ONCE)]
        return self._cluster.compute(tasks, runs[0])[0]
