"""Random valid trees of every kind, and rows that try their edges."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from boscage.tree import LINEAR, InputMap, LeafModels, Schema, Tree

KINDS = ("axis", "category", "linear", "mixed", "soft linear", "soft logistic")


def fractions(rng, n, k):
    value = rng.dirichlet(np.full(k, 0.7), n)
    pure = rng.random(n) < 0.3
    value[pure] = np.eye(k)[rng.integers(k, size=pure.sum())]
    return value


def random_shape(rng, splits):
    """Children arrays of a random tree: each split appends its left, then its right child."""
    left, right = [-1], [-1]
    for _ in range(splits):
        leaf = rng.choice([i for i, child in enumerate(left) if child < 0])
        left[leaf], right[leaf] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    return np.array(left, np.int32), np.array(right, np.int32)


def random_input_map(rng, n_categories, soft):
    d = n_categories.size

    def maybe(part):
        return part if rng.random() < 0.6 else None

    coded = n_categories.any()
    offset = np.where(n_categories > 0, np.cumsum(n_categories) - n_categories, -1)
    return InputMap(
        fill=rng.normal(size=d) if soft or coded else maybe(rng.normal(size=d)),
        code_offset=offset if coded else None,
        codes=rng.normal(size=n_categories.sum()) if coded else None,
        shift=maybe(rng.normal(size=d)),
        scale=maybe(rng.uniform(0.5, 2, size=d)),
        constant=maybe(rng.normal()),
        unit_rows=bool(rng.random() < 0.5),
    )


def random_tree(
    seed,
    kind="axis",
    *,
    splits=5,
    d=3,
    k=3,
    sparse_weights=False,
    leaf="value",
    named=False,
    dtype="float64",
    n_categories=None,
):
    """A valid tree of the given kind; every choice follows from ``seed`` and the arguments."""
    rng = np.random.default_rng(seed)
    left, right = random_shape(rng, splits)
    n, inner = left.size, np.flatnonzero(left >= 0)
    soft = kind.startswith("soft")
    given = n_categories
    n_categories = np.zeros(d, np.int64) if given is None else np.array(given)
    if given is None and kind in ("category", "mixed"):
        n_categories[rng.random(d) < 0.6] = rng.integers(1, 20)
    feature, threshold = np.full(n, -1, np.int32), np.zeros(n)
    offset, row, bits = np.full(n, -1, np.int64), np.full(n, -1, np.int32), b""
    linear = {"linear": 1.0, "mixed": 0.5}.get(kind, 1.0 if soft else 0.0)
    m = 0
    for node in inner:
        if rng.random() < linear:
            feature[node], row[node], threshold[node] = LINEAR, m, np.round(rng.normal() / 2, 1)
            m += 1
            continue
        feature[node] = j = rng.integers(d)
        if n_categories[j]:
            offset[node] = len(bits)
            bits += rng.bytes((int(n_categories[j]) + 7) // 8)
        else:
            threshold[node] = np.float32(np.round(rng.normal(), 1))
    input_map = random_input_map(rng, n_categories, soft) if linear and rng.random() < 0.7 else None
    columns = d + (input_map is not None and input_map.constant is not None)
    weights = rng.normal(size=(m, columns)) * (rng.random((m, columns)) < 0.7)
    leaves = n - inner.size
    names = tuple(f"column {j} <&>" for j in range(d)) if named else None
    categories = tuple(tuple(f"c{c}" for c in range(q)) if q else None for q in n_categories) if named else None
    return Tree(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        value=fractions(rng, n, k),
        n_node_samples=rng.integers(1, 100, n),
        weighted_n_node_samples=rng.uniform(0.1, 100, n),
        impurity=rng.random(n),
        schema=Schema(d, dtype, names, n_categories, categories, rng.random(d) if rng.random() < 0.5 else None),
        routing=kind.split()[1] if soft else "hard",
        missing_go_to_left=rng.random(n) < 0.5,
        category_offset=offset,
        category_bits=np.frombuffer(bits, np.uint8),
        linear_row=row,
        weights=sparse.csr_array(weights) if sparse_weights else weights,
        leaf_value=np.eye(k)[rng.integers(k, size=leaves)] if leaf == "leaf_value" else None,
        input_map=input_map,
        leaf_models=LeafModels(rng.normal(size=(leaves, k, d)), rng.normal(size=(leaves, k)))
        if leaf == "models"
        else None,
    )


def chain(n):
    """A tree of n nodes (an odd number) as deep as can be: x in (i - 1, i] has a leaf of its own."""
    left, right, feature = (np.full(n, -1, np.int32) for _ in range(3))
    inner = np.arange(0, n - 1, 2)
    left[inner], right[inner], feature[inner] = inner + 1, inner + 2, 0
    threshold = np.zeros(n)
    threshold[inner] = inner / 2
    value = np.eye(3)[np.arange(n) % 3]
    ones = np.ones(n)
    return Tree(left, right, feature, threshold, value, ones.astype(np.int64), ones, 0 * ones, Schema(1))


def random_forest(seed, count, *, d=3, k=2, categories=True, target="classes", splits=4):
    """Trees of all kinds over the same columns."""
    rng = np.random.default_rng(seed)
    n_categories = rng.integers(0, 12, d) * (rng.random(d) < 0.5) if categories else np.zeros(d, np.int64)
    schema = Schema(d, "float64", tuple(f"x{j}" for j in range(d)), n_categories, spread=rng.random(d))
    kinds = ("axis", "category", "linear", "mixed", *(() if n_categories.any() else ("soft linear", "soft logistic")))
    trees = []
    for number in range(count):
        kind, leaf = rng.choice(kinds), rng.choice(["value", "leaf_value", "models"])
        tree = random_tree(
            seed + number,
            str(kind),
            splits=int(rng.integers(0, splits + 1)),
            d=d,
            k=k,
            sparse_weights=bool(rng.random() < 0.5),
            leaf=str(leaf),
            n_categories=n_categories,
        )
        numbers = {}
        if target == "numbers":
            numbers = {"target": target, "value": rng.normal(size=tree.value.shape) * 1e3}
            if tree.leaf_value is not None:
                numbers["leaf_value"] = rng.normal(size=tree.leaf_value.shape)
        trees.append(replace(tree, schema=schema, **numbers))
    return tuple(trees)


def random_rows(seed, tree, n=30, missing=True):
    """Rows that hit thresholds exactly, and where allowed NaN, unseen categories and zeros."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, tree.n_features)), 1)
    X[rng.random(X.shape) < 0.2] = 0
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    for j, count in enumerate(tree.schema.n_categories):
        if count:
            X[:, j] = rng.integers(-1, count + 2, size=n)
            X[rng.random(n) < 0.1, j] = np.nan
    return X.astype(tree.schema.dtype)


