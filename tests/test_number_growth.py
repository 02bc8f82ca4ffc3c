"""Trees of numbers against slow growing, and the properties that sums on a grid promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from boscage.criteria import AbsoluteError, Gamma, Poisson, Quantile, SquaredError, Tweedie
from boscage.splits import Axis
from number_jobs import grow_numbers
from reference_grow import check_grown

OF_SUMS = [SquaredError(), Poisson(), Gamma(), Tweedie(1.3)]
CRITERIA = [*OF_SUMS, AbsoluteError(), Quantile(0.8)]
ORDERS = ["best_first", "heaviest_first", "depth_first"]
EASY = settings(derandomize=True, deadline=None, max_examples=40)
ARRAYS = ("children_left", "children_right", "feature", "threshold", "missing_go_to_left", "category_bits")


@st.composite
def problems(draw, missing=False, categories=False, outputs=1):
    """Small data with many ties, real or integer weights, missing values, categories."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, d = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    X = rng.integers(0, draw(st.integers(2, 12)), (n, d)).astype(draw(st.sampled_from([np.float32, np.float64])))
    if draw(st.booleans()):
        X = (X + rng.normal(size=X.shape)).astype(X.dtype)
    n_categories = np.zeros(d, np.int64)
    if categories:
        X[:, 0] = rng.integers(0, 5, n)
        n_categories[0] = 5
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    kind = draw(st.sampled_from(["few", "real", "heavy"]))
    y = {"few": rng.integers(0, 4, (n, outputs)) * 1.0, "real": rng.exponential(size=(n, outputs))}.get(
        kind, rng.lognormal(0, 6, (n, outputs))
    )
    weights = draw(st.sampled_from(["none", "integer", "real"]))
    w = {"none": None, "integer": rng.integers(0, 4, n).astype(float), "real": rng.exponential(size=n)}[weights]
    if w is not None and not w.any():
        w = None
    return X, y if outputs > 1 else y[:, 0], w, n_categories


def check(problem, criterion, order="best_first", splits="axis", min_split=2, **limits):
    X, y, w, n_categories = problem
    y = y + 1 if isinstance(criterion, Gamma) else y
    names = {"min_rows": "min_samples_leaf", "min_weight": "min_weight_leaf"}
    given = {names.get(name, name): value for name, value in limits.items()} | {"min_samples_split": min_split}
    tree = grow_numbers(X, y, w, n_categories, limits=given, criterion=criterion, growth=order, splits=splits)
    assert tree.target == "numbers"
    tree.check()
    check_grown(tree, X.astype(np.float64), y, w, criterion, order, min_split, tolerance=1e-9, **limits)


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
@EASY
@given(problem=problems())
def test_every_test_is_the_best_of_all(criterion, problem):
    check(problem, criterion)


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
@EASY
@given(problem=problems(missing=True), order=st.sampled_from(ORDERS))
def test_missing_values_go_to_the_better_side(criterion, problem, order):
    check(problem, criterion, order)


@pytest.mark.parametrize("criterion", OF_SUMS, ids=repr)
@EASY
@given(problem=problems(missing=True, categories=True))
def test_category_sets_are_the_best_of_all_subsets(criterion, problem):
    check(problem, criterion)


@EASY
@given(problem=problems(missing=True, outputs=3), order=st.sampled_from(ORDERS))
def test_several_outputs(problem, order):
    check(problem, SquaredError(), order)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(
    problem=problems(missing=True),
    criterion=st.sampled_from(CRITERIA),
    order=st.sampled_from(ORDERS),
    leaves=st.one_of(st.none(), st.integers(2, 6)),
    depth=st.one_of(st.none(), st.integers(0, 3)),
    rows=st.integers(1, 6),
    split=st.integers(2, 9),
)
def test_limits_hold_and_stop_nothing_else(problem, criterion, order, leaves, depth, rows, split):
    leaves = None if order == "depth_first" else leaves
    limits = {"max_leaf_nodes": leaves, "max_depth": depth, "min_rows": rows}
    check(problem, criterion, order, min_split=split, **limits)


