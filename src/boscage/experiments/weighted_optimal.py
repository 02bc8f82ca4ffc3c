"""Weighted optimal decision trees: Tables 1-6 and Figures 1-4, with exact weights as a third column.

Three kinds of data (LSE with 25 % wrong labels, three circles, four times three circles), two kinds of weights (v = 3
on the rows an unweighted tree gets wrong, or on one class), N = 1500, 6000, 9000 rows. A tree of depth 5 with penalty
.001 is fitted to copies made by DaB, to copies drawn by weight, and to the weights themselves; all are judged by the
weighted loss on the training rows, as in the paper. Copies of a row are given to the search as its whole-number weight,
which is the same problem.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from boscage._whole_file import save_figure
from boscage.datasets.optimal import (
    bias_class_weights,
    bias_error_weights,
    make_four_spheres,
    make_linear_with_errors,
    make_three_spheres,
)
from boscage.duplication import duplicate_dab, duplicate_sampled
from boscage.experiments._runner import Job, markdown_table
from boscage.optimal import OptimalTreeClassifier

TABLES = (1, 2, 3, 4, 5, 6)
FIGURES = (1, 2, 3, 4)
DEPTH, ALPHA, VALUE = 5, 0.001, 3.0
ROWS = {1: 1500, 2: 6000, 3: 9000, 4: 1500, 5: 6000, 6: 9000}
DATA: dict[str, tuple[str, Callable[..., Any]]] = {
    "lse": ("LSE", lambda n, seed: make_linear_with_errors(n, 2, 2, 0.25, seed)),
    "circles": ("Single circular", lambda n, seed: make_three_spheres(n, random_state=seed)),
    "four": ("MS", lambda n, seed: make_four_spheres(n, random_state=seed)),
}
# data, rows, seed and budget of each figure; few rows are what makes a tree fit single errors
PICTURES = {1: ("circles", 1500, 0, 2), 2: ("four", 1500, 0, 2), 3: ("lse", 1500, 0, 2), 4: ("lse", 60, 1, 2)}
COPIES = {"dab": duplicate_dab, "sampling": duplicate_sampled}
# seeds, budgets p, seconds per fit
SPEND: dict[str, tuple[int, tuple[int, ...], float]] = {
    "quick": (2, (2, 10, 100), 1.0),
    "full": (3, (2, 3, 5, 8, 10, 15, 30, 100), 6.0),
}


def reproduce(job: Job) -> None:
    """Make the tables and figures a job asks for."""
    for table in job.tables:
        _table(job, table)
    for figure in job.figures:
        _figure(job, figure)


def fit(X: Any, y: Any, weight: Any, seconds: float) -> OptimalTreeClassifier:
    """Fit the paper's tree; not proven in time is no failure here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return OptimalTreeClassifier(DEPTH, ALPHA, time_limit=seconds).fit(X, y, weight)


def _problem(job: Job, kind: str, n: int, seed: int, weighting: str) -> tuple[Any, Any, Any]:
    """Return rows, labels and weights.

    The rows an unweighted tree gets wrong are a cell of their own: where that tree is not
    proven in time it may differ from run to run, and all methods must see the same weights.
    """
    X, y = DATA[kind][1](n, seed)
    if weighting == "class":
        return X, y, bias_class_weights(y, 1, VALUE)
    seconds = SPEND[job.budget][2]
    settings = {"data": kind, "n": n, "seed": seed, "seconds": seconds}

    def work() -> dict[str, Any]:
        tree = fit(X, y, None, seconds)
        return {"wrong": np.packbits(tree.predict(X) != y).tobytes().hex(), "status": tree.status_}

    cell = job.cell(f"errors {kind} N={n} seed={seed}", settings, work)
    wrong = np.unpackbits(np.frombuffer(bytes.fromhex(cell["wrong"]), np.uint8), count=n).astype(bool)
    return X, y, bias_error_weights(y, np.where(wrong, 1 - y, y), VALUE)


def _outcome(tree: OptimalTreeClassifier, X: Any, y: Any, weight: Any) -> dict[str, Any]:
    wrong = weight[tree.predict(X) != y].sum() / weight.sum()
    return {"loss": float(wrong), "leaves": tree.get_n_leaves(), "status": tree.status_, "gap": tree.gap_}


def _cell(job: Job, weighting: str, kind: str, n: int, seed: int, method: str, p: int) -> dict[str, Any]:
    """Weighted loss of one fitted tree; p is 0 for exact weights."""
    seconds = SPEND[job.budget][2]
    settings = {"weights": weighting, "data": kind, "n": n, "seed": seed, "method": method, "p": p, "seconds": seconds}

    def work() -> dict[str, Any]:
        X, y, weight = _problem(job, kind, n, seed, weighting)
        counts = weight if method == "exact" else COPIES[method](weight, p, seed)
        return _outcome(fit(X, y, counts, seconds), X, y, weight)

    return job.cell(f"{weighting} {kind} N={n} {method} p={p} seed={seed}", settings, work)


