"""Model files: safetensors holding the arrays of a tree, and one metadata key with canonical JSON.

A file is data, never code, and holds what prediction needs and nothing else, so equal trees give equal files.
Every array of :class:`boscage.tree.Tree` that is not at its default is a tensor of the same name (parts of the input
map, the leaf models and sparse weights as ``input_map.shift``, ``leaf_models.coef``, ``weights.indptr`` …); what an
estimator keeps beyond its tree has names that begin with ``state.``. The metadata key ``boscage`` holds

``format``
    Number of this layout, :data:`FORMAT`.
``kind``
    Name of the estimator class.
``classes``
    ``{"dtype": …, "values": […]}``, the labels in order.
``schema``
    ``{"n_features", "dtype", "feature_names", "categories"}``.
``tree``
    ``{"routing", "input_map": null or {"constant", "unit_rows"}, "weights": null, "dense" or the shape of a CSR}``;
    null for an estimator that is all state.
``state``
    Only where an estimator added something of its own.
"""

from __future__ import annotations

import importlib
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save as to_safetensors
from scipy import sparse

from boscage._check_tree import check_schema
from boscage._file_reader import (
    MAX_FEATURES,
    METADATA_KEY,
    ModelFileError,
    canonical_json,
    check_header_size,
    expect,
    expect_keys,
    read_tensors,
)
from boscage._label_codec import labels_from_json, labels_to_json
from boscage.tree import InputMap, LeafModels, Schema, Tree

__all__ = ["FORMAT", "Model", "ModelFileError", "ModelState", "load", "read_model", "save", "saveable", "write_model"]

FORMAT = 1
_STATE = "state."
_Estimator = TypeVar("_Estimator", bound=type)
_kinds: dict[str, type] = {}

# name -> (dtype, number of dimensions)
_REQUIRED = {
    "children_left": ("int32", 1),
    "children_right": ("int32", 1),
    "feature": ("int32", 1),
    "threshold": ("float64", 1),
    "value": ("float64", 2),
    "n_node_samples": ("int64", 1),
    "weighted_n_node_samples": ("float64", 1),
    "impurity": ("float64", 1),
}
_OPTIONAL = {
    "missing_go_to_left": ("bool", 1),
    "category_offset": ("int64", 1),
    "category_bits": ("uint8", 1),
    "linear_row": ("int32", 1),
    "leaf_value": ("float64", 2),
    "schema.n_categories": ("int64", 1),
    "schema.spread": ("float64", 1),
    "weights": ("float64", 2),
    "weights.data": ("float64", 1),
    "weights.indices": ("int64", 1),
    "weights.indptr": ("int64", 1),
    "input_map.fill": ("float64", 1),
    "input_map.code_offset": ("int64", 1),
    "input_map.codes": ("float64", 1),
    "input_map.shift": ("float64", 1),
    "input_map.scale": ("float64", 1),
    "leaf_models.coef": ("float64", 3),
    "leaf_models.intercept": ("float64", 2),
}
_SPARSE = ("weights.data", "weights.indices", "weights.indptr")
_MAP_ARRAYS = ("fill", "code_offset", "codes", "shift", "scale")

Tensors = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class ModelState:
    """What an estimator keeps beyond its tree: arrays and plain JSON values."""

    tensors: Tensors = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """The content of a model file."""

    kind: str
    classes: npt.NDArray[Any]
    tree: Tree | None
    state: ModelState | None = None
    columns: Schema | None = None  # of a model without a tree

    @property
    def schema(self) -> Schema:
        """The columns of X."""
        found = self.columns if self.tree is None else self.tree.schema
        if found is None:
            raise ValueError("model: without a tree the columns must be given.")
        return found


def saveable(cls: _Estimator) -> _Estimator:
    """Class decorator: files of this class can be saved and loaded under its name.

    An estimator with more to remember than ``tree_`` and ``classes_`` passes a :class:`ModelState` to :func:`save`
    and has a method ``_restore_state(state)``, which must check what it is given and raise ValueError. An estimator
    without a ``tree_`` has the class attribute ``_all_state = True`` and passes its schema too.
    """
    _kinds[cls.__name__] = cls
    return cls