def same(one, other, values=True):
    for name in ARRAYS + (("value", "impurity") if values else ()):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def rows(rng, n=300, d=4):
    X = rng.normal(size=(n, d))
    X[:, 0] = np.round(X[:, 0])
    return X, np.exp(X @ rng.normal(size=d) + rng.normal(size=n))


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_weight_two_is_the_row_twice_to_the_bit(criterion, rng):
    X, y = rows(rng)
    times = rng.integers(1, 5, len(y))
    weighted = grow_numbers(X, y, times.astype(float), criterion=criterion)
    repeated = grow_numbers(np.repeat(X, times, axis=0), np.repeat(y, times), criterion=criterion)
    same(weighted, repeated)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_the_order_of_rows_changes_no_bit(criterion, weighted, rng):
    X, y = rows(rng)
    w = rng.exponential(size=len(y)) if weighted else None
    order = rng.permutation(len(y))
    one = grow_numbers(X, y, w, criterion=criterion)
    same(one, grow_numbers(X[order], y[order], w[order] if weighted else None, criterion=criterion))


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(threads, rng):
    X, y = rows(rng, 4000, 8)
    same(grow_numbers(X, y), grow_numbers(X, y, threads=threads))


@pytest.mark.parametrize("exponent", [-1000, -40, 3, 900])
@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_y_times_a_power_of_two_is_the_same_tree(criterion, exponent, rng):
    X, y = rows(rng)
    one, other = grow_numbers(X, y, criterion=criterion), grow_numbers(X, np.ldexp(y, exponent), criterion=criterion)
    same(one, other, values=False)
    np.testing.assert_array_equal(np.ldexp(one.value, exponent), other.value)


@pytest.mark.parametrize("criterion", [SquaredError(), AbsoluteError(), Quantile(0.3)], ids=repr)
def test_a_shift_of_y_is_the_same_tree(criterion, rng):
    X, y = rows(rng)
    y = np.round(y * 1024) / 1024
    one, other = grow_numbers(X, y, criterion=criterion), grow_numbers(X, y + 2.0**20, criterion=criterion)
    same(one, other, values=False)
    np.testing.assert_array_equal(one.impurity, other.impurity)
    np.testing.assert_allclose(one.value + 2.0**20, other.value, rtol=1e-15)


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
@pytest.mark.parametrize("size", [1e300, 1e-300, 5e-324, 1.0])
def test_constant_y_and_one_row_are_leaves_with_that_number(criterion, size, rng):
    for n in (1, 2, 20):
        tree = grow_numbers(rng.normal(size=(n, 2)), np.full(n, 3 * size), criterion=criterion)
        assert tree.node_count == 1
        assert tree.value[0, 0] == 3 * size
        assert tree.impurity[0] == 0


@pytest.mark.parametrize("size", [1e300, 1.7e308, 1e-300])
def test_huge_and_tiny_numbers_are_told_apart(size, rng):
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 1] > 0, 1.0, -1.0) * size * np.where(X[:, 2] > 0.5, 1.0, 0.25)
    tree = grow_numbers(X, y)
    assert tree.n_leaves == 4
    assert np.isfinite(tree.impurity).all()
    assert set(np.unique(tree.value[tree.leaves])) == set(np.unique(y))


@pytest.mark.parametrize("outlier", [1e10, 1e100, 1e300])
def test_an_outlier_does_not_hide_the_others(outlier, rng):
    X = rng.normal(size=(500, 3))
    y = X[:, 1] + 0.1 * rng.normal(size=500)
    without = grow_numbers(X, y, limits={"max_depth": 4})
    far = np.vstack([X, [[0.0, 0.0, 1e3]]])
    tree = grow_numbers(far, np.append(y, outlier), limits={"max_depth": 5})
    assert tree.feature[0] == 2
    left = tree.children_left[0]
    np.testing.assert_allclose(tree.value[left], without.value[0], rtol=1e-12)
    assert tree.feature[left] == without.feature[0]
    assert tree.threshold[left] == without.threshold[0]


def test_sparse_rows_give_the_same_tree(rng):
    X = rng.integers(-2, 3, (300, 6)) * (rng.random((300, 6)) < 0.3)
    X = X.astype(np.float64)
    y = X @ rng.normal(size=6) + rng.normal(size=300)
    for criterion in CRITERIA:
        mine = np.exp(y)
        same(grow_numbers(sparse.csr_array(X), mine, criterion=criterion), grow_numbers(X, mine, criterion=criterion))


