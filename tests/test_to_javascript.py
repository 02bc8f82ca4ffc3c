"""Models as JavaScript modules, run by Node.js: they decide as Python does."""

import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from boscage import TopDownTreeClassifier
from boscage.export import to_javascript
from boscage.model import predict as _predict
from boscage.model.predict import needs_numbers
from boscage.tree import LeafModels
from strategies import KINDS, chain, random_forest, random_rows, random_tree

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
HOSTILE = ("__proto__", '</script>"\\', "ключ\u2028\u2029🌳 `${x}`", "constructor")

ASK = """
import {{ readFileSync }} from "node:fs";
const answers = [];
for (const [path, rows] of JSON.parse(readFileSync("rows.json", "utf8"))) {{
  const model = await import(path);
  const ask = model.predictProba || model.predict;
  answers.push([rows.map((row) => ask(row)), model.predictProba ? rows.map((row) => model.predict(row)) : null]);
}}
console.log(JSON.stringify(answers));
"""


def ask(folder, models, rows):
    """Predictions of models for rows, which JSON can hold; NaN is written as null."""
    asked = []
    for number, (text, part) in enumerate(zip(models, rows)):
        (folder / f"model_{number}.mjs").write_text(text, encoding="utf-8")
        asked.append((f"./model_{number}.mjs", part))
    (folder / "rows.json").write_text(json.dumps(asked), encoding="utf-8")
    (folder / "ask.mjs").write_text(ASK.replace("{{", "{").replace("}}", "}"), encoding="utf-8")
    done = subprocess.run([NODE, "ask.mjs"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def plain(X):
    return [[None if x != x else x for x in row] for row in X.astype(float).tolist()]


@pytest.mark.parametrize("leaf", ["value", "leaf_value", "models"])
def test_trees_of_every_kind(tmp_path, leaf):
    trees = [
        random_tree(seed, KINDS[seed % 6], leaf=leaf, d=1 + seed % 12, splits=seed % 9, k=1 + seed % 4,
                    sparse_weights=seed % 3 == 0, dtype=("float32", "float64")[seed % 2])
        for seed in range(24)
    ]  # fmt: skip
    rows = [random_rows(seed, tree, 30) for seed, tree in enumerate(trees)]
    rows = [np.nan_to_num(X) if needs_numbers(tree) else X for tree, X in zip(trees, rows)]
    found = ask(tmp_path, map(to_javascript, trees), map(plain, rows))
    for tree, X, (proba, label) in zip(trees, rows, found):
        expected = _predict.predict_proba(tree, X)
        tolerance = 1e-12 if leaf == "models" or tree.routing == "logistic" else 0
        np.testing.assert_allclose(proba, expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(label, np.argmax(proba, axis=1))


@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_forests(tmp_path, target):
    forests = [random_forest(seed, 1 + seed % 5, k=1 + seed % 3, target=target) for seed in range(8)]
    rows = [np.nan_to_num(random_rows(seed, forest[0], 30)) for seed, forest in enumerate(forests)]
    found = ask(tmp_path, map(to_javascript, forests), map(plain, rows))
    for forest, X, (answer, label) in zip(forests, rows, found):
        expected = sum(_predict.predict_proba(tree, X) for tree in forest) / len(forest)
        np.testing.assert_allclose(np.reshape(answer, expected.shape), expected, rtol=1e-12, atol=1e-12)
        assert (label is None) == (target == "numbers")


def test_linear_leaves_of_numbers(tmp_path):
    tree = random_tree(2, "axis", k=1)
    models = LeafModels(np.arange(18.0).reshape(6, 1, 3), np.ones((6, 1)), np.full((6, 1), -9.0), np.full((6, 1), 9.0))
    trees = [
        replace(tree, target="numbers", leaf_models=part) for part in (models, replace(models, low=None, high=None))
    ]
    X = random_rows(2, tree, missing=False)
    for (found, _), tree in zip(ask(tmp_path, map(to_javascript, trees), [plain(X)] * 2), trees):
        np.testing.assert_allclose(found, _predict.predict_proba(tree, X)[:, 0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("splits", ["axis", "wodt"])
def test_tables_with_hostile_names(tmp_path, splits):
    rng = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame({HOSTILE[0]: rng.normal(size=n), HOSTILE[1]: rng.choice(HOSTILE, n), "wet": rng.random(n) < 0.5})
    X[HOSTILE[2]] = pd.Categorical(rng.choice([5, 2], n))
    X.loc[::7, HOSTILE[0]] = np.nan
    X.loc[::11, HOSTILE[1]] = None
    code = (X[HOSTILE[1]] == HOSTILE[0]).to_numpy(int) + X["wet"] + (X[HOSTILE[0]] > 0)
    model = TopDownTreeClassifier(splits, random_state=0).fit(X, np.array(HOSTILE)[code])
    assert model.to_javascript(tmp_path / "tree.js") == tmp_path / "tree.js"
    lists = [[None if pd.isna(v) else v for v in row] for row in X.astype(object).to_numpy().tolist()]
    # An object whose own property is called __proto__ comes from JSON only.
    objects = [dict(zip(X, row)) for row in lists]
    text = (tmp_path / "tree.js").read_text(encoding="utf-8")
    by_list, by_name = ask(tmp_path, [text, text], [lists, objects])
    assert by_list == by_name
    np.testing.assert_array_equal(by_list[0], model.predict_proba(X))
    assert by_list[1] == model.predict(X).tolist()


def test_a_tree_of_a_hundred_thousand_levels(tmp_path):
    tree = chain(200_001)
    X = np.arange(-1, 100_001, 5000, dtype=np.float64)[:, None]
    found = ask(tmp_path, [to_javascript(tree)], [plain(X)])[0][0]
    np.testing.assert_array_equal(found, _predict.predict_proba(tree, X))


def test_wrong_rows_are_refused(tmp_path):
    (tmp_path / "model.mjs").write_text(to_javascript(random_tree(0)), encoding="utf-8")
    (tmp_path / "ask.mjs").write_text(
        """import { predict, featureNames, classes } from "./model.mjs";
        const tried = [[1, 2], ["a", 1, 2], {}].map((row) => {
          try { return predict(row); } catch (error) { return error.message; } });
        console.log(JSON.stringify([tried, featureNames, classes]));""",
        encoding="utf-8",
    )
    done = subprocess.run([NODE, "ask.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    tried, names, classes = json.loads(done.stdout)
    assert tried[0] == "a row has 3 columns, got 2"
    assert tried[1] == 'feature_0 must be a number, null or undefined, got "a"'
    assert tried[2] in classes
    assert names == ["feature_0", "feature_1", "feature_2"]
