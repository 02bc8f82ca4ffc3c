"""Sources: everything that can give the same rows again and again.

Files and folders of Parquet, Arrow and CSV, pyarrow datasets, lists of batches, and functions that return a fresh
iterator. `open_source` looks at what the user passed and refuses what can be read only once.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from boscage._frames import as_frame
from boscage._validation import numeric_columns
from boscage.batches.rows import RawBatch

_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc", ".csv": "csv"}
# Rows that are read at once from files; a few such batches are in memory at any time.
BATCH_ROWS = 1 << 17

_WHAT_TO_PASS = (
    "Pass a path, a pyarrow dataset, a list of batches, or a function without arguments that returns a fresh iterator "
    "of (X, y) or (X, y, sample_weight)."
)


class Source:
    """Rows that can be read any number of times: ``source.batches()`` begins anew.

    Parameters
    ----------
    start : callable
        Returns a fresh iterator of batches as the user has them.
    target, weight : str or None
        Columns of labels and weights in batches that are tables.
    """

    def __init__(self, start: Callable[[], Iterator[Any]], target: str | None, weight: str | None) -> None:
        self.start = start
        self.target = target
        self.weight = weight

    def batches(self) -> Iterator[RawBatch]:
        """Read all rows once more."""
        for number, batch in enumerate(self.start()):
            raw = raw_batch(batch, self.target, self.weight, number)
            if len(raw.X):
                yield raw


def open_source(
    source: Any,
    target: str | None = None,
    weight: str | None = None,
    *,
    needs_target: bool = True,
    drop: Collection[str] = (),
) -> Source:
    """Make a `Source` of what the user passed.

    Parameters
    ----------
    source : path, list of paths, pyarrow.dataset.Dataset, table, list of batches, or callable
        A path may be a file, a folder or a pattern with ``*``. A batch is a table with the column ``target``, or a
        tuple (X, y) or (X, y, sample_weight).
    target, weight : str, optional
        Columns of labels and of weights, in tables.
    needs_target : bool, default=True
        Whether files must have a column of labels.
    drop : collection of str, default=()
        Columns of files that are not read.
    """
    if isinstance(source, Source):
        return source
    if _is_path(source) or (isinstance(source, (list, tuple)) and source and all(map(_is_path, source))):
        return Source(_dataset_start(_files_dataset(source), target, weight, needs_target, drop), target, weight)
    if _is_dataset(source):
        return Source(_dataset_start(source, target, weight, needs_target, drop), target, weight)
    if as_frame(source) is not None:
        return Source(lambda: iter([source]), target, weight)
    if hasattr(source, "__next__"):
        raise TypeError(
            f"source is a {type(source).__name__}, which can be read only once, and a fit reads its rows many times. "
            "Pass the function that makes it, not its result: fit_batches(make_batches), without parentheses."
        )
    if isinstance(source, (list, tuple)):
        if not source:
            raise ValueError(f"source is an empty {type(source).__name__}. {_WHAT_TO_PASS}")
        return Source(lambda: iter(source), target, weight)
    if callable(source):
        return Source(_callable_start(source), target, weight)
    raise TypeError(f"source is a {type(source).__name__}, which is not known. {_WHAT_TO_PASS}")


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def _is_dataset(source: Any) -> bool:
    return type(source).__module__.startswith("pyarrow") and hasattr(source, "scanner")


def _callable_start(source: Callable[[], Any]) -> Callable[[], Iterator[Any]]:
    last: list[Any] = []

    def start() -> Iterator[Any]:
        made = source()
        if last and made is last[0] and hasattr(made, "__next__"):
            raise TypeError(
                "source() returned the same iterator again, which is used up. It must make a fresh one at every call."
            )
        last[:] = [made]
        if not hasattr(made, "__iter__"):
            raise TypeError(f"source() returned a {type(made).__name__}, not an iterator. {_WHAT_TO_PASS}")
        return iter(made)

    return start


def _files_dataset(source: Any) -> Any:
    """Open one path, pattern or folder, or a list of paths, as a dataset; files in order of their names."""
    try:
        import pyarrow.dataset as ds
    except ImportError as error:
        raise ImportError("reading files in batches needs the package pyarrow (pip install 'boscage[dask]')") from error
    paths = [os.fspath(path) for path in source] if isinstance(source, (list, tuple)) else [os.fspath(source)]
    found: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            inside = [str(name) for name in Path(path).rglob("*") if name.suffix.lower() in _FORMATS]
            if not inside:
                raise FileNotFoundError(f"{path}: the folder holds no Parquet, Arrow or CSV file")
            found += sorted(inside)
        elif any(mark in path for mark in "*?["):
            matches = sorted(glob.glob(path, recursive=True))
            if not matches:
                raise FileNotFoundError(f"{path}: no file has such a name")
            found += matches
        elif os.path.exists(path):
            found.append(path)
        else:
            raise FileNotFoundError(f"no such file: {path}")
    formats = {_FORMATS.get(Path(path).suffix.lower(), Path(path).suffix) for path in found}
    if len(formats) > 1 or formats - set(_FORMATS.values()):
        raise ValueError(f"source holds files of the kinds {sorted(formats)}. Pass files of one kind: {_kinds()}.")
    return ds.dataset(found, format=formats.pop())


def _kinds() -> str:
    return ", ".join(_FORMATS)


def _dataset_start(
    dataset: Any, target: str | None, weight: str | None, needs_target: bool, drop: Collection[str]
) -> Callable[[], Iterator[Any]]:
    if needs_target:
        if target is None:
            raise ValueError("target=None is not allowed with files and datasets. Pass the column of labels.")
        _check_columns(dataset.schema.names, target, weight)
    for name in drop:
        _check_columns(dataset.schema.names, None, None, drop=name)
    columns = [name for name in dataset.schema.names if name not in drop]
    # Rows ahead are read by threads of pyarrow's while this thread works on a batch.
    options: dict[str, Any] = {"batch_size": BATCH_ROWS, "batch_readahead": 4, "fragment_readahead": 1}
    if getattr(getattr(dataset, "format", None), "default_extname", None) == "parquet":
        from pyarrow.dataset import ParquetFragmentScanOptions

        # Else pyarrow keeps the compressed columns of the whole file in memory.
        options["fragment_scan_options"] = ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
    return lambda: iter(dataset.to_batches(columns=columns, **options))


def _check_columns(names: Sequence[str], target: str | None, weight: str | None, drop: str | None = None) -> None:
    for role, name in (("target", target), ("weight", weight), ("drop", drop)):
        if name is not None and name not in names:
            shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
            raise ValueError(f"{role}={name!r} is not a column of the source. Its columns are {shown}.")
    if target is not None and target == weight:
        raise ValueError(f"weight={weight!r} is the column of labels too. Pass another column, or None.")


def raw_batch(batch: Any, target: str | None, weight: str | None, number: int = 0) -> RawBatch:
    """Take a batch of the user's apart into X, y and weights."""
    if isinstance(batch, tuple) and not hasattr(batch, "columns"):
        if len(batch) not in (2, 3):
            raise ValueError(f"batch {number} is a tuple of {len(batch)}. Pass (X, y) or (X, y, sample_weight).")
        X, y, w = batch if len(batch) == 3 else (*batch, None)
        if X is not None and hasattr(X, "shape") and X.shape[0] == 0:
            return RawBatch(np.empty((0, 0)), np.empty(0), None)
        matrix, names = numeric_columns(_Batch(), X)
        given = None if w is None else np.asarray(w)
        return RawBatch(matrix, _labels(y), given, names, matrix.nbytes + (0 if given is None else given.nbytes))
    if type(batch).__module__.startswith("pyarrow"):
        return _arrow_batch(batch, target, weight)
    if as_frame(batch) is not None:
        if target is None:
            raise ValueError("target=None is not allowed with tables. Pass the name of the column of labels.")
        _check_columns([str(name) for name in batch.columns], target, weight)
        kept = [name for name in batch.columns if name not in (target, weight)]
        if len(batch) == 0:
            return RawBatch(np.empty((0, 0)), np.empty(0), None)
        matrix, names = numeric_columns(_Batch(), batch[kept])
        given = None if weight is None else np.asarray(batch[weight])
        return RawBatch(matrix, _labels(batch[target]), given, names, matrix.nbytes)
    raise TypeError(
        f"batch {number} is a {type(batch).__name__}. Pass a table with the column of labels, or a tuple (X, y) or "
        "(X, y, sample_weight)."
    )


