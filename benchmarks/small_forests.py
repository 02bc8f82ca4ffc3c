"""Small forests with and without leaves fitted together: sets on which the penalty was chosen, and others.

    python benchmarks/small_forests.py [classification|regression]

Ten trees of at most 8 or 32 leaves on the first two splits of benchmarks/accuracy.py, data in the folder BOSCAGE_DATA.
On the sets of `CHOSEN_ON` several strengths of the penalty are tried, on the others the default alone. Finished sets
are kept in results/small_forests/cells.json and are not run again.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from accuracy import SMOOTHING, read, splits
from boscage import ForestClassifier, ForestRegressor, RefitLeaves

RESULTS = Path(__file__).parent / "results" / "small_forests" / "cells.json"
CHOSEN_ON = {
    "classification": ["glass", "heart", "vehicle", "diabetes", "segment", "tic-tac-toe", "car", "fourclass"],
    "regression": ["autompg", "housing", "concrete", "airfoil", "energy", "yacht", "quant-fish"],
}
JUDGED_ON = {
    "classification": [
        "iris", "wine", "promoters", "monk1", "monk2", "monk3", "breast", "heart-disease", "wdbc", "bank", "broward",
        "digits", "coupon-rest20", "compas", "dna", "satimage", "page", "bidding", "pendigits", "fico", "letter",
    ],
    "regression": [
        "osrt-servo", "osrt-sync", "osrt-airquality", "osrt-real-estate", "osrt-enb-cool", "quant-qsar",
        "osrt-insurance", "wine", "skillcraft", "abalone", "delta-ailerons", "sml", "bank8fm", "kin8nm", "puma8nh",
        "cpu-small", "parkinsons",
    ],
}  # fmt: skip
LEAVES = (8, 32)
STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0)
TREES = 10
DEFAULT = RefitLeaves().l2


def score(task: str, name: str, refit: Any, leaves: int) -> list[float]:
    """Return accuracy and log-loss, or the error over the deviation of y, in the mean of two splits."""
    X, y, facts = read(task, name)
    found = []
    for split in list(splits(task, y, {**facts, "columns": X.shape[1]}))[:2]:
        kind = ForestClassifier if task == "classification" else ForestRegressor
        nominal = facts["nominal"] or None
        model = kind(TREES, max_leaf_nodes=leaves, refit=refit, random_state=split.seed, categorical_features=nominal)
        model.fit(X[split.train], y[split.train])
        truth = y[split.test]
        if task == "regression":
            found.append([float(np.sqrt(((model.predict(X[split.test]) - truth) ** 2).mean()) / truth.std())])
            continue
        p = model.predict_proba(X[split.test])
        smooth = (p + SMOOTHING) / (1 + SMOOTHING * p.shape[1])
        own = smooth[np.arange(len(truth)), np.searchsorted(model.classes_, truth)]
        found.append([float((model.classes_[p.argmax(axis=1)] == truth).mean()), float(-np.log(own).mean())])
    return np.mean(found, axis=0).tolist()


def run(task: str) -> None:
    for name in CHOSEN_ON[task] + JUDGED_ON[task]:
        done = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        if name in done.get(task, {}):
            continue
        strengths = STRENGTHS if name in CHOSEN_ON[task] else (DEFAULT,)
        cells = {}
        for leaves in LEAVES:
            cells[f"{leaves} leaves"] = score(task, name, None, leaves)
            for l2 in strengths:
                cells[f"{leaves} leaves, refit {l2:g}"] = score(task, name, RefitLeaves(l2), leaves)
        print(task, name, {key: np.round(value, 4).tolist() for key, value in cells.items()}, flush=True)
        done.setdefault(task, {})[name] = cells
        RESULTS.write_text(json.dumps(done, indent=1, sort_keys=True) + "\n")


def report(task: str) -> None:
    found = json.loads(RESULTS.read_text())[task]
    for title, names in (("chosen on", CHOSEN_ON[task]), ("judged on", JUDGED_ON[task])):
        names = [name for name in names if name in found]
        print(f"\n{task}, {title} {len(names)} sets: {', '.join(names)}")
        for key in found[names[0]]:
            values = np.array([found[name][key] for name in names])
            plain = np.array([found[name][key.split(",")[0]] for name in names])
            mean = np.exp(np.log(values).mean(axis=0)) if task == "regression" else values.mean(axis=0)
            better, other = (plain, values) if task == "regression" else (values, plain)
            gain = (better - other)[:, 0]
            p = wilcoxon(gain).pvalue if gain.any() else 1.0
            print(f"{key:22}", *np.round(mean, 4), f"better {(gain > 0).sum()}, worse {(gain < 0).sum()}, p {p:.2g}")


def main() -> None:
    for task in sys.argv[1:] or list(CHOSEN_ON):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run(task)
        report(task)


if __name__ == "__main__":
    main()
