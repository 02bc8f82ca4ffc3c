"""Tables of the cells that accuracy.py kept: means by set, mean ranks, paired tests, costs; as text or as a page."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

import numpy as np
from scipy import stats

METRICS = {
    "classification": ("accuracy", "log_loss"), "published": ("accuracy", "log_loss"), "regression": ("rmse",),
    "single": ("rmse",),
}  # fmt: skip
# Best accuracy in print on the published cut: of all columns of the table of Deep Forest, and of the forests in it.
PRINTED = {
    "pendigits": (0.9750, 0.9750),
    "letter": (0.9592, 0.9592),
    "usps": (0.9467, 0.9467),
    "ijcnn1": (0.9861, 0.9816),
    "mnist": (0.9842, 0.9811),
}
# The best root mean squared error of a single tree in print: the table of DTSemNet, ECAI 2024.
PRINTED_SINGLE = {"abalone": 2.07, "cpu-act": 2.58, "ailerons": 1.66e-4}
NOMINAL_SETS = {
    "car", "tic-tac-toe", "monk1", "monk2", "monk3", "promoters", "mushroom", "bar-7", "broward", "coupon-carryout",
    "coupon-rest20", "dna", "osrt-servo",
}  # fmt: skip

Means = dict[str, dict[str, dict[str, float]]]  # set -> method -> column -> mean over its splits


def means(folder: Path) -> Means:
    """Mean of every column over the splits of a set; a method with a failed split is left out for that set."""
    found: Means = {}
    for path in sorted(folder.glob("*.json")):
        cells = json.loads(path.read_text())
        most = max(len(splits) for splits in cells.values()) if cells else 0
        for method, splits in cells.items():
            rows = list(splits.values())
            if len(rows) == most and not any("error" in row for row in rows):
                columns = [name for name in rows[0] if rows[0][name] is not None]
                found.setdefault(path.stem, {})[method] = {
                    name: float(np.mean([row[name] for row in rows])) for name in columns
                }
    return found


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[j]) for row in (head, *rows)) for j in range(len(head))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in (head, *rows)]
    rule = "  ".join("=" * width for width in widths)
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def by_set(found: Means, methods: Sequence[str], metric: str) -> str:
    best = max if metric == "accuracy" else min
    rows = []
    for name, row in found.items():
        values = {method: row[method][metric] for method in methods if method in row}
        top = best(values.values()) if values else math.nan
        shown = [
            "–"
            if method not in values
            else f"**{values[method]:.4g}**"
            if values[method] == top
            else f"{values[method]:.4g}"
            for method in methods
        ]
        rows.append([name, *shown])
    return table(["set", *methods], rows)


def shared(found: Means, methods: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
    return {name: row for name, row in found.items() if all(method in row for method in methods)}


def summary(found: Means, methods: Sequence[str], metric: str, ours: str) -> str:
    """Mean, mean rank, wins and Wilcoxon test of `ours` against each method over the sets that all have."""
    rows = shared(found, methods)
    sign = -1 if metric == "accuracy" else 1
    values = np.array([[row[method][metric] for method in methods] for row in rows.values()])
    ranks = np.array([stats.rankdata(sign * line) for line in values])
    reference = values[:, methods.index(ours)]
    is_error = metric == "rmse"  # errors have the units of their sets: ratios to ours, geometric mean
    lines = []
    for j, method in enumerate(methods):
        gap = np.log(values[:, j] / reference) if is_error else sign * (values[:, j] - reference)
        wins, losses = int((gap > 0).sum()), int((gap < 0).sum())
        p = stats.wilcoxon(gap).pvalue if np.any(gap) else math.nan
        centre = math.exp(gap.mean()) if is_error else values[:, j].mean()
        costs = [
            math.exp(np.mean([math.log(max(row[method][cost], 1e-9)) for row in rows.values()]))
            if all(cost in row[method] for row in rows.values())
            else math.nan
            for cost in ("fit", "predict", "bytes", "leaves")
        ]
        against = ["", "", ""] if method == ours else [str(wins), str(losses), f"{p:.2g}"]
        lines.append(
            [
                method,
                f"{centre:.4f}",
                f"{ranks[:, j].mean():.2f}",
                *against,
                *("–" if math.isnan(value) else f"{value:.3g}" for value in costs),
            ]
        )
    kind = f"error / error of {ours}" if is_error else f"mean {metric}"
    head = [
        "method",
        kind,
        "mean rank",
        f"{ours} better",
        f"{ours} worse",
        "p",
        "fit CPU s",
        "predict CPU s",
        "bytes",
        "leaves",
    ]
    return f"{len(rows)} sets\n\n" + table(head, lines)


def report(folder: Path, task: str, ours: str = "Forest", methods: Sequence[str] | None = None) -> str:
    found = means(folder)
    present = sorted({method for row in found.values() for method in row})
    methods = [method for method in (methods or present) if method in present]
    reference = ours if ours in methods else methods[0]
    parts = []
    for metric in METRICS[task]:
        parts += [metric, by_set(found, methods, metric), summary(found, methods, metric, reference)]
        for title, is_nominal in (("numbers", False), ("categories and rules", True)):
            part = {name: row for name, row in found.items() if (name in NOMINAL_SETS) == is_nominal}
            if len(shared(part, methods)) > 2:
                parts += [f"{metric}: sets of {title}", summary(part, methods, metric, reference)]
    return "\n\n".join(parts)


PAGE = Path(__file__).parents[1] / "docs" / "results" / "accuracy.rst"
_HEAD = """Accuracy by data set
====================

