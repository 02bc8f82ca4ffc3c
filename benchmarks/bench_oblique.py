"""Oblique trees: speed of WODT against scikit-learn's entropy tree, and accuracy on held-out rows."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from _measure import data_folder, geometric_mean, report, seconds
from boscage import TopDownTreeClassifier
from boscage.datasets import load_dataset
from boscage.splits import CO2, OC1, CartLC, Householder, WeightedOblique

# The sets with at least 2,000 rows, from narrow to wide.
LARGE = [
    "cod-rna", "shuttle", "letter", "pendigits", "segment", "ijcnn1", "satimage", "connect4", "dna", "usps", "mnist",
]  # fmt: skip
SMALL = ["iris", "wine", "glass", "heart", "breast", "diabetes", "vehicle", "fourclass"]
PUBLISHED = {  # accuracy of WODT in its paper, 10 x 5 folds
    "iris": 0.9733, "wine": 0.9665, "glass": 0.6216, "heart": 0.7630, "breast": 0.9590, "diabetes": 0.7161,
    "vehicle": 0.7069, "fourclass": 0.9896, "segment": 0.9623, "dna": 0.9250, "satimage": 0.8760, "usps": 0.9058,
    "pendigits": 0.9660, "letter": 0.8786, "shuttle": 0.9990, "connect4": 0.7415, "mnist": 0.9434, "ijcnn1": 0.9703,
    "cod-rna": 0.9543,
}  # fmt: skip


@cache
def data(name: str) -> tuple[Any, Any] | None:
    if name == "make_classification":
        return make_classification(20_000, 200, n_informative=100, random_state=0)
    if data_folder() is None:
        return None
    loaded = load_dataset(name)
    X, y = loaded.X, loaded.y
    return X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64), y


def halves(name: str, fold: int) -> tuple[Any, Any, Any, Any]:
    """Four fifths to learn from, one to test on; the fold of a row does not depend on its place."""
    found = data(name)
    assert found is not None
    X, y = found
    test = np.random.default_rng(0).permutation(len(y)) % 5 == fold
    return X[~test], y[~test], X[test], y[test]


def speed(l2: float) -> None:
    rows = []
    for name in [*LARGE, "make_classification"]:
        if data(name) is None:
            rows.append({"data": name, "ratio": "not there: set BOSCAGE_DATA"})
            continue
        X, y, X_test, y_test = halves(name, 0)
        ours = TopDownTreeClassifier(splits=WeightedOblique(l2=l2), criterion="entropy", random_state=0)
        theirs = DecisionTreeClassifier(criterion="entropy", random_state=0)
        repeats = 1 if X.size > 10**7 else 3
        our_time, their_time = seconds(partial(ours.fit, X, y), repeats), seconds(partial(theirs.fit, X, y), repeats)
        rows.append(
            {
                "data": name,
                "rows": len(X),
                "columns": X.shape[1],
                "wodt s": our_time,
                "scikit-learn s": their_time,
                "ratio": our_time / their_time,
                "wodt accuracy": ours.score(X_test, y_test),
                "theirs": theirs.score(X_test, y_test),
                "leaves": ours.get_n_leaves(),
                "their leaves": theirs.get_n_leaves(),
            }
        )
    ratios = [row["ratio"] for row in rows if isinstance(row["ratio"], float)]
    if ratios:
        rows.append({"data": "geometric mean", "ratio": geometric_mean(ratios)})
    report(f"oblique_speed_l2_{l2:g}", f"WODT with l2={l2:g} against an entropy tree, one thread (CPU s)", rows)


def accuracy() -> None:
    rows = []
    for name in SMALL + LARGE:
        if data(name) is None:
            continue
        folds = range(5 if len(data(name)[1]) < 12_000 else 1)  # type: ignore[index]
        row: dict[str, Any] = {"data": name, "folds": len(folds), "published": PUBLISHED[name]}
        for l2 in (0.0, 0.01, 0.03, 0.1):
            trees = TopDownTreeClassifier(splits=WeightedOblique(l2=l2), criterion="entropy", random_state=0)
            scores = []
            for fold in folds:
                X, y, X_test, y_test = halves(name, fold)
                scores.append(trees.fit(X, y).score(X_test, y_test))
            row[f"l2={l2:g}"] = float(np.mean(scores))
            row[f"leaves {l2:g}"] = trees.get_n_leaves()
        rows.append(row)
    report("oblique_accuracy", "WODT on held-out rows; leaves of the last fold", rows)


def families() -> None:
    rows = []
    splits = {
        "wodt": WeightedOblique(l2=0.03),
        "hhcart": Householder(),
        "cart_lc": CartLC(),
        "oc1": OC1(),
        "co2": CO2(),
    }
    for name in ("segment", "pendigits", "letter"):
        if data(name) is None:
            continue
        X, y, X_test, y_test = halves(name, 0)
        for family, part in splits.items():
            tree = TopDownTreeClassifier(splits=part, criterion="entropy", random_state=0)
            time = seconds(partial(tree.fit, X, y), 1)
            accuracy = tree.score(X_test, y_test)
            rows.append(
                {"data": name, "family": family, "s": time, "accuracy": accuracy, "leaves": tree.get_n_leaves()}
            )
    report("oblique_families", "Oblique families on held-out rows, one thread (CPU s)", rows)


def main() -> None:
    speed(0.0)
    speed(0.03)
    accuracy()
    families()
