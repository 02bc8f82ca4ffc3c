"""Progress of long fits: a bar on a terminal after two seconds, silence in pipes.

`rich` is imported only when a bar is really shown.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

_PATIENCE = 2.0  # seconds before a bar appears


class Progress:
    """Context manager and callback in one: call it with the work done so far.

    Parameters
    ----------
    text : str
        What is being done, shown before the numbers.
    verbose : bool or None, default=None
        None shows a bar on a terminal once the work has taken two seconds, True at once and wherever standard error
        goes, False never.
    total : int, optional
        Amount of work; without it only a count is shown.
    """

    def __init__(self, text: str, verbose: bool | None = None, total: int | None = None) -> None:
        self.text = text
        self.total = total
        self.verbose = verbose
        self._start = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    @property
    def callback(self) -> Progress | None:
        """What to hand to the core: None if nothing will ever be shown, so that nothing is called."""
        if self.verbose is not None:
            return self if self.verbose else None
        return self if sys.stderr.isatty() else None

    def __call__(self, done: int) -> None:
        """Show that ``done`` units are finished."""
        if self._bar is None:
            if not self.verbose and time.monotonic() - self._start < _PATIENCE:
                return
            self._open()
        self._bar.update(self._task, completed=done, description=self.text)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns: list[Any] = [TextColumn("{task.description}")]
        columns += [BarColumn(), MofNCompleteColumn()] if self.total else [TextColumn("{task.completed:,}")]
        columns += [TimeElapsedColumn()] + ([TimeRemainingColumn()] if self.total else [])
        self._bar = Bar(*columns, console=Console(stderr=True), transient=not self.verbose)
        self._task = self._bar.add_task(self.text, total=self.total)
        self._bar.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
