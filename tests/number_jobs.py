"""Jobs of trees of numbers, made by hand: the engine without an estimator."""

import numpy as np

from boscage.base.component import resolve
from boscage.data.validation import Dataset
from boscage.data.weights import snap_weights
from boscage.engine.grow import Job, Limits


def number_data(X, y, weight=None, n_categories=None):
    """Checked data of numbers: rows of weight 0 are left out, weights lie on their grid."""
    X = X if hasattr(X, "tocsr") else np.asarray(X)
    y = np.ascontiguousarray(y, dtype=np.float64)
    if weight is not None:
        weight = np.asarray(weight, np.float64)
        X, y, weight = X[np.flatnonzero(weight)], y[weight > 0], snap_weights(weight[weight > 0])
    if n_categories is None:
        n_categories = np.zeros(X.shape[1], np.int64)
    categories = tuple(tuple(range(count)) if count else None for count in n_categories) if any(n_categories) else None
    values = X.data if hasattr(X, "tocsr") else X
    missing = bool(np.isnan(values).any())
    return Dataset(X, y, np.empty(0), weight, np.asarray(n_categories, np.int64), categories, None, missing)


def number_job(data, criterion="squared_error", splits="axis", growth="best_first", limits=None, **settings):
    """A job of checked data; parts by name or as objects."""
    parts = {"criterion": criterion, "growth": growth, "splits": splits}
    parts = {role: resolve(role, part) for role, part in parts.items()}
    settings = {"seed": 0, "threads": 1} | settings
    return Job(data=data, limits=limits or Limits(), **parts, **settings)


def grow_numbers(X, y, weight=None, n_categories=None, limits=None, **parts):
    """Grow a tree of numbers."""
    job = number_job(number_data(X, y, weight, n_categories), limits=Limits(**(limits or {})), **parts)
    return job.splits.grow(job)
