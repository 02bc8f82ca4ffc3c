"""Turn the kept results into the page of benchmarks: charts, short tables, links to the rest. Running it does so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from _charts import CHARTS, draw

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "performance.rst"
MOST_ROWS = 6  # of a table on the page; of longer ones only rows of means are shown
MOST_COLUMNS = 9
_INTRO = """\
Benchmarks
==========

Speed, memory and accuracy next to other libraries. Times are CPU seconds of one thread unless a title says otherwise,
and a ratio below 1 means that Boscage took less. Other libraries were measured in the same run. Tables can be
downloaded as JSON; of long ones only means or a link are shown.

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
    "export": "Exports and files",
    "compilers": "Compilers",
}
# How settings were chosen: pages of research discuss these tables.
_RESEARCH = {
    "bars",
    "oblique_defaults",
    "online_constants",
    "online_flood",
    "online_tune",
    "online_width",
    "optimal_anytime",
}
_LEFT_OUT = {"wanted", "ratio wanted", "MB wanted", "allowed s", "other run", "idle", "load", "note", "target %"}


def write(results: Path) -> None:
    """Write the page and its charts from every JSON file of results."""
    draw(results, DOCS / "images")
    PAGE.write_text(text(results), encoding="utf-8")


def text(results: Path) -> str:
    """Return the page that belongs to these results."""
    sections: dict[str, list[str]] = {title: [] for title in _SECTIONS.values()}
    links: dict[str, list[str]] = {title: [] for title in _SECTIONS.values()}
    machines: dict[str, list[str]] = {}
    for path in sorted(results.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        section, link = _SECTIONS[path.stem.split("_")[0]], _link(path.name, content)
        table = "" if path.stem in _RESEARCH else _table(content["rows"])
        if table:
            sections[section].append(f".. rubric:: {content['title']}\n\n{table}\n{link}\n")
        else:
            links[section].append(f"- {content['title']}: {link}")
        machines.setdefault(_machine(content["machine"]), []).append(path.stem)
    charts = [f".. image:: images/{name}.svg\n   :alt: {chart.says}\n" for name, chart in CHARTS.items()]
    parts = [_INTRO, *charts]
    for title, tables in sections.items():
        if tables or links[title]:
            parts += [f"{title}\n{'-' * len(title)}\n", *tables]
        if links[title]:
            parts += [".. rubric:: More tables\n", *links[title], ""]
    on = [f"- {machine}: {', '.join(names)}" for machine, names in machines.items()]
    return "\n".join([*parts, "Machines\n--------\n", *on]) + "\n"


def _machine(on: dict[str, str]) -> str:
    cpu = on["cpu"].replace("(R)", "").replace(" Processor", "")
    return f"{cpu}, {on['cores']} {'core' if on['cores'] == '1' else 'cores'}, Python {on['python']}"


def _link(name: str, content: dict[str, Any]) -> str:
    return f":download:`{name} <../benchmarks/results/{name}>`, {content['machine']['date']}"


def _table(rows: list[dict[str, Any]]) -> str:
    """Return a short table, or the means of a long one; nothing if neither fits on the page."""
    shown = rows if len(rows) <= MOST_ROWS else [row for row in rows if "mean" in str(next(iter(row.values())))]
    columns = [key for key in dict.fromkeys(key for row in shown for key in row) if key not in _LEFT_OUT]
    if not shown or len(columns) > MOST_COLUMNS:
        return ""
    table = [columns, *[[_shown(row.get(column, "")) for column in columns] for row in shown]]
    lines = [".. csv-table::", "   :header-rows: 1", "   :class: table-sm", ""]
    lines += ["   " + ",".join(f'"{cell}"' if "," in cell else cell for cell in cells) for cells in table]
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and value >= 10_000 else str(value)


if __name__ == "__main__":
    write(Path(__file__).parent / "results")
