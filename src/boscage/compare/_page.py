"""A comparison as one web page: what a small tree reaches, who is best, at what size and cost, and the trees.

The page needs no network and shows every name as text. Trees are the interactive pieces of :mod:`boscage.html`.
"""

from __future__ import annotations

import base64
import io
import os
import platform
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import sklearn
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

from boscage import __version__
from boscage.base.templates import render
from boscage.base.whole_file import write_whole
from boscage.compare._files import write_picture
from boscage.compare._metrics import METRICS, Metric
from boscage.compare._prepare import column_names, level_name
from boscage.compare._stats import LEVEL, Standing, rank, standings, trade_off
from boscage.compare._table import headline, not_run, number, seconds
from boscage.compare._types import Contender, Result, Settings, Task
from boscage.tree import Tree

_FOLDER = Path(__file__).parent


def write_report(
    path: Path, task: Task, settings: Settings, results: list[Result], chosen: Iterable[Contender] = ()
) -> None:
    """Write the page of a comparison.

    Parameters
    ----------
    path : Path
        Where to write it.
    task, settings, results
        What was compared, how, and what came out.
    chosen : iterable of Contender
        Those whose results are given: the best of each family is fitted to all rows and shown. Default: no trees.
    """
    from boscage.html import page

    metric, where = settings.metric_of(task), standings(results, settings)
    others = [name for name, other in METRICS.items() if other.kind == task.kind and name != metric.name]
    run = sorted((result for result in results if result.was_run), key=rank)
    body = render(
        "compare/page.html",
        title=f"{task.name}: {len(run)} models compared",
        facts=f"{task.describe()} · {_folds(settings)}",
        headline=headline(trade_off(results, settings)),
        label=metric.label,
        picture=_picture(task, results, settings),
        columns=_columns(metric, others),
        rows=_rows(run, where, metric, others),
        not_run=not_run(results),
        trees=_trees(task, settings, results, list(chosen)),
        draws=settings.folds * settings.repeats,
        folds=settings.folds,
        level=f"{LEVEL:g}",
        notes=_notes(results),
        machine=_machine(settings),
    )
    style, script = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("page.css", "sort.js"))
    write_whole(path, page(f"{task.name}: trees compared", body, style=style, script=script))


def _folds(settings: Settings) -> str:
    drawn = f", drawn {settings.repeats} times" if settings.repeats > 1 else ""
    return f"{settings.folds} folds{drawn}"


def _machine(settings: Settings) -> str:
    return (
        f"boscage {__version__}, scikit-learn {sklearn.__version__}, Python {platform.python_version()}, "
        f"{platform.machine()}, {os.cpu_count()} cores, seed {settings.seed}"
    )


def _notes(results: list[Result]) -> list[str]:
    """Say what was done to the columns for whom, and who warned about what."""
    said: dict[str, list[str]] = {}
    for result in results:
        for text in ([result.prepared] if result.prepared and result.was_run else []) + result.warnings:
            said.setdefault(" ".join(text.split()), []).append(result.name)
    return [f"{', '.join(names)}: {text}" for text, names in said.items()]


# ---- the table ----


def _columns(metric: Metric, others: list[str]) -> list[dict[str, Any]]:
    """Describe the columns; ``first`` is the order that the first press on a heading gives, best first."""
    best = {1: "descending", -1: "ascending"}
    heads = [("splits", "ascending", False), ("criterion", "ascending", False), (metric.label, best[metric.sign], True)]
    heads += [("95 % interval", "", False), ("leaves", "ascending", True), ("depth", "ascending", True)]
    heads += [("behind the best", "ascending", True), ("p", "descending", True)]
    heads += [("fit", "ascending", True), ("predict", "ascending", True)]
    heads += [(METRICS[name].label, best[METRICS[name].sign], True) for name in others]
    return [
        {"head": head, "first": first, "is_number": is_number, "sorted": k == 2}
        for k, (head, first, is_number) in enumerate(heads)
    ]


def _rows(results: list[Result], where: dict[str, Standing], metric: Metric, others: list[str]) -> list[dict[str, Any]]:
    span = _range(results, where, metric)
    return [_row(result, where.get(result.name), others, span) for result in results]


