"""What polishing and leaves are worth: single trees against the best printed single oblique trees, and one another.

Bars are the best accuracies in print of single trees trained by gradients or by alternating optimisation. The published
cut into training and test rows where there is one (the seeds then are those of the tree alone), else four fifths to
learn from, stratified, for five seeds (mnist: two). One thread; CPU seconds of a whole fit.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from _measure import data_folder, report
from boscage import Frequency, Linear, Polish, TopDownTreeClassifier, WeightedOblique
from boscage.datasets import load_dataset

Cut = tuple[Any, Any, Any, Any]

SEEDS = 5
# The bar, CPU seconds allowed, largest number of leaves, penalty of growing, polish.
BARS: dict[str, list[tuple[float, int, int | None, float, Polish | None]]] = {
    "letter": [(0.892, 60, None, 0.03, None), (0.892, 60, 512, 0.03, Polish(l2=1e-4))],
    "pendigits": [
        (0.970, 60, None, 0.03, None),
        (0.970, 60, 128, 0.03, Polish(epochs=150, l2=1e-4, slope=4.0)),
    ],
    "satimage": [(0.876, 60, 80, 0.03, Polish())],
    "segment": [(0.961, 60, None, 0.03, None)],
    "connect4": [(0.820, 60, 128, 0.03, Polish(epochs=30))],
    "mnist": [(0.962, 600, 512, 0.3, Polish(epochs=25, learning_rate=0.003, l2=1e-4, dropout=0.25))],
}
# Data, and the largest number of leaves for limited trees.
COMPARED = {
    "wine": 8, "glass": 16, "heart": 8, "diabetes": 16, "vehicle": 16, "segment": 32, "dna": 16, "satimage": 64,
    "pendigits": 64,
}  # fmt: skip


def rows_of(name: str) -> tuple[Any, Any, int | None]:
    loaded = load_dataset(name)
    X = loaded.X
    return X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64), loaded.y, loaded.n_train


def cuts(name: str) -> list[Cut]:
    X, y, n = rows_of(name)
    if n is not None:
        return [(X[:n], y[:n], X[n:], y[n:])] * SEEDS
    found = []
    for seed in range(SEEDS):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
        found.append((X_train, y_train, X_test, y_test))
    return found


def folds(name: str) -> list[Cut]:
    """Return the published cut, or five folds."""
    X, y, n = rows_of(name)
    if n is not None:
        return [(X[:n], y[:n], X[n:], y[n:])]
    deal = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    return [(X[train], y[train], X[test], y[test]) for train, test in deal]


def measured(trees: list[TopDownTreeClassifier], parts: list[Cut]) -> tuple[list[float], list[float], list[int]]:
    accuracy, took, leaves = [], [], []
    for tree, (X, y, X_test, y_test) in zip(trees, parts):
        start = time.process_time()
        tree.fit(X, y)
        took.append(time.process_time() - start)
        accuracy.append(tree.score(X_test, y_test))
        leaves.append(tree.get_n_leaves())
    return accuracy, took, leaves


def bars() -> None:
    rows = []
    for name, configurations in BARS.items():
        parts = cuts(name)
        for bar, allowed, leaves, l2, polish in configurations:
            splits = WeightedOblique(l2=l2)
            trees = [
                TopDownTreeClassifier(splits, "entropy", max_leaf_nodes=leaves, polish=polish, random_state=seed)
                for seed in range(2 if name == "mnist" else SEEDS)
            ]
            accuracy, took, found = measured(trees, parts)
            rows.append(
                {
                    "data": name,
                    "bar": bar,
                    "seeds": len(trees),
                    "accuracy": round(float(np.mean(accuracy)), 4),
                    "worst seed": round(min(accuracy), 4),
                    "leaves": round(float(np.mean(found))),
                    "CPU s": max(took),
                    "allowed s": allowed,
                    "splits": repr(splits),
                    "polish": repr(polish),
                }
            )
    report("bars", "Single trees against the best printed single oblique trees, one thread", rows)


def ways(leaves: int) -> dict[str, dict[str, Any]]:
    """Return the parameters of what is compared; all but the first are limited to so many leaves."""
    return {
        "grown out": {},
        "shrinkage auto": {"leaf": Frequency("auto")},
        "limited": {"max_leaf_nodes": leaves},
        "soft": {"max_leaf_nodes": leaves, "polish": "soft"},
        "hard": {"max_leaf_nodes": leaves, "polish": "hard"},
        "auto": {"max_leaf_nodes": leaves, "polish": "auto"},
        "linear, 4 leaves": {"max_leaf_nodes": 4, "leaf": Linear("auto")},
    }


def compared() -> None:
    rows = []
    for name, leaves in COMPARED.items():
        parts = folds(name)
        row: dict[str, Any] = {"data": name, "leaves": leaves}
        for way, settings in ways(leaves).items():
            tree = TopDownTreeClassifier(WeightedOblique(l2=0.03), "entropy", random_state=0, **settings)
            accuracy, took, _ = measured([tree] * len(parts), parts)
            row[way] = round(float(np.mean(accuracy)), 4)
            row[f"{way} s"] = float(np.mean(took))
        rows.append(row)
    report("refined", "WODT (l2=.03): polishing, shrinkage and linear leaves on held-out rows, CPU s of a fit", rows)


def main() -> None:
    if data_folder() is None:
        print("bars: not there, set BOSCAGE_DATA")
        return
    bars()
    compared()