def save(
    estimator: Any,
    path: str | os.PathLike[str],
    state: ModelState | None = None,
    schema: Schema | None = None,
) -> None:
    """Write a fitted estimator to ``path``; an existing file is replaced in one step or left as it was."""
    kind = type(estimator).__name__
    if kind not in _kinds:
        raise TypeError(f"estimator: {kind} cannot be saved; known are {', '.join(sorted(_kinds)) or 'none'}.")
    tree = None if schema is not None else estimator.tree_
    write_model(path, Model(kind, estimator.classes_, tree, state, schema))


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that ``save`` has written.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        An instance of the saved class with default parameters, ready to predict.

    Raises
    ------
    ModelFileError
        If the content is not a sound model file. Nothing in a file is ever executed.
    OSError
        If the file cannot be read.
    """
    model = read_model(path)
    cls = _class_of(model.kind)
    if cls is None:
        raise ModelFileError(f"{os.fspath(path)}: this version of boscage has no estimator named {model.kind!r}.")
    all_state = getattr(cls, "_all_state", False)
    if (model.tree is None) != all_state or (all_state and model.state is None):
        raise ModelFileError(f"{os.fspath(path)}: not a sound model file: its parts are not those of a {model.kind}.")
    estimator = cls()
    if model.tree is not None:
        estimator.tree_ = model.tree
    estimator.classes_ = model.classes
    estimator.n_features_in_ = model.schema.n_features
    if model.schema.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.schema.feature_names, dtype=object)
    if model.state is not None:
        if not hasattr(estimator, "_restore_state"):
            raise ModelFileError(f"{os.fspath(path)}: {model.kind} keeps no state, but the file has one.")
        try:
            estimator._restore_state(model.state)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise ModelFileError(f"{os.fspath(path)}: {error}") from error
    return estimator


def _class_of(kind: str) -> type | None:
    package = importlib.import_module("boscage")
    if kind not in _kinds and kind in package.__all__:
        getattr(package, kind)  # public names are imported when first used, which registers them
    return _kinds.get(kind)


def write_model(path: str | os.PathLike[str], model: Model) -> None:
    """Write a model file; see :func:`save`."""
    if model.tree is not None:
        model.tree.check()
    data = model_bytes(model)
    target = Path(path)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except OSError as error:  # the user has never heard of the draft
        draft.unlink(missing_ok=True)
        if error.filename is None:
            raise
        raise type(error)(error.errno, error.strerror, str(target)) from error
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def model_bytes(model: Model) -> bytes:
    """Lay out the content of a model file."""
    tree, schema = model.tree, model.schema
    if tree is not None and len(model.classes) != tree.n_classes:
        raise ValueError(f"classes: the tree has {tree.n_classes} classes, got {len(model.classes)} labels.")
    if schema.n_features > MAX_FEATURES:
        raise ValueError(f"tree: model files hold at most {MAX_FEATURES} columns, got {schema.n_features}.")
    meta: dict[str, Any] = {
        "format": FORMAT,
        "kind": model.kind,
        "classes": labels_to_json(model.classes),
        "schema": {
            "n_features": int(schema.n_features),
            "dtype": schema.dtype,
            "feature_names": schema.feature_names and list(schema.feature_names),
            "categories": _categories_to_json(schema),
        },
        "tree": None if tree is None else _tree_meta(tree),
    }
    tensors = {} if tree is None else _tree_tensors(tree)
    if model.state is not None:
        meta["state"] = model.state.meta
        tensors |= {_STATE + name: np.ascontiguousarray(array) for name, array in model.state.tensors.items()}
    text = canonical_json(meta)
    data: bytes = to_safetensors(dict(sorted(tensors.items())), {METADATA_KEY: text})
    check_header_size(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return data


def _tree_meta(tree: Tree) -> dict[str, Any]:
    row_map = tree.input_map
    return {
        "routing": tree.routing,
        "input_map": row_map and {"constant": row_map.constant, "unit_rows": row_map.unit_rows},
        "weights": _weights_kind(tree),
    }


def _weights_kind(tree: Tree) -> Any:
    if sparse.issparse(tree.weights):
        return [int(size) for size in tree.weights.shape]
    return "dense" if tree.weights.shape[0] else None


def _tree_tensors(tree: Tree) -> Tensors:
    found: dict[str, Any] = {name: getattr(tree, name) for name in _REQUIRED}
    # Arrays that say nothing are left out, so a file does not show which learner spelled them out.
    if tree.missing_go_to_left.any():
        found["missing_go_to_left"] = tree.missing_go_to_left
    if tree.category_bits.size or (tree.category_offset != -1).any():
        found |= {"category_offset": tree.category_offset, "category_bits": tree.category_bits}
    if tree.weights.shape[0] or (tree.linear_row != -1).any():
        found["linear_row"] = tree.linear_row
    if tree.schema.any_categories:
        found["schema.n_categories"] = tree.schema.n_categories
    found["schema.spread"] = tree.schema.spread
    if sparse.issparse(tree.weights):
        weights: Any = tree.weights
        found |= dict(zip(_SPARSE, (weights.data, weights.indices, weights.indptr)))
    elif tree.weights.shape[0]:
        found["weights"] = tree.weights
    found["leaf_value"] = tree.leaf_value
    if tree.input_map is not None:
        found |= {f"input_map.{name}": getattr(tree.input_map, name) for name in _MAP_ARRAYS}
    if tree.leaf_models is not None:
        found |= {"leaf_models.coef": tree.leaf_models.coef, "leaf_models.intercept": tree.leaf_models.intercept}
    dtypes = _REQUIRED | _OPTIONAL
    tensors = {name: np.ascontiguousarray(a, dtypes[name][0]) for name, a in found.items() if a is not None}
    # Adding 0 turns -0.0 into 0.0: equal trees, equal bytes.
    return {name: a + 0.0 if a.dtype == np.float64 else a for name, a in tensors.items()}


def _categories_to_json(schema: Schema) -> Any:
    if schema.categories is None:
        return None
    plain = [None if names is None else [_plain(name) for name in names] for names in schema.categories]
    return {str(column): names for column, names in enumerate(plain) if names is not None}


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read and verify a model file; any content gives a Model or a ModelFileError."""
    name = os.fspath(path)
    try:
        meta, tensors, size = read_tensors(path)
        return _model(meta, tensors, size)
    except (ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
        reason = " ".join(str(error).split())[:400] or type(error).__name__
        raise ModelFileError(f"{name}: {reason}") from error


def _model(meta: dict[str, Any], tensors: Tensors, size: int) -> Model:
    number = meta.get("format")
    expect(type(number) is int, "the metadata has no format number")
    if number != FORMAT:
        raise ModelFileError(f"the file has format {number}, this version of boscage reads format {FORMAT}.")
    expect_keys(meta, {"format", "kind", "classes", "schema", "tree"}, {"state"}, "the metadata")
    kind, state = meta["kind"], meta.get("state")
    expect(type(kind) is str and kind.isidentifier() and len(kind) < 100, "kind must be the name of an estimator")
    expect(state is None or type(state) is dict, "state must be an object")
    own = {name: array for name, array in tensors.items() if not name.startswith(_STATE)}
    extra = {name.removeprefix(_STATE): array for name, array in tensors.items() if name.startswith(_STATE)}
    expect(state is not None or not extra, "there are state tensors but no state")
    classes = labels_from_json(meta["classes"])
    tree = None
    if meta["tree"] is None:
        expect(not own, "there are tensors of a tree but no tree")
        schema = _schema(meta["schema"], own, size)
        check_schema(schema)
    else:
        _check_tensors(own)
        schema = _schema(meta["schema"], own, size)
        tree = _tree(meta["tree"], schema, own)
        tree.check()
        expect(len(classes) == tree.n_classes, f"there are {len(classes)} labels for {tree.n_classes} classes")
    # LOMTreeClassifier once had two modes, told apart by the second number of its configuration.
    config = extra.get("config.integers", np.empty(0))
    if kind == "LOMTreeClassifier" and config.shape == (10,) and config[1] == 0:
        kind = "OnlineTreeClassifier"
    return Model(kind, classes, tree, None if state is None else ModelState(extra, state), schema)


def _check_tensors(tensors: Tensors) -> None:
    known = _REQUIRED | _OPTIONAL
    for name, array in tensors.items():
        expect(name in known, f"unknown tensor {name!r}")
        dtype, ndim = known[name]
        expect(array.dtype == dtype, f"tensor {name} must be {dtype}, is {array.dtype}")
        expect(array.ndim == ndim, f"tensor {name} must have {ndim} dimension(s), has {array.ndim}")
    for name in _REQUIRED:
        expect(name in tensors, f"tensor {name} is missing")


def _schema(meta: Any, tensors: Tensors, size: int) -> Schema:
    expect_keys(meta, {"n_features", "dtype", "feature_names", "categories"}, set(), "schema")
    d, names, categories = meta["n_features"], meta["feature_names"], meta["categories"]
    # A small file must not ask for much memory.
    expect(type(d) is int and 1 <= d <= MAX_FEATURES, f"n_features must be an integer from 1 to {MAX_FEATURES}")
    expect(type(meta["dtype"]) is str, "dtype must be a string")
    expect(names is None or type(names) is list, "feature_names must be a list")
    expect(categories is None or type(categories) is dict, "categories must be an object")
    columns: list[tuple[Any, ...] | None] | None = None
    if categories is not None:
        columns = [None] * d
        for column, labels in categories.items():
            expect(column.isdecimal() and str(int(column)) == column and int(column) < d, "categories: no such column")
            expect(type(labels) is list, "categories: the names of a column must be a list")
            columns[int(column)] = tuple(labels)
    return Schema(
        d,
        meta["dtype"],
        None if names is None else tuple(names),
        tensors.get("schema.n_categories"),  # type: ignore[arg-type]
        None if columns is None else tuple(columns),
        tensors.get("schema.spread"),
    )


def _tree(meta: Any, schema: Schema, tensors: Tensors) -> Tree:
    expect_keys(meta, {"routing", "input_map", "weights"}, set(), "tree")
    expect(type(meta["routing"]) is str, "routing must be a string")
    row_map = _input_map(meta["input_map"], tensors)
    models = None
    if "leaf_models.coef" in tensors or "leaf_models.intercept" in tensors:
        expect("leaf_models.coef" in tensors and "leaf_models.intercept" in tensors, "half the leaf models are missing")
        models = LeafModels(tensors["leaf_models.coef"], tensors["leaf_models.intercept"])
    plain = (*_REQUIRED, "missing_go_to_left", "category_offset", "category_bits", "linear_row", "leaf_value")
    return Tree(
        **{name: tensors[name] for name in plain if name in tensors},
        schema=schema,
        routing=meta["routing"],
        weights=_weights(meta["weights"], tensors),
        input_map=row_map,
        leaf_models=models,
    )


def _input_map(meta: Any, tensors: Tensors) -> InputMap | None:
    arrays = {name: tensors[f"input_map.{name}"] for name in _MAP_ARRAYS if f"input_map.{name}" in tensors}
    if meta is None:
        expect(not arrays, "there are input_map tensors but no input_map")
        return None
    expect_keys(meta, {"constant", "unit_rows"}, set(), "input_map")
    constant = meta["constant"]
    expect(constant is None or type(constant) is float, "input_map.constant must be null or a decimal number")
    expect(type(meta["unit_rows"]) is bool, "input_map.unit_rows must be true or false")
    return InputMap(**arrays, constant=constant, unit_rows=meta["unit_rows"])


def _weights(meta: Any, tensors: Tensors) -> Any:
    present = [name for name in _SPARSE if name in tensors]
    expect((meta == "dense") == ("weights" in tensors), "weights and the tensors do not agree")
    if type(meta) is not list:
        expect(meta in (None, "dense") and not present, "weights must be null, 'dense' or a shape")
        return tensors.get("weights")
    expect(len(meta) == 2 and all(type(size) is int and size >= 0 for size in meta), "weights: not a shape")
    expect(len(present) == 3, "weights: the CSR arrays are not complete")
    data, indices, indptr = (tensors[name] for name in _SPARSE)
    rows, columns = meta
    expect(indptr.size == rows + 1 and data.size == indices.size, "weights: the CSR arrays do not fit their shape")
    # Verified before scipy sees them: its own checks trust the order of the offsets.
    expect(
        indptr[0] == 0 and indptr[-1] == data.size and bool((np.diff(indptr) >= 0).all()), "weights.indptr is broken"
    )
    expect(bool(((indices >= 0) & (indices < columns)).all()), "weights.indices: column out of range")
    same_row = np.ones(max(indices.size - 1, 0), np.bool_)
    same_row[indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < indices.size)] - 1] = False
    expect(bool((np.diff(indices)[same_row] > 0).all()), "weights.indices must increase within a row")
    return sparse.csr_array((data, indices, indptr), shape=(rows, columns))
