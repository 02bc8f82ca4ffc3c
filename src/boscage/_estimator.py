"""What every estimator with a `tree_` shares: prediction, looking at the tree, saving it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from boscage import _predict
from boscage._callbacks import CallbackSupport
from boscage._importances import feature_importances
from boscage._validation import predict_data
from boscage.tree import Floats, Int64s, Tree


class TreeClassifier(CallbackSupport, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers that hold a `Tree`: ``tree_`` and ``classes_`` are all it reads."""

    tree_: Tree
    classes_: npt.NDArray[Any]
    n_jobs: int | None = None

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of largest probability, the first of them on ties.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        best = _predict.predict_class(*self._rows(X))
        labels: npt.NDArray[Any] = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities: those of the leaf, averaged by reach in soft trees.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, K)
            In the order of ``classes_``.
        """
        return _predict.predict_proba(*self._rows(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict logarithms of class probabilities."""
        with np.errstate(divide="ignore"):
            logarithms: Floats = np.log(self.predict_proba(X))
        return logarithms

    def apply(self, X: Any) -> Int64s:
        """Return the leaf each row ends in; in soft trees the one of largest reach."""
        return _predict.apply(*self._rows(X))

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Return the probability that each row reaches each node: 0 or 1 in hard trees.

        Returns
        -------
        CSR matrix of shape (n, nodes)
        """
        return _predict.decision_path(*self._rows(X))

    def sample_path(self, X: Any, random_state: Any = None) -> sparse.csr_matrix:
        """Draw one path from the root to a leaf for each row; hard trees have only one.

        Returns
        -------
        CSR matrix of shape (n, nodes)
            1 where the path passes.
        """
        tree, rows, n_jobs = self._rows(X)
        return _predict.sample_path(tree, rows, random_state, n_jobs)

    def _rows(self, X: Any) -> tuple[Tree, Any, int | None]:
        # A loaded model has default parameters: the tree itself says that its family can take sparse rows.
        takes_sparse = sparse.issparse(X) and (
            _is_of_linear_family(self._fitted()) or self.__sklearn_tags__().input_tags.sparse
        )
        rows = predict_data(self, X, accept_sparse=takes_sparse)
        tree = self.tree_
        if _needs_numbers(tree) and np.isnan(rows.data if sparse.issparse(rows) else rows).any():
            raise ValueError(
                f"Input X contains NaN. This {type(self).__name__} has linear tests and was fitted on rows without "
                "NaN, so it has nothing to put in their place. Fill missing values first, for example with "
                "sklearn.impute.SimpleImputer."
            )
        return tree, rows, self.n_jobs

    def get_depth(self) -> int:
        """Return the largest distance of a leaf from the root."""
        return self._fitted().max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self._fitted().n_leaves

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the total drop of impurity, summing to 1 (all 0 for a single leaf).

        The drop of a linear test is shared in proportion to |θ_j|·sd_j. Impurity is measured on the training data, so
        columns of many values look better than they are; permutation importance does not have this fault.
        """
        return feature_importances(self._fitted())

    def export_text(self, **options: Any) -> str:
        """Return the tree as text; options as in :func:`boscage.export.export_text`."""
        from boscage.export import export_text

        return export_text(self._fitted(), **self._named(options))

    def export_graphviz(self, **options: Any) -> str:
        """Return the tree in Graphviz's dot language; options as in :func:`boscage.export.export_graphviz`."""
        from boscage.export import export_graphviz

        return export_graphviz(self._fitted(), **self._named(options))

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as a nested dictionary that JSON can hold; see :func:`boscage.export.to_dict`."""
        from boscage.export import to_dict

        return to_dict(self._fitted(), **self._named({}))

    def plot(self, **options: Any) -> Any:
        """Draw the tree with matplotlib; options as in :func:`boscage.plot.plot_tree`."""
        from boscage.plot import plot_tree

        return plot_tree(self._fitted(), **self._named(options))

    def to_html(
        self, path: str | Path | None = None, X: Any = None, y: Any = None, max_rows: int = 200, **options: Any
    ) -> str | Path:
        """Write the tree as one self-contained, interactive web page.

        Parameters
        ----------
        path : str or path, optional
            Where to write the page. Default: return it as text.
        X : array-like or DataFrame of shape (n, d), optional
            Rows to choose from on the page. They are embedded in it; without them the page has a form to type values
            into and holds no data but the tree.
        y : array-like of shape (n,), optional
            Labels of the rows, shown beside the prediction.
        max_rows : int, default=200
            At most so many rows are embedded, evenly spaced over X.
        **options
            As in :func:`boscage.html.to_html`: ``title``, ``feature_names``, ``class_names``, ``decimals``,
            ``max_terms``.

        Returns
        -------
        str or Path
            The page; or, if it was written to a file, the path.
        """
        from boscage.html import to_html

        tree = self._fitted()
        rows = None if X is None else self._rows(X)[1]
        named = self._named({"title": type(self).__name__, **options})
        if y is not None:  # labels under the names their classes are shown by
            names = dict(zip(map(str, self.classes_.tolist()), map(str, named["class_names"])))
            y = [names.get(label, label) for label in map(str, np.asarray(y).reshape(-1).tolist())]
        return to_html(tree, path, rows, y, max_rows, **named)

    def to_onnx(self, path: str | Path | None = None, **options: Any) -> Any:
        """Write the tree as an ONNX model of plain operators; options as in :func:`boscage.export.to_onnx`.

        Parameters
        ----------
        path : str or path, optional
            Where to write the model. Default: return it.

        Returns
        -------
        onnx.ModelProto or Path
            Input ``X``; outputs ``label`` and ``probabilities``. Columns with categories take codes. If the model was
            written to a file, the path.
        """
        from boscage.export import to_onnx

        return to_onnx(self._fitted(), path, **{"classes": self.classes_, **options})

    def to_sklearn(self) -> Any:
        """Return the tree as a fitted scikit-learn ``DecisionTreeClassifier``; see :func:`boscage.export.to_sklearn`.

        Only trees of numeric axis tests can be converted.
        """
        from boscage.export import to_sklearn

        return to_sklearn(self._fitted(), self.classes_)

    def save(self, path: str | Path) -> Path:
        """Write the model to a file that :func:`boscage.load` reads: data, never code.

        The file holds what prediction needs and the parameters except ``n_jobs`` and ``verbose``. A parameter that is
        not data, such as a function, is left out, and loading warns of it.

        Parameters
        ----------
        path : str or path-like
            The file. It is replaced in one step, or left as it was if writing fails.

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

    def _named(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"class_names": [str(label) for label in self.classes_], **options}


def _is_of_linear_family(tree: Tree) -> bool:
    """Whether linear tests could be in the tree, even if all that was found are tests of one column."""
    return bool(tree.weights.shape[0]) or (tree.input_map is not None and tree.leaf_models is None)


def _needs_numbers(tree: Tree) -> bool:
    """Whether a missing value would make some test or leaf model meaningless."""
    if tree.input_map is not None and tree.input_map.fill is not None:
        return False
    return bool(tree.weights.shape[0]) or tree.leaf_models is not None
