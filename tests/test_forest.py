"""Forests: the mean of their trees, rows out of bag, determinism, weights, files and bad input."""

import json
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score

import boscage
from boscage import Axis, ForestClassifier, IncompatibleParts, Linear, TopDownTreeClassifier
from boscage.forest._bags import Bags, best_exponent
from boscage.model.many_trees import ManyTrees
from boscage.model.predict import apply, predict_proba
from strategies import random_forest, random_rows

SEEDS = st.integers(0, 2**32 - 1)
FAMILIES = ["mixed", "axis", "oblique", "stochastic"]
FEW = {"max_leaf_nodes": 6}


def data(n=200, k=3, seed=0):
    X, y = make_classification(n, 6, n_informative=4, n_redundant=0, n_classes=k, random_state=seed)
    return X, y


# ---- prediction with many trees -------------------------------------------------------------------------------------


def sum_of_trees(trees, X, chosen=None):
    """The sum in the order of the trees, from the prediction of single trees, which has a reference of its own."""
    total = np.zeros((X.shape[0], trees[0].n_outputs))
    for number, tree in enumerate(trees):
        mask = np.ones(X.shape[0], bool) if chosen is None else chosen[number]
        total[mask] += predict_proba(tree, X)[mask]
    return total


def stored(X, form):
    ways = {"fortran": np.asfortranarray, "sliced": lambda X: np.repeat(X, 2, axis=0)[::2], "csr": sparse.csr_matrix}
    return ways.get(form, np.asarray)(X.astype(np.float32) if form == "float32" else X)


@settings(max_examples=150)
@given(SEEDS, st.integers(1, 5), st.sampled_from(["float64", "float32", "fortran", "sliced", "csr"]))
def test_the_mean_of_the_trees(seed, count, form):
    trees = random_forest(seed, count, d=int(seed % 12) + 1, splits=8)
    X = stored(random_rows(seed, trees[0]), form)
    forest = ManyTrees(trees)
    np.testing.assert_array_equal(forest.proba(X), sum_of_trees(trees, X) / count)
    np.testing.assert_array_equal(forest.apply(X), np.stack([apply(tree, X) for tree in trees], axis=1))


@settings(max_examples=50)
@given(SEEDS, st.integers(1, 4), st.integers(1, 40), st.floats(0.3, 5))
def test_sums_over_chosen_rows_and_the_exponent(seed, count, n, exponent):
    trees, rng = random_forest(seed, count), np.random.default_rng(seed)
    X = random_rows(seed, trees[0], n)
    chosen = rng.random((count, n)) < 0.4
    forest = ManyTrees(trees)
    found = forest.sums(X, np.packbits(chosen, axis=1, bitorder="little"))
    np.testing.assert_array_equal(found, sum_of_trees(trees, X, chosen))
    mean = sum_of_trees(trees, X) / count
    known = mean.sum(axis=1) > 0.5  # trees without fills may know nothing of rows with missing values
    raised = mean[known] ** exponent
    wanted = raised / raised.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(forest.proba(X, exponent)[known], wanted, rtol=1e-12, atol=1e-12)


def test_rows_side_by_side_and_one_by_one_give_the_same_bits():
    X, y = data(3000)
    for splits in FAMILIES:
        forest = ForestClassifier(4, splits, random_state=0, **FEW).fit(X[:300], y[:300])
        proba = forest.predict_proba(X)
        np.testing.assert_array_equal(proba[:5], np.vstack([forest.predict_proba(X[i : i + 1]) for i in range(5)]))
        np.testing.assert_array_equal(proba, forest.set_params(n_jobs=3).predict_proba(X))
        np.testing.assert_array_equal(proba, forest.predict_proba(np.asfortranarray(X)))
        np.testing.assert_array_equal(proba, np.vstack([forest.predict_proba(X[:777]), forest.predict_proba(X[777:])]))


def test_sparse_rows_wider_than_any_copy():
    rng = np.random.default_rng(0)
    X = sparse.random(60, 40_000, 0.001, format="csr", random_state=0)
    y = rng.integers(0, 2, 60)
    forest = ForestClassifier(3, "axis", random_state=0).fit(X, y)
    dense = ForestClassifier(3, "axis", random_state=0).fit(X.toarray(), y)
    np.testing.assert_array_equal(forest.predict_proba(X), dense.predict_proba(X.toarray()))


def test_chosen_of_the_wrong_size_is_refused():
    trees = random_forest(0, 2)
    X = random_rows(0, trees[0], 20)
    with pytest.raises(ValueError, match="a bit for each row and tree"):
        ManyTrees(trees).sums(X, np.zeros((2, 2), np.uint8))
    with pytest.raises(ValueError, match="at least one tree"):
        ManyTrees([])._native  # noqa: B018
    with pytest.raises(ValueError, match="same columns and classes"):
        ManyTrees([*trees, *random_forest(0, 1, d=5)])._native  # noqa: B018


