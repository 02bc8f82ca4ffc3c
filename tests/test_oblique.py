"""HHCART, OC1, CART-LC and CO2: searches against plain references, and what must not change their trees."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning

from boscage import TopDownTreeClassifier, load
from boscage.criteria import Entropy, Gini
from boscage.datasets import load_dataset
from boscage.splits import CO2, OC1, Axis, CartLC, Householder
from reference_oblique import best_cut, best_step, bound, reflections, standardise

SETTINGS = settings(derandomize=True, deadline=None, max_examples=25)
FAMILIES = [
    Householder(),
    OC1(n_restarts=3),
    OC1(init="random", n_restarts=3, order="best"),
    OC1(n_restarts=2, order="random"),
    CartLC(),
    CartLC(init="random", elimination=0),
    CO2(),
    CO2(init="random", recut=False),
]
all_families = pytest.mark.parametrize("splits", FAMILIES, ids=repr)


def fit(splits, X, y, w=None, **parameters):
    return TopDownTreeClassifier(splits=splits, random_state=0, **parameters).fit(X, y, sample_weight=w)


def root_drop(tree):
    """Weighted impurity before and after the first split, times the root's weight."""
    t = tree.tree_
    mass = t.weighted_n_node_samples * t.impurity
    return mass[0] - mass[t.children_left[0]] - mass[t.children_right[0]]


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, d, k = draw(st.integers(8, 60)), draw(st.integers(1, 4)), draw(st.integers(2, 4))
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    if draw(st.booleans()):
        X = np.round(X)
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    w = rng.exponential(size=n) if draw(st.booleans()) else np.ones(n)
    return X, y, w, draw(st.sampled_from([Gini(), Entropy()]))


@SETTINGS
@given(problems())
def test_householder_finds_the_best_cut_of_all_reflections(problem):
    X, y, w, criterion = problem
    if (np.ptp(X, axis=0) == 0).any():
        return
    tree = fit(Householder(), X, y, w, criterion=criterion, max_depth=1)
    Z = standardise(X, w)
    directions = np.vstack([np.eye(X.shape[1]), *reflections(Z, y, w)])
    best = max(best_cut(Z @ direction, y, w, criterion) for direction in directions)
    assert root_drop(tree) == pytest.approx(best, rel=1e-6, abs=1e-9)


@SETTINGS
@given(problems(), st.sampled_from([OC1(n_restarts=1, n_jumps=0, order="best"), CartLC(elimination=0, tol=0)]))
def test_coordinate_searches_end_where_no_coefficient_helps(problem, splits):
    X, y, w, criterion = problem
    if len(y) < 2 * X.shape[1] or (np.ptp(X, axis=0) == 0).any():
        return
    tree = fit(splits, X, y, w, criterion=criterion, max_depth=1)
    axis = fit(Axis(), X, y, w, criterion=criterion, max_depth=1)
    assert root_drop(tree) >= root_drop(axis) - 1e-9
    t = tree.tree_
    if t.feature[0] >= 0:
        theta, threshold = np.eye(X.shape[1])[t.feature[0]], t.threshold[0]
    else:
        theta, threshold = t.weights[0], t.threshold[0]
    scores = X @ theta - threshold
    for column in X.T:
        further = best_step(scores, column - np.average(column, weights=w), y, w, criterion)
        # The walk may rest on a plateau that the cut then leaves, or go around its twentieth cycle: rarely, and a bit.
        assert further <= 1.05 * root_drop(tree) + 1e-9


def test_oc1_is_no_worse_than_its_starts_and_sees_an_oblique_plane(rng):
    X = rng.normal(size=(500, 5))
    y = (X @ [1, -1, 0.5, 0, 2] > 0.3).astype(int)
    drops = [root_drop(fit(OC1(n_restarts=n), X, y, max_depth=1)) for n in (1, 4, 16)]
    assert drops == sorted(drops)
    assert fit(OC1(), X, y).get_n_leaves() <= 6
    assert fit(Axis(), X, y).get_n_leaves() > 20


def test_cart_lc_takes_out_columns_that_hardly_matter(rng):
    X = rng.normal(size=(400, 8))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    kept = fit(CartLC(), X, y, max_depth=1).tree_.weights[0]
    everything = fit(CartLC(elimination=0), X, y, max_depth=1).tree_.weights[0]
    assert (kept != 0).sum() < (everything != 0).sum()
    assert kept[0] != 0
    assert kept[1] != 0


