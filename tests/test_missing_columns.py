"""Trees remember which columns had missing values in training, and say where these go."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import boscage
from boscage import TopDownTreeClassifier
from boscage.files import inspect
from boscage.tree import Schema


def table(n=200):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "kind": rng.choice(["x", "y", "z"], n)})
    y = np.where((X["a"] > 0) ^ (X["b"] > 0) ^ (X["kind"] == "x"), "yes", "no")
    X.loc[3, "b"] = np.nan  # one value: no test sends it to the lighter side
    X.loc[7, "kind"] = None
    return X, y


def test_the_schema_remembers_and_the_text_tells():
    X, y = table()
    model = TopDownTreeClassifier(max_leaf_nodes=20).fit(X, y)
    assert model.tree_.schema.missing.tolist() == [False, True, True]
    text = model.export_text()
    of_b = [line for line in text.splitlines() if "--- b " in line]
    of_a = [line for line in text.splitlines() if "--- a " in line]
    assert of_a
    assert of_b
    assert sum("or missing" in line for line in of_b) == len(of_b) / 2
    assert not any("missing" in line for line in of_a)
    assert "or missing" in model.to_html()


@pytest.mark.parametrize("splits", ["axis", "wodt"])
def test_no_missing_values_leave_no_trace(splits, tmp_path):
    X, y = table()
    model = TopDownTreeClassifier(splits, max_leaf_nodes=5, random_state=0).fit(X.dropna(), y[X.notna().all(axis=1)])
    assert model.tree_.schema.missing is None
    assert not any("missing" in column for column in inspect(model.save(tmp_path / "m"))["columns"])


def test_files_keep_it(tmp_path):
    X, y = table()
    model = TopDownTreeClassifier(max_leaf_nodes=5).fit(X, y)
    path = model.save(tmp_path / "m.boscage")
    again = boscage.load(path)
    assert again.tree_ == model.tree_
    assert [column.get("missing") for column in inspect(path)["columns"]] == [None, True, True]
    assert again.save(tmp_path / "again").read_bytes() == path.read_bytes()


def test_rows_without_weight_do_not_count():
    X, y = table()
    weight = np.ones(len(y))
    weight[3] = 0
    model = TopDownTreeClassifier(max_leaf_nodes=5).fit(X, y, sample_weight=weight)
    assert model.tree_.schema.missing.tolist() == [False, False, True]


def test_batches_and_sparse_rows_find_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * (rng.random((300, 4)) < 0.5)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[250, 2] = np.nan
    dense = TopDownTreeClassifier("axis", max_leaf_nodes=6).fit(X, y).tree_
    assert dense.schema.missing.tolist() == [False, False, True, False]
    assert TopDownTreeClassifier(max_leaf_nodes=6).fit(sparse.csr_array(X), y).tree_.schema == dense.schema
    parts = [(X[i : i + 100], y[i : i + 100]) for i in range(0, 300, 100)]
    streamed = TopDownTreeClassifier(boscage.splits.Axis(max_bins=64), max_leaf_nodes=6).fit_batches(parts)
    assert streamed.tree_.schema.missing.tolist() == dense.schema.missing.tolist()


def test_a_schema_is_checked():
    from boscage.model.check_tree import check_schema

    with pytest.raises(ValueError, match=r"schema.missing: expected shape \(2,\), got \(3,\)"):
        check_schema(Schema(2, missing=[True, False, True]))
