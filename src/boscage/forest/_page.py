"""A forest as one self-contained web page: importances, the score out of bag, and a tree at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from boscage.base.templates import render
from boscage.html import page, tree_fragment
from boscage.tree import Floats

_FOLDER = Path(__file__).parents[1] / "html"
_MOST_BARS = 30


def forest_page(forest: Any, title: str, curve: Floats | None, score_name: str, bodies: list[str]) -> str:
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
    bars = _bars(forest)
    body = render(
        "html/forest.html",
        title=title,
        facts=facts,
        bars=bars[:_MOST_BARS],
        hidden_bars=max(0, len(bars) - _MOST_BARS),
        curve=None if curve is None else _curve(curve, score_name),
        trees=[{"name": f"{n}: {leaves[n]:,} leaves", "body": part} for n, part in enumerate(bodies)],
        hidden_trees=len(trees) - len(bodies),
    )
    style, script = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("forest.css", "forest.js"))
    return page(title, body, style=style, script=script)


def tree_body(estimator: Any, title: str, rows: Any, labels: Any, max_rows: int) -> str:
    """Return one tree as an interactive piece of HTML."""
    names = [str(label) for label in estimator.classes_] if estimator.tree_.target == "classes" else None
    return tree_fragment(estimator.tree_, rows, labels, max_rows, title=title, class_names=names)


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
