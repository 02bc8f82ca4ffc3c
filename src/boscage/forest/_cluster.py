"""Forests over the partitions of a cluster: a task answers the questions of all trees about its rows.

Sums are made in the blocks of each tree's own rows. The few of them at the edges of groups of partitions come with the
first answer of a tree; the client keeps them (see `boscage.batches.partitions`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from boscage.batches.kernels import RowFacts, merge_kernel, sum_kernel
from boscage.batches.partitions import (
    Answer,
    Asked,
    Group,
    Seams,
    answer_of_all,
    answer_rows,
    each_rows,
    join_answers,
    merge_answers,
    merge_looks,
    whole_blocks,
)
from boscage.batches.passes import Pass
from boscage.batches.reduction import total
from boscage.batches.rows import Rows
from boscage.forest._passes import Question, SharedPasses, TreeRows
from boscage.tree import Int64s

T = TypeVar("T")


@dataclass(frozen=True)
class TreeWork:
    """The question of one tree: its rows, and how many of them come before each partition.

    With ``edges`` the answer brings the rows at its ends.
    """

    question: Question
    rows: TreeRows
    starts: Int64s
    edges: bool


def facts_of_trees(asked: Asked, group: Group) -> list[list[RowFacts | None]]:
    """Tell what must be known of the rows of each tree, partition by partition; ``asked.work`` holds `TreeRows`."""
    kernel = merge_kernel(Pass.of("row_facts"))

    def look(rows: Rows, first: int) -> list[RowFacts | None]:
        each = (tree.of(rows, first) for tree in asked.work)
        return [kernel.answer(own, 1) if len(own) else None for own in each]

    return list(each_rows(asked, group, look))


def answer_trees(asked: Asked, group: Group) -> list[Any]:
    """Answer the questions in ``asked.work``: a list of answers for a sum, else an exact answer, None without rows."""
    work: list[TreeWork] = asked.work
    kernels: list[Any] = [(sum_kernel if tree.question.is_sum else merge_kernel)(tree.question.asked) for tree in work]
    numbers = iter(group.numbers)

    def answer(rows: Rows, first: int) -> list[Any]:
        number = next(numbers)
        found: list[Any] = []
        for tree, kernel in zip(work, kernels):
            own = tree.rows.of(rows, first)
            if not len(own):
                found.append(None)
            elif tree.question.is_sum:
                found.append(answer_rows(kernel, own, int(tree.starts[number])))
            else:
                found.append(kernel.answer(own, 1))
        return found

    by_partition = list(each_rows(asked, group, answer))
    found: list[Any] = []
    for tree, kernel, answers in zip(work, kernels, zip(*by_partition)):
        known = [each for each in answers if each is not None]
        if tree.question.is_sum:
            joined = join_answers(kernel, known)
            found.append(joined if tree.edges else whole_blocks(joined))
        else:
            found.append(reduce(kernel.merge, known) if known else None)
    return found


def merge_tree_answers(asked: Asked, runs: list[list[Any]]) -> list[Any]:
    """Merge the answers of several groups, tree by tree."""
    merged = []
    for tree, answers in zip(asked.work, zip(*runs)):
        one = asked._replace(question=tree.question.asked)
        known = [each for each in answers if each is not None]
        merge = merge_answers if tree.question.is_sum else merge_looks
        merged.append(merge(one, known) if known else None)
    return merged


def work_on_group(asked: Asked, group: Group) -> list[Any]:
    """Call the function ``asked.work`` with the rows of each partition."""
    return list(each_rows(asked, group, asked.work))


class ClusterSharedPasses(SharedPasses):
    """Passes over the partitions of a cluster that many trees share; ``passes`` are those of `boscage.dask._passes`."""

    def _row_facts(self) -> list[RowFacts]:
        found: dict[int, list[RowFacts | None]] = self._by_partition(facts_of_trees, self._rows)
        kernel = merge_kernel(Pass.of("row_facts"))
        lengths = np.zeros((len(self._rows), self._passes.n_partitions + 1), np.int64)
        for number, facts in found.items():
            lengths[:, number + 1] = [0 if each is None else each.count for each in facts]
        self._starts = lengths.cumsum(axis=1)
        self._seams: dict[int, Seams] = {}
        self._seams_between: list[list[int]] = []
        by_tree = zip(*(found[number] for number in sorted(found)))
        return [reduce(kernel.merge, [each for each in facts if each is not None]) for facts in by_tree]

    def by_rows(self, work: Callable[[Rows, int], T]) -> list[T]:
        """Return what a function makes of all rows, partition by partition, on the workers."""
        found = self._by_partition(work_on_group, work)
        return [found[number] for number in sorted(found)]

    def _by_partition(self, task: Callable[..., Any], work: Any) -> dict[int, Any]:
        numbers, answers = self._passes.ask(task, lambda numbers: work)
        return {number: one for group, found in zip(numbers, answers) for number, one in zip(group, found)}

    def _read(self, wanted: dict[int, Question]) -> dict[int, Any]:
        """Answer questions of trees by one pass."""
        places = list(wanted)

        def work(numbers: list[list[int]]) -> list[TreeWork]:
            if numbers != self._seams_between:
                self._seams, self._seams_between = {}, numbers
            return [
                TreeWork(wanted[place], self._rows[place], self._starts[place], place not in self._seams)
                for place in places
            ]

        numbers, answers = self._passes.ask(answer_trees, work, merge_tree_answers)
        by_tree = zip(*answers)
        keep = len(answers) == len(numbers)  # else answers were merged on the workers
        return {place: self._answer(place, wanted[place], found, keep) for place, found in zip(places, by_tree)}

    def _answer(self, place: int, question: Question, found: Any, keep: bool) -> Any:
        known = [each for each in found if each is not None]
        if not question.is_sum:
            return reduce(merge_kernel(question.asked).merge, known)
        answers: list[Answer] = [answer for each in known for answer in each]
        if place in self._seams:
            answers += self._seams[place].answers(question.asked, 1)
        elif keep:
            seams = Seams(answers)
            if seams.n_bytes <= self._passes.max_message_mb * 1e6:
                self._seams[place] = seams
        return total(answer_of_all(question.asked, answers))
