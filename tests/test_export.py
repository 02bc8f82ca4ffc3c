"""Trees in words and pictures."""

import builtins
import json
import re
from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree import export_text as sklearn_export_text

from boscage import OptimalTreeClassifier, TopDownTreeClassifier, WeightedOblique
from boscage.export import export_graphviz, export_text, subtree_heights, to_dict
from boscage.model import predict as _predict
from boscage.plot import plot_tree
from boscage.show.describe import Describer
from boscage.show.layout import tidy_positions
from boscage.tree import LINEAR, InputMap, LeafModels, Schema, Tree
from strategies import random_rows, random_tree, trees

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def stump(**changes):
    fields = {
        "children_left": [1, -1, -1],
        "children_right": [2, -1, -1],
        "feature": [0, -1, -1],
        "threshold": [0.5, 0, 0],
        "value": [[0.5, 0.5], [1, 0], [0, 1]],
        "n_node_samples": [4, 2, 2],
        "weighted_n_node_samples": [4, 2, 2],
        "impurity": [0.5, 0, 0],
        "schema": Schema(3, feature_names=("a", "b", "c")),
    }
    return Tree(**(fields | changes))


def linear(weights=((2.0, -3.0, 0.0),), **changes):
    return stump(feature=[-3, -1, -1], linear_row=[0, -1, -1], weights=np.array(weights), **changes)


def colours(bits, n=4, **changes):
    names = ("red", "green", "blue", "white", "black", "pink", "grey", "teal", "gold")[:n]
    schema = Schema(1, feature_names=("colour",), n_categories=[n], categories=(names,))
    fields = {"category_offset": [0, -1, -1], "category_bits": np.array(bits, np.uint8), "threshold": [0, 0, 0]}
    return stump(**({"schema": schema} | fields | changes))


def headings(tree, **options):
    """The words of the root's two branches."""
    lines = export_text(tree, **options).split("\n")
    return [line.removeprefix("|--- ") for line in lines if line.startswith("|--- ")]


def chain(depth):
    n = 2 * depth + 1
    number = np.arange(n)
    inner = (number % 2 == 0) & (number < n - 1)
    return Tree(
        children_left=np.where(inner, number + 1, -1),
        children_right=np.where(inner, number + 2, -1),
        feature=np.where(inner, 0, -1),
        threshold=np.where(inner, number * 1.0, 0),
        value=np.tile([1.0, 0.0], (n, 1)),
        n_node_samples=np.ones(n),
        weighted_n_node_samples=np.ones(n),
        impurity=np.zeros(n),
        schema=Schema(1),
    )


@pytest.mark.parametrize("options", [{}, {"max_depth": 1}, {"show_weights": True, "decimals": 3, "spacing": 5}])
def test_axis_trees_read_as_in_scikit_learn(options):
    X, y = load_iris(return_X_y=True)
    theirs = DecisionTreeClassifier(random_state=0).fit(X, y)
    t = theirs.tree_
    tree = Tree(
        children_left=t.children_left,
        children_right=t.children_right,
        feature=np.where(t.feature < 0, -1, t.feature),
        threshold=np.where(t.feature < 0, 0, t.threshold),
        value=t.value[:, 0, :],
        n_node_samples=t.n_node_samples,
        weighted_n_node_samples=t.weighted_n_node_samples,
        impurity=t.impurity,
        schema=Schema(4),
    )
    assert export_text(tree, show_missing=False, **options) + "\n" == sklearn_export_text(theirs, **options)


def test_small_numbers_are_not_rounded_away():
    assert headings(stump(threshold=[3.3e-7, 0, 0]))[0] == "a <= 3.3e-07"
    assert headings(stump(threshold=[0.0033, 0, 0]))[0] == "a <= 0.0033"
    assert headings(stump(threshold=[-0.0, 0, 0]))[0] == "a <= 0.00"
    assert headings(stump(threshold=[1234567.125, 0, 0]))[0] == "a <= 1234567.12"
    assert headings(stump(threshold=[1712345678.5, 0, 0]))[0] == "a <= 1712345678.50"
    assert headings(stump(threshold=[0.0489, 0, 0]), decimals=1)[0] == "a <= 0.05"


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.integers(-9999, 9999), st.integers(0, 4), st.sampled_from(["float64", "float32"]))
@example(9995, 3, "float32")
@example(-9978, 2, "float32")
def test_thresholds_between_values_of_few_digits_separate_them(value, decimals, dtype):
    """What is printed sends the two training values beside the threshold to their sides."""
    low, high = (np.dtype(dtype).type(number / 10**decimals) for number in (value, value + 1))
    threshold = float(np.dtype(dtype).type((low + high) / 2))
    printed = float(headings(stump(threshold=[threshold, 0, 0], schema=Schema(3, dtype=dtype)))[0].split()[-1])
    assert low <= printed < high


