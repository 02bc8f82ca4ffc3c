"""Prediction with a finished tree: functions of ``(tree, X, n_jobs)``, where the compiled half does the walking.

``X`` is what validation returns: a float32 or float64 matrix in any order, or a CSR matrix. Each row is worked out
alone, so results depend neither on the batch a row came in nor on the number of threads.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state

from boscage import _core
from boscage.base.threads import n_threads
from boscage.tree import Floats, InputMap, Int64s, Tree

_FEW_ROWS = 1024
_FEW_TESTS = 4
_SLICE = 2048  # rows of one product
_SMALL_SQUARE = 1e-200
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def native_view(tree: Tree) -> Any:
    """Hand the tree's arrays, flattened, to the compiled half; it verifies what memory safety needs."""
    weights: Any = tree.weights
    is_sparse = sparse.issparse(weights)
    models, row_map = tree.leaf_models, tree.input_map or InputMap()
    arrays = SimpleNamespace(
        **{
            name: getattr(tree, name)
            for name in (
                "children_left",
                "children_right",
                "feature",
                "threshold",
                "missing_go_to_left",
                "category_offset",
                "category_bits",
                "linear_row",
                "routing",
            )
        },
        n_classes=tree.n_outputs,
        **{name: getattr(row_map, name) for name in ("fill", "code_offset", "codes", "shift", "scale")},
        constant=row_map.constant,
        unit_rows=row_map.unit_rows,
        n_categories=tree.schema.n_categories,
        value=tree.value.reshape(-1),
        leaf_value=None if tree.leaf_value is None else tree.leaf_value.reshape(-1),
        coef=None if models is None else models.coef.reshape(-1),
        intercept=None if models is None else models.intercept.reshape(-1),
        low=None if models is None or models.low is None else models.low.reshape(-1),
        high=None if models is None or models.high is None else models.high.reshape(-1),
        is_numbers=tree.target == "numbers",
        weight_rows=weights.shape[0],
        weight_columns=weights.shape[1],
        weights=None if is_sparse else weights.reshape(-1),
        weight_data=weights.data if is_sparse else None,
        weight_indices=weights.indices.astype(np.int64) if is_sparse else None,
        weight_offsets=weights.indptr.astype(np.int64) if is_sparse else None,
    )
    return _core.Predictor(arrays)


def thread_count(n_jobs: int | None, rows: int) -> int:
    """Translate ``n_jobs``; a few rows are never worth a second thread."""
    return 1 if rows <= _FEW_ROWS else n_threads(n_jobs)


def _native_args(tree: Tree, X: Any) -> tuple[Any, ...]:
    """Take ``X`` apart for the compiled half: the matrix itself, or the three arrays of a CSR matrix."""
    if isinstance(X, np.ndarray):
        if X.ndim == 2 and X.shape[1] == tree.schema.n_features and X.dtype in _FLOATS:
            return (X,)
    elif sparse.issparse(X) and X.format == "csr" and X.shape[1] == tree.n_features and X.dtype in _FLOATS:
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        offsets = X.indptr if X.indptr.dtype == X.indices.dtype else X.indptr.astype(X.indices.dtype)
        return X.data, X.indices, offsets
    kind = f"{X.dtype} of shape {X.shape}" if hasattr(X, "shape") and hasattr(X, "dtype") else type(X).__name__
    raise ValueError(
        f"X must be a float32 or float64 array or CSR matrix with {tree.n_features} columns, got {kind}. "
        "Estimators convert other tables; pass them there."
    )


def apply(tree: Tree, X: Any, n_jobs: int | None = 1) -> Int64s:
    """Node number of the leaf each row ends in; for soft trees the leaf of largest reach, lowest number on ties."""
    leaf: Int64s = tree._native.apply(*_native_args(tree, X), thread_count(n_jobs, X.shape[0]))
    return leaf


def predict_class(tree: Tree, X: Any, n_jobs: int | None = 1) -> Int64s:
    """Index of the class of largest probability for each row, lowest on ties."""
    if _by_product(tree, X):
        best: Int64s = _proba_by_product(tree, X, n_jobs).argmax(axis=1)
        return best
    index: Int64s = tree._native.classes(*_native_args(tree, X), thread_count(n_jobs, X.shape[0]))
    return index


