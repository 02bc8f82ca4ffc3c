"""Editing a tree on its page: the file that the page saves is the model that Python's edit gives."""

import base64
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import boscage
from boscage import RidgeLeaf, TopDownTreeClassifier, TopDownTreeRegressor
from boscage.datasets import load_dataset
from browser import Tab
from strategies import random_tree

SAVED = "btoa(Array.from(document.querySelector('.bosc').boscage.modelBytes(), (b) => String.fromCharCode(b)).join(''))"


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    return TopDownTreeClassifier(max_leaf_nodes=5).fit(X, y), X, y


def saved(tab, folder):
    path = folder / "edited.boscage"
    path.write_bytes(base64.b64decode(tab.evaluate(SAVED)))
    return boscage.load(path)


def same(found, expected, folder):
    """Whether two models are the same to the last bit of their files."""
    assert found.tree_ == expected.tree_
    assert found.save(folder / "a").read_bytes() == expected.save(folder / "b").read_bytes()


def choose(tab, node):
    tab.evaluate(f"document.querySelector('.bosc').boscage.state.chooseNode({node})")


def test_prune_change_a_threshold_set_a_leaf_and_save(browser, iris, tmp_path):
    model, X, y = iris
    path = model.to_html(tmp_path / "iris.html", X, y, title="Irises & more")
    with Tab(browser, path) as tab:
        effect = tab.locator(".bosc-effect")
        choose(tab, 3)
        tab.get_by_role("button", name="Make node 3 a leaf").click()
        leaves = tab.evaluate("document.querySelector('.bosc').boscage.tree.leaves")
        assert leaves == model.edit().prune(3).tree.n_leaves
        choose(tab, 2)
        box = tab.get_by_role("textbox", name="Threshold of node 2")
        box.fill("nonsense")
        box.press("Tab")
        assert box.get_attribute("aria-invalid") == "true"
        box.fill("1.6")
        box.press("Tab")
        assert "petal width (cm) ≤ 1.6" in tab.locator(".bosc-formula").text_content()
        edited = model.edit().prune(3).set_threshold(2, 1.6)
        report = edited.compare_on(X, y)
        shown = effect.text_content()
        assert f"accuracy {report.accuracy_before:.4f} → {report.accuracy_after:.4f}" in shown
        assert f"{len(report.changed)} of 150 rows change their class" in shown
        assert "node 3 pruned, threshold of node 2" in shown
        choose(tab, 1)
        tab.get_by_role("combobox", name="Leaf 1 predicts").select_option(label="always virginica")
        edited = edited.set_leaf(1, "virginica")
        with tab.expect_download() as download:
            tab.get_by_role("button", name="Save the edited model as a file").click()
        assert download.value.suggested_filename == "Irises-more-edited.boscage"
        download.value.save_as(tmp_path / "saved.boscage")
        same(boscage.load(tmp_path / "saved.boscage"), edited.estimator, tmp_path)
        assert "setosa" not in boscage.load(tmp_path / "saved.boscage").predict(X)
        tab.get_by_role("button", name="Undo the last change").click()
        same(saved(tab, tmp_path), model.edit().prune(3).set_threshold(2, 1.6).estimator, tmp_path)
        tab.get_by_role("button", name="Undo all changes").click()
        same(saved(tab, tmp_path), model, tmp_path)
        assert tab.get_by_role("button", name="Save the edited model").count() == 0


def table():
    rng = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame({"size": rng.normal(size=n), "weight": rng.normal(size=n)})
    X["kind"] = rng.choice([f"k{i}" for i in range(11)], n)
    X.loc[::7, "size"] = np.nan
    X.loc[::11, "kind"] = None
    return X, np.where((X["kind"] > "k4") ^ (X["size"] + X["weight"] > 0), "naïve </script>", '"yes"')


