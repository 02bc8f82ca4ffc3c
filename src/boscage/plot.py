"""Pictures with matplotlib: the tree in a tidy layout; beside it its decision regions and its trajectory."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.base.colors import class_colors
from boscage.export import _check_depth
from boscage.show.describe import Describer, TestWords
from boscage.show.layout import tidy_positions
from boscage.show.plot_views import plot_regions, plot_trajectory, require_matplotlib
from boscage.tree import Tree

__all__ = ["plot_regions", "plot_trajectory", "plot_tree"]

# Lengths in points (1/72 inch) at the natural font size.
_FONT_SIZE = 9.0
_PADDING = 5.0
_BAR = 5.0
_GAP = 10.0
_LEVEL_GAP = 26.0
_MARGIN = 8.0
_LEGEND = 24.0
_LARGEST = (32.0, 20.0)  # inches of a figure made here
_MANY = 40  # nodes; beyond this boxes say less
_WRAP = 26  # characters


@dataclass
class _Box:
    node: int
    text: str
    width: float
    height: float
    has_bar: bool
    x: float = 0.0
    y: float = 0.0


def plot_tree(
    tree: Tree,
    ax: Any = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    max_depth: int | None = 5,
    *,
    decimals: int | None = None,
    max_terms: int = 3,
    fontsize: float | None = None,
    legend: bool = True,
    show_missing: bool | npt.ArrayLike | None = None,
    units: str = "original",
) -> Any:
    """Draw a tree.

    Each box shows its test, or its class at a leaf, the number of training rows (their weight in soft trees), and a bar
    of class fractions. Boxes are coloured by their majority class, and are paler the more classes are mixed; in
    regression trees they show the predicted value, and are darker the larger it is. Rows that pass the test go left.
    Lines are thicker where more training weight goes.

    Parameters
    ----------
    tree : Tree
        The tree.
    ax : matplotlib axes, optional
        Where to draw. Default: a new figure large enough for the tree.
    feature_names, class_names, decimals, max_terms, show_missing, units
        As in :func:`boscage.export.export_text`.
    max_depth : int or None, default=5
        Deeper branches are cut off; None draws everything.
    fontsize : float, optional
        Size of the text in points. Default: what fits, at most 9.
    legend : bool, default=True
        Whether to name the colours of up to twelve classes.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import TopDownTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> ax = TopDownTreeClassifier(max_leaf_nodes=4).fit(X, y).plot()
    >>> ax.figure.savefig("tree.png")  # doctest: +SKIP
    """
    require_matplotlib()
    deepest = _check_depth(max_depth)
    words = Describer(tree, feature_names, class_names, decimals, max_terms, show_missing, units)
    shown = np.flatnonzero(tree.depth <= deepest + 1)
    is_cut = ~tree.is_leaf & (tree.depth == deepest + 1)
    boxes = [_box(words, int(node), bool(is_cut[node]), len(shown) > _MANY) for node in shown]
    has_legend = legend and not words.is_numbers and 1 < tree.n_outputs <= 12
    width, height = _place(tree, boxes, shown)
    notes = "\n".join(words.notes())
    below = (_LEGEND if has_legend else 0.0) + (_text_size(notes)[1] + _MARGIN if notes else 0.0)
    width, height = max(width, _text_size(notes)[0] + 2 * _MARGIN), height + below
    if ax is None:
        ax = _new_axes(width, height)
    natural = _fit(ax, width, height) * _FONT_SIZE
    size = natural if fontsize is None else float(fontsize)
    colors = [] if words.is_numbers else class_colors(tree.n_classes)
    _draw_edges(ax, tree, boxes, size)
    for box in boxes:
        _draw_box(ax, words, box, colors, size, bool(is_cut[box.node]))
    if has_legend:
        _draw_legend(ax, words, colors, size)
    if notes:
        place = {"ha": "left", "va": "top", "fontsize": size, "linespacing": 1.15, "color": "#5b6068"}
        ax.text(_MARGIN, height - below, notes, parse_math=False, **place)
    return ax


def _text_size(text: str) -> tuple[float, float]:
    """Width and height in points of lines of text at the natural font size."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=_FONT_SIZE)
    lines = text.split("\n")
    width = max(text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] for line in lines)
    return float(width), 1.25 * _FONT_SIZE * len(lines)


def _box(words: Describer, node: int, is_cut: bool, is_brief: bool) -> _Box:
    tree = words.tree
    if is_cut:
        text = "..."
    else:
        # Every row can reach every node of a soft tree, so there the weight says more.
        weight = f"weight = {tree.weighted_n_node_samples[node]:.4g}"
        lines = [weight if tree.is_soft else f"n = {tree.n_node_samples[node]:,}"]
        if tree.is_leaf[node]:
            # A bar of shares says as much in less space.
            lines = [] if is_brief and not words.is_numbers else lines
            lines.insert(0, "linear model" if tree.leaf_models is not None else words.answer(node))
        else:
            lines[:0] = _test_lines(words.test(node))
        text = "\n".join(lines)
    width, height = _text_size(text)
    has_bar = not is_cut and not words.is_numbers
    bar = _BAR + 3 if has_bar else 0.0
    return _Box(node, text, max(width, 24.0) + 2 * _PADDING, height + 2 * _PADDING + bar, has_bar)


def _test_lines(test: TestWords) -> list[str]:
    """Break a test into lines: a term on each, names between words, and a bound beside its sign."""
    if len(test.parts) > 1:
        return list(test.lines)
    bound = test.if_left if "{" in test.if_left else test.if_left.replace(" ", "\u00a0", 1)
    whole = f"{test.subject} {bound}".rstrip()
    return textwrap.wrap(whole, _WRAP, break_long_words=False, break_on_hyphens=False)


