"""Models in SQL, run by SQLite: they decide as Python does."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from boscage import TopDownTreeClassifier
from boscage.datasets import load_dataset
from boscage.export import to_sql
from boscage.model import predict as _predict
from boscage.model.predict import needs_numbers
from strategies import chain, random_forest, random_rows, random_tree, trees

HOSTILE = ('a"b', "'; DROP TABLE t; --", "ключ 🌳 \\' /* ", "select", "a]b`c", "\n\t%s?")


def names_of(tree):
    return tree.schema.feature_names or [f"feature_{j}" for j in range(tree.n_features)]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def database(names, rows, table="t"):
    found = sqlite3.connect(":memory:")
    found.row_factory = sqlite3.Row
    found.execute(f"CREATE TABLE {quoted(table)} ({', '.join(map(quoted, names))})")
    marks = ", ".join("?" * len(names))
    found.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", rows)
    return closing(found)


def table_rows(tree, X):
    """Rows of codes as a table holds them: names of categories, NULL for NaN."""
    rows = []
    for x in X.astype(float).tolist():
        row = [None if v != v else v for v in x]
        for j, labels in enumerate(tree.schema.categories or ()):
            if labels is not None and row[j] is not None:
                row[j] = labels[int(row[j])] if 0 <= row[j] < len(labels) else f"unseen {row[j]}"
        rows.append(row)
    return rows


def ask(tree, X, query):
    with database(names_of(tree), table_rows(tree, X)) as connection:
        return connection.execute(query).fetchall()


@settings(derandomize=True, deadline=None, max_examples=80)
@given(trees(kinds=("axis", "category", "linear", "mixed")))
def test_hard_trees(tree):
    tree = replace(tree, leaf_models=None)
    X = random_rows(3, tree, 40)
    X = np.nan_to_num(X) if needs_numbers(tree) else X
    # A row whose score is at the threshold may change sides: terms are added in another order.
    tree = replace(tree, threshold=np.where(tree.linear_row >= 0, tree.threshold + 0.01234, tree.threshold))
    expected = _predict.predict_proba(tree, X)
    found = [row[0] for row in ask(tree, X, f"SELECT {to_sql(tree)} FROM t")]
    assert found == expected.argmax(axis=1).tolist()
    rows = ask(tree, X, to_sql(tree, table="t"))
    proba = [[row[f"probability_{k}"] for k in range(tree.n_classes)] for row in rows]
    np.testing.assert_array_equal(proba, expected)
    assert [row["prediction"] for row in rows] == found


@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_forests(target):
    for seed in range(10):
        forest = random_forest(seed, 4, k=1 + seed % 3, target=target)
        forest = [replace(tree, leaf_models=None) for tree in forest if not tree.is_soft] or [random_tree(0, d=3)]
        X = np.nan_to_num(random_rows(seed, forest[0], 30))
        expected = sum(_predict.predict_proba(tree, X) for tree in forest) / len(forest)
        rows = ask(forest[0], X, to_sql(forest, table="t"))
        if forest[0].target == "classes":
            names = [f"probability_{k}" for k in range(expected.shape[1])]
            assert [row["prediction"] for row in rows] == expected.argmax(axis=1).tolist()
        else:
            names = [f"prediction_{k}" for k in range(expected.shape[1])] if expected.shape[1] > 1 else ["prediction"]
        np.testing.assert_allclose([[row[name] for name in names] for row in rows], expected, rtol=1e-14)


def test_one_number_is_a_case_expression():
    tree = replace(random_tree(1, k=1), target="numbers")
    X = random_rows(0, tree)
    found = [row[0] for row in ask(tree, X, f"SELECT {to_sql(tree)} FROM t")]
    np.testing.assert_array_equal(found, _predict.predict_proba(tree, X)[:, 0])


@pytest.mark.parametrize("splits", ["axis", "wodt"])
def test_a_table_with_hostile_names_text_truth_values_and_gaps(splits, tmp_path):
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame({HOSTILE[0]: rng.normal(size=n), HOSTILE[1]: rng.choice(HOSTILE, n), "wet": rng.random(n) < 0.5})
    X[HOSTILE[2]] = pd.Categorical(rng.choice([5, 2], n))
    X.loc[::7, HOSTILE[0]] = np.nan
    X.loc[::11, HOSTILE[1]] = None
    code = (X[HOSTILE[1]] == HOSTILE[3]).to_numpy(int) + X["wet"] + (X[HOSTILE[0]] > 0) + (X[HOSTILE[2]] == 2)
    model = TopDownTreeClassifier(splits, random_state=0).fit(X, np.array(HOSTILE)[code])
    rows = [[None if pd.isna(v) else v for v in row] for row in X.astype(object).to_numpy().tolist()]
    path = model.to_sql(tmp_path / "tree.sql", table=HOSTILE[1])
    with database(list(X), rows, HOSTILE[1]) as connection:
        found = connection.execute(path.read_text(encoding="utf-8")).fetchall()
    assert [row["prediction"] for row in found] == model.predict(X).tolist()
    proba = [[row[f"probability_{label}"] for label in model.classes_] for row in found]
    np.testing.assert_array_equal(proba, model.predict_proba(X))
    assert [row[HOSTILE[1]] for row in found] == [row[1] for row in rows]


@pytest.mark.parametrize("splits", ["axis", "wodt", "oblique", "cart_lc"])
def test_learned_trees(splits):
    data = load_dataset("wine")
    model = TopDownTreeClassifier(splits, random_state=0).fit(data.X, data.y)
    found = [row[0] for row in ask(model.tree_, data.X, f"SELECT {model.to_sql()} FROM t")]
    assert found == model.predict(data.X).tolist()


def test_a_deep_tree_is_not_nested_deeply():
    tree = chain(20_001)
    X = np.arange(-1, 10_001, 100, dtype=np.float64)[:, None]
    text = to_sql(tree)
    assert text.count("CASE") == 1
    found = [row[0] for row in ask(tree, X, f"SELECT {text} FROM t")]
    assert found == _predict.predict_class(tree, X).tolist()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    full = TopDownTreeClassifier().fit(X, rng.integers(2, size=4000))
    text = full.to_sql()
    deepest = max((len(line) - len(line.lstrip())) // 2 for line in text.splitlines())
    assert full.get_depth() > 18  # more than SQLite's parser takes
    assert deepest <= np.log2(full.get_n_leaves()) + 1
    assert [row[0] for row in ask(full.tree_, X, f"SELECT {text} FROM t")] == full.predict(X).tolist()


def test_labels_that_differ_in_case_only():
    model = TopDownTreeClassifier().fit([[0.0], [1.0]], ["A", "a"])
    assert '"probability_0"' in model.to_sql(table="t")


def test_refusals():
    with pytest.raises(ValueError, match=r"to_sql cannot write soft tests. Use to_onnx, to_c or to_javascript"):
        to_sql(random_tree(0, "soft linear"))
    with pytest.raises(ValueError, match="to_sql cannot write linear leaves"):
        to_sql(random_tree(0, leaf="models"))
    with pytest.raises(ValueError, match=r"table=None is not allowed: several trees.*Pass the name of a table"):
        to_sql([random_tree(0), random_tree(0)])
    with pytest.raises(ValueError, match="table must be the name of a table, got 3"):
        to_sql(random_tree(0), table=3)
    with pytest.raises(ValueError, match="holds the character 0"):
        to_sql(random_tree(0), classes=["a", "b\0c", "d"])
