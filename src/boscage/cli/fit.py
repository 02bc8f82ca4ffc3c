"""`boscage fit`: from a table to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from boscage.base.terminal import reports_errors, tell
from boscage.cli import _options as opt
from boscage.cli._models import MODELS, check_task, known_model, make_model, only_task, settings_are_usage

if TYPE_CHECKING:
    from boscage.data.tasks import TaskKind
    from boscage.datasets._tables import TrainingData

_BIG_FILE = 2_000_000_000
_MODELS_HELP = f"Kind of model: {', '.join(MODELS)}."


@reports_errors
def fit(
    data: opt.Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")],
    target: opt.Target = None,
    kind: Annotated[str, typer.Option("--model", metavar="NAME", callback=known_model, help=_MODELS_HELP)] = "tree",
    task: opt.Task = None,
    splits: opt.Splits = None,
    criterion: opt.Criterion = None,
    growth: opt.Growth = None,
    leaf: opt.Leaf = None,
    max_depth: opt.MaxDepth = None,
    max_leaf_nodes: opt.MaxLeafNodes = None,
    min_samples_leaf: opt.MinSamplesLeaf = None,
    min_weight_fraction_leaf: opt.MinWeightFractionLeaf = None,
    min_impurity_decrease: opt.MinImpurityDecrease = None,
    ccp_alpha: opt.CcpAlpha = None,
    max_bins: opt.MaxBins = None,
    balanced: opt.Balanced = False,
    setting: opt.Setting = None,
    weight: opt.Weight = None,
    categorical: opt.Categorical = None,
    drop: opt.Drop = None,
    seed: opt.Seed = 0,
    n_jobs: opt.NJobs = None,
    batches: opt.Batches = None,
    as_json: opt.Json = False,
) -> None:
    """Fit a model to a table and write it to a model file.

    A target of fractional numbers, or of very many whole numbers, means regression, any other target classification;
    --task overrides this.
    """
    parts = {"splits": splits, "criterion": criterion, "growth": growth, "leaf": leaf}
    opt.check_names(parts)
    given: dict[str, Any] = dict(
        **parts,
        max_depth=max_depth,
        max_leaf_nodes=max_leaf_nodes,
        min_samples_leaf=min_samples_leaf,
        min_weight_fraction_leaf=min_weight_fraction_leaf,
        min_impurity_decrease=min_impurity_decrease,
        ccp_alpha=ccp_alpha,
        class_weight="balanced" if balanced else None,
        n_jobs=n_jobs,
    )
    given |= {"random_state": seed} if "random_state" in _parameters(kind) else {}
    settings = list(setting or ()) + _bins(kind, splits, max_bins)
    wanted = cast("TaskKind | None", task) or only_task(kind)
    if wanted is not None:
        check_task(kind, wanted)
        make_model(kind, wanted, given, settings)  # wrong usage is told before the data are read
    opt.check_output(output, data)
    if batches or (batches is None and _is_big(data)):
        _fit_batches(kind, wanted, given, settings, data, output, target, weight, categorical, drop, as_json)
        return
    rows = opt.read_training_data(data, target, wanted, weight=weight, categorical=categorical, drop=drop)
    check_task(kind, rows.task)
    model = make_model(kind, rows.task, given, settings)
    _check_density(data, rows, model)
    with settings_are_usage(settings):
        model.fit(rows.X, rows.y, sample_weight=rows.sample_weight)
    score = float(model.score(rows.X, rows.y, sample_weight=rows.sample_weight))
    if rows.is_sparse and hasattr(model, "tree_"):
        _name_columns(model, rows.feature_names)
    model.save(output)
    _report(model, rows, score, output, as_json)


def _report(model: Any, rows: TrainingData, score: float, output: Path, as_json: bool) -> None:
    """Tell how large the model is and how well it fits its rows."""
    sizes = _sizes(model)
    measure = "training accuracy" if rows.task == "classification" else "training R²"
    tell(f"{len(rows.y)} rows, {_said(sizes)}, {measure} {score:.4f}; wrote {output}")
    if as_json:
        summary = {"model": str(output), "task": rows.task, "rows": len(rows.y), "features": len(rows.feature_names)}
        score_name = "training_accuracy" if rows.task == "classification" else "training_r2"
        opt.print_json(summary | sizes | {score_name: score})


def _sizes(model: Any) -> dict[str, Any]:
    """Describe a fitted model in a few numbers."""
    if hasattr(model, "n_estimators"):
        return {"trees": int(model.n_estimators)}
    if not hasattr(model, "tree_"):
        return {"classes": len(model.classes_)}
    sizes: dict[str, Any] = {"leaves": int(model.get_n_leaves()), "depth": int(model.get_depth())}
    if hasattr(model, "status_"):
        sizes |= {"status": model.status_, "objective": float(model.objective_), "gap": float(model.gap_)}
    return sizes


def _said(sizes: dict[str, Any]) -> str:
    words = []
    for name, value in sizes.items():
        if name == "leaves":
            words.append(f"{value} {'leaf' if value == 1 else 'leaves'}")
        elif name == "depth":
            words.append(f"depth {value}")
        elif name in ("classes", "trees"):
            words.append(f"{value} {name}")
        elif name == "status":
            words.append("proven optimal" if value == "optimal" else f"not proven optimal, gap {sizes['gap']:.4g}")
    return ", ".join(words)


def _bins(kind: str, splits: str | None, max_bins: int | None) -> list[str]:
    """Return --max-bins as a parameter of the family."""
    from boscage.base.component import names, resolve

    if max_bins is None:
        return []
    if kind == "tree" and "max_bins" not in resolve("splits", splits or "axis").get_params():
        known = [name for name in names("splits") if "max_bins" in resolve("splits", name).get_params()]
        have = f"{', '.join(known[:-1])} and {known[-1]} have"
        raise typer.BadParameter(
            f"cannot be combined with --splits {splits}: it has no bins, {have}", param_hint="--max-bins"
        )
    if "splits" not in _parameters(kind):
        raise typer.BadParameter(f"cannot be combined with --model {kind}: it has no bins", param_hint="--max-bins")
    return [f"splits__max_bins={max_bins}"]


def _parameters(kind: str) -> dict[str, Any]:
    import boscage

    found: dict[str, Any] = getattr(boscage, next(iter(MODELS[kind].values())))().get_params(deep=False)
    return found


def _is_big(data: str) -> bool:
    """Whether to read in batches by default: what no other reader takes, and files that may not fit into memory."""
    path = Path(data)
    if not path.exists():
        return "*" in data
    return path.is_dir() or (
        path.suffix.lower() in (".parquet", ".pq", ".arrow", ".feather", ".ipc") and path.stat().st_size >= _BIG_FILE
    )


def _fit_batches(
    kind: str,
    task: TaskKind | None,
    given: dict[str, Any],
    settings: list[str],
    data: str,
    output: Path,
    target: str | None,
    weight: str | None,
    categorical: list[str] | None,
    drop: list[str] | None,
    as_json: bool,
) -> None:
    from boscage.base.component import resolve
    from boscage.batches.source import open_source
    from boscage.datasets._tables import Table, training_data

    model = make_model(kind, task or "classification", given, settings)
    if not hasattr(model, "fit_batches"):
        raise typer.BadParameter(
            f"--model {kind} cannot be fitted in batches; --model tree or forest can", param_hint="--batches"
        )
    family = resolve("splits", model.splits).get_params()
    if family.get("max_bins", 0) is None:
        needs = f"--splits {given['splits'] or 'axis'} needs it in batches, for example --max-bins 255"
        raise typer.BadParameter(needs, param_hint="--max-bins")
    target = "y" if target is None else target
    source = open_source(data, target, weight, drop=drop or (), text=categorical or ())
    first = Table(data, next((rows for piece in source.start() if (rows := piece()).num_rows), None))
    if first.data is not None:  # they decide what the target means, as all rows do in memory
        rows = training_data(first, target, weight=weight, categorical=categorical or (), task=task)
        for note in rows.notes:
            tell(note)
        task = rows.task
        check_task(kind, task)
        model = make_model(kind, task, given, settings)
    with settings_are_usage(settings):
        model = model.fit_batches(source, target, weight=weight)
    model.save(output)
    sizes, reading = _sizes(model), model.reading_
    tell(
        f"{reading.rows} rows, {_said(sizes)}, {reading.passes} passes, "
        f"{reading.bytes_read / 1e6:.0f} MB read; wrote {output}"
    )
    if as_json:
        summary = {"model": str(output), "task": task, "rows": reading.rows, "features": int(model.n_features_in_)}
        opt.print_json(summary | sizes | {"passes": reading.passes, "bytes_read": reading.bytes_read})


def _check_density(data: str, rows: TrainingData, model: Any) -> None:
    from boscage.base.component import resolve

    if not rows.is_sparse or not hasattr(model, "splits"):
        return
    family: Any = resolve("splits", model.splits)
    if not family.allows_sparse:
        raise ValueError(
            f"{data}: holds sparse rows, which splits={model.splits!r} cannot take; write it with a dense X"
        )


def _name_columns(model: Any, names: tuple[str, ...]) -> None:
    """Let a model that was fitted on sparse rows remember the column names of their file."""
    from dataclasses import replace

    import numpy as np

    model.tree_ = replace(model.tree_, schema=replace(model.tree_.schema, feature_names=names))
    model.feature_names_in_ = np.array(names, dtype=object)
