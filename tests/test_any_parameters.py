"""Random rows, weights and parameters: each fit ends with a model that keeps its promises or with a plain refusal.

``BOSCAGE_EXAMPLES`` sets the number of cases for each estimator.
"""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import boscage
from boscage import (
    Axis,
    Constant,
    ForestClassifier,
    ForestRegressor,
    Gamma,
    Householder,
    IncompatibleParts,
    Polish,
    Quantile,
    RefitLeaves,
    RidgeLeaf,
    StochasticLinear,
    TopDownTreeClassifier,
    TopDownTreeRegressor,
    WeightedOblique,
)
from test_numbers import SETTINGS

FAMILIES = (
    *("axis", "mixed", "stochastic", "wodt", "co2", "oc1", "cart_lc", "hhcart", Axis(max_bins=7)),
    *(StochasticLinear(lookahead=True), WeightedOblique(lookahead=True), Householder(lookahead=True)),
    WeightedOblique(max_bins=9),
)
TREE = {
    "max_leaf_nodes": (None, 2, 3, 6, 20),
    "max_depth": (None, 1, 2, 5),
    "min_samples_leaf": (1, 2, 0.1, 0.5),
    "min_weight_fraction_leaf": (0.0, 0.0, 0.01, 0.5),
    "min_impurity_decrease": (0.0, 0.0, 1e-300, 0.01, 1e10),
    "ccp_alpha": (0.0, 0.0, 1e-300, 0.01, 1e10),
}
CLASSES = {
    "criterion": ("gini", "entropy", "sqrt", "modified_gini", "separation"),
    "leaf": ("frequency", "frequency", "majority", "linear"),
    "class_weight": (None, None, "balanced"),
}
NUMBERS = {
    "criterion": ("squared_error",) * 4 + ("absolute_error", Quantile(0.1), "poisson", Gamma()),
    "leaf": (
        *("constant", "constant", "mean", "median", "linear", Constant(shrinkage=3.0), Constant(joint=True)),
        *(RidgeLeaf(blend=0.1), RidgeLeaf(blend=0.2, refine=True)),
    ),
}
ONE = {"polish": (None,) * 4 + (Polish("soft", epochs=2), Polish("hard", epochs=2))}
MANY = {
    "n_estimators": (1, 2, 5),
    "refit": (None, None, RefitLeaves(1e-8), RefitLeaves(1e8)),
    "bootstrap": (True, True, False, "bayesian"),
    "max_samples": (None, None, 0.1, 0.9),
    "oob_score": (False, False, True),
    "max_features": ("auto", "auto", 1, 0.5, "sqrt", None),
}
ESTIMATORS = {
    TopDownTreeClassifier: TREE | CLASSES | ONE,
    TopDownTreeRegressor: TREE | NUMBERS | ONE,
    ForestClassifier: TREE | CLASSES | MANY,
    ForestRegressor: TREE | NUMBERS | MANY,
}


REFUSALS = re.compile(
    "cannot be combined|not accept|not numeric|contains NaN|zero for every row|knows one output|needs dense"
)


def any_rows(rng):
    """Rows of any size and type: rounded, huge, far from zero, constant, with gaps, sparse, or with categories."""
    n, d = int(rng.choice([1, 2, 3, 12, 40, 200])), int(rng.choice([1, 2, 3, 6, 20]))
    X = rng.normal(size=(n, d))
    changes = (
        lambda X: X,
        np.round,
        lambda X: X * 10.0 ** rng.integers(-300, 300, size=(1, d)),
        lambda X: X + 10.0 ** rng.integers(0, 17),
        lambda X: X.astype(np.float32),
        lambda X: (X * 2**60).astype(np.int64),
        np.zeros_like,
        lambda X: X > 0,
    )
    X = changes[rng.integers(len(changes))](X)
    kind = rng.integers(6)
    if kind == 0 and X.dtype.kind == "f":
        return sparse.csr_array(np.where(rng.random(X.shape) < 0.5, 0, X))
    if kind == 1 and X.dtype.kind == "f":
        X[rng.random(X.shape) < 0.2] = np.nan
    if kind == 2:
        table = pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])
        return table.assign(x0=pd.Categorical(rng.choice(list("abcde")[: rng.integers(1, 6)], size=n)))
    return np.asfortranarray(X) if kind == 3 else X


def any_target(rng, n, is_classes):
    """Classes, some alone; or numbers of any size, sometimes of two outputs."""
    if is_classes:
        return rng.integers(0, rng.choice([1, 2, 3, 12]), n)
    y = np.abs(rng.normal(size=n) + 10.0 ** rng.choice([-1, 0, 12])) * 10.0 ** rng.choice([0, 0, -305, 285])
    return np.column_stack([y, rng.random(n)]) if rng.random() < 0.2 else y


def any_weight(rng, n):
    """Weights of any size, with zeros; often none."""
    found = (None, None, rng.random(n), rng.integers(0, 3, n).astype(float), 10.0 ** rng.integers(-200, 200, n))
    return found[rng.integers(len(found))]


def check_model(model, X, y, path):
    """Finite predictions, the same of a file and of single rows; views and reports that work."""
    predict = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    found = getattr(model, predict)(X)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(getattr(boscage.load(model.save(path)), predict)(X), found)
    last = X.iloc[-1:] if hasattr(X, "iloc") else X[-1:]
    np.testing.assert_array_equal(getattr(model, predict)(last), found[-1:])
    assert np.isfinite(model.feature_importances_).all()
    assert np.isfinite(model.explain(last).contributions).all()
    assert model.to_dict()
    assert "nan" not in model.export_text().split()
    assert len(model.to_html(X=X, y=y)) > 1000
    if hasattr(model, "edit") and model.tree_.node_count > 1:
        assert np.isfinite(model.edit(X, y).prune(0).report.accuracy_after)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_fit_is_whole_or_refused(estimator, tmp_path):
    refused = 0
    for seed in range(SETTINGS.max_examples):
        rng = np.random.default_rng(seed)
        X = any_rows(rng)
        y = any_target(rng, X.shape[0], estimator in (TopDownTreeClassifier, ForestClassifier))
        weight = any_weight(rng, X.shape[0])
        parts = {name: values[rng.integers(len(values))] for name, values in ESTIMATORS[estimator].items()}
        parts |= {"splits": FAMILIES[rng.integers(len(FAMILIES))], "random_state": 0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                model = estimator(**parts).fit(X, y, sample_weight=weight)
            except (TypeError, ValueError) as error:
                if not isinstance(error, IncompatibleParts) and not REFUSALS.search(str(error)):
                    raise
                refused += 1
                continue
            again = estimator(**parts, n_jobs=2).fit(X, y, sample_weight=weight)
        check_model(model, X, y, tmp_path / "m")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert refused < 0.96 * SETTINGS.max_examples
