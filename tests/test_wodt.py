import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from sklearn.datasets import load_iris, load_wine, make_classification

from boscage import IncompatibleParts, TopDownTreeClassifier, _core, load
from boscage.splits import WeightedOblique
from boscage.splits.wodt import AUTO_L2
from reference_oblique import soft_entropy, standardise

SETTINGS = settings(derandomize=True, deadline=None, max_examples=30)


in_bins = pytest.mark.parametrize("max_bins", [None, 256])


def fit(X, y, w=None, *, seed=0, n_jobs=None, limits=None, **parameters):
    splits = WeightedOblique(**{"l2": 0.0} | parameters)
    tree = TopDownTreeClassifier(splits=splits, random_state=seed, n_jobs=n_jobs, **(limits or {}))
    return tree.fit(X, y, sample_weight=w)


@st.composite
def nodes(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, d, k = draw(st.integers(1, 200)), draw(st.integers(1, 20)), draw(st.integers(2, 6))
    X = rng.normal(size=(n, d)).astype(draw(st.sampled_from([np.float32, np.float64])))
    w = rng.exponential(size=n) if draw(st.booleans()) else np.ones(n)
    theta = rng.normal(size=d + 1) * draw(st.sampled_from([0.1, 1.0, 30.0]))
    return X, rng.integers(0, k, n).astype(np.int32), w, k, theta, draw(st.sampled_from([0.0, 0.1]))


@SETTINGS
@given(nodes())
def test_value_and_gradient_against_the_reference(node):
    X, y, w, k, theta, l2 = node
    value, gradient = _core.soft_objective(X, _core.Target(y, w, k), l2, theta, 1)
    expected, slope = soft_entropy(theta, X.astype(float), y, w, k, l2)
    assert value == pytest.approx(expected, rel=1e-11, abs=1e-13)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_nodes_are_read_once_in_single_precision(rng, classes, dtype):
    """From 32,768 values the gradient is summed by class together with the value, whatever the order of the rows."""
    n, d = 5001, 30
    X, w, theta = rng.normal(size=(n, d)).astype(dtype), rng.uniform(0, 2, n), rng.normal(size=d + 1)
    y = rng.integers(0, classes, n).astype(np.int32)
    expected, slope = soft_entropy(theta, X.astype(float), y, w, classes, 0.1)
    for order in (np.arange(n), np.argsort(y, kind="stable")):
        args = np.ascontiguousarray(X[order]), _core.Target(y[order], w[order], classes), 0.1, theta
        value, gradient = _core.soft_objective(*args, 1)
        assert value == pytest.approx(expected, rel=1e-8)
        np.testing.assert_allclose(gradient, slope, rtol=0, atol=1e-6 * np.abs(slope).max())
        again, threads = _core.soft_objective(*args, 3)
        assert again == value
        np.testing.assert_array_equal(threads, gradient)


def test_single_precision_of_large_nodes_takes_weights_and_scores_of_any_size(rng):
    """Weights far from 1 give the same result; slopes that vanish on one side of the plane do no harm."""
    X, y, w = rng.normal(size=(5001, 30)), rng.integers(0, 3, 5001).astype(np.int32), rng.uniform(0, 2, 5001)
    for size in (1.0, 300.0):
        theta = size * rng.normal(size=31)
        expected, slope = soft_entropy(theta, X, y, w, 3, 0.0)
        for unit in (1.0, 2.0**-100, 2.0**100):
            value, gradient = _core.soft_objective(X, _core.Target(y, unit * w, 3), 0.0, theta, 1)
            assert value == pytest.approx(expected, rel=1e-7)
            np.testing.assert_allclose(gradient, slope, rtol=0, atol=1e-4 * np.abs(slope).max())


def test_gradient_against_finite_differences(rng):
    X, y, w = rng.normal(size=(60, 5)), rng.integers(0, 3, 60).astype(np.int32), rng.exponential(size=60)
    theta = rng.normal(size=6)
    _, gradient = _core.soft_objective(X, _core.Target(y, w, 3), 0.2, theta, 1)
    numeric = approx_fprime(theta, lambda t: _core.soft_objective(X, _core.Target(y, w, 3), 0.2, t, 1)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)


@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_blocks_and_threads_give_the_same_bits(rng, order):
    X, y = rng.normal(size=(10_000, 7)), rng.integers(0, 4, 10_000).astype(np.int32)
    theta, w = rng.normal(size=8), rng.exponential(size=10_000)
    plain = _core.soft_objective(X, _core.Target(y, w, 4), 0.0, theta, 1)
    same = {"C": X, "F": np.asfortranarray(X), "strided": np.repeat(X, 2, axis=1)[:, ::2]}[order]
    value, gradient = _core.soft_objective(same, _core.Target(y, w, 4), 0.0, theta, 3)
    assert value == plain[0]
    np.testing.assert_array_equal(gradient, plain[1])
    assert value == pytest.approx(soft_entropy(theta, X, y, w, 4)[0], rel=1e-9)  # a large node: single precision


def root_value(tree, X, y, l2):
    """The objective at the direction of the root's test, at its best length and threshold."""
    Z, w = standardise(X), np.ones(len(y))
    direction = tree.tree_.weights[0] * X.std(axis=0)
    z = Z @ (direction / np.linalg.norm(direction))

    def along(t):
        return soft_entropy(t, z[:, None], y, w, y.max() + 1, l2)[0]

    starts = [(length, bias) for length in (1, 5, 30) for bias in (-2, 0, 2)]
    return min(minimize(along, start, method="Nelder-Mead").fun for start in starts)


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_the_optimum_is_as_good_as_scipys(l2):
    ours, theirs = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = make_classification(300, 8, n_informative=5, n_classes=3, random_state=seed)
        tree = fit(X, y, seed=seed, l2=l2, tol=1e-9, max_iter=500, limits={"max_depth": 1})
        ours.append(root_value(tree, X, y, l2))
        Z, w = standardise(X), np.ones(len(y))
        start = rng.normal(size=9) / 3
        found = minimize(soft_entropy, start, (Z, y, w, 3, l2), jac=True, method="L-BFGS-B", options={"maxiter": 500})
        theirs.append(found.fun)
    assert np.mean(ours) <= np.mean(theirs) + 0.01  # other starts, other local optima: as good on average


def test_published_cut_is_where_the_sides_are_equal():
    X, y = load_iris(return_X_y=True)
    published = fit(X, y, recut=False, limits={"max_depth": 1, "criterion": "entropy"})
    recut = fit(X, y, limits={"max_depth": 1, "criterion": "entropy"})
    drop = [t.trajectory_["potential"][0] - t.trajectory_["potential"][-1] for t in (recut, published)]
    assert drop[0] >= drop[1] > 0


@in_bins
@pytest.mark.parametrize("recut", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_are_repetitions(rng, recut, dtype, max_bins):
    X, y = load_wine(return_X_y=True)
    X, w = X.astype(dtype), rng.integers(0, 4, len(y))
    parameters = {"l2": 0.05, "recut": recut, "max_bins": max_bins, "limits": {"max_depth": 3}}
    weighted = fit(X, y, w, **parameters)
    copied = fit(np.repeat(X, w, axis=0), np.repeat(y, w), **parameters)
    np.testing.assert_allclose(weighted.tree_.weights, copied.tree_.weights, rtol=1e-7, atol=1e-10)
    np.testing.assert_array_equal(weighted.tree_.value, copied.tree_.value)
    np.testing.assert_array_equal(weighted.predict(X), copied.predict(X))


@in_bins
def test_a_row_of_weight_zero_is_absent(rng, max_bins):
    X, y = load_iris(return_X_y=True)
    junk = 1e6 * rng.normal(size=(20, 4))
    w = np.repeat([1.0, 0.0], [150, 20])
    found = fit(np.vstack([X, junk]), np.append(y, np.zeros(20)), w, max_bins=max_bins)
    assert found.tree_ == fit(X, y.astype(float), max_bins=max_bins).tree_


@in_bins
@pytest.mark.parametrize("scale", [2.0**20, 1e-200, 1e250])
def test_column_scale_changes_nothing(scale, max_bins):
    X, y = load_iris(return_X_y=True)
    factors = np.array([1, scale, 1, 1 / scale])
    plain, scaled = (fit(rows, y, l2=0.01, max_bins=max_bins) for rows in (X, X * factors))
    np.testing.assert_array_equal(plain.predict(X), scaled.predict(X * factors))
    np.testing.assert_allclose(scaled.tree_.weights * factors, plain.tree_.weights, rtol=1e-5)
    np.testing.assert_allclose(scaled.feature_importances_, plain.feature_importances_, rtol=1e-6)


@in_bins
def test_huge_values_with_opposite_signs(max_bins):
    X = np.array([[-1.7e308], [-1.6e308], [1.6e308], [1.7e308]])
    tree = fit(X, [0, 0, 1, 1], max_bins=max_bins)
    assert tree.get_n_leaves() == 2
    np.testing.assert_array_equal(tree.predict(X), [0, 0, 1, 1])


@in_bins
def test_order_of_rows_gives_the_same_predictions(rng, max_bins):
    X, y = load_wine(return_X_y=True)
    order = rng.permutation(len(y))
    one, other = (fit(X[rows], y[rows], l2=0.02, max_bins=max_bins) for rows in (slice(None), order))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_layout_and_threads_give_the_same_bytes(rng):
    X, y = make_classification(9000, 12, n_informative=6, n_classes=4, random_state=0)
    w = rng.exponential(size=len(y))
    plain = fit(X, y, w, l2=0.01)
    assert fit(X, y, w, l2=0.01, n_jobs=3).tree_ == plain.tree_
    assert fit(np.asfortranarray(X), y, w, l2=0.01, n_jobs=2).tree_ == plain.tree_
    assert fit(X, y, w, l2=0.01, seed=1).tree_ != plain.tree_


@in_bins
def test_training_rows_reach_the_leaves_they_were_counted_in(rng, max_bins):
    for dtype in (np.float32, np.float64):
        X, y = make_classification(2000, 9, n_informative=5, n_classes=3, flip_y=0.2, random_state=1)
        X = (X * 10.0 ** np.arange(-4, 5)).astype(dtype)
        tree = fit(X, y, max_bins=max_bins)
        counts = np.bincount(tree.apply(X), minlength=tree.tree_.node_count)
        leaves = tree.tree_.is_leaf
        np.testing.assert_array_equal(counts[leaves], tree.tree_.n_node_samples[leaves])
        assert tree.score(X, y) == 1


@in_bins
def test_equal_rows_of_different_classes_are_a_leaf(max_bins):
    X = np.array([[1.0, 2.0]] * 6 + [[3.0, 1.0]] * 2)
    tree = fit(X, [0, 1, 2, 0, 1, 2, 3, 3], max_bins=max_bins)
    assert tree.get_n_leaves() == 2
    constant = fit(np.ones((5, 3)), [0, 1, 0, 1, 1], max_bins=max_bins)
    assert constant.get_n_leaves() == 1


def test_nearly_equal_rows_fall_back_to_an_axis_test():
    X = np.array([[1.0, 5.0], [np.nextafter(1, 2), 5.0]])
    tree = fit(X, [0, 1])
    np.testing.assert_array_equal(tree.predict(X), [0, 1])


@in_bins
def test_many_classes(rng, max_bins):
    centres = rng.normal(size=(300, 10)) * 10
    y = np.repeat(np.arange(300), 5)
    X = centres[y] + rng.normal(size=(1500, 10))
    tree = fit(X, y, max_bins=max_bins)
    assert tree.score(X, y) == 1
    assert tree.score(centres[y] + rng.normal(size=X.shape), y) > 0.8


@in_bins
def test_missing_values_stand_at_the_mean(rng, max_bins):
    X, y = load_iris(return_X_y=True)
    X[rng.random(X.shape) < 0.2] = np.nan
    tree = fit(X, y, max_bins=max_bins)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    np.testing.assert_array_equal(tree.predict(X), tree.predict(filled))
    assert tree.score(X, y) == 1
    np.testing.assert_allclose(tree.tree_.input_map.fill, np.nanmean(X, axis=0))
    empty = fit(np.column_stack([X, np.full(150, np.nan)]), y, max_bins=max_bins)
    assert empty.score(np.column_stack([X, np.zeros(150)]), y) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_rows_give_the_tree_of_dense_ones(rng, dtype, index):
    X, y = make_classification(400, 20, n_informative=8, n_classes=3, random_state=2)
    X[rng.random(X.shape) < 0.7] = 0
    X[:, 3] += 5  # no zeros: its mean is far from 0
    X[rng.random(X.shape) < 0.02] = np.nan
    X, w = X.astype(dtype), rng.integers(0, 3, len(y))
    rows = sparse.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    for parameters in ({"l2": 0.05}, {"l2": 0.05, "sparsity_tolerance": 0.2}, {"l2": "auto"}):
        limits = {"max_depth": 3, "min_samples_leaf": 5}
        dense = fit(X, y, w, limits=limits, tol=1e-9, **parameters)
        thin = fit(rows, y, w, limits=limits, tol=1e-9, **parameters)
        np.testing.assert_allclose(thin.tree_.input_map.fill, np.nanmean(np.repeat(X, w, axis=0), axis=0), rtol=1e-5)
        assert (thin.predict(X) == dense.predict(X)).mean() > 0.97  # sums of another order
        np.testing.assert_array_equal(thin.apply(rows), thin.apply(X))
        leaves = thin.tree_.is_leaf
        counts = np.bincount(thin.apply(rows[w > 0]), minlength=thin.tree_.node_count)
        np.testing.assert_array_equal(counts[leaves], thin.tree_.n_node_samples[leaves])


def test_wide_sparse_rows_need_no_dense_memory(rng):
    """A dense copy would have 16 gigabytes; most columns have no entry in most nodes."""
    n, d = 2000, 10**6
    rows = sparse.random_array((n, d), density=2e-5, format="csr", rng=rng)
    y = rng.integers(0, 3, n)
    signal = sparse.csr_array((np.ones(n), (np.arange(n), 7 + y)), shape=(n, d))
    tree = fit(rows + signal, y, limits={"max_leaf_nodes": 4})
    assert tree.score(rows + signal, y) > 0.99
    assert np.isin(np.argsort(-tree.feature_importances_)[:2], [7, 8, 9]).all()


@in_bins
def test_columns_without_change_in_a_node_get_no_weight(rng, max_bins):
    X = rng.integers(0, 2, size=(300, 8)).astype(float)
    y = (X[:, 0] * 4 + X[:, 1] * 2 + (X[:, 2] != X[:, 3])).astype(int)
    fitted = fit(X, y, max_bins=max_bins)
    tree = fitted.tree_
    for node in np.flatnonzero(tree.linear_row >= 0):
        reaches = np.asarray(fitted.decision_path(X)[:, [node]].todense()).ravel() > 0
        constant = np.ptp(X[reaches], axis=0) == 0
        assert (tree.weights[tree.linear_row[node]][constant] == 0).all()


def test_few_terms_where_few_matter(rng):
    X = rng.normal(size=(2000, 30))
    y = (X[:, 3] - 2 * X[:, 11] + 0.05 * X[:, 20] > 0).astype(int)
    full = fit(X, y, l2=0.01, limits={"max_depth": 1})
    few = fit(X, y, l2=0.01, sparsity_tolerance=0.1, limits={"max_depth": 1})
    assert np.count_nonzero(full.tree_.weights) == 30
    terms = few.tree_.weights if not sparse.issparse(few.tree_.weights) else few.tree_.weights.toarray()
    np.testing.assert_array_equal(np.flatnonzero(terms[0]), [3, 11])
    drop = [t.trajectory_["potential"][0] - t.trajectory_["potential"][1] for t in (full, few)]
    assert drop[1] >= 0.9 * drop[0]
    assert few.score(X, y) > 0.95
    assert "more terms" not in few.export_text()


def terms_of(tree):
    weights = tree.tree_.weights
    return (weights.toarray() if sparse.issparse(weights) else weights) != 0


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("kind", ["dense", "single", "sparse", "missing"])
def test_no_test_has_more_terms_than_allowed(rng, most, kind):
    X, y = make_classification(400, 12, n_informative=6, n_classes=3, random_state=4)
    rows = X.astype(np.float32) if kind == "single" else np.where(rng.random(X.shape) < 0.05, np.nan, X)
    rows = sparse.csr_array(np.where(np.abs(X) < 0.5, 0, X)) if kind == "sparse" else X if kind == "dense" else rows
    tree = fit(rows, y, max_terms=most, limits={"max_depth": 5})
    counts = terms_of(tree).sum(axis=1)
    assert counts.max() == most
    assert tree.score(rows, y) > 0.6
    again = fit(rows, y, max_terms=most, n_jobs=2, limits={"max_depth": 5})
    assert again.tree_ == tree.tree_


def test_the_columns_that_matter_are_found(rng):
    # Columns 0 to 4 hold noisy copies of the sum that decides, so the largest terms of a long test are theirs.
    X = rng.normal(size=(1500, 20))
    total = X[:, 7] - X[:, 13]
    X[:, :5] = total[:, None] + 0.7 * rng.normal(size=(1500, 5))
    y = (total > 0).astype(int)
    few = fit(X, y, max_terms=2, limits={"max_depth": 1})
    np.testing.assert_array_equal(np.flatnonzero(terms_of(few)[0]), [7, 13])
    assert few.score(X, y) > 0.99


def test_a_limit_that_does_not_bind_changes_nothing():
    X, y = load_iris(return_X_y=True)
    assert fit(X, y, max_terms=4).tree_ == fit(X, y).tree_


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"sparsity_tolerance": 0.1}, "sparsity_tolerance=0.1 cannot be combined with max_terms=2"),
        ({"lookahead": True}, "lookahead=True cannot be combined with max_terms=2"),
        ({"max_bins": 16}, "max_bins=16 cannot be combined with max_terms=2"),
        ({"limits": {"polish": "soft"}}, "cannot be combined with polish"),
    ],
)
def test_what_does_not_go_with_few_terms(settings, says):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(IncompatibleParts, match=says):
        fit(X, y, max_terms=2, **settings)


