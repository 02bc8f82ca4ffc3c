"""A model as an ONNX graph.

A hard tree is one tree-ensemble operator, which finds the number of the leaf; what the leaf predicts is then taken from
a table, so it keeps all its digits. Linear tests are computed before, by one product, and are then columns like others.
A single tree of many linear tests is walked level by level instead, so that a row meets only the tests on its path:
each row holds the number of its node, tables give its test and its children, and a leaf is its own child. A soft tree
computes all tests at once; the reach of a leaf is the product of the sides along its path, taken from a table of paths,
level by level. Walks and soft trees give graphs that grow with the depth. Runtimes load thousands of operators in time
that grows with their square, so the trees of a forest are not walked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage.show.exported import Exported, category_set, narrowed
from boscage.show.onnx._graph import GraphWriter
from boscage.show.onnx._inputs import are_columns, write_inputs
from boscage.tree import LINEAR, Floats, InputMap, Int64s, LeafModels, Tree

_MANY_TESTS = 64  # of a single tree: beyond this it is walked
_DEEPEST = 1000  # runtimes build trees by recursion, and a walk adds operators to the graph with each level
_MOST_LEAVES = 1 << 24  # numbers that the operator, which answers in float32, can tell apart
_MOST_PATHS = 1 << 26  # numbers in the table of paths of a soft tree


def ensemble_model(model: Exported, *, dtype: str, compute: str, inputs: str) -> Any:
    """Build the model; see :func:`boscage.export.to_onnx`."""
    from onnx import TensorProto, helper

    graph = GraphWriter(compute)
    types = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}
    by_column = are_columns(model, inputs)
    described, given = write_inputs(graph, model, dtype, by_column)
    answer = _average(graph, model, _Rows(graph, given, np.dtype(dtype)))
    n_or_width = ["n"] if model.classes is None and model.width == 1 else ["n", model.width]
    if model.classes is None:
        if model.width == 1:
            answer = graph.op("Squeeze", answer, graph.constant("axis_1", np.array([1], np.int64)))
        graph.named(answer, "prediction")
        outputs = [helper.make_tensor_value_info("prediction", types[compute], n_or_width)]
    else:
        graph.named(answer, "probabilities")
        best = graph.op("ArgMax", "probabilities", axis=1, keepdims=0)
        labels, label_type = _labels(model.classes)
        if label_type == TensorProto.INT64 and np.array_equal(labels, np.arange(len(labels))):
            graph.named(best, "label")
        else:
            graph.op("Gather", graph.constant("classes", labels), best, name="label")
        outputs = [
            helper.make_tensor_value_info("label", label_type, ["n"]),
            helper.make_tensor_value_info("probabilities", types[compute], n_or_width),
        ]
    about = repr(model.trees[0]) if len(model.trees) == 1 else f"{len(model.trees)} trees"
    return graph.model(described, outputs, _metadata(model, by_column), about)


class _Rows:
    """The rows as they come in, and in the type of the computation where that is asked for."""

    def __init__(self, graph: GraphWriter, given: str, dtype: np.dtype[Any]) -> None:
        self._graph, self.given, self.dtype = graph, given, dtype
        self._cast = given if dtype == graph.real else ""

    @property
    def cast(self) -> str:
        from onnx import helper

        self._cast = self._cast or self._graph.op(
            "Cast", self.given, to=helper.np_dtype_to_tensor_dtype(self._graph.real)
        )
        return self._cast

    def narrow(self) -> tuple[str, np.dtype[Any]]:
        """Rows in the narrower of the two types, and the type."""
        return (self.given, self.dtype) if self.dtype == np.float32 else (self.cast, self._graph.real)


def _average(graph: GraphWriter, model: Exported, rows: _Rows) -> str:
    """Mean of what the trees predict: rows × outputs."""
    total = ""
    for number, tree in enumerate(model.trees):
        _check_depth(tree)
        graph.prefix = f"tree_{number}_" if len(model.trees) > 1 else ""
        if tree.is_soft and tree.n_leaves > 1:
            found = _soft(graph, tree, rows.cast)
        else:
            found = _hard(graph, tree, rows, most_tests=_MANY_TESTS if len(model.trees) == 1 else tree.node_count)
        total = graph.op("Add", total, found) if total else found
    graph.prefix = ""
    mean = total if len(model.trees) == 1 else graph.op("Div", total, graph.number(float(len(model.trees))))
    if model.geometric:
        return graph.op("Softmax", graph.op("Mul", mean, graph.number(model.exponent)), axis=1)
    if model.exponent == 1:
        return mean
    raised = graph.op("Pow", mean, graph.number(model.exponent))
    across = graph.constant("across", np.array([1], np.int64))
    return graph.op("Div", raised, graph.op("ReduceSum", raised, across, keepdims=1))


def _check_depth(tree: Tree) -> None:
    """Refuse trees whose graph no runtime could load."""
    most = min(_DEEPEST, _MOST_PATHS // tree.n_leaves) if tree.is_soft else _DEEPEST
    if tree.max_depth > most:
        raise ValueError(
            f"tree: {tree.max_depth:,} levels are too many for ONNX, which takes up to {most:,}"
            f"{' with this number of leaves' if most < _DEEPEST else ''}. Limit max_depth, or use to_c, which takes "
            "any depth."
        )


def _labels(classes: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], int]:
    from onnx import TensorProto

    kind = classes.dtype.kind
    if kind == "b":
        return classes, TensorProto.BOOL
    if kind in "iu" and (classes.size == 0 or int(classes.max()) <= np.iinfo(np.int64).max):
        return classes.astype(np.int64), TensorProto.INT64
    if kind == "f" and (classes == np.rint(classes)).all():
        # Floats are labels only where they are whole; as integers they keep every digit.
        return classes.astype(np.int64), TensorProto.INT64
    if kind in "UT" or all(isinstance(label, str) for label in classes):
        return np.array([str(label) for label in classes], dtype=object), TensorProto.STRING
    raise ValueError(
        f"classes of type {classes.dtype} have no place in an ONNX model. Use integers, strings or booleans."
    )


def _metadata(model: Exported, by_column: bool) -> dict[str, str]:
    schema = model.schema
    names = None if schema.feature_names is None else list(schema.feature_names)
    categories = None
    if schema.any_categories:
        labels = schema.categories or [range(int(n)) if n else None for n in schema.n_categories]
        categories = [None if found is None else [str(label) for label in found] for found in labels]
    facts: dict[str, Any] = {
        "feature_names": names,
        "categories": categories,
        "inputs": "columns" if by_column else "matrix",
    }
    facts |= {"outputs": model.width} if model.classes is None else {"classes": [str(label) for label in model.labels]}
    return {"boscage": json.dumps(facts, sort_keys=True)}


def _dense(weights: Any) -> Floats:
    dense: Floats = weights.toarray() if sparse.issparse(weights) else weights
    return dense


# What happens to a row before tests see it.


def _plain(graph: GraphWriter, tree: Tree, X: str) -> str:
    """Categories as numbers, missing values filled."""
    row_map = tree.input_map or InputMap()
    if row_map.code_offset is not None and (row_map.code_offset >= 0).any():
        X = _coded(graph, tree, row_map, X)
    if row_map.fill is not None:
        X = graph.op("Where", graph.op("IsNaN", X), graph.constant("fill", row_map.fill), X)
    return X


def _known(graph: GraphWriter, x: str, counts: str) -> str:
    """Whether x is the code of a category: a whole number from 0 to its count."""
    inside = graph.op("And", graph.op("GreaterOrEqual", x, graph.number(0.0)), graph.op("Less", x, counts))
    return graph.op("And", inside, graph.op("Equal", x, graph.op("Floor", x)))


def _code(graph: GraphWriter, x: str, known: str, offset: str) -> str:
    """Place of a category in a table; that of category 0 where it is not known."""
    from onnx import TensorProto

    safe = graph.op("Where", known, x, graph.number(0.0))
    return graph.op("Add", graph.op("Cast", safe, to=TensorProto.INT64), offset)


def _coded(graph: GraphWriter, tree: Tree, row_map: InputMap, X: str) -> str:
    assert row_map.code_offset is not None
    is_coded = row_map.code_offset >= 0
    counts = np.where(is_coded, tree.schema.n_categories, 0).astype(np.float64)
    known = _known(graph, X, graph.constant("code_counts", counts))
    place = _code(graph, X, known, graph.constant("code_offset", np.maximum(row_map.code_offset, 0)))
    number = graph.gather(graph.constant("codes", row_map.codes), place)
    number = graph.op("Where", known, number, graph.number(np.nan))
    return graph.op("Where", graph.constant("is_coded", is_coded), number, X)


def _seen(graph: GraphWriter, tree: Tree, plain: str) -> str:
    """Rows as linear tests multiply them."""
    row_map, x = tree.input_map or InputMap(), plain
    if row_map.shift is not None:
        x = graph.op("Sub", x, graph.constant("shift", row_map.shift))
    if row_map.scale is not None:
        x = graph.op("Mul", x, graph.constant("scale", row_map.scale))
    if row_map.constant is not None:
        pads = graph.constant("one_more_column", np.array([0, 0, 0, 1], np.int64))
        x = graph.op("Pad", x, pads, graph.number(row_map.constant))
    return _unit(graph, x) if row_map.unit_rows else x


def _unit(graph: GraphWriter, x: str) -> str:
    """Rows of norm 1; the largest entry is divided out first, so that squares neither overflow nor vanish."""
    across = graph.constant("across", np.array([1], np.int64))
    x = _divided(graph, x, graph.op("ReduceMax", graph.op("Abs", x), across, keepdims=1))
    return _divided(graph, x, graph.op("Sqrt", graph.op("ReduceSum", graph.op("Mul", x, x), across, keepdims=1)))


def _divided(graph: GraphWriter, x: str, length: str) -> str:
    is_zero = graph.op("Equal", length, graph.number(0.0))
    return graph.op("Div", x, graph.op("Where", is_zero, graph.number(1.0), length))


def _scores(graph: GraphWriter, tree: Tree, seen: str) -> str:
    """All linear tests at once: rows × tests."""
    return graph.op("MatMul", seen, graph.constant("weights", _dense(tree.weights).T))


# Soft trees.


def _soft(graph: GraphWriter, tree: Tree, X: str) -> str:
    plain = _plain(graph, tree, X)
    reach = _reach(graph, tree, _sides(graph, tree, _seen(graph, tree, plain)))
    if tree.leaf_models is None:
        return graph.op("MatMul", reach, graph.constant("leaf_value", tree.leaf_proba))
    proba = _all_models(graph, tree, plain)
    wide = graph.op("Unsqueeze", reach, graph.constant("axis_1", np.array([1], np.int64)))
    mixed = graph.op("MatMul", wide, proba)
    return graph.op("Squeeze", mixed, graph.constant("axis_1", np.array([1], np.int64)))


def _sides(graph: GraphWriter, tree: Tree, seen: str) -> str:
    """Probabilities of going left at every test, then right, then a column of ones."""
    inner = np.flatnonzero(~tree.is_leaf)
    order = np.argsort(tree.linear_row[inner])
    margin = graph.op("Sub", _scores(graph, tree, seen), graph.constant("threshold", tree.threshold[inner][order]))
    if tree.routing == "linear":
        clipped = graph.op("Clip", margin, graph.number(-1.0), graph.number(1.0))
        half, one = graph.number(0.5), graph.number(1.0)
        right = graph.op("Mul", graph.op("Add", clipped, one), half)
        left = graph.op("Mul", graph.op("Sub", one, clipped), half)
    else:
        right, left = graph.op("Sigmoid", margin), graph.op("Sigmoid", graph.op("Neg", margin))
    both = graph.op("Concat", left, right, axis=1)
    pads = graph.constant("one_more_column", np.array([0, 0, 0, 1], np.int64))
    return graph.op("Pad", both, pads, graph.number(1.0))


def _reach(graph: GraphWriter, tree: Tree, sides: str) -> str:
    """Probability of reaching every leaf: the product along its path."""
    paths = path_table(tree)
    reach = graph.gather(sides, graph.constant("path_0", paths[0]), axis=1)
    for level, places in enumerate(paths[1:], start=1):
        reach = graph.op("Mul", reach, graph.gather(sides, graph.constant(f"path_{level}", places), axis=1))
    return reach


def path_table(tree: Tree) -> Int64s:
    """For every level and leaf, which side the path takes: test i left, m + i right, 2m where the path has ended."""
    m = tree.weights.shape[0]
    table = np.full((tree.max_depth, tree.n_leaves), 2 * m, np.int64)
    node, leaf = tree.leaves.copy(), np.arange(tree.n_leaves)
    while node.size:
        is_below = tree.parent[node] >= 0
        node, leaf = node[is_below], leaf[is_below]
        parent = tree.parent[node]
        is_right = tree.children_right[parent] == node
        table[tree.depth[parent], leaf] = tree.linear_row[parent] + np.where(is_right, m, 0)
        node = parent
    return table


def _all_models(graph: GraphWriter, tree: Tree, plain: str) -> str:
    """Class probabilities by the model of every leaf: rows × leaves × classes."""
    models = tree.leaf_models
    assert models is not None
    leaves, classes, columns = models.coef.shape
    flat = graph.op("MatMul", plain, graph.constant("coef", models.coef.reshape(leaves * classes, columns).T))
    shape = graph.constant("leaves_by_classes", np.array([-1, leaves, classes], np.int64))
    scores = graph.op("Add", graph.op("Reshape", flat, shape), graph.constant("intercept", models.intercept))
    if tree.target != "numbers":
        return graph.op("Softmax", scores, axis=2)
    return _bounded(graph, models, scores, lambda table: table)


# Hard trees.


def _hard(graph: GraphWriter, tree: Tree, rows: _Rows, *, most_tests: int) -> str:
    n_tests = tree.weights.shape[0]
    plain = "" if tree.leaf_models is None and not n_tests else _plain(graph, tree, rows.cast)
    seen = _seen(graph, tree, plain) if n_tests else None
    if 1 < tree.n_leaves <= _MOST_LEAVES and n_tests <= most_tests:
        if seen is None:
            leaf = _leaf_by_operator(graph, tree, *rows.narrow())
        else:
            columns = graph.op("Concat", rows.cast, _scores(graph, tree, seen), axis=1)
            leaf = _leaf_by_operator(graph, tree, columns, graph.real)
        return _leaf_output(graph, tree, leaf, plain)
    X = rows.cast
    node = _root(graph, X)
    for _ in range(tree.max_depth):
        right = _goes_right(graph, tree, X, seen, node)
        left_child, right_child = (_children(graph, tree, side, node) for side in ("left", "right"))
        node = graph.op("Where", right, right_child, left_child)
    leaf = graph.gather(graph.constant("leaf_index", np.maximum(tree.leaf_index, 0)), node)
    return _leaf_output(graph, tree, leaf, plain)


def _leaf_by_operator(graph: GraphWriter, tree: Tree, X: str, real: np.dtype[Any]) -> str:
    """Find the number of each row's leaf; the operator compares numbers of one type."""
    from onnx import TensorProto, numpy_helper

    nodes = _operator_nodes(tree)
    leaves = nodes["modes"] == "LEAF"
    attributes: dict[str, Any] = {
        f"nodes_{name}": array.tolist() for name, array in nodes.items() if name not in ("values", "leaf")
    }
    n = len(leaves)
    values, numbers = narrowed(nodes["values"], real), nodes["leaf"][leaves].astype(real)
    if real == np.float64:
        attributes["nodes_values_as_tensor"] = numpy_helper.from_array(values, "values")
        attributes["target_weights_as_tensor"] = numpy_helper.from_array(numbers, "numbers")
    else:
        attributes |= {"nodes_values": values.tolist(), "target_weights": numbers.tolist()}
    zeros = [0] * int(leaves.sum())
    leaf = graph.ml_op(
        "TreeEnsembleRegressor",
        X,
        n_targets=1,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=[0] * n,
        nodes_nodeids=list(range(n)),
        target_treeids=zeros,
        target_ids=zeros,
        target_nodeids=np.flatnonzero(leaves).tolist(),
        **attributes,
    )
    whole = graph.op("Cast", leaf, to=TensorProto.INT64)
    return graph.op("Squeeze", whole, graph.constant("axis_1", np.array([1], np.int64)))


