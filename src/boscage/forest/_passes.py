"""Forests over rows that are not in memory: trees grow side by side, and a pass over the rows serves all of them.

Each tree is grown by its family in a thread of its own, which sleeps while it waits for an answer. When all of them
wait, the rows are read once; every tree sees the rows of its bag, with their weights, as if it had been given them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from boscage.batches.reading import BatchPasses, CollectPass, SumPass
from boscage.batches.reduction import Parts, join, total
from boscage.batches.rows import Blocks, Rows
from boscage.batches.survey import Survey, column_ranges
from boscage.data.weights import Grid, exact_sums
from boscage.forest._bags import BagPlan, Bags
from boscage.tree import Floats, Tree

_PATIENCE = 0.05  # seconds between two looks at signals


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


@dataclass(frozen=True)
class BagFacts:
    """What must be known of the rows of a tree before it grows."""

    count: int
    low: Floats
    high: Floats
    smallest: float
    largest: float
    total: int  # see `exact_sums`


class BagSurvey:
    """A question about the rows of one tree."""

    def answer(self, rows: Rows, threads: int) -> BagFacts:
        """Describe some rows."""
        weight = rows.weight if len(rows.weight) else np.ones(len(rows))
        ends = float(weight.min()), float(weight.max())
        return BagFacts(len(rows), *column_ranges(rows.X), *ends, exact_sums(weight)[0])

    def merge(self, one: BagFacts, other: BagFacts) -> BagFacts:
        """Return the facts of both."""
        return BagFacts(
            one.count + other.count,
            np.fmin(one.low, other.low),
            np.fmax(one.high, other.high),
            min(one.smallest, other.smallest),
            max(one.largest, other.largest),
            one.total + other.total,
        )


class _Collected:
    """The answer to a question of exact answers, batch by batch."""

    def __init__(self, question: CollectPass) -> None:
        self._question, self._found, self._any = question, cast(Any, None), False

    def add(self, rows: Rows) -> None:
        if not len(rows):
            return
        seen = self._question.answer(rows, 1)
        self._found = self._question.merge(self._found, seen) if self._any else seen
        self._any = True

    def answer(self) -> Any:
        return self._found


class _Summed:
    """The answer to a question about sums, in the blocks of the tree's own rows."""

    def __init__(self, question: SumPass) -> None:
        self._question, self._blocks, self._parts = question, Blocks(), cast(Parts, [])

    def _take(self, blocks: Any) -> None:
        for first_block, rows in blocks:
            self._parts = join([self._parts, self._question.sums(rows, first_block, 1)])

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

    def sums(self, question: SumPass) -> Floats:
        """Wait for the answer of a shared pass."""
        found: Floats = self.shared.ask(self.number, _Summed(question))
        return found

    def collect(self, question: CollectPass) -> Any:
        """Wait for the answer of a shared pass."""
        return self.shared.ask(self.number, _Collected(question))


class SharedPasses:
    """Passes that many trees share.

    Parameters
    ----------
    passes : BatchPasses
        Whoever reads the rows.
    bags : Bags
        Rows of each tree.
    numbers : sequence of int
        Numbers of the trees.
    threads : int
        Threads of a pass, over trees.
    """

    def __init__(self, passes: BatchPasses, bags: Bags, numbers: Sequence[int], threads: int) -> None:
        self._passes = passes
        self._threads = threads
        self._numbers = list(numbers)
        self._rows = [TreeRows(bags.plan(number)) for number in self._numbers]
        self._wanted: dict[int, Any] = {}
        self._answers: dict[int, Any] = {}
        self._state = threading.Condition()
        self._stopped = False
        facts = self._read({place: _Collected(BagSurvey()) for place in range(len(self._rows))})
        is_weighted = bags.bootstrap == "bayesian" or passes.is_weighted
        self.trees = [self._tree_passes(place, facts[place], is_weighted) for place in range(len(self._rows))]

    def _tree_passes(self, place: int, facts: BagFacts, is_weighted: bool) -> TreePasses:
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

    def _read(self, wanted: dict[int, Any]) -> dict[int, Any]:
        """Answer questions of trees by one pass."""
        first = 0
        with ThreadPoolExecutor(self._threads) as pool:
            for rows in self._passes.walk():
                start = first

                def show(place: int, rows: Rows = rows, start: int = start) -> None:
                    wanted[place].add(self._rows[place].of(rows, start))

                list(pool.map(show, wanted))
                first += len(rows)
        return {place: question.answer() for place, question in wanted.items()}

    def ask(self, place: int, question: Any) -> Any:
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
