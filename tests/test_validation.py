import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.class_weight import compute_sample_weight

from boscage.data.labels import encode_labels
from boscage.data.weights import apply_class_weight, check_sample_weight, snap_weights
from checked_input import Checker

pl = pytest.importorskip("polars")

few = settings(derandomize=True, deadline=None, max_examples=100)
IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = ["a", "b", "c", "d"]


def fitted(X, y=SPECIES, sample_weight=None, **parameters):
    return Checker(**parameters).fit(X, y, sample_weight)


# --- X ---------------------------------------------------------------------------------------------------------------

CONTAINERS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "swapped bytes": lambda X: X.astype(">f8"),
    "read only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "list": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "long double": lambda X: X.astype(np.longdouble),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas float32": lambda X: pd.DataFrame(X, columns=NAMES, dtype=np.float32),
    "pandas nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Float64"),
    "pandas arrow": lambda X: pd.DataFrame(X, columns=NAMES).astype("float64[pyarrow]"),
    "pandas objects": lambda X: pd.DataFrame(X, columns=NAMES, dtype=object),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "polars float32": lambda X: pl.DataFrame(X.astype(np.float32), schema=NAMES),
    "arrow": lambda X: pa.table(dict(zip(NAMES, X.T))),
    "record batch": lambda X: pa.record_batch(dict(zip(NAMES, X.T))),
}
every_container = pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)


@every_container
def test_every_container_gives_the_same_numbers(container):
    X = container(np.round(IRIS * 8) / 8)  # exact in float32
    checker = fitted(X)
    data = checker.data_
    np.testing.assert_array_equal(data.X, np.round(IRIS * 8) / 8)
    np.testing.assert_array_equal(checker.rows(X), data.X)
    assert data.X.dtype == (np.float32 if "float32" in str(getattr(X, "dtype", "")) else data.X.dtype)
    assert data.y.dtype == np.int32
    assert data.y.flags.c_contiguous
    assert data.weight is None
    assert not data.has_missing
    named = isinstance(X, (pd.DataFrame, pl.DataFrame, pa.Table))
    assert data.feature_names == (tuple(NAMES) if named else data.feature_names)
    assert checker.n_features_in_ == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_floats_are_not_copied(dtype, order):
    X = np.asarray(IRIS, dtype=dtype, order=order)
    checker = fitted(X)
    assert checker.data_.X is X
    assert checker.rows(X) is X
    checker = fitted(X, sample_weight=np.ones(len(X)))
    assert checker.data_.X is X
    assert checker.data_.weight is None


def test_other_floats_are_not_copied_either(tmp_path):
    frame = pd.DataFrame(IRIS, columns=NAMES)
    assert np.shares_memory(fitted(frame).data_.X, frame.to_numpy())
    mapped = np.memmap(tmp_path / "X", np.float32, "w+", shape=IRIS.shape)
    mapped[:] = IRIS
    assert np.shares_memory(fitted(mapped).data_.X, mapped)
    assert np.shares_memory(fitted(IRIS[:, ::2]).data_.X, IRIS)


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        (bool, np.float32),
        (np.int8, np.float32),
        (np.uint8, np.float32),
        (np.int16, np.float32),
        (np.uint16, np.float32),
        (np.float16, np.float32),
        (np.int32, np.float64),
        (np.uint32, np.float64),
        (np.int64, np.float64),
        (np.uint64, np.float64),
    ],
)
def test_small_integers_become_float32_and_wide_ones_float64(dtype, wanted):
    X = np.arange(12).reshape(6, 2).astype(dtype)
    checker = fitted(X, [0, 1] * 3)
    assert checker.data_.X.dtype == wanted
    assert checker.rows(X).dtype == wanted
    assert (checker.data_.X == X).all()
    assert checker.data_.schema.dtype == np.dtype(wanted).name


def test_mixed_columns_take_the_wider_type():
    frame = pd.DataFrame({"a": np.ones(4, np.float32), "b": np.ones(4, np.int16), "c": np.ones(4, bool)})
    assert fitted(frame[["a", "b"]], [0, 1, 0, 1]).data_.X.dtype == np.float32
    frame["d"] = np.arange(4)
    assert fitted(frame[["a", "b", "d"]], [0, 1, 0, 1]).data_.X.dtype == np.float64


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, lambda X: pl.DataFrame(X, nan_to_null=True)])
def test_missing_values_are_seen(container):
    X = IRIS.copy()
    X[3, 2] = np.nan
    checker = fitted(container(X))
    assert checker.data_.has_missing
    np.testing.assert_array_equal(checker.data_.X, X)
    np.testing.assert_array_equal(checker.rows(container(X)), X)


