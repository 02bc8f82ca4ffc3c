"""Charts of the page of benchmarks, drawn from the kept results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Rows = list[dict[str, Any]]


class Chart(NamedTuple):
    """What a chart says in words, the results it is drawn from, and how."""

    says: str
    sources: list[str]
    plot: Callable[[Any, list[Rows]], None]


def digest(results: Path, chart: Chart) -> str:
    """Return a check sum of the results of a chart, which its file carries."""
    rows = [json.loads((results / f"{name}.json").read_text(encoding="utf-8"))["rows"] for name in chart.sources]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def draw(results: Path, folder: Path) -> None:
    """Write every chart as NAME.svg, if all of its results are there."""
    import matplotlib
    from matplotlib.figure import Figure

    for name, chart in CHARTS.items():
        paths = [results / f"{source}.json" for source in chart.sources]
        if not all(path.exists() for path in paths):
            continue
        with matplotlib.rc_context({"svg.hashsalt": name, "font.size": 10}):
            figure = Figure(figsize=(7.2, 3.2), layout="constrained")
            axes = figure.subplots()
            axes.spines[["top", "right"]].set_visible(False)
            chart.plot(axes, [json.loads(path.read_text(encoding="utf-8"))["rows"] for path in paths])
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Description": digest(results, chart)})


def _fit(axes: Any, found: list[Rows]) -> None:
    gini, entropy, oblique = found
    labels, values = [], []
    for kind, rows in (("axis, gini", gini), ("axis, entropy", entropy)):
        for row in rows[:-1]:
            labels.append(f"{row['data']} ({kind})")
            values.append(row["ratio"])
    labels.append(f"geometric mean of {len(oblique) - 1} sets (oblique)")
    values.append(oblique[-1]["ratio"])
    bars = axes.barh(labels, values, color=["C0"] * (len(gini) - 1) + ["C1"] * (len(entropy) - 1) + ["C2"])
    axes.bar_label(bars, fmt="%.2f", padding=3)
    axes.axvline(1, color="0.3", linestyle=":")
    axes.set(xlabel="time to fit / time of scikit-learn's DecisionTreeClassifier", xlim=(0, 1.1))
    axes.invert_yaxis()


def _accuracy(axes: Any, found: list[Rows]) -> None:
    accuracy, leaves, _ = (row for row in found[0] if "mean" in row["data"])
    for name, marker in zip(list(accuracy)[1:], "osD^vPX*", strict=True):
        color = "C0" if name.startswith("axis") else "C2"
        axes.plot(leaves[name], accuracy[name], marker, color=color, markersize=8, label=name)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set(xlabel="leaves (geometric mean of 17 data sets)", ylabel="mean accuracy", xscale="log", xlim=(45, 210))
    axes.set_xticks([50, 100, 200], ["50", "100", "200"])
    axes.minorticks_off()


def _optimal(axes: Any, found: list[Rows]) -> None:
    rows = [row for row in found[0] if isinstance(row.get("pycontree"), float) and "boscage" in row]
    for depth in sorted({row["depth"] for row in rows}):
        here = [row for row in rows if row["depth"] == depth]
        axes.plot([row["boscage"] for row in here], [row["pycontree"] for row in here], "o", label=f"depth {depth}")
    ends = [min(row["boscage"] for row in rows), max(row["pycontree"] for row in rows)]
    axes.plot(ends, ends, ":", color="0.3", label="equal")
    axes.set(xscale="log", yscale="log", xlabel="Boscage, CPU s to the proof", ylabel="pycontree, CPU s")
    axes.legend(frameon=False)


CHARTS = {
    "benchmark-fit": Chart(
        "Time to fit relative to scikit-learn, by data set and kind of tree. All bars are below 1.",
        ["axis_fit_gini", "axis_fit_entropy", "oblique_speed_l2_0.03"],
        _fit,
    ),
    "benchmark-accuracy": Chart(
        "Accuracy against leaves. Oblique trees have fewer leaves than axis trees and are more accurate.",
        ["oblique_defaults"],
        _accuracy,
    ),
    "benchmark-optimal": Chart(
        "CPU seconds to a proven optimal tree: pycontree against Boscage, which is faster almost everywhere.",
        ["optimal_peers"],
        _optimal,
    ),
}
