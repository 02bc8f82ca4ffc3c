import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression

from boscage import Frequency, Linear, TopDownTreeClassifier, load
from boscage.data.distinct import distinct_rows, fold_numbers, row_hashes
from boscage.data.validation import fit_data
from reference_refine import leaf_model

FEW = settings(derandomize=True, deadline=None, max_examples=20)


@pytest.fixture
def blobs():
    X, y = make_classification(
        900, 8, n_informative=6, n_redundant=0, n_classes=3, n_clusters_per_class=2, flip_y=0.05, random_state=3
    )
    return X[:600], y[:600], X[600:], y[600:]


def fit(X, y, w=None, *, splits="axis", leaf="linear", **parameters):
    parameters = {"max_leaf_nodes": 4, "random_state": 0, **parameters}
    return TopDownTreeClassifier(splits, leaf=leaf, **parameters).fit(X, y, sample_weight=w)


@FEW
@given(seed=st.integers(0, 10**6), leaves=st.integers(1, 4), l2=st.sampled_from([0.3, 5.0]), weighted=st.booleans())
def test_models_are_those_of_the_reference(seed, leaves, l2, weighted):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(80, 3)), 1)
    X[:, 2] = 7.0
    y = np.round(X[:, 0] * 1.5 + rng.normal(size=80)).clip(-1, 1).astype(int) + 1
    w = rng.exponential(size=80) if weighted else np.ones(80)
    tree = fit(X, y, w, leaf=Linear(l2), max_leaf_nodes=leaves)
    shares = Frequency(1.0).leaf_values(tree.tree_)
    at = tree.tree_.leaf_index[tree.apply(X)]
    mean = w @ X / w.sum()
    deviation = np.sqrt(w @ (X - mean) ** 2 / w.sum())
    deviation = np.maximum(deviation, 0.1 * np.ptp(X, axis=0))
    deviation[2] = 0
    for leaf in range(tree.get_n_leaves()):
        here = at == leaf
        coef, intercept = leaf_model(
            X[here], np.searchsorted(tree.classes_, y[here]), w[here], shares[leaf], deviation, l2
        )
        scores = [
            X[here] @ c.T + i
            for c, i in ((coef, intercept), (tree.tree_.leaf_models.coef[leaf], tree.tree_.leaf_models.intercept[leaf]))
        ]
        proba = [np.exp(s - s.max(axis=1, keepdims=True)) for s in scores]
        proba = [p / p.sum(axis=1, keepdims=True) for p in proba]
        np.testing.assert_allclose(proba[1], proba[0], atol=2e-3)


def test_one_leaf_is_logistic_regression(blobs):
    X, y, _, _ = blobs
    tree = fit(X, y, max_leaf_nodes=1, leaf=Linear(0.01))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    plain = LogisticRegression(C=100.0, max_iter=1000).fit(Z, y)
    np.testing.assert_allclose(tree.predict_proba(X), plain.predict_proba(Z), atol=0.01)


def test_a_strong_penalty_gives_back_the_frequencies(blobs):
    X, y, X_test, _ = blobs
    linear, constant = fit(X, y, leaf=Linear(1e9)), fit(X, y, leaf=Frequency(1.0))
    np.testing.assert_allclose(linear.predict_proba(X_test), constant.predict_proba(X_test), atol=1e-5)


@pytest.mark.parametrize("splits", ["axis", "wodt", "stochastic", "hhcart"])
def test_linear_leaves_beat_constant_ones_on_linear_classes(splits, blobs):
    X, y, X_test, y_test = blobs
    linear, constant = fit(X, y, splits=splits), fit(X, y, splits=splits, leaf="frequency")
    assert linear.score(X_test, y_test) > constant.score(X_test, y_test)
    linear.tree_.check()
    np.testing.assert_allclose(linear.predict_proba(X_test).sum(axis=1), 1)


