"""The tree itself: read-only arrays, what is derived from them, and the checks."""

import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from boscage import TopDownTreeClassifier
from boscage.model.importances import feature_importances
from boscage.tree import LEAF, LINEAR, InputMap, LeafModels, Schema, Tree
from strategies import random_tree, trees

ARRAYS = ("children_left", "children_right", "feature", "threshold", "value", "missing_go_to_left", "linear_row")


def example(**changes):
    """Root: x0 <= 1; its right child: 2·x0 − x1 > 0.5; node 3 of it: category of x2."""
    fields = {
        "children_left": [1, -1, 3, 5, -1, -1, -1],
        "children_right": [2, -1, 4, 6, -1, -1, -1],
        "feature": [0, -1, -3, 2, -1, -1, -1],
        "threshold": [1, 0, 0.5, 0, 0, 0, 0],
        "value": [[0.5, 0.5]] * 7,
        "n_node_samples": [10, 4, 6, 4, 2, 2, 2],
        "weighted_n_node_samples": [10, 4, 6, 4, 2, 2, 2],
        "impurity": [0.5, 0.4, 0.4, 0.3, 0, 0, 0],
        "linear_row": [-1, -1, 0, -1, -1, -1, -1],
        "weights": [[2.0, -1.0, 0.0]],
        "category_offset": [-1, -1, -1, 0, -1, -1, -1],
        "category_bits": [5],
        "schema": Schema(3, n_categories=[0, 0, 4]),
    }
    return Tree(**(fields | changes))


def changed(name, *place, to):
    array = getattr(example(), name).copy()
    array[place] = to
    return example(**{name: array})


