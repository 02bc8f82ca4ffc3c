"""Forests over rows that are not in memory: trees grow side by side, and a pass over the rows serves all of them.

Each tree is grown by its family in a thread of its own, which sleeps while it waits for an answer. When all of them
wait, the rows are read once; every tree sees the rows of its bag, with their weights, as if it had been given them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from boscage.batches.kernels import RowFacts, merge_kernel, sum_kernel
from boscage.batches.passes import Pass
from boscage.batches.reading import FitExecutor
from boscage.batches.reduction import Parts, join, total
from boscage.batches.rows import Blocks, Rows
from boscage.batches.survey import Survey
from boscage.data.weights import Grid
from boscage.forest._bags import BagPlan, Bags
from boscage.tree import Floats, Tree

T = TypeVar("T")

_PATIENCE = 0.05  # seconds between two looks at signals


class Question(NamedTuple):
    """What a tree asks of a pass, and whether the answer is a sum of blocks or exact."""

    asked: Pass
    is_sum: bool


@dataclass(frozen=True)
class TreeRows:
    """The rows of one tree among those of a pass: its bag, and the grid of its weights; None if they stay as they are.

    ``is_unit`` says that every row in the bag counts 1.
    """

    plan: BagPlan
    grid: Grid | None = None
    is_unit: bool = False

    def of(self, rows: Rows, first: int) -> Rows:
        """Return those of the rows, which begin with number ``first``, that are in the bag."""
        counts = self.plan.counts(first, first + len(rows))
        if counts is None:
            return rows
        in_bag = np.flatnonzero(counts)
        weight = counts[in_bag]
        if len(rows.weight):
            weight = weight * rows.weight[in_bag]
        if self.grid is not None:
            weight = self.grid.snap(weight)
        return Rows(rows.X[in_bag], rows.y[in_bag], np.empty(0) if self.is_unit else weight)


class _Collected:
    """The answer to a question of exact answers, batch by batch."""

    def __init__(self, question: Pass) -> None:
        self._kernel, self._found, self._any = merge_kernel(question), cast(Any, None), False

    def add(self, rows: Rows) -> None:
        if not len(rows):
            return
        seen = self._kernel.answer(rows, 1)
        self._found = self._kernel.merge(self._found, seen) if self._any else seen
        self._any = True

    def answer(self) -> Any:
        return self._found


class _Summed:
    """The answer to a question about sums, in the blocks of the tree's own rows."""

    def __init__(self, question: Pass) -> None:
        self._kernel, self._blocks, self._parts = sum_kernel(question), Blocks(), cast(Parts, [])

    def _take(self, blocks: Any) -> None:
        for first_block, rows in blocks:
            self._parts = join([self._parts, self._kernel.sums(rows, first_block, 1)])

    def add(self, rows: Rows) -> None:
        if len(rows):
            self._take(self._blocks.add(rows))

    def answer(self) -> Floats:
        self._take(self._blocks.rest())
        return total(self._parts)


class _StoppedError(Exception):
    """Raised inside a tree that is no longer wanted."""


@dataclass
class TreePasses:
    """The passes of one tree, as its family asks for them: see `boscage.batches.reading.Executor`."""

    shared: SharedPasses
    number: int
    survey: Survey
    n_rows: int
    weight: float
    weight_exponent: int
    max_message_mb: float

    def sums(self, question: Pass) -> Floats:
        """Wait for the answer of a shared pass."""
        found: Floats = self.shared.ask(self.number, Question(question, True))
        return found

    def collect(self, question: Pass) -> Any:
        """Wait for the answer of a shared pass."""
        return self.shared.ask(self.number, Question(question, False))