def _operator_nodes(tree: Tree) -> dict[str, npt.NDArray[Any]]:
    """Nodes as the operator wants them; its true side is the left one. Linear tests are columns behind the others.

    A category test becomes a chain of tests for equality. It lists the categories of the side to which missing and
    unknown ones do not go; the nodes that continue a chain stand behind those of the tree.
    """
    is_linear = tree.feature == LINEAR
    found = {
        "featureids": np.where(is_linear, tree.n_features + tree.linear_row, np.maximum(tree.feature, 0)).astype(
            np.int64
        ),
        "modes": np.where(tree.is_leaf, "LEAF", "BRANCH_LEQ").astype(object),
        "values": tree.threshold,
        "truenodeids": np.where(tree.is_leaf, 0, tree.children_left).astype(np.int64),
        "falsenodeids": np.where(tree.is_leaf, 0, tree.children_right).astype(np.int64),
        "missing_value_tracks_true": ((tree.missing_go_to_left & ~tree.is_leaf) | is_linear).astype(np.int64),
        "leaf": tree.leaf_index,
    }
    parts: dict[str, list[Any]] = {name: [array.copy()] for name, array in found.items()}
    first = {name: part[0] for name, part in parts.items()}
    size = tree.node_count
    for node in np.flatnonzero(tree.category_offset >= 0).tolist():
        chain = _category_chain(tree, node, size)
        for name, array in chain.items():
            first[name][node] = array[0]
            parts[name].append(array[1:])
        size += len(chain["values"]) - 1
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def _category_chain(tree: Tree, node: int, next_number: int) -> dict[str, npt.NDArray[Any]]:
    """Write a category test as tests for equality; those after the first have the numbers from ``next_number`` on."""
    goes_left, missing_left = category_set(tree, node), bool(tree.missing_go_to_left[node])
    listed = np.flatnonzero(goes_left != missing_left)
    if not len(listed):  # all rows go where missing values go: no code is -2
        listed = np.array([-2])
    children = int(tree.children_left[node]), int(tree.children_right[node])
    hit, miss = children[::-1] if missing_left else children
    count = len(listed)
    behind = np.arange(next_number, next_number + count - 1)
    return {
        "featureids": np.full(count, tree.feature[node], np.int64),
        "modes": np.full(count, "BRANCH_EQ", dtype=object),
        "values": listed.astype(np.float64),
        "truenodeids": np.full(count, hit, np.int64),
        "falsenodeids": np.append(behind, miss).astype(np.int64),
        "missing_value_tracks_true": np.zeros(count, np.int64),
        "leaf": np.full(count, -1, np.int64),
    }


