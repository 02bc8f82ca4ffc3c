"""From a model file and a table to predictions in CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from boscage.base.whole_file import whole_file, write_whole
from boscage.data.tasks import TaskKind
from boscage.datasets import DataFileError
from boscage.datasets._tables import Table, prediction_rows, target_of


@dataclass(frozen=True, eq=False)
class Predictions:
    """One label or number per row, the classes if there are any, and their probabilities if asked for."""

    labels: NDArray[Any]
    classes: NDArray[Any] | None
    proba: NDArray[Any] | None = None


def predict_table(model: Any, table: Table, *, proba: bool = False) -> Predictions:
    """Predict every row of a table with a loaded model, columns matched by name."""
    rows = table_rows(model, table)
    with _columns_are_in_order():
        try:
            labels = model.predict(rows)
        except TypeError as error:  # how sparse rows are refused by a tree that needs dense ones
            raise DataFileError(f"{table.source}: {error}") from error
        return Predictions(labels, getattr(model, "classes_", None), model.predict_proba(rows) if proba else None)


def write_page(path: Path, model: Any, table: Table | None, target: str | None, *, title: str) -> None:
    """Write a tree's web page, with rows to choose from if there is a table; labels where it has the target column."""
    if table is None:
        model.to_html(path, title=title)
        return
    task: TaskKind = "classification" if hasattr(model, "classes_") else "regression"
    name = "y" if target is None else target
    labels = target_of(table, name, task)[0] if target is not None or "y" in table.names else None
    with _columns_are_in_order():
        model.to_html(path, table_rows(model, table), labels, title=title)


def table_rows(model: Any, table: Table) -> Any:
    """Return the columns of a table that a model expects; refuses a table without rows."""
    rows = prediction_rows(table, *model_columns(model)[:2])
    if rows.shape[0] == 0:
        raise DataFileError(f"{table.source}: holds no rows")
    return rows


def model_columns(model: Any) -> tuple[int, Sequence[str] | None, Sequence[Any] | None]:
    """Return the number of columns that a model takes, their names and the levels of its categories."""
    if hasattr(model, "tree_") or hasattr(model, "trees_"):
        schema = (model.tree_ if hasattr(model, "tree_") else model.trees_).schema
        return schema.n_features, schema.feature_names, schema.categories
    names = getattr(model, "feature_names_in_", None)
    return model.n_features_in_, None if names is None else names.tolist(), None


@contextmanager
def _columns_are_in_order() -> Iterator[None]:
    """Columns have been matched by name; scikit-learn cannot see that in a plain array and would warn."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def render(predictions: Predictions, *, as_json: bool) -> str:
    """Write predictions as CSV with a header, or as one JSON object."""
    if as_json:
        classes = {} if predictions.classes is None else {"classes": predictions.classes.tolist()}
        record: dict[str, Any] = classes | {"prediction": predictions.labels.tolist()}
        if predictions.proba is not None:
            record["proba"] = predictions.proba.tolist()
        return json.dumps(record, ensure_ascii=False) + "\n"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = _columns(predictions)
    writer.writerow(columns)
    writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
    return text.getvalue()


def write_predictions(path: Path, predictions: Predictions) -> None:
    """Write predictions to a file, whole or not at all; its ending decides the format."""
    kind = path.suffix.lower()
    if kind in (".csv", ".json"):
        write_whole(path, render(predictions, as_json=kind == ".json"))
    elif kind in (".parquet", ".pq"):
        import pyarrow as pa
        import pyarrow.parquet

        with whole_file(path) as draft:
            pa.parquet.write_table(pa.table(_columns(predictions)), draft)
    else:
        raise DataFileError(f"{path}: the ending {path.suffix!r} is not known; use .csv, .json or .parquet")


def _columns(predictions: Predictions) -> dict[str, NDArray[Any]]:
    columns = {"prediction": predictions.labels}
    if predictions.proba is not None and predictions.classes is not None:
        for k, label in enumerate(predictions.classes):
            columns[f"proba_{label}"] = predictions.proba[:, k]
    return columns
