"""Models as C headers, compiled with the system's compiler: they decide as Python does."""

import ctypes
import shutil
import subprocess
import sysconfig
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from boscage import TopDownTreeClassifier
from boscage.export import to_c
from boscage.model import predict as _predict
from boscage.model.predict import needs_numbers
from boscage.tree import LeafModels
from strategies import KINDS, chain, random_forest, random_rows, random_tree

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(CC is None, reason="there is no C compiler")
FLAGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
HOSTILE = ('*/ int x = "', "a\\\n\t??/", "$name ${K} ключ 🌳", "@if x")

RUN = """
#include "{name}.h"
void {name}_run(const {name}_real *X, long n, int *label, double *out) {{
  long i;
  for (i = 0; i < n; ++i) {{
    {body}
  }}
}}
"""
CLASSES = (
    "label[i] = {name}_predict(X + i * {N}_COLUMNS); {name}_predict_proba(X + i * {N}_COLUMNS, out + i * {N}_CLASSES);"
)
NUMBERS = "(void)label; {name}_predict(X + i * {N}_COLUMNS, out + i * {N}_OUTPUTS);"
NUMBER = "(void)label; out[i] = {name}_predict(X + i * {N}_COLUMNS);"


def body_of(tree):
    return CLASSES if tree.target == "classes" else NUMBER if tree.n_outputs == 1 else NUMBERS


def compiled(folder, models, **options):
    """A library with the functions NAME_run of some models, which are given by name."""
    code = ""
    for name, model in models.items():
        (folder / f"{name}.h").write_text(to_c(model, name=name, **options), encoding="utf-8")
        first = model if hasattr(model, "target") else model[0]
        code += RUN.format(name=name, body=body_of(first).format(name=name, N=name.upper()))
    return build(folder, code)


def build(folder, code):
    (folder / "run.c").write_text(code, encoding="utf-8")
    library = folder / f"run{sysconfig.get_config_var('SHLIB_SUFFIX') or '.so'}"
    command = [CC, *FLAGS, "-shared", "-fPIC", "-o", library, "run.c", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    return ctypes.CDLL(library)


def run(library, name, X, width):
    rows, label = np.ascontiguousarray(X), np.empty(len(X), np.int32)
    out = np.empty((len(X), width))
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (rows, label, out)]
    getattr(library, f"{name}_run")(pointers[0], ctypes.c_long(len(X)), *pointers[1:])
    return label, out


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("leaf", ["value", "leaf_value", "models"])
def test_trees_of_every_kind(tmp_path, leaf, dtype):
    trees = {}
    for seed in range(30):
        kind = KINDS[seed % len(KINDS)]
        trees[f"t{seed}"] = random_tree(
            seed, kind, leaf=leaf, d=1 + seed % 12, splits=seed % 9, k=1 + seed % 4, sparse_weights=seed % 3 == 0,
            named=seed % 2 == 0, dtype=dtype,
        )  # fmt: skip
    library = compiled(tmp_path, trees)
    for seed, (name, tree) in enumerate(trees.items()):
        X = random_rows(seed, tree, 50, missing=not needs_numbers(tree))
        label, proba = run(library, name, X, tree.n_classes)
        expected = _predict.predict_proba(tree, X)
        tolerance = 1e-12 if leaf == "models" or tree.routing == "logistic" else 0
        np.testing.assert_allclose(proba, expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(label, proba.argmax(axis=1))
        if not tolerance:
            np.testing.assert_array_equal(label, _predict.predict_class(tree, X))


@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_forests(tmp_path, target):
    models = {}
    for seed in range(12):
        trees = random_forest(seed, 1 + seed % 5, k=1 + seed % 3, target=target)
        models[f"f{seed}"] = trees
    library = compiled(tmp_path, models)
    for seed, (name, trees) in enumerate(models.items()):
        X = np.nan_to_num(random_rows(seed, trees[0], 40))
        expected = sum(_predict.predict_proba(tree, X) for tree in trees) / len(trees)
        label, out = run(library, name, X, trees[0].n_outputs)
        np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
        if target == "classes":
            np.testing.assert_array_equal(label, out.argmax(axis=1))


def test_linear_leaves_of_numbers(tmp_path):
    tree = random_tree(2, "axis", k=1)
    models = LeafModels(np.arange(18.0).reshape(6, 1, 3), np.ones((6, 1)), np.full((6, 1), -9.0), np.full((6, 1), 9.0))
    trees = [
        replace(tree, target="numbers", leaf_models=part) for part in (models, replace(models, low=None, high=None))
    ]
    X = random_rows(2, tree, missing=False)
    library = compiled(tmp_path, {"bounded": trees[0], "free": trees[1]})
    for name, tree in zip(("bounded", "free"), trees):
        expected = _predict.predict_proba(tree, X)
        np.testing.assert_allclose(run(library, name, X, 1)[1], expected, rtol=1e-12, atol=1e-12)
        assert (np.abs(expected).max() == 9) == (name == "bounded")


def test_float_rows_at_thresholds(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    tree = TopDownTreeClassifier().fit(X, rng.integers(3, size=300)).tree_
    near = np.float32(tree.threshold[tree.feature >= 0])
    near = np.concatenate([near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))])
    rows = rng.choice(near, size=(5000, 3))
    library = compiled(tmp_path, {"tree": tree})
    np.testing.assert_array_equal(run(library, "tree", rows, 3)[0], _predict.predict_class(tree, rows))


