"""The command line as a user meets it: what goes to stdout, what to stderr, and the exit codes."""

import csv
import io
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import boscage
from boscage.cli import app
from boscage.datasets import load_dataset

ANSI = "\x1b["


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty folder and check its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BOSCAGE_DATA", raising=False)

    def run(*arguments, code=0):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
        assert "Traceback" not in result.stderr
        return result

    return run


def fails(run, *arguments):
    """The one line of a command that fails."""
    result = run(*arguments, code=1)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[-1].startswith("error: "), lines
    return lines[-1].removeprefix("error: ")


@pytest.fixture
def flowers(tmp_path):
    """Iris as a CSV file with named species."""
    iris = load_dataset("iris")
    path = tmp_path / "flowers.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sl", "sw", "pl", "pw", "species"])
        for row, label in zip(iris.X.tolist(), iris.y, strict=True):
            writer.writerow([*row, iris.target_names[label]])
    return path


COLOURS = "size,colour,answer\n" + "".join(
    f"{i},{colour},{'yes' if colour == 'red' else 'no'}\n" for i, colour in enumerate(["red", "green", "blue"] * 10)
)


# ---- usage ----


def test_version_and_help(run):
    assert run("--version").stdout == f"boscage {boscage.__version__}\n"
    text = run("--help").stdout
    for command in ("fit", "predict", "show", "inspect", "compare"):
        assert command in text
        assert "--json" in run(command, "--help").stdout
    assert "..." not in text.partition("Commands:")[2]  # no line of the list is cut off
    assert run("-h").stdout == text


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["grow"],
        ["fit"],
        ["fit", "iris"],
        ["fit", "iris", "-o", "m", "--max-depth", "0"],
        ["fit", "iris", "-o", "m", "--max-depth", "deep"],
        ["fit", "iris", "-o", "m", "--ccp-alpha", "-1"],
        ["fit", "iris", "-o", "m", "--splits", "diagonal"],
        ["fit", "iris", "-o", "m", "--criterion", "beauty"],
        ["fit", "iris", "-o", "m", "--growth", "slow"],
        ["fit", "iris", "-o", "m", "--leaf", "oak"],
        ["fit", "iris", "-o", "m", "--colour"],
        ["fit", "iris", "-o", "m", "--n-jobs", "0"],
        ["fit", "iris", "-o", "m", "--splits", "oc1", "--max-bins", "4"],
        ["fit", "iris", "-o", "m", "--batches"],
        ["reproduce", "novel"],
        ["reproduce", "wodt", "--table", "99"],
        ["reproduce", "wodt", "--budget", "none"],
        ["fit", "iris", "-o", "m", "--model", "oak"],
        ["fit", "iris", "-o", "m", "--task", "clustering"],
        ["fit", "iris", "-o", "m", "--model", "optimal", "--task", "regression"],
        ["fit", "iris", "-o", "m", "--model", "optimal", "--splits", "axis"],
        ["fit", "iris", "-o", "m", "--model", "optimal", "--max-bins", "4"],
        ["fit", "iris", "-o", "m", "--model", "online", "--batches"],
        ["fit", "iris", "-o", "m", "--set", "alpha"],
        ["fit", "iris", "-o", "m", "--set", "alpha=1"],
        ["fit", "iris", "-o", "m", "--set", "splits__bins=1"],
        ["fit", "iris", "-o", "m", "--set", "max_depth__x=1"],
        ["compare", "iris", "--metric", "beauty"],
        ["compare", "iris", "--folds", "1"],
        ["compare", "iris", "--splits", "diagonal"],
        ["predict", "m"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_2(run, tmp_path, arguments):
    run(*arguments, code=2)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_part_is_told_the_known_ones(run):
    message = " ".join(run("fit", "iris", "-o", "m", "--criterion", "beauty", code=2).stderr.split())
    assert "--criterion" in message
    assert all(name in message for name in ("gini", "entropy", "separation"))


# ---- fit and predict ----


def test_fit_predict_show_inspect(run, flowers):
    fitted = run("fit", flowers, "--target", "species", "-o", "m.boscage", "--max-leaf-nodes", "3")
    assert fitted.stdout == ""
    assert fitted.stderr == "150 rows, 3 leaves, depth 2, training accuracy 0.9600; wrote m.boscage\n"

    predicted = run("predict", "m.boscage", flowers)
    labels = predicted.stdout.splitlines()
    assert predicted.stderr == ""
    assert labels[0] == "prediction"
    iris = load_dataset("iris")
    assert np.mean(np.array(labels[1:]) == np.array(iris.target_names)[iris.y]) == 0.96

    text = run("show", "m.boscage").stdout
    assert "pl <= 2.45" in text or "pw <= 0.8" in text
    assert "setosa" in text

    assert "--html" in run("show", "m.boscage", "--data", flowers, code=2).stderr
    run("show", "m.boscage", "--html", "bare.html")
    run("show", "m.boscage", "--html", "rows.html", "--data", flowers, "--target", "species")
    bare, rows = (len(Path(name).read_bytes()) for name in ("bare.html", "rows.html"))
    assert rows > bare + 150 * 4 * 3  # four numbers of each row

    facts = json.loads(run("inspect", "m.boscage", "--json").stdout)
    assert facts["classes"] == ["setosa", "versicolor", "virginica"]
    assert facts["columns"][0] == {"name": "sl", "type": "number"}
    assert [column["name"] for column in facts["columns"]] == ["sl", "sw", "pl", "pw"]
    assert (facts["format"], facts["version"]) == (2, boscage.__version__)
    assert facts["parameters"]["max_leaf_nodes"] == 3
    assert (facts["nodes"], facts["leaves"], facts["depth"]) == (5, 3, 2)
    assert facts["training_rows"] == 150
    lines = run("inspect", "m.boscage").stdout.splitlines()
    for words in ("leaves 3", "max_leaf_nodes 3", "splits axis", "0 sl: number", "format 2"):
        assert any(line.split() == words.split() for line in lines), words
    assert "n_jobs" not in "".join(lines)


def test_the_file_is_what_python_loads(run, flowers):
    run("fit", flowers, "--target", "species", "-o", "m", "--criterion", "entropy", "--max-depth", "3")
    iris = load_dataset("iris")
    labels = np.array(iris.target_names)[iris.y]
    ours = boscage.TopDownTreeClassifier(criterion="entropy", max_depth=3).fit(iris.X, labels)
    loaded = boscage.load("m")
    np.testing.assert_array_equal(loaded.tree_.threshold, ours.tree_.threshold)
    assert loaded.classes_.tolist() == ours.classes_.tolist()
    assert loaded.feature_names_in_.tolist() == ["sl", "sw", "pl", "pw"]


def test_json_of_fit_and_predict(run):
    summary = json.loads(run("fit", "iris", "-o", "m", "--json").stdout)
    assert summary["training_accuracy"] == 1
    assert summary["rows"] == 150
    record = json.loads(run("predict", "m", "iris", "--proba", "--json").stdout)
    assert record["classes"] == ["setosa", "versicolor", "virginica"]
    assert len(record["prediction"]) == len(record["proba"]) == 150
    assert {len(row) for row in record["proba"]} == {3}
    tree = json.loads(run("show", "m", "--json").stdout)
    assert isinstance(tree, dict)


def test_proba_and_output_files(run, tmp_path):
    run("fit", "iris", "-o", "m", "--max-leaf-nodes", "2")
    rows = list(csv.DictReader(io.StringIO(run("predict", "m", "iris", "--proba").stdout)))
    assert list(rows[0]) == ["prediction", "proba_setosa", "proba_versicolor", "proba_virginica"]
    assert float(rows[0]["proba_setosa"]) == 1
    assert float(rows[149]["proba_virginica"]) == 0.5
    for name in ("p.csv", "p.json", "p.parquet"):
        told = run("predict", "m", "iris", "--proba", "-o", name)
        assert told.stdout == ""
        assert told.stderr == f"150 predictions; wrote {name}\n"
    assert pq.read_table(tmp_path / "p.parquet").column_names == list(rows[0])
    assert (tmp_path / "p.csv").read_text() == run("predict", "m", "iris", "--proba").stdout
    assert json.loads((tmp_path / "p.json").read_text())["prediction"][0] == "setosa"
    assert "the ending '.xls' is not known" in fails(run, "predict", "m", "iris", "-o", "p.xls")


def test_categories_go_by_name(run, tmp_path):
    (tmp_path / "t.csv").write_text(COLOURS)
    fitted = run("fit", "t.csv", "--target", "answer", "-o", "m", "--max-leaf-nodes", "2")
    assert "text columns treated as categories: colour" in fitted.stderr
    assert "red" in run("show", "m").stdout
    assert json.loads(run("inspect", "m", "--json").stdout)["columns"] == [
        {"name": "size", "type": "number"},
        {"name": "colour", "type": "3 categories", "categories": ["blue", "green", "red"]},
    ]
    (tmp_path / "new.csv").write_text("colour,size\nred,1\nblue,2\ngreen,3\npurple,4\n,5\n")
    answers = run("predict", "m", "new.csv").stdout.split()[1:]
    assert answers[:3] == ["yes", "no", "no"]
    assert answers[3] == answers[4]


def test_numbers_declared_as_categories(run, tmp_path):
    rows = "".join(f"{i % 3},{'yes' if i % 3 == 1 else 'no'}\n" for i in range(30))
    (tmp_path / "t.csv").write_text("code,y\n" + rows)
    run("fit", "t.csv", "-o", "m", "--categorical", "code", "--max-leaf-nodes", "2")
    (tmp_path / "new.csv").write_text("code\n0\n1\n2\n")
    assert run("predict", "m", "new.csv").stdout.split()[1:] == ["no", "yes", "no"]


def test_a_file_means_the_same_in_python_and_in_the_shell(run, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 60, 80), "port": rng.choice(["S", "C", "Q", None], 80)})
    table["alone"] = rng.random(80) < 0.5
    table["y"] = np.where(table["alone"] & (table["port"] != "C") | (table["age"] > 50), "yes", "no")
    table.to_csv("t.csv", index=False)
    table.to_parquet("t.parquet")
    frame = pd.read_csv("t.csv")
    ours = boscage.TopDownTreeClassifier(boscage.Axis(max_bins=64), random_state=0)
    ours.fit(frame.drop(columns="y"), frame["y"]).save("ours")
    text = ours.export_text()
    assert "alone in {False}" in text
    for name in ("t.csv", "t.parquet"):
        for how in ("--in-memory", "--batches"):
            run("fit", name, "-o", "m", "--max-bins", "64", how)
            assert run("show", "m").stdout.strip() == text.strip()
            assert run("predict", "m", "t.csv").stdout.split()[1:] == ours.predict(frame.drop(columns="y")).tolist()
        assert run("predict", "ours", name).stdout == run("predict", "m", "t.parquet").stdout
    run("compare", "t.csv", "--folds", "2", "--splits", "axis", "--criterion", "gini", "--out", "o")


