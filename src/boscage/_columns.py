"""Columns of X: a table or an array becomes a matrix of numbers, and categories become codes into levels.

The same rules hold for `fit`, `predict`, batches, Dask and the command line: `columns_of` is the only code that decides
which columns are categories.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from boscage._categories import Label, Labelled, categorical_columns, label_numbers, recode, recode_numbers, settle
from boscage._labels import check_text
from boscage._sparse import canonical_rows

Matrix = Any
Kind = Literal["number", "bool", "text", "category", "missing", "other"]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_SMALL = (nw.Float16, nw.Float32, nw.Int8, nw.UInt8, nw.Int16, nw.UInt16)
ENCODE = "encode them, for example with sklearn.preprocessing.OneHotEncoder"
_MAX_ROWS = 2**31 - 1
_MOST_SINGLE_CODES = 2**24  # codes above this are not exact in float32


class CategoryRule(NamedTuple):
    """Which columns an estimator takes as categories.

    Attributes
    ----------
    features : None, "from_dtype", or array-like of str, int or bool
        The parameter ``categorical_features``.
    allowed : bool
        Whether the estimator can take categories at all.
    bools : bool
        Whether "from_dtype" takes bool columns as categories; otherwise they are the numbers 0 and 1.
    is_fitted : bool
        Whether the columns were decided by a fit, and X is to be predicted.
    refusal : str
        What to say about text if categories are not allowed; empty names the estimator.
    """

    features: Any = None
    allowed: bool = False
    bools: bool = False
    is_fitted: bool = False
    refusal: str = ""

    @property
    def from_types(self) -> bool:
        """Whether the columns' types decide."""
        return isinstance(self.features, str) and self.features == "from_dtype"

    def named(self, n_features: int, names: npt.NDArray[Any] | None) -> list[int]:
        """Return the columns that ``features`` names."""
        if self.features is None or self.from_types:
            return []
        return categorical_columns(self.features, n_features, names)

    def takes(self, kind: Kind) -> bool:
        """Whether a column of this kind is a category if its type decides."""
        if not self.from_types or not self.allowed:
            return False
        return kind in ("text", "category") or (kind == "bool" and self.bools)


NUMBERS_ONLY = CategoryRule()


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


def is_table(X: Any) -> bool:
    """Whether X is a pandas, polars or Arrow table; refuses one that holds no data yet."""
    library = type(X).__module__.partition(".")[0]
    name = type(X).__name__
    if library == "polars" and name == "LazyFrame":
        raise TypeError("X is a polars LazyFrame, which holds no data yet. Call X.collect() first.")
    if library == "polars":
        return name == "DataFrame"
    if library == "pyarrow":
        return name in ("Table", "RecordBatch")
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")


def as_table(X: Any) -> Any:
    """Return a table that narwhals and scikit-learn know: a record batch becomes a table."""
    if type(X).__name__ == "RecordBatch":
        return type(X.schema.empty_table()).from_batches([X])
    return X


def table_names(X: Any) -> list[Any]:
    """Return the names of a table's columns."""
    return list(X.schema.names) if type(X).__module__.startswith("pyarrow") else list(X.columns)


def select(X: Any, names: Sequence[Any]) -> Any:
    """Return some columns of a table."""
    return as_table(X).select(list(names)) if hasattr(X, "select") and not hasattr(X, "iloc") else X[list(names)]


def as_categories(table: Any, names: Collection[str]) -> Any:
    """Return an Arrow table in which these columns are categories of text, whatever their type was."""
    import pyarrow as pa

    table = as_table(table) if names else table
    for name in names:
        j = table.schema.get_field_index(name)
        if j < 0:
            continue
        column = arrow_labels(table.column(j))
        labels = [None if label is None else str(label) for label in column.labels]
        codes = pa.array(column.codes, mask=column.codes < 0)
        coded = pa.DictionaryArray.from_arrays(codes, pa.array(labels, pa.string()))
        table = table.set_column(j, name, coded)
    return table


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
        kind = _kind_of(column.labels)
        if j in named or rule.takes(kind):
            if array.dtype.kind in "UT" and isinstance(X, np.ndarray) and j not in named:
                _refuse_numbers_as_text(column, j)
            labelled[j] = replace(column, is_text=kind == "text" and j not in named)
            plain[:, j] = 0.0
        elif kind == "text":
            wrong.append(Seen(kind, str(j), "text", None))
        elif kind == "other":
            _refuse_mixture(column, str(j))
        else:
            plain[:, j] = _numbers_of(column)
    if wrong:
        _refuse_text(estimator, wrong, rule)
    return Columns(numeric_matrix(estimator, plain), None, labelled)


