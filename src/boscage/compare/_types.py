"""The nouns of a comparison: task, settings, contender, result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from boscage.compare._metrics import METRICS, Metric, check_metric
from boscage.data.tasks import TASK_KINDS, TaskKind, task_of


@dataclass(frozen=True, eq=False)
class Task:
    """The data to compare models on.

    Attributes
    ----------
    name : str
        Shown in tables and pictures.
    X : ndarray or CSR array of shape (n_rows, n_features)
        Numbers; NaN = missing; category columns hold level numbers.
    y : ndarray of shape (n_rows,)
        Labels of any type, or numbers.
    categorical_features : tuple of int, default=()
        The category columns.
    origin : str, default=""
        Where the data come from.
    feature_names : tuple of str, default=()
        Names of the columns, for trees that are shown.
    categories : tuple, default=()
        For each column None or the names of its levels, for trees that are shown.
    kind : {"classification", "regression"}, optional
        Default: inferred from ``y``. Fractional numbers mean regression, text and few whole numbers classification.
    """

    name: str
    X: Any
    y: NDArray[Any]
    categorical_features: tuple[int, ...] = ()
    origin: str = ""
    feature_names: tuple[str, ...] = ()
    categories: tuple[tuple[Any, ...] | None, ...] = ()
    kind: TaskKind | None = None

    def __post_init__(self) -> None:
        if self.kind is None:
            object.__setattr__(self, "kind", task_of(np.asarray(self.y)))
        elif self.kind not in TASK_KINDS:
            raise ValueError(f"kind={self.kind!r} is not known; choose from {', '.join(TASK_KINDS)}")

    @property
    def is_regression(self) -> bool:
        """Whether this is a regression task."""
        return self.kind == "regression"

    @cached_property
    def has_missing(self) -> bool:
        """Whether X has missing values."""
        return bool(np.isnan(self.X.data if issparse(self.X) else self.X).any())

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The class labels, sorted; empty for regression."""
        return np.unique(self.y)[: 0 if self.is_regression else None]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def describe(self) -> str:
        """Describe the task in a few words."""
        rows, columns = self.X.shape
        target = "numeric target" if self.is_regression else f"{self.n_classes} classes"
        return f"{rows:,} rows, {columns:,} features, {target}"


@dataclass(frozen=True)
class Settings:
    """Settings of a comparison: folds, seed, limits of single trees, and the metric.

    Attributes
    ----------
    folds : int, default=5
        Number of folds.
    repeats : int, default=1
        Number of times that the rows are divided into folds.
    seed : int, default=0
        Seed of the folds and of the models.
    n_jobs : int or None, default=None
        Number of threads of each model.
    max_depth, max_leaf_nodes, min_samples_leaf
        Limits of single trees, as in :class:`boscage.TopDownTreeClassifier`.
    metric : str or None, default=None
        The metric that ranks the models and is tested: "accuracy", "log_loss", "auc" or "balanced_accuracy"; for
        regression "rmse", "mae" or "r2". None means "accuracy", or "rmse" for regression. All of them are computed.
    """

    folds: int = 5
    repeats: int = 1
    seed: int = 0
    n_jobs: int | None = None
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 1
    metric: str | None = None

    @property
    def limits(self) -> dict[str, Any]:
        """The limits as parameters of an estimator."""
        return {name: getattr(self, name) for name in ("max_depth", "max_leaf_nodes", "min_samples_leaf")}

    def metric_of(self, task: Task) -> Metric:
        """Return the metric that ranks the contenders of a task.

        Parameters
        ----------
        task : Task
            The data.
        """
        assert task.kind is not None
        return check_metric(self.metric, task.kind)


@dataclass(frozen=True)
class Contender:
    """One of the models to compare: a name and a function that makes unfitted estimators.

    Attributes
    ----------
    family, criterion : str
        The two parts of the name.
    make : callable
        Returns a new estimator.
    is_part : bool, default=False
        Whether ``family`` and ``criterion`` are names for ``splits`` and ``criterion`` of a tree.
    prepared : str, default=""
        What is done to the columns before the estimator sees them.
    unavailable : str, default=""
        Why it cannot run on the task; empty if it can.
    """

    family: str
    criterion: str
    make: Callable[[], Any] = field(repr=False, compare=False)
    is_part: bool = False
    prepared: str = ""
    unavailable: str = ""

    @property
    def name(self) -> str:
        """Family and criterion, separated by a space."""
        return f"{self.family} {self.criterion}".strip()


@dataclass
class Result:
    """The results of one contender over all folds.

    Attributes
    ----------
    family, criterion : str
        The two parts of the contender's name.
    scores : dict of list of float
        For each metric the values, one for each fold.
    leaves, depth : list of int
        Size of the model in each fold; empty for models that are not trees.
    fit_seconds, predict_seconds : list of float
        Time in each fold.
    warnings : list of str
        Warnings of the fits.
    error : str
        Why it failed or could not run; empty if it ran.
    metric : str
        The metric that ranks.
    prepared : str
        What was done to the columns before the estimator saw them.
    was_run : bool
        False if it could not run.
    """

    family: str
    criterion: str
    scores: dict[str, list[float]] = field(default_factory=dict)
    leaves: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    fit_seconds: list[float] = field(default_factory=list)
    predict_seconds: list[float] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: str = ""
    metric: str = "accuracy"
    prepared: str = ""
    was_run: bool = True

    @property
    def name(self) -> str:
        """Family and criterion, separated by a space."""
        return f"{self.family} {self.criterion}".strip()

    @property
    def score(self) -> list[float]:
        """The values of the metric that ranks, one for each fold."""
        return self.scores.get(self.metric, [])

    @property
    def measured_by(self) -> Metric:
        """The metric that ranks."""
        return METRICS[self.metric]

    @property
    def status(self) -> str:
        """Whether it is "ok", "failed" or "not run"."""
        return "ok" if not self.error else "failed" if self.was_run else "not run"

    def values(self, what: str) -> list[float]:
        """Return a metric, or one of the other lists, by fold.

        Parameters
        ----------
        what : str
            A metric, or "leaves", "depth", "fit_seconds" or "predict_seconds".
        """
        return self.scores.get(what, []) if what in METRICS else getattr(self, what)

    def mean(self, what: str) -> float | None:
        """Return the mean over the folds, None if there are no values (a linear model has no leaves).

        Parameters
        ----------
        what : str
            A metric, or "leaves", "depth", "fit_seconds" or "predict_seconds".
        """
        values = self.values(what)
        return float(np.mean(values)) if values else None

    def sd(self, what: str) -> float | None:
        """Return the standard deviation over the folds, None for a single fold.

        Parameters
        ----------
        what : str
            A metric, or "leaves", "depth", "fit_seconds" or "predict_seconds".
        """
        values = self.values(what)
        return float(np.std(values, ddof=1)) if len(values) > 1 else None


Provider = Callable[[Task, Settings], Iterable[Contender]]
