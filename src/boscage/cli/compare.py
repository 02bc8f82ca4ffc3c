"""`boscage compare`: every contender on the same folds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from boscage.base.terminal import INTERRUPTED, reports_errors, tell
from boscage.cli import _options as opt

if TYPE_CHECKING:
    from boscage.data.tasks import TaskKind


@reports_errors
def compare(
    data: Annotated[str, typer.Argument(metavar="DATA", help=opt.DATA_HELP)] = "wdbc",
    target: opt.Target = None,
    task: opt.Task = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Score that ranks the models: accuracy (default), log_loss, auc or balanced_accuracy; for regression "
            "rmse (default), mae or r2.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the page, the picture and the JSON file.")
    ] = Path("boscage-compare"),
    splits: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this split family (repeatable).")
    ] = None,
    criterion: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this criterion (repeatable).")
    ] = None,
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="Number of folds.")] = 5,
    repeats: Annotated[int, typer.Option(metavar="N", min=1, help="How often to repeat with new folds.")] = 1,
    max_depth: opt.MaxDepth = None,
    max_leaf_nodes: opt.MaxLeafNodes = None,
    min_samples_leaf: Annotated[int, typer.Option(metavar="N", min=1, help="Smallest number of rows in a leaf.")] = 1,
    categorical: opt.Categorical = None,
    drop: opt.Drop = None,
    seed: opt.Seed = 0,
    n_jobs: opt.NJobs = None,
    as_json: opt.Json = False,
) -> None:
    """Compare models on a table by cross-validation.

    Runs every split family and criterion, forests, and scikit-learn's models on the same folds. Prints score, leaves,
    depth and times; names the smallest tree within one standard error of the best model; a star marks models that are
    significantly worse than the best. Writes compare.json, compare.png and compare.html, a page with the best tree of
    each family.
    """
    from boscage.base.component import check_target, resolve
    from boscage.cli._long_runs import print_comparison, run_contenders, store_comparison
    from boscage.compare import METRICS, Settings, Task, check_folds, contenders
    from boscage.compare._metrics import check_metric

    opt.check_names({"splits": splits, "criterion": criterion})
    if metric is not None and metric not in METRICS:
        raise typer.BadParameter(f"{metric!r} is not known; choose from {', '.join(METRICS)}", param_hint="--metric")
    opt.check_folder(out)
    rows = opt.read_training_data(data, target, cast("TaskKind | None", task), categorical=categorical, drop=drop)
    check_metric(metric, rows.task)
    for name in criterion or ():
        check_target("criterion", resolve("criterion", name), "numbers" if rows.task == "regression" else "classes")
    X, columns, categories = rows.coded()
    compared = Task(Path(data).stem, X, rows.y, columns, "", rows.feature_names, categories, rows.task)
    settings = Settings(folds, repeats, seed, n_jobs, max_depth, max_leaf_nodes, min_samples_leaf, metric)
    check_folds(compared, settings)
    chosen = [
        contender
        for contender in contenders(compared, settings)
        if not contender.is_part
        or ((not splits or contender.family in splits) and (not criterion or contender.criterion in criterion))
    ]
    if (splits or criterion) and not any(contender.is_part for contender in chosen):
        raise typer.BadParameter(f"no model for {rows.task} has them", param_hint="--splits/--criterion")
    out.mkdir(parents=True, exist_ok=True)
    results, interrupted = run_contenders(compared, settings, chosen)
    record = store_comparison(out, compared, settings, results, [] if interrupted else chosen, interrupted)
    if as_json:
        opt.print_json(record)
    else:
        print_comparison(results, settings)
    if interrupted:
        tell(f"interrupted after {len(results)} of {len(chosen)} models", style="bold red")
        raise typer.Exit(INTERRUPTED)
    if all(result.error for result in results):
        raise ValueError("every model failed")
