"""splits="wodt" is the published method, splits="oblique" the linear family as we recommend it; pruning in bits."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification

from boscage import TopDownTreeClassifier, load
from boscage.base.component import names, resolve
from boscage.pruning import prune_bits
from boscage.splits import CO2, OC1, Axis, CartLC, Householder, StochasticLinear, WeightedOblique
from boscage.splits.wodt import AUTO_BITS, AUTO_L2
from reference_oblique import published_node, soft_entropy, to_range

PUBLISHED = WeightedOblique(l2=0.0, n_init=1, recut=False, scale="range", prune_bits=0.0)
scales = pytest.mark.parametrize("scale", ["standard", "range"])


def fit(splits, X, y, w=None, **parameters):
    return TopDownTreeClassifier(splits, random_state=0, **parameters).fit(X, y, sample_weight=w)


def test_every_name_gives_what_it_says():
    meant = {
        "axis": Axis(),
        "stochastic": StochasticLinear(),
        "wodt": PUBLISHED,
        "oblique": WeightedOblique(),
        "oc1": OC1(),
        "cart_lc": CartLC(),
        "co2": CO2(),
        "hhcart": Householder(),
    }
    assert {name: resolve("splits", name) for name in names("splits") if name in meant} == meant
    assert resolve("splits", "wodt") != resolve("splits", "oblique")
    assert repr(resolve("splits", "oblique")) == "WeightedOblique()"
    assert repr(clone(PUBLISHED)) == "WeightedOblique(l2=0.0, recut=False, scale='range')"
    recommended = {"l2": 0.03, "n_init": 1, "recut": True, "scale": "standard", "prune_bits": 0.0}
    assert recommended.items() <= WeightedOblique().get_params().items()


@pytest.mark.parametrize("name", ["weighted_oblique", "WODT", "linear"])
def test_other_names_get_the_list(name):
    with pytest.raises(ValueError, match=rf"splits='{name}' is not known. Pass one of 'axis'.*'wodt', 'oblique'"):
        resolve("splits", name)


def test_a_name_gives_the_tree_of_its_settings(tmp_path):
    X, y = load_wine(return_X_y=True)
    for name, part in (("wodt", PUBLISHED), ("oblique", WeightedOblique())):
        model = fit(name, X, y)
        assert model.tree_ == fit(part, X, y).tree_
        assert model.get_params()["splits"] == name
        model.save(tmp_path / "m.boscage")
        np.testing.assert_array_equal(load(tmp_path / "m.boscage").predict(X), model.predict(X))


# The published method


def root_of(model, X):
    """Theta and bias of the root's test on columns in [-1, 1]."""
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    weights = np.asarray(model.tree_.weights[0])
    return np.append(weights * (high - low) / 2, weights @ (low + high) / 2 - model.tree_.threshold[0])


def noisy(seed):
    X, y = make_classification(400, 6, n_informative=4, n_classes=3, flip_y=0.2, random_state=seed)
    return X * 10.0 ** np.arange(-2, 4), y


@pytest.mark.parametrize("seed", range(6))
def test_the_root_is_an_optimum_of_the_published_objective(seed):
    X, y = noisy(seed)
    model = fit(clone(PUBLISHED).set_params(tol=1e-12, max_iter=2000), X, y, max_depth=1)
    theta, Z = root_of(model, X), to_range(X)
    value, gradient = soft_entropy(theta, Z, y, np.ones(len(y)), 3)
    assert np.abs(gradient).max() < 2e-3
    assert value == pytest.approx(published_node(X, y, theta).fun, abs=2e-3)
    np.testing.assert_array_equal(model.apply(X) == 2, Z @ theta[:-1] + theta[-1] > 0)


@pytest.mark.parametrize("max_bins", [None, 64])
@pytest.mark.parametrize("seed", range(6))
def test_the_cut_is_where_both_sides_are_equally_likely(seed, max_bins):
    """With a penalty the optimum is no sharp step, so the slope along the bias tells where the threshold stands."""
    X, y = noisy(seed)
    slopes = []
    for recut in (False, True):
        splits = WeightedOblique(l2=0.1, scale="range", recut=recut, tol=1e-13, max_iter=2000, max_bins=max_bins)
        theta = root_of(fit(splits, X, y, max_depth=1), X)
        slopes.append(soft_entropy(theta, to_range(X), y, np.ones(len(y)), 3, 0.1)[1])
    assert np.abs(slopes[0]).max() < 1e-5
    assert abs(slopes[1][-1]) > 1e-4


