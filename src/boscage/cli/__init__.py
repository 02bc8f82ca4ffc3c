"""The command line: fit, predict, show, explain, export, inspect, compare, reproduce, data.

Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Heavy imports
happen inside the commands, so that ``boscage --help`` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from boscage import __version__
from boscage.base.terminal import INTERRUPTED
from boscage.cli import compare, fit, reproduce, use
from boscage.cli._data_commands import data_app

app = typer.Typer(
    name="boscage",
    help="Decision trees: fit, predict, show, explain, export, inspect and compare.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: narrower, quicker, and a usage error is one line
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(data_app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"boscage {__version__}")
        raise typer.Exit


@app.callback()
def _boscage(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


_COMMANDS = (
    fit.fit,
    use.predict,
    use.show,
    use.explain,
    use.export,
    use.inspect,
    compare.compare,
    reproduce.reproduce,
)
for command in _COMMANDS:
    app.command()(command)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
