"""CSV files through pyarrow: separator, header, types and missing cells, understood alike in memory and in batches.

Columns are numbers, truth values (True and False) or dates if all their cells are, otherwise text exactly as written
("007" stays "007" beside "x") but for spaces at the ends. Only a stream decides by the beginning of its first file.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TextIO

from boscage.data.column_kinds import reads_as_number
from boscage.datasets._npz import DataFileError

MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "NAN", "null", "NULL", "None"})
"""Cells that mean "no value"."""
_TRUE, _FALSE = ["True", "true", "TRUE"], ["False", "false", "FALSE"]
_BLOCK_BYTES = 1 << 23


class Layout(NamedTuple):
    """How a file is written: names of the columns, the same as the file has them, header line or not, separator."""

    names: list[str]
    written: list[str]
    has_header: bool
    delimiter: str


def read_csv(path: Path, text: Collection[str] = ()) -> tuple[Any, tuple[str, ...]]:
    """Read a delimited file into memory.

    Parameters
    ----------
    path : Path
        The file, UTF-8, gzipped if its name ends in ``.gz``; fields separated by comma, semicolon or tab.
    text : collection of str, default=()
        Columns to read as text in any case.

    Returns
    -------
    table : pyarrow.Table
        Columns named by the header, or x0, x1, ... if the first row is all numbers.
    notes : tuple of str
        What the user should know about how the file was understood.
    """
    from pyarrow import csv as arrow_csv
    from pyarrow import string

    layout = read_header(path)
    with _errors_of(path, layout), _open(path) as file:
        types = {name: string() for name in text}
        table = arrow_csv.read_csv(file, *_options(layout, types)).rename_columns(layout.names)
        table = _tidy(table, text)
    notes = f"{path}: no header line, columns are called x0 .. x{len(layout.names) - 1}"
    return table, () if layout.has_header else (notes,)


class CsvFiles:
    """Files with the same columns, read as streams; the beginning of the first tells the types of the columns.

    Parameters
    ----------
    paths : sequence of str
        The files, their columns in any order if they have header lines.
    target : str or None
        The column of labels, whose whole numbers stay such; in other columns fractions may follow.
    text : collection of str, default=()
        Columns to read as text in any case.
    """

    def __init__(self, paths: Sequence[str], target: str | None, text: Collection[str] = ()) -> None:
        import pyarrow as pa

        self.paths = paths
        layout = read_header(Path(paths[0]))
        types = {name: pa.string() for name in text}
        seen = next(_stream(Path(paths[0]), layout, layout.names, types), None)
        fields = pa.schema([(name, pa.null()) for name in layout.names]) if seen is None else seen.schema
        self.schema = pa.schema([(field.name, _wider(field, target)) for field in fields])

    def batches(self, columns: list[str]) -> Iterator[Any]:
        """Read the record batches of one file after the other."""
        types = {name: self.schema.field(name).type for name in columns}
        for path in map(Path, self.paths):
            layout = read_header(path)
            if absent := [name for name in columns if name not in layout.names]:
                raise DataFileError(f"{path}: cannot be read as CSV: it has no column {absent[0]!r}")
            yield from _stream(path, layout, columns, types)


def _wider(field: Any, target: str | None) -> Any:
    import pyarrow as pa

    is_narrow = pa.types.is_integer(field.type) or pa.types.is_null(field.type)
    return pa.float64() if field.name != target and is_narrow else field.type


def _stream(path: Path, layout: Layout, columns: list[str], types: dict[str, Any]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    read, parse, convert = _options(layout, types)
    written = dict(zip(layout.names, layout.written))
    convert.include_columns = [written[name] for name in columns]
    with _errors_of(path, layout), _open(path) as file, arrow_csv.open_csv(file, read, parse, convert) as stream:
        for batch in stream:
            table = _tidy(pa.Table.from_batches([batch]).rename_columns(columns), types)
            yield from table.to_batches()


def _options(layout: Layout, types: dict[str, Any]) -> tuple[Any, Any, Any]:
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions

    read = ReadOptions(block_size=_BLOCK_BYTES, column_names=None if layout.has_header else layout.names)
    convert = ConvertOptions(
        null_values=sorted(MISSING), strings_can_be_null=True, true_values=_TRUE, false_values=_FALSE
    )
    written = dict(zip(layout.names, layout.written))
    convert.column_types = {written[name]: kind for name, kind in types.items() if name in written}
    return read, ParseOptions(delimiter=layout.delimiter, newlines_in_values=True), convert


def _open(path: Path) -> Any:
    import pyarrow as pa

    return pa.input_stream(str(path), compression="gzip" if path.suffix == ".gz" else None)


def _tidy(table: Any, decided: Collection[str]) -> Any:
    """Cut spaces off text, and take a column for numbers that pyarrow did not, such as +5, if it is not decided."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for j, field in enumerate(table.schema):
        if pa.types.is_binary(field.type):
            raise UnicodeError
        if not pa.types.is_string(field.type):
            continue
        column = table.column(j)
        cells = column.unique().to_pylist()
        tidy = [None if cell is None or cell.strip() in MISSING else cell.strip() for cell in cells]
        words = [cell for cell in tidy if cell is not None]
        if field.name not in decided and all(reads_as_number(cell) for cell in words):
            tidy = [None if cell is None else float(cell) for cell in tidy]
        elif tidy == cells:
            continue
        places = pc.index_in(column, pa.array(cells, pa.string()))
        values = pa.array(tidy, pa.string() if any(isinstance(cell, str) for cell in tidy) else pa.float64())
        table = table.set_column(j, field.name, values.take(places.combine_chunks()))
    return table


