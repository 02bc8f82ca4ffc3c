"""What LOMTreeClassifier checks before it learns, and rows in the form its core takes."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from scipy import sparse

from boscage import _core
from boscage._threads import n_threads

_MODES = ("beam", "lomtree")
_SCALINGS = ("auto", "center", "unit")


def check_options(model: Any) -> None:
    """Refuse parameters of a LOMTreeClassifier that are out of range."""
    for name, allowed in (("mode", _MODES), ("scaling", _SCALINGS)):
        value = getattr(model, name)
        if not isinstance(value, str) or value not in allowed:
            raise ValueError(f"{name}={value!r} is not known. Pass one of {', '.join(map(repr, allowed))}.")
    ranges = {
        "n_passes": (1, 10**6),
        "flat_below": (0, 2**31 - 1),
        "beam_width": (1, 2**20),
        "n_trees": (1, 1000),
        "replay_size": (0, 2**20),
        "max_class_records": (2, 2**31 - 1),
    }
    for name, (low, high) in ranges.items():
        value = getattr(model, name)
        if not is_integer(value) or not low <= value <= high:
            raise ValueError(f"{name}={value!r} is not allowed. Pass an integer from {low} to {high}.")
    nodes, rate, resistance = model.max_internal_nodes, model.learning_rate, model.swap_resistance
    if nodes is not None and (not is_integer(nodes) or not 1 <= nodes < 2**29):
        raise ValueError(f"max_internal_nodes={nodes!r} is not allowed. Pass None or an integer from 1 to 2**29.")
    if rate is not None and (not _is_real(rate) or not 0 < rate <= 1e6):
        raise ValueError(f"learning_rate={rate!r} is not allowed. Pass None or a number in (0, 1e6].")
    if not _is_real(resistance) or not 0 <= resistance < math.inf:
        raise ValueError(f"swap_resistance={resistance!r} is not allowed. Pass a finite number >= 0.")
    weights = model.class_weight
    if not (weights is None or isinstance(weights, dict) or (isinstance(weights, str) and weights == "balanced")):
        raise ValueError(f"class_weight={weights!r} is not known. Pass a dict, 'balanced' or None.")
    n_threads(model.n_jobs)


def row_batch(X: Any) -> Any:
    """Rows as the core takes them; copies only what has another layout."""
    if not sparse.issparse(X):
        return _core.RowBatch(np.ascontiguousarray(X))
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    indices, indptr = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64, copy=False)
    return _core.RowBatch(np.ascontiguousarray(X.data), indices, indptr, X.shape[1])


def check_rows_match(matrix: Any, labels: Any) -> None:
    """Refuse X and y of different lengths."""
    if matrix.shape[0] != len(labels):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[matrix.shape[0], len(labels)]}"
        )


def is_integer(value: Any) -> bool:
    """Whether a value is an integer and not a truth value."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
