"""What rows out of bag tell after a fit: the score after each tree, and the importance of columns by shuffling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from boscage.base.numbers import check_number
from boscage.data.validation import Dataset
from boscage.engine.estimator import of_one_fit
from boscage.forest._bags import Bags, Bits, out_of_bag_trees
from boscage.model.many_trees import ManyTrees
from boscage.tree import Floats


class OutOfBag:
    """Methods of a fitted forest that want the rows of the fit again."""

    trees_: ManyTrees
    n_jobs: int | None
    _is_refit: bool
    _bags: tuple[Bags, ...]

    def _tree(self, **changed: Any) -> Any:
        raise NotImplementedError

    def _same_target(self, data: Dataset) -> bool:
        raise NotImplementedError

    def _refuse_without_bags(self, bags: Sequence[Bags], what: str, *, is_refit: bool) -> None:
        raise NotImplementedError

    def _fitted_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Dataset, Bits]:
        """Return the data of the fit once more, and which rows are out of bag for which tree."""
        check_is_fitted(self, "trees_")
        job, _ = self._tree()._job(X, y, sample_weight, named=self)
        data, schema = job.data, self.trees_.schema
        same = replace(data.schema, spread=schema.spread) == schema and self._same_target(data)
        if not same or any(own.rows != data.X.shape[0] for own in self._bags):
            raise ValueError(
                f"X and y must be the rows that this {type(self).__name__} was fitted on, with the same columns and "
                f"targets: {self._bags[-1].rows} rows of positive weight."
            )
        self._refuse_without_bags(
            self._bags, "Importances and scores out of bag cannot be combined", is_refit=self._is_refit
        )
        return data, _out_of_bag_bits(self._bags)

    @of_one_fit
    def oob_curve(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Return the out-of-bag score of the first tree, the first two trees, and so on.

        Parameters
        ----------
        X, y, sample_weight
            The data passed to ``fit``.

        Returns
        -------
        ndarray of shape (n_estimators,)
            Accuracy, or R² for regression (or the score given by ``oob_score``), on the rows that are out of bag so
            far.
        """
        data, bits = self._fitted_rows(X, y, sample_weight)
        rows = data.X.shape[0]
        total, count = np.zeros((rows, self.trees_[0].n_outputs)), np.zeros(rows, np.int64)
        curve = np.empty(len(self.trees_))
        for number, tree in enumerate(self.trees_):
            total += ManyTrees([tree]).sums(data.X, bits[number : number + 1], self.n_jobs)
            count += out_of_bag_trees(bits[number : number + 1], rows)
            curve[number] = self._quality(total, count, data)
        return curve

    @of_one_fit
    def oob_permutation_importance(
        self, X: Any, y: Any, sample_weight: Any = None, *, n_repeats: int = 5, random_state: Any = None
    ) -> Bunch:
        """Measure how much the out-of-bag score decreases when the values of a column are shuffled.

        Parameters
        ----------
        X, y, sample_weight
            The data passed to ``fit``. X is copied.
        n_repeats : int, default=5
            Number of times each column is shuffled.
        random_state : int, RandomState or None, default=None
            Seed of the shuffles.

        Returns
        -------
        Bunch
            ``importances`` of shape (d, n_repeats): the decrease of the accuracy (or R², or the score given by
            ``oob_score``); ``importances_mean`` and ``importances_std`` of shape (d,).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from boscage import ForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = ForestClassifier(50, random_state=0).fit(X, y)
        >>> found = forest.oob_permutation_importance(X, y, random_state=0)
        >>> int(found.importances_mean.argmax()) in (2, 3)
        True
        """
        check_number("n_repeats", n_repeats, "an integer >= 1", 1, whole=True)
        data, bits = self._fitted_rows(X, y, sample_weight)
        draws = check_random_state(random_state)
        count = out_of_bag_trees(bits, data.X.shape[0])
        before = self._quality(self.trees_.sums(data.X, bits, self.n_jobs), count, data)
        falls = np.zeros((data.X.shape[1], int(n_repeats)))
        shuffled = ShuffledColumns(data.X)
        for column in np.flatnonzero(_used_columns(self.trees_)):
            for turn in range(int(n_repeats)):
                rows = shuffled.with_column(int(column), draws.permutation(data.X.shape[0]))
                falls[column, turn] = before - self._quality(self.trees_.sums(rows, bits, self.n_jobs), count, data)
        return Bunch(importances=falls, importances_mean=falls.mean(axis=1), importances_std=falls.std(axis=1))

    def _quality(self, total: Floats, count: npt.NDArray[np.int64], data: Dataset) -> float:
        """Score of sums over trees out of bag, on the rows that are out of bag for some tree."""
        seen = count > 0
        weight = None if data.weight is None else data.weight[seen]
        return self._score_of(total[seen] / count[seen, None], data, seen, weight)

    def _score_of(self, means: Floats, data: Dataset, seen: Any, weight: Floats | None) -> float:
        """Score of the mean predictions of some rows."""
        raise NotImplementedError


def _used_columns(trees: ManyTrees) -> npt.NDArray[np.bool_]:
    """Whether some test or leaf model reads a column."""
    used = np.zeros(trees.schema.n_features, np.bool_)
    for tree in trees:
        used[tree.feature[tree.feature >= 0]] = True
        weights: Any = tree.weights[:, : len(used)]
        used |= np.asarray(abs(weights).sum(axis=0)).ravel() > 0
        if tree.leaf_models is not None:
            used |= (tree.leaf_models.coef != 0).any(axis=(0, 1))
    return used


class ShuffledColumns:
    """A copy of X of which one column at a time is shuffled."""

    def __init__(self, X: Any) -> None:
        self._X = X.tocsc() if sparse.issparse(X) else X
        self._rows = self._X.copy()
        self._last = 0

    def with_column(self, column: int, order: npt.NDArray[np.int64]) -> Any:
        """Return the rows with the entries of a column in this order; valid until the next call."""
        if sparse.issparse(self._X):
            part = slice(self._X.indptr[column], self._X.indptr[column + 1])
            last = slice(self._X.indptr[self._last], self._X.indptr[self._last + 1])
            self._rows.indices[last] = self._X.indices[last]
            self._rows.indices[part] = np.argsort(order)[self._X.indices[part]]
            self._last = column
            self._rows.has_sorted_indices = False
            return self._rows.tocsr()
        self._rows[:, self._last] = self._X[:, self._last]
        self._rows[:, column] = self._X[order, column]
        self._last = column
        return self._rows


def _out_of_bag_bits(bags: Sequence[Bags]) -> Bits:
    return np.stack([own.out_of_bag(number) for number, own in enumerate(bags)])


def out_of_bag_means(
    trees: ManyTrees, X: Any, bags: Sequence[Bags], n_jobs: int | None
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the mean prediction of the trees that have not seen a row (NaN where all have), and how many these are."""
    bits = _out_of_bag_bits(bags)
    count = out_of_bag_trees(bits, X.shape[0])
    means: Floats = trees.sums(X, bits, n_jobs)
    with np.errstate(invalid="ignore"):
        means /= count[:, None]
    return means, count
