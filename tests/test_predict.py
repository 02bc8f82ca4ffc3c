"""Native prediction against the slow reference, and the promises that do not need one."""

import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

import reference_predict as reference
from boscage.model import predict as _predict
from boscage.tree import InputMap, LeafModels, Schema, Tree
from strategies import KINDS, random_rows, random_tree, trees

SEEDS = st.integers(0, 2**32 - 1)


def stump(**changes):
    fields = {
        "children_left": [1, -1, -1],
        "children_right": [2, -1, -1],
        "feature": [0, -1, -1],
        "threshold": [0.5, 0, 0],
        "value": [[0.5, 0.5], [1, 0], [0, 1]],
        "n_node_samples": [4, 2, 2],
        "weighted_n_node_samples": [4, 2, 2],
        "impurity": [0.5, 0, 0],
        "schema": Schema(2),
    }
    return Tree(**(fields | changes))


def linear_stump(weights=((1.0, -2.0),), **changes):
    return stump(feature=[-3, -1, -1], linear_row=[0, -1, -1], weights=np.array(weights), **changes)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(trees(), SEEDS)
def test_everything_matches_the_reference(tree, seed):
    tree.check()
    filled = tree.input_map is not None and tree.input_map.fill is not None
    needs_fill = tree.is_soft or tree.leaf_models is not None
    X = random_rows(seed, tree, n=12, missing=filled or not needs_fill)
    if needs_fill and not filled:
        X = np.nan_to_num(X)
    np.testing.assert_array_equal(_predict.apply(tree, X), reference.apply(tree, X))
    proba = _predict.predict_proba(tree, X)
    np.testing.assert_allclose(proba, reference.predict_proba(tree, X), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(_predict.predict_class(tree, X), proba.argmax(axis=1))
    np.testing.assert_allclose(
        _predict.decision_path(tree, X).toarray(), reference.decision_path(tree, X), rtol=1e-10, atol=1e-12
    )


@settings(derandomize=True, deadline=None, max_examples=200)
@given(trees(), SEEDS, st.sampled_from([np.int32, np.int64]))
def test_storage_of_rows_changes_no_bit(tree, seed, index):
    X = np.nan_to_num(random_rows(seed, tree, n=20))
    wide = np.zeros((40, 2 * X.shape[1]), X.dtype)
    wide[::2, ::2] = X
    csr = sparse.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(index), csr.indptr.astype(index)
    for call in (_predict.apply, _predict.predict_class, _predict.predict_proba):
        expected = call(tree, X)
        for other in (np.asfortranarray(X), wide[::2, ::2], csr, X[::-1].copy()[::-1]):
            np.testing.assert_array_equal(call(tree, other), expected)
        one_by_one = np.concatenate([call(tree, X[i : i + 1]) for i in range(len(X))])
        np.testing.assert_array_equal(one_by_one, expected)
    path = _predict.decision_path(tree, X)
    np.testing.assert_array_equal(_predict.decision_path(tree, csr).toarray(), path.toarray())


def test_sparse_rows_in_disorder_are_put_in_order():
    tree = random_tree(3, "axis", splits=8, d=4)
    X = np.round(np.random.default_rng(0).normal(size=(10, 4)), 1)
    tidy = sparse.csr_array(X)
    data, indices = tidy.data.copy(), tidy.indices.copy()
    for begin, end in zip(tidy.indptr[:-1], tidy.indptr[1:]):
        data[begin:end], indices[begin:end] = data[begin:end][::-1], indices[begin:end][::-1]
    untidy = sparse.csr_array((data, indices, tidy.indptr), shape=X.shape)
    before = untidy.indices.copy()
    np.testing.assert_array_equal(_predict.apply(tree, untidy), _predict.apply(tree, X))
    np.testing.assert_array_equal(untidy.indices, before)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_bit(kind):
    tree = random_tree(1, kind, splits=40, d=6, sparse_weights=kind == "linear")
    X = np.nan_to_num(random_rows(2, tree, n=30_000))
    for call in (_predict.apply, _predict.predict_class, _predict.predict_proba):
        np.testing.assert_array_equal(call(tree, X, 3), call(tree, X, 1))
    one, three = _predict.decision_path(tree, X, 1), _predict.decision_path(tree, X, 3)
    np.testing.assert_array_equal(one.indices, three.indices)
    np.testing.assert_array_equal(one.data, three.data)
    np.testing.assert_array_equal(
        _predict.sample_path(tree, X, 5, n_jobs=3).indices, _predict.sample_path(tree, X, 5).indices
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_leaves_as_scikit_learn(dtype):
    X, y = make_classification(2000, 8, n_informative=5, random_state=0)
    X = X.astype(dtype).astype(np.float32)
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    theirs = DecisionTreeClassifier(random_state=0).fit(X, y)
    t = theirs.tree_
    leaf = t.children_left < 0
    tree = Tree(
        children_left=t.children_left,
        children_right=t.children_right,
        feature=np.where(leaf, -1, t.feature),
        threshold=np.where(leaf, 0, t.threshold),
        value=t.value[:, 0, :],
        n_node_samples=t.n_node_samples,
        weighted_n_node_samples=t.weighted_n_node_samples,
        impurity=t.impurity,
        missing_go_to_left=t.missing_go_to_left.astype(bool),
        schema=Schema(8, "float32"),
    )
    tree.check()
    np.testing.assert_array_equal(_predict.apply(tree, X), theirs.apply(X))
    np.testing.assert_array_equal(_predict.predict_proba(tree, X), theirs.predict_proba(X))
    np.testing.assert_array_equal(_predict.decision_path(tree, X).toarray(), theirs.decision_path(X).toarray())


def test_float32_rows_compare_as_the_numbers_they_are():
    third = np.float32(1) / np.float32(3)
    X = np.array([[third, 0]], np.float32)
    below, above = np.nextafter(np.float64(third), 0), np.nextafter(np.float64(third), 1)
    assert _predict.apply(stump(threshold=[np.float64(third), 0, 0]), X) == 1
    assert _predict.apply(stump(threshold=[below, 0, 0]), X) == 2
    assert _predict.apply(stump(threshold=[above, 0, 0]), X) == 1


def test_missing_side_of_axis_tests():
    X = np.array([[np.nan, 0.0]])
    assert _predict.apply(stump(missing_go_to_left=[True, False, False]), X) == 1
    assert _predict.apply(stump(missing_go_to_left=[False, False, False]), X) == 2


def test_an_infinite_threshold_separates_missing_from_present():
    X = np.array([[np.nan, 0], [1e300, 0], [np.inf, 0]])
    np.testing.assert_array_equal(_predict.apply(stump(threshold=[np.inf, 0, 0]), X), [2, 1, 1])


def test_category_sets_by_hand():
    # Categories 0 and 9 go left; NaN, -1, 10 and 0.5 are nobody's and go right.
    tree = stump(
        schema=Schema(2, n_categories=[10, 0]),
        threshold=[0, 0, 0],
        category_offset=[1, -1, -1],
        category_bits=[255, 1, 2],
    )
    tree.check()
    X = np.array([[c, 0] for c in (0, 1, 8, 9, 10, -1, np.nan, 0.5, 1e300)])
    np.testing.assert_array_equal(_predict.apply(tree, X), [1, 2, 2, 1, 2, 2, 2, 2, 2])


def test_linear_tests_by_hand():
    X = np.array([[1.0, 0.0], [0.5, 0.0], [0.0, 1.0], [np.nan, 0.0]])
    tree = linear_stump()
    np.testing.assert_array_equal(_predict.apply(tree, X), [2, 1, 1, 1])
    filled = linear_stump(input_map=InputMap(fill=[3.0, 0.0]))
    np.testing.assert_array_equal(_predict.apply(filled, X), [2, 1, 1, 2])


@pytest.mark.parametrize(
    ("routing", "expected"), [("linear", [0.5, 1.0, 0.0, 0.75]), ("logistic", 1 / (1 + np.exp([0.0, -5.0, 5.0, -0.5])))]
)
def test_soft_probabilities_by_hand(routing, expected):
    tree = linear_stump(((1.0, 0.0),), routing=routing)
    X = np.array([[0.5, 0], [5.5, 0], [-4.5, 0], [1.0, 9]])
    np.testing.assert_allclose(_predict.predict_proba(tree, X)[:, 1], expected, rtol=1e-15)
    path = _predict.decision_path(tree, X).toarray()
    np.testing.assert_allclose(path[:, 2], expected, rtol=1e-15)
    np.testing.assert_array_equal(path[:, 0], 1)
    # A tie between leaves goes to the lower number.
    np.testing.assert_array_equal(_predict.apply(tree, X), [1, 2, 1, 2])


def test_the_smaller_side_of_a_logistic_test_keeps_its_digits():
    tree = linear_stump(((1.0, 0.0),), routing="logistic", threshold=[0.0, 0, 0])
    path = _predict.decision_path(tree, np.array([[50.0, 0], [-50.0, 0]])).toarray()
    np.testing.assert_allclose(path[[0, 1], [1, 2]], np.exp(-50), rtol=1e-12)


def test_unit_rows_divide_by_the_norm_with_the_constant():
    tree = linear_stump(
        ((1.0, 0.0, 0.0),), routing="linear", threshold=[0, 0, 0], input_map=InputMap(constant=2.0, unit_rows=True)
    )
    tree.check()
    X = np.array([[1.0, 2.0], [0.0, 0.0]])
    np.testing.assert_allclose(_predict.predict_proba(tree, X)[:, 1], [(1 + 1 / 3) / 2, 0.5], rtol=1e-15)


def test_leaf_models_by_hand():
    models = LeafModels(coef=[[[0, 0], [1, 0]], [[0, 0], [0, 0]]], intercept=[[0, 0], [0, -1000]])
    tree = stump(leaf_models=models)
    tree.check()
    proba = _predict.predict_proba(tree, np.array([[0.25, 7.0], [9.0, 7.0]]))
    np.testing.assert_allclose(proba, [[1 / (1 + np.exp(0.25)), 1 / (1 + np.exp(-0.25))], [1, 0]], rtol=1e-15)


def test_drawn_paths_follow_the_probabilities():
    tree = random_tree(5, "soft linear", splits=6, d=3)
    x = np.random.default_rng(0).normal(size=(1, 3))
    X = np.repeat(x, 40_000, axis=0)
    drawn = _predict.sample_path(tree, X, random_state=0)
    expected = _predict.decision_path(tree, x).toarray()[0]
    share = np.asarray(drawn.mean(axis=0)).ravel()
    assert np.abs(share - expected).max() < 4 * 0.5 / np.sqrt(40_000)
    # Every row of it is one path from the root to a leaf.
    assert (drawn.toarray()[:, tree.is_leaf].sum(axis=1) == 1).all()
    inner = drawn.toarray()[:, ~tree.is_leaf]
    children = (
        drawn.toarray()[:, tree.children_left[~tree.is_leaf]] + drawn.toarray()[:, tree.children_right[~tree.is_leaf]]
    )
    np.testing.assert_array_equal(inner, children)
    np.testing.assert_array_equal(_predict.sample_path(tree, X, random_state=0).indices, drawn.indices)
    assert (_predict.sample_path(tree, X, random_state=1) != drawn).nnz > 0


def test_drawn_paths_of_a_hard_tree_are_its_paths():
    tree = random_tree(5, "mixed", splits=6)
    X = np.nan_to_num(random_rows(0, tree))
    np.testing.assert_array_equal(_predict.sample_path(tree, X).toarray(), _predict.decision_path(tree, X).toarray())


def test_a_chain_of_many_levels():
    n = 4001
    inner = np.arange(n) % 2 == 0
    inner[-1] = False
    number = np.arange(n)
    tree = Tree(
        children_left=np.where(inner, number + 1, -1),
        children_right=np.where(inner, number + 2, -1),
        feature=np.where(inner, 0, -1),
        threshold=np.where(inner, number.astype(float), 0),
        value=np.tile([1.0, 0.0], (n, 1)),
        n_node_samples=np.ones(n),
        weighted_n_node_samples=np.ones(n),
        impurity=np.zeros(n),
        schema=Schema(1),
    )
    tree.check()
    assert tree.max_depth == 2000
    np.testing.assert_array_equal(_predict.apply(tree, np.array([[-1.0], [7.0], [1e9]])), [1, 9, 4000])


def test_a_single_leaf_and_no_rows():
    tree = random_tree(0, splits=0)
    np.testing.assert_array_equal(_predict.apply(tree, np.zeros((4, 3))), 0)
    np.testing.assert_array_equal(_predict.predict_proba(tree, np.zeros((2, 3))), tree.value[[0, 0]])
    tree = random_tree(0, splits=3)
    assert _predict.apply(tree, np.zeros((0, 3))).shape == (0,)
    assert _predict.predict_proba(tree, np.zeros((0, 3))).shape == (0, 3)
    assert _predict.decision_path(tree, np.zeros((0, 3))).shape == (0, 7)


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((2, 5)),
        np.zeros(3),
        np.zeros((2, 3), int),
        sparse.csc_array((2, 3)),
        sparse.csr_array((2, 4)),
        [[0.0] * 3],
    ],
)
def test_wrong_matrices_are_refused(X):
    with pytest.raises(ValueError, match="X must be a float32 or float64 array or CSR matrix with 3 columns, got"):
        _predict.apply(random_tree(0), X)