def predict_proba(tree: Tree, X: Any, n_jobs: int | None = 1) -> Floats:
    """Class probabilities, rows × classes (numbers, rows × outputs): the leaf's, or their average by reach."""
    if _by_product(tree, X):
        return _proba_by_product(tree, X, n_jobs)
    proba: Floats = tree._native.proba(*_native_args(tree, X), thread_count(n_jobs, X.shape[0]))
    return proba


def predict_numbers(tree: Tree, X: Any, n_jobs: int | None = 1) -> Floats:
    """Numbers of a tree of numbers: one for each row, or rows × outputs if there are several."""
    numbers = predict_proba(tree, X, n_jobs)
    return numbers[:, 0] if tree.n_outputs == 1 else numbers


def leaf_reach(tree: Tree, X: Any, n_jobs: int | None = 1) -> Floats:
    """Rows × leaves: the probability of each row to reach each leaf, leaves in node order."""
    reach: Floats = tree._native.leaf_reach(*_native_args(tree, X), thread_count(n_jobs, X.shape[0]))
    return reach


def _by_product(tree: Tree, X: Any) -> bool:
    """Whether many rows meet many soft tests, so that one matrix product beats walking row by row."""
    if tree.routing == "hard" or not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] != tree.n_features:
        return False
    row_map = tree.input_map or InputMap()
    return (
        X.shape[0] >= _FEW_ROWS
        and tree.weights.shape[0] >= _FEW_TESTS
        and X.dtype in _FLOATS
        and row_map.fill is None
        and row_map.codes is None
        and bool(tree._native.takes_scores())
    )


def _proba_by_product(tree: Tree, X: Any, n_jobs: int | None) -> Floats:
    """Scores of all tests by BLAS, a slice of rows at a time; reach and averages in the compiled half."""
    proba: Floats = np.empty((X.shape[0], tree.n_outputs))
    threads = thread_count(n_jobs, X.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, X.shape[0], _SLICE):
            rows = X[start : start + _SLICE]
            seen = _seen(tree, rows)
            scores = None if seen is None else tree.weights @ seen.T
            if scores is None or not np.isfinite(scores.sum()):  # single rows survive what overflows
                proba[start : start + _SLICE] = tree._native.proba(rows, threads)
            else:
                proba[start : start + _SLICE] = tree._native.soft_proba(scores, threads)
    return proba


def _seen(tree: Tree, X: Any) -> Floats | None:
    """Rows as linear tests see them; None if a norm is too large or too small to be squared."""
    row_map = tree.input_map or InputMap()
    Z: Floats = np.empty((X.shape[0], tree.n_columns))
    body = Z[:, : X.shape[1]]
    body[...] = X
    if row_map.shift is not None:
        body -= row_map.shift
    if row_map.scale is not None:
        body *= row_map.scale
    if row_map.constant is not None:
        Z[:, -1] = row_map.constant
    if row_map.unit_rows:
        squares = np.einsum("ij,ij->i", Z, Z)
        if not (squares.min() > _SMALL_SQUARE and squares.max() < 1 / _SMALL_SQUARE):
            return None
        Z /= np.sqrt(squares)[:, None]
    return Z


def _path_matrix(tree: Tree, parts: tuple[npt.NDArray[Any], ...], rows: int) -> sparse.csr_matrix:
    reach, nodes, offsets = parts
    if offsets[-1] <= np.iinfo(np.int32).max:
        offsets = offsets.astype(np.int32)
    return sparse.csr_matrix((reach, nodes, offsets), shape=(rows, tree.node_count))


def decision_path(tree: Tree, X: Any, n_jobs: int | None = 1) -> sparse.csr_matrix:
    """Probability that each row reaches each node, as a CSR matrix rows × nodes; 0 and 1 for hard trees."""
    parts = tree._native.paths(*_native_args(tree, X), thread_count(n_jobs, X.shape[0]), None)
    return _path_matrix(tree, parts, X.shape[0])


def sample_path(tree: Tree, X: Any, random_state: Any = None, n_jobs: int | None = 1) -> sparse.csr_matrix:
    """One path for each row, drawn with the probabilities of the tree, as a 0/1 CSR matrix rows × nodes."""
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int64).max, dtype=np.int64))
    parts = tree._native.paths(*_native_args(tree, X), thread_count(n_jobs, X.shape[0]), seed)
    return _path_matrix(tree, parts, X.shape[0])


def needs_numbers(tree: Tree) -> bool:
    """Whether a missing value would make some test or leaf model meaningless."""
    if tree.input_map is not None and tree.input_map.fill is not None:
        return False
    return bool(tree.weights.shape[0]) or tree.leaf_models is not None
