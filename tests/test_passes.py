"""Passes are data: kinds and arrays with schemas, answered by arithmetic that the executor finds."""

import io
import pickle

import numpy as np
import pytest

from boscage import ForestClassifier, TopDownTreeClassifier, TopDownTreeRegressor
from boscage.batches.kernels import MERGED, SUMS, merge_kernel, sum_kernel
from boscage.batches.passes import NO_NUMBERS, SCHEMAS, Pass
from boscage.batches.reading import BatchPasses, MemoryPasses
from boscage.batches.rows import Rows
from boscage.splits import Axis, StochasticLinear, WeightedOblique
from test_numbers import SETTINGS


class Strict(pickle.Unpickler):
    """Loads objects and notes what code they name."""

    def __init__(self, file):
        super().__init__(file)
        self.named = set()

    def find_class(self, module, name):
        self.named.add(f"{module}.{name}")
        return super().find_class(module, name)


def asked_for(monkeypatch, fit):
    """Return the passes that a fit asks for."""
    seen = []
    for executor in (BatchPasses, MemoryPasses):
        for name in ("sums", "collect"):
            answer = getattr(executor, name, None)
            if answer is None:
                continue

            def spy(self, question, answer=answer):
                seen.append(question)
                return answer(self, question)

            monkeypatch.setattr(executor, name, spy)
    fit()
    return seen


def fits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3))
    y, numbers = (X[:, 0] > X[:, 1]).astype(int), X[:, 0] * X[:, 1]
    bins = WeightedOblique(max_bins=16, max_iter=5)
    for splits in (Axis(max_bins=16), StochasticLinear(), StochasticLinear(scale="unit"), bins):
        yield TopDownTreeClassifier(splits, max_leaf_nodes=4, random_state=0), X, y
    for splits in (Axis(max_bins=16), StochasticLinear(), bins):
        yield TopDownTreeRegressor(splits, max_leaf_nodes=4, random_state=0), X, numbers
    forest = ForestClassifier(2, splits=Axis(max_bins=16), bootstrap="bayesian", max_leaf_nodes=4, random_state=0)
    yield forest, X, y


@pytest.fixture(scope="module")
def passes():
    weight = np.random.default_rng(1).exponential(size=5000)

    def fit_all():
        for model, X, y in fits():
            model.fit_batches([(X[:3000], y[:3000], weight[:3000]), (X[3000:], y[3000:], weight[3000:])])

    with pytest.MonkeyPatch.context() as monkeypatch:
        return asked_for(monkeypatch, fit_all)


def test_passes_are_pickled_without_code(passes):
    for question in passes:
        question.check()
        loader = Strict(io.BytesIO(pickle.dumps(question)))
        again = loader.load()
        assert {name for name in loader.named if not name.startswith("numpy.")} == {"boscage.batches.passes.Pass"}
        assert again.kind == question.kind
        for name, array in question.arrays.items():
            np.testing.assert_array_equal(again.arrays[name], array)
            assert again.arrays[name].dtype == array.dtype != object


def test_every_kind_is_asked_for_and_has_a_schema_and_one_kernel(passes):
    assert {question.kind for question in passes} == set(SCHEMAS)
    assert set(SUMS) | set(MERGED) == set(SCHEMAS)
    assert not set(SUMS) & set(MERGED)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("median", {}, "kind 'median'"),
        ("distinct", {"most": 3}, "is not known"),
        ("distinct", {"most": 3, "columns": [0], "code": 1}, "is not known"),
        ("distinct", {"most": 3, "columns": [0.5]}, "float64 in 1 dimensions, not i8 in 1"),
        ("distinct", {"most": 3, "columns": [[0]]}, "2 dimensions"),
    ],
)
def test_what_is_not_as_its_schema_says_is_refused(kind, values, message):
    with pytest.raises(ValueError, match=message):
        Pass.of(kind, **values)
    arrays = {name: np.asarray(value) for name, value in values.items()}
    with pytest.raises(ValueError, match=message):
        merge_kernel(Pass(kind, arrays))


def answer(question, count):
    """Answer a pass about some rows of `fits`."""
    _, X, _ = next(fits())
    labels, numbers = (X[:, 0] > X[:, 1]).astype(np.int32), X[:, 0] * X[:, 1]
    arrays = question.arrays
    is_of_numbers = len(arrays.get("low", ())) > 0 or arrays.get("n_classes", 1) == 0
    rows = Rows(X[:count], (numbers if is_of_numbers else labels)[:count], np.empty(0))
    if question.kind in SUMS:
        return sum_kernel(question).sums(rows, 0, 1)
    return merge_kernel(question).answer(rows, 1)


def replaced(question, name, array):
    return Pass(question.kind, question.arrays | {name: array})


def with_number(array, at, number):
    """Return a copy of an array with another number in one place."""
    array = np.array(array, order="C")
    with np.errstate(all="ignore"):
        array.reshape(-1)[at] = np.float64(number).astype(array.dtype)
    return array


