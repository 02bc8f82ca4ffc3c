"""Trees changed by hand: what comes out is what a slow recount says, and nothing changes in place."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_classification

import boscage
import reference_predict as reference
from boscage import Frequency, ModifiedGini, OptimalTreeClassifier, TopDownTreeClassifier
from boscage.edit import Rows, recount
from boscage.export import export_text
from boscage.model import predict as _predict
from strategies import KINDS, random_rows, random_tree


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(300, 4, n_informative=3, n_redundant=0, flip_y=0.1, n_classes=3, random_state=0)
    return X.round(2), np.array(["ash", "birch", "cedar"])[y]


@pytest.fixture(scope="module")
def model(data):
    return TopDownTreeClassifier(max_leaf_nodes=12, criterion="entropy").fit(*data)


def slow_counts(tree, X, codes, weight):
    reach = reference.decision_path(tree, X)
    mass = np.zeros((tree.node_count, tree.n_classes))
    for i in range(len(codes)):
        mass[:, codes[i]] += weight[i] * reach[i]
    return mass, (reach > 0).sum(axis=0)


@pytest.mark.parametrize(
    "options",
    [{}, {"criterion": "sqrt"}, {"criterion": ModifiedGini(C=2.5)}, {"splits": "stochastic"}, {"splits": "wodt"}],
)
def test_recounting_the_training_rows_changes_nothing(data, options):
    X, y = data
    weight = np.linspace(0, 3, len(y)).round()
    model = TopDownTreeClassifier(max_leaf_nodes=8, random_state=0, class_weight="balanced", **options)
    tree = model.fit(X, y, weight).tree_
    again = model.edit(X, y, weight).refit_leaves().tree
    np.testing.assert_array_equal(again.n_node_samples, tree.n_node_samples)
    for name in ("value", "weighted_n_node_samples", "impurity"):
        np.testing.assert_allclose(getattr(again, name), getattr(tree, name), rtol=1e-9, atol=1e-9)
    assert model.edit(X, y, weight).tree == replace(tree, leaf_value=tree.leaf_value)
    assert model.edit(X, y, weight).report.accuracy_after == model.score(X, y, weight)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
def test_counts_are_those_of_brute_force(seed, kind):
    tree = random_tree(seed, kind, splits=5, d=3)
    rng = np.random.default_rng(seed)
    X = np.nan_to_num(random_rows(seed, tree, 25))
    codes, weight = rng.integers(3, size=25), rng.uniform(0.1, 2, 25)
    found = recount(tree, Rows(X, codes, weight), np.ones(tree.node_count, bool))
    mass, count = slow_counts(tree, X, codes, weight)
    np.testing.assert_array_equal(found.n_node_samples, count)
    np.testing.assert_allclose(found.weighted_n_node_samples, mass.sum(axis=1), atol=1e-12)
    for node in range(tree.node_count):
        at = node
        while mass[at].sum() == 0:  # an empty node says what its nearest ancestor with rows says
            at = tree.parent[at]
        np.testing.assert_allclose(found.value[node], mass[at] / mass[at].sum(), atol=1e-12)
    found.check()


def test_a_pruned_node_predicts_its_fractions(data, model):
    X, y = data
    tree, before = model.tree_, pickle.dumps(model.tree_)
    proba, path = model.predict_proba(X), model.decision_path(X).toarray()
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        edited = model.edit(X, y).prune(node)
        edited.tree.check()
        expected = np.where(path[:, [node]] > 0, tree.value[node], proba)
        np.testing.assert_array_equal(edited.estimator.predict_proba(X), expected)
        report = edited.report
        assert report.n_leaves_after == edited.estimator.get_n_leaves()
        assert report.accuracy_before == model.score(X, y)
        assert report.accuracy_after == pytest.approx(edited.estimator.score(X, y))
        changed = np.flatnonzero(model.predict(X) != edited.estimator.predict(X))
        np.testing.assert_array_equal(report.changed, changed)
    assert pickle.dumps(model.tree_) == before


def test_a_moved_threshold_counts_again_what_is_below(data, model):
    X, y = data
    tree = model.tree_
    codes = np.searchsorted(model.classes_, y)
    node = int(np.flatnonzero(~tree.is_leaf)[1])
    moved = model.edit(X, y).set_threshold(node, tree.threshold[node] + 0.4).tree
    moved.check()
    mass, count = slow_counts(moved, X, codes, np.ones(len(y)))
    np.testing.assert_array_equal(moved.n_node_samples, count)
    np.testing.assert_array_equal(moved.weighted_n_node_samples, mass.sum(axis=1))
    share = mass / np.maximum(mass.sum(axis=1), 1)[:, None]
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    has_rows = count > 0
    np.testing.assert_allclose(moved.value[has_rows], share[has_rows])
    np.testing.assert_allclose(moved.impurity[has_rows], -(share * logs).sum(axis=1)[has_rows], atol=1e-12)
    # Without rows only the test changes.
    plain = model.edit().set_threshold(node, 0.25).tree
    assert plain.threshold[node] == 0.25
    np.testing.assert_array_equal(plain.value, tree.value)


@pytest.mark.parametrize("kind", ["linear", "soft linear", "soft logistic"])
@pytest.mark.parametrize("seed", range(6))
def test_thresholds_of_linear_tests_are_in_the_units_shown(kind, seed):
    tree = random_tree(seed, kind, splits=1, d=3)
    (bound,) = (1.25,)
    found = tree.edit().set_threshold(0, bound).tree
    text = export_text(found, decimals=6).splitlines()[0]
    if kind == "linear":
        assert text.endswith(" 1.250000")
    else:
        # sigmoid(… - 1.25); divided by the norm, the threshold stands outside.
        assert "- 1.250000)" in text


def test_leaves_are_set_by_class_or_probabilities(data, model, tmp_path):
    X, y = data
    leaf = int(model.apply(X)[0])
    there = model.apply(X) == leaf
    edited = model.edit(X, y).set_leaf(leaf, "cedar")
    expected = model.predict_proba(X)
    expected[there] = [0, 0, 1]
    np.testing.assert_array_equal(edited.estimator.predict_proba(X), expected)
    expected[there] = [0.25, 0.75, 0]
    edited = edited.set_leaf(leaf, [0.25, 0.75, 0])
    np.testing.assert_array_equal(edited.estimator.predict_proba(X), expected)
    edited.estimator.save(tmp_path / "edited.boscage")
    back = boscage.load(tmp_path / "edited.boscage")
    np.testing.assert_array_equal(back.predict_proba(X), expected)
    # What was set stays when the other leaves are refitted.
    np.testing.assert_array_equal(edited.refit_leaves().estimator.predict_proba(X)[there][0], [0.25, 0.75, 0])


def test_changes_go_together_in_the_numbers_of_the_first_tree(data, model):
    X, y = data
    tree = model.tree_
    inner = np.flatnonzero(~tree.is_leaf)
    node = int(inner[-1])
    edited = model.edit(X, y).prune(node).set_threshold(0, float(tree.threshold[0]) + 0.1).set_leaf(node, "ash")
    other = model.edit(X, y).set_threshold(0, float(tree.threshold[0]) + 0.1).prune(node).set_leaf(node, "ash")
    assert edited.tree == other.tree
    edited.tree.check()
    moved = model.edit(X, y).set_threshold(0, float(tree.threshold[0]) + 0.1).tree
    reach = _predict.decision_path(moved, X).toarray()
    expected = _predict.predict_proba(moved, X)
    expected[reach[:, node] > 0] = [1, 0, 0]
    np.testing.assert_allclose(edited.estimator.predict_proba(X), expected)
    assert edited.estimator.trajectory_["error"][-1] >= 0
    assert len(edited.estimator.trajectory_) == edited.estimator.get_n_leaves()
    assert repr(edited).endswith(f"prune {node}, threshold of 0, leaf {node})")


@pytest.mark.parametrize("leaf", ["majority", "linear", Frequency(shrinkage=5.0), Frequency(shrinkage="auto")])
def test_every_leaf_survives_pruning_and_is_refitted(data, leaf, tmp_path):
    X, y = data
    model = TopDownTreeClassifier(max_leaf_nodes=6, leaf=leaf).fit(X, y)
    node = int(np.flatnonzero(~model.tree_.is_leaf)[-1])
    there = model.decision_path(X).toarray()[:, node] > 0
    pruned = model.edit(X, y).prune(node)
    pruned.tree.check()
    proba = pruned.estimator.predict_proba(X)
    np.testing.assert_allclose(proba[~there], model.predict_proba(X)[~there])
    value = model.tree_.value[node]
    np.testing.assert_allclose(proba[there][0], np.eye(3)[value.argmax()] if leaf == "majority" else value, atol=1e-9)
    pruned.estimator.save(tmp_path / "m")
    np.testing.assert_array_equal(boscage.load(tmp_path / "m").predict_proba(X), proba)
    refitted = model.edit().refit_leaves(X, y).tree
    refitted.check()
    if leaf != Frequency(shrinkage="auto"):
        np.testing.assert_allclose(_predict.predict_proba(refitted, X), model.predict_proba(X), atol=1e-6)
    half = model.edit().prune(node).refit_leaves(X[::2], y[::2])
    half.tree.check()
    assert half.tree.weighted_n_node_samples[0] == 150
    set_again = half.set_leaf(node, "cedar").estimator
    np.testing.assert_allclose(set_again.predict_proba(X)[there][0], [0, 0, 1], atol=1e-12)


def test_held_out_rows_are_compared_apart(data, model):
    X, y = data
    edited = model.edit(X[:200], y[:200]).prune(0)
    report = edited.compare_on(X[200:], y[200:], np.arange(100.0))
    assert report.n_rows == 100
    assert report.accuracy_before == pytest.approx(model.score(X[200:], y[200:], np.arange(100.0)))
    assert report.accuracy_after == pytest.approx(edited.estimator.score(X[200:], y[200:], np.arange(100.0)))
    assert str(report).endswith("12 -> 1 leaves")


def test_tables_and_other_estimators(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.insert(0, "kind", pd.Categorical(np.where(y == 0, "a", "b")))
    tree = TopDownTreeClassifier(max_leaf_nodes=4, categorical_features="from_dtype").fit(X, y)
    assert tree.edit(X, y).prune(1).estimator.predict(X).tolist() != tree.predict(X).tolist()
    with pytest.raises(ValueError, match="node=0 tests categories and has no threshold"):
        tree.edit().set_threshold(int(np.flatnonzero(tree.tree_.category_offset >= 0)[0]), 1.0)
    optimal = OptimalTreeClassifier(max_depth=2).fit(X.drop(columns="kind"), y)
    edited = optimal.edit(X.drop(columns="kind"), y).prune(2).estimator
    assert not hasattr(edited, "status_")  # nothing is proven of it any more
    assert optimal.status_ == "optimal"
    edited.save(tmp_path / "m")
    assert boscage.load(tmp_path / "m").get_n_leaves() == edited.get_n_leaves()


def test_what_cannot_be_done_is_said(data, model):
    X, y = data
    edit, leaf = model.edit(), int(model.tree_.leaves[0])
    below = int(model.tree_.children_left[0])
    for call, message in (
        (lambda: edit.prune(99), "node must be an integer from 0 to 22, got 99"),
        (lambda: edit.prune(leaf), f"node={leaf} is a leaf"),
        (lambda: edit.set_leaf(0, "ash"), "node=0 is not a leaf; prune it first"),
        (lambda: edit.prune(0).set_threshold(below, 1), f"node={below} is below node 0, which was pruned"),
        (lambda: edit.prune(0).prune(0), "node=0 is a leaf"),
        (lambda: edit.set_threshold(0, np.nan), "value must be a finite number, got nan"),
        (lambda: edit.set_leaf(leaf, "oak"), "value='oak' is not a class of this tree. Pass one of 'ash', 'birch'"),
        (lambda: edit.set_leaf(leaf, [0.5, 0.1, 0.1]), "3 probabilities that sum to 1"),
        (lambda: edit.refit_leaves(), "refit_leaves needs rows"),
        (lambda: model.edit(X), "y is needed"),
        (lambda: model.edit(X, y[:3]), "y must have one label for each of the 300 rows of X, got 3"),
        (lambda: model.edit(X, np.where(y == "ash", "oak", y)), "y holds 'oak'|y holds str_"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(AttributeError, match="edit\\(\\) was called without rows"):
        _ = edit.report
    with pytest.raises(AttributeError, match="began with a bare tree"):
        _ = model.tree_.edit().estimator
    assert model.tree_.edit(X, np.searchsorted(model.classes_, y)).report.accuracy_before == model.score(X, y)