@pytest.mark.parametrize("tolerance", [0.0, 0.05, 1.0])
def test_terms_go_only_as_far_as_the_tolerance_allows(tolerance):
    X, y = make_classification(500, 15, n_informative=6, n_classes=3, random_state=5)
    full = fit(X, y, limits={"max_depth": 1, "criterion": "entropy"})
    few = fit(X, y, sparsity_tolerance=tolerance, limits={"max_depth": 1, "criterion": "entropy"})
    drop = [t.trajectory_["potential"][0] - t.trajectory_["potential"][1] for t in (full, few)]
    assert drop[1] >= (1 - tolerance) * drop[0] * (1 - 1e-12)
    if tolerance == 1:
        assert np.count_nonzero(few.tree_.weights) == 1


def test_auto_is_one_of_its_values_and_depends_on_content_alone(rng):
    X, y = load_wine(return_X_y=True)
    w, order = rng.integers(0, 3, len(y)), rng.permutation(len(y))
    auto = fit(X, y, w, l2="auto")
    assert any(fit(X, y, w, l2=l2).tree_ == auto.tree_ for l2 in AUTO_L2)
    copied = fit(np.repeat(X, w, axis=0), np.repeat(y, w), l2="auto")
    np.testing.assert_array_equal(copied.predict(X), auto.predict(X))
    turned = fit(X[order], y[order], w[order], l2="auto", n_jobs=2)
    np.testing.assert_array_equal(turned.predict(X), auto.predict(X))


