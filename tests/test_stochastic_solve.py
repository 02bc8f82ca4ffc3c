"""The best stochastic test of a node: closed forms and searches against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_stochastic as reference
from boscage import _core
from boscage.criteria import Custom, Entropy, Gini, ModifiedGini, Sqrt
from boscage.engine.grow import native_criterion
from boscage.splits.stochastic import solve_split

SETTINGS = settings(derandomize=True, deadline=None, max_examples=60)
CRITERIA = [Gini(), Entropy(), Sqrt(), ModifiedGini(C=3.0), Custom(lambda q: (4 * q * (1 - q)) ** 0.75)]


def solve(W, B, criterion=None, search="exact", epsilon=0.1):
    native = native_criterion(criterion or Gini())
    return _core.solve_stochastic(W, np.ascontiguousarray(B), native, search, epsilon)


def unit(X):
    return X / np.linalg.norm(X, axis=-1, keepdims=True)


CLASSES = st.integers(2, 5)


@st.composite
def nodes(draw, classes=CLASSES):
    """Weighted unit rows, their mean anywhere in the ball."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, d, K = draw(st.integers(2, 30)), draw(st.integers(2, 8)), draw(classes)
    centre = rng.normal(size=d) * draw(st.sampled_from([0.0, 0.3, 3.0, 30.0]))
    Z = unit(rng.normal(size=(n, d)) + centre)
    y = rng.integers(0, K, n)
    y[:2] = 0, 1
    return (*reference.node_sums(Z, y, rng.exponential(size=n), K), rng)


@SETTINGS
@given(nodes())
def test_exact_is_the_rayleigh_quotient(node):
    W, B, _ = node
    w = solve(W, B)
    _, best = reference.exact_gini(W, B)
    if len(w) == 0:  # all rows alike
        assert best < 1e-6
        return
    np.testing.assert_allclose(np.linalg.norm(w), 1)
    np.testing.assert_allclose(reference.split_gain(W, B, w, Gini()) / W.sum(), best, rtol=1e-6, atol=1e-12)


@SETTINGS
@given(nodes(), st.sampled_from(CRITERIA))
def test_exact_is_never_beaten_by_random_search(node, criterion):
    W, B, rng = node
    w = solve(W, B, criterion)
    found = reference.split_gain(W, B, w, criterion) if len(w) else 0.0
    assert reference.random_tests(W, B, criterion, rng) <= found * (1 + 1e-8) + 1e-11 * W.sum()


@SETTINGS
@given(nodes(classes=st.just(2)), st.sampled_from(CRITERIA))
def test_two_classes_any_criterion_is_never_beaten(node, criterion):
    W, B, rng = node
    w = solve(W, B, criterion)
    found = reference.split_gain(W, B, w, criterion) if len(w) else 0.0
    assert reference.random_tests(W, B, criterion, rng) <= found * (1 + 1e-8) + 1e-11 * W.sum()
    if len(w):
        rho = W[1] / W.sum()
        assert (B[1] - rho * B.sum(axis=0)) @ w > 0, "right means the later class"


@SETTINGS
@given(nodes(classes=st.just(2)), st.sampled_from(["fixed_pq", "fixed_p_search_q"]), st.sampled_from([0.1, 0.3, 1.0]))
def test_published_searches_are_within_epsilon(node, search, epsilon):
    W, B, _ = node
    exact, found = solve(W, B), solve(W, B, search=search, epsilon=epsilon)
    if len(exact) == 0:
        return
    gain = [2 * reference.split_gain(W, B, w, Gini()) / W.sum() if len(w) else 0.0 for w in (exact, found)]
    assert gain[1] <= gain[0] * (1 + 1e-9) + 1e-12
    assert gain[1] >= gain[0] - epsilon
    assert np.linalg.norm(found) <= 1 + 1e-12 if len(found) else True


@pytest.mark.parametrize("search", ["fixed_pq", "fixed_p_search_q"])
def test_a_thin_ellipse_between_the_grid_points(search):
    rho = 0.504
    means = np.array([[-0.966, 3e-7, 0], [0.579, 0, 0]])
    W = np.array([1 - rho, rho])
    B = means * W[:, None]
    exact = 2 * reference.split_gain(W, B, solve(W, B), Gini())
    np.testing.assert_allclose(exact, 0.619, atol=1e-3)
    found = 2 * reference.split_gain(W, B, solve(W, B, search=search, epsilon=0.2), Gini())
    assert exact - 0.2 <= found <= exact * (1 + 1e-12)


