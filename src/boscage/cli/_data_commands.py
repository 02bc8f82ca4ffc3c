"""``boscage data``: which sets the papers need, and how to get them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from boscage.base.terminal import reports_errors, tell

data_app = typer.Typer(
    name="data",
    help="List, fetch and convert the data sets of the papers.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Folder for the files; default: the folder BOSCAGE_DATA.")
]


def _folder(out: Path | None) -> Path:
    if out is not None:
        return out
    value = os.environ.get("BOSCAGE_DATA")
    if not value:
        raise ValueError("no folder to write to: pass --out DIR, or set the environment variable BOSCAGE_DATA")
    return Path(value)


@data_app.command("list")
@reports_errors
def list_sets() -> None:
    """List the data sets of the papers.

    Prints the size and licence of each, whether it was found on this machine, and how to get it.
    """
    from boscage.datasets._fetch import catalogue
    from boscage.datasets._load import list_datasets

    here = set(list_datasets())
    for name, source in catalogue().items():
        where = f"boscage data fetch {name}" if source.openml is not None else source.how
        state = "found" if name in here else f"not found: {where}"
        typer.echo(f"{name}\t{source.rows} × {source.features}\t{source.licence}\t{state}")


@data_app.command("fetch")
@reports_errors
def fetch_sets(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Data sets, or the name of a paper, or all.")],
    out: Out = None,
) -> None:
    """Fetch data sets from OpenML.

    Says for each whether it has the same arrays as those behind the published results.
    """
    from boscage.datasets._fetch import catalogue, fetch
    from boscage.datasets._load import list_datasets
    from boscage.experiments._runner import PAPERS, sets_of

    folder, known = _folder(out), catalogue()
    wanted: list[str] = []
    for name in names:
        if name == "all" or name in PAPERS:
            group = known if name == "all" else [part for part in sets_of(name) if part in known]
            wanted += [part for part in group if known[part].openml is not None and part not in list_datasets()]
        else:
            wanted.append(name)
    failed = []
    for name in dict.fromkeys(wanted):
        try:
            found = fetch(name, folder)
        except LookupError as error:
            failed.append(name)
            tell(str(error), style="bold red")
            continue
        tell(f"{name}: {found.agreement}. {found.data.origin}")
        typer.echo(found.path)
    if failed:
        raise typer.Exit(1)


@data_app.command("import")
@reports_errors
def import_set(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set of the papers.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="LIBSVM files, the training part first.")],
    out: Out = None,
) -> None:
    """Convert downloaded files in LIBSVM format."""
    from boscage.datasets._fetch import catalogue, import_libsvm

    if name not in catalogue():
        raise typer.BadParameter(f"{name!r} is not known; choose from {', '.join(catalogue())}", param_hint="NAME")
    found = import_libsvm(name, files, _folder(out))
    tell(f"{name}: {found.agreement}")
    typer.echo(found.path)
