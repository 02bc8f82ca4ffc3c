"""Showing a tree where it is asked for: inside a notebook, or in a browser."""

from __future__ import annotations

import html
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from boscage.tree import Tree

_MOST_LINES = 40
_FRAME = "width:100%;border:1px solid #dfe3e9;border-radius:8px"


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this program."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def frame(page: str, height: int) -> str:
    """Return HTML that holds a whole page in a frame of its own, which cannot reach the page around it."""
    kept = html.escape(page, quote=True)
    rights = 'sandbox="allow-scripts allow-downloads"'
    return f'<iframe {rights} srcdoc="{kept}" height="{height}" style="{_FRAME}" title="Decision tree"></iframe>'


def show_page(page: str, height: int = 640) -> Path | None:
    """Show a page as the output of a notebook cell, else in the browser from a temporary file; return its path."""
    if isinstance(height, bool) or not isinstance(height, int) or height < 1:
        raise ValueError(f"height must be an integer >= 1, got {height!r}.")
    if in_notebook():
        from IPython.display import HTML, display

        display(HTML(frame(page, height)))
        return None
    with tempfile.NamedTemporaryFile("wb", prefix="boscage-", suffix=".html", delete=False) as file:
        file.write(page.encode("utf-8", errors="xmlcharrefreplace"))
    webbrowser.open(Path(file.name).as_uri())
    return Path(file.name)


def tree_html(tree: Tree, **names: Any) -> str:
    """Return a short piece of HTML with the top of the tree as text, for the output of a notebook cell."""
    from boscage.export import export_text

    lines = export_text(tree, max_depth=4, **names).split("\n")
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"... {len(lines) - _MOST_LINES:,} more lines; show() has the whole tree"]
    style = "max-height:24em;overflow:auto;line-height:1.3;text-align:left"
    return f'<pre style="{style}">{html.escape(repr(tree))}\n\n{html.escape(chr(10).join(lines))}</pre>'
