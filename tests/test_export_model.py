"""One function for all formats, chosen by the suffix of the file."""

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from boscage import LOMTreeClassifier, TopDownTreeClassifier
from boscage.export import export_model


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return TopDownTreeClassifier().fit(X, np.where(X[:, 0] > X[:, 1], "yes", "no"))


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.h", b"/* Tree("),
        ("a.sql", b"CASE"),
        ("a.js", b"// A model written by Boscage"),
        ("a.mjs", b"// A model written by Boscage"),
        ("a.json", b'{"schema": "boscage-tree-1"'),
        ("A.HTML", b"<!doctype html>"),
        ("a.txt", b"|--- feature_0"),
        ("a.dot", b"digraph Tree {"),
        ("a.gv", b"digraph Tree {"),
    ],
)
def test_the_suffix_names_the_format(tmp_path, model, name, start):
    assert export_model(model, tmp_path / name) == tmp_path / name
    content = (tmp_path / name).read_bytes()
    assert content.startswith(start)
    assert content.endswith(b"\n")
    assert list(tmp_path.iterdir()) == [tmp_path / name]


def test_onnx(tmp_path, model):
    onnx = pytest.importorskip("onnx")
    path = export_model(model, str(tmp_path / "a.onnx"), dtype="float32")
    assert onnx.load(path).graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT


def test_the_format_can_be_named_and_options_reach_the_method(tmp_path, model):
    path = export_model(model, tmp_path / "query.txt", "sql", table="t")
    assert 'FROM "t" AS t' in path.read_text()
    path = export_model(model, tmp_path / "query.txt", max_depth=0)
    assert "truncated branch" in path.read_text()
    assert json.loads(export_model(model, tmp_path / "a.json").read_text()) == model.to_dict()


def test_refusals(tmp_path, model):
    with pytest.raises(ValueError, match=r"has no suffix of a format that is known. Use one of .onnx, .h"):
        export_model(model, tmp_path / "a.boscage")
    with pytest.raises(ValueError, match=r"format must be one of 'onnx', 'c', .* got 'pmml'"):
        export_model(model, tmp_path / "a.h", "pmml")
    with pytest.raises(ValueError, match="max_depth cannot be combined with the format 'c'; it is for text"):
        export_model(model, tmp_path / "a.h", max_depth=3)
    lomtree = LOMTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="LOMTreeClassifier cannot be written as c: it has no method to_c"):
        export_model(lomtree, tmp_path / "a.h")
    with pytest.raises(NotFittedError, match="not fitted"):
        export_model(TopDownTreeClassifier(), tmp_path / "a.h")
    assert list(tmp_path.iterdir()) == []
