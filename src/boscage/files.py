"""Model files: safetensors holding the arrays of the trees, and one metadata key with canonical JSON.

A file is data, never code. It holds what prediction needs, and the parameters. Equal models of equal parameters give
equal files, for any ``n_jobs`` and ``verbose``, as long as the version of the library is the same.

Every array of :class:`boscage.tree.Tree` that is not at its default is a tensor of the same name (parts of the input
map, the leaf models and sparse weights as ``input_map.shift``, ``leaf_models.coef``, ``weights.indptr`` …). The arrays
of several trees stand one after another, and ``trees.nodes`` and the like say how much belongs to each. What an
estimator keeps beyond its trees has names that begin with ``state.``. The metadata key ``boscage`` holds

``format``
    Number of this layout, :data:`FORMAT`.
``version``
    Version of the library that wrote the file.
``kind``
    Name of the estimator class.
``target``
    ``{"classes": {"dtype": …, "values": […]}}``, the labels in order, or ``{"numbers": number of outputs}``.
``schema``
    The columns: ``{"n_features", "dtype", "feature_names", "categories"}``.
``trees``
    ``{"count", "layouts"}``, see :mod:`boscage.model.tree_tensors`; null for an estimator that is all state.
``parameters``
    ``{"values", "omitted"}``, see :mod:`boscage.model.parameters`.
``state``
    Only where an estimator added something of its own.
"""

from __future__ import annotations

import importlib
import os
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from boscage import __version__
from boscage.base.whole_file import write_whole
from boscage.data.label_codec import labels_from_json, labels_to_json
from boscage.model.check_tree import check_nodes, check_schema
from boscage.model.file_bytes import (
    MAX_FEATURES,
    ModelFileError,
    canonical_json,
    expect,
    expect_keys,
    read_tensors,
    tensor_bytes,
)
from boscage.model.format_1 import upgrade
from boscage.model.parameters import NOT_STORED, parameters_from_json, parameters_to_json
from boscage.model.tree_tensors import Tensors, pack_trees, unpack_trees
from boscage.tree import Schema, Target, Tree

__all__ = [
    "FORMAT",
    "Model",
    "ModelFileError",
    "ModelState",
    "inspect",
    "load",
    "read_model",
    "save",
    "saveable",
    "write_model",
]

FORMAT = 2
_OLD_FORMATS = (1,)
_STATE = "state."
_SCHEMA_TENSORS = {"schema.n_categories": "int64", "schema.spread": "float64", "schema.missing": "bool"}
_Estimator = TypeVar("_Estimator", bound=type)
_kinds: dict[str, type] = {}


@dataclass(frozen=True)
class ModelState:
    """What an estimator keeps beyond its trees: arrays and plain JSON values."""

    tensors: Tensors = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """The content of a model file.

    Attributes
    ----------
    kind : str
        Name of the estimator class.
    schema : Schema
        The columns of X, which all trees share.
    classes : ndarray or None
        The labels in order; None if the target is numbers.
    trees : tuple of Tree
        None, one or many.
    n_outputs : int
        Numbers predicted for a row, where the target is numbers.
    parameters : dict or None
        Parameters of the estimator, decoded; None in a file of format 1.
    omitted : tuple of str
        Parameters that were not data and are None.
    state : ModelState or None
        What the estimator keeps beyond its trees.
    version : str or None
        Version of the library that wrote the file; None in a file of format 1.
    format : int
        Format of the file.
    """

    kind: str
    schema: Schema
    classes: npt.NDArray[Any] | None
    trees: tuple[Tree, ...] = ()
    n_outputs: int = 1
    parameters: dict[str, Any] | None = None
    omitted: tuple[str, ...] = ()
    state: ModelState | None = None
    version: str | None = __version__
    format: int = FORMAT

    @property
    def target(self) -> Target:
        """What is predicted."""
        return "numbers" if self.classes is None else "classes"

    @property
    def width(self) -> int:
        """Number of classes, or of numbers predicted."""
        return self.n_outputs if self.classes is None else len(self.classes)


def saveable(cls: _Estimator) -> _Estimator:
    """Class decorator: files of this class can be saved and loaded under its name.

    An estimator with more to remember than ``tree_`` and ``classes_`` passes a :class:`ModelState` to :func:`save`
    and has a method ``_restore_state(state)``, which must check what it is given and raise ValueError. An estimator
    without a ``tree_`` has the class attribute ``_all_state = True`` and passes its schema too; one with ``trees_`` has
    ``_many_trees = True``.
    """
    _kinds[cls.__name__] = cls
    return cls


def save(
    estimator: Any,
    path: str | os.PathLike[str],
    state: ModelState | None = None,
    schema: Schema | None = None,
) -> Path:
    """Write a fitted estimator to ``path``, whole or not at all, and return the path."""
    return write_model(path, model_of(estimator, state, schema))


