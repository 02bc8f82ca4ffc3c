import doctest
import math
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import reference
from boscage import _core, criteria, growth, leaves
from boscage.base import component
from boscage.base.component import names, resolve
from boscage.base.tabulate import value_at
from boscage.criteria import Criterion, Custom, Entropy, Gini, ModifiedGini, Separation, Sqrt
from boscage.data import weights as _weights
from boscage.engine.grow import native_criterion

few = settings(derandomize=True, deadline=None, max_examples=40)


def entropy_bits(q):
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(p > 0, -p * np.log2(p), 0.0) for p in (np.asarray(q, dtype=float), 1 - np.asarray(q))]
    return terms[0] + terms[1]


def slow_power(q):
    """Not vectorised: `if` on an array raises."""
    return 0.0 if q <= 0 or q >= 1 else math.pow(4 * q * (1 - q), 0.75)


PRINTED = [Gini(), Entropy(), Sqrt(), ModifiedGini(C=1.0), ModifiedGini(C=1.5), ModifiedGini(), Separation()]
OWN = [
    Custom(lambda q: 4 * q * (1 - q)),
    Custom(entropy_bits),
    Custom(lambda q: 2 * np.sqrt(q * (1 - q))),
    Custom(slow_power),
    Custom(lambda q: 2 * np.minimum(q, 1 - q)),
]
EVERY = PRINTED + OWN


def shown(criterion):
    return f"own{OWN.index(criterion)}" if criterion in OWN else repr(criterion)


every_criterion = pytest.mark.parametrize("criterion", EVERY, ids=shown)
printed_criterion = pytest.mark.parametrize("criterion", PRINTED, ids=shown)


def core_total(criterion, weights):
    return _core.criterion_total(native_criterion(criterion), np.ascontiguousarray(np.atleast_2d(weights), dtype=float))


def core_gain(criterion, right, left, drop=False):
    sides = [np.ascontiguousarray(np.atleast_2d(side), dtype=float) for side in (right, left)]
    return _core.criterion_gain(native_criterion(criterion), *sides, drop)


def key(criterion):
    return criterion.native()[0], (criterion.C if isinstance(criterion, ModifiedGini) else 3.0)


@st.composite
def two_sides(draw, weight):
    k = draw(st.integers(1, 6))
    n = draw(st.integers(1, 4))
    sides = draw(st.lists(st.lists(weight, min_size=2 * k, max_size=2 * k), min_size=n, max_size=n))
    both = np.array(sides, dtype=float)
    return both[:, :k], both[:, k:]


whole = two_sides(st.one_of(st.just(0), st.integers(1, 2**20)))
wild = two_sides(st.one_of(st.just(0.0), st.floats(1e-3, 1e6), st.floats(1e-9, 1), st.floats(1e-30, 1e30)))


