"""Pictures beside the tree itself: decision regions of two columns, and how the potential fell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage.base.colors import class_colors
from boscage.data.column_facts import column_ranges
from boscage.model import predict as _predict
from boscage.model.importances import feature_importances
from boscage.show.describe import Describer
from boscage.tree import Floats, Tree

_PAPER = np.ones(3)


def require_matplotlib() -> None:
    """Say what to install where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Drawing a tree needs matplotlib, which is not installed. Install it with: pip install boscage[plot]"
        ) from error


def plot_regions(
    model: Any,
    X: Any = None,
    y: Any = None,
    features: Sequence[int | str] | None = None,
    *,
    ax: Any = None,
    at: Any = None,
    resolution: int = 300,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    max_rows: int = 1000,
    legend: bool = True,
) -> Any:
    """Draw the decision regions of a tree over two of its columns.

    The background shows the predicted class, paler where it is less certain, and lines show the decision boundaries.
    The other columns are held at fixed values.

    Parameters
    ----------
    model : fitted estimator with ``tree_``, or Tree
        For a Tree, X holds floats, categories as codes.
    X : array-like of shape (n, d), optional
        Rows drawn as points; they also set the ranges of the axes. Default: ranges by the tree's tests.
    y : array-like of shape (n,), optional
        Labels of the rows, for the colours of the points.
    features : pair of int or str, optional
        The columns of the x and y axes, by number or name. Default: the two most important ones.
    ax : matplotlib axes, optional
        Where to draw. Default: a new figure.
    at : array-like of shape (d,), optional
        Values of the other columns, categories as codes. Default: the medians of X, or typical values of the tree.
    resolution : int, default=300
        Points along each axis, at least 2.
    feature_names, class_names
        As in :func:`boscage.export.export_text`.
    max_rows : int, default=1000
        Maximum number of points to draw, evenly spaced over X.
    legend : bool, default=True
        Whether to name the colours of up to twelve classes.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import TopDownTreeClassifier
    >>> from boscage.plot import plot_regions
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> ax = plot_regions(TopDownTreeClassifier(max_leaf_nodes=4).fit(X, y), X, y)
    >>> ax.get_xlabel()
    'petal length (cm)'
    """
    require_matplotlib()
    if not isinstance(resolution, (int, np.integer)) or resolution < 2:
        raise ValueError(f"resolution must be an integer >= 2, got {resolution!r}.")
    tree, rows = _tree_of(model), _rows_of(model, X)
    labels = [str(label) for label in getattr(model, "classes_", range(tree.n_classes))]
    words = Describer(tree, feature_names, labels if class_names is None else class_names)
    across, up = _chosen(words, features)
    low, high, typical = column_ranges(tree, rows)
    if at is not None:
        typical = np.asarray(at, dtype=np.float64)
        if typical.shape != (tree.n_features,):
            raise ValueError(f"at must hold {tree.n_features} values, one for each column, got shape {typical.shape}.")
    ax = _new_axes((5.2, 4.4)) if ax is None else ax
    spans = [_span(tree, j, float(low[j]), float(high[j])) for j in (across, up)]
    proba = _grid_proba(tree, (across, up), spans, typical, int(resolution))
    _draw_grid(ax, proba, spans, class_colors(tree.n_classes))
    if rows is not None:
        points = rows[:, [across, up]]
        _draw_rows(ax, labels, points.toarray() if sparse.issparse(points) else points, y, max_rows)
    _label_axes(ax, words, (across, up), spans)
    if legend and 1 < tree.n_classes <= 12:
        _name_classes(ax, words)
    return ax