def models():
    heart = load_dataset("heart")
    for options in (
        {},
        {"leaf": "majority"},
        {"splits": "wodt"},
        {"splits": "wodt", "leaf": "linear"},
        {"splits": "stochastic"},
        {"splits": "wodt", "class_weight": "balanced", "leaf": "frequency"},
    ):
        yield TopDownTreeClassifier(max_leaf_nodes=9, random_state=0, **options).fit(heart.X, heart.y)
    for splits in ("axis", "wodt"):
        yield TopDownTreeClassifier(splits, max_leaf_nodes=9, random_state=0).fit(*table())
    one = TopDownTreeClassifier(max_leaf_nodes=9, random_state=0).fit(heart.X, heart.y)
    for seed, kind in enumerate(("mixed", "linear", "soft logistic", "category")):
        tree = random_tree(seed, kind, d=13, k=2, splits=8, sparse_weights=seed < 2)
        one.tree_ = replace(tree, weights=sparse.csr_array(tree.weights)) if seed < 2 else tree
        yield boscage.files._estimator(boscage.files.model_of(one), "")


def number_models():
    X, _ = table()
    y = np.where(X["size"] > 0, 3 * X["weight"], -X["weight"]) + np.arange(len(X)) % 3 - 1e-3
    for options in (
        {},
        {"criterion": "absolute_error"},
        {"leaf": RidgeLeaf(blend=0)},
        {"leaf": RidgeLeaf(blend=0, clip=False)},
        {"leaf": RidgeLeaf(blend=0.2, refine=True)},
        {"splits": "oblique", "polish": "soft"},
    ):
        yield TopDownTreeRegressor(max_leaf_nodes=9, random_state=0, **options).fit(X, y)
    for leaf in ("constant", RidgeLeaf(blend=0)):
        yield TopDownTreeRegressor(max_leaf_nodes=9, leaf=leaf).fit(X, np.column_stack([y, -2 * y]))


def edits(model, seed):
    """A few valid changes: as the page takes them, and as Python does."""
    rng = np.random.default_rng(seed)
    tree, edit, changes = model.tree_, model.edit(), []
    axis = np.flatnonzero((tree.feature >= 0) & (tree.category_offset < 0) & np.isfinite(tree.threshold))
    if not tree.is_soft and len(axis):
        node, value = int(rng.choice(axis)), float(rng.normal())
        edit = edit.set_threshold(node, value)
        changes.append({"kind": "threshold", "node": node, "value": value})
    node = int(rng.choice(np.flatnonzero(~tree.is_leaf)))
    edit = edit.prune(node)
    changes.append({"kind": "prune", "node": node})
    if seed % 2:
        proba = [0.25, 0.75][: tree.n_outputs]
        edit = edit.set_leaf(node, proba)
        changes.append({"kind": "leaf", "node": node, "value": proba})
    return edit, changes


@pytest.mark.parametrize("kind", [models, number_models])
def test_files_of_every_kind_of_tree(browser, kind, tmp_path):
    for model in kind():
        path = model.to_html(tmp_path / "tree.html")
        with Tab(browser, path) as tab:
            same(saved(tab, tmp_path), model, tmp_path)
            for seed in range(4):
                edit, changes = edits(model, seed)
                tab.evaluate("(list) => document.querySelector('.bosc').boscage.edit(list)", changes)
                same(saved(tab, tmp_path), edit.estimator, tmp_path)


def test_numbers_are_set_and_judged_by_their_errors(browser, tmp_path):
    X, _ = table()
    Y = np.column_stack([np.where(X["size"] > 0, 5.0, X["weight"]), np.linspace(0, 1, len(X))])
    for y in (Y[:, 0], Y):
        model = TopDownTreeRegressor(max_leaf_nodes=5).fit(X, y)
        leaf = int(model.tree_.leaves[0])
        with Tab(browser, model.to_html(tmp_path / "t.html", X, y, max_rows=len(X))) as tab:
            choose(tab, leaf)
            boxes = tab.get_by_role("textbox", name=f"Leaf {leaf} predicts")
            assert boxes.count() == y.reshape(len(y), -1).shape[1]
            box = boxes.first
            box.fill("high")
            box.press("Tab")
            assert box.get_attribute("aria-invalid") == "true"
            box.fill("7.25")
            box.press("Tab")
            value = model.tree_.value[leaf].copy()
            value[0] = 7.25
            edit = model.edit(X, y).set_leaf(leaf, value)
            same(saved(tab, tmp_path), edit.estimator, tmp_path)
            shown = tab.locator(".bosc-effect").text_content()
            assert "accuracy" not in shown
            assert "class" not in shown
            numbers = [float(text) for text in re.search(r"RMSE (\S+) → (\S+);", shown).groups()]
            np.testing.assert_allclose(numbers, [edit.report.accuracy_before, edit.report.accuracy_after], rtol=1e-4)
            assert f"{len(edit.report.changed)} of 300 rows change their value" in shown