def test_huge_values_are_finite():
    X = np.full((4, 2), np.finfo(np.float64).max)
    assert not fitted(X, [0, 1, 0, 1]).data_.has_missing
    assert not fitted(np.full((4, 2), np.finfo(np.float32).max, np.float32), [0, 1, 0, 1]).data_.has_missing


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64])
def test_sparse_rows_become_csr(form, dtype):
    X = np.round(IRIS).astype(dtype)
    w = (np.arange(150) % 3).astype(float)
    checker = fitted(form(X), accept_sparse=True, sample_weight=w)
    data = checker.data_
    assert data.X.format == "csr"
    assert data.X.dtype == (np.float32 if dtype in (np.float32, np.int8) else np.float64)
    assert (data.X.toarray() == X[w > 0]).all()
    assert (checker.rows(form(X)).toarray() == X).all()


# --- names -----------------------------------------------------------------------------------------------------------


def test_feature_names_come_and_go_with_the_table():
    checker = fitted(pd.DataFrame(IRIS, columns=NAMES))
    assert checker.feature_names_in_.tolist() == NAMES
    assert checker.feature_names_in_.dtype == object
    checker.fit(IRIS, SPECIES)
    assert not hasattr(checker, "feature_names_in_")
    checker.fit(pd.DataFrame(IRIS), SPECIES)  # numbers are no names
    assert not hasattr(checker, "feature_names_in_")


def test_feature_names_are_checked_as_in_scikit_learn():
    frame = pd.DataFrame(IRIS, columns=NAMES)
    checker = fitted(frame)
    with pytest.raises(ValueError, match="must be in the same order"):
        checker.rows(frame[NAMES[::-1]])
    with pytest.raises(ValueError, match="unseen at fit time:\n- z"):
        checker.rows(frame.rename(columns={"a": "z"}))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Checker was fitted with"):
        checker.rows(IRIS)
    with pytest.warns(UserWarning, match="X has feature names, but Checker was fitted without"):
        fitted(IRIS).rows(frame)


# --- categories ------------------------------------------------------------------------------------------------------

COLUMN = ["red", "blue", None, "red", "green", "blue"]
TABLE = {"size": [1.5, 2.0, 3.0, 4.0, 5.0, 6.0], "colour": COLUMN, "age": [1, 2, 3, 4, 5, 6]}
ORDER = ["white", "red", "green", "blue"]  # white has no row
CODES = [2.0, 0.0, np.nan, 2.0, 1.0, 0.0]
LABELS = ("blue", "green", "red")
COLOURS = {
    "pandas text": pd.DataFrame(TABLE),
    "pandas object": pd.DataFrame(TABLE).astype({"colour": object}),
    "pandas category": pd.DataFrame(TABLE).astype({"colour": "category"}),
    "pandas arrow text": pd.DataFrame(TABLE).astype({"colour": "string[pyarrow]"}),
    "polars text": pl.DataFrame(TABLE),
    "polars category": pl.DataFrame(TABLE).cast({"colour": pl.Categorical}),
    "arrow text": pa.table(TABLE),
    "arrow large text": pa.table({**TABLE, "colour": pa.array(COLUMN, pa.large_string())}),
    "arrow dictionary": pa.table({**TABLE, "colour": pa.array(COLUMN).dictionary_encode()}),
    "arrow chunks": pa.concat_tables([pa.table({n: v[i : i + 3] for n, v in TABLE.items()}) for i in (0, 3)]),
}
LABELLED = [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("table", COLOURS.values(), ids=COLOURS)
@pytest.mark.parametrize("declared", [["colour"], [1], [False, True, False], np.array([1])])
def test_labels_become_codes_in_sorted_order(table, declared):
    checker = fitted(table, LABELLED, categorical_features=declared)
    data = checker.data_
    np.testing.assert_array_equal(data.X, np.column_stack([TABLE["size"], CODES, TABLE["age"]]))
    assert data.categories == (None, LABELS, None)
    assert data.n_categories.tolist() == [0, 3, 0]
    assert data.has_missing
    np.testing.assert_array_equal(checker.rows(table), data.X)
    for other in COLOURS.values():  # any table serves at prediction
        np.testing.assert_array_equal(checker.rows(other), data.X)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({**TABLE, "colour": pd.Categorical(COLUMN, categories=ORDER)}),
        pl.DataFrame(TABLE).cast({"colour": pl.Enum(ORDER)}),
    ],
    ids=["pandas", "polars"],
)
def test_labels_are_sorted_whatever_their_type_and_labels_without_rows_are_unseen(table):
    data = fitted(table, LABELLED).data_
    assert data.categories[1] == LABELS
    np.testing.assert_array_equal(data.X[:, 1], CODES)


