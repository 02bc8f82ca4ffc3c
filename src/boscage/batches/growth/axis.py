"""The questions of an axis tree: distinct values, quantiles, edges of bins, and the histograms of a level.

Weights lie on a grid, so all these sums are exact and may be added in any order. A column of no more than ``max_bins``
distinct values has a bin for each; another is cut at its weighted quantiles, which are found to the last bit by
descending through the digits of the numbers' order-preserving bits: one pass for each of 4 (float32) or 8 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage.batches.passes import NO_NUMBERS, Pass
from boscage.batches.reading import Executor
from boscage.criteria._numbers import NumberCriterion

if TYPE_CHECKING:
    from boscage.engine.grow import Job, Limits

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]

_DIGIT_BITS = 8
_DIGITS = 1 << _DIGIT_BITS
_NO_STEPS = np.empty((0, 2), np.int32)
_NO_ROUTE = (
    np.empty(0, np.int32),
    np.empty(0, np.int64),
    np.empty(0, np.uint8),
    _NO_STEPS,
    _NO_STEPS,
    np.zeros(1, np.int64),
    np.empty(0, np.uint8),
    np.empty((0, 0)),
)


def from_keys(keys: Numbers) -> Numbers:
    """Return the numbers of keys: bits turned so that they lie in the order of the numbers, see `count_digits`."""
    sign = keys.dtype.type(1) << keys.dtype.type(8 * keys.dtype.itemsize - 1)
    bits = np.where(keys & sign, keys ^ sign, ~keys)
    values: Numbers = bits.view(np.float32 if keys.dtype == np.uint32 else np.float64)
    return values


class Edges(NamedTuple):
    """First place of each column and the number of places; largest value by place, with one for missing numbers."""

    start: npt.NDArray[np.int64]
    last: Numbers

    @classmethod
    def of(cls, columns: list[Numbers]) -> Edges:
        """Return the places of columns from the largest value of each of their bins."""
        start = np.concatenate([[0], np.cumsum([len(last) + 1 for last in columns])]).astype(np.int64)
        return cls(start, np.concatenate([np.append(last, last.dtype.type(np.nan)) for last in columns]))


def find_edges(passes: Executor, max_bins: int, n_categories: npt.NDArray[np.int64]) -> tuple[Edges, list[bool]]:
    """Return the bins of every column, and whether they hold one value each; a category has a bin of its own."""
    dtype = passes.survey.dtype
    last: list[Numbers] = [np.arange(count, dtype=dtype) for count in n_categories.tolist()]
    numeric = np.flatnonzero(n_categories == 0).tolist()
    distinct = (
        dict(zip(numeric, passes.collect(Pass.of("distinct", most=max_bins, columns=numeric)))) if numeric else {}
    )
    for column, (found, _) in distinct.items():
        last[column] = np.empty(0, dtype) if found is None else found.astype(dtype)
    wide = [column for column, (found, _) in distinct.items() if found is None]
    each = max_bins * _DIGITS * 8
    group = max(1, int(passes.max_message_mb * 1e6 / each))
    for start in range(0, len(wide), group):
        columns = wide[start : start + group]
        quantiles = _quantiles(passes, columns, [distinct[column][1] for column in columns], max_bins)
        for column, found in zip(columns, quantiles):
            largest = np.array([passes.survey.high[column]], dtype)
            last[column] = np.union1d(found, largest + dtype.type(0)).astype(dtype)
    return Edges.of(last), [column not in wide for column in range(len(last))]


def _quantiles(passes: Executor, columns: list[int], totals: list[float], max_bins: int) -> list[Numbers]:
    """For each share m/max_bins the smallest value up to which so much weight lies, by descending through digits."""
    kind: type[Any] = np.uint32 if passes.survey.dtype == np.float32 else np.uint64
    bits = 8 * np.dtype(kind).itemsize
    shares = np.arange(1, max_bins, dtype=np.float64)
    heads = [np.zeros(len(shares), kind) for _ in columns]  # digits found so far, and the weight below them
    below = [np.zeros(len(shares)) for _ in columns]
    for shift in range(bits - _DIGIT_BITS, -1, -_DIGIT_BITS):
        prefixes = [np.unique(head) for head in heads]
        start = np.cumsum([0, *map(len, prefixes)])
        question = Pass.of("digits", columns=columns, start=start, prefixes=np.concatenate(prefixes), shift=shift)
        counted = passes.collect(question)
        for i, total in enumerate(totals):
            weight = counted[i][np.searchsorted(prefixes[i], heads[i])]
            up_to = below[i][:, None] + np.cumsum(weight, axis=1)
            digit = np.argmax(up_to * max_bins >= (total * shares)[:, None], axis=1)
            rows = np.arange(len(shares))
            below[i] = np.where(digit > 0, up_to[rows, digit - 1], below[i])
            heads[i] = (heads[i] << kind(_DIGIT_BITS)) | digit.astype(kind)
    return [np.unique(from_keys(head)) for head in heads]


def grow_in_passes(job: Job, passes: Executor, limits: Callable[[float], Limits], max_bins: int) -> dict[str, Any]:
    """Grow a tree by passes over the rows: some for the bins, one for the root and one for each level."""
    n_categories = job.data.n_categories
    edges, exact = find_edges(passes, max_bins, n_categories)
    start, last = edges
    first = passes.collect(Pass.of("bin_minima", start=start, last=last))
    n_classes = 0 if job.data.is_regression else job.n_classes
    name, parameter = ("", 0.0) if n_classes else job.criterion.native()[:2]
    question = Pass.of(
        "histograms",
        _NO_ROUTE,
        start=start,
        last=last,
        n_classes=n_classes,
        criterion=name,
        parameter=float(parameter),
    )
    if isinstance(job.criterion, NumberCriterion):
        numbers = passes.collect(Pass.of("number_range"))
        job.criterion.check_least(numbers.low, f"y={numbers.low.min()}")
        weight = numbers.weight
    else:
        root = passes.collect(question)
        numbers = NO_NUMBERS
        weight = float(root[0][: start[1] * job.n_classes].sum())
    bins = _core.ColumnBins(
        start,
        _by_place(first, start),
        _by_place(last, start),
        np.array(exact, np.uint8),
        (n_categories > 0).astype(np.uint8),
        passes.survey.dtype == np.float32,
    )
    spec = job.native_spec(limits(weight))
    growth = _core.AxisGrowth(bins, n_classes, numbers.native(), spec, job.max_features)
    most_numbers = int(passes.max_message_mb * 1e6 / 8)
    route = growth.ask(most_numbers)
    growth.tell(*(root if n_classes else passes.collect(question.along(route))))
    while (route := growth.ask(most_numbers)) is not None:
        growth.tell(*passes.collect(question.along(route)))
    arrays: dict[str, Any] = growth.tree()
    return arrays


def _by_place(values: Numbers, start: npt.NDArray[np.int64]) -> Floats:
    """Numbers of all bins, 0 at the places of missing ones."""
    places = values.astype(np.float64)
    places[start[1:] - 1] = 0.0
    return places
