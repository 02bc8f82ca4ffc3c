"""A tree for other readers: text, Graphviz, dictionaries for JSON, ONNX, scikit-learn.

Linear tests are shown by their largest terms in the user's columns and units, categories by name. Trees of any depth
are walked without recursion.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage._colors import class_colors, hex_color, node_color
from boscage._describe import Describer
from boscage._to_dict import dict_schema, to_dict
from boscage._whole_file import write_whole
from boscage.tree import Int64s, Tree

__all__ = ["dict_schema", "export_graphviz", "export_text", "to_dict", "to_onnx", "to_sklearn"]


def subtree_heights(tree: Tree) -> Int64s:
    """Depth of the subtree below each node; 0 at leaves."""
    heights = tree.depth.copy()  # depth of the deepest node below, found level by level from the bottom
    order = np.argsort(-tree.depth, kind="stable")
    levels = np.split(order, np.flatnonzero(np.diff(tree.depth[order])) + 1)
    for nodes in levels[:-1]:
        np.maximum.at(heights, tree.parent[nodes], heights[nodes])
    return heights - tree.depth


def _check_depth(max_depth: int | None) -> float:
    if max_depth is None:
        return np.inf
    if not isinstance(max_depth, (int, np.integer)) or max_depth < 0:
        raise ValueError(f"max_depth must be None or an integer >= 0, got {max_depth!r}.")
    return float(max_depth)


def export_text(
    tree: Tree,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    max_depth: int | None = 10,
    *,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
    max_terms: int = 5,
    show_missing: bool = False,
) -> str:
    """Describe a tree in lines of text, as scikit-learn's function of this name does.

    Parameters
    ----------
    tree : Tree
        The tree.
    feature_names : sequence of str, optional
        Default: the names seen in fit, else ``feature_0``, ….
    class_names : sequence, optional
        Default: the labels (of an estimator), else 0, 1, ….
    max_depth : int or None, default=10
        Deeper branches are cut off; None shows everything.
    spacing : int, default=3
        Spaces by which a level is indented, at least 1.
    decimals : int, default=2
        Digits after the point.
    show_weights : bool, default=False
        Whether leaves show the training weight of each class.
    max_terms : int, default=5
        Terms shown of a linear test, the largest |θ_j|·sd_j first, and categories shown of a set.
    show_missing : bool, default=False
        Whether tests say on which side missing values go.

    Returns
    -------
    str

    Examples
    --------
    >>> from boscage.export import export_text
    >>> from boscage.tree import Schema, Tree
    >>> stump = Tree(
    ...     children_left=[1, -1, -1], children_right=[2, -1, -1], feature=[0, -1, -1], threshold=[0.5, 0, 0],
    ...     value=[[0.5, 0.5], [1, 0], [0, 1]], n_node_samples=[4, 2, 2], weighted_n_node_samples=[4, 2, 2],
    ...     impurity=[0.5, 0, 0], schema=Schema(n_features=1, feature_names=("width",)))
    >>> print(export_text(stump, class_names=["small", "large"]))
    |--- width <= 0.50
    |   |--- class: small
    |--- width >  0.50
    |   |--- class: large
    """
    deepest = _check_depth(max_depth)
    if not isinstance(spacing, (int, np.integer)) or spacing < 1:
        raise ValueError(f"spacing must be an integer >= 1, got {spacing!r}.")
    words = Describer(tree, feature_names, class_names, decimals, max_terms, show_missing)
    heights = subtree_heights(tree)
    lines = []
    stack: list[tuple[int, int, str]] = [(0, 0, "")]
    while stack:
        node, depth, heading = stack.pop()
        indent = "|" + " " * spacing
        if heading:
            lines.append(indent * (depth - 1) + "|" + "-" * spacing + " " + heading)
        branch = indent * depth + "|" + "-" * spacing + " "
        if tree.is_leaf[node]:
            lines.append(branch + _leaf_text(words, node, show_weights))
        elif depth > deepest:
            lines.append(branch + f"truncated branch of depth {heights[node] + 1}")
        else:
            test = words.test(node)
            left, right = test.left, test.right
            if tree.is_soft:
                left, right = f"left,  {left}", f"right, {right}"
            stack.append((int(tree.children_right[node]), depth + 1, right))
            stack.append((int(tree.children_left[node]), depth + 1, left))
    return "\n".join(lines)


def _leaf_text(words: Describer, node: int, show_weights: bool) -> str:
    tree = words.tree
    text = f"class: {words.leaf_class(node)}"
    if tree.leaf_models is not None:
        text = "class: by the linear model of the leaf"
    if show_weights:
        weights = tree.value[node] * tree.weighted_n_node_samples[node]
        text = f"weights: [{', '.join(words.number(weight) for weight in weights)}] {text}"
    return text


def _quote(text: str) -> str:
    """Make any text the inside of a DOT string; a line break in a name is shown as a space."""
    plain = " ".join(text.split("\n")).replace("\r", " ").replace("\0", " ")
    return plain.replace("\\", "\\\\").replace('"', '\\"')


def _shown(tree: Tree, deepest: float) -> Iterator[tuple[int, bool]]:
    """Nodes in order of their numbers down to a depth, with whether the branch is cut off there."""
    for node in range(tree.node_count):
        if tree.depth[node] <= deepest:
            yield node, False
        elif tree.depth[node] == deepest + 1:
            yield node, not tree.is_leaf[node]


def export_graphviz(
    tree: Tree,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    max_depth: int | None = None,
    *,
    decimals: int = 2,
    max_terms: int = 5,
    filled: bool = True,
    impurity: bool = True,
    node_ids: bool = False,
    show_missing: bool = False,
) -> str:
    r"""Describe a tree in Graphviz's DOT language.

    Parameters
    ----------
    tree : Tree
        The tree.
    feature_names, class_names, decimals, max_terms, show_missing
        As in :func:`export_text`.
    max_depth : int or None, default=None
        Deeper branches are cut off; None shows everything.
    filled : bool, default=True
        Whether nodes have the colour of their leading class.
    impurity : bool, default=True
        Whether nodes show their impurity.
    node_ids : bool, default=False
        Whether nodes show their number.

    Returns
    -------
    str
        Every name in it is escaped.

    Examples
    --------
    >>> from boscage.export import export_graphviz
    >>> from boscage.tree import Schema, Tree
    >>> leaf = Tree(
    ...     children_left=[-1], children_right=[-1], feature=[-1], threshold=[0], value=[[0.25, 0.75]],
    ...     n_node_samples=[4], weighted_n_node_samples=[4], impurity=[0.375], schema=Schema(n_features=1))
    >>> print(export_graphviz(leaf, filled=False))
    digraph Tree {
    node [shape=box, style="rounded", fontname="helvetica"];
    edge [fontname="helvetica"];
    0 [label="impurity = 0.38\nsamples = 4\nvalue = [0.25, 0.75]\nclass = 1"];
    }
    """
    deepest = _check_depth(max_depth)
    words = Describer(tree, feature_names, class_names, decimals, max_terms, show_missing)
    colors = class_colors(tree.n_classes)
    style = "rounded, filled" if filled else "rounded"
    lines = [
        "digraph Tree {",
        f'node [shape=box, style="{style}", fontname="helvetica"];',
        'edge [fontname="helvetica"];',
    ]
    sides = ("left", "right") if tree.is_soft else ("True", "False")
    for node, is_cut in _shown(tree, deepest):
        text = ["(...)"] if is_cut else _box_lines(words, node, impurity, node_ids)
        label = "\\n".join(_quote(line) for line in text)
        fill = f', fillcolor="{hex_color(node_color(words.proba(node), colors))}"' if filled and not is_cut else ""
        lines.append(f'{node} [label="{label}"{fill}];')
        parent = int(tree.parent[node])
        if parent >= 0:
            is_left = tree.children_left[parent] == node
            angle, side = (45, sides[0]) if is_left else (-45, sides[1])
            mark = f' [labeldistance=2.5, labelangle={angle}, headlabel="{side}"]' if parent == 0 else ""
            lines.append(f"{parent} -> {node}{mark};")
    return "\n".join([*lines, "}"])


def _box_lines(words: Describer, node: int, impurity: bool, node_ids: bool) -> list[str]:
    tree = words.tree
    lines = [f"node {node}"] if node_ids else []
    if not tree.is_leaf[node]:
        lines.append(words.test(node).left.replace(">  ", "> "))
    if impurity:
        lines.append(f"impurity = {words.number(tree.impurity[node])}")
    lines.append(f"samples = {tree.n_node_samples[node]}")
    lines.append(f"value = [{', '.join(words.number(part) for part in words.proba(node))}]")
    if tree.is_leaf[node] and tree.leaf_models is not None:
        lines.append("class by linear model")
    else:
        lines.append(f"class = {words.leaf_class(node)}")
    return lines


def to_onnx(
    tree: Tree,
    path: str | Path | None = None,
    *,
    classes: npt.ArrayLike | None = None,
    dtype: str | None = None,
    compute: str = "float64",
) -> Any:
    """Write a tree as an ONNX model of plain operators (opset 18, IR version 8), which any ONNX runtime can run.

    The model has one input ``X`` of shape (n, d) and two outputs: ``label`` of shape (n,) and ``probabilities`` of
    shape (n, K). Hard trees are walked level by level and soft trees compute all tests at once, so its size grows
    with the arrays of the tree and not with the number of paths.

    Parameters
    ----------
    tree : Tree
        The tree.
    path : str or path, optional
        Where to write the model. Default: return it.
    classes : array of shape (K,), optional
        Labels in order; an estimator passes its own. Integers and whole floats become int64 labels, strings stay
        strings, booleans stay booleans. Default: 0, 1, ….
    dtype : {"float64", "float32"}, optional
        Type of the input. Default: that of the training rows.
    compute : {"float64", "float32"}, default="float64"
        Type inside the model and of ``probabilities``. With float64 the model decides as Python does. With float32 it
        is half as large; axis tests on float32 rows still decide alike, linear tests may differ for rows whose score
        lies within rounding of the threshold.

    Returns
    -------
    onnx.ModelProto or Path
        The model; or, if it was written to a file, the path. Columns with categories take codes 0, 1, … in the order of
        ``tree.schema.categories``; names of columns, categories and classes are in the metadata under ``boscage``.
        Missing values are NaN.

    Examples
    --------
    >>> from boscage import TopDownTreeClassifier
    >>> tree = TopDownTreeClassifier().fit([[0.0], [1.0]], ["low", "high"])
    >>> path = tree.to_onnx("tree.onnx")  # doctest: +SKIP
    """
    try:
        importlib.import_module("onnx")
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx. Install it with: pip install 'boscage[onnx]'") from error
    from boscage._onnx import tree_model

    dtype = tree.schema.dtype if dtype is None else dtype
    for name, value in (("dtype", dtype), ("compute", compute)):
        if value not in ("float32", "float64"):
            raise ValueError(f"{name} must be 'float32' or 'float64', got {value!r}.")
    model = tree_model(tree, _checked_classes(tree, classes), dtype=dtype, compute=compute)
    if path is None:
        return model
    return write_whole(path, model.SerializeToString(deterministic=True))


def to_sklearn(tree: Tree, classes: npt.ArrayLike | None = None) -> Any:
    """Turn an axis-parallel tree into a fitted scikit-learn ``DecisionTreeClassifier``.

    Tools that know only scikit-learn's own tree, such as shap's tree explainer, then take it.

    Parameters
    ----------
    tree : Tree
        A tree of numeric axis tests.
    classes : array of shape (K,), optional
        Labels in order; an estimator passes its own. Default: 0, 1, ….

    Returns
    -------
    sklearn.tree.DecisionTreeClassifier
        Node for node the same tree, with the same sides for missing values. scikit-learn rounds rows to float32, so a
        float64 value within that rounding of a threshold may change sides; float32 rows never do.

    Raises
    ------
    ValueError
        The tree has linear tests, tests on categories or linear leaves.

    Examples
    --------
    >>> from boscage import TopDownTreeClassifier
    >>> tree = TopDownTreeClassifier().fit([[0.0], [1.0]], ["low", "high"])
    >>> tree.to_sklearn().predict([[0.2]]).tolist()
    ['low']
    """
    from boscage._to_sklearn import sklearn_tree

    return sklearn_tree(tree, _checked_classes(tree, classes))


def _checked_classes(tree: Tree, classes: npt.ArrayLike | None) -> npt.NDArray[Any]:
    labels = np.arange(tree.n_classes) if classes is None else np.asarray(classes)
    if labels.shape != (tree.n_classes,):
        raise ValueError(f"classes must hold {tree.n_classes} labels, got shape {labels.shape}.")
    return labels