@pytest.mark.parametrize(
    ("kind", "name", "change", "message"),
    [
        ("oblique_sums", "leaf_places", lambda a: with_number(a, 0, -1), "has no place"),
        ("oblique_sums", "low", lambda a: with_number(a, 0, np.nan), "not one of finite numbers"),
        ("oblique_sums", "high", lambda a: a - 1e9, "not one of finite numbers"),
        ("oblique_sums", "leaves", lambda a: with_number(a, 0, 10**6), "has no leaf"),
        ("stochastic_sums", "flags", lambda a: a * [[1, 1, 0, 1, 1]], "sums a side that is not wanted"),
        ("stochastic_sums", "shift", lambda a: a[:1], "one number per column"),
        ("stochastic_sums", "factor", lambda a: np.append(a, 1), "one number per column"),
        ("stochastic_sums", "factor", lambda a: a[:0], "one number per column"),
        ("stochastic_sums", "n_columns", lambda a: np.array(-1), "one number per column"),
        ("histograms", "start", lambda a: a + 1, "do not fit the columns"),
        ("histograms", "start", lambda a: with_number(a, 1, 0), "no place for its bins"),
        ("histograms", "position", lambda a: a + 10**6, "behind the last bin"),
        ("histograms", "position", lambda a: a - 10**6, "behind the last bin"),
        ("histograms", "histograms", lambda a: a + 10**6, "has no histogram"),
        ("histograms", "category_start", lambda a: np.append(0, a[1:] - 9), "do not fit together"),
        ("histograms", "grids", lambda a: with_number(a, 0, np.nan), "no valid exponent"),
        ("bin_minima", "start", lambda a: a[::-1], "do not fit the columns"),
    ],
)
def test_passes_whose_arrays_do_not_fit_together_are_refused(passes, kind, name, change, message):
    asked = [question for question in passes if question.kind == kind and question.arrays[name].size]
    changed = [(question, change(question.arrays[name])) for question in asked]
    changed = [(question, array) for question, array in changed if not np.array_equal(array, question.arrays[name])]
    assert changed
    for question, array in changed:
        with pytest.raises(ValueError, match=message):
            answer(replaced(question, name, array.astype(question.arrays[name].dtype)), 100)


@pytest.mark.parametrize("name", ["places", "leaf_places"])
def test_the_number_of_a_node_takes_no_memory(passes, name):
    resource = pytest.importorskip("resource")
    asked = [question for question in passes if question.kind == "oblique_sums" and question.arrays[name].size]
    assert asked
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for question in asked[-3:]:
        answer(replaced(question, name, with_number(question.arrays[name], 0, 2**31 - 1)), 100)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes


ODD = (0, 1, -1, 2, 7, 255, 10**4, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 1e308, 5e-324, np.nan, np.inf, 0.5)
NOT_ODD = {"n_classes", "n_columns"}  # of which large ones ask for memory, lawfully


def test_changed_passes_are_answered_or_refused(passes, rng):
    """Random changes; ``BOSCAGE_EXAMPLES`` sets how many. Above all, nothing is read or written out of bounds."""
    found = {"answered": 0, "refused": 0}
    for _ in range(20 * SETTINGS.max_examples):
        question = passes[rng.integers(len(passes))]
        for name in rng.permutation(list(question.arrays))[: rng.integers(1, 3)]:
            array = question.arrays[name]
            if array.ndim and rng.random() < 0.3:
                array = array[rng.permutation(len(array))[: rng.integers(len(array) + 1)]]
            elif array.size and array.dtype.kind != "U":
                odd = rng.integers(-1, 9) if name in NOT_ODD else ODD[rng.integers(len(ODD))]
                array = with_number(array, rng.integers(array.size), odd).reshape(array.shape)
            question = replaced(question, name, array)
        try:
            answer(question, rng.choice([1, 100, 5000]))
            found["answered"] += 1
        except (ValueError, TypeError, IndexError):  # a number that its C type does not hold is a TypeError
            found["refused"] += 1
    print(found)
    assert min(found.values()) > SETTINGS.max_examples


def test_kernels_agree_with_plain_sums(rng):
    X, y, weight = rng.normal(size=(9000, 3)), rng.integers(0, 2, 9000).astype(np.int32), rng.exponential(size=9000)
    executor = MemoryPasses(X, y, weight, 2)
    shift, per_unit = rng.normal(size=3), rng.exponential(size=3)
    away = (X - shift) * per_unit
    plain = [np.tile(weight.sum(), 3), weight @ away, weight @ away**2, np.bincount(y, weight)]
    question = Pass.of("column_sums", shift=shift, per_unit=per_unit, n_classes=2, **NO_NUMBERS.fields())
    np.testing.assert_allclose(executor.sums(question), np.concatenate(plain), rtol=1e-9)
    means = Pass.of("means", weight_unit=0.25, centre=shift, unit=per_unit)
    expected = np.append(weight @ away, weight.sum()) * 0.25
    np.testing.assert_allclose(executor.sums(means), expected, rtol=1e-9)
    one, other = Rows(X[:10], y[:10], weight[:10]), Rows(X[10:], y[10:], weight[10:])
    kernel = merge_kernel(Pass.of("row_facts"))
    facts = kernel.merge(kernel.answer(one, 1), kernel.answer(other, 1))
    assert (facts.count, facts.smallest, facts.largest) == (9000, weight.min(), weight.max())
    np.testing.assert_array_equal(facts.low, X.min(axis=0))
