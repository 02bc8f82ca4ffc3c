"""Proven optimal trees: time against pycontree in one run, the weighted setting, hard cases, threads, memory.

All times are CPU seconds of one thread (the lowest of three runs where a run is short), measured in this process; only
the ratio of two threads is elapsed time, with two figures beside it that a busy machine does not spoil: the row places
swept by two threads over those of one, and the share of the threads' time in which they had nothing to do.

    python benchmarks/bench_optimal.py [peers] [weighted] [hard] [threads]
"""

from __future__ import annotations

import os
import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from _measure import data_folder, geometric_mean, report, seconds
from boscage import OptimalTreeClassifier, _core
from boscage.datasets import make_three_spheres

try:
    from pycontree import ConTree
except ImportError:
    ConTree = None

PEER_LIMIT = 60  # wall seconds
SETS = ["S1500", "S6000", "S9000", "bank", "compas", "page", "room", "wdbc"]


def load(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Three circles of N points as SN, or a file of the data folder."""
    if name[0] == "S":
        return make_three_spheres(int(name[1:]), random_state=0)
    folder = data_folder()
    path = folder / f"{name}.npz" if folder else None
    if path is None or not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as file:
        return np.ascontiguousarray(file["X"], dtype=np.float64), file["y"].astype(np.int64)


def ours(X, y, depth, alpha, weight=None, **limits):
    tree = OptimalTreeClassifier(depth, alpha, **{"time_limit": 600, **limits})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return tree.fit(X, y, weight)


def peer_objective(X, y, depth, alpha):
    """Return the objective of pycontree's tree, and whether it ended before its limit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        tree = ConTree(max_depth=depth, complexity_cost=alpha, time_limit=PEER_LIMIT)
        tree.fit(X, y)
        in_time = time.perf_counter() - start < PEER_LIMIT and not any("time" in str(w.message).lower() for w in caught)
    wrong = float((tree.predict(X) != y).mean())
    return wrong + alpha * tree.get_num_leaf_nodes(), in_time


def peers() -> None:
    """Time to the proof without weights, one thread, against pycontree in the same run."""
    rows: list[dict[str, object]] = []
    ratios: dict[str, list[float]] = {"depth 2": [], "depth 3 and 4": []}
    for depth in (2, 3, 4):
        for name in SETS:
            data = load(name)
            if data is None:
                rows.append({"data": name, "depth": depth, "note": "not in BOSCAGE_DATA"})
            elif depth < 4 or name not in ("page", "room", "wdbc", "compas"):  # pycontree does not finish there
                for alpha in (0.0, 0.001):
                    row = peer_row(name, *data, depth, alpha)
                    rows.append(row)
                    if row["note"] == "":
                        ratios["depth 2" if depth == 2 else "depth 3 and 4"].append(row["pycontree / boscage"])
    for name, wanted in (("depth 2", ">= 3"), ("depth 3 and 4", ">= 10")):
        if ratios[name]:
            mean, note = geometric_mean(ratios[name]), f"{len(ratios[name])} runs"
            rows.append(
                {"data": f"geometric mean, {name}", "pycontree / boscage": mean, "wanted": wanted, "note": note}
            )
    report("optimal_peers", "Optimal trees: CPU seconds to the proof, one thread, no weights", rows)


def peer_row(name, X, y, depth, alpha):
    kept = {}
    mine = seconds(lambda: kept.update(tree=ours(X, y, depth, alpha)), budget=1.0)
    row = {"data": name, "depth": depth, "alpha": alpha, "objective": round(kept["tree"].objective_, 6)}
    row["boscage"] = mine
    if ConTree is None:
        return {**row, "pycontree": "not installed", "note": "not installed"}
    theirs = seconds(lambda: kept.update(peer=peer_objective(X, y, depth, alpha)), budget=1.0)
    objective, in_time = kept["peer"]
    same = abs(objective - kept["tree"].objective_) < 1e-9
    note = "" if in_time else "pycontree stopped by its limit"
    return {**row, "pycontree": theirs, "pycontree / boscage": theirs / mine, "same objective": same, "note": note}


def weighted() -> None:
    """Run the paper's setting: three circles, depth 5, alpha .001, with real weights and without."""
    rows = []
    for name in ("S1500", "S6000", "S9000"):
        X, y = load(name)
        weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y))
        kept = {}
        plain = seconds(lambda X=X, y=y: ours(X, y, 5, 0.001))
        real = seconds(lambda X=X, y=y, w=weight, kept=kept: kept.update(tree=ours(X, y, 5, 0.001, w)))
        row = {"data": name, "weighted": real, "wanted": "<= 1 s", "unweighted": plain, "ratio": real / plain}
        tree = kept["tree"]
        rows.append({**row, "ratio wanted": "<= 1.5", "status": tree.status_, "objective": round(tree.objective_, 6)})
    report(
        "optimal_weighted", "Three circles, depth 5, alpha .001: weights in [.5, 1.5] against none, CPU seconds", rows
    )


