"""The trees of the WODT paper's tables: families by the paper's names, what validation chooses for them, one fit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from boscage.model.predict import apply
from boscage.pruning import prune
from boscage.splits import CO2, OC1, CartLC, Householder, WeightedOblique
from boscage.top_down import TopDownTreeClassifier
from boscage.tree import LEAF, Tree

# The published method, as `splits="wodt"` has it, and our variant. All settings are named, so that stored results stay
# valid whatever the defaults of the class are.
PUBLISHED: dict[str, Any] = {"l2": 0.0, "n_init": 1, "recut": False, "scale": "range", "prune_bits": 0.0}
TUNED: dict[str, Any] = {"n_init": 1, "recut": True, "scale": "standard", "prune_bits": 0.0}
SHOWN = {"oblique": "oblique (ours)"}
# CO2's bound of the norm and its step, chosen by two divisions into five folds as in the paper. Of more than so many
# rows a single cut of so many rows at most decides.
NUS, ETAS = (0.1, 1.0, 4.0, 10.0, 43.0, 100.0), (0.003, 0.01, 0.03)
CO2_CHOICE = {"divisions": 2, "folds": 5, "small": 1000, "most": 2000}
# The penalty of our variant, CART-LC's share of terms that go again (unless X has so many numbers that it takes
# too long), and the bits that a split of either must save on the training rows (ccp_alpha = bits / rows), are chosen
# for each fit by validation within its training rows.
PENALTIES, ELIMINATIONS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0), (0.0, 0.2, 0.5, 0.8, 1.0)
FEW_NUMBERS = 5_000_000
BITS = (0.0, 2.0, 4.0, 6.0, 8.0)
# Small sets are divided as often as for the outer folds, and the smallest until so many rows have been judged: one
# division of 171 rows decides by chance.
INNER = {"folds": 5, "divisions": 10, "rows": 3500}
ONE_INNER_FOLD = 1_000_000  # numbers in X from which a single fold is held out
# The paper grows OC1 and CART-LC up to a maximal depth that it does not name. On large data, where trees become deep
# enough for it to matter, it is chosen as well; our variant and CART-LC may then limit their depth in place of
# pruning.
WITH_DEPTH = ("oblique", "OC1", "OC1r", "CART-LC", "CART-LCr")
DEPTHS = tuple(range(2, 21, 2))
SMALL_ROWS = 1000  # up to which a set is divided often


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)


CHOICES = (
    'WODT is the published method, `splits="wodt"`: columns in [−1, 1], one start from N(0, 1), L-BFGS, no penalty, '
    "cut at θ·x = 0, grown until leaves are pure.\n\n"
    f"CO2 and CO2r cut at w·x = 0. ν (of {_listed(NUS)}) and η (of {_listed(ETAS)}) are chosen inside the training "
    f"rows of each fit by {CO2_CHOICE['divisions']} divisions into {CO2_CHOICE['folds']} folds, as in the paper; of "
    f"more than {CO2_CHOICE['small']:,} rows one cut of at most {CO2_CHOICE['most']:,} of them decides. They take "
    "steps over all rows of a node, at most 300, where the original takes them over a few rows at a time.\n\n"
    f"oblique (ours) is not the paper's method. Its penalty l2 (of {_listed(PENALTIES)}) and the bits of entropy that "
    f"a split must save to escape pruning (of {_listed(BITS)}) are chosen by validation within the training rows of "
    f"each fit: {INNER['folds']} folds, or one where X is large; small sets are divided {INNER['divisions']} times, "
    f"the smallest so often that {INNER['rows']:,} rows are judged.\n\n"
    f"CART-LC chooses its pruning in the same way, and the share of terms that it removes (of "
    f"{_listed(ELIMINATIONS)}; {CartLC().elimination:g} for the largest X). On the seven largest sets the maximal "
    f"depth of OC1 and CART-LC, which the paper does not name (of {_listed(DEPTHS)} and none), is chosen as well, and "
    "that of oblique (ours); for CART-LC and oblique (ours) in place of pruning. HHCART is not in the paper."
)


def methods(cap: float | None) -> dict[str, Callable[[], Any]]:
    """Return the split families of the tables, by the names under which results are stored."""
    return {
        "WODT": lambda: WeightedOblique(**PUBLISHED),
        "oblique": lambda: WeightedOblique(l2="auto", **TUNED),
        "APDT": lambda: "axis",
        "CO2": lambda: CO2(recut=False, time_limit=cap),
        "CO2r": lambda: CO2(init="random", recut=False, time_limit=cap),
        "OC1": lambda: OC1(time_limit=cap),
        "OC1r": lambda: OC1(init="random", time_limit=cap),
        "CART-LC": lambda: CartLC(time_limit=cap),
        "CART-LCr": lambda: CartLC(init="random", time_limit=cap),
        "HHCART": lambda: Householder(time_limit=cap),
    }


def inner_cuts(X: Any, y: Any, seed: int) -> list[tuple[Any, Any]]:
    """Training and validation rows among these."""
    divisions = max(INNER["divisions"], -(-INNER["rows"] // len(y))) if len(y) <= SMALL_ROWS else 1
    folds = [
        StratifiedKFold(INNER["folds"], shuffle=True, random_state=seed + 1000 * division)
        for division in range(divisions)
    ]
    parts = [part for fold in folds for part in fold.split(X, y)]
    return parts[:1] if X.size >= ONE_INNER_FOLD else parts


def validated(candidates: list[Any], depths: tuple[int, ...], X: Any, y: Any, seed: int) -> tuple[Any, dict[str, Any]]:
    """Return the splits, and the bits or the depth, whose trees err least on folds; the smallest trees on ties."""
    right = np.zeros((len(candidates), len(depths) + len(BITS)))
    leaves = np.zeros_like(right)
    for inner, outer in inner_cuts(X, y, seed):
        for i, splits in enumerate(candidates):
            tree = fit(splits, X[inner], y[inner], seed)[0]
            right[i, : len(depths)] += _right_by_depth(tree, X[outer], y[outer], depths)
            leaves[i, : len(depths)] += _leaves_by_depth(tree.tree_, depths)
            for j, bits in enumerate(BITS, len(depths)):
                pruned = prune(tree.tree_, bits / len(inner)) if bits else tree.tree_
                leaf = apply(pruned, np.asarray(X[outer], dtype=tree.tree_.schema.dtype), 1)
                right[i, j] += np.sum(tree.classes_[pruned.value.argmax(axis=1)[leaf]] == y[outer])
                leaves[i, j] += pruned.n_leaves
    i, j = np.unravel_index(np.lexsort((leaves.ravel(), -right.ravel()))[0], right.shape)
    limits: list[dict[str, Any]] = [
        *({"max_depth": depth} for depth in depths),
        *({"ccp_alpha": bits / len(y)} for bits in BITS),
    ]
    return candidates[i], limits[j]


def validated_depth(splits: Any, X: Any, y: Any, seed: int) -> int | None:
    """Return the depth (or none) whose trees err least on folds; the deepest on ties."""
    right = np.zeros(len(DEPTHS) + 1)
    for inner, outer in inner_cuts(X, y, seed):
        tree = fit(splits, X[inner], y[inner], seed)[0]
        right += _right_by_depth(tree, X[outer], y[outer], (*DEPTHS, np.inf))
    return (*DEPTHS, None)[int(np.flatnonzero(right == right.max())[-1])]


def validated_co2(splits: CO2, X: Any, y: Any, seed: int) -> CO2:
    """Return CO2 with the ν and η whose trees err least on rows held out; the smallest ν, then η, on ties."""
    if len(y) > CO2_CHOICE["most"]:
        keep = np.sort(np.random.default_rng(seed).permutation(len(y))[: CO2_CHOICE["most"]])
        X, y = X[keep], y[keep]
    divisions = CO2_CHOICE["divisions"] if len(y) <= CO2_CHOICE["small"] else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes of fewer rows than folds
        parts = [part for division in range(divisions) for part in StratifiedKFold(
            CO2_CHOICE["folds"], shuffle=True, random_state=seed + 1000 * division).split(X, y)]  # fmt: skip
    candidates = [CO2(init=splits.init, nu=nu, eta=eta, recut=splits.recut, time_limit=splits.time_limit)
                  for nu in NUS for eta in ETAS]  # fmt: skip
    right = np.zeros(len(candidates))
    for inner, outer in parts if divisions > 1 else parts[:1]:
        for i, candidate in enumerate(candidates):
            right[i] += np.sum(fit(candidate, X[inner], y[inner], seed)[0].predict(X[outer]) == y[outer])
    return candidates[int(right.argmax())]


def chosen(method: str, splits: Any, with_depth: bool, X: Any, y: Any, seed: int) -> tuple[Any, dict[str, Any]]:
    """Return the splits of a method and what limits its trees, as far as validation decides."""
    depths = DEPTHS if with_depth else ()
    if method in ("CO2", "CO2r"):
        return validated_co2(splits, X, y, seed), {}
    if method == "oblique":
        return validated([WeightedOblique(l2=l2, **TUNED) for l2 in PENALTIES], depths, X, y, seed)
    if method == "CART-LC":
        shares = ELIMINATIONS if X.size < FEW_NUMBERS else (splits.elimination,)
        candidates = [CartLC(elimination=share, time_limit=splits.time_limit) for share in shares]
        return validated(candidates, depths, X, y, seed)
    if method in WITH_DEPTH and with_depth:
        return splits, {"max_depth": validated_depth(splits, X, y, seed)}
    return splits, {}


def fit(splits: Any, X: Any, y: Any, seed: int, **limits: Any) -> tuple[TopDownTreeClassifier, float, bool]:
    """Grow a tree to purity or its limits; return it with its CPU seconds and whether a cap ended the search."""
    tree = TopDownTreeClassifier(splits, "entropy", random_state=seed, verbose=False, **limits)
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        tree.fit(X, y)
    capped = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return tree, time.process_time() - start, capped


def accuracy_by_depth(model: TopDownTreeClassifier, X: Any, y: Any, depths: tuple[float, ...] = DEPTHS) -> list[float]:
    """Accuracy of the tree cut at each depth; what a node predicts is known from its class fractions."""
    tree = model.tree_
    parent, depth = _parents(tree)
    label, place, scores = model.classes_[tree.value.argmax(axis=1)], model.apply(X), []
    for limit in reversed(depths):
        while (deep := depth[place] > limit).any():
            place[deep] = parent[place[deep]]
        scores.append(float((label[place] == y).mean()))
    return scores[::-1]


def _right_by_depth(model: TopDownTreeClassifier, X: Any, y: Any, depths: tuple[float, ...]) -> Any:
    return np.rint(len(y) * np.array(accuracy_by_depth(model, X, y, depths)))


def _parents(tree: Tree) -> tuple[Any, Any]:
    """Return the parent of each node and its distance from the root."""
    parent = np.full(tree.node_count, -1)
    for children in (tree.children_left, tree.children_right):
        inner = children != LEAF
        parent[children[inner]] = np.flatnonzero(inner)
    depth = np.zeros(tree.node_count, dtype=int)
    for node in range(1, tree.node_count):
        depth[node] = depth[parent[node]] + 1
    return parent, depth


def _leaves_by_depth(tree: Tree, depths: tuple[int, ...]) -> list[int]:
    """Return the number of leaves of a tree cut at each depth."""
    depth = _parents(tree)[1]
    return [int(np.sum(depth == limit) + np.sum(tree.is_leaf & (depth < limit))) for limit in depths]
