"""Every example of the documentation runs."""

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
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path):
    names = runpy.run_path(str(path))
    assert names["__doc__"].strip()
    assert names["plt"].get_fignums() if "plt" in names else True
