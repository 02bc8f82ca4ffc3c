"""Forests against scikit-learn's RandomForestClassifier, in turns: fit, predict, bytes, accuracy; and memory.

Means are over the sets of at least 3,000 training rows. What is wanted: fit at most 1.0, bytes at most 0.25 and
prediction at most 0.5 of the random forest, memory beyond X at most 2.5 times X, and two threads 1.7 times as fast.
"""

from __future__ import annotations

import pickle
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from _measure import data_folder, geometric_mean, in_turns, peak_growth, report, seconds, wall_seconds
from boscage import ForestClassifier
from boscage.datasets import load_dataset

FOLDER_SETS = ["satimage", "pendigits", "letter", "usps", "bike-class", "occupancy", "fico", "page"]
NAMES = ["wine", "digits", "make_classification", *FOLDER_SETS]
MOST_ROWS = 10_000
FEWEST_ROWS = 3_000  # of sets that count in the means
ROWS_TO_PREDICT = 100_000


@cache
def data(name: str) -> tuple[Any, Any] | None:
    if name == "wine":
        return load_wine(return_X_y=True)
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "make_classification":
        return make_classification(20_000, 20, n_informative=10, n_classes=3, random_state=0)
    if data_folder() is None:
        return None
    loaded = load_dataset(name)
    return loaded.X, loaded.y


def halves(name: str) -> Any:
    if (found := data(name)) is None:
        return None
    X, y = found
    chosen = np.random.default_rng(0).permutation(len(X))[: 2 * MOST_ROWS]
    X, y = np.asarray(X)[chosen].astype(np.float32), np.asarray(y)[chosen]
    return train_test_split(X, y, test_size=0.5, random_state=0)


def stored_bytes(forest: ForestClassifier) -> int:
    with tempfile.TemporaryDirectory() as folder:
        return forest.save(Path(folder) / "forest").stat().st_size


def many_rows(X: Any) -> Any:
    return np.random.default_rng(1).permutation(np.resize(X, (ROWS_TO_PREDICT, X.shape[1])))


def against_random_forest(splits: str, trees: int, their_trees: int) -> None:
    rows = []
    for name in NAMES:
        if (found := halves(name)) is None:
            rows.append({"data": name, "fit ratio": "not there: set BOSCAGE_DATA"})
            continue
        X, test, y, wanted = found
        ours = ForestClassifier(trees, splits, random_state=0)
        theirs = RandomForestClassifier(their_trees, random_state=0)
        fit = in_turns(2, ours=partial(ours.fit, X, y), theirs=partial(theirs.fit, X, y))
        big = many_rows(test)
        predict = in_turns(3, ours=partial(ours.predict_proba, big), theirs=partial(theirs.predict_proba, big))
        floor = [model.predict_proba(test) + 1e-3 for model in (ours, theirs)]
        losses = [log_loss(wanted, proba / proba.sum(axis=1, keepdims=True)) for proba in floor]
        rows.append(
            {
                "data": name,
                "rows": len(X),
                "fit s": min(fit["ours"]),
                "fit ratio": min(fit["ours"]) / min(fit["theirs"]),
                "predict s": min(predict["ours"]),
                "predict ratio": min(predict["ours"]) / min(predict["theirs"]),
                "bytes ratio": stored_bytes(ours) / len(pickle.dumps(theirs)),
                "accuracy": ours.score(test, wanted),
                "theirs": theirs.score(test, wanted),
                "log-loss": losses[0],
                "their log-loss": losses[1],
            }
        )
    known = [row for row in rows if isinstance(row["fit ratio"], float) and row["rows"] >= FEWEST_ROWS]
    means = {key: geometric_mean([row[key] for row in known]) for key in ("fit ratio", "predict ratio", "bytes ratio")}
    rows.append({"data": f"geometric mean from {FEWEST_ROWS} rows on", **means})
    title = f"{trees} trees of {splits} tests against a random forest of {their_trees} (CPU s, {ROWS_TO_PREDICT} rows)"
    report(f"forest_{splits}", title, rows)


def threads() -> None:
    X, _, y, _ = halves("make_classification")
    rows = []
    for splits in ("mixed", "axis"):
        forest = ForestClassifier(100, splits, random_state=0)
        times = [wall_seconds(partial(forest.set_params(n_jobs=jobs).fit, X, y), 2) for jobs in (1, 2)]
        big = many_rows(X)
        answers = [wall_seconds(partial(forest.set_params(n_jobs=jobs).predict_proba, big), 2) for jobs in (1, 2)]
        rows.append({"splits": splits, "fit": times[0] / times[1], "predict": answers[0] / answers[1]})
    report("forest_threads", "Speed-up by two threads (elapsed)", rows)


_MEMORY = """
import numpy as np
from boscage import {kind}
X = np.random.default_rng(0).standard_normal(({rows}, {columns}), dtype=np.float32)
y = X[:, 0] > X[:, 1]
forest = {kind}({threads} * 2, {splits!r}, max_leaf_nodes=8, n_jobs={threads}, random_state=0)
forest.fit(X[:500], y[:500])
def run():
    forest.fit(X, y)
"""


def memory() -> None:
    """Peak memory of a fit beyond X; few leaves, so that the trees themselves do not count."""
    rows = []
    for kind, splits, n, columns, threads in (
        ("ForestClassifier", "mixed", 200_000, 10, 1),
        ("ForestClassifier", "mixed", 200_000, 10, 2),
        ("ForestRegressor", "mixed", 200_000, 10, 1),
        ("ForestClassifier", "mixed", 200_000, 50, 1),
        ("ForestClassifier", "mixed", 200_000, 50, 2),
        ("ForestRegressor", "mixed", 200_000, 50, 1),
        ("ForestClassifier", "axis", 200_000, 10, 1),
        ("ForestClassifier", "axis", 200_000, 10, 2),
        ("ForestClassifier", "axis", 200_000, 50, 1),
    ):
        code = _MEMORY.format(kind=kind, splits=splits, rows=n, columns=columns, threads=threads)
        peak = peak_growth(code)
        facts = {"forest": kind, "splits": splits, "rows": n, "columns": columns, "threads": threads}
        rows.append({**facts, "bytes per row": peak / n, "times X (float32)": peak / (4 * n * columns)})
    report("forest_memory", "Memory of a fit beyond X", rows)


def one_row() -> None:
    X, test, y, _ = halves("make_classification")
    models = [kind(100, random_state=0).fit(X, y) for kind in (ForestClassifier, RandomForestClassifier)]
    times = [seconds(partial(model.predict_proba, test[:1])) for model in models]
    report("forest_one_row", "One row", [{"ms": 1e3 * times[0], "theirs": 1e3 * times[1]}])


def main() -> None:
    against_random_forest("mixed", 100, 500)
    against_random_forest("axis", 100, 100)
    threads()
    memory()
    one_row()