# ---- the forest -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits", FAMILIES)
def test_the_same_bytes_for_any_number_of_threads_and_in_two_steps(splits, tmp_path):
    X, y = data()
    made = {"splits": splits, "random_state": 3, "calibrate": True, **FEW}
    forest = ForestClassifier(8, **made).fit(X, y)
    threads = ForestClassifier(8, **made, n_jobs=3).fit(X, y)
    steps = ForestClassifier(3, **made, warm_start=True).fit(X, y).set_params(n_estimators=8).fit(X, y)
    assert threads.trees_ == forest.trees_
    assert steps.trees_ == forest.trees_
    assert steps.exponent_ == threads.exponent_ == forest.exponent_ != 1
    files = [forest.save(tmp_path / "a"), threads.save(tmp_path / "b")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_more_threads_than_trees():
    X, y = data()
    made = {"splits": "axis", "random_state": 0}
    one = ForestClassifier(3, **made).fit(X, y)
    assert ForestClassifier(3, **made, n_jobs=8).fit(X, y).trees_ == one.trees_


def test_a_tree_is_a_function_of_seed_and_number():
    X, y = data()
    few = ForestClassifier(2, "axis", random_state=1).fit(X, y)
    many = ForestClassifier(4, "axis", random_state=1).fit(X, y)
    assert many.trees_[:2] == few.trees_.trees
    assert many.trees_[2] != many.trees_[1]
    assert ForestClassifier(2, "axis", random_state=2).fit(X, y).trees_ != few.trees_


def test_a_tree_of_a_forest_is_a_tree_of_its_bag():
    X, y = data()
    forest = ForestClassifier(3, "axis", max_features=None, random_state=5).fit(X, y)
    bags = Bags(forest._bags[0].seed, len(X), True, len(X))
    for number, tree in enumerate(forest.trees_):
        weight = bags.counts(number)
        alone = TopDownTreeClassifier(criterion="entropy").fit(X, y, sample_weight=weight).tree_
        assert alone == tree


@pytest.mark.parametrize("splits", ["mixed", "axis", "oblique"])
def test_not_worse_than_a_random_forest(splits):
    X, y = load_wine(return_X_y=True)
    theirs = cross_val_score(RandomForestClassifier(50, random_state=0), X, y).mean()
    ours = cross_val_score(ForestClassifier(50, splits, random_state=0), X, y).mean()
    assert ours > theirs - 0.03


@pytest.mark.parametrize("splits", ["axis", "oblique"])
def test_bootstrap_false_is_exact_repetition(splits):
    X, y = data()
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    made = ForestClassifier(4, splits, bootstrap=False, random_state=0, **FEW)
    weighted = clone(made).fit(X, y, sample_weight=weight)
    repeated = clone(made).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)


def test_weights_multiply_and_rows_of_weight_zero_are_absent():
    X, y = data()
    weight = np.random.default_rng(0).exponential(size=len(X))
    weight[::4] = 0
    made = ForestClassifier(20, "axis", oob_score=True, random_state=0)
    forest = clone(made).fit(X, y, sample_weight=weight)
    kept = clone(made).fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    assert forest.trees_ == kept.trees_
    assert forest.oob_score_ == kept.oob_score_
    assert np.isnan(forest.oob_decision_function_[::4]).all()
    np.testing.assert_array_equal(forest.oob_decision_function_[weight > 0], kept.oob_decision_function_)
    doubled = clone(made).fit(X, y, sample_weight=2 * weight)
    np.testing.assert_allclose(doubled.predict_proba(X), forest.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("factor", [2.0**-990, 2.0**990, 2.0**-40])
def test_weights_of_any_size(factor):
    X, y = data(80)
    weight = np.random.default_rng(1).integers(1, 9, len(X)) / 8
    plain = ForestClassifier(3, "axis", random_state=0).fit(X, y, sample_weight=weight)
    scaled = ForestClassifier(3, "axis", random_state=0).fit(X, y, sample_weight=weight * factor)
    np.testing.assert_allclose(plain.predict_proba(X), scaled.predict_proba(X), atol=1e-9)
    ratio = scaled.trees_[0].weighted_n_node_samples[0] / plain.trees_[0].weighted_n_node_samples[0]
    assert ratio == pytest.approx(factor)


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 5.0}])
def test_class_weights(class_weight):
    X, y = data(300, 2)
    y = np.where(np.random.default_rng(0).random(300) < 0.8, 0, y)
    forest = ForestClassifier(10, "axis", max_depth=3, class_weight=class_weight, random_state=0).fit(X, y)
    value = np.mean([tree.value[0] for tree in forest.trees_], axis=0)
    if isinstance(class_weight, dict):
        assert value[0] > 0.9
    else:
        np.testing.assert_allclose(value, 0.5, atol=0.06)
    if class_weight == "balanced_subsample":
        np.testing.assert_allclose([tree.value[0] for tree in forest.trees_], 0.5, atol=1e-9)


