"""scikit-learn's own checks, on a pairwise cover of the parts, with no expected failure."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from boscage import Frequency, IncompatibleParts, Linear, Polish, TopDownTreeClassifier, WeightedOblique
from boscage.base.component import names, resolve

ROLES = ["splits", "criterion", "growth", "leaf"]


def product():
    return [dict(zip(ROLES, parts)) for parts in itertools.product(*map(names, ROLES))]


def pairwise_cover(combinations):
    """A small subset in which every pair of parts that occurs together still does."""
    missing = {pair for c in combinations for pair in itertools.combinations(sorted(c.items()), 2)}
    cover = []
    while missing:
        best = max(combinations, key=lambda c: len(missing & set(itertools.combinations(sorted(c.items()), 2))))
        missing -= set(itertools.combinations(sorted(best.items()), 2))
        cover.append(best)
    return cover


def possible():
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 1, 0]
    for parts in product():
        try:
            TopDownTreeClassifier(**parts).fit(X, y)
        except IncompatibleParts:
            continue
        yield parts


@parametrize_with_checks([TopDownTreeClassifier(**parts) for parts in pairwise_cover(list(possible()))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


REFINED = [
    TopDownTreeClassifier("wodt", polish=Polish(epochs=20)),
    TopDownTreeClassifier("wodt", polish=Polish("hard", epochs=20), max_leaf_nodes=4),
    TopDownTreeClassifier("wodt", polish=Polish("auto", epochs=5), leaf="linear", max_leaf_nodes=3),
    TopDownTreeClassifier(WeightedOblique(max_bins=32)),
    TopDownTreeClassifier("stochastic", polish=Polish(epochs=20), max_leaf_nodes=4),
    TopDownTreeClassifier(leaf=Linear(l2="auto"), max_leaf_nodes=3),
    TopDownTreeClassifier(leaf=Frequency(shrinkage="auto")),
]


@parametrize_with_checks(REFINED)
def test_scikit_learn_checks_of_refined_trees(estimator, check):
    check(estimator)


@pytest.mark.parametrize("polish", ["soft", "hard", "auto"])
@pytest.mark.parametrize("splits", names("splits"))
@pytest.mark.parametrize("leaf", names("leaf"))
def test_every_family_is_polished_or_says_why(polish, splits, leaf, rng):
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    tree = TopDownTreeClassifier(splits, leaf=leaf, polish=Polish(polish, epochs=3), max_leaf_nodes=4, random_state=0)
    if splits == "axis":
        with pytest.raises(IncompatibleParts, match="cannot be combined with splits=Axis"):
            tree.fit(X, y)
        assert not hasattr(tree, "tree_")
        return
    tree.fit(X, y, sample_weight=rng.exponential(size=40)).tree_.check()
    np.testing.assert_allclose(tree.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("parts", product(), ids=lambda parts: "-".join(parts.values()))
def test_every_combination_fits_or_says_why(parts, rng):
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    tree = TopDownTreeClassifier(**parts, random_state=0)
    try:
        tree.fit(X, y, sample_weight=rng.exponential(size=40))
    except IncompatibleParts:
        assert not hasattr(tree, "tree_")
        with pytest.raises(IncompatibleParts, match="cannot be combined with"):
            tree.fit(X, y)
        return
    tree.tree_.check()
    np.testing.assert_allclose(tree.predict_proba(X).sum(axis=1), 1)


def test_parts_are_parameters():
    tree = TopDownTreeClassifier(splits=resolve("splits", "axis"), criterion=resolve("criterion", "modified_gini"))
    assert "criterion__C" in tree.get_params()
    other = clone(tree).set_params(criterion__C=2.0, splits__max_bins=16)
    assert other.criterion.C == 2.0
    assert tree.criterion.C != 2.0
    assert other.fit([[0.0], [1.0]], [0, 1]).predict([[1.0]]) == [1]
