"""The door: the only code that sees what users pass as X, y and sample_weight.

`fit_data` makes a `Dataset` for learning, `predict_data` a matrix for prediction. Neither changes the estimator;
`set_data_attributes` writes what was learned about the columns, once a fit has succeeded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from boscage._categories import (
    Label,
    categorical_columns,
    label_numbers,
    label_objects,
    recode,
    recode_numbers,
    settle,
)
from boscage._frames import Frame, Labelled, as_frame
from boscage._labels import encode_labels
from boscage._weights import apply_class_weight, check_sample_weight, snap_weights
from boscage.tree import Schema

Matrix = Any
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_MAX_ROWS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Dataset:
    """Checked training data.

    Attributes
    ----------
    X : ndarray of float32 or float64, shape (n, d), or CSR matrix
        The user's own array where it was one of floats. Categories are codes 0..C−1, missing values NaN.
    y : ndarray of int32
        Class codes.
    classes : ndarray
        The classes, sorted, from all of the user's y.
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
    """

    X: Matrix
    y: npt.NDArray[np.int32]
    classes: npt.NDArray[Any]
    weight: npt.NDArray[np.float64] | None
    n_categories: npt.NDArray[np.int64]
    categories: tuple[tuple[Label, ...] | None, ...] | None
    feature_names: tuple[str, ...] | None
    has_missing: bool

    @property
    def schema(self) -> Schema:
        """The columns as a tree remembers them."""
        return Schema(self.X.shape[1], self.X.dtype.name, self.feature_names, self.n_categories, self.categories)

    @property
    def mass(self) -> float:
        """Total weight."""
        return float(len(self.y) if self.weight is None else self.weight.sum())


def set_data_attributes(estimator: Any, data: Dataset) -> None:
    """Write classes_, n_features_in_ and feature_names_in_: the last step of a fit, when nothing can fail."""
    estimator.classes_ = data.classes
    estimator.n_features_in_ = data.X.shape[1]
    if data.feature_names is not None:
        estimator.feature_names_in_ = np.array(data.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def fit_data(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    class_weight: Any = None,
    categorical_features: Any = None,
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
    y : array-like of shape (n_samples,)
        Labels.
    sample_weight : array-like of shape (n_samples,), optional
        Rows of weight 0 are left out.
    class_weight : dict, "balanced" or None
        Multiplies the weights.
    categorical_features : None, "from_dtype", or array-like of str, int or bool
        Which columns are categorical.
    allow_nan, accept_sparse : bool
        What the learner can handle.

    Returns
    -------
    Dataset
    """
    columns = _Columns.of(estimator, X, categorical_features, accept_sparse)
    codes, classes = encode_labels(y, type(estimator).__name__)
    n_rows = columns.n_rows
    if len(codes) != n_rows:
        check_consistent_length(X, y)
    weight = check_sample_weight(sample_weight, n_rows)
    weight = apply_class_weight(class_weight, codes, classes, weight)
    matrix = columns.matrix
    has_missing = _check_values(estimator, matrix, allow_nan)
    rows = None
    if weight is not None:
        if weight.min() <= 0:
            rows = np.flatnonzero(weight)
            weight, codes, matrix = weight[rows], codes[rows], matrix[rows]
        weight = snap_weights(weight)
        weight = None if weight.min() == 1 and weight.max() == 1 else weight
    n_categories = np.zeros(matrix.shape[1], dtype=np.int64)
    categories = None
    if columns.labelled:
        matrix, categories = columns.code(matrix, rows)
        n_categories[:] = [0 if labels is None else len(labels) for labels in categories]
        has_missing = _check_values(estimator, matrix, allow_nan)
    names = None if columns.names is None else tuple(columns.names.tolist())
    return Dataset(matrix, codes, classes, weight, n_categories, categories, names, has_missing)