def _refuse_numbers_as_text(column: Labelled, j: int) -> None:
    """NumPy turns numbers beside text into text without a word."""
    if column.labels and all(_reads_as_number(label) for label in column.labels):
        raise ValueError(
            f"X is an array of text, and column {j} holds numbers as text, such as {column.labels[0]!r}. Pass a table, "
            "or an array of type object in which numbers are numbers."
        )


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _label_objects(values: npt.NDArray[Any]) -> Labelled | None:
    """Return a column of objects as codes and labels in the order of appearance; None if some cannot be labels."""
    position: dict[Any, int] = {}
    try:
        codes = [-1 if _is_missing(v) else position.setdefault(v, len(position)) for v in values.tolist()]
    except (TypeError, ValueError):
        return None
    return Labelled(np.array(codes, dtype=np.int64), list(position))


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _kind_of(labels: Sequence[Any]) -> Kind:
    """Return what the objects of a column are; mixtures are "other"."""
    if not labels:
        return "missing"
    if all(isinstance(label, str) for label in labels):
        return "text"
    if all(isinstance(label, (bool, np.bool_)) for label in labels):
        return "bool"
    return "number" if all(isinstance(label, (int, float, np.number, Decimal)) for label in labels) else "other"


def _numbers_of(column: Labelled) -> npt.NDArray[np.float64]:
    """Return a column of numbers or truth values as floats, NaN where missing."""
    values: npt.NDArray[np.float64] = np.array([*map(float, column.labels), np.nan])[column.codes]
    return values


def _refuse_mixture(column: Labelled, shown: str) -> None:
    kinds = {isinstance(label, str) for label in column.labels}
    if len(kinds) > 1:
        raise ValueError(
            f"X mixes text and numbers in column {shown}. Make them all text or all numbers, for example with "
            "astype(str)."
        )


# --- tables ----------------------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """What a column of a table is: its kind, the name of its type, and what it was looked at for."""

    kind: Kind
    name: str
    type_name: str
    series: Any
    labelled: Labelled | None = None

    @property
    def is_refused(self) -> bool:
        """Whether the values are neither numbers nor labels."""
        return self.kind == "other" and self.labelled is None


def _of_table(estimator: Any, X: Any, rule: CategoryRule, picked: _Pick) -> Columns:
    names = getattr(estimator, "feature_names_in_", None) if rule.is_fitted else feature_names(X)
    width = len(table_names(X))
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


def take_categories(
    estimator: Any, seen: dict[int, Seen], rule: CategoryRule, named: list[int]
) -> dict[int, Labelled | None]:
    """Return the categorical columns of a table as codes and labels, None for columns of numbers that are named.

    Parameters
    ----------
    estimator : estimator
        Named in messages.
    seen : dict
        The columns that may be something else than numbers.
    rule : CategoryRule
        Which of them are categories; the others must be numbers.
    named : list of int
        Columns that the rule names.
    """
    _refuse_types([column for column in seen.values() if column.is_refused])
    labelled: dict[int, Labelled | None] = dict.fromkeys(named)
    text = []
    for j, column in seen.items():
        if j in labelled or rule.takes(column.kind):
            is_number = column.kind == "number" and column.labelled is None
            is_text = column.kind == "text" and j not in named
            labelled[j] = None if is_number else replace(labels_of(column), is_text=is_text)
        elif column.kind == "other" and column.labelled is not None:
            _refuse_mixture(column.labelled, column.name)
            _refuse_types([column])
        elif _has_words(column):
            text.append(column)
    if text:
        _refuse_text(estimator, text, rule)
    return labelled


def look_at_table(X: Any, plain: Sequence[int] = ()) -> dict[int, Seen]:
    """Return what the columns of a table are, but for those that are known to be plain numbers."""
    names = table_names(X)
    others = sorted(set(range(len(names))) - set(plain))
    if not others:
        return {}
    if plain:
        X = X.iloc[:, others] if hasattr(X, "iloc") else select(X, [names[j] for j in others])
    frame = nw.from_native(as_table(X), eager_only=True)
    return {j: _look_at(column) for j, column in zip(others, frame.iter_columns())}


def _look_at(series: Any) -> Seen:
    dtype, native = series.dtype, series.to_native()
    name, type_name = repr(series.name), str(getattr(native, "type", None) or getattr(native, "dtype", dtype))
    if hasattr(native, "factorize") and native.dtype == object:  # narwhals only looks at the first rows
        return _look_at_objects(series, name)
    kind: Kind = "other"
    if dtype.is_numeric():
        kind = "number"
    elif dtype == nw.Boolean:
        kind = "bool"
    elif dtype == nw.String:
        kind = "text"
    elif dtype in (nw.Categorical, nw.Enum):
        kind = "category"
    elif type_name.lower().startswith("null"):
        kind = "missing"
    return Seen(kind, name, type_name, series)


