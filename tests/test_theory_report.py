"""The boosting report of any tree, and the examples in which trees must be large."""

import json
import math

import numpy as np
import pytest

from boscage import StochasticLinear, TopDownTreeClassifier
from boscage.theory import (
    boosting_report,
    majority_curve,
    majority_rows,
    potential_bound,
    splits_needed,
    weak_test_curve,
    weak_test_error,
    weak_test_rows,
)


@pytest.fixture
def two_classes(rng):
    X = rng.normal(size=(600, 4))
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, "yes", "no"), rng.exponential(size=600)


@pytest.mark.parametrize("splits", ["axis", "stochastic"])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "sqrt", "modified_gini", "separation"])
def test_two_classes(splits, criterion, two_classes):
    if splits == "stochastic" and criterion == "separation":
        return
    X, y, w = two_classes
    model = TopDownTreeClassifier(splits, criterion, max_leaf_nodes=25).fit(X, y, sample_weight=w)
    report = boosting_report(model, X, y, w)
    table = report.table
    steps = model.trajectory_
    np.testing.assert_array_equal(table["node"], steps["node"][1:])
    np.testing.assert_allclose(table["potential"], steps["potential"][1:], atol=1e-5)
    np.testing.assert_allclose(table["error"], steps["error"][1:], atol=1e-5)
    assert report.start == pytest.approx(steps["potential"][0])
    assert report.holds, "no split drops less than promised"
    assert (table["promised_potential"] >= table["potential"] - 1e-9).all()
    if criterion in ("gini", "entropy", "sqrt"):
        assert report.edge == pytest.approx(np.abs(table["edge"]).min())
        np.testing.assert_allclose(
            table["bound"], potential_bound(criterion, report.edge, table["split"], start=report.start)
        )
        reached = np.concatenate([[report.start], table["potential"]])
        curve = potential_bound(criterion, report.effective, np.arange(len(reached)), start=report.start)
        assert (reached <= curve + 1e-6).all()
        assert np.abs(reached[1:] - curve[1:]).min() < 1e-6, "the effective edge is the largest such"
    printed = boosting_report(model, form="printed") if criterion != "modified_gini" else None
    if printed is not None and criterion != "separation":
        assert (printed.table["bound"] >= boosting_report(model).table["bound"] - 1e-12).all()
        assert (printed.table["promised"] <= boosting_report(model).table["promised"]).all()


def test_more_classes_use_j(rng):
    X = rng.normal(size=(500, 3))
    y = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0.3)
    for criterion in ("entropy", "gini", "modified_gini", "separation"):
        model = TopDownTreeClassifier(criterion=criterion, growth="heaviest_first", max_leaf_nodes=8).fit(X, y)
        report = boosting_report(model)
        assert report.holds
        assert math.isnan(report.effective)
        assert not np.isnan(report.table["bound"]).any()
        np.testing.assert_allclose(report.table["potential"], model.trajectory_["potential"][1:], atol=1e-9)
    assert np.isnan(boosting_report(TopDownTreeClassifier(criterion="sqrt").fit(X, y)).table["promised"]).all()


def test_a_report_can_be_read_and_stored(two_classes):
    X, y, _ = two_classes
    report = boosting_report(TopDownTreeClassifier(criterion="sqrt", max_leaf_nodes=30).fit(X, y))
    text = repr(report)
    assert "29 splits" in text
    assert "every drop as promised: yes" in text
    assert "…" in text
    assert len(text.splitlines()) == 2 + 1 + 13
    assert len(report.to_markdown().splitlines()) == 2 + 29
    assert len(report.to_markdown(max_rows=8).splitlines()) == 2 + 9
    stored = json.loads(json.dumps(report.to_dict()))
    assert stored["splits"][3]["drop"] == report.table["drop"][3]
    assert stored["holds"] is True


def test_a_single_leaf_and_a_given_edge(two_classes):
    X, y, _ = two_classes
    alone = boosting_report(TopDownTreeClassifier(min_impurity_decrease=10.0).fit(X, y))
    assert len(alone.table) == 0
    assert alone.holds
    assert "0 splits" in repr(alone)
    assert alone.to_dict()["edge"] is None
    given = boosting_report(TopDownTreeClassifier(max_depth=3).fit(X, y), gamma=0.05)
    assert given.edge == 0.05
    with pytest.raises(ValueError, match="form="):
        boosting_report(TopDownTreeClassifier(max_depth=3).fit(X, y), form="x")


