"""Forests of numbers: the mean of their trees, rows out of bag, determinism, files."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score

import boscage
from boscage import ForestRegressor, IncompatibleParts, TopDownTreeRegressor
from boscage.forest._bags import Bags


def data(n=200):
    return make_friedman1(n, 6, noise=0.5, random_state=0)


@pytest.mark.parametrize("splits", ["mixed", "axis"])
def test_the_mean_of_the_trees(splits):
    X, y = data()
    forest = ForestRegressor(5, splits, random_state=0).fit(X, y)
    mean = np.mean([tree.predict(X) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict(X), mean, rtol=1e-12)
    assert all(isinstance(tree, TopDownTreeRegressor) for tree in forest.estimators_)
    assert forest.apply(X).shape == (200, 5)
    assert forest.feature_importances_.sum() == pytest.approx(1)
    assert "value" in forest.export_text(0)


def test_a_tree_of_a_forest_is_a_tree_of_its_bag():
    X, y = data()
    forest = ForestRegressor(2, "axis", max_features=None, random_state=5).fit(X, y)
    bags = Bags(forest._bags[0].seed, len(X), True, len(X))
    for number, tree in enumerate(forest.trees_):
        assert TopDownTreeRegressor().fit(X, y, sample_weight=bags.counts(number)).tree_ == tree


@pytest.mark.parametrize("splits", ["mixed", "axis"])
def test_the_same_bytes_for_any_number_of_threads_and_in_two_steps(splits):
    X, y = data()
    made = {"splits": splits, "random_state": 3}
    forest = ForestRegressor(6, **made).fit(X, y)
    assert ForestRegressor(6, **made, n_jobs=3).fit(X, y).trees_ == forest.trees_
    steps = ForestRegressor(2, **made, warm_start=True).fit(X, y).set_params(n_estimators=6).fit(X, y)
    assert steps.trees_ == forest.trees_


def test_not_worse_than_a_random_forest():
    X, y = load_diabetes(return_X_y=True)
    theirs = cross_val_score(RandomForestRegressor(50, random_state=0), X, y).mean()
    assert cross_val_score(ForestRegressor(50, random_state=0), X, y).mean() > theirs - 0.01


def test_out_of_bag():
    X, y = data()
    forest = ForestRegressor(30, oob_score=True, random_state=0).fit(X, y)
    bags = Bags(forest._bags[0].seed, len(X), True, len(X))
    left_out = np.array([bags.counts(number) == 0 for number in range(30)])
    answers = np.array([tree.predict(X) for tree in forest.estimators_])
    wanted = (answers * left_out).sum(axis=0) / left_out.sum(axis=0)
    np.testing.assert_allclose(forest.oob_prediction_, wanted, rtol=1e-12)
    assert forest.oob_score_ == pytest.approx(r2_score(y, wanted))
    own = clone(forest).set_params(oob_score=lambda a, b: abs(a - b).max()).fit(X, y)
    assert own.oob_score_ == pytest.approx(abs(y - wanted).max())


def test_several_outputs(tmp_path):
    X, y = data()
    both = np.column_stack([y, -2 * y])
    forest = ForestRegressor(4, oob_score=False, random_state=0).fit(X, both)
    assert forest.n_outputs_ == 2
    np.testing.assert_allclose(forest.predict(X)[:, 1], -2 * forest.predict(X)[:, 0])
    assert boscage.load(forest.save(tmp_path / "forest")).predict(X).shape == (200, 2)


@pytest.mark.parametrize("leaf", ["constant", "mean", "median", "linear"])
def test_leaves(leaf):
    X, y = data()
    forest = ForestRegressor(5, leaf=leaf, max_leaf_nodes=8, random_state=0).fit(X, y)
    assert forest.score(X, y) > 0.5
    assert all(tree.n_leaves <= 8 for tree in forest.trees_)


def test_saved_loaded_and_pickled(tmp_path):
    X, y = data()
    forest = ForestRegressor(30, oob_score=True, random_state=0).fit(X, y)
    path = forest.save(tmp_path / "forest.boscage")
    for other in (boscage.load(path), pickle.loads(pickle.dumps(forest))):
        assert other.trees_ == forest.trees_
        assert other.oob_score_ == forest.oob_score_
        np.testing.assert_array_equal(other.predict(X), forest.predict(X))
    assert boscage.load(path).get_params() == forest.get_params()
    assert boscage.files.inspect(path)["trees"] == 30


def test_weights_and_repetition():
    X, y = data()
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    made = ForestRegressor(3, bootstrap=False, random_state=0)
    weighted = clone(made).fit(X, y, sample_weight=weight)
    repeated = clone(made).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


def test_weights_are_repetitions_where_columns_are_sampled():
    X, y = load_diabetes(return_X_y=True)  # the second column has two values: often constant in a node
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    forest = ForestRegressor(3, "axis", bootstrap=False, random_state=0)
    weighted = clone(forest).fit(X, y, sample_weight=weight.astype(float))
    repeated = clone(forest).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_parts_of_classes_are_refused():
    X, y = data()
    with pytest.raises((IncompatibleParts, ValueError), match="criterion"):
        ForestRegressor(2, criterion="gini").fit(X, y)
    with pytest.raises(ValueError, match="oob_score=True cannot be combined with bootstrap='bayesian'"):
        ForestRegressor(2, bootstrap="bayesian", oob_score=True).fit(X, y)


def test_out_of_bag_once_more_and_the_page():
    X, y = data()
    forest = ForestRegressor(30, oob_score=True, random_state=0).fit(X, y)
    found = forest.oob_permutation_importance(X, y, n_repeats=2, random_state=0)
    assert found.importances_mean[:5].min() > 0 > found.importances_mean[5] - 0.02
    assert forest.oob_curve(X, y)[-1] == pytest.approx(forest.oob_score_)
    text = forest.to_html(X=X, y=y, max_trees=2)
    assert "R² after each tree" in text
    assert text.count("|---") > 10


def test_the_page_of_a_forest_shows_rows_of_several_outputs():
    X, y = data(60)
    y = np.column_stack([y, -y])
    assert f"[{y[0, 0]}, {y[0, 1]}]" in ForestRegressor(2, random_state=0).fit(X, y).to_html(X=X, y=y)