def _look_at_objects(series: Any, name: str) -> Seen:
    try:
        codes, labels = series.to_native().factorize()
    except TypeError:  # objects that cannot be compared
        return Seen("other", name, "object", series)
    column = Labelled(np.asarray(codes, dtype=np.int64), list(labels))
    kind = _kind_of(column.labels)
    if kind == "other" and not any(isinstance(label, str) for label in column.labels):
        return Seen("other", name, "object", series)
    return Seen(kind, name, "object", series, column)


def _has_words(column: Seen) -> bool:
    """Whether a column that is no category holds text or categories; one without any value is just missing."""
    if column.kind not in ("text", "category"):
        return False
    return bool(column.series.null_count() < len(column.series)) or bool(labels_of(column).codes.max(initial=-1) >= 0)


def labels_of(column: Seen) -> Labelled:
    """Return a column as codes and labels."""
    if column.labelled is not None:
        return column.labelled
    native = column.series.to_native()
    if hasattr(native, "factorize"):  # pandas and what is like it
        if hasattr(native.dtype, "categories") and hasattr(native, "cat"):
            return Labelled(native.cat.codes.to_numpy().astype(np.int64), list(native.dtype.categories))
        codes, labels = native.factorize()
        return Labelled(np.asarray(codes, dtype=np.int64), list(labels))
    return arrow_labels(native if hasattr(native, "type") else native.to_arrow())


def arrow_labels(array: Any) -> Labelled:
    """Return an Arrow column as codes and labels."""
    if not hasattr(array.type, "index_type"):
        array = array.dictionary_encode()
    if hasattr(array, "num_chunks"):
        array = array.unify_dictionaries().combine_chunks()
        array = array if not hasattr(array, "num_chunks") else array.chunk(0)
    codes = array.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False).copy()
    labels = array.dictionary.to_pylist()
    if None in labels:  # a null among the values
        codes[codes == labels.index(None)] = -1
    return Labelled(codes, labels)


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
        return _numbers_of(labels_of(column)).astype(np.float32)
    if column.labelled is not None:
        return _numbers_of(column.labelled)
    series = column.series.cast(nw.Float64()) if _is_decimal(column) else column.series
    return np.asarray(series.to_numpy()).astype(np.float32 if series.dtype in _SMALL else np.float64, copy=False)


class _Names(BaseEstimator):  # type: ignore[misc]
    """Carries feature names out of scikit-learn's check without touching the user's estimator."""


def feature_names(X: Any) -> npt.NDArray[Any] | None:
    """Return the names of a table's columns if all are strings."""
    carrier = _Names()
    validate_data(carrier, X, reset=True, skip_check_array=True)
    names: npt.NDArray[Any] | None = getattr(carrier, "feature_names_in_", None)
    try:
        "".join(() if names is None else names).encode()  # of all at once: a table may have very many columns
    except UnicodeEncodeError:
        for name in names:  # type: ignore[union-attr]
            check_text(name, "X has the column name")
    return names


# --- refusals --------------------------------------------------------------------------------------------------------


def _listed(columns: list[Seen]) -> str:
    shown = ", ".join(f"{column.name} ({column.type_name})" for column in columns[:5])
    return shown + (f" and {len(columns) - 5} more" if len(columns) > 5 else "")


def _refuse_types(columns: list[Seen]) -> None:
    if columns:
        raise ValueError(
            f"X has columns that are not numeric: {_listed(columns)}. Turn them into numbers, for example a date into "
            "the number of days since a fixed day, or drop them."
        )


def _refuse_text(estimator: Any, columns: list[Seen], rule: CategoryRule) -> None:
    listed = f"X has columns that are not numeric: {_listed(columns)}."
    if rule.is_fitted:
        raise ValueError(f"{listed} They held numbers in fit.")
    if not rule.allowed:
        refusal = rule.refusal or f"{called(estimator)} takes numbers only: {ENCODE}, or drop them."
        raise ValueError(f"{listed} {refusal}")
    raise ValueError(
        f"{listed} Name them in categorical_features ('from_dtype' takes all of them as categories), encode them, or "
        "drop them."
    )


def called(estimator: Any) -> str:
    """Return the estimator as messages about what it cannot take call it."""
    return type(estimator).__name__ + (" with these parameters" if hasattr(estimator, "splits") else "")


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
            raise ValueError(
                f"X holds text where numbers are expected ({error}). Encode it as numbers first."
            ) from None
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
        raise TypeError("categorical_features does not go with sparse X. Pass X.toarray().")
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