def test_thresholds_of_one_column_are_told_apart():
    tree = replace(chain(3), threshold=np.array([1.0041001, 0, 1.0042003, 0, 5.1234567, 0, 0]))
    found = re.findall(r"<= (.*)", export_text(tree))
    assert found == ["1.0041", "1.0042", "5.12"]
    assert re.findall(r"<= (.*)", export_text(tree, decimals=2)) == ["1.00", "1.00", "5.12"]


def test_thresholds_have_the_digits_their_column_needs():
    def shown(threshold, spread):
        schema = Schema(3, feature_names=("a", "b", "c"), spread=[spread, 1, 1])
        return headings(stump(threshold=[threshold, 0, 0], schema=schema))[0]

    assert shown(1000.1234567, 50.0) == "a <= 1000.12"
    assert shown(1000.1234567, 0.01) == "a <= 1000.1235"
    assert shown(0.048915123, 0.04) == "a <= 0.0489"


def test_categories_by_name():
    assert headings(colours([0b0101])) == ["colour in {red, blue}", "colour not in {red, blue}"]
    assert headings(colours([0b0111])) == ["colour not in {white}", "colour in {white}"]
    assert headings(colours([0b0001], n=2)) == ["colour in {red}", "colour in {green}"]
    many = headings(colours([0b1111, 0], n=9), max_terms=2)
    assert many[0] == "colour in {red, green, 2 more}"
    unnamed = colours([0b0101], schema=Schema(1, n_categories=[4]))
    assert headings(unnamed)[0] == "feature_0 in {0, 2}"


def test_the_side_of_missing_values():
    left, right = stump(missing_go_to_left=[True, False, False]), stump()
    for tree in (left, right):
        assert headings(tree, show_missing=False) == ["a <= 0.50", "a >  0.50"]
    assert headings(left, show_missing=True) == ["a <= 0.50 or missing", "a >  0.50"]
    assert headings(right, show_missing=True) == ["a <= 0.50", "a >  0.50 or missing"]
    assert headings(colours([1], n=3), show_missing=True)[1] == "colour not in {red} or missing"
    alone = stump(threshold=[np.inf, 0, 0])
    for show in (None, True, False):
        assert headings(alone, show_missing=show) == ["a is not missing", "a is missing"]
    assert headings(stump(threshold=[-np.inf, 0, 0], missing_go_to_left=[True, False, False])) == [
        "a is missing",
        "a is not missing",
    ]


def test_missing_values_are_mentioned_where_the_tree_has_seen_some():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] > 0.5) | (X[:, 1] > 1)
    whole = TopDownTreeClassifier(max_leaf_nodes=6).fit(X, y)
    assert "missing" not in whole.export_text()
    X[X[:, 0] > 1, 0] = np.nan  # missing values belong with the large ones, the lighter side
    holes = TopDownTreeClassifier(max_leaf_nodes=6).fit(X, y)
    assert re.search(r"feature_0 >  .* or missing", holes.export_text())
    assert "feature_1 >  1.00 or missing" not in holes.export_text()
    assert "missing" not in holes.export_text(show_missing=False)
    # A tree that takes no missing values has no side for them.
    optimal = OptimalTreeClassifier(max_depth=2).fit(X[:, 1:], y)
    assert "missing" not in optimal.export_text() + optimal.export_graphviz()


