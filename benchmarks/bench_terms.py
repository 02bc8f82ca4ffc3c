"""What a limit on the terms of linear tests costs: accuracy of 3 x 5-fold cross-validation, next to axis trees.

Sets of the data folder with numeric columns, at most 200 of them; above 5,000 rows a sample of so many. All trees have
the default settings but for the split family. The last column is the share of the gain of all terms over an axis tree
that three terms keep, for the mean of all sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold

from _measure import data_folder, report
from boscage import TopDownTreeClassifier, WeightedOblique
from boscage.datasets import load_dataset

SETS = (
    "bank", "breast", "cod-rna", "covertype", "diabetes", "digits", "dna", "fico", "fourclass", "glass", "heart",
    "ijcnn1", "iris", "letter", "occupancy", "page", "pendigits", "room", "satimage", "segment", "shuttle", "skin",
    "vehicle", "wdbc", "wine",
)  # fmt: skip
ROWS = 5_000
COLUMNS = 200
FAMILIES: dict[str, Any] = {
    "axis": "axis",
    "all terms": WeightedOblique(),
    "5 terms": WeightedOblique(max_terms=5),
    "3 terms": WeightedOblique(max_terms=3),
    "2 terms": WeightedOblique(max_terms=2),
}


def main() -> None:
    if data_folder() is None:
        print("few terms: needs BOSCAGE_DATA")
        return
    rows = []
    for name in SETS:
        data = load_dataset(name)
        if not isinstance(data.X, np.ndarray) or data.X.shape[1] > COLUMNS or data.categorical_features:
            print(f"{name}: left out")
            continue
        X, y = data.X, data.y
        if len(y) > ROWS:
            chosen = np.random.default_rng(0).permutation(len(y))[:ROWS]
            X, y = X[chosen], y[chosen]
        row: dict[str, Any] = {"data": name, "columns": X.shape[1]}
        for family, splits in FAMILIES.items():
            row[family], row[f"leaves, {family}"] = cross_validate(splits, X, y)
        rows.append(row)
    means: dict[str, Any] = {"data": "mean"}
    for key in list(FAMILIES) + [f"leaves, {family}" for family in FAMILIES]:
        means[key] = float(np.mean([row[key] for row in rows]))
    for few in ("5 terms", "3 terms", "2 terms"):
        means[f"kept by {few}"] = (means[few] - means["axis"]) / (means["all terms"] - means["axis"])
    report("oblique_terms", "Tests of few terms: accuracy and leaves, 3 x 5-fold cross-validation", [*rows, means])


def cross_validate(splits: Any, X: Any, y: Any) -> tuple[float, float]:
    accuracy, leaves = [], []
    for train, test in RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0).split(X, y):
        model = TopDownTreeClassifier(splits, random_state=0).fit(X[train], y[train])
        accuracy.append(model.score(X[test], y[test]))
        leaves.append(model.get_n_leaves())
    return float(np.mean(accuracy)), float(np.mean(leaves))


if __name__ == "__main__":
    main()
