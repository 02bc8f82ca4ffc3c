"""A comparison as a table for the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from boscage._compare_stats import Standing, rank
from boscage._compare_types import Result


def comparison_table(results: list[Result], standing: dict[str, Standing] | None = None) -> Table:
    """Lay out results, the most accurate first (fewer leaves on ties), failures last; fits 80 columns.

    A star marks what is significantly less accurate than the best, if standings are given.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in ("splits", "criterion"):
        table.add_column(heading, no_wrap=True)
    table.add_column("accuracy ± sd ", no_wrap=True)  # to the left: the star of some must not move the numbers
    for heading in ("leaves", "depth", "fit", "predict"):
        table.add_column(heading, justify="right", no_wrap=True)
    for place, result in enumerate(sorted(results, key=rank)):
        where = (standing or {}).get(result.name)
        cells = [result.family, result.criterion, *_numbers(result, where is not None and where.is_worse)]
        table.add_row(*map(Text, cells), style="red" if result.error else "bold" if place == 0 else None)
    return table


def comparison_notes(results: list[Result]) -> list[Text]:
    """Say in one line each why contenders failed and what they warned about."""
    failures = [Text(f"{result.name} failed: {result.error}", style="red") for result in results if result.error]
    warned: dict[str, list[str]] = {}
    for result in results:
        for warning in result.warnings:
            warned.setdefault(" ".join(warning.split()), []).append(result.name)
    return failures + [Text(f"{', '.join(names)}: {text}", style="yellow") for text, names in warned.items()]


def seconds(value: float | None) -> str:
    """Write a duration with three digits and its unit.

    Examples
    --------
    >>> from boscage._compare_table import seconds
    >>> seconds(0.00123), seconds(2.5)
    ('1.23 ms', '2.50 s')
    """
    if value is None:
        return "-"
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1 or unit == "µs":
            shown = value * factor
            return f"{shown:.{max(0, 2 - len(str(int(shown))) + 1)}f} {unit}"
    return "-"


def _numbers(result: Result, is_worse: bool) -> list[str]:
    if result.error:
        return ["failed", *["-"] * 4]
    accuracy, sd = result.mean("accuracy"), result.sd("accuracy")
    leaves, depth = result.mean("leaves"), result.mean("depth")
    return [
        f"{accuracy:.3f} ± {0.0 if sd is None else sd:.3f}{'*' if is_worse else ''}",
        "-" if leaves is None else f"{leaves:.1f}",
        "-" if depth is None else f"{depth:.1f}",
        seconds(result.mean("fit_seconds")),
        seconds(result.mean("predict_seconds")),
    ]
