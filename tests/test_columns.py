"""Axis trees on sparse rows and on samples of columns: the same bytes as the dense fit, and the slow reference."""

import resource
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from boscage import Axis, IncompatibleParts, TopDownTreeClassifier, load
from boscage.base.component import names
from boscage.criteria import Gini
from boscage.engine.top_down import _seed_of
from reference_grow import check_grown, column_order

ARRAYS = ("children_left", "children_right", "feature", "threshold", "missing_go_to_left", "value", "impurity")
ARRAYS += ("n_node_samples", "weighted_n_node_samples")


def bytes_of(tree):
    return [getattr(tree.tree_, name).tobytes() for name in ARRAYS]


def with_stored_zeros(X, rng):
    """CSR in which some zeros are stored, -0 among them."""
    stored = (X != 0) | (rng.random(X.shape) < 0.2)
    row, column = np.nonzero(stored)
    values = X[row, column] * rng.choice([1, -1], len(row)) if not X.any() else X[row, column]
    values[(values == 0) & (rng.random(len(values)) < 0.5)] = -0.0
    offsets = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    return sparse.csr_array((values, column, offsets), shape=X.shape)


@st.composite
def sparse_problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, d, k = draw(st.integers(2, 80)), draw(st.integers(1, 8)), draw(st.integers(2, 5))
    X = rng.integers(-3, 4, (n, d)).astype(draw(st.sampled_from([np.float32, np.float64])))
    if draw(st.booleans()):
        X *= rng.exponential(size=X.shape).astype(X.dtype)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.5, 0.9, 1.0]))] = 0
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.15] = np.nan
    weight = draw(st.sampled_from([None, rng.integers(0, 4, n) + 1.0, rng.exponential(size=n)]))
    return X, with_stored_zeros(X, rng), rng.integers(0, k, n), weight


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    problem=sparse_problems(),
    criterion=st.sampled_from(names("criterion")),
    growth=st.sampled_from(names("growth")),
    rows=st.integers(1, 4),
    max_features=st.sampled_from([None, 1, 0.5, "sqrt"]),
    n_jobs=st.sampled_from([1, 2]),
)
def test_sparse_rows_give_the_tree_of_dense_rows(problem, criterion, growth, rows, max_features, n_jobs):
    X, rows_sparse, y, weight = problem
    parameters = {"min_samples_leaf": rows, "max_features": max_features, "random_state": 0}
    parameters |= {"criterion": criterion, "growth": growth}
    dense = TopDownTreeClassifier(**parameters).fit(X, y, weight)
    tree = TopDownTreeClassifier(**parameters, n_jobs=n_jobs).fit(rows_sparse, y, weight)
    assert bytes_of(tree) == bytes_of(dense)
    for method in ("predict", "predict_proba", "apply"):
        np.testing.assert_array_equal(getattr(tree, method)(rows_sparse), getattr(dense, method)(X))
    np.testing.assert_array_equal(tree.decision_path(rows_sparse).toarray(), dense.decision_path(X).toarray())


def test_large_sparse_nodes_are_shared_by_threads(rng):
    X = sparse.random_array((3000, 400), density=0.05, rng=rng, format="csr")
    y = rng.integers(0, 3, 3000)
    dense = TopDownTreeClassifier().fit(X.toarray(), y)
    assert bytes_of(TopDownTreeClassifier(n_jobs=2).fit(X, y)) == bytes_of(dense)
    assert bytes_of(TopDownTreeClassifier().fit(X, y)) == bytes_of(dense)


@pytest.mark.parametrize("layout", ["csc", "coo", "lil", "dok"])
def test_other_layouts_are_converted(layout, rng):
    X, y = rng.integers(0, 3, (50, 4)) * rng.normal(size=(50, 4)), rng.integers(0, 2, 50)
    dense = TopDownTreeClassifier().fit(X, y)
    converted = sparse.csr_array(X).asformat(layout)
    tree = TopDownTreeClassifier().fit(converted, y)
    assert bytes_of(tree) == bytes_of(dense)
    np.testing.assert_array_equal(tree.predict(converted), dense.predict(X))


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_both_kinds_of_index(index, rng):
    X, y = rng.integers(-1, 2, (40, 5)).astype(np.float32), rng.integers(0, 2, 40)
    rows = sparse.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    assert bytes_of(TopDownTreeClassifier().fit(rows, y)) == bytes_of(TopDownTreeClassifier().fit(X, y))


