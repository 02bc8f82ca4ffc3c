"""What must hold of a tree, verified array by array; nothing here loops over nodes in Python."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage.tree import LEAF, LINEAR, ROUTINGS, TARGETS, InputMap, LeafModels, Schema, Tree

_SUM_TOLERANCE = 1e-6
_MAX_NODES = np.iinfo(np.int32).max
_MAX_NUMBER = 1e300  # sums over the trees of a forest stay finite


def check_tree(tree: Tree) -> None:
    """Raise a ValueError that names the array and the node where ``tree`` is wrong."""
    check_schema(tree.schema)
    check_nodes(tree)


def check_nodes(tree: Tree) -> None:
    """Verify everything but the schema, which the trees of a forest share."""
    _check_sizes(tree)
    _check_shape_of_tree(tree)
    _check_tests(tree)
    _check_categories(tree)
    _check_weights(tree)
    _check_values(tree)
    if tree.input_map is not None:
        _check_input_map(tree.input_map, tree.schema)
    if tree.leaf_models is not None:
        _check_leaf_models(tree.leaf_models, tree)


def _fail(name: str, why: str) -> NoReturn:
    raise ValueError(f"Tree array {name}: {why}.")


def _require(good: npt.NDArray[np.bool_], name: str, why: str, array: Any = None) -> None:
    """All of ``good`` (one entry, or one row, per node) must hold."""
    if good.all():
        return
    where = tuple(int(i) for i in np.argwhere(~good)[0])
    found = "" if array is None else f", found {array[where]!r}".replace("np.", "")
    place = f"node {where[0]}" if len(where) == 1 else f"row {where[0]}, column {', '.join(map(str, where[1:]))}"
    _fail(name, f"{why}{found} at {place}")


def _require_shape(array: Any, shape: tuple[int, ...], name: str) -> None:
    if array.shape != shape:
        _fail(name, f"expected shape {shape}, got {array.shape}")


def _require_finite(array: npt.NDArray[np.float64], name: str) -> None:
    _require(np.isfinite(array), name, "must be finite", array)


def check_schema(schema: Schema) -> None:
    """Verify a schema on its own."""
    d = schema.n_features
    if not isinstance(d, (int, np.integer)) or not 1 <= d < _MAX_NODES:
        _fail("schema.n_features", f"must be an integer from 1 to {_MAX_NODES - 1}, got {d!r}")
    if schema.dtype not in ("float32", "float64"):
        _fail("schema.dtype", f"must be 'float32' or 'float64', got {schema.dtype!r}")
    _require_shape(schema.n_categories, (d,), "schema.n_categories")
    good = (schema.n_categories >= 0) & (schema.n_categories < _MAX_NODES)
    _require(good, "schema.n_categories", "must not be negative", schema.n_categories)
    if schema.spread is not None:
        _require_shape(schema.spread, (d,), "schema.spread")
        _require_finite(schema.spread, "schema.spread")
        _require(schema.spread >= 0, "schema.spread", "must not be negative", schema.spread)
    if schema.missing is not None:
        _require_shape(schema.missing, (d,), "schema.missing")
    if schema.feature_names is not None:
        if len(schema.feature_names) != d:
            _fail("schema.feature_names", f"expected {d} names, got {len(schema.feature_names)}")
        if not all(isinstance(name, str) for name in schema.feature_names):
            _fail("schema.feature_names", "every name must be a string")
        for name in schema.feature_names:
            check_text(name, "schema.feature_names")
    if schema.categories is not None:
        _check_category_names(schema)


def _check_category_names(schema: Schema) -> None:
    assert schema.categories is not None
    if len(schema.categories) != schema.n_features:
        _fail("schema.categories", f"expected {schema.n_features} entries, got {len(schema.categories)}")
    for column, (names, count) in enumerate(zip(schema.categories, schema.n_categories.tolist())):
        if names is None:
            continue
        if len(names) != count:
            _fail("schema.categories", f"column {column} has {count} categories but {len(names)} names")
        if not all(isinstance(name, (str, int, float, bool, np.generic)) for name in names):
            _fail("schema.categories", f"names of column {column} must be strings, numbers or booleans")
        if len({isinstance(name, str) for name in names}) > 1:
            _fail("schema.categories", f"names of column {column} mix text and numbers")
        for name in names:
            if isinstance(name, str):
                check_text(name, "schema.categories")
            elif not _is_finite(name):
                _fail("schema.categories", f"names of column {column} must be finite numbers, found {str(name)[:40]}")
        if len(set(names)) != len(names):
            _fail("schema.categories", f"column {column} names a category twice")


def _is_finite(number: Any) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer beyond all floats
        return False


def check_text(text: str, name: str) -> None:
    """Refuse text that cannot be written as UTF-8: half of a pair of surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        _fail(name, f"{text!r} is not valid Unicode text")