def test_co2_lowers_its_bound(rng):
    X = rng.normal(size=(600, 4))
    y = (X @ [1, 2, -1, 0.5] + 0.3 * rng.normal(size=600) > 0).astype(int)
    Z = standardise(X)
    axis = fit(Axis(), X, y, max_depth=1).tree_
    tree = fit(CO2(recut=False), X, y, max_depth=1).tree_
    start = np.append(np.eye(4)[axis.feature[0]], -(axis.threshold[0] - X.mean(axis=0)[axis.feature[0]]))
    theta = np.append(tree.weights[0] * X.std(axis=0), tree.weights[0] @ X.mean(axis=0) - tree.threshold[0])
    assert bound(theta, Z, y) < bound(start, Z, y) - 0.05
    assert theta @ theta <= 10 * (1 + 1e-9)


@all_families
def test_families_learn_and_are_well_formed(splits):
    X, y = load_wine(return_X_y=True)
    tree = fit(splits, X, y, criterion="entropy")
    assert tree.score(X, y) == 1
    tree.tree_.check()
    counts = np.bincount(tree.apply(X), minlength=tree.tree_.node_count)
    np.testing.assert_array_equal(counts[tree.tree_.is_leaf], tree.tree_.n_node_samples[tree.tree_.is_leaf])
    fold = np.arange(len(y)) % 3 == 0
    assert fit(splits, X[~fold], y[~fold]).score(X[fold], y[fold]) > 0.8


@all_families
def test_threads_layout_and_type(splits):
    X, y = make_classification(1500, 6, n_informative=4, n_classes=3, random_state=0)
    plain = fit(splits, X, y, max_depth=4).tree_
    assert fit(splits, np.asfortranarray(X), y, max_depth=4, n_jobs=3).tree_ == plain
    small = fit(splits, X.astype(np.float32), y, max_depth=4)
    assert small.score(X, y) > 0.6


@all_families
def test_weights_are_repetitions(splits, rng):
    X, y = load_iris(return_X_y=True)
    w = rng.integers(0, 4, len(y))
    weighted = fit(splits, X, y, w, max_depth=3)
    copied = fit(splits, np.repeat(X, w, axis=0), np.repeat(y, w), max_depth=3)
    np.testing.assert_array_equal(weighted.predict(X), copied.predict(X))
    np.testing.assert_allclose(weighted.tree_.weights, copied.tree_.weights, rtol=1e-7, atol=1e-9)


@all_families
def test_column_scale_and_order_of_rows_change_no_prediction(splits, rng):
    X, y = load_wine(return_X_y=True)
    plain = fit(splits, X, y, max_depth=3).predict(X)
    factors = 2.0 ** rng.integers(-60, 60, X.shape[1])
    np.testing.assert_array_equal(fit(splits, X * factors, y, max_depth=3).predict(X * factors), plain)
    order = rng.permutation(len(y))
    np.testing.assert_array_equal(fit(splits, X[order], y[order], max_depth=3).predict(X), plain)


def test_of_columns_that_part_the_classes_equally_well_the_clearest_is_taken_in_any_order(rng):
    """OC1 gives so few rows tests of one column alone; the first of equal columns would depend on their order."""
    X, y = rng.normal(size=(60, 40)), rng.integers(3, size=60)
    order = rng.permutation(40)
    plain, moved = fit(OC1(), X[:40], y[:40]), fit(OC1(), X[:40, order], y[:40])
    np.testing.assert_array_equal(plain.predict(X), moved.predict(X[:, order]))
    np.testing.assert_array_equal(plain.tree_.threshold, moved.tree_.threshold)


@all_families
def test_degenerate_data(splits):
    assert fit(splits, np.ones((6, 2)), [0, 1, 0, 1, 2, 2]).get_n_leaves() == 1
    tree = fit(splits, np.array([[0.0, np.nan], [1.0, 2.0], [np.nan, 3.0]]), [0, 1, 1])
    assert tree.score([[0.0, np.nan], [1.0, 2.0], [np.nan, 3.0]], [0, 1, 1]) == 1
    limited = fit(splits, *load_iris(return_X_y=True), min_samples_leaf=25, max_leaf_nodes=4)
    assert limited.tree_.n_node_samples.min() >= 25


@pytest.mark.parametrize("splits", [Householder(), OC1(), CartLC(), CO2(), OC1(init="random")], ids=repr)
def test_time_limit_ends_with_a_tree_and_a_warning(splits):
    X, y = make_classification(3000, 20, n_informative=10, n_classes=4, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"time_limit=0.01 s has passed"):
        tree = fit(splits.set_params(time_limit=0.01), X, y)
    assert tree.score(X, y) == 1
    splits.set_params(time_limit=None)


