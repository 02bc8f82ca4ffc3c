"""Files and datasets as sources: one piece of a file after the other, so that memory holds a few batches of it.

A scanner of pyarrow's reads up to a gigabyte ahead of whoever works on its batches. Parquet is therefore read row group
by row group, Arrow batch by batch and CSV as a stream; `read_ahead` lets a thread read the next batches while this one
works on a batch. Only what these readers do not know (partitions in folder names, files of different columns, datasets
in memory) is left to scanners.

A `Piece` is a function that returns the next rows. Where row groups are small it reads them when it is called, so that
several threads can read at once; elsewhere the rows are there already.
"""

from __future__ import annotations

import glob
import os
import queue
import threading
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from boscage.datasets._csv import CsvFiles

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".csv": "csv",
    ".tsv": "csv",
    ".csv.gz": "csv",
    ".tsv.gz": "csv",
}
# Rows that are read at once from files, and about their bytes: wide rows are read fewer at a time.
BATCH_ROWS = 1 << 17
BATCH_BYTES = 1 << 25
_GROUP_BYTES = 1 << 26
_BUFFER_BYTES = 1 << 18
_POLL_SECONDS = 0.1

T = TypeVar("T")
Piece = Callable[[], Any]  # returns a record batch or a table


def read_ahead(batches: Iterator[T], depth: int) -> Generator[T, None, None]:
    """Let a thread bring the batches while the caller works on one.

    Parameters
    ----------
    batches : iterator
        Is used by that thread alone.
    depth : int
        Batches that may wait; with the one in work and the one being read, depth + 2 are there at any time.
    """
    waiting: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(depth)
    is_over = threading.Event()

    def put(batch: T | None, error: BaseException | None) -> None:
        while not is_over.is_set():
            try:
                waiting.put((batch, error), timeout=_POLL_SECONDS)
                return
            except queue.Full:
                pass

    def read() -> None:
        try:
            for batch in batches:
                put(batch, None)
                if is_over.is_set():
                    return
            put(None, None)
        except BaseException as error:  # the caller's thread raises it
            put(None, error)

    reader = threading.Thread(target=read, name="boscage-reader", daemon=True)
    reader.start()
    try:
        while True:
            batch, error = waiting.get()
            if error is not None:
                raise error
            if batch is None:
                return
            yield batch
    finally:
        is_over.set()
        reader.join()


def is_path(source: Any) -> bool:
    """Whether a source is the name of a file, a folder or a pattern."""
    return isinstance(source, (str, os.PathLike))


def is_dataset(source: Any) -> bool:
    """Whether a source is a dataset of pyarrow's, or of CSV files."""
    return isinstance(source, CsvFiles) or (
        type(source).__module__.startswith("pyarrow") and hasattr(source, "scanner")
    )


def files_dataset(source: Any, target: str | None = None, text: Collection[str] = ()) -> Any:
    """Open one path, pattern or folder, or a list of paths, as a dataset; files in order of their names.

    Columns named in ``text`` are read as text from CSV files.
    """
    import pyarrow.dataset as ds

    paths = [os.fspath(path) for path in source] if isinstance(source, (list, tuple)) else [os.fspath(source)]
    found: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            inside = [str(name) for name in Path(path).rglob("*") if _ending(str(name)) in _FORMATS]
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
    formats = {_FORMATS.get(_ending(path), Path(path).suffix) for path in found}
    if all(_ending(path) == ".txt" for path in found):  # in a folder a text may be anything
        formats = {"csv"}
    if len(formats) > 1 or formats - set(_FORMATS.values()):
        raise ValueError(f"source holds files of the kinds {sorted(formats)}. Pass files of one kind: {_kinds()}.")
    return CsvFiles(found, target, text) if formats == {"csv"} else ds.dataset(found, format=formats.pop())


