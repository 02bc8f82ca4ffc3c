"""Trees of one forest share a table: the same trees as if each had a copy of its rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from boscage import ForestClassifier, ForestRegressor
from boscage.splits.axis import Axis

N = 300


def table(rng):
    """Numbers, few values, missing values and categories."""
    return pd.DataFrame(
        {
            "wide": rng.normal(size=N),
            "few": rng.integers(0, 5, N).astype(float),
            "gaps": np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N)),
            "all gaps": np.where(rng.random(N) < 0.97, np.nan, 1.0),
            "kind": pd.Categorical(rng.choice(list("abcd"), N)),
        }
    )


def thin(rng):
    X = rng.normal(size=(N, 12)) * (rng.random((N, 12)) < 0.3)
    X[rng.random((N, 12)) < 0.02] = np.nan
    return sparse.csr_array(X)


ROWS = {
    "table": table,
    "float32": lambda rng: rng.normal(size=(N, 6)).astype(np.float32),
    "fortran": lambda rng: np.asfortranarray(rng.normal(size=(N, 6))),
    "sparse": thin,
}
MODELS = {
    "classes": lambda **more: ForestClassifier(6, "axis", random_state=1, **more),
    "part": lambda **more: ForestClassifier(6, "axis", bootstrap=False, max_samples=0.5, random_state=1, **more),
    "bayesian": lambda **more: ForestClassifier(6, "axis", bootstrap="bayesian", random_state=1, **more),
    "all columns": lambda **more: ForestClassifier(6, "axis", max_features=None, max_depth=4, random_state=1, **more),
    "numbers": lambda **more: ForestRegressor(6, "axis", random_state=1, **more),
    "ranks": lambda **more: ForestRegressor(4, "axis", "absolute_error", random_state=1, **more),
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("model", MODELS)
def test_same_trees_as_with_copies(kind, model, rng, monkeypatch):
    X = ROWS[kind](rng)
    y = rng.integers(0, 3, N) if model not in ("numbers", "ranks") else rng.normal(size=N)
    weight = rng.integers(1, 4, N).astype(float)
    shared = [MODELS[model](n_jobs=n).fit(X, y, sample_weight=weight) for n in (1, 2)]
    monkeypatch.setattr(Axis, "takes_zero_weights", False)
    copied = MODELS[model](n_jobs=1).fit(X, y, sample_weight=weight)
    for forest in shared:
        assert [tree.tree_ for tree in forest.estimators_] == [tree.tree_ for tree in copied.estimators_]


def test_bins_are_those_of_the_rows_of_a_tree(rng):
    """The edges of bins depend on the rows that are there, so trees with bins have copies."""
    assert Axis().takes_zero_weights
    assert not Axis(max_bins=8).takes_zero_weights
    X, y = rng.normal(size=(N, 3)), rng.integers(0, 2, N)
    assert ForestClassifier(3, Axis(max_bins=8), random_state=0).fit(X, y).score(X, y) > 0.7
