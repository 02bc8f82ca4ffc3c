"""Batches: from what a source gives to arrays, and from batches of any length to whole blocks.

`RawBatch` is a batch as the user knows it, `Rows` as the learners do: a matrix of numbers, class codes or numbers to
predict, weights on the common grid, rows of weight 0 left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage.data.categories import Labelled

BLOCK_ROWS: int = _core.BLOCK_ROWS

Floats = npt.NDArray[np.float64]
_NO_WEIGHT = np.empty(0)
_NO_PLACES = np.empty(0, np.int32)


@dataclass(frozen=True)
class CodedLabels:
    """Labels as places in an array of values, of which some may not occur."""

    codes: npt.NDArray[np.int32]
    values: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class RawBatch:
    """Some rows as the source gives them: ``X`` a matrix of floats, labels, weights or None.

    ``labelled`` holds the categorical columns, as in `Columns`.
    """

    X: npt.NDArray[Any]
    y: npt.NDArray[Any] | CodedLabels
    weight: Floats | None
    names: tuple[str, ...] | None = None
    n_bytes: int = 0
    labelled: dict[int, Labelled | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Rows:
    """Rows that a question can be put to; ``weight`` is empty if every row counts 1.

    ``places`` of rows in memory remember the deepest place of the growing tree that each row is known to reach, so that
    a pass need not send it down from the root; at first 0.
    """

    X: npt.NDArray[Any]
    y: npt.NDArray[Any]
    weight: Floats = field(default_factory=lambda: _NO_WEIGHT)
    places: npt.NDArray[np.int32] = field(default_factory=lambda: _NO_PLACES)

    def __len__(self) -> int:
        return len(self.X)

    def part(self, start: int, stop: int) -> Rows:
        """Return rows start .. stop − 1 without a copy."""
        return Rows(self.X[start:stop], self.y[start:stop], self.weight[start:stop], self.places[start:stop])

    def copy(self) -> Rows:
        """Return the same rows in memory of their own."""
        return Rows(self.X.copy(), self.y.copy(), self.weight.copy())

    @property
    def n_bytes(self) -> int:
        """Memory they take."""
        return self.X.nbytes + self.y.nbytes + self.weight.nbytes


def stack(parts: list[Rows]) -> Rows:
    """Put rows below each other."""
    if len(parts) == 1:
        return parts[0]
    X = np.empty((sum(map(len, parts)), parts[0].X.shape[1]), parts[0].X.dtype)
    np.concatenate([part.X for part in parts], out=X)
    weight = np.concatenate([part.weight for part in parts])
    return Rows(X, np.concatenate([part.y for part in parts]), weight)


class Blocks:
    """Cuts batches again, so that each but the last holds whole blocks: pairs (number of the first block, rows).

    A batch is not kept: the next one may lie in its memory.
    """

    def __init__(self) -> None:
        self._block, self._held = 0, 0
        self._waiting: list[Rows] = []

    def add(self, batch: Rows) -> Iterator[tuple[int, Rows]]:
        """Take a batch; give the whole blocks that are there by now."""
        start = 0
        if self._held:
            start = min(len(batch), -self._held % BLOCK_ROWS)
            self._waiting.append(batch.part(0, start))
            self._held += start
            if self._held % BLOCK_ROWS:
                self._waiting[-1] = self._waiting[-1].copy()
                return
            yield from self.rest()
        stop = start + (len(batch) - start) // BLOCK_ROWS * BLOCK_ROWS
        if stop > start:
            yield self._block, batch.part(start, stop)
            self._block += (stop - start) // BLOCK_ROWS
        if stop < len(batch):
            self._waiting, self._held = [batch.part(stop, len(batch)).copy()], len(batch) - stop

    def rest(self) -> Iterator[tuple[int, Rows]]:
        """Give the rows that wait for the end of their block."""
        if self._held:
            yield self._block, stack(self._waiting)
            self._block, self._waiting, self._held = self._block + self._held // BLOCK_ROWS, [], 0


def in_blocks(batches: Iterable[Rows]) -> Iterator[tuple[int, Rows]]:
    """Cut batches again, see `Blocks`."""
    blocks = Blocks()
    for batch in batches:
        yield from blocks.add(batch)
    yield from blocks.rest()