Forests and trees with linear leaves next to other libraries, each at its defaults, on public data sets. Made from
finished cells in ``benchmarks/results/accuracy`` by ``python benchmarks/accuracy.py TASK --page``.

**Protocol.** The published cut with three seeds, else the published ten folds (three of them from 5,000 rows on),
else five shuffled folds (three from 5,000 rows on); a cell is the mean over them. Classification sets with more than
20,000 training rows are left out; of larger regression sets (2dplanes, fried, kin40k, protein) every method gets the
same 10,000 rows to learn from, and sets of 100 columns (gas) three folds. Of data sets that exist twice one is taken,
and ``bike`` holds its target among its columns. YDF takes dense columns only, so that ``sector`` (55,197 columns) is
beyond it. Nominal columns are one-hot coded for scikit-learn and categories for the others. Log-losses are taken
after adding .001 to each class. Tests are Wilcoxon's signed-rank test over the sets, two-sided, without a correction
for the number of methods. CPU seconds are geometric means of one thread on a machine with other work, and most cells
of the forest were run when it was busiest: read them as ratios, roughly. The recipe of the forest was chosen on most
of these classification sets, and that of linear leaves on 14 of the regression sets (:doc:`/research/regression`
names them), so their lead there is optimistic; nothing was tuned for one set, but for the forests of linear leaves
among the published cuts. A dash is a cell that was not run.

