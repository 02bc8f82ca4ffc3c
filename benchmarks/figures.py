"""The two figures of the README, drawn from committed results: accuracy against leaves, and speed against peers.

    python benchmarks/figures.py

writes docs/images/accuracy-leaves.svg and docs/images/speed.svg.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results"
IMAGES = ROOT / "docs/images"
OURS, THEIRS = "#0b6e4f", "#8a8f98"
# label of a row of tune_oblique/judged.json: text beside the point, its offset in points, and whether it is ours
SHOWN = {
    "oblique, l2=auto, prune_bits=auto": ("oblique, tuned by validation", (6, 6), True),
    "oblique (the default)": ("oblique", (6, 6), True),
    "wodt (as published)": ("WODT as published", (-4, 9), True),
    "axis, pruned by validation": ("axis, pruned by validation", (6, -12), True),
    "axis": ("axis", (-30, 6), True),
    "scikit-learn's tree": ("scikit-learn", (6, 4), False),
}


def rows(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["rows"]
    return found


def accuracy_against_leaves() -> Figure:
    """Mean accuracy and geometric mean of leaves over the data sets that took no part in choosing defaults."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    ax = figure.subplots()
    judged = {row["tree"]: row for row in rows("tune_oblique/judged")}
    for tree, (text, offset, ours) in SHOWN.items():
        row = judged[tree]
        ax.plot(row["leaves"], 100 * row["accuracy"], "o", color=OURS if ours else THEIRS, ms=8)
        ax.annotate(text, (row["leaves"], 100 * row["accuracy"]), offset, textcoords="offset points", fontsize=9)
    ax.set(xscale="log", xlabel="leaves (geometric mean, fewer is simpler)", ylabel="accuracy on held-out rows, %")
    ax.set(xlim=(6, 500), ylim=(76, 84))
    ax.set_xticks([10, 20, 50, 100, 200], labels=["10", "20", "50", "100", "200"])
    ax.minorticks_off()
    ax.set_title("Mean of 13 data sets", fontsize=10)
    ax.grid(alpha=0.25)
    return figure


def speed() -> Figure:
    """Fit time of axis and oblique trees divided by that of scikit-learn's tree, one thread."""
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    ax = figure.subplots()
    measured = [("axis", row) for row in rows("axis_fit_gini")] + [
        ("oblique", row) for row in rows("oblique_speed_l2_0.03")
    ]
    names = [f"{family}: {row['data']}" for family, row in measured]
    ratios = [row["ratio"] for _, row in measured]
    order = sorted(range(len(names)), key=lambda i: (measured[i][0], ratios[i]), reverse=True)
    colours = ["#0b6e4f" if measured[i][0] == "axis" else "#3a9d7c" for i in order]
    ax.barh([names[i] for i in order], [ratios[i] for i in order], color=colours, height=0.7)
    ax.axvline(1, color=THEIRS, lw=1.5)
    ax.text(1.02, len(names) - 1, "scikit-learn", color=THEIRS, fontsize=9, va="center")
    ax.set(xlabel="fit time / scikit-learn's (less is faster)", xlim=(0, max(2.2, 1.05 * max(ratios))))
    ax.tick_params(labelsize=8)
    figure.set_figheight(0.22 * len(names) + 0.8)
    return figure


def main() -> None:
    """Write both figures."""
    for name, figure in (("accuracy-leaves", accuracy_against_leaves()), ("speed", speed())):
        figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})
        print(IMAGES / f"{name}.svg")


if __name__ == "__main__":
    main()
