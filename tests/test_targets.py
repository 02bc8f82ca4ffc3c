"""Targets of numbers: what is taken, what is refused and how, and the hint for classifiers."""

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

from boscage import (
    Axis,
    ForestClassifier,
    ForestRegressor,
    OnlineTreeClassifier,
    OptimalTreeClassifier,
    TopDownTreeClassifier,
    TopDownTreeRegressor,
)
from boscage.data.targets import encode_numbers

pl = pytest.importorskip("polars")

X = np.arange(4.0)[:, None]


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 3, 4],
        (1.0, 2.0, 3.0, 4.0),
        np.array([1, 2, 3, 4], np.int8),
        np.array([1, 2, 3, 4], np.float16),
        np.array([1, 2, 3, 4], object),
        [Decimal(1), Fraction(2), 3, np.float32(4)],
        pd.Series([1, 2, 3, 4], dtype="Int64"),
        pd.Series([1, 2, 3, 4], dtype="float32"),
        pd.Series([1.0, 2.0, 3.0, 4.0], dtype="float64[pyarrow]"),
        pd.DataFrame({"y": [1, 2, 3, 4]}),
        pl.Series([1, 2, 3, 4]),
        pl.Series([Decimal(1), Decimal(2), Decimal(3), Decimal(4)]),
        pa.array([1, 2, 3, 4]),
        pa.chunked_array([[1.0, 2.0], [3.0, 4.0]]),
        pa.array([Decimal(1), Decimal(2), Decimal(3), Decimal(4)]),
        np.array([[1.0], [2.0], [3.0], [4.0]]),
    ],
)
def test_number_columns_of_every_kind_are_taken(y):
    numbers = encode_numbers(y, "R")
    assert numbers.dtype == np.float64
    assert numbers.flags.c_contiguous
    np.testing.assert_array_equal(numbers, [1.0, 2.0, 3.0, 4.0])


def test_booleans_and_several_outputs():
    np.testing.assert_array_equal(encode_numbers([True, False], "R"), [1.0, 0.0])
    wide = encode_numbers(np.asfortranarray([[1, 2], [3, 4]]), "R")
    assert wide.shape == (2, 2)
    assert wide.flags.c_contiguous


def test_a_float64_vector_is_not_copied():
    y = np.arange(3.0)
    assert encode_numbers(y, "R") is y or np.shares_memory(encode_numbers(y, "R"), y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan, 2.0, 3.0], "Input y contains NaN or None: row 1 has no number"),
        ([1.0, None, 2.0, 3.0], "row 1 has no number"),
        (pd.Series([1, pd.NA, 2, 3], dtype="Int64"), "row 1 has no number"),
        ([1.0, np.inf, 2.0, 3.0], "Input y contains infinity"),
        ([1, 10**400, 2, 3], "Input y contains infinity"),
        ([1.0, 2e300, 2.0, 3.0], r"y holds 2e\+300 in row 1: numbers must lie between"),
        (["a", "b", "a", "b"], "y holds text .a.: TopDownTreeRegressor needs numbers. For classes use TopDownTreeClas"),
        ([1.0, "b", 2.0, 3.0], "y holds text"),
        (np.array([1, "b", 2, 3], object), "'b' in row 1"),
        (np.array([1j, 2, 3, 4]), "Complex data not supported"),
        (np.array(["2020-01-01"] * 4, "M8[D]"), "y has type datetime64"),
        (np.zeros((4, 2, 2)), "y has shape"),
        (np.zeros((4, 0)), "y has shape"),
        ([[1.0], [2.0, 3.0], [1.0], [1.0]], "y mixes sequences"),
        (np.array([{}, 1, 2, 3], object), "an object of type dict in row 0"),
        (None, "requires y to be passed"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
    ],
)
def test_what_is_no_number_is_refused_with_a_reason(y, message):
    with pytest.raises(ValueError, match=message):
        TopDownTreeRegressor().fit(X, y)


def test_masked_and_lazy_targets_are_refused():
    with pytest.raises(TypeError, match="masked"):
        encode_numbers(np.ma.array([1.0, 2.0], mask=[0, 1]), "R")
    with pytest.raises(TypeError, match="collect"):
        encode_numbers(pl.LazyFrame({"y": [1]}), "R")


def test_a_column_gets_a_warning_only_where_one_output_is_known():
    column = np.arange(4.0)[:, None]
    TopDownTreeRegressor().fit(X, column)
    with pytest.warns(DataConversionWarning):
        TopDownTreeRegressor(criterion="poisson").fit(X, column)


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    tree = TopDownTreeRegressor().fit(X, [1, 2, 3, 4])
    before = tree.tree_
    with pytest.raises(ValueError, match="NaN"):
        tree.fit(X, [1, 2, 3, np.nan])
    assert tree.tree_ is before


