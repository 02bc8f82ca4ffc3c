"""Fit one tree of each family on embedded data and print a digest of its model file: the same for every build."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

import boscage
from boscage.datasets import load_dataset


def digests() -> dict[str, str]:
    """Return a digest of the file of each fitted estimator."""
    wine = load_dataset("wine")
    top_down = boscage.TopDownTreeClassifier
    estimators = {
        "axis": top_down(splits="axis", criterion="entropy", max_leaf_nodes=8),
        "wodt": top_down(splits="wodt", max_leaf_nodes=4, random_state=0),
        "stochastic": top_down(splits="stochastic", max_leaf_nodes=4, random_state=0),
        "householder": top_down(splits="hhcart", max_leaf_nodes=4, random_state=0),
        "optimal": boscage.OptimalTreeClassifier(max_depth=2),
        "online": boscage.LOMTreeClassifier(random_state=0),
    }
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.boscage"
        for name, estimator in estimators.items():
            estimator.fit(wine.X, wine.y).save(path)
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return found


if __name__ == "__main__":
    print(json.dumps({"file": boscage.__file__, "digests": digests()}))
