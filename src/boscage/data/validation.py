"""Checks of what users pass as X, y and sample_weight.

`fit_data` makes a `Dataset` for learning, `predict_data` a matrix for prediction. Neither changes the estimator;
`publish` sets the attributes of a fit that has succeeded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from boscage.data.categories import Label
from boscage.data.column_kinds import NUMBERS_ONLY, CategoryRule, as_table, called, is_table
from boscage.data.columns import FLOATS, Columns, columns_of
from boscage.data.labels import encode_labels
from boscage.data.targets import encode_numbers, warn_if_numbers
from boscage.data.weights import apply_class_weight, check_sample_weight, snap_weights
from boscage.tree import Schema, Target

Matrix = Any


_BLOCK = 1 << 16  # rows


@dataclass(frozen=True, eq=False)
class Dataset:
    """Checked training data.

    Attributes
    ----------
    X : ndarray of float32 or float64, shape (n, d), or CSR matrix
        The user's own array where it was one of floats. Categories are codes 0..C−1, missing values NaN.
    y : ndarray of int32, or of float64 and C-contiguous
        Class codes, shape (n,); or numbers, shape (n,) or (n, m).
    classes : ndarray
        The classes, sorted, from all of the user's y; empty if y holds numbers.
    weight : ndarray of float64 or None
        Positive, on the grid of `snap_weights`; None if every row counts 1.
    n_categories : ndarray of int64, shape (d,)
        Number of categories, 0 for a numeric column.
    categories : tuple or None
        Per column None or the labels in the order of their codes; None if no column is categorical.
    feature_names : tuple of str or None
        The columns' names if all are strings.
    has_missing : bool
        Whether X holds NaN.
    missing : ndarray of bool or None, shape (d,)
        Which columns hold NaN; None if none does.
    kept : ndarray of int64 or None
        Numbers of the rows in the user's X; None if all were kept.
    n_given : int
        Rows of the user's X.
    """

    X: Matrix
    y: npt.NDArray[Any]
    classes: npt.NDArray[Any]
    weight: npt.NDArray[np.float64] | None
    n_categories: npt.NDArray[np.int64]
    categories: tuple[tuple[Label, ...] | None, ...] | None
    feature_names: tuple[str, ...] | None
    has_missing: bool
    kept: npt.NDArray[np.int64] | None = None
    n_given: int = 0
    missing: npt.NDArray[np.bool_] | None = None

    @property
    def schema(self) -> Schema:
        """The columns as a tree remembers them."""
        columns = self.feature_names, self.n_categories, self.categories
        return Schema(self.X.shape[1], self.X.dtype.name, *columns, missing=self.missing)

    @property
    def is_regression(self) -> bool:
        """Whether y holds numbers rather than class codes."""
        return self.y.dtype.kind == "f"

    @property
    def n_outputs(self) -> int:
        """Columns of a tree's values: classes, or numbers predicted for a row."""
        if not self.is_regression:
            return len(self.classes)
        return 1 if self.y.ndim == 1 else int(self.y.shape[1])

    @property
    def mass(self) -> float:
        """Total weight."""
        return float(len(self.y) if self.weight is None else self.weight.sum())


