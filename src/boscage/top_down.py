"""TopDownTreeClassifier and TopDownTreeRegressor: grow from one leaf, splitting where the potential falls most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from boscage.base.callbacks import fit_task, with_callbacks
from boscage.base.component import resolve
from boscage.criteria import Criterion
from boscage.engine.batch_fits import BatchFits
from boscage.engine.estimator import TreeClassifier, TreeRegressor
from boscage.files import saveable
from boscage.growth import Growth
from boscage.leaves import Leaf
from boscage.splits import SplitFamily
from boscage.tree import Target

__all__ = ["TopDownTreeClassifier", "TopDownTreeRegressor"]


@saveable
class TopDownTreeClassifier(BatchFits, TreeClassifier):
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


@saveable
class TopDownTreeRegressor(BatchFits, TreeRegressor):
    r"""Regression tree grown greedily, best-first by default, from interchangeable parts.

    The parts and their meaning are those of :class:`TopDownTreeClassifier`; only criteria and leaves are made for
    numbers. Starting from one leaf, each step splits the leaf whose best test has the largest weighted drop of
    impurity. For squared error the impurity of a node is the variance of y in it and the drop of a test is

    .. math:: \Delta = w_l\,P\,(1-P)\,(\mu_R - \mu_L)^2

    where w_l is the leaf's weight, P the share of it that goes right and μ the means of y on both sides.

    Parameters
    ----------
    splits : str or SplitFamily, default="axis"
        The family of tests: "axis" (one column against a threshold), or a family of linear tests that takes numbers as
        targets; see :doc:`/regression`.
    criterion : str or Criterion, default="squared_error"
        "squared_error", "absolute_error", "poisson", or an object: ``Quantile(q)``, ``Gamma()``, ``Tweedie(power)``.
    growth : str or Growth, default="best_first"
        Which leaf is split next: "best_first", "heaviest_first" or "depth_first".
    leaf : str or Leaf, default="constant"
        What a leaf predicts: "constant" (the number that the criterion asks for: the mean of y, for absolute error the
        median, for ``Quantile(q)`` the q-quantile), "mean", "median" or "linear" (by a ridge regression, see
        :class:`boscage.leaves.RidgeLeaf`).
    max_leaf_nodes, max_depth, min_samples_leaf, min_samples_split, min_weight_fraction_leaf
        As in :class:`TopDownTreeClassifier`.
    min_impurity_decrease : float, default=0.0
        A split must lower the weighted impurity by at least so much, in units of the criterion: of squares of y for
        squared error.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Columns searched at each node, drawn at random, as in :class:`TopDownTreeClassifier`.
    ccp_alpha : float, default=0.0
        Strength of minimal cost-complexity pruning, at least 0, in units of the criterion.
    polish : None, "soft", "hard", "auto" or Polish, default=None
        Joint refinement of all tests and leaves after growing, for hard linear families and squared error; see
        :class:`boscage.Polish`.
    categorical_features : "from_dtype", None, or list of int, str or bool, default="from_dtype"
        Columns whose values are categories. See :doc:`/categories`.
    n_jobs : int or None, default=None
        Threads: None means 1, -1 all cores. The fitted tree does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of what is drawn at random.
    verbose : bool or None, default=None
        None shows a progress bar on a terminal when a fit takes longer than two seconds, True always, False never.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree: flat read-only arrays. ``tree_.value`` holds numbers in units of y.
    n_outputs_ : int
        Numbers predicted for a row.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, if they are all strings.
    feature_importances_ : ndarray of shape (d,)
        Share of each column in the total drop of impurity.
    trajectory_ : structured ndarray
        ``node``, ``potential`` (mean impurity of the leaves divided by that of the root; for squared error the share of
        the variance that is not explained) and ``error`` (the mean impurity itself; for squared error the mean
        squared error of one mean in each leaf): before any split (node -1), then after each split.

    Notes
    -----
    y of shape (n, m) gives a tree with m numbers in each leaf (squared error only). See :doc:`/regression` for
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
        min_samples_leaf: Any = 1,
        min_samples_split: Any = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: Any = None,
        ccp_alpha: float = 0.0,
        polish: Any = None,
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
            Rows; float32, float64 and CSR matrices are used as they are.
        y : array-like of shape (n,) or (n, m)
            Numbers, at most 1e300 in size, without NaN.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a row of weight 0 counts as absent.

        Returns
        -------
        self
        """
        with fit_task(self, X, y, sample_weight):
            self._fit(X, y, sample_weight)
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the chosen parts can take."""
        tags = super().__sklearn_tags__()
        given: object = self.criterion
        criterion: Any = None if given is None else resolve("criterion", given, "numbers")
        tags.target_tags.multi_output = getattr(criterion, "several_outputs", True)
        tags.target_tags.positive_only = getattr(criterion, "_least", (-np.inf, False))[0] >= 0
        return tags
