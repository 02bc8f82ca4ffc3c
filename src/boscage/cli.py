"""The command line: fit, predict, show, inspect, compare, reproduce.

Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Heavy imports
happen inside the commands, so that ``boscage --help`` answers at once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from boscage import __version__
from boscage._terminal import INTERRUPTED, reports_errors, tell

if TYPE_CHECKING:
    from boscage._tables import Table, TrainingData

app = typer.Typer(
    name="boscage",
    help="Top-down decision trees: fit, predict, show, inspect and compare.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: narrower, quicker, and a usage error is one line
    context_settings={"help_option_names": ["-h", "--help"]},
)

_DATA_HELP = "CSV, TSV, Parquet or npz file, or the name of a data set such as iris."
_MODEL_HELP = "Model file written by `boscage fit` or by save()."


def _not_zero(value: int | None) -> int | None:
    if value == 0:
        raise typer.BadParameter("0 is not allowed; pass a number of threads, or -1 for all cores")
    return value


Data = Annotated[str, typer.Argument(metavar="DATA", help=_DATA_HELP, show_default=False)]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help=_MODEL_HELP, show_default=False)]
Target = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COL", help="Column of labels; y if there is one of that name.")
]
Categorical = Annotated[
    list[str] | None, typer.Option("--categorical", metavar="COL", help="Take this column as categories (repeatable).")
]
Drop = Annotated[list[str] | None, typer.Option("--drop", metavar="COL", help="Leave this column out (repeatable).")]
MaxDepth = Annotated[int | None, typer.Option(metavar="N", min=1, help="Largest depth.")]
MaxLeafNodes = Annotated[int | None, typer.Option(metavar="N", min=2, help="Largest number of leaves.")]
MinSamplesLeaf = Annotated[int, typer.Option(metavar="N", min=1, help="Fewest rows in a leaf.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of everything random.")]
NJobs = Annotated[
    int | None,
    typer.Option(
        "--n-jobs", metavar="N", callback=_not_zero, help="Threads; -1 means all cores. The result is the same."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]


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


@app.command()
@reports_errors
def fit(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")],
    target: Target = None,
    splits: Annotated[str, typer.Option(metavar="NAME", help="Split family, for example axis.")] = "axis",
    max_bins: Annotated[
        int | None,
        typer.Option(metavar="N", min=2, help="Bins of axis, oblique and wodt tests; needed in batches."),
    ] = None,
    criterion: Annotated[
        str, typer.Option(metavar="NAME", help="Splitting criterion, for example gini or entropy.")
    ] = "gini",
    growth: Annotated[
        str, typer.Option(metavar="NAME", help="Order of growth: best_first, heaviest_first, depth_first.")
    ] = "best_first",
    leaf: Annotated[str, typer.Option(metavar="NAME", help="Leaf model: frequency, majority or linear.")] = "frequency",
    max_depth: MaxDepth = None,
    max_leaf_nodes: MaxLeafNodes = None,
    min_samples_leaf: MinSamplesLeaf = 1,
    min_weight_fraction_leaf: Annotated[
        float, typer.Option(metavar="X", min=0, max=0.5, help="Least share of weight in a leaf.")
    ] = 0,
    min_impurity_decrease: Annotated[
        float, typer.Option(metavar="X", min=0, help="Least weighted drop of a split.")
    ] = 0,
    ccp_alpha: Annotated[float, typer.Option(metavar="X", min=0, help="Cost-complexity pruning.")] = 0,
    balanced: Annotated[bool, typer.Option("--balanced", help="Give all classes the same total weight.")] = False,
    weight: Annotated[str | None, typer.Option("--weight", metavar="COL", help="Column of sample weights.")] = None,
    categorical: Categorical = None,
    drop: Drop = None,
    seed: Seed = 0,
    n_jobs: NJobs = None,
    batches: Annotated[
        bool | None,
        typer.Option(
            "--batches/--in-memory",
            help="Read the rows in batches, once per level, instead of all at once. Default: batches for folders, "
            "patterns and Parquet or Arrow files of 2 GB and more.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Fit a tree to a table and write it to a model file."""
    from boscage import TopDownTreeClassifier
    from boscage._component import resolve

    parts: dict[str, Any] = {"splits": splits, "criterion": criterion, "growth": growth, "leaf": leaf}
    _check_names(parts)
    settings: dict[str, Any] = dict(
        **parts | {"splits": _with_bins(splits, max_bins)},
        max_depth=max_depth,
        max_leaf_nodes=max_leaf_nodes,
        min_samples_leaf=min_samples_leaf,
        min_weight_fraction_leaf=min_weight_fraction_leaf,
        min_impurity_decrease=min_impurity_decrease,
        ccp_alpha=ccp_alpha,
        class_weight="balanced" if balanced else None,
        n_jobs=n_jobs,
        random_state=seed,
    )
    _check_output(output)
    if batches or (batches is None and _is_big(data)):
        if max_bins is None and "max_bins" in resolve("splits", splits).get_params():
            raise typer.BadParameter(f"--splits {splits} needs it in batches, for example --max-bins 255",
                                     param_hint="--max-bins")  # fmt: skip
        _fit_batches(settings, data, output, target, weight, categorical, drop, as_json)
        return
    rows = _training_data(data, target, weight, categorical, drop)
    model = TopDownTreeClassifier(**settings)
    _check_density(data, rows, _with_bins(splits, max_bins))
    model.fit(rows.X, rows.y, sample_weight=rows.sample_weight)
    accuracy = float(model.score(rows.X, rows.y, sample_weight=rows.sample_weight))
    if rows.is_sparse:
        _name_columns(model, rows.feature_names)
    model.save(output)
    leaves, depth = int(model.get_n_leaves()), int(model.get_depth())
    tell(f"{len(rows.y)} rows, {leaves} leaves, depth {depth}, training accuracy {accuracy:.4f}; wrote {output}")
    if as_json:
        summary = {"model": str(output), "rows": len(rows.y), "features": len(rows.feature_names)}
        _print_json(summary | {"leaves": leaves, "depth": depth, "training_accuracy": accuracy})


