"""Reading table files for the command line: CSV, Parquet, Arrow and npz files and named data sets become Arrow tables.

Nothing here decides what is a category but what the command line declares: `fit` and `predict` take the tables as they
take any other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boscage.data.categories import Label
from boscage.data.column_kinds import CategoryRule, arrow_labels, as_categories, reads_as_number
from boscage.data.columns import columns_of
from boscage.data.tasks import TaskKind, is_doubtful, task_of
from boscage.data.validation import check_values
from boscage.datasets._csv import read_csv
from boscage.datasets._load import load_dataset
from boscage.datasets._npz import DataFileError, read_npz
from boscage.datasets._record import Dataset


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of one file as an Arrow table, or the sparse rows of an npz file beside their labels."""

    source: str
    data: Any
    sparse: Any = None
    sparse_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        names: list[str] = self.data.column_names
        return names


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What a fit needs: an Arrow table or sparse rows, labels and weights."""

    X: Any
    y: NDArray[Any]
    sample_weight: NDArray[np.float64] | None
    feature_names: tuple[str, ...]
    is_sparse: bool = False
    notes: tuple[str, ...] = ()
    task: TaskKind = "classification"

    def coded(self) -> tuple[Any, tuple[int, ...], tuple[tuple[Label, ...] | None, ...]]:
        """Return the features as numbers, the categorical columns, and the levels that their numbers stand for."""
        if self.is_sparse:
            return self.X, (), ()
        columns = columns_of(self, self.X, CategoryRule("from_dtype", allowed=True, bools=True))
        check_values("compare", columns.matrix, True)
        matrix, categories = columns.code(columns.matrix, None)
        return matrix, tuple(columns.labelled), categories


def read_table(path: str | os.PathLike[str], *, text: Collection[str] = (), drop: Collection[str] = ()) -> Table:
    """Read a CSV, TSV, Parquet, Arrow or npz file, or an embedded data set by its name.

    Parameters
    ----------
    path : str or path-like
        The file; its ending decides the format. A word that is no file is looked up as a data set.
    text : collection of str, default=()
        Columns to read as categories of text even if they look like numbers.
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
        table = _reader(path)(path, text)
    for name in drop:
        if name not in table.names:
            raise DataFileError(_no_column(table, name, "to drop"))
    return replace(table, data=as_categories(table.data.drop_columns(list(drop)), text))


def training_data(
    table: Table,
    target: str | None,
    *,
    weight: str | None = None,
    categorical: Collection[str] = (),
    task: TaskKind | None = None,
) -> TrainingData:
    """Split a table into features, target and weights.

    Parameters
    ----------
    table : Table
        From `read_table`.
    target : str or None
        The column of labels; None means ``y``, which npz files and embedded data sets have.
    weight : str, optional
        The column of sample weights.
    categorical : collection of str, default=()
        Columns that were read as categories because the user wants them to be.
    task : {"classification", "regression"}, optional
        Whether the target holds classes or numbers. Default: recognised from the target.
    """
    target = _target_name(table, target)
    y, task, decided = target_of(table, target, task)
    sample_weight = None if weight is None else _weights(table, weight)
    if weight is not None and weight == target:
        raise DataFileError(f"column {weight!r} cannot be both target and weight")
    if table.sparse is not None:
        return TrainingData(table.sparse, y, sample_weight, table.sparse_names, True, table.notes + decided, task)
    for name in categorical:
        if name in (target, weight):
            role = "target" if name == target else "weight"
            raise DataFileError(f"{table.source}: column {name!r} is the {role}, not a column of categories")
        if name not in table.names:
            raise DataFileError(_no_column(table, name, "of categories"))
    features = table.data.drop_columns([name for name in (target, weight) if name is not None])
    if not features.num_columns:
        raise DataFileError(f"{table.source}: no column is left to learn from besides {target!r}")
    text = [field.name for field in features.schema if _is_text(field.type)]
    notes = table.notes + decided
    notes += (f"text columns treated as categories: {', '.join(text)}",) if text else ()
    notes += tuple(_almost_numbers(features, set(text).difference(categorical)))
    return TrainingData(features, y, sample_weight, tuple(features.column_names), notes=notes, task=task)


