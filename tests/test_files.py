"""Model files: what is saved comes back, equal trees give equal files, and no byte string does harm."""

import json
import os
import pickle
import struct
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

import boscage
from boscage.files import (
    Model,
    ModelFileError,
    ModelState,
    load,
    model_bytes,
    model_content,
    read_model,
    save,
    saveable,
)
from boscage.model import file_bytes as _file_bytes
from boscage.model import predict as _predict
from boscage.model.file_bytes import tensor_bytes
from strategies import KINDS, random_rows, random_tree, trees

LABELS = {
    "int64": np.arange(3),
    "int8": np.array([-3, 0, 7], np.int8),
    "uint64": np.array([0, 1, 2**64 - 1], np.uint64),
    "float32": np.array([0.1, 0.5, 2.0], np.float32),
    "float64": np.array([-0.1, 1e300, 2.0]),
    "bool": np.array([False, True]),
    "unicode": np.array(["a", "ßßß", "日本"], dtype="<U7"),
    "bytes": np.array([b"a", b"\xff"], dtype="S4"),
    "object strings": np.array(["no", "yes"], dtype=object),
    "object mixture": np.array([False, 2, 2.5], dtype=object),
    "variable strings": np.array(["x", "yy" * 50], dtype=np.dtypes.StringDType()),
}


@saveable
class Standin(BaseEstimator):
    """A fitted estimator and nothing else."""

    def __init__(self, depth=3):
        self.depth = depth


@saveable
class Keeper(BaseEstimator):
    """One with a state of its own."""

    def _restore_state(self, state):
        if state.tensors.keys() != {"counts"} or state.tensors["counts"].shape != (2,):
            raise ValueError("counts must be two numbers.")
        self.counts_, self.step_ = state.tensors["counts"], state.meta["step"]


def fitted(tree, classes=None, cls=Standin):
    estimator = cls()
    estimator.tree_ = tree
    estimator.classes_ = np.arange(tree.n_classes) if classes is None else classes
    estimator.n_features_in_ = tree.n_features
    return estimator


def model_of(tree, kind="Standin", **parts):
    return Model(kind, tree.schema, np.arange(tree.n_classes), (tree,), **parts)


def content(tree, kind="Standin", **parts):
    return model_bytes(model_of(tree, kind, **parts))


def read(data, folder):
    path = folder / "m.boscage"
    path.write_bytes(data)
    return read_model(path)


def assert_harmless(data, folder):
    """Either a clean refusal or a model that predicts."""
    refusal, model = None, None
    try:
        model = read(data, folder)
    except ModelFileError as error:
        refusal = str(error)
    if model is None:
        assert refusal
        assert "\n" not in refusal
        assert len(refusal) < 600
        return False
    for tree in model.trees:
        if tree.n_features < 1000:
            X = random_rows(0, tree, n=3, missing=False)
            X = np.nan_to_num(X)
            assert _predict.apply(tree, X).shape == (3,)
            assert _predict.predict_proba(tree, X).shape == (3, tree.n_outputs)
            assert np.isfinite(_predict.predict_proba(tree, X)).all()
            assert _predict.decision_path(tree, X).shape == (3, tree.node_count)
    return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@settings(derandomize=True, deadline=None, max_examples=150)
