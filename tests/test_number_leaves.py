"""Leaves of numbers against slow, plain references: means, medians, shrinkage, ridge regressions, soft tests."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from boscage import Constant, Mean, Median, RidgeLeaf, TopDownTreeRegressor, _core
from boscage.leaves._numbers import weighted_quantile

HARD = RidgeLeaf(blend=0)
HARD_FREE = RidgeLeaf(blend=0, clip=False)
STRENGTHS = 10.0 ** np.arange(-3.0, 4.01, 0.5)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3)) * [1.0, 20.0, 0.1] + [0.0, 100.0, 5.0]
    y = np.where(X[:, 0] > 0.3, X[:, 1], 200 - X[:, 1]) + 30 * X[:, 2] + rng.normal(size=400)
    return X, y


# --- one number in each leaf ------------------------------------------------------------------------------------------


@given(
    y=st.lists(st.integers(-5, 5), min_size=1, max_size=9),
    seed=st.integers(0, 99),
    q=st.sampled_from([0.1, 0.25, 0.5, 0.9]),
)
def test_weighted_quantiles_are_those_of_repeated_numbers(y, seed, q):
    weight = np.random.default_rng(seed).integers(1, 4, len(y)).astype(float)
    repeated = np.repeat(np.array(y, float), weight.astype(int))
    expected = np.quantile(repeated, q, method="averaged_inverted_cdf")
    assert weighted_quantile(np.array(y, float), weight, q) == pytest.approx(expected)


def test_medians_and_means_of_leaves_whatever_the_criterion(rows):
    X, y = rows
    tree = TopDownTreeRegressor(max_leaf_nodes=4, leaf="median").fit(X, y)
    leaf = tree.apply(X)
    for node in np.unique(leaf):
        np.testing.assert_allclose(tree.predict(X[leaf == node]), np.median(y[leaf == node]))
    same = TopDownTreeRegressor(max_leaf_nodes=4, leaf="mean").fit(X, y)
    np.testing.assert_array_equal(same.predict(X), TopDownTreeRegressor(max_leaf_nodes=4).fit(X, y).predict(X))


def test_shrinkage_is_the_sum_along_the_path(rows):
    X, y = rows
    plain = TopDownTreeRegressor(max_leaf_nodes=6).fit(X, y).tree_
    for leaf in (Constant(25.0), Mean(25.0)):
        tree = TopDownTreeRegressor(max_leaf_nodes=6, leaf=leaf).fit(X, y).tree_
        for place, node in enumerate(plain.leaves.tolist()):
            total, up = 0.0, node
            while (parent := int(plain.parent[up])) >= 0:
                step = plain.value[up, 0] - plain.value[parent, 0]
                total += step / (1 + 25.0 / plain.weighted_n_node_samples[parent])
                up = parent
            assert tree.leaf_value[place, 0] == pytest.approx(plain.value[0, 0] + total)


def test_shrinkage_by_validation_helps_noise(rng):
    X, y = rng.normal(size=(300, 5)), rng.normal(size=300)
    free = TopDownTreeRegressor(random_state=0).fit(X, y)
    auto = TopDownTreeRegressor(random_state=0, leaf=Constant("auto")).fit(X, y)
    fresh, truth = rng.normal(size=(500, 5)), rng.normal(size=500)
    assert auto.score(fresh, truth) > free.score(fresh, truth) + 0.3


# --- ridge regressions ------------------------------------------------------------------------------------------------


def ridge_reference(X, r, w, inherited=0.0, l2=None, price=1.0):
    """Ridge regression of r with the strength of least cross-validated loss: constant, slopes, parameters."""
    n = w.sum()
    mean = np.average(X, axis=0, weights=w)
    Z = X - mean
    spread = np.sqrt(np.average(Z**2, axis=0, weights=w))
    Z = np.divide(Z, spread, out=np.zeros_like(Z), where=spread > 0)
    middle = np.average(r, weights=w)
    df = inherited + 1
    best = (np.average((r - middle) ** 2, weights=w) / (1 - price * df / n) ** 2, np.zeros(X.shape[1]), df)
    for strength in STRENGTHS if l2 is None else [l2]:
        A = (Z * w[:, None]).T @ Z + strength * np.eye(X.shape[1])
        slopes = np.linalg.solve(A, (Z * w[:, None]).T @ (r - middle))
        df = inherited + 1 + np.trace(np.linalg.solve(A, (Z * w[:, None]).T @ Z))
        loss = np.average((r - middle - Z @ slopes) ** 2, weights=w) / (1 - price * df / n) ** 2
        if loss < best[0] or l2 is not None:
            best = (loss, np.divide(slopes, spread, out=np.zeros_like(slopes), where=spread > 0), df)
    return middle - best[1] @ mean, best[1], best[2]


@pytest.mark.parametrize("l2", ["auto", 5.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_leaf_is_a_ridge_regression(rows, l2, weighted, rng):
    X, y = rows
    weight = rng.integers(1, 5, len(y)).astype(float) if weighted else np.ones(len(y))
    leaf = RidgeLeaf(l2, blend=0, clip=False)
    tree = TopDownTreeRegressor(leaf=leaf, max_leaf_nodes=1).fit(X, y, sample_weight=weight)
    constant, slopes, _ = ridge_reference(X, y, weight, l2=None if l2 == "auto" else l2)
    np.testing.assert_allclose(tree.tree_.leaf_models.coef[0, 0], slopes, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(tree.predict(X), constant + X @ slopes, rtol=1e-7)


def test_leaves_correct_the_models_of_their_ancestors(rows):
    X, y = rows
    tree = TopDownTreeRegressor(leaf=HARD_FREE, max_depth=1).fit(X, y)
    assert tree.get_n_leaves() == 2
    ones = np.ones(len(y))
    constant, slopes, df = ridge_reference(X, y, ones)
    left_over = y - constant - X @ slopes
    leaf = tree.apply(X)
    for node in (1, 2):
        mine = leaf == node
        more, steps, _ = ridge_reference(X[mine], left_over[mine], ones[mine], df * mine.mean())
        expected = constant + more + X[mine] @ (slopes + steps)
        np.testing.assert_allclose(tree.predict(X[mine]), expected, rtol=1e-6)


def two_sided_loss(X, r, goes_left, l2):
    """What is left of r when both sides get a ridge regression on the node's standardised columns."""
    U = np.column_stack([np.ones(len(r)), (X - X.mean(axis=0)) / X.std(axis=0)])
    total = 0.0
    for side in (goes_left, ~goes_left):
        A = U[side].T @ U[side] + np.diag([0.0] + [l2] * X.shape[1])
        b = U[side].T @ r[side]
        total -= b @ np.linalg.solve(A, b)
    return total


