"""Record batches and tables of pyarrow's as `RawBatch`: columns one after the other in memory that is used again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.batches.files import check_columns
from boscage.batches.rows import CodedLabels, RawBatch


class Memory:
    """Memory for the columns of a batch, used again: fresh memory for every batch costs more than filling it."""

    def __init__(self) -> None:
        self._bytes = np.empty(0, np.uint8)

    def columns(self, n_columns: int, n_rows: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """Return columns to be filled; those of the batch before are lost."""
        wanted = n_columns * n_rows * dtype.itemsize
        if len(self._bytes) < wanted:
            self._bytes = np.empty(wanted, np.uint8)
        return self._bytes[:wanted].view(dtype).reshape(n_columns, n_rows)


def arrow_batch(batch: Any, target: str | None, weight: str | None, memory: Memory | None = None) -> RawBatch:
    """Take a record batch or a table apart into X, y and weights; X lies in the memory."""
    if target is None:
        raise ValueError("target=None is not allowed with tables. Pass the name of the column of labels.")
    check_columns(batch.schema.names, target, weight)
    kept = [j for j, name in enumerate(batch.schema.names) if name not in (target, weight)]
    if not kept:
        raise ValueError(f"the source has no column besides target={target!r} and weight={weight!r}.")
    types = [_float_type(batch.schema.field(j)) for j in kept]
    matrix = (memory or Memory()).columns(len(kept), batch.num_rows, np.result_type(*types))
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


def _arrow_labels(column: Any) -> npt.NDArray[Any] | CodedLabels:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if pa.types.is_dictionary(column.type) and column.null_count == 0 and column.dictionary.null_count == 0:
        codes = np.asarray(column.indices.cast(pa.int32()).to_numpy())
        return CodedLabels(codes, np.asarray(column.dictionary.to_numpy(zero_copy_only=False)))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return np.asarray(column.to_numpy(zero_copy_only=False))
