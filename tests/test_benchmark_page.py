"""The page of benchmarks and its charts follow from the kept results."""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    yield importlib.import_module("_page")
    for name in ("_page", "_charts"):
        sys.modules.pop(name, None)


def test_the_page_is_that_of_the_results(page):
    assert page.PAGE.read_text("utf-8") == page.text(RESULTS)


def test_every_result_can_be_downloaded(page):
    links = re.findall(r":download:`(\S+) <\.\./benchmarks/results/(\S+)>`", page.text(RESULTS))
    assert sorted(links) == sorted((path.name, path.name) for path in RESULTS.glob("*.json"))


def test_the_charts_are_those_of_the_results(page, tmp_path):
    from _charts import CHARTS, digest, draw

    draw(RESULTS, tmp_path)
    for name, chart in CHARTS.items():
        for folder in (tmp_path, ROOT / "docs" / "images"):
            assert digest(RESULTS, chart) in (folder / f"{name}.svg").read_text("utf-8")


def test_long_tables_are_not_shown(page, tmp_path):
    machine = {"cpu": "a CPU", "cores": 2, "python": "3.11", "date": "today"}
    rows = [{"data": f"set{i}", "s": i} for i in range(page.MOST_ROWS + 1)]
    (tmp_path / "axis_long.json").write_text(
        page.json.dumps({"title": "Long", "machine": machine, "rows": [*rows, {"data": "mean", "s": 123456}]})
    )
    (tmp_path / "axis_short.json").write_text(
        page.json.dumps({"title": "Short", "machine": machine, "rows": [{"data": "seen", "wanted": "<= 1"}]})
    )
    text = page.text(tmp_path)
    assert "set1" not in text
    assert "123,456" in text
    assert "seen" in text
    assert "wanted" not in text


def test_the_page_of_accuracies_is_that_of_the_cells(page):
    import accuracy_report

    assert accuracy_report.PAGE.read_text(encoding="utf-8") == accuracy_report.page(RESULTS / "accuracy")
    assert accuracy_report.means(RESULTS / "accuracy" / "classification")["iris"].keys() >= {"Forest", "ExtraTrees-500"}


def test_figures_in_the_readme_are_those_of_the_results():
    import json

    def mean_ratio(name):
        rows = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["rows"]
        return next(row["ratio"] for row in rows if row["data"] == "geometric mean")

    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    axis, oblique = mean_ratio("axis_fit_gini"), mean_ratio("oblique_speed_l2_0.03")
    assert f"scikit-learn = 1 | {axis:.2f} (axis, Gini), {oblique:.2f} (oblique, entropy) |" in readme

    accuracy = (ROOT / "docs/results/accuracy.rst").read_text("utf-8")
    section = accuracy.split("One tree against a forest\n~")[1]
    sets, ratio = re.search(r"^tree, linear leaves +(\d+) +([\d.]+)", section, re.MULTILINE).groups()
    (chosen,) = re.findall(r"linear leaves on (\d+) of the regression sets", " ".join(accuracy.split()))
    assert f"error was {float(ratio):.2f} times that of a random forest of 500 trees" in readme
    assert f"over {sets} data sets, {chosen} of which were used to choose its settings" in readme
