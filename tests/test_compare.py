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

from boscage.base import component as _component
from boscage.compare import (
    Contender,
    Result,
    Settings,
    Task,
    contenders,
    corrected_t_test,
    peer_contenders,
    run_comparison,
    standings,
    top_down_contenders,
    trade_off,
)
from boscage.compare._files import as_record, write_json, write_picture
from boscage.compare._page import write_report
from boscage.compare._table import comparison_notes, comparison_table, seconds
from boscage.datasets import load_dataset
from boscage.splits.axis import Axis

SMALL = Settings(folds=3)
PEERS = ("obliquetree", "contree", "lightgbm", "xgboost")
NO_TREES = ("forest", "sklearn logistic", "sklearn forest", "sklearn boosting", "online", "lightgbm", "xgboost")


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
    return [(r.name, r.scores, r.leaves, r.depth, r.error, r.warnings) for r in results]


def test_contenders_are_every_part_that_is_registered_and_scikit_learn():
    names = [contender.name for contender in contenders(task_of("iris"), SMALL)]
    assert len(set(names)) == len(names)
    for family in _component.names("splits"):
        assert any(name.startswith(family) for name in names), family
    for criterion in ("gini", "entropy", "sqrt", "modified_gini", "separation"):
        assert f"axis {criterion}" in names
    rest = ["optimal depth 3", "sklearn tree gini", "sklearn tree entropy", "sklearn logistic", "sklearn forest"]
    rest += ["sklearn boosting", "obliquetree", "contree depth 3", "lightgbm", "xgboost"]
    assert names[-10:] == rest


def test_a_family_added_later_appears_by_itself(monkeypatch):
    class Later(Axis):
        needs = frozenset({"gini"})

    monkeypatch.setitem(_component.ROLES["splits"].parts, "later", Later)
    later = [c for c in top_down_contenders(task_of("iris"), SMALL) if c.family == "later"]
    # What does not go together by declaration is listed with the reason and not shown as a failure.
    assert [c.name for c in later if not c.unavailable] == ["later gini"]
    reasons = {c.unavailable for c in later if c.unavailable}
    assert all(reason.startswith("needs ") for reason in reasons)
    results = list(run_comparison(task_of("iris"), SMALL, later))
    assert [r.name for r in results if r.status == "not run"] == [c.name for c in later if c.unavailable]


@pytest.mark.parametrize(("classes", "label"), [(160, "linear"), (161, "class tree")])
def test_the_online_row_says_whether_it_has_a_tree(classes, label):
    rows = np.arange(2.0 * classes)[:, None]
    task = Task("many", rows, np.arange(2 * classes) % classes, kind="classification")
    chosen = contenders(task, Settings())
    (online,) = [contender for contender in chosen if contender.family == "online"]
    assert online.name == f"online {label}"
    model = online.make().fit(rows, np.arange(2 * classes) % classes)[-1]
    assert (model._learner.state(False)["tree0.left"].size > 0) == (label == "class tree")


def test_estimators_carry_the_settings():
    settings = Settings(seed=7, n_jobs=2, max_depth=3, max_leaf_nodes=9, min_samples_leaf=4)
    ensembles = ("forest", "sklearn logistic", "sklearn forest", "sklearn boosting", "online", *PEERS)
    for contender in contenders(task_of("promoters"), settings):
        model = contender.make()
        parameters = model[-1].get_params() if hasattr(model, "steps") else model.get_params()
        if contender.family == "optimal":
            assert (parameters["max_depth"], parameters["n_jobs"]) == (3, 2)
        elif contender.family not in ensembles:
            assert [parameters[name] for name in ("max_depth", "max_leaf_nodes", "min_samples_leaf")] == [3, 9, 4]
            assert parameters["random_state"] == 7
        if contender.is_part:
            assert parameters["n_jobs"] == 2
            one_hot = hasattr(model, "steps")  # for families that take numbers only
            assert parameters["categorical_features"] == ("from_dtype" if one_hot else list(range(57)))
            assert one_hot == (contender.family == "stochastic")