def _ending(path: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


def _kinds() -> str:
    return ", ".join([*_FORMATS, ".txt"])


def dataset_pieces(
    dataset: Any,
    target: str | None,
    weight: str | None,
    needs_target: bool,
    wanted: Sequence[str] | None,
    drop: Collection[str],
) -> Callable[[], Iterator[Piece]]:
    """Return a function that begins to read a dataset: pieces in the order of its rows."""
    if needs_target:
        if target is None:
            raise ValueError("target=None is not allowed with files and datasets. Pass the column of labels.")
        check_columns(dataset.schema.names, target, weight)
    for name in drop:
        check_columns(dataset.schema.names, None, None, drop=name)
    columns = [name for name in dataset.schema.names if name not in drop]
    if wanted is not None:
        check_columns(columns, None, None, columns=wanted)
        present = [name for name in (target, weight) if name in columns]
        columns = list(dict.fromkeys([*wanted, *present]))
    rows = max(4096, min(BATCH_ROWS, BATCH_BYTES // (8 * len(columns)) // 4096 * 4096))
    return lambda: _read(dataset, columns, rows)


def _there(batches: Iterator[Any]) -> Iterator[Piece]:
    """Read batches now and make pieces of them."""
    for batch in batches:
        yield partial(_same, batch)


def _same(batch: T) -> T:
    return batch


def _read(dataset: Any, columns: list[str], rows: int) -> Iterator[Piece]:
    """Read fragment by fragment."""
    if isinstance(dataset, CsvFiles):
        for batch in dataset.batches(columns):
            yield from _there(batch.slice(start, rows) for start in range(0, batch.num_rows, rows))
        return
    try:
        fragments = dataset.get_fragments()
    except ValueError:  # the rows of a filtered dataset are known to scanners alone
        yield from _there(dataset.to_batches(columns=columns, batch_size=rows))
        return
    reader = _reader(dataset)
    for fragment in fragments:
        if reader is not None and _is_plain(fragment, dataset.schema, columns):
            yield from reader(fragment, columns, rows)
        else:
            pieces = fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else [fragment]
            for piece in pieces:
                yield from _there(piece.to_batches(schema=dataset.schema, columns=columns, batch_size=rows))


def _reader(dataset: Any) -> Callable[[Any, list[str], int], Iterator[Piece]] | None:
    kind = getattr(getattr(dataset, "format", None), "default_extname", "")
    if kind == "csv":
        from pyarrow.dataset import CsvFileFormat

        return partial(_read_csv, dataset) if dataset.format.equals(CsvFileFormat()) else None
    return {"parquet": _read_parquet, "arrow": _read_ipc}.get(kind)


def _is_plain(fragment: Any, schema: Any, columns: list[str]) -> bool:
    """Whether a file holds the columns as the dataset has them: none in the name of its folder, none cast or absent."""
    own = fragment.physical_schema
    return all(own.get_field_index(name) >= 0 and own.field(name).type == schema.field(name).type for name in columns)


def _read_parquet(fragment: Any, columns: list[str], rows: int) -> Iterator[Piece]:
    # Without buffers all columns of a row group are loaded at once; with them their bytes are copied once more.
    largest = max((group.total_byte_size for group in fragment.row_groups), default=0)
    buffer_size = _BUFFER_BYTES if largest > _GROUP_BYTES else 0
    # One call for all row groups would keep those that are read already.
    for groups in _runs(fragment.row_groups, rows):
        if sum(group.num_rows for group in groups) <= rows:
            yield partial(_row_groups, fragment, [group.id for group in groups], columns, buffer_size)
        else:
            yield from _there(_large_row_group(fragment, groups[0].id, columns, buffer_size, rows))


def _row_groups(fragment: Any, groups: list[int], columns: list[str], buffer_size: int) -> Any:
    """Read some small row groups; a file of its own for each call, because threads cannot share one."""
    from pyarrow.parquet import ParquetFile

    with fragment.open() as opened, ParquetFile(opened, metadata=fragment.metadata, buffer_size=buffer_size) as file:
        return file.read_row_groups(groups, columns=columns, use_threads=False).select(columns)


def _large_row_group(fragment: Any, group: int, columns: list[str], buffer_size: int, rows: int) -> Iterator[Any]:
    from pyarrow.parquet import ParquetFile

    with fragment.open() as opened, ParquetFile(opened, metadata=fragment.metadata, buffer_size=buffer_size) as file:
        for batch in file.iter_batches(rows, row_groups=[group], columns=columns):
            yield batch.select(columns)


def _runs(groups: list[Any], rows: int) -> Iterator[list[Any]]:
    """Put small row groups together, up to the rows of a batch."""
    run: list[Any] = []
    held = 0
    for group in groups:
        if run and held + group.num_rows > rows:
            yield run
            run, held = [], 0
        run.append(group)
        held += group.num_rows
    if run:
        yield run


def _read_ipc(fragment: Any, columns: list[str], rows: int) -> Iterator[Piece]:
    from pyarrow.ipc import IpcReadOptions, open_file

    chosen = [fragment.physical_schema.get_field_index(name) for name in columns]
    with fragment.open() as opened, open_file(opened, options=IpcReadOptions(included_fields=chosen)) as file:
        for number in range(file.num_record_batches):
            batch = file.get_batch(number).select(columns)
            yield from _there(batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


def _read_csv(dataset: Any, fragment: Any, columns: list[str], rows: int) -> Iterator[Piece]:
    """Read a file of a dataset of pyarrow's as a stream."""
    from pyarrow.csv import ConvertOptions, open_csv

    types = {name: dataset.schema.field(name).type for name in columns}
    convert = ConvertOptions(column_types=types, include_columns=columns)
    with fragment.open() as opened, open_csv(opened, convert_options=convert) as stream:
        for batch in stream:
            yield from _there(batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


def check_columns(
    names: Sequence[str],
    target: str | None,
    weight: str | None,
    drop: str | None = None,
    text: str | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Refuse names that are not columns of a source, or are two things at once."""
    for role, name in (
        ("target", target),
        ("weight", weight),
        ("drop", drop),
        *(("columns", name) for name in columns),
    ):
        if name is not None and name not in names:
            shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
            given = f"{role}={name!r}" if role != "columns" else f"columns holds {name!r}, which"
            raise ValueError(f"{given} is not a column of the source. Its columns are {shown}.")
    if target is not None and target == weight:
        raise ValueError(f"weight={weight!r} is the column of labels too. Pass another column, or None.")
