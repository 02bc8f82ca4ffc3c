"""Executors in this process: passes over a source of batches, and over rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage import _core
from boscage.base.component import IncompatibleParts
from boscage.base.progress import Progress
from boscage.batches.arrow import Memory
from boscage.batches.kernels import merge_kernel, sum_kernel
from boscage.batches.passes import Pass
from boscage.batches.reduction import Parts, join, total
from boscage.batches.rows import BLOCK_ROWS, RawBatch, Rows, in_blocks
from boscage.batches.source import Source
from boscage.batches.survey import Preparation, Survey, WeightSurvey, preparation
from boscage.batches.threads import FilePasses

Floats = npt.NDArray[np.float64]
T = TypeVar("T")

# Numbers of a sparse matrix that are made dense at once, and the largest number of columns for which this is done.
_DENSE_NUMBERS, _DENSE_COLUMNS = 1 << 24, 1 << 15


class Reading(NamedTuple):
    """What a fit has read: passes over the source, rows in each, and bytes in all passes together."""

    passes: int
    rows: int
    bytes_read: int


class SumExecutor(Protocol):
    """Whoever has the rows and answers passes of sums."""

    max_message_mb: float

    @property
    def n_rows(self) -> int:
        """Number of rows that count."""

    def sums(self, question: Pass) -> Floats:
        """Answer by one pass over all rows."""

    def collect(self, question: Pass) -> Any:
        """Answer by one pass over all rows, merged in any order."""


class Executor(SumExecutor, Protocol):
    """Whoever has the rows and answers passes of both kinds: batches in this process, or a cluster."""

    @property
    def survey(self) -> Survey:
        """What the first pass found."""

    @property
    def weight(self) -> float:
        """Weight of all rows, nearly, divided by 2^weight_exponent as every weight is."""

    @property
    def weight_exponent(self) -> int:
        """See `moderate_exponent`."""


class FitExecutor(Executor, Protocol):
    """An executor that an estimator is fitted with."""

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights other than 1."""

    @property
    def reading(self) -> Reading:
        """What has been read so far."""