@pytest.mark.parametrize("parameters", [{"leaf": "linear"}, {"ccp_alpha": 0.01}, {"class_weight": "balanced"}], ids=str)
def test_what_comes_after_growing_takes_sparse_rows(parameters, rng, tmp_path):
    X = rng.normal(size=(300, 6)) * (rng.random((300, 6)) < 0.3)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    parameters = {"max_leaf_nodes": 4, **parameters}
    dense, tree = (TopDownTreeClassifier(**parameters).fit(rows, y) for rows in (X, sparse.csr_array(X)))
    assert bytes_of(tree) == bytes_of(dense)
    np.testing.assert_allclose(tree.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-9)
    tree.save(tmp_path / "tree.boscage")
    np.testing.assert_array_equal(load(tmp_path / "tree.boscage").predict(sparse.csr_array(X)), tree.predict(X))


def test_bins_and_categories_refuse_sparse_rows(rng):
    X, y = sparse.csr_array(rng.integers(0, 2, (20, 3)).astype(float)), rng.integers(0, 2, 20)
    tree = TopDownTreeClassifier(Axis(max_bins=4))
    assert not tree.__sklearn_tags__().input_tags.sparse
    assert TopDownTreeClassifier().__sklearn_tags__().input_tags.sparse
    with pytest.raises(TypeError, match=r"with these parameters needs dense data\. Pass X.toarray\(\)"):
        tree.fit(X, y)
    tree.fit(X.toarray(), y)
    np.testing.assert_array_equal(tree.predict(X), tree.predict(X.toarray()))
    with pytest.raises(TypeError, match="categorical_features cannot be combined with sparse X"):
        TopDownTreeClassifier(categorical_features=[0]).fit(X, y)


@pytest.mark.skipif(sys.platform == "darwin", reason="memory is counted in kilobytes")
def test_wide_text_takes_memory_for_its_entries_only():
    """20,000 × 100,000 numbers would take 16 GB; 2,000,000 are stored."""
    rng = np.random.default_rng(0)
    n, d, each = 20_000, 100_000, 100
    columns = rng.integers(0, d, (n, each))
    X = sparse.csr_array((np.ones(n * each), columns.ravel(), np.arange(0, n * each + 1, each)), shape=(n, d))
    X.sum_duplicates()
    y = (X[:, :300].sum(axis=1) > 0).astype(int)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tree = TopDownTreeClassifier(max_depth=4).fit(X, y)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000  # kB
    assert tree.tree_.feature[0] < 300


@settings(derandomize=True, deadline=None, max_examples=80)
@given(
    seed=st.integers(0, 2**31),
    max_features=st.integers(1, 5),
    missing=st.booleans(),
    rows=st.integers(1, 3),
    random_state=st.integers(0, 5),
)
def test_samples_of_columns_are_searched_as_the_reference_says(seed, max_features, missing, rows, random_state):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 7))
    X = rng.integers(0, rng.integers(1, 5, d), (n, d)).astype(float)  # some columns are constant
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 3, n)
    tree = TopDownTreeClassifier(max_features=max_features, min_samples_leaf=rows, random_state=random_state).fit(X, y)
    coded, sample = np.searchsorted(tree.classes_, y), (_seed_of(random_state), max_features)
    check_grown(tree.tree_, X, coded, None, Gini(), sample=sample if max_features < d else None, min_rows=rows)


def test_every_column_is_drawn_equally_often():
    """Roots of many seeds: each of d columns is the first, and among the first m, as often as it should be."""
    seeds, d, m = 4000, 12, 4
    orders = np.array([column_order(seed, 1, d) for seed in range(seeds)])
    for share, drawn in ((1 / d, orders[:, :1]), (m / d, orders[:, :m])):
        counts = np.bincount(drawn.ravel(), minlength=d)
        spread = np.sqrt(seeds * share * (1 - share))
        assert np.abs(counts - seeds * share).max() < 4.5 * spread
    pairs = np.zeros((d, d))
    for order in orders[:, :m]:
        pairs[np.ix_(order, order)] += 1
    share = m * (m - 1) / (d * (d - 1))
    off = pairs[~np.eye(d, dtype=bool)]
    assert np.abs(off - seeds * share).max() < 5 * np.sqrt(seeds * share * (1 - share))


