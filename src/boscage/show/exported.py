"""What every export of a model begins with: its trees, checked to belong together, and the names they use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage.model.many_trees import log_tree
from boscage.tree import Floats, InputMap, Int64s, Label, Schema, Tree

Trees = Tree | Sequence[Tree]


@dataclass(frozen=True, eq=False)
class Exported:
    """One tree, or several whose predictions are averaged.

    Attributes
    ----------
    trees : tuple of Tree
        At least one; all of the same columns, target and number of outputs.
    classes : ndarray or None
        Labels in order; None if the trees predict numbers.
    exponent : float
        Power to which mean probabilities are raised before they are divided by their sum.
    geometric : bool
        Whether ``trees`` predict logarithms of probabilities: the answer is the softmax of ``exponent`` times their
        mean.
    """

    trees: tuple[Tree, ...]
    classes: npt.NDArray[Any] | None
    exponent: float = 1.0
    geometric: bool = False

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.trees[0].schema

    @property
    def width(self) -> int:
        """Number of classes, or of numbers predicted."""
        return self.trees[0].n_outputs

    @property
    def is_one_hard_tree(self) -> bool:
        """Whether each row ends in one leaf whose prediction is a table entry."""
        tree = self.trees[0]
        is_plain = self.exponent == 1 and not self.geometric
        return len(self.trees) == 1 and not tree.is_soft and tree.leaf_models is None and is_plain

    @property
    def labels(self) -> list[Any]:
        """Labels as Python values; the numbers of the outputs if there are no classes."""
        return list(range(self.width)) if self.classes is None else self.classes.tolist()

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns; ``feature_0``, … where there are none."""
        names = self.schema.feature_names
        return [f"feature_{j}" for j in range(self.schema.n_features)] if names is None else list(names)

    def category_labels(self, column: int) -> tuple[Label, ...] | None:
        """Labels of a column's categories in the order of their codes; None if the column has none or holds codes."""
        labels = self.schema.categories
        found = None if labels is None else labels[column]
        return None if found is None else tuple(_plain(label) for label in found)

    def is_text(self, column: int) -> bool:
        """Whether a column holds text."""
        labels = self.category_labels(column)
        return bool(labels) and isinstance(labels[0], str)  # type: ignore[index]


def exported(
    trees: Trees, classes: npt.ArrayLike | None = None, exponent: float = 1.0, mean: str = "arithmetic"
) -> Exported:
    """Check what is to be exported.

    Parameters
    ----------
    trees : Tree or sequence of Tree
        Several trees are averaged.
    classes : array of shape (K,), optional
        Labels in order. Default: 0, 1, ….
    exponent : float, default=1.0
        Power to which mean probabilities are raised before they are divided by their sum.
    mean : {"arithmetic", "geometric"}, default="arithmetic"
        How probabilities are averaged.
    """
    if mean not in ("arithmetic", "geometric"):
        raise ValueError(f"mean must be 'arithmetic' or 'geometric', got {mean!r}.")
    if not isinstance(exponent, (int, float)) or not 0 < exponent < np.inf:
        raise ValueError(f"exponent must be a number > 0, got {exponent!r}.")
    found = (trees,) if isinstance(trees, Tree) else tuple(trees)
    if not found or not all(isinstance(tree, Tree) for tree in found):
        raise ValueError("tree must be a Tree or a sequence of at least one Tree.")
    first = found[0]
    for number, tree in enumerate(found):
        if (tree.target, tree.n_outputs) != (first.target, first.n_outputs) or (
            tree.schema is not first.schema and tree.schema != first.schema
        ):
            raise ValueError(f"tree: number {number} has other columns or outputs than number 0.")
    if first.target == "numbers":
        if classes is not None:
            raise ValueError("classes: regression trees have no classes.")
        return Exported(found, None)
    labels = np.arange(first.n_outputs) if classes is None else np.asarray(classes)
    if labels.shape != (first.n_outputs,):
        raise ValueError(f"classes must hold {first.n_outputs} labels, got shape {labels.shape}.")
    if mean == "geometric":
        return Exported(tuple(map(log_tree, found)), labels, float(exponent), geometric=True)
    return Exported(found, labels, float(exponent))


def leaf_classes(tree: Tree) -> Int64s:
    """Class of each leaf: the first of largest probability."""
    best: Int64s = tree.leaf_proba.argmax(axis=1)
    return best


def stored_terms(tree: Tree, node: int) -> tuple[Int64s, Floats]:
    """Columns and weights that a linear test adds up, in order: zeros are part of a dense row."""
    row = int(tree.linear_row[node])
    weights: Any = tree.weights
    if sparse.issparse(weights):
        part = slice(int(weights.indptr[row]), int(weights.indptr[row + 1]))
        return weights.indices[part].astype(np.int64), weights.data[part]
    return np.arange(weights.shape[1]), weights[row]


def row_map(tree: Tree) -> InputMap:
    """Return the tree's input map; one that does nothing where it has none."""
    return InputMap() if tree.input_map is None else tree.input_map


def category_set(tree: Tree, node: int) -> npt.NDArray[np.bool_]:
    """Whether each category of the column tested goes left."""
    count, offset = int(tree.schema.n_categories[tree.feature[node]]), int(tree.category_offset[node])
    bits = tree.category_bits[offset : offset + (count + 7) // 8]
    return np.unpackbits(bits, count=count, bitorder="little").astype(np.bool_)


def narrowed(thresholds: Floats, real: npt.DTypeLike) -> npt.NDArray[Any]:
    """Thresholds in another type, rounded down: numbers of that type fall on the same side of them as before."""
    dtype = np.dtype(real)
    with np.errstate(over="ignore"):
        rounded = thresholds.astype(dtype)
    down: npt.NDArray[Any] = np.where(rounded > thresholds, np.nextafter(rounded, np.array(-np.inf, dtype)), rounded)
    return down


def check_dtype(name: str, value: str) -> None:
    """Refuse what is neither of the two types of numbers."""
    if value not in ("float32", "float64"):
        raise ValueError(f"{name} must be 'float32' or 'float64', got {value!r}.")


def _plain(label: Any) -> Label:
    plain: Label = label.item() if isinstance(label, np.generic) else label
    return plain
