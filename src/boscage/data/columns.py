"""Columns of X: a table or an array becomes a matrix of numbers, and categories become codes into levels.

The same rules hold for `fit`, `predict`, batches, Dask and the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from boscage.data.categories import Label, Labelled, label_numbers, recode, recode_numbers, settle
from boscage.data.column_kinds import (
    CategoryRule,
    Seen,
    as_table,
    called,
    is_missing,
    is_table,
    kind_of,
    labels_of,
    look_at_table,
    numbers_of,
    reads_as_number,
    refuse_mixture,
    refuse_text,
    table_names,
    take_categories,
)
from boscage.data.labels import check_text
from boscage.data.sparse import canonical_rows

Matrix = Any

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_SMALL = (nw.Float16, nw.Float32, nw.Int8, nw.UInt8, nw.Int16, nw.UInt16)
_MAX_ROWS = 2**31 - 1
_MOST_SINGLE_CODES = 2**24  # codes above this are not exact in float32


class Columns(NamedTuple):
    """X as a matrix of numbers, its names, and its categories.

    ``labelled`` holds the categorical columns: codes and labels, or None for a column of numbers, whose values are in
    the matrix. The matrix holds 0 in the place of codes.
    """

    matrix: Matrix
    names: npt.NDArray[Any] | None
    labelled: dict[int, Labelled | None]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    def shown(self, column: int) -> str:
        """Return the column as messages name it."""
        return repr(self.names[column]) if self.names is not None else str(column)

    def code(
        self, matrix: Matrix, rows: npt.NDArray[np.int64] | None
    ) -> tuple[Matrix, tuple[tuple[Label, ...] | None, ...]]:
        """Return a matrix of the kept rows with codes, and the labels by column."""
        categories: list[tuple[Label, ...] | None] = [None] * matrix.shape[1]
        coded = matrix.copy(order="K")
        for j, column in self.labelled.items():
            if column is None:
                column = label_numbers(matrix[:, j])
            elif rows is not None:
                column = replace(column, codes=column.codes[rows])
            coded[:, j], categories[j] = settle(column, self.shown(j))
        return coded, tuple(categories)

    def recode(self, categories: Sequence[tuple[Label, ...] | None], dtype: str) -> Matrix:
        """Return the matrix with the codes of remembered labels; ``dtype`` is the number type of the fit."""
        coded = self.matrix.copy(order="K")
        for j, column in self.labelled.items():
            labels = categories[j] or ()
            if column is None:
                coded[:, j] = recode_numbers(self.matrix[:, j], labels, dtype, self.shown(j))
            else:
                coded[:, j] = recode(column, labels, dtype, self.shown(j))
        return coded


def columns_of(
    estimator: Any,
    X: Any,
    rule: CategoryRule,
    *,
    accept_sparse: bool = False,
    width: int | None = None,
) -> Columns:
    """Bring X into the normal form.

    Parameters
    ----------
    estimator : estimator
        Named in messages; not changed.
    X : array-like, table or sparse matrix of shape (n_samples, n_features)
        float32 and float64 arrays are used as they are.
    rule : CategoryRule
        Which columns are categories.
    accept_sparse : bool, default=False
        Whether the estimator can handle sparse rows.
    width : int, optional
        The number of columns in fit. X of another width is refused elsewhere.
    """
    if type(X) is np.ndarray and X.dtype in FLOATS and X.ndim == 2 and X.size > 0:
        _check_size(X.shape[0])
        named = rule.named(X.shape[1], None) if width in (None, X.shape[1]) else ()
        return Columns(X, None, dict.fromkeys(named))

    def picked(n_features: int, names: npt.NDArray[Any] | None) -> list[int]:
        return rule.named(n_features, names) if width in (None, n_features) else []

    if is_table(X):
        return _of_table(estimator, as_table(X), rule, picked)
    if sparse.issparse(X):
        return Columns(_sparse_matrix(estimator, X, rule, accept_sparse), None, {})
    return _of_array(estimator, X, rule, picked)


_Pick = Callable[[int, "npt.NDArray[Any] | None"], list[int]]

# --- arrays ----------------------------------------------------------------------------------------------------------


def _of_array(estimator: Any, X: Any, rule: CategoryRule, picked: _Pick) -> Columns:
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("X is a masked array. Pass X.filled(np.nan), so that masked values count as missing.")
    array = X if isinstance(X, np.ndarray) else _array_like(X)
    if array is not None and array.ndim == 2 and array.dtype.kind in "OUT" and min(array.shape) > 0:
        return _of_objects(estimator, X, array, rule, picked)
    matrix = numeric_matrix(estimator, X)
    return Columns(matrix, None, dict.fromkeys(picked(matrix.shape[1], None)))


def _array_like(X: Any) -> npt.NDArray[Any] | None:
    """Return lists as an array; nothing where they are no matrix, which scikit-learn's check explains."""
    try:
        return np.asarray(X)
    except (ValueError, TypeError):
        return None


