"""A model for other readers and programs: text, Graphviz, JSON, ONNX, C, SQL, JavaScript, scikit-learn.

Linear tests are shown by their largest terms in the user's columns and units, categories by name. Trees of any depth
are walked without recursion.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.base.colors import hex_color
from boscage.base.whole_file import write_whole
from boscage.show.describe import Describer
from boscage.show.exported import Trees, check_dtype, exported
from boscage.show.to_c import to_c
from boscage.show.to_dict import dict_schema, to_dict
from boscage.show.to_javascript import to_javascript
from boscage.show.to_sql import to_sql
from boscage.tree import Int64s, Tree

__all__ = [
    "dict_schema",
    "export_graphviz",
    "export_model",
    "export_text",
    "to_c",
    "to_dict",
    "to_javascript",
    "to_onnx",
    "to_sklearn",
    "to_sql",
]


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
    decimals: int | None = None,
    show_weights: bool = False,
    max_terms: int = 5,
    show_missing: bool | npt.ArrayLike | None = None,
    units: str = "original",
) -> str:
    """Return a text representation of a tree, like that of scikit-learn's ``export_text``.

    Parameters
    ----------
    tree : Tree
        The tree.
    feature_names : sequence of str, optional
        Default: the names seen in fit, else ``feature_0``, ….
    class_names : sequence, optional
        Names of the classes, or of the outputs of a regression tree. Default: the labels (of an estimator), else 0,
        1, ….
    max_depth : int or None, default=10
        Deeper branches are cut off; None shows everything.
    spacing : int, default=3
        Number of spaces of indentation per level, at least 1.
    decimals : int, optional
        Number of decimal places. Default: as many as each threshold needs to separate training values, at least two
        (see Notes).
    show_weights : bool, default=False
        Whether leaves show the training weight of each class.
    max_terms : int, default=5
        Maximum number of terms shown in a linear test, the largest |θ_j|·sd_j first, and of categories in a set.
    show_missing : bool or array of bool of shape (d,), optional
        Whether to show which side missing values take, for all columns or for each. Default: for columns that had
        missing values in training.
    units : {"original", "standard"}, default="original"
        How to write linear tests of several columns: in the columns' own units, or in standard deviations from
        their means, ``z(column)``, so that weights can be compared.

    Returns
    -------
    str
        The text. Lines below the tree explain ``code(column)`` and ``z(column)``, where they occur.

    Notes
    -----
    A threshold lies half way between two training values. If it has up to six digits it is written exactly. Otherwise
    it is written with three significant digits, and more if that would be off by more than 0.5 % of the column's
    standard deviation (trees with linear tests store it) or a quarter of the gap to the next threshold of the column.

    A linear test is divided by its leading weight, which reverses the comparison if that weight is negative; a
    linear test of one column is written as a test of that column.

    Examples
    --------
    >>> from boscage.export import export_text
    >>> from boscage.tree import Schema, Tree
    >>> stump = Tree(
    ...     children_left=[1, -1, -1], children_right=[2, -1, -1], feature=[0, -1, -1],
    ...     threshold=[0.5, 0, 0], value=[[0.5, 0.5], [1, 0], [0, 1]],
    ...     n_node_samples=[4, 2, 2], weighted_n_node_samples=[4, 2, 2],
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
    words = Describer(tree, feature_names, class_names, decimals, max_terms, show_missing, units)
    lines, notes = _lines(words, deepest, spacing, show_weights), words.notes()
    return "\n".join([*lines, "", *notes] if notes else lines)


def _lines(words: Describer, deepest: float, spacing: int, show_weights: bool) -> list[str]:
    """Lines of the tree, walked without recursion."""
    tree = words.tree
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
    return lines


def _leaf_text(words: Describer, node: int, show_weights: bool) -> str:
    tree = words.tree
    kind = words.answers_by()
    text = f"{kind}: {words.answer(node)}"
    if tree.leaf_models is not None and words.has_model(node):
        text = f"{kind}: {words.model(node) if words.is_numbers else 'by the linear model of the leaf'}"
    if show_weights and words.is_numbers:
        text = f"weight: {words.number(tree.weighted_n_node_samples[node])} {text}"
    elif show_weights:
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
    decimals: int | None = None,
    max_terms: int = 5,
    filled: bool = True,
    impurity: bool = True,
    node_ids: bool = False,
    show_missing: bool | npt.ArrayLike | None = None,
    units: str = "original",
) -> str:
    r"""Return a tree in Graphviz's DOT language.

    Parameters
    ----------
    tree : Tree
        The tree.
    feature_names, class_names, decimals, max_terms, show_missing, units
        As in :func:`export_text`.
    max_depth : int or None, default=None
        Deeper branches are cut off; None shows everything.
    filled : bool, default=True
        Whether to colour nodes by their majority class, or in regression by their value.
    impurity : bool, default=True
        Whether to show the impurity of each node.
    node_ids : bool, default=False
        Whether to show node numbers.

    Returns
    -------
    str
        The DOT source, in which all names are escaped.

    Examples
    --------
    >>> from boscage.export import export_graphviz
    >>> from boscage.tree import Schema, Tree
    >>> leaf = Tree(
    ...     children_left=[-1], children_right=[-1], feature=[-1], threshold=[0],
    ...     value=[[0.25, 0.75]], n_node_samples=[4], weighted_n_node_samples=[4],
    ...     impurity=[0.375], schema=Schema(n_features=1))
    >>> print(export_graphviz(leaf, filled=False))
    digraph Tree {
    node [shape=box, style="rounded", fontname="helvetica"];
    edge [fontname="helvetica"];
    0 [label="impurity = 0.38\nsamples = 4\nvalue = [0.25, 0.75]\nclass = 1"];
    }
    """
    deepest = _check_depth(max_depth)
    words = Describer(tree, feature_names, class_names, decimals, max_terms, show_missing, units)
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
        fill = f', fillcolor="{hex_color(words.color(node))}"' if filled and not is_cut else ""
        lines.append(f'{node} [label="{label}"{fill}];')
        parent = int(tree.parent[node])
        if parent >= 0:
            is_left = tree.children_left[parent] == node
            angle, side = (45, sides[0]) if is_left else (-45, sides[1])
            mark = f' [labeldistance=2.5, labelangle={angle}, headlabel="{side}"]' if parent == 0 else ""
            lines.append(f"{parent} -> {node}{mark};")
    if notes := words.notes():
        label = "\\l".join(_quote(line) for line in notes)
        lines.append(f'label="{label}\\l"; labelloc=b; labeljust=l; fontname="helvetica";')
    return "\n".join([*lines, "}"])


