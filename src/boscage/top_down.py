"""TopDownTreeClassifier: grow from one leaf, splitting where the potential falls most."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from boscage._callbacks import fit_task, with_callbacks
from boscage._column_kinds import ENCODE, CategoryRule
from boscage._component import Fact, IncompatibleParts, check_compatible, data_fact, resolve
from boscage._estimator import TreeClassifier
from boscage._finish import Finish, choose
from boscage._grow import Job, Limits
from boscage._numbers import check_number
from boscage._progress import Progress
from boscage._threads import n_threads
from boscage._validation import Dataset, fit_data
from boscage._weights import moderate_exponent
from boscage.criteria import Criterion
from boscage.files import saveable
from boscage.growth import Growth
from boscage.leaves import Leaf
from boscage.polish import polish_part
from boscage.pruning import pruning_path
from boscage.splits import SplitFamily
from boscage.tree import Tree

if TYPE_CHECKING:
    from boscage.batches.reading import Passes

_FEATURE_RULES = {"sqrt": math.sqrt, "log2": math.log2}
TRAJECTORY = np.dtype([("node", np.int64), ("potential", np.float64), ("error", np.float64)])


@saveable
class TopDownTreeClassifier(TreeClassifier):
    r"""Decision tree grown greedily, best-first by default, from interchangeable parts.

    The parts are a family of tests (``splits``), a criterion, an order of growth and a kind of leaf. Starting from one
    leaf, each step splits the leaf whose best test has the largest weighted drop of impurity. This is the algorithm
    TopDown_{F,G}(t) of Kearns and Mansour, with the drop

    .. math:: \Delta = w_l\,[\,G(\rho) - P\,G(Q/P) - (1-P)\,G((\rho-Q)/(1-P))\,]

    where F is the family of tests, G the criterion, w_l the leaf's weight, ρ its class shares, P the share of its
    weight that goes right and Q that share by class.

    Parameters
    ----------
    splits : str or SplitFamily, default="axis"
        The family F of tests: "axis" (one column against a threshold), "oblique", "wodt", "oc1", "cart_lc", "co2",
        "hhcart" (a linear combination of columns), "stochastic" (linear tests that route by probability), or an object
        from :mod:`boscage.splits`.
    criterion : str, Criterion or callable, default="gini"
        The criterion G: "gini", "entropy" (or "log_loss", the same), "sqrt", "modified_gini", "separation", an object
        from :mod:`boscage.criteria`, or a function on [0, 1] that is concave, symmetric, 0 at 0 and 1 and 1 at ½.
    growth : str or Growth, default="best_first"
        Which leaf is split next: "best_first", "heaviest_first" or "depth_first".
    leaf : str or Leaf, default="frequency"
        What a leaf predicts: "frequency" (its class fractions), "majority" (one class) or "linear" (by a logistic
        model).
    max_leaf_nodes : int or None, default=None
        Largest number of leaves, at least 1.
    max_depth : int or None, default=None
        Largest depth, at least 1 (the root has depth 0).
    min_samples_leaf : int or float, default=1
        Rows a leaf must hold: a number of rows, or a fraction of all rows in (0, 1).
    min_samples_split : int or float, default=2
        Rows a node must hold to be split: a number of rows, at least 2, or a fraction of all rows in (0, 1]. In a
        soft tree every row that can reach a node counts as one of its rows.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight a leaf must hold, in [0, 0.5].
    min_impurity_decrease : float, default=0.0
        A split must lower the weighted impurity by at least so much, in scikit-learn's scale.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Columns searched at each node, drawn at random (``splits="axis"`` only): a number of columns, a fraction of
        them in (0, 1], their square root or logarithm; None searches all. Columns that are constant in the node do
        not count, and the search goes on until a valid split is found.
    ccp_alpha : float, default=0.0
        Strength of minimal cost-complexity pruning, at least 0.
    polish : None, "soft", "hard", "auto" or Polish, default=None
        Joint refinement of all tests and leaves after growing, for linear families only: keeping logistic routing,
        hardened again, or of none, "soft" and "hard" what errs least on held-out rows.
    categorical_features : "from_dtype", None, or list of int, str or bool, default="from_dtype"
        Columns whose values are categories: "from_dtype" takes the category, string and bool columns of tables, None
        takes none, a list names them. See :doc:`/categories`.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the sample weights.
    n_jobs : int or None, default=None
        Threads: None means 1, -1 all cores. The fitted tree does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of what is drawn at random: the searches of other families than "axis", and the columns of
        ``max_features``.
    verbose : bool or None, default=None
        None shows a progress bar on a terminal when a fit takes longer than two seconds, True always, False never.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree: flat read-only arrays.
    classes_ : ndarray of shape (K,)
        The class labels.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, if they are all strings.
    feature_importances_ : ndarray of shape (d,)
        Share of each column in the total drop of impurity.
    trajectory_ : structured ndarray
        ``node``, ``potential`` (G of the tree, 1 for two equal classes) and ``error`` on the training data: before
        any split (node -1), then after each split.
    reading_ : Reading
        ``passes`` over the source, ``rows`` in each and ``bytes_read`` in all; only after :meth:`fit_batches`.

    Notes
    -----
    See :doc:`/categories` for categories and missing values, :doc:`/weights` for sample and class weights, and
    :doc:`/running` for the random state, threads and interruption. Ctrl-C raises KeyboardInterrupt and leaves the
    estimator as it was.

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

    _impurity_unit: float  # impurity of two equal classes under the criterion of the fit

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
        min_samples_split: Any = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: Any = None,
        ccp_alpha: float = 0.0,
        polish: Any = None,
        categorical_features: str | Sequence[Any] | None = "from_dtype",
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
        self.min_samples_split = min_samples_split
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_features = max_features
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
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows; float32, float64 and CSR matrices are used as they are. A sparse matrix gives the same tree as the
            same numbers in a dense array; it goes with every family, but not with categories or ``Axis(max_bins=...)``.
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
        finish = choose(job, self._grow, Finish(self.ccp_alpha, polish_part(self.polish), leaf, self.verbose))
        self._keep(finish(self._grow(job), job), job)
        if hasattr(self, "reading_"):
            del self.reading_

    def fit_batches(
        self,
        source: Any,
        target: str | None = None,
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Grow the tree over rows that need not fit into memory: the same tree, to the byte, as from :meth:`fit`.

        For stochastic tests, and axis or weighted oblique tests with ``max_bins``. The rows are read a few times for
        what must be known of the columns, then once for each level of the tree (weighted oblique tests: for each step
        of all searches together). Memory holds a few batches and the sums of the open leaves.

        Parameters
        ----------
        source : path, list of paths, pyarrow.dataset.Dataset, list of batches, or callable
            Files and folders of Parquet, Arrow or CSV, or patterns of their names; a list of batches; or a function
            without arguments that returns a fresh iterator of batches at every call. A batch is a table, or a tuple
            (X, y) or (X, y, sample_weight). What can be read only once, such as a generator, is refused.
        target : str, optional
            Column of labels, in tables.
        weight : str, optional
            Column of sample weights, in tables; a row of weight 0 counts as absent.
        columns : list of str, optional
            Columns of tables to learn from; the others are not read. Default: all but ``target`` and ``weight``.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from boscage import TopDownTreeClassifier
        >>> def batches():
        ...     for seed in range(10):
        ...         X = np.random.default_rng(seed).normal(size=(1000, 3))
        ...         yield X, X[:, 0] > X[:, 1]
        >>> tree = TopDownTreeClassifier(splits="stochastic", max_leaf_nodes=4).fit_batches(batches)
        >>> tree.reading_.rows, tree.reading_.passes
        (10000, 6)
        """
        from boscage.batches.reading import BatchPasses
        from boscage.batches.source import open_source

        parts = self._parts("fit_batches")
        rule = category_rule(self.categorical_features, parts["splits"], "fit_batches")
        opened = open_source(source, target, weight, categories=rule, columns=columns)
        with Progress("reading rows", self.verbose) as progress:
            passes = BatchPasses(
                opened,
                type(self).__name__,
                self.class_weight,
                allow_nan=parts["splits"].allows_missing,
                threads=n_threads(self.n_jobs),
                progress=progress,
            )
            self._fit_passes(parts, passes)
        self.reading_ = passes.reading
        return self

    def predict_batches(
        self,
        source: Any,
        path: str | os.PathLike[str],
        target: str | None = None,
        *,
        proba: bool = False,
        columns: Sequence[str] | None = None,
    ) -> int:
        """Predict the rows of a source batch by batch and write a Parquet file.

        Parameters
        ----------
        source
            As in :meth:`fit_batches`; batches of arrays may also be X alone. Columns the tree does not know are left
            out.
        path : str or path-like
            The Parquet file to write: a column ``prediction``, and with ``proba`` a column for each class.
        target : str, optional
            Column of labels, which is left out.
        proba : bool, default=False
            Whether to write probabilities too.
        columns : list of str, optional
            Columns of tables to read. Default: those that the tree was fitted on, by name; all but ``target`` where it
            was fitted without names.

        Returns
        -------
        int
            Number of rows.
        """
        from boscage.batches.prediction import predict_batches

        check_is_fitted(self, "tree_")
        return predict_batches(self, source, path, target, proba=proba, columns=columns)

    def _fit_passes(self, parts: dict[str, Any], passes: Passes) -> None:
        """Grow over rows that others hold; nothing on self is changed before the tree is there."""
        from boscage.batches.survey import schema_data

        splits, data = parts["splits"], schema_data(passes.survey)
        check_compatible(**parts, data=data_fact(len(data.classes), has_missing=data.has_missing))
        job = self._job_of(data, parts, passes.n_rows, passes.weight, passes.weight_exponent)
        tree = splits.grow_in_passes(job, passes, lambda total: self._limits(passes.n_rows, total))
        finish = Finish(self.ccp_alpha, None, parts["leaf"], self.verbose)
        self._keep(finish(tree, job), job)

    def _keep(self, tree: Tree, job: Job) -> None:
        if job.weight_exponent:
            tree = replace(tree, weighted_n_node_samples=np.ldexp(tree.weighted_n_node_samples, job.weight_exponent))
        self._publish(job.data, tree_=tree, _impurity_unit=job.criterion.unit)

    @property
    def trajectory_(self) -> npt.NDArray[np.void]:
        """Potential and training error before and after each split; not of a loaded model."""
        tree = self._fitted()
        if "_impurity_unit" not in self.__dict__:
            raise AttributeError("trajectory_ belongs to a fit: a loaded model does not have it.")
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
        return pruning_path(self._grow(self._job(X, y, sample_weight)[0]))

    def _parts(self, executor: str | None = None) -> dict[str, Any]:
        """Names to parts that go together; ``executor`` names a fit that has not all rows in memory."""
        self._check_limits()
        roles = ("criterion", "splits", "growth", "leaf")
        parts: dict[str, Any] = {role: resolve(role, getattr(self, role)) for role in roles}
        parts["polish"] = polish_part(self.polish)
        fact = None if executor is None else Fact(executor)
        check_compatible(**parts, max_leaf_nodes=self.max_leaf_nodes, max_features=self.max_features, executor=fact)
        if executor is not None:
            parts["splits"].check_in_passes()
        return parts

    def _seed(self, splits: SplitFamily, max_features: int) -> int:
        if not splits.is_random and max_features == 0:
            return 0
        state = self.random_state
        return _seed_of(int(state)) if isinstance(state, (int, np.integer)) else _draw_seed(state)

    def _job(self, X: Any, y: Any, sample_weight: Any) -> tuple[Job, Leaf]:
        """Names to parts, user arrays to checked data, limits to numbers; nothing on self is changed."""
        parts = self._parts()
        splits = parts["splits"]
        data = fit_data(
            self,
            X,
            y,
            sample_weight,
            class_weight=self.class_weight,
            categories=category_rule(self.categorical_features, splits),
            allow_nan=splits.allows_missing,
            accept_sparse=splits.allows_sparse,
        )
        check_compatible(**parts, data=data_fact(len(data.classes), has_missing=data.has_missing))
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

    def _grow(self, job: Job) -> Tree:
        with Progress("growing a tree: nodes searched", self.verbose) as progress:
            return job.splits.grow(replace(job, progress=progress.callback))

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
        wanted = self.max_features
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
    takes = f"splits={splits!r} takes numbers only" + ("" if in_memory else f" in {executor}")
    instead = "pass splits='axis'" if in_memory else "pass splits=Axis(max_bins=255)"
    instead += ", call fit" if splits.allows_categories else ""
    is_list = categorical_features is not None and not isinstance(categorical_features, str)
    if is_list and np.size(categorical_features):
        raise IncompatibleParts(
            f"categorical_features={categorical_features!r} does not go with splits={splits!r}, because {takes}: "
            f"{ENCODE}, or {instead}."
        )
    return CategoryRule(categorical_features, allowed, bools, refusal=f"{takes}: {ENCODE}, {instead}, or drop them.")


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