def _mean(cells: list[dict[str, Any]]) -> str:
    losses = np.array([cell["loss"] for cell in cells])
    return f"{losses.mean():.3f} ± {losses.std():.3f}"


def _table(job: Job, table: int) -> None:
    weighting, n = ("error" if table <= 3 else "class"), ROWS[table]
    seeds, budgets, seconds = SPEND[job.budget]
    printed = json.loads(files("boscage.experiments").joinpath("weighted_optimal.json").read_text())[str(table)]
    job.expect(len(DATA) * seeds * (1 + len(COPIES) * len(budgets)))
    header, rows = ["p"], []
    for title, _ in DATA.values():
        header += [
            f"{title}: DaB (paper; difference)",
            f"{title}: sampling (paper; difference)",
            f"{title}: exact weights",
        ]
    exact = {kind: [_cell(job, weighting, kind, n, seed, "exact", 0) for seed in range(seeds)] for kind in DATA}
    broken = []
    for p in budgets:
        row = [str(p)]
        for kind in DATA:
            for method in COPIES:
                cells = [_cell(job, weighting, kind, n, seed, method, p) for seed in range(seeds)]
                mean, spread = printed[str(p)][f"{kind}_{method}"]
                gap = float(np.mean([cell["loss"] for cell in cells])) - mean
                row.append(f"{_mean(cells)} ({mean:.3f} ± {spread:.3f}; {gap:+.3f})")
                broken += [
                    f"{kind} p={p} {method} seed {seed}"
                    for seed, (best, cell) in enumerate(zip(exact[kind], cells))
                    if best["status"] == "optimal" and _objective(best) > _objective(cell) + 1e-9
                ]
            row.append(_mean(exact[kind]))
        rows.append(row)
    page = _page(table, weighting, n, markdown_table(header, rows), exact, seconds, seeds, broken)
    job.write(f"weighted-optimal-table-{table}.md", page)


def _objective(cell: dict[str, Any]) -> float:
    return float(cell["loss"] + ALPHA * cell["leaves"])


def _page(
    table: int,
    weighting: str,
    n: int,
    numbers: str,
    exact: dict[str, list[dict[str, Any]]],
    seconds: float,
    seeds: int,
    broken: list[str],
) -> str:
    counts = {kind: sum(cell["status"] == "optimal" for cell in cells) for kind, cells in exact.items()}
    proven = ", ".join(f"{DATA[kind][0]} {count} of {seeds}" for kind, count in counts.items())
    held = "held in every case" if not broken else f"FAILED in {', '.join(broken)}"
    return (
        f"# Table {table}: weighted loss, weights v = 3 by {weighting}, N = {n}\n\n"
        f"Depth {DEPTH}, penalty {ALPHA} per leaf, mean ± deviation over {seeds} seeds, at most {seconds:g} s per fit. "
        "Data are drawn anew, so the paper's columns are of other draws.\n\n"
        f"{numbers}\n\n"
        f"Exact weights proven optimal: {proven}. "
        f"A proven optimum is never worse in the objective (loss + penalty) than a tree fitted to copies: {held}.\n"
    )


def _figure(job: Job, figure: int) -> None:
    """Decision regions of the trees fitted to DaB copies, to drawn copies and to exact weights, side by side."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    kind, n, seed, p = PICTURES[figure]
    seconds = SPEND[job.budget][2]
    X, y, weight = _problem(job, kind, n, seed, "error")
    fig, axes = plt.subplots(1, 3, figsize=(13, 4.7), layout="constrained")
    titles = {"dab": f"DaB, p = {p}", "sampling": f"drawn by weight, p = {p}", "exact": "exact weights"}
    for ax, (method, title) in zip(axes, titles.items()):
        counts = weight if method == "exact" else COPIES[method](weight, p, seed)
        tree = fit(X, y, counts, 5 * seconds)  # few fits, and a picture should show an optimum if it can
        outcome = _outcome(tree, X, y, weight)
        _draw(ax, tree, X, y)
        proof = "" if tree.status_ == "optimal" else ", not proven"
        ax.set_title(f"{title}\nweighted loss {outcome['loss']:.3f}, {outcome['leaves']} leaves{proof}")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, markerscale=3)
    path = job.out / f"weighted-optimal-figure-{figure}.png"
    save_figure(fig, path, dpi=110)
    plt.close(fig)
    job.written.append(path)
    job.tell(f"{job.paper}: figure {figure}")


def _draw(ax: Any, tree: OptimalTreeClassifier, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> None:
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    grid = np.meshgrid(np.linspace(low[0], high[0], 400), np.linspace(low[1], high[1], 400))
    region = tree.predict(np.column_stack([g.ravel() for g in grid])).reshape(grid[0].shape)
    ax.contourf(*grid, region, levels=[-0.5, 0.5, 1.5], colors=["#f6c28b", "#8fbbe8"])
    for label, colour in ((0, "#a34a00"), (1, "#0b3d80")):
        ax.plot(*X[y == label].T, ".", ms=3, color=colour, label=f"class {label}")
