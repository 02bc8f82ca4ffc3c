"""From parameters and user arrays to a grown and finished tree: the base class of top-down estimators."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch, check_random_state

from boscage.base.component import (
    Fact,
    IncompatibleParts,
    PartsByName,
    check_compatible,
    check_target,
    data_fact,
    resolve,
)
from boscage.base.numbers import check_number
from boscage.base.progress import Progress
from boscage.base.threads import n_threads
from boscage.criteria import Criterion
from boscage.data.column_kinds import ENCODE, CategoryRule
from boscage.data.validation import Dataset, fit_data
from boscage.data.weights import moderate_exponent
from boscage.engine.estimator import TreeEstimator
from boscage.engine.finish import Finish, choose
from boscage.engine.grow import Job, Limits, with_given_weights
from boscage.growth import Growth
from boscage.leaves import Leaf
from boscage.model.trajectory import trajectory
from boscage.polish import Polish, polish_part
from boscage.pruning import pruning_path
from boscage.splits import SplitFamily
from boscage.tree import Target, Tree

_FEATURE_RULES = {"sqrt": math.sqrt, "log2": math.log2}


class TopDownEstimator(PartsByName, TreeEstimator):
    """Parameters and fit of the estimators that grow a tree from interchangeable parts; see their docstrings."""

    _target: ClassVar[Target] = "classes"
    _impurity_unit: float  # the potential of a trajectory is divided by it

    def __init__(
        self,
        splits: str | SplitFamily,
        criterion: str | Criterion | Any,
        growth: str | Growth,
        leaf: str | Leaf,
        *,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 1,
        min_samples_split: int | float = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        ccp_alpha: float = 0.0,
        polish: str | Polish | None = None,
        categorical_features: str | Sequence[Any] | None = "from_dtype",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.splits = splits
        self.criterion = criterion
        self.growth = growth
        self.leaf = leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_features = max_features
        self.ccp_alpha = ccp_alpha
        self.polish = polish
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        job, leaf = self._job(X, y, sample_weight)
        finish = choose(job, self._grow, Finish(self.ccp_alpha, polish_part(self.polish), leaf, self.verbose))
        self._keep(finish(self._grow(job, finish.leaf), job), job)

    def _keep(self, tree: Tree, job: Job, **more: Any) -> None:
        unit = job.criterion.unit if self._target == "classes" else float(tree.impurity[0]) or 1.0
        self._publish(job.data, tree_=with_given_weights(tree, job), _impurity_unit=unit, **more)

    @property
    def trajectory_(self) -> npt.NDArray[np.void]:
        """Potential and error on the training data, before any split and after each split.

        A structured array with the fields ``node`` (the node that was split; −1 before any split), ``potential`` and
        ``error``. ``potential`` is the weighted mean impurity of the leaves, scaled to 1 for two equal classes; in
        regression, divided by the impurity of the root. ``error`` is the training error; in regression, the mean
        impurity of the leaves. A loaded model and a tree of a forest have no trajectory.
        """
        tree = self._fitted()
        if "_impurity_unit" not in self.__dict__:
            raise AttributeError(
                "trajectory_ belongs to the fit of a single tree: a loaded model and a tree of a forest do not have it."
            )
        return trajectory(tree, self._impurity_unit)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Grow the tree without pruning and return the path of its pruned subtrees.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        Bunch
            ``ccp_alphas``, and ``impurities`` of the subtrees they lead to.
        """
        return pruning_path(self._grow(*self._job(X, y, sample_weight)))

    def _parts(self, executor: str | None = None, *, forest: bool = False) -> dict[str, Any]:
        """Names to parts that go together; ``executor`` names a fit that has not all rows in memory."""
        self._check_limits()
        roles = ("criterion", "splits", "growth", "leaf")
        parts: dict[str, Any] = {role: resolve(role, getattr(self, role), self._target) for role in roles}
        for role in ("criterion", "leaf"):
            check_target(role, parts[role], self._target)
        polish = parts["polish"] = polish_part(self.polish)
        if polish is not None and self._target == "numbers":
            polish.check_numbers(parts["criterion"], parts["splits"])
        fact = None if executor is None else Fact(executor)
        learner = Fact(type(self).__name__, frozenset({"forest"} if forest else ()))
        limits = {"max_leaf_nodes": self.max_leaf_nodes, "max_features": self.max_features}
        check_compatible(**parts, **limits, executor=fact, learner=learner)
        if executor is not None:
            parts["splits"].check_in_passes()
        return parts

    def _seed(self, splits: SplitFamily, max_features: int) -> int:
        if splits.is_random or max_features:
            return seed_of(self.random_state)
        if not is_generator(self.random_state):
            seed_of(self.random_state)  # refuses what is no seed
        return 0

    def _job(self, X: Any, y: Any, sample_weight: Any, named: Any = None) -> tuple[Job, Leaf]:
        """Names to parts, user arrays to checked data, limits to numbers; nothing on self is changed.

        ``named`` is the estimator that messages name, if it is not this one.
        """
        parts = self._parts(forest=named is not None)
        splits = parts["splits"]
        data = fit_data(
            named or self,
            X,
            y,
            sample_weight,
            target=self._target,
            class_weight=getattr(self, "class_weight", None),
            categories=category_rule(self.categorical_features, splits),
            allow_nan=splits.allows_missing,
            accept_sparse=splits.allows_sparse,
        )
        check_compatible(**parts, data=data_fact(data.n_outputs, has_missing=data.has_missing, target=self._target))
        total = float(data.X.shape[0]) if data.weight is None else float(data.weight.sum())
        exponent = moderate_exponent(total)
        if exponent and data.weight is not None:
            data = replace(data, weight=np.ldexp(data.weight, -exponent))
            total = math.ldexp(total, -exponent)
        job = self._job_of(data, parts, data.X.shape[0], total, exponent)
        return replace(job, limits=splits.limits(job.limits, job)), parts["leaf"]

    def _job_of(self, data: Dataset, parts: dict[str, Any], n: int, total: float, weight_exponent: int) -> Job:
        splits, max_features = parts["splits"], self._max_features(data.X.shape[1])
        return Job(
            data,
            parts["criterion"],
            parts["growth"],
            self._limits(n, total),
            self._seed(splits, max_features),
            n_threads(self.n_jobs),
            splits=splits,
            max_features=max_features,
            weight_exponent=weight_exponent,
        )

    def _grow(self, job: Job, leaf: Leaf) -> Tree:
        with Progress("growing a tree: nodes searched", self.verbose) as progress:
            watched = replace(job, progress=progress.callback)
            return leaf.grow_tree(watched) if leaf.grows(watched) else job.splits.grow(watched)

    def _limits(self, n: int, total: float) -> Limits:
        return Limits(
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=_row_count(self.min_samples_leaf, n),
            min_samples_split=max(2, _row_count(self.min_samples_split, n)),
            min_weight_leaf=self.min_weight_fraction_leaf * total,
            min_drop=self.min_impurity_decrease * total,
        )

    def _check_limits(self) -> None:
        for name, low in (("max_leaf_nodes", 1), ("max_depth", 1)):
            if getattr(self, name) is not None:
                self._check_number(name, low, None, numbers.Integral, f"None or an integer >= {low}")
        self._check_rows("min_samples_leaf", 1, np.nextafter(1, 0), "an integer >= 1 or a fraction in (0, 1)")
        self._check_rows("min_samples_split", 2, 1.0, "an integer >= 2 or a fraction in (0, 1]")
        if self.max_features is not None and self.max_features not in list(_FEATURE_RULES):
            self._check_rows("max_features", 1, 1.0, "None, 'sqrt', 'log2', an integer >= 1 or a fraction in (0, 1]")
        self._check_number("min_weight_fraction_leaf", 0, 0.5, numbers.Real, "a number in [0, 0.5]")
        self._check_number("min_impurity_decrease", 0, None, numbers.Real, "a number >= 0")
        self._check_number("ccp_alpha", 0, None, numbers.Real, "a number >= 0")

    def _check_rows(self, name: str, low: int, high: float, allowed: str) -> None:
        """Refuse all but whole numbers from ``low`` and fractions up to ``high``."""
        value = getattr(self, name)
        if type(value) is int and value >= low:
            return  # small fits feel the time of the checks
        if isinstance(value, numbers.Integral):
            self._check_number(name, low, None, numbers.Integral, allowed)
        else:
            self._check_number(name, np.nextafter(0, 1), high, numbers.Real, allowed)

    def _max_features(self, d: int) -> int:
        """Columns that a node searches; 0 for all of them."""
        wanted: Any = self.max_features
        if wanted is None:
            return 0
        if isinstance(wanted, str):
            wanted = _FEATURE_RULES[wanted](d)
        elif not isinstance(wanted, numbers.Integral):
            wanted = wanted * d
        count = max(1, int(wanted))
        return count if count < d else 0

    def _check_number(self, name: str, low: float, high: float | None, kind: type, allowed: str) -> None:
        top = math.inf if high is None else high
        check_number(name, getattr(self, name), allowed, low, top, whole=kind is numbers.Integral)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the chosen family can take."""
        tags = super().__sklearn_tags__()
        given: object = self.splits
        if given is None:  # a loaded model whose family could not be stored: its tree says what it can take
            tags.input_tags.allow_nan = True
            return tags
        splits: Any = resolve("splits", given)
        tags.input_tags.allow_nan = splits.allows_missing
        tags.input_tags.sparse = splits.allows_sparse
        return tags


def _row_count(wanted: Any, n: int) -> int:
    """Rows of a limit that is a number of rows or a fraction of n of them, rounded up."""
    return int(wanted) if isinstance(wanted, numbers.Integral) else math.ceil(wanted * n)


def category_rule(categorical_features: Any, splits: SplitFamily, executor: str | None = None) -> CategoryRule:
    """Return which columns a fit takes as categories; a linear test takes a bool column as the numbers 0 and 1."""
    in_memory = executor is None
    allowed = splits.allows_categories if in_memory else splits.allows_categories_in_passes
    bools = "linear tests" not in splits.provides
    if allowed:
        return CategoryRule(categorical_features, allowed, bools)
    takes = f"splits={splits!r} accepts only numbers" + ("" if in_memory else f" in {executor}")
    instead = "pass splits='axis'" if in_memory else "pass splits=Axis(max_bins=255)"
    instead += ", call fit" if splits.allows_categories else ""
    is_list = categorical_features is not None and not isinstance(categorical_features, str)
    if is_list and np.size(categorical_features):
        raise IncompatibleParts(
            f"categorical_features={categorical_features!r} cannot be combined with splits={splits!r}, because "
            f"{takes}: {ENCODE}, or {instead}."
        )
    return CategoryRule(categorical_features, allowed, bools, refusal=f"{takes}: {ENCODE}, {instead}, or drop them.")


def seed_of(random_state: Any) -> int:
    """Return the seed that a ``random_state`` stands for; of an integer always the same."""
    is_number = isinstance(random_state, (int, np.integer))
    return _seed_of(int(random_state)) if is_number else _draw_seed(random_state)


def is_generator(random_state: Any) -> bool:
    """Whether a ``random_state`` is a generator, whose state every draw changes; None stands for NumPy's own."""
    return random_state is None or random_state is np.random or isinstance(random_state, np.random.RandomState)


def _draw_seed(random_state: Any) -> int:
    try:
        state = check_random_state(random_state)
    except ValueError:
        raise ValueError(
            f"random_state={random_state!r} is not allowed. Pass None, an integer from 0 to 2**32 - 1, or a "
            "numpy.random.RandomState."
        ) from None
    return int(state.randint(np.iinfo(np.int32).max))


# A generator takes a tenth of the time of a small fit to set up.
_seed_of = lru_cache(maxsize=1024)(_draw_seed)