@pytest.mark.parametrize("name", ["iris", "heart-disease", "promoters", "tic-tac-toe"])
def test_every_contender_runs_on_numbers_missing_cells_and_categories(name):
    results = list(run_comparison(task_of(name), SMALL))
    assert [result.error for result in results if result.status == "failed"] == []
    assert {result.family for result in results if result.status == "not run"} <= {*PEERS, "stochastic"}
    majority = np.bincount(load_dataset(name).y).max() / len(load_dataset(name).y)
    for result in results:
        if not result.was_run:
            continue
        assert all(len(result.scores[name]) == 3 for name in ("accuracy", "balanced_accuracy"))
        assert result.mean("accuracy") > (majority - 0.15 if name == "heart-disease" else majority)
        assert all(time >= 0 for time in result.fit_seconds + result.predict_seconds)
        assert bool(result.leaves) == (result.family not in NO_TREES)
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
    assert len(result.score) == 10
    assert result.mean("accuracy") == pytest.approx(150 / 270)
    assert result.sd("accuracy") == pytest.approx(0, abs=1e-12)


def test_failures_and_warnings_do_not_stop_the_rest():
    chosen = [Contender("bad", "", Broken), tree(), Contender("loud", "", Warner)]
    bad, good, loud = run_comparison(task_of("iris"), SMALL, chosen)
    assert (bad.error, bad.status, bad.score) == ("no luck", "failed", [])
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
    results += list(run_comparison(task, SMALL, [c for c in contenders(task, SMALL) if c.name == "sklearn logistic"]))
    record = as_record(task, SMALL, results, interrupted=False)
    write_json(tmp_path / "c.json", record)
    write_picture(tmp_path / "c.png", task, results)
    assert json.loads((tmp_path / "c.json").read_text(encoding="utf-8")) == record
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.json", "c.png"]
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    good, bad, linear = record["contenders"]
    assert good["status"] == "ok"
    assert good["accuracy"]["mean"] == pytest.approx(np.mean(good["accuracy"]["folds"]))
    assert (bad["status"], bad["error"], "accuracy" in bad) == ("failed", "no luck", False)
    assert linear["leaves"] == {"mean": None, "sd": None, "folds": []}
    assert bad["behind_best"] is None
    assert linear["behind_best"] == {"accuracy": 0.0, "p": 1.0}
    assert 0 <= good["behind_best"]["p"] <= 1
    assert good["half_width"] > 0
    assert record["metric"] == "accuracy"
    assert record["trade_off"]["tree"] == "tree gini"
    assert record["data"]["rows"] == 150


def test_a_picture_of_nothing_is_still_a_picture(tmp_path):
    write_picture(tmp_path / "c.png", task_of("iris"), [Result("bad", "", error="no")])
    assert (tmp_path / "c.png").exists()