@pytest.mark.parametrize("family", [OC1, CartLC, CO2])
def test_random_starts_without_time_are_tests_of_one_column(family):
    X, y = make_classification(3000, 20, n_informative=10, n_classes=4, random_state=0)
    with pytest.warns(ConvergenceWarning):
        tree = fit(family(init="random", time_limit=1e-9), X, y).tree_
    is_split = tree.children_left >= 0
    assert is_split.sum() > 20
    assert (tree.feature[is_split] >= 0).all()


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        (OC1(init="both"), "OC1.init='both' is not allowed"),
        (OC1(n_restarts=0), "OC1.n_restarts=0"),
        (OC1(n_jumps=-1), "OC1.n_jumps=-1"),
        (OC1(order="any"), "OC1.order='any'"),
        (CartLC(elimination=2), "CartLC.elimination=2"),
        (CartLC(tol=-1), "CartLC.tol=-1"),
        (CO2(nu=0), "CO2.nu=0"),
        (CO2(eta=-1), "CO2.eta=-1"),
        (CO2(max_iter=0), "CO2.max_iter=0"),
        (Householder(time_limit=0), "Householder.time_limit=0"),
    ],
    ids=str,
)
def test_bad_settings_are_refused(splits, message):
    with pytest.raises(ValueError, match=message):
        fit(splits, [[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("name", ["promoters", "tic-tac-toe"])
@pytest.mark.parametrize("splits", ["wodt", "hhcart", "cart_lc", CO2(), OC1(n_restarts=3)], ids=str)
def test_numbers_for_categories_carry_the_classes(name, splits):
    """Nominal columns alone: one number per category is enough for every family to beat the larger class clearly."""
    data = load_dataset(name)
    fold = np.random.default_rng(0).permutation(len(data.y)) % 3
    scores = []
    for held_out in range(3):
        tree = TopDownTreeClassifier(splits, "entropy", categorical_features=data.categorical_features, random_state=0)
        tree.fit(data.X[fold != held_out], data.y[fold != held_out])
        scores.append(tree.score(data.X[fold == held_out], data.y[fold == held_out]))
    majority = np.bincount(data.y).max() / len(data.y)
    assert np.mean(scores) > majority + 0.15


@all_families
def test_sparse_rows_give_the_tree_of_dense_ones(splits, rng):
    X, y = make_classification(300, 8, n_informative=5, n_classes=3, random_state=2)
    X[rng.random(X.shape) < 0.6] = 0
    X[:, 3] += 5  # no zeros: its mean is far from 0
    X[rng.random(X.shape) < 0.02] = np.nan
    w = rng.integers(0, 3, len(y))
    rows = sparse.csr_array(X)
    dense, thin = (fit(splits, table, y, w, criterion="entropy", max_depth=2) for table in (X, rows))
    np.testing.assert_allclose(thin.tree_.input_map.fill, dense.tree_.input_map.fill, rtol=1e-12)
    assert root_drop(thin) == pytest.approx(root_drop(dense), rel=0.02)  # sums of another order, so another path
    assert (thin.predict(X) == dense.predict(X)).mean() > 0.9
    np.testing.assert_array_equal(thin.apply(rows), thin.apply(X))
    counts = np.bincount(thin.apply(rows[w > 0]), minlength=thin.tree_.node_count)
    leaves = thin.tree_.is_leaf
    np.testing.assert_array_equal(counts[leaves], thin.tree_.n_node_samples[leaves])


@pytest.mark.parametrize("splits", [Householder(), CO2(max_iter=20), CartLC(elimination=0)], ids=repr)
def test_wide_sparse_rows_need_no_dense_memory(splits, rng):
    """A dense copy would have 2.4 gigabytes, a covariance of the columns 72."""
    n, d = 3000, 10**5
    noise = sparse.random_array((n, d), density=1e-6, format="csr", rng=rng)
    y = rng.integers(0, 2, n)
    signal = sparse.csr_array((np.ones(n), (np.arange(n), 7 + y)), shape=(n, d))
    part = type(splits)(**{**splits.get_params(), "time_limit": 2.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tree = fit(part, noise + signal, y, max_leaf_nodes=2)
    assert tree.score(noise + signal, y) == 1


def mixed_up(rows):
    """The same CSR rows with the entries of each row backwards, and with each entry in two halves."""
    backwards = rows.copy()
    for start, end in zip(rows.indptr, rows.indptr[1:]):
        backwards.indices[start:end] = rows.indices[start:end][::-1]
        backwards.data[start:end] = rows.data[start:end][::-1]
    backwards.has_sorted_indices = backwards.has_canonical_format = False
    halves = (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr)
    return backwards, sparse.csr_array(halves, shape=rows.shape)


@pytest.mark.parametrize("splits", ["wodt", "hhcart", "cart_lc", "co2", "oc1", "stochastic"])
def test_entries_of_sparse_rows_may_come_in_any_order_and_in_parts(splits, rng):
    X = rng.normal(size=(200, 5)) * (rng.random((200, 5)) < 0.6)
    y = (X @ rng.normal(size=5) > 0).astype(int)
    rows = sparse.csr_array(X)
    tree = fit(splits, rows, y)
    for other in mixed_up(rows):
        given = other.indices.copy(), other.data.copy()
        again = fit(splits, other, y)
        np.testing.assert_array_equal(again.predict_proba(other), tree.predict_proba(rows))
        np.testing.assert_array_equal(again.tree_.threshold, tree.tree_.threshold)
        np.testing.assert_array_equal(other.indices, given[0])  # the user's arrays stay as they were
        np.testing.assert_array_equal(other.data, given[1])


@pytest.mark.parametrize("leaves", [1, 2])
def test_a_loaded_tree_takes_sparse_rows_even_if_it_has_no_linear_test(leaves, rng, tmp_path):
    y = rng.integers(0, 2, 60)
    rows = sparse.csr_array(np.column_stack([y, rng.normal(size=60)]))
    tree = fit("cart_lc", rows, y, max_leaf_nodes=leaves)
    assert tree.tree_.weights.shape[0] == 0
    tree.save(tmp_path / "tree")
    np.testing.assert_array_equal(load(tmp_path / "tree").predict(rows), tree.predict(rows))


def test_numbers_of_categories_do_not_depend_on_the_unit_of_weights(rng):
    sizes, shares = (400, 400, 12, 12), (0.4, 0.6, 1.0, 0.0)
    level = np.repeat(np.arange(4), sizes)
    y = np.concatenate([np.arange(size) < share * size for size, share in zip(sizes, shares, strict=True)]).astype(int)
    X = np.column_stack([level, rng.normal(size=len(y))])

    def codes(weight):
        return fit("wodt", X, y, weight, max_depth=1, categorical_features=[0]).tree_.input_map.codes

    expected = codes(None)
    assert np.ptp(expected) > 0.5
    for unit in (1e-20, 1 / len(y), 1e20):
        np.testing.assert_allclose(codes(np.full(len(y), unit)), expected, rtol=1e-9)
    twice = fit("wodt", np.repeat(X, 2, axis=0), np.repeat(y, 2), max_depth=1, categorical_features=[0])
    np.testing.assert_allclose(twice.tree_.input_map.codes, expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["float32", "float64", "sparse"])
@all_families
def test_missing_values_of_a_constant_column_tell_nothing(splits, kind, rng):
    """The mean that stands for them is the constant, to the bit; other columns are used."""
    y = np.arange(30) % 2
    constant = np.full(30, rng.random())
    constant[y == 1] = np.nan
    constant[1] = constant[0]
    X = np.column_stack([constant, np.arange(30)]).astype("float32" if kind == "float32" else "float64")
    w = rng.random(30)
    tree = fit(splits, sparse.csr_matrix(X) if kind == "sparse" else X, y, w).tree_
    assert tree.input_map.fill[0] == X[0, 0]
    assert tree.node_count == fit(splits, X[:, 1:], y, w).tree_.node_count > 3
    order = rng.permutation(30)
    assert fit(splits, X[order], y[order], w[order]).score(X, y) == 1


def test_a_constant_column_of_many_rows_stays_constant():
    X = np.full((70_000, 1), 0.1)
    X[::3] = np.nan
    tree = fit(Householder(), X, np.arange(70_000) % 3 == 0).tree_
    assert tree.node_count == 1
    assert tree.schema.spread[0] == 0


def test_cart_lc_takes_no_rounding_for_gain():
    """Rows that differ in nothing but a column taken out are one point, however their scores were rounded before."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(-2, 3, (20, 3)).astype(float), rng.integers(0, 2, 20)
        weighted = fit(CartLC(), X, y, np.full(20, 3.0))
        copied = fit(CartLC(), np.repeat(X, 3, axis=0), np.repeat(y, 3))
        Z = rng.normal(size=(200, 3))
        np.testing.assert_array_equal(weighted.predict(Z), copied.predict(Z))
