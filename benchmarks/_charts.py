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
    bars = [
        (f"{kind}: {row['data']}", row["ratio"], color)
        for kind, rows, color in (("axis", found[0], "C0"), ("oblique", found[1], "C2"))
        for row in sorted(rows, key=lambda row: float(row["ratio"]))
    ]
    axes.figure.set_figheight(0.21 * len(bars) + 0.7)
    drawn = axes.barh(
        [label for label, *_ in bars], [ratio for _, ratio, _ in bars], color=[color for *_, color in bars]
    )
    axes.bar_label(drawn, fmt="%.2f", padding=3, fontsize=8)
    axes.axvline(1, color="0.3", linestyle=":")
    axes.tick_params(axis="y", labelsize=8)
    axes.set(xlabel="time to fit / time of scikit-learn's DecisionTreeClassifier", xlim=(0, 1.8))
    axes.invert_yaxis()


# rows of the accuracy chart: text beside the point and its offset in points
_TREES = {
    "oblique, l2=auto, prune_bits=auto": ("oblique, l2 and pruning by validation", (6, 6)),
    "oblique (the default)": ("oblique", (6, 6)),
    "wodt (as published)": ("WODT as published", (-4, 9)),
    "axis, pruned by validation": ("axis, pruned by validation", (6, -12)),
    "axis": ("axis", (-28, 6)),
    "scikit-learn's tree": ("scikit-learn", (6, 4)),
}


def _accuracy(axes: Any, found: list[Rows]) -> None:
    rows = {row["tree"]: row for row in found[0]}
    for tree, (text, offset) in _TREES.items():
        point = (rows[tree]["leaves"], 100 * rows[tree]["accuracy"])
        axes.plot(*point, "o", color="0.5" if tree.startswith("scikit") else "C2", markersize=8)
        axes.annotate(text, point, offset, textcoords="offset points", fontsize=9)
    axes.set(xlabel="leaves (geometric mean of 13 data sets)", ylabel="mean accuracy, %", xscale="log", xlim=(6, 500))
    axes.set(ylim=(76, 84))
    axes.set_xticks([10, 20, 50, 100, 200], ["10", "20", "50", "100", "200"])
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
        "Time to fit relative to scikit-learn, by data set. Axis trees take 0.13 to 0.40 of it, oblique trees 0.07 to "
        "1.6.",
        ["axis_fit_gini", "oblique_speed_l2_0.03"],
        _fit,
    ),
    "benchmark-accuracy": Chart(
        "Accuracy against leaves on data sets that took no part in choosing the defaults. Oblique trees are more "
        "accurate than axis trees of as many leaves.",
        ["tune_oblique/judged"],
        _accuracy,
    ),
    "benchmark-optimal": Chart(
        "CPU seconds to a proven optimal tree: pycontree against Boscage, which is faster almost everywhere.",
        ["optimal_peers"],
        _optimal,
    ),
}
