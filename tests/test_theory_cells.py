"""The partition of the weighted Gini index: Theorem 6.3, Lemmas C.1-C.3, E.1 and E.2 of stochastic linear trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boscage.theory.cells import (
    PRINTED_VARIATION,
    Cell,
    domain_bounds,
    extreme_gap,
    least_norm,
    least_norm_in_cell,
    partition,
    weighted_gini,
)

many = settings(derandomize=True, deadline=None, max_examples=200)
few = settings(derandomize=True, deadline=None, max_examples=20)
shares = st.floats(0.02, 0.98)


def point(share, p, part):
    low, high = (float(end) for end in domain_bounds(p, share))
    return low + part * (high - low)


@many
@given(shares, st.floats(0.001, 0.999), st.floats(0, 1))
def test_the_formula_is_the_printed_one(share, p, part):
    q = point(share, p, part)
    printed = 4 * (share - q**2 / p - (share - q) ** 2 / (1 - p))
    assert float(weighted_gini(p, q, share)) == pytest.approx(printed, abs=1e-9)


@many
@given(shares, st.floats(0.01, 0.99), st.floats(0, 1))
def test_lemma_c1_monotone_on_both_sides_of_the_line(share, p, part):
    q, step = point(share, p, part), 1e-6
    here = float(weighted_gini(p, q, share))
    more_q, more_p = float(weighted_gini(p, q + step, share)), float(weighted_gini(p + step, q, share))
    if q > share * p + 1e-4:  # R_a: increasing in p, decreasing in q
        assert more_q <= here + 1e-12
        assert more_p >= here - 1e-12
    elif q < share * p - 1e-4:  # R_b: the other way round
        assert more_q >= here - 1e-12
        assert more_p <= here + 1e-12


@few
@given(shares, st.sampled_from([0.5, 0.3, 0.1]))
def test_theorem_63_cells_cover_the_domain_and_vary_little(share, epsilon):
    cells = list(partition(share, epsilon))
    assert len(cells) <= 4 * np.ceil(1 / epsilon) * (np.ceil(1 / epsilon) + 1)
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 1, 300)
    low, high = domain_bounds(p, share)
    q = rng.uniform(low, high)
    hits = sum(cell.contains(p, q).astype(int) for cell in cells)
    assert (hits >= 1).all()
    for cell in cells:
        assert cell.variation() <= PRINTED_VARIATION[cell.region] * epsilon


def test_variation_is_that_of_random_points():
    rng = np.random.default_rng(1)
    for cell in list(partition(0.7, 0.25))[::3]:
        p = rng.uniform(cell.low, cell.high, 4000)
        q = rng.uniform(*cell.lines(p))
        values = weighted_gini(p, q, 0.7)
        spread = values.max() - values.min()
        assert spread <= cell.variation() + 1e-9
        assert spread >= 0.8 * cell.variation() - 1e-6


@many
@given(shares, st.floats(0.01, 0.5))
def test_lemma_c2_holds_and_both_ends_hold_with_four_delta(share, delta):
    assert extreme_gap(share, delta, 0) <= 6 * delta
    assert extreme_gap(share, delta, 0) <= 4 * delta + 1e-12
    assert extreme_gap(share, delta, 1) <= 4 * delta + 1e-12


def test_lemma_c3_is_false_as_printed():
    assert extreme_gap(0.9, 0.1, 1) > 3 * 0.1


@many
@given(st.integers(0, 2**32 - 1), shares)
def test_lemma_e1_with_the_right_sign(seed, share):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 3))
    w = rng.normal(size=3)
    p, q = (a @ w + 1) / 2, (b @ w + share) / 2
    norm = least_norm(a, b, p, q, share)
    assert norm <= np.linalg.norm(w) + 1e-6
    gram = np.array([[a @ a, a @ b], [a @ b, b @ b]])
    weights = np.linalg.solve(gram, [2 * p - 1, 2 * q - share])
    best = weights[0] * a + weights[1] * b
    assert norm == pytest.approx(np.linalg.norm(best), rel=1e-6, abs=1e-9)
    assert a @ best == pytest.approx(2 * p - 1, abs=1e-6)


def test_lemma_e2_is_false_as_printed():
    inside, corner = least_norm_in_cell([1.0, 0.0], [0.0, 1.0], Cell("b,l", 0.4, 0.6, 0.0, 1.0, 0.5))
    assert inside < 0.01 < corner


@pytest.mark.parametrize(("share", "epsilon", "name"), [(0, 0.1, "share"), (0.5, 0, "epsilon"), (0.5, 2, "epsilon")])
def test_bad_arguments(share, epsilon, name):
    with pytest.raises(ValueError, match=f"{name}="):
        next(partition(share, epsilon))