def test_broken_sparse_rows_are_refused():
    tree = random_tree(0, "linear")
    X = sparse.csr_array(np.ones((2, 3)))
    X.indices[2] = 99
    X.has_canonical_format = True
    with pytest.raises(ValueError, match="column index"):
        _predict.apply(tree, X)
    X = sparse.csr_array(np.ones((2, 3)))
    X.indptr[1] = 1000
    X.has_canonical_format = True
    with pytest.raises(ValueError, match="row offsets"):
        _predict.apply(tree, X)


def test_the_core_never_follows_a_broken_tree():
    with pytest.raises(ValueError, match="children_left"):
        _predict.apply(stump(children_left=[0, -1, -1]), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="feature"):
        _predict.apply(stump(feature=[2, -1, -1]), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="linear_row"):
        _predict.apply(stump(feature=[-3, -1, -1]), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="category_offset"):
        _predict.apply(
            stump(schema=Schema(2, n_categories=[9, 0]), category_offset=[0, -1, -1], category_bits=[0]),
            np.zeros((1, 2)),
        )
    with pytest.raises(ValueError, match="weights"):
        _predict.apply(linear_stump(((1.0,),)), np.zeros((1, 2)))


def test_ctrl_c_ends_a_long_prediction():
    tree = random_tree(0, "soft logistic", splits=1000, d=200)
    X = np.zeros((200_000, 200))
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    start = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        _predict.predict_proba(tree, X)
    assert time.perf_counter() - start < 20  # the whole of it takes minutes


