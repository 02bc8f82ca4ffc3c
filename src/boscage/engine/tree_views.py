"""A fitted tree for its readers: text, pictures, pages, explanations and edits, as methods of an estimator."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from boscage.base.callbacks import Method
from boscage.tree import Tree

if TYPE_CHECKING:
    from boscage.edit import TreeEdit
    from boscage.explain import Explanation


def of_one_fit(method: Method) -> Method:
    """Let a method that reads several fitted attributes work on a snapshot: another thread may fit meanwhile."""

    @wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(copy.copy(self), *args, **kwargs)

    return cast("Method", run)


class TreeViews:
    """Methods that show the tree of a fitted estimator."""

    tree_: Tree
    _fitted: Any  # () -> Tree
    _rows: Any  # X -> tree, rows, n_jobs
    _output_names: Any  # names of classes or outputs, those given or the fit's own
    _shown_target: Any  # y, names -> y by these names
    _classes: Any  # () -> labels, or None if the tree predicts numbers
    __sklearn_tags__: Any

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
        """Return a text representation of the tree; see :func:`boscage.export.export_text`.

        Parameters
        ----------
        feature_names, class_names : sequence, optional
            Default: the names seen in ``fit``, and the labels.
        max_depth : int or None, default=10
            Deeper branches are cut off.
        spacing : int, default=3
            Number of spaces of indentation per level.
        decimals : int, optional
            Number of decimal places. Default: as many as each threshold needs.
        show_weights : bool, default=False
            Whether leaves show the training weight of each class.
        max_terms : int, default=5
            Maximum number of terms shown in a linear test, and of categories in a set.
        show_missing : bool or array of bool, optional
            Whether to show which side missing values take. Default: for columns that had missing values in training.
        units : {"original", "standard"}, default="original"
            Linear tests in the columns' units or in standard deviations from the mean.

        Returns
        -------
        str
            The text.
        """
        from boscage.export import export_text

        return export_text(
            self._fitted(),
            feature_names,
            self._output_names(class_names),
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
            Whether to colour nodes by their majority class, or in regression by their value.
        impurity : bool, default=True
            Whether to show the impurity of each node.
        node_ids : bool, default=False
            Whether to show node numbers.

        Returns
        -------
        str
            The graph.
        """
        from boscage.export import export_graphviz

        return export_graphviz(
            self._fitted(),
            feature_names,
            self._output_names(class_names),
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
        """Return the tree as a JSON-serialisable dictionary; see :func:`boscage.export.to_dict`.

        Returns
        -------
        dict
        """
        from boscage.export import to_dict

        return to_dict(self._fitted(), class_names=self._output_names(None))

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

        Returns
        -------
        matplotlib axes
        """
        from boscage.plot import plot_tree

        return plot_tree(
            self._fitted(),
            ax,
            feature_names,
            self._output_names(class_names),
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
        """Write the tree as a self-contained, interactive web page.

        Parameters
        ----------
        path : str or path, optional
            Where to write the page. Default: return it as text.
        X : array-like or DataFrame of shape (n, d), optional
            Rows that can be selected on the page; they are embedded in it. Without them the page has a form for
            entering values, and contains no data besides the tree.
        y : array-like of shape (n,), optional
            Labels of the rows, shown beside the prediction.
        max_rows : int, default=200
            Maximum number of rows to embed, evenly spaced over X.
        title : str, optional
            Title of the page. Default: the class name.
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
            class_names=self._output_names(class_names),
            decimals=decimals,
            max_terms=max_terms,
            show_missing=self._seen_missing(show_missing),
            units=units,
            model=self,
        )

    def _page_rows(self, X: Any, y: Any, class_names: Sequence[Any] | None) -> tuple[Any, Any]:
        rows = None if X is None else self._rows(X)[1]
        return rows, None if y is None else self._shown_target(y, class_names)

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
        """Show the interactive page of :meth:`to_html` in the notebook or, outside a notebook, in a browser.

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
        from boscage.html import page, tree_fragment
        from boscage.show.notebook import show_page

        heading = type(self).__name__ if title is None else title
        rows, labels = self._page_rows(X, y, class_names)
        fragment = tree_fragment(
            self._fitted(),
            rows,
            labels,
            max_rows,
            title=heading,
            feature_names=feature_names,
            class_names=self._output_names(class_names),
            decimals=decimals,
            max_terms=max_terms,
            show_missing=self._seen_missing(show_missing),
            units=units,
            model=self,
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
            Print it, or see its ``path``, ``base``, ``contributions`` and ``prediction``. See
            :func:`boscage.explain.explain` for how contributions are computed.
        """
        from boscage.explain import explain

        tree, rows, _ = self._rows(one_row(row))
        return explain(
            tree,
            rows,
            feature_names=feature_names,
            class_names=self._output_names(class_names),
            decimals=decimals,
            max_terms=max_terms,
            units=units,
        )

    @of_one_fit
    def edit(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> TreeEdit:
        """Start editing the tree by hand; the estimator itself does not change.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d), optional
            The training rows. They are used to recount the nodes below a changed threshold, and for the report.
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
        from boscage.edit import TreeEdit
        from boscage.engine.recount import checked_rows

        tree = self._fitted()
        classes = self._classes()
        rows = None if X is None else checked_rows(self, tree, classes, X, y, sample_weight)
        return TreeEdit(tree, classes, self, rows)

    def _html_repr(self) -> str:
        """HTML of scikit-learn, and below it the top of the tree."""
        shown: str = super()._html_repr()  # type: ignore[misc]
        if "tree_" not in self.__dict__:
            return shown
        from boscage.show.notebook import tree_html

        names = {"class_names": self._output_names(None), "show_missing": self._seen_missing(None)}
        return shown + tree_html(self.tree_, **names)

    def _seen_missing(self, show_missing: bool | npt.ArrayLike | None) -> bool | npt.ArrayLike | None:
        """Columns whose missing values are mentioned, unless the reader says otherwise."""
        if show_missing is not None:
            return show_missing
        from boscage.show.describe import missing_columns

        return missing_columns(self._fitted()) if self.__sklearn_tags__().input_tags.allow_nan else False


def one_row(row: Any) -> Any:
    """Return a row as a table of one row."""
    if hasattr(row, "to_frame") and hasattr(row, "index"):  # a Series of pandas
        return row.to_frame().T.infer_objects()
    shape = row.shape if hasattr(row, "shape") else np.shape(row)
    if len(shape) == 1:
        return [row] if not isinstance(row, np.ndarray) else row[None, :]
    if len(shape) != 2 or shape[0] != 1:
        raise ValueError(f"row must be one row, got shape {tuple(shape)}. Pass one row of X, such as X[:1].")
    return row