def model_of(estimator: Any, state: ModelState | None = None, schema: Schema | None = None) -> Model:
    """Return what a file of a fitted estimator holds."""
    kind = type(estimator).__name__
    if kind not in _kinds:
        raise TypeError(f"estimator: {kind} cannot be saved; known are {', '.join(sorted(_kinds)) or 'none'}.")
    trees: tuple[Tree, ...] = () if schema is not None else _trees_of(estimator)
    columns = trees[0].schema if schema is None else schema
    stored = {name: value for name, value in estimator.get_params(deep=False).items() if name not in NOT_STORED}
    is_numbers = bool(trees) and trees[0].target == "numbers"
    classes = None if is_numbers else estimator.classes_
    width = trees[0].n_outputs if is_numbers else 1
    return Model(kind, columns, classes, trees, width, stored, state=state)


def _trees_of(estimator: Any) -> tuple[Tree, ...]:
    return tuple(estimator.trees_) if getattr(estimator, "_many_trees", False) else (estimator.tree_,)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model from a file written by ``save``.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        An instance of the saved class with the saved parameters, ready to predict; ``n_jobs`` and ``verbose`` have
        their defaults. Files of format 1 hold no parameters: all have their defaults.

    Warns
    -----
    UserWarning
        If a parameter was not stored because it is not data. It is None then.

    Raises
    ------
    ModelFileError
        If the file is not a valid model file. Nothing in a file is ever executed.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import boscage
    >>> tree = boscage.TopDownTreeClassifier(max_leaf_nodes=2)
    >>> tree = tree.fit([[0.0], [1.0]], ["low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = tree.save(os.path.join(folder, "tree.boscage"))
    ...     again = boscage.load(path)
    >>> again
    TopDownTreeClassifier(max_leaf_nodes=2)
    >>> again.predict([[0.2]]).tolist()
    ['low']
    """
    model = read_model(path)
    estimator = _estimator(model, os.fspath(path))
    if model.omitted:
        warnings.warn(
            f"{os.fspath(path)}: {', '.join(model.omitted)} of {model.kind} could not be stored in a model file and is "
            "None. The model predicts as before; set the parameter before you fit again.",
            UserWarning,
            stacklevel=2,
        )
    return estimator


def _estimator(model: Model, name: str) -> Any:
    """Make the fitted estimator; ``name`` is that of the file."""
    model = _renamed(model)
    cls = _class_of(model.kind)
    if cls is None:
        raise ModelFileError(f"{name}: this version of boscage has no estimator named {model.kind!r}.")
    all_state = getattr(cls, "_all_state", False)
    many_trees = getattr(cls, "_many_trees", False)
    fits = len(model.trees) >= 1 if many_trees else len(model.trees) == (0 if all_state else 1)
    is_wrong = (model.classes is None) != issubclass(cls, RegressorMixin)
    if is_wrong or not fits or ((all_state or many_trees) and model.state is None):
        raise ModelFileError(f"{name}: a damaged model file: its parts are not those of a {model.kind}.")
    estimator = _with_parameters(cls, model, name)
    if many_trees:
        from boscage.model.many_trees import ManyTrees

        estimator.trees_ = ManyTrees(model.trees)
    elif model.trees:
        estimator.tree_ = model.trees[0]
    if model.classes is not None:
        estimator.classes_ = model.classes
    estimator.n_features_in_ = model.schema.n_features
    if model.schema.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.schema.feature_names, dtype=object)
    if model.state is not None:
        if not hasattr(estimator, "_restore_state"):
            raise ModelFileError(f"{name}: {model.kind} keeps no state, but the file has one.")
        try:
            estimator._restore_state(model.state)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise ModelFileError(f"{name}: {error}") from error
    return estimator


def _renamed(model: Model) -> Model:
    """Bring what older versions called otherwise under its present name: the one place for renamed classes."""
    # LOMTreeClassifier once had two modes, told apart by the second number of its configuration.
    config = np.empty(0) if model.state is None else model.state.tensors.get("config.integers", np.empty(0))
    if model.format == 1 and model.kind == "LOMTreeClassifier" and config.shape == (10,) and config[1] == 0:
        return replace(model, kind="OnlineTreeClassifier")
    return model


def _class_of(kind: str) -> type | None:
    package = importlib.import_module("boscage")
    if kind not in _kinds and kind in package.__all__:
        getattr(package, kind)  # public names are imported when first used, which registers them
    return _kinds.get(kind)


def _with_parameters(cls: Any, model: Model, name: str) -> Any:
    stored = model.parameters or {}
    unknown = stored.keys() - (set(cls._get_param_names()) - set(NOT_STORED))
    if unknown:
        raise ModelFileError(f"{name}: {model.kind} of this version has no parameter {min(unknown)[:40]!r}.")
    return cls(**stored)


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Check a model file and describe its contents, as JSON-serialisable values.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    dict
        ``file``, ``bytes``, ``format``, ``version``, ``model``, ``parameters`` (None in a file of format 1),
        ``omitted`` (parameters that are not data), ``classes`` or ``outputs``, ``number_type``, ``features`` (how
        many), ``columns`` (a list of ``name`` and ``type``, ``categories`` where they are named, and ``missing`` where
        training rows had missing values), and the size of the trees.

    Raises
    ------
    ModelFileError
        If the file is not a valid model file.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> from boscage import TopDownTreeClassifier
    >>> from boscage.files import inspect
    >>> X, y = [[0.0], [1.0]], ["low", "high"]
    >>> tree = TopDownTreeClassifier(max_leaf_nodes=2).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = inspect(tree.save(os.path.join(folder, "tree.boscage")))
    >>> found["model"], found["classes"], found["leaves"]
    ('TopDownTreeClassifier', ['high', 'low'], 2)
    """
    model = read_model(path)
    estimator = _estimator(model, os.fspath(path))
    given = model.parameters
    facts: dict[str, Any] = {
        "file": os.fspath(path),
        "bytes": os.path.getsize(path),
        "format": model.format,
        "version": model.version,
        "model": model.kind,
        "parameters": None if given is None else {name: _shown(value) for name, value in given.items()},
        "omitted": list(model.omitted),
    }
    facts |= {"outputs": model.n_outputs} if model.classes is None else {"classes": model.classes.tolist()}
    facts |= {"number_type": model.schema.dtype, "features": int(model.schema.n_features), "columns": _columns(model)}
    if hasattr(estimator, "memory_usage"):
        facts["bytes_in_memory"] = estimator.memory_usage()["total"]
    facts |= _sizes(model.trees)
    if getattr(estimator, "_many_trees", False) and model.state is not None:
        facts |= {"training_rows": model.state.meta["rows"], "exponent": model.state.meta["exponent"]}
        facts |= {"oob_score": model.state.meta["oob_score"]}
        del facts["training_weight"]
    return facts


def _shown(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and np.isfinite(value)):
        return value
    return " ".join(repr(value).split())


def _columns(model: Model) -> list[dict[str, Any]]:
    schema = model.schema
    names = schema.feature_names or [None] * schema.n_features
    levels = schema.categories or [None] * schema.n_features
    found = []
    missing = [False] * schema.n_features if schema.missing is None else schema.missing.tolist()
    for name, count, labels, is_missing in zip(names, schema.n_categories.tolist(), levels, missing):
        column: dict[str, Any] = {"name": name, "type": f"{count} categories" if count else "number"}
        if labels is not None:
            column["categories"] = list(map(_plain, labels))
        if is_missing:
            column["missing"] = True
        found.append(column)
    return found


def _sizes(trees: tuple[Tree, ...]) -> dict[str, Any]:
    if not trees:
        return {}
    return {
        "trees": len(trees),
        "routing": ", ".join(sorted({tree.routing for tree in trees})),
        "nodes": sum(tree.node_count for tree in trees),
        "leaves": sum(tree.n_leaves for tree in trees),
        "depth": max(tree.max_depth for tree in trees),
        "linear_tests": sum(int(tree.weights.shape[0]) for tree in trees),
        "training_rows": int(trees[0].n_node_samples[0]),
        "training_weight": float(trees[0].weighted_n_node_samples[0]),
    }


def write_model(path: str | os.PathLike[str], model: Model) -> Path:
    """Write a model file, whole or not at all, and return the path."""
    _check_trees(model)
    return write_whole(path, model_bytes(model))


def _check_trees(model: Model) -> None:
    check_schema(model.schema)
    for tree in model.trees:
        check_nodes(tree)
        if tree.target != model.target or tree.n_outputs != model.width:
            wanted = f"{model.width} {'outputs' if model.classes is None else 'classes'}"
            raise ValueError(f"trees: a tree of {tree.n_outputs} {tree.target} in a model of {wanted}.")
        if tree.schema is not model.schema and tree.schema != model.schema:
            raise ValueError("trees: a tree has other columns than the model.")


def model_bytes(model: Model) -> bytes:
    """Lay out the content of a model file."""
    return tensor_bytes(*model_content(model))


def model_content(model: Model) -> tuple[str, Tensors]:
    """Return the metadata of a model file as text, and its tensors."""
    schema = model.schema
    if schema.n_features > MAX_FEATURES:
        raise ValueError(f"tree: model files hold at most {MAX_FEATURES} columns, got {schema.n_features}.")
    target = {"numbers": model.n_outputs} if model.classes is None else {"classes": labels_to_json(model.classes)}
    trees, tensors = pack_trees(model.trees) if model.trees else (None, {})
    meta: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "kind": model.kind,
        "target": target,
        "schema": {
            "n_features": int(schema.n_features),
            "dtype": schema.dtype,
            "feature_names": schema.feature_names and list(schema.feature_names),
            "categories": _categories_to_json(schema),
        },
        "trees": trees,
        "parameters": parameters_to_json(model.parameters or {}),
    }
    if schema.any_categories:
        tensors["schema.n_categories"] = schema.n_categories
    if schema.spread is not None:
        tensors["schema.spread"] = schema.spread + 0.0
    if schema.missing is not None:
        tensors["schema.missing"] = schema.missing
    if model.state is not None:
        meta["state"] = model.state.meta
        tensors |= {_STATE + name: np.ascontiguousarray(array) for name, array in model.state.tensors.items()}
    return canonical_json(meta), tensors


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
        meta, tensors = read_tensors(path)
        return _model(meta, tensors)
    except (ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
        reason = " ".join(str(error).split())[:400] or type(error).__name__
        raise ModelFileError(f"{name}: {reason}") from error


def _model(meta: dict[str, Any], tensors: Tensors) -> Model:
    number = meta.get("format")
    expect(type(number) is int, "the metadata has no format number")
    if number != FORMAT and number not in _OLD_FORMATS:
        raise ModelFileError(
            f"the file has format {number}, this version of boscage reads formats up to {FORMAT}. Install a newer one."
        )
    extra = {name.removeprefix(_STATE): array for name, array in tensors.items() if name.startswith(_STATE)}
    own = {name: array for name, array in tensors.items() if not name.startswith(_STATE)}
    if number == 1:
        meta, own = upgrade(meta, own)
    keys = {"format", "version", "kind", "target", "schema", "trees", "parameters"}
    expect_keys(meta, keys, {"state"}, "the metadata")
    kind, version, state = meta["kind"], meta["version"], meta.get("state")
    expect(type(kind) is str and kind.isidentifier() and len(kind) < 100, "kind must be the name of an estimator")
    expect(number == 1 or (type(version) is str and len(version) < 100), "version must be a string")
    expect(state is None or type(state) is dict, "state must be an object")
    expect(state is not None or not extra, "there are state tensors but no state")
    classes, n_outputs = _target(meta["target"])
    given, omitted = (None, ()) if number == 1 else parameters_from_json(meta["parameters"])
    schema = _schema(meta["schema"], {name: own.pop(name) for name in _SCHEMA_TENSORS if name in own})
    expect(meta["trees"] is not None or not own, "there are tensors of a tree but no tree")
    target: Target = "numbers" if classes is None else "classes"
    trees = () if meta["trees"] is None else unpack_trees(meta["trees"], schema, target, own)
    own_state = None if state is None else ModelState(extra, state)
    model = Model(kind, schema, classes, trees, n_outputs, given, omitted, own_state, version, number)
    for tree in trees:
        found = "labels" if classes is not None else "outputs"
        expect(tree.n_outputs == model.width, f"there are {model.width} {found} for {tree.n_outputs} {target}")
    _check_trees(model)
    return model


def _target(meta: Any) -> tuple[npt.NDArray[Any] | None, int]:
    expect(type(meta) is dict and len(meta) == 1, "target must be classes or numbers")
    if "classes" in meta:
        return labels_from_json(meta["classes"]), 1
    expect_keys(meta, {"numbers"}, set(), "target")
    n_outputs = meta["numbers"]
    expect(type(n_outputs) is int and 1 <= n_outputs < 1 << 31, "numbers must be an integer from 1")
    return None, n_outputs


def _schema(meta: Any, tensors: Tensors) -> Schema:
    expect_keys(meta, {"n_features", "dtype", "feature_names", "categories"}, set(), "schema")
    d, names, categories = meta["n_features"], meta["feature_names"], meta["categories"]
    # A small file must not ask for much memory.
    expect(type(d) is int and 1 <= d <= MAX_FEATURES, f"n_features must be an integer from 1 to {MAX_FEATURES}")
    expect(type(meta["dtype"]) is str, "dtype must be a string")
    expect(names is None or type(names) is list, "feature_names must be a list")
    expect(categories is None or type(categories) is dict, "categories must be an object")
    for name, array in tensors.items():
        expect(array.dtype == _SCHEMA_TENSORS[name], f"tensor {name} must be {_SCHEMA_TENSORS[name]}")
        expect(array.shape == (d,), f"tensor {name} must have {d} entries")
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
        tensors.get("schema.missing"),
    )