def test_bins_keep_the_tree_where_values_are_few(rng):
    X = rng.integers(0, 20, (400, 3)).astype(np.float64)
    y = rng.normal(size=400)
    for criterion in [SquaredError()]:
        same(grow_numbers(X, y, criterion=criterion), grow_numbers(X, y, criterion=criterion, splits=Axis(max_bins=32)))


def test_some_columns_at_each_node(rng):
    X, y = rows(rng, 60)
    tree = grow_numbers(X, y, max_features=2, seed=5)
    check_grown(tree, X, y, None, SquaredError(), sample=(5, 2), tolerance=1e-9)


def test_small_drops_are_refused(rng):
    X, y = rows(rng)
    full = grow_numbers(X, y, limits={"max_leaf_nodes": 20})
    drops = full.impurity * full.weighted_n_node_samples
    inner = np.flatnonzero(full.children_left >= 0)
    drop = drops[inner] - drops[full.children_left[inner]] - drops[full.children_right[inner]]
    for scale in (1.0, 2.0**-400, 2.0**400):
        tree = grow_numbers(X, y * scale, limits={"max_leaf_nodes": 20, "min_drop": np.median(drop) * scale**2})
        assert 1 < tree.n_leaves < 20
    assert grow_numbers(X, y, limits={"min_drop": 1e300}).n_leaves == 1


def test_squared_error_grows_the_tree_of_scikit_learn(rng):
    from sklearn.tree import DecisionTreeRegressor

    X = rng.normal(size=(500, 5))
    y = rng.normal(size=500)
    theirs = DecisionTreeRegressor(max_depth=6, random_state=0).fit(X, y).tree_
    mine = grow_numbers(X, y, limits={"max_depth": 6}, growth="depth_first")
    assert mine.n_leaves == theirs.n_leaves
    np.testing.assert_allclose(np.sort(mine.value[:, 0]), np.sort(theirs.value[:, 0, 0]), rtol=1e-10)
    np.testing.assert_allclose(np.sort(mine.impurity), np.sort(theirs.impurity), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("criterion", "y"), [(Poisson(), [1.0, -1.0]), (Gamma(), [1.0, 0.0]), (Tweedie(), [0.5, -0.1])]
)
def test_numbers_that_a_loss_does_not_know(criterion, y):
    with pytest.raises(ValueError, match=r"y\[1\].*is not allowed with criterion"):
        grow_numbers([[0.0], [1.0]], y, criterion=criterion)


@pytest.mark.parametrize("criterion", [Poisson(), Gamma(), Tweedie(), AbsoluteError(), Quantile(0.2)])
def test_several_outputs_are_for_squared_error(criterion):
    with pytest.raises(ValueError, match="knows one output and y has 2"):
        grow_numbers([[0.0], [1.0]], [[1.0, 2.0], [2.0, 3.0]], criterion=criterion)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.93])
def test_weights_that_differ_much_give_the_same_tree_as_copies(q, rng):
    # Few weights are large: the sweep then keeps sums in a tree in place of a list.
    X, y = rows(rng, 60)
    times = np.where(rng.random(60) < 0.1, 40, 1)
    criterion = Quantile(q)
    weighted = grow_numbers(X, y, times.astype(float), criterion=criterion)
    same(weighted, grow_numbers(np.repeat(X, times, axis=0), np.repeat(y, times), criterion=criterion))
    check_grown(weighted, X, y, times.astype(float), criterion, tolerance=1e-9)


def test_absolute_error_falls_as_in_scikit_learn(rng):
    from sklearn.tree import DecisionTreeRegressor

    X, y = rng.normal(size=(301, 4)), rng.normal(size=301)
    theirs = DecisionTreeRegressor(max_depth=1, criterion="absolute_error", random_state=0).fit(X, y).tree_
    mine = grow_numbers(X, y, limits={"max_depth": 1}, criterion="absolute_error")
    np.testing.assert_allclose(mine.impurity[0], theirs.impurity[0], rtol=1e-12)
    assert mine.value[0, 0] == theirs.value[0, 0, 0]
    after = [tree.impurity[1:] @ tree.weighted_n_node_samples[1:] for tree in (mine, theirs)]  # ties are common
    assert after[0] == pytest.approx(after[1], rel=1e-12)
