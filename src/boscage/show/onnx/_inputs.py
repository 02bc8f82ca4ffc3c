"""What an ONNX model takes: one matrix, or one input for each column of a table with text; categories become codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from boscage.show.exported import Exported
from boscage.show.onnx._graph import GraphWriter
from boscage.tree import Label

INPUTS = ("auto", "matrix", "columns")


def are_columns(model: Exported, inputs: str) -> bool:
    """Whether the model has one input for each column."""
    if inputs not in INPUTS:
        raise ValueError(f"inputs must be one of {', '.join(map(repr, INPUTS))}, got {inputs!r}.")
    if inputs != "auto":
        return inputs == "columns"
    return any(model.is_text(column) for column in range(model.schema.n_features))


def write_inputs(graph: GraphWriter, model: Exported, dtype: str, by_column: bool) -> tuple[list[Any], str]:
    """Add the inputs and what turns them into one matrix of numbers; return their descriptions and the matrix.

    In the matrix a category is its code, and one that is missing or unknown is NaN.
    """
    from onnx import TensorProto, helper

    number = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}[dtype]
    if not by_column:
        X = helper.make_tensor_value_info("X", number, ["n", model.schema.n_features])
        return [X], _recoded(graph, model, dtype)
    described, parts = [], []
    for column, name in enumerate(_input_names(model)):
        is_text = model.is_text(column)
        described.append(helper.make_tensor_value_info(name, TensorProto.STRING if is_text else number, ["n", 1]))
        parts.append(_text_codes(graph, model, column, name, dtype) if is_text else name)
        labels = model.category_labels(column)
        if labels and not is_text:
            parts[-1] = _number_codes(graph, labels, name, dtype)
    return described, graph.op("Concat", *parts, axis=1)


def _input_names(model: Exported) -> list[str]:
    names = model.feature_names
    if len(set(names)) < len(names) or "" in names:
        raise ValueError("inputs='columns' needs a different name for each column; pass inputs='matrix'.")
    taken = {"label", "probabilities", "prediction"} & set(names)
    if taken:
        raise ValueError(
            f"inputs='columns': a column is called {min(taken)!r} like an output of the model. Rename it, or pass "
            "inputs='matrix'."
        )
    return names


def _text_codes(graph: GraphWriter, model: Exported, column: int, name: str, dtype: str) -> str:
    from onnx import TensorProto

    labels = model.category_labels(column) or ()
    codes = graph.ml_op(
        "LabelEncoder",
        name,
        keys_strings=[str(label) for label in labels],
        values_floats=[float(code) for code in range(len(labels))],
        default_float=float("nan"),
    )
    return codes if dtype == "float32" else graph.op("Cast", codes, to=TensorProto.DOUBLE)


def _number_codes(graph: GraphWriter, labels: tuple[Label, ...], x: str, dtype: str) -> str:
    from onnx import numpy_helper

    keys, first = np.unique(np.array([float(label) for label in labels]).astype(dtype), return_index=True)
    return graph.ml_op(
        "LabelEncoder",
        x,
        opset=4,
        keys_tensor=numpy_helper.from_array(keys, "keys"),
        values_tensor=numpy_helper.from_array(first.astype(dtype), "values"),
        default_tensor=numpy_helper.from_array(np.array([np.nan], dtype), "default"),
    )


def _recoded(graph: GraphWriter, model: Exported, dtype: str) -> str:
    """Replace numbers that name categories by their codes; text cannot stand in a matrix and came as codes."""
    renamed = _renamed_columns(model)
    if not renamed:
        return "X"
    parts, done = [], 0
    for column in [*renamed, model.schema.n_features]:
        if column > done:
            parts.append(_columns(graph, done, column))
        if column < model.schema.n_features:
            labels = model.category_labels(column) or ()
            parts.append(_number_codes(graph, labels, _columns(graph, column, column + 1), dtype))
        done = column + 1
    return graph.op("Concat", *parts, axis=1)


def _renamed_columns(model: Exported) -> list[int]:
    """Columns whose categories are numbers other than their codes."""
    found = []
    for column in np.flatnonzero(model.schema.n_categories).tolist():
        labels = model.category_labels(column)
        if labels and not model.is_text(column) and list(map(float, labels)) != list(range(len(labels))):
            found.append(column)
    return found


def _columns(graph: GraphWriter, begin: int, end: int) -> str:
    """Cut some columns out of the input X."""
    first = graph.constant(f"column_{begin}", np.array([begin], np.int64))
    last = graph.constant(f"column_{end}", np.array([end], np.int64))
    return graph.op("Slice", "X", first, last, graph.constant("across", np.array([1], np.int64)))
