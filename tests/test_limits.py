"""Sizes beyond the usual: they work, or are refused at once with a message."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import boscage
from boscage import LOMTreeClassifier, OnlineTreeClassifier, OptimalTreeClassifier, TopDownTreeClassifier
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
    ],
    ids=["axis", "wodt", "stochastic", "optimal", "online", "lomtree"],
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
    ],
    ids=["axis", "wodt", "stochastic", "optimal", "online", "lomtree"],
)
def test_a_million_columns(model):
    X = np.zeros((8, 1_000_000), np.float32)
    X[4:, 777_777] = 1
    y = np.repeat([0, 1], 4)
    assert (model.fit(X, y).predict(X) == y).all()


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


# Bytes beyond X, as docs/running.rst says: n rows, d columns, K classes, t nodes.
MEMORY = {
    "axis": lambda n, d, K, t: n * (4 * d + 48) + t * (500 + 24 * K),
    "binned": lambda n, d, K, t: n * (d + 48) + t * (500 + 24 * K),
    "wodt": lambda n, d, K, t: n * (8 * d + 160) + t * (500 + 24 * K + 8 * d),
    "stochastic": lambda n, d, K, t: min(max(2**29, 16 * n * d), 8 * n * t) + 64 * n + t * (500 + 24 * K * d),
}
MEASURE = """
import json, numpy as np
from boscage import Axis, TopDownTreeClassifier, WeightedOblique
splits = {{"binned": Axis(max_bins=64), "wodt": WeightedOblique(max_iter=3)}}
n, d, K = {n}, {d}, 3
rng = np.random.default_rng(0)
X, y = rng.standard_normal((n, d)).astype(np.float32), rng.integers(0, K, n).astype(np.int32)
model = TopDownTreeClassifier(splits=splits.get("{family}", "{family}"), max_leaf_nodes={leaves}, n_jobs=1)
model.fit(X[:60], y[:60])
status = lambda name: next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) * 1024
open("/proc/self/clear_refs", "w").write("5")  # the peak starts here
before = status("VmRSS")
model.fit(X, y)
print(json.dumps([status("VmHWM") - before, model.tree_.node_count]))
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="peaks of memory are those of Linux")
@pytest.mark.parametrize(
    ("family", "n", "d", "leaves"),
    [
        ("axis", 100_000, 20, 64),
        ("axis", 50_000, 4, None),
        ("binned", 100_000, 20, 64),
        ("wodt", 60_000, 20, 4),
        ("stochastic", 100_000, 5, 64),
    ],
)
def test_memory_of_a_fit_is_bounded_by_the_formula(family, n, d, leaves):
    code = MEASURE.format(family=family, n=n, d=d, leaves=leaves)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    used, nodes = json.loads(done.stdout)
    assert used <= MEMORY[family](n, d, 3, nodes) + 4e6  # a few pages of the allocator