def _check_output(output: Path) -> None:
    """Refuse a model file that cannot be written before the fit, not after it."""
    if output.is_dir():
        raise IsADirectoryError(f"{output} is a folder; name the model file to write")
    if not output.parent.is_dir():
        raise FileNotFoundError(f"{output}: there is no folder {output.parent} to write it to")


def _with_bins(splits: str, max_bins: int | None) -> Any:
    """Return the family by its name, or with its number of bins."""
    from boscage._component import names, resolve

    if max_bins is None:
        return splits
    if "max_bins" not in resolve("splits", splits).get_params():
        known = [name for name in names("splits") if "max_bins" in resolve("splits", name).get_params()]
        have = f"{', '.join(known[:-1])} and {known[-1]} have"
        raise typer.BadParameter(f"does not go with --splits {splits}: it has no bins, {have}", param_hint="--max-bins")
    return resolve("splits", splits).set_params(max_bins=max_bins)


_BIG_FILE = 2_000_000_000


def _is_big(data: str) -> bool:
    """Whether to read in batches unasked: what no other reader takes, and files that may not fit into memory."""
    path = Path(data)
    if not path.exists():
        return "*" in data
    return path.is_dir() or (
        path.suffix.lower() in (".parquet", ".pq", ".arrow", ".feather", ".ipc") and path.stat().st_size >= _BIG_FILE
    )


def _fit_batches(
    settings: dict[str, Any],
    data: str,
    output: Path,
    target: str | None,
    weight: str | None,
    categorical: list[str] | None,
    drop: list[str] | None,
    as_json: bool,
) -> None:
    from boscage import TopDownTreeClassifier
    from boscage.batches.source import open_source

    source = open_source(data, target or "y", weight, drop=drop or (), text=categorical or ())
    model = TopDownTreeClassifier(**settings).fit_batches(source, target or "y", weight=weight)
    model.save(output)
    leaves, depth, reading = int(model.get_n_leaves()), int(model.get_depth()), model.reading_
    tell(
        f"{reading.rows} rows, {leaves} leaves, depth {depth}, {reading.passes} passes, "
        f"{reading.bytes_read / 1e6:.0f} MB read; wrote {output}"
    )
    if as_json:
        summary = {"model": str(output), "rows": reading.rows, "features": int(model.n_features_in_)}
        _print_json(
            summary | {"leaves": leaves, "depth": depth, "passes": reading.passes, "bytes_read": reading.bytes_read}
        )