def _open_text(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def _not_utf8(path: Path, error: UnicodeDecodeError) -> DataFileError:
    return DataFileError(f"{path}: is not UTF-8 text (byte {error.start}); save it as UTF-8")


def read_header(path: Path) -> Layout:
    """Return how a file is written, by its first line."""
    try:
        with _open_text(path) as file:
            line = next((line for line in file if line.strip()), "")
        if not line:
            raise DataFileError(f"{path}: is empty")
        unquoted = re.sub('"[^"]*"', "", line)
        delimiter = max(",;\t", key=unquoted.count)
        with _open_text(path) as file:
            written = next(row for row in csv.reader(file, delimiter=delimiter) if row)
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error) from error
    except (csv.Error, EOFError, gzip.BadGzipFile) as error:
        raise DataFileError(f"{path}: cannot be read as CSV: {error}") from error
    first = [cell.strip() for cell in written]
    if all(reads_as_number(cell) for cell in first):
        names = [f"x{j}" for j in range(len(first))]
        return Layout(names, names, False, delimiter)
    # A gap in the header (row numbers are written that way) gets a name by position.
    names = [name or f"x{j}" for j, name in enumerate(first)]
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise DataFileError(f"{path}: the header names column {repeated[0]!r} more than once")
    return Layout(names, written, True, delimiter)


@contextmanager
def _errors_of(path: Path, layout: Layout) -> Iterator[None]:
    """Let errors begin with the name of the file, and name the line where it can be found."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError, UnicodeError) as error:
        _explain(path, layout, error)


def _explain(path: Path, layout: Layout, error: Exception) -> NoReturn:
    """Read a file that failed line by line, to say what is wrong with it."""
    width = len(layout.names)
    try:
        with _open_text(path) as file:
            reader = csv.reader(file, delimiter=layout.delimiter)
            for row in reader:
                if row and len(row) != width:
                    cells = f"{len(row)} cell{'s' * (len(row) != 1)}"
                    raise DataFileError(
                        f"{path}: line {reader.line_num} has {cells}, the first line {width}"
                    ) from error
    except UnicodeDecodeError as wrong:
        raise _not_utf8(path, wrong) from error
    except (csv.Error, EOFError, OSError) as wrong:
        raise DataFileError(f"{path}: cannot be read as CSV: {wrong}") from error
    text = " ".join(str(error).split("Invalid: ")[-1].split())
    raise DataFileError(f"{path}: cannot be read as CSV: {text}") from error
