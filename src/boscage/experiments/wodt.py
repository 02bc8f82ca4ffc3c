"""Weighted oblique trees: Tables 2 and 3 and Figures 1-3, the paper's numbers beside ours.

WODT as published, our variant of it with one configuration for all data (`validated`, shown as "oblique (tuned)"), and
the rivals of the paper; HHCART, which the paper does not have, is added. Sets of up to 11,000 rows are cross-validated,
larger ones measured on one cut (four fifths to learn from). Slow families get a cap of seconds per fit; after it the
remaining nodes get tests without a search, and the table says so. Times are CPU seconds of one thread.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from boscage._whole_file import save_figure
from boscage.datasets import list_datasets, load_dataset
from boscage.experiments import _wodt_trees as trees
from boscage.experiments._runner import Job, markdown_table
from boscage.top_down import TopDownTreeClassifier

TABLES = (2, 3)
FIGURES = (1, 2, 3)
OPTIONS = {"folds": int, "trials": int, "cap": float, "data": str, "methods": str}
PRINTED: dict[str, dict[str, dict[str, list[float] | None]]] = json.loads(
    files("boscage.experiments").joinpath("wodt.json").read_text(encoding="utf-8")
)
DATA = tuple(PRINTED["2"])
FILES = {"protein": "protein-part"}  # not whole: see the page on data
ONE_CUT = ("letter", "protein", "shuttle", "connect4", "mnist", "ijcnn1", "cod-rna")  # over 11,000 rows
DEEP_DATA = ("usps", "protein", "connect4", "mnist")
DEEP_METHODS = ("WODT", "APDT", "CO2r", "OC1", "CART-LCr")
BOTH = ("as published", "WODT")  # the published form and our variant of it
PAPER_RUNS = 50
SPEND: dict[str, dict[str, Any]] = {
    "quick": {"folds": 5, "trials": 1, "small trials": 1, "cap": 2.0, "rows": 1000, "deep rows": 2000},
    "full": {"folds": 5, "trials": 2, "small trials": 10, "cap": 120.0, "rows": 10**9, "deep rows": 10**9},
}


class _Plan:
    """What a job spends, and on what; cells outside the choice are shown if an earlier run left them."""

    def __init__(self, job: Job) -> None:
        self.job = job
        spend = {**SPEND[job.budget], **{k: v for k, v in job.options.items() if k in ("folds", "trials", "cap")}}
        self.folds, self.trials, self.cap = int(spend["folds"]), int(spend["trials"]), float(spend["cap"])
        self.small_trials = int(job.options.get("trials", spend["small trials"]))
        self.rows, self.deep_rows = spend["rows"], spend["deep rows"]
        self.methods = trees.methods(self.cap)
        self.chosen_data = _choice("data", job.options.get("data"), DATA)
        self.chosen_methods = _choice("methods", job.options.get("methods"), tuple(self.methods))

    def result(self, kind: str, data: str, method: str, trial: int, most_rows: int,
               work: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:  # fmt: skip
        """Return a cell, computed if it is asked for and the data are at hand."""
        name, settings = self._key(kind, data, method, trial)
        known = self.job.known(name, settings)
        asked = data in self.chosen_data and method in self.chosen_methods
        found = rows_of(data) if asked else None
        if known is not None or found is None or len(found[1]) > most_rows:
            return known
        return self.job.cell(name, settings, work)

    def trials_of(self, data: str) -> int:
        """Return how often a set is dealt into folds."""
        found = rows_of(data)
        if found is None or data in ONE_CUT:
            return 1
        return self.small_trials if len(found[1]) <= trees.SMALL_ROWS else self.trials

    def known(self, kind: str, data: str, method: str, trial: int) -> dict[str, Any] | None:
        """Return a cell that is there already."""
        return self.job.known(*self._key(kind, data, method, trial))

    def _key(self, kind: str, data: str, method: str, trial: int) -> tuple[str, dict[str, Any]]:
        settings: dict[str, Any] = {"data": data, "method": method, "folds": self.folds, "trial": trial}
        if method == "WODT":
            settings["wodt"] = {"penalties": trees.PENALTIES, "bits": trees.BITS, **trees.INNER}
        if method == "CART-LC":
            settings["cart-lc"] = {"eliminations": trees.ELIMINATIONS, "bits": trees.BITS, **trees.INNER}
        if kind == "tables" and method in trees.WITH_DEPTH and data in ONE_CUT:
            settings["depths"] = trees.DEPTHS
        if method not in ("WODT", "as published", "APDT"):
            settings["cap"] = self.cap
        return f"{kind} {data} {method} trial {trial}", settings


def _choice(name: str, text: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    names = known if text is None else tuple(part.strip() for part in text.split(","))
    for part in names:
        if part not in known:
            raise ValueError(f"{name}={part!r} is not known. Pass some of {', '.join(known)}, with commas.")
    return names


def _label(method: str) -> str:
    """Return a method's name as it is shown."""
    return trees.SHOWN.get(method, method)