def _place(tree: Tree, boxes: list[_Box], shown: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Set the centres of the boxes, in points from the top left corner; return the extent of the picture."""
    widths = np.array([box.width + _GAP for box in boxes])
    position = np.full(tree.node_count, -1, np.int64)
    position[shown] = np.arange(len(shown))
    left = np.where(tree.is_leaf[shown], -1, position[tree.children_left[shown]])
    right = np.where(tree.is_leaf[shown], -1, position[tree.children_right[shown]])
    x = tidy_positions(left, right, widths)
    depth = tree.depth[shown]
    heights = np.zeros(int(depth.max()) + 1)
    np.maximum.at(heights, depth, [box.height for box in boxes])
    tops = _MARGIN + np.concatenate([[0.0], np.cumsum(heights + _LEVEL_GAP)[:-1]])
    x += _MARGIN - float(np.min(x - widths / 2))
    for box, place, level in zip(boxes, x.tolist(), depth.tolist()):
        box.x, box.y = place, float(tops[level] + box.height / 2)
    return float(np.max(x + widths / 2)) + _MARGIN, float(tops[-1] + heights[-1]) + _MARGIN


def _new_axes(width: float, height: float) -> Any:
    import matplotlib.pyplot as plt

    shrink = min(1.0, _LARGEST[0] * 72 / width, _LARGEST[1] * 72 / height)
    figure = plt.figure(figsize=(max(width * shrink / 72, 2.0), max(height * shrink / 72, 1.0)), dpi=100)
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def _fit(ax: Any, width: float, height: float) -> float:
    """Let the axes count in points of the natural size; return by how much the picture is smaller than that."""
    ax.set_axis_off()
    box = ax.get_window_extent()
    points = 72.0 / ax.figure.dpi
    shrink = min(1.0, box.width * points / width, box.height * points / height)
    # One scale for both directions, the tree in the middle at the top.
    across, down = box.width * points / shrink, box.height * points / shrink
    ax.set_xlim((width - across) / 2, (width + across) / 2)
    ax.set_ylim(max(down, height), 0)
    return float(shrink)


def _draw_edges(ax: Any, tree: Tree, boxes: list[_Box], size: float) -> None:
    by_node = {box.node: box for box in boxes}
    total = max(float(tree.weighted_n_node_samples[0]), 1e-300)
    scale = size / _FONT_SIZE
    for box in boxes:
        parent = by_node.get(int(tree.parent[box.node]))
        if parent is None:
            continue
        share = float(tree.weighted_n_node_samples[box.node]) / total
        start, end = parent.y + parent.height / 2, box.y - box.height / 2
        middle = (start + end) / 2
        ax.plot(
            [parent.x, parent.x, box.x, box.x],
            [start, middle, middle, end],
            color="#8a8f98",
            linewidth=(0.7 + 3.0 * np.sqrt(share)) * scale,
            solid_joinstyle="round",
            zorder=1,
        )
        if parent.node == 0:
            _draw_side(ax, tree, parent, box, middle, size)


def _draw_side(ax: Any, tree: Tree, parent: _Box, box: _Box, y: float, size: float) -> None:
    is_left = int(tree.children_left[0]) == box.node
    side = ("left" if is_left else "right") if tree.is_soft else ("yes" if is_left else "no")
    towards = -1 if is_left else 1
    ax.text(
        parent.x + towards * min(abs(box.x - parent.x) / 2, 30.0),
        y - 3,
        side,
        ha="center",
        va="bottom",
        fontsize=0.9 * size,
        color="#5b6068",
        parse_math=False,
    )


def _draw_box(
    ax: Any, words: Describer, box: _Box, colors: list[tuple[float, float, float]], size: float, is_cut: bool
) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    scale = size / _FONT_SIZE
    proba = words.proba(box.node)
    left, top = box.x - box.width / 2, box.y - box.height / 2
    ax.add_patch(
        FancyBboxPatch(
            (left, top),
            box.width,
            box.height,
            boxstyle="round,pad=0,rounding_size=4",
            facecolor="#f2f3f5" if is_cut else words.color(box.node),
            edgecolor="#5b6068",
            linewidth=0.8 * scale,
            zorder=2,
        )
    )
    bar = _BAR + 3 if box.has_bar else 0.0
    ax.text(
        box.x,
        box.y - bar / 2,
        box.text,
        ha="center",
        va="center",
        fontsize=size,
        linespacing=1.15,
        color="#16181d",
        parse_math=False,
        zorder=4,
    )
    if not box.has_bar:
        return
    start, length, level = left + _PADDING, box.width - 2 * _PADDING, top + box.height - _BAR - 4
    # On white, so that the bar of a pure node stands out from its box of the same colour.
    paper = (start - 1.5, level - 1.5), length + 3, _BAR + 3
    ax.add_patch(Rectangle(*paper, facecolor="white", edgecolor="none", zorder=3))
    for share, color in zip(proba.tolist(), colors):
        if share > 0:
            ax.add_patch(Rectangle((start, level), share * length, _BAR, facecolor=color, edgecolor="none", zorder=3))
            start += share * length


def _draw_legend(ax: Any, words: Describer, colors: list[tuple[float, float, float]], size: float) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=color, label=name) for name, color in zip(words.class_names, colors)]
    shown = ax.legend(
        handles=handles,
        loc="lower center",
        ncols=len(handles),
        frameon=False,
        fontsize=size,
        handlelength=1.0,
        handleheight=0.8,
        columnspacing=1.2,
        borderaxespad=0.2,
    )
    for text in shown.get_texts():
        text.set_parse_math(False)
