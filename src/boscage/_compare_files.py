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

    done = [result for result in results if not result.error]
    trees = [result for result in done if result.leaves]
    families = list(dict.fromkeys(result.family for result in done))
    criteria = list(dict.fromkeys(result.criterion for result in trees))
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    axes = figure.add_subplot()
    for result in done:
        colour = f"C{families.index(result.family) % 10}"
        accuracy, sd = result.mean("accuracy") or 0.0, result.sd("accuracy") or 0.0
        if not result.leaves:
            axes.axhline(accuracy, color=colour, ls="--", lw=1.3, label=result.name)
            axes.axhspan(accuracy - sd, accuracy + sd, color=colour, alpha=0.08, lw=0)
            continue
        marker = _MARKERS[criteria.index(result.criterion) % len(_MARKERS)]
        spread = result.sd("leaves") or 0.0
        axes.errorbar(
            result.mean("leaves") or 0.0, accuracy, yerr=sd, xerr=spread, color=colour, marker=marker, ms=7,
            lw=0, elinewidth=1, capsize=2, alpha=0.85, label=result.name,
        )  # fmt: skip
    if trees:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("{x:g}")
    axes.set_xlabel("leaves (mean over folds, log scale)")
    axes.set_ylabel("held-out accuracy (mean ± sd over folds)")
    axes.set_title(f"{task.name}: {task.X.shape[0]} rows, {task.X.shape[1]} features, {task.n_classes} classes")
    axes.grid(alpha=0.25)
    if done:
        figure.legend(loc="outside right upper", fontsize="small", frameon=False)
    figure.savefig(path, dpi=150, metadata={"Software": None})
