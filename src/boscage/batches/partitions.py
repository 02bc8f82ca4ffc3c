"""Partitions of dask collections, and what a worker does with one of them.

`Loader` makes the rows of a partition out of its own part of the graph, inside the task that works on them: nothing is
sent from task to task, and a partition is one task in every pass. A task answers for the blocks that lie inside its
partition and hands on the rows at its edges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from dask.optimization import cull
from distributed.client import futures_of

import boscage
from boscage._column_kinds import CategoryRule
from boscage.batches.reading import Look, Question
from boscage.batches.reduction import Parts, join
from boscage.batches.rows import BLOCK_ROWS, RawBatch, Rows, stack
from boscage.batches.source import raw_batch
from boscage.batches.survey import Preparation, Survey, WeightSurvey


class ClusterError(RuntimeError):
    """The cluster could not do its part: no workers, a partition that fails, other versions."""


class Loader:
    """The tasks that make X, y and perhaps weights of one partition.

    Parameters
    ----------
    graph : dict
        Tasks of the partition alone.
    keys : list
        Names of X, y and perhaps weights in it.
    """

    def __init__(self, graph: dict[Any, Any], keys: list[Any]) -> None:
        self.graph = graph
        self.keys = keys

    def __call__(self) -> Sequence[Any]:
        """Make them, in this thread."""
        made: Sequence[Any] = dask.get(self.graph, self.keys)
        return made


# What a task gets as its partition: a loader, or arrays that other tasks have made.
Partition = Loader | Sequence[Any]


def row_partitions(X: Any) -> list[Delayed]:
    """Return the partitions of a collection, each with all its columns."""
    if isinstance(X, da.Array):
        return list(with_whole_rows(X).to_delayed().ravel())
    return list(X.to_delayed())


def with_whole_rows(X: da.Array) -> da.Array:
    """Return an array whose chunks hold all columns."""
    return X.rechunk({1: -1}) if X.ndim == 2 and len(X.chunks[1]) > 1 else X


def row_chunks(X: Any) -> tuple[float, ...]:
    """Return the lengths of the partitions of a collection; NaN where they are not known."""
    return tuple(X.chunks[0]) if isinstance(X, da.Array) else (np.nan,) * X.npartitions


def to_partitions(X: Any, y: Any, sample_weight: Any = None) -> list[list[Delayed]]:
    """Return X, y and perhaps weights of each partition, with equal cuts where all of them are known."""
    for name, value in (("X", X), ("y", y)):
        if not dask.is_dask_collection(value):
            raise TypeError(
                f"{name} is a {type(value).__name__}, not a dask array or dataframe. Convert it, for example with "
                "dask.array.from_array, or use boscage.TopDownTreeClassifier."
            )
    if getattr(X, "ndim", 2) != 2:
        raise ValueError(f"X has {X.ndim} dimensions. Pass an array of shape (n, d).")
    if sample_weight is not None and not dask.is_dask_collection(sample_weight):
        raise TypeError(f"sample_weight is a {type(sample_weight).__name__}. Pass a dask array or series.")
    cuts = row_chunks(X)
    values = [with_whole_rows(X) if isinstance(X, da.Array) else X]
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is None:
            continue
        if isinstance(value, da.Array) and not np.isnan([*cuts, *value.chunks[0]]).any() and value.chunks[0] != cuts:
            if sum(value.chunks[0]) != sum(cuts):
                raise ValueError(f"X has {sum(cuts)} rows and {name} {sum(value.chunks[0])}. Pass one per row.")
            value = value.rechunk((cuts,))
        if len(row_chunks(value)) != len(cuts):
            raise ValueError(
                f"X has {len(cuts)} partitions and {name} {len(row_chunks(value))}. Partition them alike, for example "
                "by repartition or compute_chunk_sizes."
            )
        values.append(value)
    # Fusing would load a partition once for X and once more for y where one task brings both.
    with dask.config.set({"optimization.fuse.active": False}):
        arrays = iter(dask.optimize(*(value for value in values if isinstance(value, da.Array))))
    columns = [
        next(arrays).to_delayed(optimize_graph=False).ravel() if isinstance(value, da.Array) else value.to_delayed()
        for value in values
    ]
    return [list(pieces) for pieces in zip(*columns)]


def to_loaders(partitions: list[list[Delayed]]) -> list[Partition]:
    """Put each partition's tasks into a loader, unless others need them too or the cluster holds their results."""
    graphs = {id(piece.__dask_graph__()): piece for pieces in partitions for piece in pieces}
    if any(futures_of(piece) for piece in graphs.values()):
        return list(partitions)
    tasks: dict[Any, Any] = {}
    for piece in graphs.values():
        tasks.update(piece.__dask_graph__())
    loaders = []
    for pieces in partitions:
        keys = [piece.key for piece in pieces]
        loaders.append(Loader(cull(tasks, keys)[0], keys))
    uses = Counter(key for loader in loaders for key in loader.graph)
    if any(count > 1 for count in uses.values()):
        return list(partitions)
    return list(loaders)