def _root(graph: GraphWriter, X: str) -> str:
    """Start every row at the root, node 0."""
    rows = graph.op("Shape", X, start=0, end=1)
    return graph.op("Expand", graph.constant("root", np.array([0], np.int64)), rows)


def _children(graph: GraphWriter, tree: Tree, side: str, node: str) -> str:
    children = getattr(tree, f"children_{side}").astype(np.int64)
    itself = np.arange(tree.node_count)
    return graph.gather(graph.constant(side, np.where(tree.is_leaf, itself, children)), node)


def _goes_right(graph: GraphWriter, tree: Tree, X: str, seen: str | None, node: str) -> str:
    is_linear = tree.feature == LINEAR
    right = None
    if not is_linear[~tree.is_leaf].all():
        right = _axis_right(graph, tree, X, node)
    if seen is None:
        assert right is not None
        return right
    linear = _linear_right(graph, tree, seen, node)
    if right is None:
        return linear
    return graph.choose(graph.gather(graph.constant("is_linear", is_linear), node), linear, right)


def _threshold(graph: GraphWriter, tree: Tree, node: str) -> str:
    rounded = np.where(tree.feature == LINEAR, tree.threshold, narrowed(tree.threshold, graph.real))
    return graph.gather(graph.constant("threshold", rounded), node)


