"""After growing: Tree in, Tree out. Pruning, polishing and leaves, and the choice between settings by validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boscage.base.progress import Progress
from boscage.criteria._numbers import NumberCriterion
from boscage.data.distinct import fold_numbers, take_rows
from boscage.data.validation import Dataset
from boscage.engine.grow import Job
from boscage.leaves import Leaf
from boscage.model.predict import predict_proba
from boscage.polish import Polish
from boscage.pruning import prune
from boscage.tree import Tree

_FOLDS = 5
_MANY_ROWS = 3000


@dataclass(frozen=True)
class Finish:
    """What happens to a grown tree, in this order: prune, polish, leaves."""

    ccp_alpha: float
    polish: Polish | None
    leaf: Leaf
    verbose: bool | None

    def __call__(self, tree: Tree, job: Job) -> Tree:
        """Return the finished tree."""
        return self.with_leaves(self.before_leaves(tree, job), job)

    def before_leaves(self, tree: Tree, job: Job) -> Tree:
        """Prune and polish."""
        tree = prune(tree, self.ccp_alpha) if self.ccp_alpha > 0 else tree
        return tree if self.polish is None else self.polish.refine(tree, job, self.verbose)

    def with_leaves(self, tree: Tree, job: Job) -> Tree:
        """Fit the leaves."""
        with Progress("fitting leaves", self.verbose, tree.n_leaves) as progress:
            return self.leaf.finish(tree, replace(job, progress=progress.callback or job.progress))


def choose(job: Job, grow: Callable[[Job, Leaf], Tree], finish: Finish) -> Finish:
    """Settle what is "auto" on rows held out from growing and from everything after it.

    A fifth of the rows is held out (up to 3000 rows: each fifth in turn; for linear leaves of numbers at least three of
    them). For each way of polishing the leaf with the least squared error of its probabilities counts, and of these the
    one with the fewest errors wins; the simpler one on ties. For numbers the loss of the criterion counts. Folds depend
    on the content of rows, so copies of a row are never on both sides.
    """
    leaves = finish.leaf.candidates()
    polishes: list[Polish | None] = [None] if finish.polish is None else finish.polish.candidates()
    if len(leaves) == 1 and len(polishes) == 1:
        return replace(finish, leaf=leaves[0], polish=polishes[0])
    fold = fold_numbers(job.data, _FOLDS, job.seed)
    errors, squares = np.zeros((len(polishes), len(leaves))), np.zeros((len(polishes), len(leaves)))
    for number in range(_FOLDS if len(fold) <= _MANY_ROWS else finish.leaf.folds_of_many):
        if not 0 < np.count_nonzero(fold == number) < len(fold):
            continue
        part, outer = job.of_rows(fold != number), take_rows(job.data, fold == number)
        grown: dict[Any, Tree] = {}
        for leaf in leaves:
            if leaf.growth not in grown:
                grown[leaf.growth] = grow(part, leaf)
        for p, polish in enumerate(polishes):
            tried = replace(finish, polish=polish)
            before = {growth: tried.before_leaves(tree, part) for growth, tree in grown.items()}
            for i, leaf in enumerate(leaves):
                tree = before[leaf.growth]
                error, square = _held_out(
                    replace(tried, leaf=leaf).with_leaves(tree, part), outer, job.criterion, job.threads
                )
                errors[p, i] += error
                squares[p, i] += square
    best_leaf = squares.argmin(axis=1)
    best = int(errors[np.arange(len(polishes)), best_leaf].argmin())
    return replace(finish, polish=polishes[best], leaf=leaves[int(best_leaf[best])])


def _held_out(tree: Tree, data: Dataset, criterion: Any, threads: int) -> tuple[float, float]:
    """Weighted errors, and squared errors of probabilities, on rows the tree has not seen; of numbers their loss."""
    proba = predict_proba(tree, data.X, threads)
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    if isinstance(criterion, NumberCriterion):
        size = float(np.abs(data.y).max()) or 1.0
        with np.errstate(over="ignore", invalid="ignore"):  # numbers near the largest
            losses = criterion.loss(data.y.reshape(proba.shape) / size, proba / size).sum(axis=1)
            most = 1e300 / max(float(weight.sum()), 1.0)  # so that sums are finite; NaN is no better than infinity
        loss = float(weight @ np.fmin(losses, most))
        return loss, loss
    missed = proba.argmax(axis=1) != data.y
    proba[np.arange(len(data.y)), data.y] -= 1.0
    return float(weight @ missed), float(weight @ (proba**2).sum(axis=1))
