"""ForestMix: nodes against slow references, and what must not change its trees."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_wine, make_classification

from boscage import ForestMix, IncompatibleParts, TopDownTreeClassifier, TopDownTreeRegressor, WeightedOblique
from boscage.base.component import check_compatible, names, resolve
from boscage.criteria._numbers import NumberCriterion
from boscage.data.validation import fit_data
from boscage.data.weights import snap_weights
from boscage.engine.grow import Job, Limits
from boscage.engine.top_down import category_rule
from boscage.model.predict import apply, decision_path, predict_proba
from boscage.tree import LINEAR
from reference_grow import check_grown, mix
from reference_oblique import best_cut, standardise

SETTINGS = settings(derandomize=True, deadline=None, max_examples=40)
EVERY_COLUMN = {"max_features": None, "linear_features": 1.0}


def job_of(X, y, w=None, *, seed=0, threads=1, criterion="entropy", growth="best_first", limits=None, **parameters):
    splits = ForestMix(**parameters)
    splits.check()
    criterion = resolve("criterion", criterion)
    target = "numbers" if isinstance(criterion, NumberCriterion) else "classes"
    rule = category_rule("from_dtype", splits)
    data = fit_data(TopDownTreeClassifier(), X, y, target=target, categories=rule, accept_sparse=True)
    if w is not None:
        data = replace(data, weight=np.asarray(w, float))
    parts = criterion, resolve("growth", growth)
    return Job(data, *parts, Limits(**(limits or {})), seed, threads, splits=splits)


def grow(X, y, w=None, **parameters):
    job = job_of(X, y, w, **parameters)
    tree = job.splits.grow(job)
    tree.check()
    return tree


def same_bytes(a, b):
    assert a == b
    for name in ("threshold", "value", "impurity"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()
    assert a.weights.data.tobytes() == b.weights.data.tobytes()


def axis_seed(seed):
    """The seed by which nodes without linear offers draw their columns."""
    return mix((mix(seed ^ 0x666F726573746D78) + 2) % 2**64)


@st.composite
def tables(draw):
    """Rows with ties, missing values, constant columns and categories; weights may be 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, d, k = draw(st.integers(4, 40)), draw(st.integers(1, 5)), draw(st.integers(2, 4))
    X = rng.integers(0, 5, (n, d)) + draw(st.sampled_from([0, 1])) * rng.normal(size=(n, d))
    if draw(st.booleans()):
        X[rng.random((n, d)) < 0.2] = np.nan
    if draw(st.booleans()):
        X[:, 0] = X[0, 0]
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(d)])
    if draw(st.booleans()):
        codes = rng.integers(0, 4, n)
        frame["kind"] = pd.Categorical.from_codes(np.where(rng.random(n) < 0.1, -1, codes), list("abcd"))
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    w = rng.integers(0, 4, n).astype(float)
    w[:k] = 1
    return frame, y, w, draw(st.integers(0, 100))


@SETTINGS
@given(tables(), st.sampled_from(["gini", "entropy"]), st.integers(1, 3), st.integers(1, 3))
def test_axis_nodes_against_slow_growing(table, criterion, max_features, min_samples_leaf):
    """Every cut is the best of the columns that the node drew; two classes have their categories divided best."""
    X, y, w, seed = table
    if "kind" in X:  # the order by share is the best one for two classes, and without a limit
        y, min_samples_leaf = y % 2, 1
    limits = {"min_samples_leaf": min_samples_leaf}
    parameters = {"axis_share": 1.0, "max_features": max_features, "criterion": criterion, "seed": seed}
    job = job_of(X, y, w, limits=limits, **parameters)
    tree = job.splits.grow(job)
    tree.check()
    sample = axis_seed(seed), max_features
    check_grown(tree, job.data.X, y, w, job.criterion, sample=sample, min_rows=min_samples_leaf)