def reproduce(job: Job) -> None:
    """Make the tables and figures a job asks for."""
    plan = _Plan(job)
    for table in job.tables:
        _table(plan, table)
    for figure in job.figures:
        _times(plan) if figure == 1 else _depths(plan, figure)


@cache
def rows_of(name: str) -> tuple[Any, Any] | None:
    """Rows and labels of a set, if it is at hand."""
    stored = FILES.get(name, name)
    if stored not in list_datasets():
        return None
    data = load_dataset(stored)
    return (data.X.toarray() if sparse.issparse(data.X) else data.X), data.y


def cuts(data: str, folds: int, trial: int) -> list[tuple[Any, Any]]:
    """Training and test rows: all folds of a small set, the first of a large one."""
    parts = list(StratifiedKFold(folds, shuffle=True, random_state=trial).split(*rows_of(data)))  # type: ignore[misc]
    return parts[:1] if data in ONE_CUT else parts


def _cross_validate(data: str, method: str, make: Callable[[], Any], folds: int, trial: int) -> dict[str, Any]:
    X, y = rows_of(data)  # type: ignore[misc]
    is_deep = data in DEEP_DATA and method in DEEP_METHODS and trial == 0
    result: dict[str, Any] = {"accuracy": [], "leaves": [], "seconds": [], "capped": 0}
    for fold, (train, test) in enumerate(cuts(data, folds, trial)):
        seed, start = 100 * trial + fold, time.process_time()
        splits, limits = trees.chosen(method, make(), data in ONE_CUT, X[train], y[train], seed)
        spent = time.process_time() - start
        tree, seconds, capped = trees.fit(splits, X[train], y[train], seed, **limits)
        result["accuracy"].append(float(tree.score(X[test], y[test])))
        result["leaves"].append(tree.get_n_leaves())
        result["seconds"].append(spent + seconds)
        result["capped"] += capped
        if is_deep and fold == 0 and not limits:  # a slow fit serves the figures too
            result["depth"] = {**_curves(tree, X, y, train, test), "capped": capped}
    return result


def _collected(plan: _Plan, data: str, method: str) -> dict[str, Any] | None:
    """Join the trials of a cell of the tables."""
    parts = []
    for trial in range(plan.trials_of(data)):

        def work(trial: int = trial) -> dict[str, Any]:
            return _cross_validate(data, method, plan.methods[method], plan.folds, trial)

        part = plan.result("tables", data, method, trial, plan.rows, work)
        if part is not None:
            parts.append(part)
    if not parts:
        return None
    joined = {key: [value for part in parts for value in part[key]] for key in ("accuracy", "leaves", "seconds")}
    return {**joined, "capped": sum(part["capped"] for part in parts)}


def _all(plan: _Plan) -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for data in DATA:
        row = {method: _collected(plan, data, method) for method in plan.methods}
        found[data] = {method: result for method, result in row.items() if result is not None}
    return {data: row for data, row in found.items() if row}


def _shown(values: list[float], digits: int) -> str:
    text = f"{np.mean(values):.{digits}f}"
    return text if len(values) < 2 else f"{text} ± {np.std(values):.{digits}f}"


def _cell_text(cell: dict[str, Any], what: str, digits: int, runs: int) -> str:
    fewer = "" if len(cell[what]) == runs else f" ({len(cell[what])} runs)"
    return _shown(cell[what], digits) + (" capped" if cell["capped"] else "") + fewer


