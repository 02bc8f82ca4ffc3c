"""What the online classifiers check before they learn, and rows in the form their core takes."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from scipy import sparse

from boscage import _core
from boscage.base.threads import n_threads

_SCALINGS = ("auto", "center", "unit")
_INTEGERS = {
    "n_passes": (1, 10**6),
    "flat_below": (0, 2**31 - 1),
    "beam_width": (1, 2**20),
    "n_trees": (1, 1000),
    "replay_size": (0, 2**20),
    "max_class_records": (2, 2**31 - 1),
    "max_internal_nodes": (1, 2**29 - 1),
}


def check_options(model: Any) -> None:
    """Refuse parameters of an online classifier that are out of range."""
    given = vars(model)  # get_params takes longer than a small batch
    scaling, weights = given["scaling"], given["class_weight"]
    if not isinstance(scaling, str) or scaling not in _SCALINGS:
        raise ValueError(f"scaling={scaling!r} is not known. Pass one of {', '.join(map(repr, _SCALINGS))}.")
    for name, (low, high) in _INTEGERS.items():
        value = given.get(name, low)
        if name == "max_internal_nodes" and value is None:
            continue
        if not is_integer(value) or not low <= value <= high:
            none = "None or " if name == "max_internal_nodes" else ""
            raise ValueError(f"{name}={value!r} is not allowed. Pass {none}an integer from {low} to {high}.")
    rate, resistance = given["learning_rate"], given.get("swap_resistance", 0)
    if not _is_real(rate) or not 0 < rate <= 1e6:
        raise ValueError(f"learning_rate={rate!r} is not allowed. Pass a number in (0, 1e6].")
    if not _is_real(resistance) or not 0 <= resistance < math.inf:
        raise ValueError(f"swap_resistance={resistance!r} is not allowed. Pass a finite number >= 0.")
    if not (weights is None or isinstance(weights, dict) or (isinstance(weights, str) and weights == "balanced")):
        raise ValueError(f"class_weight={weights!r} is not known. Pass a dict, 'balanced' or None.")
    n_threads(given["n_jobs"])


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
    return type(value) is int or (isinstance(value, numbers.Integral) and not isinstance(value, bool))


def _is_real(value: Any) -> bool:
    return type(value) is float or (isinstance(value, numbers.Real) and not isinstance(value, bool))
