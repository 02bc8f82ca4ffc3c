"""What must not change a tree: threads, row order, column scale, memory layout, weights for repetition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boscage import TopDownTreeClassifier

SETTINGS = settings(derandomize=True, deadline=None, max_examples=40)


@st.composite
def data(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, d = draw(st.integers(2, 60)), draw(st.integers(1, 4))
    X = rng.integers(0, 8, (n, d)) + draw(st.sampled_from([0, 1])) * rng.normal(size=(n, d))
    return X, rng.integers(0, 3, n), rng


def grow(X, y, w=None, **parameters):
    return TopDownTreeClassifier(**parameters).fit(X, y, sample_weight=w).tree_


@SETTINGS
@given(data())
def test_order_of_rows_changes_nothing(problem):
    X, y, rng = problem
    w = rng.exponential(size=len(y))
    order = rng.permutation(len(y))
    assert grow(X, y, w) == grow(X[order], y[order], w[order])


@SETTINGS
@given(data(), st.sampled_from(["gini", "entropy", "sqrt", "separation"]))
def test_integer_weights_are_repetitions_to_the_bit(problem, criterion):
    X, y, rng = problem
    w = rng.integers(0, 4, len(y))
    w[0] = 1
    repeated = np.repeat(np.arange(len(y)), w)
    weighted = TopDownTreeClassifier(criterion=criterion).fit(X, y, sample_weight=w)
    copied = TopDownTreeClassifier(criterion=criterion).fit(X[repeated], y[repeated])
    if len(weighted.classes_) > len(copied.classes_):
        return  # a class without weight stays in classes_
    for name in (
        "feature",
        "threshold",
        "children_left",
        "value",
        "weighted_n_node_samples",
        "impurity",
        "missing_go_to_left",
    ):
        np.testing.assert_array_equal(getattr(weighted.tree_, name), getattr(copied.tree_, name), err_msg=name)


@SETTINGS
@given(data())
def test_a_row_of_weight_zero_is_absent(problem):
    X, y, rng = problem
    junk = rng.normal(size=(5, X.shape[1])) * 100
    w = np.concatenate([np.ones(len(y)), np.zeros(5)])
    with_junk = grow(np.vstack([X, junk]), np.concatenate([y, rng.integers(0, 3, 5)]), w)
    without = grow(np.vstack([X, junk[:0]]), y)
    np.testing.assert_array_equal(with_junk.threshold, without.threshold)
    np.testing.assert_array_equal(with_junk.feature, without.feature)


@SETTINGS
@given(data(), st.sampled_from([2.0**-40, 0.5, 8.0, 2.0**60]))
def test_scale_of_a_column_changes_nothing_but_thresholds(problem, scale):
    X, y, _ = problem
    plain, scaled = grow(X, y), grow(X * scale, y)
    np.testing.assert_array_equal(plain.feature, scaled.feature)
    np.testing.assert_array_equal(plain.threshold * scale, scaled.threshold)
    np.testing.assert_array_equal(plain.value, scaled.value)


@SETTINGS
@given(data(), st.sampled_from([1e-200, 1e-5, 3.0, 1e200]))
def test_scale_of_the_weights_changes_no_prediction(problem, scale):
    X, y, rng = problem
    w = rng.exponential(size=len(y))
    plain = TopDownTreeClassifier().fit(X, y, sample_weight=w)
    scaled = TopDownTreeClassifier().fit(X, y, sample_weight=w * scale)
    np.testing.assert_allclose(plain.predict_proba(X), scaled.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(scaled.tree_.weighted_n_node_samples[0], w.sum() * scale, rtol=1e-9)


@pytest.mark.parametrize(
    "parameters", [{}, {"max_leaf_nodes": 30}, {"growth": "depth_first"}, {"criterion": "entropy"}]
)
def test_threads_change_no_byte(parameters, rng):
    X = np.column_stack([rng.normal(size=(3000, 5)), rng.integers(0, 9, (3000, 4))])
    X[rng.random(X.shape) < 0.02] = np.nan
    y = (np.nan_to_num(X[:, 0] * X[:, 1]) > 0) + rng.integers(0, 2, 3000)
    w = rng.exponential(size=3000)
    one = grow(X, y, w, n_jobs=1, **parameters)
    for threads in (2, 3, 8):
        assert grow(X, y, w, n_jobs=threads, **parameters) == one


def test_memory_layout_changes_nothing(rng):
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 3, 200)
    plain = grow(X, y)
    wide = np.zeros((400, 10))
    wide[::2, ::2] = X
    for same in (np.asfortranarray(X), wide[::2, ::2], X[::-1][::-1]):
        assert grow(same, y) == plain


def test_float32_is_not_widened(rng):
    X, y = rng.normal(size=(200, 5)).astype(np.float32), rng.integers(0, 2, 200)
    tree = TopDownTreeClassifier().fit(X, y)
    assert tree.tree_.schema.dtype == "float32"
    np.testing.assert_array_equal(tree.tree_.threshold, tree.tree_.threshold.astype(np.float32))
    assert tree.score(X, y) == 1


def test_tiny_and_huge_weights_are_all_used():
    X = np.arange(6.0)[:, None]
    y = [0, 1, 0, 1, 0, 1]
    tree = TopDownTreeClassifier().fit(X, y, sample_weight=[1e-12, 1, 1e6, 1e-3, 5, 1e-9])
    assert tree.score(X, y) == 1
