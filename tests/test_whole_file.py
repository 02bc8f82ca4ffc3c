"""Writers: a file is written whole or not at all, and the error names the user's path."""

import functools
import os
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

from boscage import ForestRegressor, LOMTreeClassifier, TopDownTreeClassifier
from boscage.base.whole_file import save_figure, whole_file, write_whole
from boscage.batches.prediction import predict_batches
from boscage.export import export_model

OLD = b"what was there before"


def test_the_file_is_replaced_when_the_block_ends(tmp_path):
    path = tmp_path / "out.txt"
    with whole_file(path) as draft:
        assert draft.suffix == ".txt"
        assert draft.parent == tmp_path
        draft.write_bytes(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert write_whole(path, "ß") == path
    assert path.read_bytes() == "ß".encode()
    assert [found.name for found in tmp_path.iterdir()] == ["out.txt"]


@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_failure_leaves_the_old_file_and_no_draft(tmp_path, error):
    path = tmp_path / "out.txt"
    path.write_bytes(OLD)

    def fail():
        with whole_file(path) as draft:
            draft.write_bytes(b"half")
            raise error

    with pytest.raises(type(error)) as caught:
        fail()
    assert path.read_bytes() == OLD
    assert [found.name for found in tmp_path.iterdir()] == ["out.txt"]
    if isinstance(error, OSError):
        assert caught.value.filename == str(path)


def test_errors_about_other_files_keep_their_names(tmp_path):
    def read_another():
        with whole_file(tmp_path / "out.txt"):
            (tmp_path / "missing").read_bytes()

    with pytest.raises(FileNotFoundError) as caught:
        read_another()
    assert caught.value.filename == str(tmp_path / "missing")
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(tmp_path / "no folder" / "out.txt", "text")
    assert caught.value.filename == str(tmp_path / "no folder" / "out.txt")
    with pytest.raises(IsADirectoryError) as caught:
        write_whole(tmp_path, "text")
    assert caught.value.filename == str(tmp_path)


def test_links_modes_and_long_names_are_kept(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(OLD)
    real.chmod(0o640)
    link.symlink_to(real)
    write_whole(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    longest = tmp_path / ("n" * 200 + "." + "x" * 54)
    write_whole(longest, "new")
    assert longest.read_text() == "new"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    """Replacing /dev/null or /dev/stdout by a file would be a disaster."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, "through")
    reader.join()
    assert found == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


# ---- every writer of the library ------------------------------------------------------------------------------------


def fitted_models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = rng.integers(0, 3, 400)
    return TopDownTreeClassifier().fit(X, y), LOMTreeClassifier(random_state=0, n_passes=1).fit(X, y), X


@pytest.fixture(scope="module")
def models():
    return fitted_models()


@functools.cache
def forest():
    X = np.random.default_rng(0).normal(size=(100, 3))
    return ForestRegressor(2, max_leaf_nodes=8, random_state=0).fit(X, X[:, 0] ** 2)


def predictions(model, X, path):
    from boscage.model.predictions import Predictions, write_predictions

    return write_predictions(path, Predictions(model.predict(X), model.classes_, model.predict_proba(X)))


def comparison(path, X):
    from boscage.compare._files import write_json, write_picture
    from boscage.compare._page import write_report
    from boscage.compare._types import Result, Settings, Task

    task = Task("data", X, np.zeros(len(X), int))
    results = [Result("axis", "gini", {"accuracy": [0.5, 0.6]}, [3, 3], [2, 2], [0.1, 0.1], [0.1, 0.1])]
    if path.suffix == ".json":
        write_json(path, {"rows": X.tolist()})
    elif path.suffix == ".png":
        write_picture(path, task, results)
    else:
        write_report(path, task, Settings(folds=2), results)


def experiment(path, text):
    from boscage.experiments._runner import Job

    if path.suffix == ".md":
        Job("wodt", (), (), "quick", path.parent, print).write(path.name, text)
        return
    from matplotlib.figure import Figure

    save_figure(Figure(), path, dpi=300)


WRITERS = {
    "model.boscage": lambda path, tree, online, X: tree.save(path),
    "online.boscage": lambda path, tree, online, X: online.save(path, resume=True),
    "predictions.csv": lambda path, tree, online, X: predictions(tree, X, path),
    "predictions.json": lambda path, tree, online, X: predictions(tree, X, path),
    "predictions.parquet": lambda path, tree, online, X: predictions(tree, X, path),
    "batches.parquet": lambda path, tree, online, X: predict_batches(tree, [X], path, None, proba=True),
    "tree.html": lambda path, tree, online, X: tree.to_html(path, X),
    "tree.onnx": lambda path, tree, online, X: tree.to_onnx(path),
    "tree.h": lambda path, tree, online, X: tree.to_c(path),
    "tree.sql": lambda path, tree, online, X: tree.to_sql(path),
    "tree.js": lambda path, tree, online, X: tree.to_javascript(path),
    "forest.boscage": lambda path, tree, online, X: forest().save(path),
    "forest.html": lambda path, tree, online, X: forest().to_html(path),
    "forest.h": lambda path, tree, online, X: forest().to_c(path),
    "forest.sql": lambda path, tree, online, X: forest().to_sql(path, table="rows"),
    "forest.js": lambda path, tree, online, X: forest().to_javascript(path),
    "forest.onnx": lambda path, tree, online, X: forest().to_onnx(path),
    "export.json": lambda path, tree, online, X: export_model(forest(), path),
    "export.txt": lambda path, tree, online, X: export_model(tree, path),
    "export.dot": lambda path, tree, online, X: export_model(tree, path),
    "compare.json": lambda path, tree, online, X: comparison(path, X),
    "compare.png": lambda path, tree, online, X: comparison(path, X),
    "compare.html": lambda path, tree, online, X: comparison(path, X),
    "table.md": lambda path, tree, online, X: experiment(path, "text" * 5000),
    "figure.png": lambda path, tree, online, X: experiment(path, ""),
}
LIMIT = 1000  # bytes


def write(name, folder, models):
    WRITERS[name](Path(folder) / name, *models)


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_replaces_the_file_in_one_step(name, tmp_path, models, monkeypatch):
    path = tmp_path / name
    path.write_bytes(OLD)
    write(name, tmp_path, models)
    assert path.stat().st_size > LIMIT
    assert [found.name for found in tmp_path.iterdir()] == [name]
    path.write_bytes(OLD)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="No space left") as caught:
        write(name, tmp_path, models)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == OLD
    assert [found.name for found in tmp_path.iterdir()] == [name]


FAILING = """
import resource, sys
sys.path.insert(0, {tests!r})
import test_whole_file as t
models = t.fitted_models()
{setup}
for name in t.WRITERS:
    path = t.Path({folder!r}) / name
    try:
        t.write(name, {folder!r}, models)
        print(name, "was written")
    except OSError as error:
        good = error.filename == str(path) and path.read_bytes() == t.OLD
        print(name, "ok" if good else repr(error) + str(error.filename))
"""


def run_failing(folder, setup=""):
    code = textwrap.dedent(FAILING).format(tests=str(Path(__file__).parent), folder=str(folder), setup=setup)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{name} ok" for name in WRITERS]
    assert sorted(found.name for found in folder.iterdir() if found.name != "filler") == sorted(WRITERS)


def old_files(folder):
    for name in WRITERS:
        (folder / name).write_bytes(OLD)


def test_no_writer_breaks_a_file_at_the_limit_of_its_size(tmp_path):
    old_files(tmp_path)
    run_failing(tmp_path, f"resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, {LIMIT}))")


@pytest.fixture
def mounted(tmp_path):
    """Mount a small file system; only root can."""
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("mounting a file system needs root")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_no_writer_breaks_a_file_on_a_full_disk(mounted):
    old_files(mounted)
    free = os.statvfs(mounted)
    filler = mounted / "filler"
    filler.write_bytes(bytes(free.f_bavail * free.f_frsize))
    run_failing(mounted)


def test_no_writer_breaks_a_file_in_a_read_only_folder(mounted):
    old_files(mounted)
    subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
    run_failing(mounted)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every folder")
def test_no_writer_breaks_a_file_in_a_folder_without_permission(tmp_path):
    old_files(tmp_path)
    tmp_path.chmod(0o500)
    try:
        run_failing(tmp_path)
    finally:
        tmp_path.chmod(0o700)
