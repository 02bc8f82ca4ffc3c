"""Fitting a forest in batches: see `boscage.forest._passes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from boscage.base.component import check_compatible, data_fact
from boscage.base.threads import n_threads
from boscage.data.targets import warn_if_numbers
from boscage.data.weights import sum_value
from boscage.engine.batch_fits import BatchMethods
from boscage.engine.finish import Finish
from boscage.engine.grow import Job, Limits, with_given_weights
from boscage.engine.top_down import seed_of
from boscage.forest._bags import BagPlan, Bags, out_of_bag_trees
from boscage.model.many_trees import ManyTrees
from boscage.tree import Floats, Int64s, Tree

if TYPE_CHECKING:
    from boscage.batches.reading import FitExecutor
    from boscage.batches.rows import Rows
    from boscage.forest._passes import SharedPasses


class ForestBatches(BatchMethods):
    """Fit and prediction of forests in batches."""

    bootstrap: bool | str
    max_samples: Any
    n_estimators: int
    random_state: Any
    ccp_alpha: float

    def _batch_parts(self) -> dict[str, Any]:
        forest: Any = self
        forest._check_settings()
        if isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample":
            raise ValueError(
                "class_weight='balanced_subsample' weighs the classes of each bag and needs all rows in memory. Pass "
                "class_weight='balanced', or call fit."
            )
        if forest.refit is not None:
            raise ValueError(
                f"refit={forest.refit!r} fits the leaves of all trees together and needs all rows in memory. Pass "
                "refit=None, or call fit."
            )
        parts: dict[str, Any] = forest._tree()._parts("fit_batches", forest=True)
        return parts

    def _fit_passes(self, parts: dict[str, Any], passes: FitExecutor) -> None:
        from boscage.batches.passes import Pass
        from boscage.batches.survey import schema_data

        forest: Any = self
        tree, data = forest._tree(), schema_data(passes.survey)
        warn_if_numbers(data.classes, passes.survey.rows, type(self).__name__)
        check_compatible(**parts, data=data_fact(data.n_outputs, has_missing=data.has_missing, target=tree._target))
        job: Job = tree._job_of(data, parts, passes.n_rows, passes.weight, passes.weight_exponent)
        earlier = forest._earlier(job)
        seed = seed_of(self.random_state) if earlier is None else earlier.bags[0].seed
        drawn = Bags.of(seed, passes.n_rows, self.bootstrap, self.max_samples)
        bags, numbers = forest._each_bag(drawn, earlier)
        forest._check_out_of_bag(bags)
        mass = float(passes.n_rows)
        if passes.is_weighted:
            mass = sum_value(passes.collect(Pass.of("row_facts")).total)
        limits = tree._limits(passes.n_rows, mass)
        finish = Finish(self.ccp_alpha, None, parts["leaf"], False)

        def grow(number: int, own: Any) -> Tree:
            part = replace(job, seed=drawn.tree_seed(number), threads=1, passes=own)
            grown = parts["splits"].grow_in_passes(part, own, lambda weight: limits.for_share(weight / mass))
            return with_given_weights(finish(grown, part), job)

        shared = self._shared_passes(passes, drawn, numbers)
        trees = shared.grow(grow)

        def one_leaf() -> Tree:
            grown: Tree = parts["splits"].grow_in_passes(job, passes, lambda weight: Limits(max_leaf_nodes=1))
            return grown

        found = forest._of_one_schema(trees, job.data, earlier, one_leaf)
        seen: dict[str, Any] = {}
        facts = forest._out_of_bag(bags, partial(_means, found, bags, shared, seen), job.data, seen)
        facts |= {"_bags": bags, "_is_refit": False, "reading_": passes.reading}
        forest._publish(job.data, trees_=found, **facts)

    def _shared_passes(self, passes: FitExecutor, bags: Bags, numbers: Sequence[int]) -> SharedPasses:
        """Return passes that the trees of these numbers share."""
        from boscage.forest._passes import SharedPasses

        return SharedPasses(passes, bags, numbers, n_threads(self.n_jobs))


def _means(trees: ManyTrees, bags: Sequence[Bags], shared: SharedPasses, seen: dict[str, Any]) -> tuple[Floats, Int64s]:
    """Return the mean prediction of the trees that have not seen a row and their number; y and weights in `seen`."""
    plans = [own.plan(number) for number, own in enumerate(bags)]
    found = shared.by_rows(partial(_means_of_rows, trees, plans, shared.threads))
    means, count, y, weight = (np.concatenate(parts) for parts in zip(*found, strict=True))
    seen |= {"y": y, "weight": weight if len(weight) else None}
    return means, count


def _means_of_rows(
    trees: ManyTrees, plans: list[BagPlan], n_jobs: int | None, rows: Rows, first: int
) -> tuple[Floats, Int64s, Any, Floats]:
    """Return the mean prediction of the trees that have not seen a row and their number, targets and weights."""
    drawn = [plan.counts(first, first + len(rows)) for plan in plans]
    bits = np.stack([np.packbits(np.asarray(line) == 0, bitorder="little") for line in drawn])
    count = out_of_bag_trees(bits, len(rows))
    with np.errstate(invalid="ignore"):
        means = trees.sums(np.ascontiguousarray(rows.X), bits, n_jobs) / count[:, None]
    return means, count, rows.y.copy(), rows.weight.copy()
