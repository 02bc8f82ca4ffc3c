"""A model as a JavaScript module: the arrays of the trees, and the code by which web pages of trees predict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.base.whole_file import write_whole
from boscage.model.predict import needs_numbers
from boscage.show.exported import Exported, Trees, exported

_FOLDER = Path(__file__).parents[1] / "html"
_CLASS_FUNCTIONS = """
// Probabilities of the classes. A row is a list of values, or an object with the names of the columns.
function classProba(row) {
  return answerOf(row);
}

// The label of largest probability, the first of them on ties.
export function predict(row) {
  return classes[argmax(answerOf(row))];
}

export { classProba as predictProba };
"""
_NUMBER_FUNCTION = """
// The number predicted, or a list of them. A row is a list of values, or an object with the names of the columns.
export function predict(row) {
  const answer = answerOf(row);
  return answer.length === 1 ? answer[0] : answer;
}
"""


def to_javascript(
    tree: Trees,
    path: str | Path | None = None,
    *,
    classes: npt.ArrayLike | None = None,
    exponent: float = 1.0,
    mean: str = "arithmetic",
) -> str | Path:
    """Export a model as an ES module without dependencies, for browsers, Node.js and Deno.

    The module exports ``predict(row)``, ``predictProba(row)`` (not for regression trees), ``featureNames``
    and ``classes``. A row is a list of values in the order of the columns, or an object with their names.

    Parameters
    ----------
    tree : Tree or sequence of Tree
        The model, of any kind and depth; several trees are averaged.
    path : str or path, optional
        Where to write the module. Default: return it as text.
    classes : array of shape (K,), optional
        Labels in order; an estimator passes its own. Default: 0, 1, ….
    exponent : float, default=1.0
        Power to which mean probabilities are raised before they are divided by their sum; a calibrated forest passes
        its ``exponent_``.
    mean : {"arithmetic", "geometric"}, default="arithmetic"
        How the trees' probabilities are averaged; a forest with ``refit="leaves"`` passes "geometric".

    Returns
    -------
    str or Path
        The module; or, if it was written to a file, the path. Values have the types of the training table: numbers,
        text, booleans. A missing value is null, undefined or NaN; an unknown category counts as missing.

    Notes
    -----
    Predictions are those of Python to the bit, except for exponentials (logistic tests and linear leaves), where the
    last digits may differ.

    Examples
    --------
    >>> from boscage import TopDownTreeClassifier
    >>> tree = TopDownTreeClassifier().fit([[0.0], [1.0]], ["low", "high"])
    >>> path = tree.to_javascript("tree.js")  # doctest: +SKIP
    """
    from boscage import __version__
    from boscage.html._encode import embed_json

    model = exported(tree, classes, exponent, mean)
    parts = [(_FOLDER / name).read_text(encoding="utf-8") for name in ("arrays.js", "predict.js", "module.js")]
    text = "\n".join(
        [
            f"// A model written by Boscage {__version__}.",
            f"const MODEL = {embed_json(_model_data(model))};",
            "",
            *parts,
            (_CLASS_FUNCTIONS if model.classes is not None else _NUMBER_FUNCTION).lstrip("\n"),
        ]
    )
    return text if path is None else write_whole(path, text)


def _model_data(model: Exported) -> dict[str, Any]:
    from boscage.html._encode import encode_tree

    labels = [model.category_labels(column) for column in range(model.schema.n_features)]
    return {
        "features": model.feature_names,
        "counts": model.schema.n_categories.tolist(),
        "categories": [None if found is None else list(found) for found in labels],
        "classes": None if model.classes is None else [_plain(label) for label in model.labels],
        "width": model.width,
        "exponent": model.exponent,
        "geometric": model.geometric,
        "float32": model.schema.dtype == "float32",
        "needs_numbers": any(needs_numbers(tree) for tree in model.trees),
        "trees": [encode_tree(tree, only_prediction=True) for tree in model.trees],
    }


def _plain(label: Any) -> Any:
    """Return a label as JSON can hold it; an integer that JavaScript would round becomes text."""
    if isinstance(label, int) and abs(label) >= 1 << 53:
        return str(label)
    return label.item() if isinstance(label, np.generic) else label
