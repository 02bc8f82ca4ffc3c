"""Categories: the same columns, levels and trees from every kind of table, in memory, in batches and with Dask."""

import datetime
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from boscage import Axis, IncompatibleParts, LOMTreeClassifier, OptimalTreeClassifier, TopDownTreeClassifier, load

pl = pytest.importorskip("polars")

few = settings(derandomize=True, deadline=None, max_examples=60)


def saved(tree, folder):
    tree.save(folder / "tree.boscage")
    return (folder / "tree.boscage").read_bytes()


def parts(tree):
    """Everything a tree is made of, as bytes."""
    found = tree.tree_
    arrays = [found.feature, found.threshold, found.value, found.category_bits, found.missing_go_to_left]
    return found.schema.categories, found.schema.feature_names, [np.asarray(array).tobytes() for array in arrays]


# --- what is a category ----------------------------------------------------------------------------------------------

WORDS = ["b", "a", None, "b", "c", "a"]
Y = [0, 1, 0, 0, 1, 1]
TEXT = {
    "pandas object": pd.DataFrame({"c": pd.Series(WORDS, dtype=object)}),
    "pandas str": pd.DataFrame({"c": pd.Series(WORDS, dtype="str")}),
    "pandas string": pd.DataFrame({"c": pd.Series(WORDS, dtype="string")}),
    "pandas string[pyarrow]": pd.DataFrame({"c": pd.Series(WORDS, dtype="string[pyarrow]")}),
    "pandas arrow": pd.DataFrame({"c": pd.Series(WORDS, dtype=pd.ArrowDtype(pa.string()))}),
    "pandas category": pd.DataFrame({"c": pd.Categorical(WORDS)}),
    "pandas category in another order": pd.DataFrame({"c": pd.Categorical(WORDS, ["c", "z", "b", "a"], ordered=True)}),
    "pandas arrow dictionary": pd.DataFrame(
        {"c": pd.Series(WORDS, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))}
    ),
    "polars String": pl.DataFrame({"c": WORDS}),
    "polars Categorical": pl.DataFrame({"c": WORDS}, schema={"c": pl.Categorical}),
    "polars Enum": pl.DataFrame({"c": WORDS}, schema={"c": pl.Enum(["z", "c", "b", "a"])}),
    "arrow string": pa.table({"c": WORDS}),
    "arrow large_string": pa.table({"c": pa.array(WORDS, pa.large_string())}),
    "arrow string_view": pa.table({"c": pa.array(WORDS, pa.string_view())}),
    "arrow dictionary": pa.table({"c": pa.array(WORDS).dictionary_encode()}),
    "arrow dictionary with a null value": pa.table(
        {"c": pa.DictionaryArray.from_arrays([2, 0, 1, 2, 3, 0], ["a", None, "b", "c"])}
    ),
    "arrow chunks": pa.table({"c": pa.chunked_array([pa.array(WORDS[:2]), pa.array(WORDS[2:])])}),
    "arrow record batch": pa.record_batch({"c": pa.array(WORDS)}),
}
every_text = pytest.mark.parametrize("table", TEXT.values(), ids=TEXT)


@every_text
def test_text_and_categories_are_taken_by_their_type(table, tmp_path):
    tree = TopDownTreeClassifier().fit(table, Y)
    assert tree.tree_.schema.categories == (("a", "b", "c"),)
    reference = TopDownTreeClassifier().fit(TEXT["pandas object"], Y)
    assert saved(tree, tmp_path) == saved(reference, tmp_path)
    assert tree.predict(table).tolist() == Y
    for other in TEXT.values():
        assert tree.predict(other).tolist() == Y
    with pytest.raises(ValueError, match=r"not numeric: 'c' .*Name them in categorical_features \('from_dtype' takes"):
        TopDownTreeClassifier(categorical_features=None).fit(table, Y)


BOOLS = [True, False, None, True, False, False]
BOOL_TABLES = {
    "pandas boolean": pd.DataFrame({"b": pd.array(BOOLS, dtype="boolean")}),
    "pandas object": pd.DataFrame({"b": pd.Series(BOOLS, dtype=object)}),
    "pandas arrow": pd.DataFrame({"b": pd.Series(BOOLS, dtype="bool[pyarrow]")}),
    "polars": pl.DataFrame({"b": BOOLS}),
    "arrow": pa.table({"b": BOOLS}),
    "objects": np.array([BOOLS], dtype=object).T,
}


