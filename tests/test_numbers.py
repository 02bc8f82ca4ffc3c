"""Any finite numbers: huge, tiny, far from zero, with weights of any size. No fit dies, no tree is lost.

``BOSCAGE_EXAMPLES`` sets the number of cases for each family; the default keeps the file quick.
"""

import os
import subprocess
import sys
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

import boscage
from boscage import Polish, StochasticLinear, TopDownTreeClassifier, WeightedOblique
from boscage.data.weights import apply_class_weight, exact_sums, moderate_exponent, snap_weights
from boscage.splits.axis import Axis
from strategies import wide_data

SETTINGS = settings(
    derandomize=True, deadline=None, max_examples=int(os.environ.get("BOSCAGE_EXAMPLES", "25")), database=None
)
LARGEST = np.finfo(np.float64).max
CRITERIA = ("gini", "entropy", "sqrt", "modified_gini", "separation")
FAMILIES = {
    "axis": Axis(),
    "axis, bins": Axis(max_bins=16),
    "stochastic": StochasticLinear(),
    "stochastic, no intercept": StochasticLinear(fit_intercept=False),
    "stochastic, unit": StochasticLinear(scale="unit"),
    "stochastic, unit, no intercept": StochasticLinear(scale="unit", fit_intercept=False),
    "stochastic, lookahead": StochasticLinear(lookahead=True),
    "wodt": WeightedOblique(),
    "wodt, no recut": WeightedOblique(recut=False),
    "wodt, bins": WeightedOblique(max_bins=16),
    "co2": "co2",
    "oc1": "oc1",
    "cart_lc": "cart_lc",
    "hhcart": "hhcart",
}
IN_BATCHES = [name for name in FAMILIES if "bins" in name or (name[:5] == "stoch" and "lookahead" not in name)]
HARD_LINEAR = ("wodt", "wodt, bins", "co2", "oc1", "cart_lc", "hhcart")


def criterion_for(family, rng):
    needs_impurity = "stochastic" in family or family == "wodt, no recut"
    return CRITERIA[rng.integers(4 if needs_impurity else 5)]


def grow(family, X, y, w=None, **parameters):
    parameters = {"max_leaf_nodes": 6, "random_state": 0} | parameters
    return TopDownTreeClassifier(FAMILIES[family], **parameters).fit(X, y, sample_weight=w)


def check_model(model, X, tmp_path):
    """Finite arrays, finite probabilities on rows seen and unseen, and a file that says the same."""
    model.tree_.check()
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-6)
    largest = np.finfo(X.dtype).max
    unseen = (np.random.default_rng(0).uniform(-1, 1, (8, X.shape[1])) * largest).astype(X.dtype)
    assert np.isfinite(model.predict_proba(unseen)).all()
    model.save(tmp_path / "model.boscage")
    np.testing.assert_array_equal(boscage.load(tmp_path / "model.boscage").predict_proba(X), proba)
    return proba


