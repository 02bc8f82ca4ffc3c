"""Trees of numbers for tests: converted from scikit-learn's, so that they do not depend on our own growth."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from boscage.tree import Schema, Tree


def tree_of(model: DecisionTreeRegressor, dtype: str = "float32", names: tuple[str, ...] | None = None) -> Tree:
    """Turn a fitted scikit-learn regressor into a Tree, nodes renumbered so that siblings are neighbours."""
    inner = model.tree_
    order = [0]  # a split appends its left, then its right child
    for node in order:
        if inner.children_left[node] >= 0:
            order += [inner.children_left[node], inner.children_right[node]]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    at = np.array(order)
    leaf = inner.children_left[at] < 0
    return Tree(
        children_left=np.where(leaf, -1, place[inner.children_left[at]]),
        children_right=np.where(leaf, -1, place[inner.children_right[at]]),
        feature=np.where(leaf, -1, inner.feature[at]),
        threshold=np.where(leaf, 0.0, inner.threshold[at]),
        value=inner.value[at][:, :, 0],
        n_node_samples=inner.n_node_samples[at],
        weighted_n_node_samples=inner.weighted_n_node_samples[at],
        impurity=np.maximum(inner.impurity[at], 0.0),
        missing_go_to_left=np.where(leaf, False, inner.missing_go_to_left[at].astype(bool)),
        schema=Schema(n_features=model.n_features_in_, dtype=dtype, feature_names=names),
        target="numbers",
    )


def grown(X: Any, y: Any, weight: Any = None, **limits: Any) -> Tree:
    """Grow a tree of numbers with scikit-learn."""
    model = DecisionTreeRegressor(random_state=0, **limits)
    return tree_of(model.fit(X, y, weight), str(np.asarray(X).dtype))
