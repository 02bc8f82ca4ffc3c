"""The first pass: what must be known about all rows before any tree can grow. Surveys of batches can be merged.

`Survey` is of the rows as given; `Preparation` is what follows from it and turns every batch into `Rows`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage._labels import encode_labels
from boscage._validation import Dataset, check_values
from boscage._weights import (
    Factors,
    Grid,
    check_sample_weight,
    class_factors,
    exact_sums,
    moderate_exponent,
    sum_value,
    times_class_weight,
)
from boscage.batches.rows import CodedLabels, RawBatch, Rows

Floats = npt.NDArray[np.float64]


def encode(y: npt.NDArray[Any] | CodedLabels, owner: str) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Return (codes, classes) of labels, the classes sorted."""
    if not isinstance(y, CodedLabels):
        return encode_labels(y, owner)
    present = np.flatnonzero(np.bincount(y.codes, minlength=len(y.values)))
    if not len(present):
        return np.empty(0, np.int32), np.empty(0, y.values.dtype)
    codes, classes = encode_labels(y.values[present], owner)
    table = np.zeros(len(y.values), np.int32)
    table[present] = codes
    return table[y.codes], classes


@dataclass(frozen=True)
class WeightSurvey:
    """Count, range and exact sum of the weights that are not 0, and the range of the columns of their rows."""

    count: int
    smallest: float
    largest: float
    total: int
    low: Floats
    high: Floats

    @classmethod
    def of(cls, weight: Floats, X: npt.NDArray[Any]) -> WeightSurvey:
        """Look at some weights and their rows."""
        if not weight.all():
            is_kept = weight > 0
            weight, X = weight[is_kept], X[is_kept]
        if not len(weight):
            return cls(0, np.inf, 0.0, 0, *column_ranges(X))
        return cls(len(weight), float(weight.min()), float(weight.max()), exact_sums(weight)[0], *column_ranges(X))

    def merge(self, other: WeightSurvey) -> WeightSurvey:
        """Return the survey of both."""
        return WeightSurvey(
            self.count + other.count,
            min(self.smallest, other.smallest),
            max(self.largest, other.largest),
            self.total + other.total,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
        )


