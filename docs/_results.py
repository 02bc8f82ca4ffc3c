"""Sphinx directive ``.. results:: PAPER``: tables and pictures that ``boscage reproduce`` left in ``results/PAPER``.

The Markdown of the experiments is small: one heading, paragraphs, tables. It is turned into reStructuredText here, so
that the pages and the committed files cannot differ.
"""

import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

_SHORT = 32  # cells of a table of numbers have at most so many characters; they are not wrapped


def as_rst(text: str) -> list[str]:
    """Turn the experiments' Markdown into lines of reStructuredText."""
    lines: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        rows = block.splitlines()
        if rows[0].startswith("#"):
            lines += [f".. rubric:: {_escaped(rows[0].lstrip('# '))}", ""]
        elif rows[0].startswith("|"):
            lines += _table(rows)
        else:
            lines += [_escaped(" ".join(rows)), ""]
    return lines


def _table(rows: list[str]) -> list[str]:
    table = [row.strip().strip("|").split("|") for row in [rows[0], *rows[2:]]]
    is_short = all(len(cell.strip()) <= _SHORT for row in table[1:] for cell in row)
    lines = [".. list-table::", "   :header-rows: 1", f"   :class: table-sm{' numbers' if is_short else ''}", ""]
    for row in table:
        for j, cell in enumerate(row):
            whole = re.sub(r" (?=[±•◦†])|(?<=±) ", "\u00a0", cell)  # no line ends inside a number
            lines.append(f"   {'*' if j == 0 else ' '} - {_escaped(whole.strip())}".rstrip())
    return [*lines, ""]


def _escaped(text: str) -> str:
    """Keep code in backticks as code, and everything else as text."""
    parts = re.split(r"`([^`]*)`", text)
    return "".join(f"``{part}``" if i % 2 else re.sub(r"([\\*_|])", r"\\\1", part) for i, part in enumerate(parts))


def _order(path: Path) -> list[str | int]:
    """Sort names with numbers as people do: figure 2 before figure 10; verdicts first, then tables."""
    name = path.stem.replace("verdict", "0-verdict").replace("table", "a-table")
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


class Results(SphinxDirective):
    """All results of a paper."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Lay out tables, each followed by the picture of the same name, then the other pictures."""
        folder = Path(self.env.srcdir) / "results" / self.arguments[0]
        lines = []
        pages = sorted(folder.glob("*.md"), key=_order)
        pictures = sorted(folder.glob("*.png"), key=_order)
        for page in pages:
            self.env.note_dependency(str(page))
            lines += as_rst(page.read_text(encoding="utf-8"))
            lines += [line for path in pictures if path.stem == page.stem for line in self._picture(path)]
        rest = [path for path in pictures if path.stem not in {page.stem for page in pages}]
        lines += [line for path in rest for line in self._picture(path)]
        if not lines:
            lines = ["Not run yet: ``boscage reproduce " + self.arguments[0] + "`` makes what belongs here."]
        node = nodes.Element()
        self.state.nested_parse(StringList(lines, source=str(folder)), self.content_offset, node)
        return node.children

    def _picture(self, path: Path) -> list[str]:
        words = path.stem.removeprefix(f"{self.arguments[0]}-").replace("-", " ")
        return ["", f".. image:: /results/{self.arguments[0]}/{path.name}", f"   :alt: {words.capitalize()}", ""]


def setup(app):
    """Register the directive."""
    app.add_directive("results", Results)
    return {"parallel_read_safe": True}