def test_the_first_test_is_the_best_for_two_models(rng):
    X = rng.integers(0, 12, (200, 3)).astype(float)  # few values, so that every threshold is tried
    y = np.where(X[:, 1] > 4, X[:, 0], -X[:, 0]) + 0.3 * X[:, 2] + 0.1 * rng.normal(size=200)
    tree = TopDownTreeRegressor(leaf=HARD_FREE, max_leaf_nodes=2).fit(X, y).tree_
    constant, slopes, _ = ridge_reference(X, y, np.ones(200))
    left_over = y - constant - X @ slopes
    found = {
        (column, t): two_sided_loss(X, left_over, X[:, column] <= t, 3.0)
        for column in range(3)
        for t in np.arange(0.5, 11)
        if 5 <= (X[:, column] <= t).sum() <= 195
    }
    assert (int(tree.feature[0]), float(tree.threshold[0])) == min(found, key=found.get) == (1, 4.5)


def test_pruning_leaves_one_model_where_one_is_enough(rng):
    X = rng.normal(size=(500, 4))
    y = X @ [1.0, -2.0, 0.0, 0.5] + rng.normal(size=500)
    tree = TopDownTreeRegressor(leaf=HARD).fit(X, y)
    assert tree.get_n_leaves() == 1
    fresh = rng.normal(size=(500, 4))
    assert np.abs(tree.predict(fresh) - fresh @ [1.0, -2.0, 0.0, 0.5]).mean() < 0.2


def test_predictions_stay_in_the_range_of_the_leaf(rows):
    X, y = rows
    tree = TopDownTreeRegressor(leaf=HARD, max_leaf_nodes=8).fit(X, y)
    far = np.vstack([X * 100, -X * 1e200])
    leaf, found = tree.apply(far), tree.predict(far)
    seen = tree.apply(X)
    for node in np.unique(leaf):
        assert y[seen == node].min() - 1e-9 <= found[leaf == node].min()
        assert found[leaf == node].max() <= y[seen == node].max() + 1e-9
    free = TopDownTreeRegressor(leaf=HARD_FREE, max_leaf_nodes=8).fit(X, y).predict(far)
    assert np.isfinite(free).all()
    assert np.abs(free).max() > np.abs(y).max()