def test_optima_are_as_good_as_those_of_the_slow_reference():
    ours, theirs = [], []
    for seed in range(12):
        X, y = make_classification(300, 8, n_informative=5, n_classes=3, random_state=seed)
        model = TopDownTreeClassifier("wodt", random_state=seed, max_depth=1).fit(X, y)
        ours.append(soft_entropy(root_of(model, X), to_range(X), y, np.ones(len(y)), 3)[0])
        theirs.append(published_node(X, y, np.random.default_rng(seed).normal(size=9)).fun)
    assert np.mean(ours) <= np.mean(theirs) + 0.02  # other starts, other local optima: as good on average


@scales
@pytest.mark.parametrize("max_bins", [None, 64])
@pytest.mark.parametrize("recut", [True, False])
def test_units_and_offsets_of_columns_change_nothing(scale, max_bins, recut, rng):
    X, y = np.round(64 * rng.normal(size=(300, 5))), rng.integers(0, 3, 300)
    y[X[:, 0] + X[:, 1] > 40] = 0
    moved = X * 2.0 ** np.array([3, -5, 0, 10, -2]) + np.array([0, 128, -64, 1024, 7])
    splits = WeightedOblique(scale=scale, max_bins=max_bins, recut=recut)
    one, other = (fit(splits, rows, y, max_leaf_nodes=12) for rows in (X, moved))
    np.testing.assert_array_equal(one.predict(X), other.predict(moved))