def test_columns_that_need_a_decision(run, tmp_path):
    rows = "".join(f"{i},name {i},2024-01-{i % 28 + 1:02d},{i % 2}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("a,name,when,y\n" + rows)
    said = fails(run, "fit", "t.csv", "-o", "m", "--drop", "when")
    assert "40 different text values in column 'name'" in said
    assert "--drop" in said
    assert "--categorical" in said
    said = fails(run, "fit", "t.csv", "-o", "m", "--drop", "name")
    assert "'when' (date32[day]). Turn them into numbers" in said
    for how in ("--in-memory", "--batches"):
        run("fit", "t.csv", "-o", how, "--max-bins", "9", "--categorical", "name", "--categorical", "when", how)
    one, other = (boscage.load(how).tree_.schema.categories for how in ("--in-memory", "--batches"))
    assert one == other
    assert len(one[1]) == 40
    assert "row 1, column 'a'" in fails(run, *_with_infinity(tmp_path))
    (tmp_path / "word.csv").write_text("a,name,when\nx,name 1,2024-01-02\n")
    assert "'a' (string). They held numbers in fit" in fails(run, "predict", "--", "--batches", "word.csv")


def _with_infinity(folder):
    (folder / "inf.csv").write_text("a,y\n1,0\ninf,1\n")
    return "fit", "inf.csv", "-o", "m"


def test_missing_cells(run, tmp_path):
    rows = "".join(f"{'' if i % 4 == 0 else i},{i % 4 == 0}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("a,y\n" + rows)
    run("fit", "t.csv", "-o", "m")
    (tmp_path / "new.csv").write_text("a\n?\n3\n")
    assert run("predict", "m", "new.csv").stdout.split()[1:] == ["True", "False"]


def test_a_column_that_is_text_because_of_a_few_cells_is_told(run, tmp_path):
    rows = "".join(f"{i % 9 if i else 'lots'},{i % 3},{'a' if i % 2 else 'b7'},{i % 2}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("size,code,kind,y\n" + rows)
    told = "column 'size' would hold numbers but for 'lots'; leave such cells empty to have them as gaps"
    lines = run("fit", "t.csv", "-o", "m").stderr.splitlines()
    assert lines[:2] == ["text columns treated as categories: size, kind", told]
    assert len(lines) == 3
    assert told not in run("fit", "t.csv", "-o", "m", "--categorical", "size").stderr
    frame = pd.read_csv(tmp_path / "t.csv", dtype={"code": str})
    frame.drop(columns="size").to_parquet(tmp_path / "t.parquet")
    assert "would hold" not in run("fit", "t.parquet", "-o", "m").stderr


def test_arrow_files_are_read_in_memory_too(run, tmp_path, flowers):
    pd.read_csv(flowers).to_feather(tmp_path / "flowers.feather")
    run("fit", flowers, "-t", "species", "-o", "a")
    run("fit", "flowers.feather", "-t", "species", "-o", "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert run("predict", "a", "flowers.feather").stdout == run("predict", "a", flowers).stdout
    (tmp_path / "bad.arrow").write_text("not Arrow")
    assert fails(run, "fit", "bad.arrow", "-o", "m").startswith("bad.arrow: cannot be read as Arrow: ")


def test_weights_and_dropped_columns(run, tmp_path):
    # Weight 0 = row absent: the last row would ask for a split.
    (tmp_path / "t.csv").write_text("name,a,w,y\np,1,1,0\nq,2,2,0\nr,3,0.5,0\ns,4,0,1\n")
    told = run("fit", "t.csv", "-o", "m", "--weight", "w", "--drop", "name").stderr
    assert "1 leaf, depth 0" in told
    assert json.loads(run("inspect", "m", "--json").stdout)["training_weight"] == 3.5


def test_parts_and_limits_reach_the_tree(run):
    options = ["--criterion", "sqrt", "--growth", "depth_first", "--leaf", "majority", "--max-depth", "2"]
    options += ["--min-samples-leaf", "5", "--balanced", "--n-jobs", "2", "--seed", "3"]
    run("fit", "wine", "-o", "m", *options)
    facts = json.loads(run("inspect", "m", "--json").stdout)
    assert facts["depth"] == 2
    rows = run("predict", "m", "wine", "--proba").stdout.splitlines()[1:]
    assert {cell for row in rows for cell in row.split(",")[1:]} == {"0.0", "1.0"}


@pytest.mark.parametrize(
    "setting",
    ["max_depth=-3", "max_depth=deep", "splits__max_bins=1", "criterion=nope", "splits=nope", "class_weight=nope"],
)
def test_a_value_of_set_that_is_not_allowed_is_wrong_usage(run, flowers, setting):
    error = run("fit", flowers, "--target", "species", "-o", "m", "--set", setting, code=2).stderr
    assert "Invalid value for --set" in error
    assert setting.rpartition("=")[2] in error
    assert not Path("m").exists()


@pytest.mark.parametrize(
    ("model", "settings", "cls", "parameters"),
    [
        ("tree", ["splits__scale=unit", "min_samples_split=4"], "TopDownTreeClassifier", {"min_samples_split": 4}),
        ("forest", ["n_estimators=3", "bootstrap=bayesian"], "ForestClassifier", {"n_estimators": 3}),
        ("optimal", ["alpha=0.02", "time_limit=null"], "OptimalTreeClassifier", {"alpha": 0.02, "time_limit": None}),
        ("online", ["n_passes=2", "scaling=auto"], "OnlineTreeClassifier", {"n_passes": 2, "scaling": "auto"}),
        ("lomtree", ["max_internal_nodes=7"], "LOMTreeClassifier", {"max_internal_nodes": 7}),
    ],
)
def test_every_estimator_can_be_fitted_with_all_its_parameters(run, flowers, model, settings, cls, parameters):
    options = [option for text in settings for option in ("--set", text)]
    options += ["--splits", "stochastic"] if model == "tree" else []
    result = run("fit", flowers, "-t", "species", "-o", "m", "--model", model, *options)
    assert "training accuracy" in result.stderr
    fitted = boscage.load("m")
    assert type(fitted).__name__ == cls
    assert fitted.get_params().items() >= parameters.items()
    if model == "tree":
        assert fitted.splits.scale == "unit"
    if model == "optimal":
        assert "proven optimal" in result.stderr
    assert len(run("predict", "m", flowers).stdout.splitlines()) == 151


def test_batches_recognise_the_target_and_tell_of_text_as_memory_does(run, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"town": rng.choice(["Oslo", "Bergen"], 200), "size": rng.normal(size=200)})
    table["plan"] = pd.Categorical(rng.choice(["basic", "pro"], 200))
    table["price"] = 2.5 * table["size"] + (table["town"] == "Oslo")
    table.to_parquet(tmp_path / "homes.parquet")
    options = ["fit", "homes.parquet", "-t", "price", "--max-bins", "16", "--max-leaf-nodes", "4"]
    for how in ("--in-memory", "--batches"):
        told = run(*options, how, "-o", how).stderr
        assert "target 'price' is numeric: regression" in told
        assert "text columns treated as categories: town\n" in told
    assert boscage.load("--in-memory").tree_ == boscage.load("--batches").tree_
    assert (
        "holds fractional numbers" in run(*options, "--batches", "-o", "m", "--task", "classification", code=1).stderr
    )


def test_a_forest_in_batches_and_its_page(run, flowers, tmp_path):
    options = ["fit", flowers, "-t", "species", "--model", "forest", "--splits", "axis", "--max-bins", "16"]
    options += ["--set", "n_estimators=3", "--set", "calibrate=false"]
    said = run(*options, "-o", "parts", "--batches").stderr
    assert "150 rows, 3 trees" in said
    run(*options, "-o", "whole", "--in-memory")
    assert boscage.load("parts").trees_ == boscage.load("whole").trees_
    assert "|---" in run("show", "parts").stdout
    assert "3 trees" in run("show", "parts", "--html", "page.html", "--data", flowers, "-t", "species").stderr
    assert "Typical rows" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("m.h", "/"),
        ("m.sql", "CASE"),
        ("m.json", "{"),
        ("m.html", "<!doctype"),
        ("m.txt", "|---"),
        ("m.dot", "digraph"),
    ],
)
def test_export_by_suffix(run, tmp_path, flowers, name, begins):
    run("fit", flowers, "-t", "species", "-o", "m", "--max-leaf-nodes", "4")
    assert run("export", "m", "-o", name).stderr.endswith(f"wrote {name}\n")
    assert (tmp_path / name).read_text().lstrip().startswith(begins)


def test_export_refusals(run, flowers):
    run("fit", flowers, "-t", "species", "-o", "m", "--max-leaf-nodes", "4")
    assert "suffix" in fails(run, "export", "m", "-o", "m.xyz")
    run("export", "m", "-o", "m.xyz", "--format", "text")
    assert (
        "'poem' is not known; choose from onnx, c,"
        in run("export", "m", "-o", "m.txt", "--format", "poem", code=2).stderr
    )
    assert "there is no folder" in fails(run, "export", "m", "-o", "none/m.txt")
    assert "table cannot be combined with the format 'text'" in fails(run, "export", "m", "-o", "m.txt", "--table", "t")


def test_forests_are_shown_explained_and_exported(run, tmp_path, flowers):
    run("fit", flowers, "-t", "species", "-o", "m", "--model", "forest", "--set", "n_estimators=3")
    forest = boscage.load(tmp_path / "m")
    shown = run("show", "m", "--tree", "2")
    assert shown.stderr == "tree 2 of 3, numbered from 0\n"
    assert shown.stdout == forest.export_text(2) + "\n"
    assert run("show", "m").stdout == forest.export_text(0) + "\n"
    assert run("show", "m", "--tree", "3", code=1).stderr.startswith("error: tree=3 is not allowed")
    assert run("show", "m", "--html", "m.html").stderr.startswith("3 trees, ")
    assert json.loads(run("show", "m", "--json").stdout)["schema"] == "boscage-forest-1"
    assert ", the mean of 3 trees\n" in run("explain", "m", flowers, "--row", "150").stdout
    assert "name the table to query" in run("export", "m", "-o", "m.sql", code=2).stderr
    run("export", "m", "-o", "m.sql", "--table", "flowers")
    assert 'FROM "flowers"' in (tmp_path / "m.sql").read_text()
    run("export", "m", "-o", "m.h", "--name", "iris")
    assert "iris_predict(" in (tmp_path / "m.h").read_text()
    for name, comment in (("m.txt", "#"), ("m.dot", "//")):
        run("export", "m", "-o", name)
        lines = (tmp_path / name).read_text().splitlines()
        assert [line for line in lines if line.startswith(comment)] == [f"{comment} tree {i}" for i in range(3)]
    run("fit", flowers, "-t", "species", "-o", "single")
    assert "trees of a forest" in run("show", "single", "--tree", "0", code=2).stderr


def test_a_numeric_target_is_fitted_as_numbers(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.choice(["x", "y"], 80)})
    frame["price"] = 3 * frame.a + (frame.b == "x") + 0.01 * rng.normal(size=80)
    frame.to_csv("t.csv", index=False)
    result = run("fit", "t.csv", "-t", "price", "-o", "m", "--max-leaf-nodes", "6", "--json")
    assert "target 'price' is numeric: regression (for classification pass" in result.stderr
    summary = json.loads(result.stdout)
    assert (summary["task"], summary["leaves"]) == ("regression", 6)
    assert "training R²" in result.stderr
    model = boscage.load("m")
    assert type(model).__name__ == "TopDownTreeRegressor"
    predicted = [float(line) for line in run("predict", "m", "t.csv").stdout.splitlines()[1:]]
    np.testing.assert_allclose(predicted, model.predict(frame[["a", "b"]]))
    assert summary["training_r2"] == pytest.approx(model.score(frame[["a", "b"]], frame.price))
    assert json.loads(run("predict", "m", "t.csv", "--json").stdout) == {"prediction": predicted}
    assert "has no probabilities" in fails(run, "predict", "m", "t.csv", "--proba")
    assert "a <=" in run("show", "m").stdout
    run("explain", "m", "t.csv", "--row", "3")
    assert "does not support regression; --model tree or forest can" in run(
        "fit", "t.csv", "-t", "price", "-o", "n", "--model", "online", "--task", "regression", code=2
    ).stderr.replace("\n", " ")
    assert "pass --task regression" in fails(run, "fit", "t.csv", "-t", "price", "-o", "n", "--model", "online").lower()
    run("show", "m", "--html", "m.html", "--data", "t.csv", "-t", "price")
    assert '"quantiles":null' not in (tmp_path / "m.html").read_text()
    result = run("fit", "t.csv", "-t", "price", "-o", "p", "--max-bins", "64", "--batches", "--json")
    assert "target 'price' is numeric: regression (for classification pass" in result.stderr
    assert json.loads(result.stdout)["task"] == "regression"
    run("fit", "t.csv", "-t", "price", "-o", "q", "--max-bins", "64")
    assert boscage.load("p").tree_ == boscage.load("q").tree_
    assert "1 leaf," in run("fit", "t.csv", "-t", "price", "-o", "n", "--min-samples-leaf", "50").stderr