@st.composite
def trees(draw, kinds=KINDS):
    """Any valid tree."""
    return random_tree(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.sampled_from(kinds)),
        splits=draw(st.integers(0, 12)),
        d=draw(st.integers(1, 12)),
        k=draw(st.integers(1, 4)),
        sparse_weights=draw(st.booleans()),
        leaf=draw(st.sampled_from(["value", "leaf_value", "models"])),
        named=draw(st.booleans()),
        dtype=draw(st.sampled_from(["float64", "float32"])),
    )


def _wide_column(rng, n, dtype):
    """A column from anywhere in the range of its type: tiny, huge, constant, far from zero, or a mixture."""
    largest, (low, high) = float(np.finfo(dtype).max), (-140, 120) if dtype == np.float32 else (-1060, 1015)
    plain = rng.normal(size=n) if rng.random() < 0.6 else rng.integers(-3, 4, n).astype(float)
    kind = rng.integers(8)
    if kind == 1:
        return np.ldexp(plain, rng.integers(low, high))
    if kind == 2:
        return np.full(n, np.ldexp(1.3, rng.integers(low, high)))
    if kind == 3:
        return plain + 10.0 ** rng.uniform(3, 16)
    if kind == 4:
        return np.where(rng.random(n) < 0.2, rng.choice([-largest, largest]), plain)
    if kind == 5:
        return np.where(rng.random(n) < 0.5, largest, -largest)
    if kind == 6:
        return np.ldexp(plain, rng.integers(low, high, n))
    if kind == 7:
        return np.ldexp(plain + 10.0 ** rng.uniform(0, 15), rng.integers(low, high - 60))
    return plain


def wide_rows(seed):
    """Few rows with numbers and weights from the whole range of floats: X, y and weights or None."""
    rng = np.random.default_rng(seed)
    dtype = np.float32 if rng.random() < 0.3 else np.float64
    n, d = rng.integers(2, 40), rng.integers(1, 5)
    with np.errstate(over="ignore", under="ignore"):
        X = np.column_stack([_wide_column(rng, n, dtype) for _ in range(d)]).astype(dtype)
    X = np.clip(X, -np.finfo(dtype).max, np.finfo(dtype).max)
    weights = {
        0: None,
        1: np.full(n, 10.0 ** rng.uniform(-300, 300)),
        2: 10.0 ** rng.uniform(-300, 300, n),
        3: rng.integers(1, 4, n).astype(float),
    }
    return X, rng.integers(0, rng.integers(2, 4), n), weights[int(rng.integers(4))]


def wide_numbers(rng, n, *, positive=False):
    """Targets from the whole range that is allowed, 1e300 in size: tiny, huge, constant, far from zero, mixtures."""
    plain = rng.normal(size=n) if rng.random() < 0.5 else rng.integers(-3, 4, n).astype(float)
    kind = rng.integers(8)
    with np.errstate(under="ignore"):
        if kind == 1:
            plain = np.ldexp(plain, rng.integers(-1060, 990))
        elif kind == 2:
            plain = np.full(n, np.ldexp(1.3, rng.integers(-1060, 990)))
        elif kind == 3:
            plain = plain + 10.0 ** rng.uniform(3, 16)
        elif kind == 4:
            plain = np.where(rng.random(n) < 0.2, rng.choice([-1e300, 1e300]), plain)
        elif kind == 5:
            plain = np.where(rng.random(n) < 0.5, 1e300, -1e300)
        elif kind == 6:
            plain = np.ldexp(plain, rng.integers(-1060, 990, n))
        elif kind == 7:
            plain = np.where(rng.random(n) < 0.5, 5e-324, 0.0)
    y = np.clip(plain, -1e300, 1e300)
    return np.maximum(np.abs(y), 5e-324) if positive else y


@st.composite
def wide_data(draw):
    """As `wide_rows`, and a generator for whatever else a test draws."""
    seed = draw(st.integers(0, 2**32 - 1))
    return *wide_rows(seed), np.random.default_rng(seed + 1)
