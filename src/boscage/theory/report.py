"""What a fitted tree did against what the theory promises: edges, drops, and the potential beside its bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.base.component import resolve
from boscage.criteria import Entropy, Gini, ModifiedGini, Separation, Sqrt
from boscage.theory._forms import Floats, is_sharp
from boscage.theory.curves import effective_edge, potential_bound
from boscage.theory.drops import promised_drop
from boscage.theory.edges import criterion_of, edge, node_class_weights, order_of_growth
from boscage.theory.separation import separation, separation_drop
from boscage.tree import Tree

REPORT = np.dtype(
    [
        ("split", np.int64),
        ("node", np.int64),
        ("weight", np.float64),
        ("edge", np.float64),
        ("J", np.float64),
        ("balance", np.float64),
        ("purity", np.float64),
        ("drop", np.float64),
        ("promised", np.float64),
        ("potential", np.float64),
        ("promised_potential", np.float64),
        ("bound", np.float64),
        ("error", np.float64),
    ]
)
"""Fields of a report, one entry for each split in the order of growth."""
_SHOWN = 12  # rows of a report that are printed


@dataclass(frozen=True, eq=False)
class BoostingReport:
    """The splits of a tree next to the bounds of the theory, as returned by :func:`boosting_report`.

    Attributes
    ----------
    table : structured ndarray
        One entry for each split, in the order of growth: ``split`` and ``node`` (numbers), ``weight`` (of the node, as
        a fraction of the total), ``edge`` (of the test or of its negation), ``J``, ``balance`` and ``purity`` (see
        :func:`separation`), ``drop`` and ``promised`` (the decrease of the whole potential, measured and guaranteed),
        and after the split ``potential``, ``promised_potential`` (subtracts only the guaranteed drops, so it is never
        below ``potential``), ``bound`` (the theoretical curve) and ``error`` (of the tree).
    criterion : str
        Name of the criterion.
    n_classes : int
        Number of classes.
    start : float
        Potential of the root.
    start_error : float
        Error of a tree that is only the root.
    edge : float
        γ of the curve: the one given, or the smallest edge of the splits (J/2 for more than two classes).
    effective : float
        Edge whose curve the measured potential just stays under; NaN where no curve is known.
    form : str
        "sharp" or "printed".
    """

    table: npt.NDArray[np.void]
    criterion: str
    n_classes: int
    start: float
    start_error: float
    edge: float
    effective: float
    form: str

    @property
    def holds(self) -> bool:
        """Whether no split lowered the potential less than guaranteed; true where nothing is guaranteed."""
        promised = self.table["promised"]
        known = ~np.isnan(promised)
        drop: Floats = self.table["drop"]
        return bool((drop[known] >= promised[known] - 1e-9).all())

    @property
    def below_bound(self) -> bool:
        """Whether the potential stayed under the curve; it must if every leaf had a test of that edge."""
        bound = self.table["bound"]
        known = ~np.isnan(bound)
        return bool((self.table["potential"][known] <= bound[known] + 1e-9).all())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold; NaN becomes None."""
        rows = [
            {name: _plain(row[name]) for name in REPORT.names or ()}
            for row in self.table
        ]  # fmt: skip
        facts = ("criterion", "n_classes", "start", "start_error", "edge", "effective", "form", "holds", "below_bound")
        return {name: _plain(getattr(self, name)) for name in facts} | {"splits": rows}

    def to_markdown(self, max_rows: int | None = None) -> str:
        """Return the table in Markdown.

        Parameters
        ----------
        max_rows : int, optional
            Keep the first and last of a long table. Default: all rows.
        """
        header, rows = self._cells()
        kept = _shorten(rows, max_rows)
        lines = [header, ["---:"] * len(header), *kept]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw potential, error, promised potential and the theoretical curve against the number of splits.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw. Default: a new figure.

        Returns
        -------
        matplotlib axes
        """
        from boscage.theory._report_plot import draw_report

        return draw_report(self, ax)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        measure = "edge" if self.n_classes == 2 else "J"
        names = ["split", "node", "weight", measure, "balance", "purity", "drop", "promised", "potential", "bound"]
        titles = {"potential": "G_t", "bound": "bound"}
        header = [titles.get(name, name) for name in [*names, "error"]]
        rows = [[_cell(row[name]) for name in [*names, "error"]] for row in self.table]
        return header, rows

    def __repr__(self) -> str:
        header, rows = self._cells()
        kept = _shorten(rows, _SHOWN)
        widths = [max(len(line[j]) for line in [header, *kept]) for j in range(len(header))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in [header, *kept]]
        word = "edge" if self.n_classes == 2 else "J/2"
        summary = (
            f"{self.criterion}, {self.n_classes} classes, {len(self.table)} splits: G {self.start:.4f} → "
            f"{self._last('potential', self.start):.4f}, error {self.start_error:.4f} → "
            f"{self._last('error', self.start_error):.4f}\n"
            f"{self.form} bound at {word} {self.edge:.4f}: every drop as promised: {_yes(self.holds)}, "
            f"G_t under the curve: {_yes(self.below_bound)}"
        )
        if not math.isnan(self.effective):
            summary += f"; it fell as an edge of {self.effective:.4f} guarantees"
        return "\n".join([summary, *lines])

    def _last(self, name: str, otherwise: float) -> float:
        return float(self.table[name][-1]) if len(self.table) else otherwise


def boosting_report(
    model: Any, X: Any = None, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None, *,
    criterion: Any = None, gamma: float | None = None, form: str = "sharp",
) -> BoostingReport:  # fmt: skip
    """Compare what each split of a tree achieved with what the theory guarantees.

    For two classes a split's edge γ (see `node_edges`) promises a drop, and the smallest edge a curve that the
    potential stays under (`potential_bound`). For more classes LOMtree's J takes the place of the edge: it promises a
    drop of entropy, Gini or modified Gini (`separation_drop`), and γ = J/2 the curve for trees that always split the
    heaviest leaf. Potentials are normalised so that two equal classes give 1, as in ``trajectory_``.

    Parameters
    ----------
    model : Tree, or estimator with ``tree_``
        Any family of tests.
    X, y, sample_weight : array-like, optional
        Rows to measure on. Default: the training rows, from the numbers in the tree.
    criterion : str or Criterion, optional
        The criterion G. Default: the estimator's, or Gini for a tree. Nothing is promised for a criterion without a
        known bound.
    gamma : float, optional
        Edge of the theoretical curve. Default: the smallest that a split had.
    form : {"sharp", "printed"}, default="sharp"
        Which form of the bounds.

    Returns
    -------
    BoostingReport
        With ``table``, ``to_dict()``, ``to_markdown()`` and ``plot()``.

    Examples
    --------
    >>> from boscage import TopDownTreeClassifier
    >>> from boscage.datasets import load_dataset
    >>> from boscage.theory import boosting_report
    >>> heart = load_dataset("heart")
    >>> tree = TopDownTreeClassifier(criterion="sqrt", max_leaf_nodes=4).fit(heart.X, heart.y)
    >>> report = boosting_report(tree)
    >>> report.table["edge"].round(3).tolist(), report.holds, report.below_bound
    ([0.259, 0.231, 0.242], True, True)
    >>> print(report.to_markdown(max_rows=1)[:60])
    | split | node | weight | edge | balance | purity | drop | p
    """
    tree: Tree = model if isinstance(model, Tree) else model.tree_
    is_sharp(form)
    part: Any = criterion_of(model, criterion)
    weights = node_class_weights(model, X, y, sample_weight)
    split = order_of_growth(tree)
    table = _measured(tree, part, weights, split)
    k = tree.n_classes
    table["promised"] = table["weight"] * _promise(part, table, weights, tree, split, form)
    start, start_error = _root(part, weights[0])
    table["potential"] = start - np.cumsum(table["drop"])
    table["promised_potential"] = start - np.cumsum(table["promised"])
    gained = _errors(weights[split]) - _errors(weights[tree.children_left[split]])
    gained -= _errors(weights[tree.children_right[split]])
    table["error"] = start_error - np.cumsum(gained) / weights[0].sum()
    measure = np.abs(table["edge"]) if k == 2 else table["J"] / 2
    least = float(np.nanmin(measure)) if len(split) and not np.isnan(measure).all() else math.nan
    least = least if gamma is None else float(gamma)
    table["bound"] = _curve(part, k, least, len(split), start, form)
    effective = math.nan
    if k == 2 and type(part) in (Gini, Entropy, Sqrt):
        effective = effective_edge(part, np.concatenate([[start], np.maximum(table["potential"], 1e-300)]))
    return BoostingReport(table, _name(part), k, start, start_error, least, effective, form)


def _measured(tree: Tree, part: Any, weights: Floats, split: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    right, left = weights[tree.children_right[split]], weights[tree.children_left[split]]
    table = np.zeros(len(split), REPORT)
    table["split"], table["node"] = np.arange(1, len(split) + 1), split
    table["weight"] = (right + left).sum(axis=1) / weights[0].sum()
    table["edge"] = np.abs(edge(right, left)) if tree.n_classes == 2 else np.nan  # left and right are names
    table["J"], table["balance"], table["purity"] = separation(right, left)
    table["drop"] = part.split_drop(right, left) / weights[0].sum() / part.unit
    return table


def _promise(
    part: Any, table: npt.NDArray[np.void], weights: Floats, tree: Tree, split: npt.NDArray[np.int64], form: str
) -> Floats:
    """Least drop of each node, per unit of its weight and normalised; NaN where no bound is known."""
    if tree.n_classes == 2 and type(part) in (Gini, Entropy, Sqrt):
        both = weights[tree.children_right[split]] + weights[tree.children_left[split]]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = both[:, 1] / both.sum(axis=1)
        promised = promised_drop(part, table["edge"], share, form=form)
        return np.where(np.isnan(table["edge"]), 0.0, promised)  # one class only: nothing can be gained
    kind = "entropy" if isinstance(part, Separation) else part
    if isinstance(part, (Gini, Entropy, ModifiedGini)):
        natural = separation_drop(kind, table["J"], table["balance"], tree.n_classes, form=form)
        scale = math.log(2) if isinstance(part, Entropy) else part.unit
        result: Floats = natural / scale
        return result
    return np.full(len(split), np.nan)


def _curve(part: Any, k: int, gamma: float, splits: int, start: float, form: str) -> Floats:
    """Bound of the normalised potential after 1, …, t splits."""
    steps = np.arange(1, splits + 1)
    if math.isnan(gamma) or not 0 < gamma <= 0.5 or not start > 0:
        return np.full(splits, np.nan)
    if k == 2 and type(part) in (Gini, Entropy, Sqrt):
        return potential_bound(part, gamma, steps, start=min(start, 1.0), form=form)
    if not isinstance(part, (Gini, Entropy, ModifiedGini)) or form == "printed":
        return np.full(splits, np.nan)
    kind = "entropy" if isinstance(part, Separation) else part
    # From the root's own potential: the rate is what counts, per unit of ln(t + 1).
    rate = separation_drop(kind, 2 * gamma, 0.5, k) / (math.log(2) if isinstance(part, Entropy) else part.unit)
    return np.maximum(start - rate * np.log1p(steps), 0.0)


def _root(part: Any, weights: Floats) -> tuple[float, float]:
    total = float(weights.sum())
    return float(part.total(weights)) / total / part.unit, float(_errors(weights)) / total


def _errors(weights: Floats) -> Floats:
    result: Floats = weights.sum(axis=-1) - weights.max(axis=-1)
    return result


def _name(part: Any) -> str:
    for name in ("gini", "entropy", "sqrt", "modified_gini", "separation"):
        if type(resolve("criterion", name)) is type(part):
            return name
    return type(part).__name__.lower()


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(plain, float) and math.isnan(plain) else plain


def _cell(value: Any) -> str:
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return "–" if math.isnan(value) else f"{value:.4f}"


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _shorten(rows: list[list[str]], most: int | None) -> list[list[str]]:
    """Keep the first and last rows of a long table around a row of dots."""
    if most is None or len(rows) <= most:
        return rows
    tail = most // 4
    return [*rows[: most - tail], ["…"] * len(rows[0]), *rows[len(rows) - tail :]]
