"""How the defaults of splits="oblique" were chosen, and what they give on data that took no part in the choice.

python benchmarks/tune_oblique.py [choose] [judge] [pages]

`choose` cross-validates every candidate on the sets of CHOSEN_ON, `judge` the chosen one and its rivals on those of
JUDGED_ON, `pages` writes the tables of the documentation. Cells that are known are not computed again: they are kept in
results/tune_oblique/cells.json. One thread; data sets are read from the folder BOSCAGE_DATA, at most 5,000 rows each.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from _measure import RESULTS, geometric_mean, machine, report
from boscage import TopDownTreeClassifier, WeightedOblique
from boscage.datasets import list_datasets, load_dataset
from boscage.experiments._runner import markdown_table
from boscage.model.predict import predict_class
from boscage.pruning import prune_bits
from boscage.splits.wodt import AUTO_BITS

# The sets of the WODT paper, on which penalties had been tried before; the others were not looked at until the end.
CHOSEN_ON = (
    "iris", "wine", "glass", "heart", "breast", "diabetes", "vehicle", "fourclass", "segment", "dna", "satimage",
    "usps", "pendigits", "letter", "ijcnn1", "cod-rna",
)  # fmt: skip
JUDGED_ON = (
    "bank", "bike-class", "broward", "car", "compas", "coupon-rest20", "covertype", "digits", "fico", "heart-disease",
    "isolet", "page", "wdbc",
)  # fmt: skip
MOST_ROWS, FOLDS, SMALL_ROWS = 5000, 5, 1000
TRIALS, SMALL_TRIALS = 2, 5  # of five folds each
KEPT = RESULTS / "tune_oblique"
CELLS = KEPT / "cells.json"
PAGES = Path(__file__).parent.parent / "docs" / "results" / "oblique-defaults"

PENALTIES = (0.0, 0.01, 0.03, 0.1, 0.3)
BITS = (0.0, 2.0, 4.0, 8.0)
GRID = [
    {"l2": l2, "n_init": n_init, "scale": scale, "recut": recut}
    for scale, recut, n_init, l2 in product(("standard", "range"), (True, False), (1, 3), PENALTIES)
]
DEFAULT = {"l2": 0.03, "n_init": 1, "scale": "standard", "recut": True}
AUTO: dict[str, dict[str, Any]] = {
    "l2=auto": {"l2": "auto"},
    "prune_bits=auto": {"prune_bits": "auto"},
    "l2=auto, prune_bits=auto": {"l2": "auto", "prune_bits": "auto"},
}
OBLIQUE = "oblique (the default)"


def top_down(splits: Any = "axis", **parameters: Any) -> Callable[[int], Any]:
    return lambda seed: TopDownTreeClassifier(splits, random_state=seed, **parameters)


class PrunedAxis:
    """An axis tree pruned in bits; how strongly is chosen by five folds, as by ``prune_bits="auto"``."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def fit(self, X: Any, y: Any) -> PrunedAxis:
        """Grow and prune."""
        right, leaves = np.zeros((2, len(AUTO_BITS)))
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=self._seed).split(X, y):
            grown = TopDownTreeClassifier(random_state=self._seed).fit(X[train], y[train])
            for j, bits in enumerate(AUTO_BITS):
                tree = prune_bits(grown.tree_, bits)
                right[j] += (grown.classes_[predict_class(tree, X[test], 1)] == y[test]).sum()
                leaves[j] += tree.n_leaves
        whole = TopDownTreeClassifier(random_state=self._seed).fit(X, y)
        self._classes = whole.classes_
        self._tree = prune_bits(whole.tree_, AUTO_BITS[np.lexsort((leaves, -right))[0]])
        return self

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy."""
        return float((self._classes[predict_class(self._tree, X, 1)] == y).mean())

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self._tree.n_leaves


RIVALS: dict[str, Callable[[int], Any]] = {
    OBLIQUE: top_down(WeightedOblique(**DEFAULT)),
    **{f"oblique, {name}": top_down(WeightedOblique(**parameters)) for name, parameters in AUTO.items()},
    "WeightedOblique(l2=0)": top_down(WeightedOblique(l2=0.0)),
    "wodt (as published)": top_down("wodt"),
    "axis": top_down(),
    "axis, pruned by validation": PrunedAxis,
    "scikit-learn's tree": lambda seed: DecisionTreeClassifier(random_state=seed),
}


@cache
def rows_of(name: str) -> tuple[Any, Any]:
    """Rows and class numbers of a set, at most 5,000 rows."""
    data = load_dataset(name)
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    y = np.unique(data.y, return_inverse=True)[1]
    kept = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST_ROWS])
    return np.ascontiguousarray(X[kept], dtype=np.float64), y[kept]


def cuts(name: str) -> list[tuple[Any, Any, int]]:
    """Training rows, test rows and seed of every run."""
    X, y = rows_of(name)
    trials = SMALL_TRIALS if len(y) <= SMALL_ROWS else TRIALS
    return [
        (train, test, FOLDS * trial + fold)
        for trial in range(trials)
        for fold, (train, test) in enumerate(StratifiedKFold(FOLDS, shuffle=True, random_state=trial).split(X, y))
    ]


def grid_cell(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Accuracy and leaves by run, for every strength of pruning, and the CPU seconds of the fits."""
    X, y = rows_of(name)
    out: dict[str, Any] = {"seconds": [], "accuracy": {}, "leaves": {}}
    for train, test, seed in cuts(name):
        tree = TopDownTreeClassifier(WeightedOblique(**parameters), random_state=seed)
        start = time.process_time()
        tree.fit(X[train], y[train])
        out["seconds"].append(round(time.process_time() - start, 6))
        for bits in BITS:
            small = prune_bits(tree.tree_, bits)
            right = tree.classes_[predict_class(small, X[test], 1)] == y[test]
            out["accuracy"].setdefault(f"{bits:g}", []).append(round(float(right.mean()), 6))
            out["leaves"].setdefault(f"{bits:g}", []).append(int(small.n_leaves))
    return out


