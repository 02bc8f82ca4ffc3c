"""Fingerprints of fitted trees: every family and criterion on the embedded data sets, to compare two builds.

``python fingerprints.py OUT`` writes one line for each fit; run it with the interpreter of each build and compare the
files with ``diff``. A line holds the fit and a hash of all arrays of its tree.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from boscage import Linear, Polish, StochasticLinear, TopDownTreeClassifier, WeightedOblique
from boscage.datasets import list_datasets, load_dataset
from boscage.splits.axis import Axis
from boscage.tree import Tree

_MOST_ROWS, _MOST_COLUMNS = 600, 40
_FAMILIES: dict[str, Any] = {
    "axis": "axis",
    "axis, bins": Axis(max_bins=32),
    "stochastic": "stochastic",
    "stochastic, unit": StochasticLinear(scale="unit"),
    "stochastic, lookahead": StochasticLinear(lookahead=True),
    "wodt": "wodt",
    "wodt, bins": WeightedOblique(max_bins=32),
    "co2": "co2",
    "oc1": "oc1",
    "cart_lc": "cart_lc",
    "hhcart": "hhcart",
}
_CRITERIA = ("gini", "entropy", "sqrt", "modified_gini")
_AFTER: dict[str, dict[str, Any]] = {
    "linear leaves": {"leaf": Linear()},
    "polish soft": {"polish": Polish("soft", epochs=3)},
    "polish hard": {"polish": Polish("hard", epochs=3)},
}


def fingerprint(tree: Tree) -> str:
    """Hash of all numbers of a tree."""
    found = hashlib.sha256()
    parts: list[Any] = [tree, tree.input_map, tree.leaf_models]
    for part in parts:
        for name in sorted(getattr(part, "__dataclass_fields__", ())):
            value = getattr(part, name)
            value = value.toarray() if sparse.issparse(value) else value
            if isinstance(value, np.ndarray):
                found.update(name.encode() + value.tobytes())
    return found.hexdigest()[:16]


def problems() -> list[tuple[str, Any, Any, Any]]:
    """Name, rows, labels and weights: the embedded sets in both precisions, with and without weights."""
    found = []
    for name in list_datasets():
        data = load_dataset(name)
        X, y = np.asarray(data.X)[:_MOST_ROWS, :_MOST_COLUMNS], np.asarray(data.y)[:_MOST_ROWS]
        if X.dtype.kind != "f" or len(np.unique(y)) < 2:
            continue
        weight = np.random.default_rng(0).exponential(size=len(y))
        found.append((f"{name} float64", X.astype(np.float64), y, None))
        found.append((f"{name} float32 weights", X.astype(np.float32), y, weight))
    return found


def main(out: Path) -> None:
    """Fit everything and write the file."""
    lines = []
    for name, X, y, weight in problems():
        fits = [(f"{family}/{c}", {"splits": s, "criterion": c}) for family, s in _FAMILIES.items() for c in _CRITERIA]
        fits += [(f"wodt/{after}", {"splits": "wodt", **how}) for after, how in _AFTER.items()]
        fits += [("stochastic/polish soft", {"splits": "stochastic", **_AFTER["polish soft"]})]
        fits += [("axis/linear leaves", {"splits": "axis", **_AFTER["linear leaves"]})]
        for what, how in fits:
            model = TopDownTreeClassifier(max_leaf_nodes=8, random_state=0, verbose=False, **how)
            try:
                lines.append(f"{name}/{what}: {fingerprint(model.fit(X, y, sample_weight=weight).tree_)}")
            except ValueError as error:
                lines.append(f"{name}/{what}: {type(error).__name__}")
    out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
