"""TopDownTreeClassifier and TopDownTreeRegressor: grow from one leaf, splitting where the potential falls most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from boscage.base.callbacks import fit_task, with_callbacks
from boscage.criteria import Criterion
from boscage.engine.batch_fits import BatchFits
from boscage.engine.estimator import TreeClassifier, TreeRegressor
from boscage.files import saveable
from boscage.growth import Growth
from boscage.leaves import Leaf
from boscage.polish import Polish
from boscage.splits import SplitFamily
from boscage.tree import Target

__all__ = ["TopDownTreeClassifier", "TopDownTreeRegressor"]


@saveable
class TopDownTreeClassifier(BatchFits, TreeClassifier):
    r"""Decision tree classifier, grown greedily from interchangeable parts.

    A tree is assembled from four parts: a split family (``splits``), a criterion, an order of growth and a leaf model.
    Growth starts with a single leaf; each step splits the leaf whose best test gives the largest weighted impurity
    decrease. This is the algorithm TopDown of Kearns and Mansour, where a test decreases the impurity by

    .. math:: \Delta = w_l\,[\,G(\rho) - P\,G(Q/P) - (1-P)\,G((\rho-Q)/(1-P))\,]

    Here F is the split family, G the criterion, w_l the weight of the leaf, ρ its class fractions, P the fraction of
    its weight that goes right, and Q the same fraction by class.

    Parameters
    ----------
    splits : str or SplitFamily, default="axis"
        The split family F: "axis" (one column against a threshold), "oblique", "wodt", "oc1", "cart_lc", "co2",
        "hhcart" (a linear combination of columns), "stochastic" (linear tests that route by probability), or an object
        such as ``Axis(max_bins=255)``: see :doc:`/api/parts`.
    criterion : str, Criterion or callable, default="gini"
        The criterion G: "gini", "entropy" (or "log_loss", the same), "sqrt", "modified_gini", "separation", an object
        such as ``ModifiedGini(C=2)``, or a function on [0, 1] that is concave, symmetric, 0 at 0 and 1, and 1 at ½.
    growth : str or Growth, default="best_first"
        Which leaf is split next: "best_first", "heaviest_first" or "depth_first".
    leaf : str or Leaf, default="frequency"
        What a leaf predicts: "frequency" (its class fractions), "majority" (one class) or "linear" (a logistic model).
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves, at least 1.
    max_depth : int or None, default=None
        Maximum depth, at least 1 (the root has depth 0).
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf, or a fraction of all rows in (0, 1).
    min_samples_split : int or float, default=2
        Minimum number of rows in a node that is split, at least 2, or a fraction of all rows in (0, 1]. In a soft tree,
        every row that can reach a node counts.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight in a leaf, in [0, 0.5].
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the weighted impurity by a split, computed as in scikit-learn.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of columns to search at each node, chosen at random (``splits="axis"`` only): a number, a fraction in (0,
        1], the square root or the logarithm of the number of columns; None searches all. Columns that are constant in
        the node do not count, and the search goes on until a valid split is found.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning, at least 0.
    polish : None, "soft", "hard", "auto" or Polish, default=None
        Joint optimisation of all tests and leaves after growing, for linear split families only: "soft" keeps logistic
        routing, "hard" makes the tests hard again, "auto" chooses between none, "soft" and "hard" by the error on
        held-out rows.
    categorical_features : "from_dtype", None, or list of int, str or bool, default="from_dtype"
        Columns whose values are categories: "from_dtype" takes the category, string and bool columns of tables, None
        takes none, a list names them. See :doc:`/categories`.
    class_weight : dict, "balanced" or None, default=None
        Class weights, multiplied by the sample weights.
    n_jobs : int or None, default=None
        Number of threads: None means 1, -1 means all cores. The fitted tree does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the random number generator, which is used by all split families except "axis", and by ``max_features``.
    verbose : bool or None, default=None
        Whether to show a progress bar: None shows it on a terminal if the fit takes longer than two seconds, True
        always, False never.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, as read-only arrays.
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
    trajectory_ : structured ndarray
        Progress on the training data, before any split (node -1) and after each split: ``node``, ``potential``
        (weighted mean impurity of the leaves, scaled to 1 for two equal classes) and ``error``.
    reading_ : Reading
        Number of ``passes`` over the source, ``rows`` per pass and total ``bytes_read``; only after
        :meth:`fit_batches`.

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

    def __init__(
        self,
        splits: str | SplitFamily = "axis",
        criterion: str | Criterion | Any = "gini",
        growth: str | Growth = "best_first",
        leaf: str | Leaf = "frequency",
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
        class_weight: str | Mapping[Any, float] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | None = None,
    ) -> None:
        super().__init__(
            splits,
            criterion,
            growth,
            leaf,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            min_samples_split=min_samples_split,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            min_impurity_decrease=min_impurity_decrease,
            max_features=max_features,
            ccp_alpha=ccp_alpha,
            polish=polish,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Training rows; float32, float64 and CSR matrices are not converted. A sparse matrix gives the same tree as a
            dense array (for stochastic trees, up to rounding). Every split family accepts sparse matrices, but not with
            categories or ``Axis(max_bins=...)``.
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


@saveable
class TopDownTreeRegressor(BatchFits, TreeRegressor):
    r"""Regression tree, grown greedily from interchangeable parts.

    The parts are those of :class:`TopDownTreeClassifier`, with criteria and leaves for regression. Growth starts with a
    single leaf; each step splits the leaf whose best test gives the largest weighted impurity decrease. For squared
    error the impurity of a node is the variance of y in it, and a test decreases it by

    .. math:: \Delta = w_l\,P\,(1-P)\,(\mu_R - \mu_L)^2

    Here w_l is the weight of the leaf, P the fraction of it that goes right, and μ_L and μ_R are the means of y on both
    sides.

    Parameters
    ----------
    splits : str or SplitFamily, default="axis"
        The split family: "axis" (one column against a threshold), or a family of linear tests that supports regression;
        see :doc:`/regression`.
    criterion : str or Criterion, default="squared_error"
        "squared_error", "absolute_error", "poisson", "gamma", "tweedie", or an object such as ``Quantile(q)`` or
        ``Tweedie(power)``.
    growth : str or Growth, default="best_first"
        Which leaf is split next: "best_first", "heaviest_first" or "depth_first".
    leaf : str or Leaf, default="constant"
        What a leaf predicts: "constant" (the value that minimises the criterion: the mean of y, for absolute error the
        median, for ``Quantile(q)`` the q-quantile), "mean", "median" or "linear" (a ridge regression, see
        :class:`boscage.RidgeLeaf`).
    max_leaf_nodes, max_depth, min_samples_leaf, min_samples_split, min_weight_fraction_leaf
        As in :class:`TopDownTreeClassifier`.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the weighted impurity by a split, in units of the criterion (for squared error, the square
        of the unit of y).
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of columns to search at each node, chosen at random, as in :class:`TopDownTreeClassifier`.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning, at least 0, in units of the criterion.
    polish : None, "soft", "hard", "auto" or Polish, default=None
        Joint optimisation of all tests and leaves after growing, for hard linear split families and squared error; see
        :class:`boscage.Polish`.
    categorical_features : "from_dtype", None, or list of int, str or bool, default="from_dtype"
        Columns whose values are categories. See :doc:`/categories`.
    n_jobs : int or None, default=None
        Number of threads: None means 1, -1 means all cores. The fitted tree does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the random number generator.
    verbose : bool or None, default=None
        Whether to show a progress bar: None shows it on a terminal if the fit takes longer than two seconds, True
        always, False never.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, as read-only arrays. ``tree_.value`` is in the units of y.
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Column names seen in ``fit``, if all of them are strings.
    feature_importances_ : ndarray of shape (d,)
        Impurity-based importance of each column.
    trajectory_ : structured ndarray
        Progress on the training data, before any split (node -1) and after each split: ``node``, ``potential`` (mean
        impurity of the leaves divided by that of the root; for squared error, the fraction of unexplained variance) and
        ``error`` (the mean impurity itself; for squared error, the mean squared error of constant leaves).
    reading_ : Reading
        Number of ``passes`` over the source, ``rows`` per pass and total ``bytes_read``; only after
        :meth:`fit_batches`.

    Notes
    -----
    With y of shape (n, m), the tree has m outputs (squared error only). See :doc:`/regression` for
    criteria and linear leaves, and :doc:`/weights` for sample weights.

    References
    ----------
    Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from boscage import TopDownTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> tree = TopDownTreeRegressor(max_leaf_nodes=3).fit(X, y)
    >>> print(tree.export_text())
    |--- s5 <= 4.60015
    |   |--- value: 109.99
    |--- s5 >  4.60015
    |   |--- bmi <= 27.75
    |   |   |--- value: 162.68
    |   |--- bmi >  27.75
    |   |   |--- value: 225.88
    """

    _target: ClassVar[Target] = "numbers"

    def __init__(
        self,
        splits: str | SplitFamily = "axis",
        criterion: str | Criterion | Any = "squared_error",
        growth: str | Growth = "best_first",
        leaf: str | Leaf = "constant",
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
        super().__init__(
            splits,
            criterion,
            growth,
            leaf,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            min_samples_split=min_samples_split,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            min_impurity_decrease=min_impurity_decrease,
            max_features=max_features,
            ccp_alpha=ccp_alpha,
            polish=polish,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Training rows; float32, float64 and CSR matrices are not converted.
        y : array-like of shape (n,) or (n, m)
            Target values: finite, and at most 1e300 in absolute value.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; rows with weight 0 are ignored.

        Returns
        -------
        self
        """
        with fit_task(self, X, y, sample_weight):
            self._fit(X, y, sample_weight)
        return self