def test_the_picture(two_classes):
    pytest.importorskip("matplotlib").use("Agg")
    X, y, _ = two_classes
    ax = boosting_report(TopDownTreeClassifier(criterion="entropy", max_leaf_nodes=20).fit(X, y)).plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()][2] == "potential G_t"
    assert boosting_report(TopDownTreeClassifier(criterion="sqrt").fit(X, np.arange(600) % 3)).plot(ax=ax) is ax


# where trees must be large -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["gini", "entropy", "sqrt"])
@pytest.mark.parametrize("n", [3, 5, 7])
def test_the_tree_for_majority_is_the_counted_one(criterion, n):
    X, y = majority_rows(n)
    steps = TopDownTreeClassifier(criterion=criterion).fit(X, y).trajectory_
    curve = majority_curve(n, len(steps) - 1, criterion)
    assert curve["splits"][-1] == len(steps) - 1
    np.testing.assert_allclose(steps["potential"][curve["splits"]], curve["potential"], atol=1e-9)
    assert curve["error"][-1] == pytest.approx(0, abs=1e-12)


def test_majority_needs_exponentially_many_splits():
    sizes = []
    for n in (11, 21, 31, 41):
        curve = majority_curve(n, 10**9)
        sizes.append(curve["splits"][np.argmax(curve["error"] <= 0.25 + 1e-12)])
    logs = np.log(np.array(sizes, dtype=float))
    assert (np.diff(logs) > 0.3).all(), sizes  # a constant factor for ten more bits


@pytest.mark.parametrize("criterion", ["gini", "entropy", "sqrt"])
@pytest.mark.parametrize("gamma", [0.1, 0.3])
def test_one_weak_test_grows_the_counted_tree(criterion, gamma):
    X, y = weak_test_rows(gamma)
    family = StochasticLinear(scale=False, fit_intercept=False)
    steps = TopDownTreeClassifier(family, criterion, max_leaf_nodes=64).fit(X, y).trajectory_
    curve = weak_test_curve(gamma, 63, criterion)
    np.testing.assert_allclose(steps["potential"][curve["splits"]], curve["potential"], atol=1e-7)
    # Ties may be taken in another order, which the error can see; a full tree has none.
    full = curve["splits"] == 1
    np.testing.assert_allclose(steps["error"][1], curve["error"][full], atol=1e-9)


@pytest.mark.parametrize("gamma", [0.05, 0.2, 0.4])
def test_one_weak_test_stays_between_its_bounds(gamma):
    for criterion in ("gini", "entropy", "sqrt"):
        curve = weak_test_curve(gamma, 4000, criterion)
        bound = potential_bound(criterion, gamma, curve["splits"])
        assert (curve["potential"] <= bound + 1e-9).all()
        assert (curve["error"] <= curve["potential"] / 2 + 1e-9).all()
        # No tree of depth d beats the vote of d tosses, and a tree of t splits has depth at most t.
        depth = np.minimum(curve["splits"], 4000)
        assert (curve["error"] >= [weak_test_error(gamma, int(d)) - 1e-9 for d in depth]).all()


def test_the_vote():
    assert weak_test_error(0.3, 0) == 0.5
    assert weak_test_error(0.5, 1) == 0
    assert weak_test_error(0.2, 2) == pytest.approx(weak_test_error(0.2, 1))
    # A full tree of depth d has 2^d − 1 splits: two fifths of the exponent of the sharp count are really needed.
    for gamma in (0.05, 0.1):
        depth = next(d for d in range(1, 10**5, 2) if weak_test_error(gamma, d) <= 0.01)
        assert depth * math.log(2) >= 0.4 * splits_needed("sqrt", gamma, 0.01, log=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: majority_rows(4), "n=4"),
        (lambda: majority_curve(4, 5), "n=4"),
        (lambda: weak_test_rows(0.7), r"edge=0\.7"),
        (lambda: weak_test_error(0.1, -1), "depth=-1"),
    ],
)
def test_nonsense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