def _of_objects(estimator: Any, X: Any, array: npt.NDArray[Any], rule: CategoryRule, picked: _Pick) -> Columns:
    objects = np.asarray(X, dtype=object)  # of lists too: numbers beside text stay numbers
    width = objects.shape[1]
    named = set(picked(width, None))
    labelled: dict[int, Labelled | None] = {}
    wrong: list[Seen] = []
    plain = objects.copy()
    for j in range(width):
        column = _label_objects(objects[:, j])
        if column is None:
            continue  # scikit-learn's check says what is wrong
        kind = kind_of(column.labels)
        if j in named or rule.takes(kind):
            if array.dtype.kind in "UT" and isinstance(X, np.ndarray) and j not in named:
                _refuse_numbers_as_text(column, j)
            labelled[j] = replace(column, is_text=kind == "text" and j not in named)
            plain[:, j] = 0.0
        elif kind == "text":
            wrong.append(Seen(kind, str(j), "text", None))
        elif kind == "other":
            refuse_mixture(column, str(j))
        else:
            plain[:, j] = numbers_of(column)
    if wrong:
        refuse_text(estimator, wrong, rule)
    return Columns(numeric_matrix(estimator, plain), None, labelled)


def _refuse_numbers_as_text(column: Labelled, j: int) -> None:
    """NumPy turns numbers beside text into text without a word."""
    if column.labels and all(reads_as_number(label) for label in column.labels):
        raise ValueError(
            f"X is an array of text, and column {j} holds numbers as text, such as {column.labels[0]!r}. Pass a table, "
            "or an array of type object in which numbers are numbers."
        )


def _label_objects(values: npt.NDArray[Any]) -> Labelled | None:
    """Return a column of objects as codes and labels in the order of appearance; None if some cannot be labels."""
    position: dict[Any, int] = {}
    try:
        codes = [-1 if is_missing(v) else position.setdefault(v, len(position)) for v in values.tolist()]
    except (TypeError, ValueError):
        return None
    return Labelled(np.array(codes, dtype=np.int64), list(position))


# --- tables ----------------------------------------------------------------------------------------------------------


def _of_table(estimator: Any, X: Any, rule: CategoryRule, picked: _Pick) -> Columns:
    names = getattr(estimator, "feature_names_in_", None) if rule.is_fitted else feature_names(X)
    width = len(table_names(X))
    if width == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape=({len(X)}, 0)) while a minimum of 1 is required.")
    named = picked(width, names)
    plain = _plain_columns(X)
    if len(plain) == width:
        return Columns(numeric_matrix(estimator, X), names, dict.fromkeys(named))
    seen = look_at_table(X, plain)
    labelled = take_categories(estimator, seen, rule, named)
    if not plain and all(c.kind == "number" and c.labelled is None and not _is_decimal(c) for c in seen.values()):
        return Columns(numeric_matrix(estimator, X), names, labelled)
    return Columns(_assemble(X, plain, seen, labelled), names, labelled)


def _plain_columns(X: Any) -> list[int]:
    """Return the numeric columns of a pandas table, which need no look through narwhals."""
    return [j for j, dtype in enumerate(X.dtypes) if dtype.kind in "iuf"] if hasattr(X, "iloc") else []


def _assemble(
    X: Any, plain: list[int], seen: dict[int, Seen], labelled: dict[int, Labelled | None]
) -> npt.NDArray[Any]:
    """Put columns side by side: float32 if all numbers fit, else float64; 0 in the place of categories."""
    n_rows, width = len(X), len(plain) + len(seen)
    _check_size(n_rows)
    if n_rows == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape=(0, {width})) while a minimum of 1 is required.")
    parts = {j: _floats(column) for j, column in seen.items() if labelled.get(j) is None}
    most = max((len(column.labels) for column in labelled.values() if column is not None), default=0)
    types = [part.dtype for part in parts.values()] + ([np.dtype(np.float64)] if most > _MOST_SINGLE_CODES else [])
    if plain:
        numbers = X.iloc[:, plain]
        types.append(numeric_type(*(getattr(dtype, "numpy_dtype", dtype) for dtype in numbers.dtypes)))
        values = numbers.to_numpy(dtype=types[-1], na_value=np.nan)
    matrix = np.zeros((n_rows, width), dtype=numeric_type(*types), order="F")
    if plain:
        matrix[:, plain] = values
    for j, part in parts.items():
        matrix[:, j] = part
    return matrix


