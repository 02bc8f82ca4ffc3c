"""An axis-parallel tree as scikit-learn's own, for tools that know only that one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from boscage.tree import LINEAR, Tree

_SKLEARN_LEAF = -2  # scikit-learn's mark of a leaf, in feature and in threshold


def sklearn_tree(tree: Tree, classes: npt.NDArray[Any] | None) -> DecisionTreeClassifier | DecisionTreeRegressor:
    """Build the twin; see :func:`boscage.export.to_sklearn`. ``classes`` is None for a tree of numbers."""
    kind = DecisionTreeRegressor if classes is None else DecisionTreeClassifier
    _refuse_what_it_cannot_hold(tree, kind.__name__)
    # A fitted stump brings every attribute of the installed version; its tree is then replaced.
    outputs = tree.n_outputs if classes is None else 1
    y = np.zeros((2, outputs)) if outputs > 1 else np.arange(2)
    model = kind(max_depth=1).fit(np.zeros((2, tree.n_features), np.float32), y)
    inner = model.tree_
    sizes = [1] * outputs if classes is None else [tree.n_classes]
    made = type(inner)(tree.n_features, np.array(sizes, np.intp), outputs)
    made.__setstate__(
        {
            "max_depth": tree.max_depth,
            "node_count": tree.node_count,
            "nodes": _nodes(tree, inner.__getstate__()["nodes"].dtype),
            "values": _values(tree, classes is None),
        }
    )
    model.set_params(max_depth=None)
    model.tree_ = made
    if classes is not None:
        model.classes_ = classes
        model.n_classes_ = np.int64(tree.n_classes)
    if tree.schema.feature_names is not None:
        model.feature_names_in_ = np.array(tree.schema.feature_names, dtype=object)
    return model


def _refuse_what_it_cannot_hold(tree: Tree, kind: str) -> None:
    for is_there, what in (
        (bool((tree.feature == LINEAR).any()), "linear tests"),
        (bool((tree.category_offset >= 0).any()), "tests on categories"),
        (tree.leaf_models is not None, "linear models in its leaves"),
    ):
        if is_there:
            raise ValueError(
                f"This tree has {what}, which scikit-learn's {kind} cannot hold. Only trees with "
                "numeric axis tests can be converted; to_onnx and to_dict take every tree."
            )


def _nodes(tree: Tree, dtype: np.dtype[Any]) -> npt.NDArray[np.void]:
    nodes = np.zeros(tree.node_count, dtype)
    nodes["left_child"], nodes["right_child"] = tree.children_left, tree.children_right
    nodes["feature"] = np.where(tree.is_leaf, _SKLEARN_LEAF, tree.feature)
    nodes["threshold"] = np.where(tree.is_leaf, _SKLEARN_LEAF, tree.threshold)
    nodes["missing_go_to_left"] = tree.missing_go_to_left
    for name in ("impurity", "n_node_samples", "weighted_n_node_samples"):
        nodes[name] = getattr(tree, name)
    return nodes


def _values(tree: Tree, is_numbers: bool) -> npt.NDArray[np.float64]:
    """Nodes × outputs × classes, where numbers count as outputs of one class."""
    values = tree.value.copy()
    values[tree.leaves] = tree.leaf_proba
    return values[:, :, None] if is_numbers else values[:, None, :]