def _pick(graph: GraphWriter, table: str, column: str) -> str:
    """One entry of each row."""
    last = graph.constant("axis_1", np.array([1], np.int64))
    picked = graph.op("GatherElements", table, graph.op("Unsqueeze", column, last), axis=1)
    return graph.op("Squeeze", picked, last)


def _axis_right(graph: GraphWriter, tree: Tree, X: str, node: str) -> str:
    feature = graph.gather(graph.constant("feature", np.maximum(tree.feature, 0).astype(np.int64)), node)
    x = _pick(graph, X, feature)
    above = graph.op("Greater", x, _threshold(graph, tree, node))
    missing_right = graph.gather(graph.constant("missing_right", ~tree.missing_go_to_left), node)
    right = graph.op("Or", above, graph.op("And", graph.op("IsNaN", x), missing_right))
    if (tree.category_offset < 0).all():
        return right
    return _category_right(graph, tree, x, node, missing_right, right)


def _category_right(graph: GraphWriter, tree: Tree, x: str, node: str, missing_right: str, otherwise: str) -> str:
    is_category = tree.category_offset >= 0
    counts = np.where(is_category, tree.schema.n_categories[np.maximum(tree.feature, 0)], 0).astype(np.float64)
    known = _known(graph, x, graph.gather(graph.constant("category_counts", counts), node))
    bits = np.unpackbits(tree.category_bits, bitorder="little").astype(bool)
    first = graph.gather(graph.constant("category_first", np.maximum(8 * tree.category_offset, 0)), node)
    goes_left = graph.gather(graph.constant("category_left", bits), _code(graph, x, known, first))
    right = graph.choose(known, graph.op("Not", goes_left), missing_right)
    return graph.choose(graph.gather(graph.constant("is_category", is_category), node), right, otherwise)


