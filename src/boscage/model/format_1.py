"""Model files of format 1, brought into the form of format 2.

Format 1 had one tree, no parameters and no version; a linear test was marked -2; parts of the input map had no axis for
trees, and sparse weights told their shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from boscage.model.file_bytes import expect, expect_keys
from boscage.model.tree_tensors import Tensors
from boscage.tree import LINEAR

_OLD_LINEAR = -2
_MAP_ARRAYS = ("fill", "code_offset", "codes", "shift", "scale")


def upgrade(meta: dict[str, Any], tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
    """Return the metadata and tensors that format 2 would have had; the parameters are null."""
    expect_keys(meta, {"format", "kind", "classes", "schema", "tree"}, {"state"}, "the metadata")
    new: dict[str, Any] = {key: meta[key] for key in ("kind", "schema", "state") if key in meta}
    new |= {"format": 2, "version": None, "target": {"classes": meta["classes"]}, "parameters": None, "trees": None}
    if meta["tree"] is None:
        return new, tensors
    tree = meta["tree"]
    expect_keys(tree, {"routing", "input_map", "weights"}, set(), "tree")
    tensors = dict(tensors)
    feature = tensors.get("feature")
    if feature is not None:
        expect(not (feature == LINEAR).any(), f"Tree array feature: {LINEAR} is not a mark of format 1")
        tensors["feature"] = np.where(feature == _OLD_LINEAR, LINEAR, feature).astype(feature.dtype)
    layout = {
        "routing": tree["routing"],
        "weights": "sparse" if type(tree["weights"]) is list else tree["weights"],
        "input_map": _input_map(tree["input_map"], tensors),
        "leaf_value": "leaf_value" in tensors,
        "leaf_models": "leaf_models.coef" in tensors,
    }
    return new | {"trees": {"count": 1, "layouts": [layout]}}, tensors


def _input_map(meta: Any, tensors: Tensors) -> dict[str, Any] | None:
    if meta is None:
        return None
    expect_keys(meta, {"constant", "unit_rows"}, set(), "input_map")
    names = [name for name in _MAP_ARRAYS if f"input_map.{name}" in tensors]
    for name in names:
        if name != "codes":
            tensors[f"input_map.{name}"] = tensors[f"input_map.{name}"][None]
    return {"arrays": names, **meta}
