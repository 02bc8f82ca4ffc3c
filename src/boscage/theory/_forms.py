"""How the theory's functions read their arguments: which form of a bound, which criterion."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.base.component import resolve
from boscage.criteria import Criterion, Entropy, Gini, ModifiedGini, Sqrt

Floats = npt.NDArray[np.float64]
FORMS = ("sharp", "printed")


def is_sharp(form: str) -> bool:
    """Whether the sharp form of a bound is meant; anything but "sharp" and "printed" is refused."""
    if form not in FORMS:
        raise ValueError(f"form={form!r} is not known. Pass 'sharp' or 'printed'.")
    return form == "sharp"


def name_of(criterion: Any, allowed: tuple[type[Criterion], ...] = (Gini, Entropy, Sqrt)) -> type[Criterion]:
    """Find the class of a criterion, refused unless its bounds are known."""
    kind = type(resolve("criterion", criterion))
    if kind not in allowed:
        known = ", ".join(repr(_NAMES[one]) for one in allowed)
        raise ValueError(f"criterion={criterion!r} has no bound here. Pass one of {known}.")
    return kind


_NAMES: dict[type[Criterion], str] = {
    Gini: "gini", Entropy: "entropy", Sqrt: "sqrt", ModifiedGini: "modified_gini",
}  # fmt: skip


def within(name: str, value: float, low: float, high: float) -> float:
    """Give a number that must lie in an interval, open below and closed above."""
    number = float(value)
    if not low < number <= high:
        raise ValueError(f"{name}={value!r} is not allowed. Pass a number in ({low:g}, {high:g}].")
    return number