def _row(result: Result, standing: Standing | None, others: list[str], span: tuple[float, float]) -> dict[str, Any]:
    row: dict[str, Any] = {"family": result.family, "criterion": result.criterion, "error": result.error}
    if result.error or standing is None:
        return row | {"kind": "failed", "error": result.error or "no score"}
    mean = result.mean(result.metric)
    star = "*" if standing.is_worse else ""
    p = "best" if standing.is_best else "" if standing.p is None else f"{standing.p:.3f}{star}"
    cells = [_cell(result.mean(what), number(result.mean(what), 1)) for what in ("leaves", "depth")]
    cells.append(_cell(standing.behind, "" if standing.is_best else number(standing.behind, beside=mean)))
    cells.append(_cell(1 if standing.is_best else standing.p, p))
    cells += [_cell(result.mean(what), seconds(result.mean(what))) for what in ("fit_seconds", "predict_seconds")]
    cells += [_cell(result.mean(name), number(result.mean(name))) for name in others]
    return row | {
        "kind": "best" if standing.is_best else "worse" if standing.is_worse else "same",
        "score": mean,
        "shown": number(mean),
        "interval": _interval(result, standing, *span),
        "cells": cells,
    }


def _cell(value: float | None, shown: str) -> dict[str, Any]:
    return {"value": "" if value is None else value, "shown": shown}


def _range(results: list[Result], where: dict[str, Standing], metric: Metric) -> tuple[float, float]:
    """Least and largest score of the interval drawings, with the intervals."""
    ends = [
        (result.mean(metric.name) or 0.0) + sign * (where[result.name].half_width or 0.0)
        for result in results if result.name in where for sign in (-1, 1)
    ]  # fmt: skip
    if not ends:
        return 0.0, 1.0
    low, high = max(metric.bounds[0], min(ends)), min(metric.bounds[1], max(ends))
    return (low, high) if high > low else (low - 0.05, high + 0.05)


def _interval(result: Result, standing: Standing, low: float, high: float) -> dict[str, str]:
    def at(value: float) -> str:
        return f"{4 + 192 * (min(max(value, low), high) - low) / (high - low):.1f}"

    mean, half = result.mean(result.metric) or 0.0, standing.half_width or 0.0
    label = f"{number(mean - half, beside=mean)} to {number(mean + half, beside=mean)}"
    return {"low": at(mean - half), "mean": at(mean), "high": at(mean + half), "label": label}


# ---- the picture and the trees ----


def _picture(task: Task, results: list[Result], settings: Settings) -> str:
    buffer = io.BytesIO()
    try:
        write_picture(buffer, task, results, settings)
    except ImportError:
        return ""
    return base64.b64encode(buffer.getvalue()).decode()


def _trees(task: Task, settings: Settings, results: list[Result], chosen: list[Contender]) -> list[dict[str, str]]:
    """Fit the best tree of each family to all rows: the tree of the headline first, then the best first."""
    makers = {contender.name: contender for contender in chosen}
    weighed = trade_off(results, settings)
    best: dict[str, Result] = {}
    if weighed is not None and weighed.tree is not None:
        best[weighed.tree.family] = weighed.tree
    for result in sorted(results, key=rank):
        if not result.error:
            best.setdefault(result.family, result)
    shown = [_tree(task, makers[result.name], result) for result in best.values() if result.name in makers]
    return [tree for tree in shown if tree is not None]


def _tree(task: Task, contender: Contender, result: Result) -> dict[str, str] | None:
    """Fit one contender to all rows and show its tree; nothing for a model that is no tree."""
    from boscage.html import tree_fragment

    if not result.leaves:
        return None
    facts = (
        f"{result.measured_by.label} {number(result.mean(result.metric))}, {number(result.mean('leaves'), 1)} leaves"
    )
    found = {"name": result.name, "facts": facts, "fragment": "", "text": "", "error": ""}
    model = contender.make()
    try:
        model.fit(task.X, task.y)
    except Exception as error:  # shown, as a failure in a fold is
        return found | {"error": str(error)}
    last = model[-1] if hasattr(model, "steps") else model
    names, tree = column_names(task, model), getattr(last, "tree_", None)
    classes = [str(label) for label in getattr(last, "classes_", ())] or None
    if isinstance(tree, Tree):
        named = _with_levels(task, tree)
        return found | {"fragment": tree_fragment(named, title=result.name, feature_names=names, class_names=classes)}
    if isinstance(last, DecisionTreeClassifier):
        return found | {"text": export_text(last, feature_names=names, class_names=classes)}
    if isinstance(last, DecisionTreeRegressor):
        return found | {"text": export_text(last, feature_names=names)}
    return None


def _with_levels(task: Task, tree: Tree) -> Tree:
    """Return the tree with the names of levels in the place of their numbers."""
    known = tree.schema.categories
    if known is None or not task.categories:
        return tree
    levels = tuple(
        None if codes is None else tuple(level_name(task, j, float(code)) for code in codes)
        for j, codes in enumerate(known)
    )
    return replace(tree, schema=replace(tree.schema, categories=levels))
