"""The types of the compiled module: src/boscage/_core.pyi, made from the module itself.

``python packaging/core_stub.py`` writes the file; a test sees that it is the one that would be written. Memory layouts
of arrays are left out, and what the core returns as a plain Python object is Any.
"""

from __future__ import annotations

import re
from pathlib import Path

from nanobind.stubgen import StubGen

import boscage._core

STUB = Path(__file__).parents[1] / "src" / "boscage" / "_core.pyi"
_PLAIN = {
    r"Annotated\[(NDArray\[[\w.]+\]), dict\([^][]*?\)\]": r"\1",
    r"\bdict(?!\[)\b": "dict[str, Any]",
    r"\btuple(?!\[)\b": "tuple[Any, ...]",
    r"\blist(?!\[)\b": "list[Any]",
    r"\bobject\b": "Any",
    r"import Annotated, overload": "import Any, overload",
}


def core_stub() -> str:
    """Return the text of the stub."""
    maker = StubGen(boscage._core)
    maker.put(boscage._core)
    code = "".join(
        part if part.startswith('"""') else _simplified(part)
        for part in re.split(r'(""".*?""")', maker.get(), flags=re.S)
    )
    return re.sub(r"\n{3,}", "\n\n", code).strip() + "\n"


def _simplified(code: str) -> str:
    for pattern, plain in _PLAIN.items():
        code = re.sub(pattern, plain, code)
    return code


if __name__ == "__main__":
    STUB.write_text(core_stub())