def _box_lines(words: Describer, node: int, impurity: bool, node_ids: bool) -> list[str]:
    tree = words.tree
    lines = [f"node {node}"] if node_ids else []
    if not tree.is_leaf[node]:
        lines.append(words.test(node).left)
    if impurity:
        lines.append(f"impurity = {words.number(tree.impurity[node])}")
    lines.append(f"samples = {tree.n_node_samples[node]}")
    has_model = bool(tree.is_leaf[node]) and tree.leaf_models is not None and words.has_model(node)
    if words.is_numbers:
        return [*lines, f"value = {words.model(node) if has_model else words.answer(node)}"]
    lines.append(f"value = [{', '.join(words.number(part) for part in words.proba(node))}]")
    lines.append("class by linear model" if has_model else f"class = {words.leaf_class(node)}")
    return lines


def to_onnx(
    tree: Trees,
    path: str | Path | None = None,
    *,
    classes: npt.ArrayLike | None = None,
    exponent: float = 1.0,
    mean: str = "arithmetic",
    dtype: str | None = None,
    compute: str = "float64",
    inputs: str = "auto",
) -> Any:
    """Export a model to ONNX (opset 18, IR version 8).

    Hard trees of axis and category tests use the tree-ensemble operator (ai.onnx.ml, opset 3); others use standard
    operators. The size of the model grows with the arrays of the trees and not with the number of paths.

    Parameters
    ----------
    tree : Tree or sequence of Tree
        The model; several trees are averaged.
    path : str or path, optional
        Where to write the model. Default: return it.
    classes : array of shape (K,), optional
        Labels in order; an estimator passes its own. Integers and whole floats become int64 labels, strings stay
        strings, booleans stay booleans. Default: 0, 1, ….
    exponent : float, default=1.0
        Power to which mean probabilities are raised before they are divided by their sum; a calibrated forest passes
        its ``exponent_``.
    mean : {"arithmetic", "geometric"}, default="arithmetic"
        How the trees' probabilities are averaged; a forest with ``refit="leaves"`` passes "geometric".
    dtype : {"float64", "float32"}, optional
        Data type of the inputs. Default: that of the training data.
    compute : {"float64", "float32"}, default="float64"
        Data type used inside the model and for ``probabilities``. With float64 the model decides as Python does. With
        float32 it is half as large; axis tests on float32 rows still decide alike, linear tests may differ for rows
        whose score lies within rounding of the threshold.
    inputs : {"auto", "matrix", "columns"}, default="auto"
        "matrix": one input ``X`` of shape (n, d), in which text categories are codes 0, 1, … in the order of
        ``tree.schema.categories``. "columns": for each column an input of its name and of shape (n, 1), strings for
        text categories and ``dtype`` for the rest. "auto": columns if the table has text, else a matrix.

    Returns
    -------
    onnx.ModelProto or Path
        The model; or, if it was written to a file, the path. Its outputs are ``label`` of shape (n,) and
        ``probabilities`` of shape (n, K); of regression trees, ``prediction`` of shape (n,), or (n, K) for several
        outputs. Categories that are numbers or booleans are taken as they are in the table. Missing values are NaN, or
        any string that is no category, such as "". Names of columns, categories and classes are in the metadata under
        ``boscage``.

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
    from boscage.show.onnx import ensemble_model

    model = exported(tree, classes, exponent, mean)
    dtype = model.schema.dtype if dtype is None else dtype
    check_dtype("dtype", dtype)
    check_dtype("compute", compute)
    proto = ensemble_model(model, dtype=dtype, compute=compute, inputs=inputs)
    if path is None:
        return proto
    return write_whole(path, proto.SerializeToString(deterministic=True))


def to_sklearn(tree: Tree, classes: npt.ArrayLike | None = None) -> Any:
    """Convert an axis-parallel tree to a fitted scikit-learn tree.

    The result works with tools that support only scikit-learn's trees, such as shap's tree explainer.

    Parameters
    ----------
    tree : Tree
        A tree of numeric axis tests.
    classes : array of shape (K,), optional
        Labels in order; an estimator passes its own. Default: 0, 1, ….

    Returns
    -------
    sklearn.tree.DecisionTreeClassifier or DecisionTreeRegressor
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
    from boscage.show.to_sklearn import sklearn_tree

    return sklearn_tree(tree, exported(tree, classes).classes)