@pytest.mark.parametrize("family", FAMILIES)
def test_every_fit_gives_a_whole_tree(family, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")

    @SETTINGS
    @given(wide_data())
    def check(problem):
        X, y, w, rng = problem
        model = grow(family, X, y, w, criterion=criterion_for(family, rng))
        check_model(model, X, folder)
        if model.tree_.routing == "hard":  # training and prediction compare the same numbers
            counts = np.bincount(model.apply(X), minlength=model.tree_.node_count)
            leaves = model.tree_.is_leaf
            np.testing.assert_array_equal(counts[leaves], model.tree_.n_node_samples[leaves])

    check()


@pytest.mark.parametrize("family", ["axis", "stochastic", "wodt", "oc1"])
@pytest.mark.parametrize("after", ["linear", "soft", "hard"])
def test_leaf_models_and_polish_are_whole_too(family, after, tmp_path_factory):
    if family == "axis" and after != "linear":
        pytest.skip("polish needs linear tests")
    folder = tmp_path_factory.mktemp("models")
    how = {"leaf": "linear"} if after == "linear" else {"polish": Polish(after, epochs=3)}

    @settings(SETTINGS, max_examples=max(1, SETTINGS.max_examples // 2))
    @given(wide_data())
    def check(problem):
        X, y, w, _ = problem
        check_model(grow(family, X, y, w, **how), X, folder)

    check()


@pytest.mark.parametrize("family", IN_BATCHES)
def test_batches_give_the_same_bytes(family):
    @SETTINGS
    @given(wide_data())
    def check(problem):
        X, y, w, rng = problem
        parameters = {"criterion": criterion_for(family, rng), "max_leaf_nodes": 6, "random_state": 0}
        cut = len(y) // 2
        arrays = (X, y) if w is None else (X, y, w)
        batches = [tuple(a[part] for a in arrays) for part in (slice(cut), slice(cut, None)) if len(y[part])]
        tree = TopDownTreeClassifier(FAMILIES[family], **parameters).fit_batches(batches).tree_
        assert tree == grow(family, X, y, w, **parameters).tree_

    check()


def is_within_range(X):
    """Numbers and ranges of columns well inside the range of doubles, so that powers of two are exact."""
    if not np.isfinite(X).all():
        return False
    half = X.astype(np.float64) / 2
    wide = half.max(axis=0) - half.min(axis=0)
    tiny = np.finfo(X.dtype).tiny
    columns = np.abs(X).max(axis=0).astype(np.float64)
    return (
        bool(((X == 0) | (np.abs(X) > tiny)).all())
        and bool(((wide == 0) | ((wide > 1e-270) & (wide < 1e300))).all())
        and bool(((columns == 0) | (columns > 1e-270)).all())
    )


@pytest.mark.parametrize("family", [name for name in FAMILIES if "unit" not in name])
def test_columns_times_powers_of_two_change_no_prediction(family):
    tried = 0

    @SETTINGS
    @given(wide_data())
    def check(problem):
        nonlocal tried
        X, y, w, rng = problem
        exponent = rng.integers(-40, 40, X.shape[1])
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.ldexp(X, exponent).astype(X.dtype)
            is_exact = np.array_equal(np.ldexp(scaled, -exponent), X)
            if not (is_exact and is_within_range(X) and is_within_range(scaled)):
                return
        tried += 1
        criterion = criterion_for(family, rng)
        plain, other = grow(family, X, y, w, criterion=criterion), grow(family, scaled, y, w, criterion=criterion)
        np.testing.assert_array_equal(other.predict_proba(scaled), plain.predict_proba(X))

    check()
    assert tried >= 3


@pytest.mark.parametrize("family", ["axis", "stochastic", "stochastic, unit", "co2", "oc1", "cart_lc", "hhcart"])
@pytest.mark.parametrize("exponent", [-700, -90, 90, 700])
def test_weights_times_powers_of_two_change_no_prediction(family, exponent, rng):
    X, y, w = rng.normal(size=(60, 3)), rng.integers(0, 3, 60), rng.exponential(size=60)
    plain, scaled = grow(family, X, y, w), grow(family, X, y, np.ldexp(w, exponent))
    np.testing.assert_allclose(scaled.predict_proba(X), plain.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(
        scaled.tree_.weighted_n_node_samples, np.ldexp(plain.tree_.weighted_n_node_samples, exponent)
    )


def test_weights_are_brought_to_a_moderate_total():
    assert moderate_exponent(1.0) == moderate_exponent(2.0**59) == moderate_exponent(2.0**-60) == 0
    assert moderate_exponent(2.0**100) == 41
    assert moderate_exponent(2.0**-100) == -39
    heavy = snap_weights(np.full(4, 1e308))
    assert np.isfinite(heavy.sum())
    assert heavy.sum() > 2.0**50
    assert snap_weights(np.full(4, 1e-320)).sum() < 2.0**-50


# The largest numbers, as the message about infinities advises.

OVERFLOW = """
import numpy as np
from boscage import TopDownTreeClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(100, 3)); X[rng.random((100, 3)) < .1] = np.finfo(float).max
y = rng.integers(0, 2, 100)
for criterion in ("entropy", "sqrt", "modified_gini"):
    tree = TopDownTreeClassifier("stochastic", criterion=criterion, max_depth=3)
    assert tree.fit(X, y).get_n_leaves() > 1
    assert tree.fit_batches([(X, y)]).get_n_leaves() > 1
    two = TopDownTreeClassifier("stochastic", criterion=criterion)
    two.fit([[-3e160], [4e160]], [0, 1], sample_weight=[3e150, 7e151])
    assert two.predict([[-3e160], [4e160]]).tolist() == [0, 1]
"""


def test_sums_of_the_largest_numbers_do_not_kill_the_process():
    done = subprocess.run([sys.executable, "-c", OVERFLOW], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("cells", [1, 5, 40])
def test_a_few_huge_cells_leave_the_other_columns_useful(cells):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = (X[:, 0] > 0).astype(int)
    X[:cells, 2] = LARGEST
    for family in ("axis", *HARD_LINEAR):
        assert grow(family, X, y, max_leaf_nodes=None, max_depth=3).score(X, y) == 1
    assert grow("stochastic", X, y, max_leaf_nodes=8).score(X, y) > 0.9


@pytest.mark.parametrize("family", [*HARD_LINEAR, "stochastic", "stochastic, unit"])
def test_a_column_of_subnormal_numbers_counts_as_constant(family, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    without = grow(family, X * [1, 0], y, max_leaf_nodes=4)
    X[:, 1] *= 1e-310
    model = grow(family, X, y, max_leaf_nodes=4)
    np.testing.assert_array_equal(check_model(model, X, tmp_path), without.predict_proba(X))
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("offset", [1e8, 1e13, 1e14, 1e15])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_columns_far_from_zero_cost_no_more_than_their_rounding(offset, make):
    for seed in range(4):
        plain = np.random.default_rng(seed).normal(size=(200, 2))
        y = (plain[:, 0] > 0).astype(int)
        X = plain + offset
        axis = grow("axis", X, y, max_leaf_nodes=4).score(X, y)
        for family in HARD_LINEAR:
            assert grow(family, make(X), y, max_leaf_nodes=4, random_state=seed).score(make(X), y) >= axis - 0.015
        near = grow("stochastic", X - offset, y, max_leaf_nodes=4).score(X - offset, y)
        assert grow("stochastic", make(X), y, max_leaf_nodes=4).score(make(X), y) >= near - 0.015


@pytest.mark.parametrize("scale", [1e-280, 1e-170, 1e160, 1e300])
def test_linear_leaves_do_not_depend_on_the_size_of_columns(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X @ [1, 2, -1] > 0).astype(int)
    plain, scaled = grow("axis", X, y, leaf="linear"), grow("axis", X * scale, y, leaf="linear")
    np.testing.assert_allclose(scaled.predict_proba(X * scale), plain.predict_proba(X), atol=1e-4)
    polish = {"polish": Polish(epochs=100), "max_leaf_nodes": 2}
    plain, scaled = grow("wodt", X, y, **polish), grow("wodt", X * scale, y, **polish)
    np.testing.assert_allclose(scaled.predict_proba(X * scale), plain.predict_proba(X), atol=0.05)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [1e40, 1e300])
def test_huge_weights_let_linear_leaves_and_polish_fit_closely(dtype, weight):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(dtype)
    y = (X @ [1, 2, -1] > 0).astype(int)
    w = np.full(200, weight)
    leaves = grow("wodt", X, y, w, leaf="linear", max_leaf_nodes=2).predict_proba(X)
    assert (leaves[np.arange(200), y] > 0.999).all()
    polished = grow("wodt", X, y, w, polish=Polish(epochs=100), max_leaf_nodes=2)
    assert np.isfinite(polished.predict_proba(X)).all()
    assert polished.score(X, y) > 0.97


def test_predictions_of_terms_that_overflow_are_probabilities():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) * 1e-200
    y = (X @ [1, 2, -1] > 0).astype(int)
    unseen = np.tile([[1e300, -1e300, 1e300], [-1e300, 1e300, 1e300]], (1000, 1))
    for how in ({"leaf": "linear"}, {"polish": Polish(epochs=1)}):
        model = grow("wodt", X, y, max_leaf_nodes=8, **how)
        for rows in (unseen[:2], unseen):  # row by row, and by products
            proba = model.predict_proba(rows)
            assert np.isfinite(proba).all()
            np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-9)


@pytest.mark.parametrize("family", ["axis, bins", "stochastic", "wodt, bins"])
def test_balanced_classes_may_be_any_number_of_times_as_heavy(family):
    X, y, w = np.array([[0.0], [1.0]]), np.array([0, 1]), np.array([1e300, 1e-300])
    model = grow(family, X, y, w, class_weight="balanced")
    np.testing.assert_allclose(model.tree_.value[0], 0.5)
    assert model.predict(X).tolist() == [0, 1]
    batches = TopDownTreeClassifier(FAMILIES[family], max_leaf_nodes=6, random_state=0, class_weight="balanced")
    assert batches.fit_batches([(X, y, w)]).tree_ == model.tree_


def test_balanced_weights_take_memory_of_rows_and_classes():
    rng = np.random.default_rng(0)
    n_classes, n = 20_000, 25_000
    codes = rng.integers(0, n_classes, n).astype(np.int32)
    w = 10.0 ** rng.uniform(-150, 150, n)
    found = exact_sums(w, codes, n_classes)
    for k in range(50):
        assert found[k] == sum(Fraction(x) for x in w[codes == k].tolist()) * 2**1126
    tracemalloc.start()
    apply_class_weight("balanced", codes, np.arange(n_classes), w)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 40e6
