"""A tree as dictionaries and lists, complete and ready for JSON, and the schema of that form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from boscage.show.describe import Describer
from boscage.tree import LINEAR, Tree

DICT_SCHEMA = "boscage-tree-1"


def to_dict(
    tree: Tree,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    *,
    decimals: int | None = None,
    max_terms: int = 5,
) -> dict[str, Any]:
    """Return a complete description of a tree, as JSON-serialisable dictionaries and lists.

    Parameters
    ----------
    tree : Tree
        The tree.
    feature_names, class_names, decimals, max_terms
        As in :func:`export_text`; the last two shape only the ``text`` of tests.

    Returns
    -------
    dict
        As :func:`dict_schema` says: ``schema`` ("boscage-tree-1"), ``routing`` ("hard", "linear" or "logistic"),
        ``features`` (a list of ``name`` and, for a category column, ``categories``), ``classes`` (names; ``outputs`` in
        their place for a regression tree), ``input_map`` (null, or ``fill``, ``codes`` by column, ``shift``, ``scale``,
        ``constant``, ``unit_rows``) and ``nodes``, a list in order of their numbers. Every node has ``id``, ``depth``,
        ``n_samples``, ``weight``, ``impurity`` and ``value`` (class fractions, or outputs). A leaf adds ``class`` and
        ``prediction`` (class probabilities; a regression tree has only the prediction) or ``model`` (``coef``,
        ``intercept`` and, in regression, ``low`` and ``high`` if predictions are clipped). An inner node adds ``left``
        and ``right`` (ids) and ``test``, which has a readable ``text`` and ``kind``:

        - "axis": ``feature``, ``threshold`` (left if x ≤ threshold), ``missing`` ("left" or "right");
        - "missing": ``feature``, ``numbers`` and ``missing`` (their sides);
        - "category": ``feature``, ``left`` and ``right`` (lists of categories), ``missing`` (also of unseen ones);
        - "linear": ``weights`` (a list of column and weight, to be multiplied with rows after the input map;
          column d is the constant) and ``threshold`` (right if w·x > threshold, or the soft rule of ``routing``).

    Examples
    --------
    >>> from boscage import TopDownTreeClassifier
    >>> from boscage.export import to_dict
    >>> tree = TopDownTreeClassifier().fit([[0.0], [1.0]], ["low", "high"])
    >>> found = to_dict(tree.tree_, ["size"], tree.classes_)
    >>> nodes = found["nodes"]
    >>> nodes[0]["test"]["text"], nodes[1]["class"], nodes[2]["class"]
    ('size <= 0.50', 'low', 'high')
    """
    words = Describer(tree, feature_names, class_names, decimals, max_terms)
    features: list[dict[str, Any]] = [{"name": words.name(column)} for column in range(tree.n_features)]
    for column in np.flatnonzero(tree.schema.n_categories).tolist():
        names = tree.schema.categories and tree.schema.categories[column]
        labels = range(int(tree.schema.n_categories[column])) if names is None else names
        features[column]["categories"] = [_plain(label) for label in labels]
    return {
        "schema": DICT_SCHEMA,
        "routing": tree.routing,
        "features": features,
        **({"outputs": words.class_names} if words.is_numbers else {"classes": words.class_names}),
        "input_map": _map_dict(tree),
        "nodes": [_node_dict(words, node) for node in range(tree.node_count)],
    }


def dict_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of what :func:`to_dict` returns; it is shipped with the package.

    Examples
    --------
    >>> from boscage.export import dict_schema
    >>> dict_schema()["properties"]["schema"]
    {'const': 'boscage-tree-1'}
    """
    text = (Path(__file__).parents[1] / "tree.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _map_dict(tree: Tree) -> dict[str, Any] | None:
    row_map = tree.input_map
    if row_map is None:
        return None
    codes = None
    if row_map.code_offset is not None and row_map.codes is not None:
        counts = tree.schema.n_categories
        codes = {
            str(j): row_map.codes[row_map.code_offset[j] : row_map.code_offset[j] + counts[j]].tolist()
            for j in np.flatnonzero(row_map.code_offset >= 0).tolist()
        }
    arrays = {name: getattr(row_map, name) for name in ("fill", "shift", "scale")}
    return {
        **{name: None if array is None else array.tolist() for name, array in arrays.items()},
        "codes": codes,
        "constant": row_map.constant,
        "unit_rows": row_map.unit_rows,
    }


def _node_dict(words: Describer, node: int) -> dict[str, Any]:
    tree = words.tree
    found: dict[str, Any] = {
        "id": node,
        "depth": int(tree.depth[node]),
        "n_samples": int(tree.n_node_samples[node]),
        "weight": float(tree.weighted_n_node_samples[node]),
        "impurity": float(tree.impurity[node]),
        "value": tree.value[node].tolist(),
    }
    if not tree.is_leaf[node]:
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        return found | {"left": left, "right": right, "test": _test_dict(words, node)}
    if tree.leaf_models is not None:
        leaf = tree.leaf_index[node]
        parts = {name: getattr(tree.leaf_models, name) for name in ("coef", "intercept", "low", "high")}
        return found | {"model": {name: array[leaf].tolist() for name, array in parts.items() if array is not None}}
    label = {} if words.is_numbers else {"class": words.leaf_class(node)}
    return found | label | {"prediction": words.proba(node).tolist()}


def _test_dict(words: Describer, node: int) -> dict[str, Any]:
    tree = words.tree
    text = words.test(node).left
    threshold = float(tree.threshold[node])
    if tree.feature[node] == LINEAR:
        row: Any = tree.weights[[int(tree.linear_row[node])], :]
        weights = (row.toarray() if sparse.issparse(row) else row)[0]
        terms = [[int(j), float(weights[j])] for j in np.flatnonzero(weights)]
        return {"kind": "linear", "text": text, "weights": terms, "threshold": threshold}
    column = int(tree.feature[node])
    missing = "left" if tree.missing_go_to_left[node] else "right"
    base = {"text": text, "feature": column, "missing": missing}
    if tree.category_offset[node] >= 0:
        left, right = words.category_set(node)
        return base | {"kind": "category", "left": list(map(_plain, left)), "right": list(map(_plain, right))}
    if np.isinf(threshold):
        return base | {"kind": "missing", "numbers": "left" if threshold > 0 else "right"}
    return base | {"kind": "axis", "threshold": threshold}
