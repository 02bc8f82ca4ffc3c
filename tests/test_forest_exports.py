"""Forests, learned by the estimator, in other languages."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

import test_to_c as c
import test_to_javascript as js
from boscage import TopDownTreeRegressor
from boscage.export import export_model, to_c
from boscage.forest import ForestClassifier, ForestRegressor
from strategies import random_tree

IRIS = load_iris(return_X_y=True)
FORESTS = {
    "plain": ForestClassifier(n_estimators=7, random_state=0),
    "calibrated": ForestClassifier(n_estimators=30, calibrate=True, random_state=0),
    "oblique": ForestClassifier(splits="wodt", n_estimators=5, random_state=0),
    "refit": ForestClassifier(n_estimators=5, max_leaf_nodes=6, refit="leaves", random_state=0),
}


@pytest.fixture(scope="module", params=FORESTS)
def asked(request):
    """A forest, rows, and its probabilities for them."""
    model = clone(FORESTS[request.param]).fit(*IRIS)
    assert (model.exponent_ != 1) == (request.param == "calibrated")
    X = np.concatenate([IRIS[0], 3 * IRIS[0] - 2 * IRIS[0].mean(axis=0)])
    return model, X, model.predict_proba(X)


def test_c(tmp_path, asked):
    if c.CC is None:
        pytest.skip("there is no C compiler")
    model, X, expected = asked
    text = model.to_c(name="tree")
    (tmp_path / "tree.h").write_text(text)
    library = c.build(
        tmp_path, c.RUN.format(name="tree", body=c.body_of(model._exported_trees()[0]).format(name="tree", N="TREE"))
    )
    label, found = c.run(library, "tree", X, expected.shape[1])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(label, model.predict(X))


@pytest.mark.skipif(js.NODE is None, reason="Node.js is not installed")
def test_javascript(tmp_path, asked):
    model, X, expected = asked
    answer, label = js.ask(tmp_path, [model.to_javascript()], [js.plain(X)])[0]
    np.testing.assert_allclose(answer, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(label, model.predict(X))


def test_onnx(asked):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model, X, expected = asked
    proto = model.to_onnx(dtype="float64")
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(["label", "probabilities"], {"X": X})
    np.testing.assert_allclose(found[-1], expected, rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(found[0], model.predict(X))


def test_onnx_of_deep_trees_is_a_small_graph():
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] * X[:, 1]
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = rng.integers(0, 5, 300)
    forest = ForestRegressor(8, categorical_features=[3], random_state=0).fit(X, y)
    assert min(tree.max_depth for tree in forest.trees_) > 8
    proto = forest.to_onnx()
    assert len(proto.graph.node) < 25 * 8  # runtimes take long to load thousands of operators
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"X": X})[0], forest.predict(X), rtol=1e-10)


def test_sql(asked, tmp_path):
    model, X, expected = asked
    names = [f"feature_{j}" for j in range(X.shape[1])]
    query = export_model(model, tmp_path / "a.sql", table="t").read_text()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute(f"CREATE TABLE t ({', '.join(names)})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", X.tolist())
        rows = connection.execute(query).fetchall()
    assert [row["prediction"] for row in rows] == model.predict(X).tolist()
    proba = [[row[f"probability_{label}"] for label in model.classes_] for row in rows]
    np.testing.assert_allclose(proba, expected, rtol=1e-13, atol=1e-15)


def test_exponents_are_checked():
    with pytest.raises(ValueError, match="exponent must be a number > 0, got 0"):
        to_c(random_tree(0), exponent=0)


def test_a_tree_of_numbers(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = TopDownTreeRegressor(max_leaf_nodes=20).fit(X, y)
    expected = model.predict(X)
    if c.CC is not None:
        model.to_c(tmp_path / "tree.h")
        library = c.build(tmp_path, c.RUN.format(name="tree", body=c.NUMBER.format(name="tree", N="TREE")))
        np.testing.assert_array_equal(c.run(library, "tree", X, 1)[1][:, 0], expected)
    if js.NODE is not None:
        np.testing.assert_array_equal(js.ask(tmp_path, [model.to_javascript()], [js.plain(X)])[0][0], expected)
    names = [f"feature_{j}" for j in range(X.shape[1])]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(names)})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", X.tolist())
        found = connection.execute(f"SELECT {model.to_sql()} FROM t").fetchall()
    np.testing.assert_array_equal([row[0] for row in found], expected)
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(["prediction"], {"X": X})[0], expected)
