"""Axis-parallel trees as scikit-learn's own."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import export_text as sklearn_export_text

from boscage import OptimalTreeClassifier, TopDownTreeClassifier
from boscage.datasets import load_dataset
from boscage.export import to_sklearn
from boscage.model import predict as _predict
from strategies import random_rows, random_tree


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["value", "leaf_value"]))
def test_the_twin_decides_alike(seed, leaf):
    tree = random_tree(seed, splits=seed % 9, leaf=leaf, dtype="float32")
    X = random_rows(seed, tree)
    twin = to_sklearn(tree)
    np.testing.assert_array_equal(twin.predict_proba(X), _predict.predict_proba(tree, X))
    np.testing.assert_array_equal(twin.predict(X), _predict.predict_class(tree, X))
    np.testing.assert_array_equal(twin.apply(X), _predict.apply(tree, X))


def test_names_labels_and_missing_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)).astype(np.float32), columns=list("abc"))
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.where(X["a"].isna() | (X["b"] > 0), "yes", "no")
    model = TopDownTreeClassifier(max_leaf_nodes=8).fit(X, y)
    twin = model.to_sklearn()
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    assert twin.feature_names_in_.tolist() == list("abc")
    assert (twin.get_depth(), twin.get_n_leaves()) == (model.get_depth(), model.get_n_leaves())
    np.testing.assert_allclose(twin.feature_importances_, model.feature_importances_, atol=1e-12)
    assert (
        sklearn_export_text(twin, feature_names=list("abc")) == model.export_text(decimals=2, show_missing=False) + "\n"
    )


def test_optimal_trees_and_single_leaves():
    iris = load_dataset("iris")
    X = iris.X.astype(np.float32)
    model = OptimalTreeClassifier(max_depth=2).fit(X, iris.y)
    np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))
    single = TopDownTreeClassifier().fit(X[:5], iris.y[:5])
    assert single.to_sklearn().predict(X[:2]).tolist() == single.predict(X[:2]).tolist()


@pytest.mark.parametrize(
    ("tree", "what"),
    [
        (random_tree(0, "linear"), "linear tests"),
        (random_tree(0, "soft logistic"), "linear tests"),
        (random_tree(2, "category"), "tests on categories"),
        (random_tree(0, leaf="models"), "linear models in its leaves"),
    ],
)
def test_others_are_refused(tree, what):
    with pytest.raises(ValueError, match=f"This tree has {what}, which scikit-learn's DecisionTreeClassifier cannot"):
        to_sklearn(tree)


def test_shap_explains_the_twin():
    shap = pytest.importorskip("shap", reason="shap is not installed")
    wine = load_dataset("wine")
    X = wine.X.astype(np.float32)
    model = TopDownTreeClassifier(max_leaf_nodes=6).fit(X, wine.y)
    explainer = shap.TreeExplainer(model.to_sklearn())
    values = explainer.shap_values(X[:20])
    total = np.asarray(values).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, model.predict_proba(X[:20]), atol=1e-6)
