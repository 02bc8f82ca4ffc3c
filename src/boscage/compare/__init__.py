"""Cross-validated comparison of every tree that exists here, next to scikit-learn's models and to installed peers.

A *task* is a table with a target, a *contender* a named way to make an estimator for it, a *result* what the folds
gave. Contenders come from providers; the one for single trees walks the registry of parts, so a split
family or criterion that is added there appears here by itself. Showing and storing results is the business of others.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boscage.base.threads import n_threads
from boscage.compare._contenders import (
    PROVIDERS,
    contenders,
    forest_contenders,
    online_contenders,
    optimal_contenders,
    peer_contenders,
    scikit_learn_contenders,
    top_down_contenders,
    tuned_contenders,
)
from boscage.compare._metrics import METRICS, Metric, class_scores, number_scores
from boscage.compare._stats import Standing, TradeOff, corrected_t_test, standings, trade_off
from boscage.compare._types import Contender, Provider, Result, Settings, Task

__all__ = [
    "METRICS",
    "PROVIDERS",
    "Contender",
    "Metric",
    "Provider",
    "Result",
    "Settings",
    "Standing",
    "Task",
    "TradeOff",
    "contenders",
    "corrected_t_test",
    "forest_contenders",
    "online_contenders",
    "optimal_contenders",
    "peer_contenders",
    "run_comparison",
    "scikit_learn_contenders",
    "standings",
    "top_down_contenders",
    "trade_off",
    "tuned_contenders",
]


def run_comparison(
    task: Task,
    settings: Settings | None = None,
    chosen: Iterable[Contender] | None = None,
    on_fold: Callable[[Contender], None] | None = None,
) -> Iterator[Result]:
    """Cross-validate contenders one after the other, all on the same folds.

    A contender that fails or cannot run yields a result with an error message, and the others continue. Results are
    yielded as they finish, so nothing is lost if the comparison is interrupted.

    Parameters
    ----------
    task : Task
        The data.
    settings : Settings, optional
        Folds, seed, limits and metric.
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
    ...     print(result.name, len(result.scores["accuracy"]))
    sklearn tree gini 3
    sklearn tree entropy 3
    sklearn logistic 3
    sklearn forest 3
    sklearn boosting 3
    """
    settings = settings or Settings()
    metric = settings.metric_of(task)
    folds = _folds(task, settings)
    for contender in contenders(task, settings) if chosen is None else chosen:
        if contender.unavailable:
            yield _empty(contender, metric, contender.unavailable, was_run=False)
        else:
            yield _cross_validate(contender, task, metric, settings.n_jobs, folds, on_fold)


def check_folds(task: Task, settings: Settings) -> None:
    """Refuse a number of folds, or a target, that allows no cross-validation."""
    most = len(task.y) if task.is_regression else int(np.unique(task.y, return_counts=True)[1].max())
    if not task.is_regression and task.n_classes < 2:
        raise ValueError(f"{task.name}: all labels are the same; a comparison needs at least two classes")
    if not 2 <= settings.folds <= most:
        remedy = f"pass a number from 2 to {most}"
        if most < 2:
            remedy = "it has one row" if task.is_regression else "every row has a class of its own"
        raise ValueError(f"folds={settings.folds} is not possible with {task.name}; {remedy}")


def _folds(task: Task, settings: Settings) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

    check_folds(task, settings)
    kind = RepeatedKFold if task.is_regression else RepeatedStratifiedKFold
    cut = kind(n_splits=settings.folds, n_repeats=settings.repeats, random_state=settings.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds is simply absent from some
        return list(cut.split(np.zeros(len(task.y)), task.y))


def _empty(contender: Contender, metric: Metric, error: str = "", *, was_run: bool = True) -> Result:
    return Result(
        contender.family,
        contender.criterion,
        error=error,
        metric=metric.name,
        prepared=contender.prepared,
        was_run=was_run,
    )


def _cross_validate(
    contender: Contender,
    task: Task,
    metric: Metric,
    n_jobs: int | None,
    folds: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
    on_fold: Callable[[Contender], None] | None,
) -> Result:
    result = _empty(contender, metric)
    with _threads(n_jobs), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for train, test in folds:
                _one_fold(contender.make(), task, train, test, result)
                if on_fold is not None:
                    on_fold(contender)
            _keep_complete(result, len(folds))
        except Exception as error:  # whatever went wrong is the result
            message = " ".join(str(error).split())
            result = _empty(contender, metric, message or type(error).__name__)
    result.warnings = sorted({f"{entry.category.__name__}: {entry.message}" for entry in caught})
    return result


def _threads(n_jobs: int | None) -> Any:
    """Let models that take no n_jobs, such as scikit-learn's boosting, use as many threads as the others."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(n_threads(n_jobs))


def _keep_complete(result: Result, folds: int) -> None:
    """Drop what could not be measured on every fold; it is a failure if the contenders are ranked by it."""
    result.scores = {name: values for name, values in result.scores.items() if len(values) == folds}
    if result.metric not in result.scores:
        why = "some test fold has one class only" if "log_loss" in result.scores else "it predicts no probabilities"
        raise ValueError(f"{result.measured_by.label} cannot be computed: {why}")


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
    if task.is_regression:
        scores = number_scores(task.y[test], predicted)
    else:
        scores = class_scores(task.y[test], predicted, _probabilities(model, task, X_test), task.classes)
    for name, value in scores.items():
        result.scores.setdefault(name, []).append(value)
    if hasattr(last, "get_n_leaves") and not hasattr(last, "estimators_"):
        result.leaves.append(int(last.get_n_leaves()))
        result.depth.append(int(last.get_depth()))


def _probabilities(model: Any, task: Task, X: Any) -> NDArray[np.float64] | None:
    """Return probabilities of all classes of the task; a class that was not trained on has probability 0."""
    if not hasattr(model, "predict_proba"):
        return None
    proba: NDArray[np.float64] = np.zeros((X.shape[0], task.n_classes))
    last = model[-1] if hasattr(model, "steps") else model
    proba[:, np.searchsorted(task.classes, last.classes_)] = model.predict_proba(X)
    return proba