def test_a_tree_of_65_leaves_is_small_and_quick_and_right_on_a_million_rows(tmp_path):
    X, y = load_digits(return_X_y=True)
    X = X.reshape(-1, 4, 2, 4, 2).sum(axis=(2, 4)).reshape(-1, 16).astype(np.float32)
    sizes = {}
    for splits in ("axis", "wodt"):
        model = TopDownTreeClassifier(splits, max_leaf_nodes=65, random_state=0, ccp_alpha=0.0).fit(X, y)
        assert model.get_n_leaves() == 65
        (tmp_path / splits).mkdir()
        library = compiled(tmp_path / splits, {"tree": model.tree_})
        rng = np.random.default_rng(0)
        rows = rng.uniform(X.min(axis=0) - 1, X.max(axis=0) + 1, size=(1_000_000, 16)).astype(np.float32)
        rows[::2] = X[rng.integers(len(X), size=500_000)]
        start = time.process_time()
        label = run(library, "tree", rows, 10)[0]
        assert time.process_time() - start < 1.5  # seconds for two calls for each row; 200 ns each were asked for
        np.testing.assert_array_equal(label, _predict.predict_class(model.tree_, rows))
        code = '#include "tree.h"\nint ask(const tree_real *x) { return tree_predict(x); }\n'
        (tmp_path / splits / "ask.c").write_text(code)
        subprocess.run([CC, "-O2", "-c", "ask.c"], cwd=tmp_path / splits, check=True)
        if shutil.which("size"):
            command = ["size", tmp_path / splits / "ask.o"]
            told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            text, initialised = map(int, told.splitlines()[1].split()[:2])
            sizes[splits] = text + initialised
    assert all(size <= 12_000 for size in sizes.values()), sizes


def test_a_tree_of_a_hundred_thousand_levels(tmp_path):
    tree = chain(200_001)
    X = np.arange(-1, 100_001, 1000, dtype=np.float64)[:, None]
    library = compiled(tmp_path, {"tree": tree})
    np.testing.assert_array_equal(run(library, "tree", X, 3)[1], _predict.predict_proba(tree, X))


def test_hostile_names_and_categories(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({HOSTILE[0]: rng.normal(size=200), HOSTILE[1]: rng.choice(HOSTILE, 200)})
    X["y"] = pd.Categorical(rng.choice([7, 3], 200))
    y = np.array(HOSTILE)[(X[HOSTILE[1]] == HOSTILE[2]).to_numpy(int) + (X["y"] == 3).to_numpy(int)]
    model = TopDownTreeClassifier().fit(X, y)
    assert model.to_c(tmp_path / "tree.h", name="tree") == tmp_path / "tree.h"
    (tmp_path / "a.c").write_text(
        '#include "tree.h"\n'
        "int category(int j, const char *s) { return tree_category(j, s); }\n"
        "int number(int j, double x) { return tree_category_number(j, x); }\n"
        "const char *name(int k) { return tree_class_name(k); }\n"
        "int predict(const double *x) { tree_real row[3]; int j; for (j = 0; j < 3; ++j) row[j] = x[j];"
        " return tree_predict(row); }\n"
    )
    subprocess.run([CC, *FLAGS, "-shared", "-fPIC", "-o", "a.so", "a.c", "-lm"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(tmp_path / "a.so")
    library.name.restype = ctypes.c_char_p
    codes = {label: library.category(1, label.encode()) for label in HOSTILE}
    assert codes == {label: code for code, label in enumerate(model.tree_.schema.categories[1])}
    assert library.category(1, b"unknown") == library.category(0, b"a") == -1
    assert [library.number(2, ctypes.c_double(x)) for x in (3, 7, 5)] == [0, 1, -1]
    for row, expected in zip(X.to_numpy()[:30], model.predict(X)):
        x = (ctypes.c_double * 3)(row[0], codes[row[1]], library.number(2, ctypes.c_double(row[2])))
        assert library.name(library.predict(x)).decode() == expected


def test_names_in_comments_do_not_hide_code():
    """A mark that writes from right to left would show the rest of the comment, and what follows, in another order."""
    X = pd.DataFrame({"\u202ea\u0007\u2066": [0.0, 1.0, 2.0, 3.0]})
    text = TopDownTreeClassifier().fit(X, ["\u202eno", "yes"] * 2).to_c()
    assert "U+202EaU+0007U+2066" in text
    assert text.isascii()


def test_refusals():
    tree = random_tree(0)
    with pytest.raises(ValueError, match="name must be letters, digits and underscores"):
        to_c(tree, name="a-b")
    with pytest.raises(ValueError, match="dtype must be 'float32' or 'float64'"):
        to_c(tree, dtype="int8")
    with pytest.raises(ValueError, match="number 1 has other columns or outputs"):
        to_c([tree, random_tree(0, d=4)])
    with pytest.raises(ValueError, match="at least one Tree"):
        to_c([])
