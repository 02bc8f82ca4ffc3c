"""The comparison: same folds for all, deterministic, robust against failures, and open to families not yet written."""

import io
import json
import math
import re
import sys
import types
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from boscage import _component
from boscage._compare_files import as_record, write_json, write_picture
from boscage._compare_html import write_report
from boscage._compare_table import comparison_notes, comparison_table, seconds
from boscage.compare import (
    Contender,
    Result,
    Settings,
    Task,
    contenders,
    corrected_t_test,
    peer_contenders,
    run_comparison,
    scikit_learn_contenders,
    standings,
    top_down_contenders,
)
from boscage.datasets import load_dataset
from boscage.splits.axis import Axis

SMALL = Settings(folds=3)


def task_of(name):
    data = load_dataset(name)
    return Task(name, data.X, data.y, data.categorical_features, data.origin)


def tree(name="tree", **parameters):
    return Contender(name, "gini", lambda: DecisionTreeClassifier(random_state=0, **parameters))


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no\n  luck")


class Warner(DecisionTreeClassifier):
    def fit(self, X, y):
        warnings.warn("careful", stacklevel=1)
        return super().fit(X, y)


def timeless(results):
    return [(r.name, r.accuracy, r.leaves, r.depth, r.error, r.warnings) for r in results]


def test_contenders_are_every_part_that_is_registered_and_scikit_learn():
    names = [contender.name for contender in contenders(task_of("iris"), SMALL)]
    assert len(set(names)) == len(names)
    for family in _component.names("splits"):
        assert any(name.startswith(family) for name in names), family
    for criterion in ("gini", "entropy", "sqrt", "modified_gini", "separation"):
        assert f"axis {criterion}" in names
    assert names[-4:] == ["optimal depth 3", "sklearn tree gini", "sklearn tree entropy", "sklearn logistic"]


def test_a_family_added_later_appears_by_itself(monkeypatch):
    class Later(Axis):
        needs = frozenset({"gini"})

    monkeypatch.setitem(_component.ROLES["splits"].parts, "later", Later)
    names = [contender.name for contender in top_down_contenders(task_of("iris"), SMALL)]
    # What does not go together by declaration is left out and not shown as a failure.
    assert [name for name in names if name.startswith("later")] == ["later gini"]


@pytest.mark.parametrize(("classes", "label"), [(160, "linear"), (161, "class tree")])
def test_the_online_row_says_whether_it_has_a_tree(classes, label):
    rows = np.arange(2.0 * classes)[:, None]
    chosen = contenders(Task("many", rows, np.arange(2 * classes) % classes), Settings())
    (online,) = [contender for contender in chosen if contender.family == "online"]
    assert online.name == f"online {label}"
    model = online.make().fit(rows, np.arange(2 * classes) % classes)[-1]
    assert (model._learner.state(False)["tree0.left"].size > 0) == (label == "class tree")


def test_estimators_carry_the_settings():
    settings = Settings(seed=7, n_jobs=2, max_depth=3, max_leaf_nodes=9, min_samples_leaf=4)
    for contender in contenders(task_of("promoters"), settings):
        model = contender.make()
        parameters = model[-1].get_params() if hasattr(model, "steps") else model.get_params()
        if contender.family == "optimal":
            assert (parameters["max_depth"], parameters["n_jobs"]) == (3, 2)
        elif contender.family not in ("sklearn logistic", "online"):
            assert [parameters[name] for name in ("max_depth", "max_leaf_nodes", "min_samples_leaf")] == [3, 9, 4]
            assert parameters["random_state"] == 7
        if contender.is_part:
            assert parameters["n_jobs"] == 2
            one_hot = hasattr(model, "steps")  # for families that take numbers only
            assert parameters["categorical_features"] == ("from_dtype" if one_hot else list(range(57)))


