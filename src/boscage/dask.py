"""Trees over Dask collections: the same parameters, the same tree to the byte, rows wherever the cluster has them.

Each pass sends a question (the tests on the way to the open leaves) to the workers and brings back sums: a task adds up
the blocks of 4096 rows that lie inside its partitions, and blocks that lie across the partitions of two tasks are made
of the few rows at their edges. Sums are reduced pairwise by block number. One task works on all partitions that a
thread of a worker holds, so a pass costs a message for each thread and not for each partition. Splits are solved in the
client. Workers keep nothing from pass to pass, so they may come, go and die: what is lost is computed again.
"""

from __future__ import annotations

import asyncio
import math
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
from boscage.base.progress import Progress
from boscage.batches.partitions import (
    Asked,
    ClusterError,
    Group,
    answer_group,
    answer_of_all,
    group_numbers,
    in_memory,
    look_at_group,
    merge_answers,
    merge_looks,
    row_chunks,
    row_partitions,
    survey_group,
    to_loaders,
    to_partitions,
    weigh_group,
)
from boscage.batches.reading import CollectPass, Reading, SumPass
from boscage.batches.reduction import total
from boscage.batches.survey import Preparation, Survey, WeightSurvey, preparation
from boscage.criteria import Criterion
from boscage.data.column_kinds import CategoryRule
from boscage.engine.top_down import category_rule
from boscage.growth import Growth
from boscage.leaves import Leaf
from boscage.splits import SplitFamily
from boscage.top_down import TopDownTreeClassifier as LocalClassifier

__all__ = ["ClusterError", "TopDownTreeClassifier"]

Floats = npt.NDArray[np.float64]

_POLL_SECONDS = 0.5
_MERGED_AT_ONCE = 8
_ASK_SECONDS = 1.0
_ANSWER_SECONDS = 10.0  # that the scheduler may take to answer


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

    def run(
        self, task: Callable[..., Any], asked: Asked, groups: list[Group], merge: Callable[..., Any] | None = None
    ) -> list[Any]:
        """Return what a task makes of every group of partitions; many answers are merged on the workers first."""
        if any(isinstance(piece, Delayed) for group in groups for part in group.partitions for piece in _pieces(part)):
            call, shared = delayed(task, pure=False), delayed(asked, traverse=False)
            wanted = [call(shared, _delayed_group(group)) for group in groups]
            futures: list[Future] = self.client.compute(wanted, retries=self.retries, optimize_graph=True)
        else:
            futures = [
                self.client.submit(_with_partitions, task, asked, group.partitions, group._replace(partitions=[]),
                                   retries=self.retries, pure=False)
                for group in groups
            ]  # fmt: skip
        goal, every = futures, list(futures)
        while merge is not None and len(goal) > _MERGED_AT_ONCE:
            runs = [goal[i : i + _MERGED_AT_ONCE] for i in range(0, len(goal), _MERGED_AT_ONCE)]
            goal = [self.client.submit(merge, asked, run, retries=self.retries, pure=False) for run in runs]
            every += goal
        try:
            self._wait(goal)
            self._raise_failure(futures, goal, groups)
            return self._gather(goal)
        except BaseException as error:
            for future in every:
                future.release()  # not cancel: the scheduler breaks off the connection if a task between is unwanted
            if isinstance(error, OSError):
                raise ClusterError(f"the connection to the cluster is lost ({error}).") from error
            raise

    def _gather(self, futures: list[Future]) -> list[Any]:
        """Bring finished answers here; a worker that holds one may be lost by now, or cut off."""

        async def fetch() -> list[Any]:
            return list(await self.client.gather(futures, errors="raise", asynchronous=True))

        answer = asyncio.run_coroutine_threadsafe(fetch(), self.client.loop.asyncio_loop)
        seen = time.monotonic()
        try:
            while not answer.done():
                try:
                    return answer.result(timeout=_POLL_SECONDS)
                except TimeoutError:
                    seen = self._check(seen)
            return answer.result()
        finally:
            answer.cancel()

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
            seen = self._check(seen)

    def _check(self, seen: float) -> float:
        """Give up if there is no worker, or no time; return when a worker was last there."""
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
        return seen

    def _has_workers(self) -> bool:
        if self.client.status != "running":
            raise ClusterError(f"the client is {self.client.status}: the connection to the scheduler is lost.")
        try:
            known = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=_ANSWER_SECONDS)
        except (TimeoutError, OSError):  # a scheduler that does not answer has no workers for us
            return False
        return bool(known["workers"])

    def _raise_failure(self, futures: list[Future], goal: list[Future], groups: list[Group]) -> None:
        """Raise the error of the first group that failed, with the numbers of its partitions."""
        for future, group in zip(futures, groups):
            if future.status == "error":
                numbers = ", ".join(map(str, group.numbers))
                _raise_from(future, f"partition{'s' * (len(group.numbers) > 1)} {numbers}")
        for future in goal:
            if future.status == "error":
                _raise_from(future, "a sum of partitions")


