"""Reading table files for the command line: CSV, Parquet and npz become columns of numbers.

A *column* is an array of numbers with NaN for missing cells; a text column holds level numbers, with the level names
beside it. Nothing here knows a learner: `training_data` and `prediction_rows` only arrange columns into arrays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boscage._csv import read_csv, reads_as_number
from boscage.datasets import DataFileError, Dataset, load_dataset, read_npz

MOST_LEVELS = 255
"""A text column with more levels than this becomes categorical only when it is named with --categorical."""


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers (NaN = missing), or level numbers together with the names of the levels."""

    values: NDArray[Any]
    levels: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of one file by name, or the sparse rows of an npz file.

    An npz file declares its categories; in other files text columns are taken for categories.
    """

    source: str
    columns: dict[str, Column]
    declares_categories: bool = False
    sparse: Any = None
    sparse_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if self.sparse is not None:
            return int(self.sparse.shape[0])
        return len(next(iter(self.columns.values())).values) if self.columns else 0


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What a fit needs, with the names it should remember."""

    X: Any
    y: NDArray[Any]
    sample_weight: NDArray[np.float64] | None
    feature_names: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def categorical_features(self) -> list[int]:
        """Numbers of the columns that hold levels."""
        return [j for j, levels in enumerate(self.categories) if levels is not None]

    @property
    def X_by_name(self) -> Any:
        """The features with level names in place of level numbers; `X` itself if there are none."""
        if not self.categorical_features:
            return self.X
        named = self.X.astype(object)
        for j in self.categorical_features:
            named[:, j] = _named(self.X[:, j], self.categories[j] or ())
        return named


def read_table(path: str | os.PathLike[str], *, text: Collection[str] = (), drop: Collection[str] = ()) -> Table:
    """Read a CSV, TSV, Parquet or npz file, or an embedded data set by its name.

    Parameters
    ----------
    path : str or path-like
        The file; its ending decides the format. A word that is no file is looked up as a data set.
    text : collection of str, default=()
        Columns to read as text even if they look like numbers.
    drop : collection of str, default=()
        Columns to leave out; each must exist.
    """
    path = Path(path)
    if not path.exists() and path.name == str(path) and not path.suffix:
        table = _by_name(str(path))
    elif not path.exists():
        raise FileNotFoundError(f"no such file: {path}")
    elif path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a data file")
    else:
        table = _reader(path)(path, frozenset(text), frozenset(drop))
    for name in drop:
        if name not in table.columns:
            raise DataFileError(_no_column(table, name, "to drop"))
    return replace(table, columns={name: column for name, column in table.columns.items() if name not in drop})


def training_data(
    table: Table, target: str | None, *, weight: str | None = None, categorical: Collection[str] = ()
) -> TrainingData:
    """Split a table into features, labels and weights.

    Parameters
    ----------
    table : Table
        From `read_table`.
    target : str or None
        The column of labels; None means ``y``, which npz files and embedded data sets have.
    weight : str, optional
        The column of sample weights.
    categorical : collection of str, default=()
        Text columns to take as categories however many levels they have.
    """
    target = _target_name(table, target)
    y = labels_of(table, target)
    sample_weight = None if weight is None else _weights(table, weight)
    if weight is not None and weight == target:
        raise DataFileError(f"column {weight!r} cannot be both target and weight")
    if table.sparse is not None:
        names = table.sparse_names
        return TrainingData(table.sparse, y, sample_weight, names, (None,) * len(names), table.notes)
    for name in categorical:
        if name in (target, weight):
            role = "target" if name == target else "weight"
            raise DataFileError(f"{table.source}: column {name!r} is the {role}, not a column of categories")
        if name not in table.columns:
            raise DataFileError(_no_column(table, name, "of categories"))
    features = {name: column for name, column in table.columns.items() if name not in (target, weight)}
    if not features:
        raise DataFileError(f"{table.source}: no column is left to learn from besides {target!r}")
    guessed = [
        name
        for name, column in features.items()
        if column.levels is not None and name not in categorical and not table.declares_categories
    ]
    for name in guessed:
        _check_levels(table, name, features[name])
    for name, column in features.items():
        _check_finite(table, name, column.values)
    notes = (f"text columns taken as categories: {', '.join(guessed)}",) if guessed else ()
    return TrainingData(
        X=_stack(column.values for column in features.values()),
        y=y,
        sample_weight=sample_weight,
        feature_names=tuple(features),
        categories=tuple(column.levels for column in features.values()),
        notes=table.notes + notes,
    )