@SETTINGS
@given(tables(), st.sampled_from(["C", "F", "float32", "csr"]))
def test_rows_arrive_where_growing_sent_them(table, layout):
    """Scores of training and prediction have the same bits; fractions are recounts."""
    X, y, w, seed = table
    if layout == "csr":
        X = X.drop(columns="kind", errors="ignore")
    job = job_of(X, y, w, seed=seed, axis_share=0.3)
    make = {
        "C": np.ascontiguousarray,
        "F": np.asfortranarray,
        "float32": lambda rows: rows.astype(np.float32),
        "csr": sparse.csr_array,
    }
    job = replace(job, data=replace(job.data, X=make[layout](np.asarray(job.data.X))))
    tree = job.splits.grow(job)
    used = w > 0
    path = decision_path(tree, job.data.X)[used]
    np.testing.assert_array_equal(np.asarray(path.sum(axis=0)).ravel(), tree.n_node_samples)
    leaf = apply(tree, job.data.X)
    for node in tree.leaves:
        here = used & (leaf == node)
        counts = np.bincount(y[here], w[here], tree.n_classes)
        np.testing.assert_allclose(tree.value[node], counts / counts.sum(), rtol=1e-12)


@SETTINGS
@given(st.integers(0, 10**6), st.integers(3, 60), st.integers(1, 40), st.booleans())
def test_ridge_is_that_of_numpy(seed, n, d, weighted):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * 10.0 ** rng.integers(-3, 4, d) + rng.normal(size=d)
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    w = snap_weights(rng.exponential(size=n) + 0.1) if weighted else np.ones(n)
    tree = grow(X, y, w, axis_share=0.0, finders=["ridge"], limits={"max_depth": 1}, l2=0.3, **EVERY_COLUMN)
    assert tree.feature[0] == LINEAR
    Z, t, all_w = standardise(X, w), y - np.average(y, weights=w), w.sum()
    added = 0.3 * np.sqrt(all_w) + 1e-6 * all_w * (1 if d <= -(-n // 8) * 8 else d / (-(-n // 8) * 8))
    theta = np.linalg.solve((Z * w[:, None]).T @ Z + added * np.eye(d), Z.T @ (w * t))
    weights = theta / np.sqrt(np.average((X - np.average(X, axis=0, weights=w)) ** 2, axis=0, weights=w))
    expected = weights / np.abs(weights).max()
    np.testing.assert_allclose(tree.weights.toarray()[0], expected, rtol=1e-5, atol=1e-7)


@SETTINGS
@given(tables(), st.sampled_from(["gini", "entropy"]), st.sampled_from(["wodt", "ridge"]))
def test_thresholds_are_the_best_along_the_directions(table, criterion, finder):
    X, y, w, seed = table
    X = X.drop(columns="kind", errors="ignore").fillna(0.0).to_numpy()
    tree = grow(X, y, w, seed=seed, axis_share=0.0, finders=[finder], criterion=criterion)
    path, criterion = decision_path(tree, X).toarray() > 0, resolve("criterion", criterion)
    for node in np.flatnonzero(tree.feature == LINEAR):
        here = path[:, node] & (w > 0)
        scores = X[here] @ tree.weights.toarray()[tree.linear_row[node]]
        children = tree.children_right[node], tree.children_left[node]
        mass = tree.weighted_n_node_samples * tree.impurity
        gain = mass[node] - mass[children[0]] - mass[children[1]]
        assert gain >= best_cut(scores, y[here], w[here], criterion) - 1e-9 * w.sum()


def test_wodt_offer_is_that_of_weighted_oblique(rng):
    """All columns, all classes, many steps: one node as good as that of the family for single trees."""
    X, y = load_wine(return_X_y=True)
    mine = grow(
        X, y, axis_share=0.0, finders=["wodt"], super_classes=0.0, max_iter=200, limits={"max_depth": 1}, **EVERY_COLUMN
    )
    other = TopDownTreeClassifier(WeightedOblique(l2=0.1), criterion="entropy", max_depth=1, random_state=0).fit(X, y)
    impurity = [t.impurity[1:] @ t.weighted_n_node_samples[1:] for t in (mine, other.tree_)]
    assert impurity[0] <= 1.05 * impurity[1]


def problem(rng, n=400, d=12, classes=4):
    seed, informative = int(rng.integers(100)), min(6, d - 2)
    X, y = make_classification(n, d, n_informative=informative, n_classes=classes, random_state=seed)
    return X, y, rng.multinomial(n, np.full(n, 1 / n)).astype(float)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_nothing(rng, dtype):
    X, y, w = problem(rng, 3000, 20)
    X = X.astype(dtype)
    same_bytes(grow(X, y, w), grow(X, y, w, threads=4))


@pytest.mark.parametrize("finders", [("wodt", "ridge", "axis"), ("ridge", "wodt"), ("axis",), ("wodt", "wodt")])
@pytest.mark.parametrize("max_rows", [None, 100])
def test_rows_of_weight_zero_are_absent(rng, finders, max_rows):
    X, y, w = problem(rng)
    X[rng.random(X.shape) < 0.05] = np.nan
    keep = w > 0
    options = {"finders": finders, "max_rows": max_rows, "seed": 3}
    same_bytes(grow(X, y, w, **options), grow(X[keep], y[keep], w[keep], **options))


def test_rows_of_weight_zero_are_absent_with_categories(rng):
    X, y, w = problem(rng)
    frame = pd.DataFrame(X[:, :5])
    frame.columns = [f"c{j}" for j in range(5)]
    frame["kind"] = pd.Categorical.from_codes(rng.integers(0, 6, len(y)), list("abcdef"))
    w[:10] = 1  # every category stays
    keep = w > 0
    same_bytes(grow(frame, y, w), grow(frame[keep], y[keep], w[keep]))


def test_weights_are_repetitions(rng):
    """To the bit where tests have one column; up to rounding of the directions where they have more."""
    X, y, w = problem(rng)
    repeated = np.repeat(np.arange(len(y)), w.astype(int))
    both = [[grow(X, y, w, axis_share=share), grow(X[repeated], y[repeated], axis_share=share)] for share in (1.0, 0.5)]
    for weighted, copied in both:
        np.testing.assert_array_equal(weighted.feature, copied.feature)
        np.testing.assert_array_equal(weighted.value, copied.value)
        np.testing.assert_allclose(weighted.threshold, copied.threshold, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(both[0][0].threshold, both[0][1].threshold)


def test_sparse_and_dense_rows_give_the_same_tree(rng):
    X, y, w = problem(rng, 300, 30)
    X[rng.random(X.shape) < 0.7] = 0
    X[3, 4] = X[100, 4] = np.nan
    dense = grow(X, y, w)
    for rows in (sparse.csr_array(X), sparse.csr_array(X.astype(np.float64))):
        found = grow(rows, y, w)
        for name in ("feature", "threshold", "children_left", "value", "missing_go_to_left"):
            np.testing.assert_array_equal(getattr(dense, name), getattr(found, name))
        assert (dense.weights != found.weights).nnz == 0


def test_memory_layout_changes_nothing(rng):
    X, y, w = problem(rng)
    same_bytes(grow(X, y, w), grow(np.asfortranarray(X), y, w))
    same_bytes(grow(X, y, w), grow(np.repeat(X, 2, axis=1)[:, ::2], y, w))


def test_units_of_columns_do_not_matter(rng):
    X, y, w = problem(rng)
    unit = 2.0 ** rng.integers(-200, 200, X.shape[1])
    plain, scaled = grow(X, y, w), grow(X * unit, y, w)
    np.testing.assert_array_equal(plain.value, scaled.value)
    np.testing.assert_array_equal(plain.feature, scaled.feature)


def test_columns_of_any_size(rng):
    """Numbers near the ends of the range of doubles neither stop a tree nor get into it as infinity."""
    X, y, w = problem(rng, 120, 6)
    X *= np.array([1e300, 1e-300, 1.7e308 / np.abs(X).max(), 1e160, 1e-308, 1.0])
    tree = grow(X, y, w)
    assert (tree.impurity[tree.leaves] == 0).all()
    assert np.isfinite(tree.weights.data).all()


def test_equal_rows_of_different_classes_end_in_a_leaf():
    tree = grow(np.ones((6, 3)), [0, 1, 0, 1, 2, 2])
    assert tree.node_count == 1
    tree = grow(np.repeat([[0.0, 1.0], [1.0, 0.0]], 3, axis=0), [0, 1, 1, 0, 0, 1], axis_share=0.0)
    assert tree.n_leaves == 2


def test_some_rows_for_the_direction_and_all_for_the_cut(rng):
    X, y, w = problem(rng, 2000, 8, 2)
    few, all_rows = grow(X, y, w, max_rows=50), grow(X, y, w, max_rows=None)
    assert few != all_rows
    assert (few.impurity[few.leaves] == 0).all()


def test_share_of_axis_nodes(rng):
    X, y, w = problem(rng, 2000, 8)
    assert not grow(X, y, w, axis_share=1.0).weights.shape[0]
    half = grow(X, y, w)
    assert 0.3 < (half.feature == LINEAR).sum() / (~half.is_leaf).sum() < 0.55
    linear = grow(X, y, w, axis_share=0.0, finders=["ridge"])
    assert (linear.feature == LINEAR).sum() > 0.9 * (~linear.is_leaf).sum()


def test_numbers_of_columns(rng):
    X, y, w = problem(rng)
    tree = grow(X, y, w, axis_share=0.0, finders=["wodt"], linear_features=3)
    assert (np.diff(tree.weights.indptr) <= 3).all()
    sizes = np.diff(grow(X, y, w, axis_share=0.0, finders=["wodt"]).weights.indptr)
    assert sizes.min() < 4
    assert sizes.max() > 8
    assert (np.diff(tree.weights.indptr) == 3).any()


def test_limits_and_orders(rng):
    X, y, w = problem(rng)
    for growth in ("best_first", "heaviest_first", "depth_first"):
        budget = {} if growth == "depth_first" else {"max_leaf_nodes": 9}
        tree = grow(X, y, w, growth=growth, limits={"max_depth": 5, "min_samples_leaf": 4, **budget})
        assert tree.max_depth <= 5
        assert tree.n_node_samples.min() >= 4
        assert growth == "depth_first" or tree.n_leaves == 9


NUMBERS = {"criterion": "squared_error"}


@SETTINGS
@given(tables(), st.sampled_from(["squared_error", "poisson"]), st.integers(1, 3))
def test_axis_nodes_of_numbers_against_slow_growing(table, criterion, max_features):
    X, y, w, seed = table
    y = np.random.default_rng(seed).integers(1, 50, len(y)) / 4.0
    parameters = {"axis_share": 1.0, "max_features": max_features, "seed": seed}
    job = job_of(X, y, w, criterion=criterion, **parameters)
    tree = job.splits.grow(job)
    tree.check()
    check_grown(tree, job.data.X, y, w, job.criterion, sample=(axis_seed(seed), max_features), tolerance=1e-9)


@SETTINGS
@given(tables(), st.booleans())
def test_rows_with_numbers_arrive_where_growing_sent_them(table, several):
    X, y, w, seed = table
    y = np.random.default_rng(seed).normal(size=(len(y), 2) if several else len(y))
    job = job_of(X, y, w, seed=seed, axis_share=0.2, **NUMBERS)
    tree = job.splits.grow(job)
    path = decision_path(tree, job.data.X)[w > 0]
    np.testing.assert_array_equal(np.asarray(path.sum(axis=0)).ravel(), tree.n_node_samples)
    leaf = apply(tree, job.data.X)
    for node in tree.leaves:
        here = (w > 0) & (leaf == node)
        np.testing.assert_allclose(tree.value[node], np.average(y[here], axis=0, weights=w[here]).reshape(-1))


@pytest.mark.parametrize(("n", "d"), [(50, 5), (20, 40)])
def test_ridge_of_numbers_is_that_of_numpy(rng, n, d):
    X, y = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d), rng.normal(size=n) * 100 + 7
    w = rng.integers(1, 4, n).astype(float)
    tree = grow(X, y, w, axis_share=0.0, finders=["ridge"], limits={"max_depth": 1}, **EVERY_COLUMN, **NUMBERS)
    Z, all_w, rows = standardise(X, w), w.sum(), -(-n // 8) * 8
    added = 0.1 * np.sqrt(all_w) + 1e-6 * all_w * (1 if d <= rows else d / rows)
    theta = np.linalg.solve((Z * w[:, None]).T @ Z + added * np.eye(d), Z.T @ (w * (y - np.average(y, weights=w))))
    weights = theta / np.sqrt(np.average((X - np.average(X, axis=0, weights=w)) ** 2, axis=0, weights=w))
    np.testing.assert_allclose(tree.weights.toarray()[0], weights / np.abs(weights).max(), rtol=1e-5, atol=1e-7)


def test_wodt_of_numbers_finds_a_step_along_a_direction(rng):
    X = rng.normal(size=(600, 6))
    direction = np.array([1.0, -2.0, 0.5, 0.0, 1.0, 0.0])
    y = np.where(X @ direction > 0.4, 3.0, -1.0)
    tree = grow(X, y, axis_share=0.0, finders=["wodt"], limits={"max_depth": 1}, **EVERY_COLUMN, **NUMBERS)
    found = tree.weights.toarray()[0]
    assert abs(found @ direction) > 0.99 * np.linalg.norm(found) * np.linalg.norm(direction)


def test_numbers_threads_and_rows_of_weight_zero(rng):
    X, y, w = problem(rng)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    frame["kind"] = pd.Categorical.from_codes(rng.integers(0, 5, len(y)), list("abcde"))
    y, keep = X[:, 0] * 100 + rng.normal(size=len(y)), w > 0
    tree = grow(frame, y, w, seed=4, **NUMBERS)
    same_bytes(tree, grow(frame, y, w, seed=4, threads=3, **NUMBERS))
    same_bytes(tree, grow(frame[keep], y[keep], w[keep], seed=4, **NUMBERS))


def test_absolute_errors_are_refused():
    with pytest.raises(IncompatibleParts, match=r"cannot be combined with splits=ForestMix\(\)"):
        check_compatible(criterion=resolve("criterion", "absolute_error"), splits=ForestMix())


def test_a_bag_is_better_than_its_trees(rng):
    X, y = load_wine(return_X_y=True)
    test = rng.random(len(y)) < 0.4
    job = job_of(X[~test], y[~test])
    n = len(job.data.y)
    scores, proba = [], 0
    for seed in range(25):
        weight = rng.multinomial(n, np.full(n, 1 / n)).astype(float)
        tree = job.splits.grow(replace(job, data=replace(job.data, weight=weight), seed=seed))
        proba = proba + predict_proba(tree, X[test])
        scores.append((predict_proba(tree, X[test]).argmax(1) == y[test]).mean())
    assert (proba.argmax(1) == y[test]).mean() > max(0.95, np.mean(scores))


def test_a_single_tree_is_refused():
    message = (
        r"ForestMix\(\) cannot be combined with TopDownTree\w+: it needs a forest. Use Forest\w+ or ForestRegressor"
    )
    with pytest.raises(IncompatibleParts, match=message):
        TopDownTreeClassifier(splits="mixed").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(IncompatibleParts, match=message):
        TopDownTreeRegressor(splits="mixed").fit([[0.0], [1.0]], [0, 1])
    assert "mixed" not in names("splits")
    assert "mixed" in names("splits", forest=True)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"axis_share": 1.5}, r"ForestMix.axis_share=1.5 is not allowed. Pass a finite number >= 0 and <= 1"),
        ({"finders": "wodt"}, r"finders='wodt' is not allowed. Pass one or more of 'wodt', 'ridge', 'axis' in a tuple"),
        ({"finders": ()}, r"finders=\(\) is not allowed"),
        ({"finders": ("lda",)}, r"finders=\('lda',\) is not allowed"),
        ({"finders": 3}, r"finders=3 is not allowed"),
        ({"max_features": 0}, r"max_features=0 is not allowed. Pass an integer >= 1, a fraction in \(0, 1\]"),
        ({"linear_features": "auto"}, r"linear_features='auto' is not allowed"),
        ({"linear_features": 1.5}, r"linear_features=1.5 is not allowed"),
        ({"l2": -1}, r"l2=-1 is not allowed"),
        ({"super_classes": None}, r"super_classes=None is not allowed"),
        ({"max_iter": 0}, r"max_iter=0 is not allowed"),
        ({"max_rows": 1}, r"max_rows=1 is not allowed. Pass an integer >= 2 or None"),
    ],
)
def test_settings_out_of_range(parameters, message):
    with pytest.raises(ValueError, match=message):
        resolve("splits", ForestMix(**parameters))