def set_data_attributes(estimator: Any, data: Dataset) -> None:
    """Write classes_, n_features_in_ and feature_names_in_: the last step of a fit, when nothing can fail."""
    if not data.is_regression:
        estimator.classes_ = data.classes
    estimator.n_features_in_ = data.X.shape[1]
    if data.feature_names is not None:
        estimator.feature_names_in_ = np.array(data.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def publish(estimator: Any, data: Dataset, optional: Iterable[str], found: dict[str, Any]) -> None:
    """Set what a fit has found in one step: a reader in another thread sees one fit or the next.

    The attributes are replaced as a whole: without Python's global lock, others see the single changes of a dict.

    Parameters
    ----------
    estimator : estimator
        What was fitted.
    data : Dataset
        What it was fitted to.
    optional : iterable of str
        Attributes that a fit may lack; those of an earlier fit go away.
    found : dict
        Attributes to set, beside those of the data.
    """
    fresh = SimpleNamespace(**found)
    set_data_attributes(fresh, data)
    kept = vars(estimator).copy()
    for name in optional:
        kept.pop(name, None)
    estimator.__dict__ = kept | vars(fresh)


def fit_data(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    target: Target = "classes",
    class_weight: Any = None,
    categories: CategoryRule = NUMBERS_ONLY,
    allow_nan: bool = True,
    accept_sparse: bool = False,
) -> Dataset:
    """Check training data and bring it into the one form the learners know.

    Parameters
    ----------
    estimator : estimator
        Named in messages; not changed.
    X : array-like, table or CSR matrix of shape (n_samples, n_features)
        float32 and float64 arrays are used as they are, in any order; integers of up to 16 bits and booleans become
        float32, everything else float64.
    y : array-like of shape (n_samples,), or (n_samples, n_outputs) for numbers
        Labels or numbers.
    sample_weight : array-like of shape (n_samples,), optional
        Rows of weight 0 are left out.
    target : {"classes", "numbers"}
        What y holds.
    class_weight : dict, "balanced" or None
        Multiplies the weights.
    categories : CategoryRule, default=NUMBERS_ONLY
        Which columns are categorical.
    allow_nan, accept_sparse : bool
        What the learner can handle.

    Returns
    -------
    Dataset
    """
    columns = columns_of(estimator, X, categories, accept_sparse=accept_sparse)
    name, n_rows = type(estimator).__name__, columns.n_rows
    codes: npt.NDArray[Any]
    if target == "numbers":
        several = estimator.__sklearn_tags__().target_tags.multi_output
        codes, classes = encode_numbers(y, name, several=several), np.empty(0)
    else:
        codes, classes = encode_labels(y, name)
        warn_if_numbers(classes, n_rows, name)
    if len(codes) != n_rows:
        check_consistent_length(X, y)
    weight = check_sample_weight(sample_weight, n_rows)
    if class_weight is not None:
        weight = apply_class_weight(class_weight, codes.astype(np.int32, copy=False), classes, weight)
    matrix = columns.matrix
    has_missing = _check_values(estimator, matrix, allow_nan, columns.names)
    rows = None
    if weight is not None:
        if weight.min() <= 0:
            rows = np.flatnonzero(weight)
            weight, codes, matrix = weight[rows], codes[rows], matrix[rows]
        weight = snap_weights(weight)
        weight = None if weight.min() == 1 and weight.max() == 1 else weight
    n_categories = np.zeros(matrix.shape[1], dtype=np.int64)
    levels = None
    if columns.labelled:
        matrix, levels = columns.code(matrix, rows)
        n_categories[:] = [0 if labels is None else len(labels) for labels in levels]
        has_missing = _check_values(estimator, matrix, allow_nan)
    names = None if columns.names is None else tuple(columns.names.tolist())
    missing = missing_columns(matrix) if has_missing else None
    return Dataset(matrix, codes, classes, weight, n_categories, levels, names, has_missing, rows, n_rows, missing)


def missing_columns(X: Matrix) -> npt.NDArray[np.bool_] | None:
    """Return which columns hold NaN; None if none does."""
    found = np.zeros(X.shape[1], np.bool_)
    if sparse.issparse(X):
        found[X.indices[np.isnan(X.data)]] = True
    else:
        for begin in range(0, X.shape[0], _BLOCK):
            found |= np.isnan(X[begin : begin + _BLOCK]).any(axis=0)
    return found if found.any() else None


def predict_data(estimator: Any, X: Any, *, accept_sparse: bool = False) -> Matrix:
    """Check rows for prediction against the columns of the fit.

    Parameters
    ----------
    estimator : estimator
        Fitted: it has ``tree_`` or ``trees_`` (for the schema) and ``n_features_in_``.
    X : array-like, table or CSR matrix of shape (n_samples, n_features)
        float32 and float64 arrays are used as they are.
    accept_sparse : bool
        Whether the tree can handle sparse rows.

    Returns
    -------
    ndarray of float32 or float64, or CSR matrix
        Categories as codes, unseen ones NaN.
    """
    fitted = estimator.__dict__
    trees = fitted.get("trees_")
    if trees is None and "tree_" not in fitted:
        check_is_fitted(estimator, "tree_")
    schema: Schema = (estimator.tree_ if trees is None else trees).schema
    if (
        type(X) is np.ndarray
        and X.dtype in FLOATS
        and X.ndim == 2
        and X.shape[1] == fitted["n_features_in_"]
        and X.shape[0] > 0
        and "feature_names_in_" not in fitted
        and schema.categories is None
    ):
        if not _is_finite(X):
            _check_values(estimator, X, estimator.__sklearn_tags__().input_tags.allow_nan)
        return X
    named = schema.categories and [j for j, labels in enumerate(schema.categories) if labels is not None]
    rule = CategoryRule(named or None, allowed=True, is_fitted=True)
    columns = _fitted_columns(estimator, X, rule, accept_sparse, schema.n_features)
    if not sparse.issparse(columns.matrix) and schema.categories is None and _is_finite(columns.matrix):
        return columns.matrix
    allow_nan = bool(estimator.__sklearn_tags__().input_tags.allow_nan)
    _check_values(estimator, columns.matrix, allow_nan, columns.names)
    if schema.categories is None:
        return columns.matrix
    coded = columns.recode(schema.categories, schema.dtype)
    _check_values(estimator, coded, allow_nan)
    return coded


def _fitted_columns(estimator: Any, X: Any, rule: CategoryRule, accept_sparse: bool, width: int | None) -> Columns:
    """Return the columns of X after a check of their names and number against those of the fit."""
    if is_table(X):
        X = as_table(X)
        validate_data(estimator, X, reset=False, skip_check_array=True)
        return columns_of(estimator, X, rule, accept_sparse=accept_sparse, width=width)
    columns = columns_of(estimator, X, rule, accept_sparse=accept_sparse, width=width)
    validate_data(estimator, columns.matrix, reset=False, skip_check_array=True)
    return columns


def plain_rows(estimator: Any, X: Any) -> Matrix:
    """Check rows without categories or missing values against the columns of an earlier fit.

    Parameters
    ----------
    estimator : estimator
        Has ``n_features_in_`` and perhaps ``feature_names_in_``; not changed.
    X : array-like, table or sparse matrix of shape (n_samples, n_features)
        float32 and float64 arrays are used as they are.

    Returns
    -------
    ndarray of float32 or float64, or CSR matrix
        Finite.
    """
    rule = CategoryRule(is_fitted=True)
    matrix = _fitted_columns(estimator, X, rule, True, None).matrix
    _check_values(estimator, matrix, False)
    return matrix


def _is_finite(values: npt.NDArray[Any]) -> bool:
    """One pass without memory: a finite sum has finite terms (the opposite is not true)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def check_values(name: str, matrix: npt.NDArray[Any], allow_nan: bool) -> bool:
    """Refuse infinities, and NaN where not allowed; return whether there is NaN. ``name`` is that of the estimator."""
    return _check_values(type(name, (), {"splits": None})(), matrix, allow_nan)


def _check_values(estimator: Any, matrix: Matrix, allow_nan: bool, names: npt.NDArray[Any] | None = None) -> bool:
    """Refuse infinities, and NaN where not allowed; return whether there is NaN."""
    values = matrix.data if sparse.issparse(matrix) else matrix
    if values.size == 0 or _is_finite(values):
        return False
    name = type(estimator).__name__
    if np.fmax.reduce(values, axis=None) == np.inf or np.fmin.reduce(values, axis=None) == -np.inf:
        raise ValueError(
            f"Input X contains infinity or a value too large for {values.dtype!r}{_place(matrix, names)}: {name} needs "
            "finite numbers. Replace infinities, for example by NaN (missing) or by the largest finite value."
        )
    has_nan = bool(np.isnan(values.min()))
    if has_nan and not allow_nan:
        raise ValueError(
            f"Input X contains NaN. {called(estimator)} does not accept missing values. "
            "Impute first, for example with sklearn.impute.SimpleImputer."
        )
    return has_nan


def _place(matrix: Matrix, names: npt.NDArray[Any] | None) -> str:
    """Say where the first infinity is."""
    if sparse.issparse(matrix):
        return ""
    row, column = (int(place) for place in np.argwhere(np.isinf(matrix))[0])
    return f" (row {row}, column {column if names is None else repr(names[column])})"