@pytest.mark.parametrize(
    "splits", [WeightedOblique(max_terms=1), WeightedOblique(max_terms=1, scale="range"), "cart_lc"]
)
def test_the_side_of_missing_values_is_shown_at_linear_tests_of_one_column(splits, rng):
    table = pd.DataFrame({"size": rng.normal(size=300), "colour": rng.choice(["red", "green", "blue"], 300)})
    y = (table["size"] > 0.8) | (table["colour"] == "red") & (table["size"] < 0)
    table.loc[rng.random(300) < 0.2, "size"] = np.nan
    table.loc[rng.random(300) < 0.2, "colour"] = None
    model = TopDownTreeClassifier(splits, max_leaf_nodes=8, random_state=0).fit(table, y)
    words, tree, paths = Describer(model.tree_), model.tree_, model.decision_path(table).toarray() > 0
    told = 0
    for node in np.flatnonzero(tree.feature == LINEAR).tolist():
        test = words.test(node)
        if test.column < 0:
            continue
        gaps = paths[:, node] & table.iloc[:, test.column].isna().to_numpy()
        for goes_left in set(paths[gaps, tree.children_left[node]].tolist()):
            assert (" or missing" in test.if_left, " or missing" in test.if_right) == (goes_left, not goes_left)
            told += 1
    assert told > 1
    assert "missing" not in model.export_text(show_missing=False)


def test_linear_tests_by_their_largest_terms():
    assert headings(linear()) == ["1.00 * b - 0.667 * a >= -0.167", "1.00 * b - 0.667 * a <  -0.167"]
    assert headings(linear(), decimals=2)[0] == "1.00 * b - 0.67 * a >= -0.17"
    assert headings(linear(), max_terms=1)[0] == "1.00 * b + (1 more) >= -0.167"
    # What counts is the weight times the spread of the column.
    spread = Schema(3, feature_names=("a", "b", "c"), spread=[5.0, 0.1, 1.0])
    assert headings(linear(schema=spread))[0] == "1.00 * a - 1.50 * b <= 0.25"
    sparse_weights = replace(linear(), weights=sparse.csr_array([[2.0, -3.0, 0.0]]))
    assert headings(sparse_weights) == headings(linear())
    assert headings(linear(((0.0, 0.0, 0.0),)))[0] == "0.00 <= 0.50"
    # A test of one column is written as one.
    assert headings(linear(((2.0, 0.0, 0.0),))) == ["a <= 0.25", "a >  0.25"]
    assert headings(linear(((0.0, -3.0, 0.0),))) == ["b >= -0.167", "b <  -0.167"]


def test_linear_tests_in_the_users_units():
    # 2(a - 1)·10 - 3(b - 0)·1 + 4·0.5 <= 0.5, that is 20a - 3b <= 18.5; divided by -3.
    row_map = InputMap(shift=[1.0, 0, 0], scale=[10.0, 1, 1], constant=0.5)
    tree = linear(((2.0, -3.0, 0.0, 4.0),), input_map=row_map)
    tree.check()
    assert headings(tree)[0] == "1.00 * b - 6.67 * a >= -6.17"
    assert headings(replace(tree, routing="logistic"))[0] == "left,  p(left) = sigmoid(3.00 * b - 20.00 * a + 18.50)"
    assert headings(replace(tree, routing="linear"))[1] == (
        "right, p(left) = (1 + clip(3.00 * b - 20.00 * a + 18.50)) / 2"
    )
    unit = replace(tree, input_map=replace(row_map, unit_rows=True))
    assert headings(unit)[0] == "(1.00 * b - 6.67 * a + 6.00) / norm >= -0.167"
    assert headings(replace(unit, routing="logistic"))[0] == (
        "left,  p(left) = sigmoid((3.00 * b - 20.00 * a + 18.00) / norm + 0.50)"
    )
    # 1/scale is the deviation: 2·z(a) - 3·z(b) + 2 <= 0.5.
    standard = export_text(tree, units="standard")
    assert "1.00 * z(b) - 0.667 * z(a) >= 0.50" in standard
    assert standard.endswith("a: 1.00 +/- 0.10\nb: 0.00 +/- 1.00")


def test_standard_units_need_means_and_deviations():
    with pytest.raises(ValueError, match="units='standard' needs means and standard deviations"):
        export_text(linear(), units="standard")
    with pytest.raises(ValueError, match="units must be 'original' or 'standard', got 'metric'"):
        export_text(linear(), units="metric")
    assert export_text(stump(), units="standard") == export_text(stump())  # nothing to be changed


