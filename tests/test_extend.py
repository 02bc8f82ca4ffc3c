"""A new family in one class: what CONTRIBUTING.md promises, done by a test."""

import numpy as np
import pytest

from boscage import TopDownTreeClassifier
from boscage.base.component import ROLES, register
from boscage.splits import LinearTest, ProposingFamily


@pytest.fixture
def two_planes():
    """A family of linear tests that proposes the greedy direction and, where there is room, a triple for XOR."""

    @register("splits", "two_planes")
    class TwoPlanes(ProposingFamily):
        is_random = True

        def __init__(self, n_random=3):
            self.n_random = n_random

        def check(self):
            self._check_integer("n_random", low=0)

        def propose(self, node):
            d = node.X.shape[1]
            for direction in node.generator().normal(size=(self.n_random, d)):
                yield [LinearTest(direction)]
            if node.may_triple and d >= 2:
                first, second = np.eye(d)[:2]
                yield [LinearTest(first, 0.0), LinearTest(second, 0.0), LinearTest(second, 0.0)]

    yield TwoPlanes
    del ROLES["splits"].parts["two_planes"]


@pytest.fixture
def xor(rng):
    X = rng.normal(size=(400, 3))
    return X, (X[:, 0] > 0) ^ (X[:, 1] > 0)


def test_a_family_is_one_class(two_planes, xor):
    X, y = xor
    tree = TopDownTreeClassifier(splits="two_planes", max_leaf_nodes=4, random_state=0).fit(X, y)
    assert tree.get_n_leaves() == 4
    assert tree.score(X, y) == 1
    assert (tree.tree_.feature == [-3, -3, -3, -1, -1, -1, -1]).all()
    assert list(tree.trajectory_["node"]) == [-1, 0, 1, 2]  # a triple is three ordinary splits, in order
    tree.tree_.check()
    assert "splits=" not in tree.export_text()


@pytest.mark.parametrize("limit", [{"max_leaf_nodes": 3}, {"max_depth": 1}, {"max_leaf_nodes": 2}])
def test_a_triple_needs_two_levels_and_three_splits(two_planes, xor, limit):
    X, y = xor
    tree = TopDownTreeClassifier(splits=two_planes(), random_state=0, **limit).fit(X, y)
    assert 1 < tree.get_n_leaves() <= limit.get("max_leaf_nodes", 2)
    assert tree.get_depth() <= limit.get("max_depth", 2)


def test_a_late_triple_gives_way_to_its_single_test(two_planes, xor):
    """Two open leaves want a triple each and there is room for one: the other keeps its best single test."""
    X, y = xor
    X, y = np.vstack([X + np.array([20, 0, 20]), X]), np.concatenate([y, y])
    tree = TopDownTreeClassifier(splits=two_planes(n_random=30), max_leaf_nodes=6, random_state=0).fit(X, y)
    assert tree.get_n_leaves() == 6
    tree.tree_.check()


def test_growth_draws_do_not_depend_on_order(two_planes, xor):
    X, y = xor
    splits = two_planes(n_random=5)
    orders = [
        TopDownTreeClassifier(splits=splits, growth=growth, random_state=3).fit(X, y)
        for growth in ("best_first", "heaviest_first", "depth_first")
    ]
    for other in orders[1:]:
        np.testing.assert_array_equal(other.predict(X), orders[0].predict(X))
        assert other.get_n_leaves() == orders[0].get_n_leaves()


def test_weights_and_seeds_matter(two_planes, xor):
    X, y = xor
    first = TopDownTreeClassifier(splits="two_planes", random_state=0).fit(X, y)
    again = TopDownTreeClassifier(splits="two_planes", random_state=0).fit(X, y)
    assert first.tree_ == again.tree_
    w = np.where(y, 3.0, 1.0)
    weighted = TopDownTreeClassifier(splits="two_planes", random_state=0, max_depth=1).fit(X, y, sample_weight=w)
    assert weighted.tree_.value[0, 1] == pytest.approx(w[y].sum() / w.sum())


def test_a_bad_setting_of_a_new_family_is_refused(two_planes, xor):
    with pytest.raises(ValueError, match=r"TwoPlanes.n_random=-1 is not allowed. Pass an integer >= 0"):
        TopDownTreeClassifier(splits=two_planes(n_random=-1)).fit(*xor)
