"""Sizes beyond the usual: they work, or are refused at once with a message."""

import copy
import json
import os
import pickle
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import boscage
from boscage import (
    ForestClassifier,
    ForestRegressor,
    LOMTreeClassifier,
    OnlineTreeClassifier,
    OptimalTreeClassifier,
    TopDownTreeClassifier,
    TopDownTreeRegressor,
)
from boscage.model.many_trees import ManyTrees
from boscage.tree import Schema, Tree

DEEP = 100_000


def chain(depth: int) -> Tree:
    """Return a tree of one long path: row x leaves it at level ⌈x⌉; classes take turns."""
    n = 2 * depth + 1
    inner = np.arange(0, n - 1, 2)
    left, threshold, rows = np.full(n, -1), np.zeros(n), np.ones(n, np.int64)
    left[inner], threshold[inner], rows[inner] = inner + 1, inner / 2, depth + 1 - inner // 2
    counts = np.zeros((n, 2))
    counts[np.arange(1, n, 2), np.arange(depth) % 2] = 1
    counts[n - 1, depth % 2] = 1
    value = np.cumsum(counts[::-1], axis=0)[::-1] / rows[:, None]
    value[1::2] = counts[1::2]
    tree = Tree(
        children_left=left,
        children_right=np.where(left < 0, -1, left + 1),
        feature=np.where(left < 0, -1, 0),
        threshold=threshold,
        value=value,
        n_node_samples=rows,
        weighted_n_node_samples=rows,
        impurity=2 * value.prod(axis=1),
        schema=Schema(n_features=2),
    )
    tree.check()
    return tree


@pytest.fixture(scope="module")
def deep() -> TopDownTreeClassifier:
    model = TopDownTreeClassifier().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    model.tree_ = chain(DEEP)
    return model


def rows(count: int) -> np.ndarray:
    return np.column_stack([np.linspace(-1, DEEP + 1, count), np.zeros(count)])


@pytest.mark.parametrize("n_rows", [2**31, 2**32 + 1])
@pytest.mark.parametrize(
    "model",
    [
        TopDownTreeClassifier(),
        TopDownTreeClassifier(splits="wodt"),
        TopDownTreeClassifier(splits="stochastic"),
        OptimalTreeClassifier(),
        OnlineTreeClassifier(),
        LOMTreeClassifier(),
        ForestClassifier(),
        TopDownTreeRegressor(),
        TopDownTreeRegressor(leaf="linear"),
        ForestRegressor(),
    ],
    ids=repr,
)
def test_too_many_rows_are_refused_at_once(model, n_rows):
    # Nothing is allocated: every row is the same number in memory.
    X, y = np.broadcast_to(np.float32(1), (n_rows, 2)), np.broadcast_to(np.int8(1), n_rows)
    with pytest.raises(ValueError, match=f"X has {n_rows} rows. At most 2.*31 - 1 are supported"):
        model.fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        TopDownTreeClassifier(),
        TopDownTreeClassifier(splits="wodt"),
        TopDownTreeClassifier(splits="stochastic", max_leaf_nodes=2),
        OptimalTreeClassifier(max_depth=1),
        OnlineTreeClassifier(),
        LOMTreeClassifier(),
        ForestClassifier(2, bootstrap=False, max_features=None, random_state=0),
        TopDownTreeRegressor(),
        TopDownTreeRegressor(leaf="median", criterion="absolute_error"),
        ForestRegressor(2, "axis", bootstrap=False, max_features=None),
    ],
    ids=repr,
)
def test_a_million_columns(model):
    X = np.zeros((8, 1_000_000), np.float32)
    X[4:, 777_777] = 1
    y = np.repeat([0, 1], 4)
    assert (model.fit(X, y).predict(X) == y).all()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_linear_leaves_of_numbers_refuse_too_many_columns(make):
    X = make(np.zeros((4, 100_000), np.float32))
    with pytest.raises(ValueError, match=r"leaf='linear' solves .* and X has 100,000 columns. Pass leaf='constant'"):
        TopDownTreeRegressor(leaf="linear").fit(X, np.arange(4.0))


@pytest.mark.parametrize("splits", ["axis", "wodt", "stochastic"])
def test_a_million_sparse_columns(splits):
    X = sparse.csr_matrix((np.ones(4), (np.arange(4, 8), np.full(4, 999_999))), shape=(8, 1_000_000))
    y = np.repeat([0, 1], 4)
    assert (TopDownTreeClassifier(splits=splits, max_leaf_nodes=2).fit(X, y).predict(X) == y).all()


def test_a_deep_tree_predicts_and_travels(deep, tmp_path):
    X = rows(50)
    expected = np.minimum(np.maximum(np.ceil(X[:, 0]), 0), DEEP).astype(int) % 2
    assert (deep.predict(X) == expected).all()
    assert (deep.predict(X.astype(np.float32)) == deep.predict(X)).all()
    assert deep.get_depth() == DEEP
    assert deep.decision_path(X).sum(axis=1).max() == DEEP + 1
    assert deep.sample_path(X, 0).sum(axis=1).max() == DEEP + 1
    assert (boscage.load(deep.save(tmp_path / "m")).predict(X) == expected).all()
    assert (pickle.loads(pickle.dumps(deep)).predict(X) == expected).all()
    assert (deep.to_sklearn().predict(X) == expected).all()


