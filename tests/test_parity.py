"""The same trees as scikit-learn where there are no ties, the same words everywhere."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.tree import DecisionTreeClassifier

from boscage import TopDownTreeClassifier


def continuous(seed, n=3000, classes=3):
    """Nodes of some size: in small ones several tests are equally good, and any of them may be taken."""
    X, y = make_classification(n, 8, n_informative=6, n_classes=classes, flip_y=0.1, random_state=seed)
    return X.astype(np.float32), y  # scikit-learn compares float32


def drop(tree, node):
    left, right = tree.children_left[node], tree.children_right[node]
    amount = tree.weighted_n_node_samples * tree.impurity
    return amount[node] - amount[left] - amount[right]


def same_splits(ours, theirs):
    """Walk both trees together, whatever their numbering; two tests that gain the same end the walk. Count nodes."""
    stack, walked = [(0, 0)], 0
    while stack:
        a, b = stack.pop()
        walked += 1
        np.testing.assert_allclose(ours.value[a], theirs.value[b][0], atol=1e-12)
        assert ours.n_node_samples[a] == theirs.n_node_samples[b]
        np.testing.assert_allclose(ours.impurity[a], theirs.impurity[b], atol=1e-12)
        assert (ours.feature[a] >= 0) == (theirs.feature[b] >= 0)
        if ours.feature[a] < 0:
            continue
        if ours.feature[a] != theirs.feature[b]:
            np.testing.assert_allclose(drop(ours, a), drop(theirs, b), rtol=1e-9)
            continue
        np.testing.assert_allclose(ours.threshold[a], theirs.threshold[b], rtol=1e-6)
        stack += [(ours.children_left[a], theirs.children_left[b])]
        stack += [(ours.children_right[a], theirs.children_right[b])]
    return walked


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize(
    "limits",
    [
        {"max_depth": 4},
        {"max_leaf_nodes": 12},
        {"min_samples_leaf": 60},
        {"min_impurity_decrease": 0.004},
        {"max_depth": 6, "ccp_alpha": 0.005},
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", [0, 1])
def test_same_tree(criterion, limits, seed):
    X, y = continuous(seed)
    ours = TopDownTreeClassifier(criterion=criterion, **limits).fit(X, y)
    theirs = DecisionTreeClassifier(criterion=criterion, random_state=0, **limits).fit(X, y)
    if same_splits(ours.tree_, theirs.tree_) == ours.tree_.node_count:  # no ties
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-12)
        assert ours.get_depth() == theirs.get_depth()
        assert ours.get_n_leaves() == theirs.get_n_leaves()
    else:
        assert "min_samples_leaf" in limits  # the only setting here whose nodes are small enough for ties


def test_same_tree_with_weights(rng):
    X, y = continuous(3)
    w = rng.exponential(size=len(y))
    limits = {"max_leaf_nodes": 15, "min_weight_fraction_leaf": 0.01}
    limits["class_weight"] = {0: 1.0, 1: 2.5, 2: 0.3}
    ours = TopDownTreeClassifier(**limits).fit(X, y, sample_weight=w)
    theirs = DecisionTreeClassifier(random_state=0, **limits).fit(X, y, sample_weight=w)
    assert same_splits(ours.tree_, theirs.tree_) == ours.tree_.node_count


def test_balanced_classes_have_equal_weight(rng):
    """Also with sample weights (scikit-learn's trees count rows there), so that weight 2 stays a row twice."""
    X, y = continuous(3)
    balanced = TopDownTreeClassifier(class_weight="balanced", max_depth=3)
    np.testing.assert_allclose(balanced.fit(X, y, sample_weight=rng.exponential(size=len(y))).tree_.value[0], 1 / 3)
    theirs = DecisionTreeClassifier(class_weight="balanced", max_depth=3, random_state=0).fit(X, y)
    assert same_splits(balanced.fit(X, y).tree_, theirs.tree_) == theirs.tree_.node_count


def test_same_tree_with_missing_values(rng):
    X, y = continuous(4, classes=2)
    X[rng.random(X.shape) < 0.1] = np.nan
    ours = TopDownTreeClassifier(max_leaf_nodes=10).fit(X, y)
    theirs = DecisionTreeClassifier(max_leaf_nodes=10, random_state=0).fit(X, y)
    assert same_splits(ours.tree_, theirs.tree_) == ours.tree_.node_count
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_same_pruning_path(criterion):
    X, y = continuous(5)
    limits = {"min_samples_leaf": 60}
    ours = TopDownTreeClassifier(criterion=criterion, **limits).cost_complexity_pruning_path(X, y)
    theirs = DecisionTreeClassifier(criterion=criterion, random_state=0, **limits).cost_complexity_pruning_path(X, y)
    assert len(ours.ccp_alphas) > 10
    np.testing.assert_allclose(ours.impurities[-1], theirs.impurities[-1])
    # scikit-learn lists equal alphas (up to rounding) one by one; at every alpha the trees cost the same.
    for alpha in np.linspace(0, theirs.ccp_alphas[-1] * 1.01, 50):
        at_ours = ours.impurities[np.searchsorted(ours.ccp_alphas, alpha + 1e-12, side="right") - 1]
        at_theirs = theirs.impurities[np.searchsorted(theirs.ccp_alphas, alpha + 1e-12, side="right") - 1]
        np.testing.assert_allclose(at_ours, at_theirs, atol=1e-12)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_digits])
def test_training_data_are_learned_as_well(load):
    X, y = load(return_X_y=True)
    assert TopDownTreeClassifier().fit(X, y).score(X, y) == DecisionTreeClassifier().fit(X, y).score(X, y) == 1


def test_paths_and_leaves_agree():
    X, y = continuous(6)
    ours = TopDownTreeClassifier(max_leaf_nodes=9).fit(X, y)
    path = ours.decision_path(X)
    assert path.shape == (len(X), ours.tree_.node_count)
    leaves = ours.apply(X)
    assert ours.tree_.is_leaf[leaves].all()
    np.testing.assert_array_equal(np.asarray(path.sum(axis=1)).ravel() - 1, ours.tree_.depth[leaves])
