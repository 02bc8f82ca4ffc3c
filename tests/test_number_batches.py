"""Trees of numbers over batches: the same bytes as in memory, however the rows are cut."""

import numpy as np
import pytest

from boscage.base.progress import Progress
from boscage.batches.reading import BatchPasses
from boscage.batches.source import open_source
from boscage.batches.survey import schema_data
from boscage.criteria import Gamma, Poisson, SquaredError, Tweedie
from boscage.engine.grow import Limits
from boscage.splits import Axis
from number_jobs import grow_numbers, number_job

ARRAYS = (
    "children_left", "children_right", "feature", "threshold", "missing_go_to_left", "category_bits", "value",
    "impurity", "n_node_samples", "weighted_n_node_samples", "weights",
)  # fmt: skip


def in_batches(X, y, weight=None, *, size, limits=None, threads=1, **parts):
    """Grow over batches of so many rows."""
    cuts = range(0, len(y), size)
    batches = [(X[i : i + size], y[i : i + size]) + (() if weight is None else (weight[i : i + size],)) for i in cuts]
    limits = Limits(**(limits or {}))
    with Progress("reading", False) as progress:
        passes = BatchPasses(
            open_source(batches), "Test", None, allow_nan=True, threads=threads, progress=progress, target="numbers"
        )
        job = number_job(schema_data(passes.survey), limits=limits, threads=threads, **parts)
        return job.splits.grow_in_passes(job, passes, lambda total: limits)


def same(one, other):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def problem(rng, n=3000, d=5, missing=True):
    X = rng.normal(size=(n, d))
    X[:, 0] = np.round(X[:, 0])
    y = np.exp(X @ rng.normal(size=d) + rng.normal(size=n))
    if missing:
        X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@pytest.mark.parametrize("weighted", ["no", "whole", "real"])
@pytest.mark.parametrize("criterion", [SquaredError(), Poisson(), Gamma(), Tweedie(1.7)], ids=repr)
def test_axis_trees_are_those_of_memory(criterion, weighted, rng):
    X, y = problem(rng)
    weight = {"no": None, "whole": rng.integers(0, 4, len(y)) * 1.0, "real": rng.exponential(size=len(y))}[weighted]
    parts = {"criterion": criterion, "splits": Axis(max_bins=16), "limits": {"min_samples_leaf": 5}}
    memory = grow_numbers(X, y, weight, **parts)
    assert memory.n_leaves > 50
    same(memory, in_batches(X, y, weight, size=700, **parts))
    same(memory, in_batches(X, y, weight, size=3000, threads=2, **parts))


@pytest.mark.parametrize("growth", ["best_first", "heaviest_first", "depth_first"])
def test_heavy_tails_and_limits(growth, rng):
    X, y = problem(rng, 1500)
    y = y ** np.linspace(1, 12, len(y))  # many sides get grids of their own
    limits = {"max_depth": 6} if growth == "depth_first" else {"max_leaf_nodes": 40}
    parts = {"splits": Axis(max_bins=64), "growth": growth, "limits": limits, "max_features": 3, "seed": 4}
    same(grow_numbers(X, y, **parts), in_batches(X, y, size=400, **parts))


def test_several_outputs(rng):
    X, y = problem(rng, 800)
    y = np.column_stack([y, 1e-6 * X[:, 1] ** 2, np.sign(np.nan_to_num(X[:, 2]))])
    y = np.nan_to_num(y)
    parts = {"splits": Axis(max_bins=20)}
    same(grow_numbers(X, y, **parts), in_batches(X, y, size=100, **parts))


def test_constant_numbers_and_a_single_row(rng):
    X = rng.normal(size=(50, 2))
    parts = {"splits": Axis(max_bins=4)}
    for y in (np.full(50, 7.25), np.zeros(50)):
        tree = in_batches(X, y, size=20, **parts)
        assert tree.node_count == 1
        assert tree.value[0, 0] == y[0]
    assert in_batches(X[:1], np.array([3.0]), size=1, **parts).value[0, 0] == 3.0


def test_numbers_that_a_loss_does_not_know(rng):
    X = rng.normal(size=(30, 2))
    with pytest.raises(ValueError, match=r"y=-1.0 is not allowed with criterion=Poisson\(\)"):
        in_batches(X, np.arange(30) - 1.0, size=10, criterion="poisson", splits=Axis(max_bins=4))


def test_batches_must_have_the_same_outputs(rng):
    X = rng.normal(size=(30, 2))
    batches = [(X, np.ones(30)), (X, np.ones((30, 2)))]
    with Progress("reading", False) as progress, pytest.raises(ValueError, match="y has 1 outputs in one and 2"):
        BatchPasses(open_source(batches), "Test", None, allow_nan=True, threads=1, progress=progress, target="numbers")