@given(tree=trees())
def test_every_tree_comes_back_equal(folder, tree):
    path = folder / "round.boscage"
    save(fitted(tree), path)
    back = load(path)
    assert type(back) is Standin
    assert back.tree_ == tree
    assert back.depth == 3
    assert back.n_features_in_ == tree.n_features
    assert hasattr(back, "feature_names_in_") == (tree.schema.feature_names is not None)
    if tree.schema.feature_names is not None:
        assert back.feature_names_in_.tolist() == list(tree.schema.feature_names)
        assert back.feature_names_in_.dtype == object
    X = np.nan_to_num(random_rows(1, tree, n=5))
    np.testing.assert_array_equal(_predict.predict_proba(back.tree_, X), _predict.predict_proba(tree, X))
    again = folder / "again.boscage"
    save(back, again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", LABELS)
def test_labels_come_back_with_their_type(name, tmp_path):
    labels = LABELS[name]
    save(fitted(random_tree(0, k=len(labels)), labels), tmp_path / "m")
    back = load(tmp_path / "m").classes_
    assert back.dtype == labels.dtype
    assert back.tolist() == labels.tolist()
    assert [type(label) for label in back.tolist()] == [type(label) for label in labels.tolist()]


@pytest.mark.parametrize(
    "labels", [np.array([np.nan, 1.0]), np.array([np.inf, 1.0]), np.array([1j, 2]), np.array(["2020", "2021"], "M8[Y]")]
)
def test_labels_that_cannot_be_written_are_named(labels, tmp_path):
    with pytest.raises(ValueError, match=r"classes: .* cannot be written to a model file"):
        save(fitted(random_tree(0, k=2), labels), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_equal_trees_give_equal_files():
    tree = random_tree(7, "mixed", splits=9, d=5, sparse_weights=True)
    twin = random_tree(7, "mixed", splits=9, d=5, sparse_weights=True)
    assert content(tree) == content(twin)
    negative_zero = random_tree(0, "linear")
    state = negative_zero.__getstate__()
    state["threshold"] = np.where(state["threshold"] == 0, -0.0, state["threshold"])
    assert content(type(tree)(**state)) == content(negative_zero)


def test_the_layout_is_plain_safetensors(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    tree = random_tree(3, "soft linear", d=4)
    data = content(tree)
    (tmp_path / "m").write_bytes(data)
    tensors = safetensors.load(data)
    np.testing.assert_array_equal(tensors["weights"], tree.weights)
    with safetensors.safe_open(tmp_path / "m", "numpy") as file:
        assert list(file.metadata()) == ["boscage"]
        meta = json.loads(file.metadata()["boscage"])
    assert (meta["format"], meta["version"], meta["kind"]) == (2, boscage.__version__, "Standin")
    assert set(meta) == {"format", "version", "kind", "target", "schema", "trees", "parameters"}


@given(trees(), st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 2**32 - 1))
def test_files_are_the_bytes_that_safetensors_writes(tree, text, seed):
    safetensors = pytest.importorskip("safetensors.numpy")
    rng, (_, tensors) = np.random.default_rng(seed), model_content(model_of(tree))
    for kind in ("u8", "i8", "f8", "f4", "u4", "i4", "u2", "u1", "?"):
        name = text[: rng.integers(0, len(text) + 1)] + kind
        shape = tuple(rng.integers(0, 4, rng.integers(0, 4)))
        tensors[name] = np.array(rng.integers(0, 2, shape), kind, order="F")
    in_rows = {name: np.array(array, order="C") for name, array in tensors.items()}
    expected = safetensors.save(in_rows, {"boscage": text})
    assert tensor_bytes(text, tensors) == expected


def test_defaults_take_no_room():
    _, tensors = model_content(model_of(random_tree(0, "axis", splits=0)))
    assert {"linear_row", "weights", "category_offset", "schema.n_categories"}.isdisjoint(tensors)


def test_state_of_an_estimator_travels(tmp_path):
    keeper = fitted(random_tree(0), cls=Keeper)
    save(keeper, tmp_path / "m", ModelState({"counts": np.array([1, 2])}, {"step": 5}))
    back = load(tmp_path / "m")
    np.testing.assert_array_equal(back.counts_, [1, 2])
    assert back.step_ == 5
    save(keeper, tmp_path / "m", ModelState({"counts": np.array([1, 2, 3])}, {"step": 5}))
    with pytest.raises(ModelFileError, match="counts must be two numbers"):
        load(tmp_path / "m")
    save(fitted(random_tree(0)), tmp_path / "m", ModelState({}, {"step": 1}))
    with pytest.raises(ModelFileError, match="Standin keeps no state"):
        load(tmp_path / "m")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m"
    save(fitted(random_tree(0)), path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save(fitted(random_tree(1)), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_only_known_classes_are_saved_and_loaded(tmp_path):
    with pytest.raises(TypeError, match="BaseEstimator cannot be saved"):
        save(BaseEstimator(), tmp_path / "m")
    (tmp_path / "m").write_bytes(content(random_tree(0), "os"))
    with pytest.raises(ModelFileError, match="no estimator named 'os'"):
        load(tmp_path / "m")


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)


def test_a_broken_tree_is_not_written(tmp_path):
    state = random_tree(0).__getstate__() | {"threshold": np.full(11, np.nan)}
    with pytest.raises(ValueError, match="threshold"):
        save(fitted(type(random_tree(0))(**state)), tmp_path / "m")


# --- bytes from strangers -------------------------------------------------------------------------------------------

EXAMPLES = [
    random_tree(1, "axis", splits=3, d=2, k=2),
    random_tree(2, "mixed", splits=4, d=3, k=2, sparse_weights=True, named=True),
    random_tree(3, "soft logistic", splits=3, d=2, k=2, leaf="models"),
]


@pytest.mark.parametrize("tree", EXAMPLES, ids=["axis", "mixed", "soft"])
def test_every_truncation_is_refused(tree, folder):
    data = content(tree)
    for length in range(0, len(data), 1 + len(data) // 700):
        assert not assert_harmless(data[:length], folder)
    assert not assert_harmless(data + b"\0", folder)
    assert assert_harmless(data, folder)


@pytest.mark.parametrize("tree", EXAMPLES, ids=["axis", "mixed", "soft"])
def test_flipped_bytes_do_no_harm(tree, folder):
    data = content(tree)
    rng = np.random.default_rng(0)
    refused = 0
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= int(rng.integers(1, 256))
        refused += not assert_harmless(bytes(changed), folder)
    assert refused > len(data) / 3


@settings(derandomize=True, deadline=None, max_examples=200)
@given(data=st.binary(max_size=400))
def test_any_bytes_are_refused(folder, data):
    assert not assert_harmless(data, folder)


def with_header(header, data=b""):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(header=JSON, data=st.binary(max_size=30))
def test_any_json_header_is_refused(folder, header, data):
    assert not assert_harmless(with_header(header, data), folder)


def parts(data):
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["boscage"]), data[8 + length :]


def rebuilt(header, meta, data):
    text = json.dumps(meta, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return with_header(header | {"__metadata__": {"boscage": text}}, data)


@settings(derandomize=True, deadline=None, max_examples=400)
@given(which=st.sampled_from(EXAMPLES), pick=st.data(), value=JSON)
def test_any_change_of_the_metadata_does_no_harm(folder, which, pick, value):
    header, meta, data = parts(content(which))
    place, key = meta, None
    while isinstance(place, dict) and place and (key is None or pick.draw(st.booleans())):
        holder, key = place, pick.draw(st.sampled_from(sorted(place)))
        place = place[key]
    holder[key] = value
    assert_harmless(rebuilt(header, meta, data), folder)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(which=st.sampled_from(EXAMPLES), pick=st.data(), value=JSON)
def test_any_change_of_the_tensor_table_does_no_harm(folder, which, pick, value):
    header, meta, data = parts(content(which))
    name = pick.draw(st.sampled_from(sorted(header)))
    if name != "__metadata__" and pick.draw(st.booleans()):
        header[name][pick.draw(st.sampled_from(["dtype", "shape", "data_offsets"]))] = value
        assert_harmless(rebuilt(header, meta, data), folder)
    else:
        del header[name]
        assert not assert_harmless(with_header(header, data), folder)


EXTREMES = {
    "i": [-(2**31), -3, -2, -1, 0, 1, 2, 7, 8, 2**31 - 1],
    "q": [-(2**63), -1, 0, 1, 5, 2**31, 2**62, 2**63 - 1],
    "f": [np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1.0, 1e308, 5e-324],
}


@settings(derandomize=True, deadline=None, max_examples=500)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 20), sparse_weights=st.booleans(), pick=st.data())
def test_extreme_numbers_in_any_tensor_do_no_harm(folder, kind, seed, sparse_weights, pick):
    tree = random_tree(seed, kind, splits=4, sparse_weights=sparse_weights, leaf=["value", "models"][seed % 2])
    header, _, data = parts(content(tree))
    table = {k: v for k, v in header.items() if k != "__metadata__" and v["data_offsets"][0] < v["data_offsets"][1]}
    entry = table[pick.draw(st.sampled_from(sorted(table)))]
    dtype = {"F64": np.float64, "I64": np.int64, "I32": np.int32}.get(entry["dtype"], np.uint8)
    begin, end = entry["data_offsets"]
    array = np.frombuffer(data[begin:end], dtype).copy()
    values = EXTREMES["f" if dtype is np.float64 else "q" if dtype is np.int64 else "i"]
    for _ in range(pick.draw(st.integers(1, 2))):
        value = pick.draw(st.sampled_from(values))
        array[pick.draw(st.integers(0, array.size - 1))] = value % 256 if dtype is np.uint8 else value
    assert_harmless(with_header(header, data[:begin] + array.tobytes() + data[end:]), folder)


NOT_OURS = "not a Boscage model file. Pass a file written by"
HOSTILE = {
    "empty": (b"", NOT_OURS),
    "text": (b"a,b,c\n1,2,3\n" * 10, NOT_OURS),
    "a pickle": (pickle.dumps({"boscage": list(range(100))}), NOT_OURS),
    "a huge header length": (struct.pack("<Q", 2**63) + b"{}", "larger than 32 MiB"),
    "deep nesting": (with_header(b'{"boscage":' + b"[" * 90_000), "header is not JSON"),
    "deeper nesting": (with_header(b'{"boscage":' + b"[" * 200_000), "names and labels take more"),
    "a huge number": (with_header(b'{"boscage":' + b"9" * 100_000 + b"}"), "header is not JSON"),
    "a key twice": (with_header(b'{"boscage":1,"boscage":2}'), "a key occurs twice"),
    "NaN": (with_header(b'{"boscage":NaN}'), "the number NaN"),
    "bad UTF-8": (with_header(b'{"boscage\xff":1}'), "header is not JSON"),
    "no metadata": (with_header({}), NOT_OURS),
    "metadata of others": (with_header({"__metadata__": {"format": "pt"}, "boscage": 1}), NOT_OURS),
    "two metadata keys": (with_header({"__metadata__": {"boscage": "{}", "x": ""}}), "more than one metadata key"),
    "spaces": (with_header({"__metadata__": {"boscage": "{ }"}}), "canonical"),
    "half a surrogate pair": (with_header({"__metadata__": {"boscage": '{"a":"\\ud800"}'}}), "canonical"),
    "no format": (with_header({"__metadata__": {"boscage": "{}"}}), "no format number"),
    "another format": (with_header({"__metadata__": {"boscage": '{"format":3}'}}), "has format 3, .* up to 2"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_get_a_clear_line(name, folder):
    data, message = HOSTILE[name]
    with pytest.raises(ModelFileError, match=message):
        read(data, folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda meta: meta["schema"].update(n_features=2**31), "n_features must be an integer"),
        (lambda meta: meta["schema"].update(n_features=True), "n_features must be an integer"),
        (lambda meta: meta["schema"].update(feature_names=["a"]), "expected 2 names, got 1"),
        (lambda meta: meta["schema"].update(categories={"7": []}), "no such column"),
        (lambda meta: meta["target"]["classes"].update(values=[1, 1]), "occurs twice"),
        (lambda meta: meta["target"]["classes"].update(values=[0, 1, 2]), "3 labels for 2 classes"),
        (lambda meta: meta["target"]["classes"].update(values=[0, "1"]), "invalid literal|do not fit"),
        (lambda meta: meta["target"]["classes"].update(dtype="U999999999", values=["a", "b"]), "too long"),
        (lambda meta: meta["trees"]["layouts"][0].update(routing="soft"), "routing: must be one of"),
        (lambda meta: meta["trees"]["layouts"][0].update(weights="dense"), "has no weights"),
        (lambda meta: meta["trees"]["layouts"][0].update(weights="sparse"), "CSR arrays of sparse weights are missing"),
        (lambda meta: meta["trees"]["layouts"][0].update(leaf_value=True), "tensor leaf_value is missing"),
        (lambda meta: meta["trees"].update(count=2), "tensor trees.nodes is missing"),
        (lambda meta: meta["trees"].update(count=0), "number of trees"),
        (lambda meta: meta["trees"].update(count=2**62), "number of trees"),
        (lambda meta: meta["trees"].update(layouts=[]), "layouts must be a list"),
        (lambda meta: meta.update(target={"numbers": 2}), None),  # class fractions are numbers
        (lambda meta: meta.update(target={"numbers": 3}), "3 outputs for 2 numbers"),
        (lambda meta: meta.update(target={"numbers": 0}), "integer from 1"),
        (lambda meta: meta.update(version=7), "version must be a string"),
        (lambda meta: meta.update(extra=1), "unknown key 'extra'"),
        (lambda meta: meta.pop("kind"), "lacks kind"),
    ],
)
def test_each_promise_of_the_metadata_is_checked(change, message, folder):
    header, meta, data = parts(content(EXAMPLES[0]))
    change(meta)
    if message is None:
        read(rebuilt(header, meta, data), folder)
        return
    with pytest.raises(ModelFileError, match=message):
        read(rebuilt(header, meta, data), folder)


@pytest.mark.parametrize("filler", [b"{}", b"[]", b'"ab"', b"1.5", b"1e-9"])
def test_large_hostile_headers_are_quick(filler, folder):
    raw = b'{"boscage":[' + b",".join([filler] * ((16 << 20) // (len(filler) + 1))) + b"]}"
    took = []
    while len(took) < 5 and not (took and min(took) < 1):  # a test machine may be busy
        start = time.process_time()
        with pytest.raises(ModelFileError, match="names and labels take more than"):
            read(with_header(raw), folder)
        took.append(time.process_time() - start)
    assert min(took) < 1


def test_a_header_beyond_all_bounds_is_not_even_read(folder):
    with pytest.raises(ModelFileError, match="larger than 32 MiB"):
        read(struct.pack("<Q", 33 << 20) + b"{" + bytes(34 << 20), folder)


def test_a_model_with_too_many_names_is_not_written(monkeypatch):
    monkeypatch.setattr(_file_bytes, "_MAX_VALUES", 10)
    with pytest.raises(ValueError, match="names and labels take more than"):
        content(EXAMPLES[0])
