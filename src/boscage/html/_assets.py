"""The frame of a page: template, style, scripts, and the policy that lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from boscage.base.templates import render

_FOLDER = Path(__file__).parent
SCRIPTS = (
    "dom.js",
    "arrays.js",
    "decode.js",
    "predict.js",
    "format.js",
    "explain.js",
    "edit.js",
    "model_file.js",
    "state.js",
    "layout.js",
    "tree_view.js",
    "overview.js",
    "row_form.js",
    "path_view.js",
    "contribution_view.js",
    "node_view.js",
    "edit_view.js",
    "trajectory.js",
    "regions.js",
    "main.js",
)


class Assets(NamedTuple):
    """What a page with trees needs beside the trees: a style sheet and a script, both as text."""

    style: str
    script: str


@cache
def tree_assets() -> Assets:
    """Return the style sheet and the script for pages with fragments of :func:`boscage.html.tree_fragment`.

    Returns
    -------
    Assets
        ``style`` for one ``<style>`` element in the head, ``script`` for one ``<script>`` element at the end of the
        body. :func:`boscage.html.page` puts both in their places.
    """
    parts = [(_FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"
    return Assets((_FOLDER / "style.css").read_text(encoding="utf-8"), script)


def page(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """Wrap HTML, including tree fragments, into a self-contained page.

    The page's Content-Security-Policy allows only its own style and script, identified by their hashes: no network
    access, and no other script even if one is injected into the body.

    Parameters
    ----------
    title : str
        Title of the page; escaped here.
    body : str
        HTML, for example headings and fragments of :func:`boscage.html.tree_fragment`. The caller escapes what it
        adds. Attributes such as ``style="…"`` and ``onclick="…"`` have no effect under the policy, and pictures must
        be ``data:`` addresses.
    style, script : str, optional
        More CSS and JavaScript of the caller's own.

    Returns
    -------
    str

    Examples
    --------
    >>> from boscage.html import page
    >>> page("A & B", "<h1>Report</h1>").startswith("<!doctype html>")
    True
    """
    assets = tree_assets()
    styles, scripts = assets.style + style, assets.script + script
    if "</" in styles or "</script" in scripts.lower() or "<!--" in scripts:
        raise ValueError("style must not hold '</', and script neither '</script' nor '<!--'.")
    return render(
        "html/page.html", policy=_policy(styles, scripts), title=title, style=styles, body=body, script=scripts
    )


def _policy(style: str, script: str) -> str:
    rules = (
        "default-src 'none'",
        f"script-src '{_digest(script)}'",
        f"style-src '{_digest(style)}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