def test_auto_chooses_a_penalty_where_noise_needs_one(rng):
    X = rng.normal(size=(1500, 20))
    y = (X[:, :5].sum(axis=1) + 2 * rng.normal(size=1500) > 0).astype(int)
    scores = {l2: fit(X[:1000], y[:1000], l2=l2, limits={"max_leaf_nodes": 8}).score(X[1000:], y[1000:])
              for l2 in (0.0, "auto")}  # fmt: skip
    assert scores["auto"] >= scores[0.0]
    with pytest.raises(ValueError, match=r"WeightedOblique.l2='some'"):
        fit(X, y, l2="some")


@pytest.mark.parametrize("classes", [2, 4])
def test_categories_become_numbers(rng, classes):
    """Categories that carry the class together with a number: the test needs both."""
    n = 600
    cell = rng.integers(0, 12, n)
    effect = rng.permutation(12) / 3.0
    X = np.column_stack([rng.normal(size=n), cell.astype(float)])
    y = np.digitize(X[:, 0] + effect[cell], np.quantile(X[:, 0] + effect[cell], np.linspace(0, 1, classes + 1)[1:-1]))
    X[rng.random(n) < 0.05, 1] = np.nan
    tree = TopDownTreeClassifier(splits="wodt", categorical_features=[1], random_state=0, min_samples_leaf=5)
    tree.fit(X[:400], y[:400])
    assert tree.score(X[400:], y[400:]) > {2: 0.85, 4: 0.7}[classes]
    counts = np.bincount(tree.apply(X[:400]), minlength=tree.tree_.node_count)
    leaves = tree.tree_.is_leaf
    np.testing.assert_array_equal(counts[leaves], tree.tree_.n_node_samples[leaves])
    if classes == 2:  # the numbers follow the shares of class 1
        codes, shares = tree.tree_.input_map.codes, [y[:400][X[:400, 1] == c].mean() for c in range(12)]
        assert abs(np.corrcoef(codes, shares)[0, 1]) > 0.99