def test_what_nodes_show_follows_their_new_numbers(browser, tmp_path):
    X, _ = table()
    y = np.where(X["size"] > 0, 3 * X["weight"], -X["weight"]) + np.where(X["kind"] > "k4", X["size"].fillna(0), 0)
    model = TopDownTreeRegressor(leaf=RidgeLeaf(blend=0), max_leaf_nodes=9).fit(X, y)
    node = int(np.flatnonzero(~model.tree_.is_leaf)[1])
    edit = model.edit().prune(node).tree
    with Tab(browser, model.to_html(tmp_path / "t.html", X, y)) as tab:
        tree = "document.querySelector('.bosc').boscage.tree"
        tab.evaluate(f"() => document.querySelector('.bosc').boscage.edit([{{kind: 'prune', node: {node}}}])")
        path = model.edit().prune(node).estimator.decision_path(X)
        medians = tab.evaluate(f"Array.from({{length: {tree}.size}}, (_, v) => {tree}.quantiles.values[5 * v + 2])")
        expected = [np.median(y[path[:, v].nonzero()[0]]) for v in range(edit.node_count)]
        np.testing.assert_allclose(medians, expected)
        choose(tab, node)
        words = tab.locator(".bosc-formula").text_content()
        assert words == f"A linear model predicts here: {edit.value[node, 0]:.5g}".replace("-", "−")
        assert "residual" not in tab.locator(".bosc-node").text_content()


def test_thresholds_of_linear_tests_are_in_shown_units(browser, iris, tmp_path):
    _, X, y = iris
    model = TopDownTreeClassifier("wodt", max_leaf_nodes=3, random_state=0).fit(X, y)
    with Tab(browser, model.to_html(tmp_path / "t.html", X, y)) as tab:
        box = tab.get_by_role("textbox", name="Threshold of node 0")
        value = float(box.input_value()) + 0.5
        box.fill(str(value))
        box.press("Tab")
        found = saved(tab, tmp_path)
    expected = model.edit().set_threshold(0, value).tree
    np.testing.assert_allclose(found.tree_.threshold, expected.threshold, rtol=1e-9)


def test_without_labels_or_rows(browser, iris, tmp_path):
    model, X, _ = iris
    for options, words in (({"X": X}, "of 150 rows change their class"), ({}, "Without rows on the page")):
        with Tab(browser, model.to_html(tmp_path / "t.html", **options)) as tab:
            choose(tab, 2)
            tab.get_by_role("button", name="Make node 2 a leaf").click()
            shown = tab.locator(".bosc-effect").text_content()
            assert words in shown
            after = model.edit().prune(2).estimator.score(X, iris[2])
            assert f"Training rows: accuracy {model.score(X, iris[2]):.4f} → {after:.4f}" in shown


def test_a_bare_tree_can_be_edited_but_not_saved(browser, iris, tmp_path):
    from boscage.html import to_html

    with Tab(browser, to_html(iris[0].tree_, tmp_path / "t.html")) as tab:
        tab.get_by_role("button", name="Make node 0 a leaf").click()
        assert tab.get_by_role("button", name="Undo the last change").count() == 1
        assert tab.get_by_role("button", name="Save the edited model").count() == 0
        tab.get_by_role("button", name="Undo the last change").click()
        assert tab.evaluate("document.querySelector('.bosc').boscage.tree.size") == iris[0].tree_.node_count


def test_the_keyboard_stays_where_it_was(browser, iris, tmp_path):
    model, X, y = iris
    with Tab(browser, model.to_html(tmp_path / "t.html", X, y)) as tab:
        tab.get_by_role("combobox", name="Row").select_option(label="Row 149 · virginica")
        choose(tab, 2)
        tab.get_by_role("button", name="Make node 2 a leaf").focus()
        tab.keyboard.press("Enter")
        assert tab.evaluate("document.activeElement.getAttribute('role')") == "treeitem"
        assert tab.evaluate("document.querySelector('.bosc').boscage.state.number") == 149
        assert "Node 2, a leaf" in tab.locator(".bosc-node h3").text_content()
