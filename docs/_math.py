"""Formulas as MathML, which browsers draw by themselves: pages need no network and no script."""

from __future__ import annotations

import html
import re
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError

_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", _NAMESPACE)


def _with_indices_at_the_side(written: str) -> str:
    r"""Write the index of an accented letter, as in ``\bar x_j``, beside it; docutils puts it below the letter."""
    of_html = r"&(?!(?:lt|gt|amp|quot);)\w+;"  # entities that XML does not know
    root = ElementTree.fromstring(re.sub(of_html, lambda entity: html.unescape(entity[0]), written))
    for element in root.iter(f"{{{_NAMESPACE}}}munderover"):
        letter, index, accent = element
        if letter.tag.endswith("}mi") and accent.tag.endswith("}mo"):
            accented = ElementTree.Element(f"{{{_NAMESPACE}}}mover", accent="true")
            accented.extend([letter, accent])
            element.tag = f"{{{_NAMESPACE}}}msub"
            element[:] = [accented, index]
    return ElementTree.tostring(root, encoding="unicode")


def _mathml(text: str, as_block: bool) -> str:
    try:
        written: str = tex2mathml(" ".join(text.split()), as_block=as_block)
    except MathError as error:
        raise ExtensionError(f"the formula {text!r} cannot be drawn: {error}") from error
    return _with_indices_at_the_side(written)


def inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(_mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula of its own."""
    style = "text-align: center; margin: 1rem 0; overflow-x: auto"
    translator.body.append(f'<div class="formula" style="{style}">{_mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the writer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
