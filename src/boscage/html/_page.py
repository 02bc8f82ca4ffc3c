"""From a tree to the page: what is embedded, and the two ways to get it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage.base.colors import class_colors, hex_color
from boscage.base.whole_file import write_whole
from boscage.data.column_facts import column_ranges
from boscage.data.targets import numbers_for
from boscage.export import export_text
from boscage.html._assets import page
from boscage.html._encode import embed_json, encode_array, encode_matrix, encode_tree
from boscage.html._model_file import model_file_parts
from boscage.model import predict
from boscage.model.importances import feature_importances
from boscage.show.describe import PRETTY, Describer
from boscage.tree import Tree

_SHORT_TERMS = 3  # of a linear test, on a card of the tree
_BINS = 24  # of y in the histogram of a node
_PLAIN_DEPTH = 5  # of the text shown where scripts are off


def to_html(
    tree: Tree,
    path: str | Path | None = None,
    X: Any = None,
    y: Any = None,
    max_rows: int = 200,
    *,
    title: str = "Decision tree",
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    decimals: int | None = None,
    max_terms: int = 5,
    show_missing: bool | npt.ArrayLike | None = None,
    units: str = "original",
    model: Any = None,
) -> str | Path:
    """Write a tree as a self-contained, interactive web page.

    The page shows the tree with branches that open and close, the class mixture of every node, each test in the
    columns' names and units, the path of a selected row with its values, the potential after each split, and the
    decision regions of two columns. It predicts in the browser exactly as Python does. It works offline, with the
    keyboard and with screen readers, and follows the light or dark mode of the browser.

    Parameters
    ----------
    tree : Tree
        The tree.
    path : str or path, optional
        Where to write the page. Default: return it as text.
    X : array of shape (n, d), optional
        Rows that can be selected, float32 or float64, categories as codes. **They are embedded in the page.** Without
        them the page has a form for entering values, and contains no data besides the tree.
    y : array of shape (n,), optional
        Labels of the rows, shown beside the prediction. For a regression tree, the quantiles of y are shown for every
        node and give the prediction intervals of the page.
    max_rows : int, default=200
        Maximum number of rows to embed, evenly spaced over X; ranges and medians of columns and quantiles of y are
        computed from all rows.
    title : str, default="Decision tree"
        Heading of the page.
    feature_names, class_names, decimals, max_terms, show_missing, units
        As in :func:`boscage.export.export_text`.
    model : estimator, optional
        The fitted estimator of the tree; an estimator passes itself. Then a tree that was edited on the page can be
        saved there as a model file, which :func:`boscage.load` reads.

    Returns
    -------
    str or Path
        The page; or, if it was written to a file, the path.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import TopDownTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = TopDownTreeClassifier(max_leaf_nodes=5).fit(X, y)
    >>> text = tree.to_html(X=X, y=y)  # or tree.to_html("iris.html", X, y)
    >>> "petal length (cm)" in text
    True
    """
    fragment = tree_fragment(
        tree,
        X,
        y,
        max_rows,
        title=title,
        feature_names=feature_names,
        class_names=class_names,
        decimals=decimals,
        max_terms=max_terms,
        show_missing=show_missing,
        units=units,
        model=model,
    )
    text = page(title, fragment)
    if path is None:
        return text
    # A half of a character pair in a name cannot be written as UTF-8.
    return write_whole(path, text.encode("utf-8", errors="xmlcharrefreplace"))


def tree_fragment(
    tree: Tree,
    X: Any = None,
    y: Any = None,
    max_rows: int = 200,
    *,
    title: str = "Decision tree",
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    decimals: int | None = None,
    max_terms: int = 5,
    show_missing: bool | npt.ArrayLike | None = None,
    units: str = "original",
    model: Any = None,
) -> str:
    """Return a tree as an HTML fragment for a page of your own.

    The fragment is one ``<section class="bosc">`` with the tree's data inside. A page can contain any number of them,
    together with one copy of the style and script of :func:`boscage.html.tree_assets`; :func:`boscage.html.page`
    makes such a page. Where scripts are disabled, a fragment shows the tree as text.

    Parameters
    ----------
    tree, X, y, max_rows, title, feature_names, class_names, decimals, max_terms, show_missing, units, model
        As in :func:`boscage.html.to_html`.

    Returns
    -------
    str
        HTML in which every name is escaped.

    Examples
    --------
    >>> from boscage.html import page, tree_fragment
    >>> from boscage.tree import Schema, Tree
    >>> leaf = Tree(
    ...     children_left=[-1], children_right=[-1], feature=[-1], threshold=[0],
    ...     value=[[0.25, 0.75]], n_node_samples=[4], weighted_n_node_samples=[4],
    ...     impurity=[0.375], schema=Schema(n_features=1))
    >>> body = "<h1>Two trees</h1>" + tree_fragment(leaf) + tree_fragment(leaf)
    >>> report = page("Two trees", body)
    """
    words = Describer(tree, feature_names, class_names, decimals, max_terms, show_missing, units, PRETTY)
    content = _page_data(words, title, *_checked_rows(tree, X, y, max_rows))
    data = embed_json(content | {"file": None if model is None else model_file_parts(model)})
    plain = export_text(
        tree,
        feature_names,
        class_names,
        _PLAIN_DEPTH,
        decimals=decimals,
        max_terms=max_terms,
        show_missing=show_missing,
        units=units,
    )
    heading = html.escape(title)
    return (
        f'<section class="bosc" aria-label="{heading}">\n'
        f'<script type="application/json" class="bosc-data">{data}</script>\n'
        f"<noscript><h2>{heading}</h2><pre>{html.escape(plain)}</pre></noscript>\n"
        "</section>"
    )


def _checked_rows(tree: Tree, X: Any, y: Any, max_rows: int) -> tuple[Any, list[str] | None, int]:
    if not isinstance(max_rows, (int, np.integer)) or isinstance(max_rows, bool) or max_rows < 0:
        raise ValueError(f"max_rows must be an integer >= 0, got {max_rows!r}.")
    if X is None:
        if y is not None:
            raise ValueError("y was passed without X: labels are shown beside rows. Pass X too.")
        return None, None, 0
    rows: Any = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    if rows.ndim != 2 or rows.shape[1] != tree.n_features or rows.shape[0] == 0 or rows.dtype.kind != "f":
        raise ValueError(
            f"X must be an array of floats with {tree.n_features} columns and at least one row, got {rows.dtype} of "
            f"shape {rows.shape}."
        )
    labels = None if y is None else _labels(y, tree)
    if labels is not None and len(labels) != rows.shape[0]:
        raise ValueError(f"y must have one label for each of the {rows.shape[0]} rows of X, got {len(labels)}.")
    return rows, labels, int(max_rows)


def _labels(y: Any, tree: Tree) -> list[str]:
    if tree.target == "numbers":
        rows = numbers_for(y, "Tree", tree.n_outputs).tolist()
        return [str(row[0]).removesuffix(".0") if len(row) == 1 else str(row) for row in rows]
    return [str(label) for label in np.asarray(y).reshape(-1).tolist()]


def _page_data(words: Describer, title: str, X: Any, labels: list[str] | None, max_rows: int) -> dict[str, Any]:
    tree = words.tree
    tests = _tests(words)
    means, spreads = tree.column_means, tree.column_spreads
    return {
        "title": title,
        **encode_tree(tree),
        "float32": tree.schema.dtype == "float32",
        "needs_numbers": predict.needs_numbers(tree),
        "numbers": words.is_numbers,
        "classes": words.class_names,
        "colors": [hex_color(color) for color in class_colors(1 if words.is_numbers else tree.n_classes)],
        **(_numbers(words, X, labels) if words.is_numbers else {}),
        "columns": _columns(words, X),
        "tests": tests,
        "notes": words.notes(),
        "standard": words.is_standard,
        "means": None if means is None else encode_array(means),
        "spread": None if spreads is None else encode_array(spreads),
        "trajectory": _trajectory(tree),
        "rows": None if X is None else _rows(X, labels, max_rows),
    }


def _columns(words: Describer, X: Any) -> dict[str, Any]:
    """Names, category names, importances, ranges and typical values; as arrays, for there may be many columns."""
    tree = words.tree
    categories = {}
    for j in np.flatnonzero(tree.schema.n_categories).tolist():
        names = tree.schema.categories and tree.schema.categories[j]
        labels = range(int(tree.schema.n_categories[j])) if names is None else names
        categories[str(j)] = [str(label) for label in labels]
    low, high, typical = column_ranges(tree, X)
    numbers = {"low": low, "high": high, "typical": typical, "importance": feature_importances(tree)}
    return {
        "names": [words.name(j) for j in range(tree.n_features)],
        "categories": categories,
        **{name: encode_array(array) for name, array in numbers.items()},
    }


def _tests(words: Describer) -> list[dict[str, Any]]:
    """For every inner node in order, the parts of its description.

    ``card`` is what is tested in a few words, ``test`` in full (absent if that is the same) and ``if`` what must hold
    to go left. ``column`` is the only column tested, else −1; ``left`` and ``right`` are what is said of a row that
    goes there. A linear test has ``unit`` and ``constant``: its score is shown divided by the one, less the other.
    """
    short, plain = words.with_terms(_SHORT_TERMS), words.without_missing()
    return [_test(words, short, plain, int(node)) for node in np.flatnonzero(~words.tree.is_leaf)]


def _test(words: Describer, short: Describer, plain: Describer, node: int) -> dict[str, Any]:
    test, said = words.test(node), plain.test(node)
    found: dict[str, Any] = {"card": short.card(node), "if": test.if_left, "column": test.column}
    if test.subject != found["card"]:
        found["test"] = test.subject
    if said.if_left:
        found |= {"left": said.if_left, "right": said.if_right}
    if words.tree.linear_row[node] >= 0:
        score = words.score(node)
        by_norm = words.tree.input_map is not None and words.tree.input_map.unit_rows
        found |= {"unit": score.unit, "constant": 0.0 if by_norm or words.tree.is_soft else score.constant}
    return found


def _numbers(words: Describer, X: Any, labels: list[str] | None) -> dict[str, Any]:
    """Range of the nodes' numbers, models of the leaves in words, and the spread of y in each node if y is known."""
    tree, first = words.tree, words.tree.value[:, 0]
    models = [words.model(int(node)) for node in tree.leaves] if tree.leaf_models is not None else None
    spread = None if X is None or labels is None else _spread(tree, X, labels)
    return {"range": [float(first.min()), float(first.max())], "models": models, **(spread or {"quantiles": None})}