def _check_sizes(tree: Tree) -> None:
    n = tree.children_left.size
    if not 1 <= n < _MAX_NODES:
        _fail("children_left", f"a tree has from 1 to {_MAX_NODES - 1} nodes, got {n}")
    for name in ("children_left", "children_right", "feature", "threshold", "missing_go_to_left", "category_offset"):
        _require_shape(getattr(tree, name), (n,), name)
    for name in ("linear_row", "n_node_samples", "weighted_n_node_samples", "impurity"):
        _require_shape(getattr(tree, name), (n,), name)
    if tree.value.ndim != 2 or tree.value.shape[0] != n or tree.value.shape[1] < 1:
        _fail("value", f"expected shape ({n}, number of classes or outputs), got {tree.value.shape}")
    if tree.category_bits.ndim != 1:
        _fail("category_bits", f"expected one dimension, got shape {tree.category_bits.shape}")
    if tree.routing not in ROUTINGS:
        _fail("routing", f"must be one of {', '.join(map(repr, ROUTINGS))}, got {tree.routing!r}")
    if tree.target not in TARGETS:
        _fail("target", f"must be one of {', '.join(map(repr, TARGETS))}, got {tree.target!r}")


def _check_shape_of_tree(tree: Tree) -> None:
    n = tree.node_count
    left, right = tree.children_left, tree.children_right
    leaf = left == LEAF
    _require(leaf == (right == LEAF), "children_right", "must be -1 exactly where children_left is", right)
    number = np.arange(n)
    for name, child in (("children_left", left), ("children_right", right)):
        _require(leaf | ((child > number) & (child < n)), name, f"must be -1 or from node + 1 to {n - 1}", child)
    parents = np.bincount(np.concatenate((left[~leaf], right[~leaf])), minlength=n)
    parents[0] += 1  # the root has none and needs none
    _require(parents == 1, "children_left, children_right", "every node but the root needs exactly one parent")


def _check_tests(tree: Tree) -> None:
    leaf = tree.children_left == LEAF
    feature = tree.feature
    _require(leaf == (feature == LEAF), "feature", "must be -1 exactly at leaves", feature)
    good = leaf | (feature == LINEAR) | ((feature >= 0) & (feature < tree.n_features))
    _require(good, "feature", f"must be {LINEAR} or from 0 to {tree.n_features - 1} at an inner node", feature)
    # An infinite threshold of an axis test separates NaN from all numbers.
    good = np.where(feature >= 0, ~np.isnan(tree.threshold), np.isfinite(tree.threshold))
    _require(good, "threshold", "must be finite (axis tests: not NaN)", tree.threshold)
    if tree.is_soft:
        good = leaf | (feature == LINEAR)
        _require(good, "feature", f"{tree.routing} routing needs linear tests ({LINEAR})", feature)


