"""ForestRegressor: the mean of the trees' numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from boscage.base.callbacks import fit_task, with_callbacks
from boscage.base.numbers import check_number
from boscage.criteria import Criterion
from boscage.data.targets import r2
from boscage.data.validation import Dataset
from boscage.engine.estimator import Regressor, of_one_fit
from boscage.engine.grow import Job
from boscage.files import saveable
from boscage.forest._bags import Bags
from boscage.forest._base import BaseForest
from boscage.forest._quantiles import LeafTargets
from boscage.leaves import Leaf, RefitLeaves
from boscage.model.many_trees import ManyTrees
from boscage.splits import SplitFamily
from boscage.top_down import TopDownTreeRegressor
from boscage.tree import Floats, Target


@saveable
class ForestRegressor(Regressor, BaseForest):
    """Forest of randomised regression trees, whose predictions are averaged.

    Each tree is grown on a bootstrap sample of the rows, without limits unless some are set.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    splits : str or SplitFamily, default="mixed"
        The split family: "mixed" (each node takes the best of several random candidates, axis-parallel and linear), or
        any family that supports regression, such as "axis".
    criterion : str or Criterion, default="squared_error"
        As in :class:`boscage.TopDownTreeRegressor`.
    leaf : str or Leaf, default="constant"
        What a leaf predicts, as in :class:`boscage.TopDownTreeRegressor`.
    max_leaf_nodes, max_depth, min_samples_leaf, min_samples_split, min_weight_fraction_leaf, min_impurity_decrease
        Limits of each tree, as in :class:`boscage.TopDownTreeRegressor`. Default: none.
    max_features : "auto", int, float, "sqrt", "log2" or None, default="auto"
        Number of columns to search at each node: "auto" is a third of them for ``splits="axis"`` and the family's own
        default for the others.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning, applied to each tree.
    refit : None, "leaves" or RefitLeaves, default=None
        As in :class:`boscage.ForestClassifier`, by a ridge regression; for squared error.
    bootstrap, max_samples, warm_start, categorical_features, n_jobs, random_state, verbose
        As in :class:`boscage.ForestClassifier`.
    oob_score : bool or callable, default=False
        Whether to compute ``oob_prediction_`` and ``oob_score_``, the R² on the out-of-bag rows. Pass a function of
        (y_true, y_pred) to compute another score.

    Attributes
    ----------
    trees_ : sequence of Tree
        The trees, as read-only arrays.
    estimators_ : list of TopDownTreeRegressor
        The trees as fitted estimators.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Column names seen in ``fit``, if all of them are strings.
    n_outputs_ : int
        Number of outputs.
    feature_importances_ : ndarray of shape (d,)
        Impurity-based importance of each column.
    oob_prediction_ : ndarray of shape (n,) or (n, m)
        Prediction for each training row, from the trees that were not fitted on it; NaN if there are none, and for rows
        with weight 0.
    oob_score_ : float
        Score on the out-of-bag rows.
    reading_ : Reading
        Number of ``passes`` over the source, ``rows`` per pass and total ``bytes_read``; only after
        :meth:`fit_batches`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from boscage import ForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ForestRegressor(50, oob_score=True, random_state=0).fit(X, y)
    >>> round(forest.oob_score_, 2)
    0.43
    """

    _tree_class: ClassVar[Any] = TopDownTreeRegressor
    _target: ClassVar[Target] = "numbers"
    _score_name: ClassVar[str] = "R²"
    oob_score_: float
    oob_prediction_: Floats

    def __init__(
        self,
        n_estimators: int = 100,
        splits: str | SplitFamily = "mixed",
        criterion: str | Criterion | Any = "squared_error",
        leaf: str | Leaf = "constant",
        *,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 1,
        min_samples_split: int | float = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = "auto",
        ccp_alpha: float = 0.0,
        refit: str | RefitLeaves | None = None,
        bootstrap: bool | str = True,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        categorical_features: str | Sequence[Any] | None = "from_dtype",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.splits = splits
        self.criterion = criterion
        self.leaf = leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_features = max_features
        self.ccp_alpha = ccp_alpha
        self.refit = refit
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ForestRegressor:
        """Grow the trees.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Training rows, as for :class:`boscage.TopDownTreeRegressor` with the same ``splits``.
        y : array-like of shape (n,) or (n, m)
            Numbers.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; rows with weight 0 are ignored.

        Returns
        -------
        self
        """
        with fit_task(self, X, y, sample_weight):
            self._fit(X, y, sample_weight)
        return self

    @of_one_fit
    def predict(self, X: Any) -> Floats:
        """Predict the mean of the trees' predictions.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,), or (n, m) for m outputs
        """
        trees, rows = self._rows(X)
        return _plain(trees.proba(rows, 1.0, self.n_jobs))

    @of_one_fit
    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> Floats:
        """Predict quantiles of the target, as quantile regression forests do.

        In each tree, the training rows in the leaf that a row reaches share a weight of 1, in proportion to their own
        weights. The quantiles are those of the training targets with these weights, averaged over the trees. Larger
        leaves (``min_samples_leaf=5``) give smoother quantiles.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.
        quantiles : float or sequence of float, default=(0.05, 0.5, 0.95)
            Quantile levels, in [0, 1].

        Returns
        -------
        ndarray of shape (n, q), or (n, m, q) for m outputs
            Without the last axis if ``quantiles`` is a number.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from boscage import ForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = ForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X[:300], y[:300])
        >>> low, median, high = forest.predict_quantiles(X[300:]).T
        >>> bool(((low <= median) & (median <= high)).all())
        True
        """
        levels = _levels(quantiles)
        check_is_fitted(self, "trees_")
        kept: LeafTargets | None = self.__dict__.get("_leaf_targets")
        if kept is None:
            raise ValueError(
                "This forest has kept no targets by leaf, of which quantiles are made: it needs leaf='constant', hard "
                "tests and a fit with all rows in memory. Fit such a forest again."
            )
        trees, rows = self._rows(X)
        found = kept.quantiles(trees.apply(rows, self.n_jobs), levels, self.n_jobs)
        found = found[:, 0] if found.shape[1] == 1 else found
        return found if np.ndim(quantiles) else found[..., 0]

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Predict an interval for the target, between two quantiles with equal tails.

        Coverage is that among training rows that share leaves with a row (see :meth:`predict_quantiles`); it is not
        guaranteed for new rows.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.
        coverage : float, default=0.9
            Nominal coverage, in (0, 1]; 1 gives the range of the targets.

        Returns
        -------
        ndarray of shape (n, 2), or (n, m, 2) for m outputs
            Lower and upper bounds.
        """
        check_number("coverage", coverage, "a number above 0 and at most 1", 0, 1, above=True)
        tail = (1 - float(coverage)) / 2
        return self.predict_quantiles(X, (tail, 1 - tail))

    @property
    def n_outputs_(self) -> int:
        """Number of outputs."""
        return self.trees_[0].n_outputs  # type: ignore[no-any-return]

    def _max_features(self) -> Any:
        found = super()._max_features()
        return 1 / 3 if self.max_features == "auto" and found == "sqrt" else found

    def _kept_rows(self, trees: ManyTrees, job: Job) -> dict[str, Any]:
        if any(tree.is_soft or tree.leaf_models is not None for tree in trees):
            return {}
        data = job.data
        return {"_leaf_targets": LeafTargets.of(trees, data.X, data.y, data.weight, self.n_jobs)}

    def _same_target(self, data: Dataset) -> bool:
        return self.n_outputs_ == data.n_outputs

    def _facts(self, means: Floats | None, data: Dataset, bags: Sequence[Bags]) -> dict[str, Any]:
        if means is None or not self.oob_score:
            return {}
        seen = ~np.isnan(means[:, 0])
        found = _plain(means)
        weight = None if data.weight is None else data.weight[seen]
        return {
            "oob_prediction_": self._all_rows(found, data),
            "oob_score_": self._score_of(means[seen], data, seen, weight),
        }

    def _score_of(self, means: Floats, data: Dataset, seen: Any, weight: Floats | None) -> float:
        y_true, y_pred = data.y[seen], _plain(means)
        if callable(self.oob_score):
            return float(self.oob_score(y_true, y_pred))
        if len(y_true) < 2:
            return float("nan")
        return r2(y_true, y_pred, weight, type(self).__name__)


def _levels(quantiles: Any) -> Floats:
    """Return levels as an array; refuse others than numbers from 0 to 1."""
    try:
        levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    except (TypeError, ValueError):
        levels = np.empty(0)
    if levels.ndim != 1 or not len(levels) or not ((levels >= 0) & (levels <= 1)).all():
        raise ValueError(f"quantiles={quantiles!r} is not allowed. Pass a number in [0, 1] or a sequence of them.")
    return levels


def _plain(numbers: Floats) -> Floats:
    """Return one output as an array of one dimension."""
    return numbers[:, 0] if numbers.shape[1] == 1 else numbers
