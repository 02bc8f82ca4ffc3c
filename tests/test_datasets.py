"""Data sets: the embedded ones, the folder BOSCAGE_DATA, OpenML, and a reader that refuses what it does not trust."""

from importlib import resources
from urllib.error import URLError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.utils import Bunch

from boscage.datasets import DataFileError, list_datasets, load_dataset, read_npz

EMBEDDED = {
    "heart": (270, 13, 2, (150, 120)),
    "heart-disease": (303, 13, 5, (164, 55, 36, 35, 13)),
    "iris": (150, 4, 3, (50, 50, 50)),
    "promoters": (106, 57, 2, (53, 53)),
    "tic-tac-toe": (958, 9, 2, (332, 626)),
    "wdbc": (569, 30, 2, (212, 357)),
    "wine": (178, 13, 3, (59, 71, 48)),
}


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("BOSCAGE_DATA", raising=False)


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise URLError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_list_is_what_is_embedded():
    assert list_datasets() == tuple(sorted(EMBEDDED))


@pytest.mark.parametrize("name", sorted(EMBEDDED))
def test_embedded_sets_have_their_known_sizes_and_an_origin(name):
    rows, features, classes, counts = EMBEDDED[name]
    data = load_dataset(name)
    assert data.X.shape == (rows, features)
    assert len(data.feature_names) == len(set(data.feature_names)) == features
    assert len(data.target_names) == classes
    assert tuple(np.bincount(data.y)) == counts
    assert data.X.dtype in (np.float32, np.float64)
    assert data.X.flags.c_contiguous
    assert "UCI" in data.origin
    assert repr(data) == f"Dataset({rows} rows, {features} features, {classes} classes)"


@pytest.mark.parametrize("name", sorted(EMBEDDED))
def test_embedded_sets_name_their_licence(name):
    notes = (resources.files("boscage") / "datasets/embedded/README.md").read_text(encoding="utf-8")
    (row,) = (line for line in notes.splitlines() if line.startswith(f"| {name} |"))
    assert row.split("|")[5].strip() == "CC BY 4.0"


@pytest.mark.parametrize(("name", "load"), [("iris", load_iris), ("wine", load_wine), ("wdbc", load_breast_cancer)])
def test_embedded_sets_are_those_of_scikit_learn(name, load):
    data, theirs = load_dataset(name), load()
    np.testing.assert_array_equal(data.X, theirs.data)
    np.testing.assert_array_equal(data.y, theirs.target)


def test_categories_and_missing_cells_of_embedded_sets():
    promoters = load_dataset("promoters")
    assert promoters.categorical_features == tuple(range(57))
    assert set(promoters.categories) == {("a", "c", "g", "t")}
    heart = load_dataset("heart-disease")
    assert heart.categorical_features == ()
    assert np.isnan(heart.X).sum() == 6


def test_records_are_frozen():
    data = load_dataset("iris")
    with pytest.raises(AttributeError):
        data.y = None


def test_folder_is_searched_after_the_package(tmp_path, monkeypatch, no_network):
    save(tmp_path / "mine.npz", X=np.eye(2), y=[0, 1])
    save(tmp_path / "iris.npz", X=np.eye(2), y=[0, 1])
    monkeypatch.setenv("BOSCAGE_DATA", str(tmp_path))
    assert "mine" in list_datasets()
    assert load_dataset("mine").X.shape == (2, 2)
    assert load_dataset("iris").X.shape == (150, 4)


def test_unknown_name_says_where_it_was_looked_for(tmp_path, monkeypatch, no_network):
    with pytest.raises(LookupError, match=r"'irsi' is not embedded, BOSCAGE_DATA is not set.*Did you mean 'iris'"):
        load_dataset("irsi")
    monkeypatch.setenv("BOSCAGE_DATA", str(tmp_path))
    with pytest.raises(LookupError, match=r"not in the folder BOSCAGE_DATA=.*OpenML did not give it \(URLError"):
        load_dataset("nowhere")


@pytest.mark.parametrize("name", ["../iris", "a/b", "", ".hidden", 3, None])
def test_names_are_single_words(name):
    with pytest.raises(ValueError, match="is not the name of a data set"):
        load_dataset(name)


def openml(**changes):
    values = {
        "data": np.array([[0.0, 1.5], [1.0, np.nan]]),
        "target": np.array(["b", "a"], dtype=object),
        "feature_names": ["colour", "size"],
        "categories": {"colour": ["red", "blue"]},
        "details": {"id": "7", "version": "2"},
    }
    return Bunch(**(values | changes))