def noisy(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_three_spheres(n, random_state=0)
    flip = np.random.default_rng(1).random(n) < 0.1
    return X, np.where(flip, 1 - y, y)


def search(X, y, depth, weight=None, limit=600.0, threads=1) -> dict[str, object]:
    """Call the core itself: it also tells memory, row places swept and waiting of the search."""
    none = np.empty(0, np.int32)
    settings = _core.OptimalSettings()
    settings.max_depth, settings.time_limit, settings.threads = depth, limit, threads
    target = _core.Target(y.astype(np.int32), np.empty(0) if weight is None else weight, int(y.max()) + 1)
    return _core.solve_optimal(_core.Table(X), target, settings, (none, none, none, np.empty(0)), None)


def hard_cases():
    """Name, depth and data of the hard cases, as far as they are here."""
    for name, depth, data in (("10 % flipped", 5, noisy(1500)), ("wdbc", 4, load("wdbc")), ("room", 4, load("room"))):
        if data is not None:
            X, y = data
            yield name, depth, X, y, np.random.default_rng(1).uniform(0.5, 1.5, len(y)) if depth == 5 else None


def hard() -> None:
    """Prove hard cases; then show how the gap closes where no proof comes."""
    rows = []
    for name, depth, X, y, weight in hard_cases():
        took = []
        for _ in range(2):
            before = time.process_time()
            found = search(X, y, depth, weight)
            took.append(time.process_time() - before)
        row = {"data": name, "depth": depth, "CPU s": min(took), "other run": max(took), "wanted": "<= 30"}
        row |= {"status": found["status"], "objective": round(found["objective"], 6)}
        rows.append({**row, "MB": found["peak_bytes"] / 1e6, "MB wanted": "<= 200"})
    report(
        "optimal_hard",
        "Hard cases, alpha .001: CPU seconds to the proof (lower of two runs), memory of the search",
        rows,
    )
    data, rows = load("compas"), []
    for limit in (1, 4, 16) if data else ():
        tree = ours(*data, 6, 0.001, time_limit=limit)
        row = {"limit s": limit, "objective": tree.objective_, "bound": tree.lower_bound_, "gap": tree.gap_}
        rows.append({**row, "status": tree.status_})
    report("optimal_anytime", "compas, depth 6: what is known after some seconds (elapsed)", rows)


def threads() -> None:
    """Two threads against one on the hard cases."""
    rows = []
    for name, depth, X, y, weight in hard_cases():
        walls, found = [], []
        for count in (1, 2):
            start = time.perf_counter()
            found.append(search(X, y, depth, weight, threads=count))
            walls.append(time.perf_counter() - start)
        row = {"data": name, "depth": depth, "one": walls[0], "two": walls[1], "ratio": walls[0] / walls[1]}
        row |= {"wanted": ">= 1.5", "swept, two over one": found[1]["work"] / found[0]["work"]}
        rows.append({**row, "idle": found[1]["waited"] / (2 * walls[1]), "load": round(os.getloadavg()[0], 1)})
    report("optimal_threads", "Hard cases, two threads against one, elapsed seconds", rows)


def main(chosen: list[str] | None = None) -> None:
    parts = {"peers": peers, "weighted": weighted, "hard": hard, "threads": threads}
    for name in chosen or parts:
        parts[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
