"""Table files: CSV, Parquet and npz become the same columns; whatever cannot be used is refused in one line."""

import builtins
import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boscage import _csv
from boscage._tables import prediction_rows, read_table, training_data
from boscage.datasets import DataFileError, load_dataset

nan = np.nan


@pytest.fixture
def table(tmp_path):
    def write(content, name="t.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return write


def numbers(table, name):
    column = table.columns[name]
    assert column.levels is None
    return column.values.tolist()


def words(table, name):
    column = table.columns[name]
    return [None if np.isnan(code) else column.levels[int(code)] for code in column.values]


# ---- CSV ----


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_and_line_ends(table, delimiter, newline):
    lines = ["a,b,colour", "1,2.5,red", "-3e2,0.1,blue", ""]
    read = table(newline.join(lines).replace(",", delimiter))
    assert list(read.columns) == ["a", "b", "colour"]
    assert numbers(read, "a") == [1, -300]
    assert numbers(read, "b") == [2.5, 0.1]
    assert read.columns["colour"].levels == ("blue", "red")
    assert words(read, "colour") == ["red", "blue"]


def test_quotes_spaces_blank_lines_and_byte_order_mark(table):
    read = table('\ufeff"a;b", c ,"say ""x"""\n\n1, 2 ,"p,\nq"\n3,4, r \n')
    assert list(read.columns) == ["a;b", "c", 'say "x"']
    assert numbers(read, "c") == [2, 4]
    assert words(read, 'say "x"') == ["p,\nq", "r"]


@pytest.mark.parametrize("cell", sorted(_csv.MISSING))
def test_missing_cells_are_nan_in_numbers_and_in_text(table, cell):
    read = table(f"n,t\n{cell},{cell}\n1,word\n")
    np.testing.assert_array_equal(read.columns["n"].values, [nan, 1])
    assert words(read, "t") == [None, "word"]


def test_text_is_kept_as_written_even_if_it_shows_late(table, monkeypatch):
    monkeypatch.setattr(_csv, "_BLOCK_ROWS", 2)
    read = table("code,n\n007,1\n1e3,2\n12,3\nx,4\n")
    assert words(read, "code") == ["007", "1e3", "12", "x"]
    assert numbers(read, "n") == [1, 2, 3, 4]


def test_underscores_are_not_digits(table):
    assert words(table("id\n1_000\n2_000\n"), "id") == ["1_000", "2_000"]


def test_declared_text(table):
    assert words(table("zip,n\n01234,1\n99,2\n", text=["zip"]), "zip") == ["01234", "99"]


def test_a_file_of_numbers_needs_no_header(table):
    read = table("1,2\n3,4\n")
    assert numbers(read, "x0") == [1, 3]
    assert "no header line, columns are called x0 .. x1" in read.notes[0]


def test_gzip(table):
    assert numbers(table(gzip.compress(b"a,b\n1,2\n"), name="t.csv.gz"), "b") == [2]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, the first line 2"),
        ('a,b\n"x\ny",2\n1\n', "line 4 has 1 cell, the first line 2"),
        ("a,a\n1,2\n", "names column 'a' more than once"),
        (b"a,b\n\xff\xfe,1\n", "is not UTF-8 text"),
    ],
)
def test_broken_files(table, content, says):
    with pytest.raises(DataFileError, match=says):
        table(content)


def test_broken_gzip(table):
    with pytest.raises(DataFileError, match="cannot be read as CSV"):
        table(gzip.compress(b"a,b\n" + b"1,2\n" * 100)[:-10], name="t.csv.gz")
    with pytest.raises(DataFileError, match="cannot be read as CSV"):
        table(b"a,b\n", name="t.csv.gz")


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=True, allow_infinity=True),
            st.text(st.characters(codec="utf-8", exclude_characters="\0")),
        ),
        min_size=1,
        max_size=20,
    )
)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_what_is_written_is_read_back(tmp_path_factory, rows):
    import csv

    path = tmp_path_factory.getbasetemp() / "round.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("n", "t"), *((repr(n), f"={t}=") for n, t in rows)])
    read = read_table(path)
    np.testing.assert_array_equal(read.columns["n"].values, [n for n, _ in rows])
    assert words(read, "t") == [f"={t}=" for _, t in rows]


# ---- Parquet ----


