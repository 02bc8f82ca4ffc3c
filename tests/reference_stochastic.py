"""Slow, obvious stochastic trees in NumPy: the map of the rows, sums of a node, the best test, growing.

Every row carries its probability of reaching each leaf. Nothing here shares code with the package, except criteria.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh


def seen_rows(X, weight, scale="standard", constant=1.0):
    """Rows as tests see them: centred, scaled, with a constant, of unit length."""
    Z = np.asarray(X, dtype=np.float64)
    if scale == "standard":
        share = weight / weight.sum()
        mean = share @ Z
        deviation = np.sqrt(share @ (Z - mean) ** 2)
        varies = Z.max(axis=0) > Z.min(axis=0)
        Z = np.where(varies, (Z - mean) / np.where(varies, deviation, 1.0), 0.0)
    if scale is False:
        return Z if constant is None else np.c_[Z, np.full(len(Z), constant)] / np.sqrt(1 + constant**2)
    if constant is not None:
        Z = np.c_[Z, np.full(len(Z), constant)]
    norms = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(norms > 0, norms, 1.0)


def node_sums(Z, y, D, n_classes):
    """Class weights W_k and sums B_k of weighted rows."""
    member = (y[:, None] == np.arange(n_classes)) * D[:, None]
    return member.sum(axis=0), member.T @ Z


def split_gain(W, B, w, criterion):
    """Weight times drop of the test w."""
    right = (W + B @ w) / 2
    return float(criterion.gain(W, np.clip(right, 0, W)))


def exact_gini(W, B):
    """The generalised Rayleigh quotient, as a dense eigenproblem: (w, drop per unit weight of Σ π(1 − π))."""
    rho, b = W / W.sum(), B / W.sum()
    a = b.sum(axis=0)
    C = b - rho[:, None] * a
    values, vectors = eigh(C.T @ C, np.eye(len(a)) - np.outer(a, a))
    w = vectors[:, -1] / np.linalg.norm(vectors[:, -1])
    return w, values[-1]


def random_tests(W, B, criterion, rng, count=2000):
    """Largest gain among random unit vectors, in the whole space and near the class sums."""
    d = B.shape[1]
    w = rng.normal(size=(count, d))
    near = rng.normal(size=(count, len(W))) @ B
    w = np.r_[w, near[np.linalg.norm(near, axis=1) > 0]]
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    right = (W + w @ B.T) / 2
    return float(np.max(criterion.split_gain(right, np.maximum(W - right, 0))))


def grow(Z, y, weight, n_classes, criterion, best_test, max_leaf_nodes):
    """DTL, best first: a list of leaves' reach and the nodes in the order of their numbers."""
    nodes = [{"reach": np.ones(len(Z)), "left": -1, "right": -1}]

    def search(node):
        W, B = node_sums(Z, y, weight * node["reach"], n_classes)
        node["value"], node["weight"] = W / W.sum(), W.sum()
        node["w"] = best_test(W, B) if np.count_nonzero(W > 0) > 1 else None
        node["gain"] = 0.0 if node["w"] is None else split_gain(W, B, node["w"], criterion)

    search(nodes[0])
    while sum(n["left"] < 0 for n in nodes) < max_leaf_nodes:
        open_leaves = [i for i, n in enumerate(nodes) if n["left"] < 0 and n["gain"] > 1e-13 * n["weight"]]
        if not open_leaves:
            break
        leaf = nodes[max(open_leaves, key=lambda i: (nodes[i]["gain"], -i))]
        right = (1 + np.clip(Z @ leaf["w"], -1, 1)) / 2
        leaf["left"], leaf["right"] = len(nodes), len(nodes) + 1
        for share in (1 - right, right):
            nodes.append({"reach": leaf["reach"] * share, "left": -1, "right": -1})
            search(nodes[-1])
    return nodes


def predict_proba(nodes, Z):
    """Average of the leaves' class fractions by reach."""
    reach = [np.ones(len(Z))] + [None] * (len(nodes) - 1)
    out = np.zeros((len(Z), len(nodes[0]["value"])))
    for i, node in enumerate(nodes):
        if node["left"] < 0:
            out += reach[i][:, None] * node["value"]
            continue
        right = (1 + np.clip(Z @ node["w"], -1, 1)) / 2
        reach[node["left"]], reach[node["right"]] = reach[i] * (1 - right), reach[i] * right
    return out
