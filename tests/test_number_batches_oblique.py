"""Weighted oblique trees of numbers from sums of passes: their pass against slow sums, trees, batches."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit

from boscage import IncompatibleParts, TopDownTreeRegressor, WeightedOblique, _core
from boscage.batches.growth.oblique import Scaling
from boscage.batches.passes import Pass
from boscage.batches.reading import MemoryPasses
from boscage.batches.reduction import to_parts, total

SIDES, CUT = 1, 3
NAMES = ("children_left", "feature", "threshold", "value", "impurity", "weights", "n_node_samples")


def steps(rng, n, outputs=1):
    """Rows, and numbers that two slanted steps explain."""
    X = rng.normal(size=(n, 4))
    y = 3.0 * (X @ [1, 2, 0, -1] > 0.3) + 2.0 * (X @ [0, 1, -1, 0] > 0) + 0.1 * rng.normal(size=n)
    return X, y if outputs == 1 else np.column_stack([(-1) ** j * y + j * X[:, 0] for j in range(outputs)])


def asked(X, y, weight, wanted, vector, edges=()):
    """Sums that one task about all rows brings, and the range of y."""
    d = X.shape[1]
    numbers = MemoryPasses(X, y, weight, 1).collect(Pass.of("number_range"))
    none = np.empty((0, d)), np.empty(0), np.empty((0, 2), np.int32), np.empty(0, np.int32), np.empty((1, 0), np.int32)
    ends = np.array([0, len(edges)])
    task = np.array([wanted], np.uint8), np.zeros(1, np.int32), vector[None], np.array(edges, float), ends
    units = np.zeros(d), np.zeros(d), np.ones(d), numbers.native()
    native = _core.ObliquePass(*units, (*none, np.zeros(1, np.int32), *task))
    target = _core.Target(np.ascontiguousarray(y).reshape(len(y), -1), weight)
    return total(to_parts(native.sums(X, target, np.empty(0, np.int32), 0, 2))), numbers


def in_units(y, numbers):
    """Return numbers about the middle of their range, in the power of two that brings all of them below 1."""
    half = (numbers.high / 2 - numbers.low / 2).max()
    return (y.reshape(len(y), -1) - (numbers.low / 2 + numbers.high / 2)) * 2.0 ** -np.frexp(half)[1]


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_a_pass_are_those_of_a_loop(outputs, weighted, rng):
    X, y = steps(rng, 5000, outputs)
    weight = rng.integers(1, 5, 5000).astype(float) if weighted else np.empty(0)
    w = weight if weighted else np.ones(len(X))
    theta, edges = rng.normal(size=5), [-1.0, 0.2, 0.9]
    found, numbers = asked(X, y, weight, SIDES, theta)
    v, s = in_units(y, numbers), expit(X @ theta[:4] + theta[4])
    expected = []
    for j in range(outputs):
        for share in ((1 - v[:, j]) / 2, (1 + v[:, j]) / 2):
            slope = w * share * s * (1 - s)
            expected += [(w * share * s).sum(), (w * share * (1 - s)).sum(), *(slope @ X), slope.sum()]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    found, _ = asked(X, y, weight, CUT, np.append(theta[:4], 0.0), edges)
    place = np.searchsorted(edges, X @ theta[:4])
    bins = [np.bincount(place, part, 4) for part in (w, *(w * v.T))]
    squares = np.bincount(place, w * (v**2).sum(axis=1), 4)
    expected = np.concatenate([np.column_stack(bins).ravel(), np.bincount(place, minlength=4), squares])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-8)  # the grid has 52 bits below the sums


def test_sums_give_the_slope_of_the_squared_error_of_soft_sides(rng):
    X, y = steps(rng, 3000)
    theta = rng.normal(size=5)
    sums, numbers = asked(X, y, np.empty(0), SIDES, theta)
    v = in_units(y, numbers)[:, 0]
    mean, error = v.mean(), v.var() * len(v)

    def left(point):
        s = expit(X @ point[:4] + point[4])
        right = s @ (v - mean)
        return 1 - (right**2 / s.sum() + right**2 / (1 - s).sum()) / error

    (right0, left0), (right1, left1) = sums.reshape(2, -1)[:, :2]
    at_right, at_left = (right1 - right0) / (right0 + right1) - mean, (left1 - left0) / (left0 + left1) - mean
    factor = [-(at_right - at_left) * (2 * (c - mean) - at_right - at_left) / error for c in (-1.0, 1.0)]
    slope = factor @ sums.reshape(2, -1)[:, 2:]
    np.testing.assert_allclose(slope, approx_fprime(theta, left, 1e-7), atol=1e-6)


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_root_knows_exact_sums(outputs, rng):
    X, y = steps(rng, 6000, outputs)
    w = rng.integers(0, 4, 6000).astype(float)
    passes = MemoryPasses(X[w > 0], y[w > 0], w[w > 0], 2)
    numbers = passes.collect(Pass.of("number_range"))
    mass = Scaling.of("standard", passes.sums, *passes.ranges(), 0, numbers).mass
    v = in_units(y, numbers)
    expected = [w.sum(), *(w @ v), w @ (v**2).sum(axis=1)]
    np.testing.assert_allclose(mass, expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("settings", [{}, {"scale": "range", "recut": False}, {"n_init": 2, "l2": 0.1}], ids=str)
def test_leaves_hold_what_their_rows_have(settings, outputs, rng):
    X, y = steps(rng, 4000, outputs)
    tree = TopDownTreeRegressor(WeightedOblique(max_bins=64, **settings), max_leaf_nodes=6, random_state=0).fit(X, y)
    leaf = tree.apply(X)
    for node in np.unique(leaf):
        mine = y.reshape(len(y), -1)[leaf == node]
        assert tree.tree_.n_node_samples[node] == len(mine)
        np.testing.assert_allclose(tree.tree_.value[node], mine.mean(axis=0), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(tree.tree_.impurity[node], mine.var(axis=0).mean(), rtol=1e-8, atol=1e-12)
    assert tree.score(X, y) > (0.8 if settings.get("recut", True) else 0.6)


def test_bins_find_nearly_the_tree_of_all_thresholds(rng):
    X, y = steps(rng, 6000)
    all_rows = TopDownTreeRegressor("oblique", max_leaf_nodes=6, random_state=0).fit(X, y)
    in_bins = TopDownTreeRegressor(WeightedOblique(max_bins=256), max_leaf_nodes=6, random_state=0).fit(X, y)
    assert in_bins.score(X, y) == pytest.approx(all_rows.score(X, y), abs=0.002)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_and_threads_change_no_byte(outputs, weighted, rng):
    X, y = steps(rng, 9000, outputs)
    X[rng.random(X.shape) < 0.05] = np.nan
    weight = rng.exponential(size=9000) if weighted else None
    parts = [slice(0, 1), slice(1, 5000), slice(5000, 9000)]
    batches = [(X[i], y[i]) + (() if weight is None else (weight[i],)) for i in parts]
    splits = WeightedOblique(max_bins=32, tol=1e-3)
    settings = {"max_leaf_nodes": 5, "random_state": 0}
    memory = TopDownTreeRegressor(splits, **settings).fit(X, y, weight).tree_
    threads = TopDownTreeRegressor(splits, n_jobs=2, **settings).fit(X, y, weight).tree_
    passes = TopDownTreeRegressor(splits, **settings).fit_batches(batches).tree_
    for name in NAMES:
        np.testing.assert_array_equal(getattr(memory, name), getattr(threads, name), err_msg=name)
        np.testing.assert_array_equal(getattr(memory, name), getattr(passes, name), err_msg=name)
    assert memory.n_leaves == 5


def test_weights_are_repetition(rng):
    X, y = steps(rng, 1500)
    w = rng.integers(0, 3, 1500)
    settings = {"splits": WeightedOblique(max_bins=64), "max_leaf_nodes": 5, "random_state": 0}
    weighted = TopDownTreeRegressor(**settings).fit(X, y, w)
    copies = TopDownTreeRegressor(**settings).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict(X), copies.predict(X), rtol=1e-9)


def test_shift_and_scale_of_y(rng):
    X, y = steps(rng, 2000)
    settings = {"splits": WeightedOblique(max_bins=64), "max_leaf_nodes": 5, "random_state": 0}
    plain = TopDownTreeRegressor(**settings).fit(X, y).predict(X)
    for factor, shift in ((1e-200, 0.0), (-1e150, 0.0), (1.0, 1000.0)):
        moved = TopDownTreeRegressor(**settings).fit(X, factor * y + shift).predict(X)
        np.testing.assert_allclose((moved - shift) / factor, plain, rtol=1e-6)


def test_constant_numbers_end_the_growth(rng):
    X = rng.normal(size=(400, 3))
    splits = WeightedOblique(max_bins=64)
    assert TopDownTreeRegressor(splits).fit(X, np.full(400, 0.1)).tree_.value.tolist() == [[0.1]]
    assert TopDownTreeRegressor(splits).fit(X[:1], [5.0]).predict(X[:2]).tolist() == [5.0, 5.0]
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, 7.0)
    tree = TopDownTreeRegressor(splits, random_state=0).fit(X, y)
    assert set(tree.predict(X)) == {1.0, 7.0}
    assert tree.get_n_leaves() < 10


def test_pruning_by_bits_is_for_classes_in_passes_too(rng):
    X, y = steps(rng, 50)
    with pytest.raises(IncompatibleParts, match="counts bits of entropy"):
        TopDownTreeRegressor(WeightedOblique(max_bins=32, prune_bits=2)).fit_batches([(X, y)])
