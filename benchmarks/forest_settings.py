"""Settings of forests of classes, compared on parts of the training rows.

    python benchmarks/forest_settings.py usps --cuts 2
    python benchmarks/forest_settings.py mnist --cuts 1 --rows 6000 --settings defaults "axis, 64 linear leaves of 0.1"

Only the published training rows are read; larger sets are cut down to `--rows` of them at random. Each cut fits on 70 %
of these and scores the rest. Cells are kept in results/forest_settings/cells.json and are not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedShuffleSplit

from accuracy import SMOOTHING
from boscage import ForestClassifier, ForestMix, Linear, RefitLeaves
from boscage.datasets import read_npz

CELLS = Path(__file__).parent / "results" / "forest_settings" / "cells.json"
CUT_SEED, HELD_OUT = 7, 0.3
FIFTHS: dict[str, Any] = {"bootstrap": False, "max_samples": 0.8}


def mixed(**pieces: Any) -> dict[str, Any]:
    return {"splits": ForestMix(**pieces)}


def linear_leaves(splits: Any, leaves: int, l2: float = 1.0, **more: Any) -> dict[str, Any]:
    return {"splits": splits, "leaf": Linear(l2=l2), "max_leaf_nodes": leaves, **more}


AXIS_NODES = ForestMix(axis_share=1.0)
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "300 trees": {"n_estimators": 300},
    "four fifths of the rows": FIFTHS,
    "63 % of the rows": {"bootstrap": False, "max_samples": 0.632},
    "all rows": {"bootstrap": False},
    "bayesian": {"bootstrap": "bayesian"},
    "l2=1": mixed(l2=1.0),
    "l2=10": mixed(l2=10.0),
    "axis_share=0": mixed(axis_share=0.0),
    "axis_share=0.25": mixed(axis_share=0.25),
    "super_classes=1": mixed(super_classes=1.0),
    "super_classes=0": mixed(super_classes=0.0),
    "no ridge": mixed(finders=("wodt", "axis")),
    "three ridge, no wodt": mixed(finders=("ridge", "ridge", "ridge", "axis")),
    "ridge alone": mixed(finders=("ridge",)),
    "linear_features=sqrt": mixed(linear_features="sqrt"),
    "linear_features=0.1": mixed(linear_features=0.1),
    "linear_features=0.25": mixed(linear_features=0.25),
    "max_iter=5": mixed(max_iter=5),
    "max_rows=200": mixed(max_rows=200),
    "gini": {"criterion": "gini"},
    "64 leaves, refit": {"max_leaf_nodes": 64, "refit": "leaves"},
    "128 leaves, refit, l2=100": {"max_leaf_nodes": 128, "refit": RefitLeaves(l2=100)},
    "30 oblique, 16 linear leaves": {"n_estimators": 30, **linear_leaves("oblique", 16)},
    "30 oblique, 64 linear leaves": {"n_estimators": 30, **linear_leaves("oblique", 64)},
    "30 mixed, 16 linear leaves": {"n_estimators": 30, **linear_leaves("mixed", 16)},
    "30 mixed, 64 linear leaves": {"n_estimators": 30, **linear_leaves("mixed", 64)},
    "mixed, 16 linear leaves, bootstrap": linear_leaves("mixed", 16),
    "mixed, 32 linear leaves, bootstrap": linear_leaves("mixed", 32),
    "mixed, 64 linear leaves, bootstrap": linear_leaves("mixed", 64),
    "mixed, 32 linear leaves of 10, bootstrap": linear_leaves("mixed", 32, 10.0),
    "mixed, 32 linear leaves of 0.1, bootstrap": linear_leaves("mixed", 32, 0.1),
    "mixed, 32 linear leaves of 0.01, bootstrap": linear_leaves("mixed", 32, 0.01),
    "mixed, 16 linear leaves": linear_leaves("mixed", 16, **FIFTHS),
    "mixed, 32 linear leaves": linear_leaves("mixed", 32, **FIFTHS),
    "mixed, 64 linear leaves": linear_leaves("mixed", 64, **FIFTHS),
    "mixed, 128 linear leaves": linear_leaves("mixed", 128, **FIFTHS),
    "mixed, 32 linear leaves, all rows": linear_leaves("mixed", 32, bootstrap=False),
    "axis nodes of mixed, 64 linear leaves": linear_leaves(AXIS_NODES, 64, **FIFTHS),
    "axis, 32 linear leaves, bootstrap": linear_leaves("axis", 32),
    "axis, 64 linear leaves": linear_leaves("axis", 64, **FIFTHS),
    "axis, 64 linear leaves of 0.1": linear_leaves("axis", 64, 0.1, **FIFTHS),
    "axis, 256 linear leaves of 0.1": linear_leaves("axis", 256, 0.1, **FIFTHS),
    "axis, 64 linear leaves, 0.9 of the rows": linear_leaves("axis", 64, bootstrap=False, max_samples=0.9),
    "axis, 64 linear leaves, all rows": linear_leaves("axis", 64, bootstrap=False),
    "30 axis, 64 linear leaves of 0.1": {"n_estimators": 30, **linear_leaves("axis", 64, 0.1, **FIFTHS)},
    "30 axis, 256 linear leaves of 0.1": {"n_estimators": 30, **linear_leaves("axis", 256, 0.1, **FIFTHS)},
}
PEERS = {"RandomForest-500": RandomForestClassifier, "ExtraTrees-500": ExtraTreesClassifier}


def model_of(setting: str, seed: int) -> Any:
    if setting in PEERS:
        return PEERS[setting](500, random_state=seed)
    return ForestClassifier(random_state=seed, **SETTINGS[setting])


def training_rows(name: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    data = read_npz(Path(os.environ["BOSCAGE_DATA"]) / f"{name}.npz")
    n = data.n_train or len(data.y)
    rows = np.arange(n)
    if n > most:
        rows = np.sort(np.random.default_rng(0).choice(n, most, replace=False))
    return np.ascontiguousarray(data.X[rows], dtype=np.float32), data.y[rows]


def cell(setting: str, seed: int, X: np.ndarray, y: np.ndarray, fit: np.ndarray, held: np.ndarray) -> dict[str, float]:
    model = model_of(setting, seed)
    start = time.process_time()
    model.fit(X[fit], y[fit])
    took = time.process_time() - start
    p = model.predict_proba(X[held])
    smooth = (p + SMOOTHING) / (1 + SMOOTHING * p.shape[1])
    place = np.searchsorted(model.classes_, y[held])
    return {
        "accuracy": float((p.argmax(axis=1) == place).mean()),
        "log_loss": float(-np.log(smooth[np.arange(len(place)), place]).mean()),
        "fit": took,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--cuts", type=int, default=2)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--settings", nargs="*", default=[*SETTINGS, *PEERS], choices=[*SETTINGS, *PEERS])
    wanted = parser.parse_args()
    for name in wanted.sets:
        X, y = training_rows(name, wanted.rows)
        cuts = StratifiedShuffleSplit(wanted.cuts, test_size=HELD_OUT, random_state=CUT_SEED)
        for seed, (fit, held) in enumerate(cuts.split(X, y)):
            for setting in wanted.settings:
                done = json.loads(CELLS.read_text()) if CELLS.exists() else {}
                cells = done.setdefault(f"{name}, {len(y)} rows", {}).setdefault(setting, {})
                if f"cut {seed}" in cells:
                    continue
                cells[f"cut {seed}"] = cell(setting, seed, X, y, fit, held)
                CELLS.parent.mkdir(parents=True, exist_ok=True)
                CELLS.write_text(json.dumps(done, indent=1, sort_keys=True) + "\n")
                print(name, setting, seed, {key: round(value, 4) for key, value in cells[f"cut {seed}"].items()})


if __name__ == "__main__":
    main()