def test_a_pure_leaf_and_an_absent_class(rng):
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, 2, 0)
    tree = fit(X, y, np.where(X[:, 0] > 0, 1.0, 2.0), max_leaf_nodes=2)
    assert (tree.tree_.leaf_models.coef == 0).all()
    assert tree.score(X, y) == 1
    y = np.append(y, 1)
    w = np.append(np.ones(60), 0.0)
    tree = fit(np.vstack([X, [0, 0]]), y, w, max_leaf_nodes=1)
    assert (tree.predict_proba(X)[:, 1] == 0).all()


@pytest.mark.parametrize("splits", ["axis", "wodt", "stochastic"])
def test_threads_and_memory_order_change_nothing(blobs, splits):
    X, y, _, _ = blobs
    for dtype in (np.float32, np.float64):
        one = fit(X.astype(dtype), y, splits=splits)
        assert fit(np.asfortranarray(X.astype(dtype)), y, splits=splits, n_jobs=3).tree_ == one.tree_


@pytest.mark.parametrize("leaf", [Linear(), Linear("auto"), Frequency("auto")])
def test_weight_is_repetition(blobs, leaf):
    X, y, X_test, _ = blobs
    X, y = X[:200], y[:200]
    rng = np.random.default_rng(0)
    times = rng.integers(0, 4, 200)
    again = rng.permutation(np.repeat(np.arange(200), times))
    weighted, repeated = fit(X, y, times.astype(float), leaf=leaf), fit(X[again], y[again], leaf=leaf)
    np.testing.assert_allclose(weighted.predict_proba(X_test), repeated.predict_proba(X_test), atol=1e-7)


def test_missing_values_and_categories_in_models_of_axis_trees(rng):
    X = rng.normal(size=(400, 3))
    X[:, 2] = rng.integers(0, 5, 400)
    y = ((X[:, 0] + np.array([0, 2, -2, 1, -1])[X[:, 2].astype(int)]) > 0).astype(int)
    X[rng.uniform(size=400) < 0.1, 1] = np.nan
    tree = fit(X, y, categorical_features=[2], max_leaf_nodes=1)
    assert tree.score(X, y) > 0.9
    filled = X.copy()
    filled[np.isnan(X[:, 1]), 1] = np.nanmean(X[:, 1])
    np.testing.assert_allclose(tree.predict_proba(X), tree.predict_proba(filled), atol=1e-9)
    unseen = np.array([[0.0, 0.0, np.nan]])
    assert np.isfinite(tree.predict_proba(unseen)).all()
    # The tests of the tree still see what is missing.
    y = np.isnan(X[:, 1]).astype(int)
    assert fit(X, y, max_leaf_nodes=2).score(X, y) == 1


def test_sparse_rows(blobs):
    X, y, X_test, _ = blobs
    X, X_test = np.where(abs(X) > 0.7, X, 0), np.where(abs(X_test) > 0.7, X_test, 0)
    dense, rows = fit(X, y, splits="stochastic"), fit(sparse.csr_array(X), y, splits="stochastic")
    np.testing.assert_allclose(rows.predict_proba(sparse.csr_array(X_test)), dense.predict_proba(X_test), atol=1e-6)


def test_files_texts_and_pictures(tmp_path, blobs):
    X, y, X_test, _ = blobs
    tree = fit(X, y)
    tree.save(tmp_path / "tree.boscage")
    again = load(tmp_path / "tree.boscage")
    np.testing.assert_array_equal(again.predict_proba(X_test), tree.predict_proba(X_test))
    assert "linear model" in tree.export_text()
    assert "digraph" in tree.export_graphviz()
    assert "coef" in str(tree.to_dict())
    tree.plot()


def test_auto_shrinkage_smooths_where_labels_are_noise_and_not_where_they_are_not(rng):
    X = rng.normal(size=(1500, 4))
    noise = rng.integers(0, 2, 1500)
    tree = TopDownTreeClassifier(leaf=Frequency("auto")).fit(X, noise)
    assert tree.tree_.leaf_value is not None
    assert abs(tree.predict_proba(X) - 0.5).max() < 0.45
    sure = (X[:, 0] > 0).astype(int)
    assert TopDownTreeClassifier(leaf=Frequency("auto")).fit(X, sure).tree_.leaf_value is None


