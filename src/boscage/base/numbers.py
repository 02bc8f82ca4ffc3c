"""One check for every parameter that is a number."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

MOST = 2**31 - 1
"""The largest count that the core takes."""


def is_number(value: Any, *, whole: bool = False) -> bool:
    """Whether the value is a finite number (an integer, if whole) and not a boolean."""
    kind: Any = numbers.Integral if whole else numbers.Real
    is_bool = isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")
    if not isinstance(value, kind) or is_bool:
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer with more digits than a float can have
        return whole


def is_flag(value: Any) -> bool:
    """Whether the value is True or False, or NumPy's."""
    return isinstance(value, (bool, np.bool_))


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
