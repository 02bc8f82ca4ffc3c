"""Trees as ONNX models: they decide as Python does, whatever the family, and stay small."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boscage import LOMTreeClassifier, OnlineTreeClassifier, OptimalTreeClassifier, TopDownTreeClassifier, _predict
from boscage._estimator import _needs_numbers
from boscage._onnx import path_table
from boscage.datasets import load_dataset
from boscage.export import to_onnx
from strategies import random_rows, random_tree, trees

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

FAMILIES = ("axis", "stochastic", "wodt", "oblique", "oc1", "cart_lc", "co2", "hhcart")


def run(model, X):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(["label", "probabilities"], {"X": X})


@settings(derandomize=True, deadline=None, max_examples=60)
@given(trees(), st.booleans())
def test_any_tree_in_float64(tree, take_32):
    X = random_rows(1, tree, 20, missing=not _needs_numbers(tree))
    X = X.astype(np.float32 if take_32 else np.float64)
    model = to_onnx(tree, dtype=X.dtype.name)
    label, proba = run(model, X)
    expected = _predict.predict_proba(tree, X)
    np.testing.assert_allclose(proba, expected, rtol=1e-11, atol=1e-13)
    assert proba.dtype == np.float64
    assert label.dtype == np.int64
    np.testing.assert_array_equal(label, proba.argmax(axis=1))


@pytest.mark.parametrize("splits", FAMILIES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_family(splits, dtype):
    wine = load_dataset("wine")
    X, y = wine.X.astype(dtype), np.array(["barolo", "grignolino", "barbera"])[wine.y]
    model = TopDownTreeClassifier(splits=splits, max_leaf_nodes=12, random_state=0).fit(X, y)
    label, proba = run(model.to_onnx(), X)
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_allclose(proba, model.predict_proba(X), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("options", [{"leaf": "linear"}, {"polish": "soft"}, {"polish": "hard", "leaf": "linear"}])
def test_linear_leaves_and_polished_trees(options):
    wine = load_dataset("wine")
    model = TopDownTreeClassifier(splits="oblique", max_leaf_nodes=5, random_state=0, **options).fit(wine.X, wine.y)
    label, proba = run(model.to_onnx(), wine.X)
    np.testing.assert_array_equal(label, model.predict(wine.X))
    np.testing.assert_allclose(proba, model.predict_proba(wine.X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("splits", FAMILIES)
def test_float32_throughout(splits):
    wine = load_dataset("wine")
    X = wine.X.astype(np.float32)
    model = TopDownTreeClassifier(splits=splits, max_leaf_nodes=12, random_state=0).fit(X, wine.y)
    label, proba = run(model.to_onnx(compute="float32"), X)
    assert proba.dtype == np.float32
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_allclose(proba, model.predict_proba(X), atol=2e-6)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_axis_tests_on_float32_rows_never_flip(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    tree = TopDownTreeClassifier().fit(X, rng.integers(3, size=60))
    # Rows on both sides of every threshold, as near as float32 can be.
    t = tree.tree_.threshold[tree.tree_.feature >= 0]
    near = np.concatenate([np.float32(t), np.nextafter(np.float32(t), np.float32(np.inf))])
    rows = rng.choice(np.concatenate([near, np.nextafter(near, np.float32(-np.inf))]), size=(200, 3))
    np.testing.assert_array_equal(run(tree.to_onnx(compute="float32"), rows)[0], tree.predict(rows))


def test_optimal_trees():
    iris = load_dataset("iris")
    model = OptimalTreeClassifier(max_depth=2).fit(iris.X, iris.y)
    label, proba = run(model.to_onnx(), iris.X)
    np.testing.assert_array_equal(label, model.predict(iris.X))
    np.testing.assert_array_equal(proba, model.predict_proba(iris.X))


def test_categories_and_missing_values():
    rng = np.random.default_rng(0)
    codes = rng.integers(12, size=300)
    X = pd.DataFrame(
        {"size": rng.normal(size=300), "kind": pd.Categorical.from_codes(codes, [f"k{i}" for i in range(12)])}
    )
    X.loc[::7, "size"] = np.nan
    X.loc[::11, "kind"] = np.nan
    y = (codes % 3 == 0) ^ (X["size"].fillna(0.3) > 0).to_numpy()
    model = TopDownTreeClassifier(categorical_features="from_dtype").fit(X, y)
    exported = model.to_onnx()
    code = {label: code for code, label in enumerate(model.tree_.schema.categories[1])}
    rows = np.column_stack([X["size"], X["kind"].astype(object).map(code)])
    rows = rows.astype(model.tree_.schema.dtype)
    label, proba = run(exported, rows)
    assert label.dtype == bool
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_array_equal(proba, model.predict_proba(X))
    unknown = np.array([[0.0, 99.0], [0.0, -1.0], [0.0, 0.5], [np.nan, np.nan]], rows.dtype)
    np.testing.assert_array_equal(run(exported, unknown)[1], _predict.predict_proba(model.tree_, unknown))
    told = json.loads(exported.metadata_props[0].value)
    assert told["feature_names"] == ["size", "kind"]
    assert told["categories"] == [None, sorted(f"k{i}" for i in range(12))]


def test_many_classes_and_thousands_of_leaves_stay_small(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 5)).astype(np.float32)
    y = rng.integers(40, size=6000)
    model = TopDownTreeClassifier(leaf="majority").fit(X, y)
    assert model.get_n_leaves() > 3000
    exported = model.to_onnx()
    assert model.to_onnx(tmp_path / "tree.onnx") == tmp_path / "tree.onnx"
    arrays = model.tree_.node_count * 8 * 6 + model.get_n_leaves() * 40 * 8
    assert (tmp_path / "tree.onnx").stat().st_size < 1.2 * arrays
    assert len(exported.graph.node) < 14 * (model.get_depth() + 2)
    np.testing.assert_array_equal(run(exported, X)[0], y)
    loaded = onnx.load(tmp_path / "tree.onnx")
    assert loaded == exported


def test_a_large_oblique_tree_multiplies_only_what_it_needs():
    tree = random_tree(3, "linear", splits=200, d=6)
    X = random_rows(0, tree, 50, missing=False)
    exported = to_onnx(tree)
    assert "MatMul" not in {node.op_type for node in exported.graph.node}
    np.testing.assert_allclose(run(exported, X)[1], _predict.predict_proba(tree, X), rtol=1e-12)


def test_paths_of_leaves():
    tree = random_tree(0, "soft linear", splits=3)
    table, m = path_table(tree), 3
    assert table.shape == (tree.max_depth, 4)
    for i, leaf in enumerate(tree.leaves):
        steps = [place for place in table[:, i] if place < 2 * m]
        assert len(steps) == tree.depth[leaf]
        node = 0
        for place in steps:
            assert tree.linear_row[node] == place % m
            node = (tree.children_right if place >= m else tree.children_left)[node]
        assert node == leaf


def test_extreme_rows_keep_their_direction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    model = TopDownTreeClassifier(splits="stochastic", max_leaf_nodes=4).fit(X, (X[:, 0] > 0).astype(int))
    far = np.concatenate([1e200 * X, 1e-300 * X])
    np.testing.assert_allclose(run(model.to_onnx(), far)[1], model.predict_proba(far), rtol=1e-9)


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (np.array([3, 7], np.int8), np.int64),
        (np.array([-1.0, 1.0]), np.int64),
        (np.array(["ä", "ö"], dtype=object), object),
        (np.array([False, True]), bool),
    ],
)
def test_labels_of_each_type(labels, dtype):
    model = TopDownTreeClassifier().fit([[0.0], [1.0]], labels)
    found, _ = run(model.to_onnx(), np.array([[0.0], [1.0]]))
    assert found.dtype == dtype
    assert found.tolist() == labels.tolist()


def test_refusals(tmp_path):
    tree = random_tree(0)
    with pytest.raises(ValueError, match="dtype must be 'float32' or 'float64', got 'int8'"):
        to_onnx(tree, dtype="int8")
    with pytest.raises(ValueError, match="classes must hold 3 labels"):
        to_onnx(tree, tmp_path / "t.onnx", classes=["a"])
    with pytest.raises(ValueError, match="have no place in an ONNX model"):
        to_onnx(tree, classes=np.array([1, "a", 2.5], dtype=object))
    assert not (tmp_path / "t.onnx").exists()
    # Many-class learners are no single tree; there is nothing honest to export.
    assert not hasattr(LOMTreeClassifier, "to_onnx")
    assert not hasattr(OnlineTreeClassifier, "to_onnx")


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'boscage\[onnx\]'"):
        to_onnx(random_tree(0))