def prediction_rows(
    table: Table, n_features: int, names: Sequence[str] | None, categories: Sequence[Any] | None
) -> Any:
    """Arrange a table as the rows that a model expects.

    Parameters
    ----------
    table : Table
        From `read_table`; columns the model does not know are passed over.
    n_features : int
        Number of columns of the model.
    names : sequence of str or None
        Its column names; None means by position.
    categories : sequence or None
        For each column of the model None or its levels. A level the model never saw counts as missing.

    Returns
    -------
    ndarray or CSR array
        Numbers, or objects if the model has categories: their levels by name.
    """
    if table.sparse is not None:
        if table.sparse.shape[1] != n_features:
            raise DataFileError(f"{table.source}: has {table.sparse.shape[1]} columns, the model needs {n_features}")
        return table.sparse
    if names is None:
        chosen = list(table.columns)
        if "y" in chosen and len(chosen) == n_features + 1:
            chosen.remove("y")
        if len(chosen) != n_features:
            raise DataFileError(
                f"{table.source}: has {len(chosen)} columns, the model needs {n_features} "
                "(leave columns out with --drop)"
            )
    else:
        chosen = list(names)
        if missing := [name for name in chosen if name not in table.columns]:
            raise DataFileError(
                f"{table.source}: misses column{'s' * (len(missing) > 1)} {_some(missing)} of the model"
            )
    levels = categories or [None] * n_features
    return _stack(_recode(table, name, known) for name, known in zip(chosen, levels, strict=True))


def dataset_columns(data: Dataset) -> dict[str, Column]:
    """Return the dense columns of a data set, with its labels as the column ``y``."""
    columns = {name: Column(data.X[:, j], data.categories[j]) for j, name in enumerate(data.feature_names)}
    return columns | {"y": Column(data.y.astype(np.float64), data.target_names)}


def _by_name(name: str) -> Table:
    try:
        data = load_dataset(name)
    except LookupError as error:
        raise DataFileError(f"no such file: {name}; and {error}") from error
    return _from_dataset(data, name)


def _from_dataset(data: Dataset, source: str) -> Table:
    if "y" in data.feature_names:
        raise DataFileError(f"{source}: a feature is named 'y', which is the name of the labels; rename it")
    if not isinstance(data.X, np.ndarray):
        labels = {"y": Column(data.y.astype(np.float64), data.target_names)}
        return Table(source, labels, True, data.X, data.feature_names)
    return Table(source, dataset_columns(data), declares_categories=True)


def _reader(path: Path) -> Callable[[Path, frozenset[str], frozenset[str]], Table]:
    name = path.name.lower()
    if name.endswith((".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")):
        return _read_csv
    if name.endswith((".parquet", ".pq")):
        return _read_parquet
    if name.endswith(".npz"):
        return lambda path, text, drop: _from_dataset(read_npz(path), str(path))
    raise DataFileError(f"{path}: the ending {path.suffix!r} is not known; use .csv, .tsv, .csv.gz, .parquet or .npz")


def _read_csv(path: Path, text: frozenset[str], drop: frozenset[str]) -> Table:
    names, values, notes = read_csv(path, text)
    columns = {
        name: _encode(column) if isinstance(column, list) else Column(column) for name, column in zip(names, values)
    }
    return Table(str(path), columns, notes=notes)


def _encode(cells: Sequence[str | None]) -> Column:
    """Text cells (None = missing) as level numbers, levels in alphabetical order."""
    levels = sorted({cell for cell in cells if cell is not None})
    number: dict[str | None, float] = {level: float(code) for code, level in enumerate(levels)}
    number[None] = np.nan
    return Column(np.array([number[cell] for cell in cells], dtype=np.float64), tuple(levels))


def _read_parquet(path: Path, text: frozenset[str], drop: frozenset[str]) -> Table:
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise DataFileError(f"{path}: reading Parquet needs the package pyarrow (pip install pyarrow)") from error
    try:
        arrow = pa.parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise DataFileError(f"{path}: cannot be read as Parquet: {' '.join(str(error).split())}") from error
    if len(set(arrow.column_names)) != arrow.num_columns:
        raise DataFileError(f"{path}: two columns have the same name")
    nothing = Column(np.full(arrow.num_rows, np.nan))  # a dropped column may have a type that cannot be read
    columns = {
        name: nothing if name in drop else _arrow_column(path, name, arrow[name], name in text)
        for name in arrow.column_names
    }
    return Table(str(path), columns)


