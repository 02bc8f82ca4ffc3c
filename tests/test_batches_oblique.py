"""Weighted oblique trees from sums: kernels and cuts against plain references, and the same bytes everywhere."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.datasets import load_wine, make_classification

from boscage import IncompatibleParts, TopDownTreeClassifier, _core, load
from boscage.batches.growth.oblique import Scaling
from boscage.batches.passes import NO_NUMBERS
from boscage.batches.reading import MemoryPasses
from boscage.batches.reduction import to_parts, total
from boscage.cli import app
from boscage.criteria import Entropy, Gini
from boscage.splits import WeightedOblique
from reference_oblique import CUT, MASS, SIDES, SPREAD, binned_cut, soft_entropy, task_sums
from test_batches import in_pieces, make_data, mixed_columns, saved

SETTINGS = settings(derandomize=True, deadline=None, max_examples=25)


def fit(X, y, w=None, *, limits=None, seed=0, **parameters):
    splits = WeightedOblique(**{"max_bins": 64, "max_iter": 20} | parameters)
    return TopDownTreeClassifier(splits, random_state=seed, **(limits or {})).fit(X, y, sample_weight=w)


# The sums


@st.composite
def passes(draw):
    """Rows, and a route of two tests to three leaves (or none to one) with tasks of every kind."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, d, k = draw(st.sampled_from([1, 7, 300, 5000])), draw(st.integers(1, 19)), draw(st.integers(2, 5))
    X = rng.normal(size=(n, d)).astype(draw(st.sampled_from([np.float32, np.float64])))
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.1] = np.nan
    w = rng.exponential(size=n) if draw(st.booleans()) else np.empty(0)
    mean, inverse = rng.normal(size=d), rng.exponential(size=d)
    centre = draw(st.sampled_from([mean, mean + 1]))  # the mean, or the middle of the range
    if draw(st.booleans()):
        steps = rng.normal(size=(2, d)), rng.normal(size=2), np.array([[1, -4], [-2, -3]], np.int32)
        places, leaf_places = np.array([0, 1], np.int32), np.array([5, 6, 2], np.int32)
    else:
        steps = np.empty((0, d)), np.empty(0), np.empty((0, 2), np.int32)
        places, leaf_places = np.empty(0, np.int32), np.zeros(1, np.int32)
    leaves = np.sort(rng.integers(0, len(leaf_places), 6)).astype(np.int32)
    wanted = rng.integers(0, 4, 6).astype(np.uint8)
    counts = np.where(np.isin(wanted, [MASS, CUT]), rng.integers(1, 40, 6), 0)
    edges = np.concatenate([np.sort(rng.normal(size=count)) for count in counts])
    edge_start = np.concatenate([[0], np.cumsum(counts)])
    vectors = rng.normal(size=(6, d + 1))
    return (
        X,
        rng.integers(0, k, n).astype(np.int32),
        w,
        k,
        mean,
        centre,
        inverse,
        steps,
        places,
        leaf_places,
        (
            wanted,
            leaves,
            vectors,
            edges,
            edge_start,
        ),
    )


@SETTINGS
@given(passes())
def test_sums_of_a_pass_against_the_reference(problem):
    X, y, w, k, mean, centre, inverse, steps, places, leaf_places, tasks = problem
    plain = np.where(np.isnan(X), mean, X.astype(float))
    leaf = np.zeros(len(X), int)
    if len(steps[1]):
        right = plain @ steps[0].T > steps[1]
        leaf = np.where(right[:, 0], 2, np.where(right[:, 1], 1, 0))
    present = [np.unique(y[leaf == i]) for i in range(len(leaf_places))]
    numbers = np.full((len(present), k), -1, np.int32)
    for i, classes in enumerate(present):
        numbers[i, classes] = np.arange(len(classes))
    native = _core.ObliquePass(
        mean, centre, inverse, NO_NUMBERS.native(), (*steps, places, numbers, leaf_places, *tasks)
    )
    known = np.zeros(len(X), np.int32)
    target = _core.Target(y, w, k)
    found = [total(to_parts(native.sums(X, target, p, 0, 2))) for p in (np.empty(0, np.int32), known, known)]
    assert known.tolist() == leaf_places[leaf].tolist()
    weight = w if len(w) else np.ones(len(X))
    expected = []
    for task, (wanted, at, vector) in enumerate(zip(*tasks[:3])):
        mine = leaf == at
        rows = plain[mine]
        edges = tasks[3][tasks[4][task] : tasks[4][task + 1]]
        scaled = (rows - centre) * inverse
        expected.append(task_sums(wanted, scaled, rows, y[mine], weight[mine], present[at], vector, edges))
    np.testing.assert_allclose(found[0], np.concatenate(expected), rtol=1e-9, atol=1e-9)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def root_pass(X, y, classes, wanted, vector):
    d = X.shape[1]
    none = np.empty((0, d)), np.empty(0), np.empty((0, 2), np.int32), np.empty(0, np.int32)
    numbers = np.arange(classes, dtype=np.int32)[None]
    task = np.array([wanted], np.uint8), np.zeros(1, np.int32), vector[None], np.empty(0), np.zeros(2, np.int64)
    route = (*none, numbers, np.zeros(1, np.int32), *task)
    native = _core.ObliquePass(np.zeros(d), np.zeros(d), np.ones(d), NO_NUMBERS.native(), route)
    return total(to_parts(native.sums(X, _core.Target(y, np.empty(0), classes), np.empty(0, np.int32), 0, 1)))


