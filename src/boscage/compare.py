"""Cross-validated comparison of every tree that exists here, next to scikit-learn's own.

A *task* is a labelled table, a *contender* a named way to make an estimator for it, a *result* what the folds gave.
Contenders come from providers; the one for `TopDownTreeClassifier` walks the registry of parts, so a split family or
criterion that is added there appears here by itself. Showing and storing results is the business of others.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
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
    """

    name: str
    X: Any
    y: NDArray[Any]
    categorical_features: tuple[int, ...] = ()
    origin: str = ""

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


def top_down_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """Every registered split family with each criterion that goes with it; categories one-hot coded if need be."""
    from sklearn.pipeline import make_pipeline

    from boscage import TopDownTreeClassifier
    from boscage._component import IncompatibleParts, check_compatible, data_fact, names, resolve

    facts = data_fact(task.n_classes, has_missing=task.has_missing)
    limits = settings.limits | {"n_jobs": settings.n_jobs, "random_state": settings.seed, "verbose": False}

    def tree(parts: dict[str, Any], takes_categories: bool) -> Any:
        if takes_categories or not task.categorical_features:
            categorical = list(task.categorical_features) or None
            return TopDownTreeClassifier(**parts, categorical_features=categorical)
        return make_pipeline(*_preparation(task, linear=False), TopDownTreeClassifier(**parts))

    for family in names("splits"):
        for criterion in names("criterion"):
            splits: Any = resolve("splits", family)
            try:
                check_compatible(splits=splits, criterion=resolve("criterion", criterion), data=facts)
            except IncompatibleParts:
                continue
            parts = {"splits": family, "criterion": criterion} | limits
            # A linear test has one weight per column, so it does far better on one-hot codes than on category numbers.
            by_name = splits.allows_categories and "linear tests" not in splits.provides
            yield Contender(family, criterion, partial(tree, parts, by_name), True)


def optimal_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """Give the proven optimal tree of depth 3 (or less), category columns one-hot coded, no missing cells.

    A search that meets its time limit keeps its best tree and says so in a warning.
    """
    from sklearn.pipeline import make_pipeline

    from boscage import OptimalTreeClassifier

    if task.has_missing or issparse(task.X):
        return
    depth = min(settings.max_depth or 3, 3)

    def optimal() -> Any:
        model = OptimalTreeClassifier(max_depth=depth, time_limit=30, n_jobs=settings.n_jobs, verbose=False)
        return make_pipeline(*_preparation(task, linear=False), model)

    yield Contender("optimal", f"depth {depth}", optimal)


def scikit_learn_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """scikit-learn's tree and its logistic regression; both see category columns one-hot coded."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    def tree(criterion: str) -> Any:
        model = DecisionTreeClassifier(criterion=criterion, random_state=settings.seed, **settings.limits)
        return make_pipeline(*_preparation(task, linear=False), model)

    def logistic() -> Any:
        return make_pipeline(*_preparation(task, linear=True), LogisticRegression(max_iter=1000))

    yield Contender("sklearn tree", "gini", lambda: tree("gini"))
    yield Contender("sklearn tree", "entropy", lambda: tree("entropy"))
    yield Contender("sklearn logistic", "", logistic)


PROVIDERS: list[Provider] = [top_down_contenders, optimal_contenders, scikit_learn_contenders]
"""Where contenders come from, in the order they are run."""


def contenders(task: Task, settings: Settings) -> list[Contender]:
    """All contenders that make sense for a task."""
    return [contender for provider in PROVIDERS for contender in provider(task, settings)]


def run_comparison(
    task: Task,
    settings: Settings | None = None,
    chosen: Iterable[Contender] | None = None,
    on_fold: Callable[[Contender], None] | None = None,
) -> Iterator[Result]:
    """Cross-validate contenders one after the other, all on the same folds.

    A contender that fails gives a result with its message and the rest go on. Results come as they are finished, so
    that whoever stops early keeps what is done.

    Parameters
    ----------
    task : Task
        The data.
    settings : Settings, optional
        Folds, seed and limits.
    chosen : iterable of Contender, optional
        Default: all of them.
    on_fold : callable, optional
        Called with the contender after each of its folds.

    Yields
    ------
    Result
        One for each contender.

    Examples
    --------
    >>> from boscage.compare import Settings, Task, run_comparison, scikit_learn_contenders
    >>> from boscage.datasets import load_dataset
    >>> iris = load_dataset("iris")
    >>> task, settings = Task("iris", iris.X, iris.y), Settings(folds=3)
    >>> for result in run_comparison(task, settings, scikit_learn_contenders(task, settings)):
    ...     print(result.name, len(result.accuracy))
    sklearn tree gini 3
    sklearn tree entropy 3
    sklearn logistic 3
    """
    settings = settings or Settings()
    folds = _folds(task, settings)
    for contender in contenders(task, settings) if chosen is None else chosen:
        yield _cross_validate(contender, task, folds, on_fold)


def _folds(task: Task, settings: Settings) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    from sklearn.model_selection import RepeatedStratifiedKFold

    most = int(np.unique(task.y, return_counts=True)[1].max())
    if task.n_classes < 2:
        raise ValueError(f"{task.name}: all labels are the same; a comparison needs at least two classes")
    if not 2 <= settings.folds <= most:
        raise ValueError(f"folds={settings.folds} is not possible with {task.name}; pass a number from 2 to {most}")
    cut = RepeatedStratifiedKFold(n_splits=settings.folds, n_repeats=settings.repeats, random_state=settings.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds is simply absent from some
        return list(cut.split(np.zeros(len(task.y)), task.y))


def _cross_validate(
    contender: Contender,
    task: Task,
    folds: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
    on_fold: Callable[[Contender], None] | None,
) -> Result:
    result = Result(contender.family, contender.criterion)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for train, test in folds:
                _one_fold(contender.make(), task, train, test, result)
                if on_fold is not None:
                    on_fold(contender)
        except Exception as error:  # whatever went wrong is the result
            message = " ".join(str(error).split())
            result = Result(contender.family, contender.criterion, error=message or type(error).__name__)
    result.warnings = sorted({f"{entry.category.__name__}: {entry.message}" for entry in caught})
    return result


def _one_fold(model: Any, task: Task, train: NDArray[np.int64], test: NDArray[np.int64], result: Result) -> None:
    X, y, X_test = task.X[train], task.y[train], task.X[test]
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    last = model[-1] if hasattr(model, "steps") else model
    if getattr(last, "status_", "") == "interrupted":
        raise KeyboardInterrupt  # the optimal search keeps its best tree on Ctrl-C; here the user means the comparison
    predicted = model.predict(X_test)
    done = time.perf_counter()
    result.fit_seconds.append(fitted - start)
    result.predict_seconds.append(done - fitted)
    result.accuracy.append(float(np.mean(predicted == task.y[test])))
    if hasattr(last, "get_n_leaves"):
        result.leaves.append(int(last.get_n_leaves()))
        result.depth.append(int(last.get_depth()))


def _preparation(task: Task, *, linear: bool) -> list[Any]:
    """Pipeline steps for a model of plain numbers: fill and scale if it is linear, one-hot categories."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    steps: list[Any] = []
    if linear:
        fill = [SimpleImputer()] if task.has_missing else []
        steps = [*fill, StandardScaler(with_mean=not issparse(task.X))]
    if not task.categorical_features:
        return steps
    numeric = [j for j in range(task.X.shape[1]) if j not in task.categorical_features]
    numbers = make_pipeline(*steps) if steps else "passthrough"
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return [make_column_transformer((one_hot, list(task.categorical_features)), (numbers, numeric))]