def _table(plan: _Plan, number: int) -> None:
    what, digits = {2: ("accuracy", 4), 3: ("leaves", 1)}[number]
    found = _all(plan)
    header = ["data", "runs", _label("WODT"), _label("as published"), "paper"]
    rivals = [method for method in plan.methods if method not in ("WODT", "as published")]
    for rival in rivals:
        header += [rival] + (["paper"] if rival != "HHCART" else [])
    rows = []
    for data, row in found.items():
        printed = PRINTED[str(number)][data]
        runs = max(len(cell[what]) for cell in row.values())
        line = [data + (" (part)" if data in FILES else ""), str(runs)]
        for method in ["WODT", "as published", *rivals]:
            cell = row.get(method)
            line.append("" if cell is None else _cell_text(cell, what, digits, runs))
            name = {"WODT": "", "as published": "WODT"}.get(method, method)
            if name in printed:
                value = printed[name]
                line.append("N/A" if value is None else f"{value[0]:.{digits}f}")
        rows.append(line)
    text = {
        2: "Accuracy on rows held out, mean ± standard deviation over the runs; the paper's mean of 50 runs beside it.",
        3: "Number of leaves, in the same runs.",
    }[number]
    _page(plan, f"table-{number}", f"Table {number}: {what}", text, header, rows, _verdict(found, number, plan.folds))


def _standard_error(data: str, scores: list[float], folds: int) -> float:
    """Return that of our mean; for a single cut what its number of test rows leaves open."""
    found = rows_of(data)
    if len(scores) > 1 or found is None:
        return float(np.std(scores) / np.sqrt(len(scores)))
    return float(np.sqrt(scores[0] * (1 - scores[0]) * folds / len(found[1])))


def _verdict(found: dict[str, dict[str, Any]], number: int, folds: int) -> str:
    """Count where we stand against the printed columns."""
    whole = [data for data in found if data not in FILES and "WODT" in found[data]]
    lines = []
    if number == 3:
        few = [d for d in whole if np.mean(found[d]["WODT"]["leaves"]) <= 1.2 * PRINTED["3"][d]["WODT"][0]]  # type: ignore[index]
        return f"{_label('WODT')} has at most 1.2 times WODT's printed leaves on {len(few)} of {len(whole)} whole sets."
    here = {method: [data for data in found if data not in FILES and method in found[data]] for method in BOTH}
    lines += [_against_print(found, method, sets, folds) for method, sets in here.items() if sets]
    lines.append(
        f"Rivals more than 2 points below their printed column on whole sets: {_low_rivals(found, in_part=False)}; "
        f"on sets of which we have a part: {_low_rivals(found, in_part=True)}."
    )
    return "\n\n".join(lines)


def _against_print(found: dict[str, dict[str, Any]], method: str, whole: list[str], folds: int) -> str:
    """Count where a column is at or above the printed accuracy of WODT."""
    gaps, errors = {}, {}
    for data in whole:
        ours, (mean, deviation) = found[data][method]["accuracy"], PRINTED["2"][data]["WODT"]  # type: ignore[misc]
        gaps[data] = np.mean(ours) - mean
        errors[data] = np.hypot(deviation / np.sqrt(PAPER_RUNS), _standard_error(data, ours, folds))
    near = [d for d in whole if gaps[d] >= -errors[d]]
    low = [f"{d} ({100 * gaps[d]:+.2f})" for d in whole if d not in near]
    above = sum(gap > 0 for gap in gaps.values())
    return (
        f"{_label(method)} is at or above WODT's printed accuracy less one standard error (of the difference of the "
        f"two means) on {len(near)} of {len(whole)} whole sets, strictly above on {above}."
        + (f" Below, in points: {', '.join(low)}." if low else "")
    )


def _low_rivals(found: dict[str, dict[str, Any]], in_part: bool) -> str:
    below = []
    for data, row in found.items():
        for method, value in PRINTED["2"][data].items():
            if method != "WODT" and value is not None and method in row and (data in FILES) == in_part:
                gap = 100 * (np.mean(row[method]["accuracy"]) - value[0])
                below += [f"{data} {method} ({gap:+.1f})"] if gap < -2 else []
    return ", ".join(below) or "none"


def _page(plan: _Plan, name: str, title: str, text: str, header: list[str], rows: list[list[str]], more: str) -> None:
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    made = (f"{trees.CHOICES} Budget {plan.job.budget}: {plan.folds} folds, {plan.trials} trials ({plan.small_trials} "
            f"of sets of up to {trees.SMALL_ROWS:,} rows), cap {plan.cap:g} s (elapsed) per fit, those for validation "
            f"too; {time.strftime('%Y-%m-%d')}, {machine}.")  # fmt: skip
    plan.job.write(f"wodt-{name}.md", f"# {title}\n\n{text}\n\n{markdown_table(header, rows)}\n\n{more}\n\n{made}\n")


