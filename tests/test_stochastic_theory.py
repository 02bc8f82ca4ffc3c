"""The guarantee in use: edges, promised drops, and the margin tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boscage import StochasticLinear, TopDownTreeClassifier
from boscage.model import predict as _predict
from boscage.theory import (
    binomial_margin,
    edge,
    entropy_drop,
    gini_drop,
    margin_depth,
    margin_tree,
    node_edges,
    promised_drop,
    sqrt_drop,
)
from test_stochastic_solve import unit

unit_interval = st.floats(0.01, 0.99)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(unit_interval, unit_interval, unit_interval)
def test_no_test_drops_less_than_its_edge_promises(share, right_if_1, right_if_0):
    from boscage.criteria import Entropy, Gini, Sqrt

    W = np.array([1 - share, share])
    right = W * [right_if_0, right_if_1]
    gamma = edge(right, W - right)
    np.testing.assert_allclose(gamma, (right_if_1 - right_if_0) / 2, atol=1e-12)
    for criterion, bound in ((Gini(), gini_drop), (Entropy(), entropy_drop), (Sqrt(), sqrt_drop)):
        drop = criterion.split_drop(right, W - right) / criterion.unit
        assert drop >= bound(gamma, share) - 1e-12
        assert bound(gamma, share) >= bound(gamma, share, form="printed") - 1e-15


@pytest.mark.parametrize("criterion", ["gini", "entropy", "sqrt", "modified_gini"])
def test_edges_of_a_fitted_tree(criterion, rng):
    X = rng.normal(size=(1500, 5))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, "yes", "no")
    w = rng.exponential(size=1500)
    model = TopDownTreeClassifier("stochastic", criterion, max_leaf_nodes=20).fit(X, y, sample_weight=w)
    found = node_edges(model)
    np.testing.assert_array_equal(found["node"], np.flatnonzero(~model.tree_.is_leaf))
    assert (found["edge"] > 0).all(), "right means the later class"
    if criterion == "modified_gini":
        assert np.isnan(found["promised"]).all()
    else:
        assert (found["drop"] >= found["promised"] - 1e-12).all()
    measured = node_edges(model, X, y, w)
    for name in ("weight", "share", "edge", "drop"):
        np.testing.assert_allclose(measured[name], found[name], rtol=1e-5)
    # The drops of the tests, weighted, are the fall of the potential.
    potential = model.trajectory_["potential"]
    np.testing.assert_allclose((found["weight"] * found["drop"]).sum(), potential[0] - potential[-1], rtol=1e-9)


def test_edges_of_a_hard_tree_and_refusals(rng):
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    tree = TopDownTreeClassifier(max_depth=3).fit(X, y > 0)
    found = node_edges(tree.tree_, criterion="gini")
    assert (found["drop"] >= found["promised"] - 1e-12).all()
    with pytest.raises(ValueError, match="two classes"):
        node_edges(TopDownTreeClassifier(max_depth=2).fit(X, y))
    assert np.isnan(promised_drop("modified_gini", 0.1, 0.5))


@pytest.mark.parametrize("depth", [1, 2, 5, 8])
def test_the_margin_tree_is_the_binomial(depth, rng):
    w = unit(rng.normal(size=4))
    X = unit(rng.normal(size=(50, 4)))
    tree = margin_tree(w, depth)
    tree.check()
    np.testing.assert_allclose(_predict.predict_proba(tree, X)[:, 1], binomial_margin(X, w, depth), atol=1e-12)


@pytest.mark.parametrize("margin", [0.3, 0.6])
@pytest.mark.parametrize("error", [0.2, 0.01])
def test_the_depth_of_the_theorem_is_enough(margin, error, rng):
    w = unit(rng.normal(size=3))
    X = unit(rng.normal(size=(3000, 3)))
    X = X[np.abs(X @ w) >= margin]
    proba = binomial_margin(X, w, margin_depth(margin, error))
    assert np.where(X @ w > 0, 1 - proba, proba).max() <= error


def test_margin_refusals():
    with pytest.raises(ValueError, match="depth=20"):
        margin_tree([1.0], 20)
    with pytest.raises(ValueError, match="margin=0"):
        margin_depth(0, 0.1)


def test_many_rows_at_once_predict_as_one_by_one(rng):
    X = rng.normal(size=(3000, 6)) * [1, 1, 1, 1, 1e3, 1] + [0, 0, 0, 50, 0, 0]
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    for family in (StochasticLinear(), StochasticLinear(scale="unit", fit_intercept=False)):
        for leaf in ("frequency", "majority"):
            model = TopDownTreeClassifier(family, leaf=leaf, max_leaf_nodes=30).fit(X, y)
            few = np.vstack([model.predict_proba(X[i : i + 500]) for i in range(0, 3000, 500)])
            for rows in (X, np.asfortranarray(X)):
                np.testing.assert_allclose(model.predict_proba(rows), few, atol=1e-12)
            assert (model.predict(X) == model.classes_[few.argmax(axis=1)]).mean() > 0.999
            wild = X.copy()
            wild[7] = 1e300
            wild[8] = 0
            assert np.isfinite(model.predict_proba(wild)).all()