@pytest.mark.parametrize("table", BOOL_TABLES.values(), ids=BOOL_TABLES)
def test_truth_values_are_categories_in_axis_trees_and_numbers_elsewhere(table):
    tree = TopDownTreeClassifier(max_depth=1).fit(table, Y)
    assert tree.tree_.schema.categories == ((False, True),)
    assert " in {False}" in tree.export_text()
    assert tree.predict(table).tolist() == [0, 1, 0, 0, 1, 1]
    numbers = [[1.0], [0.0], [np.nan], [1.0], [0.0], [0.0]]
    for splits in ("wodt", "oc1", "cart_lc", "co2", "hhcart"):
        linear = TopDownTreeClassifier(splits, random_state=0).fit(table, Y)
        same_type = np.array(numbers, dtype=linear.tree_.schema.dtype)
        reference = TopDownTreeClassifier(splits, random_state=0).fit(same_type, Y)
        assert linear.tree_.schema.categories is None
        assert linear.tree_.threshold.tobytes() == reference.tree_.threshold.tobytes()
    assert TopDownTreeClassifier(categorical_features=None).fit(table, Y).tree_.schema.categories is None


NUMBERS_ONLY = [
    TopDownTreeClassifier("stochastic", max_leaf_nodes=3),
    OptimalTreeClassifier(max_depth=1),
    LOMTreeClassifier(random_state=0),
]


@pytest.mark.parametrize("model", NUMBERS_ONLY, ids=lambda model: type(model).__name__)
def test_estimators_without_categories_take_truth_values_and_say_what_to_do_with_text(model):
    model = clone(model)
    flags = pd.DataFrame({"b": [True, False, True, True, False, False], "n": range(6)})
    assert model.fit(flags, Y).predict(flags).tolist() == model.fit(flags.astype(float), Y).predict(flags).tolist()
    for table in TEXT.values():
        with pytest.raises(
            ValueError, match=r"not numeric: 'c' .*accepts only numbers: encode them, for .*OneHotEncoder"
        ):
            model.fit(table, Y)
    with pytest.raises(ValueError) as caught:
        model.fit(TEXT["pandas str"], Y)
    assert "categorical_features" not in str(caught.value)


def test_named_categories_do_not_go_with_families_of_numbers():
    with pytest.raises(IncompatibleParts, match=r"features=\[0\] cannot be combined with splits=Stochastic"):
        TopDownTreeClassifier("stochastic", categorical_features=[0]).fit(np.eye(2), [0, 1])


day = datetime.date(2024, 1, 1)
REFUSED = {
    "date": pa.table({"w": [day, day]}),
    "timestamp": pa.table({"w": pa.array([0, 1], pa.timestamp("ms"))}),
    "pandas datetime": pd.DataFrame({"w": pd.to_datetime([day, day])}),
    "pandas timedelta": pd.DataFrame({"w": pd.to_timedelta([1, 2], unit="D")}),
    "pandas period": pd.DataFrame({"w": pd.period_range("2024", periods=2, freq="M")}),
    "pandas dates as objects": pd.DataFrame({"w": pd.Series([day, day], dtype=object)}),
    "pandas lists": pd.DataFrame({"w": [[1], [2]]}),
    "pandas dicts": pd.DataFrame({"w": [{}, {}]}),
    "pandas complex": pd.DataFrame({"w": [1j, 2j]}),
    "polars date": pl.DataFrame({"w": [day, day]}),
    "polars duration": pl.DataFrame({"w": [datetime.timedelta(1)] * 2}),
    "polars list": pl.DataFrame({"w": [[1], [2]]}),
    "polars struct": pl.DataFrame({"w": [{"a": 1}, {"a": 2}]}),
    "arrow list": pa.table({"w": [[1], [2]]}),
    "arrow struct": pa.table({"w": [{"a": 1}, {"a": 2}]}),
    "arrow binary": pa.table({"w": [b"x", b"y"]}),
}