def test_options_of_other_models_name_what_there_is(run):
    message = " ".join(run("fit", "iris", "-o", "m", "--model", "online", "--max-depth", "3", code=2).stderr.split())
    assert "--max-depth" in message
    assert "cannot be combined with --model online: OnlineTreeClassifier has beam_width, class_weight" in message


def test_explain_a_row(run, flowers):
    run("fit", flowers, "-t", "species", "-o", "m", "--max-leaf-nodes", "3")
    text = run("explain", "m", flowers, "--row", "150").stdout
    assert text.startswith("virginica (probability 0.98) because\n  pl = 5.1 > ")
    record = json.loads(run("explain", "m", flowers, "--row", "150", "--json").stdout)
    total = np.array(record["base"]) + np.sum(list(record["contributions"].values()), axis=0)
    np.testing.assert_allclose(total, record["prediction"])
    assert record["outputs"] == ["setosa", "versicolor", "virginica"]
    assert "has 150 rows" in run("explain", "m", flowers, "--row", "151", code=2).stderr
    run("fit", flowers, "-t", "species", "-o", "n", "--model", "online")
    assert "has no tree to explain" in fails(run, "explain", "n", flowers)


def test_same_seed_same_bytes_whatever_the_threads(run, tmp_path):
    for jobs in (1, 2):
        run("fit", "wdbc", "-o", f"m{jobs}", "--n-jobs", jobs)
    assert (tmp_path / "m1").read_bytes() == (tmp_path / "m2").read_bytes()


