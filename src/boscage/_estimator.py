"""What every estimator with a `tree_` shares: prediction, looking at the tree, saving it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

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

if TYPE_CHECKING:
    from boscage.edit import TreeEdit
    from boscage.explain import Explanation


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
    def export_text(
        self,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Any] | None = None,
        max_depth: int | None = 10,
        *,
        spacing: int = 3,
        decimals: int | None = None,
        show_weights: bool = False,
        max_terms: int = 5,
        show_missing: bool | npt.ArrayLike | None = None,
        units: str = "original",
    ) -> str:
        """Return the tree as lines of text; see :func:`boscage.export.export_text`.

        Parameters
        ----------
        feature_names, class_names : sequence, optional
            Default: the names seen in ``fit``, and the labels.
        max_depth : int or None, default=10
            Deeper branches are cut off.
        spacing : int, default=3
            Spaces by which a level is indented.
        decimals : int, optional
            Digits after the point. Default: as many as each threshold needs.
        show_weights : bool, default=False
            Whether leaves show the training weight of each class.
        max_terms : int, default=5
            Terms shown of a linear test, and categories shown of a set.
        show_missing : bool or array of bool, optional
            Whether tests say on which side missing values go. Default: where the tree has seen some.
        units : {"original", "standard"}, default="original"
            Linear tests in the columns' units or in standard deviations from the mean.
        """
        from boscage.export import export_text

        return export_text(
            self._fitted(),
            feature_names,
            self._class_names(class_names),
            max_depth,
            spacing=spacing,
            decimals=decimals,
            show_weights=show_weights,
            max_terms=max_terms,
            show_missing=self._seen_missing(show_missing),
            units=units,
        )

    @of_one_fit
    def export_graphviz(
        self,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Any] | None = None,
        max_depth: int | None = None,
        *,
        decimals: int | None = None,
        max_terms: int = 5,
        filled: bool = True,
        impurity: bool = True,
        node_ids: bool = False,
        show_missing: bool | npt.ArrayLike | None = None,
        units: str = "original",
    ) -> str:
        """Return the tree in Graphviz's DOT language; see :func:`boscage.export.export_graphviz`.

        Parameters
        ----------
        feature_names, class_names, decimals, max_terms, show_missing, units
            As in :meth:`export_text`.
        max_depth : int or None, default=None
            Deeper branches are cut off; None shows everything.
        filled : bool, default=True
            Whether nodes have the colour of their leading class.
        impurity : bool, default=True
            Whether nodes show their impurity.
        node_ids : bool, default=False
            Whether nodes show their number.
        """
        from boscage.export import export_graphviz

        return export_graphviz(
            self._fitted(),
            feature_names,
            self._class_names(class_names),
            max_depth,
            decimals=decimals,
            max_terms=max_terms,
            filled=filled,
            impurity=impurity,
            node_ids=node_ids,
            show_missing=self._seen_missing(show_missing),
            units=units,
        )

    @of_one_fit
    def to_dict(self) -> dict[str, Any]:
        """Return the tree as a nested dictionary that JSON can hold; see :func:`boscage.export.to_dict`."""
        from boscage.export import to_dict

        return to_dict(self._fitted(), class_names=self._class_names(None))

    @of_one_fit
    def plot(
        self,
        ax: Any = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Any] | None = None,
        max_depth: int | None = 5,
        *,
        decimals: int | None = None,
        max_terms: int = 3,
        fontsize: float | None = None,
        legend: bool = True,
        show_missing: bool | npt.ArrayLike | None = None,
        units: str = "original",
    ) -> Any:
        """Draw the tree with matplotlib and return the axes; see :func:`boscage.plot.plot_tree`.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw. Default: a new figure large enough for the tree.
        feature_names, class_names, decimals, max_terms, show_missing, units
            As in :meth:`export_text`.
        max_depth : int or None, default=5
            Deeper branches are cut off; None draws everything.
        fontsize : float, optional
            Size of the text in points. Default: what fits, at most 9.
        legend : bool, default=True
            Whether to name the colours of up to twelve classes.
        """
        from boscage.plot import plot_tree

        return plot_tree(
            self._fitted(),
            ax,
            feature_names,
            self._class_names(class_names),
            max_depth,
            decimals=decimals,
            max_terms=max_terms,
            fontsize=fontsize,
            legend=legend,
            show_missing=self._seen_missing(show_missing),
            units=units,
        )

    @of_one_fit
    def to_html(
        self,
        path: str | Path | None = None,
        X: Any = None,
        y: Any = None,
        max_rows: int = 200,
        *,
        title: str | None = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Any] | None = None,
        decimals: int | None = None,
        max_terms: int = 5,
        show_missing: bool | npt.ArrayLike | None = None,
        units: str = "original",
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
        title : str, optional
            Heading of the page. Default: the name of the class.
        feature_names, class_names, decimals, max_terms, show_missing, units
            As in :meth:`export_text`.

        Returns
        -------
        str or Path
            The page; or, if it was written to a file, the path.
        """
        from boscage.html import to_html

        tree = self._fitted()
        rows, labels = self._page_rows(X, y, class_names)
        return to_html(
            tree,
            path,
            rows,
            labels,
            max_rows,
            title=type(self).__name__ if title is None else title,
            feature_names=feature_names,
            class_names=self._class_names(class_names),
            decimals=decimals,
            max_terms=max_terms,
            show_missing=self._seen_missing(show_missing),
            units=units,
        )

    def _page_rows(self, X: Any, y: Any, class_names: Sequence[Any] | None) -> tuple[Any, Any]:
        rows = None if X is None else self._rows(X)[1]
        if y is not None:  # labels under the names their classes are shown by
            names = dict(zip(map(str, self.classes_.tolist()), map(str, self._class_names(class_names))))
            y = [names.get(label, label) for label in map(str, np.asarray(y).reshape(-1).tolist())]
        return rows, y

    @of_one_fit
    def show(
        self,
        X: Any = None,
        y: Any = None,
        max_rows: int = 200,
        *,
        height: int = 640,
        title: str | None = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Any] | None = None,
        decimals: int | None = None,
        max_terms: int = 5,
        show_missing: bool | npt.ArrayLike | None = None,
        units: str = "original",
    ) -> Path | None:
        """Show the interactive page of :meth:`to_html`: inside a notebook, else in the browser.

        Parameters
        ----------
        X, y, max_rows, title, feature_names, class_names, decimals, max_terms, show_missing, units
            As in :meth:`to_html`.
        height : int, default=640
            Height in a notebook, in pixels.

        Returns
        -------
        Path or None
            The temporary file that the browser opens; None in a notebook.
        """
        from boscage._show import show_page
        from boscage.html import page, tree_fragment

        heading = type(self).__name__ if title is None else title
        rows, labels = self._page_rows(X, y, class_names)
        fragment = tree_fragment(
            self._fitted(),
            rows,
            labels,
            max_rows,
            title=heading,
            feature_names=feature_names,
            class_names=self._class_names(class_names),
            decimals=decimals,
            max_terms=max_terms,
            show_missing=self._seen_missing(show_missing),
            units=units,
        )
        return show_page(page(heading, fragment), height)

    @of_one_fit
    def explain(
        self,
        row: Any,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Any] | None = None,
        decimals: int | None = None,
        max_terms: int = 5,
        units: str = "original",
    ) -> Explanation:
        """Explain the prediction of one row: its path in sentences, and what each column contributed.

        Parameters
        ----------
        row : array-like of shape (d,), Series, or table or array of one row
            The row.
        feature_names, class_names, decimals, max_terms, units
            As in :meth:`export_text`.

        Returns
        -------
        Explanation
            Print it, or see its ``path``, ``base``, ``contributions`` and ``prediction``. How contributions are
            computed is told at :func:`boscage.explain.explain`.
        """
        from boscage.explain import explain

        tree, rows, _ = self._rows(_one_row(row))
        return explain(
            tree,
            rows,
            feature_names=feature_names,
            class_names=self._class_names(class_names),
            decimals=decimals,
            max_terms=max_terms,
            units=units,
        )

    @of_one_fit
    def edit(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> TreeEdit:
        """Begin to change the tree by hand; this estimator stays as it is.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d), optional
            The training rows. Nodes below a changed threshold are counted again from them, and the report is about
            them.
        y : array-like of shape (n,), optional
            Their labels.
        sample_weight : array-like of shape (n,), optional
            Their weights.

        Returns
        -------
        TreeEdit
            With methods ``prune``, ``set_threshold``, ``set_leaf`` and ``refit_leaves``, which can be chained, and the
            results ``estimator``, ``tree`` and ``report``.

        Examples
        --------
        >>> from boscage import TopDownTreeClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["low", "low", "high", "high"]
        >>> tree = TopDownTreeClassifier().fit(X, y)
        >>> edited = tree.edit(X, y).set_threshold(0, 3.5)
        >>> edited.estimator.predict([[3.0]]).tolist()
        ['low']
        >>> print(edited.report)
        accuracy 1.0000 -> 0.7500; 1 of 4 rows change their class; 2 -> 2 leaves
        """
        from boscage.edit import TreeEdit, checked_rows

        tree = self._fitted()
        rows = None if X is None else checked_rows(self, tree, self.classes_, X, y, sample_weight)
        return TreeEdit(tree, self.classes_, self, rows)

    def _html_repr(self) -> str:
        """HTML of scikit-learn, and below it the top of the tree."""
        shown: str = super()._html_repr()
        if "tree_" not in self.__dict__:
            return shown
        from boscage._show import tree_html

        names = {"class_names": self._class_names(None), "show_missing": self._seen_missing(None)}
        return shown + tree_html(self.tree_, **names)

    @of_one_fit
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

    @of_one_fit
    def to_sklearn(self) -> Any:
        """Return the tree as a fitted scikit-learn ``DecisionTreeClassifier``; see :func:`boscage.export.to_sklearn`.

        Only trees of numeric axis tests can be converted.
        """
        from boscage.export import to_sklearn

        return to_sklearn(self._fitted(), self.classes_)

    @of_one_fit
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

    def _publish(self, data: Dataset, **found: Any) -> None:
        """Set what a fit has found in one step: a reader in another thread sees one fit or the next."""
        fresh = SimpleNamespace(**found)
        set_data_attributes(fresh, data)
        if not hasattr(fresh, "feature_names_in_"):
            self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(vars(fresh))

    def __getstate__(self) -> dict[str, Any]:
        return dict(super().__getstate__())  # in one step, unlike a walk over the attributes

    def _class_names(self, class_names: Sequence[Any] | None) -> Sequence[Any]:
        return [str(label) for label in self.classes_] if class_names is None else class_names

    def _seen_missing(self, show_missing: bool | npt.ArrayLike | None) -> bool | npt.ArrayLike | None:
        """Columns whose missing values are mentioned, unless the reader says otherwise."""
        if show_missing is not None:
            return show_missing
        from boscage._describe import missing_columns

        return missing_columns(self._fitted()) if self.__sklearn_tags__().input_tags.allow_nan else False


def _one_row(row: Any) -> Any:
    """Return a row as a table of one row."""
    if hasattr(row, "to_frame") and hasattr(row, "index"):  # a Series of pandas
        return row.to_frame().T.infer_objects()
    shape = row.shape if hasattr(row, "shape") else np.shape(row)
    if len(shape) == 1:
        return [row] if not isinstance(row, np.ndarray) else row[None, :]
    if len(shape) != 2 or shape[0] != 1:
        raise ValueError(f"row must be one row, got shape {tuple(shape)}. Pass one row of X, such as X[:1].")
    return row


def _needs_numbers(tree: Tree) -> bool:
    """Whether a missing value would make some test or leaf model meaningless."""
    if tree.input_map is not None and tree.input_map.fill is not None:
        return False
    return bool(tree.weights.shape[0]) or tree.leaf_models is not None