def test_bayesian_weights_use_every_row():
    X, y = data()
    forest = ForestClassifier(3, "axis", bootstrap="bayesian", random_state=0).fit(X, y)
    assert all(tree.n_node_samples[0] == len(X) for tree in forest.trees_)
    total = [tree.weighted_n_node_samples[0] for tree in forest.trees_]
    np.testing.assert_allclose(total, len(X), rtol=0.3)
    assert len(set(total)) == 3
    assert forest.score(X, y) == 1


def test_max_samples():
    X, y = data()
    for bootstrap, limit, rows in [(True, 50, None), (True, 0.25, None), (False, 50, 50), (False, 0.25, 50)]:
        forest = ForestClassifier(3, "axis", bootstrap=bootstrap, max_samples=limit, random_state=0).fit(X, y)
        for tree in forest.trees_:
            assert tree.weighted_n_node_samples[0] == 50
            assert tree.n_node_samples[0] == 50 if rows else tree.n_node_samples[0] < 50


@settings(max_examples=20)
@given(SEEDS, st.integers(1, 200))
def test_bags(seed, rows):
    drawn = Bags(seed, rows, True, 3 * rows)
    counts = drawn.counts(0)
    assert counts.sum() == 3 * rows
    assert counts.min() >= 0
    assert (counts == np.rint(counts)).all()
    np.testing.assert_array_equal(counts, drawn.counts(0))
    left = np.unpackbits(drawn.out_of_bag(0), count=rows, bitorder="little")
    np.testing.assert_array_equal(left, counts == 0)
    half = Bags(seed, rows, False, (rows + 1) // 2)
    found = half.counts(1)
    if rows > 1:
        assert found.sum() == (rows + 1) // 2
        assert set(found) <= {0.0, 1.0}


def test_draws_are_uniform():
    bags = Bags(7, 50, True, 50)
    counts = np.sum([bags.counts(tree) for tree in range(400)], axis=0)
    assert abs(counts - 400).max() < 5 * 20
    half = Bags(7, 50, False, 25)
    taken = np.sum([half.counts(tree) for tree in range(400)], axis=0)
    assert abs(taken - 200).max() < 5 * 10
    weights = np.concatenate([Bags(7, 50, "bayesian", 50).counts(tree) for tree in range(400)])
    assert weights.mean() == pytest.approx(1, abs=0.03)
    assert np.median(weights) == pytest.approx(np.log(2), abs=0.03)


# ---- out of bag -----------------------------------------------------------------------------------------------------


def out_of_bag_by_hand(forest, X):
    bags = Bags.of(forest._bags[0].seed, len(X), forest.bootstrap, forest.max_samples)
    total, count = np.zeros((len(X), len(forest.classes_))), np.zeros(len(X))
    for number, tree in enumerate(forest.estimators_):
        drawn = bags.counts(number)
        for row in range(len(X)):
            if drawn[row] == 0:
                total[row] += tree.predict_proba(X[row : row + 1])[0]
                count[row] += 1
    with np.errstate(invalid="ignore"):
        return total / count[:, None]


@pytest.mark.parametrize("sampling", [{}, {"bootstrap": False, "max_samples": 0.7}, {"max_samples": 40}])
@pytest.mark.parametrize("calibrate", [True, False])
def test_out_of_bag(sampling, calibrate):
    X, y = data(60)
    y = np.array(["a", "b", "c"])[y]
    forest = ForestClassifier(12, "axis", oob_score=True, calibrate=calibrate, random_state=0, **sampling).fit(X, y)
    mean = out_of_bag_by_hand(forest, X)
    raised = mean**forest.exponent_
    np.testing.assert_allclose(forest.oob_decision_function_, raised / raised.sum(axis=1, keepdims=True), atol=1e-12)
    assert forest.oob_score_ == (forest.classes_[mean.argmax(axis=1)] == y).mean()
    assert (forest.exponent_ != 1) == calibrate


def test_out_of_bag_score_by_a_function():
    X, y = data()
    made = ForestClassifier(30, "axis", oob_score=lambda a, b: 7 * (a == b).mean(), random_state=0)
    accuracy = clone(made).set_params(oob_score=True).fit(X, y).oob_score_
    assert made.fit(X, y).oob_score_ == pytest.approx(7 * accuracy)


def test_out_of_bag_says_what_new_rows_will_be():
    X, y = data(2000)
    forest = ForestClassifier(60, "oblique", oob_score=True, random_state=0).fit(X[:1000], y[:1000])
    assert abs(forest.oob_score_ - forest.score(X[1000:], y[1000:])) < 0.04


def test_rows_that_are_never_out_of_bag():
    X, y = data(50)
    with pytest.warns(UserWarning, match="rows are in the bag of every tree"):
        forest = ForestClassifier(2, "axis", oob_score=True, random_state=0).fit(X, y)
    assert np.isnan(forest.oob_decision_function_).any()
    assert 0 < forest.oob_score_ < 1


@pytest.mark.parametrize("second", [{"bootstrap": False, "max_samples": 0.3}, {"max_samples": 0.2}, {"max_depth": 3}])
def test_trees_remember_which_rows_they_have_seen(second, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.integers(0, 2, 300)  # nothing to learn, much to remember
    forest = ForestClassifier(40, "axis", warm_start=True, oob_score=True, random_state=0).fit(X, y)
    curve = forest.oob_curve(X, y)
    assert 0.4 < curve[-1] < 0.6
    forest.set_params(**second)
    np.testing.assert_array_equal(forest.oob_curve(X, y), curve)
    forest.set_params(n_estimators=60).fit(X, y)
    assert 0.4 < forest.oob_score_ < 0.6
    np.testing.assert_array_equal(forest.oob_curve(X, y)[:40], curve)
    again = boscage.load(forest.save(tmp_path / "forest.boscage"))
    np.testing.assert_array_equal(again.oob_curve(X, y), forest.oob_curve(X, y))
    assert again.save(tmp_path / "again").read_bytes() == (tmp_path / "forest.boscage").read_bytes()


def test_trees_of_different_rows_have_no_out_of_bag_curve():
    X, y = data()
    forest = ForestClassifier(4, "axis", warm_start=True, random_state=0).fit(X[:100], y[:100])
    forest.set_params(n_estimators=8).fit(X, y)
    with pytest.raises(ValueError, match="must be the rows"):
        forest.oob_curve(X, y)
    with pytest.raises(ValueError, match=r"100 and 200 rows.*calibrate=False"):
        forest.set_params(n_estimators=9, oob_score=True).fit(X, y)


def test_a_fit_without_out_of_bag_forgets_that_of_an_earlier_one():
    X, y = data()
    forest = ForestClassifier(30, "axis", oob_score=True, random_state=0).fit(X, y)
    forest.set_params(oob_score=False).fit(X, y)
    assert not hasattr(forest, "oob_score_")
    assert not hasattr(forest, "oob_decision_function_")


@settings(max_examples=20)
@given(SEEDS)
def test_the_best_exponent(seed):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(3) * rng.choice([0.5, 2, 20]), 80)
    y = np.array([rng.choice(3, p=p) for p in proba])
    weight = rng.exponential(size=80)
    found = best_exponent(proba, y, weight)

    def loss(t):
        raised = (proba + 1e-3) ** t
        raised /= raised.sum(axis=1, keepdims=True)
        return -weight @ np.log(raised[np.arange(80), y])

    grid = np.linspace(0.25, 8, 2000)
    assert loss(found) <= min(map(loss, grid)) + 1e-5
    gaps = np.vstack([np.full((5, 3), np.nan), *[proba] * 60])  # more rows than a block has
    many = best_exponent(gaps, np.concatenate([[0] * 5, *[y] * 60]), np.concatenate([np.ones(5), *[weight] * 60]))
    assert many == pytest.approx(found, abs=2e-5)


def test_calibration_helps_and_changes_no_class():
    X, y = data(2000)
    train, test = slice(0, 1000), slice(1000, None)
    forest = ForestClassifier(60, "axis", random_state=0).fit(X[train], y[train])
    plain = ForestClassifier(60, "axis", calibrate=False, random_state=0).fit(X[train], y[train])
    assert forest.trees_ == plain.trees_
    assert plain.exponent_ == 1
    assert log_loss(y[test], forest.predict_proba(X[test])) < log_loss(y[test], plain.predict_proba(X[test]))
    np.testing.assert_array_equal(forest.predict(X), plain.predict(X))
    np.testing.assert_allclose(forest.predict_proba(X).sum(axis=1), 1)


def test_automatic_calibration_needs_enough_trees():
    X, y = data()
    assert ForestClassifier(5, "axis", random_state=0).fit(X, y).exponent_ == 1
    assert ForestClassifier(5, "axis", calibrate=True, random_state=0).fit(X, y).exponent_ != 1
    for max_samples, is_calibrated in ((0.9, True), (0.92, False)):  # 10 and 8 of 100 trees have not seen a row
        sampling = {"bootstrap": False, "max_samples": max_samples}
        forest = ForestClassifier(100, "axis", max_depth=2, random_state=0, **sampling).fit(X[:100], y[:100])
        assert (forest.exponent_ != 1) == is_calibrated
    assert ForestClassifier(40, "axis", random_state=0).fit(X, y).exponent_ != 1
    assert ForestClassifier(40, "axis", bootstrap=False, random_state=0).fit(X, y).exponent_ == 1


# ---- looking at it --------------------------------------------------------------------------------------------------


def test_estimators_are_trees_to_look_at():
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = np.array(["s", "e", "i"])[y]
    forest = ForestClassifier(3, "axis", random_state=0, max_depth=2).fit(X, y)
    trees = forest.estimators_
    assert [tree.tree_ for tree in trees] == list(forest.trees_)
    assert set(trees[0].predict(X)) <= set(y)
    mean = np.mean([tree.predict_proba(X) for tree in trees], axis=0)
    np.testing.assert_allclose(mean, forest.predict_proba(X), atol=1e-12)
    assert "petal" in forest.export_text(1)
    assert forest.export_text(1) == trees[1].export_text() == forest.export_text(-2)
    assert forest.export_graphviz(2) == trees[2].export_graphviz()
    assert "class: e" in trees[0].export_text()
    assert str(trees[0].explain(X.iloc[[0]]))
    for wrong in (3, -4, 1.0, True, "0"):
        with pytest.raises(ValueError, match="from 0 to 2"):
            forest.export_text(wrong)


def test_importances():
    X, y = data(400)
    X = np.hstack([X, np.zeros((400, 1))])
    forest = ForestClassifier(20, "axis", random_state=0).fit(X, y)
    found = forest.feature_importances_
    wanted = np.mean([tree.feature_importances_ for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(found, wanted / wanted.sum())
    assert found[-1] == 0
    theirs = RandomForestClassifier(100, random_state=0).fit(X, y).feature_importances_
    assert np.corrcoef(found, theirs)[0, 1] > 0.95
    linear = ForestClassifier(5, "oblique", random_state=0).fit(X, y).feature_importances_
    assert linear.sum() == pytest.approx(1)
    assert linear[-1] == 0


def test_all_trees_have_the_columns_of_the_forest():
    X, y = data()
    forest = ForestClassifier(3, "oblique", random_state=0).fit(X, y)
    assert len({id(tree.schema) for tree in forest.trees_}) == 1
    np.testing.assert_allclose(forest.trees_.schema.spread, X.std(axis=0))


def test_to_dict_is_json():
    X, y = data()
    forest = ForestClassifier(3, "oblique", random_state=0, max_depth=2).fit(X, y)
    found = json.loads(json.dumps(forest.to_dict()))
    assert found["model"] == "ForestClassifier"
    assert found["trees"] == json.loads(json.dumps([tree.to_dict() for tree in forest.estimators_]))


def test_plot():
    pytest.importorskip("matplotlib").use("agg")
    X, y = data()
    axes = ForestClassifier(2, "axis", random_state=0, max_depth=2).fit(X, y).plot(1)
    assert axes.texts or axes.patches


# ---- what a forest takes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits", ["axis", "oblique"])
def test_missing_values_and_categories(splits):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"x": rng.normal(size=300), "c": rng.choice(["u", "v", "w"], 300), "z": rng.normal(size=300)})
    y = np.where((X["c"] == "v") ^ (X["x"] > 0), "yes", "no")
    X.loc[rng.random(300) < 0.1, "x"] = np.nan
    forest = ForestClassifier(20, splits, oob_score=True, random_state=0).fit(X, y)
    assert forest.oob_score_ > 0.8
    assert forest.feature_importances_[1] > forest.feature_importances_[2]
    assert forest.trees_.schema.categories[1] == ("u", "v", "w")
    unseen = X.copy()
    unseen["c"] = "other"
    assert np.isfinite(forest.predict_proba(unseen)).all()


@pytest.mark.parametrize("splits", ["axis", "oblique", "stochastic"])
def test_sparse_rows_give_the_same_forest(splits):
    X, y = data()
    X = np.where(abs(X) < 0.8, 0, X)
    made = ForestClassifier(4, splits, random_state=0, **FEW)
    dense, thin = clone(made).fit(X, y), clone(made).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(dense.predict_proba(X), thin.predict_proba(sparse.csr_matrix(X)), atol=1e-9)


def test_single_precision_stays_single():
    X, y = data()
    forest = ForestClassifier(3, "oblique", random_state=0).fit(X.astype(np.float32), y)
    assert forest.trees_.schema.dtype == "float32"


def test_small_forest_of_linear_leaves():
    X, y = data(600)
    forest = ForestClassifier(10, "oblique", leaf="linear", max_leaf_nodes=8, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="bag of every tree"):
        forest.fit(X, y)
    assert all(tree.leaf_models is not None and tree.n_leaves <= 8 for tree in forest.trees_)
    mean = np.mean([tree.predict_proba(X) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict_proba(X), mean, atol=1e-12)
    chosen = ForestClassifier(3, "axis", leaf=Linear(l2="auto"), max_leaf_nodes=3, random_state=0).fit(X, y)
    assert chosen.score(X, y) > 0.5


def test_limits_per_tree():
    X, y = data(400)
    forest = ForestClassifier(3, "axis", min_samples_leaf=20, random_state=0).fit(X, y)
    assert all(tree.n_node_samples[tree.is_leaf].min() >= 20 for tree in forest.trees_)
    forest = ForestClassifier(3, "axis", min_weight_fraction_leaf=0.1, random_state=0).fit(X, y)
    assert all(tree.weighted_n_node_samples[tree.is_leaf].min() >= 40 for tree in forest.trees_)
    assert all(tree.max_depth == 2 for tree in ForestClassifier(3, "axis", max_depth=2).fit(X, y).trees_)
    pruned = ForestClassifier(3, "axis", ccp_alpha=0.02, random_state=0).fit(X, y)
    assert pruned.trees_[0].n_leaves < ForestClassifier(3, "axis", random_state=0).fit(X, y).trees_[0].n_leaves


def test_columns_of_a_node():
    X, y = data()
    auto = ForestClassifier(3, "axis", random_state=0).fit(X, y)
    assert auto.trees_ == ForestClassifier(3, "axis", max_features="sqrt", random_state=0).fit(X, y).trees_
    assert auto.trees_ != ForestClassifier(3, "axis", max_features=None, random_state=0).fit(X, y).trees_
    bins = ForestClassifier(3, Axis(max_bins=16), random_state=0).fit(X, y)
    assert bins.score(X, y) > 0.9


# ---- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits", FAMILIES)
def test_saved_loaded_and_pickled(splits, tmp_path):
    X, y = data()
    y = np.array(["a", "b", "c"])[y]
    forest = ForestClassifier(30, splits, oob_score=True, random_state=0, **FEW).fit(X, y)
    path = forest.save(tmp_path / "forest.boscage")
    loaded = boscage.load(path)
    copied = pickle.loads(pickle.dumps(forest))
    for other in (loaded, copied):
        assert other.trees_ == forest.trees_
        assert other.oob_score_ == forest.oob_score_
        np.testing.assert_array_equal(other.predict_proba(X), forest.predict_proba(X))
        np.testing.assert_array_equal(other.predict(X), forest.predict(X))
    assert loaded.get_params() == forest.get_params()
    assert loaded.save(tmp_path / "again").read_bytes() == path.read_bytes()
    more = loaded.set_params(warm_start=True, n_estimators=32).fit(X, y)
    assert more.trees_ == forest.set_params(warm_start=False, n_estimators=32).fit(X, y).trees_


def test_inspect(tmp_path):
    X, y = data()
    path = ForestClassifier(7, "axis", random_state=0).fit(X, y).save(tmp_path / "forest.boscage")
    found = boscage.files.inspect(path)
    assert (found["model"], found["trees"], found["parameters"]["n_estimators"]) == ("ForestClassifier", 7, 7)
    assert (found["training_rows"], found["exponent"], found["oob_score"]) == (200, 1.0, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": -1},
        {"rows": 1.5},
        {"exponent": 0.0},
        {"exponent": None},
        {"oob_score": "high"},
        {"extra": 1},
        {"exponent": 1e300},
        {"bags": None},
        {"bags": [[1, 200, True, 200]]},
        {"bags": [[3, 200, True, 200]]},
        {"bags": [[2, 200, "yes", 200]]},
        {"bags": [[2, 200, True, 0]]},
        {"bags": [[2, 2**70, True, 2**70]]},
        {"bags": [[2, 200, True]]},
    ],
)
def test_damaged_state_is_refused(wrong, tmp_path):
    X, y = data()
    model = boscage.files.read_model(ForestClassifier(2, "axis").fit(X, y).save(tmp_path / "forest.boscage"))
    from dataclasses import replace

    state = replace(model.state, meta=model.state.meta | wrong)
    path = boscage.files.write_model(tmp_path / "broken", replace(model, state=state))
    with pytest.raises(boscage.ModelFileError):
        boscage.load(path)


def test_a_tree_is_no_forest(tmp_path):
    from dataclasses import replace

    X, y = data()
    forest = boscage.files.read_model(ForestClassifier(2, "axis").fit(X, y).save(tmp_path / "forest.boscage"))
    tree = boscage.files.read_model(TopDownTreeClassifier().fit(X, y).save(tmp_path / "tree.boscage"))
    for model, kind in ((forest, "TopDownTreeClassifier"), (tree, "ForestClassifier")):
        changed = replace(model, kind=kind, parameters={})
        path = boscage.files.write_model(tmp_path / "mixed", changed)
        with pytest.raises(boscage.ModelFileError):
            boscage.load(path)
    path = boscage.files.write_model(tmp_path / "stateless", replace(forest, state=None))
    with pytest.raises(boscage.ModelFileError, match="damaged"):
        boscage.load(path)


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0"),
        ({"n_estimators": 2.5}, "n_estimators=2.5"),
        ({"bootstrap": "yes"}, "bootstrap='yes'"),
        ({"bootstrap": 2}, "bootstrap=2"),
        ({"max_samples": 0}, "max_samples=0"),
        ({"max_samples": 1.5}, "max_samples=1.5"),
        ({"max_samples": 1000}, "max_samples=1000.*200 rows"),
        ({"max_samples": 0.5, "bootstrap": "bayesian"}, "max_samples=0.5 cannot be combined with"),
        ({"oob_score": "yes"}, "oob_score='yes'"),
        ({"oob_score": True, "bootstrap": "bayesian"}, "oob_score=True cannot be combined with bootstrap='bayesian'"),
        ({"calibrate": True, "bootstrap": "bayesian"}, "calibrate=True cannot be combined with bootstrap='bayesian'"),
        ({"oob_score": True, "bootstrap": False}, "oob_score=True cannot be combined with bootstrap=False"),
        ({"calibrate": "no"}, "calibrate='no'"),
        ({"calibrate": 1}, "calibrate=1"),
        ({"oob_score": 0}, "oob_score=0"),
        ({"warm_start": 3}, "warm_start=3"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"max_depth": 0}, "max_depth=0"),
        ({"splits": "unknown"}, "splits='unknown'"),
        ({"splits": "oblique", "max_features": 2}, "max_features=2 cannot be combined with"),
        ({"class_weight": "heavy"}, "class_weight='heavy'"),
        ({"random_state": "seed"}, "random_state='seed'"),
    ],
)
def test_bad_settings_leave_the_forest_as_it_was(wrong, message):
    X, y = data()
    forest = ForestClassifier(2, "axis", random_state=0).fit(X, y)
    before = forest.predict_proba(X)
    with pytest.raises((ValueError, IncompatibleParts), match=message):
        forest.set_params(**wrong).fit(X, y)
    np.testing.assert_array_equal(before, forest.set_params(n_jobs=1, splits="axis").predict_proba(X))


