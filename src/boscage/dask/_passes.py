"""The passes of a fit over the partitions of dask collections.

Each pass sends a question (the tests on the way to the open leaves) to the workers and brings back sums: a task adds up
the blocks of 4096 rows that lie inside its partitions. The few rows at their edges come with the first answers; the
client keeps them and adds up the blocks that lie across the partitions of two tasks. Sums are reduced pairwise by block
number. One task works on all partitions that a thread of a worker holds, so a pass costs a message for each thread and
not for each partition. Splits are solved in the client. Workers keep nothing from pass to pass, so they may come, go
and die: what is lost is computed again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed

import boscage
from boscage.base.progress import Progress
from boscage.batches.kernels import merge_kernel
from boscage.batches.partitions import (
    Asked,
    Group,
    Seams,
    answer_group,
    answer_of_all,
    group_numbers,
    homes_of,
    in_memory,
    look_at_group,
    merge_answers,
    merge_looks,
    survey_group,
    to_loaders,
    weigh_group,
)
from boscage.batches.passes import Pass
from boscage.batches.reading import Reading
from boscage.batches.reduction import total
from boscage.batches.survey import Preparation, Survey, WeightSurvey, preparation
from boscage.dask._cluster import MERGED_AT_ONCE, Cluster
from boscage.data.column_kinds import CategoryRule

Floats = npt.NDArray[np.float64]

_ASK_SECONDS = 1.0


class ClusterPasses:
    """Executor of passes on a cluster.

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
        self._threads: dict[str, int] = {}
        self._asked_at = -math.inf
        self._homes: list[str] | None = None
        self._are_whole = self._held is None  # whether a worker holds all of each partition, or none is held
        self._numbers: list[list[int]] = []
        self._seams: Seams | None = None
        self._seams_between: list[list[int]] = []
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
        if self._cluster.has_moved:
            self._are_whole = self._cluster.has_moved = False
            self._asked_at = -math.inf
        if now - self._asked_at > _ASK_SECONDS or self.n_passes == 2:  # the first tasks bring X and y together
            self._asked_at = now
            client = self._cluster.client
            threads = client.nthreads()
            if not self._numbers or threads != self._threads or not self._are_whole:
                if self._held is not None:
                    self._homes, self._are_whole = homes_of(client, self._held)
                self._numbers = group_numbers(threads, self._homes, len(self._partitions))
                self._threads = threads
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
        for group, values in zip(groups, self._run(task, asked, groups)):
            for number, value in zip(group.numbers, values):
                found[number] = value
        return found

    def _run(self, task: Callable[..., Any], asked: Asked, groups: list[Group], merge: Any = None) -> list[Any]:
        homes = None
        if self._homes is not None and self._are_whole:
            owners = [{self._homes[number] for number in group.numbers} for group in groups]
            homes = [owner for (owner, *others) in owners if not others]
            homes = homes if len(homes) == len(groups) else None
        return self._cluster.run(task, asked, groups, merge, homes)

    def _weigh(self, prepare: Preparation) -> WeightSurvey:
        weights = self._by_partition(weigh_group, self._asked._replace(prepare=prepare))
        self._lengths = [0 if weight is None else weight.count for weight in weights]
        merged: WeightSurvey = reduce(WeightSurvey.merge, [weight for weight in weights if weight is not None])
        return merged

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights other than 1."""
        return self._asked.prepare is not None and self._asked.prepare.grid is not None

    @property
    def n_partitions(self) -> int:
        """Number of partitions, empty ones included."""
        return len(self._partitions)

    def ask(
        self, task: Callable[..., Any], work: Callable[[list[list[int]]], Any], merge: Any = None
    ) -> tuple[list[list[int]], list[Any]]:
        """Ask a task of every group; ``work`` makes what it must know out of the numbers of partitions of each.

        Returns these numbers, and the answers, of which several may be merged.
        """
        self._begin()
        groups = self._groups(only_rows=True)
        numbers = [group.numbers for group in groups]
        return numbers, self._run(task, self._asked._replace(work=work(numbers)), groups, merge)

    def sums(self, question: Pass) -> Floats:
        """Answer a question by one pass over all partitions."""
        self._begin()
        groups = self._groups(only_rows=True)
        numbers = [group.numbers for group in groups]
        has_seams = self._seams is not None and self._seams_between == numbers
        asked = self._asked._replace(question=question, edges=not has_seams)
        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(self._seams.answers, question, 1) if self._seams is not None and has_seams else None
            found = [answer for each in self._run(answer_group, asked, groups, merge_answers) for answer in each]
            if work is not None:
                found += work.result()
        if work is None and len(groups) <= MERGED_AT_ONCE:
            self._keep_seams(Seams(found), numbers)
        return total(answer_of_all(question, found))

    def _keep_seams(self, seams: Seams, numbers: list[list[int]]) -> None:
        """Keep the rows between groups of partitions for later passes, unless they are many."""
        if seams.n_bytes <= self.max_message_mb * 1e6:
            self._seams, self._seams_between = seams, numbers

    def collect(self, question: Pass) -> Any:
        """Answer a question of exact answers by one pass over all partitions."""
        self._begin()
        asked, groups = self._asked._replace(question=question), self._groups(only_rows=True)
        return reduce(merge_kernel(question).merge, self._run(look_at_group, asked, groups, merge_looks))
