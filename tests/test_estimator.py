"""What estimators share, seen through hand-made trees of every kind."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

import boscage
from boscage import (
    DuplicateWeights,
    LOMTreeClassifier,
    OptimalTreeClassifier,
    Polish,
    TopDownTreeClassifier,
    WeightedOblique,
    load,
)
from boscage.model import predict as _predict
from boscage.tree import InputMap, Schema, Tree
from strategies import KINDS, random_tree

LABELS = np.array(["ash", "birch", "cedar"])


def holding(tree, classes=LABELS):
    """An estimator around a hand-made tree."""
    estimator = TopDownTreeClassifier()
    estimator.tree_, estimator.classes_, estimator.n_features_in_ = tree, classes, tree.n_features
    return estimator


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("leaf", ["value", "leaf_value", "models"])
def test_hand_made_trees_do_everything(kind, leaf, tmp_path):
    tree = random_tree(11, kind, splits=6, d=4, leaf=leaf)
    model = holding(tree)
    X = np.random.default_rng(0).integers(0, 2, (20, 4)).astype(float)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), LABELS[proba.argmax(axis=1)])
    np.testing.assert_array_equal(np.exp(model.predict_log_proba(X)) > 0, proba > 0)
    np.testing.assert_array_equal(model.apply(X), _predict.apply(tree, X))
    path = model.decision_path(X)
    np.testing.assert_allclose(path[:, tree.leaves].sum(axis=1), 1)
    assert model.sample_path(X, random_state=0).shape == path.shape
    assert model.get_depth() == tree.max_depth
    assert model.get_n_leaves() == 7
    assert model.feature_importances_.shape == (4,)
    assert model.export_text().count("class: ") == 7
    assert model.export_graphviz().count("->") == 12
    assert json.dumps(model.to_dict(), allow_nan=False)
    model.save(tmp_path / "m")
    back = boscage.load(tmp_path / "m")
    assert type(back) is TopDownTreeClassifier
    np.testing.assert_array_equal(back.predict_proba(X), proba)
    np.testing.assert_array_equal(back.classes_, LABELS)


def test_ties_go_to_the_lowest_class():
    tree = Tree(
        children_left=[-1],
        children_right=[-1],
        feature=[-1],
        threshold=[0],
        value=[[0.2, 0.4, 0.4]],
        n_node_samples=[5],
        weighted_n_node_samples=[5],
        impurity=[0.6],
        schema=Schema(1),
    )
    assert holding(tree).predict([[0.0]]).tolist() == ["birch"]


def test_a_linear_tree_takes_sparse_rows_and_refuses_missing_ones():
    tree = random_tree(2, "linear", splits=5, d=4)
    tree = replace(tree, input_map=InputMap(shift=[0.5] * 4), weights=np.ones((5, 4)))
    model = holding(tree)
    X = np.random.default_rng(0).integers(0, 2, (20, 4)).astype(float)
    np.testing.assert_array_equal(model.predict(sparse.csr_matrix(X)), model.predict(X))
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"Input X contains NaN\. .* no values to replace them with"):
        model.predict(X)
    filled = InputMap(shift=[0.5] * 4, fill=[0.0] * 4)
    model = holding(replace(tree, input_map=filled))
    np.testing.assert_array_equal(model.predict(X), model.predict(np.nan_to_num(X)))


@pytest.mark.parametrize("call", ["get_depth", "get_n_leaves", "export_text", "export_graphviz", "to_dict", "plot"])
def test_unfitted_estimators_say_so(call, tmp_path):
    with pytest.raises(NotFittedError):
        getattr(TopDownTreeClassifier(), call)()
    with pytest.raises(NotFittedError):
        TopDownTreeClassifier().save(tmp_path / "m")
    with pytest.raises(NotFittedError):
        TopDownTreeClassifier().predict([[0.0]])
    assert not hasattr(TopDownTreeClassifier(), "feature_importances_")


def test_importances_agree_with_scikit_learn():
    X, y = make_classification(2000, 6, n_informative=4, flip_y=0.2, random_state=0)
    ours = TopDownTreeClassifier(growth="depth_first", max_depth=3).fit(X, y)
    theirs = DecisionTreeClassifier(max_depth=3).fit(X, y)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-6)


@pytest.mark.parametrize("table", ["numpy", "pandas"])
def test_a_fitted_model_survives_every_way_of_storing(table, tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=table == "pandas")
    labels = load_iris().target_names[np.asarray(y)]
    model = TopDownTreeClassifier(max_leaf_nodes=5, criterion="entropy").fit(X, labels)
    model.save(tmp_path / "m.boscage")
    skops.io.dump(model, tmp_path / "m.skops")
    trusted = skops.io.get_untrusted_types(file=tmp_path / "m.skops")
    for back in (
        boscage.load(tmp_path / "m.boscage"),
        pickle.loads(pickle.dumps(model)),
        skops.io.load(tmp_path / "m.skops", trusted=trusted),
    ):
        assert back.tree_ == model.tree_
        assert not back.tree_.value.flags.writeable
        np.testing.assert_array_equal(back.predict(X), model.predict(X))
        assert back.export_text() == model.export_text()
        assert hasattr(back, "feature_names_in_") == (table == "pandas")
    assert boscage.load(tmp_path / "m.boscage").get_params() == model.get_params()
    clone(model).fit(X, labels).save(tmp_path / "again.boscage")
    assert (tmp_path / "again.boscage").read_bytes() == (tmp_path / "m.boscage").read_bytes()


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"splits": "oc1", "random_state": "x"}, "random_state='x' is not allowed"),
        ({"splits": "oc1", "random_state": -1}, "random_state=-1 is not allowed"),
        ({"splits": WeightedOblique(l2="x")}, r"l2='x' is not allowed. Pass a finite number >= 0, or 'auto'"),
        ({"splits": WeightedOblique(l2=10**400)}, "l2=1000"),
        ({"splits": "wodt", "polish": Polish(epochs=10**30)}, "<= 2147483647"),
        ({"ccp_alpha": 10**400}, "ccp_alpha=1000"),
    ],
)
def test_numbers_out_of_all_bounds_are_refused_by_name(parameters, says):
    with pytest.raises(ValueError, match=says):
        TopDownTreeClassifier(**parameters).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("name", ["max_leaf_nodes", "max_depth"])
def test_a_limit_beyond_all_bounds_is_none(name):
    assert TopDownTreeClassifier(**{name: 10**30}).fit([[0.0], [1.0]], [0, 1]).get_n_leaves() == 2


@pytest.mark.parametrize(
    "model",
    [
        TopDownTreeClassifier(),
        TopDownTreeClassifier("stochastic"),
        OptimalTreeClassifier(2),
        LOMTreeClassifier(),
        DuplicateWeights(TopDownTreeClassifier()),
    ],
    ids=str,
)
def test_every_classifier_counts_its_classes(model, tmp_path):
    assert not hasattr(model, "n_classes_")
    model = clone(model).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "c", "a"])
    assert type(model.n_classes_) is int
    assert model.n_classes_ == 3
    if hasattr(model, "save"):
        model.save(tmp_path / "model.boscage")
        assert load(tmp_path / "model.boscage").n_classes_ == 3


def test_only_parameters_that_matter_are_blamed_for_missing_values():
    X, y = [[np.nan], [1.0]], [0, 1]
    with pytest.raises(ValueError, match=r"OptimalTreeClassifier does not accept missing values\. Impute first"):
        OptimalTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="TopDownTreeClassifier with these parameters does not accept missing values"):
        TopDownTreeClassifier("stochastic").fit(X, y)
    with pytest.raises(TypeError, match="OptimalTreeClassifier needs dense data"):
        OptimalTreeClassifier().fit(sparse.csr_array([[0.0], [1.0]]), y)


@pytest.mark.parametrize("seed", [-1, "a", 1.5])
@pytest.mark.parametrize("splits", ["axis", "oblique"])
def test_a_random_state_that_is_no_seed_is_refused_even_where_it_is_not_used(splits, seed):
    with pytest.raises(ValueError, match=r"random_state=.* is not allowed"):
        TopDownTreeClassifier(splits, random_state=seed).fit([[0.0], [1.0]], [0, 1])


def test_a_fit_that_draws_nothing_leaves_generators_alone():
    state = np.random.RandomState(3)
    TopDownTreeClassifier(random_state=state).fit([[0.0], [1.0]], [0, 1])
    assert state.randint(1 << 30) == np.random.RandomState(3).randint(1 << 30)
    np.random.seed(3)  # noqa: NPY002
    TopDownTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    assert np.random.randint(1 << 30) == np.random.RandomState(3).randint(1 << 30)  # noqa: NPY002


@pytest.mark.parametrize(
    ("model", "parameter", "remedy"),
    [
        (TopDownTreeClassifier("oblique"), "splits__l2", "splits='oblique' is a name. Pass splits=WeightedOblique()"),
        (boscage.ForestClassifier(), "splits__l2", "splits='mixed' is a name. Pass splits=ForestMix() first."),
        (boscage.ForestClassifier(refit="leaves"), "refit__l2", "Pass an object as refit first."),
        (boscage.TopDownTreeRegressor(leaf="linear"), "leaf__l2", "Pass leaf=RidgeLeaf() first."),
    ],
)
def test_parameters_of_a_part_given_by_name_cannot_be_set(model, parameter, remedy):
    with pytest.raises(ValueError, match=parameter) as caught:
        model.set_params(**{parameter: 1.0})
    assert remedy in str(caught.value)
    role = parameter.partition("__")[0]
    both = clone(model).set_params(**{role: boscage.Polish(), f"{role}__l2": 1.0})  # any object will do here
    assert getattr(both, role).l2 == 1.0