@pytest.mark.parametrize(
    "settings", [{"bootstrap": True}, {"bootstrap": False}, {"oob_score": False}, {"calibrate": True}]
)
def test_flags_may_be_those_of_numpy(settings, tmp_path):
    X, y = data()
    forest = ForestClassifier(30, "axis", random_state=0, **settings).fit(X, y)
    found = ForestClassifier(30, "axis", random_state=0, **{name: np.bool_(value) for name, value in settings.items()})
    found.fit(X, y)
    np.testing.assert_array_equal(found.predict_proba(X), forest.predict_proba(X))
    assert hasattr(found, "oob_score_") == hasattr(forest, "oob_score_")
    assert boscage.load(found.save(tmp_path / "forest.boscage")).get_params() == forest.get_params()


def test_warm_start_refuses_what_does_not_fit():
    X, y = data()
    forest = ForestClassifier(4, "axis", warm_start=True, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="no tree is grown"):
        forest.fit(X, y)
    with pytest.raises(ValueError, match="less than the 4 trees"):
        forest.set_params(n_estimators=3).fit(X, y)
    forest.set_params(n_estimators=6)
    with pytest.raises(ValueError, match="columns and classes"):
        forest.fit(X[:, :4], y)
    with pytest.raises(ValueError, match="columns and classes"):
        forest.fit(X, y + 1)
    with pytest.raises(ValueError, match="rows of the earlier fit"):
        forest.set_params(oob_score=True).fit(X[:100], y[:100])
    assert len(forest.trees_) == 4