def _pieces(partition: Any) -> list[Any]:
    return partition if isinstance(partition, list) else []


def _delayed_group(group: Group) -> Delayed:
    """Return a group whose partitions are computed before the task."""
    return delayed(Group)(group.numbers, group.partitions, group.first_rows, group.lengths)


def _with_partitions(task: Callable[..., Any], asked: Asked, partitions: list[Any], group: Group) -> Any:
    """Run a task; results that the cluster holds come as an argument of their own, where the scheduler sees them."""
    return task(asked, group._replace(partitions=partitions))


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
    owner, class_weight, allow_nan, target
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
        target: str = "classes",
    ) -> None:
        self._cluster = cluster
        self._partitions = to_loaders(partitions)
        self._held = in_memory(self._partitions)
        if self._held is not None:
            self._partitions = list(self._held)
        self._workers: set[str] = set()
        self._asked_at = -math.inf
        self._numbers: list[list[int]] = []
        self._lengths = [0] * len(partitions)
        self._progress = progress
        self._asked = Asked(boscage.__version__, owner, allow_nan, categories, target)
        self.max_message_mb = max_message_mb
        self.n_passes = 0
        surveys: list[Survey | None] = self._by_partition(survey_group, self._asked)
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

    def _groups(self, *, only_rows: bool) -> list[Group]:
        """Share the partitions among tasks; anew when workers have come or gone, which is asked once a second."""
        now = time.monotonic()
        if now - self._asked_at > _ASK_SECONDS:
            self._asked_at = now
            workers = set(self._cluster.client.nthreads())
            if not self._numbers or workers != self._workers:
                self._numbers = group_numbers(self._cluster.client, self._held, len(self._partitions))
                self._workers = workers
        first_rows = np.concatenate([[0], np.cumsum(self._lengths)]).tolist()
        groups = []
        for numbers in self._numbers:
            kept = [number for number in numbers if self._lengths[number] or not only_rows]
            if kept:
                partitions = [self._partitions[number] for number in kept]
                starts, lengths = [first_rows[number] for number in kept], [self._lengths[number] for number in kept]
                groups.append(Group(kept, partitions, starts, lengths))
        return groups

    def _by_partition(self, task: Callable[..., Any], asked: Asked) -> list[Any]:
        """Return what a task makes of every partition."""
        self._begin()
        groups = self._groups(only_rows=False)
        found: list[Any] = [None] * len(self._partitions)
        for group, values in zip(groups, self._cluster.run(task, asked, groups)):
            for number, value in zip(group.numbers, values):
                found[number] = value
        return found

    def _weigh(self, prepare: Preparation) -> WeightSurvey:
        weights = self._by_partition(weigh_group, self._asked._replace(prepare=prepare))
        self._lengths = [0 if weight is None else weight.count for weight in weights]
        merged: WeightSurvey = reduce(WeightSurvey.merge, [weight for weight in weights if weight is not None])
        return merged

    def sums(self, question: SumPass) -> Floats:
        """Answer a question by one pass over all partitions."""
        self._begin()
        asked, groups = self._asked._replace(question=question), self._groups(only_rows=True)
        answers = self._cluster.run(answer_group, asked, groups, merge_answers)
        return total(answer_of_all(question, [answer for each in answers for answer in each]))

    def collect(self, question: CollectPass) -> Any:
        """Answer a question of exact answers by one pass over all partitions."""
        self._begin()
        asked, groups = self._asked._replace(look=question), self._groups(only_rows=True)
        return reduce(question.merge, self._cluster.run(look_at_group, asked, groups, merge_looks))