class SharedPasses:
    """Passes that many trees share, over rows that come batch by batch.

    Parameters
    ----------
    passes : FitExecutor
        Whoever reads the rows: BatchPasses.
    bags : Bags
        Rows of each tree.
    numbers : sequence of int
        Numbers of the trees.
    threads : int
        Threads of a pass, over trees.
    """

    def __init__(self, passes: FitExecutor, bags: Bags, numbers: Sequence[int], threads: int) -> None:
        self._passes: Any = passes  # here with `walk`, in ClusterSharedPasses with `ask`
        self.threads = threads
        self._numbers = list(numbers)
        self._rows = [TreeRows(bags.plan(number)) for number in self._numbers]
        self._wanted: dict[int, Question] = {}
        self._answers: dict[int, Any] = {}
        self._state = threading.Condition()
        self._stopped = False
        facts = self._row_facts() if numbers else []
        is_weighted = bags.bootstrap == "bayesian" or passes.is_weighted
        self.trees = [self._tree_passes(place, one, is_weighted) for place, one in enumerate(facts)]

    def _row_facts(self) -> list[RowFacts]:
        """Return what must be known of the rows of each tree."""
        question = Question(Pass.of("row_facts"), False)
        return list(self._read(dict.fromkeys(range(len(self._rows)), question)).values())

    def by_rows(self, work: Callable[[Rows, int], T]) -> list[T]:
        """Return what a function makes of all rows, part by part; it gets the number of the first one too."""
        found, first = [], 0
        for rows in self._passes.walk():
            found.append(work(rows, first))
            first += len(rows)
        return found

    def _tree_passes(self, place: int, facts: RowFacts, is_weighted: bool) -> TreePasses:
        grid = Grid.of(facts.largest, facts.count, facts.total) if is_weighted else None
        ends = np.array([facts.smallest, facts.largest])
        is_unit = bool(((ends if grid is None else grid.snap(ends)) == 1).all())
        self._rows[place] = replace(self._rows[place], grid=grid, is_unit=is_unit)
        whole = self._passes
        return TreePasses(
            self,
            place,
            replace(whole.survey, low=facts.low, high=facts.high),
            facts.count,
            whole.weight,
            whole.weight_exponent,
            max(1.0, whole.max_message_mb / len(self._rows)),
        )

    def _read(self, wanted: dict[int, Question]) -> dict[int, Any]:
        """Answer questions of trees by one pass."""
        answers = {place: (_Summed if each.is_sum else _Collected)(each.asked) for place, each in wanted.items()}
        with ThreadPoolExecutor(self.threads) as pool:

            def show(rows: Rows, first: int) -> None:
                list(pool.map(lambda place: answers[place].add(self._rows[place].of(rows, first)), answers))

            self.by_rows(show)
        return {place: each.answer() for place, each in answers.items()}

    def ask(self, place: int, question: Question) -> Any:
        """Wait, in the thread of a tree, for the answer to its question."""
        with self._state:
            self._wanted[place] = question
            self._state.notify_all()
            self._state.wait_for(lambda: self._stopped or place in self._answers)
            if self._stopped:
                raise _StoppedError
            return self._answers.pop(place)

    def grow(self, grow: Callable[[int, TreePasses], Tree]) -> list[Tree]:
        """Grow all trees; ``grow(number, passes)`` grows one. The calling thread reads the rows."""
        trees: dict[int, Tree] = {}
        errors: list[BaseException] = []

        def work(place: int) -> None:
            try:
                tree = grow(self._numbers[place], self.trees[place])
                with self._state:
                    trees[place] = tree
            except _StoppedError:
                pass
            except BaseException as error:  # raised below, in the caller's thread
                errors.append(error)
            finally:
                with self._state:
                    working.discard(place)
                    self._state.notify_all()

        working = set(range(len(self._rows)))
        workers = [threading.Thread(target=work, args=(place,), daemon=True) for place in working]
        try:
            for worker in workers:
                worker.start()
            while self._wait(working, errors):
                answers = self._read(dict(sorted(self._wanted.items())))
                with self._state:
                    self._wanted.clear()
                    self._answers |= answers
                    self._state.notify_all()
        finally:
            with self._state:
                self._stopped = True
                self._state.notify_all()
            for worker in workers:
                if worker.ident is not None:
                    worker.join()
        if errors:
            raise errors[0]
        return [trees[place] for place in range(len(self._rows))]

    def _wait(self, working: set[int], errors: list[BaseException]) -> bool:
        """Wait until every tree that is not done wants something; whether there is one."""
        with self._state:
            while not errors and not working <= self._wanted.keys():
                self._state.wait(_PATIENCE)
            return bool(working) and not errors