def test_fitted_roots_use_every_column_equally_often(rng):
    """All columns are copies, so the sample alone decides: the first of the columns drawn wins the tie."""
    d, m, fits = 6, 2, 1200
    X, y = np.repeat(rng.normal(size=(30, 1)), d, axis=1), rng.integers(0, 2, 30)
    trees = (TopDownTreeClassifier(max_features=m, max_depth=1, random_state=seed) for seed in range(fits))
    counts = np.bincount([tree.fit(X, y).tree_.feature[0] for tree in trees], minlength=d)
    expected = fits * np.array([(d - 1 - j) for j in range(d)]) / (d * (d - 1) / 2)  # the lower of two columns
    assert np.abs(counts - expected).max() < 4.5 * np.sqrt(fits * 0.34 * 0.66)


def test_nodes_draw_apart_and_copies_of_a_fit_alike(rng):
    X, y = rng.normal(size=(400, 10)), rng.integers(0, 2, 400)
    trees = [TopDownTreeClassifier(max_features="log2", random_state=s, n_jobs=j) for s, j in ((0, 1), (0, 2), (1, 1))]
    first, again, other = (bytes_of(tree.fit(X, y)) for tree in trees)
    assert first == again != other
    assert len(np.unique(trees[0].tree_.feature)) == 11  # all columns and the leaves' -1
    assert first != bytes_of(TopDownTreeClassifier().fit(X, y))


@pytest.mark.parametrize(
    ("max_features", "columns"), [("sqrt", 4), ("log2", 4), (3, 3), (0.25, 5), (1e-9, 1), (1.0, 0), (20, 0), (99, 0)]
)
def test_max_features_counts_columns_as_scikit_learn_does(max_features, columns, rng):
    """0 stands for all columns: then nothing is drawn, and the tree is that of max_features=None."""
    X, y = rng.normal(size=(60, 20)), rng.integers(0, 2, 60)
    tree = TopDownTreeClassifier(max_features=max_features, random_state=3)
    assert tree._max_features(20) == columns
    assert tree.get_params()["max_features"] == max_features
    if columns == 0:
        assert bytes_of(tree.fit(X, y)) == bytes_of(TopDownTreeClassifier().fit(X, y))
    else:
        assert bytes_of(tree.fit(X, y)) == bytes_of(
            TopDownTreeClassifier(max_features=columns, random_state=3).fit(X, y)
        )


@pytest.mark.parametrize("value", [0, -1, 0.0, 1.5, "cube", True, [2], np.nan])
def test_wrong_max_features(value):
    with pytest.raises(ValueError, match=r"max_features=.* Pass None, 'sqrt', 'log2', an integer >= 1 or a fraction"):
        TopDownTreeClassifier(max_features=value).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("splits", [name for name in names("splits") if name != "axis"])
def test_other_families_refuse_max_features(splits):
    with pytest.raises(IncompatibleParts, match=r"max_features='sqrt' cannot be combined with .* max_features=None"):
        TopDownTreeClassifier(splits, max_features="sqrt").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("max_features", [1, "sqrt", 0.7])
@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 9}, {"min_samples_split": 60}], ids=str)
def test_batches_draw_the_same_columns(max_features, limits, rng):
    X = rng.normal(size=(900, 7)).round(1)
    X[:, 5] = 1.0
    X[rng.random(X.shape) < 0.02] = np.nan
    y = rng.integers(0, 3, 900)
    parameters = {"splits": Axis(max_bins=16), "max_features": max_features, "random_state": 5, **limits}
    memory = TopDownTreeClassifier(**parameters).fit(X, y)
    batches = [(X[i : i + 250], y[i : i + 250]) for i in range(0, 900, 250)]
    assert bytes_of(TopDownTreeClassifier(**parameters).fit_batches(batches)) == bytes_of(memory)