@pytest.mark.parametrize("units", ["original", "standard"])
@pytest.mark.parametrize("seed", range(6))
def test_the_text_of_a_linear_test_is_true(units, seed):
    rng = np.random.default_rng(seed)
    row_map = InputMap(shift=rng.normal(size=3), scale=rng.uniform(1, 9, 3), constant=2.0)
    weights = rng.normal(size=(1, 4))
    weights[0, 1 : 1 + seed % 3] = 0  # down to one column
    tree = linear(weights, input_map=row_map)
    X = rng.normal(size=(50, 3)) * 3
    z = {column: (X[:, j] - row_map.shift[j]) * row_map.scale[j] for j, column in enumerate(("x0", "x1", "x2"))}
    rows = dict(zip(z, X.T))
    text = export_text(tree, decimals=12, feature_names=list(z), units=units)
    left, right = re.findall(r"^\|--- (.*)$", text, re.M)
    names = rows | {"z": lambda column: next(z[name] for name in z if rows[name] is column)}
    goes_left = _predict.apply(tree, X) == 1
    assert 0 < goes_left.sum() < 50
    np.testing.assert_array_equal(eval(left, {}, names), goes_left)
    np.testing.assert_array_equal(eval(right, {}, names), ~goes_left)


def test_coded_categories_and_leaf_models_are_told():
    schema = Schema(3, feature_names=("a", "b", "c"), n_categories=[0, 2, 0], categories=(None, ("yes", "no"), None))
    coded = linear(schema=schema, input_map=InputMap(code_offset=[-1, 0, -1], codes=[0.1, 0.9]))
    coded.check()
    assert headings(coded)[0] == "1.00 * code(b) - 0.667 * a >= -0.167"
    assert export_text(coded).endswith("\n\ncode(b): yes = 0.10, no = 0.90")
    assert 'label="code(b): yes = 0.10, no = 0.90\\l"' in export_graphviz(coded)
    assert "code(b): yes = 0.10, no = 0.90" in [text.get_text() for text in plot_tree(coded).texts]
    # Of one column the categories themselves are named.
    alone = replace(coded, weights=np.array([[0.0, -3.0, 0.0]]), threshold=[-1.5, 0, 0])
    assert headings(alone) == ["b in {no}", "b in {yes}"]
    np.testing.assert_array_equal(_predict.apply(alone, np.array([[0.0, 0, 0], [0, 1, 0]])), [2, 1])
    models = stump(leaf_models=LeafModels(np.zeros((2, 2, 3)), np.zeros((2, 2))))
    assert "class: by the linear model of the leaf" in export_text(models)


def test_leaf_values_decide_the_class():
    tree = stump(leaf_value=[[0.0, 1.0], [1.0, 0.0]])
    assert re.findall("class: (.*)", export_text(tree, class_names=["no", "yes"])) == ["yes", "no"]


@pytest.mark.parametrize("call", [export_text, export_graphviz, to_dict, plot_tree])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_names": ["a"]}, "feature_names must have 3 names, one for each column, got 1"),
        ({"class_names": "abc"}, "class_names must have 2 names, one for each class, got 3"),
        ({"decimals": -1}, "decimals must be None or an integer >= 0, got -1"),
        ({"max_terms": 0}, "max_terms must be an integer >= 1, got 0"),
        ({"show_missing": [True]}, "show_missing must be None, True, False or 3 of them"),
    ],
)
def test_wrong_options_are_named(call, options, message):
    if call is to_dict and "show_missing" in options:
        return
    with pytest.raises(ValueError, match=message):
        call(stump(), **options)


def test_wrong_depth_and_spacing_are_named():
    with pytest.raises(ValueError, match="max_depth must be None or an integer >= 0, got -1"):
        export_text(stump(), max_depth=-1)
    with pytest.raises(ValueError, match="spacing must be an integer >= 1, got 0"):
        export_text(stump(), spacing=0)


def test_deep_chains():
    tree = chain(2000)
    text = export_text(tree, max_depth=None)
    assert text.count("\n") + 1 == 4000 + 2001
    assert "truncated branch of depth 1990" in export_text(tree)
    assert export_graphviz(tree).count("->") == 4000
    assert len(json.loads(json.dumps(to_dict(tree)))["nodes"]) == 4001
    assert plot_tree(tree) is not None
    assert subtree_heights(tree)[0] == 2000


