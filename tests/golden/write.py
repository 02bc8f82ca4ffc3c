"""Write the golden model files of the current format: one folder a format, with rows and what is predicted for them.

Run once when a format is new (``python tests/golden/write.py FOLDER``) and never again: the files say what an older
version wrote. Fits may change from version to version, so the predictions are stored beside the models.
"""

import json
import sys
from pathlib import Path

import numpy as np

from boscage import (
    ForestClassifier,
    LOMTreeClassifier,
    OnlineTreeClassifier,
    OptimalTreeClassifier,
    TopDownTreeClassifier,
)


def rows(categories):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(60, 4)), 2)
    y = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 0.8)
    if categories:
        X[:, 3] = rng.integers(0, 4, 60)
        y = np.where(X[:, 3] == 2, 0, y)
        X[rng.random((60, 4)) < 0.1] = np.nan
    return X, y


def models():
    gaps, y = rows(categories=True)
    X, labels = rows(categories=False)
    names = np.array(["low", "middle", "high"])[labels]
    yield "axis", TopDownTreeClassifier(max_leaf_nodes=6, categorical_features=[3]).fit(gaps, y), gaps
    yield "wodt", TopDownTreeClassifier("wodt", max_leaf_nodes=4, random_state=1).fit(X, names), X
    yield "stochastic", TopDownTreeClassifier("stochastic", max_leaf_nodes=4).fit(X.astype(np.float32), labels > 0), X
    yield "linear-leaves", TopDownTreeClassifier(leaf="linear", max_leaf_nodes=3).fit(X, names), X
    yield "optimal", OptimalTreeClassifier(2, alpha=0.01).fit(X, labels), X
    yield "online", OnlineTreeClassifier(random_state=0, n_passes=2).fit(X, labels), X
    yield "forest", ForestClassifier(3, max_depth=3, calibrate=True, random_state=0).fit(gaps, y), gaps
    yield "lomtree", LOMTreeClassifier(random_state=0, n_passes=2).fit(X, names), X


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name, model, X in models():
        options = {"resume": True} if name == "online" else {}
        model.save(folder / f"{name}.boscage", **options)
        cells = [[None if np.isnan(value) else value for value in row] for row in X[:8].tolist()]
        answer = {"X": cells, "classes": model.classes_.tolist(), "proba": model.predict_proba(X[:8]).tolist()}
        expected[name] = answer | {"kind": type(model).__name__}
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
