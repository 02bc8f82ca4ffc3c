"""Turn the kept results into the page of figures in the documentation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "performance.rst"
_INTRO = """\
Figures
=======

Measured by ``make bench`` (``python benchmarks/run.py NAME`` runs one part), which writes this page. Every ratio was
taken in one run; times are CPU seconds unless a title says otherwise. A ratio below 1 means that Boscage took less.
Data sets are those of the folder ``BOSCAGE_DATA`` (see :doc:`data`).
"""


def write(results: Path) -> None:
    """Write the page from every JSON file of results."""
    parts = [_INTRO]
    for path in sorted(results.glob("*.json")):
        content = json.loads(path.read_text())
        title, on = content["title"], content["machine"]
        parts.append(f"{title}\n{'-' * len(title)}\n\n{_table(content['rows'])}")
        parts.append(f"{on['cpu']}, {on['cores']} cores, Python {on['python']}, {on['date']}.\n")
    PAGE.write_text("\n".join(parts))


def _table(rows: list[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for cells in [columns, *[[_shown(row.get(column, "")) for column in columns] for row in rows]]:
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}".rstrip() for i, cell in enumerate(cells)]
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