@printed_criterion
@few
@given(sides=whole)
def test_totals_of_both_halves_are_those_of_the_book(criterion, sides):
    name, C = key(criterion)
    for weights in sides:
        wanted = [reference.total(name, row, C) for row in weights]
        np.testing.assert_allclose(criterion.total(weights), wanted, rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(core_total(criterion, weights), wanted, rtol=1e-12, atol=1e-300)


@printed_criterion
@few
@given(sides=whole)
def test_gains_of_both_halves_are_those_of_the_book(criterion, sides):
    name, C = key(criterion)
    wanted = [reference.gain(name, r, s, C) for r, s in zip(*sides)]
    tiny = 1e-50 * np.sum(sides)
    np.testing.assert_allclose(criterion.split_gain(*sides), wanted, rtol=1e-11, atol=tiny)
    np.testing.assert_allclose(core_gain(criterion, *sides), wanted, rtol=1e-11, atol=tiny)
    drops = [reference.drop(name, r, s, C) for r, s in zip(*sides)]
    np.testing.assert_allclose(criterion.split_drop(*sides), drops, rtol=1e-11, atol=tiny)
    np.testing.assert_allclose(core_gain(criterion, *sides, drop=True), drops, rtol=1e-11, atol=tiny)


@every_criterion
@few
@given(sides=wild, power=st.sampled_from([-850, -300, -60, 0, 60, 300, 900]))
def test_both_halves_agree_on_any_weights_and_scale(criterion, sides, power):
    right, left = (np.ldexp(side, power) for side in sides)
    np.testing.assert_allclose(criterion.total(right), core_total(criterion, right), rtol=1e-12, atol=0)
    np.testing.assert_allclose(
        criterion.split_gain(right, left), core_gain(criterion, right, left), rtol=1e-12, atol=np.ldexp(1e-280, power)
    )


@every_criterion
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("signal", [1e-3, 1e-5, 1e-7, 1e-9])
def test_both_halves_agree_on_tiny_signals(criterion, k, signal):
    rng = np.random.default_rng(k)
    right = rng.uniform(0.1, 1, (200, k))
    left = right * (1 + signal * rng.uniform(-1, 1, right.shape))
    ours = criterion.split_gain(right, left)
    np.testing.assert_allclose(ours, core_gain(criterion, right, left), rtol=1e-12)
    assert (ours[np.ptp(left / right, axis=1) > signal / 10] > 0).all() or criterion == OWN[4]


@printed_criterion
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize(("signal", "digits"), [(2.0**-10, 1e-12), (2.0**-20, 1e-9), (2.0**-30, 1e-6)])
def test_tiny_signals_keep_their_digits(criterion, k, signal, digits):
    name, C = key(criterion)
    n = 2.0**30
    tilt = np.where(np.arange(k) % 2 == 0, signal, -signal)
    right, left = n * (1 + tilt), n * (1 - tilt)
    wanted = reference.gain(name, right.tolist(), left.tolist(), C)
    assert wanted > 0
    np.testing.assert_allclose(criterion.split_gain(right, left), wanted, rtol=digits)
    np.testing.assert_allclose(core_gain(criterion, right, left), wanted, rtol=digits)
    if signal < 1e-8 and name != "separation":  # what a plain difference makes of it
        plain = criterion.total(right + left) - criterion.total(right) - criterion.total(left)
        assert abs(plain - wanted) > 0.1 * wanted


@every_criterion
@few
@given(sides=wild)
def test_gain_laws(criterion, sides):
    right, left = sides
    value = core_gain(criterion, right, left)
    assert (value >= 0).all()
    assert (value == core_gain(criterion, left, right)).all()
    scale = criterion.total(right + left) if criterion.native()[0] != "separation" else (right + left).sum(axis=-1)
    assert (value <= scale * (1 + 1e-9)).all()
    assert (core_gain(criterion, right, np.zeros_like(right)) == 0).all()
    np.testing.assert_allclose(
        core_gain(criterion, right[:, ::-1], left[:, ::-1]), value, rtol=1e-9, atol=1e-13 * scale.max()
    )
    padded = [np.pad(side, ((0, 0), (0, 1))) for side in sides]
    np.testing.assert_allclose(core_gain(criterion, *padded), value, rtol=1e-9, atol=1e-13 * scale.max())


@every_criterion
def test_no_signal_is_no_gain(criterion):
    for right, left in (([3, 6], [1, 2]), ([1, 2, 3], [2, 4, 6]), ([5], [7]), ([0, 4, 0], [0, 9, 0])):
        assert criterion.split_gain(right, left) == 0
        assert core_gain(criterion, right, left)[0] == 0


@every_criterion
def test_pure_and_empty_nodes_are_exactly_zero_and_two_equal_classes_are_one_unit(criterion):
    assert criterion.total([0.0, 7.3, 0.0]) == 0
    assert criterion.total([0.0, 0.0]) == 0
    assert criterion.total([4.0]) == 0
    assert criterion.total([0.5, 0.5]) == pytest.approx(criterion.unit, rel=1e-14)
    assert criterion.total([2.5, 2.5]) == pytest.approx(5 * criterion.unit, rel=1e-14)


@every_criterion
def test_gain_takes_the_right_side_out_of_the_parent(criterion):
    parent, right = np.array([[4.0, 5.0, 0.0], [8.0, 1.0, 3.0]]), np.array([3.0, 1.0, 0.0])
    assert (criterion.gain(parent, right) == criterion.split_gain(np.broadcast_to(right, (2, 3)), parent - right)).all()
    assert criterion.gain(parent, right).shape == (2,)
    assert criterion.total(parent[None]).shape == (1, 2)


@every_criterion
@pytest.mark.parametrize("k", [2, 3, 5])
def test_slope_is_the_derivative_of_the_total(criterion, k):
    W = np.random.default_rng(k).uniform(0.2, 1, (20, k))
    slope = criterion.slope(W)
    np.testing.assert_allclose((slope * W).sum(axis=-1), criterion.total(W), rtol=1e-9)  # Euler: degree 1
    if criterion == OWN[4]:
        return  # its slope jumps at one half
    for c in range(k):
        step = 1e-5 * np.eye(k)[c]
        numeric = (criterion.total(W + step) - criterion.total(W - step)) / 2e-5
        np.testing.assert_allclose(slope[:, c], numeric, rtol=1e-5, atol=1e-6)
    assert np.isfinite(criterion.slope(np.eye(k))).all()


@pytest.mark.parametrize("name", ["gini", "entropy"])
def test_impurities_have_the_scale_of_scikit_learn(name):
    X, y, w = np.arange(9.0)[:, None], np.array([0, 0, 1, 2, 1, 1, 0, 2, 2]), np.arange(1.0, 10)
    tree = DecisionTreeClassifier(criterion=name).fit(X, y, w)
    assert resolve("criterion", name).total(np.bincount(y, w)) / w.sum() == pytest.approx(tree.tree_.impurity[0])


def test_separation_obeys_its_bounds():
    rng = np.random.default_rng(0)
    right, left = rng.uniform(size=(500, 4)), rng.uniform(size=(500, 4))
    right, left = right / (right + left).sum(1, keepdims=True), left / (right + left).sum(1, keepdims=True)
    p = right.sum(1)
    J = Separation().split_gain(right, left)
    assert (4 * p * (1 - p) + 1e-12 >= J).all()
    assert (Entropy().split_gain(right, left) * math.log(2) >= J**2 / (8 * p * (1 - p)) - 1e-12).all()
    assert (Separation().split_drop(right, left) == Entropy().split_gain(right, left)).all()


def test_modified_gini_with_c_one_is_the_square_root():
    W = np.random.default_rng(0).uniform(size=(50, 3))
    np.testing.assert_allclose(ModifiedGini(C=1.0).total(W), Sqrt().total(W), rtol=1e-13)


@pytest.mark.parametrize(
    ("own", "printed"), [(OWN[0], Gini()), (OWN[1], Entropy()), (OWN[2], Sqrt())], ids=["gini", "entropy", "sqrt"]
)
def test_a_tabulated_function_is_right_to_ten_digits(own, printed):
    q = np.concatenate([np.linspace(0, 0.5, 20001), np.geomspace(1e-12, 0.5, 20001)])
    W = np.stack([q, 1 - q], axis=-1)
    assert np.abs(value_at(own.table(), q) - own.function(q)).max() < 1e-10
    np.testing.assert_allclose(own.total(W), printed.total(W) / printed.unit, rtol=0, atol=1e-10)
    rng = np.random.default_rng(0)
    right = rng.uniform(size=(2000, 2))
    for signal in (1.0, 1e-2, 1e-4, 1e-6, 1e-8):
        left = right * (1 + signal * rng.uniform(-0.9, 0.9, size=right.shape))
        wanted = printed.split_gain(right, left) / printed.unit
        np.testing.assert_allclose(own.split_gain(right, left), wanted, rtol=2e-4, atol=0)


def test_a_function_for_single_numbers_works_like_a_vectorised_one():
    vectorised = Custom(lambda q: (4 * q * (1 - q)) ** 0.75)
    np.testing.assert_allclose(OWN[3].table(), vectorised.table(), rtol=1e-9, atol=1e-9)


def test_a_function_with_a_kink_keeps_it():
    kinked = OWN[4]  # the error of a majority vote
    assert kinked.total([1.0, 3.0]) == pytest.approx(2.0, abs=1e-9)
    assert kinked.split_gain([10.0, 0.0], [1.0, 11.0]) == pytest.approx(20.0, rel=1e-9)
    assert kinked.split_gain([5.0, 1.0], [9.0, 2.0]) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("function", "broken"),
    [
        (lambda q: q, r"G\(1\) = 1, not 0"),
        (lambda q: 1 - (2 * q - 1) ** 2 + 0.1, r"G\(0\) = 0\.1, not 0"),
        (lambda q: q * (1 - q), r"G\(0\.5\) = 0\.25, not 1"),
        (lambda q: 4 * q * (1 - q) + 0.1 * np.sin(2 * np.pi * q), r"not symmetric, G\(0\.\d+\) = 0\.\d+ but"),
        (lambda q: (4 * q * (1 - q)) ** 3, r"not concave near q = "),
        (lambda q: np.where(np.abs(q - 0.5) < 0.1, 1.0, 3 * q * (1 - q)), r"not concave near q = 0\.(39|40)"),
        (lambda q: -q * np.log2(q) - (1 - q) * np.log2(1 - q), r"G\(0\) = nan"),
        (lambda q: 4 * q * (1 - q) * (1 + 0.05 * np.cos(40 * np.pi * (q - 0.5))) / 1.05, "not concave"),
    ],
)
def test_a_function_that_is_not_permissible_is_refused_with_the_rule_it_breaks(function, broken):
    with pytest.raises(ValueError, match=broken) as caught:
        resolve("criterion", function)
    assert "G(0) = G(1) = 0, G(1/2) = 1, G(q) = G(1 - q) and concavity" in str(caught.value)