def test_sums_give_value_and_gradient(rng):
    X, y, theta = rng.normal(size=(6000, 9)), rng.integers(0, 3, 6000).astype(np.int32), rng.normal(size=10)

    def value(point):
        sides = root_pass(X, y, 3, SIDES, point).reshape(3, -1)[:, :2].T
        bits = np.log2(sides.sum(axis=1)[:, None] / sides)
        return (sides * bits).sum() / len(X), (bits[0] - bits[1]) / len(X)

    found, factor = value(theta)
    gradient = factor @ root_pass(X, y, 3, SIDES, theta).reshape(3, -1)[:, 2:]
    expected, slope = soft_entropy(theta, X, y, np.ones(len(X)), 3)
    assert found == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gradient, approx_fprime(theta, lambda t: value(t)[0], 1e-7), atol=1e-6)
    spread = root_pass(X, y, 3, SPREAD, theta)
    np.testing.assert_allclose(spread, np.concatenate([X.sum(axis=0), (X**2).sum(axis=0)]), rtol=1e-10, atol=1e-9)


def test_means_and_deviations(rng):
    X = rng.normal(size=(9000, 5)) * [1, 1e-200, 1e150, 1, 0] + [1e6, 0, 0, 0, 7]
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = np.nan
    y, w = rng.integers(0, 3, 9000).astype(np.int32), rng.exponential(size=9000)
    passes = MemoryPasses(X, y, w, 2)
    found = Scaling.of("standard", passes.sums, *passes.ranges(), 3)
    there = ~np.isnan(X)
    mean = [np.average(x[t], weights=w[t]) if t.any() else 0.0 for x, t in zip(X.T, there.T)]
    np.testing.assert_allclose(found.mean, mean, rtol=1e-11, atol=1e-300)
    for j in (0, 1, 2):
        x, v, unit = X[there[:, j], j] - mean[j], w[there[:, j]], np.nanstd(X[:, j] / np.nanmax(X[:, j]))
        scale = np.nanmax(np.abs(x))
        expected = scale * np.sqrt(np.average((x / scale) ** 2, weights=v))
        assert unit > 0
        assert found.deviation[j] == pytest.approx(expected, rel=1e-9)
    assert found.deviation[3:].tolist() == [0, 0]
    assert found.inverse[3:].tolist() == [0, 0]
    np.testing.assert_allclose(found.mass, np.bincount(y, w))


# The cut


@pytest.mark.parametrize("criterion", [Gini(), Entropy()], ids=repr)
@pytest.mark.parametrize("bins", [2, 5, 64, 300])
@pytest.mark.parametrize("seed", range(4))
def test_the_cut_is_the_best_of_the_bins(criterion, bins, seed):
    rng = np.random.default_rng(seed)
    X, y = make_classification(700, 5, n_informative=4, n_redundant=0, n_classes=3, flip_y=0.1, random_state=seed)
    w = rng.integers(1, 5, len(y)).astype(float)
    tree = fit(X, y, w, max_bins=bins, limits={"max_depth": 1, "criterion": criterion}).tree_
    weights = tree.weights[0]
    scores = X @ weights
    ends = np.sort([weights * X.min(axis=0), weights * X.max(axis=0)], axis=0).sum(axis=1)
    threshold, drop = binned_cut(scores, y, w, criterion, bins, *ends)
    mass = tree.weighted_n_node_samples * tree.impurity * criterion.total(np.array([1.0, 1.0])) / 2 / criterion.unit
    assert mass[0] - mass[1] - mass[2] == pytest.approx(drop, rel=1e-9)
    assert tree.threshold[0] == pytest.approx(threshold, abs=1e-9)
    right = scores > tree.threshold[0]
    np.testing.assert_allclose(tree.value[2] * tree.weighted_n_node_samples[2], np.bincount(y[right], w[right], 3))


