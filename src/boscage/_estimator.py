"""What every estimator with a `tree_` shares: prediction, looking at the tree, saving it."""

from __future__ import annotations

import copy
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from boscage import _predict
from boscage._callbacks import CallbackSupport, Method
from boscage._importances import feature_importances
from boscage._validation import Dataset, predict_data, set_data_attributes
from boscage.tree import Floats, Int64s, Tree


class ClassCount:
    """Number of classes, under the name scikit-learn's trees have for it."""

    classes_: npt.NDArray[Any]

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)


def of_one_fit(method: Method) -> Method:
    """Let a method that reads several fitted attributes work on a snapshot: another thread may fit meanwhile."""

    @wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(copy.copy(self), *args, **kwargs)

    return cast("Method", run)


class TreeClassifier(ClassCount, CallbackSupport, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers that hold a `Tree`: ``tree_`` and ``classes_`` are all it reads."""

    tree_: Tree
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
        tree, rows, n_jobs = self._rows(X)
        classes = self.classes_
        if tree is not self.tree_:  # a fit in another thread has just replaced the model
            return self.predict(X)
        labels: npt.NDArray[Any] = classes[_predict.predict_class(tree, rows, n_jobs)]
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
        tree = self.__dict__.get("tree_")  # an unfitted model is refused below
        rows = predict_data(self, X, accept_sparse=True)
        if tree is not self.tree_:  # checked against the columns of another fit
            return self._rows(X)
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

    @of_one_fit
    def export_text(self, **options: Any) -> str:
        """Return the tree as text; options as in :func:`boscage.export.export_text`."""
        from boscage.export import export_text

        return export_text(self._fitted(), **self._named(options))

    @of_one_fit
    def export_graphviz(self, **options: Any) -> str:
        """Return the tree in Graphviz's dot language; options as in :func:`boscage.export.export_graphviz`."""
        from boscage.export import export_graphviz

        return export_graphviz(self._fitted(), **self._named(options))

    @of_one_fit
    def to_dict(self) -> dict[str, Any]:
        """Return the tree as a nested dictionary that JSON can hold; see :func:`boscage.export.to_dict`."""
        from boscage.export import to_dict

        return to_dict(self._fitted(), **self._named({}))

    @of_one_fit
    def plot(self, **options: Any) -> Any:
        """Draw the tree with matplotlib; options as in :func:`boscage.plot.plot_tree`."""
        from boscage.plot import plot_tree

        return plot_tree(self._fitted(), **self._named(options))

    @of_one_fit
    def to_html(
        self, path: str | Path | None = None, X: Any = None, y: Any = None, max_rows: int = 200, **options: Any
    ) -> str:
        """Write the tree as one self-contained, interactive web page.

        Parameters
        ----------
        path : str or path, optional
            Where to write the page. Default: only return it.
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
        str
            The page.
        """
        from boscage.html import to_html

        tree = self._fitted()
        rows = None if X is None else self._rows(X)[1]
        named = self._named({"title": type(self).__name__, **options})
        if y is not None:  # labels under the names their classes are shown by
            names = dict(zip(map(str, self.classes_.tolist()), map(str, named["class_names"])))
            y = [names.get(label, label) for label in map(str, np.asarray(y).reshape(-1).tolist())]
        return to_html(tree, path, rows, y, max_rows, **named)

    @of_one_fit
    def to_onnx(self, path: str | Path | None = None, **options: Any) -> Any:
        """Write the tree as an ONNX model of plain operators; options as in :func:`boscage.export.to_onnx`.

        Returns
        -------
        onnx.ModelProto
            Input ``X``; outputs ``label`` and ``probabilities``. Columns with categories take codes.
        """
        from boscage.export import to_onnx

        return to_onnx(self._fitted(), path, **{"classes": self.classes_, **options})

    @of_one_fit
    def to_sklearn(self) -> Any:
        """Return the tree as a fitted scikit-learn ``DecisionTreeClassifier``; see :func:`boscage.export.to_sklearn`.

        Only trees of numeric axis tests can be converted.
        """
        from boscage.export import to_sklearn

        return to_sklearn(self._fitted(), self.classes_)

    @of_one_fit
    def save(self, path: str | Path) -> None:
        """Write the model to a file that :func:`boscage.load` reads: data, never code."""
        from boscage.files import save

        self._fitted()
        save(self, path)

    def _fitted(self) -> Tree:
        check_is_fitted(self, "tree_")
        return self.tree_

    def _publish(self, data: Dataset, **found: Any) -> None:
        """Set what a fit has found in one step: a reader in another thread sees one fit or the next."""
        fresh = SimpleNamespace(**found)
        set_data_attributes(fresh, data)
        if not hasattr(fresh, "feature_names_in_"):
            self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(vars(fresh))

    def __getstate__(self) -> dict[str, Any]:
        return dict(super().__getstate__())  # in one step, unlike a walk over the attributes

    def _named(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"class_names": [str(label) for label in self.classes_], **options}


def _needs_numbers(tree: Tree) -> bool:
    """Whether a missing value would make some test or leaf model meaningless."""
    if tree.input_map is not None and tree.input_map.fill is not None:
        return False
    return bool(tree.weights.shape[0]) or tree.leaf_models is not None