def test_limits_are_kept(rows):
    X, y = rows
    for settings in ({"max_depth": 2}, {"max_leaf_nodes": 5}, {"min_samples_leaf": 60}):
        tree = TopDownTreeRegressor(leaf=HARD, **settings).fit(X, y)
        assert tree.get_depth() <= settings.get("max_depth", 99)
        assert tree.get_n_leaves() <= settings.get("max_leaf_nodes", 99)
        assert tree.tree_.n_node_samples.min() >= settings.get("min_samples_leaf", 1)
    assert TopDownTreeRegressor(leaf=HARD, min_impurity_decrease=1e9).fit(X, y).get_n_leaves() == 1
    assert TopDownTreeRegressor(leaf=HARD, ccp_alpha=1e9).fit(X, y).get_n_leaves() == 1


def test_several_outputs_have_a_model_each(rows):
    X, y = rows
    Y = np.column_stack([y, X[:, 0] - y])
    tree = TopDownTreeRegressor(leaf=HARD, max_leaf_nodes=4).fit(X, Y)
    assert tree.tree_.leaf_models.coef.shape == (tree.get_n_leaves(), 2, 3)
    assert tree.score(X, Y) > 0.98


def test_sparse_rows_give_the_same_models(rng):
    from scipy import sparse

    X = np.where(rng.random((200, 4)) < 0.5, rng.normal(size=(200, 4)), 0.0)
    y = X[:, 0] * np.sign(X[:, 1]) + X[:, 2]
    dense = TopDownTreeRegressor(leaf=HARD, max_leaf_nodes=6).fit(X, y)
    thin = TopDownTreeRegressor(leaf=HARD, max_leaf_nodes=6).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), dense.predict(X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"l2": -1.0}, r"RidgeLeaf.l2=-1.0 is not allowed. Pass a finite number >= 0, or 'auto'"),
        ({"blend": "yes"}, "RidgeLeaf.blend='yes' is not allowed"),
        ({"grow": 1}, "RidgeLeaf.grow=1 is not allowed"),
        ({"refine": "yes"}, "RidgeLeaf.refine='yes' is not allowed"),
        ({"blend": 0, "refine": True}, "RidgeLeaf.refine=True is not allowed. Pass False or 'auto' with blend=0"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message, rows):
    with pytest.raises(ValueError, match=message):
        TopDownTreeRegressor(leaf=RidgeLeaf(**settings)).fit(*rows)


# --- soft tests -------------------------------------------------------------------------------------------------------


def test_blended_trees_are_continuous_and_fit_smooth_functions_better(rng):
    X = rng.normal(size=(400, 3))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    hard = TopDownTreeRegressor(leaf=HARD, max_leaf_nodes=6).fit(X, y)
    soft = TopDownTreeRegressor(leaf=RidgeLeaf(blend=0.1), max_leaf_nodes=6).fit(X, y)
    assert soft.tree_.routing == "logistic"
    assert soft.get_n_leaves() == hard.get_n_leaves()
    fresh = rng.normal(size=(400, 3))
    truth = np.sin(2 * fresh[:, 0]) * fresh[:, 1] + fresh[:, 2] ** 2
    assert soft.score(fresh, truth) > hard.score(fresh, truth)
    node = int(np.flatnonzero(hard.tree_.feature >= 0)[0])
    column, threshold = int(hard.tree_.feature[node]), float(hard.tree_.threshold[node])
    pair = np.tile(X.mean(axis=0), (2, 1))
    pair[:, column] = threshold - 1e-9, threshold + 1e-9
    jump = [abs(np.subtract(*tree.predict(pair))) for tree in (hard, soft)]
    assert jump[1] < 1e-5 < jump[0]


def test_the_joint_fit_solves_the_normal_equations(rows):
    X, y = rows
    leaf = RidgeLeaf(blend=0.2, clip=False)
    hard = TopDownTreeRegressor(leaf=HARD_FREE, max_leaf_nodes=3).fit(X, y)
    soft = TopDownTreeRegressor(leaf=leaf, max_leaf_nodes=3).fit(X, y)
    tree = soft.tree_
    reach = soft.decision_path(X).toarray()[:, tree.leaves]
    reach = np.where(reach < 1e-3, 0.0, reach)
    reach /= reach.sum(axis=1, keepdims=True)
    home = hard.tree_.leaf_index[hard.apply(X)]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    blocks = []
    for place in range(tree.n_leaves):
        mine = Z[home == place]
        U = np.column_stack([np.ones(len(y)), (Z - mine.mean(axis=0)) / np.maximum(mine.std(axis=0), 0.02)])
        blocks.append(reach[:, [place]] * U)
    F = np.hstack(blocks)
    models = hard.tree_.leaf_models
    before = (reach * (X @ models.coef[:, 0].T + models.intercept[:, 0])).sum(axis=1)
    step = np.linalg.solve(F.T @ F + leaf.strength * np.eye(F.shape[1]), F.T @ (y - before))
    expected = before + F @ step
    found = (reach * (X @ tree.leaf_models.coef[:, 0].T + tree.leaf_models.intercept[:, 0])).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("refine", ["auto", False])