@pytest.mark.parametrize("name", ["iris", "heart-disease", "promoters", "tic-tac-toe"])
def test_every_contender_runs_on_numbers_missing_cells_and_categories(name):
    results = list(run_comparison(task_of(name), SMALL))
    assert [result.error for result in results if result.error] == []
    majority = np.bincount(load_dataset(name).y).max() / len(load_dataset(name).y)
    for result in results:
        assert len(result.accuracy) == 3
        assert result.mean("accuracy") > (majority - 0.15 if name == "heart-disease" else majority)
        assert all(time >= 0 for time in result.fit_seconds + result.predict_seconds)
        assert bool(result.leaves) == (result.family not in ("sklearn logistic", "online"))
        assert all(depth < leaves for depth, leaves in zip(result.depth, result.leaves, strict=True))


def test_same_seed_same_result_and_other_seed_other_folds():
    task = task_of("wine")
    first, second = (timeless(run_comparison(task, SMALL)) for _ in range(2))
    assert first == second
    other = timeless(run_comparison(task, Settings(folds=3, seed=1)))
    assert [row[1] for row in other] != [row[1] for row in first]


def test_accuracy_is_what_the_folds_say():
    task = task_of("heart")
    dummy = Contender("dummy", "", lambda: DummyClassifier(strategy="most_frequent"))
    (result,) = run_comparison(task, Settings(folds=5, repeats=2), [dummy])
    assert len(result.accuracy) == 10
    assert result.mean("accuracy") == pytest.approx(150 / 270)
    assert result.sd("accuracy") == pytest.approx(0, abs=1e-12)


def test_failures_and_warnings_do_not_stop_the_rest():
    chosen = [Contender("bad", "", Broken), tree(), Contender("loud", "", Warner)]
    bad, good, loud = run_comparison(task_of("iris"), SMALL, chosen)
    assert (bad.error, bad.accuracy) == ("no luck", [])
    assert good.error == ""
    assert loud.warnings == ["UserWarning: careful"]


def test_what_is_finished_before_an_interrupt_is_kept():
    def interrupt(contender):
        if contender.name == "second gini":
            raise KeyboardInterrupt

    run = run_comparison(task_of("iris"), SMALL, [tree("first"), tree("second")], interrupt)
    assert next(run).name == "first gini"
    with pytest.raises(KeyboardInterrupt):
        next(run)


def test_a_search_that_swallows_an_interrupt_stops_the_comparison():
    class Searcher(DecisionTreeClassifier):
        status_ = "interrupted"

    with pytest.raises(KeyboardInterrupt):
        list(run_comparison(task_of("iris"), SMALL, [Contender("search", "", Searcher), tree()]))


@pytest.mark.parametrize("folds", [1, 51])
def test_impossible_folds(folds):
    with pytest.raises(ValueError, match=f"folds={folds} is not possible with iris; pass a number from 2 to 50"):
        list(run_comparison(task_of("iris"), Settings(folds=folds)))


def test_one_class_cannot_be_compared():
    with pytest.raises(ValueError, match="all labels are the same"):
        list(run_comparison(Task("flat", np.eye(4), np.zeros(4)), SMALL, [tree()]))


def test_rare_classes_do_not_warn():
    y = np.array([0] * 10 + [1] * 10 + [2])
    (result,) = run_comparison(Task("rare", np.arange(21.0)[:, None], y), SMALL, [tree()])
    assert not result.error


def test_files(tmp_path):
    task = task_of("iris")
    results = list(run_comparison(task, SMALL, [tree(max_depth=2), Contender("bad", "", Broken)]))
    results += list(run_comparison(task, SMALL, list(scikit_learn_contenders(task, SMALL))[-1:]))
    record = as_record(task, SMALL, results, interrupted=False)
    write_json(tmp_path / "c.json", record)
    write_picture(tmp_path / "c.png", task, results)
    assert json.loads((tmp_path / "c.json").read_text(encoding="utf-8")) == record
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.json", "c.png"]
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    good, bad, linear = record["contenders"]
    assert good["status"] == "ok"
    assert good["accuracy"]["mean"] == pytest.approx(np.mean(good["accuracy"]["folds"]))
    assert (bad["status"], bad["error"], bad["accuracy"]["mean"]) == ("failed", "no luck", None)
    assert linear["leaves"] == {"mean": None, "sd": None, "folds": []}
    assert bad["behind_best"] is None
    assert linear["behind_best"] == {"accuracy": 0.0, "p": 1.0}
    assert 0 <= good["behind_best"]["p"] <= 1
    assert good["accuracy"]["half_width"] > 0
    assert record["data"]["rows"] == 150