@pytest.mark.parametrize("cls", [TopDownTreeClassifier, OptimalTreeClassifier])
def test_a_classifier_warns_of_very_many_floats(cls, rng):
    X, y = rng.normal(size=(60, 2)), np.arange(60.0)
    model = cls(max_depth=1)
    with pytest.warns(UserWarning, match="60 distinct floats in 60 rows.*use TopDownTreeRegressor") as found:
        model.fit(X, y)
    assert found[0].filename == __file__


@pytest.mark.parametrize(
    ("model", "regressor"),
    [
        (TopDownTreeClassifier(Axis(max_bins=8), max_depth=1), "TopDownTreeRegressor"),
        (ForestClassifier(2, Axis(max_bins=8), max_depth=1), "ForestRegressor"),
    ],
)
def test_a_classifier_warns_in_batches_too(model, regressor, rng):
    X, y = rng.normal(size=(60, 2)), np.arange(60.0)
    with pytest.warns(UserWarning, match=f"60 distinct floats in 60 rows.*use {regressor}") as found:
        model.fit_batches([(X[:30], y[:30]), (X[30:], y[30:])])
    assert found[0].filename == __file__


def test_a_classifier_is_silent_about_classes(rng):
    X = rng.normal(size=(60, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in (np.arange(60), np.arange(60).astype(str), np.arange(60.0) % 30):
            TopDownTreeClassifier(max_depth=1).fit(X, y)


@pytest.mark.parametrize("y", [[0.5, 1.5, 2.5, 3.5], [[0.5, 1.5], [2.5, 3.5]] * 2], ids=["fractions", "outputs"])
@pytest.mark.parametrize(
    ("model", "regressor"),
    [(TopDownTreeClassifier(), "TopDownTreeRegressor"), (ForestClassifier(2), "ForestRegressor")],
    ids=repr,
)
def test_a_classifier_given_numbers_names_the_regressor(model, regressor, y):
    with pytest.raises(ValueError, match=f"Unknown label type: continuous.*{regressor}|outputs.*{regressor}"):
        model.fit(X, y)


def codes_in_chunks(values):
    """A column of a table that was read with a dictionary: NumPy takes a missing code in it for the last value."""
    return pa.chunked_array([pa.array(values[:2]).dictionary_encode(), pa.array(values[2:]).dictionary_encode()])


@pytest.mark.parametrize("values", [["a", None, "b", "a"], [0, None, 1, 0], [True, None, False, True]])
@pytest.mark.parametrize(
    "model", [TopDownTreeClassifier(), ForestClassifier(2), OnlineTreeClassifier(), OptimalTreeClassifier(1)], ids=repr
)
def test_a_missing_code_is_no_label(model, values):
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, codes_in_chunks(values))


@pytest.mark.parametrize("model", [TopDownTreeRegressor(), ForestRegressor(2, random_state=0)], ids=repr)
def test_a_missing_code_is_no_number(model):
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, codes_in_chunks([0.5, None, 1.5, 0.5]))
    y = [0.5, 2.5, 1.5, 0.5]
    codes = codes_in_chunks(y)
    np.testing.assert_array_equal(clone(model).fit(X, codes).predict(X), clone(model).fit(X, y).predict(X))
    assert model.fit(X, y).score(X, codes) == model.score(X, y)


def test_a_missing_code_is_no_weight():
    with pytest.raises(ValueError, match="nan"):
        TopDownTreeClassifier().fit(X, [0, 1, 0, 1], sample_weight=codes_in_chunks([1.0, None, 2.0, 1.0]))


def test_a_missing_code_is_no_label_of_a_batch_or_an_edit():
    tree = TopDownTreeClassifier(Axis(max_bins=4))
    with pytest.raises(ValueError, match="NaN"):
        tree.fit_batches([(X, codes_in_chunks(["a", None, "b", "a"]))])
    tree.fit_batches([(X, codes_in_chunks(["a", "a", "b", "b"]))])
    assert tree.edit(X, codes_in_chunks(["a", "a", "b", "b"])).report.accuracy_before == 1
    with pytest.raises(ValueError, match="None, which is not a class"):
        tree.edit(X, codes_in_chunks(["a", None, "b", "b"]))


def test_a_missing_date_is_no_label():
    y = np.array(["2020-01-01", "NaT", "2020-01-02", "NaT"], "M8[D]")
    with pytest.raises(ValueError, match="NaT: row 1 has no label"):
        TopDownTreeClassifier().fit(X, y)
    assert TopDownTreeClassifier().fit(X[::2], y[::2]).predict(X[:1]) == y[0]


def test_a_list_is_no_label():
    y = np.empty(4, object)
    y[:] = [np.arange(2)] * 4
    with pytest.raises(ValueError, match="Unknown label type: y holds objects of type ndarray"):
        TopDownTreeClassifier().fit(X, y)
