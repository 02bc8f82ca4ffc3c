"""Passes over a source in this process: reads batches, prepares rows, cuts them into blocks, adds up."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from boscage.base.progress import Progress
from boscage.batches.arrow import Memory
from boscage.batches.reduction import Parts, join, total
from boscage.batches.rows import RawBatch, Rows, in_blocks
from boscage.batches.source import Source
from boscage.batches.survey import Preparation, Survey, WeightSurvey, preparation
from boscage.batches.threads import FilePasses

Floats = npt.NDArray[np.float64]
T = TypeVar("T")


class SumPass(Protocol):
    """What a growing tree wants to know about all rows, as sums: a value without state that can be sent anywhere."""

    def sums(self, rows: Rows, first_block: int, threads: int) -> Parts:
        """Return the sums of rows that begin with this block."""


class CollectPass(Protocol):
    """The same with answers that are merged without rounding, so that their order does not matter."""

    def answer(self, rows: Rows, threads: int) -> Any:
        """Answer for some rows."""

    def merge(self, one: Any, other: Any) -> Any:
        """Return the answer for the rows of both."""


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

    def sums(self, question: SumPass) -> Floats:
        """Answer by one pass over all rows."""


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

    def collect(self, question: CollectPass) -> Any:
        """Answer by one pass over all rows."""


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

    def sums(self, question: SumPass) -> Floats:
        """Answer a question by one pass over all rows."""
        if self._files is not None:
            self.n_passes += 1
            parts, n = self._files.sums(self._prepare, lambda block, rows: question.sums(rows, block, 1))
        else:
            parts, n = [], 0
            with closing(self._each(lambda batch, threads: self._prepare(batch))) as batches:
                for first_block, rows in in_blocks(batches):
                    parts = join([parts, question.sums(rows, first_block, self._threads)])
                    n += len(rows)
        self._check_rows(n)
        return total(parts)

    def collect(self, question: CollectPass) -> Any:
        """Answer a question of exact answers by one pass over all rows."""
        found, n = None, 0

        def look(batch: RawBatch, threads: int) -> tuple[int, Any]:
            rows = self._prepare(batch)
            return len(rows), question.answer(rows, threads) if len(rows) else None

        with closing(self._each(look)) as answers:
            for rows, seen in answers:
                if rows:
                    found = seen if n == 0 else question.merge(found, seen)
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
                yield rows
                n += len(rows)
                self._saw(len(raw.X), raw.n_bytes)
        self._check_rows(n)

    def _check_rows(self, n: int) -> None:
        if n != self.n_rows:
            raise ValueError(
                f"pass {self.n_passes} over the source brought {n} rows and the first one {self.n_rows}. A source must "
                "give the same rows in the same order every time it is read."
            )