class BatchPasses:
    """Passes over a source; each reads all of it once.

    Parameters
    ----------
    source : Source
        The rows.
    owner : str
        Name of the estimator, for messages.
    class_weight : dict, "balanced" or None
        As the estimator has it.
    allow_nan : bool
        Whether missing values are allowed.
    threads : int
        Threads of each pass.
    progress : Progress
        Told of every batch.
    target : {"classes", "numbers"}
        What y holds.
    """

    max_message_mb = 512.0  # bounds the memory of a pass; nothing is sent anywhere

    def __init__(
        self,
        source: Source,
        owner: str,
        class_weight: Any,
        *,
        allow_nan: bool,
        threads: int,
        progress: Progress,
        target: str = "classes",
    ) -> None:
        self._source = source
        self._threads = threads
        self._progress = progress
        self._files = FilePasses(source, threads, self._saw) if source.reads_files else None
        self._rows_read = 0
        self.n_passes = 0
        self.bytes_read = 0
        survey: Survey | None = None
        with closing(self._each(partial(Survey.of, owner=owner, allow_nan=allow_nan, target=target))) as surveys:
            for seen in surveys:
                survey = seen if survey is None else survey.merge(seen)
        if survey is None:
            raise ValueError("source holds no rows. Pass at least one batch with rows.")
        prepared = preparation(survey, owner, class_weight, self._weigh)
        self._prepare, self.survey, self.n_rows, self.weight, self.weight_exponent = prepared

    @property
    def reading(self) -> Reading:
        """What has been read so far."""
        return Reading(self.n_passes, self.survey.rows, self.bytes_read)

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights other than 1."""
        return self._prepare.grid is not None

    def _saw(self, rows: int, n_bytes: int) -> None:
        self._rows_read += rows
        self.bytes_read += n_bytes
        show: Callable[[int], None] | None = self._progress.callback
        if show is not None:
            self._progress.text = f"pass {self.n_passes}, {self.bytes_read / 1e6:,.0f} MB read; rows"
            show(self._rows_read)

    def _each(self, work: Callable[..., T]) -> Generator[T, None, None]:
        """Read all rows once more; return work(batch, threads=...) of each batch."""
        self.n_passes += 1
        if self._files is not None:
            yield from self._files.each(partial(work, threads=1))
            return
        with closing(self._source.batches()) as batches:
            for batch in batches:
                yield work(batch, threads=self._threads)
                self._saw(len(batch.X), batch.n_bytes)

    def _weigh(self, prepare: Preparation) -> WeightSurvey:
        found: WeightSurvey | None = None

        def look(batch: RawBatch, threads: int) -> WeightSurvey:
            return prepare.survey_weights(batch)

        with closing(self._each(look)) as surveys:
            for seen in surveys:
                found = seen if found is None else found.merge(seen)
        assert found is not None  # the first pass has seen rows
        return found

    def sums(self, question: Pass) -> Floats:
        """Answer a question by one pass over all rows."""
        kernel = sum_kernel(question)
        if self._files is not None:
            self.n_passes += 1
            parts, n = self._files.sums(self._prepare, lambda block, rows: kernel.sums(rows, block, 1))
        else:
            parts, n = [], 0
            with closing(self._each(lambda batch, threads: self._prepare(batch))) as batches:
                for first_block, rows in in_blocks(batches):
                    parts = join([parts, kernel.sums(rows, first_block, self._threads)])
                    n += len(rows)
        self._check_rows(n)
        return total(parts)

    def collect(self, question: Pass) -> Any:
        """Answer a question of exact answers by one pass over all rows."""
        kernel = merge_kernel(question)
        found, n = None, 0

        def look(batch: RawBatch, threads: int) -> tuple[int, Any]:
            rows = self._prepare(batch)
            return len(rows), kernel.answer(rows, threads) if len(rows) else None

        with closing(self._each(look)) as answers:
            for rows, seen in answers:
                if rows:
                    found = seen if n == 0 else kernel.merge(found, seen)
                    n += rows
        self._check_rows(n)
        return found

    def walk(self) -> Generator[Rows, None, None]:
        """Read all rows once, in order; rows are good until the next are taken."""
        self.n_passes += 1
        n = 0
        files = self._source.reads_files
        batches: Any = self._source.given() if files else self._source.batches()
        with closing(batches):
            for batch in batches:
                raw = self._source.take_apart(batch, Memory()) if files else batch
                if not len(raw.X):
                    continue
                rows = self._prepare(raw)
                n += len(rows)
                if n > self.n_rows:  # whoever knows the number of rows has no place for more
                    self._check_rows(n)
                yield rows
                self._saw(len(raw.X), raw.n_bytes)
        self._check_rows(n)

    def _check_rows(self, n: int) -> None:
        if n != self.n_rows:
            raise ValueError(
                f"pass {self.n_passes} over the source brought {n} rows and the first one {self.n_rows}. A source must "
                "give the same rows in the same order every time it is read."
            )


class MemoryPasses:
    """Passes over rows in memory: blocks and sums are those of batches, so trees are too.

    Rows remember how far down the tree they have got.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Rows; a sparse matrix is made dense a few blocks at a time.
    y, weight
        Class codes, and weights or nothing.
    threads : int
        Threads of each pass.
    """

    max_message_mb = 512.0

    def __init__(self, X: Any, y: npt.NDArray[np.int32], weight: Floats, threads: int) -> None:
        self._all = Rows(X, y, weight, np.zeros(len(y), np.int32))
        self._threads = threads
        self.n_rows, n_columns = X.shape
        if sparse.issparse(X) and n_columns > _DENSE_COLUMNS:
            raise IncompatibleParts(
                f"X is a sparse matrix of {n_columns} columns, and with max_bins its rows are made dense {BLOCK_ROWS} "
                f"at a time: at most {_DENSE_COLUMNS} columns. Pass max_bins=None."
            )

    def _rows(self) -> Iterator[tuple[int, Rows]]:
        """Give pairs of the number of the first block and rows."""
        if not sparse.issparse(self._all.X):
            yield 0, self._all
            return
        length = BLOCK_ROWS * max(1, _DENSE_NUMBERS // (BLOCK_ROWS * self._all.X.shape[1]))
        for start in range(0, self.n_rows, length):
            part = self._all.part(start, start + length)
            matrix: Any = part.X
            yield start // BLOCK_ROWS, replace(part, X=matrix.toarray())

    def ranges(self) -> tuple[Floats, Floats]:
        """Smallest and largest number of each column."""
        found = [_core.survey_columns(rows.X, self._threads)[:2] for _, rows in self._rows()]
        low, high = np.fmin.reduce([low for low, _ in found]), np.fmax.reduce([high for _, high in found])
        return low, high

    def collect(self, question: Pass) -> Any:
        """Answer a question about all rows whose answers are merged."""
        kernel = merge_kernel(question)
        return reduce(kernel.merge, (kernel.answer(rows, self._threads) for _, rows in self._rows()))

    def sums(self, question: Pass) -> Floats:
        """Answer a question about all rows."""
        kernel = sum_kernel(question)
        parts: Parts = []
        for first_block, rows in self._rows():
            parts = join([parts, kernel.sums(rows, first_block, self._threads)])
        return total(parts)
