"""Tables: what columns a pandas, polars or Arrow table has, and their labels. Imports none of these libraries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Kind = Literal["number", "category", "text", "other"]


@dataclass(frozen=True)
class Labelled:
    """A column as codes into labels; −1 stands for a missing value.

    ``is_ordered`` labels keep the order that the column's type gives them, others are sorted: never the order in
    which they happen to appear.
    """

    codes: npt.NDArray[np.int64]
    labels: list[Any]
    is_ordered: bool = False


class Frame:
    """One look at the three kinds of tables."""

    def __init__(self, table: Any) -> None:
        self.table = table

    names: list[Any]

    def kind(self, column: int) -> Kind:
        """Return what the column holds, by its declared type."""
        raise NotImplementedError

    def type_name(self, column: int) -> str:
        """Return the column's type as the library calls it."""
        raise NotImplementedError

    def labelled(self, column: int) -> Labelled:
        """Return the column as codes and labels."""
        raise NotImplementedError

    def numbers(self, columns: list[int]) -> Any:
        """Return a table of these columns."""
        raise NotImplementedError

    def is_number(self, column: int) -> bool:
        """Whether the values are numbers; truth values count as labels."""
        return self.kind(column) == "number" and not self.type_name(column).lower().startswith("bool")


class PandasFrame(Frame):
    """pandas.DataFrame."""

    def __init__(self, table: Any) -> None:
        super().__init__(table)
        self.names = list(table.columns)
        self._types = list(table.dtypes)

    def kind(self, column: int) -> Kind:
        dtype = self._types[column]
        if type(dtype).__name__ == "CategoricalDtype" or "dictionary" in str(dtype):
            return "category"
        if getattr(dtype, "subtype", None) is not None and not hasattr(dtype, "pyarrow_dtype"):
            dtype = dtype.subtype  # sparse and interval columns
        if dtype.kind in "biuf":
            return "number"
        return "text" if dtype.kind in "OU" or "str" in str(dtype).lower() else "other"

    def type_name(self, column: int) -> str:
        return str(self._types[column])

    def labelled(self, column: int) -> Labelled:
        series = self.table.iloc[:, column]
        if type(self._types[column]).__name__ == "CategoricalDtype":
            labels = list(self._types[column].categories)
            return Labelled(series.cat.codes.to_numpy().astype(np.int64), labels, is_ordered=True)
        codes, labels = series.factorize()
        return Labelled(np.asarray(codes, dtype=np.int64), list(labels))

    def numbers(self, columns: list[int]) -> Any:
        return self.table.iloc[:, columns]


class PolarsFrame(Frame):
    """polars.DataFrame."""

    def __init__(self, table: Any) -> None:
        super().__init__(table)
        self.names = list(table.columns)
        self._types = list(table.dtypes)

    def kind(self, column: int) -> Kind:
        dtype = self._types[column]
        name = self.type_name(column)
        if name in ("Categorical", "Enum"):
            return "category"
        if name in ("String", "Utf8", "Object"):
            return "text"
        return "number" if dtype.is_numeric() or name in ("Boolean", "Null") else "other"

    def type_name(self, column: int) -> str:
        return str(self._types[column]).split("(", maxsplit=1)[0]

    def labelled(self, column: int) -> Labelled:
        series = self.table.to_series(column)
        name = self.type_name(column)
        is_enum = name == "Enum"
        if name in ("Categorical", "Enum"):
            series = series.cast(str)
        labels = self._types[column].categories.to_list() if is_enum else series.drop_nulls().unique().to_list()
        codes = series.replace_strict(labels, list(range(len(labels))), default=-1) if labels else [-1] * len(series)
        return Labelled(np.asarray(codes, dtype=np.int64), labels, is_ordered=is_enum)

    def numbers(self, columns: list[int]) -> Any:
        return self.table[:, columns]


class ArrowFrame(Frame):
    """pyarrow.Table and pyarrow.RecordBatch."""

    def __init__(self, table: Any) -> None:
        super().__init__(table)
        self.names = list(table.schema.names)
        self._types = list(table.schema.types)

    def kind(self, column: int) -> Kind:
        name = self.type_name(column)
        if name.startswith("dictionary"):
            return "category"
        if "string" in name:
            return "text"
        is_number = name.startswith(("int", "uint", "float", "double", "halffloat", "bool", "null", "decimal"))
        return "number" if is_number else "other"

    def type_name(self, column: int) -> str:
        return str(self._types[column])

    def labelled(self, column: int) -> Labelled:
        array = self.table.column(column)
        if hasattr(array, "combine_chunks"):
            array = array.combine_chunks()
            array = array.unify_dictionaries() if hasattr(array, "unify_dictionaries") else array
        if hasattr(array, "num_chunks"):
            array = array.chunk(0) if array.num_chunks else array
        encoded = array if hasattr(array, "dictionary") else array.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        is_ordered = bool(getattr(encoded.type, "ordered", False))
        return Labelled(codes, encoded.dictionary.to_pylist(), is_ordered)

    def numbers(self, columns: list[int]) -> Any:
        return self.table.select(columns)


def as_frame(X: Any) -> Frame | None:
    """Wrap a table, or return None for everything else."""
    library = type(X).__module__.partition(".")[0]
    name = type(X).__name__
    if library == "polars" and name == "LazyFrame":
        raise TypeError("X is a polars LazyFrame, which holds no data yet. Call X.collect() first.")
    if library == "polars" and name == "DataFrame":
        return PolarsFrame(X)
    if library == "pyarrow" and name in ("Table", "RecordBatch"):
        return ArrowFrame(X)
    if hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns"):
        return PandasFrame(X)
    return None