def column_ranges(X: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """Smallest and largest number of each column; (∞, −∞) where there is none."""
    low, high, _, _ = _core.survey_columns(X, 1)
    return low, high


@dataclass(frozen=True)
class Survey:
    """What is known of the rows as given; ``mass`` is the weight of each class (rows, or `exact_sums`)."""

    rows: int
    n_bytes: int
    dtype: np.dtype[Any]
    n_columns: int
    names: tuple[str, ...] | None
    classes: npt.NDArray[Any]
    mass: tuple[int, ...]
    weight: WeightSurvey | None
    low: Floats
    high: Floats
    has_missing: bool

    @classmethod
    def of(cls, batch: RawBatch, owner: str, *, allow_nan: bool, threads: int = 1) -> Survey:
        """Look at a batch and refuse what no fit could take."""
        X = batch.X
        codes, classes = encode(batch.y, owner)
        if len(codes) != len(X):
            raise ValueError(f"a batch has {len(X)} rows of X and {len(codes)} labels. Pass one label per row.")
        # A batch may weigh nothing; all of them together may not.
        is_void = batch.weight is not None and not np.any(batch.weight)
        weight = np.zeros(len(X)) if is_void else check_sample_weight(batch.weight, len(X))
        low, high, has_missing, has_infinity = _core.survey_columns(X, threads)
        if has_missing or has_infinity:
            check_values(owner, X, allow_nan)
        weighed = None if weight is None else WeightSurvey.of(weight, X)
        if weighed is not None:
            low, high = weighed.low, weighed.high
        mass = np.bincount(codes, minlength=len(classes)).tolist()
        return cls(
            rows=len(X),
            n_bytes=batch.n_bytes,
            dtype=X.dtype,
            n_columns=X.shape[1],
            names=batch.names,
            classes=classes,
            mass=tuple(mass if weight is None else exact_sums(weight, codes, len(classes))),
            weight=weighed,
            low=low,
            high=high,
            has_missing=has_missing,
        )

    def merge(self, other: Survey) -> Survey:
        """Return the survey of these rows followed by others."""
        if self.n_columns != other.n_columns:
            raise ValueError(f"batches differ: one has {self.n_columns} columns, a later one {other.n_columns}.")
        if self.names != other.names:
            raise ValueError(f"batches differ: one has the columns {self.names}, a later one {other.names}.")
        if (self.weight is None) != (other.weight is None):
            raise ValueError("some batches have weights and others have not. Give all of them weights, or none.")
        classes, mass = self._merged_classes(other)
        return replace(
            self,
            rows=self.rows + other.rows,
            n_bytes=self.n_bytes + other.n_bytes,
            dtype=np.result_type(self.dtype, other.dtype),
            classes=classes,
            mass=mass,
            weight=None if self.weight is None or other.weight is None else self.weight.merge(other.weight),
            low=np.fmin(self.low, other.low),
            high=np.fmax(self.high, other.high),
            has_missing=self.has_missing or other.has_missing,
        )

    def _merged_classes(self, other: Survey) -> tuple[npt.NDArray[Any], tuple[int, ...]]:
        mine, theirs = self.classes, other.classes
        if mine.dtype == theirs.dtype and np.array_equal(mine, theirs):
            return mine, tuple(a + b for a, b in zip(self.mass, other.mass))
        if (mine.dtype.kind in "OUT") != (theirs.dtype.kind in "OUT"):
            raise ValueError(f"batches differ: y holds {mine[0]!r} in one and {theirs[0]!r} in a later one.")
        classes = np.unique(np.concatenate([mine, theirs]))
        mass = [0] * len(classes)
        for labels, parts in ((mine, self.mass), (theirs, other.mass)):
            for place, part in zip(np.searchsorted(classes, labels).tolist(), parts):
                mass[place] += part
        return classes, tuple(mass)


@dataclass(frozen=True)
class Preparation:
    """How a batch becomes `Rows`: classes, column type, class weights and the grid of weights."""

    classes: npt.NDArray[Any]
    dtype: np.dtype[Any]
    n_columns: int
    owner: str
    factors: Factors | None = None
    grid: Grid | None = None
    has_weights: bool = False

    def codes(self, y: npt.NDArray[Any] | CodedLabels) -> npt.NDArray[np.int32]:
        """Return class codes of labels that the survey has seen."""
        codes, found = encode(y, self.owner)
        if len(found) == len(self.classes) and np.array_equal(found, self.classes):
            return codes
        places = np.searchsorted(self.classes, found)
        if not np.array_equal(self.classes[np.minimum(places, len(self.classes) - 1)], found):
            raise ValueError("y holds labels that the first pass over the source did not: the source has changed.")
        moved: npt.NDArray[np.int32] = places.astype(np.int32)[codes]
        return moved

    def weights(self, batch: RawBatch, codes: npt.NDArray[np.int32]) -> Floats | None:
        """Return the weights before they are put on the grid."""
        weight = None if batch.weight is None else np.asarray(batch.weight, dtype=np.float64)
        return weight if self.factors is None else times_class_weight(weight, codes, self.factors)

    def survey_weights(self, batch: RawBatch) -> WeightSurvey:
        """Look at the weights of a batch, those of the classes included."""
        weight = self.weights(batch, self.codes(batch.y))
        return WeightSurvey.of(np.ones(len(batch.X)) if weight is None else weight, batch.X)

    def __call__(self, batch: RawBatch) -> Rows:
        """Return the rows that count."""
        codes = self.codes(batch.y)
        X = batch.X.astype(self.dtype, copy=False)
        weight = self.weights(batch, codes)
        if weight is None:
            return Rows(X, codes)
        if not weight.all():
            kept = weight > 0
            X, codes, weight = X[kept], codes[kept], weight[kept]
        if self.grid is None or not len(weight):
            return Rows(X, codes, np.empty(0))
        return Rows(X, codes, self.grid.snap(weight))


class Prepared(NamedTuple):
    """How batches are prepared, the survey of the rows that count, their number and nearly their weight.

    Weights are divided by 2^weight_exponent, see `moderate_exponent`.
    """

    prepare: Preparation
    survey: Survey
    n_rows: int
    weight: float
    weight_exponent: int = 0


def preparation(
    survey: Survey, owner: str, class_weight: Any, weigh: Callable[[Preparation], WeightSurvey]
) -> Prepared:
    """Return the preparation of every batch.

    Parameters
    ----------
    survey : Survey
        Of all rows.
    owner : str
        Name of the estimator, for messages.
    class_weight : dict, "balanced" or None
        As the estimator has it.
    weigh : callable
        Looks at all weights once more, with those of the classes.
    """
    raw = Preparation(survey.classes, survey.dtype, survey.n_columns, owner)
    if class_weight is not None:
        raw = replace(raw, factors=class_factors(class_weight, survey.classes, list(survey.mass)))
    elif survey.weight is None:
        return Prepared(raw, survey, survey.rows, float(survey.rows))
    weight = survey.weight if class_weight is None else weigh(raw)
    if weight is None or not weight.count:
        what = "sample_weight is" if class_weight is None else "class_weight and sample_weight leave weight"
        raise ValueError(f"{what} zero for every row. Pass at least one weight that is not zero.")
    grid = Grid.of(weight.largest, weight.count, weight.total)
    total = sum_value(weight.total, -grid.shift)
    exponent = moderate_exponent(total)
    grid = grid.divided(exponent)
    ends = grid.snap(np.array([weight.smallest, weight.largest]))
    is_unit = bool((ends == 1).all())
    return Prepared(
        replace(raw, grid=None if is_unit else grid),
        replace(survey, low=weight.low, high=weight.high),
        weight.count,
        math.ldexp(total, -exponent),
        exponent,
    )


def schema_data(survey: Survey) -> Dataset:
    """Return a data set without rows: what a tree remembers of its columns."""
    return Dataset(
        X=np.empty((0, survey.n_columns), survey.dtype),
        y=np.empty(0, np.int32),
        classes=survey.classes,
        weight=None,
        n_categories=np.zeros(survey.n_columns, np.int64),
        categories=None,
        feature_names=survey.names,
        has_missing=survey.has_missing,
    )