def test_models_without_names_take_columns_by_position(run, tmp_path):
    iris = load_dataset("iris")
    boscage.TopDownTreeClassifier().fit(iris.X, iris.y).save("m")
    assert run("predict", "m", "iris").stdout.split()[1:] == [str(label) for label in iris.y]
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    assert fails(run, "predict", "m", "one.csv").startswith("one.csv: has 2 columns, the model needs 4")


# ---- refusals ----


def test_data_refusals(run, tmp_path, monkeypatch):
    def offline(*args, **kwargs):
        raise OSError("offline")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    (tmp_path / "t.csv").write_text("a,name,y\n" + "".join(f"{i},person {i},{i % 2}\n" for i in range(50)))
    assert fails(run, "fit", "none.csv", "-t", "y", "-o", "m") == "no such file: none.csv"
    assert "is not embedded" in fails(run, "fit", "irsi", "-o", "m")
    assert fails(run, "fit", "t.csv", "-t", "z", "-o", "m").startswith("t.csv: there is no column 'z' of labels; its")
    assert fails(run, "fit", "t.csv", "-t", "", "-o", "m").startswith("t.csv: there is no column '' of labels; its")
    assert "50 different text values in column 'name'" in fails(run, "fit", "t.csv", "-o", "m")
    assert "no column 'w' of weights" in fails(run, "fit", "t.csv", "-o", "m", "--weight", "w", "--drop", "name")
    assert "--max-bins 255" in run("fit", tmp_path, "-o", "m", code=2).stderr  # a folder is read in batches
    assert not (tmp_path / "m").exists()


