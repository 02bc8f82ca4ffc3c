"""Leaves of a forest fitted together: against slow models of the same loss, weights, files and refusals."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, sparse
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_diabetes, load_iris
from typer.testing import CliRunner

import boscage
from boscage import ForestClassifier, ForestRegressor, IncompatibleParts, RefitLeaves
from boscage.cli import app
from boscage.files import ModelFileError, read_model, write_model

X, Y = load_iris(return_X_y=True)
NUMBERS = load_diabetes(return_X_y=True)
SMALL = {"n_estimators": 4, "max_leaf_nodes": 5, "random_state": 0}


def indicators(forest, X):
    """Rows by leaves: 1 where a row ends in the leaf, the leaves of one tree after those of another."""
    reached = forest.apply(X)
    columns = [reached[:, [t]] == tree.leaves for t, tree in enumerate(forest.trees_)]
    return np.hstack(columns).astype(float)


def softened(forest, Z, y, weight):
    """Logarithms of the base shares, and the centre of the penalty: leaf shares with one row of all classes added."""
    shares = np.bincount(y, weight) / weight.sum()
    held = Z.T @ (np.eye(len(shares))[y] * weight[:, None]) + shares
    return np.log(shares), np.log(held / held.sum(axis=1, keepdims=True)) - np.log(shares)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_classes_against_a_logistic_regression_on_indicators(classes, weighted):
    y = np.minimum(Y, classes - 1)
    weight = np.random.default_rng(0).integers(1, 4, len(y)) / 2 if weighted else np.ones(len(y))
    l2 = 0.7
    forest = ForestClassifier(refit=RefitLeaves(l2), **SMALL).fit(X, y, weight if weighted else None)
    Z = indicators(forest, X)
    base, own = softened(forest, Z, y, weight)

    def loss(flat):
        B = flat.reshape(own.shape)
        fit = -(weight * log_softmax(base + Z @ B, axis=1)[np.arange(len(y)), y]).sum()
        return fit + l2 / 2 * ((B - own / 4) ** 2).sum()

    def slope(flat):
        B = flat.reshape(own.shape)
        away = weight[:, None] * (softmax(base + Z @ B, axis=1) - np.eye(classes)[y])
        return (Z.T @ away + l2 * (B - own / 4)).ravel()

    found = optimize.minimize(loss, np.zeros(own.size), jac=slope, method="BFGS", options={"gtol": 1e-8})
    B = found.x.reshape(own.shape)
    np.testing.assert_allclose(forest.predict_proba(X), softmax(base + Z @ B, axis=1), atol=1e-6)
    leaves = np.concatenate([tree.leaf_proba for tree in forest.trees_])
    np.testing.assert_allclose(leaves, softmax(base + 4 * B, axis=1), atol=1e-5)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_against_a_ridge_regression_on_indicators(outputs, weighted):
    X, y = NUMBERS
    y = y if outputs == 1 else np.column_stack([y, X[:, 2] * 1000])
    weight = np.random.default_rng(0).integers(1, 4, len(y)) / 2 if weighted else np.ones(len(y))
    l2 = 3.0
    forest = ForestRegressor(refit=RefitLeaves(l2), **SMALL).fit(X, y, weight if weighted else None)
    Z, target = indicators(forest, X), y.reshape(len(y), -1)
    mean = np.average(target, axis=0, weights=weight)
    own = (Z.T @ (weight[:, None] * (target - mean))) / (Z.T @ weight)[:, None]
    right = Z.T @ (weight[:, None] * (target - mean)) + l2 * own / 4
    B = np.linalg.solve((Z.T * weight) @ Z + l2 * np.eye(Z.shape[1]), right)
    expected = (mean + Z @ B).reshape(y.shape)
    np.testing.assert_allclose(forest.predict(X), expected, rtol=1e-7, atol=1e-7 * np.abs(y).max())


def test_the_forest_is_the_geometric_mean_of_its_trees():
    forest = ForestClassifier(refit="leaves", **SMALL).fit(X, Y)
    logs = np.mean([np.log(tree.predict_proba(X)) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict_proba(X), softmax(logs, axis=1), rtol=1e-12)
    np.testing.assert_array_equal(forest.predict(X), forest.predict_proba(X).argmax(axis=1))


def test_only_what_leaves_predict_changes():
    plain = ForestClassifier(**SMALL).fit(X, Y)
    refit = ForestClassifier(refit="leaves", **SMALL).fit(X, Y)
    for one, other in zip(plain.trees_, refit.trees_):
        for name in ("feature", "threshold", "children_left", "value", "weighted_n_node_samples"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(plain.feature_importances_, refit.feature_importances_)
    assert refit.exponent_ == 1
    assert not np.array_equal(plain.predict_proba(X), refit.predict_proba(X))


def test_a_large_penalty_leaves_numbers_as_they_were():
    X, y = NUMBERS
    given = SMALL | {"bootstrap": False}
    plain = ForestRegressor(**given).fit(X, y).predict(X)
    loss = [np.mean((ForestRegressor(refit=RefitLeaves(l2), **given).fit(X, y).predict(X) - y) ** 2) for l2 in (1, 100)]
    near = ForestRegressor(refit=RefitLeaves(1e12), **given).fit(X, y).predict(X)
    np.testing.assert_allclose(near, plain, rtol=1e-8)
    assert loss[0] < loss[1] < np.mean((plain - y) ** 2)


@pytest.mark.parametrize("kind", [ForestClassifier, ForestRegressor])
@pytest.mark.parametrize("splits", ["mixed", "axis", "oblique"])
def test_weights_are_repetitions(kind, splits):
    weight = np.random.default_rng(1).integers(0, 4, len(Y))
    given = SMALL | {"bootstrap": False, "refit": "leaves", "splits": splits}
    weighted = kind(**given).fit(X, Y, weight)
    repeated = kind(**given).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    assert weighted.trees_.geometric == (kind is ForestClassifier)
    np.testing.assert_array_equal(weighted._rows(X)[0].proba(X), repeated._rows(X)[0].proba(X))


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(len(Y))
    given = SMALL | {"bootstrap": False, "refit": "leaves", "splits": "axis", "max_features": None}
    one, other = (ForestClassifier(**given).fit(X[rows], Y[rows]) for rows in (np.arange(len(Y)), order))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_the_penalty_is_in_units_of_weight():
    one = ForestRegressor(refit=RefitLeaves(1.0), **SMALL).fit(X, X[:, 0])
    other = ForestRegressor(refit=RefitLeaves(8.0), **SMALL).fit(X, X[:, 0], np.full(len(Y), 8.0))
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-8)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_weights_of_any_size(size):
    for kind in (ForestClassifier, ForestRegressor):
        forest = kind(refit="leaves", **SMALL).fit(X, Y, np.full(len(Y), size))
        assert np.isfinite(forest._rows(X)[0].proba(X)).all()


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_targets_of_any_size(scale):
    X, y = NUMBERS
    one = ForestRegressor(refit="leaves", **SMALL).fit(X, y / 512)
    other = ForestRegressor(refit="leaves", **SMALL).fit(X, y / 512 * scale)
    np.testing.assert_allclose(other.predict(X) / scale, one.predict(X), rtol=1e-6)


@pytest.mark.parametrize(("kind", "y"), [(ForestClassifier, Y), (ForestRegressor, X[:, 0])])
def test_the_same_bytes_for_any_number_of_threads_and_in_two_steps(kind, y, tmp_path):
    given = {"max_leaf_nodes": 6, "random_state": 3, "refit": "leaves"}
    big, target = np.tile(X, (60, 1)) + np.random.default_rng(0).normal(size=(9000, 4)), np.tile(y, 60)
    forest = kind(6, **given).fit(big, target)
    threads = kind(6, n_jobs=3, **given).fit(big, target)
    steps = kind(2, warm_start=True, **given).fit(big, target).set_params(n_estimators=6).fit(big, target)
    assert forest.trees_ == threads.trees_ == steps.trees_
    assert forest.save(tmp_path / "a").read_bytes() == threads.save(tmp_path / "b").read_bytes()


@pytest.mark.parametrize(("kind", "y"), [(ForestClassifier, np.array(["a", "b", "c"])[Y]), (ForestRegressor, X[:, 0])])
def test_saved_loaded_and_pickled(kind, y, tmp_path):
    forest = kind(refit=RefitLeaves(2.0), **SMALL).fit(X, y)
    path = forest.save(tmp_path / "forest.boscage")
    loaded = boscage.load(path)
    assert loaded.refit == forest.refit
    for other in (loaded, pickle.loads(pickle.dumps(forest))):
        assert other.trees_ == forest.trees_
        np.testing.assert_array_equal(other.predict(X), forest.predict(X))
    assert loaded.save(tmp_path / "again").read_bytes() == path.read_bytes()
    more = loaded.set_params(warm_start=True, n_estimators=6).fit(X, y)
    assert more.trees_ == kind(refit=RefitLeaves(2.0), **(SMALL | {"n_estimators": 6})).fit(X, y).trees_


def test_a_file_without_the_probabilities_it_needs_is_refused(tmp_path):
    from dataclasses import replace

    model = read_model(ForestClassifier(2, "axis").fit(X, Y).save(tmp_path / "forest.boscage"))
    state = replace(model.state, meta=model.state.meta | {"refit": True})
    with pytest.raises(ModelFileError, match="no probability"):
        boscage.load(write_model(tmp_path / "broken", replace(model, state=state)))


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 1, 1: 1, 2: 20}])
def test_class_weights(class_weight):
    y = Y[:110]  # ten rows of the last class
    noisy = X[:110] + np.random.default_rng(0).normal(size=(110, 4))
    given = SMALL | {"refit": "leaves", "max_leaf_nodes": 3}
    plain = ForestClassifier(**given).fit(noisy, y)
    heavy = ForestClassifier(class_weight=class_weight, **given).fit(noisy, y)
    assert heavy.predict_proba(noisy)[:, 2].mean() > 1.5 * plain.predict_proba(noisy)[:, 2].mean()


@pytest.mark.parametrize("absent", [0, 1, 2])
def test_a_class_whose_rows_all_have_weight_zero(absent):
    rows = absent != Y
    weighted = ForestClassifier(refit="leaves", **SMALL | {"bootstrap": False}).fit(X, Y, rows.astype(float))
    without = ForestClassifier(refit="leaves", **SMALL | {"bootstrap": False}).fit(X[rows], Y[rows])
    found = weighted.predict_proba(X)
    assert (found[:, absent] < 1e-250).all()
    np.testing.assert_allclose(np.delete(found, absent, axis=1), without.predict_proba(X), rtol=1e-9)


def test_missing_values_categories_and_sparse_rows():
    table = pd.DataFrame(X, columns=list("abcd"))
    table["kind"] = pd.Categorical(np.array(["u", "v", "w", "u"])[np.arange(len(Y)) % 4])
    table.loc[::7, "a"] = np.nan
    forest = ForestClassifier(refit="leaves", **SMALL).fit(table, Y)
    assert forest.score(table, Y) > 0.9
    dense = ForestClassifier(splits="axis", refit="leaves", **SMALL).fit(X, Y)
    wide = ForestClassifier(splits="axis", refit="leaves", **SMALL).fit(sparse.csr_matrix(X), Y)
    np.testing.assert_array_equal(dense.predict_proba(X), wide.predict_proba(sparse.csr_matrix(X)))


def test_rows_of_a_later_fit_may_leave_leaves_empty():
    X, y = NUMBERS
    forest = ForestRegressor(3, "axis", refit="leaves", warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=4).fit(X[:50], y[:50])
    assert np.isfinite(forest.predict(X)).all()


def test_explanations_sum_to_the_probabilities():
    forest = ForestClassifier(refit="leaves", **SMALL).fit(X, Y)
    for row in X[::30]:
        found = forest.explain(row)
        np.testing.assert_allclose(found.prediction, forest.predict_proba(row[None])[0])
        np.testing.assert_allclose(found.base + found.contributions.sum(axis=0), found.prediction, atol=1e-12)


def test_pages_and_dictionaries_tell_of_it():
    forest = ForestClassifier(refit="leaves", **SMALL).fit(X, Y)
    assert "leaves fitted together" in forest.to_html(None, X, Y)
    assert forest.to_dict()["mean"] == "geometric"
    plain = forest.set_params(refit=None).fit(X, Y)
    assert "leaves fitted together" not in plain.to_html()
    assert plain.to_dict()["mean"] == "arithmetic"


def test_quantiles_are_those_of_the_targets():
    X, y = NUMBERS
    plain, refit = (ForestRegressor(refit=refit, **SMALL).fit(X, y) for refit in (None, "leaves"))
    np.testing.assert_array_equal(plain.predict_quantiles(X), refit.predict_quantiles(X))


def test_the_command_line(tmp_path):
    table = pd.DataFrame(X, columns=list("abcd")).assign(y=Y)
    table.to_csv(tmp_path / "t.csv", index=False)
    given = ["--set", "refit=leaves", "--set", "n_estimators=3", "--set", "max_leaf_nodes=4"]
    where = str(tmp_path / "f.boscage")
    words = ["fit", str(tmp_path / "t.csv"), "-t", "y", "-o", where, "--model", "forest", *given]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.stderr
    assert boscage.load(where).trees_.geometric


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"refit": "all"}, "refit='all' is not known"),
        ({"refit": True}, "refit=True is not known"),
        ({"refit": RefitLeaves(0)}, "l2=0"),
        ({"refit": "leaves", "oob_score": True}, "oob_score=True cannot be combined with refit='leaves'"),
        ({"refit": "leaves", "calibrate": True}, "calibrate=True cannot be combined with refit='leaves'"),
        ({"refit": "leaves", "leaf": "linear"}, "cannot be combined with leaf="),
        ({"refit": "leaves", "leaf": "majority"}, "cannot be combined with leaf="),
        ({"refit": "leaves", "splits": "stochastic"}, "needs tests that send a row to one side"),
    ],
)
def test_what_does_not_go_together_is_refused(wrong, message):
    forest = ForestClassifier(**SMALL).fit(X, Y)
    before = forest.predict_proba(X)
    with pytest.raises((ValueError, IncompatibleParts), match=message):
        forest.set_params(**wrong).fit(X, Y)
    np.testing.assert_array_equal(before, forest.set_params(n_jobs=1).predict_proba(X))


def test_other_losses_of_numbers_are_refused():
    with pytest.raises(IncompatibleParts, match="squared error"):
        ForestRegressor(3, "axis", "absolute_error", refit="leaves").fit(X, X[:, 0])


def test_nothing_is_out_of_bag():
    forest = ForestClassifier(refit="leaves", **SMALL).fit(X, Y)
    for ask, refit in itertools.product((forest.oob_curve, forest.oob_permutation_importance), ("leaves", None)):
        with pytest.raises(ValueError, match="cannot be combined with refit='leaves'"):
            forest.set_params(refit=refit) and ask(X, Y)
    assert forest.set_params(refit=None, oob_score=True, n_estimators=20).fit(X, Y).oob_score_ > 0.9
    assert len(forest.oob_curve(X, Y)) == 20


def test_growing_on_without_it_is_refused():
    forest = ForestRegressor(refit="leaves", warm_start=True, **SMALL).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="refit=None"):
        forest.set_params(refit=None, n_estimators=6).fit(X, X[:, 0])


def test_batches_refuse_it():
    with pytest.raises(ValueError, match="refit='leaves' fits the leaves of all trees together"):
        ForestClassifier(3, "axis", refit="leaves").fit_batches(lambda: iter([(X, Y)]))
