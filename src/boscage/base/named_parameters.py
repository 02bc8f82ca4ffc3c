"""Names of parameters: what to say about one that does not exist."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from typing import Any, Self


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the sentence that suggests the nearest name, or nothing if none is near."""
    close = get_close_matches(name.lower(), list(known), 1)
    return f" Did you mean {close[0]!r}?" if close else ""


class NamedParameters:
    """Mixin of estimators and parts: a parameter that does not exist is answered with those that do."""

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Refuse parameters that ``__init__`` does not take."""
        known = _parameters_of(cls.__init__) if parameters else None
        if known is not None and not parameters.keys() <= known.keys():
            name = next(name for name in parameters if name not in known)
            has = f"It has {', '.join(known)}." if known else "It has none."
            raise TypeError(f"{cls.__name__} has no parameter {name!r}.{suggestion(name, known)} {has}")
        return super().__new__(cls)


@cache
def _parameters_of(init: Callable[..., None]) -> dict[str, None] | None:
    """Return the names of parameters in their order; None if there may be any."""
    found = inspect.signature(init).parameters
    if any(one.kind is one.VAR_KEYWORD for one in found.values()):
        return None
    return dict.fromkeys(name for name, one in found.items() if name != "self" and one.kind is not one.VAR_POSITIONAL)