def _spread(tree: Tree, X: Any, labels: list[str]) -> dict[str, Any] | None:
    """Say how y and its residuals are spread over the rows in each node; NaN where there is none.

    ``quantiles``: 5, 25, 50, 75 and 95 % of y. ``histogram``: shares of the rows in equal bins of y from the least to
    the largest, ``bins`` their ends. ``residuals``: mean and root mean square of y − prediction, and 90 % of its size.
    In soft trees a row counts where it arrives with a probability of at least one half.
    """
    if tree.n_outputs > 1:
        return None
    y = np.array(labels, dtype=np.float64)
    path: Any = sparse.csc_array(predict.decision_path(tree, X))
    low, high = float(y.min()), float(y.max())
    place = np.zeros(len(y), np.int64)
    if high / 2 > low / 2:
        share = (y / 2 - low / 2) / (high / 2 - low / 2)  # halves: the difference need not be a number
        place = np.minimum((share * _BINS).astype(np.int64), _BINS - 1)
    with np.errstate(over="ignore"):
        away = y - predict.predict_numbers(tree, X)
        square = away**2
    quantiles, histogram, residuals = (np.full((tree.node_count, width), np.nan) for width in (5, _BINS, 3))
    for node in range(tree.node_count):
        part = slice(path.indptr[node], path.indptr[node + 1])
        rows = path.indices[part][path.data[part] >= 0.5]
        if len(rows):
            quantiles[node] = np.quantile(y[rows], (0.05, 0.25, 0.5, 0.75, 0.95))
            histogram[node] = np.bincount(place[rows], minlength=_BINS) / len(rows)
            residuals[node] = away[rows].mean(), np.sqrt(square[rows].mean()), np.quantile(np.abs(away[rows]), 0.9)
    names = {"quantiles": quantiles, "histogram": histogram, "residuals": residuals}
    return {"bins": [low, high], **{name: encode_matrix(found) for name, found in names.items()}}


def _trajectory(tree: Tree) -> dict[str, Any]:
    from boscage.model.trajectory import trajectory

    steps = trajectory(tree, 1.0)
    return {
        "node": encode_array(steps["node"], "i4"),
        "potential": encode_array(steps["potential"]),
        "error": encode_array(steps["error"]),
    }


def _rows(X: Any, labels: list[str] | None, max_rows: int) -> dict[str, Any] | None:
    total = X.shape[0]
    kept = min(total, max_rows)
    if kept == 0:
        return None
    chosen = np.unique(np.linspace(0, total - 1, kept).round().astype(np.int64))
    rows: npt.NDArray[Any] = X[chosen].toarray() if sparse.issparse(X) else X[chosen]
    return {
        "total": total,
        "numbers": encode_array(chosen, "i4"),
        "values": encode_matrix(rows, "f4" if X.dtype == np.float32 else "f8"),
        "labels": None if labels is None else [labels[row] for row in chosen],
    }
