"""How the command line talks: messages to stderr, one line per error, exit codes 0, 1, 2 and 130.

Colours follow the terminal and ``NO_COLOR`` (rich takes care of both); a pipe gets plain text.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

import typer

if TYPE_CHECKING:
    from rich.console import Console

P = ParamSpec("P")
INTERRUPTED = 130
# Bad files, bad values, a full disk, too little memory. The rest are bugs and keep their traceback.
_EXPECTED = (OSError, ValueError, MemoryError)


def messages() -> Console:
    """Make the console for everything that is not data."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def tell(text: str, style: str = "") -> None:
    """Print one message line on stderr."""
    from rich.text import Text

    messages().print(Text(" ".join(text.split()), style=style))


def reports_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Turn expected failures of a command into one line on stderr and an exit code; show warnings the same way."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                command(*args, **kwargs)
            except KeyboardInterrupt:
                tell("interrupted", style="bold red")
                raise typer.Exit(INTERRUPTED) from None
            except BrokenPipeError:
                # The reader (head, less) went away; without this, Python complains again when it closes stdout.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(1) from None
            except _EXPECTED as error:
                tell(f"error: {_one_line(error)}", style="bold red")
                raise typer.Exit(1) from None

    return run


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    tell(f"warning: {message}", style="yellow")
