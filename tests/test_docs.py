"""The code on the pages of the documentation runs, and prints what the pages say."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from docutils import nodes
from docutils.core import publish_doctree
from sklearn.datasets import load_digits

from boscage import TopDownTreeClassifier
from boscage.datasets import load_dataset
from boscage.splits import WeightedOblique
from pages import DOCS, FIRST, blocks, run

ROOT = DOCS.parent
NO_PAGES = {"_build", "_templates", "auto_examples", "generated", "sg_execution_times.rst"}  # most written by Sphinx
WRITTEN = [page for page in sorted(DOCS.rglob("*.rst")) if not NO_PAGES & set(page.relative_to(DOCS).parts)]
PAGES = [page for page in WRITTEN if page != FIRST and re.search(r"code-block:: py", page.read_text("utf-8"))]
ELSEWHERE = ("scheduler:8786", "import shap")  # need a cluster, or a library that tests do not install


def names_of_readers(folder):
    """What pages take for granted: rows, labels, weights, a table, a stream, fitted models."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    heart = load_dataset("heart")
    table = pa.table({"size": heart.X[:, 0], "age": heart.X[:, 3], "clicked": heart.y, "importance": heart.X[:, 4]})
    pq.write_table(table, folder / "clicks.parquet")
    pq.write_table(table.drop_columns(["clicked"]), folder / "new.parquet")
    digits, labels = load_digits(return_X_y=True)
    parts = [(digits[i::50], labels[i::50]) for i in range(50)]
    return {
        "X": heart.X,
        "y": heart.y,
        "w": np.linspace(1, 2, len(heart.y)),
        "load": lambda part: parts[part % 50],
        "stream": parts,
        "models": {"small <tree>": TopDownTreeClassifier(max_leaf_nodes=3).fit(heart.X, heart.y)},
        "np": np,
        "Path": Path,
        "load_dataset": load_dataset,
        "TopDownTreeClassifier": TopDownTreeClassifier,
        "WeightedOblique": WeightedOblique,
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).with_suffix("").as_posix())
def test_code_of_a_page_runs(page, tmp_path, monkeypatch):
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names, printed, ran = names_of_readers(tmp_path), "", 0
    for line, language, code, follows in blocks(page):
        where = f"{page.name}:{line}"
        if language in ("python", "pycon") and not any(word in code for word in ELSEWHERE):
            printed = run(code, where, names)
            ran += 1
        elif language == "text" and follows:
            assert printed.strip() == code.strip(), where
    assert ran


@pytest.mark.parametrize(
    "name",
    [
        "TopDownTreeClassifier",
        "OptimalTreeClassifier",
        "OnlineTreeClassifier",
        "LOMTreeClassifier",
        "DuplicateWeights",
        "dask.TopDownTreeClassifier",
        "dask.TopDownTreeRegressor",
    ],
)
def test_rules_that_hold_for_all_estimators_are_told_once_and_linked(name):
    import operator

    import boscage.dask

    notes = operator.attrgetter(name)(boscage).__doc__.partition("Notes\n    -----")[2]
    assert ":doc:`/weights`" in notes
    if name != "DuplicateWeights":  # the wrapped classifier decides
        assert ":doc:`/categories`" in notes
        assert ":doc:`/running`" in notes


def test_every_page_is_in_a_section():
    """Root pages are the six sections; every other page belongs to the list of one of them, once."""
    listed = []
    for page in WRITTEN:
        for toctree in re.findall(r"\.\. toctree::\n((?: +\S.*\n|\n)+)", page.read_text("utf-8")):
            entries = re.findall(r"^ +([\w/-]+)$", toctree, re.MULTILINE)
            listed += [DOCS / entry[1:] if entry.startswith("/") else page.parent / entry for entry in entries]
    pages = {page.with_suffix("") for page in WRITTEN} | {DOCS / "auto_examples" / "index"}
    assert len(listed) == len(set(listed))
    assert pages - {DOCS / "index"} == set(listed)


OF_SPHINX = ("Unknown directive type", "No directive entry", "Unknown interpreted text role", "No role entry")


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(DOCS).with_suffix("").as_posix())
def test_the_markup_is_sound(page):
    """Tables, pictures and headings parse; what only Sphinx knows is not looked at."""
    quiet = {"report_level": 5, "halt_level": 5, "_disable_config": True, "file_insertion_enabled": False}
    tree = publish_doctree(page.read_text("utf-8"), source_path=str(page), settings_overrides=quiet)
    said = [message.astext() for message in tree.findall(nodes.system_message) if message["level"] > 1]
    assert [text for text in said if not any(words in text for words in OF_SPHINX)] == []


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(DOCS).with_suffix("").as_posix())
def test_no_wrapped_line_of_a_table_becomes_a_row(page):
    """In a simple table every line with text in the first column is a row of its own."""
    for table in re.findall(
        r"^(=+(?: +=+)+)\n(.*?)\n\1$\n\n", page.read_text("utf-8") + "\n", re.MULTILINE | re.DOTALL
    ):
        second = re.search(r" =", table[0]).start()
        for line in table[1].splitlines():
            assert line.startswith(" ") or line[second:].strip(), line


MOST_WORDS = 1000


@pytest.mark.parametrize(
    "page",
    [
        DOCS / f"{name.lstrip('/') if name.startswith('/') else f'get-started/{name}'}.rst"
        for index in ("guide", "get-started")
        for name in re.findall(r"^   ([\w/-]+)$", (DOCS / index / "index.rst").read_text("utf-8"), re.MULTILINE)
    ],
    ids=lambda page: page.relative_to(DOCS).with_suffix("").as_posix(),
)
def test_pages_of_the_guide_are_short(page):
    assert len(page.read_text("utf-8").split()) <= MOST_WORDS


METAPHORS = r"\b(rooms?|the door|dealt|deals?|a look(?!-)|levers?|the house|in the company of|half as much again)\b"
TABLES = {"performance.rst", "accuracy.rst", "optimal.rst"}  # "room" is the name of a data set there


def test_plain_words():
    """Figures of speech that users would have to guess, on pages and in texts of the program."""
    found = []
    for path in [*WRITTEN, ROOT / "README.md"]:
        words = METAPHORS.replace("rooms?|", "") if path.name in TABLES else METAPHORS
        lines = enumerate(path.read_text("utf-8").splitlines(), 1)
        found += [f"{path.name}:{number}: {line}" for number, line in lines if re.search(words, line, re.IGNORECASE)]
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found += [
                    f"{path.name}:{node.lineno}: {word}" for word in re.findall(METAPHORS, node.value, re.IGNORECASE)
                ]
    assert found == []
