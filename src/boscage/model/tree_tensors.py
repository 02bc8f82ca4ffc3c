"""Trees as named arrays and back: the arrays of all trees of a model one after another, cut by counts.

A file of one tree and a file of five hundred have the same tensors. What differs from tree to tree beside the arrays
(routing, kind of weights, parts of the input map) is a *layout*; the trees of a forest share a few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage.model.file_bytes import ModelFileError, canonical_json, expect, expect_keys
from boscage.tree import InputMap, LeafModels, Schema, Target, Tree

Tensors = dict[str, npt.NDArray[Any]]

# name -> (dtype, number of dimensions)
NODE_TENSORS = {
    "children_left": ("int32", 1),
    "children_right": ("int32", 1),
    "feature": ("int32", 1),
    "threshold": ("float64", 1),
    "value": ("float64", 2),
    "n_node_samples": ("int64", 1),
    "weighted_n_node_samples": ("float64", 1),
    "impurity": ("float64", 1),
}
# Left out where all trees have the default, so a file does not show which learner spelled it out.
_OPTIONAL_NODE_TENSORS = {
    "missing_go_to_left": ("bool", 1),
    "category_offset": ("int64", 1),
    "linear_row": ("int32", 1),
}
_DEFAULTS = {"missing_go_to_left": False, "category_offset": -1, "linear_row": -1}
_MAP_TENSORS = {
    "fill": ("float64", 2),
    "code_offset": ("int64", 2),
    "codes": ("float64", 1),
    "shift": ("float64", 2),
    "scale": ("float64", 2),
}
_SPARSE = ("data", "indices", "indptr")
# How much of a tensor belongs to each tree, where there are several.
_COUNTS = ("trees.layout", "trees.nodes", "trees.category_bytes", "trees.weight_rows", "trees.codes")
TENSORS = {
    **NODE_TENSORS,
    **_OPTIONAL_NODE_TENSORS,
    "category_bits": ("uint8", 1),
    "leaf_value": ("float64", 2),
    "weights": ("float64", 2),
    "weights.data": ("float64", 1),
    "weights.indices": ("int64", 1),
    "weights.indptr": ("int64", 1),
    **{f"input_map.{name}": kind for name, kind in _MAP_TENSORS.items()},
    "leaf_models.coef": ("float64", 3),
    "leaf_models.intercept": ("float64", 2),
    "leaf_models.low": ("float64", 2),
    "leaf_models.high": ("float64", 2),
    **dict.fromkeys(_COUNTS, ("int64", 1)),
}
_BOUNDED = "bounded"  # leaf models of numbers with low and high
_LAYOUT_KEYS = {"routing", "weights", "input_map", "leaf_value", "leaf_models"}


# ---- writing -------------------------------------------------------------------------------------------------------


def pack_trees(trees: Sequence[Tree]) -> tuple[dict[str, Any], Tensors]:
    """Return what the metadata says of the trees, and their tensors."""
    of_tree = [layout_of(tree) for tree in trees]
    layouts = {canonical_json(layout): layout for layout in of_tree}
    found: Tensors = {name: _joined([getattr(tree, name) for tree in trees]) for name in NODE_TENSORS}
    for name, default in _DEFAULTS.items():
        if any((getattr(tree, name) != default).any() for tree in trees):
            found[name] = _joined([getattr(tree, name) for tree in trees])
    bits = [tree.category_bits for tree in trees]
    if any(part.size for part in bits) or "category_offset" in found:
        found["category_bits"] = _joined(bits)
    _pack_weights(trees, found)
    _pack_maps(trees, found)
    _pack_leaves(trees, found)
    if len(trees) > 1:
        place = {text: number for number, text in enumerate(layouts)}
        if len(layouts) > 1:
            found["trees.layout"] = np.array([place[canonical_json(layout)] for layout in of_tree])
        found["trees.nodes"] = np.array([tree.node_count for tree in trees])
        if "category_bits" in found:
            found["trees.category_bytes"] = np.array([part.size for part in bits])
        if "weights" in found or "weights.data" in found:
            found["trees.weight_rows"] = np.array([tree.weights.shape[0] for tree in trees])
        if "input_map.codes" in found:
            sizes = [0 if (m := tree.input_map) is None or m.codes is None else m.codes.size for tree in trees]
            found["trees.codes"] = np.array(sizes)
    tensors = {name: np.ascontiguousarray(array, TENSORS[name][0]) for name, array in found.items()}
    # Adding 0 turns -0.0 into 0.0: equal trees, equal bytes.
    tensors = {name: array + 0.0 if array.dtype == np.float64 else array for name, array in tensors.items()}
    return {"count": len(trees), "layouts": list(layouts.values())}, tensors


def _joined(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def layout_of(tree: Tree) -> dict[str, Any]:
    """Describe what differs from tree to tree beside the arrays."""
    row_map = tree.input_map
    weights = "sparse" if sparse.issparse(tree.weights) else "dense" if tree.weights.shape[0] else None
    return {
        "routing": tree.routing,
        "weights": weights,
        "input_map": row_map
        and {
            "arrays": [name for name in _MAP_TENSORS if getattr(row_map, name) is not None],
            "constant": None if row_map.constant is None else row_map.constant + 0.0,
            "unit_rows": row_map.unit_rows,
        },
        "leaf_value": tree.leaf_value is not None,
        "leaf_models": _BOUNDED if _has_bounds(tree) else tree.leaf_models is not None,
    }


def _has_bounds(tree: Tree) -> bool:
    return tree.leaf_models is not None and tree.leaf_models.low is not None


def _pack_weights(trees: Sequence[Tree], found: Tensors) -> None:
    dense: list[Any] = [tree.weights for tree in trees if not sparse.issparse(tree.weights) and tree.weights.shape[0]]
    if dense:
        width = max(part.shape[1] for part in dense)
        found["weights"] = _joined([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in dense])
    csr: list[Any] = [tree.weights for tree in trees if sparse.issparse(tree.weights)]
    if csr:
        starts = np.cumsum([0, *(part.indices.size for part in csr)])
        offsets = [part.indptr[1:] + start for part, start in zip(csr, starts)]
        found["weights.data"] = _joined([part.data for part in csr])
        found["weights.indices"] = _joined([part.indices for part in csr])
        found["weights.indptr"] = np.concatenate([[0], *offsets])


def _pack_maps(trees: Sequence[Tree], found: Tensors) -> None:
    for name, (_, ndim) in _MAP_TENSORS.items():
        parts = [array for tree in trees if tree.input_map and (array := getattr(tree.input_map, name)) is not None]
        if parts:
            found[f"input_map.{name}"] = np.stack(parts) if ndim == 2 else _joined(parts)


def _pack_leaves(trees: Sequence[Tree], found: Tensors) -> None:
    values = [tree.leaf_value for tree in trees if tree.leaf_value is not None]
    if values:
        found["leaf_value"] = _joined(values)
    models = [tree.leaf_models for tree in trees if tree.leaf_models is not None]
    if models:
        found["leaf_models.coef"] = _joined([model.coef for model in models])
        found["leaf_models.intercept"] = _joined([model.intercept for model in models])
    for name in ("low", "high"):
        if bounds := [array for model in models if (array := getattr(model, name)) is not None]:
            found[f"leaf_models.{name}"] = _joined(bounds)


# ---- reading -------------------------------------------------------------------------------------------------------


class _Cutter:
    """Hands out tensors piece by piece, from the front, and knows at the end what was left over."""

    def __init__(self, tensors: Tensors) -> None:
        self._tensors = tensors
        self._used = dict.fromkeys(tensors, 0)

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def take(self, name: str, count: int) -> npt.NDArray[Any]:
        """Return the next ``count`` entries of a tensor."""
        expect(name in self._tensors, f"tensor {name} is missing")
        begin = self._used[name]
        expect(count <= len(self._tensors[name]) - begin, f"tensor {name} is too short")
        self._used[name] = begin + count
        return self._tensors[name][begin : begin + count]

    def check_empty(self) -> None:
        """Refuse the file if something belongs to no tree."""
        for name, used in self._used.items():
            expect(used == len(self._tensors[name]), f"tensor {name} is too long")


def unpack_trees(meta: Any, schema: Schema, target: Target, tensors: Tensors) -> tuple[Tree, ...]:
    """Build the trees; shapes and counts are verified here, the content by ``check_nodes``."""
    _check_tensors(tensors)
    expect_keys(meta, {"count", "layouts"}, set(), "trees")
    count, layouts = meta["count"], meta["layouts"]
    nodes = len(tensors["children_left"])
    expect(type(count) is int and 1 <= count <= max(nodes, 1), "the number of trees and the nodes do not agree")
    expect(type(layouts) is list and 1 <= len(layouts) <= count, "layouts must be a list")
    for layout in layouts:
        _check_layout(layout)
    tensors = dict(tensors)
    counts = {name: tensors.pop(name) for name in _COUNTS if name in tensors}
    of_tree = _layout_numbers(counts, count, len(layouts))
    sizes = {
        "nodes": _sizes(counts, "nodes", count, nodes),
        "category_bytes": _sizes(counts, "category_bytes", count, _length(tensors, "category_bits")),
        "weight_rows": _sizes(counts, "weight_rows", count, _weight_rows(tensors)),
        "codes": _sizes(counts, "codes", count, _length(tensors, "input_map.codes")),
    }
    expect(not counts, f"tensor {min(counts, default='')} belongs to nothing")
    cutter = _Cutter({name: array for name, array in tensors.items() if name != "weights.indptr"})
    take_csr = _csr_cutter(tensors, cutter)
    trees = tuple(
        _tree(layouts[of_tree[t]], schema, target, cutter, take_csr, {name: part[t] for name, part in sizes.items()})
        for t in range(count)
    )
    cutter.check_empty()
    return trees


def _check_tensors(tensors: Tensors) -> None:
    for name, array in tensors.items():
        expect(name in TENSORS, f"unknown tensor {name[:40]!r}")
        dtype, ndim = TENSORS[name]
        expect(array.dtype == dtype, f"tensor {name} must be {dtype}, is {array.dtype}")
        expect(array.ndim == ndim, f"tensor {name} must have {ndim} dimension(s), has {array.ndim}")
    for name in NODE_TENSORS:
        expect(name in tensors, f"tensor {name} is missing")


def _check_layout(layout: Any) -> None:
    expect_keys(layout, _LAYOUT_KEYS, set(), "a layout of trees")
    expect(type(layout["routing"]) is str, "routing must be a string")
    expect(layout["weights"] in (None, "dense", "sparse"), "weights must be null, 'dense' or 'sparse'")
    expect(type(layout["leaf_value"]) is bool, "leaf_value must be true or false")
    models = layout["leaf_models"]
    expect(type(models) is bool or models == _BOUNDED, f"leaf_models must be true, false or {_BOUNDED!r}")
    row_map = layout["input_map"]
    if row_map is None:
        return
    expect_keys(row_map, {"arrays", "constant", "unit_rows"}, set(), "input_map")
    arrays, constant = row_map["arrays"], row_map["constant"]
    expect(
        type(arrays) is list and arrays == [name for name in _MAP_TENSORS if name in arrays],
        "input_map.arrays must be names of arrays in order",
    )
    expect(constant is None or type(constant) is float, "input_map.constant must be null or a decimal number")
    expect(type(row_map["unit_rows"]) is bool, "input_map.unit_rows must be true or false")


def _length(tensors: Tensors, name: str) -> int | None:
    return len(tensors[name]) if name in tensors else None


def _weight_rows(tensors: Tensors) -> int | None:
    dense, offsets = _length(tensors, "weights"), _length(tensors, "weights.indptr")
    expect(offsets != 0, "weights.indptr is empty")
    return None if dense is None and offsets is None else (dense or 0) + (offsets - 1 if offsets else 0)


def _layout_numbers(counts: Tensors, count: int, n_layouts: int) -> list[int]:
    if n_layouts == 1:
        return [0] * count
    expect("trees.layout" in counts, "tensor trees.layout is missing")
    numbers = counts.pop("trees.layout")
    expect(numbers.shape == (count,), f"tensor trees.layout must have {count} entries")
    expect(bool(((numbers >= 0) & (numbers < n_layouts)).all()), "tensor trees.layout names a layout that is not there")
    found: list[int] = numbers.tolist()
    return found


def _sizes(counts: Tensors, what: str, count: int, total: int | None) -> list[int]:
    """How much of a tensor of length ``total`` belongs to each tree."""
    if total is None or count == 1:
        return [total or 0] * count
    name = f"trees.{what}"
    expect(name in counts, f"tensor {name} is missing")
    sizes = counts.pop(name)
    good = sizes.shape == (count,) and bool(((sizes >= 0) & (sizes <= total)).all())
    found: list[int] = sizes.tolist() if good else []
    expect(sum(found) == total and good, f"tensor {name} does not add up to the {total} it divides")
    return found


def _tree(
    layout: dict[str, Any],
    schema: Schema,
    target: Target,
    cutter: _Cutter,
    take_csr: Callable[[int, int], sparse.csr_array],
    size: dict[str, int],
) -> Tree:
    n = size["nodes"]
    arrays = {name: cutter.take(name, n) for name in NODE_TENSORS}
    arrays |= {name: cutter.take(name, n) for name in _OPTIONAL_NODE_TENSORS if name in cutter}
    leaves = int(np.count_nonzero(arrays["children_left"] < 0))
    row_map = _input_map(layout["input_map"], cutter, size["codes"])
    columns = schema.n_features + (row_map is not None and row_map.constant is not None)
    models = None
    if layout["leaf_models"]:
        names = ("coef", "intercept", "low", "high")[: 4 if layout["leaf_models"] == _BOUNDED else 2]
        models = LeafModels(*(cutter.take(f"leaf_models.{name}", leaves) for name in names))
    return Tree(
        **arrays,
        schema=schema,
        routing=layout["routing"],
        category_bits=cutter.take("category_bits", size["category_bytes"]) if "category_bits" in cutter else None,  # type: ignore[arg-type]
        weights=_weights(layout["weights"], size["weight_rows"], columns, cutter, take_csr),
        leaf_value=cutter.take("leaf_value", leaves) if layout["leaf_value"] else None,
        input_map=row_map,
        leaf_models=models,
        target=target,
    )


def _input_map(meta: Any, cutter: _Cutter, codes: int) -> InputMap | None:
    if meta is None:
        expect(codes == 0, "there are codes but no input_map")
        return None
    expect(codes == 0 or "codes" in meta["arrays"], "there are codes that no input_map has")
    arrays: dict[str, Any] = {}
    for name in meta["arrays"]:
        part = cutter.take(f"input_map.{name}", codes if name == "codes" else 1)
        arrays[name] = part if name == "codes" else part[0]
    return InputMap(**arrays, constant=meta["constant"], unit_rows=meta["unit_rows"])


def _weights(
    kind: str | None, rows: int, columns: int, cutter: _Cutter, take_csr: Callable[[int, int], sparse.csr_array]
) -> Any:
    if kind == "sparse":
        return take_csr(rows, columns)
    if kind is None:
        expect(rows == 0, "there are weights for a tree that has none")
        return None
    expect(rows > 0, "a tree of linear tests has no weights")
    weights = cutter.take("weights", rows)
    expect(weights.shape[1] >= columns, f"tensor weights has fewer than {columns} columns")
    expect(not weights[:, columns:].any(), f"tensor weights has more than {columns} columns for a tree")
    return weights[:, :columns]


def _no_csr(rows: int, columns: int) -> NoReturn:
    raise ModelFileError("the CSR arrays of sparse weights are missing.")


def _csr_cutter(tensors: Tensors, cutter: _Cutter) -> Callable[[int, int], sparse.csr_array]:
    """Return a function that cuts the next rows off the sparse weights of all trees."""
    present = [f"weights.{part}" in tensors for part in _SPARSE]
    expect(all(present) or not any(present), "weights: the CSR arrays are not complete")
    if not all(present):
        return _no_csr
    data, indices, indptr = (tensors[f"weights.{part}"] for part in _SPARSE)
    # Verified before scipy sees them: its own checks trust the order of the offsets.
    expect(data.size == indices.size, "weights: the CSR arrays do not fit")
    expect(indptr[0] == 0 and indptr[-1] == data.size, "weights.indptr is broken")
    expect(bool((np.diff(indptr) >= 0).all()), "weights.indptr is broken")
    expect(bool((indices >= 0).all()), "weights.indices: column out of range")
    same_row = np.ones(max(indices.size - 1, 0), np.bool_)
    same_row[indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < indices.size)] - 1] = False
    expect(bool((np.diff(indices)[same_row] > 0).all()), "weights.indices must increase within a row")
    done = 0

    def take(rows: int, columns: int) -> sparse.csr_array:
        nonlocal done
        expect(rows <= indptr.size - 1 - done, "weights.indptr is too short")
        offsets = indptr[done : done + rows + 1]
        done += rows
        size = int(offsets[-1] - offsets[0])
        taken, at = cutter.take("weights.data", size), cutter.take("weights.indices", size)
        expect(bool((at < columns).all()), "weights.indices: column out of range")
        return sparse.csr_array((taken, at, offsets - offsets[0]), shape=(rows, columns))

    return take