@pytest.mark.parametrize("table", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("features", ["from_dtype", None, ["w"]], ids=str)
def test_other_types_are_refused_by_name_type_and_remedy(table, features):
    with pytest.raises(ValueError, match=r"not numeric: 'w' \(.+\)\. Turn them into numbers, for example a date into"):
        TopDownTreeClassifier(categorical_features=features).fit(table, [0, 1])


def test_decimals_are_numbers_and_null_columns_are_missing(tmp_path):
    values = [Decimal("1.5"), None, Decimal("2.25"), Decimal("1.75"), Decimal(3), Decimal(4)]
    floats = [np.nan if value is None else float(value) for value in values]
    reference = TopDownTreeClassifier().fit(pd.DataFrame({"d": floats, "n": [np.nan] * 6}), Y)
    tables = [
        pa.table({"d": pa.array(values, pa.decimal128(5, 2)), "n": pa.nulls(6)}),
        pl.DataFrame({"d": values, "n": [None] * 6}),
        pd.DataFrame({"d": pd.Series(values, dtype=object), "n": pd.Series([None] * 6, dtype=object)}),
        pd.DataFrame({"d": pd.Series(values, dtype=pd.ArrowDtype(pa.decimal128(5, 2))), "n": [None] * 6}),
    ]
    for table in tables:
        tree = TopDownTreeClassifier().fit(table, Y)
        assert saved(tree, tmp_path) == saved(reference, tmp_path)
        assert tree.predict(table).tolist() == reference.predict(table).tolist()


def test_a_text_column_without_values_is_missing(tmp_path):
    table = pd.DataFrame({"a": range(6), "c": pd.Series([None] * 6, dtype="str")})
    tree = TopDownTreeClassifier().fit(table, Y)
    assert tree.tree_.schema.categories == (None, ())
    tree.save(tmp_path / "m")
    new = table.assign(c="new")
    assert load(tmp_path / "m").predict(new).tolist() == tree.predict(table).tolist()
    numeric = TopDownTreeClassifier().fit(pd.DataFrame({"a": range(6), "c": [1.0, 2, 3, 4, 5, np.nan]}), Y)
    for missing in (table, table.astype({"c": object}), pl.from_pandas(table), pa.Table.from_pandas(table)):
        assert len(numeric.predict(missing)) == 6  # None among numbers comes as text or objects


# --- too many levels -------------------------------------------------------------------------------------------------


def with_levels(n_levels, n_rows):
    words = [f"word {i % n_levels}" for i in range(n_rows)]
    return pd.DataFrame({"a": range(n_rows), "name": words}), np.arange(n_rows) % 2


@pytest.mark.parametrize(("n_levels", "n_rows", "is_fine"), [(20, 20, 1), (21, 40, 0), (21, 42, 1), (255, 510, 1),
                                                          (256, 5120, 0)])  # fmt: skip
def test_names_and_free_text_ask_for_a_decision(n_levels, n_rows, is_fine):
    table, y = with_levels(n_levels, n_rows)
    tree, batches = TopDownTreeClassifier(max_depth=1), TopDownTreeClassifier(Axis(max_bins=9), max_depth=1)
    pieces = [(table[i : i + 100], y[i : i + 100]) for i in range(0, n_rows, 100)]
    if is_fine:
        assert len(tree.fit(table, y).tree_.schema.categories[1]) == n_levels
        assert len(batches.fit_batches(pieces).tree_.schema.categories[1]) == n_levels
        return
    for call in (lambda: tree.fit(table, y), lambda: batches.fit_batches(pieces)):
        with pytest.raises(
            ValueError, match=r"different text values in column 'name', such as 'word 0'.*--drop.*categorical_"
        ):
            call()
    for declared in (table.astype({"name": "category"}), pl.from_pandas(table).cast({"name": pl.Categorical})):
        assert len(tree.fit(declared, y).tree_.schema.categories[1]) == n_levels
    named = TopDownTreeClassifier(categorical_features=["name"]).fit(table, y)
    assert len(named.tree_.schema.categories[1]) == n_levels


def test_rows_without_weight_do_not_count_as_levels():
    table, y = with_levels(300, 600)
    weight = (np.arange(600) % 300 < 10).astype(float)
    tree = TopDownTreeClassifier(Axis(max_bins=9)).fit(table, y, weight)
    assert len(tree.tree_.schema.categories[1]) == 10
    batches = [(table[i : i + 100], y[i : i + 100], weight[i : i + 100]) for i in range(0, 600, 100)]
    assert parts(TopDownTreeClassifier(Axis(max_bins=9)).fit_batches(batches)) == parts(tree)


# --- arrays ----------------------------------------------------------------------------------------------------------


def test_columns_of_object_arrays_are_what_their_objects_are():
    rows = [[1, "x", True], [2.5, "y", None], [None, None, False], [4, "x", True]]
    for X in (rows, np.array(rows, dtype=object)):
        tree = TopDownTreeClassifier().fit(X, [0, 1, 1, 0])
        assert tree.tree_.schema.categories == (None, ("x", "y"), (False, True))
        assert tree.predict(X).tolist() == [0, 1, 1, 0]
    with pytest.raises(ValueError, match="X mixes text and numbers in column 0"):
        TopDownTreeClassifier().fit([["a", 1], [2, 3]], [0, 1])
    with pytest.raises(ValueError, match=r"not numeric: 0 \(text\).*Name them"):
        TopDownTreeClassifier(categorical_features=None).fit([["a", 1], ["b", 3]], [0, 1])


def test_an_array_of_text_must_not_hold_numbers_that_became_text():
    assert TopDownTreeClassifier().fit(np.array([["a", "x"], ["b", "y"]]), [0, 1]).tree_.schema.categories is not None
    with pytest.raises(ValueError, match=r"array of text, and column 0 holds numbers as text, such as '1'"):
        TopDownTreeClassifier().fit(np.array([[1, "x"], [2, "y"]]), [0, 1])


@pytest.mark.parametrize("fitted", [np.float32, np.float64])
@pytest.mark.parametrize("predicted", [np.float32, np.float64])
def test_numbers_as_categories_are_compared_in_the_narrower_type(fitted, predicted):
    X = np.array([[0.1], [0.2], [0.3]])
    tree = TopDownTreeClassifier(categorical_features=[0]).fit(X.astype(fitted), [0, 1, 0])
    assert tree.predict(X.astype(predicted)).tolist() == [0, 1, 0]


def test_masked_labels_and_weights_are_refused():
    X = [[0.0], [1.0], [2.0]]
    masked = np.ma.array([0, 1, 0], mask=[0, 1, 0])
    for model in (TopDownTreeClassifier(), LOMTreeClassifier(), OptimalTreeClassifier()):
        with pytest.raises(TypeError, match="y is a masked array with masked labels"):
            model.fit(X, masked)
        with pytest.raises(TypeError, match="sample_weight is a masked array with masked entries"):
            model.fit(X, [0, 1, 0], masked + 1)
    batches = TopDownTreeClassifier(Axis(max_bins=9))
    with pytest.raises(TypeError, match="y is a masked array"):
        batches.fit_batches([(np.array(X), masked)])
    with pytest.raises(TypeError, match="sample_weight is a masked array"):
        batches.fit_batches([(np.array(X), [0, 1, 0], masked + 1)])
    whole = np.ma.array([0, 1, 0])
    assert TopDownTreeClassifier().fit(X, whole, whole + 1).predict(X).tolist() == [0, 1, 0]


def test_half_a_surrogate_pair_is_not_text():
    with pytest.raises(ValueError, match=r"categorical column 'c' the text '\\ud800', which is not valid Unicode"):
        TopDownTreeClassifier().fit(pd.DataFrame({"c": pd.Series(["\ud800", "b"], dtype=object)}), [0, 1])
    with pytest.raises(ValueError, match=r"column name '\\ud800', which is not valid Unicode"):
        TopDownTreeClassifier().fit(pd.DataFrame([[0], [1]], columns=pd.Index(["\ud800"], dtype=object)), [0, 1])


# --- sparse rows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits", ["wodt", "oc1", "hhcart", "stochastic"])
def test_flags_of_sparse_matrices_are_not_trusted(splits, rng):
    X = sparse.random_array((60, 5), density=0.6, rng=rng, format="csr")
    y = (X[:, [0]].toarray().ravel() > X[:, [1]].toarray().ravel()).astype(int)
    reversed_rows = X.copy()
    for a, b in pairwise(X.indptr):
        reversed_rows.indices[a:b] = X.indices[a:b][::-1]
        reversed_rows.data[a:b] = X.data[a:b][::-1]
    reversed_rows.has_canonical_format = reversed_rows.has_sorted_indices = True
    before = reversed_rows.indices.copy(), reversed_rows.data.copy()
    tree = TopDownTreeClassifier(splits, random_state=0, max_leaf_nodes=8).fit(X, y)
    again = TopDownTreeClassifier(splits, random_state=0, max_leaf_nodes=8).fit(reversed_rows, y)
    np.testing.assert_array_equal(tree.tree_.threshold, again.tree_.threshold)
    np.testing.assert_array_equal(tree.predict_proba(reversed_rows), tree.predict_proba(X))
    assert (reversed_rows.indices == before[0]).all()  # the caller's matrix stays as it is
    assert (reversed_rows.data == before[1]).all()


def test_repeated_entries_are_added_up():
    double = sparse.csr_array((np.array([1.0, 2, 3]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    double.has_canonical_format = True
    tree = TopDownTreeClassifier("wodt", random_state=0).fit(sparse.csr_array([[3.0, 0], [0, 3]]), [0, 1])
    assert tree.predict(double).tolist() == [0, 1]


def broken(name):
    X = sparse.csr_array(np.eye(4))
    if name == "indptr falls":
        X.indptr[:] = [0, 3, 2, 3, 4]
    elif name == "indptr too long":
        X.indptr[-1] = 99
    elif name == "indptr does not begin with 0":
        X.indptr[0] = -5
    elif name == "index too large":
        X.indices[1] = 4
    elif name == "negative index":
        X.indices[1] = -1
    elif name == "csc":
        X = X.tocsc()
        X.indices[2] = 1000
    elif name == "coo":
        X = X.tocoo()
        X.coords[0][0] = 1000
    return X


@pytest.mark.parametrize(
    "name",
    [
        "indptr falls",
        "indptr too long",
        "indptr does not begin with 0",
        "index too large",
        "negative index",
        "csc",
        "coo",
    ],
)
def test_broken_sparse_matrices_are_refused(name):
    for model in (TopDownTreeClassifier("wodt"), TopDownTreeClassifier("stochastic"), LOMTreeClassifier()):
        with pytest.raises(ValueError, match=r"X is a sparse matrix .*Build the matrix again"):
            model.fit(broken(name), [0, 1, 0, 1])
    model = TopDownTreeClassifier("wodt").fit(sparse.csr_array(np.eye(4)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="Build the matrix again"):
        model.predict(broken(name))


# --- every container gives the same tree -----------------------------------------------------------------------------

words = st.sampled_from(["a", "b", "B", "ä", "z z", "<&>", "10"]) | st.none()
rows = st.tuples(
    st.floats(-3, 3).map(lambda x: round(x, 1)),
    words,
    st.integers(0, 4),
    st.booleans(),
    words,
)


def containers(table):
    """The same rows as all kinds of tables and arrays."""
    columns = {name: list(column) for name, column in zip("fgibh", zip(*table))}
    arrow = pa.table({n: pa.array(c, {"g": pa.string(), "h": pa.string()}.get(n)) for n, c in columns.items()})
    objects = pd.DataFrame({n: pd.Series(c, dtype=object if n in "gh" else None) for n, c in columns.items()})
    yield "pandas object", objects
    yield "pandas str", objects.astype({"g": "str", "h": "str"})
    yield "pandas string", objects.astype({"g": "string", "h": "string", "b": "boolean", "i": "Int64"})
    yield "pandas category", objects.astype({"g": "category", "h": "category"})
    polars = pl.from_arrow(arrow)
    yield "polars", polars
    yield "polars category", polars.with_columns(pl.col("g", "h").cast(pl.Categorical))
    yield "arrow", arrow
    yield "arrow dictionary", pa.table({n: c.dictionary_encode() if n in "gh" else c for n, c in zip("fgibh", arrow)})
    array = np.empty((len(table), 5), dtype=object)
    array[:] = table
    yield "objects", array


@few
@given(table=st.lists(rows, min_size=4, max_size=24), data=st.data())
@pytest.mark.parametrize("splits", ["axis", "wodt"])
def test_every_container_gives_the_same_tree_and_predictions(splits, table, data):
    if all(row[1] is None for row in table) or all(row[4] is None for row in table):
        return  # a column of None has no type
    y = data.draw(st.lists(st.integers(0, 2), min_size=len(table), max_size=len(table)))
    new = data.draw(st.lists(rows, min_size=1, max_size=5))
    found = {}
    for (name, X), (_, other) in zip(containers(table), containers(new)):
        tree = TopDownTreeClassifier(splits, max_depth=3, random_state=0).fit(X, y)
        categories, _, arrays = parts(tree)
        found[name] = categories, arrays, tree.predict_proba(other).tobytes(), tree.predict_proba(X).tobytes()
    reference = found.pop("pandas object")
    for name, result in found.items():
        assert result == reference, name


def test_columns_in_another_order_are_refused_and_wrong_types_are_named():
    table = pd.DataFrame({"a": range(6), "c": ["x", "y"] * 3})
    tree = TopDownTreeClassifier().fit(table, Y)
    with pytest.raises(ValueError, match="same order"):
        tree.predict(table[["c", "a"]])
    with pytest.raises(ValueError, match=r"not numeric: 'a' \(str\)\. They held numbers in fit"):
        tree.predict(table.assign(a="word"))
    with pytest.raises(ValueError, match=r"holds numbers in the categorical column 'c', which was fitted with text"):
        tree.predict(table.assign(c=1.5))
    with pytest.raises(ValueError, match=r"not numeric: 'c' \(datetime"):
        tree.predict(table.assign(c=pd.Timestamp(0)))
    assert len(tree.predict(table.assign(c="unseen"))) == 6


# --- batches and Dask ------------------------------------------------------------------------------------------------


def mixed(n, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue", "violet", None], n, p=[0.3, 0.3, 0.2, 0.1, 0.1])
    table = pd.DataFrame(
        {
            "x": rng.normal(size=n).astype(dtype),
            "colour": pd.Series(colour, dtype=object),
            "flag": rng.random(n) < 0.4,
            "k": rng.integers(0, 30, n).astype(np.int16),
        }
    )
    score = table["x"] + 2 * np.isin(colour, ["red", "violet"]) - table["flag"] * (table["k"] % 3)
    weight = rng.exponential(size=n)
    weight[rng.random(n) < 0.1] = 0
    return table, np.digitize(score, [0, 1.5]), weight


def cut(table, y, weight, edges):
    pieces = [slice(a, b) for a, b in pairwise([0, *edges, len(y)])]
    if weight is None:
        return [(table[p], y[p]) for p in pieces]
    return [(table[p], y[p], weight[p]) for p in pieces]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "sqrt"])
def test_batches_of_categories_give_the_same_bytes(dtype, weighted, criterion, tmp_path):
    table, y, weight = mixed(5000, dtype=dtype)
    y = y if criterion != "sqrt" else (y > 0).astype(int)
    weight = weight if weighted else None
    model = TopDownTreeClassifier(Axis(max_bins=32), criterion, max_leaf_nodes=25, min_samples_leaf=5)
    expected = saved(model.fit(table, y, weight), tmp_path)
    assert model.tree_.schema.categories == (None, ("blue", "green", "red", "violet"), (False, True), None)
    assert (model.tree_.category_offset >= 0).any()
    for edges in ([], [1, 2, 2000], [700, 4999]):
        assert saved(model.fit_batches(cut(table, y, weight, edges)), tmp_path) == expected


def test_files_of_categories_give_the_same_bytes(tmp_path):
    table, y, weight = mixed(4000)
    expected = saved(TopDownTreeClassifier(Axis(max_bins=32), max_depth=5).fit(table, y, weight), tmp_path)
    whole = table.assign(y=y, w=weight)
    for name, data in {
        "plain": whole,
        "dictionary": whole.astype({"colour": "category"}),
    }.items():
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.Table.from_pandas(data, preserve_index=False), path, row_group_size=999)
        model = TopDownTreeClassifier(Axis(max_bins=32), max_depth=5, n_jobs=2)
        assert saved(model.fit_batches(path, "y", weight="w"), tmp_path) == expected
        assert model.predict_batches(path, tmp_path / "p.parquet") == 4000
        assert pq.read_table(tmp_path / "p.parquet")["prediction"].to_pylist() == model.predict(table).tolist()
    for batches in ([whole[:1000], whole[1000:]], [pl.from_pandas(whole)], [pa.Table.from_pandas(whole[:1])]):
        fitted = TopDownTreeClassifier(Axis(max_bins=32), max_depth=5).fit_batches(batches, "y", weight="w")
        assert len(batches[0]) == 1 or saved(fitted, tmp_path) == expected


def test_named_columns_in_batches(tmp_path):
    table, y, _ = mixed(3000)
    named = {"categorical_features": ["colour", "k"], "max_depth": 4}
    model = TopDownTreeClassifier(Axis(max_bins=32), **named)
    expected = saved(model.fit(table, y), tmp_path)
    assert model.tree_.schema.categories[3] == tuple(range(30))
    assert saved(model.fit_batches(cut(table, y, None, [10, 2000])), tmp_path) == expected


def test_columns_of_a_source(tmp_path):
    table, y, weight = mixed(2000)
    whole = table.assign(y=y, w=weight, when=pd.Timestamp(0))
    pq.write_table(pa.Table.from_pandas(whole), tmp_path / "t.parquet")
    chosen = ["colour", "x"]
    expected = saved(TopDownTreeClassifier(Axis(max_bins=9)).fit(table[chosen], y, weight), tmp_path)
    for source in (tmp_path / "t.parquet", [whole], [pa.Table.from_pandas(whole)], [pl.from_pandas(whole)]):
        model = TopDownTreeClassifier(Axis(max_bins=9))
        assert saved(model.fit_batches(source, "y", weight="w", columns=chosen), tmp_path) == expected
        model.predict_batches(source, tmp_path / "p.parquet", columns=chosen)
    model.fit_batches([(whole, y, weight)], columns=chosen)
    with pytest.raises(
        ValueError, match=r"columns holds 'z', which is not a column of the source\. Its columns are 'x'"
    ):
        model.fit_batches(tmp_path / "t.parquet", "y", columns=["z"])
    with pytest.raises(ValueError, match="columns holds 'z'"):
        model.fit_batches([whole], "y", columns=["z"])
    with pytest.raises(TypeError, match="columns='x' is not allowed"):
        model.fit_batches([whole], "y", columns="x")
    with pytest.raises(ValueError, match="a batch holds an array"):
        model.fit_batches([(np.eye(3), [0, 1, 0])], columns=["x"])


def test_batches_that_differ_in_a_column():
    model = TopDownTreeClassifier(Axis(max_bins=9))
    text, numbers = pd.DataFrame({"c": ["a", "b"]}), pd.DataFrame({"c": [1.0, 2.0]})
    nothing = pd.DataFrame({"c": pd.Series([None, None], dtype=object)})
    for batches in ([(text, [0, 1]), (numbers, [0, 1])], [(numbers, [0, 1]), (text, [0, 1])]):
        with pytest.raises(
            ValueError, match="batches differ: column 'c' holds categories in one and numbers in another"
        ):
            model.fit_batches(batches)
    for batches in ([(text, [0, 1]), (nothing, [0, 1])], [(nothing, [0, 1]), (text, [0, 1])]):
        assert model.fit_batches(batches).tree_.schema.categories == (("a", "b"),)


@pytest.mark.parametrize("splits", ["stochastic", "wodt"])
def test_families_that_take_numbers_only_in_batches_say_so(splits):
    from boscage import WeightedOblique

    model = TopDownTreeClassifier(WeightedOblique(max_bins=9) if splits == "wodt" else splits, max_leaf_nodes=3)
    table, y, _ = mixed(200)
    with pytest.raises(
        ValueError, match=r"'colour' \(object\).*accepts only numbers in fit_batches: .*Axis\(max_bins=255"
    ):
        model.fit_batches([(table, y)])
    with pytest.raises(IncompatibleParts, match=r"categorical_features=\['flag'\] cannot be combined with"):
        model.set_params(categorical_features=["flag"]).fit_batches([(table, y)])
    model.set_params(categorical_features="from_dtype")
    flags = table[["x", "flag"]]
    assert parts(model.set_params(random_state=0).fit_batches([(flags, y)])) == parts(model.fit(flags, y))


def test_dask_gives_the_same_bytes(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    from distributed import Client

    from boscage.dask import TopDownTreeClassifier as OnCluster

    table, y, _ = mixed(3000)
    whole = table.assign(y=y)
    settings = {"max_depth": 4}
    expected = TopDownTreeClassifier(Axis(max_bins=16), **settings).fit(table, y)
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        rows = dd.from_pandas(whole, npartitions=3)
        model = OnCluster(Axis(max_bins=16), client=client, **settings).fit(rows[list(table.columns)], rows["y"])
        assert parts(model) == parts(expected)
        assert model.predict(rows[list(table.columns)]).compute().tolist() == expected.predict(table).tolist()


def test_two_columns_of_one_name_are_refused_with_the_name():
    table = pd.DataFrame([["a", 1.0], ["b", 2.0]], columns=["size", "size"])
    with pytest.raises(ValueError, match=r"more than one column named 'size'\. Rename or drop"):
        TopDownTreeClassifier().fit(table, [0, 1])