def test_what_is_derived():
    tree = example()
    tree.check()
    assert (tree.node_count, tree.n_leaves, tree.n_classes, tree.n_features, tree.max_depth) == (7, 4, 2, 3, 3)
    np.testing.assert_array_equal(tree.is_leaf, [0, 1, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(tree.leaves, [1, 4, 5, 6])
    np.testing.assert_array_equal(tree.leaf_index, [-1, 0, -1, -1, 1, 2, 3])
    np.testing.assert_array_equal(tree.depth, [0, 1, 1, 2, 2, 3, 3])
    np.testing.assert_array_equal(tree.parent, [-1, 0, 0, 2, 2, 3, 3])
    assert repr(tree) == "Tree(7 nodes, 4 leaves, depth 3, 2 classes, 3 features, hard routing, 1 linear test)"
    assert repr(random_tree(0, splits=0, d=1, k=1)) == "Tree(1 node, 1 leaf, depth 0, 1 class, 1 feature, hard routing)"


@settings(derandomize=True, deadline=None, max_examples=100)
@given(trees())
def test_every_random_tree_is_sound_and_travels(tree):
    tree.check()
    depth = [0] * tree.node_count
    for node in range(tree.node_count):
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                depth[child] = depth[node] + 1
                assert tree.parent[child] == node
    np.testing.assert_array_equal(tree.depth, depth)
    for twin in (pickle.loads(pickle.dumps(tree)), copy.copy(tree), copy.deepcopy(tree)):
        assert twin == tree
        assert repr(twin) == repr(tree)
        assert not twin.value.flags.writeable


def test_arrays_are_read_only_and_of_one_type():
    tree = example()
    for name in ARRAYS:
        array = getattr(tree, name)
        assert not array.flags.writeable
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert tree.children_left.dtype == np.int32
    assert tree.threshold.dtype == np.float64
    assert tree.missing_go_to_left.dtype == np.bool_
    with pytest.raises(FrozenInstanceError):
        tree.threshold = np.zeros(7)
    weights = random_tree(0, "linear", sparse_weights=True).weights
    assert not weights.data.flags.writeable


def test_the_callers_array_is_neither_copied_nor_locked():
    threshold = np.zeros(7)
    tree = example(threshold=threshold)
    assert np.shares_memory(tree.threshold, threshold)
    assert threshold.flags.writeable


def test_equality_is_by_content():
    assert example() == example()
    assert example() != changed("threshold", 0, to=2.0)
    assert example() != example(routing="linear")
    assert example() != example(schema=Schema(3, n_categories=[0, 0, 4], feature_names=("a", "b", "c")))
    assert example() != example(leaf_value=np.full((4, 2), 0.5))
    assert example() != example(weights=sparse.csr_array([[2.0, -1.0, 0.0]]))
    assert example() != "tree"
    assert InputMap(shift=[1.0]) == InputMap(shift=[1.0])
    assert InputMap(shift=[1.0]) != InputMap(scale=[1.0])


def test_parts_are_shown_in_a_few_characters():
    assert (
        repr(InputMap(shift=[1.0, 2.0], fill=np.zeros(1000)))
        == "InputMap(fill=<float64 1000>, shift=[1.0, 2.0], unit_rows=False)"
    )
    assert repr(Schema(900, feature_names=["a"] * 900)) == (
        "Schema(n_features=900, dtype='float64', feature_names=<900 entries>, n_categories=<int64 900>)"
    )
    assert (
        repr(LeafModels(np.zeros((3, 2, 5)), np.zeros((3, 2))))
        == "LeafModels(coef=<float64 3×2×5>, intercept=<float64 3×2>)"
    )


def test_replace_and_joblib(tmp_path):
    tree = replace(example(), routing="logistic")
    assert tree.routing == "logistic"
    joblib.dump(tree, tmp_path / "tree")
    assert joblib.load(tmp_path / "tree", mmap_mode="r") == tree


def test_the_compiled_half_does_not_travel():
    tree = example()
    assert tree._native is tree._native
    assert "_native" not in pickle.loads(pickle.dumps(tree)).__dict__


def columns(**changes):
    return example(schema=Schema(**({"n_features": 3, "n_categories": [0, 0, 4]} | changes)))


def codes(offset, numbers):
    return example(input_map=InputMap(code_offset=offset, codes=numbers))


BROKEN = {
    "children_left: must be -1 or from node": lambda: changed("children_left", 2, to=2),
    "children_right: must be -1 or from node": lambda: changed("children_right", 3, to=7),
    "children_right: must be -1 exactly where": lambda: changed("children_right", 1, to=5),
    "exactly one parent": lambda: changed("children_right", 3, to=5),
    "feature: must be -1 exactly at leaves": lambda: changed("feature", 1, to=0),
    "feature: must be -3 or from 0 to 2": lambda: changed("feature", 0, to=3),
    "threshold: must be finite .* found float64\\(nan\\) at node 0": lambda: changed("threshold", 0, to=np.nan),
    "threshold: must be finite .* at node 2": lambda: changed("threshold", 2, to=np.inf),
    "linear_row: must be a row of weights": lambda: changed("linear_row", 2, to=1),
    "linear_row: .* at node 0": lambda: changed("linear_row", 0, to=0),
    "weights: expected shape": lambda: example(weights=[[1.0, 2.0]]),
    "weights: must be finite": lambda: changed("weights", 0, 1, to=np.inf),
    "weights.data: must be finite": lambda: example(weights=sparse.csr_array([[2.0, np.nan, 0.0]])),
    "category_offset: .* 1 bytes": lambda: changed("category_offset", 3, to=1),
    "category_offset: .* needs a category set": lambda: changed("category_offset", 3, to=-1),
    "category_offset: must be -1 unless": lambda: changed("category_offset", 0, to=0),
    "value: class fractions must lie in": lambda: changed("value", 3, 1, to=1.5),
    "value: class fractions must sum to 1": lambda: changed("value", 3, to=0.0),
    "value: expected shape": lambda: example(value=[[1.0]]),
    "n_node_samples: must not be negative": lambda: changed("n_node_samples", 3, to=-1),
    "weighted_n_node_samples: must be finite": lambda: changed("weighted_n_node_samples", 3, to=np.nan),
    "impurity: expected shape": lambda: example(impurity=[0.0]),
    "impurity: must not be negative": lambda: changed("impurity", 0, to=-0.1),
    "routing: must be one of": lambda: example(routing="fuzzy"),
    "linear routing needs linear tests": lambda: example(routing="linear"),
    "leaf_value: expected shape \\(4, 2\\)": lambda: example(leaf_value=[[1.0, 0.0]]),
    "leaf_value: class fractions must sum": lambda: example(leaf_value=[[0.0, 0.0]] * 4),
    "input_map.shift: expected shape": lambda: example(input_map=InputMap(shift=[1.0])),
    "input_map.scale: must be finite": lambda: example(input_map=InputMap(scale=[1.0, np.nan, 1.0])),
    "input_map.constant: must be finite": lambda: example(weights=[[1.0] * 4], input_map=InputMap(constant=np.inf)),
    "come together": lambda: example(input_map=InputMap(codes=[1.0])),
    "input_map.code_offset: must be -1 or lie": lambda: example(
        input_map=InputMap(code_offset=[-1, -1, 0], codes=[1.0])
    ),
    "input_map.code_offset: .* numeric": lambda: codes([0, -1, 0], [1.0] * 4),
    "leaf_models.coef: expected shape": lambda: example(leaf_models=LeafModels(np.zeros((4, 2, 2)), np.zeros((4, 2)))),
    "leaf_models.intercept: must be finite": lambda: example(
        leaf_models=LeafModels(np.zeros((4, 2, 3)), np.full((4, 2), np.nan))
    ),
    "schema.n_features": lambda: columns(n_features=0),
    "schema.dtype": lambda: columns(dtype="float16"),
    "schema.n_categories: expected shape": lambda: columns(n_categories=[0, 0]),
    "schema.feature_names: expected 3": lambda: columns(feature_names=("a",)),
    "schema.categories: .* 4 categories but 1 names": lambda: columns(categories=(None, None, ("a",))),
    "schema.categories: .* twice": lambda: columns(categories=(None, None, "aabc")),
    "schema.spread: must not be negative": lambda: columns(spread=[1.0, -1.0, 1.0]),
}


@pytest.mark.parametrize("message", BROKEN)
def test_each_broken_promise_is_named(message):
    with pytest.raises(ValueError, match=message):
        BROKEN[message]().check()


def test_a_node_without_weight_needs_no_fractions():
    tree = changed("value", 3, to=0.0)
    replace(tree, weighted_n_node_samples=[10, 4, 6, 0, 2, 2, 2]).check()
    leaf = changed("value", 5, to=0.0)
    with pytest.raises(ValueError, match="value"):
        replace(leaf, weighted_n_node_samples=[10, 4, 6, 4, 2, 0, 2]).check()
    replace(leaf, weighted_n_node_samples=[10, 4, 6, 4, 2, 0, 2], leaf_value=np.full((4, 2), 0.5)).check()


def test_importances_share_the_drop_of_linear_tests():
    tree = example()
    # Drops times 10: root 5 - 1.6 - 2.4 = 1, linear 2.4 - 1.2 - 0 = 1.2, category 1.2.
    np.testing.assert_allclose(feature_importances(tree), np.array([1 + 0.8, 0.4, 1.2]) / 3.4)
    spread = replace(tree, schema=replace(tree.schema, spread=[1.0, 4.0, 9.0]))
    np.testing.assert_allclose(feature_importances(spread), np.array([1 + 0.4, 0.8, 1.2]) / 3.4)
    # With a standardising map the weights already count in standard deviations, and theta = weight * scale.
    scaled = replace(tree, input_map=InputMap(scale=[10.0, 1.0, 1.0]))
    np.testing.assert_allclose(feature_importances(scaled), feature_importances(tree))
    both = replace(spread, input_map=InputMap(scale=[2.0, 1.0, 1.0]))
    np.testing.assert_allclose(feature_importances(both), np.array([1 + 0.6, 0.6, 1.2]) / 3.4)
    np.testing.assert_allclose(
        feature_importances(replace(both, weights=sparse.csr_array(both.weights))), feature_importances(both)
    )


def test_importances_of_a_single_leaf_are_zero():
    np.testing.assert_array_equal(feature_importances(random_tree(0, splits=0)), 0)


@pytest.mark.parametrize("splits", ["axis", "wodt", "stochastic"])
def test_no_node_has_the_leaf_mark_of_scikit_learn(splits):
    """Code that asks for -2 finds no leaf here, and never takes a linear test for one."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    tree = TopDownTreeClassifier(splits, max_leaf_nodes=4).fit(X, X[:, 0] > X[:, 1]).tree_
    assert (tree.feature != -2).all()
    np.testing.assert_array_equal(tree.is_leaf, tree.feature == LEAF)
    np.testing.assert_array_equal(tree.feature == LINEAR, tree.linear_row >= 0)
    assert (LEAF, LINEAR) == (-1, -3)