class Asked(NamedTuple):
    """What a task must know besides its rows; the version is compared in every task, whoever the worker is."""

    version: str
    owner: str
    allow_nan: bool
    categories: CategoryRule
    prepare: Preparation | None = None
    question: Question | None = None
    look: Look | None = None


class Answer(NamedTuple):
    """Sums of the blocks inside a partition, and the rows at its ends, which belong to blocks it has not whole."""

    inside: Parts
    head: Rows | None
    tail: Rows | None


def _check_version(asked: Asked) -> None:
    if boscage.__version__ != asked.version:
        raise ClusterError(
            f"a worker has boscage {boscage.__version__} and the client {asked.version}. Install the same version on "
            "all of them."
        )


def _raw(asked: Asked, partition: Partition) -> RawBatch | None:
    X, y, *rest = partition() if isinstance(partition, Loader) else partition
    weight = rest[0] if rest else None
    if len(X) == 0:
        return None
    if len(y) != len(X) or (weight is not None and len(weight) != len(X)):
        raise ValueError(f"a partition has {len(X)} rows of X and {len(y)} labels. Partition X and y alike.")
    return raw_batch((X, y) if weight is None else (X, y, weight), None, None, asked.categories)


def survey_partition(asked: Asked, partition: Partition) -> Survey | None:
    """Take the first look at a partition; None if it is empty."""
    _check_version(asked)
    raw = _raw(asked, partition)
    return None if raw is None else Survey.of(raw, asked.owner, allow_nan=asked.allow_nan)


def weigh_partition(asked: Asked, partition: Partition) -> WeightSurvey | None:
    """Look at the weights of a partition, those of the classes included."""
    _check_version(asked)
    raw = _raw(asked, partition)
    if raw is None or asked.prepare is None:
        return None
    return asked.prepare.survey_weights(raw)


def answer_partition(asked: Asked, partition: Partition, first_row: int, n_rows: int) -> Answer:
    """Answer a question for the blocks inside a partition that begins with this row of all that count."""
    _check_version(asked)
    raw = _raw(asked, partition)
    if raw is None or asked.prepare is None or asked.question is None:
        return Answer([], None, None)
    rows = asked.prepare(raw)
    if len(rows) != n_rows:
        raise ValueError(f"it has {len(rows)} rows now and had {n_rows} before. A partition must not change.")
    start = min(-first_row % BLOCK_ROWS, n_rows)
    stop = max(start, n_rows - (first_row + n_rows) % BLOCK_ROWS)
    inside = asked.question.sums(rows.part(start, stop), (first_row + start) // BLOCK_ROWS, 1) if stop > start else []
    return Answer(inside, rows.part(0, start) if start else None, rows.part(stop, n_rows) if stop < n_rows else None)


def answer_across(asked: Asked, block: int, answers: list[Answer]) -> Parts:
    """Answer a question for a block that begins in one partition and ends in the last of these."""
    _check_version(asked)
    assert asked.question is not None
    pieces = [answers[0].tail, *(answer.head for answer in answers[1:])]
    return asked.question.sums(stack([rows for rows in pieces if rows is not None]), block, 1)


def join_runs(runs: list[Answer | Parts]) -> Parts:
    """Join the sums of neighbouring runs of blocks."""
    return join([run.inside if isinstance(run, Answer) else run for run in runs])


def look_at_partition(asked: Asked, partition: Partition, n_rows: int) -> Any:
    """Answer a question of exact answers for a partition."""
    _check_version(asked)
    raw = _raw(asked, partition)
    if raw is None or asked.prepare is None or asked.look is None:
        return None
    rows = asked.prepare(raw)
    if len(rows) != n_rows:
        raise ValueError(f"it has {len(rows)} rows now and had {n_rows} before. A partition must not change.")
    return asked.look.look(rows, 1)


def merge_answers(asked: Asked, answers: list[Any]) -> Any:
    """Merge exact answers."""
    _check_version(asked)
    assert asked.look is not None
    return reduce(asked.look.merge, answers)