@pytest.mark.parametrize("max_bins", [None, 64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_are_repetitions_and_zero_is_absence(rng, max_bins, dtype):
    X, y = load_wine(return_X_y=True)
    X, w = X.astype(dtype), rng.integers(0, 4, len(y))
    X[0], w[0] = 100 * X[0], 0  # would stretch the range
    splits = clone(PUBLISHED).set_params(max_bins=max_bins)
    weighted = fit(splits, X, y, w)
    copied = fit(splits, np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.tree_.weights, copied.tree_.weights, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(weighted.predict(X[w > 0]), copied.predict(X[w > 0]))


@pytest.mark.parametrize("rows", [200, 5000])  # the second in single precision
@pytest.mark.parametrize("max_bins", [None, 64])
def test_missing_values_stand_at_the_mean_not_in_the_middle_of_the_range(rng, rows, max_bins):
    X = rng.exponential(size=(rows, 9))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=rows) > 2).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    splits = clone(PUBLISHED).set_params(max_bins=max_bins)
    gaps, whole = (fit(splits, table, y, max_leaf_nodes=3) for table in (X, filled))
    np.testing.assert_allclose(gaps.tree_.weights, whole.tree_.weights, rtol=1e-3)
    np.testing.assert_array_equal(gaps.predict(X), gaps.predict(filled))
    assert (gaps.predict(X) == whole.predict(filled)).mean() > 0.999


def test_sparse_rows_and_categories(rng):
    X, y = make_classification(400, 12, n_informative=6, n_classes=3, random_state=2)
    X[rng.random(X.shape) < 0.6] = 0
    X[:, 3] += 5  # stored in every row: 0 is not in its range
    X[rng.random(X.shape) < 0.02] = np.nan
    limits = {"max_depth": 3, "min_samples_leaf": 5}
    dense, thin = fit("wodt", X, y, **limits), fit("wodt", sparse.csr_array(X), y, **limits)
    assert (thin.predict(X) == dense.predict(X)).mean() > 0.97  # sums of another order
    np.testing.assert_allclose(thin.tree_.weights[0], dense.tree_.weights[0], rtol=1e-3, atol=1e-6)
    X[:, 0] = rng.integers(0, 6, 400)
    assert fit("wodt", X, y, categorical_features=[0]).score(X, y) == 1


def test_in_batches_as_in_memory(tmp_path):
    X, y = make_classification(9000, 6, n_informative=4, n_classes=3, random_state=0)
    model = TopDownTreeClassifier(clone(PUBLISHED).set_params(max_bins=64), max_leaf_nodes=6, random_state=0)
    whole = clone(model).fit(X, y).tree_
    for size in (1000, 4096):
        parts = [(X[i : i + size], y[i : i + size]) for i in range(0, len(y), size)]
        assert clone(model).fit_batches(parts).tree_ == whole


def test_bad_scales_are_refused():
    with pytest.raises(ValueError, match=r"scale='minmax' is not allowed. Pass one of 'standard', 'range'"):
        fit(WeightedOblique(scale="minmax"), [[0.0], [1.0]], [0, 1])


# Pruning


def least_cost(tree, bits, node=0):
    """Return entropy in bits times weight, plus the price of the splits: the least of all prunings, by recursion."""
    share = tree.value[node][tree.value[node] > 0]
    here = -tree.weighted_n_node_samples[node] * (share @ np.log2(share))
    if tree.is_leaf[node]:
        return here
    children = tree.children_left[node], tree.children_right[node]
    return min(here, bits + sum(least_cost(tree, bits, child) for child in children))


def cost(tree, bits):
    share = np.where(tree.value > 0, tree.value, 1)
    entropy = -tree.weighted_n_node_samples * (share * np.log2(share)).sum(axis=1)
    return entropy[tree.is_leaf].sum() + bits * (tree.n_leaves - 1)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_pruning_in_bits_is_the_best_of_all_prunings(criterion, rng):
    X = rng.normal(size=(500, 4))
    y = (X.sum(axis=1) + rng.normal(size=500) > 0) + 0 + (rng.random(500) < 0.1)
    w = rng.exponential(size=500)
    whole = fit(WeightedOblique(), X, y, w, criterion=criterion)
    sizes = []
    for bits in (0.0, 0.7, 3.0, 8.0, 30.0, 1e4):
        found = fit(WeightedOblique(prune_bits=bits), X, y, w, criterion=criterion).tree_
        assert found == prune_bits(whole.tree_, bits)
        assert cost(found, bits) == pytest.approx(least_cost(whole.tree_, bits))
        sizes.append(found.n_leaves)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == whole.get_n_leaves() > sizes[2] > sizes[-1] == 1


def test_impurities_stay_those_of_the_criterion():
    X, y = load_breast_cancer(return_X_y=True)
    tree = fit(WeightedOblique(l2=0.0, prune_bits=20), X, y).tree_
    np.testing.assert_allclose(tree.impurity, 2 * tree.value[:, 0] * tree.value[:, 1], atol=1e-12)


def test_pruning_in_batches():
    X, y = make_classification(5000, 5, flip_y=0.2, random_state=0)
    model = TopDownTreeClassifier(WeightedOblique(max_bins=32, prune_bits=10), max_depth=5, random_state=0)
    parts = [(X[:3000], y[:3000]), (X[3000:], y[3000:])]
    assert clone(model).fit_batches(parts).tree_ == clone(model).fit(X, y).tree_
    assert clone(model).set_params(splits=WeightedOblique(max_bins=32)).fit(X, y).get_n_leaves() > 2 * len(parts)


def test_validation_takes_one_of_its_pairs_and_depends_on_content_alone(rng):
    X, y = load_iris(return_X_y=True)
    X, w, order = X[:, :2], rng.integers(0, 3, len(y)), rng.permutation(len(y))
    auto = WeightedOblique(l2="auto", prune_bits="auto")
    found = fit(auto, X, y, w)
    pairs = [WeightedOblique(l2=l2, prune_bits=bits) for l2 in AUTO_L2 for bits in AUTO_BITS]
    assert any(fit(pair, X, y, w).tree_ == found.tree_ for pair in pairs)
    copied = fit(auto, np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_array_equal(copied.predict(X), found.predict(X))
    np.testing.assert_array_equal(fit(auto, X[order], y[order], w[order], n_jobs=2).predict(X), found.predict(X))


def test_validation_prunes_noise_and_keeps_what_helps(rng):
    X = rng.normal(size=(2000, 5))
    noise = (X[:, 0] + X[:, 1] > 0) ^ (rng.random(2000) < 0.25)
    auto = WeightedOblique(prune_bits="auto")
    small, large = (fit(splits, X[:1000], noise[:1000]) for splits in (auto, "oblique"))
    assert small.get_n_leaves() < large.get_n_leaves() / 10
    assert small.score(X[1000:], noise[1000:]) > large.score(X[1000:], noise[1000:]) + 0.05
    chessboard = (np.floor(2 * X[:, 0]) + np.floor(2 * X[:, 1])) % 2
    assert fit(auto, X, chessboard).get_n_leaves() > 20


@pytest.mark.parametrize("value", [-1, "some", np.nan, None])
def test_bad_strengths_of_pruning_are_refused(value):
    with pytest.raises(ValueError, match=r"WeightedOblique.prune_bits=.*Pass a finite number >= 0, or 'auto'"):
        fit(WeightedOblique(prune_bits=value), [[0.0], [1.0]], [0, 1])