def test_one_category_tells_the_classes_apart():
    tree = TopDownTreeClassifier(splits="wodt", categorical_features=[0]).fit([[0], [0], [1], [2]], [0, 0, 1, 1])
    np.testing.assert_array_equal(tree.predict([[0], [1], [2]]), [0, 1, 1])


def test_limits_are_kept():
    X, y = load_wine(return_X_y=True)
    tree = fit(X, y, limits={"max_leaf_nodes": 3, "min_samples_leaf": 20})
    assert tree.get_n_leaves() <= 3
    assert tree.tree_.n_node_samples.min() >= 20
    assert fit(X, y, recut=False, limits={"min_samples_leaf": 30}).tree_.n_node_samples.min() >= 30


def test_more_starts_are_never_worse_at_the_root():
    X, y = make_classification(400, 10, n_informative=6, n_classes=4, random_state=3)
    potential = [fit(X, y, n_init=n, limits={"max_depth": 1}).trajectory_["potential"][-1] for n in (1, 3, 9)]
    assert potential == sorted(potential, reverse=True)


def test_accuracy_on_held_out_rows():
    X, y = load_wine(return_X_y=True)
    fold = np.arange(len(y)) % 5
    scores = [fit(X[fold != f], y[fold != f], l2=0.03).score(X[fold == f], y[fold == f]) for f in range(5)]
    assert np.mean(scores) > 0.94


def test_saved_and_shown(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    tree = fit(X, y)
    tree.save(tmp_path / "tree.boscage")
    again = load(tmp_path / "tree.boscage")
    assert again.tree_ == tree.tree_
    assert "petal" in again.export_text()


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("l2", -1, ">= 0"),
        ("n_init", 0, ">= 1"),
        ("recut", 2, "True"),
        ("max_iter", 0, ">= 1"),
        ("tol", np.nan, ">= 0"),
        ("sparsity_tolerance", 1.5, "<= 1"),
        ("max_terms", 0, ">= 1"),
        ("max_terms", 1.5, ">= 1"),
    ],
)
def test_bad_settings_are_refused(name, value, allowed):
    with pytest.raises(ValueError, match=rf"WeightedOblique.{name}=.*{allowed}"):
        fit([[0.0], [1.0]], [0, 1], **{name: value})
