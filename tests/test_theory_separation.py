"""LOMtree's J, balance and purity: Lemmas 2-4, 9, 12-14, 16 and 18, and Theorems 6-8 on grown trees."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boscage import ModifiedGini, TopDownTreeClassifier
from boscage.criteria import Entropy, Gini, Separation
from boscage.theory import (
    balance_bounds,
    concavity_drop,
    concavity_modulus,
    edge,
    node_separations,
    potential_range,
    purity_bound,
    separation,
    separation_drop,
    separation_potential,
    separation_splits_needed,
)

many = settings(derandomize=True, deadline=None, max_examples=200)


@st.composite
def sides(draw, most=6):
    """Class weights of the two sides of a test, both with weight."""
    k = draw(st.integers(2, most))
    number = st.floats(0, 1).map(lambda x: 0.0 if x < 0.05 else x)
    right, left = (np.array(draw(st.lists(number, min_size=k, max_size=k))) for _ in range(2))
    right[draw(st.integers(0, k - 1))] += 0.1
    left[draw(st.integers(0, k - 1))] += 0.1
    return right, left


CRITERIA = [Gini(), Entropy(), *(ModifiedGini(C=C) for C in (1.0, 1.5, 2.0, 2.5, 3.0, 10.0))]


def natural_drop(criterion, right, left):
    """Drop of a node per unit of weight, the entropy in nats."""
    drop = float(criterion.split_drop(right, left)) / float((right + left).sum())
    return drop * math.log(2) if isinstance(criterion, Entropy) else drop


@many
@given(sides())
def test_lemmas_2_to_4(pair):
    J, balance, purity = (float(number) for number in separation(*pair))
    right, left = pair
    assert pytest.approx(float(Separation().split_gain(right, left)) / (right + left).sum()) == J
    assert 0 <= J <= 4 * balance * (1 - balance) + 1e-12
    assert J <= 1 + 1e-12
    low, high = balance_bounds(min(J, 1.0))
    assert low - 1e-9 <= balance <= high + 1e-9
    small = min(balance, 1 - balance)
    assert purity <= min(small, 1 - small - J / (4 * small)) + 1e-9
    assert purity <= float(purity_bound(J, balance)) + 1e-9
    assert float(purity_bound(J, balance)) <= float(purity_bound(J, balance, form="printed")) + 1e-9
    shares = (right + left) / (right + left).sum()
    assert 2 * float((shares * (1 - shares)).sum()) + 1e-12 >= J


@many
@given(sides(most=2))
def test_j_of_two_classes_is_the_edge(pair):
    right, left = pair
    both = right + left
    if (both == 0).any():
        return
    share = both[1] / both.sum()
    J = float(separation(right, left)[0])
    assert pytest.approx(8 * abs(float(edge(right, left))) * share * (1 - share), abs=1e-12) == J


def test_j_is_one_for_pure_and_balanced_tests_alone():
    J, balance, purity = separation([2, 1, 0, 0], [0, 0, 1, 2])
    assert (float(J), float(balance), float(purity)) == (1.0, 0.5, 0.0)
    assert float(separation([2, 1, 0, 0], [0, 0, 1, 3])[0]) < 1
    assert float(separation([2, 1, 0.1, 0], [0, 0.1, 1, 2])[0]) < 1


def test_lemma_4_as_printed_is_false_beyond_one_half():
    # A class of weight 4/7 is split in the middle, the rest goes right: β = 5/7.
    J, balance, purity = (float(number) for number in separation([2, 3], [2, 0]))
    assert balance > 0.5
    assert purity > (2 - J) / (4 * balance) - balance
    assert purity <= float(purity_bound(J, balance, form="printed"))


@pytest.mark.parametrize(("J", "balance"), [(0.0, 0.3), (0.3, 0.4), (0.5, 0.5), (0.9, 0.5)])
def test_the_sharp_purity_bound_is_attained(J, balance):
    # One class goes both ways in the ratio the bound asks for, the others keep to one side.
    target = float(purity_bound(J, balance))
    best = 0.0
    for x in np.linspace(0, 1, 201):
        for y in np.linspace(0, 1, 201):
            # class 1 of share x: right with chance y; class 2 right, class 3 left for the rest
            rest = 1 - x
            right2 = balance - x * y
            if not 0 <= right2 <= rest:
                continue
            found = separation([x * y, right2, 0], [x * (1 - y), 0, rest - right2])
            if float(found[0]) >= J - 1e-9:
                best = max(best, float(found[2]))
    assert best == pytest.approx(target, abs=0.02)


@many
@given(sides(), st.sampled_from(CRITERIA))
def test_lemmas_14_16_18_hold_in_both_forms(pair, criterion):
    right, left = pair
    drop = natural_drop(criterion, right, left)
    assert drop >= float(concavity_drop(criterion, right, left)) - 1e-9
    if isinstance(criterion, Gini):
        assert drop == pytest.approx(float(concavity_drop(criterion, right, left)), abs=1e-12)
    J, balance, _ = separation(right, left)
    k = len(right)
    assert drop >= float(separation_drop(criterion, J, balance, k)) - 1e-9
    if not isinstance(criterion, ModifiedGini) or criterion.C > 2:
        assert concavity_modulus(criterion, form="printed") <= concavity_modulus(criterion) + 1e-12
        assert drop >= float(concavity_drop(criterion, right, left, form="printed")) - 1e-9


@pytest.mark.parametrize("C", [1.0, 1.5, 2.0, 3.0, 8.0])
def test_the_modulus_of_modified_gini_is_the_least_curvature(C):
    q = np.linspace(1e-3, 1, 20001)[:-1]
    curvature = (C**2 / 4) / (q * (C - q)) ** 1.5  # −d²/dq² √(q(C−q))
    assert concavity_modulus(ModifiedGini(C=C)) == pytest.approx(curvature.min(), rel=2e-3)


def test_no_printed_bound_up_to_two():
    for C in (1.0, 2.0):
        with pytest.raises(ValueError, match="no printed bound"):
            concavity_modulus(ModifiedGini(C=C), form="printed")
        with pytest.raises(ValueError, match="no printed bound"):
            separation_splits_needed(ModifiedGini(C=C), 0.2, 0.5, 4, form="printed")
    with pytest.raises(ValueError, match="no bound"):
        concavity_modulus("sqrt")


@many
@given(
    st.sampled_from(["entropy", "gini", ModifiedGini(C=3.0)]),
    st.floats(0.05, 0.5),
    st.integers(2, 30),
    st.floats(0.3, 0.99),
)
def test_sharp_counts_solve_the_curve_and_are_smaller(criterion, gamma, k, part):
    # From the start of the curve to a part of it.
    first = float(separation_potential(criterion, gamma, 0, k))
    target = part * first
    sharp, printed = (
        separation_splits_needed(criterion, gamma, target, k, form=form, log=True) for form in ("sharp", "printed")
    )
    assert sharp <= printed
    if sharp < 30:
        t = separation_splits_needed(criterion, gamma, target, k)
        assert float(separation_potential(criterion, gamma, t, k)) <= target + 1e-9
        if t >= 1:
            assert float(separation_potential(criterion, gamma, t - 1, k)) >= target - 1e-9


def potentials(tree):
    """Entropy (nats), Gini and modified Gini (C = 3) of a tree after each split, and whether it split the heaviest."""
    share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    pi = tree.value
    logs = np.log(pi, out=np.zeros_like(pi), where=pi > 0)
    amounts = {
        "entropy": share * -(pi * logs).sum(1),
        "gini": share * (pi * (1 - pi)).sum(1),
        "modified_gini": share * np.sqrt(pi * (3 - pi)).sum(1),
    }
    inner = np.flatnonzero(~tree.is_leaf)
    split = inner[np.argsort(tree.children_left[inner])]
    open_leaves, steps, heaviest = {0}, [], []
    for node in split:
        heaviest.append(share[node] >= max(share[leaf] for leaf in open_leaves) - 1e-12)
        open_leaves.remove(node)
        open_leaves |= {int(tree.children_left[node]), int(tree.children_right[node])}
        steps.append({name: float(amount[list(open_leaves)].sum()) for name, amount in amounts.items()})
    return steps, heaviest


@pytest.mark.parametrize("k", [3, 8])
@pytest.mark.parametrize("seed", [0, 1])
def test_theorems_6_to_8_on_trees_that_split_the_heaviest_leaf(k, seed):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(k, 4)) * 1.2
    y = rng.integers(k, size=1500)
    X = centres[y] + rng.normal(size=(1500, 4))
    model = TopDownTreeClassifier(criterion="separation", growth="heaviest_first", max_leaf_nodes=40).fit(X, y)
    found = node_separations(model)
    steps, heaviest = potentials(model.tree_)
    gamma, checked = 0.5, 0
    for t, (row, after, is_heaviest) in enumerate(zip(found, steps, heaviest), start=1):
        if not is_heaviest:  # a heavier leaf was pure: the assumption has ended
            break
        gamma = min(gamma, row["J"] / 2)
        for name, value in after.items():
            assert value <= float(separation_potential(name, gamma, t, k)) + 1e-9
            printed = separation_splits_needed(name, gamma, value, k, form="printed", log=True) if value > 0 else 0
            assert printed >= math.log(t) - 1e-9, "the printed count never promises more than was seen"
        checked += 1
    assert checked >= 10


@pytest.mark.parametrize("splits", ["axis", "stochastic"])
def test_measured_on_the_training_rows_nothing_changes(splits, rng):
    X = rng.normal(size=(400, 4))
    y = np.array(["x", "y", "z"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]
    w = rng.exponential(size=400)
    model = TopDownTreeClassifier(splits, max_leaf_nodes=9).fit(X, y, sample_weight=w)
    known, measured = node_separations(model), node_separations(model, X, y, w)
    for name in known.dtype.names:
        np.testing.assert_allclose(measured[name], known[name], rtol=1e-5, atol=1e-7)
    assert (known["J"] <= 4 * known["balance"] * (1 - known["balance"]) + 1e-12).all()
    assert (known["purity"] <= purity_bound(known["J"], known["balance"]) + 1e-9).all()


def test_refusals():
    with pytest.raises(ValueError, match="potential=0"):
        separation_splits_needed("entropy", 0.1, 0, 3)
    with pytest.raises(ValueError, match="n_classes=1"):
        separation_potential("entropy", 0.1, 3, 1)


def test_routers_of_an_online_tree(rng):
    from sklearn.datasets import load_digits

    from boscage import LOMTreeClassifier, OnlineTreeClassifier

    X, y = load_digits(return_X_y=True)
    model = LOMTreeClassifier(random_state=0, n_passes=2).fit(X, y)
    found = node_separations(model, X, y)
    assert found["node"][0] == 0
    assert found["weight"][0] == 1
    leaves = np.unique(model.apply(X))
    assert not set(leaves) & set(found["node"])
    used = found[found["weight"] > 0]
    assert len(used) >= len(leaves) - 1
    assert (used["J"] <= 4 * used["balance"] * (1 - used["balance"]) + 1e-12).all()
    assert (used["purity"] <= purity_bound(used["J"], used["balance"]) + 1e-9).all()
    assert used["J"][0] > 0.5, "the root of a trained tree separates"
    w = rng.exponential(size=len(y))
    assert node_separations(model, X, y, w)["J"][0] != found["J"][0]
    with pytest.raises(ValueError, match="X and y are missing"):
        node_separations(model)
    with pytest.raises(ValueError, match="no single tree"):
        node_separations(OnlineTreeClassifier(random_state=0).fit(X, y), X, y)


def natural_value(criterion, shares):
    """A criterion of class shares in the units of the paper, spelled out."""
    if isinstance(criterion, Entropy):
        return -sum(p * math.log(p) for p in shares if p > 0)
    if isinstance(criterion, Gini):
        return sum(p * (1 - p) for p in shares)
    return sum(math.sqrt(p * (criterion.C - p)) for p in shares)


@many
@given(st.data(), st.sampled_from(CRITERIA), st.integers(2, 5), st.integers(1, 6))
def test_lemmas_9_12_and_13(data, criterion, k, leaves):
    """Any leaves: least and largest values, and the bound by the heaviest leaf."""
    number = st.floats(0, 1).map(lambda x: 0.0 if x < 0.05 else x)
    counts = np.array(data.draw(st.lists(st.lists(number, min_size=k, max_size=k), min_size=leaves, max_size=leaves)))
    counts[:, data.draw(st.integers(0, k - 1))] += 0.1
    weight = counts.sum(axis=1) / counts.sum()
    value = sum(w * natural_value(criterion, row / row.sum()) for w, row in zip(weight, counts, strict=True))
    low, high = potential_range(criterion, k)
    assert low - 1e-9 <= value <= high + 1e-9
    printed = potential_range(criterion, k, splits=leaves - 1, heaviest=float(weight.max()), form="printed")
    assert printed[0] == low
    assert value <= printed[1] + 1e-9
    assert high <= printed[1] + 1e-9, "the heaviest of t + 1 leaves weighs at least 1/(t + 1)"


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_range_of_a_criterion_is_attained(criterion):
    low, high = potential_range(criterion, 3)
    assert natural_value(criterion, [1 / 3] * 3) == pytest.approx(high)
    assert natural_value(criterion, [0.0, 1.0, 0.0]) == pytest.approx(low)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"form": "printed"}, "splits=None"),
        ({"form": "printed", "splits": 3}, "heaviest=None"),
        ({"form": "printed", "splits": 3, "heaviest": 0.2}, "heaviest=0.2 is not the weight of the heaviest of 4"),
        ({"form": "printed", "splits": 3, "heaviest": 1.1}, "heaviest=1.1"),
    ],
)
def test_wrong_arguments_of_the_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        potential_range("gini", 4, **arguments)
