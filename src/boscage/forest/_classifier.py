"""ForestClassifier: the mean of the trees' probabilities, sharpened by what the rows out of bag say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from boscage.base.callbacks import fit_task, with_callbacks
from boscage.base.numbers import is_flag
from boscage.criteria import Criterion
from boscage.data.validation import Dataset
from boscage.engine.estimator import ClassCount, of_one_fit
from boscage.files import saveable
from boscage.forest._bags import Bags, best_exponent
from boscage.forest._base import BaseForest
from boscage.leaves import Leaf, RefitLeaves
from boscage.model.many_trees import sharpened
from boscage.splits import SplitFamily
from boscage.top_down import TopDownTreeClassifier
from boscage.tree import Floats, Target

_ENOUGH_TREES = 10  # out of bag for a row in the mean, before probabilities are calibrated by them


@saveable
class ForestClassifier(ClassCount, ClassifierMixin, BaseForest):  # type: ignore[misc]
    r"""Forest of randomised decision trees, whose class probabilities are averaged.

    Each tree is grown on a bootstrap sample of the rows; all trees share one X. The mean p of the trees' probabilities
    is then raised to a power t, chosen to minimise the log-loss on the out-of-bag rows:

    .. math:: P(k) = \bar p_k^{\,t} / \sum_j \bar p_j^{\,t}

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    splits : str or SplitFamily, default="mixed"
        The split family: "mixed" (each node takes the best of several random candidates, axis-parallel and linear), or
        any family of :class:`boscage.TopDownTreeClassifier`.
    criterion : str, Criterion or callable, default="entropy"
        As in :class:`boscage.TopDownTreeClassifier`.
    leaf : str or Leaf, default="frequency"
        What a leaf predicts: "frequency", "majority" or "linear". Ten trees of eight linear leaves are a small model.
    max_leaf_nodes, max_depth, min_samples_leaf, min_samples_split, min_weight_fraction_leaf, min_impurity_decrease
        Limits of each tree, as in :class:`boscage.TopDownTreeClassifier`. Default: none. Rows sampled several times
        count once in ``min_samples_leaf`` and ``min_samples_split``.
    max_features : "auto", int, float, "sqrt", "log2" or None, default="auto"
        Number of columns to search at each node, for families that sample columns: "auto" is the square root of their
        number for ``splits="axis"`` and the family's own default for the others.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning, applied to each tree.
    refit : None, "leaves" or RefitLeaves, default=None
        Whether to refit the leaves of all trees jointly after growing, by a logistic regression on all rows. This
        improves small forests (10 trees with ``max_leaf_nodes=8``), but not forests of fully grown trees. No rows are
        out of bag then.
    bootstrap : True, False or "bayesian", default=True
        How to sample the rows of a tree: with replacement (True), without replacement (False), or all rows with
        independent exponential weights ("bayesian").
    max_samples : int, float or None, default=None
        Number of rows to sample for each tree, or a fraction of all rows; None samples as many as there are. With
        ``bootstrap=False``, a fraction such as 0.8 leaves rows out of bag too.
    oob_score : bool or callable, default=False
        Whether to compute ``oob_decision_function_`` and ``oob_score_``, the accuracy on the out-of-bag rows. Pass a
        function of (y_true, y_pred) to compute another score.
    calibrate : "auto", True or False, default="auto"
        Whether to calibrate the mean probabilities, by raising them to a power fitted on the out-of-bag rows. "auto"
        does so if there are such rows, with at least 10 trees for each of them on average. The predicted classes do not
        change.
    warm_start : bool, default=False
        Whether another ``fit`` with a larger ``n_estimators`` keeps the existing trees and adds new ones. With the same
        data and parameters, the result is identical to that of a single fit.
    categorical_features : "from_dtype", None, or list of int, str or bool, default="from_dtype"
        As in :class:`boscage.TopDownTreeClassifier`.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Class weights, multiplied by the sample weights; "balanced_subsample" balances the classes in the sample of each
        tree.
    n_jobs : int or None, default=None
        Number of threads: None means 1, -1 means all cores. The fitted forest does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the random number generator. Each tree depends only on the seed and on its index.
    verbose : bool or None, default=None
        Whether to show a progress bar: None shows it on a terminal if the fit takes longer than two seconds, True
        always, False never.

    Attributes
    ----------
    trees_ : sequence of Tree
        The trees, as read-only arrays.
    estimators_ : list of TopDownTreeClassifier
        The trees as fitted estimators, which can be printed, plotted, explained and exported.
    classes_ : ndarray of shape (K,)
        The class labels.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Column names seen in ``fit``, if all of them are strings.
    feature_importances_ : ndarray of shape (d,)
        Impurity-based importance of each column.
    exponent_ : float
        The power t; 1 if probabilities are not calibrated.
    oob_decision_function_ : ndarray of shape (n, K)
        Class probabilities of each training row, from the trees that were not fitted on it; NaN if there are none, and
        for rows with weight 0.
    oob_score_ : float
        Score on the out-of-bag rows.
    reading_ : Reading
        Number of ``passes`` over the source, ``rows`` per pass and total ``bytes_read``; only after
        :meth:`fit_batches`.

    Notes
    -----
    Rows are sampled uniformly, whatever their weights, and then count with their weight. With ``bootstrap=False`` (and
    ``max_samples=None``) a row with weight 2 is equivalent to the same row twice.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import ForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ForestClassifier(50, splits="axis", oob_score=True, random_state=0).fit(X, y)
    >>> round(forest.oob_score_, 2)
    0.95
    """

    _tree_class: ClassVar[Any] = TopDownTreeClassifier
    _target: ClassVar[Target] = "classes"
    _score_name: ClassVar[str] = "accuracy"
    oob_score_: float
    oob_decision_function_: Floats

    def __init__(
        self,
        n_estimators: int = 100,
        splits: str | SplitFamily = "mixed",
        criterion: str | Criterion | Any = "entropy",
        leaf: str | Leaf = "frequency",
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
        calibrate: bool | str = "auto",
        warm_start: bool = False,
        categorical_features: str | Sequence[Any] | None = "from_dtype",
        class_weight: str | Mapping[Any, float] | None = None,
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
        self.calibrate = calibrate
        self.warm_start = warm_start
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ForestClassifier:
        """Grow the trees.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Training rows, as for :class:`boscage.TopDownTreeClassifier` with the same ``splits``.
        y : array-like of shape (n,)
            Class labels of any type.
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
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the most probable class; ties go to the first class.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        best = self._proba(X).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[best]
        return labels

    @of_one_fit
    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, K)
            In the order of ``classes_``.
        """
        return self._proba(X)

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict log-probabilities of the classes.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, K)
            In the order of ``classes_``; minus infinity where the probability is 0.
        """
        with np.errstate(divide="ignore"):
            logarithms: Floats = np.log(self.predict_proba(X))
        return logarithms

    def _proba(self, X: Any) -> Floats:
        trees, rows = self._rows(X)
        return trees.proba(rows, self._exponent, self.n_jobs)

    @property
    def exponent_(self) -> float:
        """The power to which mean probabilities are raised."""
        return self._exponent

    def _check_settings(self) -> None:
        super()._check_settings()
        if not is_flag(self.calibrate) and not (isinstance(self.calibrate, str) and self.calibrate == "auto"):
            raise ValueError(f"calibrate={self.calibrate!r} is not allowed. Pass 'auto', True or False.")

    def _same_target(self, data: Dataset) -> bool:
        return np.array_equal(self.classes_, data.classes)

    def _wants_out_of_bag(self) -> dict[str, Any]:
        wanted = super()._wants_out_of_bag()
        return wanted | {"calibrate": True} if self.calibrate and self.calibrate != "auto" else wanted

    def _needs_out_of_bag(self, bags: Sequence[Bags]) -> bool:
        return super()._needs_out_of_bag(bags) or (any(own.leaves_out for own in bags) and self._calibrates(bags))

    def _calibrates(self, bags: Sequence[Bags]) -> bool:
        if self.calibrate != "auto" or self.refit is not None:
            return self.calibrate != "auto" and bool(self.calibrate)
        rounding = 0.5 / bags[-1].rows  # draws are a whole number of rows
        return sum(own.share_left_out + rounding for own in bags) >= _ENOUGH_TREES

    def _facts(self, means: Floats | None, data: Dataset, bags: Sequence[Bags]) -> dict[str, Any]:
        if means is None:
            return {"_exponent": 1.0}
        seen = ~np.isnan(means[:, 0])
        weight = None if data.weight is None else data.weight[seen]
        exponent = 1.0
        if self._calibrates(bags) and seen.any():
            exponent = best_exponent(means, data.y, data.weight)
        facts: dict[str, Any] = {"_exponent": exponent}
        if self.oob_score:
            facts["oob_decision_function_"] = self._all_rows(sharpened(means, exponent), data)
            facts["oob_score_"] = self._score_of(means[seen], data, seen, weight)
        return facts

    def _score_of(self, means: Floats, data: Dataset, seen: Any, weight: Floats | None) -> float:
        y_true, y_pred = data.classes[data.y[seen]], data.classes[means.argmax(axis=1)]
        if callable(self.oob_score):
            return float(self.oob_score(y_true, y_pred))
        return float(np.average(y_true == y_pred, weights=weight)) if len(y_true) else float("nan")
