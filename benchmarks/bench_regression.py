"""Trees of numbers against scikit-learn: fit, predict, absolute error, and single trees against a random forest."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from scipy import stats
from sklearn.datasets import make_regression
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import ShuffleSplit
from sklearn.tree import DecisionTreeRegressor

from _measure import data_folder, geometric_mean, in_turns, report
from boscage import Quantile, TopDownTreeRegressor
from boscage.datasets import read_npz

LARGE = ["protein", "kin40k", "fried", "2dplanes", "cal-housing", "ailerons"]
PRINTED = {"abalone": 2.07, "cpu-act": 2.58, "ailerons": 1.66e-4}  # the best single trees in print
ROUNDS = 3
SPLITS = 10


@cache
def data(name: str) -> tuple[Any, Any, list[int] | None] | None:
    folder = data_folder()
    if folder is None:
        return None
    found = read_npz(folder / "regression" / f"{name}.npz", target="numbers")
    return found.X.astype(np.float32), found.y, list(found.categorical_features) or None


def fit_and_predict() -> None:
    rows: list[dict[str, Any]] = []
    for name in LARGE:
        if (found := data(name)) is None:
            rows.append({"data": name, "fit ratio": "not there: set BOSCAGE_DATA"})
            continue
        X, y, _ = found
        ours, theirs = TopDownTreeRegressor(), DecisionTreeRegressor(random_state=0)
        fit = in_turns(ROUNDS, ours=partial(ours.fit, X, y), theirs=partial(theirs.fit, X, y))
        predict = in_turns(2 * ROUNDS, ours=partial(ours.predict, X), theirs=partial(theirs.predict, X))
        rows.append(
            {
                "data": name,
                "rows": len(X),
                "fit s": min(fit["ours"]),
                "fit ratio": min(fit["ours"]) / min(fit["theirs"]),
                "predict s": min(predict["ours"]),
                "predict ratio": min(predict["ours"]) / min(predict["theirs"]),
                "leaves": ours.get_n_leaves(),
                "their leaves": theirs.get_n_leaves(),
            }
        )
    means = {
        key: geometric_mean(row[key] for row in rows)
        for key in ("fit ratio", "predict ratio")
        if all(isinstance(row.get(key), float) for row in rows)
    }
    rows.append({"data": "geometric mean", **means})
    report("regression_fit", "Squared error, grown out, one thread, against DecisionTreeRegressor (CPU s)", rows)


def quantiles() -> None:
    X, y = make_regression(100_000, 20, n_informative=10, noise=10.0, random_state=0)
    X = X.astype(np.float32)
    limits = {"max_depth": 8}
    theirs = DecisionTreeRegressor(criterion="absolute_error", random_state=0, **limits)
    calls = {
        "absolute error": TopDownTreeRegressor(criterion="absolute_error", **limits),
        "Quantile(.5)": TopDownTreeRegressor(criterion=Quantile(0.5), **limits),
        "Quantile(.9)": TopDownTreeRegressor(criterion=Quantile(0.9), **limits),
    }
    times = in_turns(2, theirs=partial(theirs.fit, X, y), **{name: partial(m.fit, X, y) for name, m in calls.items()})
    rows = [
        {
            "criterion": name,
            "boscage s": min(times[name]),
            "scikit-learn s": min(times["theirs"]),
            "ratio": min(times[name]) / min(times["theirs"]),
            "mean absolute error": float(np.abs(model.predict(X) - y).mean()),
            "theirs": float(np.abs(theirs.predict(X) - y).mean()),
        }
        for name, model in calls.items()
    ]
    report("regression_quantiles", "100,000 x 20, depth 8, against scikit-learn's absolute_error (CPU s)", rows)


def single_trees() -> None:
    """Ten random splits, four fifths to learn from: RMSE and its standard error, paired with a forest of 500."""
    rows: list[dict[str, Any]] = []
    for name, printed in PRINTED.items():
        if (found := data(name)) is None:
            rows.append({"data": name, "RMSE": "not there: set BOSCAGE_DATA"})
            continue
        X, y, nominal = found
        X = X.astype(np.float64)
        errors: dict[str, list[float]] = {"tree": [], "forest": []}
        seconds, leaves = [], []
        for seed, (train, test) in enumerate(ShuffleSplit(SPLITS, test_size=0.2, random_state=0).split(X)):
            tree = TopDownTreeRegressor(leaf="linear", max_leaf_nodes=64, categorical_features=nominal)
            forest = RandomForestRegressor(500, random_state=seed)
            seconds += in_turns(1, fit=partial(tree.fit, X[train], y[train]))["fit"]
            forest.fit(X[train], y[train])
            leaves.append(tree.get_n_leaves())
            for kind, model in (("tree", tree), ("forest", forest)):
                errors[kind].append(float(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2))))
        ours, theirs = np.array(errors["tree"]), np.array(errors["forest"])
        rows.append(
            {
                "data": name,
                "RMSE": float(ours.mean()),
                "standard error": float(ours.std(ddof=1) / np.sqrt(SPLITS)),
                "best in print": printed,
                "RandomForest-500": float(theirs.mean()),
                "p (paired t)": float(stats.ttest_rel(ours, theirs).pvalue),
                "most leaves": max(leaves),
                "slowest fit CPU s": max(seconds),
            }
        )
    report("regression_single", "One tree with leaf='linear', ten random splits (RMSE)", rows)


def main() -> None:
    fit_and_predict()
    quantiles()
    single_trees()
