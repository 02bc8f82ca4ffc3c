"""Fits over rows that others hold: batches on disk, and clusters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from boscage.base.component import check_compatible, data_fact
from boscage.base.progress import Progress
from boscage.base.threads import n_threads
from boscage.data.targets import warn_if_numbers
from boscage.engine.finish import Finish
from boscage.engine.top_down import TopDownEstimator, category_rule
from boscage.tree import Target

if TYPE_CHECKING:
    from boscage.batches.reading import FitExecutor


class BatchMethods:
    """Fit and prediction in batches, for trees and forests."""

    class_weight: Any = None  # of classifiers
    categorical_features: Any
    n_jobs: int | None
    verbose: bool | None
    _target: ClassVar[Target]

    def fit_batches(
        self,
        source: Any,
        target: str | None = None,
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Fit on data that does not fit into memory; the model is identical to that of :meth:`fit`.

        Available for ``splits="stochastic"``, ``Axis(max_bins=...)`` and ``WeightedOblique(max_bins=...)``. The source
        is read a few times to collect statistics of the columns, then once for each level of the tree (weighted oblique
        tests: once for each optimisation step, for all open nodes together). The trees of a forest share these passes.
        Memory does not grow with the number of rows, except that a forest with ``oob_score`` or ``calibrate`` keeps its
        out-of-bag predictions.

        Parameters
        ----------
        source : path, list of paths, pyarrow.dataset.Dataset, list of batches, or callable
            Files and folders of Parquet, Arrow or CSV, or patterns of their names; a list of batches; or a function
            without arguments that returns a fresh iterator of batches at every call. A batch is a table, or a tuple
            (X, y) or (X, y, sample_weight). Sources that can be read only once, such as generators, are refused.
        target : str, optional
            Name of the target column, if batches are tables.
        weight : str, optional
            Name of the column of sample weights, if batches are tables; rows with weight 0 are ignored.
        columns : list of str, optional
            Names of the columns to use; others are not read. Default: all except ``target`` and ``weight``.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from boscage import TopDownTreeClassifier
        >>> def batches():
        ...     for seed in range(10):
        ...         X = np.random.default_rng(seed).normal(size=(1000, 3))
        ...         yield X, X[:, 0] > X[:, 1]
        >>> tree = TopDownTreeClassifier(splits="stochastic", max_leaf_nodes=4)
        >>> tree = tree.fit_batches(batches)
        >>> tree.reading_.rows, tree.reading_.passes
        (10000, 6)
        """
        from boscage.batches.reading import BatchPasses
        from boscage.batches.source import open_source

        parts = self._batch_parts()
        rule = category_rule(self.categorical_features, parts["splits"], "fit_batches")
        opened = open_source(source, target, weight, categories=rule, columns=columns)
        with Progress("reading rows", self.verbose) as progress:
            passes = BatchPasses(
                opened,
                type(self).__name__,
                self.class_weight,
                allow_nan=parts["splits"].allows_missing,
                threads=n_threads(self.n_jobs),
                progress=progress,
                target=self._target,
            )
            self._fit_passes(parts, passes)
        return self

    def _batch_parts(self) -> dict[str, Any]:
        """Return the parts, which must go with a fit in batches."""
        raise NotImplementedError

    def _fit_passes(self, parts: dict[str, Any], passes: FitExecutor) -> None:
        """Fit over rows that others hold; nothing on self is changed before all is done."""
        raise NotImplementedError

    def predict_batches(
        self,
        source: Any,
        path: str | os.PathLike[str],
        target: str | None = None,
        *,
        proba: bool = False,
        columns: Sequence[str] | None = None,
    ) -> int:
        """Predict batch by batch and write the predictions to a Parquet file.

        Parameters
        ----------
        source
            As in :meth:`fit_batches`; a batch may also be X alone. Columns that were not used in the fit are ignored.
        path : str or path-like
            The Parquet file to write. It has a column ``prediction`` and, with ``proba``, one column for each class.
        target : str, optional
            Name of the target column, which is ignored.
        proba : bool, default=False
            Whether to write class probabilities too.
        columns : list of str, optional
            Names of the columns to read. Default: those used in the fit; all except ``target`` if it was fitted without
            names.

        Returns
        -------
        int
            Number of rows.
        """
        from boscage.batches.prediction import predict_batches

        check_is_fitted(self)
        return predict_batches(self, source, path, target, proba=proba, columns=columns)


class BatchFits(BatchMethods, TopDownEstimator):
    """Top-down estimators that can be fitted in passes over the rows."""

    def _batch_parts(self) -> dict[str, Any]:
        return self._parts("fit_batches")

    def _fit_passes(self, parts: dict[str, Any], passes: FitExecutor) -> None:
        """Grow over rows that others hold; nothing on self is changed before the tree is there."""
        from boscage.batches.survey import schema_data

        splits, data = parts["splits"], schema_data(passes.survey)
        warn_if_numbers(data.classes, passes.survey.rows, type(self).__name__)
        check_compatible(**parts, data=data_fact(data.n_outputs, has_missing=data.has_missing, target=self._target))
        job = self._job_of(data, parts, passes.n_rows, passes.weight, passes.weight_exponent)
        job = replace(job, passes=passes)
        tree = splits.grow_in_passes(job, passes, lambda total: self._limits(passes.n_rows, total))
        finish = Finish(self.ccp_alpha, None, parts["leaf"], self.verbose)
        self._keep(finish(tree, job), job, reading_=passes.reading)