def predict_data(estimator: Any, X: Any, *, accept_sparse: bool = False) -> Matrix:
    """Check rows for prediction against the columns of the fit.

    Parameters
    ----------
    estimator : estimator
        Fitted: it has ``tree_`` (for its schema) and ``n_features_in_``.
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
    if "tree_" not in fitted:
        check_is_fitted(estimator, "tree_")
    schema: Schema = estimator.tree_.schema
    if (
        type(X) is np.ndarray
        and X.dtype in _FLOATS
        and X.ndim == 2
        and X.shape[1] == fitted["n_features_in_"]
        and X.shape[0] > 0
        and "feature_names_in_" not in fitted
        and schema.categories is None
    ):
        if not _is_finite(X):
            _check_values(estimator, X, estimator.__sklearn_tags__().input_tags.allow_nan)
        return X
    is_table = as_frame(X) is not None
    if is_table:
        validate_data(estimator, X, reset=False, skip_check_array=True)
    categorical = schema.categories and [j for j, labels in enumerate(schema.categories) if labels is not None]
    columns = _Columns.of(estimator, X, categorical, accept_sparse, check_width=schema.n_features)
    if not is_table:
        validate_data(estimator, columns.matrix, reset=False, skip_check_array=True)
    allow_nan = bool(estimator.__sklearn_tags__().input_tags.allow_nan)
    _check_values(estimator, columns.matrix, allow_nan)
    if schema.categories is None:
        return columns.matrix
    coded = columns.recode(schema.categories)
    _check_values(estimator, coded, allow_nan)
    return coded


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
    is_table = as_frame(X) is not None
    if is_table:
        validate_data(estimator, X, reset=False, skip_check_array=True)
    matrix = _Columns.of(estimator, X, None, True).matrix
    if not is_table:
        validate_data(estimator, matrix, reset=False, skip_check_array=True)
    _check_values(estimator, matrix, False)
    return matrix


class _Names(BaseEstimator):  # type: ignore[misc]
    """Carries feature names out of scikit-learn's check without touching the user's estimator."""


@dataclass
class _Columns:
    """X as a matrix of numbers, its names, and its categorical columns as codes and labels."""

    matrix: Matrix
    names: npt.NDArray[Any] | None
    frame: Frame | None
    labelled: dict[int, Labelled | None]  # None: a numeric column of the matrix itself

    @property
    def n_rows(self) -> int:
        return int(self.matrix.shape[0])

    def shown(self, column: int) -> str:
        return repr(self.names[column]) if self.names is not None else str(column)

    @classmethod
    def of(
        cls, estimator: Any, X: Any, categorical: Any, accept_sparse: bool, *, check_width: int | None = None
    ) -> _Columns:
        if type(X) is np.ndarray and X.dtype in _FLOATS and X.ndim == 2 and min(X.shape) > 0:
            _check_size(X.shape[0])
            found = {} if categorical is None else dict.fromkeys(_pick(categorical, X.shape[1], check_width))
            return cls(X, None, None, found)
        frame = as_frame(X)
        if sparse.issparse(X):
            return cls(_sparse_matrix(estimator, X, categorical, accept_sparse), None, None, {})
        if frame is None:
            return cls._of_array(estimator, X, categorical, check_width)
        return cls._of_frame(estimator, X, frame, categorical, check_width)

    @classmethod
    def _of_array(cls, estimator: Any, X: Any, categorical: Any, check_width: int | None) -> _Columns:
        if isinstance(X, np.ma.MaskedArray):
            raise TypeError("X is a masked array. Pass X.filled(np.nan), so that masked values count as missing.")
        array = np.asarray(X) if categorical is not None else None
        if array is not None and array.ndim == 2 and array.dtype.kind in "OUT":
            objects = np.asarray(X, dtype=object)
            picked = _pick(categorical, objects.shape[1], check_width)
            labelled: dict[int, Labelled | None] = {j: label_objects(objects[:, j]) for j in picked}
            plain = objects.copy()
            plain[:, picked] = 0.0
            return cls(_numeric_matrix(estimator, plain), None, None, labelled)
        matrix = _numeric_matrix(estimator, X)
        picked = [] if categorical is None else _pick(categorical, matrix.shape[1], check_width)
        return cls(matrix, None, None, dict.fromkeys(picked))

    @classmethod
    def _of_frame(cls, estimator: Any, X: Any, frame: Frame, categorical: Any, check_width: int | None) -> _Columns:
        carrier = _Names()
        validate_data(carrier, X, reset=True, skip_check_array=True)
        names = getattr(carrier, "feature_names_in_", None)
        width = len(frame.names)
        picked = categorical_columns(categorical, width, names, frame) if check_width in (None, width) else []
        numeric = [j for j in range(width) if j not in set(picked)]
        _refuse_text(frame, numeric)
        labelled = {j: None if frame.is_number(j) else frame.labelled(j) for j in picked}
        if all(column is None for column in labelled.values()):
            return cls(_numeric_matrix(estimator, X), names, frame, labelled)
        n_rows = len(X)
        _check_size(n_rows)
        numeric = [j for j in range(width) if labelled.get(j) is None]
        part = _numeric_matrix(estimator, frame.numbers(numeric)) if numeric else np.empty((n_rows, 0), np.float32)
        matrix = np.zeros((n_rows, width), dtype=part.dtype, order="F")
        matrix[:, numeric] = part
        return cls(matrix, names, frame, labelled)

    def code(
        self, matrix: Matrix, rows: npt.NDArray[np.int64] | None
    ) -> tuple[Matrix, tuple[tuple[Label, ...] | None, ...]]:
        """Write codes into a matrix of the kept rows."""
        categories: list[tuple[Label, ...] | None] = [None] * matrix.shape[1]
        coded = matrix.copy(order="K")
        for j, column in self.labelled.items():
            if column is None:
                column = label_numbers(matrix[:, j])
            elif rows is not None:
                column = replace(column, codes=column.codes[rows])
            coded[:, j], categories[j] = settle(column, self.shown(j))
        return coded, tuple(categories)

    def recode(self, categories: tuple[tuple[Label, ...] | None, ...]) -> Matrix:
        """Write the codes of remembered labels."""
        coded = self.matrix.copy(order="K")
        for j, column in self.labelled.items():
            labels = categories[j] or ()
            if column is None:
                coded[:, j] = recode_numbers(self.matrix[:, j], labels, self.shown(j))
            else:
                coded[:, j] = recode(column, labels, self.shown(j))
        return coded


def _pick(categorical: Any, width: int, check_width: int | None) -> list[int]:
    """Categorical columns of an array; none if it has the wrong width, which is refused elsewhere."""
    return categorical_columns(categorical, width, None, None) if check_width in (None, width) else []


def _check_size(n_rows: int) -> None:
    if n_rows > _MAX_ROWS:
        raise ValueError(f"X has {n_rows} rows. At most 2**31 - 1 are supported: fit on a sample or in batches.")


def _refuse_text(frame: Frame, columns: list[int]) -> None:
    wrong = [j for j in columns if frame.kind(j) != "number" and not _holds_numbers(frame, j)]
    if wrong:
        listed = ", ".join(f"{frame.names[j]!r} ({frame.type_name(j)})" for j in wrong[:5])
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise ValueError(
            f"X has columns that are not numeric: {listed}{more}. Name them in categorical_features "
            "('from_dtype' takes all of a categorical type), encode them, or drop them."
        )


def _holds_numbers(frame: Frame, column: int) -> bool:
    """Objects that are numbers are numbers, as everywhere in scikit-learn."""
    if frame.kind(column) != "text" or frame.type_name(column) != "object":
        return False
    return all(isinstance(label, (int, float, np.number)) for label in frame.labelled(column).labels)


def _numeric_matrix(estimator: Any, X: Any) -> npt.NDArray[Any]:
    """float32 or float64, without a copy where X is one of them already."""
    try:
        array = check_array(X, dtype="numeric", ensure_all_finite=False, estimator=estimator, input_name="X")
    except (ValueError, TypeError) as error:
        if "could not convert string" in str(error) or "bytes/strings" in str(error):
            raise ValueError(
                f"X holds text where numbers are expected ({error}). Encode it as numbers first."
            ) from None
        raise
    _check_size(array.shape[0])
    if array.dtype in _FLOATS:
        return np.asarray(array)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"X has type {array.dtype}, which is not numeric. Pass numbers.")
    wanted = np.result_type(array.dtype, np.float32)
    result: npt.NDArray[Any] = array.astype(wanted if wanted in _FLOATS else np.float64)
    return result


def _sparse_matrix(estimator: Any, X: Any, categorical: Any, accept_sparse: bool) -> Any:
    name = type(estimator).__name__
    if not accept_sparse:
        raise TypeError(
            f"Sparse data was passed for X, but {name}{_these_parameters(estimator)} needs dense data. "
            "Pass X.toarray()."
        )
    if categorical is not None:
        raise TypeError("categorical_features does not go with sparse X. Pass X.toarray().")
    wanted = np.result_type(X.dtype, np.float32) if X.dtype.kind in "biuf" else np.dtype(np.float64)
    wanted = wanted if wanted in _FLOATS else np.dtype(np.float64)
    matrix = check_array(
        X, accept_sparse="csr", dtype=wanted, ensure_all_finite=False, estimator=estimator, input_name="X"
    )
    _check_size(matrix.shape[0])
    if not all(part.flags.c_contiguous for part in (matrix.data, matrix.indices, matrix.indptr)):
        matrix = matrix.copy()
    if not matrix.has_canonical_format:  # the core needs each column at most once in a row, and in order
        matrix = matrix.copy() if matrix is X or np.shares_memory(matrix.data, X.data) else matrix
        matrix.sum_duplicates()
    return matrix


def _is_finite(values: npt.NDArray[Any]) -> bool:
    """One pass without memory: a finite sum has finite terms (the opposite is not true)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _these_parameters(estimator: Any) -> str:
    """Other parameters can help only where there is a choice of split family."""
    return " with these parameters" if hasattr(estimator, "splits") else ""


