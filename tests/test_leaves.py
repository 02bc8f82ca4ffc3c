from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from boscage.leaves import Frequency, Majority


@dataclass
class Nodes:
    children_left: np.ndarray
    children_right: np.ndarray
    value: np.ndarray
    weighted_n_node_samples: np.ndarray


def random_tree(seed, splits, classes):
    """Leaves split at random; weights of the leaves drawn, those above them summed."""
    rng = np.random.default_rng(seed)
    left, right = [-1], [-1]
    for _ in range(splits):
        leaf = rng.choice([node for node, child in enumerate(left) if child < 0])
        left[leaf], right[leaf] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    weights = np.where(rng.uniform(size=(len(left), classes)) < 0.3, 0.0, rng.uniform(0.1, 5, (len(left), classes)))
    weights[:, 0] += 0.01
    for node in reversed(range(len(left))):
        if left[node] >= 0:
            weights[node] = weights[left[node]] + weights[right[node]]
    total = weights.sum(axis=1)
    return Nodes(np.array(left, np.int32), np.array(right, np.int32), weights / total[:, None], total)


trees = st.builds(random_tree, st.integers(0, 10**6), st.integers(0, 12), st.integers(1, 5))
few = settings(derandomize=True, deadline=None, max_examples=100)


@few
@given(tree=trees)
def test_majority_votes_for_the_heaviest_class(tree):
    votes = Majority().leaf_values(tree)
    leaves = np.flatnonzero(tree.children_left < 0)
    assert votes.shape == (len(leaves), tree.value.shape[1])
    for vote, leaf in zip(votes, leaves):
        assert vote.tolist() == [float(k == tree.value[leaf].argmax()) for k in range(len(vote))]


def test_majority_gives_ties_to_the_lowest_class():
    tree = Nodes(np.array([-1]), np.array([-1]), np.array([[0.2, 0.4, 0.4]]), np.array([5.0]))
    assert Majority().leaf_values(tree).tolist() == [[0, 1, 0]]


@few
@given(tree=trees, shrinkage=st.floats(1e-3, 1e4))
def test_shrinkage_is_that_of_the_reference_and_stays_a_distribution(tree, shrinkage):
    values = Frequency(shrinkage).leaf_values(tree)
    np.testing.assert_allclose(values, reference.shrunken_leaves(tree, shrinkage), atol=1e-12)
    np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-12)
    assert values.min() >= -1e-15


@few
@given(tree=trees)
def test_shrinkage_goes_from_the_leaf_to_the_root(tree):
    leaves = tree.value[tree.children_left < 0]
    assert Frequency().leaf_values(tree) is None
    np.testing.assert_allclose(Frequency(1e-12).leaf_values(tree), leaves, atol=1e-9)
    np.testing.assert_allclose(Frequency(1e15).leaf_values(tree), np.tile(tree.value[0], (len(leaves), 1)), atol=1e-9)


@pytest.mark.parametrize("leaf", [Majority(), Frequency(2.0)])
def test_leaves_change_nothing(leaf):
    tree = random_tree(0, 5, 3)
    before = tree.value.copy()
    tree.value.setflags(write=False)
    leaf.leaf_values(tree)
    assert (tree.value == before).all()
