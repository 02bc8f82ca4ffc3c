"""Trees that share one table against trees that each prepare their own: CPU time, in turns."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from _measure import in_turns, report
from boscage import TopDownTreeClassifier
from boscage.engine.finish import Finish
from boscage.forest._bags import Bags
from boscage.forest._grow import TreeGrower, grow_trees

TREES, ROWS, COLUMNS = 40, 100_000, 20


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    noise = rng.normal(size=ROWS)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + noise > 0).astype(np.int32)


def together(X: Any, y: Any, max_depth: int | None, bags: Bags) -> list[Any]:
    """Grow all trees on one table."""
    tree = TopDownTreeClassifier(max_depth=max_depth, random_state=0, n_jobs=1)
    job, leaf = tree._job(X, y, None)
    return grow_trees(TreeGrower(job, bags, Finish(0.0, None, leaf, False), job.limits), range(TREES), 1, False)


def separately(X: Any, y: Any, max_depth: int | None, bags: Bags) -> list[Any]:
    """Fit each tree by itself to its bag."""
    fitted = []
    for number in range(TREES):
        tree = TopDownTreeClassifier(max_depth=max_depth, random_state=0, n_jobs=1)
        fitted.append(tree.fit(X, y, sample_weight=bags.counts(number)).tree_)
    return fitted


def main(rounds: int = 3) -> None:
    X, y = data()
    bags = Bags.of(0, ROWS, True, None)
    rows = []
    for max_depth, most in ((None, 0.9), (8, 0.75)):
        calls = {way.__name__: partial(way, X, y, max_depth, bags) for way in (together, separately)}
        took = {name: min(times) for name, times in in_turns(rounds, **calls).items()}
        ratio = took["together"] / took["separately"]
        depth = "grown out" if max_depth is None else f"depth {max_depth}"
        rows.append({"trees": f"{TREES}, {depth}", **took, "ratio": ratio, "wanted": f"<= {most}"})
    report("forest_table", f"{TREES} trees on one table of {ROWS:,} × {COLUMNS} against separate fits (CPU s)", rows)


if __name__ == "__main__":
    main()