def test_an_own_criterion_is_a_value_object():
    own = Custom(abs_gini)
    own.table()
    copy = pickle.loads(pickle.dumps(own))
    assert copy == own == clone(own)
    assert "_cached" not in copy.__dict__
    assert (copy.table() == own.table()).all()
    assert own.set_params(function=slow_power).total([1.0, 3.0]) == pytest.approx(4 * slow_power(0.25), rel=1e-9)
    with pytest.raises(ValueError, match=r"Custom\.function=3 is not allowed"):
        Custom(3).check()


def abs_gini(q):
    return 1 - np.abs(1 - 2 * q) ** 2


def test_both_halves_have_the_same_roster_in_the_same_order():
    header = Path(__file__).parents[1] / "cpp" / "criteria" / "class_criteria.hpp"
    compiled = re.findall(r'string_view name = "(\w+)"', header.read_text())
    assert compiled == [*names("criterion"), "table"]
    assert resolve("criterion", "log_loss") == resolve("criterion", "entropy")  # a second name, as in scikit-learn
    for name in names("criterion"):
        part = resolve("criterion", name)
        assert isinstance(part, Criterion)
        assert part.native()[0] == name


@pytest.mark.parametrize("module", [criteria, growth, leaves._leaf, component, _weights], ids=lambda m: m.__name__)
def test_examples_run(module):
    result = doctest.testmod(module)
    assert result.failed == 0
    assert result.attempted > 0


def test_the_core_refuses_what_it_does_not_know():
    table, W = np.empty(0), np.ones((1, 2))
    gini = _core.Criterion("gini", 0.0, table)
    with pytest.raises(ValueError, match="unknown criterion: foo"):
        _core.Criterion("foo", 0.0, table)
    with pytest.raises(ValueError, match="C >= 1"):
        _core.Criterion("modified_gini", 0.5, table)
    with pytest.raises(ValueError, match="two rows"):
        _core.Criterion("table", 0.0, table)
    with pytest.raises(ValueError, match="shape"):
        _core.criterion_gain(gini, W, np.ones((2, 2)))
    with pytest.raises(TypeError):
        _core.criterion_total(gini, W.astype(np.float32))
