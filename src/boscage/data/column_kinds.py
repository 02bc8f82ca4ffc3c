"""What the columns of tables hold, and which of them are categories.

`look_at_table` finds what a column is by its type, through narwhals; `take_categories` turns the categorical ones into
codes and labels and refuses what is neither number nor category.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt

from boscage.data.categories import Labelled, categorical_columns

Kind = Literal["number", "bool", "text", "category", "missing", "other"]

ENCODE = "encode them, for example with sklearn.preprocessing.OneHotEncoder"


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
    kind = kind_of(column.labels)
    if kind == "other" and not any(isinstance(label, str) for label in column.labels):
        return Seen("other", name, "object", series)
    return Seen(kind, name, "object", series, column)


def kind_of(labels: Sequence[Any]) -> Kind:
    """Return what the objects of a column are; mixtures are "other"."""
    if not labels:
        return "missing"
    if all(isinstance(label, str) for label in labels):
        return "text"
    if all(isinstance(label, (bool, np.bool_)) for label in labels):
        return "bool"
    return "number" if all(isinstance(label, (int, float, np.number, Decimal)) for label in labels) else "other"


def is_missing(value: Any) -> bool:
    """Whether a value is None or NaN."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


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
            refuse_mixture(column.labelled, column.name)
            _refuse_types([column])
        elif _has_words(column):
            text.append(column)
    if text:
        refuse_text(estimator, text, rule)
    return labelled


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


def numbers_of(column: Labelled) -> npt.NDArray[np.float64]:
    """Return a column of numbers or truth values as floats, NaN where missing."""
    values: npt.NDArray[np.float64] = np.array([*map(float, column.labels), np.nan])[column.codes]
    return values


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


def reads_as_number(text: str) -> bool:
    """Whether text can be read as a number; 1_000 is one to Python but a name in a file."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _listed(columns: list[Seen]) -> str:
    shown = ", ".join(f"{column.name} ({column.type_name})" for column in columns[:5])
    return shown + (f" and {len(columns) - 5} more" if len(columns) > 5 else "")


def _refuse_types(columns: list[Seen]) -> None:
    if columns:
        raise ValueError(
            f"X has columns that are not numeric: {_listed(columns)}. Turn them into numbers, for example a date into "
            "the number of days since a fixed day, or drop them."
        )


def refuse_text(estimator: Any, columns: list[Seen], rule: CategoryRule) -> None:
    """Raise for columns of text that no rule makes categories of."""
    listed = f"X has columns that are not numeric: {_listed(columns)}."
    if rule.is_fitted:
        raise ValueError(f"{listed} They held numbers in fit: pass numbers, or NaN for gaps.")
    if not rule.allowed:
        refusal = rule.refusal or f"{called(estimator)} accepts only numbers: {ENCODE}, or drop them."
        raise ValueError(f"{listed} {refusal}")
    raise ValueError(
        f"{listed} Name them in categorical_features ('from_dtype' takes all of them as categories), encode them, or "
        "drop them."
    )


def refuse_mixture(column: Labelled, shown: str) -> None:
    """Raise when a column holds both text and numbers."""
    kinds = {isinstance(label, str) for label in column.labels}
    if len(kinds) > 1:
        raise ValueError(
            f"X mixes text and numbers in column {shown}. Make them all text or all numbers, for example with "
            "astype(str)."
        )


def called(estimator: Any) -> str:
    """Return the estimator as messages about what it cannot take call it."""
    return type(estimator).__name__ + (" with these parameters" if hasattr(estimator, "splits") else "")
