"""What honest selection gives: parameters chosen on a fifth of the training rows, then judged once on the test rows.

python benchmarks/tune_online.py [rate] [flood] [width]
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from _measure import report
from _online_data import Split, split
from boscage import LOMTreeClassifier, online

SETS = ("digits", "g100", "isolet", "sector-scale", "g1000", "aloi")
RATES = {"beam": (1.0, 2.0, 4.0), "lomtree": (0.1, 0.25, 0.5)}
HEAD_STARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
FLOODS = (0.5, 0.75)
WIDTHS = (10, 20, 40, 80)
PASSES = 5
MISSING = "not there: set BOSCAGE_DATA"


def inner_split(data: Split) -> Split:
    """Hold out a fifth of the training rows, the same share of every class."""
    kept, held = train_test_split(np.arange(len(data.y)), test_size=0.2, stratify=data.y, random_state=0)
    return Split(data.X[kept], data.y[kept], data.X[held], data.y[held])


def fit_error(data: Split, mode: str, **options: Any) -> float:
    model = LOMTreeClassifier(mode, n_passes=PASSES, random_state=0, **options).fit(data.X, data.y)
    return 100 * (1 - model.score(data.X_test, data.y_test))


def rate() -> None:
    """For each data set alone, and one rate for all: the least mean of the validation errors."""
    rows: list[dict[str, Any]] = []
    for mode, rates in RATES.items():
        sums = np.zeros(len(rates))
        for name in SETS:
            if (data := split(name)) is None:
                rows.append({"data": name, "mode": mode, "chosen": MISSING})
                continue
            inner = inner_split(data)
            validation = [fit_error(inner, mode, learning_rate=one) for one in rates]
            sums += validation
            best = rates[int(np.argmin(validation))]
            row: dict[str, Any] = {"data": name, "mode": mode, "chosen": best}
            row |= {"validation %": " ".join(f"{e:.2f}" for e in validation)}
            row["test %, chosen"] = fit_error(data, mode, learning_rate=best)
            rows.append(row | {"test %, default": fit_error(data, mode)})
        row = {"data": "mean of all", "mode": mode, "chosen": rates[int(np.argmin(sums))]}
        rows.append(row | {"validation %": " ".join(f"{e:.2f}" for e in sums / len(SETS))})
    report("online_tune", f"Learning rate chosen on a validation part ({PASSES} passes; rates tried: {RATES})", rows)


def stream_errors(data: Split, above: float, head_start: float) -> list[float]:
    """Errors after one pass over the rows with half the classes first, and sorted by class."""
    old = online._FLOOD
    online._FLOOD = dict.fromkeys((True, False), (above, head_start))
    try:
        noise = np.random.default_rng(1).random(len(data.y))
        errors = []
        for key in (data.y >= data.n_classes // 2, data.y):
            order = np.lexsort((noise, key))
            model = LOMTreeClassifier(random_state=0).partial_fit(data.X[order], data.y[order])
            errors.append(100 * (1 - model.score(data.X_test, data.y_test)))
        return errors
    finally:
        online._FLOOD = old


def flood() -> None:
    """Both factors of the remedy for sorted streams: validation errors of half the classes first, and sorted."""
    rows: list[dict[str, Any]] = []
    for kind, names in (("centred", ("isolet", "g1000", "aloi")), ("unit", ("sector-scale",))):
        inner = [inner_split(data) for name in names if (data := split(name)) is not None]
        if len(inner) < len(names):
            rows.append({"rows": kind, "flood above": MISSING})
            continue
        grid = [(above, head) for above in FLOODS for head in HEAD_STARTS if head > 0 or above == FLOODS[0]]
        found = [[stream_errors(data, *pair) for data in inner] for pair in grid]
        means = [float(np.mean(errors)) for errors in found]
        for pair, errors, mean in zip(grid, found, means):
            row: dict[str, Any] = {"rows": kind, "flood above": pair[0], "head start": pair[1]}
            row |= {f"{name}: half first, sorted %": f"{a:.2f}, {b:.2f}" for name, (a, b) in zip(names, errors)}
            rows.append(row | {"mean %": mean, "chosen": "yes" if mean == min(means) else ""})
    report("online_flood", "Sorted streams, one pass: errors on a validation part of the training rows", rows)


def width() -> None:
    """Show what a wider beam buys, and scoring all classes at once: validation error and time of a prediction."""
    rows: list[dict[str, Any]] = []
    for name in ("isolet", "sector-scale", "g1000", "aloi"):
        if (data := split(name)) is None:
            rows.append({"data": name, "search": MISSING})
            continue
        inner = inner_split(data)
        choices: dict[str, dict[str, Any]] = {f"beam {w}": {"beam_width": w, "flat_below": 0} for w in WIDTHS}
        for search, options in (choices | {"all classes": {"flat_below": 10**6}}).items():
            model = LOMTreeClassifier(n_passes=PASSES, random_state=0, **options).fit(inner.X, inner.y)
            start = time.process_time()
            error = 100 * (1 - model.score(inner.X_test, inner.y_test))
            micro = 1e6 * (time.process_time() - start) / len(inner.y_test)
            rows.append({"data": name, "search": search, "validation %": error, "predict us": micro})
    report("online_width", f"Width of the beam, on a validation part of the training rows ({PASSES} passes)", rows)


def main(chosen: list[str] | None = None) -> None:
    parts = {"rate": rate, "flood": flood, "width": width}
    for name in chosen or parts:
        parts[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
