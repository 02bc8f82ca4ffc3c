"""The page of a tree as a file: what is embedded, what is escaped, what is refused."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy import sparse
from typer.testing import CliRunner

from boscage import OnlineTreeClassifier, TopDownTreeClassifier
from boscage.cli import app
from boscage.data.column_facts import column_ranges
from boscage.datasets import load_dataset
from boscage.html import page, to_html, tree_assets, tree_fragment
from boscage.html._encode import embed_json
from strategies import random_rows, random_tree, trees

NASTY = "</script><b>&\"'\u2028\u2029\ud800"


class Reader(HTMLParser):
    """What a browser would see: tags in order, and the text inside scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data


def embedded(text):
    return json.loads(Reader(text).scripts[0])


@settings(derandomize=True, deadline=None, max_examples=40)
@given(trees())
def test_every_tree_has_a_page(tree):
    names, classes = [NASTY + str(j) for j in range(tree.n_features)], [NASTY + str(k) for k in range(tree.n_classes)]
    text = to_html(tree, feature_names=names, class_names=classes, title=NASTY)
    reader = Reader(text)
    assert [tag for tag, _ in reader.tags].count("script") == 2
    assert not {"b", "img", "iframe"} & {tag for tag, _ in reader.tags}
    data = embedded(text)
    assert data["title"] == NASTY
    assert data["classes"] == classes
    assert data["columns"]["names"] == names
    assert len(data["tests"]) == tree.node_count - tree.n_leaves


def test_json_in_a_script_has_no_marks_of_html():
    text = embed_json({"a": NASTY})
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == {"a": NASTY}


def test_the_page_asks_for_nothing():
    text = to_html(random_tree(0))
    reader = Reader(text)
    for tag, attributes in reader.tags:
        for name in ("src", "href", "action", "data", "poster"):
            assert attributes.get(name) is None or (tag, attributes[name]) == ("link", "data:,")
    script, style = reader.scripts[1], tree_assets().style
    for word in ("fetch(", "XMLHttpRequest", "WebSocket", "innerHTML", "eval(", "document.write"):
        assert word not in script
    assert "http" not in script.replace("http://www.w3.org/2000/svg", "")
    assert "url(" not in style
    (policy,) = [a["content"] for tag, a in reader.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_names_that_cannot_be_written_as_utf8(tmp_path):
    to_html(random_tree(0), tmp_path / "t.html", title=NASTY)
    assert "<title>" in (tmp_path / "t.html").read_text(encoding="utf-8")


def test_no_row_is_embedded_unless_given():
    tree = random_tree(0)
    X = random_rows(0, tree, 400) + 1234.5
    without, with_rows = embedded(to_html(tree)), embedded(to_html(tree, X=X, y=np.arange(400)))
    assert without["rows"] is None
    rows = with_rows["rows"]
    assert rows["total"] == 400
    assert len(rows["labels"]) == 200
    assert (rows["labels"][0], rows["labels"][-1]) == ("0", "399")
    assert embedded(to_html(tree, X=X, max_rows=0))["rows"] is None
    high = np.frombuffer(base64.b64decode(with_rows["columns"]["high"]["f8"]))
    np.testing.assert_array_equal(high, np.nanmax(X, axis=0))


def test_what_cannot_be_shown_is_refused(tmp_path):
    tree = random_tree(0, d=3)
    X = np.zeros((4, 3))
    with pytest.raises(ValueError, match=r"X must be an array of floats with 3 columns .* got int64 of shape \(2, 2\)"):
        to_html(tree, X=np.zeros((2, 2), np.int64))
    with pytest.raises(ValueError, match="y must have one label for each of the 4 rows of X, got 3"):
        to_html(tree, X=X, y=[0, 1, 0])
    with pytest.raises(ValueError, match="y was passed without X"):
        to_html(tree, y=[0, 1])
    with pytest.raises(ValueError, match="max_rows must be an integer >= 0, got -1"):
        to_html(tree, tmp_path / "t.html", X=X, max_rows=-1)
    assert not (tmp_path / "t.html").exists()
    with pytest.raises(ValueError, match="feature_names must have 3 names"):
        tree_fragment(tree, feature_names=["a"])
    with pytest.raises(ValueError, match="style must not hold"):
        page("t", "", style="</style>")


def test_a_page_of_several_trees():
    text = page("Two", tree_fragment(random_tree(0)) + tree_fragment(random_tree(1, "soft linear")), style="p{}")
    reader = Reader(text)
    assert [tag for tag, _ in reader.tags].count("section") == 2
    assert len(reader.scripts) == 3
    assert "p{}" in text


def test_estimators_take_tables_and_categories(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"size": rng.normal(size=50), "colour": pd.Categorical.from_codes(rng.integers(3, size=50), list("abc"))}
    )
    X.loc[3, "size"] = np.nan
    y = np.where(X["colour"] == "a", "yes", "no")
    model = TopDownTreeClassifier(categorical_features="from_dtype").fit(X, y)
    assert model.to_html(tmp_path / "t.html", X, y) == tmp_path / "t.html"
    data = embedded((tmp_path / "t.html").read_text(encoding="utf-8"))
    assert data["title"] == "TopDownTreeClassifier"
    assert data["classes"] == ["no", "yes"]
    assert data["columns"]["categories"] == {"1": ["a", "b", "c"]}
    (test,) = data["tests"]
    assert (test["card"], test["if"], test["column"]) == ("colour", "not in {a}", 1)
    assert (test["left"], test["right"]) == ("not in {a}", "in {a}")
    assert embedded((tmp_path / "t.html").read_text()) == data
    with pytest.raises(ValueError, match="feature names"):
        model.to_html(X=X.rename(columns={"size": "other"}))


