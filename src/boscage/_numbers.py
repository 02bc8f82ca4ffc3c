"""One check for every parameter that is a number."""

from __future__ import annotations

import math
import numbers
from typing import Any


def is_number(value: Any, *, whole: bool = False) -> bool:
    """Whether the value is a finite number (an integer, if whole) and not a boolean."""
    kind: Any = numbers.Integral if whole else numbers.Real
    is_bool = isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")
    return isinstance(value, kind) and not is_bool and math.isfinite(value)


def check_number(
    name: str,
    value: Any,
    allowed: str,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    whole: bool = False,
    above: bool = False,
) -> None:
    """Refuse what is not a number in [low, high] (]low, high] with ``above``); ``allowed`` says what is."""
    if not is_number(value, whole=whole) or value < low or value > high or (above and value == low):
        raise ValueError(f"{name}={value!r} is not allowed. Pass {allowed}.")
