"""Prediction written the slow, obvious way: the specification that the compiled code must match."""

import math

import numpy as np
from scipy import sparse

from boscage.tree import LINEAR


def rows_of(X):
    """Rows as lists of Python floats; an absent entry of a sparse matrix is 0."""
    return (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64).tolist()


def category(x, n_categories):
    """The code as an integer, or None for NaN and codes that do not exist."""
    return int(x) if 0 <= x < n_categories and x == int(x) else None


def plain_row(tree, x):
    """The row in the user's units: categories as numbers, NaN filled."""
    m = tree.input_map
    out = list(x)
    for j in range(len(x)):
        if m is not None and m.code_offset is not None and m.code_offset[j] >= 0:
            code = category(x[j], tree.schema.n_categories[j])
            out[j] = math.nan if code is None else float(m.codes[m.code_offset[j] + code])
        if m is not None and m.fill is not None and math.isnan(out[j]):
            out[j] = float(m.fill[j])
    return out


def seen_row(tree, x):
    """The row that linear tests multiply."""
    m = tree.input_map
    z = plain_row(tree, x)
    if m is None:
        return z
    for j in range(len(z)):
        shift = 0.0 if m.shift is None else m.shift[j]
        scale = 1.0 if m.scale is None else m.scale[j]
        z[j] = (z[j] - shift) * scale
    if m.constant is not None:
        z.append(m.constant)
    if m.unit_rows:
        norm = math.sqrt(sum(v * v for v in z))
        if norm > 0:
            z = [v / norm for v in z]
    return z


def score(tree, node, z):
    """w·x of a linear test; columns without a stored weight do not take part."""
    row = tree.linear_row[node]
    if sparse.issparse(tree.weights):
        begin, end = tree.weights.indptr[row], tree.weights.indptr[row + 1]
        return sum(tree.weights.data[k] * z[tree.weights.indices[k]] for k in range(begin, end))
    return sum(w * v for w, v in zip(tree.weights[row], z))


def p_right(tree, node, x):
    """Probability that row x goes right at an inner node."""
    feature, threshold = tree.feature[node], tree.threshold[node]
    if feature == LINEAR:
        margin = score(tree, node, seen_row(tree, x)) - threshold
        if tree.routing == "linear":
            return (1 + min(max(margin, -1.0), 1.0)) / 2
        if tree.routing == "logistic":
            return 1 / (1 + math.exp(-margin)) if margin > -700 else 0.0
        return 1.0 if score(tree, node, seen_row(tree, x)) > threshold else 0.0
    offset, missing = tree.category_offset[node], 0.0 if tree.missing_go_to_left[node] else 1.0
    if offset >= 0:
        code = category(x[feature], tree.schema.n_categories[feature])
        if code is None:
            return missing
        return 0.0 if tree.category_bits[offset + code // 8] >> (code % 8) & 1 else 1.0
    if math.isnan(x[feature]):
        return missing
    return 0.0 if x[feature] <= threshold else 1.0


def reach(tree, x):
    """Probability of reaching each node."""
    out = [0.0] * tree.node_count
    out[0] = 1.0
    for node in range(tree.node_count):
        if tree.children_left[node] >= 0 and out[node] > 0:
            p = p_right(tree, node, x)
            out[tree.children_left[node]] = out[node] * (1 - p)
            out[tree.children_right[node]] = out[node] * p
    return out


def leaf_proba(tree, node, x):
    """What the leaf says about the row."""
    leaf = [i for i in range(tree.node_count) if tree.children_left[i] < 0].index(node)
    if tree.leaf_models is not None:
        u = plain_row(tree, x)
        s = [
            sum(c * v for c, v in zip(coef, u)) + b
            for coef, b in zip(tree.leaf_models.coef[leaf], tree.leaf_models.intercept[leaf])
        ]
        e = [math.exp(v - max(s)) for v in s]
        return [v / sum(e) for v in e]
    return list(tree.value[node] if tree.leaf_value is None else tree.leaf_value[leaf])


def decision_path(tree, X):
    return np.array([reach(tree, x) for x in rows_of(X)]).reshape(-1, tree.node_count)


def apply(tree, X):
    leaves = [i for i in range(tree.node_count) if tree.children_left[i] < 0]
    return np.array([max(leaves, key=lambda i: (row[i], -i)) for row in decision_path(tree, X)], dtype=np.int64)


def predict_proba(tree, X):
    out = np.zeros((X.shape[0], tree.n_classes))
    for i, x in enumerate(rows_of(X)):
        for node, share in enumerate(reach(tree, x)):
            if tree.children_left[node] < 0 and share > 0:
                out[i] += share * np.array(leaf_proba(tree, node, x))
    return out
