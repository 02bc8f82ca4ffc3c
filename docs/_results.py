"""Pages of the documentation from the committed results of `boscage reproduce`: Markdown to reStructuredText."""

from __future__ import annotations

import re
from pathlib import Path

_TITLES = {
    "stochastic": "Stochastic linear trees",
    "topdown": "TopDown as boosting",
    "wodt": "Weighted oblique trees",
    "lomtree": "LOMtree",
    "weighted-optimal": "Weighted optimal trees",
}
_INTRO = """\
The papers' experiments
=======================

Made by ``boscage reproduce PAPER``; each page shows the files of one run as they are, the papers' numbers beside ours.

.. toctree::
   :maxdepth: 1

"""


def write(folder: Path) -> None:
    """Write one page for each folder of results, and their index."""
    papers = sorted(path for path in folder.iterdir() if path.is_dir() and any(path.glob("*.md")))
    for paper in papers:
        title = _TITLES.get(paper.name, paper.name)
        parts = [f"{title}\n{'=' * len(title)}\n"]
        for source in sorted(paper.glob("*.md")):
            parts.append(convert(source.read_text(encoding="utf-8")))
            if source.with_suffix(".png").exists():
                parts.append(f".. image:: {paper.name}/{source.stem}.png\n   :alt: {source.stem}\n")
        _put(folder / f"{paper.name}.rst", "\n".join(parts))
    _put(folder / "index.rst", _INTRO + "".join(f"   {paper.name}\n" for paper in papers))


def convert(text: str) -> str:
    """Turn headings, tables and paragraphs of our own Markdown into reStructuredText."""
    out = []
    for block in re.split(r"\n{2,}", text.strip()):
        lines = block.split("\n")
        if heading := re.fullmatch(r"#+ (.*)", block):
            out.append(f"{_plain(heading[1])}\n{'-' * (len(_plain(heading[1])) + 2)}\n")
        elif lines[0].startswith("|"):
            cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
            out.append(_table([row for row in cells if not set("".join(row)) <= set("-:")]))
        else:
            out.append(_plain(block) + "\n")
    return "\n".join(out)


def _table(rows: list[list[str]]) -> str:
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        lines += [f"   {'* -' if i == 0 else '  -'} {_plain(cell)}".rstrip() for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """No character means anything, except `code`."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\\*|]|_(?=\W|$))", r"\\\1", part) for part in parts[::2]]
    return "``".join(parts)


def _put(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:  # unchanged pages are not read again
        path.write_text(text, encoding="utf-8")
