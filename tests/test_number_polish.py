"""Polish of trees of numbers: better on smooth functions, the same bytes for threads, weights as repetitions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from boscage import IncompatibleParts, Polish, RidgeLeaf, TopDownTreeRegressor

FAMILIES = ["oblique", "oc1"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 3)) * [1.0, 50.0, 0.01] + [0.0, 7.0, 1.0]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.sin(Z[:, 0] + Z[:, 1]) * 10 + Z[:, 2]


def grown(polish, splits="oblique", **settings):
    return TopDownTreeRegressor(splits, polish=polish, random_state=0, **{"max_leaf_nodes": 10} | settings)


@pytest.mark.parametrize("splits", FAMILIES)
def test_polishing_lowers_the_squared_error(splits, rows):
    X, y = rows
    plain = grown(None, splits).fit(X, y)
    soft, hard = grown("soft", splits).fit(X, y), grown("hard", splits).fit(X, y)
    assert soft.tree_.routing == "logistic"
    assert hard.tree_.routing == "hard"
    assert 1 - soft.score(X, y) < 0.7 * (1 - plain.score(X, y))
    assert hard.score(X, y) >= plain.score(X, y)
    for tree in (soft, hard):
        tree.tree_.check()
        assert tree.get_n_leaves() <= 10


def test_nodes_hold_soft_means_and_variances(rows):
    X, y = rows
    tree = grown("soft").fit(X, y)
    reach = tree.decision_path(X).toarray()
    mass = reach.sum(axis=0)
    mean = reach.T @ y / mass
    np.testing.assert_allclose(tree.tree_.value[:, 0], mean)
    expected = (reach * (y[:, None] - mean) ** 2).sum(axis=0) / mass
    np.testing.assert_allclose(tree.tree_.impurity, expected, rtol=1e-9)
    leaves = reach[:, tree.tree_.leaves]
    np.testing.assert_allclose(tree.predict(X), leaves @ tree.tree_.leaf_value[:, 0])


def test_auto_takes_what_errs_least_on_held_out_rows(rows, rng):
    X, y = rows
    assert grown("auto").fit(X, y).tree_.routing == "logistic"
    steps = np.where(X[:, 0] > 0.3, 5.0, 0.0)
    assert grown("auto").fit(X, steps).tree_.routing == "hard"


@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_weights_are_repetitions(mode, rows, rng):
    X, y = rows[0][:120], rows[1][:120]
    times = rng.integers(1, 4, len(y))
    weighted = grown(Polish(mode, epochs=20), max_leaf_nodes=4).fit(X, y, sample_weight=times)
    repeated = grown(Polish(mode, epochs=20), max_leaf_nodes=4).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


@pytest.mark.parametrize(
    "settings", [{"leaf": RidgeLeaf(blend=0.2, refine=True)}, {"splits": "oblique", "polish": "soft"}]
)
def test_weights_of_small_numbers_are_repetitions(settings):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 2))
    y = 1.2 * np.exp(X[:, 0] + 0.3 * rng.normal(size=60))
    times = np.where(y < 1.2, 4, 1)  # they move the mean of y, and so how far the largest is from it
    tree = TopDownTreeRegressor(**settings, max_leaf_nodes=4, random_state=0)
    weighted = clone(tree).fit(X, y, sample_weight=times)
    repeated = clone(tree).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


def test_threads_change_no_byte(rng, tmp_path):
    X = rng.normal(size=(3000, 4))
    y = np.sin(X @ [1.0, 1.0, 0.0, 0.5])
    files = [grown(Polish(epochs=10), n_jobs=n).fit(X, y).save(tmp_path / str(n)).read_bytes() for n in (1, 3)]
    assert files[0] == files[1]


def test_several_outputs_and_units_of_y(rows):
    X, y = rows
    small = grown("soft").fit(X, y).predict(X)
    np.testing.assert_allclose(grown("soft").fit(X, 1024 * y - 7).predict(X), 1024 * small - 7, rtol=1e-6)


def test_categories_and_missing_values(rng):
    frame = pd.DataFrame({"kind": pd.Categorical(rng.choice(list("abc"), 300)), "x": rng.normal(size=300)})
    frame.loc[::9, "x"] = np.nan
    y = frame["kind"].map({"a": 0.0, "b": 3.0, "c": 1.0}).astype(float) * np.tanh(frame["x"].fillna(0.0))
    for leaf in ("constant", RidgeLeaf(blend=0)):
        tree = grown("soft", leaf=leaf).fit(frame, y)
        tree.tree_.check()
        assert tree.score(frame, y) > 0.8


def test_linear_leaves_of_oblique_trees_keep_the_numbers_of_categories(rng):
    kind = rng.integers(0, 6, 600)
    X = pd.DataFrame({"kind": pd.Categorical.from_codes(kind, list("abcdef")), "x": rng.normal(size=600)})
    y = np.array([3.0, 0, 5, 1, 4, 2])[kind] * X["x"] + np.array([0.0, 9, 1, 5, 3, 7])[kind]
    tree = TopDownTreeRegressor("oblique", leaf="linear", max_leaf_nodes=16, random_state=0).fit(X, y)
    plain = TopDownTreeRegressor("oblique", max_leaf_nodes=16, random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.tree_.input_map.codes, plain.tree_.input_map.codes)
    assert tree.score(X, y) > plain.score(X, y)


@pytest.mark.parametrize("splits", FAMILIES)
def test_linear_leaves_of_a_polished_tree_fit_no_worse_than_its_constants(splits):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 4))
    y = np.exp((X[:, 0] + X[:, 1]) / 2 + 0.3 * np.sin(3 * X[:, 2])) + 0.05 * rng.random(1600)
    (X, y), test = (X[:400], y[:400]), (X[400:], y[400:])
    constant, linear = (grown("soft", splits, leaf=leaf, max_leaf_nodes=8).fit(X, y) for leaf in ("constant", "linear"))
    assert 1 - linear.score(X, y) < 1.1 * (1 - constant.score(X, y))
    assert 1 - linear.score(*test) < 1.1 * (1 - constant.score(*test))


@pytest.mark.parametrize(
    ("polish", "settings", "message"),
    [
        (
            "soft",
            {"criterion": "poisson", "splits": "oc1"},
            r"criterion=Poisson\(\): in regression it minimises the squ",
        ),
        ("soft", {"splits": "stochastic"}, r"splits=StochasticLinear\(\): in regression it refines hard tests"),
        (Polish(dropout=0.2), {}, "Polish.dropout=0.2 is not allowed. Pass 0.0: it is for classification"),
        (Polish(time_limit=3.0), {}, "Polish.time_limit=3.0 is not allowed"),
        ("soft", {"splits": "axis"}, "it needs tests that are linear in x"),
    ],
)
def test_what_polish_does_not_do_for_numbers(polish, settings, message, rows):
    X, y = rows
    with pytest.raises((IncompatibleParts, ValueError), match=message):
        grown(polish, **settings).fit(X[:1], np.abs(y[:1]))  # one row: before a tree is grown
