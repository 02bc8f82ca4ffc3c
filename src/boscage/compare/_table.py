"""A comparison as a table for the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from boscage.compare._stats import Standing, TradeOff, rank
from boscage.compare._types import Result


def comparison_table(results: list[Result], standing: dict[str, Standing] | None = None) -> Table:
    """Lay out results, the best first (fewer leaves on ties), failures last; fits 80 columns.

    A star marks what is significantly worse than the best, if standings are given. Contenders that were not run are
    left to the notes.
    """
    run = sorted((result for result in results if result.was_run), key=rank)
    label = run[0].measured_by.label if run else "score"
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in ("splits", "criterion"):
        table.add_column(heading, no_wrap=True)
    table.add_column(f"{label} ± sd ", no_wrap=True)  # to the left: the star of some must not move the numbers
    for heading in ("leaves", "depth", "fit", "predict"):
        table.add_column(heading, justify="right", no_wrap=True)
    for place, result in enumerate(run):
        where = (standing or {}).get(result.name)
        cells = [result.family, result.criterion, *_numbers(result, where is not None and where.is_worse)]
        table.add_row(*map(Text, cells), style="red" if result.error else "bold" if place == 0 else None)
    return table


def comparison_notes(results: list[Result]) -> list[Text]:
    """Say in one line each why contenders failed or were not run, and what they warned about."""
    failures = [
        Text(f"{result.name} failed: {result.error}", style="red") for result in results if result.status == "failed"
    ]
    skipped = [Text(f"not run: {', '.join(names)}: {reason}") for reason, names in not_run(results).items()]
    warned: dict[str, list[str]] = {}
    for result in results:
        for warning in result.warnings:
            warned.setdefault(" ".join(warning.split()), []).append(result.name)
    return failures + skipped + [Text(f"{', '.join(names)}: {text}", style="yellow") for text, names in warned.items()]


def not_run(results: list[Result]) -> dict[str, list[str]]:
    """Return the contenders that were not run, by reason."""
    reasons: dict[str, list[str]] = {}
    for result in results:
        if not result.was_run:
            reasons.setdefault(result.error, []).append(result.name)
    return reasons


def headline(weighed: TradeOff | None) -> list[str]:
    """Say in sentences what a small tree reaches beside the best contender."""
    if weighed is None:
        return ["No model finished."]
    best, tree, reference = weighed.best, weighed.tree, weighed.reference
    label = best.measured_by.label
    if tree is None:
        return [f"Best {label}: {_facts(best)}. No model is a single tree."]
    said = []
    if weighed.is_within and tree is best:
        said.append(f"Best {label}: {_facts(best)}; no smaller tree comes within one standard error.")
    elif weighed.is_within:
        said.append(f"Smallest tree within one standard error of the best {label}: {_facts(tree)}.")
        said.append(f"Best {label}: {_facts(best)}.")
    else:
        said.append(f"Best {label}: {_facts(best)}.")
        said.append(f"No single tree comes within one standard error; the best one is {_facts(tree)}.")
    if reference is not None and reference not in (tree, best):
        said.append(f"For comparison: {_facts(reference)}.")
    return said


def _facts(result: Result) -> str:
    leaves = f" with {number(result.mean('leaves'), 1)} leaves" if result.leaves else ""
    return f"{result.name}, {number(result.mean(result.metric))}{leaves}"


def number(value: float | None, decimals: int = 3, beside: float | None = None) -> str:
    """Write a score with three decimals, or with three digits if it is large or small; a dash for nothing.

    ``beside`` is the score that a deviation or difference belongs to: it decides what is small.

    Examples
    --------
    >>> from boscage.compare._table import number
    >>> number(0.91234), number(12345.678), number(0.00016612), number(0.0042, beside=0.9), number(None)
    ('0.912', '12346', '0.000166', '0.004', '-')
    """
    if value is None:
        return "-"
    if decimals == 3 and 0 < abs(value if beside is None else beside) < 0.1:
        return f"{value:.3g}"
    if decimals == 3 and abs(value) >= 10:
        return f"{value:.{max(0, 3 - len(str(int(abs(value)))) + 1)}f}"
    return f"{value:.{decimals}f}"


def seconds(value: float | None) -> str:
    """Write a duration with three digits and its unit.

    Examples
    --------
    >>> from boscage.compare._table import seconds
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
    mean, sd = result.mean(result.metric), result.sd(result.metric) or 0.0
    return [
        f"{number(mean)} ± {number(sd, beside=mean)}{'*' if is_worse else ''}",
        number(result.mean("leaves"), 1),
        number(result.mean("depth"), 1),
        seconds(result.mean("fit_seconds")),
        seconds(result.mean("predict_seconds")),
    ]
