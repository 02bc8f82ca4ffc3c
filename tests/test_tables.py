"""Table files: CSV, Parquet and npz become the same columns; whatever cannot be used is refused in one line."""

import datetime
import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boscage.datasets import DataFileError, _csv, load_dataset
from boscage.datasets._tables import TrainingData, prediction_rows, read_table, training_data

nan = np.nan


@pytest.fixture
def table(tmp_path):
    def write(content, name="t.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return write


def numbers(table, name):
    column = table.data[name]
    assert pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return column.to_pylist()


def words(table, name):
    column = table.data[name]
    assert pa.types.is_string(column.type) or pa.types.is_dictionary(column.type)
    return column.to_pylist()


# ---- CSV ----


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_and_line_ends(table, delimiter, newline):
    lines = ["a,b,colour", "1,2.5,red", "-3e2,0.1,blue", ""]
    read = table(newline.join(lines).replace(",", delimiter))
    assert read.names == ["a", "b", "colour"]
    assert numbers(read, "a") == [1, -300]
    assert numbers(read, "b") == [2.5, 0.1]
    assert words(read, "colour") == ["red", "blue"]


def test_quotes_spaces_blank_lines_and_byte_order_mark(table):
    read = table('\ufeff"a;b", c ,"say ""x"""\n\n1, 2 ,"p,\nq"\n3,4, r \n')
    assert read.names == ["a;b", "c", 'say "x"']
    assert numbers(read, "c") == [2, 4]
    assert words(read, 'say "x"') == ["p,\nq", "r"]


@pytest.mark.parametrize("cell", sorted(_csv.MISSING))
def test_missing_cells_are_nan_in_numbers_and_in_text(table, cell):
    read = table(f"n,t\n{cell},{cell}\n1,word\n")
    assert numbers(read, "n") == [None, 1]
    assert words(read, "t") == [None, "word"]


def test_text_is_kept_as_written_even_if_it_shows_late(table, monkeypatch):
    monkeypatch.setattr(_csv, "_BLOCK_BYTES", 16)
    read = table("code,n\n007,1\n1e3,2\n12,3\nx,4\n")
    assert words(read, "code") == ["007", "1e3", "12", "x"]
    assert numbers(read, "n") == [1, 2, 3, 4]


def test_numbers_in_unusual_dress_are_numbers(table):
    read = table("a,b\n+5, 1\n 2 , ? \n-3, 4\n")
    assert numbers(read, "a") == [5, 2, -3]
    assert numbers(read, "b") == [1, None, 4]


@pytest.mark.parametrize(("yes", "no"), [("True", "False"), ("true", "false"), ("TRUE", "FALSE")])
def test_truth_values(table, yes, no):
    read = table(f"a,b,c\n{yes},1,{yes}\n{no},0,{no}\n,1,maybe\n")
    assert read.data["a"].to_pylist() == [True, False, None]
    assert numbers(read, "b") == [1, 0, 1]
    assert words(read, "c") == [yes, no, "maybe"]


def test_dates_are_refused_unless_they_are_declared(table):
    content = "when,y\n2024-01-01,0\n2024-01-02,1\n"
    assert table(content).data["when"].to_pylist()[0] == datetime.date(2024, 1, 1)
    assert words(table(content, text=["when"]), "when") == ["2024-01-01", "2024-01-02"]


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
        (b"a,b\n\xff\xfe,1\n", r"is not UTF-8 text \(byte 4\); save it as UTF-8"),
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
    np.testing.assert_array_equal([nan if n is None else n for n in read.data["n"].to_pylist()], [n for n, _ in rows])
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
        b=pa.array([True, False]),
        d=pa.array(["1.25", None]).cast(pa.decimal128(5, 2)),
        s=pa.array(["x", None]),
        c=pa.array(["q", "p"]).dictionary_encode(),
        n=pa.nulls(2),
    )
    read = read_table(path)
    assert words(read, "s") == ["x", None]
    assert words(read, "c") == ["q", "p"]
    assert words(read_table(path, text=["i", "b"]), "i") == ["1", None]
    assert words(read_table(path, text=["i", "b"]), "b") == ["True", "False"]
    X, categorical, _ = TrainingData(read.data, np.zeros(2), None, ()).coded()
    np.testing.assert_array_equal(X, [[1.5, 1, 1, 1.25, 0, 1, nan], [nan, nan, 0, nan, nan, 0, nan]])
    assert categorical == (2, 4, 5)


def test_float32_stays_float32(tmp_path):
    path = write_parquet(
        tmp_path / "t.parquet", a=pa.array([1, 2], pa.float32()), b=pa.array([1, 2], pa.int8()), y=[0, 1]
    )
    assert training_data(read_table(path), "y").coded()[0].dtype == np.float32


def test_parquet_refusals(tmp_path):
    path = write_parquet(tmp_path / "t.parquet", when=pa.array([0], pa.timestamp("ms")), a=[1])
    assert read_table(path, drop=["when"]).names == ["a"]
    with pytest.raises(DataFileError, match=r"target column 'when' has type timestamp\[ms\]"):
        training_data(read_table(path), "when")
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"PAR1 nothing")
    with pytest.raises(DataFileError, match="cannot be read as Parquet"):
        read_table(bad)


# ---- npz, names, other files ----