def test_validation_keeps_hard_tests_where_they_are_right(refine, rng):
    X = rng.uniform(-1, 1, (600, 2))
    y = np.where(X[:, 0] > 0.2, 10.0, 0.0) + X[:, 1]
    tree = TopDownTreeRegressor(leaf=RidgeLeaf(refine=refine))
    assert tree.fit(X, y).tree_.routing == "hard"
    soft = tree.fit(X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2).tree_
    assert soft.is_soft
    assert (np.count_nonzero(soft.weights, axis=1) > 1).any() == (refine == "auto")


# --- refined tests ----------------------------------------------------------------------------------------------------


def soft_problem(seed, outputs):
    """Rows, and a tree of three tests and four leaves where a refinement begins."""
    rng = np.random.default_rng(seed)
    return {
        "Z": rng.normal(size=(50, 3)),
        "y": rng.normal(size=(50, outputs)),
        "weight": rng.exponential(size=50),
        "tests": rng.normal(size=(3, 4)),
        "models": rng.normal(size=(4, outputs * 4)),
        "centre": rng.normal(size=(4, 3)),
        "spread": rng.uniform(0.5, 2, (4, 3)),
    }


def soft_predictions(p):
    """What the soft tree predicts, from its definition."""
    right = 1 / (1 + np.exp(-(p["tests"][:, 0] + p["Z"] @ p["tests"][:, 1:].T)))
    low, high = 1 - right[:, 0], right[:, 0]
    reach = [low * (1 - right[:, 1]), low * right[:, 1], high * (1 - right[:, 2]), high * right[:, 2]]
    total = 0.0
    for leaf, table in enumerate(p["models"].reshape(4, -1, 4)):
        local = (p["Z"] - p["centre"][leaf]) / p["spread"][leaf]
        total = total + reach[leaf][:, None] * (table[:, 0] + local @ table[:, 1:].T)
    return total


def soft_loss(p):
    return 0.5 * p["weight"] @ ((soft_predictions(p) - p["y"]) ** 2).sum(axis=1)


def soft_start(p):
    children = np.array([1, 3, 5, -1, -1, -1, -1], np.int32), np.array([2, 4, 6, -1, -1, -1, -1], np.int32)
    return _core.SoftStart(children, p["tests"], np.full(3, 0.3), p["models"], p["centre"], p["spread"])


@pytest.mark.parametrize("outputs", [1, 2])
def test_slopes_of_soft_trees_are_those_of_differences(outputs):
    p = soft_problem(5, outputs)
    data = _core.NumberRows(p["Z"], p["y"], p["weight"]), soft_start(p), _core.SoftSettings()
    loss, *slopes = _core.soft_slopes(*data, p["tests"], p["models"])
    assert loss == pytest.approx(soft_loss(p), rel=1e-5)  # reaches below 1e-6 are left out
    for name, found in zip(("tests", "models"), slopes):
        expected = np.empty_like(found)
        for place in np.ndindex(found.shape):
            sides = []
            for step in (1e-6, -1e-6):
                moved = p[name].copy()
                moved[place] += step
                sides.append(soft_loss(p | {name: moved}))
            expected[place] = (sides[0] - sides[1]) / 2e-6
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_refinement_lowers_the_penalised_loss_to_a_flat_place():
    p = soft_problem(9, 1)
    settings = _core.SoftSettings()
    settings.steps = 500
    rows = _core.NumberRows(p["Z"], p["y"], p["weight"])
    found = _core.fit_soft_tree(rows, soft_start(p), settings, 1, None)
    assert (np.diff(found["losses"]) <= 0).all()

    def penalised(q):
        tests = 0.5 * settings.test_l2 * (((q["tests"] - p["tests"]) / 0.3) ** 2).sum()
        return soft_loss(q) + tests + 0.5 * settings.model_l2 * ((q["models"] - p["models"]) ** 2).sum()

    best = p | {name: found[name] for name in ("tests", "models")}
    assert penalised(best) == pytest.approx(found["losses"][-1], rel=1e-5)
    rng = np.random.default_rng(0)
    for _ in range(100):
        near = {name: best[name] + 1e-2 * rng.normal(size=best[name].shape) for name in ("tests", "models")}
        assert penalised(best | near) > penalised(best)