def test_a_picture_of_nothing_is_still_a_picture(tmp_path):
    write_picture(tmp_path / "c.png", task_of("iris"), [Result("bad", "", error="no")])
    assert (tmp_path / "c.png").exists()


def test_table_is_sorted_and_fits_a_terminal():
    from rich.console import Console

    results = [
        Result("stochastic", "modified_gini", [0.5, 0.7], [10, 12], [3, 3], [123.0, 456.0], [1e-5, 1e-5]),
        Result("bad", "gini", error="[red]reason[/red]"),
        Result("sklearn logistic", "", [0.9, 0.9], fit_seconds=[1.0, 2.0], predict_seconds=[0.01, 0.02]),
        Result("axis", "gini", [0.5, 0.7], [4, 4], [2, 2], [0.1, 0.1], [0.1, 0.1], warnings=["W: a", "W: b"]),
    ]
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(comparison_table(results))
    lines = [line.split() for line in console.export_text().splitlines()]
    assert [line[0] for line in lines[2:6]] == ["sklearn", "axis", "stochastic", "bad"]
    assert lines[4][2:5] == ["0.600", "±", "0.141"]
    assert "…" not in str(lines)
    assert [note.plain for note in comparison_notes(results)] == [
        "bad gini failed: [red]reason[/red]", "axis gini: W: a", "axis gini: W: b",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0.0, "0.00 µs"), (0.9999e-3, "1000 µs"), (1.234e-5, "12.3 µs"), (0.25, "250 ms"), (61.0, "61.0 s")],
)
def test_durations(value, shown):
    assert seconds(value) == shown


# ---- telling contenders apart ----


def test_the_corrected_t_test_by_hand():
    # Differences 1, 2, 3, 4 of five folds (n_test/n_train = 1/4): mean 2.5, variance 5/3.
    t, p, half = corrected_t_test([1.0, 2.0, 3.0, 4.0], 0.25)
    error = math.sqrt((1 / 4 + 1 / 4) * 5 / 3)
    assert t == pytest.approx(2.5 / error)
    assert half == pytest.approx(3.182446305 * error)  # t table, 3 degrees of freedom, 97.5 %
    # The distribution of t with 3 degrees of freedom in closed form.
    u = t / math.sqrt(3)
    assert p == pytest.approx(2 * (0.5 - (u / (1 + u * u) + math.atan(u)) / math.pi))


def test_without_the_correction_it_is_the_plain_t_test():
    from scipy.stats import ttest_1samp

    values = [0.3, -0.1, 0.2, 0.25, 0.4]
    t, p, _ = corrected_t_test(values, 0.0)
    plain = ttest_1samp(values, 0.0)
    assert (t, p) == pytest.approx((plain.statistic, plain.pvalue))
    assert corrected_t_test(values, 0.25)[1] > p


def test_folds_that_agree():
    assert corrected_t_test([0.0, 0.0, 0.0], 0.5)[:2] == (0.0, 1.0)
    assert corrected_t_test([0.1, 0.1, 0.1], 0.5)[:2] == (math.inf, 0.0)
    assert all(math.isnan(number) for number in corrected_t_test([0.1], 0.5))


def steady(name, accuracy, leaves=3):
    wobble = [0.001, -0.001, 0.0, 0.001, -0.001]
    return Result(name, "", [accuracy + w for w in wobble], [leaves] * 5, [2] * 5, [0.1] * 5, [0.1] * 5)


