"""What is done to the columns for models that take complete numbers only, and the names that come out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import issparse

from boscage.compare._types import Task


def preparation(task: Task, *, fill: bool = False, scale: bool = False) -> list[Any]:
    """Return pipeline steps: one-hot columns for categories; if wanted, means for missing values and unit variances.

    Parameters
    ----------
    task : Task
        The data.
    fill : bool, default=False
        Whether missing numbers become the column's mean. A missing category is a level of its own.
    scale : bool, default=False
        Whether columns of numbers get mean 0 and standard deviation 1.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    steps: list[Any] = [SimpleImputer(keep_empty_features=True)] if fill and task.has_missing else []
    if scale:
        steps.append(StandardScaler(with_mean=not issparse(task.X)))
    if not task.categorical_features:
        return steps
    numeric = [j for j in range(task.X.shape[1]) if j not in task.categorical_features]
    numbers = make_pipeline(*steps) if steps else "passthrough"
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return [
        make_column_transformer(
            (one_hot, list(task.categorical_features)), (numbers, numeric), verbose_feature_names_out=False
        )
    ]


def preparation_words(task: Task, *, fill: bool = False, scale: bool = False) -> str:
    """Say what `preparation` does to the columns of a task."""
    words = ["categories one-hot encoded"] if task.categorical_features else []
    words += ["missing values replaced by column means"] if fill and task.has_missing else []
    words += ["columns scaled"] if scale else []
    return ", ".join(words)


def level_name(task: Task, column: int, code: float) -> str:
    """Return the name of a level of a category column."""
    if math.isnan(code):
        return "missing"
    levels = task.categories[column] if task.categories else None
    return f"{code:g}" if levels is None else str(levels[int(code)])


def column_names(task: Task, model: Any) -> list[str] | None:
    """Return names of the columns that the last step of a model sees: the task's, or what preparation made of them."""
    if not task.feature_names:
        return None
    if not hasattr(model, "steps") or len(model.steps) == 1:
        return list(task.feature_names)
    position = {name: j for j, name in enumerate(task.feature_names)}

    def combined(name: str, code: Any) -> str:
        shown = level_name(task, position[name], code) if name in position else code  # scikit-learn tries a name first
        return f"({name} = {shown})"  # brackets: it stands beside weights and thresholds

    for _, step, _ in getattr(model[0], "transformers_", ()):
        if hasattr(step, "feature_name_combiner"):
            step.feature_name_combiner = combined
    given = model[:-1].get_feature_names_out(np.array(task.feature_names, dtype=object))
    return [str(name) for name in given]