# --- graph ----------------------------------------------------------------------------------------------------------

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@settings(derandomize=True, deadline=None, max_examples=60)
@given(trees())
def test_graphs_are_well_formed(tree):
    dot = export_graphviz(tree, max_depth=3)
    bare = STRING.sub("S", dot)  # what is left outside of strings must be plain DOT
    assert bare.startswith("digraph Tree {")
    assert re.fullmatch(r"[A-Za-z0-9_\[\]=,;{}>. \n-]*", bare)
    assert bare.count("[label=S") == 1 + bare.count("->")


def test_names_in_graphs_are_escaped():
    evil = 'x"];\n0 -> 1 [label="\\'
    dot = export_graphviz(stump(), feature_names=[evil, "b", "c"], class_names=['"', "\\n"])
    assert len(re.findall(r"^0 -> 1", dot, re.M)) == 1
    assert 'x\\"]; 0 -> 1 [label=\\"\\\\ <= 0.50' in dot
    assert 'class = \\\\n"' in dot


def test_graphs_show_what_is_asked():
    dot = export_graphviz(stump(), node_ids=True, impurity=False, filled=False)
    assert "node 0" in dot
    assert "impurity" not in dot
    assert "fillcolor" not in dot
    assert '"(...)"' in export_graphviz(chain(4), max_depth=1)


# --- dictionary -----------------------------------------------------------------------------------------------------


def follow(description, x):
    """Predict one row from the dictionary alone; x has finite numbers and known categories or NaN."""
    nodes, row_map = description["nodes"], description["input_map"] or {}
    plain = list(x)
    for j in range(len(plain)):
        codes = (row_map.get("codes") or {}).get(str(j))
        if codes is not None:
            plain[j] = codes[int(plain[j])] if plain[j] == plain[j] and 0 <= plain[j] < len(codes) else np.nan
        if plain[j] != plain[j] and row_map.get("fill"):
            plain[j] = row_map["fill"][j]
    z = np.array(plain)
    if row_map.get("shift"):
        z = z - row_map["shift"]
    if row_map.get("scale"):
        z = z * row_map["scale"]
    if row_map.get("constant") is not None:
        z = np.append(z, row_map["constant"])
    if row_map.get("unit_rows") and np.linalg.norm(z) > 0:
        z = z / np.linalg.norm(z)
    total, stack = 0, [(0, 1.0)]
    while stack:
        number, share = stack.pop()
        node = nodes[number]
        if "test" not in node:
            total = total + share * leaf(node, plain)
            continue
        p = right_share(description, node["test"], x, z)
        stack += [(node["right"], share * p), (node["left"], share * (1 - p))]
    return total


def leaf(node, plain):
    if "prediction" in node:
        return np.array(node["prediction"])
    scores = np.array(node["model"]["coef"]) @ plain + node["model"]["intercept"]
    e = np.exp(scores - scores.max())
    return e / e.sum()


def right_share(description, test, x, z):
    if test["kind"] == "linear":
        margin = sum(w * z[j] for j, w in test["weights"]) - test["threshold"]
        if description["routing"] == "hard":
            return float(margin > 0)
        return (1 + np.clip(margin, -1, 1)) / 2 if description["routing"] == "linear" else 1 / (1 + np.exp(-margin))
    value = x[test["feature"]]
    missing = float(test["missing"] == "right")
    if test["kind"] == "category":
        names = description["features"][test["feature"]]["categories"]
        known = value == value and 0 <= value < len(names)
        return float(names[int(value)] in test["right"]) if known else missing
    return missing if value != value else float(value > test["threshold"])


@settings(derandomize=True, deadline=None, max_examples=100)
@given(trees())
def test_the_dictionary_is_complete(tree):
    description = json.loads(json.dumps(to_dict(tree), allow_nan=False))
    assert description["schema"] == "boscage-tree-1"
    filled = tree.input_map is not None and tree.input_map.fill is not None
    X = random_rows(0, tree, n=6, missing=filled)
    if not filled:
        X = np.nan_to_num(X)
    expected = _predict.predict_proba(tree, X)
    np.testing.assert_allclose([follow(description, x) for x in X.astype(float).tolist()], expected, atol=1e-9)