class _Batch(BaseEstimator):  # type: ignore[misc]
    """Stands for the estimator in messages about a batch."""


def _labels(y: Any) -> npt.NDArray[Any]:
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    return y if isinstance(y, np.ndarray) else np.asarray(y)


def _arrow_batch(batch: Any, target: str | None, weight: str | None) -> RawBatch:
    """Columns of a record batch, one after the other in memory: nothing is copied twice."""
    if target is None:
        raise ValueError("target=None is not allowed with tables. Pass the name of the column of labels.")
    _check_columns(batch.schema.names, target, weight)
    kept = [j for j, name in enumerate(batch.schema.names) if name not in (target, weight)]
    if not kept:
        raise ValueError(f"the source has no column besides target={target!r} and weight={weight!r}.")
    types = [_float_type(batch.schema.field(j)) for j in kept]
    matrix = np.empty((len(kept), batch.num_rows), np.result_type(*types))
    for row, j in enumerate(kept):
        matrix[row] = _arrow_numbers(batch.column(j))
    w = None if weight is None else np.asarray(_arrow_numbers(batch.column(batch.schema.names.index(weight))))
    labels = _arrow_labels(batch.column(batch.schema.names.index(target)))
    return RawBatch(matrix.T, labels, w, tuple(batch.schema.names[j] for j in kept), batch.nbytes)


def _float_type(field: Any) -> type:
    import pyarrow as pa

    kind = field.type
    small = (pa.float16(), pa.float32(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.bool_())
    if kind in small:
        return np.float32
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return np.float64
    raise ValueError(
        f"X has a column that is not numeric: {field.name!r} ({kind}). Encode it as numbers, or leave it out of the "
        "source: categories are not available in batches."
    )


def _arrow_numbers(column: Any) -> npt.NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_floating(column.type) and column.null_count == 0:
        return np.asarray(column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy())
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    wanted = column.type if pa.types.is_floating(column.type) else pa.float64()
    values = column.cast(wanted, safe=False)
    return np.asarray(values.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else values.to_numpy())


def _arrow_labels(column: Any) -> npt.NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    values = column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
    return np.asarray(values)