def test_a_message_about_families_names_those_of_forests():
    X, y = data()
    with pytest.raises(ValueError, match="'mixed'"):
        ForestClassifier(2, "mixd").fit(X, y)


def test_not_fitted():
    for method in ("predict", "predict_proba", "apply"):
        with pytest.raises(NotFittedError):
            getattr(ForestClassifier(splits="axis"), method)([[0.0]])
    with pytest.raises(NotFittedError):
        ForestClassifier(splits="axis").estimators_  # noqa: B018
    with pytest.raises(NotFittedError):
        ForestClassifier(splits="axis").save("never-written")


def test_messages_name_the_forest():
    with pytest.raises(ValueError, match="ForestClassifier"):
        ForestClassifier(2, "stochastic").fit([[np.nan], [1.0]], [0, 1])
    forest = ForestClassifier(2, "axis").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="ForestClassifier is expecting 1 features"):
        forest.predict([[0.0, 1.0]])


def test_a_reader_sees_one_fit_or_the_next():
    X, y = data(100)
    fits = [(X, y), (X[:, :3], np.array(["a", "b", "c"])[y])]
    forest = ForestClassifier(2, "axis", max_depth=2, random_state=0).fit(*fits[0])
    done, wrong = threading.Event(), []

    def read():
        while not done.is_set():
            try:
                labels = forest.predict(X)
                if labels.dtype != y.dtype:
                    wrong.append(labels)
            except ValueError as error:
                if "expecting 3 features" not in str(error):
                    wrong.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(40):
        forest.fit(*fits[turn % 2])
    done.set()
    reader.join()
    assert not wrong


