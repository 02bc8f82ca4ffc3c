"""Fingerprints of fitted trees: every family, criterion and way to fit, to compare two builds.

``python fingerprints.py OUT`` writes one line for each fit; run it with the interpreter of each build and compare the
files with ``diff``. A line holds the fit and a hash of all arrays of its tree.
"""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from boscage import (
    ForestClassifier,
    ForestRegressor,
    Linear,
    Polish,
    RidgeLeaf,
    StochasticLinear,
    TopDownTreeClassifier,
    TopDownTreeRegressor,
    WeightedOblique,
)
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
    os.environ.pop("BOSCAGE_DATA", None)
    for name in list_datasets():
        data = load_dataset(name)
        X, y = np.asarray(data.X)[:_MOST_ROWS, :_MOST_COLUMNS], np.asarray(data.y)[:_MOST_ROWS]
        if X.dtype.kind != "f" or len(np.unique(y)) < 2:
            continue
        weight = np.random.default_rng(0).exponential(size=len(y))
        found.append((f"{name} float64", X.astype(np.float64), y, None))
        found.append((f"{name} float32 weights", X.astype(np.float32), y, weight))
    return found


def number_problems() -> list[tuple[str, Any, Any, Any]]:
    """Rows, one or two numbers to predict and weights, made here."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 6))
    signal = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0), X[:, 3] - X[:, 4] ** 2])
    Y = signal + 0.1 * rng.normal(size=signal.shape)
    weight = rng.exponential(size=len(X))
    return [
        ("numbers float64", X, Y[:, 0], None),
        ("numbers float32 weights", X.astype(np.float32), Y[:, 0], weight),
        ("two numbers", X, Y, None),
    ]


def class_fits() -> dict[str, Callable[[], Any]]:
    """Name and maker of every estimator of classes."""
    kinds = {f"{family}/{c}": {"splits": s, "criterion": c} for family, s in _FAMILIES.items() for c in _CRITERIA}
    kinds |= {f"wodt/{after}": {"splits": "wodt", **how} for after, how in _AFTER.items()}
    kinds |= {"stochastic/polish soft": {"splits": "stochastic", **_AFTER["polish soft"]}}
    kinds |= {"axis/linear leaves": {"splits": "axis", **_AFTER["linear leaves"]}}
    kinds |= {"oblique/l2 auto": {"splits": WeightedOblique(l2="auto")}}
    found: dict[str, Callable[[], Any]] = {
        name: partial(TopDownTreeClassifier, max_leaf_nodes=8, random_state=0, verbose=False, **how)
        for name, how in kinds.items()
    }
    small = {"n_estimators": 5, "random_state": 0, "verbose": False}
    found |= {f"forest/{splits}": partial(ForestClassifier, splits=splits, **small) for splits in ("mixed", "axis")}
    return found


def number_fits() -> dict[str, Callable[[], Any]]:
    """Name and maker of every estimator of numbers."""
    kinds: dict[str, dict[str, Any]] = {f"{family}/squared error": {"splits": s} for family, s in _FAMILIES.items()}
    kinds |= {"axis/absolute error": {"criterion": "absolute_error"}}
    kinds |= {f"axis/linear leaves {n}": {"leaf": leaf} for n, leaf in enumerate((RidgeLeaf(blend=0), "linear"))}
    kinds |= {"wodt/polish soft": {"splits": "wodt", "polish": Polish("soft", epochs=3)}}
    found: dict[str, Callable[[], Any]] = {
        name: partial(TopDownTreeRegressor, max_leaf_nodes=8, random_state=0, verbose=False, **how)
        for name, how in kinds.items()
    }
    small = {"n_estimators": 5, "random_state": 0, "verbose": False}
    found |= {f"forest/{splits}": partial(ForestRegressor, splits=splits, **small) for splits in ("mixed", "axis")}
    return found


def in_batches(model: Any, X: Any, y: Any, weight: Any) -> Any:
    """Fit a model in three batches."""
    cuts = np.array_split(np.arange(len(X)), 3)
    return model.fit_batches(lambda: ((X[i], y[i], None if weight is None else weight[i]) for i in cuts))


def lines_of(name: str, X: Any, y: Any, weight: Any, fits: dict[str, Callable[[], Any]]) -> Iterator[str]:
    """Fit everything to one problem, in memory and in batches."""
    for what, make in fits.items():
        model = make()
        for how, fit in (("", model.fit), ("/batches", partial(in_batches, model))):
            try:
                model = fit(X, y, weight)
                trees = model.trees_ if hasattr(model, "trees_") else [model.tree_]
                yield f"{name}/{what}{how}: {' '.join(map(fingerprint, trees))}"
            except (ValueError, NotImplementedError) as error:
                yield f"{name}/{what}{how}: {type(error).__name__}"


def main() -> None:
    """Fit everything and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="file to write")
    out = parser.parse_args().out
    lines: list[str] = []
    for problem in problems():
        lines += lines_of(*problem, class_fits())
    for problem in number_problems():
        lines += lines_of(*problem, number_fits())
    out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
