"""Record batches and tables of pyarrow's as `RawBatch`: columns one after the other in memory that is used again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.batches.files import check_columns
from boscage.batches.rows import CodedLabels, RawBatch
from boscage.data.column_kinds import NUMBERS_ONLY, CategoryRule, look_at_table, take_categories
from boscage.data.columns import numeric_type


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


def arrow_batch(
    batch: Any, target: str | None, weight: str | None, rule: CategoryRule = NUMBERS_ONLY, memory: Memory | None = None
) -> RawBatch:
    """Take a record batch or a table apart into X, y and weights; X lies in the memory."""
    if target is None:
        raise ValueError("target=None is not allowed with tables. Pass the name of the column of labels.")
    check_columns(batch.schema.names, target, weight)
    names = [name for name in batch.schema.names if name not in (target, weight)]
    if not names:
        raise ValueError(f"the source has no column besides target={target!r} and weight={weight!r}.")
    features = batch.select(names)
    seen = look_at_table(features, [j for j, kind in enumerate(features.schema.types) if _is_number(kind)])
    labelled = take_categories(_Batch(), seen, rule, rule.named(len(names), np.array(names, dtype=object)))
    numbers = [j for j in range(len(names)) if labelled.get(j) is None]
    dtype = numeric_type(*(_float_type(features.schema.field(j).type) for j in numbers))
    matrix = (memory or Memory()).columns(len(names), batch.num_rows, dtype)
    matrix[[j for j, column in labelled.items() if column is not None]] = 0.0
    for j in numbers:
        matrix[j] = _arrow_numbers(features.column(j))
    w = None if weight is None else np.asarray(_arrow_numbers(batch.column(batch.schema.names.index(weight))))
    labels = _arrow_labels(batch.column(batch.schema.names.index(target)))
    return RawBatch(matrix.T, labels, w, tuple(names), batch.nbytes, labelled)


class _Batch:
    """Stands for the estimator in messages about a batch."""


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _float_type(kind: Any) -> type:
    import pyarrow as pa

    small = (pa.float16(), pa.float32(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16())
    is_wide = pa.types.is_decimal(kind) or (_is_number(kind) and kind not in small)
    return np.float64 if is_wide else np.float32  # bool, null, and text without any value too


def _arrow_numbers(column: Any) -> npt.NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_floating(column.type) and column.null_count == 0:
        return np.asarray(column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy())
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if pa.types.is_dictionary(column.type):  # text without any value
        column = column.cast(column.type.value_type)
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
