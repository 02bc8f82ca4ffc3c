"""Leaves of numbers against slow, plain references: means, medians, shrinkage, ridge regressions, soft tests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boscage import Constant, Mean, Median, RidgeLeaf, TopDownTreeRegressor
from boscage.leaves._numbers import weighted_quantile

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


def ridge_reference(X, r, w, inherited=0.0, l2=None, price=1.25):
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
    tree = TopDownTreeRegressor(leaf=RidgeLeaf(l2, clip=False), max_leaf_nodes=1).fit(X, y, sample_weight=weight)
    constant, slopes, _ = ridge_reference(X, y, weight, l2=None if l2 == "auto" else l2)
    np.testing.assert_allclose(tree.tree_.leaf_models.coef[0, 0], slopes, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(tree.predict(X), constant + X @ slopes, rtol=1e-7)


def test_leaves_correct_the_models_of_their_ancestors(rows):
    X, y = rows
    tree = TopDownTreeRegressor(leaf=RidgeLeaf(clip=False), max_depth=1).fit(X, y)
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
    tree = TopDownTreeRegressor(leaf=RidgeLeaf(clip=False), max_leaf_nodes=2).fit(X, y).tree_
    constant, slopes, _ = ridge_reference(X, y, np.ones(200))
    left_over = y - constant - X @ slopes
    found = {
        (column, t): two_sided_loss(X, left_over, X[:, column] <= t, 3.0)
        for column in range(3)
        for t in np.arange(0.5, 11)
        if 10 <= (X[:, column] <= t).sum() <= 190
    }
    assert (int(tree.feature[0]), float(tree.threshold[0])) == min(found, key=found.get) == (1, 4.5)


def test_pruning_leaves_one_model_where_one_is_enough(rng):
    X = rng.normal(size=(500, 4))
    y = X @ [1.0, -2.0, 0.0, 0.5] + rng.normal(size=500)
    tree = TopDownTreeRegressor(leaf="linear").fit(X, y)
    assert tree.get_n_leaves() == 1
    fresh = rng.normal(size=(500, 4))
    assert np.abs(tree.predict(fresh) - fresh @ [1.0, -2.0, 0.0, 0.5]).mean() < 0.2


def test_predictions_stay_in_the_range_of_the_leaf(rows):
    X, y = rows
    tree = TopDownTreeRegressor(leaf="linear", max_leaf_nodes=8).fit(X, y)
    far = np.vstack([X * 100, -X * 1e200])
    leaf, found = tree.apply(far), tree.predict(far)
    seen = tree.apply(X)
    for node in np.unique(leaf):
        assert y[seen == node].min() - 1e-9 <= found[leaf == node].min()
        assert found[leaf == node].max() <= y[seen == node].max() + 1e-9
    free = TopDownTreeRegressor(leaf=RidgeLeaf(clip=False), max_leaf_nodes=8).fit(X, y).predict(far)
    assert np.isfinite(free).all()
    assert np.abs(free).max() > np.abs(y).max()


def test_limits_are_kept(rows):
    X, y = rows
    for settings in ({"max_depth": 2}, {"max_leaf_nodes": 5}, {"min_samples_leaf": 60}):
        tree = TopDownTreeRegressor(leaf="linear", **settings).fit(X, y)
        assert tree.get_depth() <= settings.get("max_depth", 99)
        assert tree.get_n_leaves() <= settings.get("max_leaf_nodes", 99)
        assert tree.tree_.n_node_samples.min() >= settings.get("min_samples_leaf", 1)
    assert TopDownTreeRegressor(leaf="linear", min_impurity_decrease=1e9).fit(X, y).get_n_leaves() == 1
    assert TopDownTreeRegressor(leaf="linear", ccp_alpha=1e9).fit(X, y).get_n_leaves() == 1


def test_several_outputs_have_a_model_each(rows):
    X, y = rows
    Y = np.column_stack([y, X[:, 0] - y])
    tree = TopDownTreeRegressor(leaf="linear", max_leaf_nodes=4).fit(X, Y)
    assert tree.tree_.leaf_models.coef.shape == (tree.get_n_leaves(), 2, 3)
    assert tree.score(X, Y) > 0.98


def test_sparse_rows_give_the_same_models(rng):
    from scipy import sparse

    X = np.where(rng.random((200, 4)) < 0.5, rng.normal(size=(200, 4)), 0.0)
    y = X[:, 0] * np.sign(X[:, 1]) + X[:, 2]
    dense = TopDownTreeRegressor(leaf="linear", max_leaf_nodes=6).fit(X, y)
    thin = TopDownTreeRegressor(leaf="linear", max_leaf_nodes=6).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), dense.predict(X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"l2": -1.0}, r"RidgeLeaf.l2=-1.0 is not allowed. Pass a finite number >= 0, or 'auto'"),
        ({"blend": "yes"}, "RidgeLeaf.blend='yes' is not allowed"),
        ({"grow": 1}, "RidgeLeaf.grow=1 is not allowed"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message, rows):
    with pytest.raises(ValueError, match=message):
        TopDownTreeRegressor(leaf=RidgeLeaf(**settings)).fit(*rows)


# --- soft tests -------------------------------------------------------------------------------------------------------


def test_blended_trees_are_continuous_and_fit_smooth_functions_better(rng):
    X = rng.normal(size=(400, 3))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    hard = TopDownTreeRegressor(leaf="linear", max_leaf_nodes=6).fit(X, y)
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
    hard = TopDownTreeRegressor(leaf=RidgeLeaf(clip=False), max_leaf_nodes=3).fit(X, y)
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


def test_validation_keeps_hard_tests_where_they_are_right(rng):
    X = rng.uniform(-1, 1, (600, 2))
    y = np.where(X[:, 0] > 0.2, 10.0, 0.0) + X[:, 1]
    tree = TopDownTreeRegressor(leaf=RidgeLeaf(blend="auto"), random_state=0).fit(X, y)
    assert tree.tree_.routing == "hard"
    smooth = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    assert TopDownTreeRegressor(leaf=RidgeLeaf(blend="auto"), random_state=0).fit(X, smooth).tree_.is_soft


def test_median_leaf_has_a_name():
    assert TopDownTreeRegressor(leaf=Median()).fit([[0.0]], [1.0]).predict([[0.0]]) == 1.0


def test_given_trees_get_the_same_models_as_grown_ones(rows):
    X, y = rows
    model = TopDownTreeRegressor(leaf="linear", max_leaf_nodes=6).fit(X, y)
    for kind in (model, TopDownTreeRegressor(leaf=RidgeLeaf(blend=0.1), max_leaf_nodes=6).fit(X, y)):
        again = kind.edit(X, y).refit_leaves().tree
        assert again.routing == kind.tree_.routing
        if kind is model:
            np.testing.assert_allclose(again.leaf_models.coef, kind.tree_.leaf_models.coef, rtol=1e-6, atol=1e-9)
        else:
            assert kind.edit(X, y).refit_leaves().estimator.score(X, y) > 0.9