def test_the_direction_is_that_of_the_search_in_memory():
    X, y = load_wine(return_X_y=True)
    parameters = {"recut": False, "l2": 0.02, "n_init": 2, "limits": {"max_depth": 1}}
    binned, plain = fit(X, y, **parameters).tree_, fit(X, y, max_bins=None, **parameters).tree_
    np.testing.assert_allclose(binned.weights, plain.weights, rtol=1e-6)
    np.testing.assert_allclose(binned.threshold, plain.threshold, rtol=1e-6)
    np.testing.assert_array_equal(binned.value, plain.value)


def test_a_cut_that_limits_forbid_at_every_edge_is_looked_for_inside_a_bin():
    x = np.concatenate([np.linspace(0, 1, 200), [1e4]])
    tree = fit(x[:, None], x > 0.5, max_bins=4, limits={"min_samples_leaf": 60, "max_depth": 1})
    assert tree.tree_.n_node_samples.min() >= 60
    assert tree.get_n_leaves() == 2


# The same tree


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("parameters", "limits"),
    [
        ({}, {"max_depth": 8}),
        ({"n_init": 3, "max_bins": 2}, {"max_leaf_nodes": 10, "criterion": "sqrt", "min_weight_fraction_leaf": 0.02}),
        (
            {"l2": 0.1, "max_bins": 256},
            {"growth": "heaviest_first", "max_leaf_nodes": 7, "class_weight": "balanced", "leaf": "majority"},
        ),
        (
            {"recut": False, "max_bins": 3},
            {"growth": "depth_first", "max_depth": 3, "class_weight": {0: 2.0, 1: 0.0, 2: 1.5}, "ccp_alpha": 1e-3},
        ),
        ({"max_iter": 3}, {"min_impurity_decrease": 1e-3, "min_samples_leaf": 0.05, "criterion": "separation"}),
    ],
    ids=["default", "sqrt", "heaviest", "depth", "decrease"],
)
def test_same_bytes_as_in_memory(parameters, limits, weighted, dtype, tmp_path):
    X, y, weight = mixed_columns(9001, 3, dtype)
    arrays = (X, y, weight) if weighted else (X, y)
    tree = fit(*arrays, limits=limits, **parameters)
    expected, trajectory = saved(tree, tmp_path), tree.trajectory_.tobytes()
    assert tree.get_n_leaves() > 2
    tree.tree_.check()
    for cuts in ([1, 2, 4097, 8000], range(500, 9001, 500)):
        tree.fit_batches(in_pieces(cuts, *arrays))
        assert saved(tree, tmp_path) == expected
        assert tree.trajectory_.tobytes() == trajectory


@settings(derandomize=True, deadline=None, max_examples=12)
@given(st.lists(st.integers(0, 6000), max_size=6), st.integers(0, 3), st.integers(2, 100))
def test_cuts_change_nothing(cuts, seed, max_bins):
    X, y, weight = make_data(n=6000, d=3, seed=seed)
    tree = fit(X, y, weight, seed=seed, max_bins=max_bins, max_iter=6, limits={"max_leaf_nodes": 6})
    expected = tree.tree_
    assert tree.fit_batches(in_pieces(sorted(cuts), X, y, weight)).tree_ == expected


def test_threads_and_memory_order_change_nothing(tmp_path):
    X, y, weight = make_data(n=30_000)
    limits = {"max_leaf_nodes": 8}
    tree = fit(X, y, weight, limits=limits)
    expected = saved(tree, tmp_path)
    assert saved(fit(np.asfortranarray(X), y, weight, limits=limits | {"n_jobs": 3}), tmp_path) == expected
    source = in_pieces([10_000, 21_111], np.asfortranarray(X), y, weight)
    for n_jobs in (1, 3):
        assert saved(tree.set_params(n_jobs=n_jobs).fit_batches(source), tmp_path) == expected


def test_small_messages_mean_more_passes_and_the_same_tree(monkeypatch, tmp_path):
    X, y, _ = make_data()
    tree = fit(X, y, max_iter=5, limits={"max_leaf_nodes": 8}).fit_batches(in_pieces([4000], X, y))
    expected, passes = saved(tree, tmp_path), tree.reading_.passes
    monkeypatch.setattr("boscage.batches.reading.BatchPasses.max_message_mb", 1e-5)  # one node
    tree.fit_batches(in_pieces([4000], X, y))
    assert saved(tree, tmp_path) == expected
    assert tree.reading_.passes > 1.5 * passes


def test_one_pass_for_a_step_of_all_leaves():
    X, y, _ = make_data(n=20_000)
    tree = fit(X, y, tol=0, max_iter=5, limits={"max_depth": 4}).fit_batches(in_pieces([5000], X, y))
    assert tree.get_n_leaves() == 16
    assert tree.reading_.passes < 100  # one node after the other would take 15 times 10 or more