def test_model_refusals(run, tmp_path, flowers):
    assert "none.boscage" in fails(run, "show", "none.boscage")
    (tmp_path / "bad").write_bytes(b"not a model")
    for command in (["show", "bad"], ["inspect", "bad"], ["predict", "bad", "iris"]):
        assert fails(run, *command).startswith("bad: not a Boscage model file.")
    run("fit", "iris", "-o", "m")
    content = bytearray((tmp_path / "m").read_bytes())
    (tmp_path / "cut").write_bytes(content[: len(content) // 2])
    fails(run, "inspect", "cut")
    assert "lacks columns 'sepal length (cm)'" in fails(run, "predict", "m", flowers)


def test_a_model_of_very_many_classes(run, tmp_path, flowers):
    iris = load_dataset("iris")
    frame = pd.DataFrame(iris.X, columns=["sl", "sw", "pl", "pw"])
    labels = np.array(iris.target_names)[iris.y]
    model = boscage.OnlineTreeClassifier(random_state=0).fit(frame, labels)
    model.save(tmp_path / "online")
    predicted = run("predict", "online", flowers, "--proba").stdout.splitlines()
    assert predicted[0] == "prediction," + ",".join(f"proba_{name}" for name in sorted(iris.target_names))
    assert [line.split(",")[0] for line in predicted[1:]] == model.predict(frame).tolist()
    facts = json.loads(run("inspect", "online", "--json").stdout)
    assert facts["model"] == "OnlineTreeClassifier"
    assert [column["name"] for column in facts["columns"]] == ["sl", "sw", "pl", "pw"]
    assert facts["classes"] == sorted(iris.target_names)
    assert facts["parameters"]["beam_width"] == 40
    assert "has no tree to show" in fails(run, "show", "online")


def test_output_that_cannot_be_written(run, tmp_path):
    assert fails(run, "fit", "iris", "-o", "nowhere/m") == "nowhere/m: there is no folder nowhere to write it to"
    (tmp_path / "folder").mkdir()
    assert fails(run, "fit", "iris", "-o", "folder").startswith("folder is a folder")
    with pytest.raises(FileNotFoundError, match=r"nowhere/m'$"):
        boscage.TopDownTreeClassifier().fit([[0.0], [1.0]], [0, 1]).save("nowhere/m")
    (tmp_path / "file").write_text("")
    assert fails(run, "compare", "iris", "--out", "file") == "file is a file; name the folder to write to"
    assert fails(run, "reproduce", "wodt", "--out", "file") == "file is a file; name the folder to write to"


def test_no_command_writes_over_what_it_reads(run, tmp_path, flowers):
    run("fit", flowers, "-t", "species", "-o", "m", "--max-leaf-nodes", "4")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for command in (
        ["fit", flowers, "-t", "species", "-o", "./flowers.csv"],
        ["predict", "m", flowers, "-o", "flowers.csv"],
        ["show", "m", "--html", "m"],
        ["show", "m", "--html", flowers, "--data", flowers],
        ["export", "m", "-o", tmp_path / "m", "--format", "text"],
    ):
        assert "is the file that is read; name another file to write" in fails(run, *command)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_sparse_rows_mean_the_same_as_dense_ones(run, tmp_path):
    np.savez(tmp_path / "s.npz", data=[1.0, 2.0], indices=[0, 2], indptr=[0, 1, 2], shape=[2, 3], y=[0, 1])
    np.savez(tmp_path / "d.npz", X=[[1.0, 0, 0], [0, 0, 2]], y=[0, 1])
    run("fit", "s.npz", "-o", "sparse")
    run("fit", "d.npz", "-o", "dense")
    assert (tmp_path / "sparse").read_bytes() == (tmp_path / "dense").read_bytes()
    assert run("predict", "dense", "s.npz").stdout == run("predict", "dense", "d.npz").stdout
    message = fails(run, "fit", "s.npz", "--max-bins", "8", "-o", "m")
    assert message.startswith("s.npz: holds sparse rows, which splits=Axis(max_bins=8) cannot take")


def test_markup_in_names_is_text(run, tmp_path):
    (tmp_path / "t.csv").write_text("[red]a[/red],y\n1,0\n2,1\n")
    assert "'[red]a[/red]'" in fails(run, "fit", "t.csv", "-t", "z", "-o", "m")


# ---- compare ----


def test_compare_writes_table_json_and_picture(run, tmp_path):
    result = run("compare", "iris", "--folds", "3", "--criterion", "gini", "--splits", "axis")
    lines = result.stdout.splitlines()
    end = next(k for k, line in enumerate(lines) if line.startswith(("Smallest tree", "Best accuracy")))
    families = [line.split("  ")[0] for line in lines[2:end]]
    peers = ("obliquetree", "contree", "lightgbm", "xgboost")  # where they are installed
    assert sorted(family for family in families if family not in peers) == [
        "axis", "forest", "oblique pruned", "online", "optimal", "sklearn boosting", "sklearn forest",
        "sklearn logistic", "sklearn tree", "sklearn tree",
    ]  # fmt: skip
    assert result.stderr == "wrote compare.json, compare.png and compare.html in boscage-compare\n"
    assert ANSI not in result.stdout + result.stderr
    record = json.loads((tmp_path / "boscage-compare" / "compare.json").read_text())
    assert record["settings"]["folds"] == 3
    assert record["data"]["name"] == "iris"
    assert (tmp_path / "boscage-compare" / "compare.png").stat().st_size > 10_000


def test_compare_a_csv_file_as_json(run, flowers):
    record = json.loads(run("compare", flowers, "--target", "species", "--out", "o", "--folds", "2", "--json").stdout)
    assert record["data"]["name"] == "flowers"
    assert {row["status"] for row in record["contenders"]} <= {"ok", "not run"}
    assert all(row["error"] for row in record["contenders"] if row["status"] == "not run")


def test_compare_by_another_metric(run, flowers):
    options = ["--splits", "axis", "--criterion", "gini", "--folds", "2", "--metric", "log_loss"]
    result = run("compare", flowers, "-t", "species", *options)
    assert "log-loss ± sd" in result.stdout
    assert "best log-loss" in result.stdout.lower()
    assert "metric='rmse' is not known for classification" in fails(
        run, "compare", flowers, "-t", "species", "--metric", "rmse"
    )


def test_compare_refuses_what_leaves_nothing_to_compare(run, tmp_path, flowers):
    refused = run("compare", flowers, "-t", "species", "--splits", "mixed", code=2).stderr
    assert "no model for classification has them" in refused
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i},name {i}\n" for i in range(20)))
    assert fails(run, "compare", "t.csv") == "folds=5 is not possible with t; every row has a class of its own"
    assert not (tmp_path / "boscage-compare").exists()


def test_compare_recognises_a_numeric_target(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(["x", "y"], 60)})
    frame["price"] = frame.a + (frame.b == "x") + 0.01 * rng.normal(size=60)
    frame.to_csv("t.csv", index=False)
    result = run("compare", "t.csv", "-t", "price", "--folds", "2")
    assert "target 'price' is numeric: regression" in result.stderr
    assert "RMSE ± sd" in result.stdout
    assert "axis    squared_error" in " ".join(result.stdout.split()).replace("axis squared", "axis    squared")
    assert re.search("not run: .*online.*: for classification only", result.stdout)
    message = fails(run, "compare", "t.csv", "-t", "price", "--criterion", "gini")
    assert "criterion=Gini() is for classification, not for regression. Pass one of 'squared_error'" in message


