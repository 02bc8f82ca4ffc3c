"""Class labels of any type as JSON and back, to the exact dtype."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

TOKEN = re.compile(r"b1|[iu][1248]|f[248]|[US][0-9]{1,9}|O|T")
_MAX_BYTES = 1 << 28
_SCALARS = (str, int, float, bool)


def labels_to_json(labels: npt.NDArray[Any]) -> dict[str, Any]:
    """Describe labels as ``{"dtype": token, "values": list}``."""
    kind = labels.dtype.kind
    token = kind if kind in ("O", "T") else labels.dtype.str[1:]
    if not TOKEN.fullmatch(token) or labels.nbytes > _MAX_BYTES:
        raise ValueError(
            f"classes: labels of type {labels.dtype} cannot be written to a model file. "
            "Use integers, floats, booleans or strings."
        )
    values = [value.decode("latin-1") for value in labels.tolist()] if kind == "S" else labels.tolist()
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    for value in values:
        if type(value) not in _SCALARS or value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"classes: the label {value!r} cannot be written to a model file.")
    return {"dtype": token, "values": values}


def labels_from_json(found: Any) -> npt.NDArray[Any]:
    """Rebuild labels; anything :func:`labels_to_json` could not have written is a ValueError."""
    if type(found) is not dict or found.keys() != {"dtype", "values"}:
        raise ValueError("classes must hold dtype and values.")
    token, values = found["dtype"], found["values"]
    if type(token) is not str or type(values) is not list:
        raise ValueError("classes: dtype must name a type of labels and values must be a list.")
    if any(type(value) not in _SCALARS for value in values):
        raise ValueError("classes: every label must be a string, a number or a boolean.")
    dtype = dtype_of(token, len(values))
    plain = [value.encode("latin-1") for value in values] if token[0] == "S" and _all_str(values) else values
    labels = np.empty(len(values), dtype)
    labels[:] = plain
    written = labels_to_json(labels)
    # 1 == True == 1.0 in Python, so types are compared too.
    if written["dtype"] != token or list(map(_typed, written["values"])) != list(map(_typed, values)):
        raise ValueError(f"classes: the labels do not fit the type {token}.")
    if len(set(map(_typed, values))) != len(values):
        raise ValueError("classes: a label occurs twice.")
    return labels


def dtype_of(token: str, count: int) -> np.dtype[Any]:
    """Return the type of an array of ``count`` entries that a file names; ValueError if it would be too large."""
    if not TOKEN.fullmatch(token):
        raise ValueError(f"{token[:40]!r} is not the type of an array.")
    if token[0] in "US" and int(token[1:]) * 4 * count > _MAX_BYTES:
        raise ValueError(f"an array of {count} texts of type {token} is too long.")
    # NumPy makes StringDType a subclass of dtype, which its types do not say.
    found: np.dtype[Any] = np.dtypes.StringDType() if token == "T" else np.dtype(object if token == "O" else token)
    return found


def _all_str(values: list[Any]) -> bool:
    return all(type(value) is str for value in values)


def _typed(value: Any) -> tuple[type, Any]:
    return type(value), value