def _almost_numbers(features: Any, text: Collection[str]) -> Iterator[str]:
    """Tell of columns that are text because of a few cells."""
    for name in (name for name in features.column_names if name in text):
        words = [word for word in features[name].unique().to_pylist() if word is not None]
        others = [word for word in words if not reads_as_number(word)]
        if 0 < len(others) < len(words) / 2:
            shown = ", ".join(map(repr, others[:3])) + ", ..." * (len(others) > 3)
            yield f"column {name!r} would hold numbers but for {shown}; leave such cells empty to have them as gaps"


def prediction_rows(table: Table, n_features: int, names: Sequence[str] | None) -> Any:
    """Choose the columns of a table that a model expects.

    Parameters
    ----------
    table : Table
        From `read_table`; columns the model does not know are passed over.
    n_features : int
        Number of columns of the model.
    names : sequence of str or None
        Its column names; None means by position.

    Returns
    -------
    pyarrow.Table, or ndarray if the model knows no names, or CSR array
    """
    if table.sparse is not None:
        if table.sparse.shape[1] != n_features:
            raise DataFileError(f"{table.source}: has {table.sparse.shape[1]} columns, the model needs {n_features}")
        return table.sparse
    if names is not None:
        if missing := [name for name in names if name not in table.names]:
            raise DataFileError(f"{table.source}: lacks column{'s' * (len(missing) > 1)} {_some(missing)} of the model")
        return table.data.select(list(names))
    chosen = table.names
    if "y" in chosen and len(chosen) == n_features + 1:
        chosen.remove("y")
    if len(chosen) != n_features:
        raise DataFileError(
            f"{table.source}: has {len(chosen)} columns, the model needs {n_features} (leave columns out with --drop)"
        )
    return np.asarray(table.data.select(chosen))


def _by_name(name: str) -> Table:
    try:
        data = load_dataset(name)
    except LookupError as error:
        raise DataFileError(f"no such file: {name}; and {error}") from error
    return _from_dataset(data, name)


def _from_dataset(data: Dataset, source: str) -> Table:
    import pyarrow as pa

    if "y" in data.feature_names:
        raise DataFileError(f"{source}: a feature is named 'y', which is the name of the labels; rename it")
    if data.y.ndim == 2:
        raise DataFileError(f"{source}: y has {data.y.shape[1]} columns; one is needed")
    labels = {"y": pa.array(data.y) if data.is_regression else _levels(data.y.astype(np.float64), data.target_names)}
    if not isinstance(data.X, np.ndarray):
        return Table(source, pa.table(labels), data.X, data.feature_names)
    columns = {
        name: pa.array(data.X[:, j], from_pandas=True) if levels is None else _levels(data.X[:, j], levels)
        for j, (name, levels) in enumerate(zip(data.feature_names, data.categories))
    }
    return Table(source, pa.table({**columns, **labels}))


def _levels(codes: NDArray[Any], levels: Sequence[str]) -> Any:
    """Return level numbers (NaN where missing) and the names of the levels as an Arrow array."""
    import pyarrow as pa

    missing = np.isnan(codes)
    return pa.DictionaryArray.from_arrays(
        pa.array(np.where(missing, 0, codes).astype(np.int32), mask=missing), pa.array(levels, pa.string())
    )


def _reader(path: Path) -> Callable[[Path, Collection[str]], Table]:
    name = path.name.lower()
    if name.endswith((".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")):
        return _read_csv
    if name.endswith((".parquet", ".pq", ".arrow", ".feather", ".ipc")):
        return _read_arrow
    if name.endswith(".npz"):
        return lambda path, text: _from_dataset(read_npz(path), str(path))
    known = ".csv, .tsv, .csv.gz, .parquet, .arrow, .feather or .npz"
    raise DataFileError(f"{path}: the ending {path.suffix!r} is not known; use {known}")


def _read_csv(path: Path, text: Collection[str]) -> Table:
    data, notes = read_csv(path, text)
    return Table(str(path), data, notes=notes)


def _read_arrow(path: Path, text: Collection[str]) -> Table:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    is_parquet = path.suffix.lower() in (".parquet", ".pq")
    try:
        data = pa.parquet.read_table(path) if is_parquet else pa.feather.read_table(path)
    except (pa.ArrowException, OSError) as error:
        kind = "Parquet" if is_parquet else "Arrow"
        raise DataFileError(f"{path}: cannot be read as {kind}: {' '.join(str(error).split())}") from error
    if len(set(data.column_names)) != data.num_columns:
        raise DataFileError(f"{path}: two columns have the same name")
    return Table(str(path), data)