# ---- rows out of bag, once more -------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits", ["mixed", "axis"])
@pytest.mark.parametrize("form", ["float64", "csr"])
def test_permutation_importance(splits, form):
    X, y = data(300)
    X = np.round(np.hstack([X, np.zeros((300, 1))]), 1)
    forest = ForestClassifier(20, splits, oob_score=True, random_state=0).fit(X, y)
    found = forest.oob_permutation_importance(stored(X, form), y, n_repeats=2, random_state=3)
    assert found.importances.shape == (7, 2)
    assert found.importances[6].tolist() == [0, 0]
    order = np.random.RandomState(3).permutation(300)
    shuffled = X.copy()
    shuffled[:, 0] = X[order, 0]
    mean = out_of_bag_by_hand(forest, shuffled)
    assert found.importances[0, 0] == pytest.approx(forest.oob_score_ - (mean.argmax(axis=1) == y).mean())
    assert found.importances_mean[:6].max() > 0.05
    np.testing.assert_array_equal(X, np.round(np.hstack([data(300)[0], np.zeros((300, 1))]), 1))


def test_the_score_after_each_tree():
    X, y = data(150)
    forest = ForestClassifier(25, "axis", oob_score=True, random_state=0).fit(X, y)
    curve = forest.oob_curve(X, y)
    assert curve[-1] == forest.oob_score_
    few = ForestClassifier(4, "axis", random_state=0).fit(X, y)
    mean = out_of_bag_by_hand(few, X)
    seen = np.isfinite(mean[:, 0])
    assert curve[3] == (mean[seen].argmax(axis=1) == y[seen]).mean()