def numeric_columns(estimator: Any, X: Any) -> tuple[npt.NDArray[Any], tuple[str, ...] | None]:
    """Return dense numbers as float32 or float64 and the columns' names, without looking at the values.

    Parameters
    ----------
    estimator : estimator
        Named in messages; not changed.
    X : array-like or table of shape (n_samples, n_features)
        One batch of rows.
    """
    columns = _Columns.of(estimator, X, None, False)
    return columns.matrix, None if columns.names is None else tuple(columns.names.tolist())


def check_values(name: str, matrix: npt.NDArray[Any], allow_nan: bool) -> bool:
    """Refuse infinities, and NaN where not allowed; return whether there is NaN. ``name`` is that of the estimator."""
    return _check_values(type(name, (), {"splits": None})(), matrix, allow_nan)


def _check_values(estimator: Any, matrix: Matrix, allow_nan: bool) -> bool:
    """Refuse infinities, and NaN where not allowed; return whether there is NaN."""
    values = matrix.data if sparse.issparse(matrix) else matrix
    if values.size == 0 or _is_finite(values):
        return False
    name = type(estimator).__name__
    if np.fmax.reduce(values, axis=None) == np.inf or np.fmin.reduce(values, axis=None) == -np.inf:
        raise ValueError(
            f"Input X contains infinity or a value too large for {values.dtype!r}: {name} needs finite numbers. "
            "Replace infinities, for example by NaN (missing) or by the largest finite value."
        )
    has_nan = bool(np.isnan(values.min()))
    if has_nan and not allow_nan:
        raise ValueError(
            f"Input X contains NaN. {name}{_these_parameters(estimator)} does not accept missing values. "
            "Impute first, for example with sklearn.impute.SimpleImputer."
        )
    return has_nan