def test_a_test_for_missing_values_is_its_own_kind():
    test = to_dict(stump(threshold=[np.inf, 0, 0]))["nodes"][0]["test"]
    assert (test["kind"], test["numbers"], test["missing"]) == ("missing", "left", "right")


# --- picture --------------------------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=60)
@given(trees())
def test_boxes_of_a_level_do_not_overlap_and_parents_stand_between(tree):
    rng = np.random.default_rng(0)
    widths = rng.uniform(1, 9, tree.node_count)
    x = tidy_positions(tree.children_left, tree.children_right, widths)
    for depth in range(tree.max_depth + 1):
        level = np.flatnonzero(tree.depth == depth)
        level = level[np.argsort(x[level])]
        assert (np.diff(x[level]) >= (widths[level][:-1] + widths[level][1:]) / 2 - 1e-9).all()
    inner = np.flatnonzero(~tree.is_leaf)
    middle = (x[tree.children_left[inner]] + x[tree.children_right[inner]]) / 2
    np.testing.assert_allclose(middle, x[inner], atol=1e-9)
    assert (x[tree.children_left[inner]] < x[tree.children_right[inner]]).all()


@pytest.mark.parametrize("kind", ["axis", "category", "linear", "mixed", "soft linear", "soft logistic"])
def test_every_kind_of_tree_is_drawn(kind, tmp_path):
    tree = random_tree(2, kind, splits=6, d=4, k=3, named=True)
    ax = plot_tree(tree, max_depth=None)
    shown = [text.get_text() for text in ax.texts]
    sides = ("yes", "no", "left", "right")
    assert len([text for text in shown if text not in sides and not text.startswith("code(")]) == tree.node_count
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1", "2"]
    ax.figure.savefig(tmp_path / "tree.svg")


def test_text_stays_inside_its_box():
    tree = random_tree(2, "linear", splits=5, d=4, k=3, named=True)
    ax = plot_tree(tree)
    ax.figure.canvas.draw()
    boxes = [patch for patch in ax.patches if isinstance(patch, matplotlib.patches.FancyBboxPatch)]
    texts = [text for text in ax.texts if text.get_text() not in ("yes", "no")]
    for box, text in zip(boxes, texts, strict=True):
        outer, inner = box.get_window_extent(), text.get_window_extent()
        assert outer.x0 <= inner.x0
        assert inner.x1 <= outer.x1
        assert outer.y0 <= inner.y0
        assert inner.y1 <= outer.y1


def test_the_bar_of_a_pure_leaf_stands_out_from_its_box():
    ax = plot_tree(stump())
    ax.figure.canvas.draw()
    bars = [patch for patch in ax.patches if isinstance(patch, matplotlib.patches.Rectangle)]
    white = [bar.get_window_extent() for bar in bars if bar.get_facecolor() == (1, 1, 1, 1)]
    assert len(white) == 3
    for bar in (bar.get_window_extent() for bar in bars if bar.get_facecolor() != (1, 1, 1, 1)):
        assert any(outer.x0 < bar.x0 and outer.x1 > bar.x1 and outer.y0 < bar.y0 < bar.y1 < outer.y1 for outer in white)


def test_a_given_axes_is_used_and_dollars_are_plain_text():
    _, ax = plt.subplots()
    tree = stump(schema=Schema(3, feature_names=("$a", "b$ $", "c")))
    assert plot_tree(tree, ax=ax, class_names=["$x$", "$"], fontsize=7) is ax
    ax.figure.canvas.draw()
    assert any(text.get_text().startswith("$a") for text in ax.texts)
    assert {text.get_fontsize() for text in ax.texts} <= {7.0, 0.9 * 7.0}
    assert ax.get_xlim() != (0.0, 1.0)


def test_deep_branches_are_cut_off():
    shown = [text.get_text() for text in plot_tree(chain(9), max_depth=2).texts]
    assert shown.count("...") == 1


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    original = builtins.__import__

    def no_matplotlib(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    with pytest.raises(ImportError, match=r"pip install boscage\[plot\]"):
        plot_tree(stump())
