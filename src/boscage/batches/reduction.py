"""Pairwise reduction by block number: a sum whose shape depends on the number of blocks alone.

A part is the sum of the 2^level blocks from place·2^level on. Neighbouring parts of equal size become one when the left
one's place is even: what remains of any run of blocks is a handful of parts, which can be sent and joined with the
parts of its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Part(NamedTuple):
    """The sum of 2^level blocks from number place·2^level on."""

    level: int
    place: int
    sums: Floats

    @property
    def first(self) -> int:
        """Number of the first block."""
        return self.place << self.level

    @property
    def end(self) -> int:
        """Number after the last block."""
        return (self.place + 1) << self.level


Parts = list[Part]


def to_parts(native: tuple[Any, Any, Any]) -> Parts:
    """Take the parts over from the compiled core."""
    levels, places, sums = native
    return [Part(int(level), int(place), row) for level, place, row in zip(levels, places, sums)]


def join(runs: Iterable[Parts]) -> Parts:
    """Join the parts of neighbouring runs of blocks, the runs in order of their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from boscage.batches.reduction import Part, join
    >>> [(part.level, part.place) for part in join([[Part(0, 0, np.ones(1))], [Part(0, 1, np.ones(1))]])]
    [(1, 0)]
    """
    parts: Parts = []
    for run in runs:
        for part in run:
            if parts and parts[-1].end != part.first:
                raise ValueError(f"block {parts[-1].end} is missing: the next run begins with block {part.first}.")
            parts.append(part)
            while len(parts) > 1 and parts[-2].level == parts[-1].level and parts[-1].place % 2 == 1:
                right, left = parts.pop(), parts.pop()
                parts.append(Part(left.level + 1, left.place // 2, left.sums + right.sums))
    return parts


def total(parts: Parts) -> Floats:
    """Return the sum of all blocks; the parts begin with block 0."""
    if not parts or parts[0].first != 0:
        raise ValueError("the parts do not begin with block 0.")
    parts = join([parts])
    result = parts[-1].sums
    for part in reversed(parts[:-1]):
        result = part.sums + result
    return result
