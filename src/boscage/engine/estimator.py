"""What every estimator with a `tree_` shares: prediction, looking at the tree, saving it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from boscage.base.callbacks import CallbackSupport
from boscage.base.component import resolve
from boscage.base.named_parameters import NamedParameters
from boscage.data.targets import r2
from boscage.data.validation import Dataset, predict_data, publish
from boscage.engine.tree_views import TreeViews, of_one_fit
from boscage.model import predict as _predict
from boscage.model.importances import feature_importances
from boscage.show.exports import ExportMethods
from boscage.tree import Floats, Int64s, Tree

__all__ = ["ClassCount", "Regressor", "TreeClassifier", "TreeEstimator", "TreeRegressor", "of_one_fit"]

_OPTIONAL = ("feature_names_in_", "reading_")


class ClassCount:
    """Number of classes, under the name scikit-learn's trees have for it."""

    classes_: npt.NDArray[Any]

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)


class TreeEstimator(NamedParameters, ExportMethods, TreeViews, CallbackSupport, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators that hold a `Tree`: ``tree_`` is all it reads."""

    tree_: Tree
    n_jobs: int | None = None

    def apply(self, X: Any) -> Int64s:
        """Return the leaf that each row ends up in; in soft trees, the most probable one.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            Node numbers.
        """
        return _predict.apply(*self._rows(X))

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Return the probability that each row reaches each node: 0 or 1 in hard trees.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        CSR matrix of shape (n, nodes)
        """
        return _predict.decision_path(*self._rows(X))

    def sample_path(self, X: Any, random_state: Any = None) -> sparse.csr_matrix:
        """Sample one path from the root to a leaf for each row; in a hard tree there is only one.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.
        random_state : int, RandomState or None, default=None
            Seed of the random number generator.

        Returns
        -------
        CSR matrix of shape (n, nodes)
            1 for the nodes on the path.
        """
        tree, rows, n_jobs = self._rows(X)
        return _predict.sample_path(tree, rows, random_state, n_jobs)

    def _rows(self, X: Any) -> tuple[Tree, Any, int | None]:
        tree = self.__dict__.get("tree_")  # an unfitted model is refused below
        rows = predict_data(self, X, accept_sparse=True)
        if tree is not self.tree_:  # checked against the columns of another fit
            return self._rows(X)
        if _predict.needs_numbers(tree) and np.isnan(rows.data if sparse.issparse(rows) else rows).any():
            raise ValueError(
                f"Input X contains NaN. This {type(self).__name__} has linear tests and was fitted on rows without "
                "NaN, so it has no values to replace them with. Fill missing values first, for example with "
                "sklearn.impute.SimpleImputer."
            )
        return tree, rows, self.n_jobs

    def get_depth(self) -> int:
        """Return the depth of the tree.

        Returns
        -------
        int
            Length of the longest path from the root to a leaf; 0 if the root is a leaf.
        """
        return self._fitted().max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
        """
        return self._fitted().n_leaves

    @property
    def feature_importances_(self) -> Floats:
        r"""Impurity-based importance of each column, normalised to sum to 1 (all 0 for a single leaf).

        The impurity decrease of a linear test is divided among its columns in proportion to
        :math:`|\theta_j|\,\mathrm{sd}_j`. Impurity is measured on the training data, so columns with many distinct
        values look more important than they are; permutation importance has no such bias.
        """
        return feature_importances(self._fitted())

    @of_one_fit
    def save(self, path: str | Path) -> Path:
        """Save the model to a file that :func:`boscage.load` can read; it contains data, never code.

        The file contains all that prediction needs, and all parameters except ``n_jobs`` and ``verbose``. Parameters
        that are not data, such as functions, are omitted, and loading warns about them.

        Parameters
        ----------
        path : str or path-like
            The file to write. If writing fails, an existing file is left unchanged.

        Returns
        -------
        Path
            The path.
        """
        from boscage.files import save

        self._fitted()
        return save(self, path)

    def _fitted(self) -> Tree:
        check_is_fitted(self, "tree_")
        return self.tree_

    def _publish(self, data: Dataset, **found: Any) -> None:
        """Set what a fit has found in one step."""
        publish(self, data, _OPTIONAL, found)

    def __getstate__(self) -> dict[str, Any]:
        return dict(super().__getstate__())  # in one step, unlike a walk over the attributes


class TreeClassifier(ClassCount, ClassifierMixin, TreeEstimator):  # type: ignore[misc]
    """Base of the classifiers that hold a `Tree`: ``tree_`` and ``classes_`` are all it reads."""

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
        tree, rows, n_jobs = self._rows(X)
        classes = self.classes_
        if tree is not self.tree_:  # a fit in another thread has just replaced the model
            return self.predict(X)
        labels: npt.NDArray[Any] = classes[_predict.predict_class(tree, rows, n_jobs)]
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities; a soft tree averages its leaves by the probability of reaching them.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, K)
            In the order of ``classes_``.
        """
        return _predict.predict_proba(*self._rows(X))

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

    @of_one_fit
    def to_sklearn(self) -> Any:
        """Return the tree as a fitted scikit-learn ``DecisionTreeClassifier``; see :func:`boscage.export.to_sklearn`.

        Only trees of numeric axis tests can be converted.

        Returns
        -------
        DecisionTreeClassifier
        """
        from boscage.export import to_sklearn

        return to_sklearn(self._fitted(), self.classes_)

    def _output_names(self, class_names: Sequence[Any] | None) -> Sequence[Any]:
        return [str(label) for label in self.classes_] if class_names is None else class_names

    def _shown_target(self, y: Any, class_names: Sequence[Any] | None) -> Any:
        """Labels under the names their classes are shown by."""
        names = dict(zip(map(str, self.classes_.tolist()), map(str, self._output_names(class_names))))
        return [names.get(label, label) for label in map(str, np.asarray(y).reshape(-1).tolist())]

    def _classes(self) -> npt.NDArray[Any]:
        return self.classes_


class Regressor(RegressorMixin):  # type: ignore[misc]
    """What every regressor shares."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R²; for several outputs, their mean.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.
        y : array-like of shape (n,) or (n, m)
            Numbers.
        sample_weight : array-like of shape (n,), optional
            Weights.

        Returns
        -------
        float
            At most 1; 0 for predicting the mean.
        """
        return r2(y, self.predict(X), sample_weight, type(self).__name__)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the chosen parts can take."""
        tags = super().__sklearn_tags__()
        criterion, splits, leaf = (self._named(role) for role in ("criterion", "splits", "leaf"))
        tags.target_tags.multi_output = getattr(criterion, "several_outputs", True)
        tags.target_tags.positive_only = getattr(criterion, "_least", (-np.inf, False))[0] >= 0
        # A mean over soft leaves stays near the mean of y, unless they are fitted jointly.
        is_soft = "soft" in getattr(splits, "provides", ())
        tags.regressor_tags.poor_score = is_soft and not getattr(leaf, "joint", False)
        return tags

    def _named(self, role: str) -> Any:
        """Return a part; None without that parameter, and in a loaded model whose part could not be stored."""
        given: object = getattr(self, role, None)
        return None if given is None else resolve(role, given, "numbers")


class TreeRegressor(Regressor, TreeEstimator):
    """Base of the regressors that hold a `Tree` of numbers: ``tree_`` is all it reads."""

    @property
    def n_outputs_(self) -> int:
        """Number of outputs."""
        return self._fitted().n_outputs

    def predict(self, X: Any) -> Floats:
        """Predict the target; a soft tree averages its leaves by the probability of reaching them.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,), or (n, m) for m outputs
        """
        return _predict.predict_numbers(*self._rows(X))

    @of_one_fit
    def to_sklearn(self) -> Any:
        """Return the tree as a fitted scikit-learn ``DecisionTreeRegressor``; see :func:`boscage.export.to_sklearn`.

        Only trees of numeric axis tests can be converted.

        Returns
        -------
        DecisionTreeRegressor
        """
        from boscage.export import to_sklearn

        return to_sklearn(self._fitted())

    def _output_names(self, class_names: Sequence[Any] | None) -> Sequence[Any] | None:
        return class_names

    def _shown_target(self, y: Any, class_names: Sequence[Any] | None) -> Any:
        return y

    def _classes(self) -> None:
        return None