def test_from_dtype_takes_text_and_categories():
    for table in COLOURS.values():
        assert fitted(table, LABELLED).data_.categories == (None, LABELS, None)
    assert fitted(IRIS).data_.categories is None


def test_numbers_can_be_categories():
    X = np.array([[3.0, 1], [7, 2], [3, 3], [np.nan, 4]])
    checker = fitted(X, [0, 1, 0, 1], categorical_features=[0])
    np.testing.assert_array_equal(checker.data_.X[:, 0], [0, 1, 0, np.nan])
    assert checker.data_.categories == ((3, 7), None)
    assert X[0, 0] == 3  # the user's array stays as it is
    np.testing.assert_array_equal(
        checker.rows(np.array([[7, 0], [5, 0], [np.nan, 0], [3, 0]]))[:, 0], [1, np.nan, np.nan, 0]
    )
    assert fitted(X / 2, [0, 1, 0, 1], categorical_features=[0]).data_.categories[0] == (1.5, 3.5)
    frame = pd.DataFrame({"a": [3, 7, 3, 9], "b": [1.0, 2, 3, 4]}).astype({"a": "Int64"})
    assert fitted(frame, [0, 1, 0, 1], categorical_features=["a"]).data_.categories == ((3, 7, 9), None)


def test_truth_values_can_be_categories():
    frame = pd.DataFrame({"a": [True, False, True, True], "b": [1.0, 2, 3, 4]})
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.astype({"a": "boolean"})):
        checker = fitted(table, [0, 1, 0, 1], categorical_features=["a"])
        assert checker.data_.categories == ((False, True), None)
        assert checker.rows(table)[:, 0].tolist() == [1, 0, 1, 1]


def test_object_arrays_can_hold_categories():
    X = pd.DataFrame(TABLE).astype(object).to_numpy()
    checker = fitted(X, LABELLED, categorical_features=[1])
    np.testing.assert_array_equal(checker.data_.X[:, 1], CODES)
    np.testing.assert_array_equal(checker.rows(X), checker.data_.X)
    np.testing.assert_array_equal(fitted(X.tolist(), LABELLED, categorical_features=[1]).data_.X, checker.data_.X)


@pytest.mark.parametrize("table", COLOURS.values(), ids=COLOURS)
def test_unseen_labels_are_missing(table):
    checker = fitted(table, LABELLED, categorical_features=["colour"])
    new = pd.DataFrame({"size": [1.0, 2], "colour": ["violet", "green"], "age": [1, 2]})
    np.testing.assert_array_equal(checker.rows(new)[:, 1], [np.nan, 1])


def test_labels_of_rows_without_weight_are_unseen():
    weight = [1.0, 1, 1, 1, 0, 1]  # the only green row
    for table in COLOURS.values():
        data = fitted(table, LABELLED, weight, categorical_features=["colour"]).data_
        assert data.categories[1] == ("blue", "red")
        np.testing.assert_array_equal(data.X[:, 1], [1, 0, np.nan, 1, 0])
    data = fitted(np.arange(12.0).reshape(6, 2), LABELLED, weight, categorical_features=[0]).data_
    assert data.categories[0] == (0, 2, 4, 6, 10)


def test_the_order_of_rows_does_not_change_codes():
    for table in COLOURS.values():
        if isinstance(table, pd.DataFrame):
            mirrored = table.iloc[::-1]
        elif isinstance(table, pl.DataFrame):
            mirrored = table.reverse()
        else:
            mirrored = table.take(list(range(5, -1, -1)))
        data = fitted(mirrored, LABELLED, categorical_features=["colour"]).data_
        np.testing.assert_array_equal(data.X[::-1, 1], CODES)


