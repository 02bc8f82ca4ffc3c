"""Words for nodes: each test in the user's column names and units. Text, graph, dictionary and picture share them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from boscage.tree import LINEAR, Floats, Tree


def number(x: float, decimals: int) -> str:
    """Write x with so many decimals, or so many digits where decimals would hide it."""
    if x == 0 or 10.0**-decimals <= abs(x) < 1e9 or not np.isfinite(x):
        return f"{x + 0.0:.{decimals}f}"  # + 0.0 so that no zero is negative
    return f"{x:.{max(decimals, 1)}g}"


@dataclass(frozen=True)
class Symbols:
    """Signs used in tests."""

    times: str
    at_most: str
    above: str
    minus: str


PLAIN = Symbols(" * ", "<=", "> ", "-")
PRETTY = Symbols("·", "≤", ">", "−")


@dataclass(frozen=True)
class TestWords:
    """What must hold to go left, and to go right; for soft routing both are the probability of going right.

    ``lines`` is ``left`` broken up for a picture where it is made of terms, else empty.
    """

    left: str
    right: str
    lines: tuple[str, ...] = ()


class Describer:
    """Descriptions of the nodes of one tree.

    Parameters
    ----------
    tree : Tree
        The tree.
    feature_names : sequence of str, optional
        Default: the names in the tree's schema, else ``feature_0``, ….
    class_names : sequence, optional
        Default: 0, 1, ….
    decimals : int, default=2
        Digits after the point.
    max_terms : int, default=5
        Terms shown of a linear test and categories shown of a set.
    show_missing : bool, default=False
        Whether to say on which side missing values go.
    symbols : Symbols, default=PLAIN
        Signs used in tests.
    """

    def __init__(
        self,
        tree: Tree,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Any] | None = None,
        decimals: int = 2,
        max_terms: int = 5,
        show_missing: bool = False,
        symbols: Symbols = PLAIN,
    ) -> None:
        names = tree.schema.feature_names if feature_names is None else feature_names
        self._names = None if names is None else [str(name) for name in names]
        if self._names is not None and len(self._names) != tree.n_features:
            raise ValueError(
                f"feature_names must have {tree.n_features} names, one for each column, got {len(self._names)}."
            )
        if class_names is not None and len(class_names) != tree.n_classes:
            raise ValueError(
                f"class_names must have {tree.n_classes} names, one for each class, got {len(class_names)}."
            )
        if not isinstance(decimals, (int, np.integer)) or decimals < 0:
            raise ValueError(f"decimals must be an integer >= 0, got {decimals!r}.")
        if not isinstance(max_terms, (int, np.integer)) or max_terms < 1:
            raise ValueError(f"max_terms must be an integer >= 1, got {max_terms!r}.")
        self.tree = tree
        self.class_names = [str(name) for name in (range(tree.n_classes) if class_names is None else class_names)]
        self.decimals = int(decimals)
        self.max_terms = int(max_terms)
        self.show_missing = show_missing
        self.symbols = symbols
        self.leaf_proba: Floats = tree.leaf_proba
        self._sizes: Any = tree.term_sizes
        self._user_weights: Any = tree.user_weights

    def name(self, column: int) -> str:
        """Name of a column."""
        return f"feature_{column}" if self._names is None else self._names[column]

    def with_terms(self, max_terms: int) -> Describer:
        """Return the same descriptions with at most so many terms."""
        twin = copy(self)
        twin.max_terms = min(max_terms, self.max_terms)
        return twin

    def number(self, x: float) -> str:
        """Write a number as the reader asked for."""
        return number(float(x), self.decimals).replace("-", self.symbols.minus)

    def leaf_class(self, node: int) -> str:
        """Name of the class a leaf predicts."""
        return self.class_names[int(self.proba(node).argmax())]

    def proba(self, node: int) -> Floats:
        """Class fractions of an inner node, class probabilities of a leaf."""
        leaf = self.tree.leaf_index[node]
        fractions: Floats = self.tree.value[node] if leaf < 0 else self.leaf_proba[leaf]
        return fractions

    def test(self, node: int) -> TestWords:
        """Describe the test of an inner node."""
        if self.tree.feature[node] == LINEAR:
            return self._linear(node)
        words = self._category(node) if self.tree.category_offset[node] >= 0 else self._axis(node)
        if not self.show_missing or "missing" in words.left:
            return words
        if self.tree.missing_go_to_left[node]:
            return TestWords(words.left + " or missing", words.right)
        return TestWords(words.left, words.right + " or missing")

    def category_set(self, node: int) -> tuple[list[Any], list[Any]]:
        """Names of the categories that go left and right at a category test."""
        column, offset = int(self.tree.feature[node]), int(self.tree.category_offset[node])
        count = int(self.tree.schema.n_categories[column])
        bytes_ = self.tree.category_bits[offset : offset + (count + 7) // 8]
        goes_left = np.unpackbits(bytes_, count=count, bitorder="little").astype(bool).tolist()
        names = self.tree.schema.categories and self.tree.schema.categories[column]
        labels = list(range(count) if names is None else names)
        return (
            [label for label, left in zip(labels, goes_left) if left],
            [label for label, left in zip(labels, goes_left) if not left],
        )

    def _axis(self, node: int) -> TestWords:
        name, threshold = self.name(int(self.tree.feature[node])), float(self.tree.threshold[node])
        missing_left = bool(self.tree.missing_go_to_left[node])
        if np.isinf(threshold) and (threshold > 0) != missing_left:
            words = f"{name} is not missing", f"{name} is missing"
            return TestWords(*words) if threshold > 0 else TestWords(*words[::-1])
        return self._sides(name, threshold)

    def _sides(self, score: str, bound: float) -> TestWords:
        limit, signs = self.number(bound), self.symbols
        return TestWords(f"{score} {signs.at_most} {limit}", f"{score} {signs.above} {limit}")

    def card(self, node: int) -> str:
        """Describe the test of an inner node in a few words: of a soft test only the score that decides."""
        if self.tree.feature[node] != LINEAR or not self.tree.is_soft:
            return self.test(node).left
        by_norm = self.tree.input_map is not None and self.tree.input_map.unit_rows
        threshold = 0.0 if by_norm else float(self.tree.threshold[node])
        return " ".join(self._score(node, self.intercept(node) - threshold))

    def _category(self, node: int) -> TestWords:
        name = self.name(int(self.tree.feature[node]))
        left, right = self.category_set(node)
        listed, other = (left, right) if len(left) <= len(right) else (right, left)
        shown = [str(label) for label in listed[: self.max_terms]]
        if len(listed) > len(shown):
            shown.append(f"{len(listed) - len(shown)} more")
        inside = f"{name} in {{{', '.join(shown)}}}"
        # With one category on the other side its name says more than "not in".
        outside = f"{name} in {{{other[0]}}}" if len(other) == 1 else f"{name} not in {{{', '.join(shown)}}}"
        return TestWords(inside, outside) if listed is left else TestWords(outside, inside)

    def terms(self, node: int) -> tuple[list[tuple[int, float]], int]:
        """Columns and weights, in the user's units, of the largest terms of a linear test; how many were left out."""
        row = int(self.tree.linear_row[node])
        if sparse.issparse(self._sizes):
            begin, end = self._sizes.indptr[row], self._sizes.indptr[row + 1]
            columns, sizes = self._sizes.indices[begin:end], self._sizes.data[begin:end]
            weights = self._user_weights[[row], :].toarray()[0][columns]
        else:
            columns, sizes, weights = np.arange(self._sizes.shape[1]), self._sizes[row], self._user_weights[row]
        used = np.flatnonzero(weights)
        order = used[np.argsort(-sizes[used], kind="stable")]
        shown = order[: self.max_terms]
        return [(int(columns[i]), float(weights[i])) for i in shown], len(order) - len(shown)

    def intercept(self, node: int) -> float:
        """Compute what is added to θ·x, x in the user's units, to give the score of a linear test."""
        row_map, row = self.tree.input_map, int(self.tree.linear_row[node])
        if row_map is None:
            return 0.0
        weights: Any = self.tree.weights[[row], :]
        weights = (weights.toarray() if sparse.issparse(weights) else weights)[0]
        total = 0.0 if row_map.constant is None else float(weights[-1] * row_map.constant)
        if row_map.shift is not None:
            scale = 1.0 if row_map.scale is None else row_map.scale
            total -= float(np.sum(weights[: self.tree.n_features] * row_map.shift * scale))
        return total

    def unit(self, node: int) -> float:
        """Return what the weights and the threshold of a linear test are divided by when it is shown.

        Only the direction of a hard test means something, so its largest term gets weight 1 (or −1) and the threshold
        is in that column's unit. A soft test is shown as it is.
        """
        shown, _ = self.terms(node)
        return abs(shown[0][1]) if shown and not self.tree.is_soft else 1.0

    def _score(self, node: int, intercept: float) -> list[str]:
        """Write θ·x + intercept, in the unit of the test, as a list of signed terms."""
        shown, left_out = self.terms(node)
        unit = self.unit(node)
        intercept /= unit
        offsets = None if self.tree.input_map is None else self.tree.input_map.code_offset
        parts: list[str] = []
        is_column = not self.tree.is_soft and len(shown) == 1 and not left_out and shown[0][1] > 0
        for column, weight in shown:
            is_coded = offsets is not None and offsets[column] >= 0
            name = f"code({self.name(column)})" if is_coded else self.name(column)
            factor = "" if is_column else self._signed(weight / unit, not parts) + self.symbols.times
            parts.append(factor + name)
        if left_out:
            parts.append(f"+ ({left_out} more)")
        if intercept or not parts:
            parts.append(self._signed(intercept, not parts))
        return parts

    def _signed(self, x: float, first: bool) -> str:
        minus = self.symbols.minus
        sign = (minus if x < 0 else "") if first else (f"{minus} " if x < 0 else "+ ")
        return sign + self.number(abs(x))

    def _linear(self, node: int) -> TestWords:
        tree, threshold, intercept = self.tree, float(self.tree.threshold[node]), self.intercept(node)
        by_norm = tree.input_map is not None and tree.input_map.unit_rows
        if tree.routing == "hard" and not by_norm:
            return self._comparison(self._score(node, 0.0), (threshold - intercept) / self.unit(node))
        # Divided by the norm, the intercept cannot move to the other side.
        parts = self._score(node, intercept if by_norm else intercept - threshold)
        if by_norm:
            parts = _wrapped("(", parts, ") / norm")
        if tree.routing == "hard":
            return self._comparison(parts, threshold / self.unit(node))
        if by_norm and threshold:
            parts.append(self._signed(-threshold, False))
        if tree.routing == "logistic":
            parts = _wrapped("p(right) = sigmoid(", parts, ")")
        else:
            parts = _wrapped("p(right) = (1 + clip(", parts, ")) / 2")
        return TestWords(" ".join(parts), " ".join(parts), tuple(parts))

    def _comparison(self, parts: list[str], bound: float) -> TestWords:
        lines = (*parts[:-1], f"{parts[-1]} {self.symbols.at_most} {self.number(bound)}")
        return replace(self._sides(" ".join(parts), bound), lines=lines)


def _wrapped(before: str, parts: list[str], after: str) -> list[str]:
    parts = [before + parts[0], *parts[1:]]
    return [*parts[:-1], parts[-1] + after]