def test_a_deep_tree_is_shortened_or_refused_where_nobody_could_read_it(deep):
    text = deep.export_text()
    assert "truncated branch of depth" in text
    assert len(text) < 10_000
    with pytest.raises(ValueError, match="100,000 levels are too many for ONNX"):
        deep.to_onnx()
    assert len(deep.explain(rows(5)[3:4]).path) > DEEP / 2


@pytest.fixture(scope="module")
def deep_numbers() -> TopDownTreeRegressor:
    model = TopDownTreeRegressor().fit([[0.0, 0.0], [1.0, 1.0]], [0.0, 1.0])
    tree = chain(DEEP)
    model.tree_ = replace(tree, value=tree.value[:, 1:], target="numbers")
    model.tree_.check()
    return model


def test_deep_trees_of_numbers_and_forests_predict_and_travel(deep, deep_numbers, tmp_path):
    X = rows(50)
    expected = deep.predict(X)
    assert (deep_numbers.predict(X) == expected).all()
    assert len(deep_numbers.explain(X[30:31]).path) > DEEP / 2
    assert len(deep_numbers.export_text()) < 10_000
    forest = ForestRegressor(2, random_state=0).fit([[0.0, 0.0], [1.0, 1.0]], [0.0, 1.0])
    forest.trees_ = ManyTrees([deep_numbers.tree_] * 2)
    del forest._leaf_targets  # those of the trees that were there before
    assert (forest.predict(X) == expected).all()
    assert (boscage.load(forest.save(tmp_path / "m")).predict(X) == expected).all()
    assert (forest.apply(X)[:, 0] == deep_numbers.apply(X)).all()
    for model in (deep_numbers, forest):
        with pytest.raises(ValueError, match="100,000 levels are too many for ONNX"):
            model.to_onnx()


def test_deep_trees_as_programs(deep):
    """C and JavaScript are tables; SQL nests no deeper than the logarithm of the leaves."""
    assert deep.to_c().count("\n") < 10**6
    assert len(deep.to_javascript()) > DEEP
    assert deep.to_sql().count("CASE") == 1
    deep = copy.copy(deep)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (feature_0 REAL, feature_1 REAL)")
    connection.executemany("INSERT INTO t VALUES (?, 0)", [(x,) for x in range(-1, 3001, 500)])
    deep.tree_ = chain(3000)  # SQLite takes minutes for 100,000
    found = connection.execute(f"SELECT {deep.to_sql()} FROM t").fetchall()
    assert [label for (label,) in found] == deep.predict([[x, 0] for x in range(-1, 3001, 500)]).tolist()
    assert deep.edit().prune(100).tree.node_count == 101


@pytest.mark.slow
def test_a_deep_tree_in_every_other_form(deep, tmp_path):
    assert len(json.loads(json.dumps(deep.to_dict()))["nodes"]) == 2 * DEEP + 1
    assert deep.export_graphviz().count("->") == 2 * DEEP
    deep.to_html(tmp_path / "m.html")
    deep.plot(max_depth=3)


def test_a_million_classes_online():
    n = 1_000_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4)).astype(np.float32)
    y = rng.choice(n, 2000, replace=False)
    model = OnlineTreeClassifier(random_state=0).partial_fit(X, y, classes=np.arange(n))
    assert len(model.classes_) == n
    assert np.isin(model.predict(X[:100]), y).all()


