"""Every example of the documentation runs."""

import importlib
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))


@pytest.fixture(autouse=True)
def no_window():
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("Agg")
    yield
    pyplot.close("all")


def test_there_are_examples():
    assert len(EXAMPLES) >= 20


def test_the_gallery_lists_every_example(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES[0].parents[1] / "docs")
    order = importlib.import_module("_gallery").ORDER
    assert sorted(order) == sorted(path.stem.removeprefix("plot_") for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path):
    from matplotlib import pyplot

    names = runpy.run_path(str(path))
    assert names["__doc__"].strip()
    assert pyplot.get_fignums(), "every example has a picture"
