"""`boscage reproduce`: the experiments of a paper again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boscage.base.terminal import reports_errors
from boscage.cli._options import check_folder


@reports_errors
def reproduce(
    paper: Annotated[
        str,
        typer.Argument(metavar="PAPER", help="lomtree, stochastic, topdown, wodt, weighted-optimal, or all."),
    ],
    table: Annotated[int | None, typer.Option(metavar="N", help="Only this table.")] = None,
    figure: Annotated[int | None, typer.Option(metavar="N", help="Only this figure.")] = None,
    budget: Annotated[str, typer.Option(metavar="NAME", help="quick (minutes) or full (hours).")] = "quick",
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the results.")] = Path(
        "boscage-reproduce"
    ),
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the paper (repeatable).")
    ] = None,
) -> None:
    """Repeat the experiments of a paper.

    Writes its tables and figures, with the printed numbers next to ours. An interrupted run continues where it stopped
    if it is started again with the same folder.
    """
    from boscage.cli._long_runs import reproduce_paper
    from boscage.experiments import PAPERS
    from boscage.experiments._runner import BUDGETS, chosen_pieces

    if paper not in (*PAPERS, "all"):
        raise typer.BadParameter(f"{paper!r} is not known; choose from {', '.join(PAPERS)} or all", param_hint="PAPER")
    if budget not in BUDGETS:
        raise typer.BadParameter(f"{budget!r} is not known; choose {' or '.join(BUDGETS)}", param_hint="--budget")
    if paper == "all" and (table is not None or figure is not None or setting):
        raise typer.BadParameter(
            "numbers and settings belong to one paper; leave them out with all", param_hint="--table/--figure/--set"
        )
    if paper != "all":
        try:
            chosen_pieces(paper, table, figure)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--table/--figure") from error
    check_folder(out)
    for text in setting or ():
        if "=" not in text:
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--set")
    options = dict(text.split("=", 1) for text in setting or ())
    for name in PAPERS if paper == "all" else [paper]:
        for path in reproduce_paper(name, table, figure, budget, out / name if paper == "all" else out, options):
            typer.echo(path)
