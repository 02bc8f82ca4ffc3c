"""Bytes of a model file: named arrays and canonical JSON in the safetensors format; all that is read is checked.

A file is the length of the header in 8 bytes, the header as JSON, and the arrays one after another. Nothing here knows
what the arrays mean; :mod:`boscage.files` does.
"""

from __future__ import annotations

import json
import os
from typing import Any, BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt

METADATA_KEY = "boscage"
# What names and labels may take; a hostile header within these bounds is parsed in well under a second.
_MAX_HEADER = 32 << 20  # bytes
_MAX_VALUES = 1_000_000
_MAX_PARTS = 100_000
MAX_FEATURES = 1 << 24
_MAX_TENSORS = 128
_MAX_DIMENSIONS = 4
# In the order in which arrays are written, so that each is aligned.
_DTYPES: dict[str, np.dtype[Any]] = {
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
_ALIGNMENT = 8


class ModelFileError(ValueError):
    """A file is not a model file, or it is damaged; the message says what is wrong in one line."""


def expect(good: bool, why: str) -> None:
    """Refuse the file as damaged unless ``good``."""
    if not good:
        raise ModelFileError(f"a damaged model file: {why}.")


def _expect_ours(good: bool) -> None:
    """Refuse the file as one that no version of this library has written."""
    if not good:
        raise ModelFileError("not a Boscage model file. Pass a file written by save() or by `boscage fit`.")


def expect_keys(found: Any, required: set[str], optional: set[str], where: str) -> None:
    """Refuse the file unless ``found`` is an object with exactly the given keys."""
    expect(type(found) is dict, f"{where} must be an object")
    missing, unknown = required - found.keys(), found.keys() - required - optional
    expect(not missing, f"{where} lacks {', '.join(sorted(missing))}")
    expect(not unknown, f"{where} has the unknown key {min(unknown, default='')[:40]!r}")


def canonical_json(value: Any) -> str:
    """Write JSON in the one accepted form: sorted keys, no spaces, no NaN, plain Unicode."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"a name or label holds {error.object[error.start]!r}, half of a pair of surrogates, and cannot be written "
            "to a model file. Use valid Unicode text."
        ) from None
    return text


def tensor_bytes(meta: str, tensors: dict[str, npt.NDArray[Any]]) -> bytes:
    """Lay out metadata and arrays: the same bytes as the package ``safetensors`` writes."""
    header: dict[str, Any] = {"__metadata__": {METADATA_KEY: meta}}
    arrays, end = [], 0
    for kind, dtype in _DTYPES.items():
        for name in sorted(name for name, array in tensors.items() if array.dtype == dtype):
            array = np.ascontiguousarray(tensors[name], dtype)
            begin, end = end, end + array.nbytes
            header[name] = {"dtype": kind, "shape": tensors[name].shape, "data_offsets": [begin, end]}
            arrays.append(array.tobytes())
    assert len(arrays) == len(tensors), {name: array.dtype for name, array in tensors.items()}
    raw = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    raw += b" " * (-len(raw) % _ALIGNMENT)
    check_header_size(raw)
    return b"".join([len(raw).to_bytes(8, "little"), raw, *arrays])


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read metadata and arrays."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        header, start = _header(file, size)
        meta = _metadata(header.pop("__metadata__", None))
        entries = _entries(header, size - start)
        return meta, {name: _tensor(file, name, entry, start) for name, entry in entries.items()}


def _header(file: BinaryIO, size: int) -> tuple[dict[str, Any], int]:
    _expect_ours(size >= 10)
    length = int.from_bytes(file.read(8), "little")
    first = file.read(1)
    _expect_ours(length >= 2 and first == b"{")
    expect(length <= _MAX_HEADER, f"its header is larger than {_MAX_HEADER >> 20} MiB")
    raw = first + file.read(length - 1)
    _expect_ours(METADATA_KEY.encode() in raw)
    expect(len(raw) == length, "it ends within its header")
    check_header_size(raw)
    header = _parse(raw, "the header")
    expect(type(header) is dict, "the header is not an object")
    return header, 8 + length


def check_header_size(raw: bytes) -> None:
    """Refuse a header that would take long to parse: too many bytes, values or nested parts."""
    parts = raw.count(b"[") + raw.count(b"{") + raw.count(b'":')
    if len(raw) > _MAX_HEADER or raw.count(b",") > _MAX_VALUES or parts > _MAX_PARTS:
        raise ModelFileError(
            f"names and labels take more than {_MAX_HEADER >> 20} MiB, {_MAX_VALUES} values or {_MAX_PARTS} lists."
        )


def _parse(raw: bytes | str, what: str) -> Any:
    try:
        return json.loads(raw, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:  # bad UTF-8 and bad JSON are ValueErrors
        raise ModelFileError(f"a damaged model file: {what} is not JSON.") from error


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    expect(len(found) == len(pairs), "a key occurs twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ModelFileError(f"a damaged model file: it has the number {name}.")


def _metadata(metadata: Any) -> dict[str, Any]:
    _expect_ours(type(metadata) is dict and METADATA_KEY in metadata)
    expect(len(metadata) == 1, "it has more than one metadata key")
    text = metadata[METADATA_KEY]
    expect(type(text) is str, "the metadata is not text")
    meta = _parse(text, "the metadata")
    try:
        is_canonical = canonical_json(meta) == text
    except (ValueError, RecursionError):
        is_canonical = False
    expect(is_canonical, "the metadata is not in canonical form")
    expect(type(meta) is dict, "the metadata is not an object")
    found: dict[str, Any] = meta
    return found


def _entries(header: dict[str, Any], data_size: int) -> dict[str, tuple[np.dtype[Any], tuple[int, ...], int]]:
    """Check the table of tensors; they must cover the data without gap or overlap."""
    expect(len(header) <= _MAX_TENSORS, f"it has more than {_MAX_TENSORS} tensors")
    found: dict[str, tuple[np.dtype[Any], tuple[int, ...], int]] = {}
    spans: list[tuple[int, int]] = []
    for name, entry in header.items():
        where = f"tensor {name[:40]!r}"
        expect_keys(entry, {"dtype", "shape", "data_offsets"}, set(), where)
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        expect(type(dtype) is str and dtype in _DTYPES, f"{where} has an unknown type")
        expect(_are_sizes(shape) and len(shape) <= _MAX_DIMENSIONS, f"{where} has no valid shape")
        expect(_are_sizes(offsets) and len(offsets) == 2, f"{where} has no valid offsets")
        begin, end = offsets
        count = 1
        for extent in shape:  # exact Python integers, so nothing wraps around
            count *= extent
        expect(begin <= end <= data_size, f"{where} lies outside the file")
        expect(count * _DTYPES[dtype].itemsize == end - begin, f"{where}: shape and size do not agree")
        found[name] = _DTYPES[dtype], tuple(shape), begin
        spans.append((begin, end))
    reached = 0
    for begin, end in sorted(spans):
        expect(begin == reached, "its tensors overlap or leave a gap")
        reached = end
    expect(reached == data_size, f"{data_size - reached} bytes at its end belong to nothing")
    return found


def _are_sizes(values: Any) -> bool:
    return type(values) is list and all(type(value) is int and 0 <= value < 1 << 62 for value in values)


def _tensor(
    file: BinaryIO, name: str, entry: tuple[np.dtype[Any], tuple[int, ...], int], start: int
) -> npt.NDArray[Any]:
    dtype, shape, begin = entry
    is_bool = dtype == np.bool_
    array = np.empty(shape, np.uint8 if is_bool else dtype)
    if array.size:
        file.seek(start + begin)
        done = file.readinto(array.reshape(-1).view(np.uint8).data)  # type: ignore[attr-defined]
        expect(done == array.nbytes, f"tensor {name[:40]!r} ends too early")
    if not is_bool:
        return array.astype(dtype.newbyteorder("="), copy=False)
    expect(bool((array <= 1).all()), f"tensor {name[:40]!r} has truth values other than 0 and 1")
    return array.view(np.bool_)
