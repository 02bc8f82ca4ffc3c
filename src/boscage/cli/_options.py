"""Arguments and options that several commands share, and how commands read tables and print data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from boscage.base.terminal import tell

if TYPE_CHECKING:
    from boscage.data.tasks import TaskKind
    from boscage.datasets._tables import Table, TrainingData

DATA_HELP = "CSV, TSV, Parquet, Arrow or npz file, or the name of a data set such as iris."
_MODEL_HELP = "Model file written by `boscage fit` or by save()."


def _not_zero(value: int | None) -> int | None:
    if value == 0:
        raise typer.BadParameter("0 is not allowed; pass a number of threads, or -1 for all cores")
    return value


def _known_task(value: str | None) -> str | None:
    from boscage.data.tasks import TASK_KINDS

    if value is not None and value not in TASK_KINDS:
        raise typer.BadParameter(f"{value!r} is not known; choose from {', '.join(TASK_KINDS)}")
    return value


Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help=_MODEL_HELP, show_default=False)]
Target = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COL", help="Column to predict; y if there is one of that name.")
]
Task = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="KIND",
        callback=_known_task,
        help="classification or regression. Default: recognised from the target.",
    ),
]
Categorical = Annotated[
    list[str] | None, typer.Option("--categorical", metavar="COL", help="Take this column as categories (repeatable).")
]
Drop = Annotated[list[str] | None, typer.Option("--drop", metavar="COL", help="Leave this column out (repeatable).")]
MaxDepth = Annotated[int | None, typer.Option(metavar="N", min=1, help="Maximum depth.")]
MaxLeafNodes = Annotated[int | None, typer.Option(metavar="N", min=2, help="Maximum number of leaves.")]
Splits = Annotated[str | None, typer.Option(metavar="NAME", help="Split family, for example axis or oblique.")]
Criterion = Annotated[
    str | None, typer.Option(metavar="NAME", help="Splitting criterion, for example gini or entropy.")
]
Growth = Annotated[
    str | None, typer.Option(metavar="NAME", help="Order of growth: best_first, heaviest_first or depth_first.")
]
Leaf = Annotated[str | None, typer.Option(metavar="NAME", help="Leaf model, for example frequency or linear.")]
MinSamplesLeaf = Annotated[int | None, typer.Option(metavar="N", min=1, help="Smallest number of rows in a leaf.")]
MinWeightFractionLeaf = Annotated[
    float | None, typer.Option(metavar="X", min=0, max=0.5, help="Smallest share of the total weight in a leaf.")
]
MinImpurityDecrease = Annotated[
    float | None, typer.Option(metavar="X", min=0, help="Smallest decrease of impurity by a split.")
]
CcpAlpha = Annotated[float | None, typer.Option(metavar="X", min=0, help="Strength of cost-complexity pruning.")]
MaxBins = Annotated[
    int | None,
    typer.Option(metavar="N", min=2, help="Number of bins of axis, oblique and wodt tests; needed in batches."),
]
Balanced = Annotated[bool, typer.Option("--balanced", help="Give all classes the same total weight.")]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other parameter of the model, for example alpha=0.01 or splits__max_terms=3 (repeatable).",
    ),
]
Weight = Annotated[str | None, typer.Option("--weight", metavar="COL", help="Column of sample weights.")]
Batches = Annotated[
    bool | None,
    typer.Option(
        "--batches/--in-memory",
        help="Read the rows in batches instead of all at once. Default: batches for folders, patterns such as "
        "'part-*.csv', and Parquet or Arrow files of 2 GB and more.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the random numbers.")]
NJobs = Annotated[
    int | None,
    typer.Option(
        "--n-jobs", metavar="N", callback=_not_zero, help="Threads; -1 means all cores. The result is the same."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]


def read_training_data(
    data: str,
    target: str | None,
    task: TaskKind | None,
    *,
    weight: str | None = None,
    categorical: list[str] | None = None,
    drop: list[str] | None = None,
) -> TrainingData:
    """Read the rows to learn from, and tell what was decided about them."""
    from boscage.datasets._tables import read_table, training_data

    table = read_table(data, text=categorical or (), drop=drop or ())
    rows = training_data(table, target, weight=weight, categorical=categorical or (), task=task)
    for note in rows.notes:
        tell(note)
    return rows


def table_for(model: Any, data: str, drop: list[str] | None) -> Table:
    """Read a table; columns in which the model knows categories of text are read as text."""
    from boscage.datasets._tables import read_table
    from boscage.model.predictions import model_columns

    _, names, categories = model_columns(model)
    named = zip(names or (), categories or (), strict=False)
    text = [name for name, levels in named if levels and all(isinstance(level, str) for level in levels)]
    return read_table(data, text=text, drop=drop or ())


def check_names(given: dict[str, Any]) -> None:
    """Refuse an unknown part as wrong usage, before any data is read."""
    from boscage.base.component import is_name, names

    for role, value in given.items():
        for name in [value] if isinstance(value, str) else value or ():
            if not is_name(role, name):
                raise typer.BadParameter(
                    f"{name!r} is not known; choose from {', '.join(sorted(names(role, None, forest=True)))}",
                    param_hint=f"--{role}",
                )


def check_output(output: Path, *inputs: str | Path | None) -> None:
    """Refuse a file that cannot be written, or is one of the inputs, before the work, not after it."""
    if output.is_dir():
        raise IsADirectoryError(f"{output} is a folder; name the file to write")
    if not output.parent.is_dir():
        raise FileNotFoundError(f"{output}: there is no folder {output.parent} to write it to")
    for path in inputs:
        if path is not None and output.is_file() and Path(path).exists() and output.samefile(path):
            raise FileExistsError(f"{output} is the file that is read; name another file to write")


def check_folder(folder: Path) -> None:
    """Refuse a folder for results that is a file before the work, not after it."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; name the folder to write to")


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout."""
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False))