def test_files(tmp_path):
    X, y, weight = mixed_columns(9000, 1, np.float32)
    names = [f"x{j}" for j in range(X.shape[1])]
    table = pa.table({name: X[:, j] for j, name in enumerate(names)} | {"y": y, "w": weight})
    pq.write_table(table, tmp_path / "data.parquet", row_group_size=700)
    tree = fit(pd.DataFrame(X, columns=names), y, weight, limits={"max_leaf_nodes": 10})
    expected = saved(tree, tmp_path)
    assert saved(tree.fit_batches(tmp_path / "data.parquet", "y", weight="w"), tmp_path) == expected


def run(*arguments):
    with pytest.raises(SystemExit) as done:
        app(["fit", *map(str, arguments)])
    return done.value.code


@pytest.mark.parametrize("splits", ["wodt", "oblique", "axis"])
def test_from_the_command_line(splits, tmp_path, capsys):
    X, y, _ = make_data(n=5000)
    data, models = tmp_path / "data.parquet", [tmp_path / "a.boscage", tmp_path / "b.boscage"]
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(5)} | {"y": y}), data)
    common = [data, "--target", "y", "--splits", splits, "--max-leaf-nodes", 4]
    assert run(*common, "--batches", "-o", models[0])
    assert "--max-bins 255" in capsys.readouterr().err
    for model, flag in zip(models, ("--batches", "--in-memory")):
        assert not run(*common, "--max-bins", 32, flag, "-o", model)
    one, other = (load(model).tree_ for model in models)
    assert one.value.tobytes() == other.value.tobytes()
    assert one.threshold.tobytes() == other.threshold.tobytes()
    assert run(data, "--target", "y", "--splits", "oc1", "--max-bins", 32, "-o", models[0])
    assert "axis, wodt and oblique have" in capsys.readouterr().err


# What does not go together


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_bins": None}, r"needs all rows in memory.*WeightedOblique\(max_bins=256\)"),
        ({"l2": "auto"}, "l2='auto'.*pass a number"),
        ({"prune_bits": "auto"}, "prune_bits='auto'.*pass a number"),
        ({"lookahead": True}, "lookahead=True cannot be combined with max_bins=64"),
        ({"sparsity_tolerance": 0.1}, r"sparsity_tolerance=0\.1 cannot be combined with max_bins=64"),
    ],
)
def test_refusals(parameters, message):
    tree = TopDownTreeClassifier(WeightedOblique(**{"max_bins": 64} | parameters))
    with pytest.raises(IncompatibleParts, match=message):
        tree.fit_batches([(np.eye(2), [0, 1])])
    assert not hasattr(tree, "tree_")


@pytest.mark.parametrize("max_bins", [1, 65537, 2.5, True])
def test_numbers_of_bins_out_of_range(max_bins):
    with pytest.raises(ValueError, match="max_bins"):
        fit(np.eye(2), [0, 1], max_bins=max_bins)


@pytest.mark.parametrize("limits", [{"leaf": "linear"}, {"polish": "soft"}])
def test_what_needs_rows_works_in_memory_and_refuses_batches(limits):
    X, y, _ = make_data(n=500)
    tree = fit(X, y, limits=limits | {"max_leaf_nodes": 4})
    assert tree.score(X, y) > 0.7
    with pytest.raises(IncompatibleParts, match="all rows in memory"):
        tree.fit_batches([(X, y)])


def test_wide_sparse_rows_refuse(rng):
    rows = sparse.random_array((20, 10**5), density=1e-4, format="csr", rng=rng)
    with pytest.raises(IncompatibleParts, match="sparse matrix of 100000 columns"):
        fit(rows, rng.integers(0, 2, 20))


def test_sparse_rows_give_the_tree_of_dense_ones(rng, monkeypatch):
    X, y, weight = make_data(n=9000, d=6)
    X[rng.random(X.shape) < 0.7] = 0
    X[rng.random(X.shape) < 0.02] = np.nan
    expected = fit(X, y, weight, limits={"max_leaf_nodes": 6}).tree_
    monkeypatch.setattr("boscage.batches.reading._DENSE_NUMBERS", 1)  # one block at a time
    assert fit(sparse.csr_array(X), y, weight, limits={"max_leaf_nodes": 6}).tree_ == expected


def test_categories_in_memory(rng):
    frame = pd.DataFrame({"x": rng.normal(size=400), "c": pd.Categorical(rng.choice(list("abcd"), 400))})
    y = frame["c"].isin(["a", "c"]) ^ (frame["x"] > 1)
    tree = fit(frame, y, limits={"categorical_features": "from_dtype"})
    assert tree.score(frame, y) > 0.95