def _check_categories(tree: Tree) -> None:
    offset, bits = tree.category_offset, tree.category_bits.size
    axis = tree.feature >= 0
    counts = np.zeros(tree.node_count, np.int64)
    counts[axis] = tree.schema.n_categories[tree.feature[axis]]
    has_set = offset != -1
    _require(~has_set | (counts > 0), "category_offset", "must be -1 unless a category column is tested", offset)
    _require(has_set | (counts == 0), "category_offset", "a test of a category column needs a category set", offset)
    # Compared by subtraction: an offset near the largest integer must not wrap around.
    good = ~has_set | ((offset >= 0) & (offset <= bits - (counts + 7) // 8))
    _require(good, "category_offset", f"its set does not lie within the {bits} bytes of category_bits", offset)


def _check_weights(tree: Tree) -> None:
    weights: Any = tree.weights
    row = tree.linear_row
    m = weights.shape[0]
    if len(weights.shape) != 2 or weights.shape[1] != tree.n_columns:
        _fail("weights", f"expected shape (number of linear tests, {tree.n_columns}), got {weights.shape}")
    linear = tree.feature == LINEAR
    good = np.where(linear, (row >= 0) & (row < m), row == -1)
    _require(good, "linear_row", f"must be a row of weights (0 to {m - 1}) at a linear test and -1 elsewhere", row)
    if sparse.issparse(weights):
        _check_csr(weights)
        _require_finite(weights.data, "weights.data")
    else:
        _require_finite(weights, "weights")


def _check_csr(weights: Any) -> None:
    indptr, indices = weights.indptr, weights.indices
    if indptr.shape != (weights.shape[0] + 1,) or indptr[0] != 0 or indptr[-1] != indices.size:
        _fail("weights.indptr", f"must run from 0 to {indices.size} in {weights.shape[0] + 1} steps")
    if indices.shape != weights.data.shape:
        _fail("weights.indices", f"expected {weights.data.size} entries, got {indices.size}")
    _require(np.diff(indptr) >= 0, "weights.indptr", "must not decrease")
    _require((indices >= 0) & (indices < weights.shape[1]), "weights.indices", "column out of range", indices)
    rising = np.ones(indices.size, np.bool_)
    rising[1:] = np.diff(indices) > 0
    rising[indptr[:-1][indptr[:-1] < indices.size]] = True
    _require(rising, "weights.indices", "columns must increase within a row", indices)


def _check_fractions(fractions: npt.NDArray[np.float64], name: str, may_be_zero: npt.NDArray[np.bool_] | None) -> None:
    _require((fractions >= 0) & (fractions <= 1), name, "class fractions must lie in [0, 1]", fractions)
    total = fractions.sum(axis=1)
    good = np.abs(total - 1) <= _SUM_TOLERANCE
    if may_be_zero is not None:
        good |= may_be_zero & (total == 0)
    _require(good, name, "class fractions must sum to 1", total)


def _check_numbers(numbers: npt.NDArray[np.float64], name: str) -> None:
    good = np.abs(numbers) <= _MAX_NUMBER
    _require(good, name, f"must lie between -{_MAX_NUMBER:g} and {_MAX_NUMBER:g}", numbers)


def _check_values(tree: Tree) -> None:
    leaf = tree.children_left == LEAF
    if tree.leaf_value is not None:
        _require_shape(tree.leaf_value, (int(leaf.sum()), tree.n_outputs), "leaf_value")
    if tree.target == "numbers":
        _check_numbers(tree.value, "value")
        if tree.leaf_value is not None:
            _check_numbers(tree.leaf_value, "leaf_value")
    else:
        # A node that no training weight reaches has no fractions; a leaf must still know what to answer.
        empty = tree.weighted_n_node_samples == 0
        _check_fractions(tree.value, "value", empty & ~leaf if tree.leaf_value is None else empty)
        if tree.leaf_value is not None:
            _check_fractions(tree.leaf_value, "leaf_value", None)
    for name in ("weighted_n_node_samples", "impurity"):
        array = getattr(tree, name)
        _require_finite(array, name)
        _require(array >= 0, name, "must not be negative", array)
    _require(tree.n_node_samples >= 0, "n_node_samples", "must not be negative", tree.n_node_samples)


def _check_input_map(input_map: InputMap, schema: Schema) -> None:
    d = schema.n_features
    for name in ("fill", "shift", "scale"):
        array = getattr(input_map, name)
        if array is not None:
            _require_shape(array, (d,), f"input_map.{name}")
            _require_finite(array, f"input_map.{name}")
    if input_map.constant is not None and not np.isfinite(input_map.constant):
        _fail("input_map.constant", f"must be finite, got {input_map.constant!r}")
    if (input_map.code_offset is None) != (input_map.codes is None):
        _fail("input_map.codes", "code_offset and codes come together or not at all")
    if input_map.code_offset is None or input_map.codes is None:
        return
    offset, codes = input_map.code_offset, input_map.codes
    _require_shape(offset, (d,), "input_map.code_offset")
    if codes.ndim != 1:
        _fail("input_map.codes", f"expected one dimension, got shape {codes.shape}")
    _require_finite(codes, "input_map.codes")
    good = (offset == -1) | ((offset >= 0) & (offset <= codes.size - schema.n_categories))
    _require(good, "input_map.code_offset", f"must be -1 or lie within the {codes.size} codes", offset)
    good = (offset == -1) | (schema.n_categories > 0)
    _require(good, "input_map.code_offset", "must be -1 for a numeric column", offset)


def _check_leaf_models(models: LeafModels, tree: Tree) -> None:
    leaves = tree.n_leaves
    _require_shape(models.coef, (leaves, tree.n_outputs, tree.n_features), "leaf_models.coef")
    _require_shape(models.intercept, (leaves, tree.n_outputs), "leaf_models.intercept")
    _require_finite(models.coef, "leaf_models.coef")
    _require_finite(models.intercept, "leaf_models.intercept")
    if (models.low is None) != (models.high is None):
        _fail("leaf_models.low", "low and high come together or not at all")
    if models.low is None or models.high is None:
        return
    if tree.target != "numbers":
        _fail("leaf_models.low", "bounds are for regression trees")
    for name, bound in (("low", models.low), ("high", models.high)):
        _require_shape(bound, (leaves, tree.n_outputs), f"leaf_models.{name}")
        _check_numbers(bound, f"leaf_models.{name}")
    _require(models.low <= models.high, "leaf_models.low", "must not exceed high", models.low)