def write_parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_types(tmp_path):
    path = write_parquet(
        tmp_path / "t.parquet",
        f=pa.array([1.5, None], pa.float32()),
        i=pa.array([1, None], pa.int64()),
        b=pa.array([True, None]),
        d=pa.array(["1.25", None]).cast(pa.decimal128(5, 2)),
        s=pa.array(["x", None]),
        c=pa.array(["q", "p"]).dictionary_encode(),
        n=pa.nulls(2),
    )
    read = read_table(path)
    for name, first in {"f": 1.5, "i": 1, "b": 1, "d": 1.25, "n": nan}.items():
        np.testing.assert_array_equal(read.columns[name].values, [first, nan])
    assert words(read, "s") == ["x", None]
    assert words(read, "c") == ["q", "p"]
    assert read.columns["f"].values.dtype == np.float32
    assert words(read_table(path, text=["i", "b"]), "i") == ["1", None]


def test_float32_stays_float32(tmp_path):
    path = write_parquet(
        tmp_path / "t.parquet", a=pa.array([1, 2], pa.float32()), b=pa.array([1, 2], pa.int8()), y=[0, 1]
    )
    assert training_data(read_table(path), "y").X.dtype == np.float32


def test_parquet_refusals(tmp_path, monkeypatch):
    path = write_parquet(tmp_path / "t.parquet", when=pa.array([0], pa.timestamp("ms")), a=[1])
    with pytest.raises(DataFileError, match=r"column 'when' has type timestamp\[ms\].*--drop when"):
        read_table(path)
    assert list(read_table(path, drop=["when"]).columns) == ["a"]
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"PAR1 nothing")
    with pytest.raises(DataFileError, match="cannot be read as Parquet"):
        read_table(bad)
    real_import = builtins.__import__

    def without_pyarrow(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(DataFileError, match="needs the package pyarrow"):
        read_table(path)


# ---- npz, names, other files ----


def test_embedded_set_by_name():
    data = training_data(read_table("promoters"), None)
    promoters = load_dataset("promoters")
    np.testing.assert_array_equal(data.X, promoters.X)
    np.testing.assert_array_equal(data.y, np.array(promoters.target_names)[promoters.y])
    assert data.categorical_features == list(range(57))
    assert data.categories[0] == ("a", "c", "g", "t")
    assert data.notes == ()


def test_sparse_npz(tmp_path):
    np.savez(tmp_path / "t.npz", data=[1.0, 2.0], indices=[0, 2], indptr=[0, 1, 2], shape=[2, 3], y=[0, 1])
    read = read_table(tmp_path / "t.npz")
    data = training_data(read, None)
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 0], [0, 0, 2]])
    assert data.y.tolist() == ["0", "1"]
    assert prediction_rows(read, 3, None, None) is read.sparse
    with pytest.raises(DataFileError, match="has 3 columns, the model needs 4"):
        prediction_rows(read, 4, None, None)


