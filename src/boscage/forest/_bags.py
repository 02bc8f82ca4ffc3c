"""Which rows each tree of a forest is grown on, and how much they count: pure functions of (seed, tree number)."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage.base.numbers import check_number, is_flag
from boscage.data.validation import Dataset
from boscage.data.weights import apply_class_weight, snap_weights

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint8]


def check_bags(bootstrap: Any, max_samples: Any) -> None:
    """Refuse unknown ways of drawing rows, and what does not go together."""
    if not is_flag(bootstrap) and not (isinstance(bootstrap, str) and bootstrap == "bayesian"):
        raise ValueError(f"bootstrap={bootstrap!r} is not allowed. Pass True, False or 'bayesian'.")
    if max_samples is None:
        return
    allowed = "None, an integer >= 1 or a fraction in (0, 1]"
    if isinstance(max_samples, numbers.Integral):
        check_number("max_samples", max_samples, allowed, 1, whole=True)
    else:
        check_number("max_samples", max_samples, allowed, 0, 1, above=True)
    if bootstrap == "bayesian":
        raise ValueError(
            f"max_samples={max_samples!r} cannot be combined with bootstrap='bayesian', which gives every row a "
            "weight. Pass max_samples=None, or bootstrap=True or False."
        )


@dataclass(frozen=True)
class BagPlan:
    """The rows of one tree: small, and enough for any range of the rows.

    Attributes
    ----------
    seed : int
        Seed of the draws.
    rows : int
        Rows to draw from.
    bootstrap : bool or "bayesian"
        As in `Bags`.
    facts : object
        What all rows have to know: draws by block of rows, or the limit below which the keys of drawn rows lie.
    """

    seed: int
    rows: int
    bootstrap: bool | str
    facts: Any

    def counts(self, begin: int, end: int) -> Floats | None:
        """How often each of rows begin .. end − 1 counts; None if each counts once."""
        drawn: Floats | None = None
        if self.bootstrap == "bayesian":
            drawn = _core.draw_exponential(self.seed, self.rows, begin, end)
        elif self.bootstrap:
            drawn = _core.draw_with_replacement(self.seed, self.facts, self.rows, begin, end)
        elif self.facts is not None:
            drawn = _core.draw_without_replacement(self.seed, self.facts, self.rows, begin, end)
        return drawn


@dataclass(frozen=True)
class Bags:
    """The rows of each tree.

    Attributes
    ----------
    seed : int
        Seed of the forest.
    rows : int
        Rows to draw from.
    bootstrap : bool or "bayesian"
        Whether rows are drawn with replacement, without, or all get exponential weights.
    draws : int
        Rows drawn for a tree.
    balanced : bool
        Whether the classes are made equally heavy in each bag.
    """

    seed: int
    rows: int
    bootstrap: bool | str
    draws: int
    balanced: bool = False

    @classmethod
    def of(cls, seed: int, rows: int, bootstrap: Any, max_samples: Any, *, balanced: bool = False) -> Bags:
        """Turn parameters that `check_bags` has seen into numbers."""
        if isinstance(max_samples, numbers.Integral):
            draws = int(max_samples)
            if draws > rows:
                raise ValueError(f"max_samples={draws} is not allowed: X has {rows} rows. Pass at most {rows}.")
        else:
            draws = rows if max_samples is None else max(1, round(max_samples * rows))
        return cls(seed, rows, bootstrap if isinstance(bootstrap, str) else bool(bootstrap), draws, balanced)

    @property
    def leaves_out(self) -> bool:
        """Whether trees leave rows out."""
        return self.bootstrap is True or (self.bootstrap is False and self.draws < self.rows)

    @property
    def share_left_out(self) -> float:
        """Share of the rows that a tree leaves out, in the mean."""
        return float((1 - 1 / self.rows) ** self.draws if self.bootstrap is True else 1 - self.draws / self.rows)

    def tree_seed(self, tree: int) -> int:
        """Seed of what a tree draws while it grows."""
        return self._seeds(tree)[0]

    def _seeds(self, tree: int) -> tuple[int, int]:
        found = np.random.SeedSequence([self.seed, tree]).generate_state(2, np.uint64)
        return int(found[0] >> np.uint64(1)), int(found[1])

    def plan(self, tree: int) -> BagPlan:
        """Return the bag of a tree, of which any range of rows can be had."""
        seed = self._seeds(tree)[1]
        facts: Any = None
        if self.bootstrap is True:
            facts = _core.draws_by_block(seed, self.rows, self.draws)
        elif self.bootstrap is False and self.draws < self.rows:
            facts = _core.draws_limit(seed, self.rows, self.draws)
        return BagPlan(seed, self.rows, self.bootstrap, facts)

    def counts(self, tree: int) -> Floats | None:
        """How often each row counts in a tree; None if each counts once."""
        return self.plan(tree).counts(0, self.rows)

    def out_of_bag(self, tree: int) -> Bits:
        """Bits of the rows that a tree has not seen."""
        counts = self.counts(tree)
        left_out = np.zeros(self.rows, np.bool_) if counts is None else counts == 0
        return np.packbits(left_out, bitorder="little")

    def data(self, data: Dataset, tree: int, *, keep_all: bool) -> Dataset:
        """Return the data of a tree.

        Parameters
        ----------
        data : Dataset
            The data of the forest.
        tree : int
            Index of the tree.
        keep_all : bool
            Whether rows that are not in the bag stay, with weight 0; else they are left out, which copies the others.
        """
        counts = self.counts(tree)
        if counts is None and not self.balanced:
            return data
        weight = np.ones(self.rows) if counts is None else counts
        in_bag = None if keep_all or counts is None else np.flatnonzero(counts)
        if in_bag is not None and len(in_bag) < self.rows:
            weight = weight[in_bag]
            own = None if data.weight is None else data.weight[in_bag]
            data = replace(data, X=data.X[in_bag], y=data.y[in_bag], weight=own)
        if data.weight is not None:
            weight = weight * data.weight
        if self.balanced:
            balanced = apply_class_weight("balanced", data.y, data.classes, weight)
            weight = weight if balanced is None else balanced
        if data.weight is not None or self.balanced or self.bootstrap == "bayesian":
            weight = _snapped(weight)
        is_one = weight.min() == 1 and weight.max() == 1
        return replace(data, weight=None if is_one else weight)


def _snapped(weight: Floats) -> Floats:
    """Put weights on the grid on which sums are exact; zeros stay."""
    zeros = weight == 0
    if not zeros.any():
        return snap_weights(weight)
    snapped = np.zeros_like(weight)
    snapped[~zeros] = snap_weights(weight[~zeros])
    return snapped


def out_of_bag_trees(bits: Bits, rows: int) -> npt.NDArray[np.int64]:
    """Return for how many trees each row is out of bag."""
    found = np.zeros(rows, np.int64)
    for line in bits:
        found += np.unpackbits(line, count=rows, bitorder="little")
    return found


def bags_to_json(bags: Sequence[Bags]) -> list[list[Any]]:
    """Return the bags of the trees for a file: how many trees in a row have them, rows, bootstrap and draws."""
    runs = groupby((own.rows, own.bootstrap, own.draws) for own in bags)
    return [[len(list(run)), *facts] for facts, run in runs]


def bags_from_json(runs: Any, seed: int, trees: int) -> tuple[Bags, ...]:
    """Return the bags of the trees that a file tells of; raise ValueError where it makes no sense."""
    bags: list[Bags] = []
    for count, rows, bootstrap, draws in runs:
        if any(type(number) is not int for number in (count, rows, draws)) or not 1 <= draws <= rows < 2**63:
            raise ValueError("bags of a forest must be numbers of trees, rows and draws")
        check_bags(bootstrap, None)
        if not 1 <= count <= trees - len(bags):
            raise ValueError("bags of a forest must be those of its trees")
        bags += [Bags(seed, rows, bootstrap, draws)] * count
    if len(bags) < trees:
        raise ValueError("bags of a forest must be those of its trees")
    return tuple(bags)


def best_exponent(proba: Floats, y: npt.NDArray[Any], weight: Floats | None) -> float:
    """Find t so that p^t, divided by its sum, has the least logarithmic loss: a convex problem, by Newton's steps.

    Parameters
    ----------
    proba : array of shape (n, K)
        Probabilities of rows the trees have not seen; NaN in lines that do not count.
    y : array of shape (n,)
        Class numbers.
    weight : array of shape (n,) or None
        Weights.
    """
    seen = ~np.isnan(proba[:, 0])
    mass = seen * (1.0 if weight is None else weight)
    mass /= mass.sum()
    low, high = _EXPONENTS
    t = 1.0
    for _ in range(30):
        slope = bend = 0.0
        for begin in range(0, len(y), _BLOCK):
            rows = begin + np.flatnonzero(seen[begin : begin + _BLOCK])
            first, second = _slopes(np.log(proba[rows] + _FLOOR), y[rows], mass[rows], t)
            slope += first
            bend += second
        low, high = (low, t) if slope > 0 else (t, high)
        step = t - slope / bend if bend > 0 else math.nan
        following = step if low < step < high else (low + high) / 2
        if abs(following - t) < 1e-6:
            break
        t = following
    return float(round(t, 6))


def _slopes(logs: Floats, y: npt.NDArray[Any], mass: Floats, t: float) -> tuple[float, float]:
    """First and second derivative of the loss of some rows."""
    share = t * logs
    share -= share.max(axis=1, keepdims=True)
    np.exp(share, out=share)
    share /= share.sum(axis=1, keepdims=True)
    mean = (share * logs).sum(axis=1)
    square = (share * logs * logs).sum(axis=1)
    return float(mass @ (mean - logs[np.arange(len(y)), y])), float(mass @ (square - mean**2))


_BLOCK = 4096  # rows whose logarithms are in memory at the same time
_FLOOR = 1e-3  # a row whose class no tree has voted for must not decide alone
_EXPONENTS = (0.25, 8.0)
