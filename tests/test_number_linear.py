"""Linear tests of numbers: stochastic ones by their closed form, weighted oblique ones by their gradient."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from boscage import Polish, RidgeLeaf, _core
from boscage.base.component import Fact, IncompatibleParts, check_compatible, resolve
from boscage.criteria import AbsoluteError, Poisson, SquaredError
from boscage.model.predict import apply, predict_numbers
from boscage.splits import LinearTest, ProposingFamily, StochasticLinear, WeightedOblique
from number_jobs import grow_numbers
from test_number_batches import in_batches
from test_number_growth import same as same_arrays

EASY = settings(derandomize=True, deadline=None, max_examples=30)
HARD = ["wodt", "oblique", "oc1", "cart_lc", "hhcart"]


def unit_rows(rng, n, d):
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.uniform(0.2, 1, (n, 1))


def drop(w, X, y, weight):
    """Fall of the mean squared error by the soft test w, from its definition."""
    share = weight / weight.sum()
    right = (1 + X @ w) / 2
    mean = share @ y
    after = 0.0
    for side in (share * right, share * (1 - right)):
        after += side @ (y - side @ y / side.sum()) ** 2
    return share @ (y - mean) ** 2 - after


@EASY
@given(seed=st.integers(0, 2**31), d=st.integers(1, 4), weighted=st.booleans())
def test_the_stochastic_test_is_the_closed_form_and_the_best(seed, d, weighted):
    rng = np.random.default_rng(seed)
    X, y = unit_rows(rng, 40, d), rng.exponential(size=40)
    weight = rng.exponential(size=40) if weighted else np.ones(40)
    family = StochasticLinear(scale=False, fit_intercept=False)
    tree = grow_numbers(X, y, weight, splits=family, limits={"max_leaf_nodes": 2})
    w = tree.weights[0]
    assert np.linalg.norm(w) == pytest.approx(1, rel=1e-12)
    share = weight / weight.sum()
    a, b = (share * (y - share @ y)) @ X, share @ X
    best = a @ a + (a @ b) ** 2 / (1 - b @ b)
    assert drop(w, X, y, weight) == pytest.approx(best, rel=1e-9)
    found = tree.impurity[0] - tree.impurity[1:] @ tree.weighted_n_node_samples[1:] / weight.sum()
    assert found == pytest.approx(best, rel=1e-7)
    for other in rng.normal(size=(200, d)):
        assert drop(other / np.linalg.norm(other), X, y, weight) <= best * (1 + 1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_stochastic_nodes_hold_soft_means_and_variances(weighted, rng):
    X, y = rng.normal(size=(500, 4)), rng.normal(size=500) ** 3
    weight = rng.exponential(size=500) if weighted else np.ones(500)
    tree = grow_numbers(X, y, weight, splits="stochastic", limits={"max_leaf_nodes": 12})
    z = (X - tree.input_map.shift) * tree.input_map.scale
    z = np.column_stack([z, np.full(500, tree.input_map.constant)])
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    reach = {0: weight}
    for node in range(tree.node_count):
        here = reach[node]
        mean = here @ y / here.sum()
        assert tree.weighted_n_node_samples[node] == pytest.approx(here.sum(), rel=1e-9)
        assert tree.value[node, 0] == pytest.approx(mean, rel=1e-7, abs=1e-9)
        assert tree.impurity[node] == pytest.approx(here @ (y - mean) ** 2 / here.sum(), rel=1e-7)
        if tree.children_left[node] >= 0:
            right = (1 + np.clip(z @ tree.weights[tree.linear_row[node]], -1, 1)) / 2
            reach[tree.children_right[node]] = here * right
            reach[tree.children_left[node]] = here * (1 - right)
    assert np.mean((predict_numbers(tree, X) - y) ** 2) < np.var(y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", ["standard", "unit"])
@pytest.mark.parametrize("weighted", [False, True])
def test_stochastic_trees_in_batches_are_those_of_memory(dtype, scale, weighted, rng):
    X = rng.normal(size=(9000, 11)).astype(dtype)
    y = 1e6 + X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=9000)
    weight = rng.exponential(size=9000) if weighted else None
    parts = {"splits": StochasticLinear(scale=scale), "limits": {"max_leaf_nodes": 20}}
    one = grow_numbers(X, y, weight, **parts)
    assert one.n_leaves == 20
    for size in (1000, 4096):
        other = in_batches(X, y, weight, size=size, **parts)
        same_arrays(one, other)
        np.testing.assert_array_equal(one.weights, other.weights)
    same_arrays(one, grow_numbers(X, y, weight, **parts, threads=3))


def test_sparse_rows_of_stochastic_trees(rng):
    X = rng.normal(size=(400, 8)) * (rng.random((400, 8)) < 0.3)
    y = X @ rng.normal(size=8) + 0.1 * rng.normal(size=400)
    parts = {"splits": "stochastic", "limits": {"max_leaf_nodes": 8}}
    one, other = grow_numbers(X, y, **parts), grow_numbers(sparse.csr_array(X), y, **parts)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-8)
    np.testing.assert_allclose(one.impurity, other.impurity, rtol=1e-7)


@pytest.mark.parametrize("splits", [*HARD, "stochastic"])
def test_a_scale_of_y_changes_nothing_but_the_numbers(splits, rng):
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    parts = {"splits": splits, "limits": {"max_leaf_nodes": 6}}
    one, other = grow_numbers(X, y, **parts), grow_numbers(X, np.ldexp(y, 300), **parts)
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(np.ldexp(one.value, 300), other.value)


@EASY
@given(seed=st.integers(0, 2**31), d=st.integers(1, 5), l2=st.sampled_from([0.0, 0.1]), single=st.booleans())
def test_the_soft_squared_error_and_its_gradient(seed, d, l2, single):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, d)).astype(np.float32 if single else np.float64)
    y, weight, theta = rng.uniform(-1, 1, 50), rng.exponential(size=50), rng.normal(size=d + 1)
    target = _core.Target(y[:, None], weight)

    def objective(theta):
        right = 1 / (1 + np.exp(-(X.astype(np.float64) @ theta[:-1] + theta[-1])))
        after = 0.0
        for side in (weight * right, weight * (1 - right)):
            after += side @ (y - side @ y / side.sum()) ** 2
        before = weight @ (y - weight @ y / weight.sum()) ** 2
        # What the rows lose inside a side that they only lie in by share is the same for every test.
        return after / before + l2 / (2 * np.sqrt(weight.sum())) * (theta[:-1] @ theta[:-1])

    value, gradient = _core.soft_objective(X, target, l2, theta, 1)
    assert value == pytest.approx(objective(theta), rel=1e-9)
    for j in range(d + 1):
        step = np.eye(d + 1)[j] * 1e-6
        slope = (objective(theta + step) - objective(theta - step)) / 2e-6
        assert gradient[j] == pytest.approx(slope, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("splits", HARD)
@pytest.mark.parametrize("weighted", [False, True])
def test_hard_linear_trees_hold_recounts(splits, weighted, rng):
    X, y = rng.normal(size=(300, 3)), rng.lognormal(0, 3, 300)
    weight = rng.exponential(size=300) if weighted else np.ones(300)
    tree = grow_numbers(X, y, weight, splits=splits, limits={"max_leaf_nodes": 10})
    tree.check()
    assert tree.n_leaves == 10
    leaf = apply(tree, X)
    for node in tree.leaves:
        here = leaf == node
        mean = np.average(y[here], weights=weight[here])
        assert tree.value[node, 0] == pytest.approx(mean, rel=1e-9)
        assert tree.impurity[node] == pytest.approx(
            np.average((y[here] - mean) ** 2, weights=weight[here]), rel=1e-6, abs=1e-6 * y[here].max() ** 2
        )
        assert tree.n_node_samples[node] == here.sum()


@pytest.mark.parametrize("splits", HARD[:-1])
def test_an_oblique_step_is_found(splits, rng):
    X = rng.normal(size=(600, 4))
    y = np.where(X @ [1.0, -2.0, 0.5, 0.0] > 0.3, 5.0, -1.0) + 0.01 * rng.normal(size=600)
    tree = grow_numbers(X, y, splits=splits, limits={"max_leaf_nodes": 2})
    assert np.var(y - predict_numbers(tree, X)) < 0.35 * np.var(y)
    axis = grow_numbers(X, y, limits={"max_leaf_nodes": 2})
    assert tree.impurity[1:] @ tree.weighted_n_node_samples[1:] < axis.impurity[1:] @ axis.weighted_n_node_samples[1:]
    same_arrays(tree, grow_numbers(X, y, splits=splits, limits={"max_leaf_nodes": 2}, threads=2))


def test_other_losses_along_a_plane(rng):
    X = rng.normal(size=(400, 3))
    y = rng.poisson(np.exp(X @ [0.5, -0.7, 0.0])).astype(float)
    tree = grow_numbers(X, y, splits="cart_lc", criterion=Poisson(), limits={"max_leaf_nodes": 4})
    axis = grow_numbers(X, y, criterion=Poisson(), limits={"max_leaf_nodes": 4})
    risk = [(t.impurity * t.weighted_n_node_samples)[t.leaves].sum() for t in (tree, axis)]
    assert risk[0] < risk[1]


def test_penalties_are_chosen_by_squared_error(rng):
    X = rng.normal(size=(250, 3))
    y = X @ [1.0, 1.0, 0.0] + 0.1 * rng.normal(size=250)
    tree = grow_numbers(X, y, splits=WeightedOblique(l2="auto"), limits={"max_leaf_nodes": 4})
    assert tree.n_leaves == 4


def test_penalties_are_chosen_for_several_outputs_and_numbers_of_any_size(rng):
    X = rng.normal(size=(120, 3))
    y = X @ [1.0, 1.0, 0.0] + rng.normal(size=120)
    choose = {"splits": WeightedOblique(l2="auto"), "limits": {"max_leaf_nodes": 4}}
    one, huge, twice = (grow_numbers(X, Y, **choose) for Y in (y, np.ldexp(y, 990), np.column_stack([y, y])))
    for tree in (huge, twice):
        np.testing.assert_allclose(tree.weights, one.weights)
    np.testing.assert_allclose(np.ldexp(huge.value, -990), one.value)
    np.testing.assert_allclose(twice.value[:, 1], one.value[:, 0])


def test_categories_are_numbers_by_their_means(rng):
    X = np.column_stack([rng.integers(0, 6, 300), rng.normal(size=300)]).astype(float)
    y = np.array([3.0, -1.0, 0.5, 7.0, -4.0, 2.0])[X[:, 0].astype(int)] + 0.1 * rng.normal(size=300)
    tree = grow_numbers(X, y, n_categories=[6, 0], splits="wodt", limits={"max_leaf_nodes": 6})
    assert np.argsort(tree.input_map.codes).tolist() == [4, 1, 2, 5, 0, 3]
    assert np.mean((predict_numbers(tree, X) - y) ** 2) < 0.05


def test_pruning_by_bits_is_for_classes(rng):
    with pytest.raises(IncompatibleParts, match="counts bits of entropy"):
        grow_numbers(rng.normal(size=(20, 2)), rng.normal(size=20), splits=WeightedOblique(prune_bits=2.0))


def test_families_without_numbers_say_so():
    with pytest.raises(IncompatibleParts, match="it needs a split family for regression"):
        check_compatible(criterion=SquaredError(), splits=resolve("splits", "co2"))
    with pytest.raises(IncompatibleParts, match="it needs a split family for regression"):
        grow_numbers([[0.0], [1.0]], [0.0, 1.0], splits="co2")
    for criterion in (Poisson(), AbsoluteError()):  # another criterion would not help
        with pytest.raises(IncompatibleParts, match=r"a split family for regression. Pass splits='axis', or"):
            check_compatible(criterion=criterion, splits=resolve("splits", "co2"))


@pytest.mark.parametrize(
    ("part", "remedy"),
    [
        ({"criterion": AbsoluteError()}, "criterion='squared_error'"),
        ({"leaf": RidgeLeaf()}, "leaf='frequency', in regression leaf='constant'"),
        ({"polish": Polish()}, "polish=None"),
    ],
)
def test_what_needs_all_rows_says_what_to_pass_instead(part, remedy):
    with pytest.raises(IncompatibleParts, match=f"it needs all rows in memory. Use fit, or pass {remedy}.$"):
        check_compatible(**part, executor=Fact("fit_batches"))


@pytest.mark.parametrize(("splits", "criterion"), [("stochastic", Poisson()), ("wodt", AbsoluteError())])
def test_families_without_a_loss_say_so(splits, criterion):
    with pytest.raises(IncompatibleParts, match="it needs tests chosen by"):
        check_compatible(criterion=criterion, splits=resolve("splits", splits))


def test_families_written_in_python_know_classes_only(rng):
    class First(ProposingFamily):
        def propose(self, node):
            yield [LinearTest([1.0, 0.0])]

    with pytest.raises(ValueError, match="measured for classes only"):
        grow_numbers(rng.normal(size=(20, 2)), rng.normal(size=20), splits=First())


def reflections(X, y):
    """Directions of HHCART for numbers, from the definition: rows below and above the mean are two classes."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for side in (y > y.mean(), y <= y.mean()):
        leading = np.linalg.eigh(np.cov(Z[side].T, bias=True))[1][:, -1]
        u = leading + np.where(leading[0] < 0, -1.0, 1.0) * np.eye(X.shape[1])[0]
        u /= np.linalg.norm(u)
        yield from np.eye(X.shape[1]) - 2 * np.outer(u, u)
    yield from np.eye(X.shape[1])


def test_hhcart_tries_the_columns_of_both_reflections(rng):
    X = rng.normal(size=(120, 3)) @ [[1.0, 0.5, 0.2], [0.0, 1.0, -0.7], [0.0, 0.0, 1.0]]
    y = np.tanh(X @ [2.0, -1.0, 0.5]) + 0.1 * rng.normal(size=120)
    tree = grow_numbers(X, y, splits="hhcart", limits={"max_leaf_nodes": 2})
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    best = 0.0
    for direction in reflections(X, y):
        order = np.argsort(Z @ direction)
        for cut in range(1, len(y)):
            left, right = y[order[:cut]], y[order[cut:]]
            best = max(best, y.var() - (cut * left.var() + (len(y) - cut) * right.var()) / len(y))
    found = tree.impurity[0] - tree.impurity[1:] @ tree.weighted_n_node_samples[1:] / len(y)
    assert found == pytest.approx(best, rel=1e-9)
