"""Predicting a source batch by batch into a Parquet file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from boscage.base.progress import Progress
from boscage.base.whole_file import whole_file
from boscage.batches.source import open_source
from boscage.data.column_kinds import is_table, select, table_names


def predict_batches(
    estimator: Any,
    source: Any,
    path: str | os.PathLike[str],
    target: str | None,
    *,
    proba: bool,
    columns: Sequence[str] | None = None,
) -> int:
    """Write the predictions for all rows of a source; return their number.

    Parameters
    ----------
    estimator : fitted estimator
        Has ``predict``, perhaps ``feature_names_in_``, and of classes ``predict_proba`` and ``classes_``.
    source, path, target, proba, columns
        As in ``predict_batches`` of the estimator.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    opened = open_source(source, target, needs_target=False, columns=columns)
    n = 0
    with whole_file(path) as draft, ExitStack() as files, Progress("predicting: rows", estimator.verbose) as progress:
        writer: Any = None
        for X in _inputs(estimator, opened.given(), target, columns):
            table = pa.table(_columns(estimator, X, proba))
            if writer is None:
                writer = files.enter_context(pq.ParquetWriter(draft, table.schema))
            writer.write_table(table)
            n += table.num_rows
            if progress.callback is not None:
                progress(n)
        if writer is None:
            raise ValueError("source holds no rows. Pass at least one batch with rows.")
    return n


def _inputs(estimator: Any, batches: Iterator[Any], target: str | None, columns: Sequence[str] | None) -> Iterator[Any]:
    names = getattr(estimator, "feature_names_in_", columns)
    for batch in batches:
        X = batch[0] if isinstance(batch, tuple) else batch
        if len(X) == 0:
            continue
        if not is_table(X):
            yield X
            continue
        there = table_names(X)
        kept = [name for name in there if name != target] if names is None else list(names)
        missing = [name for name in kept if name not in there]
        if missing:
            raise ValueError(f"source has no column {missing[0]!r}, which the tree was fitted on.")
        picked = select(X, kept)
        # Names that the tree does not know would only be warned about.
        yield picked if hasattr(estimator, "feature_names_in_") else np.asarray(picked)


def _columns(estimator: Any, X: Any, proba: bool) -> dict[str, Any]:
    if not proba:
        found = estimator.predict(X)
        if found.ndim == 1:
            return {"prediction": found}
        return {f"prediction {output}": found[:, output] for output in range(found.shape[1])}
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(f"proba=True is not allowed: {type(estimator).__name__} is a regressor. Pass proba=False.")
    shares = estimator.predict_proba(X)
    columns: dict[str, Any] = {"prediction": estimator.classes_[shares.argmax(axis=1)]}
    return columns | {f"probability {label}": shares[:, k] for k, label in enumerate(estimator.classes_)}