def _linear_right(graph: GraphWriter, tree: Tree, seen: str, node: str) -> str:
    row = graph.gather(graph.constant("linear_row", np.maximum(tree.linear_row, 0).astype(np.int64)), node)
    weights = graph.gather(graph.constant("weights", _dense(tree.weights)), row)
    across = graph.constant("across", np.array([1], np.int64))
    score = graph.op("ReduceSum", graph.op("Mul", weights, seen), across, keepdims=0)
    return graph.op("Greater", score, _threshold(graph, tree, node))


def _leaf_output(graph: GraphWriter, tree: Tree, leaf: str, plain: str) -> str:
    models = tree.leaf_models
    if models is None:
        return graph.gather(graph.constant("leaf_value", tree.leaf_proba), leaf)
    last = graph.constant("axis_2", np.array([2], np.int64))
    coef = graph.gather(graph.constant("coef", models.coef), leaf)
    scores = graph.op("Squeeze", graph.op("MatMul", coef, graph.op("Unsqueeze", plain, last)), last)
    scores = graph.op("Add", scores, graph.gather(graph.constant("intercept", models.intercept), leaf))
    if tree.target != "numbers":
        return graph.op("Softmax", scores, axis=1)
    return _bounded(graph, models, scores, lambda table: graph.gather(table, leaf))


def _bounded(graph: GraphWriter, models: LeafModels, numbers: str, chosen: Callable[[str], str]) -> str:
    """Clip the numbers that linear leaves predict."""
    if models.low is None or models.high is None:
        return numbers
    numbers = graph.op("Max", numbers, chosen(graph.constant("low", models.low)))
    return graph.op("Min", numbers, chosen(graph.constant("high", models.high)))
