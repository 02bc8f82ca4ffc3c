"""Oblique trees: speed against scikit-learn, plain NumPy and obliquetree; accuracy on held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from _measure import data_folder, geometric_mean, in_turns, report, seconds
from boscage import TopDownTreeClassifier
from boscage.datasets import load_dataset
from boscage.splits import CO2, OC1, CartLC, Householder, WeightedOblique
from plain_wodt import PlainWODT

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
                "oblique s": our_time,
                "scikit-learn s": their_time,
                "ratio": our_time / their_time,
                "oblique accuracy": ours.score(X_test, y_test),
                "theirs": theirs.score(X_test, y_test),
                "leaves": ours.get_n_leaves(),
                "their leaves": theirs.get_n_leaves(),
            }
        )
    ratios = [row["ratio"] for row in rows if isinstance(row["ratio"], float)]
    if ratios:
        rows.append({"data": "geometric mean", "ratio": geometric_mean(ratios)})
    report(f"oblique_speed_l2_{l2:g}", f"WeightedOblique(l2={l2:g}) against an entropy tree, one thread (CPU s)", rows)


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
    report("oblique_accuracy", "WeightedOblique on held-out rows; leaves of the last fold", rows)


def families() -> None:
    rows = []
    splits = {
        "oblique": WeightedOblique(l2=0.03),
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


def turn_times(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """Return medians of turns of about the same length, so that spells of the machine weigh alike on both."""
    with threadpool_limits(1):
        count = max(1, round(seconds(theirs, 2) / seconds(ours, 2)))
        times = in_turns(9, ours=lambda: [ours() for _ in range(count)], theirs=theirs)
    return float(np.median(times["ours"])) / count, float(np.median(times["theirs"]))


def plain() -> None:
    """Compare with the same algorithm in NumPy and SciPy, on whole trees and on very small ones."""
    rows = []
    for name, limit in (("pendigits", None), ("satimage", None), ("letter", 4000), ("make_classification", 4000)):
        if data(name) is None:
            continue
        X, y, X_test, y_test = halves(name, 0)
        X, y = X[:limit].astype(np.float64), np.unique(y[:limit], return_inverse=True)[1]
        y_test = np.searchsorted(np.unique(halves(name, 0)[1]), y_test)
        ours = TopDownTreeClassifier(splits=WeightedOblique(l2=0.03), criterion="entropy", random_state=0)
        theirs = PlainWODT(0.03)
        our_time, their_time = turn_times(partial(ours.fit, X, y), partial(theirs.fit, X, y))
        rows.append(
            {
                "data": name,
                "rows": len(X),
                "columns": X.shape[1],
                "boscage s": our_time,
                "NumPy and SciPy s": their_time,
                "times faster": their_time / our_time,
                "boscage accuracy": ours.score(X_test, y_test),
                "its accuracy": theirs.score(X_test.astype(np.float64), y_test),
                "boscage nodes": ours.get_n_leaves() - 1,
                "its nodes": theirs.n_nodes,
            }
        )
    rng = np.random.default_rng(0)  # noise: trees of some hundred small nodes, and whole fits of very few rows
    make = partial(TopDownTreeClassifier, splits=WeightedOblique(l2=0.0), criterion="entropy", random_state=0)
    for n, trees in ((2000, 1), (60, 20)):
        problems = [(rng.normal(size=(n, 10)), rng.integers(0, 3, n)) for _ in range(trees)]
        our_time, their_time = turn_times(
            lambda problems=problems: [make().fit(X, y) for X, y in problems],
            lambda problems=problems: [PlainWODT().fit(X, y) for X, y in problems],
        )
        rows.append({"data": f"noise, {trees} tree{'s' * (trees > 1)}", "rows": n, "columns": 10,
                     "boscage s": our_time, "NumPy and SciPy s": their_time,
                     "times faster": their_time / our_time})  # fmt: skip
    title = "WeightedOblique(l2=.03) against the same algorithm in NumPy and SciPy (CPU s, in turns)"
    report("oblique_plain", title, rows)


def peer() -> None:
    """Obliquetree with tests over all columns, on wide data."""
    try:
        from obliquetree import Classifier
    except ImportError:
        report("oblique_peer", "obliquetree with all columns", [{"obliquetree": "not installed"}])
        return
    X, y, X_test, y_test = halves("make_classification", 0)
    rows = []
    for name, tree in (
        ("boscage oblique, l2=0", TopDownTreeClassifier(WeightedOblique(l2=0.0), "entropy", random_state=0)),
        ("boscage oblique, l2=.1", TopDownTreeClassifier(WeightedOblique(l2=0.1), "entropy", random_state=0)),
        ("obliquetree, n_pair=200", Classifier(use_oblique=True, n_pair=X.shape[1], random_state=0)),
    ):  # fmt: skip
        took = seconds(partial(tree.fit, X, y), 1)
        accuracy = float((np.asarray(tree.predict(X_test)) == y_test).mean())
        rows.append({"tree": name, "CPU s": took, "accuracy": accuracy})
    report("oblique_peer", "20,000 x 200 make_classification, one cut, one thread", rows)


def prediction() -> None:
    X, y = make_classification(100_000, 50, n_informative=25, n_classes=4, flip_y=0.1, random_state=0)
    rows = []
    for depth in (4, 8, 12):
        ours = TopDownTreeClassifier(splits=WeightedOblique(l2=0.1), max_depth=depth, random_state=0)
        ours.fit(X[:20_000], y[:20_000])
        theirs = DecisionTreeClassifier(max_depth=ours.get_depth(), random_state=0).fit(X[:20_000], y[:20_000])
        for dtype in (np.float64, np.float32):
            Z = X.astype(dtype)
            our_time, their_time = seconds(partial(ours.predict, Z), 7), seconds(partial(theirs.predict, Z), 7)
            rows.append({"depth": depth, "type": np.dtype(dtype).name, "oblique s": our_time,
                         "scikit-learn axis s": their_time, "ratio": our_time / their_time})  # fmt: skip
    report("oblique_prediction", "Prediction of 100,000 x 50 rows, one thread (CPU s)", rows)


# What a tree without arguments could do: its parameters, and what pruning asks of a split (bits, or rows by gini).
DEFAULTS: dict[str, tuple[dict[str, Any], float]] = {
    "axis gini": ({}, 0.0),
    "axis gini, pruned": ({}, 1.0),
    "axis entropy": ({"criterion": "entropy"}, 0.0),
    "axis entropy, pruned": ({"criterion": "entropy"}, 4.0),
    "oblique": ({"criterion": "entropy", "splits": WeightedOblique(l2=0.03)}, 0.0),
    "oblique, pruned": ({"criterion": "entropy", "splits": WeightedOblique(l2=0.03)}, 4.0),
    "oblique, 3 starts": ({"criterion": "entropy", "splits": WeightedOblique(l2=0.03, n_init=3)}, 0.0),
    "oblique, l2=auto": ({"criterion": "entropy", "splits": WeightedOblique(l2="auto")}, 0.0),
}
DEFAULT_DATA = [name for name in SMALL + LARGE if name not in ("mnist", "usps")]


def defaults(names: list[str] = DEFAULT_DATA) -> None:
    """Compare what TopDownTreeClassifier() could do without arguments."""
    rows: list[dict[str, Any]] = []
    leaves: dict[str, list[float]] = {label: [] for label in DEFAULTS}
    times: dict[str, list[float]] = {label: [] for label in DEFAULTS}
    for name in names:
        if data(name) is None:
            continue
        row: dict[str, Any] = {"data": name}
        for label, (parameters, least) in DEFAULTS.items():
            found = []
            for fold in range(5 if len(data(name)[1]) < 3000 else 1):  # type: ignore[index]
                X, y, X_test, y_test = halves(name, fold)
                tree = TopDownTreeClassifier(random_state=0, ccp_alpha=least / len(y), **parameters)
                took = seconds(partial(tree.fit, X, y), 1)
                found.append((tree.score(X_test, y_test), tree.get_n_leaves(), took))
            row[label], size, time = (float(value) for value in np.mean(found, axis=0))
            leaves[label].append(size)
            times[label].append(time)
        rows.append(row)
    if rows:
        rows.append({"data": "mean", **{label: float(np.mean([row[label] for row in rows])) for label in DEFAULTS}})
        for what, values in (("leaves (geometric mean)", leaves), ("CPU s (geometric mean)", times)):
            rows.append({"data": what, **{label: geometric_mean(values[label]) for label in DEFAULTS}})
    report(
        "oblique_defaults", "Candidates for the default tree: accuracy on rows held out, then leaves and CPU s", rows
    )


def main() -> None:
    speed(0.0)
    speed(0.03)
    accuracy()
    families()
    plain()
    peer()
    prediction()
    defaults()
