"""Duplication: means, spreads and totals of the counts, the bounds, and the meta-estimator."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from boscage import DuplicateWeights, OptimalTreeClassifier, duplicate_dab, duplicate_sampled, duplication_bound
from boscage.datasets import make_linear_with_errors


def test_dab_counts_have_the_right_mean_spread_and_total(rng):
    weight = rng.exponential(size=40)
    wanted = weight / weight.sum() * 40 * 2.5
    counts = np.array([duplicate_dab(weight, 2.5, seed) for seed in range(4000)])
    assert set(np.unique(counts - np.floor(wanted))) <= {0, 1}
    chance = wanted - np.floor(wanted)
    spread = np.sqrt(chance * (1 - chance))
    np.testing.assert_allclose(counts.mean(axis=0), wanted, atol=0.04)
    np.testing.assert_allclose(counts.std(axis=0), spread, atol=0.04)
    totals = counts.sum(axis=1)
    assert totals.mean() == pytest.approx(100, abs=0.2)
    assert totals.std() == pytest.approx(np.sqrt((spread**2).sum()), rel=0.1)
    assert totals.std() <= np.sqrt(40) / 2 + 0.1


def test_sampled_counts_are_multinomial(rng):
    weight = rng.exponential(size=30)
    share = weight / weight.sum()
    counts = np.array([duplicate_sampled(weight, 3, seed) for seed in range(4000)])
    assert (counts.sum(axis=1) == 90).all()
    np.testing.assert_allclose(counts.mean(axis=0), 90 * share, atol=0.25)
    np.testing.assert_allclose(counts.var(axis=0), 90 * share * (1 - share), rtol=0.15, atol=0.05)


def test_whole_numbers_lose_nothing_to_rounding():
    weight = np.array([0.29, 0.71])
    assert duplicate_dab(weight, 50).tolist() == [29, 71]
    assert duplicate_dab([1, 2, 3, 0], 3, random_state=0).tolist() == [2, 4, 6, 0]
    assert duplicate_dab(np.full(7, 0.1), 3).tolist() == [3] * 7


def test_exact_total(rng):
    weight = rng.exponential(size=50)
    wanted = weight / weight.sum() * 50 * 1.7
    counts = np.array([duplicate_dab(weight, 1.7, seed, exact_total=True) for seed in range(3000)])
    assert (counts.sum(axis=1) == 85).all()
    assert (np.abs(counts - wanted) < 1 + 1e-9).all()
    np.testing.assert_allclose(counts.mean(axis=0), wanted, atol=0.05)


def test_seeds():
    weight = np.linspace(0.1, 1, 50)
    for duplicate in (duplicate_dab, duplicate_sampled):
        np.testing.assert_array_equal(duplicate(weight, 1.5, 3), duplicate(weight, 1.5, 3))
        assert (duplicate(weight, 1.5, 3) != duplicate(weight, 1.5, 4)).any()
        np.testing.assert_array_equal(duplicate(weight * 2.0**1000, 1.5, 3), duplicate(weight, 1.5, 3))


@pytest.mark.parametrize("duplicate", [duplicate_dab, duplicate_sampled])
def test_bad_budgets_and_weights_are_refused(duplicate):
    for budget in (0, -1, np.nan, np.inf, "2", True):
        with pytest.raises(ValueError, match="budget="):
            duplicate([1.0, 2.0], budget)
    for weight in ([1, -1], [1, np.nan], [np.inf, 1], [0, 0], [], 3.0):
        with pytest.raises(ValueError, match="sample_weight"):
            duplicate(weight, 2)


@pytest.mark.parametrize("form", ["paper", "sharp"])
@pytest.mark.parametrize("method", ["dab", "sampling"])
def test_the_bound_holds_for_the_worst_labeling(method, form, rng):
    n, p, delta = 60, 3.0, 0.1
    duplicate = duplicate_dab if method == "dab" else duplicate_sampled
    weight = rng.uniform(0.5, 1.5, n)
    wanted = weight / weight.sum()
    worst = []
    for seed in range(400):
        error = duplicate(weight, p, seed) / (n * p) - wanted
        worst.append(max(error[error > 0].sum(), -error[error < 0].sum()))
    bound = duplication_bound(n, p, delta, method=method, form=form)
    assert np.mean(np.array(worst) > bound) <= delta
    assert duplication_bound(n, p, delta, method=method) <= duplication_bound(n, p, delta, method=method, form="paper")


def test_bounds_refuse_nonsense():
    for arguments in ((0, 1), (10, 0), (10, 1, 0), (10, 1, 1.5)):
        with pytest.raises(ValueError, match="is not allowed"):
            duplication_bound(*arguments)
    for name in ("method", "form"):
        with pytest.raises(ValueError, match=f"{name}='x'"):
            duplication_bound(10, 1, **{name: "x"})


class Recorder(ClassifierMixin, BaseEstimator):
    """Takes no weights; remembers what it was fitted on."""

    def fit(self, X, y, groups=None):
        self.seen_ = X, y, groups
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_rows_and_row_wise_arguments_are_copied():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]})
    model = DuplicateWeights(Recorder(), budget=3).fit(frame, [0, 1, 1], sample_weight=[1, 2, 3], groups=[7, 8, 9])
    X, y, groups = model.estimator_.seen_
    assert X["b"].tolist() == ["x", "y", "y", "z", "z", "z"]
    assert y.tolist() == [0, 1, 1, 1, 1, 1]
    assert list(groups) == [7, 8, 8, 9, 9, 9]
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.counts_.tolist() == [1, 2, 3]


def test_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        inner = Recorder().set_fit_request(groups=True)
        model = DuplicateWeights(inner).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        model.fit(np.eye(3), [0, 1, 1], sample_weight=[1, 1, 2], groups=[1, 2, 3])
        assert list(model.estimator_.seen_[2]) == [1, 2, 3, 3]
        search = sklearn.model_selection.GridSearchCV(model, {"budget": [1, 2]}, cv=2)
        X, y = make_linear_with_errors(40, random_state=0)
        search.fit(X, y, sample_weight=np.linspace(0.5, 1.5, 40), groups=np.arange(40))
        assert search.best_estimator_.counts_.sum() > 0


def test_probabilities_cover_classes_without_copies():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 2, 2])
    model = DuplicateWeights(DecisionTreeClassifier(), budget=1).fit(X, y, sample_weight=[1, 1, 1, 1, 0, 0])
    assert model.predict_proba(X).shape == (6, 3)
    assert (model.predict_proba(X)[:, 2] == 0).all()
    assert not hasattr(DuplicateWeights(Recorder()), "predict_proba")


def test_a_large_budget_approaches_the_weighted_optimum(rng):
    X, y = make_linear_with_errors(200, 2, 2, 0.25, random_state=0)
    weight = rng.exponential(size=200) + 0.05
    exact = OptimalTreeClassifier(2).fit(X, y, weight)
    copied = DuplicateWeights(OptimalTreeClassifier(2), budget=50, random_state=0).fit(X, y, sample_weight=weight)

    def loss(model):
        return weight[model.predict(X) != y].sum() / weight.sum()

    leaves = copied.estimator_.get_n_leaves()
    reached = loss(copied) + 0.001 * leaves
    assert exact.objective_ <= reached + 1e-12
    assert reached <= exact.objective_ + 2 * duplication_bound(200, 50) + 0.001


def test_bad_parameters():
    with pytest.raises(ValueError, match="method='x'"):
        DuplicateWeights(Recorder(), "x").fit([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match="budget=-1"):
        DuplicateWeights(Recorder(), budget=-1).fit([[0], [1]], [0, 1])
    model = DuplicateWeights(Recorder(), budget=1e-9, random_state=0)
    with pytest.raises(ValueError, match="no copy"):
        model.fit([[0], [1], [2]], [0, 1, 1], sample_weight=[1, 2.5, 3.7])
    assert not hasattr(model, "estimator_")


@parametrize_with_checks(
    [
        DuplicateWeights(LogisticRegression()),
        DuplicateWeights(KNeighborsClassifier(), "sampling"),
        DuplicateWeights(DecisionTreeClassifier(), budget=3),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_labels_are_refused(missing):
    with pytest.raises(ValueError, match="NaN"):
        DuplicateWeights(DecisionTreeClassifier()).fit(np.eye(3), np.array(["u", missing, "v"], dtype=object))