def model_cell(name: str, make: Callable[[int], Any]) -> dict[str, Any]:
    """Accuracy, leaves and CPU seconds by run."""
    X, y = rows_of(name)
    out: dict[str, Any] = {"seconds": [], "accuracy": [], "leaves": []}
    for train, test, seed in cuts(name):
        start = time.process_time()
        model = make(seed).fit(X[train], y[train])
        out["seconds"].append(round(time.process_time() - start, 6))
        out["accuracy"].append(round(float(model.score(X[test], y[test])), 6))
        out["leaves"].append(int(model.get_n_leaves()))
    return out


class Cells:
    """Results that are kept between runs."""

    def __init__(self, path: Path = CELLS) -> None:
        self._path = path
        self._known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def get(self, key: str, work: Callable[[], Any]) -> Any:
        """Return a cell, computed if it is not known."""
        if key not in self._known:
            self._known[key] = work()
            self._path.parent.mkdir(exist_ok=True)
            lines = (f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in self._known.items())
            self._path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return self._known[key]


def present(names: tuple[str, ...]) -> list[str]:
    """Return the sets that are at hand."""
    return [name for name in names if name in list_datasets()]


def candidate(parameters: dict[str, Any], bits: str) -> dict[str, str]:
    """Name the settings of a candidate, in columns."""
    shown = {name: str(parameters.get(name, DEFAULT.get(name))) for name in ("l2", "n_init", "scale", "recut")}
    return shown | {"prune_bits": bits}


def summary(cells: list[dict[str, Any]], base: list[dict[str, Any]]) -> dict[str, float]:
    """Means over sets: accuracy, error relative to the base, leaves and CPU milliseconds."""
    accuracy, other = (np.array([np.mean(cell["accuracy"]) for cell in group]) for group in (cells, base))
    return {
        "accuracy": float(accuracy.mean()),
        "ratio of errors": geometric_mean((1 - accuracy + 0.002) / (1 - other + 0.002)),
        "leaves": geometric_mean(np.mean(cell["leaves"]) for cell in cells),
        "CPU ms": 1e3 * geometric_mean(np.mean(cell["seconds"]) for cell in cells),
    }


def choose(cells: Cells) -> None:
    """Cross-validate every candidate on the sets for the choice."""
    names = present(CHOSEN_ON)

    def pruned(cell: dict[str, Any], bits: str) -> dict[str, Any]:
        return {"seconds": cell["seconds"], "accuracy": cell["accuracy"][bits], "leaves": cell["leaves"][bits]}

    def grid(parameters: dict[str, Any]) -> list[dict[str, Any]]:
        text = json.dumps(parameters, sort_keys=True)
        return [cells.get(f"grid {name} {text}", partial(grid_cell, name, parameters)) for name in names]

    base = [pruned(cell, "0") for cell in grid(DEFAULT)]
    rows: list[dict[str, Any]] = []
    for parameters in GRID:
        for bits in BITS:
            found = [pruned(cell, f"{bits:g}") for cell in grid(parameters)]
            rows.append({**candidate(parameters, f"{bits:g}"), **summary(found, base)})
    for label, parameters in AUTO.items():
        make = top_down(WeightedOblique(**{**DEFAULT, **parameters}))
        found = [cells.get(f"auto {name} {label}", partial(model_cell, name, make)) for name in names]
        rows.append({**candidate(parameters, str(parameters.get("prune_bits", "0"))), **summary(found, base)})
    rows.sort(key=lambda row: -row["accuracy"])
    report("choice", f"Candidates for splits='oblique' on {len(names)} sets, best first", rows, KEPT)


