"""The long runs of the command line: papers and comparisons under a progress bar, and what they leave behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from boscage.base.terminal import messages, tell

if TYPE_CHECKING:
    from boscage.compare import Contender, Result, Settings, Task


def reproduce_paper(
    paper: str, table: int | None, figure: int | None, budget: str, out: Path, options: dict[str, str]
) -> list[Path]:
    """Run one paper: under a bar with the remaining time on a terminal, else with one line for each cell."""
    from boscage.experiments import run
    from boscage.experiments._runner import chosen_pieces

    console = messages()
    if not console.is_terminal:
        return run(paper, table, figure, budget, out, tell, options=options)
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    _, tables, figures = chosen_pieces(paper, table, figure)
    columns = (
        BarColumn(24),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(paper, total=len(tables) + len(figures))

        def advance(done: float, text: str) -> None:
            progress.update(bar, completed=done, description=Text(text, overflow="ellipsis", no_wrap=True).plain[:60])

        return run(paper, table, figure, budget, out, advance=advance, options=options)


def run_contenders(task: Task, settings: Settings, chosen: list[Contender]) -> tuple[list[Result], bool]:
    """Run the contenders under a progress bar; Ctrl-C keeps those that are finished."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from boscage.compare import run_comparison

    console = messages()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    results: list[Result] = []
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        folds = settings.folds * settings.repeats
        bar = progress.add_task("comparing", total=folds * len(chosen))  # who cannot run is done at once
        try:
            for result in run_comparison(
                task, settings, chosen, lambda contender: progress.update(bar, advance=1, description=contender.name)
            ):
                results.append(result)
                progress.update(bar, completed=folds * len(results))
        except KeyboardInterrupt:
            return results, True
    return results, False


def store_comparison(
    out: Path, task: Task, settings: Settings, results: list[Result], chosen: list[Contender], interrupted: bool
) -> dict[str, Any]:
    """Write the files of a comparison; return what is in the JSON file."""
    from boscage.compare._files import as_record, write_json, write_picture
    from boscage.compare._page import write_report

    record = as_record(task, settings, results, interrupted=interrupted)
    write_json(out / "compare.json", record)
    written = ["compare.json"]
    try:
        write_picture(out / "compare.png", task, results, settings)
        written.append("compare.png")
    except ImportError:
        tell("no picture: it needs the package matplotlib (pip install 'boscage[plot]')", style="yellow")
    write_report(out / "compare.html", task, settings, results, chosen)
    tell(f"wrote {', '.join(written)} and compare.html in {out}")
    return record


def print_comparison(results: list[Result], settings: Settings) -> None:
    """Print the table of a comparison, what a small tree reaches, and the notes."""
    from rich.console import Console

    from boscage.compare._stats import standings, trade_off
    from boscage.compare._table import comparison_notes, comparison_table, headline

    console = Console(highlight=False)
    if not console.is_terminal:  # a pipe has no width: do not cut lines at 80 columns
        console = Console(highlight=False, width=200)
    console.print(comparison_table(results, standings(results, settings)))
    for sentence in headline(trade_off(results, settings)):
        console.print(sentence, style="bold", markup=False, soft_wrap=True)
    for note in comparison_notes(results):
        console.print(note, soft_wrap=True)
