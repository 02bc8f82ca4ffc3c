"""Cross-validated comparison of every tree that exists here, next to scikit-learn's own and to installed peers.

A *task* is a labelled table, a *contender* a named way to make an estimator for it, a *result* what the folds gave.
Contenders come from providers; the one for `TopDownTreeClassifier` walks the registry of parts, so a split family or
criterion that is added there appears here by itself. Showing and storing results is the business of others.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boscage._compare_contenders import (
    PROVIDERS,
    contenders,
    online_contenders,
    optimal_contenders,
    peer_contenders,
    scikit_learn_contenders,
    top_down_contenders,
)
from boscage._compare_stats import Standing, corrected_t_test, standings
from boscage._compare_types import Contender, Provider, Result, Settings, Task

__all__ = [
    "PROVIDERS",
    "Contender",
    "Provider",
    "Result",
    "Settings",
    "Standing",
    "Task",
    "contenders",
    "corrected_t_test",
    "online_contenders",
    "optimal_contenders",
    "peer_contenders",
    "run_comparison",
    "scikit_learn_contenders",
    "standings",
    "top_down_contenders",
]


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
