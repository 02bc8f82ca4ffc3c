"""Trees as ONNX models: they decide as Python does, whatever the family, and stay small."""

import json
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boscage import LOMTreeClassifier, OnlineTreeClassifier, OptimalTreeClassifier, TopDownTreeClassifier
from boscage.datasets import load_dataset
from boscage.export import to_onnx
from boscage.model import predict as _predict
from boscage.model.predict import needs_numbers
from boscage.show.onnx import path_table
from boscage.tree import LeafModels
from strategies import chain, random_forest, random_rows, random_tree, trees

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def least_time(work, times=7):
    took = []
    for _ in range(times):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return min(took)


FAMILIES = ("axis", "stochastic", "wodt", "oblique", "oc1", "cart_lc", "co2", "hhcart")


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model, X):
    return session_of(model).run(["label", "probabilities"], X if isinstance(X, dict) else {"X": X})


def by_name(tree, X):
    """The inputs of a model that takes columns, from rows of codes: text for named categories, "" where missing."""
    found = {}
    for j, name in enumerate(tree.schema.feature_names):
        labels = tree.schema.categories[j]
        column = X[:, [j]]
        if labels is not None:
            words = [labels[int(x)] if 0 <= x < len(labels) and x == int(x) else "" for x in column[:, 0]]
            column = np.array(words, dtype=object)[:, None]
        found[name] = column
    return found


@settings(derandomize=True, deadline=None, max_examples=60)
@given(trees(), st.booleans())
def test_any_tree_in_float64(tree, take_32):
    X = random_rows(1, tree, 20, missing=not needs_numbers(tree))
    X = X.astype(np.float32 if take_32 else np.float64)
    label, proba = run(to_onnx(tree, dtype=X.dtype.name, inputs="matrix"), X)
    expected = _predict.predict_proba(tree, X)
    np.testing.assert_allclose(proba, expected, rtol=1e-11, atol=1e-13)
    if not tree.is_soft and tree.leaf_models is None and not tree.weights.shape[0]:
        np.testing.assert_array_equal(proba, expected)
    assert proba.dtype == np.float64
    assert label.dtype == np.int64
    np.testing.assert_array_equal(label, proba.argmax(axis=1))
    has_codes = tree.input_map is not None and tree.input_map.codes is not None
    if tree.schema.feature_names is not None and (has_codes or tree.leaf_models is None):
        model = to_onnx(tree, dtype=X.dtype.name, inputs="columns")
        np.testing.assert_array_equal(run(model, by_name(tree, X))[1], proba)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(trees(kinds=("axis", "category")))