def _target_name(table: Table, target: str | None) -> str:
    if target is None and "y" not in table.names:
        raise DataFileError(f"{table.source}: say which column holds the labels with --target; {_columns_of(table)}")
    return "y" if target is None else target


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def target_of(table: Table, name: str, task: TaskKind | None) -> tuple[NDArray[Any], TaskKind, tuple[str, ...]]:
    """Return the target, what it is for, and what to tell the user about a decision."""
    import pyarrow as pa

    if name not in table.names:
        raise DataFileError(_no_column(table, name, "of labels"))
    kind = table.data[name].type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if task == "regression" and not is_number:
        raise DataFileError(
            f"{table.source}: target column {name!r} holds {kind}, not numbers; pass --task classification"
        )
    if task == "classification" or not is_number:
        return labels_of(table, name), "classification", ()
    y = _numbers(table, name)
    found = task or task_of(y)
    if found == "regression":
        told = f"target {name!r} is numeric: regression (for classification pass --task classification)"
        return y, "regression", () if task else (told,)
    told = f"target {name!r} taken as {len(np.unique(y))} classes (for regression pass --task regression)"
    return labels_of(table, name), "classification", (told,) if is_doubtful(y) else ()


def _numbers(table: Table, name: str) -> NDArray[np.float64]:
    """Return a target column of numbers, none missing."""
    import pyarrow as pa

    column = table.data[name]
    if len(column) == 0:
        raise DataFileError(f"{table.source}: holds no rows")
    values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy())
    if (missing := np.isnan(values)).any():
        raise DataFileError(_empty_cells(table, name, missing))
    if not np.isfinite(values).all():
        raise DataFileError(f"{table.source}: target column {name!r} holds an infinite number")
    return values.copy()


def _empty_cells(table: Table, name: str, missing: NDArray[np.bool_]) -> str:
    row, number = int(np.argmax(missing)) + 1, int(missing.sum())
    cells = f"{number} empty cell{'s' * (number != 1)}"
    return f"{table.source}: target column {name!r} has {cells} (the first in data row {row}); fill or drop such rows"


def labels_of(table: Table, name: str) -> NDArray[Any]:
    """Return a column as labels: text, truth values or whole numbers."""
    import pyarrow as pa

    if name not in table.names:
        raise DataFileError(_no_column(table, name, "of labels"))
    column = table.data[name]
    if len(column) == 0:
        raise DataFileError(f"{table.source}: holds no rows")
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64(), safe=False)
    coded = arrow_labels(column)
    if (missing := coded.codes < 0).any():
        raise DataFileError(_empty_cells(table, name, missing))
    values = np.array(coded.labels)
    if values.dtype.kind == "f":
        if not np.isfinite(values).all() or (values != np.floor(values)).any():
            raise DataFileError(
                f"{table.source}: target column {name!r} holds fractional numbers; a classifier needs classes "
                "(text or whole numbers). Pass --task regression to fit a regressor (--model tree or forest)"
            )
        values = values.astype(np.int64)
    if values.dtype.kind not in "biuU":
        raise DataFileError(
            f"{table.source}: target column {name!r} has type {column.type}; turn it into whole numbers or text"
        )
    labels: NDArray[Any] = values[coded.codes]
    return labels


def _weights(table: Table, name: str) -> NDArray[np.float64]:
    import pyarrow as pa

    if name not in table.names:
        raise DataFileError(_no_column(table, name, "of weights"))
    column = table.data[name]
    kind = column.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not is_number and column.null_count < len(column):
        example = next(cell for cell in column.to_pylist() if cell is not None)
        raise DataFileError(f"{table.source}: weight column {name!r} is not numeric (it holds {example!r})")
    values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy())
    if not np.isfinite(values).all() or (values < 0).any():
        raise DataFileError(f"{table.source}: weight column {name!r} must hold finite numbers >= 0, none missing")
    return values.copy()


def _no_column(table: Table, name: str, role: str) -> str:
    return f"{table.source}: there is no column {name!r} {role}; {_columns_of(table)}"


def _columns_of(table: Table) -> str:
    return f"its columns are {_some(table.names)}"


def _some(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
