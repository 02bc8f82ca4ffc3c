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
from boscage.batches.rows import CodedLabels, RawBatch, Rows
from boscage.data.categories import (
    MOST_LEVELS,
    Label,
    Labelled,
    check_levels,
    codes_of,
    label_numbers,
    sorted_labels,
)
from boscage.data.labels import encode_labels
from boscage.data.targets import encode_numbers
from boscage.data.validation import Dataset, check_values
from boscage.data.weights import (
    Factors,
    Grid,
    check_sample_weight,
    class_factors,
    exact_sums,
    moderate_exponent,
    sum_value,
    times_class_weight,
)

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


def numbers(y: npt.NDArray[Any] | CodedLabels, owner: str) -> Floats:
    """Return a target of numbers as float64, (n,) or (n, outputs)."""
    return encode_numbers(y.values[y.codes] if isinstance(y, CodedLabels) else y, owner)


@dataclass(frozen=True)
class Levels:
    """The labels of a categorical column and the number of rows that have one.

    Of text that nobody declared to be categories no more labels are kept than it takes to refuse it.
    """

    labels: frozenset[Any]
    rows: int
    is_text: bool

    @classmethod
    def of(cls, column: Labelled, is_kept: npt.NDArray[np.bool_] | None = None) -> Levels:
        """Describe some rows of a column."""
        codes = column.codes if is_kept is None else column.codes[is_kept]
        counts = np.bincount(codes[codes >= 0], minlength=len(column.labels))
        labels = (column.labels[place] for place in np.flatnonzero(counts).tolist())
        return cls(frozenset(labels), int(counts.sum()), column.is_text)

    def merge(self, other: Levels) -> Levels:
        """Return the levels of both."""
        labels, is_text = self.labels | other.labels, self.is_text and other.is_text
        if is_text and len(labels) > MOST_LEVELS + 1:
            labels = frozenset(sorted(labels)[: MOST_LEVELS + 1])
        return Levels(labels, self.rows + other.rows, is_text)

    def settle(self, shown: str) -> tuple[Label, ...]:
        """Return the labels in the order of their codes."""
        labels = sorted_labels(list(self.labels), shown)
        if self.is_text and labels:
            check_levels(len(labels), self.rows, shown, labels[0])
        return labels


def levels_of(batch: RawBatch, is_kept: npt.NDArray[np.bool_] | None = None) -> dict[int, Levels]:
    """Return the levels of the categorical columns of some rows."""
    found = {}
    for j, column in batch.labelled.items():
        found[j] = Levels.of(label_numbers(batch.X[:, j]) if column is None else column, is_kept)
    return found


def merge_levels(mine: dict[int, Levels], theirs: dict[int, Levels]) -> dict[int, Levels]:
    """Return the levels of both; a column may be missing in all rows of one of them."""
    both = {j: mine[j].merge(theirs[j]) for j in mine.keys() & theirs.keys()}
    return {**mine, **theirs, **both}


@dataclass(frozen=True)
class WeightSurvey:
    """Count, range and exact sum of the weights that are not 0, and ranges and levels of the columns of their rows."""

    count: int
    smallest: float
    largest: float
    total: int
    low: Floats
    high: Floats
    levels: dict[int, Levels]

    @classmethod
    def of(cls, weight: Floats, batch: RawBatch) -> WeightSurvey:
        """Look at the rows of a batch by these weights."""
        X, is_kept = batch.X, None
        if not weight.all():
            is_kept = weight > 0
            weight, X = weight[is_kept], X[is_kept]
        facts = (*column_ranges(X), levels_of(batch, is_kept))
        if not len(weight):
            return cls(0, np.inf, 0.0, 0, *facts)
        return cls(len(weight), float(weight.min()), float(weight.max()), exact_sums(weight)[0], *facts)

    def merge(self, other: WeightSurvey) -> WeightSurvey:
        """Return the survey of both."""
        return WeightSurvey(
            self.count + other.count,
            min(self.smallest, other.smallest),
            max(self.largest, other.largest),
            self.total + other.total,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            merge_levels(self.levels, other.levels),
        )