def test_openml_is_the_last_resort(monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda name, **kwargs: openml())
    data = load_dataset("elsewhere")
    assert data.target_names == ("a", "b")
    assert data.y.tolist() == [1, 0]
    assert data.categorical_features == (0,)
    assert data.categories == (("red", "blue"), None)
    assert data.origin == "OpenML, data set 7: elsewhere version 2"


@pytest.mark.parametrize(
    "changes",
    [{"target": np.array([0.5, 0.25])}, {"data": np.array([["x", "y"]] * 2, dtype=object)}],
    ids=["regression", "text"],
)
def test_openml_sets_that_do_not_fit_are_refused(monkeypatch, changes):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda name, **kwargs: openml(**changes))
    with pytest.raises(DataFileError, match="'elsewhere' from OpenML cannot be used"):
        load_dataset("elsewhere")


# ---- the npz layout ----


@pytest.mark.parametrize(
    ("given_dtype", "kept"),
    [("u1", "f4"), ("i2", "f4"), ("?", "f4"), ("f4", "f4"), ("i4", "f8"), ("i8", "f8"), ("f8", "f8")],
)
def test_number_types(tmp_path, given_dtype, kept):
    data = read_npz(save(tmp_path / "t.npz", X=np.eye(3).astype(given_dtype), y=[0, 1, 1]))
    assert data.X.dtype == np.dtype(kept)


def test_defaults_of_optional_arrays(tmp_path):
    data = read_npz(save(tmp_path / "t.npz", X=np.eye(2), y=[7, 5], extra=[1, 2, 3]))
    assert data.feature_names == ("x0", "x1")
    assert data.target_names == ("5", "7")
    assert data.y.tolist() == [1, 0]
    assert data.n_train is None
    assert data.origin == "file t.npz"


def test_sparse_layout(tmp_path):
    matrix = csr_array(random_array((6, 9), density=0.3, rng=np.random.default_rng(0)))
    data = read_npz(
        save(tmp_path / "t.npz", data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=matrix.shape,
             y=[0, 1] * 3, n_train=4)
    )  # fmt: skip
    np.testing.assert_array_equal(data.X.toarray(), matrix.toarray())
    assert data.n_train == 4


def test_categories_by_column_as_json(tmp_path):
    data = read_npz(
        save(
            tmp_path / "t.npz", X=[[0, 2.5], [1, 0]], y=[0, 1], feature_names=["c", "n"], categories='{"c": ["p", "q"]}'
        )
    )
    assert data.categories == (("p", "q"), None)
    assert data.categorical_features == (0,)


