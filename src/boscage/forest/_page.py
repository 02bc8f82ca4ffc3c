"""A forest as one self-contained web page: importances, the score out of bag, and a tree at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage.base.templates import render
from boscage.forest._proximity import groups_of_numbers, outliers, prototypes, proximity
from boscage.html import page, tree_fragment
from boscage.tree import Floats

_FOLDER = Path(__file__).parents[1] / "html"
_MOST_BARS = 30
_MOST_COMPARED = 1000
_MOST_COLUMNS = 6


class Rows(NamedTuple):
    """Checked rows and their targets."""

    X: Any
    y: npt.NDArray[Any]


def forest_page(
    forest: Any, title: str, curve: Floats | None, score_name: str, bodies: list[str], rows: Rows | None
) -> str:
    """Return the page.

    Parameters
    ----------
    forest : BaseForest
        Fitted.
    title : str
        Heading.
    curve : array of shape (trees,) or None
        Score out of bag after each tree.
    score_name : str
        What the score is.
    bodies : list of str
        HTML of the trees to be shown, from the first on.
    rows : Rows or None
        Rows to find typical ones and outliers among.
    """
    trees = forest.trees_
    leaves = [tree.n_leaves for tree in trees]
    facts = [
        f"{len(trees):,} trees",
        f"{sum(leaves):,} leaves",
        f"depth up to {max(tree.max_depth for tree in trees)}",
        f"{trees.schema.n_features:,} columns",
    ]
    if "oob_score_" in vars(forest):
        facts.append(f"{score_name} out of bag {forest.oob_score_:.4f}")
    if forest._exponent != 1:
        facts.append(f"probabilities to the power {forest._exponent:.3g}")
    if forest._is_refit:
        facts.append("leaves fitted together")
    bars = _bars(forest)
    body = render(
        "html/forest.html",
        title=title,
        facts=facts,
        bars=bars[:_MOST_BARS],
        hidden_bars=max(0, len(bars) - _MOST_BARS),
        curve=None if curve is None else _curve(curve, score_name),
        rows=None if rows is None else _notable_rows(forest, rows),
        trees=[{"name": f"{n}: {leaves[n]:,} leaves", "body": part} for n, part in enumerate(bodies)],
        hidden_trees=len(trees) - len(bodies),
    )
    style, script = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("forest.css", "forest.js"))
    return page(title, body, style=style, script=script)


def tree_body(estimator: Any, title: str, rows: Any, labels: Any, max_rows: int) -> str:
    """Return one tree as an interactive piece of HTML."""
    names = [str(label) for label in estimator.classes_] if estimator.tree_.target == "classes" else None
    return tree_fragment(estimator.tree_, rows, labels, max_rows, title=title, class_names=names)


def _notable_rows(forest: Any, rows: Rows) -> dict[str, Any]:
    """Typical rows and outliers by proximity, with their values in the most important columns."""
    step = -(-len(rows.y) // _MOST_COMPARED)
    numbers = np.arange(0, len(rows.y), step)
    some, y = rows.X[numbers], rows.y[numbers]
    if "classes_" in vars(forest):
        classes, group = np.unique(y, return_inverse=True)
        names = [str(label) for label in classes]
    else:
        group, names = groups_of_numbers(y)
    leaves = forest.trees_.apply(some, forest.n_jobs)
    near = proximity(leaves, leaves)
    columns = np.argsort(-forest.feature_importances_, kind="stable")[:_MOST_COLUMNS].tolist()
    schema = forest.trees_.schema

    def line(row: int, label: int, figure: str) -> list[str]:
        return [str(numbers[row]), names[label], figure, *(_shown(schema, some, row, column) for column in columns)]

    head = [_short(str(schema.feature_names[j] if schema.feature_names else f"x{j}")) for j in columns]
    return {
        "head": head,
        "compared": len(numbers),
        "typical": [line(found.row, found.group, f"{found.mean:.2f}") for found in prototypes(near, group)],
        "outliers": [line(found.row, found.group, f"{found.distance:.1f}") for found in outliers(near, group)],
    }


def _shown(schema: Any, X: Any, row: int, column: int) -> str:
    """Return a value as the user knows it."""
    value = float(X[[row], :].toarray()[0, column] if sparse.issparse(X) else X[row, column])
    if np.isnan(value):
        return "missing"
    labels = None if schema.categories is None else schema.categories[column]
    return f"{value:.4g}" if labels is None else _short(str(labels[int(value)]))


def _bars(forest: Any) -> list[dict[str, Any]]:
    shares = forest.feature_importances_
    names = forest.trees_.schema.feature_names or [f"x{j}" for j in range(len(shares))]
    largest = shares.max() or 1.0
    widths = (190 * shares / largest).round(1).tolist()
    order = np.argsort(-shares, kind="stable")
    return [{"name": _short(str(names[j])), "width": widths[j], "share": f"{shares[j]:.3f}"} for j in order]


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"


def _curve(scores: Floats, name: str) -> dict[str, Any] | None:
    known = np.flatnonzero(np.isfinite(scores))
    if not len(known):
        return None
    low, high = float(scores[known].min()), float(scores[known].max())
    spread = high - low or 1.0
    x = 50 + 340 * known / max(1, len(scores) - 1)
    y = 190 - 180 * (scores[known] - low) / spread
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
    ends = {"low": f"{low:.3f}", "high": f"{high:.3f}", "last": f"{scores[known[-1]]:.3f}"}
    return {"name": name, "points": points, "trees": len(scores), **ends}
