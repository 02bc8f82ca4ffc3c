"""What every tree estimator can do once it has ``tree_`` and ``classes_``: predict, explain, save."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from boscage import _predict, files
from boscage._importances import feature_importances
from boscage._validation import predict_data
from boscage.export import export_graphviz, export_text, to_dict
from boscage.tree import LINEAR, Floats, Int64s, Tree


class TreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Abstract base of the tree estimators: a subclass fits ``tree_`` and ``classes_``."""

    tree_: Tree
    classes_: npt.NDArray[Any]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of largest probability, the lowest class on ties.

        Parameters
        ----------
        X : array-like, table or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        rows = self._rows(X)
        labels: npt.NDArray[Any] = self.classes_[_predict.predict_class(self.tree_, rows, self._n_jobs)]
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities: those of the leaf a row ends in, averaged by reach in soft trees.

        Parameters
        ----------
        X : array-like, table or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        rows = self._rows(X)
        return _predict.predict_proba(self.tree_, rows, self._n_jobs)

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like, table or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            −∞ where the probability is 0.
        """
        with np.errstate(divide="ignore"):
            logarithms: Floats = np.log(self.predict_proba(X))
        return logarithms

    def apply(self, X: Any) -> Int64s:
        """Find the leaf each row ends in; in soft trees the leaf of largest reach, the lowest number on ties.

        Parameters
        ----------
        X : array-like, table or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of int64 of shape (n_samples,)
            Node numbers.
        """
        rows = self._rows(X)
        return _predict.apply(self.tree_, rows, self._n_jobs)

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Return the probability that each row reaches each node; 0 or 1 in hard trees.

        Parameters
        ----------
        X : array-like, table or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        CSR matrix of shape (n_samples, n_nodes)
        """
        rows = self._rows(X)
        return _predict.decision_path(self.tree_, rows, self._n_jobs)

    def sample_path(self, X: Any, random_state: Any = None) -> sparse.csr_matrix:
        """Draw one path from root to leaf for each row, with the probabilities of the tree.

        Parameters
        ----------
        X : array-like, table or CSR matrix of shape (n_samples, n_features)
            The rows.
        random_state : int, RandomState or None, default=None
            Seed; hard trees do not need it.

        Returns
        -------
        CSR matrix of shape (n_samples, n_nodes)
            1 at the nodes of the path.
        """
        rows = self._rows(X)
        return _predict.sample_path(self.tree_, rows, random_state, self._n_jobs)

    def get_depth(self) -> int:
        """Return the depth of the deepest leaf; a tree that is a single leaf has depth 0."""
        check_is_fitted(self, "tree_")
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self, "tree_")
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the total drop of impurity, normalised to 1.

        A linear test shares its drop in proportion to |θ_j|·sd_j.
        """
        check_is_fitted(self, "tree_")
        return feature_importances(self.tree_)

    def export_text(self, **options: Any) -> str:
        """Describe the tree in lines of text; see :func:`boscage.export.export_text` for the options."""
        check_is_fitted(self, "tree_")
        return export_text(self.tree_, **self._with_names(options))

    def export_graphviz(self, **options: Any) -> str:
        """Describe the tree in Graphviz's DOT language; see :func:`boscage.export.export_graphviz`."""
        check_is_fitted(self, "tree_")
        return export_graphviz(self.tree_, **self._with_names(options))

    def to_dict(self, **options: Any) -> dict[str, Any]:
        """Describe the tree as nested dictionaries ready for JSON; see :func:`boscage.export.to_dict`."""
        check_is_fitted(self, "tree_")
        return to_dict(self.tree_, **self._with_names(options))

    def plot(self, **options: Any) -> Any:
        """Draw the tree with matplotlib and return the axes; see :func:`boscage.plot.plot_tree`."""
        from boscage.plot import plot_tree

        check_is_fitted(self, "tree_")
        return plot_tree(self.tree_, **self._with_names(options))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted tree to a file that :func:`boscage.load` reads.

        The file holds what is needed to predict, not how the tree was fitted: equal trees give equal files.

        Parameters
        ----------
        path : str or path-like
            The file to write; an existing one is replaced in one step.
        """
        check_is_fitted(self, "tree_")
        files.save(self, path)

    @property
    def _n_jobs(self) -> int | None:
        return getattr(self, "n_jobs", None)

    def _with_names(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"class_names": self.classes_.tolist()} | options

    def _rows(self, X: Any) -> Any:
        """Check rows against the columns of the fit and against what the tests of this tree can answer."""
        rows = predict_data(self, X, accept_sparse=sparse.issparse(X))
        if _needs_numbers(self.tree_):
            values = rows.data if sparse.issparse(rows) else rows
            if np.isnan(values).any():
                raise ValueError(
                    f"Input X contains NaN. This {type(self).__name__} has linear tests and was fitted on rows "
                    "without NaN, so it has nothing to put in its place. Fill the missing values first, for example "
                    "with sklearn.impute.SimpleImputer."
                )
        return rows


def _needs_numbers(tree: Tree) -> bool:
    """Whether a missing value would make some test or leaf model meaningless."""
    if not tree.weights.shape[0] and tree.leaf_models is None:
        return False
    return (tree.input_map is None or tree.input_map.fill is None) and (
        tree.leaf_models is not None or bool((tree.feature == LINEAR).any())
    )