def test_table_is_sorted_and_fits_a_terminal():
    from rich.console import Console

    results = [
        Result("stochastic", "modified_gini", {"accuracy": [0.5, 0.7]}, [10, 12], [3, 3], [123.0, 456.0], [1e-5, 1e-5]),
        Result("bad", "gini", error="[red]reason[/red]"),
        Result("sklearn logistic", "", {"accuracy": [0.9, 0.9]}, fit_seconds=[1.0, 2.0], predict_seconds=[0.01, 0.02]),
        Result(
            "axis", "gini", {"accuracy": [0.5, 0.7]}, [4, 4], [2, 2], [0.1, 0.1], [0.1, 0.1], warnings=["W: a", "W: b"]
        ),
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
    return Result(name, "", {"accuracy": [accuracy + w for w in wobble]}, [leaves] * 5, [2] * 5, [0.1] * 5, [0.1] * 5)


def test_standings_and_stars():
    from rich.console import Console

    noisy = Result("noisy", "", {"accuracy": [0.99, 0.7, 0.95, 0.8, 0.9]}, [3] * 5, [2] * 5, [0.1] * 5, [0.1] * 5)
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
    run = [result for result in results if result.was_run]
    assert outside.count("<tr") == 1 + len(run)
    assert all(result.name in outside for result in results if not result.was_run), "with the reason"
    assert outside.count("<details") == len({r.family for r in run} - {*NO_TREES, "<i>bad</i>"})
    assert outside.count("<details open") == 1
    assert "data:image/svg+xml;base64," in outside
    assert "Smallest tree within one standard error of the best accuracy" in outside
    assert "|--- " in outside, "scikit-learn's tree as text"


def test_the_page_without_results_or_trees(tmp_path):
    task = task_of("iris")
    write_report(tmp_path / "r.html", task, SMALL, [Result("bad", "", error="no")])
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "No model finished" in text
    assert "failed: no" in text
    assert "<details" not in text.split("<script")[0]


def test_categories_and_classes_are_named_in_trees_of_the_page(tmp_path):
    data = load_dataset("tic-tac-toe")
    labels = np.array(data.target_names)[data.y]
    task = Task("t", data.X, labels, data.categorical_features, "", tuple(data.feature_names), data.categories)
    wanted = ("axis gini", "wodt gini", "stochastic gini", "sklearn tree gini")
    chosen = [c for c in contenders(task, SMALL) if c.name in wanted]
    write_report(tmp_path / "r.html", task, SMALL, list(run_comparison(task, SMALL, chosen)), chosen)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    column, level = data.feature_names[4], data.categories[4][0]
    assert f"({column} = {level})" in text, "one-hot columns, in brackets beside weights and thresholds"
    assert f"{column} in {{{data.categories[4][1]}}}" in text, "sets of levels"
    assert f"{column}_" not in text
    assert f"class: {data.target_names[0]}" in text


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
    filled = [c for c in peer_contenders(task_of("heart-disease"), SMALL) if c.family == "obliquetree"]
    assert filled[0].prepared == "missing values replaced by column means"


def test_peers_that_are_not_installed_are_listed(monkeypatch):
    monkeypatch.setattr("boscage.compare._contenders.find_spec", lambda name: None)
    reasons = {c.family: c.unavailable for c in peer_contenders(task_of("iris"), SMALL)}
    assert reasons == {
        "obliquetree": "not installed: pip install obliquetree",
        "contree": "not installed: pip install pycontree",
        "lightgbm": "not installed: pip install lightgbm",
        "xgboost": "not installed: pip install xgboost",
    }


def test_sparse_rows_name_who_takes_none():
    from scipy.sparse import csr_array

    data = load_dataset("iris")
    task = Task("s", csr_array(data.X), data.y)
    chosen = contenders(task, SMALL)
    refused = {c.family for c in chosen if c.unavailable == "takes no sparse rows"}
    assert {"optimal", "sklearn boosting"} <= refused
    assert refused.isdisjoint({"axis", "oblique", "stochastic", "sklearn forest"})
    chosen = [c for c in chosen if c.criterion in ("gini", "", "linear")]
    assert [r.error for r in run_comparison(task, SMALL, chosen) if r.status == "failed"] == []


# ---- metrics ----


def test_metrics_of_classes_are_scikit_learns():
    from sklearn import metrics

    from boscage.compare._metrics import class_scores

    rng = np.random.default_rng(0)
    classes = np.array(["a", "b", "c"])
    y, proba = classes[rng.integers(0, 3, 60)], rng.dirichlet(np.ones(3), 60)
    predicted = classes[proba.argmax(1)]
    found = class_scores(y, predicted, proba, classes)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(y, predicted))
    assert found["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(y, predicted))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, proba, labels=classes))
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(y, proba, multi_class="ovr"))
    two = class_scores(y[y != "c"], y[y != "c"], proba[y != "c"][:, :2], classes[:2])
    assert two["auc"] == pytest.approx(metrics.roc_auc_score(y[y != "c"], proba[y != "c"][:, 1]))
    assert set(class_scores(y, predicted, None, classes)) == {"accuracy", "balanced_accuracy"}
    one = np.array(["a", "a"])
    assert "auc" not in class_scores(one, one, np.array([[1.0, 0, 0]] * 2), classes)


