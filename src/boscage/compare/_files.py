"""Storing a comparison: one JSON file with every fold, and one picture of two panels."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from boscage import __version__
from boscage.base.whole_file import save_figure, write_whole
from boscage.compare._stats import Standing, TradeOff, rank, standings, trade_off
from boscage.compare._types import Result, Settings, Task

FORMAT = 2
_SUMMARY = ("leaves", "depth", "fit_seconds", "predict_seconds")
_MARKERS = "osD^vP*X<>hd"


def as_record(task: Task, settings: Settings, results: list[Result], *, interrupted: bool) -> dict[str, Any]:
    """Describe a comparison with plain values: data, settings, machine, and each contender with all its folds."""
    where = standings(results, settings)
    return {
        "format": FORMAT,
        "data": {
            "name": task.name,
            "rows": int(task.X.shape[0]),
            "features": int(task.X.shape[1]),
            "task": task.kind,
            "classes": task.n_classes,
            "categorical_features": len(task.categorical_features),
            "missing": task.has_missing,
            "origin": task.origin,
        },
        "settings": asdict(settings),
        "machine": {
            "boscage": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
            "processor": platform.machine(),
            "cores": os.cpu_count(),
        },
        "metric": settings.metric_of(task).name,
        "interrupted": interrupted,
        "trade_off": _trade_off(trade_off(results, settings)),
        "contenders": [_contender(result, where.get(result.name)) for result in results],
    }


def _contender(result: Result, where: Standing | None) -> dict[str, Any]:
    row: dict[str, Any] = {"name": result.name, "family": result.family, "criterion": result.criterion}
    row["status"], row["error"], row["prepared"] = result.status, result.error, result.prepared
    for what in (*result.scores, *_SUMMARY):
        row[what] = {"mean": result.mean(what), "sd": result.sd(what), "folds": result.values(what)}
    row["half_width"] = where.half_width if where else None
    row["behind_best"] = {result.metric: where.behind, "p": where.p} if where else None
    row["warnings"] = result.warnings
    return row


def _trade_off(weighed: TradeOff | None) -> dict[str, Any] | None:
    if weighed is None:
        return None
    return {
        "best": weighed.best.name,
        "tree": weighed.tree.name if weighed.tree else None,
        "within_one_standard_error": weighed.is_within,
        "standard_error": weighed.standard_error,
        "front": [tree.name for tree in weighed.front],
    }


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Write the record so that a reader never sees half a file."""
    write_whole(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def write_picture(path: Any, task: Task, results: list[Result], settings: Settings | None = None) -> None:
    """Draw the score against leaves and against fit time, one colour a family and one marker a criterion.

    Error bars, for the best of each family, are corrected 95 % intervals. A contender that is no single tree is a
    horizontal line in the first picture. A step line joins the trees that no smaller tree beats, and a ring marks the
    smallest one within one standard error of the best contender.

    Parameters
    ----------
    path : path, or file open for writing bytes
        Where to write; a file gets SVG.
    task, results, settings
        What was compared and how.
    """
    from matplotlib.figure import Figure

    done = [result for result in results if not result.error]
    settings = settings or Settings()
    where, metric = standings(done, settings), settings.metric_of(task)
    colours = {family: _colour(k) for k, family in enumerate(dict.fromkeys(result.family for result in done))}
    criteria = dict.fromkeys(result.criterion for result in done if result.leaves)
    markers = {criterion: _MARKERS[k % len(_MARKERS)] for k, criterion in enumerate(criteria)}
    leading = {min((r for r in done if r.family == family), key=rank).name for family in colours}
    figure = Figure(figsize=(12, 5.2), layout="constrained")
    sizes, times = figure.subplots(1, 2, sharey=True)
    for result in done:
        half = (where[result.name].half_width if result.name in where else None) if result.name in leading else None
        style = colours[result.family], markers.get(result.criterion, "_"), half
        if result.leaves:
            _draw(sizes, result.mean("leaves"), result, *style)
        else:
            sizes.axhline(result.mean(metric.name) or 0.0, color=colours[result.family], ls="--", lw=1.3)
        _draw(times, result.mean("fit_seconds"), result, *style)
    if (weighed := trade_off(done, settings)) is not None:
        _draw_front(sizes, weighed)
    _dress(sizes, "leaves (mean over folds)", bool(markers), (1, 1.5, 2, 3, 5, 7))
    _dress(times, "fit time in seconds (mean over folds)", bool(done), (1,))
    sizes.set_ylabel(f"held-out {metric.label} (mean, 95 % interval)")
    low, high = sizes.get_ylim()
    sizes.set_ylim(max(low, metric.bounds[0] - 0.01), min(high, metric.bounds[1] + 0.01))
    if metric.sign < 0:
        sizes.invert_yaxis()  # better is higher
    figure.suptitle(f"{task.name}: {task.describe()}")
    _legends(figure, colours, markers, lines={result.family for result in done if not result.leaves})
    if hasattr(path, "write"):
        figure.savefig(path, dpi=150, format="svg", metadata={"Date": None})
        return
    save_figure(figure, path, dpi=150, metadata={"Software": None})


def _colour(k: int) -> Any:
    """Ten strong colours, then their pale sisters."""
    from matplotlib import colormaps

    return colormaps["tab20"](2 * k % 20 + (k // 10) % 2)


def _dress(axes: Any, label: str, log: bool, subs: tuple[float, ...]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    if log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=subs))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(label)
    axes.grid(alpha=0.25)


def _draw(axes: Any, x: float | None, result: Result, colour: Any, marker: str, half: float | None) -> None:
    score = result.mean(result.metric) or 0.0
    if half:
        axes.errorbar(x, score, yerr=half, color=colour, lw=0, elinewidth=1.2, capsize=2.5, alpha=0.45)
    size = 11 if marker == "_" else 7
    axes.plot(x, score, color=colour, marker=marker, ms=size, mec=colour if marker == "_" else "white",
              mew=2 if marker == "_" else 0.6, lw=0)  # fmt: skip


def _draw_front(axes: Any, weighed: TradeOff) -> None:
    """Join the trees that no smaller tree beats, and mark the one of the headline."""
    points = [(tree.mean("leaves"), tree.mean(tree.metric)) for tree in weighed.front]
    if points:
        axes.step(*zip(*points), where="post", color="0.45", lw=1, zorder=0)
    if weighed.tree is not None and weighed.is_within:
        at = weighed.tree.mean("leaves"), weighed.tree.mean(weighed.tree.metric)
        axes.plot(*at, marker="o", ms=16, mfc="none", mec="black", mew=1.4, lw=0)


def _legends(figure: Any, colours: dict[str, Any], markers: dict[str, str], lines: set[str]) -> None:
    """Families by colour, criteria by shape: two short lists however many pairs there are."""
    from matplotlib.lines import Line2D

    families = [
        Line2D([], [], color=colour, label=family, **({"ls": "--"} if family in lines else {"marker": "o", "lw": 0}))
        for family, colour in colours.items()
    ]
    shapes = [Line2D([], [], color="0.35", marker=marker, lw=0, label=name) for name, marker in markers.items()]
    style = {"frameon": False, "alignment": "left", "fontsize": "small", "borderaxespad": 0.3}
    if families:
        figure.legend(handles=families, title="family", loc="outside right upper", **style)
    if shapes:
        figure.legend(handles=shapes, title="criterion", loc="outside right lower", **style)