def test_files_that_are_not_there_or_not_tables(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such file: .*none\.csv"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_table(tmp_path)
    (tmp_path / "t.xlsx").write_bytes(b"")
    with pytest.raises(DataFileError, match=r"the ending '.xlsx' is not known; use .csv"):
        read_table(tmp_path / "t.xlsx")
    np.savez(tmp_path / "t.npz", X=np.eye(2), y=[0, 1], feature_names=["y", "z"])
    with pytest.raises(DataFileError, match="a feature is named 'y'"):
        read_table(tmp_path / "t.npz")


# ---- training data ----


def test_features_labels_and_weights(table):
    read = table("a,colour,w,y\n1,red,2,yes\n,,0.5,no\n3,blue,1,yes\n")
    data = training_data(read, "y", weight="w")
    np.testing.assert_array_equal(data.X, [[1, 1], [nan, nan], [3, 0]])
    assert data.y.tolist() == ["yes", "no", "yes"]
    assert data.sample_weight.tolist() == [2, 0.5, 1]
    assert data.feature_names == ("a", "colour")
    assert data.categories == (None, ("blue", "red"))
    assert data.X_by_name[[0, 2]].tolist() == [[1, "red"], [3, "blue"]]
    assert data.X_by_name[1, 1] is None
    assert data.notes == ("text columns taken as categories: colour",)
    assert training_data(read, "y", weight="w", categorical=["colour"]).notes == ()


def test_whole_numbers_are_integer_labels(table):
    assert training_data(table("a,y\n1,0.0\n2,3\n"), "y").y.dtype == np.int64


def test_drop(table):
    assert training_data(table("a,name,y\n1,p,0\n2,q,1\n", drop=["name"]), "y").feature_names == ("a",)
    with pytest.raises(DataFileError, match=r"there is no column 'z' to drop; its columns are 'a', 'y'"):
        table("a,y\n1,0\n", drop=["z"])


@pytest.mark.parametrize(
    ("content", "target", "options", "says"),
    [
        ("a,b\n1,2\n", None, {}, "say which column holds the labels with --target; its columns are 'a', 'b'"),
        ("a,b\n1,2\n", "z", {}, "there is no column 'z' of labels; its columns are 'a', 'b'"),
        ("a,y\n1,0\n2,\n3,\n", "y", {}, r"target column 'y' has 2 empty cells \(the first in data row 2\)"),
        ("a,y\n1,0.5\n", "y", {}, "holds fractional numbers"),
        ("a,y\n", "y", {}, "holds no rows"),
        ("y\n1\n", "y", {}, "no column is left to learn from"),
        ("a,y\n1,0\n", "y", {"weight": "w"}, "there is no column 'w' of weights"),
        ("a,y\n1,0\n", "y", {"weight": "y"}, "cannot be both target and weight"),
        ("a,w,y\n1,heavy,0\n", "y", {"weight": "w"}, r"weight column 'w' is not numeric \(it holds 'heavy'\)"),
        ("a,w,y\n1,-1,0\n", "y", {"weight": "w"}, "must hold finite numbers >= 0"),
        ("a,w,y\n1,,0\n", "y", {"weight": "w"}, "none missing"),
        ("a,y\n1,0\n", "y", {"categorical": ["c"]}, "there is no column 'c' of categories"),
        ("a,y\n1,0\n", "y", {"categorical": ["y"]}, "column 'y' is the target, not a column of categories"),
        ("a,y\n1,0\ninf,1\n", "y", {}, "column 'a' holds an infinite number in data row 2"),
        ("a,y\n" + "".join(f"{i},0\n" for i in range(40)) + "oops,1\n", "y", {}, "41 different texts such as 'oops'"),
    ],
)
def test_training_data_refuses(table, content, target, options, says):
    with pytest.raises(DataFileError, match=says):
        training_data(table(content), target, **options)


def test_free_text_asks_for_a_decision(table):
    content = "name,y\n" + "".join(f"person {i},{i % 2}\n" for i in range(40))
    with pytest.raises(
        DataFileError, match=r"column 'name' is not numeric: it holds 40 different.*--drop name or --cat"
    ):
        training_data(table(content), "y")
    assert len(training_data(table(content), "y", categorical=["name"]).categories[0]) == 40


# ---- rows for a model ----


def test_rows_are_matched_by_name_and_levels_by_text(table):
    read = table("extra,colour,a\n9,green,1\n9,blue,2\n9,,3\n9,red,4\n")
    rows = prediction_rows(read, 2, ["a", "colour"], [None, ("blue", "red")])
    assert rows.tolist() == [[1, None], [2, "blue"], [3, None], [4, "red"]]


def test_rows_by_position_without_names(table):
    np.testing.assert_array_equal(prediction_rows(table("p,q\n1,2\n"), 2, None, None), [[1, 2]])
    np.testing.assert_array_equal(prediction_rows(table("p,q,y\n1,2,0\n"), 2, None, None), [[1, 2]])
    with pytest.raises(DataFileError, match=r"has 3 columns, the model needs 2 \(leave columns out with --drop\)"):
        prediction_rows(table("p,q,r\n1,2,3\n"), 2, None, None)


def test_rows_that_do_not_match_the_model(table):
    with pytest.raises(DataFileError, match="misses columns 'b', 'c' of the model"):
        prediction_rows(table("a\n1\n"), 3, ["a", "b", "c"], None)
    with pytest.raises(DataFileError, match=r"column 'a' is not numeric \(it holds 'x'\), the model needs numbers"):
        prediction_rows(table("a\nx\n"), 1, ["a"], None)


def test_levels_that_are_numbers(table, tmp_path):
    read = table("code\n7\n8\n9\n", text=["code"])
    assert prediction_rows(read, 1, ["code"], [(7, 9)]).tolist() == [[7], [None], [9]]
    np.savez(tmp_path / "t.npz", X=[[1.0], [0.0]], y=[0, 1])
    unnamed = read_table(tmp_path / "t.npz")
    assert prediction_rows(unnamed, 1, ["x0"], [(0, 1)]).tolist() == [[1], [0]]
    with pytest.raises(DataFileError, match="column 'x0' holds numbers, the model needs categories such as 'p'"):
        prediction_rows(unnamed, 1, ["x0"], [("p", "q")])
