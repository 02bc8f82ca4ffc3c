"""What honest selection gives: parameters chosen on a fifth of the training rows, then judged once on the test rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from _measure import report
from _online_data import Split, split
from boscage import LOMTreeClassifier

GRIDS: dict[str, list[dict[str, Any]]] = {
    "beam": [{"learning_rate": rate} for rate in (1.0, 2.0, 4.0)],
    "lomtree": [{"learning_rate": rate} for rate in (0.1, 0.25, 0.5)],
}
PASSES = 5


def error(data: Split, mode: str, options: dict[str, Any]) -> float:
    model = LOMTreeClassifier(mode, n_passes=PASSES, random_state=0, **options).fit(data.X, data.y)
    return 100 * (1 - model.score(data.X_test, data.y_test))


def inner_split(data: Split) -> Split:
    """Hold out a fifth of the training rows, the same share of every class."""
    kept, held = train_test_split(np.arange(len(data.y)), test_size=0.2, stratify=data.y, random_state=0)
    return Split(data.X[kept], data.y[kept], data.X[held], data.y[held])


def main() -> None:
    rows = []
    for name in ("digits", "g100", "isolet", "sector-scale", "g1000", "aloi"):
        if (data := split(name)) is None:
            rows.append({"data": name, "mode": "not there: set BOSCAGE_DATA"})
            continue
        inner = inner_split(data)
        for mode, grid in GRIDS.items():
            validation = [error(inner, mode, options) for options in grid]
            best = grid[int(np.argmin(validation))]
            row = {"data": name, "mode": mode, "chosen": best["learning_rate"]}
            row |= {"validation %": " ".join(f"{e:.2f}" for e in validation)}
            row |= {"test %, chosen": error(data, mode, best), "test %, default": error(data, mode, {})}
            rows.append(row)
    rates = {mode: [options["learning_rate"] for options in grid] for mode, grid in GRIDS.items()}
    report("online_tune", f"Learning rate chosen on a validation part ({PASSES} passes; rates tried: {rates})", rows)


if __name__ == "__main__":
    main()