def judge(cells: Cells) -> None:
    """Compare the chosen settings with their rivals on the other sets."""
    names = present(JUDGED_ON)
    found = {
        label: [cells.get(f"judged {name} {label}", partial(model_cell, name, make)) for name in names]
        for label, make in RIVALS.items()
    }
    rows = []
    for label, group in found.items():
        row: dict[str, Any] = {"tree": label, **summary(group, found[OBLIQUE])}
        pairs = zip(found[OBLIQUE], group)
        differences = [float(np.mean(ours["accuracy"]) - np.mean(theirs["accuracy"])) for ours, theirs in pairs]
        row["default better on"] = "" if label == OBLIQUE else f"{sum(d > 0 for d in differences)} of {len(names)}"
        row["p (Wilcoxon)"] = "" if label == OBLIQUE else float(stats.wilcoxon(differences).pvalue)
        rows.append(row)
    title = f"splits='oblique' and its rivals on {len(names)} sets that took no part in the choice"
    report("judged", title, rows, KEPT)
    by_set = [
        {"data": name, **{label: float(np.mean(group[i]["accuracy"])) for label, group in found.items()}}
        for i, name in enumerate(names)
    ]
    report("judged_sets", "Accuracy on the sets that took no part in the choice", by_set, KEPT)


def page(name: str, title: str, text: str, rows: Iterable[dict[str, Any]]) -> None:
    """Write one table as Markdown for the documentation."""
    rows = list(rows)
    digits = {"leaves": 1, "CPU ms": 1, "ratio of errors": 3}

    def shown(column: str, value: Any) -> str:
        return f"{value:.{digits.get(column, 4)}f}" if isinstance(value, float) else str(value)

    lines = [[shown(column, value) for column, value in row.items()] for row in rows]
    made = ", ".join(f"{value}" for key, value in machine().items() if key != "cores")
    PAGES.mkdir(parents=True, exist_ok=True)
    table = markdown_table(list(rows[0]), lines)
    (PAGES / f"oblique-defaults-table-{name}.md").write_text(f"# {title}\n\n{text}\n\n{table}\n\nMeasured on {made}.\n")


def pages(_: Cells) -> None:
    """Write the tables of the documentation from the kept results."""
    choice, judged, by_set = (
        json.loads((KEPT / f"{name}.json").read_text())["rows"] for name in ("choice", "judged", "judged_sets")
    )
    plain = {name: str(value) for name, value in DEFAULT.items()} | {"prune_bits": "0"}

    def distance(row: dict[str, Any]) -> int:
        return sum(row[name] != value for name, value in plain.items())

    auto = [row for row in choice if "auto" in (row["l2"], row["prune_bits"])]
    near = [row for row in choice if distance(row) <= 1 and row not in auto]
    published = [row for row in choice if (row["l2"], row["n_init"], row["scale"], row["recut"], row["prune_bits"])
                 == ("0.0", "1", "range", "False", "0")]  # fmt: skip
    page("1", "The choice", f"Means over {len(CHOSEN_ON)} data sets: the default, every candidate that differs from it "
         "in one setting, validation, and the published settings. Errors are relative to those of the default.",
         [*auto, *near, *published])  # fmt: skip
    page("2", "The judgement", f"Means over {len(JUDGED_ON)} other data sets; p is of Wilcoxon's signed-rank test of "
         "the accuracies of the default and of the row, by set.", judged)  # fmt: skip
    page("3", "Set by set", "Accuracy on the sets of the judgement.", by_set)


def main(chosen: list[str]) -> None:
    parts = {"choose": choose, "judge": judge, "pages": pages}
    unknown = set(chosen) - set(parts)
    if unknown:
        sys.exit(f"not known: {', '.join(sorted(unknown))}; known are {', '.join(parts)}")
    cells = Cells()
    for name in chosen or parts:
        parts[name](cells)


if __name__ == "__main__":
    main(sys.argv[1:])
