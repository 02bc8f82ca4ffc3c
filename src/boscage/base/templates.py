"""Pages are Jinja2 templates that lie beside the modules that fill them; every value is escaped unless it is Markup."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

_PACKAGE = Path(__file__).parents[1]


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(template: str, **values: Any) -> str:
    """Fill a template.

    Parameters
    ----------
    template : str
        Its path inside the package, such as ``"html/page.html"``.
    **values
        What the template calls by name. A missing one is an error.
    """
    return _environment().get_template(template).render(values)