def test_schema_describes_the_columns():
    schema = fitted(COLOURS["pandas text"], LABELLED, categorical_features=["colour"]).data_.schema
    assert schema.feature_names == ("size", "colour", "age")
    assert schema.categories == (None, LABELS, None)
    assert schema.n_categories.tolist() == [0, 3, 0]
    assert schema.dtype == "float64"


# --- labels ----------------------------------------------------------------------------------------------------------

LABEL_TYPES = {
    "int64": [5, 3, 5, 9],
    "far apart": [10**12, -(10**12), 10**12, 7],
    "negative": [-1, 1, -1, 0],
    "text": ["b", "a", "b", "c"],
    "truth": [True, False, True, True],
    "whole floats": [2.0, 1.0, 2.0, 3.0],
}
LABEL_CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda y: np.array(y, dtype=object),
    "pandas": pd.Series,
    "pandas category": lambda y: pd.Series(pd.Categorical(y)),
    "polars": pl.Series,
    "arrow": pa.chunked_array,
}


@pytest.mark.parametrize("labels", LABEL_TYPES.values(), ids=LABEL_TYPES)
@pytest.mark.parametrize("container", LABEL_CONTAINERS.values(), ids=LABEL_CONTAINERS)
def test_labels_of_any_type_become_codes(labels, container):
    y = container([labels]) if container is pa.chunked_array else container(labels)
    codes, classes = encode_labels(y, "Checker")
    wanted, inverse = np.unique(labels, return_inverse=True)
    assert classes.tolist() == wanted.tolist()
    assert codes.tolist() == inverse.tolist()
    assert codes.dtype == np.int32


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.int64])
def test_integer_classes_keep_their_type(dtype):
    top = np.iinfo(dtype).max
    for labels in ([1, 0, 3], [top, top - 1, top], [top, 0, 1]):
        codes, classes = encode_labels(np.array(labels, dtype=dtype), "Checker")
        assert classes.dtype == dtype
        assert classes[codes].tolist() == labels


def test_a_column_of_labels_is_flattened_with_a_warning():
    for y in (SPECIES[:, None], pd.DataFrame({"y": SPECIES})):
        with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
            assert (encode_labels(y, "Checker")[0] == SPECIES).all()


def test_other_string_types_are_labels():
    y = np.array(["b", "a", "b"])
    assert encode_labels(pd.Series(y, dtype="string"), "Checker")[1].tolist() == ["a", "b"]
    assert encode_labels(y.astype(np.dtypes.StringDType()), "Checker")[1].tolist() == ["a", "b"]


# --- weights ---------------------------------------------------------------------------------------------------------

positive = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=60)


@few
@given(weights=positive, seed=st.integers(0, 1000), power=st.sampled_from([0, 0, -1000, 980]))
def test_sums_of_snapped_weights_do_not_depend_on_their_order(weights, seed, power):
    w = snap_weights(np.ldexp(np.array(weights), power))
    rng = np.random.default_rng(seed)
    for _ in range(5):
        subset = rng.permutation(len(w))[: rng.integers(1, len(w) + 1)]
        forth = back = 0.0
        for i in subset:
            forth += w[i]
        for i in subset[::-1]:
            back += w[i]
        assert forth == back == math.fsum(w[subset]) == w[subset].sum()
    total = math.fsum(w)
    rest = total
    for i in rng.permutation(len(w)):
        rest -= w[i]
    assert rest == 0
    assert (w > 0).all()


@few
@given(weights=positive)
def test_snapping_moves_weights_by_half_a_grid_step_and_the_order_of_rows_does_not_matter(weights):
    given_weights = np.array(weights)
    w = snap_weights(given_weights)
    grid = 2.0 ** (math.floor(math.log2(math.fsum(weights))) - 51)
    assert np.abs(w - given_weights).max() <= grid
    assert (snap_weights(given_weights[::-1])[::-1] == w).all()
    assert (snap_weights(w) == w).all()


@few
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40), st.sampled_from([1.0, 0.125, 1024.0]))
def test_integers_and_dyadic_fractions_stay_as_they_are(weights, unit):
    w = np.array(weights) * unit
    assert (snap_weights(w) == w).all()


