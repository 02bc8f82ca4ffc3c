"""The published schema of to_dict: every tree fits it, and it refuses what does not."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from boscage import TopDownTreeClassifier
from boscage.export import dict_schema, to_dict
from json_schema import faults
from strategies import random_tree, trees


@settings(derandomize=True, deadline=None, max_examples=80)
@given(trees())
def test_every_tree_fits(tree):
    found = json.loads(json.dumps(to_dict(tree), allow_nan=False))
    assert list(faults(found, dict_schema(), dict_schema())) == []


def test_it_is_a_schema_that_others_read_alike():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.Draft202012Validator.check_schema(dict_schema())
    for kind in ("mixed", "soft linear"):
        jsonschema.validate(to_dict(random_tree(1, kind, leaf="models")), dict_schema())


def test_learned_trees_fit():
    X = pd.DataFrame({"a": [0.0, np.nan, 2.0, 3.0], "b": pd.Categorical(["x", "y", "x", "z"])})
    model = TopDownTreeClassifier(categorical_features="from_dtype").fit(X, ["p", "q", "r", "q"])
    assert list(faults(model.to_dict(), dict_schema(), dict_schema())) == []


def damaged(change):
    found = to_dict(random_tree(0, "linear"))
    change(found)
    return found


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("routing"),
        lambda d: d.update(extra=1),
        lambda d: d.update(schema="boscage-tree-2"),
        lambda d: d.update(nodes=[]),
        lambda d: d["nodes"][0].pop("left"),
        lambda d: d["nodes"][0]["test"].update(kind="magic"),
        lambda d: d["nodes"][0]["test"].update(threshold="1"),
        lambda d: d["nodes"][-1].update(id=-1),
        lambda d: d["nodes"][0]["test"].update(weights=[[0]]),
    ],
)
def test_damage_is_seen(change):
    assert list(faults(damaged(change), dict_schema(), dict_schema()))