def test_other_rows_than_those_of_the_fit_are_refused():
    X, y = data()
    forest = ForestClassifier(5, "axis", random_state=0).fit(X, y)
    for wrong in [(X[:100], y[:100]), (X[:, :3], y), (X, y + 1)]:
        with pytest.raises(ValueError, match="rows that this ForestClassifier was fitted on"):
            forest.oob_permutation_importance(*wrong)
    every = ForestClassifier(5, "axis", bootstrap="bayesian", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="none are out of bag"):
        every.oob_curve(X, y)
    with pytest.raises(ValueError, match="n_repeats=0"):
        forest.oob_permutation_importance(X, y, n_repeats=0)


# ---- the page -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_trees", [0, 2])
def test_the_page_refuses_other_targets_than_rows(max_trees):
    X, y = data()
    forest = ForestClassifier(2, "axis", random_state=0).fit(X, y)
    for rows in (5, len(y)):
        with pytest.raises(ValueError, match=f"each of the {rows} rows"):
            forest.to_html(X=X[:rows], y=y[:7], max_trees=max_trees)


def test_the_page(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.rename(columns={"petal width (cm)": "<b>width</b>"})
    forest = ForestClassifier(12, oob_score=False, random_state=0).fit(X, y)
    text = forest.to_html(X=X, y=y, max_trees=3, title="Iris & co")
    assert "Iris &amp; co" in text
    assert "12 trees" in text
    assert text.count('class="bosc-data"') == 3
    assert "and 9 more trees" in text
    assert "<b>width" not in text
    assert "accuracy after each tree" in text
    assert "accuracy after each tree" not in forest.to_html()
    assert forest.to_html(tmp_path / "forest.html", max_trees=0).read_text().count('class="bosc-data"') == 0
    with pytest.raises(ValueError, match="max_trees=-1"):
        forest.to_html(max_trees=-1)
    assert "12 trees" in forest._repr_html_()
    assert "trees, of which" not in ForestClassifier(2)._repr_html_()