def plot_trajectory(model: Any, ax: Any = None, *, label: str | None = None, error: bool = True) -> Any:
    """Draw the potential G and the training error against the number of splits.

    Parameters
    ----------
    model : fitted estimator with ``trajectory_`` or ``tree_``, Tree, or a structured array like ``trajectory_``
        For a bare tree or a loaded model, the potential is in the scale of its impurity; ``trajectory_`` is scaled so
        that two equal classes have potential 1.
    ax : matplotlib axes, optional
        Where to draw; call again with the same axes to compare trees. Default: a new figure.
    label : str, optional
        Name of the tree in the legend.
    error : bool, default=True
        Whether to draw the training error too, dashed.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import TopDownTreeClassifier
    >>> from boscage.plot import plot_trajectory
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_trajectory(TopDownTreeClassifier().fit(X, y), label="gini")
    >>> other = TopDownTreeClassifier(criterion="sqrt").fit(X, y)
    >>> ax = plot_trajectory(other, ax, label="sqrt")
    """
    require_matplotlib()
    steps = _steps(model)
    ax = _new_axes((5.6, 3.6)) if ax is None else ax
    splits = np.arange(len(steps))
    name = "" if label is None else f" ({label})"
    (line,) = ax.plot(splits, steps["potential"], linewidth=1.8, label=f"potential{name}")
    if error:
        ax.plot(splits, steps["error"], "--", linewidth=1.5, color=line.get_color(), label=f"training error{name}")
    ax.set_xlabel("splits")
    ax.set_ylim(bottom=0)
    ax.set_xlim(left=0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.grid(axis="y", color="#e3e6eb", linewidth=0.8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _steps(model: Any) -> npt.NDArray[np.void]:
    from boscage.model.trajectory import trajectory

    if isinstance(model, np.ndarray):
        if not {"potential", "error"} <= set(model.dtype.names or ()):
            raise ValueError(f"model must have the fields potential and error, got an array of {model.dtype}.")
        return model
    if hasattr(model, "trajectory_"):
        steps: npt.NDArray[np.void] = model.trajectory_
        return steps
    return trajectory(_tree_of(model), 1.0)


def _tree_of(model: Any) -> Tree:
    tree = getattr(model, "tree_", model)
    if not isinstance(tree, Tree):
        raise TypeError(f"model must be a fitted estimator with a tree_, or a Tree, got {type(model).__name__}.")
    return tree


def _rows_of(model: Any, X: Any) -> Any:
    """Rows as the tree reads them, dense or sparse."""
    if X is None:
        return None
    rows = model._rows(X)[1] if hasattr(model, "_rows") else np.asarray(X)
    n_features = _tree_of(model).n_features
    if rows.ndim != 2 or rows.shape[1] != n_features:
        raise ValueError(f"X must have {n_features} columns, got shape {rows.shape}.")
    return rows


def _chosen(words: Describer, features: Sequence[int | str] | None) -> tuple[int, int]:
    tree = words.tree
    if tree.n_features < 2:
        raise ValueError("Regions need two columns; this tree has one.")
    if features is None:
        first, second = np.argsort(-feature_importances(tree), kind="stable")[:2].tolist()
        return first, second
    names = [words.name(j) for j in range(tree.n_features)]
    found = [names.index(one) if isinstance(one, str) and one in names else one for one in features]
    good = [j for j in found if isinstance(j, (int, np.integer)) and 0 <= j < tree.n_features]
    if len(found) != 2 or len(good) != 2 or good[0] == good[1]:
        raise ValueError(f"features must be two different columns, by number or name, got {features!r}.")
    return int(good[0]), int(good[1])


def _span(tree: Tree, column: int, low: float, high: float) -> tuple[float, float]:
    count = int(tree.schema.n_categories[column])
    if count:
        return -0.5, count - 0.5
    pad = 0.04 * (high - low) or 0.5
    return low - pad, high + pad


def _grid_proba(
    tree: Tree, columns: tuple[int, int], spans: list[tuple[float, float]], typical: Floats, size: int
) -> Floats:
    """Class probabilities, size × size × classes, upwards first."""
    rows = np.tile(typical, (size * size, 1))
    ticks = [low + (np.arange(size) + 0.5) / size * (high - low) for low, high in spans]
    for axis, column in enumerate(columns):
        values = np.rint(ticks[axis]) if tree.schema.n_categories[column] else ticks[axis]
        rows[:, column] = np.tile(values, size) if axis == 0 else np.repeat(values, size)
    proba = _predict.predict_proba(tree, rows.astype(tree.schema.dtype), None)
    return proba.reshape(size, size, tree.n_classes)


def _draw_grid(
    ax: Any, proba: Floats, spans: list[tuple[float, float]], colors: list[tuple[float, float, float]]
) -> None:
    best = proba.argmax(axis=2)
    even = 1 / proba.shape[2]
    lead = np.ones(best.shape) if even == 1 else np.clip((proba.max(axis=2) - even) / (1 - even), 0, 1)
    strength = (0.1 + 0.5 * lead)[:, :, None]
    picture = np.asarray(colors)[best] * strength + _PAPER * (1 - strength)
    extent = (*spans[0], *spans[1])
    ax.imshow(picture, origin="lower", extent=extent, aspect="auto", interpolation="nearest", zorder=0)
    for k in np.unique(best)[1:]:
        ax.contour(best >= k, [0.5], origin="lower", extent=extent, colors="#5b6068", linewidths=0.7, zorder=1)


def _draw_rows(ax: Any, classes: list[str], points: npt.NDArray[Any], y: Any, max_rows: int) -> None:
    chosen = np.unique(np.linspace(0, len(points) - 1, min(len(points), max(max_rows, 0))).round().astype(np.int64))
    colors: Any = "#5b6068"
    if y is not None:
        labels = [str(label) for label in np.asarray(y).reshape(-1).tolist()]
        if len(labels) != len(points):
            raise ValueError(f"y must have one label for each of the {len(points)} rows of X, got {len(labels)}.")
        palette = dict(zip(classes, class_colors(len(classes))))
        colors = [palette.get(labels[i], (0.36, 0.38, 0.41)) for i in chosen]
    ax.scatter(*points[chosen].T, c=colors, s=16, edgecolors="white", linewidths=0.6, zorder=3)


def _label_axes(ax: Any, words: Describer, columns: tuple[int, int], spans: list[tuple[float, float]]) -> None:
    schema = words.tree.schema
    for axis, column, span, name in zip((ax.xaxis, ax.yaxis), columns, spans, ("x", "y")):
        getattr(ax, f"set_{name}label")(words.name(column), parse_math=False)
        getattr(ax, f"set_{name}lim")(*span)
        count = int(schema.n_categories[column])
        if 0 < count <= 20:
            labels = schema.categories and schema.categories[column]
            axis.set_ticks(range(count), [str(label) for label in (range(count) if labels is None else labels)])
    ax.spines[["top", "right"]].set_visible(False)


def _name_classes(ax: Any, words: Describer) -> None:
    from matplotlib.patches import Patch

    colors = class_colors(words.tree.n_classes)
    handles = [Patch(facecolor=color, label=name) for name, color in zip(words.class_names, colors)]
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": min(len(handles), 4)}
    shown = ax.legend(handles=handles, frameon=False, handlelength=1.0, handleheight=0.8, **place)
    for text in shown.get_texts():
        text.set_parse_math(False)


def _new_axes(size: tuple[float, float]) -> Any:
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax
