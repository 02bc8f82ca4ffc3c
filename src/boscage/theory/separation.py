r"""LOMtree's measure of a test: the objective J, the balance β and the purity α, for any number of classes.

π_k are the class shares of a node, P the share going right and P_k that of class k: J = 2 Σ π_k |P − P_k|, β = P and
α = Σ π_k min(P_k, 1 − P_k). Lemmas and theorems are those of Choromanska, Choromanski and Bojarski; potentials are in
their units: entropy in nats, Gini Σ π(1−π), modified Gini Σ √(π(C−π)).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.base.component import resolve
from boscage.criteria import Criterion, Entropy, Gini, ModifiedGini, Separation
from boscage.online import LOMTreeClassifier, OnlineTreeClassifier
from boscage.theory._forms import Floats, is_sharp, name_of, within
from boscage.theory.edges import node_class_weights, order_of_growth
from boscage.tree import Tree

SEPARATIONS = np.dtype(
    [
        ("node", np.int64),
        ("weight", np.float64),
        ("J", np.float64),
        ("balance", np.float64),
        ("purity", np.float64),
    ]
)
"""One entry for each test: node, its share of all weight, J, balance β and purity α."""
_MULTICLASS: tuple[type[Criterion], ...] = (Gini, Entropy, ModifiedGini)


def separation(right: npt.ArrayLike, left: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
    """J, balance and purity of tests from the class weights of their sides.

    Parameters
    ----------
    right, left : array-like of shape (..., K)
        Class weights of the two sides.

    Returns
    -------
    J, balance, purity : ndarrays of shape (...)
        NaN where a node has no weight.

    Examples
    --------
    >>> from boscage.theory import separation
    >>> [float(number) for number in separation([4, 0, 1], [0, 4, 1])]
    [0.8, 0.5, 0.1]
    """
    R, L = np.asarray(right, dtype=np.float64), np.asarray(left, dtype=np.float64)
    p, q = R.sum(axis=-1), L.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = p + q
        J: Floats = 2 * np.abs(R * q[..., None] - L * p[..., None]).sum(axis=-1) / total**2
        balance: Floats = p / total
        purity: Floats = np.minimum(R, L).sum(axis=-1) / total
    return J, balance, purity


def node_separations(
    model: Any, X: Any = None, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None
) -> npt.NDArray[np.void]:
    """J, balance and purity of every test of a tree, in the order of growth.

    Parameters
    ----------
    model : Tree, or fitted estimator
        Any family of tests, any number of classes. A :class:`~boscage.LOMTreeClassifier` needs the rows; its nodes are
        listed level by level.
    X, y, sample_weight : array-like, optional
        Rows to measure on. Default: the training rows, from the numbers in the tree.

    Returns
    -------
    structured ndarray
        One entry for each test: ``node`` (its number), ``weight`` (of the node, as a fraction of the total), ``J``,
        ``balance`` and ``purity``.

    Examples
    --------
    >>> from boscage import TopDownTreeClassifier
    >>> from boscage.theory import node_separations
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 2, 2]
    >>> tree = TopDownTreeClassifier(criterion="separation", growth="heaviest_first")
    >>> found = node_separations(tree.fit(X, y))
    >>> found["J"].tolist(), found["balance"].tolist(), found["purity"].tolist()
    ([1.0, 1.0], [0.5, 0.5], [0.0, 0.0])
    """
    if isinstance(model, OnlineTreeClassifier):
        raise ValueError("An OnlineTreeClassifier has no single tree to measure. Pass a LOMTreeClassifier.")
    if isinstance(model, LOMTreeClassifier):
        weights, split, to_right, to_left = _routers(model, X, y, sample_weight)
    else:
        tree: Tree = model if isinstance(model, Tree) else model.tree_
        weights, split = node_class_weights(model, X, y, sample_weight), order_of_growth(tree)
        to_right, to_left = tree.children_right[split], tree.children_left[split]
    right, left = weights[to_right], weights[to_left]
    out = np.empty(len(split), SEPARATIONS)
    out["node"], out["weight"] = split, (right + left).sum(axis=1) / weights[0].sum()
    out["J"], out["balance"], out["purity"] = separation(right, left)
    return out


def _routers(model: LOMTreeClassifier, X: Any, y: Any, sample_weight: Any) -> tuple[Floats, Any, Any, Any]:
    """Class weights of the nodes of an online tree, its inner nodes from the root down, and their children."""
    if X is None or y is None:
        raise ValueError("X and y are missing. An online tree keeps no rows: pass those to measure on.")
    with model._reading():
        leaves, state, classes = model._leaves(X), model._learner.state(False), model.classes_
    left, right = np.asarray(state["lom.left"]), np.asarray(state["lom.right"])
    one_hot = (np.asarray(y)[:, None] == classes).astype(np.float64)
    if sample_weight is not None:
        one_hot *= np.asarray(sample_weight, dtype=np.float64)[:, None]
    weights = np.zeros((len(left), len(classes)))
    np.add.at(weights, leaves, one_hot)
    order = [0]
    for node in order:  # grows while it is walked
        if left[node] >= 0:
            order += [int(left[node]), int(right[node])]
    inner = np.array([node for node in order if left[node] >= 0], dtype=np.int64)
    for node in inner[::-1]:
        weights[node] = weights[left[node]] + weights[right[node]]
    return weights, inner, right[inner], left[inner]


def balance_bounds(J: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the interval of the balance of a test with objective J: ½(1 ± √(1 − J)), Lemma 3.

    Parameters
    ----------
    J : array-like
        The objective, in [0, 1].

    Examples
    --------
    >>> from boscage.theory import balance_bounds
    >>> [float(end) for end in balance_bounds(0.75)]
    [0.25, 0.75]
    """
    half = np.sqrt(np.maximum(1 - np.asarray(J, dtype=np.float64), 0)) / 2
    return 0.5 - half, 0.5 + half


def purity_bound(J: npt.ArrayLike, balance: npt.ArrayLike, *, form: str = "sharp") -> Floats:
    r"""Largest purity factor α of a test: min{b, 1 − b − J/(4b)}, b = min(β, 1−β), which is attained.

    Printed (Lemma 4): min{(2 − J)/(4b) − b, ½}. It is stated with β in place of b, which is false for β > ½.

    Parameters
    ----------
    J, balance : array-like
        Objective and balance β of the test, in [0, 1].
    form : {"sharp", "printed"}, default="sharp"
        Which form of the bound.

    Examples
    --------
    >>> from boscage.theory import purity_bound
    >>> round(float(purity_bound(0.6, 0.4)), 3)
    0.225
    >>> round(float(purity_bound(0.6, 0.4, form="printed")), 3)
    0.475
    """
    objective, beta = np.asarray(J, dtype=np.float64), np.asarray(balance, dtype=np.float64)
    small = np.minimum(beta, 1 - beta)
    with np.errstate(invalid="ignore", divide="ignore"):
        if is_sharp(form):
            bound = np.minimum(small, 1 - small - objective / (4 * small))
        else:
            bound = np.minimum((2 - objective) / (4 * small) - small, 0.5)
    result: Floats = np.where(small > 0, np.maximum(bound, 0.0), 0.0)
    return result


def concavity_modulus(criterion: Any, *, form: str = "sharp") -> float:
    r"""Modulus σ of strong concavity: the drop of a node is at least σ/2 · P(1−P) ‖π_right − π_left‖².

    The norm is l₁ for the entropy (σ = 1, Lemma 14) and l₂ for Gini (σ = 2, Lemma 16, an equality) and modified Gini:
    2/C up to C = 2, then C² / (4(C−1)^(3/2)) (printed, Lemma 18: 2(C−2)²/C³, for C > 2 only).

    Parameters
    ----------
    criterion : {"gini", "entropy", "modified_gini"} or Criterion
        The criterion, in the units of the paper.
    form : {"sharp", "printed"}, default="sharp"
        Which form of the bound.

    Examples
    --------
    >>> from boscage import ModifiedGini
    >>> from boscage.theory import concavity_modulus
    >>> round(concavity_modulus(ModifiedGini(C=3)), 3)
    0.795
    >>> round(concavity_modulus(ModifiedGini(C=3), form="printed"), 3)
    0.074
    """
    kind, sharp = name_of(criterion, _MULTICLASS), is_sharp(form)
    if kind is not ModifiedGini:
        return 1.0 if kind is Entropy else 2.0
    part: Any = resolve("criterion", criterion)
    C = float(part.C)
    if sharp:
        return 2 / C if C <= 2 else C**2 / (4 * (C - 1) ** 1.5)
    if C <= 2:
        raise ValueError(f"C={C:g} has no printed bound. Pass C > 2, or form='sharp'.")
    return 2 * (C - 2) ** 2 / C**3


def concavity_drop(criterion: Any, right: npt.ArrayLike, left: npt.ArrayLike, *, form: str = "sharp") -> Floats:
    """Least drop of a node by strong concavity (Lemmas 14, 16, 18), from the class weights of its children.

    Parameters
    ----------
    criterion : {"gini", "entropy", "modified_gini"} or Criterion
        The criterion, in the units of the paper (nats; not divided by its largest value).
    right, left : array-like of shape (..., K)
        Class weights.
    form : {"sharp", "printed"}, default="sharp"
        Which form of the bound.

    Examples
    --------
    >>> from boscage.theory import concavity_drop
    >>> float(concavity_drop("gini", [0, 1], [1, 0]))
    0.5
    """
    R, L = np.asarray(right, dtype=np.float64), np.asarray(left, dtype=np.float64)
    p, q = R.sum(axis=-1), L.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = R / p[..., None] - L / q[..., None]
        l1 = name_of(criterion, _MULTICLASS) is Entropy
        square = np.abs(gap).sum(axis=-1) ** 2 if l1 else (gap**2).sum(axis=-1)
        bound = concavity_modulus(criterion, form=form) / 2 * (p / (p + q)) * (q / (p + q)) * square
    return np.where((p > 0) & (q > 0), bound, 0.0)


def separation_drop(
    criterion: Any, J: npt.ArrayLike, balance: npt.ArrayLike, n_classes: int, *, form: str = "sharp"
) -> Floats:
    """Least drop of a node by J: J²/(8β(1−β)) for the entropy in nats, σJ²/(8Kβ(1−β)) for the other two.

    Parameters
    ----------
    criterion : {"gini", "entropy", "modified_gini"} or Criterion
        The criterion, in the units of the paper.
    J, balance : array-like
        Objective and balance of the test.
    n_classes : int
        Number of classes K, at least 2.
    form : {"sharp", "printed"}, default="sharp"
        Which modulus σ of strong concavity; the two forms differ for modified Gini alone.

    Examples
    --------
    >>> from boscage.theory import separation_drop
    >>> float(separation_drop("entropy", 1.0, 0.5, 10))
    0.5
    >>> float(separation_drop("gini", 1.0, 0.5, 10))
    0.1
    """
    objective, beta = np.asarray(J, dtype=np.float64), np.asarray(balance, dtype=np.float64)
    factor = concavity_modulus(criterion, form=form) / (1 if name_of(criterion, _MULTICLASS) is Entropy else n_classes)
    with np.errstate(invalid="ignore", divide="ignore"):
        bound = factor * objective**2 / (8 * beta * (1 - beta))
    result: Floats = np.where((beta > 0) & (beta < 1), bound, 0.0)
    return result


def potential_range(
    criterion: Any, n_classes: int, *, splits: int | None = None, heaviest: float | None = None, form: str = "sharp"
) -> tuple[float, float]:
    r"""Least and largest value of a tree's criterion Σ w_l G(π_l): Lemmas 9, 12 and 13.

    The least values are 0, 0 and √(C−1). Sharp: the largest are those of leaves with equal class shares, ln K, 1 − 1/K
    and √(KC−1). Printed: these times (t + 1) w, with t splits and the weight w of the heaviest leaf, which is at least
    1/(t + 1).

    Parameters
    ----------
    criterion : {"gini", "entropy", "modified_gini"} or Criterion
        The criterion, in the units of the paper.
    n_classes : int
        K, at least 2.
    splits : int, optional
        t; needed for the printed form.
    heaviest : float, optional
        w, from 1/(t + 1) to 1; needed for the printed form.
    form : {"sharp", "printed"}, default="sharp"
        Which form of the bound.

    Examples
    --------
    >>> from boscage.theory import potential_range
    >>> potential_range("gini", 4)
    (0.0, 0.75)
    >>> potential_range("gini", 4, splits=3, heaviest=0.5, form="printed")
    (0.0, 1.5)
    """
    kind = name_of(criterion, _MULTICLASS)
    high, _ = _start_and_rate(criterion, 0.5, n_classes)
    part: Any = resolve("criterion", criterion)
    low = math.sqrt(part.C - 1) if kind is ModifiedGini else 0.0
    if is_sharp(form):
        return low, high
    if splits is None or splits < 0:
        raise ValueError(f"splits={splits!r} is not allowed. Pass the number of splits, or form='sharp'.")
    if heaviest is None or not 1 / (splits + 1) <= heaviest * (1 + 1e-12) <= 1 + 1e-9:
        raise ValueError(
            f"heaviest={heaviest!r} is not the weight of the heaviest of {splits + 1} leaves. "
            f"Pass a number from {1 / (splits + 1):g} to 1, or form='sharp'."
        )
    return low, (splits + 1) * heaviest * high


def separation_potential(criterion: Any, edge: float, splits: npt.ArrayLike, n_classes: int) -> Floats:
    r"""Largest potential after t splits of the heaviest leaf, if each had J ≥ 2γ.

    The heaviest of t + 1 leaves weighs at least 1/(t + 1), so the potential falls by (a constant)/(t + 1) each time:

    .. math:: \ln K - 2γ^2 \ln(t+1),\qquad 1 - \tfrac{1}{K} - \tfrac{4γ^2}{K} \ln(t+1),\qquad
              \sqrt{KC-1} - \tfrac{2σγ^2}{K} \ln(t+1)

    for entropy, Gini and modified Gini. A bound below the least value of the criterion says that the assumption
    cannot last that long.

    Parameters
    ----------
    criterion : {"gini", "entropy", "modified_gini"} or Criterion
        The criterion, in the units of the paper.
    edge : float
        γ, in (0, ½].
    splits : array-like of int
        t, not negative.
    n_classes : int
        Number of classes K, at least 2.

    Examples
    --------
    >>> from boscage.theory import separation_potential
    >>> separation_potential("entropy", 0.3, [0, 9], n_classes=10).round(3).tolist()
    [2.303, 1.888]
    """
    gamma = within("edge", edge, 0, 0.5)
    first, rate = _start_and_rate(criterion, gamma, n_classes)
    result: Floats = first - rate * np.log1p(np.asarray(splits, dtype=np.float64))
    return result


def separation_splits_needed(
    criterion: Any, edge: float, potential: float, n_classes: int, *, form: str = "sharp", log: bool = False
) -> float:
    r"""Count the splits of the heaviest leaf with J ≥ 2γ that suffice to bring the potential down to α: Theorems 6-8.

    Sharp: `separation_potential` solved for t, ln(t+1) ≥ (G₀ − α)/rate. Printed, with G₀ the largest potential:
    t ≥ (2G₀/α)^e, e = 4(1−γ)² ln K/(γ² log₂ e) for the entropy, 2(1−γ)²(K−1)/(γ² log₂ e) for Gini and
    2(1−γ)² C³ K√(KC−1)/(γ²(C−2)² log₂ e) for modified Gini.

    Parameters
    ----------
    criterion : {"gini", "entropy", "modified_gini"} or Criterion
        The criterion, in the units of the paper.
    edge : float
        γ, in (0, ½].
    potential : float
        α, positive.
    n_classes : int
        K, at least 2.
    form : {"sharp", "printed"}, default="sharp"
        Which form of the bound.
    log : bool, default=False
        Whether to return ln(t + 1) (sharp) or ln t (printed).

    Examples
    --------
    >>> from boscage.theory import separation_splits_needed
    >>> separation_splits_needed("entropy", 0.4, 1.0, n_classes=4)
    3.0
    >>> separation_splits_needed("entropy", 0.4, 1.0, n_classes=4, form="printed")
    6764.0
    """
    gamma, alpha = within("edge", edge, 0, 0.5), float(potential)
    if not alpha > 0:
        raise ValueError(f"potential={potential!r} is not allowed. Pass a positive number.")
    first, rate = _start_and_rate(criterion, gamma, n_classes)
    if is_sharp(form):
        value = max(0.0, (first - alpha) / rate)
        if log:
            return value
        return float(np.ceil(math.expm1(value) - 1e-9)) if value < 700 else math.inf
    if alpha >= 2 * first:
        return -math.inf if log else 0.0
    value = math.log(2 * first / alpha) * _printed_exponent(criterion, gamma, n_classes)
    if log:
        return value
    return float(np.ceil(math.exp(value))) if value < 700 else math.inf


def _start_and_rate(criterion: Any, gamma: float, k: int) -> tuple[float, float]:
    """Largest potential of K classes, and the drop that J = 2γ promises per unit of weight and unit of ln t."""
    kind = name_of(criterion, (*_MULTICLASS, Separation))
    if k < 2:
        raise ValueError(f"n_classes={k!r} is not allowed. Pass at least 2.")
    if kind in (Entropy, Separation):
        return math.log(k), 2 * gamma**2
    if kind is Gini:
        return 1 - 1 / k, 4 * gamma**2 / k
    part: Any = resolve("criterion", criterion)
    return math.sqrt(k * part.C - 1), 2 * concavity_modulus(part) * gamma**2 / k


def _printed_exponent(criterion: Any, gamma: float, k: int) -> float:
    kind = name_of(criterion, (*_MULTICLASS, Separation))
    factor = (1 - gamma) ** 2 / (gamma**2 * math.log2(math.e))
    if kind in (Entropy, Separation):
        return 4 * factor * math.log(k)
    if kind is Gini:
        return 2 * factor * (k - 1)
    part: Any = resolve("criterion", criterion)
    C = float(part.C)
    if C <= 2:
        raise ValueError(f"C={C:g} has no printed bound. Pass C > 2, or form='sharp'.")
    return 2 * factor * C**3 / (C - 2) ** 2 * k * math.sqrt(k * C - 1)
