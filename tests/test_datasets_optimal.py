"""The synthetic data of weighted optimal trees."""

import itertools

import numpy as np
import pytest

from boscage.datasets import (
    bias_class_weights,
    bias_error_weights,
    make_four_spheres,
    make_linear_with_errors,
    make_three_spheres,
)


@pytest.mark.parametrize(("n", "k", "wrong"), [(1500, 2, 0.25), (101, 3, 0.1), (50, 4, 0.0), (10, 2, 1.0)])
def test_linear_with_errors(n, k, wrong):
    X, y = make_linear_with_errors(n, 3, k, wrong, random_state=0)
    assert X.shape == (n, 3)
    assert set(y) <= set(range(k))
    # Boxes do not overlap, so the box of a row is known from any column.
    box = np.zeros(n, int)
    order = np.argsort(X[:, 0])
    counts = np.sum([np.bincount(np.arange(m) % k, minlength=k) for m in (n - int(wrong * n), int(wrong * n))], axis=0)
    box[order] = np.repeat(np.arange(k), counts)
    assert (box != y).sum() == int(wrong * n)
    for j in range(3):
        ends = [(X[box == c, j].min(), X[box == c, j].max()) for c in range(k)]
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(ends))
        assert max(high - low for low, high in ends) <= 5
        assert -10 <= X[:, j].min() <= 5


def test_three_spheres():
    X, y = make_three_spheres(1000, 4, (2, 0, 1), center=[1, 2, 3, 4], random_state=0)
    radius = np.linalg.norm(X - [1, 2, 3, 4], axis=1)
    np.testing.assert_allclose(radius, np.rint(radius))
    assert np.bincount(np.rint(radius).astype(int)).tolist() == [0, 334, 333, 333]
    np.testing.assert_array_equal(y, np.array([2, 0, 1])[np.rint(radius).astype(int) - 1])
    assert np.abs(X.mean(axis=0) - [1, 2, 3, 4]).max() < 0.2


def test_four_spheres():
    X, y = make_four_spheres(1200, 3, random_state=0)
    corner = np.where(X > 0, 10.0, -10.0)
    assert {tuple(c) for c in corner} == {(-10, -10, -10), (10, 10, 10), (10, -10, -10), (-10, 10, 10)}
    radius = np.linalg.norm(X - corner, axis=1)
    np.testing.assert_allclose(radius, np.rint(radius))
    np.testing.assert_array_equal(y, np.rint(radius) != 2)
    assert sorted(np.unique(corner, axis=0, return_counts=True)[1].tolist()) == [300] * 4


def test_same_seed_same_data():
    for make in (make_linear_with_errors, make_three_spheres, make_four_spheres):
        np.testing.assert_array_equal(make(30, random_state=1)[0], make(30, random_state=1)[0])
        assert (make(30, random_state=1)[0] != make(30, random_state=2)[0]).any()


def test_weights():
    assert bias_class_weights(["a", "b", "a"], "a", 2.5).tolist() == [2.5, 1, 2.5]
    assert bias_error_weights([0, 1, 2], [0, 2, 2]).tolist() == [1, 3, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_linear_with_errors(0), "n_samples=0"),
        (lambda: make_linear_with_errors(p_wrong=1.5), "p_wrong=1.5"),
        (lambda: make_linear_with_errors(n_classes=1), "n_classes=1"),
        (lambda: make_three_spheres(labels=(1, 0)), "labels="),
        (lambda: make_four_spheres(n_features=1), "n_features=1"),
        (lambda: bias_class_weights([0, 0], 1), "label=1"),
        (lambda: bias_class_weights([0, 1], 1, -1), "value=-1"),
        (lambda: bias_error_weights([0, 1], [0]), "same length"),
    ],
)
def test_nonsense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
