"""The one place that waits for the cluster: bounded, and with errors that say what went wrong.

Where workers hold all partitions and the client reaches them, it asks them directly: a message to each worker and one
back, where tasks take several by way of the scheduler. Whatever goes wrong is asked again as tasks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Set
from typing import Any

from dask.delayed import Delayed, delayed
from distributed import Client, Future, default_client, wait
from distributed.protocol.pickle import dumps
from distributed.scheduler import KilledWorker

from boscage.batches.partitions import Asked, ClusterError, Group

MERGED_AT_ONCE = 8
_POLL_SECONDS = 0.5
_ANSWER_SECONDS = 10.0  # that the scheduler may take to answer
_CONNECT_SECONDS = 2.0  # that a worker may take to answer the client directly for the first time


def current_client(client: Client | None) -> Client:
    """Return the given client, or the current one."""
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        raise ClusterError(
            "there is no Dask client. Create one first, for example distributed.Client(n_workers=2), or pass client=; "
            "fit_batches of the local estimators needs none."
        ) from None


class Cluster:
    """Runs tasks on a cluster and waits for their answers.

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
        self.has_moved = False  # whether a worker was asked for partitions that it no longer holds
        self._reached: dict[str, bool] = {}
        self._known: frozenset[str] = frozenset()

    def run(
        self,
        task: Callable[..., Any],
        asked: Asked,
        groups: list[Group],
        merge: Callable[..., Any] | None = None,
        homes: list[str] | None = None,
    ) -> list[Any]:
        """Return what a task makes of every group of partitions; many answers are merged on the workers first.

        ``homes`` are the workers that hold the groups' partitions, if each group has one.
        """
        if homes and len(homes) <= MERGED_AT_ONCE:
            answers = self._ask(task, asked, groups, homes)
            if answers is not None:
                return answers
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
        while merge is not None and len(goal) > MERGED_AT_ONCE:
            runs = [goal[i : i + MERGED_AT_ONCE] for i in range(0, len(goal), MERGED_AT_ONCE)]
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

    def _ask(self, task: Callable[..., Any], asked: Asked, groups: list[Group], homes: list[str]) -> list[Any] | None:
        """Ask the workers that hold the partitions without the scheduler; None if that fails for any reason."""
        for home in set(homes) - self._reached.keys():
            self._reached[home] = self._reaches(home)
        if not all(self._reached[home] for home in homes):
            return None

        async def ask(home: str, group: Group) -> Any:
            names = [[piece.key for piece in _pieces(part)] for part in group.partitions]
            arguments = (task, asked, names, group._replace(partitions=[]))
            said = await self.client.rpc(home).run(function=dumps(_answer_here), args=dumps(arguments))
            if said["status"] != "OK":
                raise ClusterError(f"{home} has not answered")
            if said["result"] is None:
                self.has_moved = True
                raise ClusterError(f"{home} no longer holds its partitions")
            return said["result"][0]

        async def ask_all() -> list[Any]:
            async with asyncio.TaskGroup() as calls:
                asks = [calls.create_task(ask(home, group)) for home, group in zip(homes, groups)]
            return [each.result() for each in asks]

        try:
            return list(self._finish(ask_all(), set(homes)))
        except (ClusterError, OSError, ExceptionGroup):
            if not self.has_moved:
                self._reached.update(dict.fromkeys(homes, False))
            return None

    def _reaches(self, home: str) -> bool:
        """Whether the client has a way to a worker but by the scheduler."""

        async def knock() -> None:
            await asyncio.wait_for(self.client.rpc(home).identity(), _CONNECT_SECONDS)

        try:
            self._finish(knock(), {home})
        except (ClusterError, OSError):
            return False
        return True

    def _gather(self, futures: list[Future]) -> list[Any]:
        """Bring finished answers here; a worker that holds one may be lost by now, or cut off."""

        async def fetch() -> list[Any]:
            return list(await self.client.gather(futures, errors="raise", asynchronous=True))

        return list(self._finish(fetch()))

    def _finish(self, work: Coroutine[Any, Any, Any], needed: Set[str] = frozenset()) -> Any:
        """Wait for a coroutine of the client's loop while there are workers, time, and the workers that it needs."""
        answer = asyncio.run_coroutine_threadsafe(work, self.client.loop.asyncio_loop)
        seen = time.monotonic()
        try:
            while not answer.done():
                try:
                    return answer.result(timeout=_POLL_SECONDS)
                except TimeoutError:
                    if answer.done():
                        break
                    seen = self._check(seen)
                    if needed and not needed <= self._known:
                        raise ClusterError("a worker is gone") from None
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
            # "lost" is no end: the scheduler makes anew what a dead worker held.
            if any(future.status == "cancelled" for future in futures):
                raise ClusterError("the scheduler has dropped the tasks of this fit: was the cluster closed?")
            seen = self._check(seen)

    def _check(self, seen: float) -> float:
        """Give up if there is no worker, or no time; return when a worker was last there."""
        now = time.monotonic()
        if self._has_workers():
            seen = now
        elif now - seen > self.timeout:
            raise ClusterError(
                f"there has been no worker for {self.timeout:g} seconds (timeout={self.timeout:g}). Start workers "
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
        self._known = frozenset(known["workers"])
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


async def _answer_here(
    task: Callable[..., Any], asked: Asked, names: list[list[Any]], group: Group, dask_worker: Any
) -> tuple[Any] | None:
    """Run a task on a worker that holds results of these names, in a thread for tasks; None if it does not."""
    if any(name not in dask_worker.data for each in names for name in each):
        return None
    held: list[Any] = [[dask_worker.data[name] for name in each] for each in names]
    threads = dask_worker.executors["default"]
    return (await asyncio.get_running_loop().run_in_executor(threads, _with_partitions, task, asked, held, group),)


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
