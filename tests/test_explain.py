"""Explanations of single rows: sentences that are true, and contributions that add up."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import reference_predict as reference
from boscage import ForestClassifier, ForestRegressor, RidgeLeaf, TopDownTreeClassifier, TopDownTreeRegressor
from boscage.explain import Explanation, Step, explain
from boscage.export import export_graphviz, export_text, to_c, to_javascript, to_onnx, to_sql
from boscage.html import to_html, tree_fragment
from boscage.model import predict as _predict
from boscage.model.predict import needs_numbers
from boscage.plot import plot_tree
from boscage.tree import LINEAR, InputMap, Schema, Tree
from strategies import random_rows, random_tree, trees


def slow_contributions(tree, x):
    """Contributions as the documentation tells them: node by node, column by column."""
    d, plain = tree.n_features, reference.plain_row(tree, x)
    means, sizes = tree.column_means, tree.term_sizes
    sizes = sizes.toarray() if hasattr(sizes, "toarray") else sizes
    theta = tree.user_weights.toarray() if hasattr(tree.user_weights, "toarray") else tree.user_weights
    together = tree.is_soft and tree.leaf_value is not None and tree.leaf_models is None
    base = np.array(tree.value[0] if together or tree.node_count > 1 else tree.leaf_proba[0])
    found = np.zeros((d, tree.n_classes))
    reach = reference.reach(tree, x)

    def shares(raw, otherwise):
        raw = raw if sum(raw) > 0 else otherwise
        return [part / sum(raw) for part in raw] if sum(raw) > 0 else None

    def answer(node):
        """Class shares of a node before its linear model, and with it."""
        if together or tree.children_left[node] >= 0:
            return np.array(tree.value[node])
        return np.array(tree.leaf_proba[list(tree.leaves).index(node)])

    def model_shares(node):
        coef = tree.leaf_models.coef[list(tree.leaves).index(node)]
        effect = [sum(abs(coef[k, j] - coef[:, j].mean()) for k in range(len(coef))) for j in range(d)]
        spread = tree.column_spreads
        sized = effect if spread is None else [effect[j] * spread[j] for j in range(d)]
        sized = sized if sum(sized) > 0 else effect
        away = None if means is None else [0 if np.isnan(plain[j]) else abs(plain[j] - means[j]) for j in range(d)]
        return shares(sized if away is None else [effect[j] * away[j] for j in range(d)], sized)

    for node in range(tree.node_count):
        if reach[node] == 0 or tree.children_left[node] >= 0 or tree.leaf_models is None:
            continue
        share = model_shares(node)
        change = reach[node] * (np.array(reference.leaf_proba(tree, node, x)) - answer(node))
        if share is not None:
            found += np.outer(share, change)
        elif node == 0:
            base += change
    for node in range(tree.node_count):
        if tree.children_left[node] < 0 or reach[node] == 0:
            continue
        for child, towards in ((tree.children_left[node], -1), (tree.children_right[node], 1)):
            end = answer(child)
            if tree.children_left[child] < 0 and tree.leaf_models is not None and model_shares(child) is None:
                end = np.array(reference.leaf_proba(tree, child, x))
            change = reach[child] * (end - answer(node))
            if tree.feature[node] != LINEAR:
                found[tree.feature[node]] += change
                continue
            row = tree.linear_row[node]
            push = sizes[row].tolist()
            if means is not None:
                push = [
                    0 if np.isnan(plain[j]) else max(0.0, towards * theta[row, j] * (plain[j] - means[j]))
                    for j in range(d)
                ]
            share = shares(push, sizes[row].tolist())
            if share is None:
                base = base + change
            else:
                found += np.outer(share, change)
    if together:
        rest = np.array(reference.predict_proba(tree, np.array([x]))[0]) - base - found.sum(axis=0)
        for k in range(tree.n_classes):
            share = shares(abs(found[:, k]).tolist(), [0.0] * d)
            if share is None:
                base[k] += rest[k]
            else:
                found[:, k] += rest[k] * np.array(share)
    return base, found


@settings(derandomize=True, deadline=None, max_examples=120)
@given(trees(), st.integers(0, 2**32 - 1))
def test_contributions_are_those_of_the_formula_and_add_up(tree, seed):
    x = random_rows(seed, tree, 1, missing=not needs_numbers(tree))[0]
    if needs_numbers(tree):
        x = np.nan_to_num(x)
    found = explain(tree, x)
    assert found.contributions.shape == (tree.n_features, tree.n_classes)
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=0), found.prediction, atol=1e-12)
    np.testing.assert_array_equal(found.prediction, _predict.predict_proba(tree, x[None, :])[0])
    base, contributions = slow_contributions(tree, x.astype(float).tolist())
    np.testing.assert_allclose(found.base, base, atol=1e-12)
    np.testing.assert_allclose(found.contributions, contributions, atol=1e-12)
    # Steps follow the way of the row.
    assert found.path[-1].node == _predict.apply(tree, x[None, :])[0]
    assert [step.node for step in found.path[1:]] == [
        int((tree.children_left if step.side == "left" else tree.children_right)[step.node]) for step in found.path[:-1]
    ]
    assert found.class_names[found.best] in str(found)
    assert str(found.path[-1]).startswith("Step(")


@pytest.mark.parametrize("options", [{}, {"splits": "wodt"}, {"splits": "stochastic"}, {"leaf": "linear"}])
def test_estimators_explain_rows_of_tables(options):
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = load_iris().target_names[y]
    model = TopDownTreeClassifier(max_leaf_nodes=4, random_state=0, **options).fit(X, labels)
    for row in (X.iloc[[70]], X.iloc[70]):
        found = model.explain(row)
        assert isinstance(found, Explanation)
        assert found.class_names == ["setosa", "versicolor", "virginica"]
        assert found.feature_names == list(X.columns)
        np.testing.assert_array_equal(found.prediction, model.predict_proba(X.iloc[[70]])[0])
    assert found.class_names[found.best] == model.predict(X.iloc[[70]])[0]
    amounts = [amount for _, _, amount in found.table("virginica")]
    np.testing.assert_allclose(sum(amounts), found.prediction[2] - found.base[2])
    assert amounts == sorted(amounts, key=abs, reverse=True)
    # The fractions at the root are where every row starts.
    np.testing.assert_allclose(found.base, [1 / 3] * 3)


def test_sentences_of_axis_and_category_tests_are_true():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"size": rng.normal(size=200), "colour": pd.Categorical.from_codes(rng.integers(3, size=200), list("abc"))}
    )
    X.loc[X["size"] > 1.5, "size"] = np.nan
    y = (X["size"].fillna(2) > 0.3) ^ (X["colour"] == "b")
    model = TopDownTreeClassifier(categorical_features="from_dtype", max_leaf_nodes=8).fit(X, y)
    seen = set()
    for i in range(60):
        for step in model.explain(X.iloc[[i]]).path[:-1]:
            row = X.iloc[i]
            if found := re.fullmatch(r"size = (\S+) (<=|>) (\S+)", step.sentence):
                assert eval(step.sentence.removeprefix("size = "))
                assert float(found[1]) == pytest.approx(row["size"], rel=1e-5)
            elif found := re.fullmatch(r"colour = (.), (not )?in \{(.*)\}", step.sentence):
                assert found[1] == row["colour"]
                assert (found[1] in found[3].split(", ")) == (found[2] is None)
            else:
                found = re.fullmatch(r"size is missing(, which goes with values (<=|>) \S+)?", step.sentence)
                assert found
                assert np.isnan(row["size"])
            seen.add(step.sentence.split(" ")[1] + step.sentence.split(" ")[0])
    assert seen == {"=size", "=colour", "issize"}


def test_the_score_in_a_sentence_is_that_of_the_test():
    rng = np.random.default_rng(1)
    row_map = InputMap(fill=rng.normal(size=3))
    for seed in range(20):
        tree = random_tree(seed, "linear", splits=3, d=3)
        tree = Tree(**{**{n: getattr(tree, n) for n in tree._field_names()}, "input_map": row_map,
                       "weights": rng.normal(size=(3, 3)), "schema": Schema(3, spread=[1.0, 2.0, 3.0])})  # fmt: skip
        x = rng.normal(size=3)
        for units in ("original", "standard"):
            for step in explain(tree, x, units=units, decimals=9).path[:-1]:
                value, relation, bound = step.sentence.split(" = ")[1].split(" ")
                assert {"<=": float.__le__, ">=": float.__ge__, ">": float.__gt__, "<": float.__lt__}[relation](
                    float(value), float(bound)
                )
                assert float(value) == pytest.approx(step.value, abs=1e-8)


def test_one_linear_leaf_is_not_the_same_for_every_row():
    X = np.random.default_rng(0).normal(size=(100, 2))
    line = TopDownTreeRegressor(leaf="linear").fit(X, X[:, 0] - X[:, 1])
    assert line.get_n_leaves() == 1
    assert "by the linear model of the only leaf" in str(line.explain(X[0]))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("size", [1e200, 1e308, np.finfo(np.float64).max])
@pytest.mark.parametrize(
    "model",
    [
        TopDownTreeRegressor(leaf=RidgeLeaf(clip=False), max_leaf_nodes=3),
        TopDownTreeRegressor(leaf="linear", max_leaf_nodes=3),
        TopDownTreeClassifier(leaf="linear", max_leaf_nodes=3),
    ],
    ids=repr,
)
def test_rows_whose_terms_overflow_are_explained(model, size, rng):
    X = rng.normal(size=(100, 2))
    y = X @ [1, 2]
    model.fit(X, y if isinstance(model, TopDownTreeRegressor) else y > 0)
    for row in ([size, -size], [-size, size], [size, size], [1.0, size]):
        found = model.explain(row)
        assert np.isfinite(found.contributions).all()
        np.testing.assert_allclose(found.base + found.contributions.sum(axis=0), found.prediction, rtol=1e-6, atol=1e-9)


def test_leaves_that_cancel_out_do_not_spoil_an_explanation(rng):
    """Jointly fitted leaves are far outside the range of y; what a column contributed is not."""
    X = rng.normal(size=(600, 4))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.1 * rng.normal(size=600)
    model = TopDownTreeRegressor("stochastic", max_leaf_nodes=16).fit(X, y)
    assert np.abs(model.tree_.leaf_value).max() > 10 * np.abs(y).max()
    for row in X[:20]:
        found = model.explain(row)
        assert found.base + found.contributions.sum() == pytest.approx(found.prediction, abs=1e-9)
        assert np.abs(found.contributions).sum() < 4 * np.abs(y).max()


def test_a_printed_explanation():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = TopDownTreeClassifier(max_leaf_nodes=3).fit(X, load_iris().target_names[y])
    found = model.explain(X.iloc[100], feature_names=["a<b>", "b", "c", "d"])
    assert str(found).splitlines()[:3] == ["virginica (probability 0.98) because", "  c = 6 > 2.45", "  d = 2.5 > 1.75"]
    shown = found._repr_html_()
    assert "c = 6 &gt; 2.45" in shown
    assert "<b>" not in shown
    single = TopDownTreeClassifier(max_leaf_nodes=1).fit(X, y).explain(X.iloc[0])
    assert str(single).startswith("0 (probability 0.33) for every row")
    assert repr(single.path) == repr([Step(0, "", (), float("nan"), "", 1.0)])  # NaN differs from itself


def test_what_is_not_a_row_is_refused():
    X, y = load_iris(return_X_y=True)
    model = TopDownTreeClassifier(max_leaf_nodes=3).fit(X, y)
    with pytest.raises(ValueError, match=r"row must be one row, got shape \(150, 4\)"):
        model.explain(X)
    with pytest.raises(ValueError, match="row must hold 4 numbers"):
        model.tree_.explain([1.0, 2.0])
    with pytest.raises(ValueError, match="target must be the name of a class or a number below 3, got 'oak'"):
        model.explain(X[0]).table("oak")
    assert model.explain(X[0]).prediction.tolist() == model.tree_.explain(X[0]).prediction.tolist()


# --- signatures and notebooks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "function"),
    [
        ("export_text", export_text),
        ("export_graphviz", export_graphviz),
        ("plot", plot_tree),
        ("to_html", to_html),
        ("show", tree_fragment),
        ("explain", explain),
        ("to_onnx", to_onnx),
        ("to_c", to_c),
        ("to_sql", to_sql),
        ("to_javascript", to_javascript),
    ],
)
def test_methods_have_the_parameters_of_their_functions(method, function):
    ours = dict(inspect.signature(getattr(TopDownTreeClassifier, method)).parameters)
    theirs = dict(inspect.signature(function).parameters)
    del ours["self"], theirs["tree"]
    ours.pop("height", None)
    for name in ("model", "classes", "exponent", "mean"):  # passed by the estimator
        theirs.pop(name, None)
    assert list(ours) == list(theirs)
    for name, parameter in theirs.items():
        assert ours[name].kind == parameter.kind, name
        if name != "title":  # an estimator's own default is its name
            assert ours[name].default == parameter.default, name
    for name in ours:
        assert name in inspect.getdoc(getattr(TopDownTreeClassifier, method)), name


def test_methods_pass_every_option_on():
    X, y = load_iris(return_X_y=True)
    model = TopDownTreeClassifier("wodt", max_leaf_nodes=3, random_state=0).fit(X, y)
    names = {"feature_names": list("abcd"), "class_names": list("xyz")}
    options = {"decimals": 3, "max_terms": 1, "units": "standard", "show_missing": True}
    text = names | options | {"max_depth": 0, "spacing": 2, "show_weights": True}
    assert model.export_text(**text) == export_text(model.tree_, **text)
    graph = names | options | {"max_depth": 0, "filled": False, "impurity": False, "node_ids": True}
    assert model.export_graphviz(**graph) == export_graphviz(model.tree_, **graph)
    assert model.to_html(title="t", **names, **options) == to_html(
        model.tree_, title="t", **names, **options, model=model
    )
    ax = model.plot(**names, **options, max_depth=0, fontsize=5, legend=False)
    expected = plot_tree(model.tree_, **names, **options, max_depth=0, fontsize=5, legend=False)
    assert [t.get_text() for t in ax.texts] == [t.get_text() for t in expected.texts]
    assert ax.get_legend() is None
    import matplotlib.pyplot as plt

    plt.close("all")


def test_notebooks_show_the_top_of_a_tree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    large = TopDownTreeClassifier().fit(X, rng.integers(2, size=2000))
    for shown in (large.tree_._repr_html_(), large._repr_html_()):
        assert "more lines; show() has the whole tree" in shown
    assert len(large.tree_._repr_html_()) < 6000
    assert "sk-top-container" in large._repr_html_()
    assert "<pre" not in TopDownTreeClassifier()._repr_html_().split("sk-text-repr-fallback")[-1].split("</pre>")[-1]
    evil = TopDownTreeClassifier().fit(pd.DataFrame({"<i>": [0.0, 1.0]}), ["<b>", "c"])
    assert "<i>" not in evil.tree_._repr_html_()
    assert "class: &lt;b&gt;" in evil._repr_html_()


class Shell:
    kernel = object()


def test_show_opens_a_browser_or_a_frame(monkeypatch, tmp_path):
    import sys
    import tempfile
    import types
    import webbrowser

    X, y = load_iris(return_X_y=True)
    model = TopDownTreeClassifier(max_leaf_nodes=3).fit(X, y)
    opened, displayed = [], []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = model.show(X, y, title="Iris")
    assert opened == [path.as_uri()]
    assert path.read_text(encoding="utf-8") == model.to_html(X=X, y=y, title="Iris")
    assert model.tree_.show().exists()
    display = types.SimpleNamespace(HTML=lambda text: text, display=displayed.append)
    notebook = types.SimpleNamespace(get_ipython=Shell, display=display)
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert model.show(height=300) is None
    (frame,) = displayed
    assert frame.startswith('<iframe sandbox="allow-scripts allow-downloads" srcdoc="&lt;!doctype html&gt;')
    assert frame.count("<") == 2  # the frame and its end: nothing of the page gets out
    with pytest.raises(ValueError, match="height must be an integer >= 1, got 0"):
        model.show(height=0)


# ---- forests ----


@pytest.mark.parametrize("calibrate", [False, True])
def test_a_forest_is_explained_by_its_trees(calibrate):
    X, y = load_iris(return_X_y=True, as_frame=True)
    forest = ForestClassifier(8, calibrate=calibrate, max_depth=3, random_state=0).fit(X, y)
    t = forest.exponent_
    assert (t != 1) == calibrate

    def g(q):
        q = np.maximum(q, 0)
        return q**t / (q**t).sum()

    for i in (0, 70, 133):
        found = forest.explain(X.iloc[i])
        assert (found.path, found.n_trees) == ([], 8)
        assert np.allclose(found.prediction, forest.predict_proba(X.iloc[[i]])[0], rtol=1e-12)
        assert np.allclose(found.base + found.contributions.sum(axis=0), found.prediction, atol=1e-12)
        alone = [tree.explain(X.iloc[i]) for tree in forest.estimators_]
        base, columns = (np.mean([getattr(a, name) for a in alone], axis=0) for name in ("base", "contributions"))
        assert np.allclose(found.base, g(base), atol=1e-12)
        # The columns move the mean along a straight line; each small step down it is shared by columns one by one.
        expected, steps = np.zeros_like(columns), 2_000
        for s in (np.arange(steps) + 0.5) / steps:
            q = base + s * columns.sum(axis=0)
            expected += [(g(q + column / (2 * steps)) - g(q - column / (2 * steps))) for column in columns]
        assert np.allclose(found.contributions, expected, atol=2e-3)


def test_a_printed_explanation_of_forests():
    X, y = load_iris(return_X_y=True, as_frame=True)
    forest = ForestClassifier(5, calibrate=False, random_state=0).fit(X, load_iris().target_names[y])
    text = str(forest.explain(X.iloc[0])).splitlines()
    assert text[0] == "setosa (probability 1.00), the mean of 5 trees"
    assert text[2] == "probability of setosa"
    assert text[-1].split() == ["+1.000", "prediction"]
    numbers = ForestRegressor(5, random_state=0).fit(X.iloc[:, :3], X.iloc[:, 3])
    found = numbers.explain(X.iloc[7, :3])
    assert found.prediction == numbers.predict(X.iloc[[7], :3])
    assert np.isclose(found.base + found.contributions.sum(axis=0), found.prediction, rtol=1e-12)
    assert found._repr_html_().count("<tr>") == len(found.table()) + 2


def test_a_forest_shows_its_page(monkeypatch):
    import webbrowser

    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    X, y = load_iris(return_X_y=True)
    path = ForestClassifier(2, random_state=0).fit(X, y).show(title="Two trees")
    try:
        assert opened == [path.as_uri()]
        assert "<title>Two trees</title>" in path.read_text(encoding="utf-8")
    finally:
        path.unlink()