def test_metrics_of_numbers_are_scikit_learns():
    from sklearn import metrics

    from boscage.compare._metrics import number_scores

    y, predicted = np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])
    found = number_scores(y, predicted)
    assert found["rmse"] == pytest.approx(np.sqrt(1.25 / 3))
    assert found["mae"] == pytest.approx(0.5)
    assert found["r2"] == pytest.approx(metrics.r2_score(y, predicted))


@pytest.mark.parametrize("metric", ["log_loss", "auc", "balanced_accuracy"])
def test_a_metric_ranks_and_is_tested(metric, tmp_path):
    task, settings = task_of("heart"), Settings(folds=3, metric=metric)
    chosen = [tree("small", max_leaf_nodes=4), tree("large"), Contender("bad", "", Broken)]
    results = list(run_comparison(task, settings, chosen))
    where = standings(results, settings)
    sign = -1 if metric == "log_loss" else 1
    means = {result.name: result.mean(metric) for result in results if not result.error}
    best = max(means, key=lambda name: sign * means[name])
    assert where[best].is_best
    assert all(standing.behind == pytest.approx(abs(means[best] - means[name])) for name, standing in where.items())
    write_report(tmp_path / "r.html", task, settings, results, chosen)
    write_picture(tmp_path / "r.png", task, results, settings)
    assert as_record(task, settings, results, interrupted=False)["metric"] == metric


def test_a_metric_that_needs_probabilities():
    from sklearn.svm import LinearSVC

    task = task_of("iris")
    (result,) = run_comparison(task, Settings(folds=3, metric="auc"), [Contender("svm", "", LinearSVC)])
    assert result.error == "AUC cannot be computed: it predicts no probabilities"
    (result,) = run_comparison(task, SMALL, [Contender("svm", "", LinearSVC)])
    assert not result.error
    assert set(result.scores) == {"accuracy", "balanced_accuracy"}


def test_unknown_metrics_are_refused():
    with pytest.raises(ValueError, match="metric='rmse' is not known for classification; choose from accuracy, log_"):
        list(run_comparison(task_of("iris"), Settings(metric="rmse"), [tree()]))


# ---- numeric targets ----


def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    X[::7, 1] = np.nan
    X[:, 2] = rng.integers(0, 3, 90)
    return Task("n", X, X[:, 0] + (X[:, 2] == 1) + 0.1 * rng.normal(size=90), (2,), "", ("a", "b", "c"))


def test_the_kind_of_a_task_is_recognised():
    assert numbers().is_regression
    assert not task_of("iris").is_regression
    assert Task("prices", np.eye(300), np.arange(300)).is_regression
    assert not Task("many classes", np.eye(300), np.arange(300), kind="classification").is_regression
    assert not Task("rows of each", np.zeros((300, 1)), np.arange(300) % 60).is_regression
    with pytest.raises(ValueError, match="kind='numbers' is not known"):
        Task("x", np.eye(3), np.arange(3), kind="numbers")


@pytest.mark.parametrize("metric", [None, "mae", "r2"])
def test_numbers_are_compared(metric, tmp_path):
    task, settings = numbers(), Settings(folds=3, metric=metric)
    chosen = contenders(task, settings)
    results = list(run_comparison(task, settings, chosen))
    assert [result.error for result in results if result.status == "failed"] == []
    assert {"axis", "forest", "sklearn tree", "sklearn ridge", "sklearn forest", "sklearn boosting"} <= {
        result.family for result in results if not result.error
    }
    for result in results:
        if result.error:
            continue
        assert result.mean("r2") > 0
        assert result.mean("rmse") >= result.mean("mae") > 0
    write_report(tmp_path / "r.html", task, settings, results, chosen)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "numeric target" in text
    assert "for classification only" in text


@pytest.mark.parametrize(
    ("size", "shown"), [(1.66e-6, "1.66e-06 ± 1.92e-08"), (0.0166, "0.0166 ± 0.000192"), (1.66, "1.660 ± 0.019")]
)
def test_small_errors_are_shown_with_three_digits(size, shown):
    errors = [size * (1 + 0.01 * sign) for sign in (-1, 1, -1, 1)]
    result = Result("axis", "", {"rmse": errors}, [2] * 4, [1] * 4, [0.1] * 4, [0.1] * 4, metric="rmse")
    assert [str(cell) for cell in comparison_table([result]).columns[2].cells] == [shown]


