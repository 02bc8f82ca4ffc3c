"""What a limit on the terms of linear tests costs: cross-validation of accuracy and R², next to axis trees.

Sets of the data folder with numeric columns, at most 200 of them; above 5,000 rows (regression: 2,000) a sample of so
many. Classification trees have the default settings but for the split family, regression trees also leaves of at least
five rows. The last columns are the share of the gain of all terms over an axis tree that few terms keep, for the mean
of all sets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, RepeatedStratifiedKFold

from _measure import data_folder, report
from boscage import TopDownTreeClassifier, TopDownTreeRegressor, WeightedOblique
from boscage.datasets import load_dataset, read_npz

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


NUMBER_SETS = (
    "abalone", "ailerons", "airfoil", "autompg", "bank8fm", "bike", "cal-housing", "concrete", "cpu-act", "cpu-small",
    "delta-ailerons", "elevators", "energy", "fried", "gas", "housing", "kin8nm", "parkinsons", "protein", "puma8nh",
    "skillcraft", "sml", "wine", "yacht",
)  # fmt: skip
NUMBER_ROWS = 2_000
NUMBER_FAMILIES = ("axis", "all terms", "3 terms")


def main() -> None:
    folder = data_folder()
    if folder is None:
        print("few terms: needs BOSCAGE_DATA")
        return
    classes = {name: load_dataset(name) for name in SETS}
    folds: Any = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
    rows = [row_of(name, classes[name], TopDownTreeClassifier(random_state=0), folds) for name in usable(classes)]
    title = "Tests of few terms: accuracy and leaves, 3 x 5-fold cross-validation"
    report("oblique_terms", title, [*rows, means_of(rows)])
    paths = {name: folder / "regression" / f"{name}.npz" for name in NUMBER_SETS}
    numbers = {name: read_npz(path, target="numbers") for name, path in paths.items() if path.exists()}
    model, folds = TopDownTreeRegressor(min_samples_leaf=5, random_state=0), KFold(3, shuffle=True, random_state=0)
    rows = [row_of(name, numbers[name], model, folds, NUMBER_ROWS, NUMBER_FAMILIES) for name in usable(numbers)]
    title = "Regression tests of few terms: R² and leaves, 3-fold cross-validation, leaves of at least 5 rows"
    report("oblique_terms_regression", title, [*rows, means_of(rows)])


def usable(sets: dict[str, Any]) -> list[str]:
    """Names of the sets that have few, numeric columns and one target."""
    found = []
    for name, data in sets.items():
        is_wide = not isinstance(data.X, np.ndarray) or data.X.shape[1] > COLUMNS
        if is_wide or data.categorical_features or data.y.ndim > 1:
            print(f"{name}: left out")
        else:
            found.append(name)
    return found


def row_of(
    name: str, data: Any, model: Any, folds: Any, most: int = ROWS, families: Iterable[str] = tuple(FAMILIES)
) -> dict[str, Any]:
    X, y = data.X, data.y
    if len(y) > most:
        chosen = np.random.default_rng(0).permutation(len(y))[:most]
        X, y = X[chosen], y[chosen]
    row: dict[str, Any] = {"data": name, "columns": X.shape[1]}
    for family in families:
        model.set_params(splits=FAMILIES[family])
        row[family], row[f"leaves, {family}"] = cross_validate(model, X, y, folds)
    print(row, flush=True)
    return row


def means_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    means: dict[str, Any] = {"data": "mean"}
    for key in list(rows[0])[2:]:
        means[key] = float(np.mean([row[key] for row in rows]))
    for few in (family for family in ("5 terms", "3 terms", "2 terms") if family in means):
        means[f"kept by {few}"] = (means[few] - means["axis"]) / (means["all terms"] - means["axis"])
    return means


def cross_validate(model: Any, X: Any, y: Any, folds: Any) -> tuple[float, float]:
    score, leaves = [], []
    for train, test in folds.split(X, y):
        model.fit(X[train], y[train])
        score.append(model.score(X[test], y[test]))
        leaves.append(model.get_n_leaves())
    return float(np.mean(score)), float(np.mean(leaves))


if __name__ == "__main__":
    main()
