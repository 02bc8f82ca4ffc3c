"""Partitions of dask collections, and what a worker does with one of them.

`Loader` makes the rows of a partition out of its own part of the graph, inside the task that works on them, so nothing
is sent from task to task. A task works on a group of partitions, one after the other. It answers for the blocks that
lie inside neighbouring partitions of its group and hands on the rows at their edges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple, TypeVar

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from dask.optimization import cull
from distributed import Client, Future
from distributed.client import futures_of

import boscage
from boscage.batches.kernels import SumKernel, merge_kernel, sum_kernel
from boscage.batches.passes import Pass
from boscage.batches.reduction import Parts, join
from boscage.batches.rows import BLOCK_ROWS, RawBatch, Rows, stack
from boscage.batches.source import raw_batch
from boscage.batches.survey import Preparation, Survey, WeightSurvey
from boscage.data.column_kinds import CategoryRule

T = TypeVar("T")

_TASKS_PER_THREAD = 2  # where partitions are loaded anew: a slow one must not keep the others waiting


class ClusterError(RuntimeError):
    """The fit failed on the cluster: no workers, a failing partition, or different versions."""


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
                "dask.array.from_array, or use the estimators of boscage."
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
            value = value.rechunk({0: cuts})
        if len(row_chunks(value)) != len(cuts):
            raise ValueError(
                f"X has {len(cuts)} partitions and {name} {len(row_chunks(value))}. Partition them alike, for example "
                "by repartition or compute_chunk_sizes."
            )
        values.append(with_whole_rows(value) if isinstance(value, da.Array) else value)
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
    """What a task must know besides its rows; the version is compared in every task, whoever the worker is.

    With ``edges`` answers bring the rows at their ends. ``work`` is what the tasks of forests know besides.
    """

    version: str
    owner: str
    allow_nan: bool
    categories: CategoryRule
    target: str = "classes"
    prepare: Preparation | None = None
    question: Pass | None = None
    edges: bool = True
    work: Any = None


class Group(NamedTuple):
    """Partitions that one task works on: their numbers, loaders or arrays, first rows and lengths of what counts."""

    numbers: list[int]
    partitions: list[Partition]
    first_rows: list[int]
    lengths: list[int]


def in_memory(partitions: list[Partition]) -> list[list[Future]] | None:
    """Return the results that the cluster holds of every partition; None if something must be computed."""
    lists = [partition for partition in partitions if not isinstance(partition, Loader)]
    known = {future.key: future for pieces in lists for piece in pieces for future in futures_of(piece)}
    if len(lists) < len(partitions) or not all(piece.key in known for pieces in lists for piece in pieces):
        return None
    return [[known[piece.key] for piece in pieces] for pieces in lists]


def homes_of(client: Client, held: list[list[Future]]) -> tuple[list[str], bool]:
    """Return the worker that holds each partition, or at least its X, and whether it is all of it for all of them."""
    has = client.who_has([piece for pieces in held for piece in pieces])
    homes, is_whole = [], True
    for pieces in held:
        places = [has.get(piece.key, ()) for piece in pieces]
        common = [worker for worker in places[0] if all(worker in place for place in places)]
        homes.append(next(iter(common or places[0]), ""))
        is_whole &= bool(common)
    return homes, is_whole


def group_numbers(threads: dict[str, int], homes: list[str] | None, n_partitions: int) -> list[list[int]]:
    """Share partitions among tasks: one for each thread of the worker that holds them, or even shares in order."""
    if homes is None:
        return _shares(range(n_partitions), _TASKS_PER_THREAD * (sum(threads.values()) or 1))
    by_worker: dict[str, list[int]] = {}
    for number, worker in enumerate(homes):
        by_worker.setdefault(worker, []).append(number)
    return [share for worker, numbers in by_worker.items() for share in _shares(numbers, threads.get(worker, 1))]


def _shares(numbers: Sequence[int], count: int) -> list[list[int]]:
    """Cut numbers into even shares in order, none of them empty."""
    return [share.tolist() for share in np.array_split(np.array(numbers), min(count, len(numbers)))]


class Answer(NamedTuple):
    """Sums of the blocks inside neighbouring partitions, and the rows at their ends, of blocks that are not whole."""

    first_row: int
    n_rows: int
    inside: Parts
    head: Rows | None = None
    tail: Rows | None = None

    def edges(self) -> Iterator[tuple[int, Rows]]:
        """Return the rows at the ends, each with the number of the first of them."""
        if self.head is not None:
            yield self.first_row, self.head
        if self.tail is not None:
            yield self.first_row + self.n_rows - len(self.tail), self.tail

    def without_edges(self) -> Answer:
        """Return the same answer for its whole blocks alone."""
        begin, end = (0 if rows is None else len(rows) for rows in (self.head, self.tail))
        return Answer(self.first_row + begin, self.n_rows - begin - end, self.inside)


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
        raise ValueError(f"a partition has {len(X)} rows of X and {len(y)} of y. Partition X and y alike.")
    return raw_batch((X, y) if weight is None else (X, y, weight), None, None, asked.categories)


def _each(asked: Asked, group: Group, work: Callable[[RawBatch | None, int], T]) -> Iterator[T]:
    """Work on one partition after the other; an error names the partition."""
    _check_version(asked)
    for place, (number, partition) in enumerate(zip(group.numbers, group.partitions)):
        try:
            yield work(_raw(asked, partition), place)
        except ClusterError:
            raise
        except Exception as error:
            raise ClusterError(f"partition {number}: {type(error).__name__}: {error}") from error


def survey_group(asked: Asked, group: Group) -> list[Survey | None]:
    """Take the first look at partitions; None for an empty one."""

    def survey(raw: RawBatch | None, place: int) -> Survey | None:
        return None if raw is None else Survey.of(raw, asked.owner, allow_nan=asked.allow_nan, target=asked.target)

    return list(_each(asked, group, survey))


def weigh_group(asked: Asked, group: Group) -> list[WeightSurvey | None]:
    """Survey the weights of partitions, those of the classes included."""

    def weigh(raw: RawBatch | None, place: int) -> WeightSurvey | None:
        return None if raw is None or asked.prepare is None else asked.prepare.survey_weights(raw)

    return list(_each(asked, group, weigh))


def _prepared(asked: Asked, raw: RawBatch | None, n_rows: int) -> Rows:
    """Return the rows that count; there must be as many as before."""
    assert asked.prepare is not None
    rows = None if raw is None else asked.prepare(raw)
    found = 0 if rows is None else len(rows)
    if rows is None or found != n_rows:
        raise ValueError(f"it has {found} rows now and had {n_rows} before. A partition must not change.")
    return rows


def each_rows(asked: Asked, group: Group, work: Callable[[Rows, int], T]) -> Iterator[T]:
    """Work on the rows of one partition after the other that count, each with the number of its first row."""

    def prepared(raw: RawBatch | None, place: int) -> T:
        return work(_prepared(asked, raw, group.lengths[place]), group.first_rows[place])

    return _each(asked, group, prepared)


def answer_group(asked: Asked, group: Group) -> list[Answer]:
    """Answer a question for the blocks inside partitions; neighbours become one answer."""
    assert asked.question is not None
    kernel = sum_kernel(asked.question)
    joined = join_answers(kernel, each_rows(asked, group, partial(answer_rows, kernel)))
    return joined if asked.edges else whole_blocks(joined)


def answer_rows(kernel: SumKernel, rows: Rows, first_row: int) -> Answer:
    """Answer for the blocks inside some rows."""
    n_rows = len(rows)
    start = min(-first_row % BLOCK_ROWS, n_rows)
    stop = max(start, n_rows - (first_row + n_rows) % BLOCK_ROWS)
    inside = kernel.sums(rows.part(start, stop), (first_row + start) // BLOCK_ROWS, 1) if stop > start else []
    head = rows.part(0, start).copy() if start else None
    return Answer(first_row, n_rows, inside, head, rows.part(stop, n_rows).copy() if stop < n_rows else None)


def whole_blocks(answers: Iterable[Answer]) -> list[Answer]:
    """Leave out the rows at the ends of answers, and answers that have nothing else."""
    return [inner for inner in (answer.without_edges() for answer in answers) if inner.n_rows]


class Seams:
    """The rows of blocks that lie across the partitions of several groups: the same in every pass.

    Parameters
    ----------
    answers : list of Answer
        Of all rows, with their edges.
    """

    def __init__(self, answers: list[Answer]) -> None:
        runs: list[tuple[int, list[Rows]]] = []
        end = -1
        for first_row, rows in sorted(
            (edge for answer in answers for edge in answer.edges()), key=lambda edge: edge[0]
        ):
            if first_row == end:
                runs[-1][1].append(rows)
            else:
                runs.append((first_row, [rows]))
            end = first_row + len(rows)
        self.runs = [(first_row, stack(pieces)) for first_row, pieces in runs]

    @property
    def n_bytes(self) -> int:
        """Memory they take."""
        return sum(rows.n_bytes for _, rows in self.runs)

    def answers(self, question: Pass, threads: int) -> list[Answer]:
        """Answer a question for them."""
        kernel = sum_kernel(question)
        return [
            Answer(first_row, len(rows), kernel.sums(rows, first_row // BLOCK_ROWS, threads))
            for first_row, rows in self.runs
        ]


def join_answers(kernel: SumKernel, answers: Iterable[Answer]) -> list[Answer]:
    """Join neighbouring answers, which come in the order of their rows; rows at their edges may complete blocks."""
    joined: list[Answer] = []
    for answer in answers:
        if joined and joined[-1].first_row + joined[-1].n_rows == answer.first_row:
            joined[-1] = _join_two(kernel, joined[-1], answer)
        else:
            joined.append(answer)
    return joined


def _join_two(kernel: SumKernel, left: Answer, right: Answer) -> Answer:
    """Join two answers that touch."""
    inside, head, tail = [left.inside], left.head, right.tail
    if right.head is not None:
        pieces = [rows for rows in (left.tail, right.head) if rows is not None]
        end = right.first_row + len(right.head)
        if left.tail is None:  # the block began before the left answer, which lies inside it
            head = stack([rows for rows in (head, right.head) if rows is not None])
        elif end % BLOCK_ROWS:  # the block goes on behind the right answer
            tail = stack(pieces)
        else:
            inside.append(kernel.sums(stack(pieces), end // BLOCK_ROWS - 1, 1))
    inside.append(right.inside)
    return Answer(left.first_row, left.n_rows + right.n_rows, join(inside), head, tail)


def merge_answers(asked: Asked, runs: list[list[Answer]]) -> list[Answer]:
    """Join the answers of several groups where they touch."""
    _check_version(asked)
    assert asked.question is not None
    return join_answers(sum_kernel(asked.question), _in_order(answer for run in runs for answer in run))


def _in_order(answers: Iterable[Answer]) -> list[Answer]:
    return sorted(answers, key=lambda answer: answer.first_row)


def answer_of_all(question: Pass, answers: Iterable[Answer]) -> Parts:
    """Return the sums of all blocks from the answers for all rows."""
    kernel = sum_kernel(question)
    (answer,) = join_answers(kernel, _in_order(answers))
    if answer.tail is None:
        return answer.inside
    return join([answer.inside, kernel.sums(answer.tail, answer.n_rows // BLOCK_ROWS, 1)])


def look_at_group(asked: Asked, group: Group) -> Any:
    """Answer a question of exact answers for partitions."""
    assert asked.question is not None
    kernel = merge_kernel(asked.question)
    return reduce(kernel.merge, each_rows(asked, group, lambda rows, first_row: kernel.answer(rows, 1)))


def merge_looks(asked: Asked, answers: list[Any]) -> Any:
    """Merge exact answers."""
    _check_version(asked)
    assert asked.question is not None
    return reduce(merge_kernel(asked.question).merge, answers)