_SUFFIXES = {
    ".onnx": "onnx",
    ".h": "c",
    ".sql": "sql",
    ".js": "javascript",
    ".mjs": "javascript",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".txt": "text",
    ".dot": "graphviz",
    ".gv": "graphviz",
}
FORMATS = tuple(dict.fromkeys(_SUFFIXES.values()))
_METHODS = {"onnx": "to_onnx", "c": "to_c", "sql": "to_sql", "javascript": "to_javascript", "html": "to_html"}
_TEXTS = {"text": "export_text", "graphviz": "export_graphviz", "json": "to_dict"}


_OPTIONS = {
    "dtype": ("onnx", "c"),
    "name": ("c",),
    "table": ("sql",),
    "title": ("html",),
    "max_depth": ("text", "graphviz"),
}


def export_model(
    model: Any,
    path: str | Path,
    format: str | None = None,
    *,
    dtype: str | None = None,
    name: str | None = None,
    table: str | None = None,
    title: str | None = None,
    max_depth: int | None = None,
) -> Path:
    """Export a fitted model to a file; the suffix of the file selects the format.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    path : str or path
        The file: ``.onnx``, ``.h`` (C), ``.sql``, ``.js`` or ``.mjs`` (JavaScript), ``.json``, ``.html``, ``.txt``, or
        ``.dot`` or ``.gv`` (Graphviz).
    format : {"onnx", "c", "sql", "javascript", "json", "html", "text", "graphviz"}, optional
        The format, regardless of the suffix. Default: chosen by the suffix.
    dtype : {"float64", "float32"}, optional
        ONNX and C: data type of the inputs. Default: that of the training data.
    name : str, optional
        C: prefix of all names in the header. Default: "tree".
    table : str, optional
        SQL: name of a table, for a whole query; a forest needs one. Default: an expression.
    title : str, optional
        HTML: title of the page. Default: the class name.
    max_depth : int, optional
        Text and Graphviz: deeper branches are cut off. Default: everything is written.

    Returns
    -------
    Path
        The path. The file is written whole or not at all.

    Examples
    --------
    >>> from boscage import TopDownTreeClassifier
    >>> from boscage.export import export_model
    >>> tree = TopDownTreeClassifier().fit([[0.0], [1.0]], ["low", "high"])
    >>> export_model(tree, "tree.js")  # doctest: +SKIP
    PosixPath('tree.js')
    """
    found = _format_of(path, format)
    given = {"dtype": dtype, "name": name, "table": table, "title": title, "max_depth": max_depth}
    options = {option: value for option, value in given.items() if value is not None}
    for option in options:
        if found not in _OPTIONS[option]:
            raise ValueError(
                f"{option} cannot be combined with the format {found!r}; it is for {' and '.join(_OPTIONS[option])}."
            )
    method_name = (_METHODS | _TEXTS)[found]
    method = getattr(model, method_name, None)
    if method is None:
        raise ValueError(f"model: {type(model).__name__} cannot be written as {found}: it has no method {method_name}.")
    if found in _METHODS:
        written: Path = method(path, **options)
        return written
    if found == "json":
        return write_whole(path, json.dumps(method(), ensure_ascii=False) + "\n")
    return write_whole(path, _whole_text(model, method_name, max_depth))


def _format_of(path: str | Path, format: str | None) -> str:
    found = _SUFFIXES.get(Path(path).suffix.lower()) if format is None else format
    if found is None:
        raise ValueError(
            f"path={str(path)!r} has no suffix of a format that is known. Use one of {', '.join(_SUFFIXES)}, or pass "
            "format."
        )
    if found not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}, got {format!r}.")
    return found


def _whole_text(model: Any, method_name: str, max_depth: int | None) -> str:
    """Text or Graphviz of a tree, or of all trees of a forest one after the other."""
    if hasattr(model, "tree_") or not hasattr(model, "estimators_"):
        return str(getattr(model, method_name)(max_depth=max_depth)) + "\n"
    texts = [getattr(tree, method_name)(max_depth=max_depth) for tree in model.estimators_]
    comment = "//" if method_name == "export_graphviz" else "#"
    return "\n".join(f"{comment} tree {number}\n{text}\n" for number, text in enumerate(texts))
