"""Trees and forests of any finite numbers: rows, weights and targets from the whole range of floats.

The same as test_numbers.py for targets that are numbers and for forests; ``BOSCAGE_EXAMPLES`` sets the number of cases.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.base import clone

import boscage
from boscage import (
    Axis,
    Constant,
    ForestClassifier,
    ForestRegressor,
    Gamma,
    Householder,
    Polish,
    Quantile,
    RefitLeaves,
    RidgeLeaf,
    StochasticLinear,
    TopDownTreeRegressor,
    Tweedie,
    WeightedOblique,
)
from strategies import wide_data, wide_numbers, wide_rows
from test_numbers import SETTINGS

FEWER = settings(SETTINGS, max_examples=max(1, SETTINGS.max_examples // 2))
BY_SUMS = ("squared_error", "poisson", Gamma(), Tweedie(1.5))
BY_RANKS = ("absolute_error", Quantile(0.1))
CONSTANTS = ("constant", "mean", "median", Constant(shrinkage=10.0))
LINEAR = (
    "linear",
    RidgeLeaf(0.0, grow=False, blend=0),
    RidgeLeaf(clip=False),
    RidgeLeaf(blend=0.1),
    RidgeLeaf(blend=0.2, refine=True),
)
# family: criteria, leaves
FAMILIES = {
    "axis": (Axis(), BY_SUMS + BY_RANKS, CONSTANTS + LINEAR),
    "axis, bins": (Axis(max_bins=16), BY_SUMS + BY_RANKS, CONSTANTS),
    "oc1": ("oc1", BY_SUMS, CONSTANTS + LINEAR),
    "cart_lc": ("cart_lc", BY_SUMS, CONSTANTS + LINEAR),
    "hhcart": ("hhcart", BY_SUMS[:1], CONSTANTS + LINEAR),
    "wodt": ("wodt", BY_SUMS[:1], CONSTANTS),
    "oblique, look-ahead": (WeightedOblique(lookahead=True), BY_SUMS[:1], CONSTANTS),
    "hhcart, look-ahead": (Householder(lookahead=True), BY_SUMS[:1], CONSTANTS),
    "stochastic": (StochasticLinear(), BY_SUMS[:1], CONSTANTS),
    "stochastic, look-ahead": (StochasticLinear(lookahead=True), BY_SUMS[:1], ("mean", Constant(joint=True))),
}
FORESTS = {
    "mixed": ("mixed", BY_SUMS, CONSTANTS + LINEAR[:2]),
    "axis": ("axis", BY_SUMS + BY_RANKS, CONSTANTS),
}


def draw_job(rng, n, family):
    """A criterion and a leaf of the family, and numbers they can take; sometimes two outputs."""
    splits, criteria, leaves = family
    criterion, leaf = criteria[rng.integers(len(criteria))], leaves[rng.integers(len(leaves))]
    is_positive = criterion == "poisson" or isinstance(criterion, (Gamma, Tweedie))
    y = wide_numbers(rng, n, positive=is_positive)
    if criterion == "squared_error" and rng.random() < 0.3:
        y = np.column_stack([y, wide_numbers(rng, n)])
    parts = {"splits": splits, "criterion": criterion, "leaf": leaf, "max_leaf_nodes": 6, "random_state": 0}
    return y, parts


def check_model(model, X, y, leaf, folder):
    """Finite numbers on rows seen and unseen, in the range of y where leaves are constants, and in a file too.

    The leaves of soft trees are fitted jointly: predictions are in the range of the leaves.
    """
    trees = model.trees_ if hasattr(model, "trees_") else [model.tree_]
    for tree in trees:
        tree.check()
    found = model.predict(X)
    assert np.isfinite(found).all()
    assert np.isfinite(model.feature_importances_).all()
    if leaf in CONSTANTS:
        leaves = np.vstack([tree.leaf_proba for tree in trees])
        bounds = leaves.reshape(-1, *y.shape[1:]) if any(tree.is_soft for tree in trees) else y
        low, high = bounds.min(axis=0), bounds.max(axis=0)
        room = 1e-12 * np.maximum(np.abs(low), np.abs(high))
        assert ((found >= low - room) & (found <= high + room)).all()
    unseen = np.random.default_rng(0).uniform(-1, 1, (8, X.shape[1])) * np.finfo(X.dtype).max
    assert np.isfinite(model.predict(unseen.astype(X.dtype))).all()
    model.save(folder / "model.boscage")
    np.testing.assert_array_equal(boscage.load(folder / "model.boscage").predict(X), found)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_fit_of_numbers_gives_a_whole_tree(family, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")

    @SETTINGS
    @given(wide_data())
    def check(problem):
        X, _, w, rng = problem
        y, parts = draw_job(rng, len(X), FAMILIES[family])
        model = TopDownTreeRegressor(**parts).fit(X, y, sample_weight=w)
        check_model(model, X, y, parts["leaf"], folder)
        assert np.isfinite(model.trajectory_["error"]).all()
        assert TopDownTreeRegressor(**parts, n_jobs=2).fit(X, y, sample_weight=w).tree_ == model.tree_
        if model.tree_.routing == "hard":
            counts = np.bincount(model.apply(X), minlength=model.tree_.node_count)
            leaves = model.tree_.is_leaf
            np.testing.assert_array_equal(counts[leaves], model.tree_.n_node_samples[leaves])

    check()


@pytest.mark.parametrize("seed", [161, 235, 642])
def test_losses_on_rows_held_out_that_overflow_count_as_the_worst(seed):
    """Linear leaves of these rows predict enormous numbers for rows that were held out; weights are enormous too."""
    (X, _, w), rng = wide_rows(seed), np.random.default_rng(seed)
    y, parts = draw_job(rng, len(X), FAMILIES["axis"])
    assert parts["leaf"] == "linear"
    model = TopDownTreeRegressor(**parts).fit(X, y, sample_weight=w)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("splits", ["oc1", "hhcart"])
@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_polished_trees_of_numbers_are_whole_too(splits, mode, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")

    @FEWER
    @given(wide_data())
    def check(problem):
        X, _, w, rng = problem
        y = wide_numbers(rng, len(X))
        parts = {"splits": splits, "max_leaf_nodes": 4, "random_state": 0, "polish": Polish(mode, epochs=3)}
        check_model(TopDownTreeRegressor(**parts).fit(X, y, sample_weight=w), X, y, "polished", folder)

    check()


@pytest.mark.parametrize("family", FORESTS)
def test_every_fit_gives_a_whole_forest_of_numbers(family, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")

    @FEWER
    @given(wide_data())
    def check(problem):
        X, _, w, rng = problem
        y, parts = draw_job(rng, len(X), FORESTS[family])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # rows that no tree has left out
            model = ForestRegressor(3, oob_score=True, **parts).fit(X, y, sample_weight=w)
        check_model(model, X, y, parts["leaf"], folder)

    check()


@pytest.mark.parametrize("splits", ["mixed", "axis", "wodt", "stochastic"])
def test_every_fit_gives_a_whole_forest_of_classes(splits, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")

    @FEWER
    @given(wide_data())
    def check(problem):
        X, y, w, _ = problem
        model = ForestClassifier(3, splits, max_leaf_nodes=6, random_state=0).fit(X, y, sample_weight=w)
        for tree in model.trees_:
            tree.check()
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-6)
        assert (proba >= 0).all()
        assert np.isfinite(model.feature_importances_).all()
        model.save(folder / "m")
        np.testing.assert_array_equal(boscage.load(folder / "m").predict_proba(X), proba)

    check()


@pytest.mark.parametrize("splits", ["mixed", "axis", "oc1"])
@pytest.mark.parametrize("forest", [ForestClassifier, ForestRegressor])
def test_leaves_fitted_together_are_whole(forest, splits, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m"

    @FEWER
    @given(wide_data())
    def check(problem):
        X, y, w, rng = problem
        if forest is ForestRegressor:
            y = wide_numbers(rng, len(X))
            if rng.random() < 0.3:
                y = np.column_stack([y, wide_numbers(rng, len(X))])
        l2 = float(10.0 ** rng.integers(-307, 308)) if rng.random() < 0.5 else float(10.0 ** rng.integers(-3, 4))
        parts = {"max_leaf_nodes": 5, "refit": RefitLeaves(l2), "random_state": 0}
        model = forest(3, splits, **parts).fit(X, y, sample_weight=w)
        for tree in model.trees_:
            tree.check()
        predict = "predict" if forest is ForestRegressor else "predict_proba"
        found = getattr(model, predict)(X)
        assert np.isfinite(found).all()
        if forest is ForestClassifier:
            np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-9)
        model.save(path)
        np.testing.assert_array_equal(getattr(boscage.load(path), predict)(X), found)
        again = forest(3, splits, **parts, n_jobs=2).fit(X, y, sample_weight=w)
        np.testing.assert_array_equal(getattr(again, predict)(X), found)

    check()


@pytest.mark.parametrize("exponent", [-150, 150])
@pytest.mark.parametrize("l2", [1e-300, 1e300])
def test_any_strength_goes_with_any_weights(l2, exponent, rng):
    X, w = rng.normal(size=(60, 2)), rng.random(60) * 10.0**exponent
    for forest, y in ((ForestClassifier, X[:, 0] > 0), (ForestRegressor, X[:, 0])):
        model = forest(3, refit=RefitLeaves(l2), random_state=0).fit(X, y, sample_weight=w)
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("family", ["axis, bins", "stochastic"])
def test_batches_of_numbers_give_the_same_bytes(family):
    @FEWER
    @given(wide_data())
    def check(problem):
        X, _, w, rng = problem
        y, parts = draw_job(rng, len(X), (*FAMILIES[family][:2], ("constant",)))
        if parts["criterion"] in BY_RANKS:
            parts["criterion"] = "squared_error"
        arrays = (X, y) if w is None else (X, y, w)
        cut = len(y) // 2
        batches = [tuple(a[part] for a in arrays) for part in (slice(cut), slice(cut, None)) if len(y[part])]
        tree = TopDownTreeRegressor(**parts).fit_batches(batches).tree_
        assert tree == TopDownTreeRegressor(**parts).fit(X, y, sample_weight=w).tree_

    check()


@pytest.mark.parametrize("exponent", [-900, -60, 60, 900])
@pytest.mark.parametrize("splits", ["axis", "oc1", "cart_lc", "stochastic"])
def test_targets_times_powers_of_two_scale_predictions(splits, exponent, rng):
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    parts = {"splits": splits, "max_leaf_nodes": 8, "random_state": 0}
    plain = TopDownTreeRegressor(**parts).fit(X, y)
    scaled = TopDownTreeRegressor(**parts).fit(X, np.ldexp(y, exponent))
    np.testing.assert_array_equal(scaled.tree_.threshold, plain.tree_.threshold)
    np.testing.assert_array_equal(scaled.predict(X), np.ldexp(plain.predict(X), exponent))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("exponent", [-990, 990])
@pytest.mark.parametrize(
    "model", [TopDownTreeRegressor(max_leaf_nodes=8), ForestRegressor(9, random_state=0)], ids=repr
)
def test_scores_do_not_depend_on_the_size_of_targets_and_weights(model, exponent, rng, monkeypatch):
    X, w = rng.normal(size=(80, 3)), rng.random(80) + 0.5
    y = np.column_stack([X[:, 0], X[:, 1] * 1e-3])
    wanted, found = model.fit(X, y).score(X, y, w), model.predict(X)
    assert 0.5 < wanted < 1
    monkeypatch.setattr(model, "predict", lambda X: np.ldexp(found, [exponent, -exponent]))
    assert model.score(X, np.ldexp(y, [exponent, -exponent]), np.ldexp(w, 1022)) == wanted


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("exponent", [-1000, 990])
def test_an_edit_reports_errors_of_any_size(exponent, rng):
    X, w = rng.normal(size=(80, 3)), rng.random(80)
    tree = TopDownTreeRegressor(max_leaf_nodes=8)
    plain = tree.fit(X, X[:, 0]).edit(X, X[:, 0], w).prune(1).report
    y = np.ldexp(X[:, 0], exponent)
    scaled = tree.fit(X, y).edit(X, y, np.ldexp(w, 1023)).prune(1).report
    assert scaled.accuracy_before == np.ldexp(plain.accuracy_before, exponent) > 0
    assert scaled.accuracy_after == np.ldexp(plain.accuracy_after, exponent) > scaled.accuracy_before


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_weighted_oblique_trees_of_large_numbers_warn_of_nothing(rng):
    X = rng.normal(size=(40, 2))
    TopDownTreeRegressor("oblique", max_leaf_nodes=4).fit(X, 1e299 * X[:, 0], sample_weight=np.full(40, 1e9))


@pytest.mark.parametrize("constant", [0.0, 1.0, 1e300, 5e-324])
@pytest.mark.parametrize("estimator", [TopDownTreeRegressor(), ForestRegressor(5, "axis", random_state=0)], ids=repr)
def test_a_constant_output_does_not_disturb_the_others(estimator, constant, rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(float)
    alone = clone(estimator).fit(X, y).predict(X)
    both = clone(estimator).fit(X, np.column_stack([y, np.full(60, constant)])).predict(X)
    np.testing.assert_array_equal(both[:, 0], alone)
    assert (both[:, 1] == constant).all()


def test_an_output_far_narrower_than_another_stays_in_its_range(rng):
    X = rng.normal(size=(40, 2))
    y = np.column_stack([1e300 * np.sign(X[:, 0]), 1e-300 * X[:, 1]])
    found = TopDownTreeRegressor().fit(X, y).predict(X)
    np.testing.assert_array_equal(found[:, 0], y[:, 0])
    assert (found[:, 1] >= y[:, 1].min()).all()
    assert (found[:, 1] <= y[:, 1].max()).all()


@pytest.mark.parametrize("exponent", [-996, -565, 531, 996])
@pytest.mark.parametrize(
    "leaf", [RidgeLeaf(blend=0), RidgeLeaf(blend=0.1), RidgeLeaf(blend=0.2, refine=True)], ids=repr
)
def test_linear_leaves_of_numbers_do_not_depend_on_the_size_of_columns(leaf, exponent, rng):
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] > 0, X @ [1, 2, -1], X[:, 1])
    tree = TopDownTreeRegressor(leaf=leaf, random_state=0)
    plain, scaled = tree.fit(X, y).predict(X), np.ldexp(X, exponent)
    np.testing.assert_allclose(tree.fit(scaled, y).predict(scaled), plain, rtol=1e-12)


def test_a_leaf_whose_slope_is_no_float_predicts_its_mean(rng):
    X = rng.normal(size=(60, 1)) * 1e-200
    y = 1e200 * np.sign(X[:, 0])
    model = TopDownTreeRegressor(leaf=RidgeLeaf(clip=False), max_leaf_nodes=2).fit(X, y)
    assert np.isfinite(model.tree_.leaf_models.coef).all()
    assert np.isfinite(model.predict(X)).all()


def test_a_file_keeps_the_quantile(tmp_path, rng):
    X = rng.normal(size=(30, 2))
    TopDownTreeRegressor(criterion=Quantile(0.9)).fit(X, X[:, 0]).save(tmp_path / "m")
    assert boscage.load(tmp_path / "m").criterion == Quantile(0.9)