@app.command()
@reports_errors
def predict(
    model: Model,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write .csv, .parquet or .json instead of stdout."),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    drop: Drop = None,
    as_json: Json = False,
) -> None:
    """Predict the class of every row of a table."""
    from boscage import load
    from boscage._predictions import predict_table, render, write_predictions

    tree = load(model)
    predictions = predict_table(tree, _table_for(tree, data, drop), proba=proba)
    if output is not None:
        write_predictions(output, predictions)
        tell(f"{len(predictions.labels)} predictions; wrote {output}")
    else:
        sys.stdout.write(render(predictions, as_json=as_json))


@app.command()
@reports_errors
def show(
    model: Model,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write an interactive web page instead.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DATA", help="Rows to choose from on the page; at most 200 are embedded."),
    ] = None,
    target: Target = None,
    drop: Drop = None,
    as_json: Json = False,
) -> None:
    """Print a tree as text, or write it as a web page."""
    from boscage import load
    from boscage._predictions import write_page

    tree = load(model)
    if not hasattr(tree, "tree_"):
        raise ValueError(f"{model}: a {type(tree).__name__} has no single tree to show")
    if data is not None and html is None:
        raise typer.BadParameter("rows are shown on a web page: add --html FILE", param_hint="--data")
    if html is not None:
        table = None if data is None else _table_for(tree, data, drop)
        write_page(html, tree, table, target, title=model.stem)
        tell(f"{tree.get_n_leaves()} leaves, {html.stat().st_size / 1000:,.0f} kB; wrote {html}")
    elif as_json:
        _print_json(tree.to_dict())
    else:
        typer.echo(str(tree.export_text()).rstrip("\n"))


@app.command()
@reports_errors
def inspect(model: Model, as_json: Json = False) -> None:
    """Check a model file and print what it holds: parameters, columns, classes, size."""
    from boscage.files import inspect

    facts = inspect(model)
    if as_json:
        _print_json(facts)
        return
    columns = {str(j): _column_line(column) for j, column in enumerate(facts.pop("columns"))}
    parameters, omitted = facts.pop("parameters"), facts.pop("omitted")
    facts["parameters"] = "not in files of format 1" if parameters is None else ""
    _print_facts({name: _short(value) for name, value in facts.items()})
    shown = {name: "not stored" if name in omitted else str(value) for name, value in (parameters or {}).items()}
    _print_facts(shown, indent="  ")
    typer.echo("columns")
    _print_facts(dict(list(columns.items())[:_MOST_COLUMNS]), indent="  ")
    if len(columns) > _MOST_COLUMNS:
        typer.echo(f"  … and {len(columns) - _MOST_COLUMNS} more; --json prints all")


_MOST_COLUMNS = 40
_MOST_VALUES = 20


def _column_line(column: dict[str, Any]) -> str:
    name = "" if column["name"] is None else f"{column['name']}: "
    levels = f" ({_short(column['categories'])})" if "categories" in column else ""
    return f"{name}{column['type']}{levels}"


def _short(value: Any) -> str:
    if not isinstance(value, list):
        return "none" if value is None else str(value)
    shown = ", ".join(map(str, value[:_MOST_VALUES]))
    return (shown or "none") + (f", … ({len(value)})" if len(value) > _MOST_VALUES else "")


def _print_facts(facts: dict[str, str], indent: str = "") -> None:
    width = max(map(len, facts), default=0)
    for name, value in facts.items():
        typer.echo(f"{indent}{name.ljust(width)}  {value}".rstrip())