def _picture(plan: _Plan, name: str, draw: Callable[[Any, Any], None], size: tuple[float, float]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig = plt.figure(figsize=size, layout="constrained")
    draw(plt, fig)
    path = plan.job.out / f"wodt-{name}.png"
    save_figure(fig, path, dpi=100)
    plt.close(fig)
    plan.job.written.append(path)


def _times(plan: _Plan) -> None:
    found = _all(plan)
    rows = [[data, *(f"{np.mean(row[m]['seconds']):.3g}" + (" capped" if row[m]["capped"] else "") if m in row else ""
                     for m in plan.methods)] for data, row in found.items()]  # fmt: skip
    text = "CPU seconds of one fit (one thread), mean over the runs of Table 2. The paper prints no numbers."
    _page(plan, "figure-1", "Figure 1: running time", text, ["data", *map(_label, plan.methods)], rows, "")

    def draw(plt: Any, fig: Any) -> None:
        ax = fig.subplots()
        for j, method in enumerate(plan.methods):
            points = [(i, np.mean(row[method]["seconds"])) for i, row in enumerate(found.values()) if method in row]
            if points:
                x, height = np.array(points).T
                ax.bar(x + 0.09 * (j - 4.5), height, 0.085, color=f"C{j}", label=_label(method))
        ax.set(yscale="log", ylabel="CPU seconds", xticks=range(len(found)))
        ax.set_xticklabels(list(found), rotation=45, ha="right")
        ax.legend(fontsize=7, ncols=5)

    _picture(plan, "figure-1", draw, (11, 4.5))


def _curves(tree: TopDownTreeClassifier, X: Any, y: Any, train: Any, test: Any) -> dict[str, list[float]]:
    parts = {"test": test, "training": train}
    return {part: trees.accuracy_by_depth(tree, X[rows], y[rows]) for part, rows in parts.items()}


def _by_depth(data: str, make: Callable[[], Any], folds: int) -> dict[str, Any]:
    X, y = rows_of(data)  # type: ignore[misc]
    train, test = cuts(data, folds, 0)[0]
    tree, seconds, capped = trees.fit(make(), X[train], y[train], 0)
    return {**_curves(tree, X, y, train, test), "seconds": seconds, "capped": capped}


def _depths(plan: _Plan, figure: int) -> None:
    part = {2: "test", 3: "training"}[figure]
    curves: dict[str, dict[str, dict[str, Any]]] = {}
    for data in DEEP_DATA:
        for method in DEEP_METHODS:

            def work(data: str = data, method: str = method) -> dict[str, Any]:
                return _by_depth(data, plan.methods[method], plan.folds)

            shared = plan.known("tables", data, method, 0) or {}
            result = shared.get("depth") or plan.result("depth", data, method, 0, plan.deep_rows, work)
            if result is not None:
                curves.setdefault(data, {})[method] = result
    rows = [[data + (" (part)" if data in FILES else ""), _label(method) + (" capped" if result["capped"] else ""),
             *(f"{value:.4f}" for value in result[part])]
            for data, found in curves.items() for method, result in found.items()]  # fmt: skip
    text = (f"Accuracy on the {part} rows of one cut (four fifths to learn from) by depth. A tree cut at a depth is "
            "the tree grown to that depth, so one fit gives the whole curve. oblique (tuned) is here not pruned: "
            "`WeightedOblique(l2=\"auto\")`.")  # fmt: skip
    _page(plan, f"figure-{figure}", f"Figure {figure}: {part} accuracy by depth", text,
          ["data", "method", *map(str, trees.DEPTHS)], rows, "" if rows else "No data at hand.")  # fmt: skip

    def draw(plt: Any, fig: Any) -> None:
        panels = fig.subplots(1, max(len(curves), 1), squeeze=False)[0]
        for ax, (data, found) in zip(panels, curves.items()):
            for method, result in found.items():
                color = f"C{list(plan.methods).index(method)}"
                ax.plot(trees.DEPTHS, result[part], "o-", ms=3, lw=1, color=color, label=_label(method))
            ax.set(title=data, xlabel="depth", ylabel=f"{part} accuracy")
            ax.legend(fontsize=7)

    _picture(plan, f"figure-{figure}", draw, (3.4 * max(len(curves), 1), 3.2))
