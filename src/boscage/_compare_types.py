"""The nouns of a comparison: task, settings, contender, result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse


@dataclass(frozen=True, eq=False)
class Task:
    """The rows and labels to compare on.

    Attributes
    ----------
    name : str
        Shown in tables and pictures.
    X : ndarray or CSR array of shape (n_rows, n_features)
        Numbers; NaN = missing; category columns hold level numbers.
    y : ndarray of shape (n_rows,)
        Labels of any type.
    categorical_features : tuple of int, default=()
        The category columns.
    origin : str, default=""
        Where the data come from.
    feature_names : tuple of str, default=()
        Names of the columns, for trees that are shown.
    """

    name: str
    X: Any
    y: NDArray[Any]
    categorical_features: tuple[int, ...] = ()
    origin: str = ""
    feature_names: tuple[str, ...] = ()

    @property
    def has_missing(self) -> bool:
        """Whether a cell is NaN."""
        return bool(np.isnan(self.X.data if issparse(self.X) else self.X).any())

    @property
    def n_classes(self) -> int:
        """Number of different labels."""
        return len(np.unique(self.y))


@dataclass(frozen=True)
class Settings:
    """How to compare: the folds, the seed, and limits that hold for every tree."""

    folds: int = 5
    repeats: int = 1
    seed: int = 0
    n_jobs: int | None = None
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 1

    @property
    def limits(self) -> dict[str, Any]:
        """The limits as parameters of an estimator."""
        return {name: getattr(self, name) for name in ("max_depth", "max_leaf_nodes", "min_samples_leaf")}


@dataclass(frozen=True)
class Contender:
    """A named way to make an unfitted estimator; `is_part` if family and criterion are names of registered parts."""

    family: str
    criterion: str
    make: Callable[[], Any] = field(repr=False, compare=False)
    is_part: bool = False

    @property
    def name(self) -> str:
        """Family and criterion in one word or two."""
        return f"{self.family} {self.criterion}".strip()


@dataclass
class Result:
    """What the folds of one contender gave; `error` is empty unless it failed."""

    family: str
    criterion: str
    accuracy: list[float] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    fit_seconds: list[float] = field(default_factory=list)
    predict_seconds: list[float] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: str = ""

    @property
    def name(self) -> str:
        """Family and criterion in one word or two."""
        return f"{self.family} {self.criterion}".strip()

    def mean(self, what: str) -> float | None:
        """Average over the folds, None if the contender has no such thing (a linear model has no leaves)."""
        values = getattr(self, what)
        return float(np.mean(values)) if values else None

    def sd(self, what: str) -> float | None:
        """Give the standard deviation over the folds, None for a single fold."""
        values = getattr(self, what)
        return float(np.std(values, ddof=1)) if len(values) > 1 else None


Provider = Callable[[Task, Settings], Iterable[Contender]]
