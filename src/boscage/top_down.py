"""TopDownTreeClassifier: grow from one leaf, splitting where the potential falls most."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch, check_random_state

from boscage._callbacks import fit_task, with_callbacks
from boscage._component import IncompatibleParts, check_compatible, data_fact, resolve
from boscage._estimator import TreeClassifier
from boscage._grow import Job, Limits
from boscage._progress import Progress
from boscage._threads import n_threads
from boscage._validation import Dataset, fit_data, set_data_attributes
from boscage.criteria import Criterion
from boscage.files import saveable
from boscage.growth import Growth
from boscage.leaves import Leaf
from boscage.pruning import prune, pruning_path
from boscage.splits import SplitFamily
from boscage.tree import Tree

TRAJECTORY = np.dtype([("node", np.int64), ("potential", np.float64), ("error", np.float64)])


@saveable
class TopDownTreeClassifier(TreeClassifier):
    r"""A decision tree grown top down: TopDown_{F,G}(t) of Kearns and Mansour, in four parts.

    Starting from one leaf, each step splits the leaf and test with the largest weighted drop of the potential

    .. math:: \Delta = w_l\,[\,G(\rho) - P\,G(Q/P) - (1-P)\,G((\rho-Q)/(1-P))\,]

    where F is the family of tests, G the criterion, w_l the leaf's weight, ρ its class shares, P the share of its
    weight that goes right and Q that share by class.

    Parameters
    ----------
    splits : str or SplitFamily, default="axis"
        The family F of tests; see :mod:`boscage.splits`.
    criterion : str, Criterion or callable, default="gini"
        The criterion G: "gini", "entropy", "sqrt", "modified_gini", "separation", an object from
        :mod:`boscage.criteria`, or a function on [0, 1] that is concave, symmetric, 0 at 0 and 1 and 1 at ½.
    growth : str or Growth, default="best_first"
        Which leaf is split next: "best_first", "heaviest_first" or "depth_first".
    leaf : str or Leaf, default="frequency"
        What a leaf predicts: "frequency" (its class fractions) or "majority" (one class).
    max_leaf_nodes : int or None, default=None
        Largest number of leaves, at least 1.
    max_depth : int or None, default=None
        Largest depth, at least 1 (the root has depth 0).
    min_samples_leaf : int or float, default=1
        Rows a leaf must hold: a number of rows, or a fraction of all rows in ]0, 1[.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight a leaf must hold, in [0, 0.5].
    min_impurity_decrease : float, default=0.0
        A split must lower the weighted impurity by at least so much, in scikit-learn's scale.
    ccp_alpha : float, default=0.0
        Strength of minimal cost-complexity pruning, at least 0.
    polish : None, default=None
        Joint refinement of linear tests after growing; not available for axis tests.
    categorical_features : None, "from_dtype", or list of int, str or bool, default=None
        Columns whose values are categories.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the sample weights.
    n_jobs : int or None, default=None
        Threads: None means 1, -1 all cores. The fitted tree does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of families that draw at random; axis tests do not.
    verbose : bool or None, default=None
        None shows a progress bar on a terminal when a fit takes longer than two seconds, True always, False never.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree: flat read-only arrays.
    classes_ : ndarray of shape (K,)
        The class labels.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, if they are all strings.
    feature_importances_ : ndarray of shape (d,)
        Share of each column in the total drop of impurity.
    trajectory_ : structured ndarray
        ``node``, ``potential`` (G of the tree, 1 for two equal classes) and ``error`` on the training data: before
        any split (node -1), then after each split.

    References
    ----------
    Kearns, Mansour: On the boosting ability of top-down decision tree learning algorithms, JCSS 58, 1999.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import TopDownTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = TopDownTreeClassifier(max_leaf_nodes=3).fit(X, y)
    >>> print(tree.export_text())
    |--- petal length (cm) <= 2.45
    |   |--- class: 0
    |--- petal length (cm) >  2.45
    |   |--- petal width (cm) <= 1.75
    |   |   |--- class: 1
    |   |--- petal width (cm) >  1.75
    |   |   |--- class: 2
    """

    def __init__(
        self,
        splits: str | SplitFamily = "axis",
        criterion: str | Criterion | Any = "gini",
        growth: str | Growth = "best_first",
        leaf: str | Leaf = "frequency",
        *,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        polish: Any = None,
        categorical_features: str | Sequence[Any] | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
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
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.polish = polish
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TopDownTreeClassifier:
        """Grow the tree.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Rows; float32 and float64 are used as they are.
        y : array-like of shape (n,)
            Class labels of any type.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a row of weight 0 counts as absent.

        Returns
        -------
        self
        """
        with fit_task(self, X, y, sample_weight):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        job, leaf = self._job(X, y, sample_weight)
        tree = self._grow(job)
        tree = prune(tree, self.ccp_alpha) if self.ccp_alpha > 0 else tree
        leaf_value = leaf.leaf_values(tree)
        self.tree_ = tree if leaf_value is None else replace(tree, leaf_value=leaf_value)
        self.trajectory_ = trajectory(tree, job.criterion.unit)
        set_data_attributes(self, job.data)

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
        return pruning_path(self._grow(self._job(X, y, sample_weight)[0]))

    def _job(self, X: Any, y: Any, sample_weight: Any) -> tuple[Job, Leaf]:
        """Names to parts, user arrays to checked data, limits to numbers; nothing on self is changed."""
        self._check_limits()
        splits: Any = resolve("splits", self.splits)
        criterion: Any = resolve("criterion", self.criterion)
        growth: Any = resolve("growth", self.growth)
        leaf: Any = resolve("leaf", self.leaf)
        parts = {"criterion": criterion, "splits": splits, "growth": growth, "leaf": leaf}
        check_compatible(**parts, max_leaf_nodes=self.max_leaf_nodes)
        data = fit_data(
            self,
            X,
            y,
            sample_weight,
            class_weight=self.class_weight,
            categorical_features=self.categorical_features,
            allow_nan=splits.allows_missing,
            accept_sparse=splits.allows_sparse,
        )
        if data.categories is not None and not splits.allows_categories:
            raise IncompatibleParts(
                f"splits={splits!r} does not go with categorical columns: its tests need numbers. Encode them first, "
                "for example with sklearn.preprocessing.OneHotEncoder, or pass splits='axis'."
            )
        check_compatible(**parts, data=data_fact(len(data.classes), has_missing=data.has_missing))
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)) if splits.is_random else 0
        job = Job(data, criterion, growth, self._limits(data), seed, n_threads(self.n_jobs), splits=splits)
        return replace(job, limits=splits.limits(job.limits, job)), leaf

    def _grow(self, job: Job) -> Tree:
        with Progress("growing a tree: nodes searched", self.verbose) as progress:
            return job.splits.grow(replace(job, progress=progress.callback))

    def _limits(self, data: Dataset) -> Limits:
        n = data.X.shape[0]
        total = float(n) if data.weight is None else float(data.weight.sum())
        rows = self.min_samples_leaf
        return Limits(
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=int(rows) if isinstance(rows, numbers.Integral) else int(np.ceil(rows * n)),
            min_weight_leaf=self.min_weight_fraction_leaf * total,
            min_drop=self.min_impurity_decrease * total,
        )

    def _check_limits(self) -> None:
        for name, low in (("max_leaf_nodes", 1), ("max_depth", 1)):
            if getattr(self, name) is not None:
                self._check_number(name, low, None, numbers.Integral, f"None or an integer >= {low}")
        if isinstance(self.min_samples_leaf, numbers.Integral):
            self._check_number("min_samples_leaf", 1, None, numbers.Integral, "an integer >= 1 or a fraction in ]0, 1[")
        else:
            self._check_number(
                "min_samples_leaf",
                np.nextafter(0, 1),
                np.nextafter(1, 0),
                numbers.Real,
                "an integer >= 1 or a fraction in ]0, 1[",
            )
        self._check_number("min_weight_fraction_leaf", 0, 0.5, numbers.Real, "a number in [0, 0.5]")
        self._check_number("min_impurity_decrease", 0, None, numbers.Real, "a number >= 0")
        self._check_number("ccp_alpha", 0, None, numbers.Real, "a number >= 0")
        if self.polish is not None:
            raise ValueError(f"polish={self.polish!r} is not allowed. Pass None: it refines linear tests only.")

    def _check_number(self, name: str, low: float, high: float | None, kind: type, allowed: str) -> None:
        value = getattr(self, name)
        is_number = isinstance(value, kind) and not isinstance(value, (bool, np.bool_))
        if not is_number or not np.isfinite(value) or value < low or (high is not None and value > high):
            raise ValueError(f"{name}={value!r} is not allowed. Pass {allowed}.")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the chosen family can take."""
        tags = super().__sklearn_tags__()
        splits: Any = resolve("splits", self.splits)
        tags.input_tags.allow_nan = splits.allows_missing
        tags.input_tags.sparse = splits.allows_sparse
        return tags


def trajectory(tree: Tree, unit: float) -> npt.NDArray[np.void]:
    """Potential and training error of a tree before and after each of its splits.

    Parameters
    ----------
    tree : Tree
        The i-th split made nodes 2i + 1 and 2i + 2, so the order of growth can be read off the numbers.
    unit : float
        Impurity of two equal classes, by which the potential is divided.
    """
    share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    potential = share * tree.impurity / unit
    error = share * (1 - tree.value.max(axis=1))
    inner = np.flatnonzero(~tree.is_leaf)
    split = inner[np.argsort(tree.children_left[inner])]
    left, right = tree.children_left[split], tree.children_right[split]
    steps = np.empty(len(split) + 1, TRAJECTORY)
    steps["node"] = np.concatenate([[-1], split])
    for name, amount in (("potential", potential), ("error", error)):
        changes = amount[left] + amount[right] - amount[split]
        steps[name] = np.maximum(np.cumsum(np.concatenate([amount[:1], changes])), 0.0)
    return steps
