"""Top-down trees as boosting: Figures 2-3 and 8-13, the fall of G_t on targets of known edge, and split counts.

The paper has no tables. Table 1 here grows real trees where the edge of every leaf's best test is known exactly, and
sets the potential beside the paper's bound and the sharp one. Table 2 counts the splits that one weak test needs, Table
3 those of the majority function: the two examples in which no tree can be small. Table 4 counts the leaves of trees
grown out on data sets, where a criterion chooses among many tests.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize_scalar
from scipy.special import xlogy
from scipy.stats import wilcoxon
from sklearn.model_selection import StratifiedKFold, cross_val_score

from boscage.datasets import list_datasets, load_dataset
from boscage.experiments._runner import Job, markdown_table
from boscage.splits.stochastic import StochasticLinear
from boscage.theory import (
    boosting_report,
    effective_edge,
    majority_curve,
    majority_rows,
    potential_bound,
    splits_needed,
    weak_test_curve,
    weak_test_rows,
)
from boscage.top_down import TopDownTreeClassifier

TABLES = (1, 2, 3, 4)
FIGURES = (2, 3, 8, 9, 10, 11, 12, 13)
CRITERIA = {"gini": "4q(1 − q)", "entropy": "H(q)", "sqrt": "2√(q(1 − q))"}
COLOURS = {"gini": "C0", "entropy": "C1", "sqrt": "C2"}
# splits of the grown trees, edges of Table 2, numbers of bits of Table 3
SPEND: dict[str, dict[str, Any]] = {
    "quick": {"splits": 255, "edges": (0.1, 0.2, 0.3), "bits": (5, 9, 15, 21)},
    "full": {"splits": 2047, "edges": (0.05, 0.1, 0.2, 0.3, 0.4), "bits": (5, 9, 15, 21, 31, 41)},
}
ERRORS = (0.25, 0.1, 0.05)
EDGE = 0.15  # of Table 1's targets
BITS = 12  # of the target for axis tests: as many splits as rows allow
MARGIN = 0.3
# criterion and τ of Figures 8-13; γ = 0.1
TANGENTS = {8: ("gini", 0.4), 9: ("gini", 0.6), 10: ("entropy", 0.4), 11: ("entropy", 0.6), 12: ("sqrt", 0.4),
            13: ("sqrt", 0.6)}  # fmt: skip

Floats = npt.NDArray[np.float64]


def reproduce(job: Job) -> None:
    """Make the tables and figures a job asks for."""
    for table in job.tables:
        {1: _decay, 2: _weak_counts, 3: _majority, 4: _sizes}[table](job)
    for figure in job.figures:
        _criteria(job, figure) if figure in (2, 3) else _tangents(job, figure)


# the criteria and Lemma 4 ---------------------------------------------------------------------------------------------


def binary(name: str, q: Floats) -> Floats:
    """One of the paper's three criteria as a function of the share of class 1.

    Examples
    --------
    >>> import numpy as np
    >>> from boscage.experiments.topdown import binary
    >>> [float(binary(name, np.array(0.5))) for name in ("gini", "entropy", "sqrt")]
    [1.0, 1.0, 1.0]
    """
    q = np.clip(q, 0.0, 1.0)
    if name == "gini":
        value = 4 * q * (1 - q)
    elif name == "sqrt":
        value = 2 * np.sqrt(q * (1 - q))
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = -np.nan_to_num(q * np.log2(q)) - np.nan_to_num((1 - q) * np.log2(1 - q))
    return np.asarray(value, dtype=np.float64)


def _slope(name: str, q: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        if name == "gini":
            value = 4 - 8 * q
        elif name == "sqrt":
            value = (1 - 2 * q) / np.sqrt(q * (1 - q))
        else:
            value = np.log2((1 - q) / q)
    return np.asarray(value, dtype=np.float64)


def tangent_gap(name: str, q: Floats, gamma: float, tau: float) -> Floats:
    r"""Equation (18): the derivative in τ of the drop at δ = γq(1−q)/(τ(1−τ)), the gap of two tangents at q.

    Examples
    --------
    >>> import numpy as np
    >>> from boscage.experiments.topdown import tangent_gap
    >>> float(tangent_gap("gini", np.array(0.5), 0.1, 0.4)) < 0 < float(tangent_gap("gini", np.array(0.5), 0.1, 0.6))
    True
    """
    delta = gamma * q * (1 - q) / (tau * (1 - tau))
    low, high = q - tau * delta, q + (1 - tau) * delta
    left = binary(name, low) + tau * delta * _slope(name, low)
    right = binary(name, high) - (1 - tau) * delta * _slope(name, high)
    result: Floats = left - right
    return result


def _criteria(job: Job, figure: int) -> None:
    top = 1.0 if figure == 2 else 0.1
    q = np.linspace(0, top, 801)

    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        for name in ("sqrt", "entropy", "gini"):
            ax.plot(q, binary(name, q), color=COLOURS[name], label=f"{name}: {CRITERIA[name]}")
        ax.plot(q, 2 * np.minimum(q, 1 - q), color="0.4", ls=":", label="2 min(q, 1 − q)")
        ax.set(xlabel="q", ylabel="G(q)", xlim=(0, top), ylim=(0, None))
        ax.set_title("The three criteria" + (" for small q" if figure == 3 else ""))
        ax.legend(frameon=False)
        ax.grid(alpha=0.25)

    job.picture(f"topdown-figure-{figure}.png", draw, (6, 4))
    at = 0.01
    values = ", ".join(f"{name} {float(binary(name, np.array(at))):.3f}" for name in ("sqrt", "entropy", "gini"))
    job.write(
        f"topdown-figure-{figure}.md",
        f"# Figure {figure}: the three criteria{' for small q' if figure == 3 else ''}\n\n"
        "The square root is above the entropy, which is above Gini; all three are concave, 0 at q = 0 and 1 and 1 at "
        f"q = ½, and above the error 2 min(q, 1 − q). At q = {at}: {values}, error {2 * at:.3f}.\n",
    )


def _tangents(job: Job, figure: int) -> None:
    name, tau = TANGENTS[figure]
    gamma = 0.1
    q = np.linspace(0, 1, 2001)[1:-1]
    gap = tangent_gap(name, q, gamma, tau)
    wanted = "negative" if tau < 0.5 else "positive"
    holds = bool((gap < 0).all() if tau < 0.5 else (gap > 0).all())

    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        ax.axhline(0, color="0.6", lw=0.8)
        ax.plot(q, gap, color=COLOURS[name])
        ax.set(xlabel="q", ylabel="gap of the tangents at q", xlim=(0, 1))
        ax.set_title(f"{CRITERIA[name]}, γ = {gamma}, τ = {tau}: {'' if holds else 'not '}{wanted} for all q")
        ax.grid(alpha=0.25)

    job.picture(f"topdown-figure-{figure}.png", draw, (6, 4))
    job.write(
        f"topdown-figure-{figure}.md",
        f"# Figure {figure}: the derivative in τ of the drop, {name}, τ = {tau}\n\n"
        f"Equation 18 at γ = {gamma} for all q: from {gap.min():.2g} to {gap.max():.2g}. {wanted.capitalize()} "
        f"everywhere, as the paper says: {'yes' if holds else 'no'}.\n",
    )
    _statements(job)


def _statements(job: Job) -> None:
    """State Lemma 4 in numbers: where in [0, 1] the drop is least, for growing γ."""
    rows = []
    for gamma in (0.1, 0.2, 0.25, 0.3, 0.4, 0.5):
        row = [f"{gamma:g}"]
        for name in CRITERIA:
            low, high = best_tau(name, gamma)
            row.append(f"{low:.4f} to {high:.4f}{' ✗' if fails_lemma_4(low) else ''}")
        rows.append(row)
    text = (
        "# Figures 8-13: where a split drops least\n\n"
        "The figures plot the derivative in τ of the drop, at γ = 0.1: negative at τ = 0.4 and positive at τ = 0.6 "
        "for every q, so that the worst τ lies between. (The captions print the last term with the wrong sign; the "
        "curves are those of equation 18.) Lemma 4 is stated for all γ. Its proof is not: Lemma 12 (entropy) needs "
        "γ < 9/35 = 0.257, Lemma 13 (square root) γ < 0.2 and small q. Over all q the worst τ runs over:\n\n"
        f"{markdown_table(['γ', *CRITERIA], rows)}\n\n"
        "✗: outside [0.4, 0.6], where Lemma 4 fails. The ends are limits for q → 0 and q → 1. For the square root they "
        f"are (1 − γ)/2 and (1 + γ)/2, so Lemma 4 holds just up to γ = 0.2; for the entropy up to γ = "
        f"{largest_gamma('entropy'):.3f}; for Gini always. Lemmas 5-7 hold for all γ nevertheless, with constants four "
        "to eight times larger than printed.\n"
    )
    job.write("topdown-figures-8-13.md", text)


def best_tau(name: str, gamma: float) -> tuple[float, float]:
    """Smallest and largest τ at which the drop Δ(q, τ) of equation (15) is least, over all q.

    The extremes are reached for q → 0 and q → 1, where the drop divided by its size has a limit.

    Examples
    --------
    >>> from boscage.experiments.topdown import best_tau
    >>> [round(end, 4) for end in best_tau("gini", 0.3)], [round(end, 4) for end in best_tau("sqrt", 0.3)]
    ([0.5, 0.5], [0.35, 0.65])
    """
    if name == "gini":
        return 0.5, 0.5
    low, high = 1e-9, 1 - gamma  # the left child's share of class 1 must not be negative
    tau = float(minimize_scalar(lambda t: _limit_drop(name, gamma, t), bounds=(low, high), method="bounded",
                                options={"xatol": 1e-12}).x)  # fmt: skip
    return tau, 1 - tau


def _limit_drop(name: str, gamma: float, tau: float) -> float:
    """Drop of a split for q → 0 over q (entropy, nats) or over 2√q (square root)."""
    left, right = 1 - gamma / (1 - tau), 1 + gamma / tau
    if name == "sqrt":
        return 1 - (1 - tau) * math.sqrt(max(left, 0.0)) - tau * math.sqrt(right)
    return (1 - tau) * float(xlogy(left, left)) + tau * float(xlogy(right, right))


def fails_lemma_4(low: float) -> bool:
    """Whether the worst τ leaves [0.4, 0.6]."""
    return low < 0.4 - 1e-6


def largest_gamma(name: str) -> float:
    """Largest γ for which Lemma 4 holds for all q."""
    return float(brentq(lambda gamma: best_tau(name, gamma)[0] - 0.4, 0.05, 0.5))


# the fall of G_t ------------------------------------------------------------------------------------------------------


def independent_bits(bits: int, gamma: float) -> tuple[Floats, npt.NDArray[np.int64], Floats]:
    """All rows of bits that are right about a fair class with chance ½ + γ each, and their probabilities.

    Given the class the bits are independent, so at every leaf each bit that was not asked has the edge γ exactly.

    Examples
    --------
    >>> from boscage.experiments.topdown import independent_bits
    >>> X, y, weight = independent_bits(2, 0.25)
    >>> X.shape, float(weight.sum())
    ((8, 2), 1.0)
    """
    rows = np.array(list(itertools.product((0.0, 1.0), repeat=bits)))
    ones = rows.sum(axis=1)
    right = np.exp(ones * math.log(0.5 + gamma) + (bits - ones) * math.log(0.5 - gamma)) / 2
    weight = np.concatenate([right[::-1], right])
    return np.tile(rows, (2, 1)), np.repeat([0, 1], len(rows)), weight


def margin_circle(margin: float, n: int = 2000) -> tuple[Floats, npt.NDArray[np.int64], Floats]:
    """Give unit rows in the plane at least ``margin`` from a line: its direction has an edge of at least margin/2."""
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    # Rounded, since the last digits of cosines depend on the processor and a tree can turn on them.
    X = np.column_stack([np.cos(angle), np.sin(angle)]).round(12)
    X = X[np.abs(X[:, 0]) >= margin]
    return X, (X[:, 0] > 0).astype(np.int64), np.ones(len(X))


def _targets() -> dict[str, tuple[str, float, Callable[[], tuple[Any, Any, Any]]]]:
    """Name: split family, known edge, rows."""

    def weak() -> tuple[Any, Any, Any]:
        X, y = weak_test_rows(EDGE)
        return X, y, np.ones(2)

    def majority() -> tuple[Any, Any, Any]:
        X, y = majority_rows(11)
        return X, y, np.ones(len(y))

    return {
        f"{BITS} independent bits": ("axis", EDGE, lambda: independent_bits(BITS, EDGE)),
        "majority of 11 bits": ("axis", 1 / 22, majority),
        "one weak test": ("stochastic", EDGE, weak),
        f"margin {MARGIN:g} in the plane": ("stochastic", MARGIN / 2, lambda: margin_circle(MARGIN)),
    }


def _grown(target: str, criterion: str, splits: int) -> dict[str, Any]:
    family, gamma, rows = _targets()[target]
    X, y, weight = rows()
    part: Any = StochasticLinear(scale=False, fit_intercept=False) if family == "stochastic" else family
    model = TopDownTreeClassifier(part, criterion, max_leaf_nodes=splits + 1, verbose=False)
    model.fit(X, y, sample_weight=weight)
    # Measured on the rows: soft trees keep sums of the rows that matter, which the square root notices in pure leaves.
    report = boosting_report(model, X, y, weight, gamma=gamma)
    potential = np.clip(np.concatenate([[report.start], report.table["potential"]]), 0, 1)
    errors = np.concatenate([[report.start_error], report.table["error"]])
    last = len(potential) - 1
    kept = np.unique(np.concatenate([[0], np.geomspace(1, max(1, last), 60).astype(int)]))
    kept = kept[kept <= last]
    return {
        "splits": kept.tolist(),
        "potential": potential[kept].tolist(),
        "error": float(errors[-1]),
        "effective": effective_edge(criterion, np.maximum(potential, 1e-300)),
        "least edge": float(np.nanmin(np.abs(report.table["edge"]))) if len(report.table) else None,
        "promised": report.holds,
        "under": report.below_bound,
    }


def _decay_settings(job: Job, target: str, criterion: str) -> dict[str, Any]:
    edge = _targets()[target][1]
    return {"target": target, "criterion": criterion, "splits": SPEND[job.budget]["splits"], "edge": edge}


def _decay(job: Job) -> None:
    splits = SPEND[job.budget]["splits"]
    targets = _targets()
    job.expect(len(targets) * len(CRITERIA))
    found: dict[tuple[str, str], dict[str, Any]] = {}
    rows = []
    for target, (family, gamma, _) in targets.items():
        for criterion in CRITERIA:
            settings = _decay_settings(job, target, criterion)
            cell = job.cell(f"{target}, {criterion}", settings, partial(_grown, target, criterion, splits))
            found[target, criterion] = cell
            t = cell["splits"][-1]
            sharp, printed = (
                float(potential_bound(criterion, gamma, t, start=cell["potential"][0], form=form))
                for form in ("sharp", "printed")
            )
            rows.append([target, family, criterion, f"{gamma:.3f}", str(t), f"{cell['potential'][-1]:.4f}",
                         f"{sharp:.4f}", f"{printed:.4f}", f"{cell['effective']:.3f}", f"{cell['error']:.4f}",
                         "yes" if cell["promised"] and cell["under"] else "NO"])  # fmt: skip
    header = ["target", "tests", "criterion", "known edge γ", "splits t", "G_t", "sharp bound", "printed form",
              "edge it fell like", "error", "bounds hold"]  # fmt: skip
    text = (
        "# Table 1: the fall of G_t where the edge is known\n\n"
        f"Best-first trees of at most {splits} splits. Every leaf has a test of at least the known edge, so G_t must "
        "stay under both curves and every drop must be at least the promised one; the last column says whether that "
        "was so after every split. A tree that fits its target exactly stops early.\n\n"
        f"{markdown_table(header, rows)}\n"
    )
    job.write("topdown-table-1.md", text)
    job.picture("topdown-table-1.png", lambda canvas: _draw_decay(canvas, found), (10, 7.2))


def _draw_decay(canvas: Any, found: dict[tuple[str, str], dict[str, Any]]) -> None:
    from matplotlib.lines import Line2D

    targets = _targets()
    axes = canvas.subplots(2, 2)
    for ax, (target, (family, gamma, _)) in zip(axes.flat, targets.items()):
        last = max(found[target, criterion]["splits"][-1] for criterion in CRITERIA)
        t = np.unique(np.geomspace(1, max(last, 2), 100).astype(int))
        for criterion in CRITERIA:
            cell = found[target, criterion]
            colour = COLOURS[criterion]
            ax.plot(np.add(cell["splits"], 1), cell["potential"], color=colour, lw=1.8)
            ax.plot(t + 1, potential_bound(criterion, gamma, t, start=cell["potential"][0]), "--", color=colour, lw=1)
        ax.set(xscale="log", xlabel="leaves t + 1", ylabel="G_t", ylim=(0, 1.03))
        ax.set_title(f"{target} ({family} tests, γ = {gamma:.3f})", fontsize="medium")
        ax.grid(alpha=0.25)
    handles = [Line2D([], [], color=COLOURS[name], label=name) for name in CRITERIA]
    handles += [Line2D([], [], color="0.4", ls=style, label=label) for style, label in (("-", "tree"), ("--", "bound"))]
    axes[0, 0].legend(handles=handles, frameon=False, fontsize="small")


# how large trees must be ----------------------------------------------------------------------------------------------


def _power(log: float) -> str:
    """Write e^log as a power of ten, or plainly if it is small."""
    if not math.isfinite(log):
        return "0"
    return f"{math.floor(math.exp(log) + 1e-6):d}" if log < math.log(1e5) else f"10^{log / math.log(10):.1f}"


def _weak_counts(job: Job) -> None:
    edges = SPEND[job.budget]["edges"]
    job.expect(len(edges) * len(CRITERIA))
    rows: list[list[str]] = []
    counts: dict[tuple[float, float], dict[str, Any]] = {}
    for gamma in edges:
        for criterion in CRITERIA:
            settings = {"edge": gamma, "criterion": criterion, "errors": list(ERRORS)}
            work = partial(_first_splits, weak_test_curve, gamma, 10**12, criterion)
            cell = job.cell(f"one weak test, γ = {gamma}, {criterion}", settings, work)
            for error in ERRORS:
                counted = cell[f"{error:g}"]
                counts.setdefault((gamma, error), {})[criterion] = counted
                shown = "more than 10^12" if counted is None else _power(math.log(max(counted, 1)))
                sharp, printed = (
                    splits_needed(criterion, gamma, error, form=f, log=True) for f in ("sharp", "printed")
                )
                sharp = math.log(math.expm1(sharp)) if sharp < 30 else sharp  # from t + 1 to t
                rows.append([f"{gamma:g}", f"{error:g}", criterion, shown, _power(sharp), _power(printed)])
    text = (
        "# Table 2: splits that one weak test needs\n\n"
        "A single random test, right with probability ½ + γ and drawn anew at each node. Counted: splits after which "
        "the top-down tree has the error wanted, exactly. Beside it what the theorems ask for: our sharp bound, and "
        "the printed form. The paper leaves its constants open; those used here come from its proofs (the square "
        "root: 32; Gini: 64/ln 2; entropy: 18, after a correction of one inequality).\n\n"
        f"{markdown_table(['γ', 'error', 'criterion', 'counted', 'sharp bound', 'printed form'], rows)}\n\n"
        "In every counted row the square root needs at least as many splits as Gini and entropy, up to "
        f"{_most(counts):.1f} times as many as Gini, although its bound is the best for small errors. There is no "
        "contradiction. With a single test a criterion only chooses which leaf is split next, and Gini, which prefers "
        "heavy impure leaves, lowers the error soonest. The better bound is about the worst case over all targets. A "
        "criterion that also chooses among tests is the subject of Table 4.\n"
    )
    job.write("topdown-table-2.md", text)


def _most(counts: dict[Any, dict[str, Any]]) -> float:
    """Return how many times as many splits as Gini the square root needs at most."""
    return max(
        (found["sqrt"] / found["gini"] for found in counts.values() if found["sqrt"] and found["gini"]), default=1.0
    )


def _first_splits(count: Callable[..., npt.NDArray[np.void]], *arguments: Any) -> dict[str, Any]:
    """Find the splits after which a counted tree first has each error."""
    curve = count(*arguments)
    result: dict[str, Any] = {}
    for error in ERRORS:
        reached = np.flatnonzero(curve["error"] <= error + 1e-12)
        result[f"{error:g}"] = int(curve["splits"][reached[0]]) if len(reached) else None
    return result


def _majority(job: Job) -> None:
    bits = SPEND[job.budget]["bits"]
    job.expect(len(bits) * len(CRITERIA))
    rows, drawn = [], {}
    counts: dict[tuple[int, float], dict[str, Any]] = {}
    for n in bits:
        for criterion in CRITERIA:
            work = partial(_first_splits, majority_curve, n, 10**15, criterion)
            cell = job.cell(*_majority_address(n, criterion), work)
            drawn[n, criterion] = cell["0.1"]
            for error in ERRORS:
                counts.setdefault((n, error), {})[criterion] = cell[f"{error:g}"]
            rows.append([str(n), criterion, *[str(cell[f"{error:g}"]) for error in ERRORS]])
    header = ["bits n", "criterion", *[f"error {error:g}" for error in ERRORS]]
    text = (
        "# Table 3: splits that the majority of n bits needs\n\n"
        "All rows of n bits, a test asks for one bit. Some bit always has an edge of at least 1/(2n), yet the tree "
        "grows exponentially in n (and any other tree would): counted exactly for top-down growth. The paper quotes an "
        "edge of 1/n; 1/(2n) is what holds for every distribution of the rows with γ counted as in the Weak Hypothesis "
        "Assumption (error at most ½ − γ), and the worst distribution attains it.\n\n"
        f"{markdown_table(header, rows)}\n\n"
        f"Here too the square root never needs fewer splits, and up to {_most(counts):.1f} times as many as Gini: all "
        "bits are alike, so a criterion chooses leaves, not tests.\n"
    )
    job.write("topdown-table-3.md", text)

    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        for criterion in CRITERIA:
            ax.plot(bits, [drawn[n, criterion] for n in bits], "o-", color=COLOURS[criterion], label=criterion)
        ax.set(yscale="log", xlabel="bits", ylabel="splits until error 0.1", title="Majority: exponential in n")
        ax.legend(frameon=False)
        ax.grid(alpha=0.25)

    job.picture("topdown-table-3.png", draw, (6, 4))


# how large trees are that fit data without error ----------------------------------------------------------------------

# Sets with two classes: embedded ones, then those of the folder BOSCAGE_DATA.
SETS = ("promoters", "heart", "wdbc", "tic-tac-toe", "bank", "bike-class", "breast", "broward", "compas", "diabetes",
        "fico", "fourclass", "monk1", "monk2", "monk3", "mushroom", "occupancy", "bidding", "coupon-carryout",
        "coupon-rest20")  # fmt: skip


LEARNABLE = 0.95  # accuracy under cross-validation from which a set counts as nearly free of noise


def _leaves(name: str) -> dict[str, Any]:
    data = load_dataset(name)
    y = np.asarray(data.y)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_score(TopDownTreeClassifier(verbose=False), data.X, y, cv=folds)
    result: dict[str, Any] = {"rows": len(y), "accuracy": float(scores.mean())}
    for criterion in CRITERIA:
        result[criterion] = TopDownTreeClassifier("axis", criterion, verbose=False).fit(data.X, y).get_n_leaves()
    return result


def _sizes(job: Job) -> None:
    job.expect(len(SETS))
    here = list_datasets()
    missing = [name for name in SETS if name not in here and job.known(f"leaves {name}", {"data": name}) is None]
    found = {
        name: job.cell(f"leaves {name}", {"data": name}, partial(_leaves, name)) for name in SETS if name not in missing
    }
    rows = [
        [name, str(cell["rows"]), f"{cell['accuracy']:.3f}", *[str(cell[c]) for c in CRITERIA]]
        for name, cell in found.items()
    ]
    absent = f" Not at hand (set BOSCAGE_DATA to a folder that has them): {', '.join(missing)}." if missing else ""
    text = (
        "# Table 4: leaves of trees grown out\n\n"
        "Here a criterion chooses among many tests. Axis trees grown without a limit on data sets of two classes, with "
        "the accuracy of the Gini tree under 5-fold cross-validation.\n\n"
        f"{markdown_table(['data', 'rows', 'accuracy', *CRITERIA], rows)}\n\n"
        f"{_size_test(found, 'gini')} {_size_test(found, 'entropy')}{absent}\n"
    )
    job.write("topdown-table-4.md", text)


def _size_test(found: dict[str, dict[str, Any]], other: str) -> str:
    """Compare the leaves of the square root with those of another criterion, on all sets and on those free of noise."""
    parts = []
    for title, least in (("all sets", 0.0), (f"sets with an accuracy of at least {LEARNABLE:g}", LEARNABLE)):
        cells = [cell for cell in found.values() if cell["accuracy"] >= least]
        logs = np.array([math.log(cell["sqrt"] / cell[other]) for cell in cells])
        p = float(wilcoxon(logs).pvalue) if np.any(logs) else 1.0
        parts.append(
            f"{title}: {math.exp(logs.mean()) if len(logs) else 1.0:.3f} times the leaves in the geometric mean, fewer "
            f"on {int((logs < 0).sum())} and more on {int((logs > 0).sum())} of {len(cells)} (Wilcoxon p = {p:.3f})"
        )
    return f"Square root against {other.replace('gini', 'Gini')}, {'; '.join(parts)}."


# verdicts -------------------------------------------------------------------------------------------------------------


def conclude(job: Job) -> None:
    """Write the verdicts, if all tables have been made."""
    grown = [job.known(f"{target}, {criterion}", _decay_settings(job, target, criterion))
             for target in _targets() for criterion in CRITERIA]  # fmt: skip
    sizes = {name: job.known(f"leaves {name}", {"data": name}) for name in SETS}
    found = {name: cell for name, cell in sizes.items() if cell is not None}
    if None in grown or not found:
        return
    held = sum(bool(cell["promised"] and cell["under"]) for cell in grown if cell is not None)
    claims = [
        ["Theorem 1: error falls as the bounds say, for the three criteria", "reproduced",
         f"G_t under both bounds and every drop at least as promised in {held} of {len(grown)} grown trees (Table 1)"],
        ["Lemmas 2, 3, 5, 6, 7", "reproduced",
         "property tests; constants can be 2, 1, 4, 8 and 8 times larger than printed (Lemma 6 in nats, as in its "
         "proof)"],
        ["Lemma 4: the worst τ is in [0.4, 0.6] for all γ", "reproduced with a difference",
         f"holds for Gini; for the entropy up to γ = {largest_gamma('entropy'):.3f}, for the square root up to "
         f"γ = {largest_gamma('sqrt'):.3f} (Figures 8-13)"],
        ["Trees must be exponential in 1/γ (majority, one weak test)", "reproduced",
         _growth_text(job)],
        ["The square root has the best bound for small errors", "reproduced with a difference",
         "the bounds are as stated, but in the counted constructions it never needs fewer splits than Gini (Tables 2 "
         "and 3: a criterion only orders leaves there)"],
        ["The differences between the criteria are real in practice", _size_verdict(found),
         f"{_size_test(found, 'gini')} {_size_test(found, 'entropy')} (Table 4)"],
    ]  # fmt: skip
    job.write(
        "topdown-verdict.md", f"# Verdicts\n\n{markdown_table(['claim of the paper', 'verdict', 'figures'], claims)}\n"
    )


def _growth_text(job: Job) -> str:
    """Say how the counted trees of the majority function grow with the number of bits."""
    said = []
    for n in SPEND[job.budget]["bits"]:
        cell = job.known(*_majority_address(n, "gini"))
        if cell is not None:
            said.append(f"{cell['0.1']:,} for {n}")
    return f"splits that Gini needs on the majority of n bits for an error of 0.1: {', '.join(said)} (Tables 2 and 3)"


def _majority_address(n: int, criterion: str) -> tuple[str, dict[str, Any]]:
    return f"majority of {n}, {criterion}", {"bits": n, "criterion": criterion, "errors": list(ERRORS)}


def _size_verdict(found: dict[str, dict[str, Any]]) -> str:
    """Judge the trees of the square root against those of both other criteria, where data are nearly free of noise."""
    cells = [cell for cell in found.values() if cell["accuracy"] >= LEARNABLE]
    smaller = {}
    for other, name in (("gini", "Gini"), ("entropy", "entropy")):
        logs = np.array([math.log(cell["sqrt"] / cell[other]) for cell in cells])
        smaller[name] = bool(np.any(logs) and logs.mean() < 0 and wilcoxon(logs).pvalue < 0.05)
    where = "where data are nearly free of noise"
    if all(smaller.values()) or not any(smaller.values()):
        return f"reproduced {where}" if all(smaller.values()) else "not reproduced"
    wins, fails = (next(name for name, is_smaller in smaller.items() if is_smaller is value) for value in (True, False))
    return f"reproduced against {wins} {where}, not reproduced against {fails}"