def test_auto_strength_depends_on_the_signal(rng):
    X = rng.normal(size=(1200, 10))
    linear = (X @ rng.normal(size=10) > 0).astype(int)
    noise = rng.integers(0, 2, 1200)
    size = [
        np.abs(fit(X, y, leaf=Linear("auto"), max_leaf_nodes=2).tree_.leaf_models.coef).max() for y in (linear, noise)
    ]
    assert size[0] > 10 * size[1]


@pytest.mark.parametrize(
    ("leaf", "message"),
    [
        (Linear(0), r"Linear.l2=0 is not allowed. Pass a finite number > 0"),
        (Linear("much"), r"Linear.l2='much' is not allowed. Pass 'auto' or a number > 0"),
        (Linear(max_iter=0), r"Linear.max_iter=0 is not allowed"),
        (Frequency("much"), r"Frequency.shrinkage='much' is not allowed"),
    ],
)
def test_bad_settings_are_refused_by_name(leaf, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        fit(X, y, leaf=leaf)


def test_hashes_depend_on_content_alone(rng):
    X, y = np.round(rng.normal(size=(50, 4)), 1), rng.integers(0, 3, 50)
    X[0, 0], X[1, 1] = -0.0, 0.0

    def data(rows):
        return fit_data(TopDownTreeClassifier("stochastic"), rows, y, accept_sparse=True)

    hashes = row_hashes(data(X))
    assert len(np.unique(hashes)) == len(np.unique(np.column_stack([X, y]), axis=0))
    np.testing.assert_array_equal(hashes, row_hashes(data(sparse.csr_array(X))))
    np.testing.assert_array_equal(hashes, row_hashes(data(np.asfortranarray(X))))
    twice = fit_data(TopDownTreeClassifier(), np.vstack([X, X]), np.concatenate([y, y]))
    fold = fold_numbers(twice, 5, 0)
    np.testing.assert_array_equal(fold[:50], fold[50:])
    np.testing.assert_array_equal(fold[:50], fold_numbers(data(X), 5, 0))
    assert len(np.unique(fold)) == 5


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, np.float32, sparse.csr_array])
def test_equal_rows_are_merged_whatever_their_order_and_layout(rng, layout):
    X, y = rng.integers(-1, 2, size=(200, 3)).astype(np.float64), rng.integers(0, 2, 200)
    weight = rng.integers(0, 4, 200).astype(np.float64)

    def merged(order):
        data = fit_data(
            TopDownTreeClassifier("stochastic"), layout(X[order]), y[order], weight[order], accept_sparse=True
        )
        found = distinct_rows(data)
        rows = data.X[found.rows]
        content = np.column_stack([rows.toarray() if sparse.issparse(rows) else rows, found.label])
        return [(*row, each) for row, each in zip(content.tolist(), found.weight.tolist(), strict=True)]

    expected = {}
    for row, label, each in zip(X.tolist(), y.tolist(), weight.tolist(), strict=True):
        if each:
            expected[*row, label] = expected.get((*row, label), 0) + each
    found = merged(np.arange(200))
    assert {tuple(row[:-1]): row[-1] for row in found} == expected
    assert found == merged(rng.permutation(200))


def test_validation_grows_under_the_limits_of_its_share_of_the_rows(monkeypatch, rng):
    """Limits are shares of the weight; absolute ones would stop the smaller trees of a validation too early."""
    from boscage.engine import top_down

    seen = []
    choose = top_down.choose

    def watched(job, grow, finish):
        return choose(
            job,
            lambda part, leaf: (seen.append((part.limits.min_weight_leaf, part.data.mass)), grow(part, leaf))[1],
            finish,
        )

    monkeypatch.setattr(top_down, "choose", watched)
    X = rng.normal(size=(200, 2))
    TopDownTreeClassifier(leaf=Frequency("auto"), min_weight_fraction_leaf=0.45).fit(X, X[:, 0] > 0)
    assert len(seen) == 5
    assert all(limit == pytest.approx(0.45 * mass) for limit, mass in seen)