def numeric_type(*types: Any) -> np.dtype[Any]:
    """Return float32 if it holds numbers of these types, else float64."""
    wanted = np.result_type(np.float32, *types)
    return wanted if wanted in FLOATS else np.dtype(np.float64)


def _is_decimal(column: Seen) -> bool:
    return isinstance(column.series.dtype, nw.Decimal)


def _floats(column: Seen) -> npt.NDArray[Any]:
    if column.kind in ("missing", "text", "category"):  # text without any value
        return np.full(len(column.series), np.nan, np.float32)
    if column.kind == "bool":
        return numbers_of(labels_of(column)).astype(np.float32)
    if column.labelled is not None:
        return numbers_of(column.labelled)
    series = column.series.cast(nw.Float64()) if _is_decimal(column) else column.series
    return np.asarray(series.to_numpy()).astype(np.float32 if series.dtype in _SMALL else np.float64, copy=False)


class _Names(BaseEstimator):  # type: ignore[misc]
    """Carries feature names out of scikit-learn's check without touching the user's estimator."""


def feature_names(X: Any) -> npt.NDArray[Any] | None:
    """Return the names of a table's columns if all are strings."""
    if is_table(X):
        given = table_names(X)
        if len(set(given)) < len(given):
            name = next(name for name in given if given.count(name) > 1)
            raise ValueError(f"X has more than one column named {name!r}. Rename or drop all but one of them.")
    carrier = _Names()
    validate_data(carrier, X, reset=True, skip_check_array=True)
    names: npt.NDArray[Any] | None = getattr(carrier, "feature_names_in_", None)
    try:
        "".join(() if names is None else names).encode()  # of all at once: a table may have very many columns
    except UnicodeEncodeError:
        for name in names:  # type: ignore[union-attr]
            check_text(name, "X has the column name")
    return names


def _check_size(n_rows: int) -> None:
    if n_rows > _MAX_ROWS:
        raise ValueError(f"X has {n_rows} rows. At most 2**31 - 1 are supported: fit on a sample or in batches.")


# --- numbers ---------------------------------------------------------------------------------------------------------


def numeric_matrix(estimator: Any, X: Any) -> npt.NDArray[Any]:
    """Return float32 or float64, without a copy where X is one of them already."""
    try:
        array = check_array(X, dtype="numeric", ensure_all_finite=False, estimator=estimator, input_name="X")
    except (ValueError, TypeError) as error:
        if "could not convert string" in str(error) or "bytes/strings" in str(error):
            found = f"X holds text where numbers are expected ({error})"
            if np.ndim(X) == 1:  # a row of a table
                found, remedy = f"X has shape {np.shape(X)}", "Pass a table of rows, such as X.iloc[[0]] for one row."
            else:
                remedy = "Encode it as numbers first."
            raise ValueError(f"{found}. {remedy}") from None
        raise
    _check_size(array.shape[0])
    if array.dtype in FLOATS:
        return np.asarray(array)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"X has type {array.dtype}, which is not numeric. Pass numbers.")
    result: npt.NDArray[Any] = array.astype(numeric_type(array.dtype))
    return result


def _sparse_matrix(estimator: Any, X: Any, rule: CategoryRule, accept_sparse: bool) -> Any:
    if not accept_sparse:
        raise TypeError(f"Sparse data was passed for X, but {called(estimator)} needs dense data. Pass X.toarray().")
    if rule.features is not None and not rule.from_types:
        raise TypeError("categorical_features cannot be combined with sparse X. Pass X.toarray().")
    wanted = numeric_type(X.dtype) if X.dtype.kind in "biuf" else np.dtype(np.float64)
    matrix = check_array(
        canonical_rows(X),
        accept_sparse="csr",
        dtype=wanted,
        ensure_all_finite=False,
        estimator=estimator,
        input_name="X",
    )
    _check_size(matrix.shape[0])
    return matrix