def test_hard_trees_of_axis_and_category_tests_are_one_operator(tree):
    X = random_rows(1, tree, 40).astype(np.float32)
    with_models = tree.leaf_models is not None
    for compute in ("float32", "float64"):
        model = to_onnx(tree, dtype="float32", compute=compute, inputs="matrix")
        kinds = [node.op_type for node in model.graph.node]
        assert kinds.count("TreeEnsembleRegressor") == (tree.n_leaves > 1)
        assert len(kinds) < (40 if with_models else 10)
        expected = _predict.predict_proba(tree, X)
        tolerance = 1e-5 if compute == "float32" else 1e-12 * with_models
        np.testing.assert_allclose(run(model, X)[1], expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_several_trees_are_averaged(target):
    for seed in range(12):
        trees = random_forest(seed, 5, k=1 + seed % 3, target=target)
        X = np.nan_to_num(random_rows(seed, trees[0], 30))
        expected = sum(_predict.predict_proba(tree, X) for tree in trees) / len(trees)
        if target == "classes":
            label, found = run(to_onnx(trees, classes=list("abc"[: expected.shape[1]])), X)
            assert label.tolist() == ["abc"[k] for k in found.argmax(axis=1)]
        else:
            found = session_of(to_onnx(trees)).run(["prediction"], {"X": X})[0]
            expected = expected[:, 0] if expected.shape[1] == 1 else expected
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_linear_leaves_of_numbers():
    tree = random_tree(2, "axis", k=1)
    models = LeafModels(np.arange(18.0).reshape(6, 1, 3), np.ones((6, 1)), np.full((6, 1), -9.0), np.full((6, 1), 9.0))
    trees = [
        replace(tree, target="numbers", leaf_models=part) for part in (models, replace(models, low=None, high=None))
    ]
    X = random_rows(2, tree, missing=False)
    for tree in trees:
        found = session_of(to_onnx(tree)).run(["prediction"], {"X": X})[0]
        np.testing.assert_allclose(found, _predict.predict_proba(tree, X)[:, 0], rtol=1e-12, atol=1e-12)


def test_a_table_with_text_numbers_and_truth_values_goes_in_as_it_is():
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": rng.choice(["ash", "Esche 🌳", "oak", "10"], n),
            "year": pd.Categorical(rng.choice([2001, 1999, 7], n)),
            "wet": rng.random(n) < 0.5,
        }
    )
    X.loc[::7, "size"] = np.nan
    X.loc[::11, "kind"] = None
    y = np.where((X["kind"] == "oak") ^ (X["year"] == 7) ^ X["wet"] ^ (X["size"] > 0), "yes", "no")
    model = TopDownTreeClassifier().fit(X, y)
    dtype = model.tree_.schema.dtype
    feed = {name: X[[name]].to_numpy(dtype) for name in ("size", "year", "wet")}
    feed["kind"] = X[["kind"]].fillna("").to_numpy(dtype=object)
    label, proba = run(model.to_onnx(), feed)
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_array_equal(proba, model.predict_proba(X))
    feed["kind"] = np.full((n, 1), "elm", dtype=object)  # never seen
    feed["year"] = np.full((n, 1), 1998, dtype)
    unseen = X.assign(kind="elm", year=1998)
    np.testing.assert_array_equal(run(model.to_onnx(), feed)[1], model.predict_proba(unseen))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("splits", ["axis", "wodt"])
def test_a_matrix_with_numbers_for_categories_goes_in_as_it_is(dtype, splits):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.choice([5.0, 2.5, -1.0, 70.0], 300), rng.integers(3, size=300)])
    X = X.astype(dtype)
    model = TopDownTreeClassifier(splits, categorical_features=[1, 2], random_state=0)
    model.fit(X, (X[:, 0] > 0) ^ (X[:, 1] == 5) ^ (X[:, 2] == 1))
    exported = model.to_onnx()
    assert [put.name for put in exported.graph.input] == ["X"]
    X[::9, 1] = 2.0  # never seen
    np.testing.assert_array_equal(run(exported, X)[0], model.predict(X))
    np.testing.assert_allclose(run(exported, X)[1], model.predict_proba(X), rtol=1e-12)


def test_a_deep_tree_does_not_use_up_the_stack_of_the_runtime():
    tree = chain(2001)
    X = np.arange(-1, 1001, 10, dtype=np.float64)[:, None]
    np.testing.assert_array_equal(run(to_onnx(tree), X)[1], _predict.predict_proba(tree, X))
    with pytest.raises(ValueError, match=r"100,000 levels are too many for ONNX, which takes up to 1,000"):
        to_onnx(chain(200_001))


def test_the_operator_is_nearly_as_fast_as_here():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 10)).astype(np.float32)
    y = (X[:, :3].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    model = TopDownTreeClassifier(max_leaf_nodes=100).fit(X, y)
    session = session_of(model.to_onnx())
    native = least_time(lambda: model.set_params(n_jobs=1).predict(X))
    assert least_time(lambda: session.run(["label"], {"X": X})) < 4 * native  # 2 when measured


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
    exported = model.to_onnx(inputs="matrix")
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
    exported = model.to_onnx(inputs="matrix")
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
