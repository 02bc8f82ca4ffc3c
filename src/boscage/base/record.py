"""Frozen objects of read-only arrays: value semantics for the dataclasses of :mod:`boscage.tree`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse


def frozen_array(array: npt.ArrayLike, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Read-only, contiguous view of ``array`` in ``dtype``; copies only when it has to."""
    out = np.ascontiguousarray(array, dtype)[:]  # a view: the caller's own array keeps its flag
    out.setflags(write=False)
    return out


def default_array(n: int, fill: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Read-only array of one repeated number."""
    out = np.empty(n, dtype)
    out.fill(fill)
    out.setflags(write=False)
    return out


def _same(a: Any, b: Any) -> bool:
    """Equality of two field values by content."""
    if sparse.issparse(a) or sparse.issparse(b):
        return (
            sparse.issparse(a)
            and sparse.issparse(b)
            and a.shape == b.shape
            and all(np.array_equal(getattr(a, part), getattr(b, part)) for part in ("indptr", "indices", "data"))
        )
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.shape == b.shape and bool((a == b).all())
    return type(a) is type(b) and bool(a == b)


def _brief(value: Any) -> str:
    """Show a field in a few characters: long arrays and tuples by their size."""
    if isinstance(value, np.ndarray) and value.size > 4:
        return f"<{value.dtype} {'×'.join(map(str, value.shape))}>"
    if isinstance(value, tuple) and len(value) > 4:
        return f"<{len(value)} entries>"
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)


class Record:
    """Value semantics for the frozen dataclasses below: equality, pickle and copy by field content."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in self._field_names())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [
            f"{name}={_brief(value)}" for name in self._field_names() if (value := getattr(self, name)) is not None
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    @classmethod
    def _field_names(cls) -> tuple[str, ...]:
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    # Only the fields travel: caches and the compiled half are rebuilt on the other side.
    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._field_names()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
