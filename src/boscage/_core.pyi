"""The compiled half, untyped: everything in it is private."""

from typing import Any

def __getattr__(name: str) -> Any: ...