def test_the_total_of_a_power_of_two_does_not_depend_on_the_order():
    w = np.array([1 - 2.0**-53, *[2.0**-60] * 400, 2.0**-54])
    assert (snap_weights(w) == snap_weights(w[::-1])[::-1]).all()


def test_weights_do_not_vanish_and_do_not_overflow():
    assert snap_weights(np.array([1e-300, 1.0]))[0] == 2.0**-51
    huge = snap_weights(np.array([1e308, 1.7e308, 1e308]))
    assert np.isfinite(huge.sum())
    assert huge[1] / huge[0] == pytest.approx(1.7)
    assert (snap_weights(np.array([5e-324, 1e-323])) > 0).all()


@pytest.mark.parametrize("container", [list, np.array, pd.Series, pl.Series, lambda w: np.array(w, dtype=object)])
def test_weights_come_in_any_container(container):
    assert check_sample_weight(container([0.5, 2.0, 1.0]), 3).tolist() == [0.5, 2, 1]


def test_a_number_weighs_every_row():
    assert check_sample_weight(2, 3).tolist() == [2, 2, 2]
    assert fitted(IRIS, sample_weight=1.0).data_.weight is None


def test_weights_of_the_caller_stay_as_they_are():
    w = np.full(150, 0.1)
    w[:3] = 0
    before = w.copy()
    fitted(IRIS, SPECIES, w)
    assert (w == before).all()


def test_rows_without_weight_are_left_out_but_their_classes_are_known():
    w = (SPECIES != 1).astype(float) * 2
    data = fitted(IRIS, SPECIES, w).data_
    assert data.classes.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(data.X, IRIS[w > 0])
    assert set(data.y) == {0, 2}
    assert data.weight.tolist() == [2.0] * 100
    ones = fitted(IRIS, SPECIES, w / 2).data_
    assert ones.weight is None


@pytest.mark.parametrize("class_weight", ["balanced", {0: 2.0, 1: 0.5, 2: 1.0}, {1: 3.0}])
def test_class_weights_are_those_of_scikit_learn(class_weight):
    y = np.repeat([0, 1, 2], [10, 30, 60])
    ours = apply_class_weight(class_weight, y.astype(np.int32), np.arange(3), None)
    np.testing.assert_allclose(ours, compute_sample_weight(class_weight, y))
    w = np.linspace(1, 2, 100)
    np.testing.assert_allclose(
        apply_class_weight({1: 3.0}, y.astype(np.int32), np.arange(3), w), w * np.where(y == 1, 3, 1)
    )


def test_balanced_classes_count_weights_as_repetitions():
    y = np.repeat([0, 1], [2, 3]).astype(np.int32)
    w = np.array([3.0, 1, 2, 1, 0])
    repeated = np.repeat(np.arange(5), w.astype(int))
    ours = apply_class_weight("balanced", y, np.arange(2), w)
    wanted = apply_class_weight("balanced", y[repeated], np.arange(2), None)
    np.testing.assert_allclose(ours, np.bincount(repeated, wanted, 5))


def test_class_weight_zero_leaves_a_class_out():
    data = fitted(IRIS, class_weight={0: 0.0}).data_
    assert data.classes.tolist() == [0, 1, 2]
    assert set(data.y) == {1, 2}
    assert data.weight is None
    names = np.array(["x", "y", "z"])[SPECIES]
    assert len(fitted(IRIS, names, class_weight={"x": 0, "y": 0}).data_.y) == 50


# --- refusals --------------------------------------------------------------------------------------------------------


def test_a_refused_fit_changes_nothing():
    checker = fitted(pd.DataFrame(IRIS, columns=NAMES))
    before = dict(checker.__dict__)
    for X, y, w in (
        (IRIS[:, :2], SPECIES[:-1], None),
        (IRIS[:, :2], SPECIES, -np.ones(150)),
        (np.where(IRIS > 5, np.inf, IRIS), SPECIES, None),
        (IRIS[:, :2], SPECIES + 0.5, None),
    ):
        with pytest.raises(ValueError):
            checker.fit(X, y, w)
        assert checker.__dict__ == before
    fresh = Checker()
    with pytest.raises(ValueError):
        fresh.fit(IRIS, SPECIES, np.zeros(150))
    assert not [name for name in vars(fresh) if name.endswith("_")]