HUGE = np.finfo(np.float64).max


def huge(rng, shape):
    """Numbers of every size that a double can have."""
    return rng.choice([0.0, 1.0, 1e-308, 1e150, 1e300, HUGE], size=shape) * rng.choice([-1.0, 1.0], size=shape)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(SEEDS, st.sampled_from(KINDS), st.sampled_from(["value", "models"]), st.booleans())
def test_finite_numbers_give_finite_probabilities(seed, kind, leaf, sparse_weights):
    """Whatever passes the check of a tree, and whatever overflows on the way."""
    rng = np.random.default_rng(seed)
    tree = random_tree(seed, kind, splits=6, leaf=leaf, sparse_weights=sparse_weights)
    state = tree.__getstate__()
    weights = tree.weights.copy()
    entries = weights.data if sparse_weights else weights
    entries[...] = huge(rng, entries.shape)
    state["weights"] = weights
    if tree.input_map is not None:
        parts = tree.input_map.__getstate__()
        for name in ("fill", "codes", "shift", "scale"):
            if parts[name] is not None:
                parts[name] = huge(rng, parts[name].shape)
        state["input_map"] = InputMap(**parts)
    if tree.leaf_models is not None:
        models = tree.leaf_models
        state["leaf_models"] = LeafModels(huge(rng, models.coef.shape), huge(rng, models.intercept.shape))
    tree = Tree(**state)
    tree.check()
    X = huge(rng, (1100, tree.n_features))  # enough rows for products of all tests at once
    for j, count in enumerate(tree.schema.n_categories):
        if count:
            X[:, j] = rng.integers(count, size=len(X))
    proba = _predict.predict_proba(tree, X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_array_equal(_predict.predict_class(tree, X), proba.argmax(axis=1))
    few = X[:20]
    alone = _predict.predict_proba(tree, few)
    np.testing.assert_allclose(alone, proba[:20], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(_predict.predict_proba(tree, sparse.csr_array(few)), alone)
    assert np.isfinite(_predict.decision_path(tree, few).data).all()


def test_scores_beyond_doubles_are_compared_as_they_are():
    models = LeafModels(np.full((2, 2, 2), [[1e10, 1.0], [1e10, 2.0]]), np.zeros((2, 2)))
    tree = stump(leaf_models=models)
    X = np.array([[1e300, 1e300], [1e300, 0.0], [1e300, -1e300]])
    assert _predict.predict_proba(tree, X).tolist() == [[0, 1], [0.5, 0.5], [1, 0]]
    soft = linear_stump(((HUGE, -HUGE),), routing="linear", threshold=[0, 0, 0])
    X = np.array([[HUGE, 1.0], [1e300, HUGE], [4.0, 4.0], [4e300, 4e300]])  # one minus the other
    assert _predict.predict_proba(soft, X)[:, 1].tolist() == [1, 0, 0.5, 0.5]
