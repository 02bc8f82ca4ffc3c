"""Fits and predictions of the module compiled with Clang over those of the module compiled with GCC.

``make clang-python`` builds the module with Clang and lays it over the environment; without it nothing is measured. The
two builds take turns in two processes, CPU time of one thread, the lowest of some rounds.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from _measure import geometric_mean, report

OTHER = Path(__file__).parent.parent / "build" / "clang-python" / "env" / "bin" / "python"
ROUNDS = 9


def jobs():
    """Name and call of everything that is measured."""
    import numpy as np

    from boscage import ForestClassifier, OnlineTreeClassifier, OptimalTreeClassifier, TopDownTreeClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 20))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(len(X)) > 0).astype(np.int64) + (X[:, 3] > 1)
    many, labels = X.astype(np.float32), rng.integers(0, 50, len(X))
    binary = (X[:2000, :12] > 0).astype(np.float64)

    def tree(splits, leaves, rows):
        model = TopDownTreeClassifier(splits, max_leaf_nodes=leaves, n_jobs=1, random_state=0, verbose=False)
        return lambda: model.fit(X[:rows], y[:rows])

    grown = TopDownTreeClassifier("axis", n_jobs=1, verbose=False).fit(X, y)
    oblique = TopDownTreeClassifier("wodt", max_leaf_nodes=16, n_jobs=1, verbose=False).fit(X[:4000], y[:4000])
    soft = TopDownTreeClassifier("stochastic", max_leaf_nodes=64, n_jobs=1, verbose=False).fit(X, y)
    forest = ForestClassifier(5, splits="mixed", n_jobs=1, random_state=0, verbose=False)
    optimal = OptimalTreeClassifier(max_depth=3, n_jobs=1, time_limit=None, verbose=False)
    online = OnlineTreeClassifier(random_state=0, n_jobs=1, verbose=False)
    return {
        "axis": tree("axis", None, 20_000),
        "wodt": tree("wodt", 32, 20_000),
        "oblique": tree("oblique", 32, 20_000),
        "stochastic": tree("stochastic", 64, 20_000),
        "hhcart": tree("hhcart", 16, 10_000),
        "oc1": tree("oc1", 4, 2000),
        "mixed forest": lambda: forest.fit(X[:4000], y[:4000]),
        "optimal, depth 3": lambda: optimal.fit(binary, y[:2000]),
        "online": lambda: online.fit(many[:10_000], labels[:10_000]),
        "predict, axis": lambda: [grown.predict_proba(X) for _ in range(10)],
        "predict, wodt": lambda: [oblique.predict_proba(X) for _ in range(10)],
        "predict, stochastic": lambda: [soft.predict_proba(X) for _ in range(10)],
    }


def answer() -> None:
    """Run the named jobs, one for each line of input, and print what each took."""
    known = jobs()
    print(" ".join(name.replace(" ", "_") for name in known), flush=True)
    for line in sys.stdin:
        start = time.process_time()
        known[line.strip().replace("_", " ")]()
        print(time.process_time() - start, flush=True)


def main() -> None:
    if not OTHER.exists():
        print("\nCompilers: no module built with Clang; make clang-python builds it")
        return
    started = {
        compiler: subprocess.Popen(
            [python, __file__, "answer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for compiler, python in (("gcc", sys.executable), ("clang", OTHER))
    }
    names, _ = (process.stdout.readline().split() for process in started.values())
    took: dict[tuple[str, str], float] = {}
    for _ in range(ROUNDS):
        for name in names:
            for compiler, process in started.items():
                process.stdin.write(name + "\n")
                process.stdin.flush()
                seconds = float(process.stdout.readline())
                took[name, compiler] = min(seconds, took.get((name, compiler), seconds))
    for process in started.values():
        process.stdin.close()
        process.wait()
    rows = [
        {"what": name.replace("_", " "), "GCC s": took[name, "gcc"], "Clang s": took[name, "clang"],
         "ratio": took[name, "clang"] / took[name, "gcc"]}
        for name in names
    ]  # fmt: skip
    rows.append({"what": "geometric mean", "ratio": geometric_mean(row["ratio"] for row in rows)})
    report("compilers", "The module compiled with Clang over that compiled with GCC, one thread (CPU s)", rows)


if __name__ == "__main__":
    answer() if sys.argv[1:] == ["answer"] else main()