def test_refined_trees_fit_slanted_steps(rng):
    X, fresh = rng.normal(size=(800, 3)), rng.normal(size=(800, 3))
    target = lambda X: np.tanh(2 * (X[:, 0] + X[:, 1])) * X[:, 2]  # noqa: E731
    model = TopDownTreeRegressor(leaf=RidgeLeaf(blend=0.2, refine=True), max_leaf_nodes=12)
    plain = TopDownTreeRegressor(leaf=RidgeLeaf(blend=0.2, refine=False), max_leaf_nodes=12)
    errors = [1 - tree.fit(X, target(X)).score(fresh, target(fresh)) for tree in (model, plain)]
    assert errors[0] < 0.8 * errors[1]


def test_ranges_follow_the_rows_that_moved(rng):
    X = rng.normal(size=(600, 2))
    y = 50 * (X.sum(axis=1) > 0) + rng.normal(size=600)
    tree = TopDownTreeRegressor(leaf=RidgeLeaf(blend=0.2, refine=True), max_leaf_nodes=8).fit(X, y)
    assert tree.tree_.is_soft
    models, reach = tree.tree_.leaf_models, tree.decision_path(X).toarray()[:, tree.tree_.leaves]
    for leaf in range(tree.get_n_leaves()):
        mine = y[reach[:, leaf] > 0.11]
        assert (models.low[leaf, 0] <= mine).all()
        assert (models.high[leaf, 0] >= mine).all()
    far = tree.predict(1e3 * X)
    assert y.min() - 1e-9 <= far.min()
    assert far.max() <= y.max() + 1e-9


def test_median_leaf_has_a_name():
    assert TopDownTreeRegressor(leaf=Median()).fit([[0.0]], [1.0]).predict([[0.0]]) == 1.0


def test_given_trees_get_the_same_models_as_grown_ones(rows):
    X, y = rows
    model = TopDownTreeRegressor(leaf=HARD, max_leaf_nodes=6).fit(X, y)
    for kind in (model, TopDownTreeRegressor(leaf=RidgeLeaf(blend=0.1), max_leaf_nodes=6).fit(X, y)):
        again = kind.edit(X, y).refit_leaves().tree
        assert again.routing == kind.tree_.routing
        if kind is model:
            np.testing.assert_allclose(again.leaf_models.coef, kind.tree_.leaf_models.coef, rtol=1e-6, atol=1e-9)
        else:
            assert kind.edit(X, y).refit_leaves().estimator.score(X, y) > 0.9


def test_soft_tree_that_misses_its_own_rows_is_not_kept():
    # Columns with long tails: a joint fit of all tests and models may end far from the rows.
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(400, 4)) * 2)
    y = np.where(X[:, 0] > 1, np.log(X[:, 1]), np.minimum(X[:, 2], 50)) + 0.1 * rng.normal(size=400)
    hard = TopDownTreeRegressor(leaf=RidgeLeaf(blend=0)).fit(X, y)
    error = np.mean((hard.predict(X) - y) ** 2)
    for blend in (0.1, 0.4, 0.8):
        soft = TopDownTreeRegressor(leaf=RidgeLeaf(blend=blend, refine=True)).fit(X, y)
        assert np.mean((soft.predict(X) - y) ** 2) <= 2 * error * (1 + 1e-9)


@pytest.mark.parametrize("leaf", [RidgeLeaf(blend=0), RidgeLeaf(blend=0.2, refine=False)])
def test_rows_of_weight_two_are_rows_twice_for_categories_too(leaf, rng):
    X = pd.DataFrame({"c": pd.Categorical(rng.choice(list("abcdefghijklmnopqrst"), 120)), "x": rng.normal(size=120)})
    y = X["c"].cat.codes % 5 + rng.normal(size=120)
    tree = TopDownTreeRegressor(leaf=leaf, max_leaf_nodes=4)
    weighted = clone(tree).fit(X, y, sample_weight=np.full(120, 2.0))
    repeated = clone(tree).fit(pd.concat([X, X]), pd.concat([y, y]))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)