def test_compare_goes_on_after_an_interrupt(run, tmp_path, monkeypatch):
    from boscage import compare

    done = []
    one_fold = compare._one_fold

    def interrupting(*args):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(one_fold(*args))

    monkeypatch.setattr(compare, "_one_fold", interrupting)
    result = run("compare", "iris", "--folds", "2", "--out", "o", code=130)
    assert "interrupted after 1 of" in result.stderr
    record = json.loads((tmp_path / "o" / "compare.json").read_text())
    assert record["interrupted"] is True
    assert [row["name"] for row in record["contenders"]] == ["axis gini"]
    assert "axis" in result.stdout


def test_compare_without_matplotlib(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("compare", "iris", "--folds", "2", "--criterion", "gini", "--out", "o")
    assert "no picture: it needs the package matplotlib" in result.stderr
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["compare.html", "compare.json"]


def test_compare_where_everything_fails(run, tmp_path, monkeypatch):
    monkeypatch.setattr("boscage.compare._one_fold", lambda *args: 1 / 0)
    result = run("compare", "iris", "--folds", "2", "--out", "o", code=1)
    assert "division by zero" in result.stdout
    assert result.stderr.splitlines()[-1] == "error: every model failed"


def test_interrupted_fit_leaves_no_file(run, tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(boscage.TopDownTreeClassifier, "fit", interrupted)
    assert run("fit", "iris", "-o", "m", code=130).stderr == "interrupted\n"
    assert list(tmp_path.iterdir()) == []


# ---- a real process ----


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "boscage", *arguments], capture_output=True, text=True, timeout=120, **options
    )


def test_process_streams_and_codes(tmp_path):
    done = command("fit", "iris", "-o", "m", "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["leaves"] >= 3
    assert len(done.stderr.splitlines()) == 1
    assert ANSI not in done.stderr
    assert command("fit").returncode == 2


def test_a_closed_pipe_is_quiet(run, tmp_path):
    run("fit", "iris", "-o", "m")
    names = np.array(boscage.load("m").feature_names_in_, dtype=str)
    rows = np.ones((50_000, 4))  # far more than a pipe holds
    np.savez(tmp_path / "many.npz", X=rows, y=np.zeros(len(rows), int), feature_names=names)
    script = f"{sys.executable} -m boscage predict m many.npz --proba | head -n 1"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("prediction,")
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_in_a_real_process(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "boscage", "compare", "wdbc", "--folds", "100", "--repeats", "100", "--out", "o"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 100
        while not (tmp_path / "o").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "interrupted after" in err
    assert "Traceback" not in err
    assert json.loads((tmp_path / "o" / "compare.json").read_text())["interrupted"] is True