def column_ranges(X: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """Smallest and largest number of each column; (∞, −∞) where there is none."""
    low, high, _, _ = _core.survey_columns(X, 1)
    return low, high


def _missing(batch: RawBatch, weight: Floats | None) -> npt.NDArray[np.bool_] | None:
    """Return which columns have missing values in rows that weigh something; None if none has."""
    rows = slice(None) if weight is None else weight > 0
    found = np.isnan(batch.X[rows]).any(axis=0)
    for column, labelled in batch.labelled.items():
        if labelled is not None:
            found[column] = bool((labelled.codes[rows] < 0).any())
    return found if found.any() else None


def _either(a: npt.NDArray[np.bool_] | None, b: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_] | None:
    return b if a is None else a if b is None else a | b


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
    missing: npt.NDArray[np.bool_] | None  # columns of rows that weigh something
    levels: dict[int, Levels]
    categories: tuple[tuple[Label, ...] | None, ...] | None = None  # once all rows were seen
    outputs: int = 0  # numbers to predict for a row; 0: classes

    @classmethod
    def of(cls, batch: RawBatch, owner: str, *, allow_nan: bool, threads: int = 1, target: str = "classes") -> Survey:
        """Look at a batch and refuse what no fit could take."""
        X = batch.X
        outputs = 0
        if target == "numbers":
            y = numbers(batch.y, owner)
            outputs = 1 if y.ndim == 1 else y.shape[1]
            codes, classes = np.zeros(len(y), np.int32), np.empty(0)
        else:
            codes, classes = encode(batch.y, owner)
        if len(codes) != len(X):
            raise ValueError(f"a batch has {len(X)} rows of X and {len(codes)} of y. Pass one label or number per row.")
        # A batch may weigh nothing; all of them together may not.
        is_void = batch.weight is not None and not np.any(batch.weight)
        weight = np.zeros(len(X)) if is_void else check_sample_weight(batch.weight, len(X))
        low, high, has_missing, has_infinity = _core.survey_columns(X, threads)
        if has_missing or has_infinity:
            check_values(owner, X, allow_nan)
        has_missing |= any((column.codes < 0).any() for column in batch.labelled.values() if column is not None)
        weighed = None if weight is None else WeightSurvey.of(weight, batch)
        if weighed is not None:
            low, high = weighed.low, weighed.high
        mass = [] if outputs else np.bincount(codes, minlength=len(classes)).tolist()
        if weight is not None and not outputs:
            mass = exact_sums(weight, codes, len(classes))
        return cls(
            rows=len(X),
            n_bytes=batch.n_bytes,
            dtype=X.dtype,
            n_columns=X.shape[1],
            names=batch.names,
            classes=classes,
            mass=tuple(mass),
            weight=weighed,
            low=low,
            high=high,
            has_missing=has_missing,
            missing=_missing(batch, weight) if has_missing else None,
            levels=levels_of(batch) if weighed is None else weighed.levels,
            outputs=outputs,
        )

    def merge(self, other: Survey) -> Survey:
        """Return the survey of these rows followed by others."""
        if self.n_columns != other.n_columns:
            raise ValueError(f"batches differ: one has {self.n_columns} columns, a later one {other.n_columns}.")
        if self.names != other.names:
            raise ValueError(f"batches differ: one has the columns {self.names}, a later one {other.names}.")
        if (self.weight is None) != (other.weight is None):
            raise ValueError("some batches have weights and others have not. Give all of them weights, or none.")
        if self.outputs != other.outputs:
            raise ValueError(f"batches differ: y has {self.outputs} outputs in one and {other.outputs} in a later one.")
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
            missing=_either(self.missing, other.missing),
            levels=merge_levels(self.levels, other.levels),
        )

    def shown(self, column: int) -> str:
        """Return a column as messages name it."""
        return str(column) if self.names is None else repr(self.names[column])

    def settled(self, low: Floats, high: Floats, levels: dict[int, Levels]) -> Survey:
        """Return the survey with what was found of the rows that count; refuse text of too many levels."""
        columns = range(self.n_columns)
        categories = tuple(levels[j].settle(self.shown(j)) if j in levels else None for j in columns)
        return replace(self, low=low, high=high, levels=levels, categories=categories if levels else None)

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
    categories: tuple[tuple[Label, ...] | None, ...] | None = None
    names: tuple[str, ...] | None = None
    outputs: int = 0

    def targets(self, y: npt.NDArray[Any] | CodedLabels) -> npt.NDArray[Any]:
        """Return class codes, or numbers."""
        return numbers(y, self.owner) if self.outputs else self.codes(y)

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

    def weights(self, batch: RawBatch, codes: npt.NDArray[Any]) -> Floats | None:
        """Return the weights before they are put on the grid."""
        weight = None if batch.weight is None else np.asarray(batch.weight, dtype=np.float64)
        return weight if self.factors is None else times_class_weight(weight, codes, self.factors)

    def survey_weights(self, batch: RawBatch) -> WeightSurvey:
        """Look at the weights of a batch, those of the classes included."""
        weight = self.weights(batch, self.targets(batch.y))
        return WeightSurvey.of(np.ones(len(batch.X)) if weight is None else weight, batch)

    def coded(self, batch: RawBatch, categories: tuple[tuple[Label, ...] | None, ...]) -> npt.NDArray[Any]:
        """Return the rows with the codes of the levels of all batches."""
        X = batch.X.astype(self.dtype, order="K", copy=True)
        for j, labels in enumerate(categories):
            if labels is None:
                continue
            column = batch.labelled.get(j)
            if column is not None:
                X[:, j] = codes_of(column, labels)
            elif j in batch.labelled:
                X[:, j] = codes_of(label_numbers(batch.X[:, j]), labels)
            elif not np.isnan(X[:, j]).all():
                shown = str(j) if self.names is None else repr(self.names[j])
                raise ValueError(f"batches differ: column {shown} holds categories in one and numbers in another.")
        return X

    def __call__(self, batch: RawBatch) -> Rows:
        """Return the rows that count."""
        if batch.X.shape[1] != self.n_columns:
            raise ValueError(
                f"a batch has {batch.X.shape[1]} columns, and there were {self.n_columns} in the first pass over the "
                "source: the source has changed."
            )
        y = self.targets(batch.y)
        X = batch.X.astype(self.dtype, copy=False) if self.categories is None else self.coded(batch, self.categories)
        weight = self.weights(batch, y)
        if weight is None:
            return Rows(X, y)
        if not weight.all():
            kept = weight > 0
            X, y, weight = X[kept], y[kept], weight[kept]
        if self.grid is None or not len(weight):
            return Rows(X, y, np.empty(0))
        return Rows(X, y, self.grid.snap(weight))


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
    raw = Preparation(survey.classes, survey.dtype, survey.n_columns, owner, names=survey.names, outputs=survey.outputs)
    if class_weight is not None:
        raw = replace(raw, factors=class_factors(class_weight, survey.classes, list(survey.mass)))
    elif survey.weight is None:
        survey = survey.settled(survey.low, survey.high, survey.levels)
        return Prepared(replace(raw, categories=survey.categories), survey, survey.rows, float(survey.rows))
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
    survey = survey.settled(weight.low, weight.high, weight.levels)
    return Prepared(
        replace(raw, grid=None if is_unit else grid, categories=survey.categories),
        survey,
        weight.count,
        math.ldexp(total, -exponent),
        exponent,
    )


def schema_data(survey: Survey) -> Dataset:
    """Return a data set without rows: what a tree remembers of its columns."""
    categories = survey.categories or (None,) * survey.n_columns
    shape = (0,) if survey.outputs <= 1 else (0, survey.outputs)
    return Dataset(
        X=np.empty((0, survey.n_columns), survey.dtype),
        y=np.empty(shape, np.float64 if survey.outputs else np.int32),
        classes=survey.classes,
        weight=None,
        n_categories=np.array([0 if labels is None else len(labels) for labels in categories], np.int64),
        categories=survey.categories,
        feature_names=survey.names,
        has_missing=survey.has_missing,
        missing=survey.missing,
    )
