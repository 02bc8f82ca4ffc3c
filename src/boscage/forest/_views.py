"""Looking at a forest: its trees one at a time, importances, JSON and the web page."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from boscage.base.numbers import check_number
from boscage.base.whole_file import write_whole
from boscage.engine.estimator import of_one_fit
from boscage.engine.tree_views import one_row
from boscage.forest._bags import Bags
from boscage.model.importances import feature_importances
from boscage.model.many_trees import ManyTrees
from boscage.show.exports import ExportMethods
from boscage.tree import Floats, Tree

if TYPE_CHECKING:
    from boscage.explain import Explanation


class ForestViews(ExportMethods):
    """What can be seen of a fitted forest."""

    trees_: ManyTrees
    _bags: tuple[Bags, ...]
    _exponent: float
    _score_name: ClassVar[str]

    def _tree(self, **changed: Any) -> Any:
        raise NotImplementedError

    def _rows(self, X: Any) -> tuple[ManyTrees, Any]:
        raise NotImplementedError

    def oob_curve(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Return the score out of bag after each tree."""
        raise NotImplementedError

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted estimators, created at each access."""
        check_is_fitted(self, "trees_")
        return [self._estimator_of(tree) for tree in self.trees_]

    def _estimator_of(self, tree: Tree) -> Any:
        estimator = self._tree()
        known = ("classes_", "n_features_in_", "feature_names_in_")
        estimator.__dict__.update({name: vars(self)[name] for name in known if name in vars(self)})
        estimator.tree_ = tree
        return estimator

    def _numbered(self, tree: Any) -> Any:
        check_is_fitted(self, "trees_")
        count = len(self.trees_)
        if isinstance(tree, bool) or not isinstance(tree, numbers.Integral) or not -count <= int(tree) < count:
            raise ValueError(f"tree={tree!r} is not allowed. Pass an integer from 0 to {count - 1}.")
        return self._estimator_of(self.trees_[int(tree)])

    @property
    def feature_importances_(self) -> Floats:
        r"""Impurity-based importance of each column: the mean over the trees, normalised to sum to 1.

        The impurity decrease of a linear test is divided among its columns in proportion to
        :math:`|\theta_j|\,\mathrm{sd}_j`. Impurity is measured on the training data, so columns with many distinct
        values look more important than they are; :meth:`oob_permutation_importance` has no such bias.
        """
        check_is_fitted(self, "trees_")
        found = np.mean([feature_importances(tree) for tree in self.trees_], axis=0)
        total = found.sum()
        shares: Floats = found / total if total > 0 else found
        return shares

    @of_one_fit
    def export_text(
        self,
        tree: int = 0,
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
        """Return a text representation of one of the trees.

        Parameters
        ----------
        tree : int, default=0
            Index of the tree.
        feature_names, class_names, max_depth, spacing, decimals, show_weights, max_terms, show_missing, units
            As in :meth:`boscage.TopDownTreeClassifier.export_text`.

        Returns
        -------
        str
            The text.
        """
        text: str = self._numbered(tree).export_text(
            feature_names,
            class_names,
            max_depth,
            spacing=spacing,
            decimals=decimals,
            show_weights=show_weights,
            max_terms=max_terms,
            show_missing=show_missing,
            units=units,
        )
        return text

    @of_one_fit
    def export_graphviz(
        self,
        tree: int = 0,
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
        """Return one of the trees in Graphviz's DOT language.

        Parameters
        ----------
        tree : int, default=0
            Index of the tree.
        feature_names, class_names, max_depth, decimals, max_terms, filled, impurity, node_ids, show_missing, units
            As in :meth:`boscage.TopDownTreeClassifier.export_graphviz`.

        Returns
        -------
        str
            The graph.
        """
        text: str = self._numbered(tree).export_graphviz(
            feature_names,
            class_names,
            max_depth,
            decimals=decimals,
            max_terms=max_terms,
            filled=filled,
            impurity=impurity,
            node_ids=node_ids,
            show_missing=show_missing,
            units=units,
        )
        return text

    @of_one_fit
    def plot(
        self,
        tree: int = 0,
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
        """Draw one of the trees with matplotlib and return the axes.

        Parameters
        ----------
        tree : int, default=0
            Index of the tree.
        ax, feature_names, class_names, max_depth, decimals, max_terms, fontsize, legend, show_missing, units
            As in :meth:`boscage.TopDownTreeClassifier.plot`.

        Returns
        -------
        matplotlib axes
        """
        return self._numbered(tree).plot(
            ax,
            feature_names,
            class_names,
            max_depth,
            decimals=decimals,
            max_terms=max_terms,
            fontsize=fontsize,
            legend=legend,
            show_missing=show_missing,
            units=units,
        )

    @of_one_fit
    def explain(
        self, row: Any, *, feature_names: Sequence[str] | None = None, class_names: Sequence[Any] | None = None
    ) -> Explanation:
        """Explain the prediction of one row: what each column contributed to it.

        Parameters
        ----------
        row : array-like of shape (d,), Series, or table or array of one row
            The row.
        feature_names, class_names : sequence, optional
            Default: the names seen in ``fit``, and the labels.

        Returns
        -------
        Explanation
            Its ``base`` and ``contributions`` are means over the trees, each as in :func:`boscage.explain.explain`. In
            a calibrated forest they are converted to the calibrated probabilities, so that they still sum to
            ``prediction``. ``path`` is empty; ``estimators_[i].explain(row)`` has the path in one tree.
        """
        from boscage.explain import checked_row, explain_forest
        from boscage.show.describe import Describer

        trees, rows = self._rows(one_row(row))
        x = checked_row(trees[0], rows)
        if class_names is None and "classes_" in vars(self):
            class_names = [str(label) for label in vars(self)["classes_"]]
        words = Describer(trees[0], feature_names, class_names)
        return explain_forest(words, trees, x, self._exponent)

    @of_one_fit
    def to_dict(self) -> dict[str, Any]:
        """Return the forest as a JSON-serialisable dictionary.

        Returns
        -------
        dict
            ``schema`` ("boscage-forest-1"), ``model`` (name of the class), ``exponent`` (of the mean probabilities,
            1 if they are not calibrated), ``mean`` (of the trees' probabilities, "arithmetic" or "geometric") and
            ``trees``, each as in :func:`boscage.export.to_dict`.
        """
        check_is_fitted(self, "trees_")
        return {
            "schema": "boscage-forest-1",
            "model": type(self).__name__,
            "exponent": self._exponent,
            "mean": "geometric" if self.trees_.geometric else "arithmetic",
            "trees": [tree.to_dict() for tree in self.estimators_],
        }

    def _exported_trees(self) -> Sequence[Tree]:
        check_is_fitted(self, "trees_")
        return self.trees_

    @of_one_fit
    def to_html(
        self,
        path: str | Path | None = None,
        X: Any = None,
        y: Any = None,
        max_rows: int = 200,
        *,
        title: str | None = None,
        max_trees: int = 10,
    ) -> str | Path:
        """Write the forest as a self-contained web page.

        It shows feature importances and one tree at a time. With rows and targets it also shows the out-of-bag score
        after each tree and, by proximity, typical rows of each class and outliers. Proximity is computed for at most
        1,000 evenly spaced rows; in regression the targets are divided into three groups of equal size.

        Parameters
        ----------
        path : str or path, optional
            Where to write the page. Default: return it as text.
        X : array-like or DataFrame of shape (n, d), optional
            Rows that can be selected on the page; up to ``max_rows`` of them are embedded in it. If these are the
            training rows, the page shows the out-of-bag score after each tree.
        y : array-like of shape (n,), optional
            Their targets.
        max_rows : int, default=200
            Maximum number of rows to embed.
        title : str, optional
            Title of the page. Default: the class name.
        max_trees : int, default=10
            Maximum number of trees on the page.

        Returns
        -------
        str or Path
            The page; or, if it was written to a file, the path.
        """
        from boscage.forest._page import Rows, forest_page, tree_body

        check_is_fitted(self, "trees_")
        check_number("max_trees", max_trees, "an integer >= 0", 0, whole=True)
        heading = type(self).__name__ if title is None else title
        rows = None if X is None else self._rows(X)[1]
        shown = None if rows is None or y is None else Rows(rows, np.asarray(y))
        if shown is not None and len(shown.y) != shown.X.shape[0]:
            raise ValueError(f"y must have one label for each of the {shown.X.shape[0]} rows of X, got {len(shown.y)}.")
        estimators = [self._estimator_of(tree) for tree in self.trees_[:max_trees]]
        bodies = [tree_body(tree, f"Tree {n}", rows, y, max_rows) for n, tree in enumerate(estimators)]
        text = forest_page(self, heading, self._curve_if_known(X, y), self._score_name, bodies, shown)
        if path is None:
            return text
        return write_whole(path, text.encode("utf-8", errors="xmlcharrefreplace"))

    def show(
        self,
        X: Any = None,
        y: Any = None,
        max_rows: int = 200,
        *,
        height: int = 640,
        title: str | None = None,
        max_trees: int = 10,
    ) -> Path | None:
        """Show the page of :meth:`to_html` in the notebook or, outside a notebook, in a browser.

        Parameters
        ----------
        X, y, max_rows, title, max_trees
            As in :meth:`to_html`.
        height : int, default=640
            Height in a notebook, in pixels.

        Returns
        -------
        Path or None
            The temporary file that the browser opens; None in a notebook.
        """
        from boscage.show.notebook import show_page

        return show_page(str(self.to_html(None, X, y, max_rows, title=title, max_trees=max_trees)), height)

    def _curve_if_known(self, X: Any, y: Any) -> Floats | None:
        if X is None or y is None or np.shape(X)[0] != self._bags[-1].rows:
            return None
        try:
            return self.oob_curve(X, y)
        except ValueError:  # no rows are out of bag, or these are not the rows of the fit
            return None
