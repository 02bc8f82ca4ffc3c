"""Storing a comparison: one JSON file with every fold, and one picture."""

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
from boscage.compare import Result, Settings, Task

FORMAT = 1
_SUMMARY = ("accuracy", "leaves", "depth", "fit_seconds", "predict_seconds")
_MARKERS = "osD^vP*X<>hd"


def as_record(task: Task, settings: Settings, results: list[Result], *, interrupted: bool) -> dict[str, Any]:
    """Describe a comparison with plain values: data, settings, machine, and each contender with all its folds."""
    return {
        "format": FORMAT,
        "data": {
            "name": task.name,
            "rows": int(task.X.shape[0]),
            "features": int(task.X.shape[1]),
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
        "interrupted": interrupted,
        "contenders": [_contender(result) for result in results],
    }


def _contender(result: Result) -> dict[str, Any]:
    row: dict[str, Any] = {"name": result.name, "family": result.family, "criterion": result.criterion}
    row["status"] = "failed" if result.error else "ok"
    row["error"] = result.error
    for what in _SUMMARY:
        row[what] = {"mean": result.mean(what), "sd": result.sd(what), "folds": getattr(result, what)}
    row["warnings"] = result.warnings
    return row


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Write the record so that a reader never sees half a file."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)


def write_picture(path: Path, task: Task, results: list[Result]) -> None:
    """Draw accuracy against number of leaves, one colour a family and one marker a criterion.

    Error bars are one standard deviation over the folds; a contender without leaves is a horizontal line.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    done = [result for result in results if not result.error]
    colours = {family: f"C{k % 10}" for k, family in enumerate(dict.fromkeys(result.family for result in done))}
    criteria = dict.fromkeys(result.criterion for result in done if result.leaves)
    markers = {criterion: _MARKERS[k % len(_MARKERS)] for k, criterion in enumerate(criteria)}
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    axes = figure.add_subplot()
    for result in done:
        _draw(axes, result, colours[result.family], markers.get(result.criterion, ""))
    if markers:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("leaves (mean over folds)")
    axes.set_ylabel("held-out accuracy (mean ± sd over folds)")
    axes.set_title(f"{task.name}: {task.X.shape[0]} rows, {task.X.shape[1]} features, {task.n_classes} classes")
    axes.grid(alpha=0.25)
    _legends(figure, axes, colours, markers, lines={result.family for result in done if not result.leaves})
    figure.savefig(path, dpi=150, metadata={"Software": None})


def _draw(axes: Any, result: Result, colour: str, marker: str) -> None:
    accuracy, sd = result.mean("accuracy") or 0.0, result.sd("accuracy") or 0.0
    if not result.leaves:
        axes.axhline(accuracy, color=colour, ls="--", lw=1.3)
        axes.axhspan(accuracy - sd, accuracy + sd, color=colour, alpha=0.08, lw=0)
        return
    leaves = result.mean("leaves") or 0.0
    axes.errorbar(leaves, accuracy, yerr=sd, color=colour, lw=0, elinewidth=1.2, capsize=2.5, alpha=0.45)
    axes.plot(leaves, accuracy, color=colour, marker=marker, ms=7, mec="white", mew=0.6, lw=0)


def _legends(figure: Any, axes: Any, colours: dict[str, str], markers: dict[str, str], lines: set[str]) -> None:
    """Families by colour, criteria by shape: two short lists however many pairs there are."""
    from matplotlib.lines import Line2D

    families = [
        Line2D([], [], color=colour, label=family, **({"ls": "--"} if family in lines else {"marker": "o", "lw": 0}))
        for family, colour in colours.items()
    ]
    shapes = [Line2D([], [], color="0.35", marker=marker, lw=0, label=name) for name, marker in markers.items()]
    style = {"frameon": False, "alignment": "left", "fontsize": "small", "borderaxespad": 0}
    if families:
        axes.add_artist(
            axes.legend(handles=families, title="splits", loc="upper left", bbox_to_anchor=(1.02, 1), **style)
        )
    if shapes:
        axes.legend(handles=shapes, title="criterion", loc="lower left", bbox_to_anchor=(1.02, 0), **style)
