"""Arrays and text as JSON that can stand inside HTML."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

_TYPES = {"f8": "<f8", "f4": "<f4", "i4": "<i4", "u1": "u1"}


def encode_array(array: Any, kind: str = "f8") -> dict[str, str]:
    """Write the bytes of an array in base 64, little end first: exact, and half the length of decimal digits."""
    plain = np.ascontiguousarray(array, dtype=_TYPES[kind])
    return {kind: base64.b64encode(plain.tobytes()).decode()}


def encode_matrix(matrix: Any, kind: str = "f8") -> dict[str, Any]:
    """Write a matrix row by row, or only its stored entries where that is shorter."""
    rows, columns = matrix.shape
    found: dict[str, Any] = {"rows": int(rows), "columns": int(columns)}
    if sparse.issparse(matrix):
        return found | _stored(sparse.csr_array(matrix), kind)
    dense: npt.NDArray[Any] = np.asarray(matrix)
    # A negative zero counts as stored: the page must see the same number.
    is_stored = (dense != 0) | np.signbit(dense)
    if np.count_nonzero(is_stored) * 1.5 < dense.size - rows:
        where = np.nonzero(is_stored)
        return found | _stored(sparse.csr_array((dense[is_stored], where), shape=dense.shape), kind) | {"full": True}
    return found | {"values": encode_array(dense, kind)}


def _stored(matrix: Any, kind: str) -> dict[str, Any]:
    return {
        "values": encode_array(matrix.data, kind),
        "indices": encode_array(matrix.indices, "i4"),
        "offsets": encode_array(matrix.indptr, "i4"),
    }


def embed_json(value: Any) -> str:
    """JSON that is safe inside a ``<script>`` element: no angle brackets, ampersands or exotic line ends."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
