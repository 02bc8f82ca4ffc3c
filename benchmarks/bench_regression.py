"""Trees of numbers against scikit-learn: fit, predict, absolute error. Errors are those of accuracy.py."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.datasets import make_regression
from sklearn.tree import DecisionTreeRegressor

from _measure import data_folder, geometric_mean, in_turns, report
from boscage import Quantile, TopDownTreeRegressor
from boscage.datasets import read_npz

LARGE = ["protein", "kin40k", "fried", "2dplanes", "cal-housing", "ailerons"]
ROUNDS = 3


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


def main() -> None:
    fit_and_predict()
    quantiles()