def test_plain_text_where_scripts_are_off():
    wine = load_dataset("wine")
    model = TopDownTreeClassifier(max_leaf_nodes=3).fit(wine.X, wine.y)
    text = model.to_html(feature_names=wine.feature_names)
    (plain,) = re.findall(r"<noscript>.*?<pre>(.*?)</pre></noscript>", text, re.DOTALL)
    assert plain.startswith("|--- ")
    assert "&lt;=" in plain


def test_sparse_rows_are_embedded_sparsely():
    rng = np.random.default_rng(0)
    X = sparse.random_array((120, 300), density=0.02, rng=rng, format="csr")
    y = (np.asarray(X.sum(axis=1)).ravel() > np.median(np.asarray(X.sum(axis=1)))).astype(int)
    model = TopDownTreeClassifier(splits="stochastic", max_leaf_nodes=3).fit(X, y)
    rows = embedded(model.to_html(X=X))["rows"]["values"]
    assert rows["full"]
    assert len(rows["values"]["f8"]) < 120 * 300


def test_ranges_of_sparse_rows_are_those_of_dense_ones():
    rng = np.random.default_rng(0)
    X = sparse.random_array((31, 40), density=0.5, rng=rng, format="csr")
    X.data[:] = rng.normal(size=X.nnz)
    tree = random_tree(0, "soft linear", d=40)
    for found, expected in zip(column_ranges(tree, X), column_ranges(tree, X.toarray())):
        np.testing.assert_array_equal(found, expected)


def test_the_command_line_writes_a_page(tmp_path):
    model = tmp_path / "wine.boscage"
    assert CliRunner().invoke(app, ["fit", "wine", "-o", str(model), "--max-leaf-nodes", "4"]).exit_code == 0
    result = CliRunner().invoke(app, ["show", str(model), "--html", str(tmp_path / "wine.html")])
    assert result.exit_code == 0
    assert "4 leaves" in result.stderr
    assert result.stdout == ""
    assert embedded((tmp_path / "wine.html").read_text())["title"] == "wine"
    OnlineTreeClassifier().fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "online")
    refused = CliRunner().invoke(app, ["show", str(tmp_path / "online")])
    assert refused.exit_code == 1
    assert "has no tree to show" in refused.stderr
