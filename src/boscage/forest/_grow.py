"""Growing the trees of a forest: threads over trees, inside trees when few are left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from boscage import _core
from boscage.base.progress import Progress
from boscage.engine.finish import Finish
from boscage.engine.grow import Job, Limits, native_table, with_given_weights
from boscage.forest._bags import Bags
from boscage.tree import Tree

_PATIENCE = 0.02  # seconds between two looks at signals


class _StoppedError(Exception):
    """Raised inside a tree that is no longer wanted."""


@dataclass(frozen=True)
class TreeGrower:
    """Everything the trees of a forest share."""

    job: Job
    bags: Bags
    finish: Finish
    limits: Limits

    def __call__(self, number: int, threads: int = 1, progress: Callable[[int], None] | None = None) -> Tree:
        """Grow the tree of a number: a function of the data, the parameters and (seed, number) alone."""
        job, splits, leaf = self.job, self.job.splits, self.finish.leaf
        keep_all = splits.takes_zero_weights and not leaf.grows(job)
        data = self.bags.data(job.data, number, keep_all=keep_all)
        part = replace(
            job,
            data=data,
            limits=self.limits.for_share(data.mass / job.data.mass),
            seed=self.bags.tree_seed(number),
            threads=threads,
            progress=progress,
            table=self.table if data.X is job.data.X else None,
        )
        part = replace(part, limits=splits.limits(part.limits, part))
        tree = leaf.grow_tree(part) if leaf.grows(part) else splits.grow(part)
        if keep_all and self._needs_rows(tree):
            part = replace(part, data=self.bags.data(job.data, number, keep_all=False), table=None)
        return with_given_weights(self.finish(tree, part), job)

    @cached_property
    def table(self) -> _core.Table:
        """X for all trees."""
        return native_table(self.job.data.X, shared=True)

    def _needs_rows(self, tree: Tree) -> bool:
        return tree.is_soft or self.finish.polish is not None or "rows" in self.finish.leaf.needs


def grow_trees(grow: TreeGrower, numbers: Sequence[int], threads: int, verbose: bool | None) -> list[Tree]:
    """Grow the trees of some numbers, in their order; Ctrl-C stops all of them."""
    _ = grow.table  # made before threads ask for it
    with Progress("growing trees", verbose, len(numbers)) as progress:
        shown = progress.callback or _nothing
        if threads == 1:
            trees = []
            for number in numbers:
                trees.append(grow(number))
                shown(len(trees))
            return trees
        return _in_threads(grow, numbers, threads, shown)


def _in_threads(grow: TreeGrower, numbers: Sequence[int], threads: int, shown: Callable[[int], None]) -> list[Tree]:
    """Grow trees in threads that take the next number themselves.

    The calling thread holds no lock that they need: it only sleeps, so that Ctrl-C may come at any moment.
    """
    trees: list[Tree | None] = [None] * len(numbers)
    last = len(numbers) % threads  # too few to keep all threads busy, unless they share trees
    places, errors, ended = iter(range(len(numbers))), list[BaseException](), list[int]()
    taking, stop = threading.Lock(), threading.Event()

    def look(done: int) -> None:
        if stop.is_set():
            raise _StoppedError

    def work(thread: int) -> None:
        try:
            while not stop.is_set():
                with taking:
                    place = next(places, None)
                if place is None:
                    break
                shared = 1 if place < len(numbers) - last else threads // last
                trees[place] = grow(numbers[place], shared, look)
        except BaseException as error:  # raised below, in the caller's thread
            errors.append(error)
            stop.set()
        finally:
            ended.append(thread)

    workers = [threading.Thread(target=work, args=(thread,)) for thread in range(min(threads, len(numbers)))]
    pause = 1e-4
    try:
        for worker in workers:
            worker.start()
        while len(ended) < len(workers):
            time.sleep(pause)
            pause = min(2 * pause, _PATIENCE)
            shown(sum(tree is not None for tree in trees))
    finally:
        stop.set()
        while len(ended) < sum(worker.ident is not None for worker in workers):  # those that were started
            time.sleep(1e-4)
    if errors:
        raise errors[0]
    return cast("list[Tree]", trees)


def _nothing(done: int) -> None:
    """Show nothing."""
