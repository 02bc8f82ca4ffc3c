"""Trees, arrays and text as JSON that can stand inside HTML and JavaScript."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage.tree import Tree

_TYPES = {"f8": "<f8", "f4": "<f4", "i4": "<i4", "u1": "u1"}


def encode_bytes(array: npt.NDArray[Any]) -> str:
    """Write the bytes of an array in base 64, little end first."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()).decode()


def encode_array(array: Any, kind: str = "f8") -> dict[str, str]:
    """Write an array by its bytes: exact, and half the length of decimal digits."""
    return {kind: encode_bytes(np.asarray(array, dtype=_TYPES[kind]))}


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


def encode_tree(tree: Tree, *, only_prediction: bool = False) -> dict[str, Any]:
    """Write what prediction in the browser needs, and unless ``only_prediction`` the counts and values of all nodes."""
    nodes: dict[str, Any] = {
        name: encode_array(getattr(tree, name), "i4")
        for name in ("children_left", "children_right", "feature", "linear_row", "category_offset")
    }
    nodes |= {name: encode_array(getattr(tree, name), "u1") for name in ("missing_go_to_left", "category_bits")}
    nodes["threshold"] = encode_array(tree.threshold)
    if only_prediction:
        nodes["leaf_value"] = encode_matrix(tree.leaf_proba)
    else:
        counts = ("n_node_samples", "weighted_n_node_samples", "impurity")
        nodes |= {name: encode_array(getattr(tree, name)) for name in counts}
        nodes["value"] = encode_matrix(tree.value)
        nodes["leaf_value"] = None if tree.leaf_value is None else encode_matrix(tree.leaf_value)
    models = tree.leaf_models
    return {
        "routing": tree.routing,
        "target": tree.target,
        "nodes": nodes,
        "weights": encode_matrix(tree.weights) if tree.weights.shape[0] else None,
        "input_map": _input_map(tree),
        "leaf_models": models
        and {
            "coef": encode_matrix(models.coef.reshape(-1, tree.n_features)),
            "intercept": encode_array(models.intercept),
            "low": None if models.low is None else encode_array(models.low),
            "high": None if models.high is None else encode_array(models.high),
        },
    }


def _input_map(tree: Tree) -> dict[str, Any] | None:
    row_map = tree.input_map
    if row_map is None:
        return None
    arrays = {name: getattr(row_map, name) for name in ("fill", "codes", "shift", "scale")}
    offset = row_map.code_offset
    return {
        **{name: None if array is None else encode_array(array) for name, array in arrays.items()},
        "code_offset": None if offset is None else encode_array(offset, "i4"),
        "constant": row_map.constant,
        "unit_rows": row_map.unit_rows,
    }


def embed_json(value: Any) -> str:
    """JSON that is safe inside a ``<script>`` element: no angle brackets, ampersands or exotic line ends."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
