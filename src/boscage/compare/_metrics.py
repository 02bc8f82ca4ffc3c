"""What a comparison measures on the rows that a model has not seen."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boscage.data.tasks import TaskKind


class Metric(NamedTuple):
    """A measure of predictions.

    Attributes
    ----------
    name : str
        Name for ``metric`` of `Settings`, such as "balanced_accuracy".
    label : str
        Name in tables and pictures.
    kind : {"classification", "regression"}
        The kind of task it is for.
    sign : int
        1 if larger is better, −1 if smaller is better.
    bounds : tuple of float
        Smallest and largest possible value.
    """

    name: str
    label: str
    kind: TaskKind
    sign: int
    bounds: tuple[float, float]


_LIST = (
    Metric("accuracy", "accuracy", "classification", 1, (0.0, 1.0)),
    Metric("log_loss", "log-loss", "classification", -1, (0.0, math.inf)),
    Metric("auc", "AUC", "classification", 1, (0.0, 1.0)),
    Metric("balanced_accuracy", "balanced accuracy", "classification", 1, (0.0, 1.0)),
    Metric("rmse", "RMSE", "regression", -1, (0.0, math.inf)),
    Metric("mae", "MAE", "regression", -1, (0.0, math.inf)),
    Metric("r2", "R²", "regression", 1, (-math.inf, 1.0)),
)
METRICS = {metric.name: metric for metric in _LIST}
"""Every metric by its name; the first of each kind of task is its default."""


def metric_names(kind: TaskKind) -> list[str]:
    """Return the names of the metrics for a kind of task, its default first."""
    return [metric.name for metric in _LIST if metric.kind == kind]


def check_metric(name: str | None, kind: TaskKind) -> Metric:
    """Return a metric by its name, or the default of the task.

    Parameters
    ----------
    name : str or None
        Its name.
    kind : {"classification", "regression"}
        The task it must belong to.
    """
    known = metric_names(kind)
    if name is None:
        return METRICS[known[0]]
    if name not in known:
        raise ValueError(f"metric={name!r} is not known for {kind}; choose from {', '.join(known)}")
    return METRICS[name]


def class_scores(
    y: NDArray[Any], predicted: NDArray[Any], proba: NDArray[np.float64] | None, classes: NDArray[Any]
) -> dict[str, float]:
    """Score predicted classes.

    Parameters
    ----------
    y, predicted : ndarray of shape (n,)
        Labels and predictions.
    proba : ndarray of shape (n, K) or None
        Probabilities in the order of ``classes``. Without them log-loss and AUC are left out.
    classes : ndarray of shape (K,)
        All labels, sorted.
    """
    hit = predicted == y
    codes = np.searchsorted(classes, y)
    rows = np.bincount(codes, minlength=len(classes))
    present = rows > 0
    recall = np.bincount(codes, weights=hit, minlength=len(classes))[present] / rows[present]
    found = {"accuracy": float(hit.mean()), "balanced_accuracy": float(recall.mean())}
    if proba is None:
        return found
    own = proba[np.arange(len(y)), codes]
    found["log_loss"] = float(-np.log(np.clip(own, np.finfo(np.float64).eps, 1.0)).mean())
    if (auc := _auc(codes, proba, present)) is not None:
        found["auc"] = auc
    return found


def _auc(codes: NDArray[np.int64], proba: NDArray[np.float64], present: NDArray[np.bool_]) -> float | None:
    """Area under the ROC curve; for more than two classes the mean of each class against the rest."""
    from sklearn.metrics import roc_auc_score

    judged = np.flatnonzero(present)
    if len(judged) < 2:  # one class alone has no curve
        return None
    if proba.shape[1] == 2:
        return float(roc_auc_score(codes, proba[:, 1]))
    return float(np.mean([roc_auc_score(codes == k, proba[:, k]) for k in judged]))


def number_scores(y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, float]:
    """Score predicted numbers.

    Parameters
    ----------
    y, predicted : ndarray of shape (n,)
        Targets and predictions.
    """
    from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

    found = {
        "rmse": float(root_mean_squared_error(y, predicted)),
        "mae": float(mean_absolute_error(y, predicted)),
    }
    if len(y) > 1:  # R² of one row is not defined
        found["r2"] = float(r2_score(y, predicted))
    return found
