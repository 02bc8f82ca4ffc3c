"""Proximity of rows: by hand, typical rows, outliers, and the page."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_blobs

from boscage import ForestClassifier, ForestRegressor
from boscage.forest._proximity import groups_of_numbers, outliers, prototypes


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_proximity_by_hand(seed, trees):
    draws = np.random.default_rng(seed)
    X = draws.normal(size=(30, 3))
    forest = ForestClassifier(trees, random_state=seed).fit(X, draws.integers(0, 3, 30))
    leaves = forest.apply(X)
    by_hand = [[np.mean([a == b for a, b in zip(one, other)]) for other in leaves[:7]] for one in leaves]
    np.testing.assert_allclose(forest.proximity(X, X[:7]), by_hand)
    whole = forest.proximity(X)
    np.testing.assert_array_equal(whole, whole.T)
    assert (np.diag(whole) == 1).all()


def test_a_row_of_the_wrong_class_is_an_outlier_and_not_typical():
    X, y = make_blobs(150, 4, centers=3, cluster_std=0.7, random_state=3)
    y[11] = (y[11] + 1) % 3
    near = ForestClassifier(50, random_state=0).fit(X, y).proximity(X)
    assert outliers(near, y)[0].row == 11
    typical = prototypes(near, y)
    assert {found.group for found in typical} == {0, 1, 2}
    assert all(y[found.row] == found.group and found.row != 11 for found in typical)


def test_the_second_typical_row_is_where_the_first_is_far():
    near = np.kron(np.eye(2), np.ones((4, 4)))
    found = prototypes(near, np.zeros(8, np.int64))
    assert {one.row // 4 for one in found} == {0, 1}


def test_small_and_equal_groups():
    near = np.ones((3, 3))
    assert outliers(near, np.array([0, 0, 1])) == []
    assert len(prototypes(near, np.array([0, 0, 1]))) == 2
    group, names = groups_of_numbers(np.arange(9.0))
    assert group.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert len(names) == 3


def test_the_page_lists_rows_by_proximity():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    text = ForestClassifier(30, random_state=0).fit(X, names).to_html(X=X, y=names, max_trees=0)
    assert "Typical rows" in text
    assert text.count("<td>virginica</td>") >= 2
    assert "150 rows were compared" in text
    assert "Typical rows" not in ForestClassifier(3, random_state=0).fit(X, names).to_html(max_trees=0)


@pytest.mark.parametrize("form", ["dense", "csr", "missing"])
def test_the_page_of_numbers_and_of_many_rows(form):
    from scipy import sparse

    draws = np.random.default_rng(0)
    X = draws.normal(size=(1500, 3)) * (draws.uniform(size=(1500, 3)) < 0.5)
    y = X[:, 0] + X[:, 1]
    X = sparse.csr_array(X) if form == "csr" else X
    if form == "missing":
        X[::7, 0] = np.nan
    text = ForestRegressor(5, random_state=0).fit(X, y).to_html(X=X, y=y, max_trees=0)
    assert "750 rows were compared" in text
    assert "y ≤ " in text