@app.command()
@reports_errors
def compare(
    data: Annotated[str, typer.Argument(metavar="DATA", help=_DATA_HELP)] = "wdbc",
    target: Target = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the page, the picture and the JSON file.")
    ] = Path("boscage-compare"),
    splits: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this split family (repeatable).")
    ] = None,
    criterion: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this criterion (repeatable).")
    ] = None,
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="Folds of the cross-validation.")] = 5,
    repeats: Annotated[int, typer.Option(metavar="N", min=1, help="How often to draw new folds.")] = 1,
    max_depth: MaxDepth = None,
    max_leaf_nodes: MaxLeafNodes = None,
    min_samples_leaf: MinSamplesLeaf = 1,
    categorical: Categorical = None,
    drop: Drop = None,
    seed: Seed = 0,
    n_jobs: NJobs = None,
    as_json: Json = False,
) -> None:
    """Cross-validate every split family and criterion, next to scikit-learn.

    Shows accuracy, leaves, depth, fit and predict time, and writes compare.json, compare.png and compare.html, a page
    with the best tree of each family. A star marks what is significantly less accurate than the best.
    """
    from boscage._long_runs import print_comparison, run_contenders, store_comparison
    from boscage.compare import Settings, Task, contenders

    rows = _training_data(data, target, None, categorical, drop)
    X, categorical_features = rows.coded()
    task = Task(Path(data).stem, X, rows.y, categorical_features, feature_names=rows.feature_names)
    settings = Settings(folds, repeats, seed, n_jobs, max_depth, max_leaf_nodes, min_samples_leaf)
    _check_names({"splits": splits or [], "criterion": criterion or []})
    chosen = [
        contender
        for contender in contenders(task, settings)
        if not contender.is_part
        or ((not splits or contender.family in splits) and (not criterion or contender.criterion in criterion))
    ]
    out.mkdir(parents=True, exist_ok=True)
    results, interrupted = run_contenders(task, settings, chosen)
    record = store_comparison(out, task, settings, results, [] if interrupted else chosen, interrupted)
    if as_json:
        _print_json(record)
    else:
        print_comparison(results, settings)
    if interrupted:
        tell(f"interrupted after {len(results)} of {len(chosen)} contenders", style="bold red")
        raise typer.Exit(INTERRUPTED)
    if all(result.error for result in results):
        raise ValueError("every contender failed")


@app.command()
@reports_errors
def reproduce(
    paper: Annotated[
        str,
        typer.Argument(metavar="PAPER", help="lomtree, stochastic, topdown, wodt, weighted-optimal, or all."),
    ],
    table: Annotated[int | None, typer.Option(metavar="N", help="Only this table.")] = None,
    figure: Annotated[int | None, typer.Option(metavar="N", help="Only this figure.")] = None,
    budget: Annotated[str, typer.Option(help="quick (minutes) or full (hours).")] = "quick",
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the results.")] = Path(
        "boscage-reproduce"
    ),
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the paper (repeatable).")
    ] = None,
) -> None:
    """Run the experiments of a paper again: tables and figures, its printed numbers beside ours.

    An interrupted run goes on where it stopped when it is started again with the same folder.
    """
    from boscage._long_runs import reproduce_paper
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
    for text in setting or ():
        if "=" not in text:
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--set")
    options = dict(text.split("=", 1) for text in setting or ())
    for name in PAPERS if paper == "all" else [paper]:
        for path in reproduce_paper(name, table, figure, budget, out / name if paper == "all" else out, options):
            typer.echo(path)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _training_data(
    data: str, target: str | None, weight: str | None, categorical: list[str] | None, drop: list[str] | None
) -> TrainingData:
    from boscage._tables import read_table, training_data

    table = read_table(data, text=categorical or (), drop=drop or ())
    rows = training_data(table, target, weight=weight, categorical=categorical or ())
    for note in rows.notes:
        tell(note)
    return rows


def _table_for(tree: Any, data: str, drop: list[str] | None) -> Table:
    """Read a table; columns in which the tree knows categories of text are read as text."""
    from boscage._predictions import model_columns
    from boscage._tables import read_table

    _, names, categories = model_columns(tree)
    named = zip(names or (), categories or (), strict=False)
    text = [name for name, levels in named if levels and all(isinstance(level, str) for level in levels)]
    return read_table(data, text=text, drop=drop or ())


def _check_names(given: dict[str, Any]) -> None:
    """Refuse an unknown part as wrong usage, before any data is read."""
    from boscage._component import is_name, names

    for role, value in given.items():
        for name in [value] if isinstance(value, str) else value:
            if not is_name(role, name):
                raise typer.BadParameter(
                    f"{name!r} is not known; choose from {', '.join(names(role))}", param_hint=f"--{role}"
                )


def _check_density(data: str, rows: TrainingData, splits: Any) -> None:
    from boscage._component import resolve

    family: Any = resolve("splits", splits)
    if rows.is_sparse and not family.allows_sparse:
        raise ValueError(f"{data}: holds sparse rows, which splits={splits!r} cannot take; write it with a dense X")


def _name_columns(model: Any, names: tuple[str, ...]) -> None:
    """Let a model that was fitted on sparse rows remember the column names of their file."""
    from dataclasses import replace

    import numpy as np

    model.tree_ = replace(model.tree_, schema=replace(model.tree_.schema, feature_names=names))
    model.feature_names_in_ = np.array(names, dtype=object)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