def test_embedded_set_by_name():
    data = training_data(read_table("promoters"), None)
    promoters = load_dataset("promoters")
    X, categorical, _ = data.coded()
    np.testing.assert_array_equal(X, promoters.X)
    np.testing.assert_array_equal(data.y, np.array(promoters.target_names)[promoters.y])
    assert categorical == tuple(range(57))
    assert sorted(data.X.column(0).chunk(0).dictionary.to_pylist()) == ["a", "c", "g", "t"]
    assert data.notes == ()


def test_sparse_npz(tmp_path):
    np.savez(tmp_path / "t.npz", data=[1.0, 2.0], indices=[0, 2], indptr=[0, 1, 2], shape=[2, 3], y=[0, 1])
    read = read_table(tmp_path / "t.npz")
    data = training_data(read, None)
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 0], [0, 0, 2]])
    assert data.y.tolist() == ["0", "1"]
    assert prediction_rows(read, 3, None) is read.sparse
    with pytest.raises(DataFileError, match="has 3 columns, the model needs 4"):
        prediction_rows(read, 4, None)


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
    np.testing.assert_array_equal(data.coded()[0], [[1, 1], [nan, nan], [3, 0]])
    assert data.y.tolist() == ["yes", "no", "yes"]
    assert data.sample_weight.tolist() == [2, 0.5, 1]
    assert data.feature_names == ("a", "colour")
    assert data.coded()[1] == (1,)
    assert data.notes == ("text columns treated as categories: colour",)
    declared = table("a,colour,w,y\n1,red,2,yes\n,,0.5,no\n3,blue,1,yes\n", text=["colour"])
    assert training_data(declared, "y", weight="w", categorical=["colour"]).notes == ()


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
        ("a,y\n1,0.5\n", "y", {"task": "classification"}, "holds fractional numbers.*--task regression"),
        ("a,y\n1,a\n", "y", {"task": "regression"}, "holds string, not numbers; pass --task classification"),
        ("a,y\n1,0.5\n2,\n", "y", {}, r"'y' has 1 empty cell \(the first in data row 2\); fill or drop"),
        ("a,y\n1,inf\n", "y", {"task": "regression"}, "holds an infinite number"),
        ("a,y\n", "y", {}, "holds no rows"),
        ("y\n1\n", "y", {}, "no column is left to learn from"),
        ("a,y\n1,0\n", "y", {"weight": "w"}, "there is no column 'w' of weights"),
        ("a,y\n1,0\n", "y", {"weight": "y"}, "cannot be both target and weight"),
        ("a,w,y\n1,heavy,0\n", "y", {"weight": "w"}, r"weight column 'w' is not numeric \(it holds 'heavy'\)"),
        ("a,w,y\n1,-1,0\n", "y", {"weight": "w"}, "must hold finite numbers >= 0"),
        ("a,w,y\n1,,0\n", "y", {"weight": "w"}, "none missing"),
        ("a,y\n1,0\n", "y", {"categorical": ["c"]}, "there is no column 'c' of categories"),
        ("a,y\n1,0\n", "y", {"categorical": ["y"]}, "column 'y' is the target, not a column of categories"),
    ],
)
def test_training_data_refuses(table, content, target, options, says):
    with pytest.raises(DataFileError, match=says):
        training_data(table(content), target, **options)


def test_free_text_asks_for_a_decision(table):
    content = "name,y\n" + "".join(f"person {i},{i % 2}\n" for i in range(40))
    with pytest.raises(ValueError, match=r"40 different text values in column 'name', such as 'person 0'.*--drop"):
        training_data(table(content), "y").coded()
    assert training_data(table(content, text=["name"]), "y").coded()[0].max() == 39


# ---- rows for a model ----


def test_rows_are_matched_by_name(table):
    read = table("extra,colour,a\n9,green,1\n9,blue,2\n9,,3\n9,red,4\n")
    rows = prediction_rows(read, 2, ["a", "colour"])
    assert rows.column_names == ["a", "colour"]


def test_rows_by_position_without_names(table):
    np.testing.assert_array_equal(prediction_rows(table("p,q\n1,2\n"), 2, None), [[1, 2]])
    np.testing.assert_array_equal(prediction_rows(table("p,q,y\n1,2,0\n"), 2, None), [[1, 2]])
    with pytest.raises(DataFileError, match=r"has 3 columns, the model needs 2 \(leave columns out with --drop\)"):
        prediction_rows(table("p,q,r\n1,2,3\n"), 2, None)


def test_rows_that_do_not_match_the_model(table):
    with pytest.raises(DataFileError, match="lacks columns 'b', 'c' of the model"):
        prediction_rows(table("a\n1\n"), 3, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("cells", "task", "note"),
    [
        (["0.5", "1", "2"], "regression", "target 'y' is numeric: regression"),
        (["0", "1", "2"], "classification", ""),
        (["1.0", "2.0", "2.0"], "classification", ""),
        (["a", "b"], "classification", ""),
        ([str(i) for i in range(60)], "regression", "target 'y' is numeric: regression"),
        ([str(i % 60) for i in range(600)], "classification", "taken as 60 classes (for regression pass"),
    ],
)
def test_the_task_is_recognised_and_said(table, cells, task, note):
    content = "a,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))
    rows = training_data(table(content), "y")
    assert rows.task == task
    assert (rows.y.dtype == np.float64) == (task == "regression")
    assert note in " ".join(rows.notes)
    assert bool(rows.notes) == bool(note)
    if task == "regression":
        assert training_data(table(content), "y", task="regression").notes == (), "asked for"