def test_standings_and_stars():
    from rich.console import Console

    noisy = Result("noisy", "", [0.99, 0.7, 0.95, 0.8, 0.9], [3] * 5, [2] * 5, [0.1] * 5, [0.1] * 5)
    results = [steady("bad", 0.6), steady("good", 0.9), noisy, Result("broken", "", error="x"), steady("big", 0.9, 9)]
    where = standings(results, Settings())
    assert set(where) == {"bad", "good", "noisy", "big"}
    assert where["good"].is_best, "fewer leaves on ties"
    assert [where[name].is_worse for name in ("bad", "good", "noisy", "big")] == [True, False, False, False]
    assert where["bad"].behind == pytest.approx(0.3)
    assert where["big"].p == 1.0
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(comparison_table(results, where))
    starred = [line.split()[0] for line in console.export_text().splitlines() if "*" in line]
    assert starred == ["bad"]
    assert standings([], Settings()) == {}


# ---- the page ----


def test_the_page_shows_every_family_and_nothing_from_outside(tmp_path):
    data = load_dataset("wine")
    names = ("<b>alcohol</b>", *data.feature_names[1:])
    task = Task("<script>x</script>", data.X, data.y, (), "", names)
    chosen = [c for c in contenders(task, SMALL) if c.criterion not in ("sqrt", "modified_gini", "separation")]
    chosen = [c for c in chosen if c.family not in ("oc1", "cart_lc", "co2")] + [Contender("<i>bad</i>", "", Broken)]
    results = list(run_comparison(task, SMALL, chosen))
    write_report(tmp_path / "r.html", task, SMALL, results, chosen)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [tmp_path / "r.html"]
    outside = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert "<b>alcohol" not in outside
    assert "<i>bad" not in outside
    assert "&lt;i&gt;bad&lt;/i&gt;" in outside
    assert "&lt;script&gt;x&lt;/script&gt;" in outside
    assert not re.search(r"(src|href)=.?(http|//)", outside)
    assert outside.count("<tr") == 1 + len(results)
    assert outside.count("<details") == len({c.family for c in chosen} - {"sklearn logistic", "online", "<i>bad</i>"})
    assert outside.count("<details open") == 1
    assert "data:image/svg+xml;base64," in outside
    assert "Most accurate: <strong>" in outside
    assert "|--- " in outside, "scikit-learn's tree as text"


def test_the_page_without_results_or_trees(tmp_path):
    task = task_of("iris")
    write_report(tmp_path / "r.html", task, SMALL, [Result("bad", "", error="no")])
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "No contender finished" in text
    assert "failed: no" in text
    assert "<details" not in text.split("<script")[0]


def test_categories_are_named_in_trees_of_the_page(tmp_path):
    data = load_dataset("tic-tac-toe")
    task = Task("t", data.X, data.y, data.categorical_features, "", tuple(data.feature_names))
    chosen = [c for c in contenders(task, SMALL) if c.name in ("wodt gini", "sklearn tree gini")]
    write_report(tmp_path / "r.html", task, SMALL, list(run_comparison(task, SMALL, chosen)), chosen)
    assert f"{data.feature_names[4]}_" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_peers_take_part_where_they_are_installed(monkeypatch):
    from importlib.machinery import ModuleSpec

    class Classifier(DecisionTreeClassifier):
        def __init__(self, use_oblique=True, max_depth=-1, min_samples_leaf=1, random_state=None):
            super().__init__(min_samples_leaf=min_samples_leaf, random_state=random_state)
            self.use_oblique = use_oblique

        def fit(self, X, y):
            assert y.dtype == np.int64
            assert X.flags.c_contiguous
            return super().fit(X, y)

    module = types.ModuleType("obliquetree")
    module.Classifier = Classifier
    module.__spec__ = ModuleSpec("obliquetree", None)
    monkeypatch.setitem(sys.modules, "obliquetree", module)
    data = load_dataset("iris")
    task = Task("iris", data.X, np.array(["a", "b", "c"])[data.y])
    peers = [c for c in peer_contenders(task, SMALL) if c.family == "obliquetree"]
    (result,) = run_comparison(task, SMALL, peers)
    assert not result.error
    assert result.mean("accuracy") > 0.9
    assert list(peer_contenders(task_of("heart-disease"), SMALL)) == [], "they take no missing values"