def _arrow_column(path: Path, name: str, cells: Any, as_text: bool) -> Column:
    import pyarrow as pa

    kind = cells.type
    if pa.types.is_dictionary(kind):
        cells = cells.cast(kind.value_type)
        kind = kind.value_type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if is_text or (as_text and (is_number or pa.types.is_boolean(kind))):
        return _encode([None if cell is None else str(cell) for cell in cells.to_pylist()])
    if not (is_number or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise DataFileError(
            f"{path}: column {name!r} has type {kind}; turn it into numbers or text, or use --drop {name}"
        )
    wanted = (
        pa.float32() if kind in (pa.float16(), pa.float32(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16()) else None
    )
    if pa.types.is_boolean(kind):
        cells, wanted = cells.cast(pa.uint8()), pa.float32()
    # An unsafe cast is the wanted one: integers above 2**53 are rounded to the nearest float64.
    return Column(np.asarray(cells.cast(wanted or pa.float64(), safe=False).to_numpy()))


def _stack(columns: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Columns side by side: float32 if all are, objects if one is, else float64."""
    arrays = list(columns)
    dtypes = {array.dtype for array in arrays}
    dtype: Any = (
        object if np.dtype(object) in dtypes else np.float32 if dtypes == {np.dtype(np.float32)} else np.float64
    )
    X = np.empty((len(arrays[0]), len(arrays)), dtype=dtype)
    for j, array in enumerate(arrays):
        X[:, j] = array
    return X


def _target_name(table: Table, target: str | None) -> str:
    if target is None and "y" not in table.columns:
        raise DataFileError(f"{table.source}: say which column holds the labels with --target; {_columns_of(table)}")
    return target or "y"


def labels_of(table: Table, name: str) -> NDArray[Any]:
    """Return a column as labels: names of levels, or whole numbers."""
    if name not in table.columns:
        raise DataFileError(_no_column(table, name, "of labels"))
    column = table.columns[name]
    if table.n_rows == 0:
        raise DataFileError(f"{table.source}: holds no rows")
    if (missing := np.isnan(column.values)).any():
        row = int(np.argmax(missing)) + 1
        raise DataFileError(
            f"{table.source}: target column {name!r} has {int(missing.sum())} empty cells (the first in data row {row})"
        )
    if column.levels is not None:
        labels: NDArray[Any] = np.array(column.levels)[column.values.astype(np.int64)]
        return labels
    if not np.isfinite(column.values).all() or (column.values != np.floor(column.values)).any():
        raise DataFileError(
            f"{table.source}: target column {name!r} holds fractional numbers; a classifier needs classes "
            "(text or whole numbers), and regression is not here"
        )
    return column.values.astype(np.int64)


def _weights(table: Table, name: str) -> NDArray[np.float64]:
    if name not in table.columns:
        raise DataFileError(_no_column(table, name, "of weights"))
    column = table.columns[name]
    if column.levels is not None:
        raise DataFileError(f"{table.source}: weight column {name!r} is not numeric (it holds {_text_of(column)!r})")
    if not np.isfinite(column.values).all() or (column.values < 0).any():
        raise DataFileError(f"{table.source}: weight column {name!r} must hold finite numbers >= 0, none missing")
    return column.values.astype(np.float64)


def _check_levels(table: Table, name: str, column: Column) -> None:
    """Ask for a decision on a text column that looks like names or free text: it would make a useless category."""
    levels = column.levels or ()
    filled = int((~np.isnan(column.values)).sum())
    if len(levels) <= 20 or len(levels) <= min(MOST_LEVELS, filled // 2):
        return
    raise DataFileError(
        f"{table.source}: column {name!r} is not numeric: it holds {len(levels)} different texts such as "
        f"{_text_of(column)!r}; use --drop {name} or --categorical {name}"
    )


def _check_finite(table: Table, name: str, values: NDArray[Any]) -> None:
    if (infinite := np.isinf(values)).any():
        row = int(np.argmax(infinite)) + 1
        raise DataFileError(
            f"{table.source}: column {name!r} holds an infinite number in data row {row}; write it as a finite number, "
            "or leave the cell empty"
        )


def _text_of(column: Column) -> str:
    """Return a level that shows why the column is text: one that is no number, if there is any."""
    levels = column.levels or ("",)
    return next((level for level in levels if not reads_as_number(level)), levels[0])


def _recode(table: Table, name: str, known: Sequence[Any] | None) -> NDArray[Any]:
    """Put a column into the words of the model: levels are matched by their text, new ones count as missing."""
    column = table.columns[name]
    if known is None and column.levels:
        raise DataFileError(
            f"{table.source}: column {name!r} is not numeric (it holds {_text_of(column)!r}), the model needs numbers"
        )
    if known is None:
        _check_finite(table, name, column.values)
        return column.values
    if column.levels is not None:
        level_of = {str(level): level for level in known}
        return _named(column.values, [level_of.get(text) for text in column.levels])
    if any(isinstance(level, str) for level in known):
        raise DataFileError(
            f"{table.source}: column {name!r} holds numbers, the model needs categories such as {known[0]!r}"
        )
    return column.values.astype(object)


def _named(codes: NDArray[Any], levels: Sequence[Any]) -> NDArray[Any]:
    """Level names for level numbers, None for NaN."""
    names = np.array([*levels, None], dtype=object)
    named: NDArray[Any] = names[np.where(np.isnan(codes), len(levels), codes).astype(np.int64)]
    return named


def _no_column(table: Table, name: str, role: str) -> str:
    return f"{table.source}: there is no column {name!r} {role}; {_columns_of(table)}"


def _columns_of(table: Table) -> str:
    return f"its columns are {_some(list(table.columns))}"


def _some(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