# Bytes beyond X, as docs/limits.rst says: n rows, d columns, K classes or numbers of a node, t nodes.
MEMORY = {
    "axis": lambda n, d, K, t: n * (4 * d + 48) + t * (500 + 24 * K),
    "binned": lambda n, d, K, t: n * (d + 48) + t * (500 + 24 * K),
    "wodt": lambda n, d, K, t: n * (8 * d + 160) + t * (500 + 24 * K + 8 * d),
    "oc1": lambda n, d, K, t: n * (16 * d + 200) + t * (700 + 24 * K + 8 * d),
    "look-ahead": lambda n, d, K, t: n * (20 * d + 320) + t * (700 + 24 * K + 8 * d),
    "polish": lambda n, d, K, t: n * (16 * d + 220) + t * (700 + 24 * K + 24 * K * d),
    "stochastic": lambda n, d, K, t: min(max(2**29, 16 * n * d), 8 * n * t) + 64 * n + t * (500 + 24 * K * d),
    "joint leaves": lambda n, d, K, t: MEMORY["stochastic"](n, d, K, t) + 2**26 + 100 * t * t,
    "numbers": lambda n, d, K, t: n * (4 * d + 64) + t * (700 + 24 * K),
    "absolute error": lambda n, d, K, t: n * (4 * d + 112) + t * (700 + 24 * K),
    "linear leaves": lambda n, d, K, t: n * (48 * d + 480) + 16 * d**2 + t * (700 + 24 * K * d),
    "forest": lambda n, d, K, t: n * (8 * d + 112) + t * (700 + 24 * K),
    "forest, refit": lambda n, d, K, t: n * (8 * d + 112 + 12 * 30 + 24 * K) + t * (700 + 144 * K),  # 30 trees
}
MEMORY |= dict.fromkeys(("cart_lc", "co2", "hhcart"), MEMORY["oc1"]) | {"linear leaves of classes": MEMORY["polish"]}
MODELS = {
    "axis": 'TopDownTreeClassifier("axis", {limits})',
    "binned": "TopDownTreeClassifier(Axis(max_bins=64), {limits})",
    "wodt": "TopDownTreeClassifier(WeightedOblique(max_iter=3), {limits})",
    "oc1": 'TopDownTreeRegressor("oc1", {limits})',
    "cart_lc": 'TopDownTreeClassifier("cart_lc", {limits})',
    "co2": 'TopDownTreeClassifier("co2", {limits})',
    "hhcart": 'TopDownTreeRegressor("hhcart", {limits})',
    "look-ahead": "TopDownTreeClassifier(Householder(lookahead=True), {limits})",
    "polish": 'TopDownTreeClassifier("hhcart", polish=Polish(epochs=2), {limits})',
    "linear leaves of classes": 'TopDownTreeClassifier(leaf="linear", {limits})',
    "stochastic": 'TopDownTreeClassifier("stochastic", {limits})',
    "joint leaves": 'TopDownTreeRegressor("stochastic", {limits})',
    "numbers": "TopDownTreeRegressor({limits})",
    "absolute error": 'TopDownTreeRegressor(criterion="absolute_error", {limits})',
    "linear leaves": 'TopDownTreeRegressor(leaf="linear", {limits})',
    "forest": "ForestClassifier(3, {limits})",
    "forest, refit": 'ForestClassifier(30, refit="leaves", {limits})',
}
MEASURE = """
import json, numpy as np
from boscage import *
n, d, K = {n}, {d}, 3
rng = np.random.default_rng(0)
X, y = rng.standard_normal((n, d)).astype(np.float32), rng.integers(0, K, n).astype(np.int32)
model = {model}
if "Regressor" in type(model).__name__:
    y = rng.standard_normal(n)
model.fit(X[:60], y[:60])
status = lambda name: next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) * 1024
open("/proc/self/clear_refs", "w").write("5")  # the peak starts here
before = status("VmRSS")
model.fit(X, y)
nodes = sum(tree.node_count for tree in model.trees_) if hasattr(model, "trees_") else model.tree_.node_count
print(json.dumps([status("VmHWM") - before, nodes]))
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="peaks of memory are those of Linux")
@pytest.mark.parametrize(
    ("family", "n", "d", "leaves"),
    [
        ("axis", 100_000, 20, 64),
        ("axis", 50_000, 4, None),
        ("binned", 100_000, 20, 64),
        ("wodt", 60_000, 20, 4),
        ("oc1", 20_000, 20, 2),
        ("oc1", 20_000, 5, 2),
        ("cart_lc", 40_000, 20, 2),
        ("co2", 40_000, 20, 2),
        ("hhcart", 40_000, 20, 4),
        ("hhcart", 40_000, 4, 4),
        ("look-ahead", 40_000, 20, 4),
        ("look-ahead", 40_000, 4, 4),
        ("polish", 40_000, 20, 4),
        ("polish", 40_000, 4, 4),
        ("linear leaves of classes", 60_000, 20, 8),
        ("linear leaves of classes", 60_000, 4, 8),
        ("stochastic", 100_000, 5, 64),
        ("joint leaves", 30_000, 5, 8),
        ("joint leaves", 5_000, 5, 256),
        ("numbers", 100_000, 20, 64),
        ("numbers", 30_000, 4, None),
        ("absolute error", 60_000, 20, 16),
        ("linear leaves", 60_000, 20, 8),
        ("linear leaves", 60_000, 4, 8),
        ("forest", 40_000, 20, 64),
        ("forest", 40_000, 5, 5000),
        ("forest, refit", 30_000, 3, 8),
        ("forest, refit", 5_000, 3, 100),
    ],
)
def test_memory_of_a_fit_is_bounded_by_the_formula(family, n, d, leaves):
    model = MODELS[family].format(limits=f"max_leaf_nodes={leaves}, n_jobs=1, random_state=0")
    code = MEASURE.format(n=n, d=d, model=model)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    used, nodes = json.loads(done.stdout)
    print(f"{family}: {used / 1e6:.1f} MB, at most {MEMORY[family](n, d, 3, nodes) / 1e6:.1f}")
    assert used <= MEMORY[family](n, d, 3, nodes) + 4e6  # a few pages of the allocator
