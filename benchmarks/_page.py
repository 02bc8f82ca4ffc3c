"""Turn the kept results into the page of benchmarks in the documentation: charts, short tables, links to the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from _charts import CHARTS, draw

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "performance.rst"
MOST_ROWS = 8  # of a table on the page; of longer ones only rows of means are shown
MOST_COLUMNS = 9
_INTRO = """\
Benchmarks
==========

Speed, memory and accuracy next to other libraries. Times are CPU seconds of one thread unless a title says otherwise,
and a ratio below 1 means that Boscage took less. Peers were measured in the same run. Every table can be downloaded as
JSON; of long ones only means are shown, or nothing.

``make bench`` measures all of this and writes this page; ``python benchmarks/run.py NAME`` runs one part. Data sets are
read from the folder ``BOSCAGE_DATA`` (:doc:`data`).
"""
_SECTIONS = {
    "axis": "Axis trees",
    "oblique": "Oblique trees",
    "bars": "Oblique trees",
    "refined": "Oblique trees",
    "stochastic": "Stochastic trees and large data",
    "batches": "Stochastic trees and large data",
    "regression": "Regression",
    "forest": "Forests",
    "optimal": "Optimal trees",
    "online": "Online trees",
}
_LEFT_OUT = {"wanted", "ratio wanted", "MB wanted", "allowed s", "other run", "idle", "load", "note", "target %"}


def write(results: Path) -> None:
    """Write the page and its charts from every JSON file of results."""
    draw(results, DOCS / "images")
    PAGE.write_text(text(results), encoding="utf-8")


def text(results: Path) -> str:
    """Return the page that belongs to these results."""
    sections: dict[str, list[str]] = {title: [] for title in _SECTIONS.values()}
    for path in sorted(results.glob("*.json")):
        sections[_SECTIONS[path.stem.split("_")[0]]].append(_part(path))
    charts = [f".. image:: images/{name}.svg\n   :alt: {chart.says}\n" for name, chart in CHARTS.items()]
    parts = [_INTRO, *charts]
    for title, tables in sections.items():
        if tables:
            parts += [f"{title}\n{'-' * len(title)}\n", *tables]
    return "\n".join(parts)


def _part(path: Path) -> str:
    """Return a title, the table if it is short, and a link to the file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    rows, on = content["rows"], content["machine"]
    link = f":download:`{path.name} <../benchmarks/results/{path.name}>`"
    measured = f"{on['cpu']}, {on['cores']} cores, Python {on['python']}, {on['date']}"
    shown = rows if len(rows) <= MOST_ROWS else [row for row in rows if "mean" in str(next(iter(row.values())))]
    columns = [key for key in dict.fromkeys(key for row in shown for key in row) if key not in _LEFT_OUT]
    if shown and len(columns) <= MOST_COLUMNS:
        return f".. rubric:: {content['title']}\n\n{_table(shown, columns)}\n{link}. {measured}.\n"
    return f".. rubric:: {content['title']}\n\n{len(rows)} rows: {link}. {measured}.\n"


def _table(rows: list[dict[str, Any]], columns: list[str]) -> str:
    lines = [".. list-table::", "   :header-rows: 1", "   :class: table-sm", ""]
    for cells in [columns, *[[_shown(row.get(column, "")) for column in columns] for row in rows]]:
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}".rstrip() for i, cell in enumerate(cells)]
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and value >= 10_000 else str(value)