@pytest.mark.parametrize("search", ["exact", "fixed_pq", "fixed_p_search_q"])
def test_a_and_b_on_one_line(search):
    W = np.array([0.6, 0.4])
    direction = unit(np.array([1.0, 2.0, -1.0]))
    B = np.outer([0.5, -0.1], direction)
    np.testing.assert_allclose(np.abs(solve(W, B, search=search)), np.abs(direction), atol=1e-12)
    # a = 0: the test is along b.
    B = np.outer([-0.2, 0.2], direction)
    np.testing.assert_allclose(solve(W, B, search=search), direction, atol=1e-12)
    # The classes have one mean: nothing to gain.
    B = np.outer(W, 0.5 * direction)
    assert len(solve(W, B, search=search)) == 0


@pytest.mark.parametrize("criterion", CRITERIA)
def test_nothing_to_gain(criterion):
    W = np.array([0.5, 0.3, 0.2])
    one_row = np.outer(W, unit(np.array([1.0, 1.0])))
    for B in (np.zeros((3, 2)), one_row, 0.5 * one_row):
        assert len(solve(W, B, criterion)) == 0
    assert len(solve(np.array([1.0, 0.0, 0.0]), np.array([[0.5, 0.5], [0, 0], [0, 0]]), criterion)) == 0
    assert len(solve(np.zeros(3), np.zeros((3, 2)), criterion)) == 0


def test_three_symmetric_classes_have_one_answer():
    angles = 2 * np.pi * np.arange(3) / 3
    B = np.c_[np.cos(angles), np.sin(angles)] / 3 * 0.7
    W = np.full(3, 1 / 3)
    w = solve(W, B)
    np.testing.assert_allclose(reference.split_gain(W, B, w, Gini()), reference.exact_gini(W, B)[1], rtol=1e-12)
    noise = 1e-14 * np.random.default_rng(0).normal(size=B.shape)
    np.testing.assert_allclose(solve(W, B + noise), w, atol=1e-9)


@pytest.mark.parametrize(("K", "d"), [(30, 4), (4, 30), (120, 110)])
def test_wide_and_many_classes(K, d, rng):
    Z = unit(rng.normal(size=(4 * K, d)))
    W, B = reference.node_sums(Z, np.arange(4 * K) % K, rng.exponential(size=4 * K), K)
    gain = reference.split_gain(W, B, solve(W, B), Gini()) / W.sum()
    np.testing.assert_allclose(gain, reference.exact_gini(W, B)[1], rtol=1e-6)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_direction_is_stationary(criterion, rng):
    """The gain's gradient (from the criterion's slope, itself checked by differences) has no part along the sphere."""
    for K in (2, 4):
        Z = unit(rng.normal(size=(60, 5)) + 0.5)
        W, B = reference.node_sums(Z, rng.integers(0, K, 60), rng.exponential(size=60), K)
        W, B = W / W.sum(), B / W.sum()
        w = solve(W, B, criterion)

        def value(w, W=W, B=B):
            return float(criterion.total((W + B @ w) / 2) + criterion.total((W - B @ w) / 2))

        right, left = (W + B @ w) / 2, (W - B @ w) / 2
        gradient = 0.5 * (criterion.slope(right) - criterion.slope(left)) @ B
        numeric = [(value(w + h) - value(w - h)) / 2e-6 for h in 1e-6 * np.eye(5)]
        np.testing.assert_allclose(gradient, numeric, rtol=2e-4, atol=1e-8)
        along = gradient - (gradient @ w) * w
        assert np.linalg.norm(along) < 1e-7 * np.linalg.norm(gradient)


def test_the_square_roots_best_test_ignores_the_class_ratio(rng):
    means = 0.7 * unit(rng.normal(size=(2, 6)))
    tests = [solve(W, means * W[:, None], Sqrt()) for W in (np.array([0.5, 0.5]), np.array([0.9, 0.1]))]
    np.testing.assert_allclose(*tests, atol=1e-9)


def test_solve_split_returns_the_weighted_gini_index(rng):
    X = unit(rng.normal(size=(200, 4)))
    y = (X @ [1, 2, 0, 1] > 0.1).astype(int)
    D = rng.exponential(size=200)
    solutions = {s: solve_split(X, y, D, search=s, epsilon=0.05) for s in ("exact", "fixed_pq", "fixed_p_search_q")}
    for w, value in solutions.values():
        D1, p = D / D.sum(), (1 + X @ w) / 2
        P, Q, rho = D1 @ p, D1 @ (p * y), D1 @ y
        np.testing.assert_allclose(value, 4 * (rho - Q**2 / P - (rho - Q) ** 2 / (1 - P)), rtol=1e-9)
        assert value >= solutions["exact"].value - 1e-12
    assert solve_split(X, y, criterion="entropy").value < 1
