"""Slow, obvious versions of what the library computes quickly: the oracle of the other tests.

Criteria are computed as they are printed in books, with 60 decimal digits, so that plain differences of impurities
keep enough of them.
"""

from __future__ import annotations

from decimal import Decimal, localcontext


def _shares(weights):
    everything = sum(weights)
    return [w / everything for w in weights]


def gini(weights, C):
    return sum(p * (1 - p) for p in _shares(weights))


def entropy(weights, C):
    return -sum(p * p.ln() / Decimal(2).ln() for p in _shares(weights) if p > 0)


def sqrt(weights, C):
    return sum((p * (1 - p)).sqrt() for p in _shares(weights))


def modified_gini(weights, C):
    return sum((p * (C - p)).sqrt() for p in _shares(weights)) - (C - 1).sqrt()


IMPURITIES = {"gini": gini, "entropy": entropy, "sqrt": sqrt, "modified_gini": modified_gini, "separation": entropy}


def _total(name, weights, C):
    everything = sum(weights)
    return everything * IMPURITIES[name](weights, C) if everything > 0 else Decimal(0)


def total(name, weights, C=3.0):
    """Weight times impurity."""
    with localcontext() as context:
        context.prec = 60
        return float(_total(name, [Decimal(w) for w in weights], Decimal(C)))


def drop(name, right, left, C=3.0):
    """Fall of weight times impurity: a plain difference."""
    if sum(right) == 0 or sum(left) == 0:
        return 0.0
    with localcontext() as context:
        context.prec = 60
        r, s = [Decimal(w) for w in right], [Decimal(w) for w in left]
        both = [a + b for a, b in zip(r, s)]
        return float(_total(name, both, Decimal(C)) - _total(name, r, Decimal(C)) - _total(name, s, Decimal(C)))


def gain(name, right, left, C=3.0):
    """What a test is worth: the drop, but for LOMtree's J."""
    if name != "separation" or sum(right) == 0 or sum(left) == 0:
        return drop(name, right, left, C)
    with localcontext() as context:
        context.prec = 60
        r, s = [Decimal(w) for w in right], [Decimal(w) for w in left]
        everything = sum(r) + sum(s)
        to_right = sum(r) / everything
        terms = [(a + b) / everything * abs(to_right - a / (a + b)) for a, b in zip(r, s) if a + b > 0]
        return float(everything * 2 * sum(terms))


def shrunken_leaves(tree, shrinkage):
    """Leaf values pulled towards their ancestors, one path at a time."""
    parent = {}
    for node, (a, b) in enumerate(zip(tree.children_left, tree.children_right)):
        if a >= 0:
            parent[a] = parent[b] = node
    values = []
    for leaf, child in enumerate(tree.children_left):
        if child >= 0:
            continue
        value = list(tree.value[0])
        node = leaf
        while node in parent:
            up = parent[node]
            step = 1 + shrinkage / tree.weighted_n_node_samples[up]
            value = [v + (x - y) / step for v, x, y in zip(value, tree.value[node], tree.value[up])]
            node = up
        values.append(value)
    return values
