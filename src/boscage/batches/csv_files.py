"""CSV files in batches, understood as they are in memory: separator, header, missing cells, gzip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from boscage._csv import MISSING, read_header
from boscage.datasets import DataFileError

_BLOCK_BYTES = 1 << 23


def csv_dataset(paths: Sequence[str], target: str | None) -> Any:
    """Open files as one dataset; columns are numbers if the beginning of the first file says so.

    Parameters
    ----------
    paths : sequence of str
        Files with the same columns, in any order if they have header lines.
    target : str or None
        The column of labels, whose whole numbers stay such; in other columns fractions may follow.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    names, has_header, delimiter = read_header(Path(paths[0]))
    kind = _format(delimiter, () if has_header else tuple(names))
    with _errors_of(paths[0]):
        seen = ds.dataset(paths[0], format=kind).schema
    fields = [
        pa.field(field.name, pa.float64())
        if field.name != target and (pa.types.is_integer(field.type) or pa.types.is_null(field.type))
        else field
        for field in seen
    ]
    return ds.dataset(list(paths), schema=pa.schema(fields), format=kind)


def is_own(dataset: Any) -> bool:
    """Whether a dataset of CSV files comes from `csv_dataset`."""
    delimiter = dataset.format.parse_options.delimiter
    return any(dataset.format.equals(_format(delimiter, names)) for names in ((), tuple(dataset.schema.names)))


def csv_batches(dataset: Any, fragment: Any, columns: list[str]) -> Iterator[Any]:
    """Read the record batches of one file as a stream."""
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv

    parse, read, convert = ParseOptions(), ReadOptions(block_size=_BLOCK_BYTES), ConvertOptions()
    if is_own(dataset):
        parse = ParseOptions(delimiter=dataset.format.parse_options.delimiter)
        convert = _conversion()
        if not dataset.format.equals(_format(parse.delimiter, ())):
            read.column_names = dataset.schema.names
    convert.column_types = {name: dataset.schema.field(name).type for name in columns}
    convert.include_columns = columns
    with fragment.open() as opened, _errors_of(fragment.path):
        plain = pa.CompressedInputStream(opened, "gzip") if fragment.path.lower().endswith(".gz") else opened
        with open_csv(plain, read, parse, convert) as stream:
            yield from stream


def _conversion() -> Any:
    from pyarrow.csv import ConvertOptions

    return ConvertOptions(null_values=sorted(MISSING), strings_can_be_null=True)


def _format(delimiter: str, names: tuple[str, ...]) -> Any:
    """Return the format of files with a header line, or of files whose columns get these names."""
    from pyarrow.csv import ParseOptions, ReadOptions
    from pyarrow.dataset import CsvFileFormat

    read = ReadOptions(column_names=list(names)) if names else None
    return CsvFileFormat(ParseOptions(delimiter=delimiter), convert_options=_conversion(), read_options=read)


@contextmanager
def _errors_of(path: str) -> Iterator[None]:
    """Let what pyarrow says about a file begin with its name."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        text = " ".join(str(error).split("Invalid: ")[-1].split())
        raise DataFileError(f"{path}: cannot be read as CSV: {text}") from error
