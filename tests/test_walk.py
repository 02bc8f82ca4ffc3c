"""The page "Quickstart" can be followed in an empty folder, in Python and in the shell.

``make test-wheel`` begins with the page's installation: it installs the wheel into an empty environment, then walks.
"""

from pathlib import Path

from boscage import TopDownTreeClassifier, load
from pages import install_command, walk


def test_ten_minutes_with_a_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = walk()
    made = {path.name for path in Path.cwd().iterdir()}
    assert made == {
        "passengers.boscage", "passengers.html", "passengers.onnx", "passengers.csv",
        "shell.boscage", "predicted.csv", "tree.html",
    }  # fmt: skip
    # The tree of the file is that of all rows of the table, whatever reads them.
    shell = load("shell.boscage")
    same = TopDownTreeClassifier(max_leaf_nodes=6).fit(names["X"], names["y"])
    assert shell.export_text() == same.export_text()
    assert (shell.predict(names["X"]) == same.predict(names["X"])).all()


def test_the_page_has_every_step():
    """Install, fit text and gaps, read, explain, save, load, export, serve: each has a call on the page."""
    from pages import FIRST, blocks

    assert install_command()[0] == "WHEEL"
    code = "".join(code for _, language, code, _ in blocks(FIRST) if language in ("python", "console"))
    for call in ("pip install", "np.nan", ".fit(", ".export_text(", ".explain(", ".save(", "boscage.load(", ".to_onnx(",
                 ".to_html(", "HTTPServer(", "InferenceSession(", "boscage fit", "boscage predict"):  # fmt: skip
        assert call in code, call