"""


def published(found: Means, cuts: Path, methods: Sequence[str]) -> str:
    """Table of the sets whose cut into training and test rows is in print with results of other forests."""
    title = "Published cuts"
    more, seeds = means(cuts), {}
    rows = []
    for name, (best, best_forest) in PRINTED.items():
        row = found.get(name, {}) | more.get(name, {})
        linear = linear_leaves_of(cuts / f"{name}.json")
        seeds[name] = len(linear)
        shown = {method: row[method]["accuracy"] for method in methods if method in row}
        shown |= {LINEAR_LEAVES: float(np.mean(linear))} if linear else {}
        reached = [f"{shown[method]:.4f}" if method in shown else "–" for method in (*methods, LINEAR_LEAVES)]
        verdicts = []
        for ours in (shown.get("Forest", math.nan), shown.get(LINEAR_LEAVES, math.nan)):
            verdict = "above all" if ours > best else "above the forests" if ours > best_forest else "below"
            verdicts.append("–" if math.isnan(ours) else verdict)
        rows.append([name, *reached, f"{best:.4f}", f"{best_forest:.4f}", *verdicts])
    text = (
        "Accuracy on the cut into training and test rows that Deep Forest's table has too, mean of three seeds "
        "(mnist: two); beside the best accuracy printed there (forests and boosting, five trials), and the best of "
        "its forests. The column of linear leaves is a forest of 100 axis-parallel trees of 64 leaves (mnist: 256), "
        "each with a logistic model, grown on four fifths of the rows. Its settings were chosen on training rows of "
        "usps and mnist (:doc:`/research/forests`). Its seeds: "
    )
    text += ", ".join(f"{name} {n}" for name, n in seeds.items() if n) + ". A dash is a cell that was not run."
    head = ["set", *methods, LINEAR_LEAVES, "printed", "printed, forests", "Forest is", "linear leaves are"]
    return f"{title}\n{'~' * len(title)}\n\n{text}\n\n{table(head, rows)}"


LINEAR_LEAVES = "linear leaves"


def linear_leaves_of(path: Path) -> list[float]:
    """Accuracy by seed of the forest with linear leaves, of which not every set has all seeds."""
    cells = json.loads(path.read_text()) if path.exists() else {}
    method = f"Forest, {256 if path.stem == 'mnist' else 64} linear leaves"
    return [row["accuracy"] for row in cells.get(method, {}).values()]


TREES = ("RandomForest-500", "tree, linear leaves", "tree, hard linear leaves", "pruned CART")


def against_a_forest(found: Means) -> str:
    """Tables of single trees against a forest, over all sets that have both."""
    title = "One tree against a forest"
    lines = []
    for method in TREES[1:]:
        ratios = {
            name: row[method]["rmse"] / row[TREES[0]]["rmse"]
            for name, row in found.items()
            if method in row and TREES[0] in row
        }
        above = sorted((name for name in ratios if ratios[name] > 1.1), key=lambda name: -ratios[name])
        p = stats.wilcoxon(np.log(list(ratios.values()))).pvalue
        lines.append(
            [
                method,
                str(len(ratios)),
                f"{math.exp(np.mean(np.log(list(ratios.values())))):.3f}",
                str(sum(ratio < 1 for ratio in ratios.values())),
                f"{p:.2g}",
                ", ".join(f"{name} {ratios[name]:.2f}" for name in above) if len(above) < 8 else str(len(above)),
            ]
        )
    pairs = [
        row[TREES[1]]["rmse"] / row[TREES[3]]["rmse"] for row in found.values() if TREES[1] in row and TREES[3] in row
    ]
    text = (
        "Ratios of RMSE to that of RandomForest-500, geometric means over all sets that have both. Trees have at most "
        "64 leaves and none was tuned. With linear leaves a tree is below the pruned CART on "
        f"{sum(r < 1 for r in pairs)} of {len(pairs)} sets, at {math.exp(np.mean(np.log(pairs))):.3f} of its RMSE."
    )
    head = ["tree", "sets", "RMSE / forest's", "lower", "p", "more than 10 % above"]
    return f"{title}\n{'~' * len(title)}\n\n{fill(text, 118)}\n\n{table(head, lines)}"


def single(folder: Path) -> str:
    """Table of the sets for which errors of single trees are in print, paired with a forest."""
    title = "Single trees in print"
    rows = []
    for name, printed in PRINTED_SINGLE.items():
        path = folder / f"{name}.json"
        cells = json.loads(path.read_text()) if path.exists() else {}
        forests = cells.get(TREES[0], {})
        for method in ("tree, linear leaves", "tree, tuned linear leaves"):
            trees = cells.get(method, {})
            if len(trees) < 2:
                continue
            errors = np.array([row["rmse"] for row in trees.values()])
            pairs = np.array([[trees[draw]["rmse"], forests[draw]["rmse"]] for draw in trees if draw in forests])
            is_paired = len(pairs) > 1
            rows.append(
                [
                    name,
                    method,
                    f"{errors.mean():.4g} ± {errors.std(ddof=1) / math.sqrt(len(errors)):.2g}",
                    f"{printed:.4g}",
                    f"{pairs[:, 1].mean():.4g} ({len(pairs)})" if is_paired else "–",
                    f"{pairs[:, 0].mean() / pairs[:, 1].mean():.3f}" if is_paired else "–",
                    f"{stats.ttest_rel(*pairs.T).pvalue:.2g}" if is_paired else "–",
                    str(max(row["leaves"] for row in trees.values())),
                    f"{max(row['fit'] for row in trees.values()):.2g}",
                ]
            )
    text = (
        "Random splits, four fifths to learn from, the same for all methods: mean RMSE and its standard error over ten "
        "of them, beside the best single tree of a printed table (DTSemNet, ECAI 2024; its splits are others), and "
        "paired with a forest of 500 on as many splits as stand in brackets. The tuned tree has its blend (0 to 1.6) "
        "and its number of leaves (8 or 64) chosen by five-fold cross-validation on the training rows."
    )
    head = [
        "set", "tree", "RMSE", "printed", TREES[0], "ratio", "p (paired t)", "most leaves", "slowest fit, CPU s",
    ]  # fmt: skip
    return f"{title}\n{'~' * len(title)}\n\n{fill(text, 118)}\n\n{table(head, rows)}"


def page(results: Path) -> str:
    """Return the page of both tasks."""
    parts = [_HEAD.rstrip()]
    for task, ours, title in (
        ("classification", "Forest", "Forests: classification"),
        ("regression", "RandomForest-500", "Forests and linear leaves: regression"),
    ):
        found = means(results / task)
        methods = [method for method in ORDER if any(method in row for row in found.values())]
        parts += [f"{title}\n{'-' * len(title)}"]
        for metric in METRICS[task]:
            name = {"accuracy": "Accuracy", "log_loss": "Log-loss", "rmse": "Root mean squared error"}[metric]
            parts += [f"{name}\n{'~' * len(name)}", "All methods, over the sets that all of them have:"]
            parts += [summary(found, methods, metric, ours)]
            if metric == "accuracy":
                nominal = {key: row for key, row in found.items() if key in NOMINAL_SETS}
                parts += ["Sets of categories and rules alone:", summary(nominal, methods, metric, ours)]
            parts += ["Set by set:", by_set(found, methods, metric)]
        if task == "classification":
            parts += [published(found, results / "published", methods)]
        else:
            parts += [against_a_forest(found), single(results / "single")]
    return "\n\n".join(parts) + "\n"


ORDER = (
    "Forest", "RandomForest-500", "ExtraTrees-500", "YDF-oblique", "tree, linear leaves", "tree, hard linear leaves",
    "pruned CART",
)  # fmt: skip
