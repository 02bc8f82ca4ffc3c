"""The experiments run, keep what they have computed, and print the paper's numbers beside ours."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import StratifiedKFold
from typer.testing import CliRunner

from boscage.cli import app
from boscage.experiments import run, weighted_optimal, wodt
from boscage.experiments._runner import PAPERS, Job, markdown_table


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(weighted_optimal, "ROWS", dict.fromkeys(weighted_optimal.TABLES, 90))
    monkeypatch.setattr(weighted_optimal, "SPEND", {"quick": ((2, 10), {4: (2, 100_000), 5: (1, 20)})})


@pytest.mark.parametrize("table", [1, 5])
def test_tables_of_each_data_set_and_depth(table, small, tmp_path):
    paths = run("weighted-optimal", table=table, out=tmp_path)
    text = (tmp_path / f"weighted-optimal-table-{table}.md").read_text()
    names = [f"weighted-optimal-table-{table}.md", "weighted-optimal-run.md", "weighted-optimal.json"]
    assert paths == [tmp_path / name for name in names]
    paper, deeper = text.split("`max_depth=5`, one level more than the paper")
    assert "`max_depth=4`, the paper's depth budget of 5" in paper
    header = "| p | DaB | paper | difference | sampling | paper | difference |"
    for part in (paper, deeper):
        assert part.count(header) + part.count(": no weights.") == 3
    assert "LSE, exact weights: " in paper, "proven at depth 4"
    assert "LSE, best found with the weights themselves: " in deeper, "twenty states prove nothing at depth 5"
    assert deeper.count(" † |") >= 4 > paper.count(" † |") == 0
    assert {1: "| 0.438 ± 0.000 |", 5: "| 0.194 ± 0.010 |"}[table] in text
    cells = list(json.loads(paths[-1].read_text()).values())
    first_fits = {1: 1, 5: 0}[table]  # weights by the errors of a first tree take one more fit
    assert len(cells) == 3 * (2 + 1) * (1 + 2 * 2 + first_fits)
    deep = [cell["result"] for cell in cells if cell["settings"]["depth"] == 5]
    assert all(cell["explored"] <= 20 for cell in deep)
    assert all(cell["result"]["status"] == "optimal" for cell in cells if cell["settings"]["depth"] == 4)


def test_problems_without_weights_say_so(small, tmp_path, monkeypatch):
    """Problems whose first tree makes no error have nothing to weigh; the others name its errors."""
    monkeypatch.setitem(weighted_optimal.ROWS, 1, 60)
    run("weighted-optimal", table=1, out=tmp_path)
    text = (tmp_path / "weighted-optimal-table-1.md").read_text().split("`max_depth=5`")[0]
    cells = json.loads((tmp_path / "weighted-optimal.json").read_text()).values()
    errors = {cell["name"]: cell["result"].get("errors") for cell in cells}
    found = {
        title: [errors[f"errors {kind} N=60 depth=4 seed={seed}"] for seed in (0, 1)]
        for kind, (title, _) in weighted_optimal.DATA.items()
    }
    assert {any(counts) for counts in found.values()} == {True, False}, "both happen"
    for title, counts in found.items():
        assert (f"{title}: no weights." in text) == (not any(counts))
        assert not any(counts) or f"draw by draw: {counts[0]}, {counts[1]}." in text


def test_a_proven_optimum_of_the_weights_is_never_worse_than_a_tree_of_copies(small, tmp_path):
    for table in (2, 4):
        run("weighted-optimal", table=table, out=tmp_path)
    cells = list(json.loads((tmp_path / "weighted-optimal.json").read_text()).values())
    best = {}
    for cell in cells:
        at = tuple(cell["settings"].get(key) for key in ("weights", "data", "n", "seed", "depth"))
        if cell["settings"].get("method") == "exact" and cell["result"]["status"] == "optimal":
            best[at] = cell["result"]["loss"] + weighted_optimal.ALPHA * cell["result"]["leaves"]
    compared = 0
    for cell in cells:
        at = tuple(cell["settings"].get(key) for key in ("weights", "data", "n", "seed", "depth"))
        if cell["settings"].get("method") in ("dab", "sampling") and at in best:
            compared += 1
            assert best[at] <= cell["result"]["loss"] + weighted_optimal.ALPHA * cell["result"]["leaves"] + 1e-9
    assert compared > 20


def test_verdicts_of_weighted_optimal_trees(small, tmp_path):
    assert not (tmp_path / "weighted-optimal-verdict.md").exists()
    paths = run("weighted-optimal", out=tmp_path)
    text = (tmp_path / "weighted-optimal-verdict.md").read_text()
    assert tmp_path / "weighted-optimal-verdict.md" in paths
    assert text.count("reproduced") >= 5
    assert "GOSDT" in text
    assert re.search(r"DaB lower in \d+, equal in \d+, higher in \d+ of 36 pairs", text)
    for figure in weighted_optimal.FIGURES:
        caption = (tmp_path / f"weighted-optimal-figure-{figure}.md").read_text()
        assert caption.startswith(f"# Figure {figure}: ")
        assert "rows that the unweighted tree gets wrong" in caption


def test_the_cpu_time_of_a_cell_counts_programs_that_it_starts(tmp_path):
    job = Job("lomtree", (), (), "quick", tmp_path, lambda line: None)
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    job.cell("child", {}, lambda: {"code": subprocess.run([sys.executable, "-c", burn], check=True).returncode})
    (cell,) = job.results.values()
    assert cell["cpu"] > 0.25


def test_a_second_run_goes_on_where_the_first_stopped(small, tmp_path, monkeypatch):
    class Stop(Exception):
        pass

    done = []

    def tell(line):
        done.append(line)
        if len(done) == 7:
            raise Stop

    with pytest.raises(Stop):
        run("weighted-optimal", table=4, out=tmp_path, tell=tell)
    stored = json.loads((tmp_path / "weighted-optimal.json").read_text())
    assert len(stored) == 7
    run("weighted-optimal", table=4, out=tmp_path, tell=done.append)
    assert len(done) == 45
    again = json.loads((tmp_path / "weighted-optimal.json").read_text())
    assert all(again[key] == cell for key, cell in stored.items())


def test_figures(small, tmp_path):
    written = run("weighted-optimal", figure=4, out=tmp_path)
    assert written[0].read_bytes().startswith(b"\x89PNG")


def test_the_command(small, tmp_path):
    result = CliRunner().invoke(app, ["reproduce", "weighted-optimal", "--table", "2", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert "weighted-optimal-table-2.md" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"paper": "x"}, "paper='x'"),
        ({"paper": "weighted-optimal", "table": 9}, "table=9"),
        ({"paper": "weighted-optimal", "figure": 5}, "figure=5"),
        ({"paper": "weighted-optimal", "budget": "huge"}, "budget='huge'"),
    ],
)
def test_nonsense_is_refused(arguments, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        run(**arguments, out=tmp_path)


def test_printed_numbers_are_whole():
    printed = json.loads(Path(weighted_optimal.__file__).with_suffix(".json").read_text())
    assert sorted(printed) == list("123456")
    values = np.array([[list(row.values()) for row in table.values()] for table in printed.values()])
    assert values.shape == (6, 8, 6, 2)
    assert values[..., 0].min() > 0.05
    assert values[..., 0].max() < 0.5


def test_all_papers_can_be_imported():
    from importlib import import_module

    for module in PAPERS.values():
        assert callable(import_module(f"boscage.experiments.{module}").reproduce)
    assert markdown_table(["a"], [["b"]]) == "| a |\n|---|\n| b |"


@pytest.fixture
def small_lomtree(monkeypatch):
    from boscage.experiments import lomtree
    from boscage.experiments._lomtree import fits as _lomtree_fits

    monkeypatch.setattr(_lomtree_fits, "RATES", (0.25, 4.0))
    monkeypatch.setattr(_lomtree_fits, "RESISTANCES", (4.0, 64.0))
    monkeypatch.setattr(lomtree, "DATA", ("wine", "iris"))
    monkeypatch.setattr(lomtree, "PRINTED", {"wine": 5.0})
    monkeypatch.setattr(lomtree, "SPEND", {"quick": (150, 2, 2, (0, 1))})
    return lomtree


def test_lomtree(small_lomtree, tmp_path, monkeypatch):
    asked = []

    def peer(train, test, options, passes):
        asked.append((options.format(k=3), passes, train[0].shape[0]))
        assert set(train[1]) <= {0, 1, 2} >= set(test[1])
        return {"error": 0.25, "train": 7.0, "predict": 3.0}

    monkeypatch.setattr(small_lomtree, "has_vw", lambda: True)
    monkeypatch.setattr(small_lomtree, "vw", peer)
    written = {path.name for path in run("lomtree", out=tmp_path)}
    pages = [*(f"table-{k}" for k in (1, 2, 3)), *(f"figure-{k}" for k in (1, 2, 3)), "verdict", "run"]
    assert {f"lomtree-{page}.md" for page in pages} <= written
    assert {"lomtree-table-3.png", *(f"lomtree-figure-{k}.png" for k in (1, 2, 3))} <= written
    table = (tmp_path / "lomtree-table-1.md").read_text()
    wine = next(line for line in table.splitlines() if line.startswith("| wine |")).split("|")
    assert wine[3].strip() == "135, 15, 18"
    assert float(wine[8]) == pytest.approx(5.0 - float(wine[6].split("±")[0]), abs=0.011), "print minus ours"
    assert [options.split()[0] for options, *_ in asked] == ["--log_multi", "--recall_tree", "--oaa"] * 2
    assert asked[0] == ("--log_multi 3 -l 0.5", 2, 150)
    assert (tmp_path / "lomtree-table-2.md").read_text().count("25.00, 7.0, 3.0") == 6
    verdicts = (tmp_path / "lomtree-verdict.md").read_text()
    assert verdicts.count("\n| ") == 10, "a heading and nine claims"
    assert "| wine | 1 |" in (tmp_path / "lomtree-figure-3.md").read_text()


def test_the_pair_of_a_lomtree_is_chosen_on_validation_rows(small_lomtree, tmp_path):
    """The chosen pair has the least validation error, and no test row is among the rows of the choice."""
    from boscage import LOMTreeClassifier
    from boscage.datasets import load_dataset
    from boscage.experiments._lomtree import fits

    run("lomtree", table=1, out=tmp_path)
    cells = json.loads((tmp_path / "lomtree.json").read_text()).values()
    data = load_dataset("wine")
    X, y = data.X.astype(np.float32), data.y
    train, validation, test = fits.cut("wine", 1, 150)
    assert len({*train, *validation}) == 150
    assert not {*test} & {*train, *validation}
    errors = {}
    for rate in (0.25, 4.0):
        for resistance in (4.0, 64.0):
            model = LOMTreeClassifier(n_passes=2, learning_rate=rate, swap_resistance=resistance, max_internal_nodes=6,
                                      random_state=0).fit(X[train], y[train])  # fmt: skip
            errors[rate, resistance] = float(np.mean(model.predict(X[validation]) != y[validation]))
    for cell in cells:
        if cell["name"].startswith("grid wine cut 1 "):
            for resistance, error in cell["result"]["errors"].items():
                assert error == errors[cell["settings"]["rate"], float(resistance)]
    best = min(errors, key=lambda pair: (errors[pair], pair))
    fitted = [c["settings"] for c in cells if c["name"].startswith("fit wine cut 1, training rows, mode lomtree")]
    assert {(s["learning_rate"], s["swap_resistance"]) for s in fitted} == {best}


def test_lomtree_without_data(small_lomtree, tmp_path, monkeypatch):
    monkeypatch.setattr(small_lomtree, "DATA", ("no-such-data",))
    written = {path.name for path in run("lomtree", out=tmp_path)}
    assert "| no-such-data | not at hand |" in (tmp_path / "lomtree-table-1.md").read_text()
    assert "Not at hand: no-such-data." in (tmp_path / "lomtree-figure-3.md").read_text()
    assert "lomtree-verdict.md" not in written


def test_vowpal_wabbit_learns_and_predicts(rng):
    from boscage.experiments._lomtree import vowpal as _vowpal

    if not _vowpal.has_vw():
        pytest.skip("needs vowpalwabbit")
    y = rng.integers(0, 4, 400)
    X = np.eye(4)[y] + 0.1 * rng.standard_normal((400, 4))
    for rows in (X, sparse.csr_array(X)):
        found = _vowpal.vw((rows[:300], y[:300]), (rows[300:], y[300:]), "--oaa {k}", 3)
        assert found["error"] < 0.05
        assert found["predict"] > 0


@pytest.fixture
def small_stochastic(monkeypatch):
    from boscage.experiments import stochastic

    little = {"folds": 1, "repeats": 2, "rows": 400, "noise": (0.0, 0.3), "widths": (6,)}
    monkeypatch.setattr(stochastic, "SPEND", {"quick": little})
    few = {name: value for name, value in stochastic.CONCEPTS.items() if "60 nodes" not in name}
    monkeypatch.setattr(stochastic, "CONCEPTS", few)
    kept = ("as published", "as published, columns as they are", "exact search", "joint leaves", "default rows")
    all_variants = stochastic.variants

    def few_variants(*columns, **limits):
        return {name: make for name, make in all_variants(*columns, **limits).items() if name in kept}

    monkeypatch.setattr(stochastic, "variants", few_variants)
    monkeypatch.setattr(stochastic.theorems, "NODES", {"fixed_p_search_q": (0.1, 5), "fixed_pq": (0.5, 2)})


def test_stochastic_trees_reach_the_printed_numbers(small_stochastic, tmp_path):
    written = run("stochastic", out=tmp_path)
    names = {path.name for path in written}
    for part in (*(f"figure-{number}" for number in range(1, 9)), "table-2"):
        assert {f"stochastic-{part}.md", f"stochastic-{part}.png"} <= names
    cells = json.loads((tmp_path / "stochastic.json").read_text())
    mean = {cell["name"]: cell["result"].get("mean") for cell in cells.values()}
    for data, floor in (("promoters", 0.85), ("heart-disease", 0.78), ("heart", 0.79)):
        assert mean[f"figure 1 {data} as published"] >= floor
    assert mean["figure 1 heart as published, columns as they are"] == pytest.approx(5 / 9), "the larger class"
    assert mean["appendix one plane as published"] > 0.96
    assert mean["soft error one plane frequency"] == pytest.approx(0.3, abs=0.03)
    assert mean["soft error one plane majority"] < 0.22
    assert mean["figure 3 d=6 look-ahead, at most 8 leaves"] > 0.85
    assert mean["table 1 b=0.0"] == pytest.approx(0.5 + 1 / np.pi, abs=0.01)
    # Two draws: their chance excess of one class lends the constant some weight.
    assert mean["table 1 b=3.0"] == pytest.approx(0.5 + 0.316 / np.pi, abs=0.03)
    assert "| 0.3 | 0.05 | 67 |" in (tmp_path / "stochastic-table-2.md").read_text()
    verdicts = (tmp_path / "stochastic-verdict.md").read_text()
    assert verdicts.count("\n| ") == 18, "a heading and seventeen claims"
    three = [mean[f"appendix XOR of three random planes, {nodes} nodes as published"] for nodes in (15, 30)]
    assert f"from 15 to 30 nodes: {three[1] - three[0]:+.3f} (print +0.09)" in verdicts


def test_one_tree_is_chosen_without_the_rows_that_judge_it():
    from boscage.experiments._stochastic_trees import ChosenOnTrainingRows

    class Constant:
        def __init__(self, label):
            self.label = label

        def fit(self, X, y):
            self.rows_ = len(y)
            return self

        def score(self, X, y):
            return float(np.mean(np.asarray(y) == self.label))

    X, y = np.zeros((30, 1)), np.repeat([0, 1], [10, 20])
    chosen = ChosenOnTrainingRows({"zero": lambda: Constant(0), "one": lambda: Constant(1)}).fit(X, y)
    assert chosen.name_ == "one"
    assert chosen.model_.rows_ == 30
    assert chosen.score(X[:5], [0, 0, 0, 0, 1]) == 0.2


def test_topdown_figures_and_tables(tmp_path, monkeypatch):
    from boscage.experiments import topdown

    little = {"splits": 31, "edges": (0.3,), "bits": (5, 9)}
    monkeypatch.setattr(topdown, "SPEND", {"quick": little})
    monkeypatch.setattr(topdown, "BITS", 5)
    seen = []
    written = run("topdown", out=tmp_path, advance=lambda done, text: seen.append(done))
    names = {path.name for path in written}
    assert {f"topdown-figure-{number}.png" for number in (2, 3, 8, 9, 10, 11, 12, 13)} <= names
    assert {"topdown-table-1.md", "topdown-table-1.png", "topdown-table-2.md", "topdown-table-3.md"} <= names
    assert len(names) == len(written)
    text = (tmp_path / "topdown-table-1.md").read_text()
    assert text.count("| yes |") == 12
    assert "| 5 | gini | 5 |" in (tmp_path / "topdown-table-3.md").read_text()
    statements = (tmp_path / "topdown-figures-8-13.md").read_text()
    assert "| 0.2 | 0.5000 to 0.5000 | 0.4328 to 0.5672 | 0.4000 to 0.6000 |" in statements
    assert "| 0.3 | 0.5000 to 0.5000 | 0.3983 to 0.6017 ✗ | 0.3500 to 0.6500 ✗ |" in statements
    sizes = (tmp_path / "topdown-table-4.md").read_text()
    assert "| wdbc | 569 | 0.923 | 22 | 20 | 17 |" in sizes
    assert "Square root against Gini, all sets:" in sizes
    verdicts = (tmp_path / "topdown-verdict.md").read_text()
    assert "in 12 of 12 grown trees" in verdicts
    assert seen == sorted(seen), "progress never goes back"
    assert seen[-1] == 12


@pytest.mark.parametrize("name", ["gini", "entropy", "sqrt"])
def test_the_paper_is_right_about_figures_8_to_13(name):
    from boscage.experiments.topdown import best_tau, tangent_gap

    q = np.linspace(0.01, 0.99, 99)
    assert (tangent_gap(name, q, 0.1, 0.4) < 0).all()
    assert (tangent_gap(name, q, 0.1, 0.6) > 0).all()
    low, high = best_tau(name, 0.1)
    assert 0.4 <= low <= high <= 0.6


@pytest.mark.parametrize("name", ["entropy", "sqrt"])
@pytest.mark.parametrize("gamma", [0.1, 0.3, 0.5])
def test_the_worst_tau_is_extreme_in_the_limit(name, gamma):
    """On a grid of q the least drop lies between the limits for q to 0 and 1, and comes close to them."""
    from boscage.experiments.topdown import best_tau, binary

    tau, q = (
        np.linspace(0.01, 0.99, 981)[:, None],
        np.concatenate([[1e-5, 1 - 1e-5], np.linspace(0.01, 0.99, 99)])[None],
    )
    low, high = q - gamma * q * (1 - q) / (1 - tau), q + gamma * q * (1 - q) / tau
    drop = binary(name, q) - (1 - tau) * binary(name, low) - tau * binary(name, high)
    worst = tau[np.where((low >= 0) & (high <= 1), drop, np.inf).argmin(axis=0), 0]
    ends = best_tau(name, gamma)
    assert worst.min() == pytest.approx(ends[0], abs=2e-3)
    assert worst.max() == pytest.approx(ends[1], abs=2e-3)
    assert worst.min() >= ends[0] - 1e-3


def test_the_limit_of_the_square_root_is_a_formula():
    from boscage.experiments.topdown import best_tau, largest_gamma

    assert best_tau("sqrt", 0.37) == pytest.approx(((1 - 0.37) / 2, (1 + 0.37) / 2), abs=1e-6)
    assert largest_gamma("sqrt") == pytest.approx(0.2, abs=1e-6)


def test_independent_bits_have_the_edge_they_promise():
    from boscage import TopDownTreeClassifier
    from boscage.experiments.topdown import independent_bits
    from boscage.theory import node_edges

    X, y, weight = independent_bits(4, 0.2)
    model = TopDownTreeClassifier(criterion="entropy").fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(np.abs(node_edges(model)["edge"]), 0.2, atol=1e-9)


def test_all_papers_go_into_folders_of_their_own(tmp_path, monkeypatch):
    from boscage.experiments import _runner

    monkeypatch.setattr(_runner, "PAPERS", {"topdown": "topdown"})
    monkeypatch.setattr("boscage.experiments.PAPERS", {"topdown": "topdown"})
    from boscage.experiments import topdown

    monkeypatch.setattr(topdown, "TABLES", ())
    monkeypatch.setattr(topdown, "FIGURES", (2,))
    result = CliRunner().invoke(app, ["reproduce", "all", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert (tmp_path / "topdown" / "topdown-figure-2.png").exists()
    assert CliRunner().invoke(app, ["reproduce", "all", "--table", "1"]).exit_code == 2


@pytest.fixture
def small_wodt(monkeypatch):
    from boscage.experiments import _wodt_causes, _wodt_divisions, _wodt_trees

    monkeypatch.setattr(_wodt_trees, "INNER", {"folds": 2, "divisions": 1, "rows": 100})
    monkeypatch.setattr(_wodt_trees, "PENALTIES", (0.0, 0.3))
    spend = {"folds": 3, "trials": 1, "small trials": 1, "cap": 0.5, "rows": 200, "deep rows": 200}
    monkeypatch.setattr(wodt, "SPEND", {"quick": spend})
    monkeypatch.setattr(wodt, "DATA", ("iris", "wine"))
    monkeypatch.setattr(wodt, "DEEP_DATA", ("wine",))
    monkeypatch.setattr(_wodt_causes, "DATA", ("iris",))
    monkeypatch.setattr(_wodt_divisions, "DIVISIONS", 4)
    return wodt


def scores_of(cells, name):
    return next(cell["result"]["accuracy"] for cell in cells if cell["name"] == name)


def test_wodt_tables_and_figures(small_wodt, tmp_path, monkeypatch):
    monkeypatch.delenv("BOSCAGE_DATA", raising=False)
    monkeypatch.setattr(small_wodt, "DATA", ("iris", "wine", "letter"))
    written = run("wodt", out=tmp_path, options={"methods": "WODT,oblique,APDT"})
    names = {path.name for path in written}
    assert {f"wodt-table-{k}.md" for k in (2, 3, 4, 5)} | {f"wodt-figure-{k}.png" for k in (1, 2, 3)} <= names
    assert "wodt-verdict.md" not in names, "not before all rivals have run"
    table = (tmp_path / "wodt-table-2.md").read_text()
    assert "| wine | 3 |" in table
    assert "0.9665" in table  # printed
    assert "letter" not in table.split("WODT is the published")[0]  # not at hand
    cells = json.loads((tmp_path / "wodt.json").read_text()).values()
    # The rivals were not asked for; 18 variants of the search for causes, and the divisions of both sets.
    assert len(cells) == 2 * 3 + 1 + 18 + 2
    single = {c["name"]: c["result"] for c in cells if c["name"].startswith("divisions")}
    assert single["divisions wine"]["accuracy"][0] == scores_of(cells, "tables wine WODT trial 0")
    assert "| wine | 178 | 0.9665 | none |" in (tmp_path / "wodt-table-5.md").read_text()
    assert "| wine | WODT |" in (tmp_path / "wodt-figure-2.md").read_text()  # from the fit of the tables
    scores = {c["name"]: np.mean(c["result"]["accuracy"]) for c in cells if "accuracy" in c["result"]}
    assert scores["tables wine oblique trial 0"] > 0.93
    assert scores["tables wine WODT trial 0"] > 0.9
    curve = next(c["result"] for c in cells if c["name"] == "depth wine oblique trial 0")
    assert curve["training"][-1] == 1
    done = []
    run("wodt", out=tmp_path, tell=done.append, options={"methods": "HHCART", "data": "iris"}, table=2)
    assert len([line for line in done if "not found" not in line]) == 1  # the others are known
    assert "| wine | 3 |" in (tmp_path / "wodt-table-2.md").read_text()


def test_verdicts_of_wodt(small_wodt, tmp_path, monkeypatch):
    """Every method runs, every claim gets a verdict, and the counts follow from the cells."""
    from scipy.stats import ttest_rel

    from boscage.experiments import _wodt_trees as trees
    from boscage.experiments import _wodt_verdicts as verdicts

    monkeypatch.setattr(trees, "NUS", (1.0,))
    monkeypatch.setattr(Job, "picture", lambda *args: None)
    monkeypatch.setattr(verdicts, "WIDE", ("wine",))
    run("wodt", out=tmp_path)
    page = (tmp_path / "wodt-verdict.md").read_text()
    claims = [line for line in page.splitlines() if line.count(" | ") == 2][1:]
    assert len(claims) == 12
    assert all(line.split(" | ")[1].split()[0] in ("reproduced", "not") for line in claims)
    cells = {c["name"]: c["result"] for c in json.loads((tmp_path / "wodt.json").read_text()).values()}
    signs = []
    for data in ("iris", "wine"):
        ours, rival = (cells[f"tables {data} {method} trial 0"]["accuracy"] for method in ("WODT", "APDT"))
        p = ttest_rel(ours, rival).pvalue if ours != rival else 1.0
        signs.append(np.sign(np.mean(ours) - np.mean(rival)) if p < 0.05 else 0)
    counted = "/".join(str(signs.count(sign)) for sign in (1, 0, -1))
    row = next(line for line in (tmp_path / "wodt-table-2.md").read_text().splitlines() if "loss, t-test" in line)
    assert row.split("|")[6].strip() == f"{counted} (2 sets)"


def test_means_of_one_division_are_told_from_means_of_ten(rng):
    """Accuracies drawn as one division are whole numbers of rows, means of ten in about a tenth of the cases."""
    from boscage.experiments import _wodt_divisions as divisions

    rows = 683
    right = rng.binomial(rows, 0.9, (2000, 10)) / rows
    for means, low, high in ((right[:, 0], 1, 1), (right.mean(axis=1), 0.05, 0.2)):
        whole = np.mean([divisions.right_rows(round(mean, 4), rows) is not None for mean in means])
        assert low <= whole <= high
    accuracy = rng.normal(0.9, 0.02, (4000, 5))
    cell = {"accuracy": accuracy.tolist()}
    assert divisions.deviations(cell, 0.9 + 2 * 0.02 / np.sqrt(5)) == pytest.approx(2, abs=0.15)
    assert divisions.whole_numbers(wodt.PRINTED["2"], wodt.ROWS)["WODT"] == [
        "iris", "heart", "breast", "diabetes", "vehicle", "fourclass"]  # fmt: skip


def test_significance_of_pairs():
    from boscage.experiments._wodt_verdicts import counts_text, significance

    same = [0.9, 0.8, 0.85]
    assert significance(same, same, 3) == 0
    assert significance(same, [0.91, 0.81, 0.86], 3) == -1, "the same difference in all runs"
    assert significance(same, [0.5], 3) is None
    assert significance([0.90, 0.92, 0.91, 0.95], [0.89, 0.90, 0.88, 0.91], 5) == 1
    assert significance([0.90, 0.92, 0.91, 0.95], [0.89, 0.90, 0.88, 0.91], 5, corrected=True) == 0
    assert counts_text([1, 1, 0, -1]) == "2/1/1 (4 sets)"


def test_the_plain_search_of_causes_finds_what_the_library_finds(rng):
    """Algorithm 1 in plain NumPy separates what a plane separates, in every variant."""
    from boscage.experiments import _wodt_causes as causes

    X = rng.standard_normal((120, 3))
    y = (X @ [1.0, -2.0, 0.5] > 0.2).astype(int)
    for variant in causes.variants("iris"):
        Z = causes.scaled(X, variant["columns"])
        said, leaves = causes.predictions(Z[:100], y[:100], Z, variant, 0)
        assert (said[:100] == y[:100]).all(), "grown until leaves are pure"
        assert (said[100:] == y[100:]).mean() > 0.7
        assert leaves <= 20
    ranges = {columns: causes.scaled(X, columns) for columns in causes.COLUMNS}
    assert ranges["[−1, 1]"][:, :3].min() == -1
    assert ranges["[0, 1]"][:, :3].min() == 0
    assert abs(ranges["standardised"][:, :3].mean()) < 1e-12


def test_the_gradient_of_the_plain_search(rng):
    from scipy.optimize import check_grad

    from boscage.experiments._wodt_causes import _objective

    X, one_hot = rng.standard_normal((40, 3)), np.eye(3)[rng.integers(0, 3, 40)]
    error = check_grad(
        lambda t: _objective(t, X, one_hot)[0], lambda t: _objective(t, X, one_hot)[1], rng.standard_normal(3)
    )
    assert error < 1e-4


def test_nu_and_eta_are_chosen_on_folds_of_the_training_rows(monkeypatch):
    from boscage.datasets import load_dataset
    from boscage.experiments import _wodt_trees as trees
    from boscage.splits import CO2

    monkeypatch.setattr(trees, "NUS", (0.1, 100.0))
    monkeypatch.setattr(trees, "ETAS", (0.003, 0.03))
    data = load_dataset("heart")
    X, y = data.X[:120], data.y[:120]
    chosen = trees.validated_co2(CO2(init="random", recut=False), X, y, 3)
    right = {}
    divisions = [StratifiedKFold(5, shuffle=True, random_state=seed) for seed in (3, 1003)]
    parts = [part for division in divisions for part in division.split(X, y)]
    for nu in trees.NUS:
        for eta in trees.ETAS:
            fits = [(trees.fit(CO2(init="random", nu=nu, eta=eta, recut=False), X[inner], y[inner], 3)[0], outer)
                    for inner, outer in parts]  # fmt: skip
            right[nu, eta] = sum((tree.predict(X[outer]) == y[outer]).sum() for tree, outer in fits)
    assert right[chosen.nu, chosen.eta] == max(right.values()) > min(right.values())
    assert (chosen.init, chosen.recut) == ("random", False)


def test_a_tree_cut_at_a_depth_is_the_tree_grown_to_it():
    from boscage import TopDownTreeClassifier
    from boscage.datasets import load_dataset
    from boscage.experiments import _wodt_trees as trees

    data = load_dataset("heart")
    grown = TopDownTreeClassifier("wodt", random_state=0).fit(data.X, data.y)
    curve = trees.accuracy_by_depth(grown, data.X, data.y)
    for depth, value in list(zip(trees.DEPTHS, curve, strict=True))[:3]:
        shallow = TopDownTreeClassifier("wodt", random_state=0, max_depth=depth).fit(data.X, data.y)
        assert shallow.score(data.X, data.y) == pytest.approx(value)


def right_on_folds(splits, X, y, **limits):
    """Rows that trees get right on the folds of a validation."""
    from boscage.experiments import _wodt_trees as trees

    fits = [
        (trees.fit(splits, X[inner], y[inner], 3, **limits)[0], outer) for inner, outer in trees.inner_cuts(X, y, 3)
    ]
    assert len(fits) == 10  # two divisions of 120 rows
    return sum((tree.predict(X[outer]) == y[outer]).sum() for tree, outer in fits)


def test_what_is_chosen_errs_least_on_the_folds(monkeypatch):
    from boscage.datasets import load_dataset
    from boscage.experiments import _wodt_trees as trees
    from boscage.splits import CartLC

    monkeypatch.setattr(trees, "INNER", {"folds": 5, "divisions": 1, "rows": 240})
    data = load_dataset("heart")
    X, y = data.X[:120], data.y[:120]
    candidates = [CartLC(elimination=share) for share in (1.0, 0.2)]
    splits, limits = trees.validated(candidates, (1, 2), X, y, 3)

    def scaled(limits):  # bits are bits of the rows that a tree is grown from
        return {name: value * 120 / 96 if name == "ccp_alpha" else value for name, value in limits.items()}

    choices = [{"max_depth": 1}, {"max_depth": 2}, *({"ccp_alpha": bits / 120} for bits in trees.BITS)]
    assert limits in choices
    counts = [right_on_folds(candidate, X, y, **scaled(choice)) for candidate in candidates for choice in choices]
    assert right_on_folds(splits, X, y, **scaled(limits)) == max(counts) > min(counts)


def test_the_depth_that_is_chosen_errs_least_on_the_folds(monkeypatch):
    from boscage.datasets import load_dataset
    from boscage.experiments import _wodt_trees as trees
    from boscage.splits import CartLC

    monkeypatch.setattr(trees, "INNER", {"folds": 5, "divisions": 1, "rows": 240})
    data = load_dataset("heart")
    X, y = data.X[:120], data.y[:120]
    depth = trees.validated_depth(CartLC(), X, y, 3)
    counts = {limit: right_on_folds(CartLC(), X, y, max_depth=limit) for limit in (*trees.DEPTHS, None)}
    assert counts[depth] == max(counts.values()) > min(counts.values())


def test_the_depth_of_rivals_is_chosen_on_large_data_only(monkeypatch):
    from boscage.experiments import _wodt_trees as trees
    from boscage.splits import CO2, OC1, CartLC

    monkeypatch.setattr(trees, "validated", lambda candidates, depths, *rest: (candidates, depths))
    monkeypatch.setattr(trees, "validated_depth", lambda *rest: 7)
    X, y = np.zeros((10, 2)), np.zeros(10)
    assert trees.chosen("OC1", OC1(), False, X, y, 0)[1] == {}
    assert trees.chosen("OC1", OC1(), True, X, y, 0)[1] == {"max_depth": 7}
    monkeypatch.setattr(trees, "validated_co2", lambda splits, *rest: splits)
    assert trees.chosen("CO2", CO2(), True, X, y, 0)[1] == {}
    candidates, depths = trees.chosen("CART-LC", CartLC(time_limit=7), False, X, y, 0)
    assert [(part.elimination, part.time_limit) for part in candidates] == [(share, 7) for share in trees.ELIMINATIONS]
    assert depths == ()
    monkeypatch.setattr(trees, "FEW_NUMBERS", 20)
    candidates, depths = trees.chosen("CART-LC", CartLC(), True, X, y, 0)
    assert [part.elimination for part in candidates] == [CartLC().elimination]
    assert depths == trees.DEPTHS


@pytest.mark.parametrize(
    ("options", "message"),
    [({"x": "1"}, "x='1' is not a setting"), ({"folds": "two"}, "wrong type"), ({"data": "iris,none"}, "data='none'")],
)
def test_wrong_settings_of_an_experiment(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        run("wodt", out=tmp_path, options=options)
    text = ",".join(f"{name}={value}" for name, value in options.items())
    assert CliRunner().invoke(app, ["reproduce", "wodt", "--set", text, "--out", str(tmp_path)]).exit_code == 1
    assert CliRunner().invoke(app, ["reproduce", "wodt", "--set", "folds", "--out", str(tmp_path)]).exit_code == 2
