"""From a model file and a table to predictions in CSV, JSON or Parquet; and what a model file holds."""

from __future__ import annotations

import csv
import io
import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from boscage._tables import Table, prediction_rows
from boscage.datasets import DataFileError


@dataclass(frozen=True, eq=False)
class Predictions:
    """One label per row, and the probability of each class if asked for."""

    labels: NDArray[Any]
    classes: NDArray[Any]
    proba: NDArray[Any] | None = None


def predict_table(model: Any, table: Table, *, proba: bool = False) -> Predictions:
    """Predict every row of a table with a loaded model, columns matched by name."""
    schema = model.tree_.schema
    rows = prediction_rows(table, schema.n_features, schema.feature_names, schema.categories)
    if rows.shape[0] == 0:
        raise DataFileError(f"{table.source}: holds no rows")
    with warnings.catch_warnings():
        # The columns are already in the order of the names; scikit-learn cannot see that in a plain array.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        try:
            labels = model.predict(rows)
        except TypeError as error:  # how sparse rows are refused by a tree that needs dense ones
            raise DataFileError(f"{table.source}: {error}") from error
        return Predictions(labels, model.classes_, model.predict_proba(rows) if proba else None)


def render(predictions: Predictions, *, as_json: bool) -> str:
    """Write predictions as CSV with a header, or as one JSON object."""
    if as_json:
        record: dict[str, Any] = {"classes": predictions.classes.tolist(), "prediction": predictions.labels.tolist()}
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
    """Write predictions to a file; its ending decides the format."""
    kind = path.suffix.lower()
    if kind in (".csv", ".json"):
        path.write_text(render(predictions, as_json=kind == ".json"), encoding="utf-8")
    elif kind in (".parquet", ".pq"):
        try:
            import pyarrow as pa
            import pyarrow.parquet
        except ImportError as error:
            raise DataFileError(f"{path}: writing Parquet needs the package pyarrow (pip install pyarrow)") from error
        pa.parquet.write_table(pa.table(_columns(predictions)), path)
    else:
        raise DataFileError(f"{path}: the ending {path.suffix!r} is not known; use .csv, .json or .parquet")


def _columns(predictions: Predictions) -> dict[str, NDArray[Any]]:
    columns = {"prediction": predictions.labels}
    if predictions.proba is not None:
        for k, label in enumerate(predictions.classes):
            columns[f"proba_{label}"] = predictions.proba[:, k]
    return columns


def describe_model(path: Path) -> dict[str, Any]:
    """Load a model file, which checks all of it, and list what it holds in plain values."""
    from boscage import load

    model = load(path)
    tree, schema = model.tree_, model.tree_.schema
    names = list(schema.feature_names) if schema.feature_names is not None else None
    categorical = [j for j in range(schema.n_features) if schema.n_categories[j]]
    linear = int(tree.weights.shape[0])
    return {
        "file": str(path),
        "bytes": os.path.getsize(path),
        "model": type(model).__name__,
        "classes": model.classes_.tolist(),
        "features": int(schema.n_features),
        "feature_names": names,
        "categorical": [names[j] if names else j for j in categorical],
        "number_type": schema.dtype,
        "routing": tree.routing,
        "nodes": int(tree.node_count),
        "leaves": int(tree.n_leaves),
        "depth": int(tree.max_depth),
        "linear_tests": linear,
        "training_rows": int(tree.n_node_samples[0]),
        "training_weight": float(tree.weighted_n_node_samples[0]),
    }
