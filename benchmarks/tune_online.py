"""What honest selection gives: parameters chosen on a fifth of the training rows, then judged once on the test rows.

python benchmarks/tune_online.py [rate] [flood] [width] [pair] [one_pass] [column] [CONSTANT ...] [cuts=N]
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split

from _measure import RESULTS, report
from _online_data import Split, split
from boscage import LOMTreeClassifier, OnlineTreeClassifier, online

SETS = ("digits", "g100", "isolet", "sector-scale", "g1000", "aloi")
RATES: dict[Any, tuple[float, ...]] = {OnlineTreeClassifier: (1.0, 2.0, 4.0), LOMTreeClassifier: (0.1, 0.25, 0.5)}
HEAD_STARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
FLOODS = (0.5, 0.75)
WIDTHS = (10, 20, 40, 80)
PASSES = 5
MISSING = "not there: set BOSCAGE_DATA"

# Constants of the core with the values tried. The class tree matters only where it proposes few of the classes: to try
# its constants, so many candidates are asked for.
CHOSEN_ON = ("isolet", "sector-scale", "aloi", "g100", "g1000")
CANDIDATES = {"isolet": 12, "sector-scale": 40, "aloi": 160, "g100": 40, "g1000": 160}
CUTS = 3
KEYS = ("error", "cost")
SCORERS: dict[str, tuple[float, ...]] = {
    "start_square": (0.01, 0.03, 0.1, 0.3, 1.0),
    "skip_below": (0.0, 0.001, 0.003, 0.01, 0.03),
    "average_power": (1, 2, 3, 5, 8),
}
SPARSE_SCORERS: dict[str, tuple[float, ...]] = {"create_above": (0.0, 0.02, 0.05, 0.1, 0.2)}
TREES: dict[str, tuple[float, ...]] = {
    "leaf_size": (2, 4, 8, 16),
    "router_rate": (0.25, 0.5, 1.0),
    "router_skip": (0.0, 0.001, 0.01),
    "rebuild_until": (16, 64, 256),
    "power_rounds": (4, 8, 16),
    "halving_rounds": (1, 6, 12),
    "dense_floor": (0.0, 0.01, 0.1),
}
SPARSE_TREES: dict[str, tuple[float, ...]] = {"sparse_floor": (0.3, 1.0, 3.0), "sparse_start": (512, 2048, 8192)}
STREAMS: dict[str, tuple[float, ...]] = {
    "patience": (2.0, 3.0, 5.0),
    "probes": (1, 2, 4),
    "replay_size": (4, 8, 16),
    "note_share": (1 / 64, 1 / 256, 1 / 1024),
    "regrow": (1.2, 1.5, 2.0),
}


def inner_split(data: Split, seed: int = 0) -> Split:
    """Hold out a fifth of the training rows, the same share of every class."""
    kept, held = train_test_split(np.arange(len(data.y)), test_size=0.2, stratify=data.y, random_state=seed)
    return Split(data.X[kept], data.y[kept], data.X[held], data.y[held])


def fit_error(data: Split, of: Any, **options: Any) -> float:
    model = of(n_passes=PASSES, random_state=0, **options).fit(data.X, data.y)
    return 100 * (1 - model.score(data.X_test, data.y_test))


def rate() -> None:
    """For each data set alone, and one rate for all: the least mean of the validation errors."""
    rows: list[dict[str, Any]] = []
    for of, rates in RATES.items():
        learner = of.__name__.removesuffix("Classifier")
        sums = np.zeros(len(rates))
        for name in SETS:
            if (data := split(name)) is None:
                rows.append({"data": name, "learner": learner, "chosen": MISSING})
                continue
            inner = inner_split(data)
            validation = [fit_error(inner, of, learning_rate=one) for one in rates]
            sums += validation
            best = rates[int(np.argmin(validation))]
            row: dict[str, Any] = {"data": name, "learner": learner, "chosen": best}
            row |= {"validation %": " ".join(f"{e:.2f}" for e in validation)}
            row["test %, chosen"] = fit_error(data, of, learning_rate=best)
            rows.append(row | {"test %, default": fit_error(data, of)})
        row = {"data": "mean of all", "learner": learner, "chosen": rates[int(np.argmin(sums))]}
        rows.append(row | {"validation %": " ".join(f"{e:.2f}" for e in sums / len(SETS))})
    tried = "; ".join(f"{of.__name__} {', '.join(map(str, rates))}" for of, rates in RATES.items())
    report("online_tune", f"Learning rate chosen on a validation part ({PASSES} passes; tried: {tried})", rows)


def stream_errors(data: Split, above: float, head_start: float) -> list[float]:
    """Errors after one pass over the rows with half the classes first, and sorted by class."""
    old = online._FLOOD
    online._FLOOD = dict.fromkeys((True, False), (above, head_start))
    try:
        noise = np.random.default_rng(1).random(len(data.y))
        errors = []
        for key in (data.y >= data.n_classes // 2, data.y):
            order = np.lexsort((noise, key))
            model = OnlineTreeClassifier(random_state=0).partial_fit(data.X[order], data.y[order])
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
            model = OnlineTreeClassifier(n_passes=PASSES, random_state=0, **options).fit(inner.X, inner.y)
            start = time.process_time()
            error = 100 * (1 - model.score(inner.X_test, inner.y_test))
            micro = 1e6 * (time.process_time() - start) / len(inner.y_test)
            rows.append({"data": name, "search": search, "validation %": error, "predict us": micro})
    report("online_width", f"Width of the beam, on a validation part of the training rows ({PASSES} passes)", rows)


@contextmanager
def changed(**constants: float) -> Iterator[None]:
    """Give constants of the core other values for a while."""
    old = {name: getattr(online._CONSTANTS, name) for name in constants}
    try:
        for name, value in constants.items():
            setattr(online._CONSTANTS, name, value)
        yield
    finally:
        for name, value in old.items():
            setattr(online._CONSTANTS, name, value)


@cache
def cut(name: str, seed: int) -> Split:
    data = split(name)
    assert data is not None
    return inner_split(data, seed)


def judge(data: Split, seed: int, **options: Any) -> dict[str, float]:
    """Error in per cent after some passes, and weight vectors that learning read and changed."""
    model = OnlineTreeClassifier(n_passes=PASSES, random_state=seed, **options).fit(data.X, data.y)
    touched = model._learner.vectors_read + model._learner.vectors_written
    return {"error": 100 * (1 - model.score(data.X_test, data.y_test)), "cost": float(touched)}


def judge_constant(constant: str, value: float, name: str, seed: int) -> dict[str, float]:
    """Find the validation error with one constant changed."""
    options: dict[str, Any] = {}
    if constant in TREES | SPARSE_TREES:
        leaf = value if constant == "leaf_size" else online._CONSTANTS.leaf_size
        options = {"flat_below": 0, "beam_width": max(1, int(CANDIDATES[name] // leaf))}
    with changed(**{constant: value}):
        return judge(cut(name, seed), seed, **options)


def judge_stream(constant: str, value: float, name: str, seed: int) -> dict[str, float]:
    """Find the mean validation error and the steps after one pass over streams in three orders.

    Mixed, half the classes first, and sorted by class.
    """
    data = cut(name, seed)
    noise = np.random.default_rng(seed).random(len(data.y))
    constants, options = ({}, {constant: value}) if constant == "replay_size" else ({constant: value}, {})
    errors, steps = [], []
    with changed(**constants):
        for key in (noise, data.y >= data.n_classes // 2, data.y):
            order = np.lexsort((noise, key))
            model = OnlineTreeClassifier(random_state=seed, **options).partial_fit(data.X[order], data.y[order])
            errors.append(100 * (1 - model.score(data.X_test, data.y_test)))
            steps.append(model.n_steps_)
    return {"error": float(np.mean(errors)), "cost": float(np.mean(steps))}


def judge_one_pass(_: str, value: float, name: str, seed: int) -> dict[str, float]:
    """Ask how the start of the AdaGrad sums does on streams that pass once."""
    return judge_stream("start_square", value, name, seed)


def judge_column(_: str, value: float, name: str, seed: int) -> dict[str, float]:
    """Sparse rows: columns divided by their root mean square to a power.

    The classifier divides by the power 1/2; where the columns it gets carry the root mean square to the power b, it
    divides by (1 + b)/2 of that, and so leaves the power (1 - b)/2 of the original one.
    """
    data = cut(name, seed)
    square = np.asarray(data.X.multiply(data.X).mean(axis=0)).ravel()
    factor = np.where(square > 0, np.where(square > 0, square, 1.0) ** ((1 - 2 * value) / 2), 1.0)
    carry = sparse.diags_array(factor.astype(np.float32), format="csr")
    return judge(Split(data.X @ carry, data.y, data.X_test @ carry, data.y_test), seed)


def judge_pair(_: str, value: Any, name: str, seed: int) -> dict[str, float]:
    """Find the validation error at a learning rate and a start of the AdaGrad sums: they pull on the same steps."""
    learning_rate, start_square = value
    with changed(start_square=start_square):
        return judge(cut(name, seed), seed, learning_rate=learning_rate)


Judge = Callable[[str, Any, str, int], dict[str, float]]


def choose(
    constant: str, values: tuple[Any, ...], present: Any, names: tuple[str, ...], ask: Judge, *, cuts: int = CUTS
) -> None:
    """Judge every value on every data set and cut; errors relative to those of the present value, in the mean."""
    if any(split(name) is None for name in names):
        keep(constant, [{"value": MISSING}])
        return
    cells = {v: [[ask(constant, v, name, seed) for name in names] for seed in range(cuts)] for v in values}
    errors, costs = ({v: np.array([[one[key] for one in row] for row in cells[v]]) for v in values} for key in KEYS)
    rows = []
    for v in values:
        logs = np.log(errors[v] / errors[present])  # cuts x data sets
        shown = " ".join(f"{number:g}" for number in np.atleast_1d(v))
        row: dict[str, Any] = {"value": shown, "present": "yes" if v == present else ""}
        row |= {f"{name} %": float(e) for name, e in zip(names, errors[v].mean(0))}
        row |= {"ratio of errors": float(np.exp(logs.mean())), "its standard error": "", "cuts": cuts}
        if cuts > 1:
            row["its standard error"] = float(np.std(logs.mean(1), ddof=1) / np.sqrt(cuts))
        row["ratio of costs"] = float(np.exp(np.log(costs[v] / costs[present]).mean()))
        rows.append(row)
    keep(constant, rows)


def keep(constant: str, rows: list[dict[str, Any]]) -> None:
    """Put what was found for a constant beside what is known of the others."""
    path = RESULTS / "online_constants.json"
    known = json.loads(path.read_text())["rows"] if path.exists() else []
    others = [row for row in known if row["constant"] != constant]
    title = "Constants of OnlineTreeClassifier: errors on a fifth of the training rows held out, by value"
    report("online_constants", title, others + [{"constant": constant} | row for row in rows])


def parts() -> dict[str, Callable[..., None]]:
    """Return what can be asked for, by name."""
    sparse_only, large = ("sector-scale",), ("aloi", "g100", "g1000")
    out: dict[str, Callable[..., None]] = {"rate": rate, "flood": flood, "width": width}
    out["column"] = partial(choose, "column_power", (0.0, 0.25, 0.5, 0.75, 1.0), 0.5, sparse_only, judge_column)
    pair = OnlineTreeClassifier().learning_rate, online._CONSTANTS.start_square
    pairs = tuple((learning_rate, start) for learning_rate in (2.0, 3.0, 4.0) for start in (0.1, 0.3, 1.0, 3.0))
    out["pair"] = partial(choose, "pair", pairs, pair, CHOSEN_ON, judge_pair)
    for group, names in ((SCORERS, CHOSEN_ON), (SPARSE_SCORERS, sparse_only), (TREES, CHOSEN_ON),
                         (SPARSE_TREES, sparse_only)):  # fmt: skip
        for constant, values in group.items():
            where = large if constant in TREES and constant != "leaf_size" else names
            present = getattr(online._CONSTANTS, constant)
            out[constant] = partial(choose, constant, values, present, where, judge_constant)
    streams = ("isolet", "sector-scale", "aloi", "g1000")
    out["one_pass"] = partial(choose, "one_pass", SCORERS["start_square"], pair[1], streams, judge_one_pass)
    for constant, values in STREAMS.items():
        present = getattr(online._CONSTANTS, constant, OnlineTreeClassifier().replay_size)
        out[constant] = partial(choose, constant, values, present, streams, judge_stream)
    return out


def main(chosen: list[str] | None = None) -> None:
    wanted = [name for name in chosen or [] if not name.startswith("cuts=")]
    given = [int(name.removeprefix("cuts=")) for name in chosen or [] if name.startswith("cuts=")]
    known = parts()
    for name in wanted or known:
        known[name](**{"cuts": given[0]} if given and isinstance(known[name], partial) else {})


if __name__ == "__main__":
    main(sys.argv[1:])