def test_a_family_that_cannot_run_at_all_is_one_line_with_the_reason():
    listed = [contender for contender in top_down_contenders(numbers(), SMALL) if contender.unavailable]
    (only,) = [contender for contender in listed if contender.family == "co2"]
    assert (only.criterion, only.unavailable) == ("", "needs a split family for regression")
    assert all(contender.criterion for contender in listed if contender.family in ("stochastic", "wodt", "oc1"))
    reasons = {contender.criterion: contender.unavailable for contender in listed if contender.family == "axis"}
    assert reasons["poisson"] == "needs y >= 0", "the target has negative numbers"


@pytest.mark.parametrize("width", [1280, 390])
def test_the_table_is_sorted_by_any_column(browser, tmp_path, width):
    from browser import Tab

    results = [steady("bad", 0.6, 9), steady("good", 0.9, 30), steady("small", 0.8, 2), Result("broken", "", error="x")]
    results.append(Result("linear", "", {"accuracy": [0.7] * 5}, fit_seconds=[0.1] * 5, predict_seconds=[0.1] * 5))
    write_report(tmp_path / "r.html", task_of("iris"), Settings(), results)
    with Tab(browser, tmp_path / "r.html", viewport={"width": width, "height": 800}) as page:

        def order():
            return page.eval_on_selector_all(
                "table.sortable tbody tr", "rows => rows.map(row => row.cells[0].innerText)"
            )

        assert order() == ["good", "small", "linear", "bad", "broken"]
        page.get_by_role("button", name="leaves", exact=True).click()
        assert order() == ["small", "bad", "good", "linear", "broken"], "what has no leaves comes last"
        assert page.locator("th[aria-sort]").inner_text().startswith("leaves")
        page.get_by_role("button", name="leaves", exact=True).press("Enter")
        assert order() == ["good", "bad", "small", "linear", "broken"]
        page.get_by_role("button", name="splits", exact=True).click()
        assert order() == ["bad", "broken", "good", "linear", "small"]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "only the table scrolls sideways"


# ---- accuracy against leaves ----


def test_the_headline_weighs_accuracy_against_leaves():
    from boscage.compare._table import headline

    def result(name, accuracy, leaves):
        wobble = [0.02, -0.02, 0.0, 0.02, -0.02]
        sizes = [leaves] * 5 if leaves else []
        return Result(name, "", {"accuracy": [accuracy + w for w in wobble]}, sizes, sizes)

    # The standard error of the best is sqrt((1/5 + 1/4) * 0.0004) = 0.0134.
    results = [result("forest", 0.95, 0), result("small", 0.94, 4), result("tiny", 0.93, 2), result("large", 0.945, 9)]
    results += [result("sklearn tree", 0.92, 20), result("poor", 0.90, 3)]
    weighed = trade_off(results, Settings())
    assert (weighed.best.name, weighed.tree.name, weighed.is_within) == ("forest", "small", True)
    assert weighed.standard_error == pytest.approx(np.sqrt(0.45 * 0.0004))
    assert [tree.name for tree in weighed.front] == ["tiny", "small", "large"]
    assert headline(weighed) == [
        "Smallest tree within one standard error of the best accuracy: small, 0.940 with 4.0 leaves.",
        "Best accuracy: forest, 0.950.",
        "For comparison: sklearn tree, 0.920 with 20.0 leaves.",
    ]
    far = trade_off([result("forest", 0.95, 0), result("poor", 0.90, 3)], Settings())
    assert not far.is_within
    assert headline(far)[1] == (
        "No single tree comes within one standard error; the best one is poor, 0.900 with 3.0 leaves."
    )
    assert headline(trade_off([result("forest", 0.95, 0)], Settings()))[0].endswith("No model is a single tree.")
    alone = trade_off([result("tree", 0.95, 3)], Settings())
    assert headline(alone)[0].startswith("Best accuracy: tree, 0.950 with 3.0 leaves; no smaller tree")
    assert trade_off([], Settings()) is None
