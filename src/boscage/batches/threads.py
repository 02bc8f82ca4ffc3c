"""Passes over files in threads: batches are read, prepared and added up by whoever is free, and taken in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple, TypeVar

from boscage.batches.arrow import Memory
from boscage.batches.files import Piece
from boscage.batches.reduction import Parts, join
from boscage.batches.rows import RawBatch, Rows, in_blocks
from boscage.batches.source import Source

T = TypeVar("T")


class Workers:
    """A few threads whose results are taken in order; used as a context, they end with it.

    Parameters
    ----------
    threads : int
        Their number. A single one only reads ahead: what is submitted is done by the caller.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, "boscage-batches")

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def ahead(self, tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
        """Do tasks, a few ahead of the caller; return their results in order."""
        waiting: deque[Future[T]] = deque()
        for task in tasks:
            waiting.append(self._pool.submit(task))
            if len(waiting) > self.threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def submit(self, call: Callable[..., T], *arguments: Any) -> Future[T]:
        """Let a call be made after the tasks that wait already."""
        if self.threads > 1:
            return self._pool.submit(call, *arguments)
        done: Future[T] = Future()
        done.set_result(call(*arguments))
        return done


class _Brought(NamedTuple):
    """What a thread made of a batch, the batch's rows and bytes, and where its columns lie."""

    value: Any
    rows: int
    n_bytes: int
    memory: Memory


class FilePasses:
    """Passes over files.

    Parameters
    ----------
    source : Source
        Of files.
    threads : int
        Threads of a pass.
    saw : callable
        Told of the rows and bytes of every batch that was worked on.
    """

    def __init__(self, source: Source, threads: int, saw: Callable[[int, int], None]) -> None:
        self._source = source
        self._threads = threads
        self._saw = saw
        self._free: list[Memory] = []
        self._last = threading.local()

    def each(self, work: Callable[[RawBatch], T]) -> Generator[T, None, None]:
        """Read all rows once; return what ``work`` makes of each batch, which must not keep its rows."""
        with Workers(self._threads) as workers, closing(self._source.pieces()) as pieces:
            for brought in workers.ahead(partial(self._bring, piece, work) for piece in pieces):
                self._free.append(brought.memory)
                if brought.rows:
                    yield brought.value
                    self._saw(brought.rows, brought.n_bytes)

    def sums(self, prepare: Callable[[RawBatch], Rows], add: Callable[[int, Rows], Parts]) -> tuple[Parts, int]:
        """Read all rows once; return the joined sums of all blocks and the number of rows they hold."""
        waiting: deque[Future[Parts] | Memory] = deque()
        parts: Parts = []
        n = 0
        with Workers(self._threads) as workers, closing(self._source.pieces()) as pieces:

            def prepared() -> Iterator[Rows]:
                for brought in workers.ahead(partial(self._bring, piece, prepare) for piece in pieces):
                    if brought.rows:
                        yield brought.value
                        self._saw(brought.rows, brought.n_bytes)
                    waiting.append(brought.memory)  # free once the blocks before it are added up

            for first_block, rows in in_blocks(prepared()):
                waiting.append(workers.submit(add, first_block, rows))
                n += len(rows)
                while len(waiting) > 2 * self._threads:
                    parts = self._settle(waiting.popleft(), parts)
            while waiting:
                parts = self._settle(waiting.popleft(), parts)
        return parts, n

    def _bring(self, piece: Piece, work: Callable[[RawBatch], Any]) -> _Brought:
        try:
            memory = self._free.pop()
        except IndexError:
            memory = Memory()
        # A table is given up when the next one is about to be read: given up at once, its memory would go back to the
        # system while this thread works on the rows.
        self._last.table = None
        self._last.table = table = piece()
        batch = self._source.take_apart(table, memory)
        n = len(batch.X)
        return _Brought(work(batch) if n else None, n, batch.n_bytes, memory)

    def _settle(self, done: Future[Parts] | Memory, parts: Parts) -> Parts:
        if isinstance(done, Future):
            return join([parts, done.result()])
        self._free.append(done)
        return parts
