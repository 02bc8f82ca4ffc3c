"""What is done with a model file: predict, show, explain, export, inspect."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from boscage.base.terminal import reports_errors, tell
from boscage.cli import _options as opt

_MOST_COLUMNS = 40
_MOST_VALUES = 20


@reports_errors
def predict(
    model: opt.Model,
    data: opt.Data,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write .csv, .parquet or .json instead of stdout."),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    drop: opt.Drop = None,
    as_json: opt.Json = False,
) -> None:
    """Predict every row of a table."""
    from boscage import load
    from boscage.model.predictions import predict_table, render, write_predictions

    if output is not None:
        opt.check_output(output, model, data)
    fitted = load(model)
    if proba and not hasattr(fitted, "predict_proba"):
        raise ValueError(f"{model}: a {type(fitted).__name__} is a regressor and has no probabilities; drop --proba")
    predictions = predict_table(fitted, opt.table_for(fitted, data, drop), proba=proba)
    if output is not None:
        write_predictions(output, predictions)
        tell(f"{len(predictions.labels)} predictions; wrote {output}")
    else:
        sys.stdout.write(render(predictions, as_json=as_json))


@reports_errors
def show(
    model: opt.Model,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write an interactive web page instead.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DATA", help="Rows to choose from on the page; at most 200 are embedded."),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--tree", metavar="N", min=0, help="Which tree of a forest to print; the first is 0.")
    ] = None,
    target: opt.Target = None,
    drop: opt.Drop = None,
    as_json: opt.Json = False,
) -> None:
    """Print a tree as text, or write it as a web page."""
    from boscage.model.predictions import write_page

    tree = _load_trees(model, "show")
    is_forest = hasattr(tree, "trees_")
    if number is not None and (not is_forest or html is not None or as_json):
        raise typer.BadParameter("chooses among the trees of a forest, and only for text", param_hint="--tree")
    if data is not None and html is None:
        raise typer.BadParameter("rows are shown on a web page: add --html FILE", param_hint="--data")
    if html is not None:
        opt.check_output(html, model, data)
        table = None if data is None else opt.table_for(tree, data, drop)
        write_page(html, tree, table, target, title=model.stem)
        size = f"{len(tree.trees_)} trees" if is_forest else f"{tree.get_n_leaves()} leaves"
        tell(f"{size}, {html.stat().st_size / 1000:,.0f} kB; wrote {html}")
    elif as_json:
        opt.print_json(tree.to_dict())
    elif is_forest:
        text = tree.export_text(number or 0)
        tell(f"tree {number or 0} of {len(tree.trees_)}, numbered from 0")
        typer.echo(text.rstrip("\n"))
    else:
        typer.echo(str(tree.export_text()).rstrip("\n"))


@reports_errors
def explain(
    model: opt.Model,
    data: opt.Data,
    row: Annotated[int, typer.Option("--row", metavar="N", min=1, help="Data row to explain, the first is 1.")] = 1,
    drop: opt.Drop = None,
    as_json: opt.Json = False,
) -> None:
    """Explain the prediction of one row.

    Prints its path through the tree (not of a forest) and what each column contributed to the prediction.
    """
    from boscage.model.predictions import table_rows

    tree = _load_trees(model, "explain")
    rows = table_rows(tree, opt.table_for(tree, data, drop))
    if row > rows.shape[0]:
        raise typer.BadParameter(f"{row} is not possible: {data} has {rows.shape[0]} rows", param_hint="--row")
    found = tree.explain(rows.slice(row - 1, 1) if hasattr(rows, "slice") else rows[row - 1 : row])
    if not as_json:
        typer.echo(str(found))
        return
    path = [{"node": step.node, "sentence": step.sentence, "side": step.side} for step in found.path]
    columns = dict(zip(found.feature_names, found.contributions.tolist(), strict=True))
    opt.print_json(
        {
            "path": path,
            "outputs": found.class_names,
            "prediction": found.prediction.tolist(),
            "base": found.base.tolist(),
            "contributions": columns,
        }
    )


@reports_errors
def export(
    model: opt.Model,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write: .onnx, .h, .sql, .js, .json, .html, .txt or .dot."
        ),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="onnx, c, sql, javascript, json, html, text or graphviz. Default: by the suffix of the file.",
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="SQL: write a query of this table, not an expression. A forest needs it."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="C: what all names in the header begin with.")
    ] = None,
) -> None:
    """Write a model for other programs.

    Formats: ONNX, a C header, SQL, JavaScript, JSON, a web page, text, Graphviz.
    """
    from boscage import load
    from boscage.export import FORMATS, export_model

    if kind is not None and kind not in FORMATS:
        raise typer.BadParameter(f"{kind!r} is not known; choose from {', '.join(FORMATS)}", param_hint="--format")
    opt.check_output(output, model)
    fitted = load(model)
    if hasattr(fitted, "trees_") and table is None and "sql" in (kind, output.suffix.lower()[1:]):
        raise typer.BadParameter(
            "a forest is more than one SQL expression: name the table to query", param_hint="--table"
        )
    export_model(fitted, output, kind, table=table, name=name)
    tell(f"{output.stat().st_size / 1000:,.1f} kB; wrote {output}")


def _load_trees(path: Path, what: str) -> Any:
    """Load a model that is a tree or a forest."""
    from boscage import load

    model = load(path)
    if not hasattr(model, "tree_") and not hasattr(model, "trees_"):
        raise ValueError(
            f"{path}: {type(model).__name__} has no tree to {what}; `boscage inspect` prints what it holds"
        )
    return model


@reports_errors
def inspect(model: opt.Model, as_json: opt.Json = False) -> None:
    """Check a model file and print what it holds.

    Prints the kind of model, its size, classes, parameters and columns.
    """
    from boscage.files import inspect

    facts = inspect(model)
    if as_json:
        opt.print_json(facts)
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
