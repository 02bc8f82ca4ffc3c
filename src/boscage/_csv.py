"""A CSV reader with the standard library alone: header, delimiter, numbers, text and missing cells.

Columns are numbers until a cell says otherwise; then the file is read again with that column as text, so that level
names are kept exactly as written ("007" stays "007"). Rows are read in blocks to bound the memory taken by strings.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from boscage.datasets import DataFileError

MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "NAN", "null", "NULL", "None"})
"""Cells that mean "no value"."""
_BLOCK_ROWS = 16384
_Columns = list[NDArray[np.float64] | list[str | None]]


class _TextFound(Exception):
    """Some columns that were read as numbers hold text."""

    def __init__(self, columns: set[int]) -> None:
        self.columns = columns


def read_csv(path: Path, text: frozenset[str]) -> tuple[list[str], _Columns, tuple[str, ...]]:
    """Read a delimited file.

    Parameters
    ----------
    path : Path
        The file, UTF-8, gzipped if its name ends in ``.gz``; fields separated by comma, semicolon or tab.
    text : frozenset of str
        Columns to read as text in any case.

    Returns
    -------
    names : list of str
        From the header, or x0, x1, ... if the first row is all numbers.
    columns : list
        float64 arrays with NaN for missing cells, or lists of str with None for missing cells.
    notes : tuple of str
        What the user should know about how the file was understood.
    """
    try:
        names, has_header, delimiter = read_header(path)
        as_text = {j for j, name in enumerate(names) if name in text}
        while True:
            try:
                columns = _read(path, names, has_header, delimiter, as_text)
                break
            except _TextFound as found:
                as_text |= found.columns
    except UnicodeDecodeError as error:
        raise DataFileError(f"{path}: is not UTF-8 text (byte {error.start})") from error
    except (csv.Error, EOFError, gzip.BadGzipFile) as error:
        raise DataFileError(f"{path}: cannot be read as CSV: {error}") from error
    notes = () if has_header else (f"{path}: no header line, columns are called x0 .. x{len(names) - 1}",)
    return names, columns, notes


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def read_header(path: Path) -> tuple[list[str], bool, str]:
    """Return the names of the columns, whether the first line holds them, and the delimiter."""
    with _open(path) as file:
        line = next((line for line in file if line.strip()), "")
    if not line:
        raise DataFileError(f"{path}: is empty")
    unquoted = re.sub('"[^"]*"', "", line)
    delimiter = max(",;\t", key=unquoted.count)
    with _open(path) as file:
        first = [cell.strip() for cell in next(row for row in csv.reader(file, delimiter=delimiter) if row)]
    if all(reads_as_number(cell) for cell in first):
        return [f"x{j}" for j in range(len(first))], False, delimiter
    # A gap in the header (row numbers are written that way) gets a name by position.
    first = [name or f"x{j}" for j, name in enumerate(first)]
    if repeated := [name for name in dict.fromkeys(first) if first.count(name) > 1]:
        raise DataFileError(f"{path}: the header names column {repeated[0]!r} more than once")
    return first, True, delimiter


def reads_as_number(cell: str) -> bool:
    """Whether a cell of text can be read as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read(path: Path, names: list[str], has_header: bool, delimiter: str, as_text: set[int]) -> _Columns:
    parts: list[list[Any]] = [[] for _ in names]
    with _open(path) as file:
        rows = _rows(path, csv.reader(file, delimiter=delimiter), len(names))
        if has_header:
            next(rows, None)
        while block := list(islice(rows, _BLOCK_ROWS)):
            found = set()
            for j, cells in enumerate(zip(*block, strict=True)):
                if j in as_text:
                    parts[j].append([None if cell.strip() in MISSING else cell.strip() for cell in cells])
                elif (numbers := _numbers(cells)) is not None:
                    parts[j].append(numbers)
                else:
                    found.add(j)
            if found:
                raise _TextFound(found)
    return [
        [cell for part in column for cell in part] if j in as_text else np.concatenate([np.empty(0), *column])
        for j, column in enumerate(parts)
    ]


def _rows(path: Path, reader: Any, width: int) -> Iterator[list[str]]:
    for row in reader:
        if len(row) == width:
            yield row
        elif row:  # blank lines are passed over
            cells = f"{len(row)} cell{'s' * (len(row) != 1)}"
            raise DataFileError(f"{path}: line {reader.line_num} has {cells}, the first line {width}")


def _numbers(cells: Sequence[str]) -> NDArray[np.float64] | None:
    """Convert cells to numbers, or give None if one is text; 1_000 is a number to Python but a name in a file."""
    try:
        numbers = list(map(float, cells))
    except ValueError:
        try:
            numbers = [np.nan if cell.strip() in MISSING else float(cell) for cell in cells]
        except ValueError:
            return None
    return None if "_" in "".join(cells) else np.array(numbers)