GOOD = {"X": np.eye(2), "y": np.array([0, 1])}
SPARSE = {
    "data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": np.array([2, 2]),
    "y": np.array([0, 1]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"y": GOOD["y"]}, "holds no array X"),
        ({"X": GOOD["X"]}, "holds no array y"),
        (GOOD | {"X": np.eye(2) * 1j}, "X has type complex128; numbers are needed"),
        (GOOD | {"X": np.array([["a", "b"]] * 2)}, "X has type <U1; numbers are needed"),
        (GOOD | {"X": np.ones(2)}, "X has 1 dimension"),
        (GOOD | {"X": np.array([[{}, {}]] * 2)}, "it holds pickled objects"),
        (GOOD | {"y": np.array([0, 1, 1])}, r"y has shape \(3,\) for 2 rows"),
        (GOOD | {"y": np.array([0.5, 1]), "target_names": ["a"]}, "y has type float64; class numbers or class names"),
        (GOOD | {"y": np.array([np.nan, 1])}, "y holds NaN or infinity"),
        (GOOD | {"y": np.array([[0.5, 1]])}, r"y has shape \(1, 2\) for 2 rows"),
        (GOOD | {"fold": np.array([0.0, 1.0])}, "fold must hold one fold number"),
        (GOOD | {"fold": np.array([0, -1])}, "fold must hold one fold number"),
        (GOOD | {"fold": np.array([0])}, "fold must hold one fold number"),
        (GOOD | {"target_names": ["only"]}, "y must lie between 0 and 0"),
        (GOOD | {"target_names": 3.5}, "target_names must be a one-dimensional array of text"),
        (GOOD | {"y": np.array(["a", "b"]), "target_names": ["a", "b"]}, "target_names must be left out"),
        (GOOD | {"feature_names": ["a"]}, "feature_names has 1 entries for 2 columns"),
        (GOOD | {"feature_names": ["a", "a"]}, "feature_names repeats a name"),
        (GOOD | {"n_train": 3}, "n_train must be one whole number between 1 and 2"),
        (GOOD | {"n_train": 1.5}, "n_train must be one whole number"),
        (GOOD | {"categories": "not json"}, "categories must be an array of level names, or a JSON object"),
        (GOOD | {"categories": '{"z": ["a"]}'}, "categories must name columns that are in feature_names"),
        (GOOD | {"categories": '{"x0": "ab"}'}, "must be a list of level names"),
        (GOOD | {"categories": np.array(["one"])}, "must hold level numbers between 0 and 0, or NaN"),
        (GOOD | SPARSE, "holds both X and data"),
        ({k: v for k, v in SPARSE.items() if k != "shape"}, "a sparse file needs shape as well"),
        (SPARSE | {"indices": np.array([0, 2])}, "indices must lie between 0 and 1"),
        (SPARSE | {"indices": np.array([0.0, 1.0])}, "indices has type float64; integers are needed"),
        (SPARSE | {"indptr": np.array([0, 2, 1])}, "indptr must start at 0, never fall"),
        (SPARSE | {"indptr": np.array([0, 1, 3])}, "must both be as long as the last entry of indptr"),
        (SPARSE | {"shape": np.array([2, 2, 2])}, "two sizes, rows and columns, are needed"),
        (SPARSE | {"shape": np.array([2, 2**40])}, "at most 16777216 columns"),
        (SPARSE | {"categories": np.array(["a"])}, "categories are for dense files"),
    ],
)  # fmt: skip
def test_reader_refuses_and_says_why(tmp_path, arrays, says):
    path = save(tmp_path / "t.npz", **arrays)
    with pytest.raises(DataFileError, match=says) as caught:
        read_npz(path)
    assert str(path) in str(caught.value)


def test_missing_file_and_other_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_npz(tmp_path / "none.npz")
    np.save(tmp_path / "one.npy", np.eye(2))
    with pytest.raises(DataFileError, match="this is not an npz archive"):
        read_npz(tmp_path / "one.npy")


@given(position=st.integers(0, 10**6), byte=st.integers(0, 255))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_damaged_bytes_give_a_clean_error_or_a_valid_set(tmp_path_factory, position, byte):
    folder = tmp_path_factory.getbasetemp()
    good = folder / "good.npz"
    if not good.exists():
        np.savez_compressed(good, **SPARSE)
    content = bytearray(good.read_bytes())
    content[position % len(content)] = byte
    bad = folder / "bad.npz"
    bad.write_bytes(content)
    try:
        data = read_npz(bad)
    except DataFileError:
        return
    assert data.X.shape[0] == data.y.size


def test_numbers_and_folds_are_read(tmp_path):
    path = save(tmp_path / "t.npz", X=np.eye(3), y=[0.5, 1.0, 2.0], fold=np.array([0, 1, 1], np.uint8))
    data = read_npz(path)
    assert data.is_regression
    assert data.y.dtype == np.float64
    assert data.target_names == ()
    assert data.fold.tolist() == [0, 1, 1]
    assert repr(data) == "Dataset(3 rows, 3 features, 1 output)"
    assert repr(read_npz(save(tmp_path / "w.npz", X=np.eye(2), y=[[1, 2], [3, 4]]))) == (
        "Dataset(2 rows, 2 features, 2 outputs)"
    )


def test_whole_numbers_are_classes_unless_told_otherwise(tmp_path, monkeypatch):
    path = save(tmp_path / "t.npz", X=np.eye(3), y=[3, 9, 3])
    assert read_npz(path).y.tolist() == [0, 1, 0]
    assert read_npz(path, target="numbers").y.tolist() == [3.0, 9.0, 3.0]
    monkeypatch.setenv("BOSCAGE_DATA", str(tmp_path))
    assert load_dataset("t", target="numbers").is_regression
    with pytest.raises(ValueError, match="target='number' is not known"):
        read_npz(path, target="number")
    with pytest.raises(DataFileError, match="numbers are needed"):
        read_npz(save(tmp_path / "u.npz", X=np.eye(2), y=["a", "b"]), target="numbers")
