"""Axis trees against scikit-learn's DecisionTreeClassifier: fit, predict, memory, small data, threads."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, make_classification
from sklearn.tree import DecisionTreeClassifier

from _measure import data_folder, geometric_mean, peak_growth, report, seconds, wall_seconds
from boscage import TopDownTreeClassifier
from boscage.datasets import load_dataset

NAMES = ["letter", "cod-rna", "covertype", "make_classification"]


@cache
def data(name: str) -> tuple[Any, Any] | None:
    if name == "make_classification":
        return make_classification(100_000, 20, n_informative=10, random_state=0)
    if data_folder() is None:
        return None
    loaded = load_dataset(name)
    X, y = loaded.X, loaded.y
    X = X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)
    if name == "covertype":
        rows = np.random.default_rng(0).permutation(len(X))[:100_000]
        X, y = X[rows], y[rows]
    return X, y


def fit(criterion: str) -> None:
    rows = []
    for name in NAMES:
        if (found := data(name)) is None:
            rows.append({"data": name, "ratio": "not there: set BOSCAGE_DATA"})
            continue
        X, y = found
        ours, theirs = TopDownTreeClassifier(criterion=criterion), DecisionTreeClassifier(criterion=criterion)
        our_time, their_time = seconds(partial(ours.fit, X, y)), seconds(partial(theirs.fit, X, y))
        rows.append(
            {
                "data": name,
                "rows": len(X),
                "boscage s": our_time,
                "scikit-learn s": their_time,
                "ratio": our_time / their_time,
                "train accuracy": ours.score(X, y),
                "theirs": theirs.score(X, y),
                "leaves": ours.get_n_leaves(),
                "their leaves": theirs.get_n_leaves(),
            }
        )
    ratios = [row["ratio"] for row in rows if isinstance(row["ratio"], float)]
    rows.append({"data": "geometric mean", "ratio": geometric_mean(ratios)})
    report(f"axis_fit_{criterion}", f"Fit, one thread, grown out, {criterion} (CPU s)", rows)


def threads() -> None:
    rows = []
    for name in NAMES:
        if (found := data(name)) is None:
            continue
        one = wall_seconds(partial(TopDownTreeClassifier(n_jobs=1).fit, *found))
        two = wall_seconds(partial(TopDownTreeClassifier(n_jobs=2).fit, *found))
        rows.append({"data": name, "one thread s": one, "two threads s": two, "speed-up": one / two})
    report("axis_threads", "Fit with two threads (elapsed s)", rows)


def predict() -> None:
    rows = []
    for name in NAMES:
        if (found := data(name)) is None:
            continue
        X, y = found
        ours, theirs = TopDownTreeClassifier().fit(X, y), DecisionTreeClassifier(random_state=0).fit(X, y)
        our_time = seconds(partial(ours.predict, X), 7)
        their_time = seconds(partial(theirs.predict, X), 7)
        rows.append({"data": name, "boscage s": our_time, "scikit-learn s": their_time, "ratio": our_time / their_time})
    report("axis_predict", "Predict the training rows, one thread (CPU s)", rows)


def memory() -> None:
    rows = []
    for dtype in ("float32", "float64"):
        setup = (
            "import numpy as np\nfrom boscage import TopDownTreeClassifier\n"
            f"X = np.random.default_rng(0).standard_normal((1_000_000, 20), dtype='{dtype}')\n"
            "y = (X[:, 0] + X[:, 1] > 0).astype(int)\nTopDownTreeClassifier().fit(X[:1000], y[:1000])\n"
            "def run():\n    TopDownTreeClassifier(max_depth=8).fit(X, y)\n"
        )
        growth = peak_growth(setup)
        size = 20_000_000 * np.dtype(dtype).itemsize
        rows.append({"dtype": dtype, "X MB": size / 1e6, "peak beyond X MB": growth / 1e6, "ratio": growth / size})
    report("axis_memory", "Peak memory of a fit, 1,000,000 x 20, beyond X itself", rows)


def small() -> None:
    X, y = load_iris(return_X_y=True)
    ours, theirs = TopDownTreeClassifier(splits="axis"), DecisionTreeClassifier(random_state=0)
    row = np.ascontiguousarray(X[:1])

    def times(call: Any, n: int = 300) -> float:
        return seconds(lambda: [call() for _ in range(n)], 5) / n * 1e6

    rows = []
    for what, a, b in [
        ("fit iris", lambda: ours.fit(X, y), lambda: theirs.fit(X, y)),
        ("predict one row", lambda: ours.predict(row), lambda: theirs.predict(row)),
        ("predict_proba one row", lambda: ours.predict_proba(row), lambda: theirs.predict_proba(row)),
    ]:
        our_time, their_time = times(a), times(b)
        ratio = our_time / their_time
        rows.append({"what": what, "boscage µs": our_time, "scikit-learn µs": their_time, "ratio": ratio})
    report("axis_small", "Small data (CPU µs)", rows)


def main() -> None:
    fit("gini")
    fit("entropy")
    threads()
    predict()
    memory()
    small()
