"""Tests in words: columns by name, in units a reader knows. Text, graph, dictionary, picture and page share them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage.base.colors import class_colors, node_color, number_color
from boscage.show.digits import number, rounded, three_digits, threshold_gaps, threshold_tolerance
from boscage.tree import LINEAR, Bools, Floats, Tree

_MOST_CODES = 20  # categories listed in a note


@dataclass(frozen=True)
class Symbols:
    """Signs used in tests."""

    times: str
    at_most: str
    above: str
    at_least: str
    below: str
    minus: str
    plus_minus: str


PLAIN = Symbols(" * ", "<=", "> ", ">=", "< ", "-", "+/-")
PRETTY = Symbols("·", "≤", ">", "≥", "<", "−", "±")


@dataclass(frozen=True)
class TestWords:
    """A test in words.

    ``parts`` is what is tested, in pieces that may stand on lines of their own; ``if_left`` and ``if_right`` are what
    must hold of it to go there ("<= 2.45"), empty for soft routing, where the parts are a probability. ``column`` is
    the column tested, −1 for a score of several.
    """

    parts: tuple[str, ...]
    if_left: str = ""
    if_right: str = ""
    column: int = -1

    @property
    def subject(self) -> str:
        """What is tested."""
        return " ".join(self.parts)

    @property
    def left(self) -> str:
        """What must hold to go left."""
        return f"{self.subject} {self.if_left}".rstrip()

    @property
    def right(self) -> str:
        """What must hold to go right."""
        return f"{self.subject} {self.if_right}".rstrip()

    @property
    def lines(self) -> tuple[str, ...]:
        """``left`` broken up for a picture."""
        return (*self.parts[:-1], f"{self.parts[-1]} {self.if_left}".rstrip())


@dataclass(frozen=True)
class Score:
    """The score of a linear test: columns and weights of the terms shown, how many were left out, and a constant.

    Everything is divided by ``unit``, which is negative where the leading weight was.
    """

    terms: list[tuple[int, float]]
    left_out: int
    constant: float
    unit: float


class Describer:
    """Descriptions of the nodes of one tree.

    Parameters
    ----------
    tree : Tree
        The tree.
    feature_names : sequence of str, optional
        Default: the names in the tree's schema, else ``feature_0``, ….
    class_names : sequence, optional
        Names of the classes, or of the outputs of a regression tree. Default: 0, 1, ….
    decimals : int, optional
        Number of decimal places. Default: as many as each threshold needs.
    max_terms : int, default=5
        Terms shown of a linear test and categories shown of a set.
    show_missing : bool or array of bool of shape (d,), optional
        Whether to say on which side missing values go. Default: for columns that had some in training.
    units : {"original", "standard"}, default="original"
        Units of linear tests of several columns: those of the columns, or standard deviations from the mean.
    symbols : Symbols, default=PLAIN
        Signs used in tests.
    """

    def __init__(
        self,
        tree: Tree,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Any] | None = None,
        decimals: int | None = None,
        max_terms: int = 5,
        show_missing: bool | npt.ArrayLike | None = None,
        units: str = "original",
        symbols: Symbols = PLAIN,
    ) -> None:
        names = tree.schema.feature_names if feature_names is None else feature_names
        self._names = None if names is None else [str(name) for name in names]
        if self._names is not None and len(self._names) != tree.n_features:
            raise ValueError(
                f"feature_names must have {tree.n_features} names, one for each column, got {len(self._names)}."
            )
        self.is_numbers = tree.target == "numbers"
        if class_names is not None and len(class_names) != tree.n_outputs:
            what = "output" if self.is_numbers else "class"
            raise ValueError(
                f"class_names must have {tree.n_outputs} names, one for each {what}, got {len(class_names)}."
            )
        if decimals is not None and (not isinstance(decimals, (int, np.integer)) or decimals < 0):
            raise ValueError(f"decimals must be None or an integer >= 0, got {decimals!r}.")
        if not isinstance(max_terms, (int, np.integer)) or max_terms < 1:
            raise ValueError(f"max_terms must be an integer >= 1, got {max_terms!r}.")
        self.tree = tree
        self.class_names = [str(name) for name in (range(tree.n_outputs) if class_names is None else class_names)]
        self.decimals = None if decimals is None else int(decimals)
        self.max_terms = int(max_terms)
        self.symbols = symbols
        self.is_standard = _checked_units(tree, units)
        self.leaf_proba: Floats = tree.leaf_proba
        self._sizes: Any = tree.term_sizes
        self._user_weights: Any = tree.user_weights
        self._spread = tree.column_spreads
        self._gaps = threshold_gaps(tree)
        self._tells_missing = _checked_missing(tree, show_missing)
        self._noted: set[int] = set()

    def name(self, column: int) -> str:
        """Name of a column."""
        return f"feature_{column}" if self._names is None else self._names[column]

    def with_terms(self, max_terms: int) -> Describer:
        """Return the same descriptions with at most so many terms."""
        twin = copy(self)
        twin.max_terms = min(max_terms, self.max_terms)
        return twin

    def without_missing(self) -> Describer:
        """Return the same descriptions without the side of missing values."""
        twin = copy(self)
        twin._tells_missing = np.zeros(self.tree.n_features, np.bool_)
        return twin

    def number(self, x: float) -> str:
        """Write an amount: two decimals unless the reader asked for another number."""
        return self._minus(number(float(x), 2 if self.decimals is None else self.decimals))

    def threshold(self, x: float, column: int, gap: float = np.inf) -> str:
        """Write a threshold in the unit of a column."""
        spread = 0.0 if self._spread is None else float(self._spread[column])
        return self._digits(x, threshold_tolerance(x, self.tree.schema.dtype, spread, gap))

    def _digits(self, x: float, tolerance: float) -> str:
        text = rounded(float(x), tolerance) if self.decimals is None else number(float(x), self.decimals)
        return self._minus(text)

    def _minus(self, text: str) -> str:
        return text.replace("-", self.symbols.minus)

    def leaf_class(self, node: int) -> str:
        """Name of the class a leaf predicts."""
        return self.class_names[int(self.proba(node).argmax())]

    def answer(self, node: int) -> str:
        """Write what a node predicts: its class, or its number."""
        return self.numbers(self.proba(node)) if self.is_numbers else self.leaf_class(node)

    def answers_by(self) -> str:
        """Return the word for what leaves predict."""
        return "value" if self.is_numbers else "class"

    def proba(self, node: int) -> Floats:
        """Class fractions or numbers of an inner node, those that are predicted at a leaf."""
        leaf = self.tree.leaf_index[node]
        fractions: Floats = self.tree.value[node] if leaf < 0 else self.leaf_proba[leaf]
        return fractions

    def numbers(self, values: Floats) -> str:
        """Write predicted numbers: alone if there is one output, else in brackets, by name where names were given."""
        texts = [self.predicted(float(value), output) for output, value in enumerate(values)]
        return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"

    def predicted(self, value: float, output: int = 0) -> str:
        """Write a predicted number with as many digits as tell the tree's leaves apart."""
        low, high = self.tree.value[:, output].min(), self.tree.value[:, output].max()
        return self._digits(value, min(three_digits(value), 0.001 * float(high - low)) or three_digits(value))

    def has_model(self, node: int) -> bool:
        """Whether the model of a leaf sees any column; without one the leaf predicts a constant."""
        models, leaf = self.tree.leaf_models, int(self.tree.leaf_index[node])
        return models is not None and leaf >= 0 and (not self.is_numbers or bool(models.coef[leaf].any()))

    def model(self, node: int) -> str:
        """Write the linear model of a leaf of numbers by its largest terms."""
        models, leaf = self.tree.leaf_models, int(self.tree.leaf_index[node])
        assert models is not None
        texts = []
        for output in range(self.tree.n_outputs):
            coef = models.coef[leaf, output]
            sizes = np.abs(coef) if self._spread is None else np.abs(coef) * self._spread
            order = np.argsort(-sizes, kind="stable")[: int(np.count_nonzero(coef))]
            terms = [(int(j), float(coef[j])) for j in order[: self.max_terms]]
            constant = float(models.intercept[leaf, output])
            shown = Score(terms, len(order) - len(terms), constant, 1.0)
            texts.append(" ".join(self._sum(shown, constant, in_units=True)))
        return texts[0] if len(texts) == 1 else f"[{'; '.join(texts)}]"

    def color(self, node: int) -> tuple[float, float, float]:
        """Colour of a node: that of its class, or by the place of its number between those of all nodes."""
        if not self.is_numbers:
            return node_color(self.proba(node), class_colors(self.tree.n_classes))
        low, high = float(self.tree.value[:, 0].min()), float(self.tree.value[:, 0].max())
        return number_color((float(self.proba(node)[0]) / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5)

    def test(self, node: int) -> TestWords:
        """Describe the test of an inner node."""
        column = int(self.tree.feature[node])
        if column == LINEAR:
            words = self._linear(node)
        elif self.tree.category_offset[node] >= 0:
            words = self._sets(column, *self.category_set(node))
        else:
            words = self._axis(node)
        if words.column < 0 or not self._tells_missing[words.column] or "missing" in words.if_left:
            return words
        if self._missing_goes_left(node):
            return replace(words, if_left=words.if_left + " or missing")
        return replace(words, if_right=words.if_right + " or missing")

    def _missing_goes_left(self, node: int) -> bool:
        """Whether missing values go left at a test of one column: a linear test sees what replaces them."""
        if self.tree.feature[node] != LINEAR:
            return bool(self.tree.missing_go_to_left[node])
        score, row_map = self.score(node), self.tree.input_map
        if row_map is None or row_map.fill is None:
            return True
        bound, seen = float(self.tree.threshold[node]) / score.unit - score.constant, row_map.fill[score.terms[0][0]]
        return not (seen < bound if score.unit < 0 else seen > bound)

    def category_labels(self, column: int) -> list[Any]:
        """Names of the categories of a column, in the order of their codes."""
        names = self.tree.schema.categories and self.tree.schema.categories[column]
        return list(range(int(self.tree.schema.n_categories[column])) if names is None else names)

    def category_set(self, node: int) -> tuple[list[Any], list[Any]]:
        """Names of the categories that go left and right at a category test."""
        column, offset = int(self.tree.feature[node]), int(self.tree.category_offset[node])
        count = int(self.tree.schema.n_categories[column])
        bytes_ = self.tree.category_bits[offset : offset + (count + 7) // 8]
        goes_left = np.unpackbits(bytes_, count=count, bitorder="little").astype(bool)
        return self._parted(column, goes_left)

    def _parted(self, column: int, goes_left: Bools) -> tuple[list[Any], list[Any]]:
        labels = self.category_labels(column)
        return (
            [label for label, left in zip(labels, goes_left.tolist()) if left],
            [label for label, left in zip(labels, goes_left.tolist()) if not left],
        )

    def _axis(self, node: int) -> TestWords:
        column, threshold = int(self.tree.feature[node]), float(self.tree.threshold[node])
        missing_left = bool(self.tree.missing_go_to_left[node])
        if np.isinf(threshold) and (threshold > 0) != missing_left:
            sides = ("is not missing", "is missing")
            return TestWords((self.name(column),), *(sides if threshold > 0 else sides[::-1]), column)
        return self._compared((self.name(column),), self.threshold(threshold, column, self._gaps[node]), False, column)

    def _compared(self, parts: tuple[str, ...], bound: str, is_flipped: bool, column: int = -1) -> TestWords:
        signs = self.symbols
        left, right = (signs.at_least, signs.below) if is_flipped else (signs.at_most, signs.above)
        return TestWords(parts, f"{left} {bound}", f"{right} {bound}", column)

    def _sets(self, column: int, left: list[Any], right: list[Any]) -> TestWords:
        listed, other = (left, right) if len(left) <= len(right) else (right, left)
        shown = [str(label) for label in listed[: self.max_terms]]
        if len(listed) > len(shown):
            shown.append(f"{len(listed) - len(shown)} more")
        inside = f"in {{{', '.join(shown)}}}"
        # With one category on the other side its name says more than "not in".
        outside = f"in {{{other[0]}}}" if len(other) == 1 else f"not in {{{', '.join(shown)}}}"
        sides = (inside, outside) if listed is left else (outside, inside)
        return TestWords((self.name(column),), *sides, column)

    # --- linear tests ------------------------------------------------------------------------------------------------

    def is_coded(self, column: int) -> bool:
        """Whether linear tests see numbers in place of the column's categories."""
        offsets = None if self.tree.input_map is None else self.tree.input_map.code_offset
        return offsets is not None and bool(offsets[column] >= 0)

    def codes(self, column: int) -> Floats:
        """Numbers that stand for the categories of a column."""
        row_map = self.tree.input_map
        if row_map is None or row_map.code_offset is None or row_map.codes is None:
            return np.empty(0)
        begin = int(row_map.code_offset[column])
        return row_map.codes[begin : begin + int(self.tree.schema.n_categories[column])]

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
        row_map = self.tree.input_map
        if row_map is None:
            return 0.0
        weights = self._stored_weights(node)
        total = 0.0 if row_map.constant is None else float(weights[-1] * row_map.constant)
        if row_map.shift is not None:
            scale = 1.0 if row_map.scale is None else row_map.scale
            total -= float(np.sum(weights[: self.tree.n_features] * row_map.shift * scale))
        return total

    def _stored_weights(self, node: int) -> Floats:
        weights: Any = self.tree.weights[[int(self.tree.linear_row[node])], :]
        dense: Floats = (weights.toarray() if sparse.issparse(weights) else weights)[0]
        return dense

    def score(self, node: int) -> Score:
        """Return the score of a linear test in the units asked for.

        Only the direction of a hard test means something, so its leading term gets weight 1 and its threshold is in
        that column's unit. A soft test keeps its size; where its leading weight is negative, the score of the other
        side is shown.
        """
        terms, left_out = self.terms(node)
        constant = self.intercept(node)
        if self.is_standard and len(terms) + left_out > 1:
            spread, mean = self._spread, self.tree.column_means
            assert spread is not None
            assert mean is not None
            row: Any = self._user_weights[[int(self.tree.linear_row[node])], :]
            constant += float(np.asarray(row @ mean)[0])
            terms = [(column, weight * float(spread[column])) for column, weight in terms]
        lead = terms[0][1] if terms else 1.0
        unit = float(np.sign(lead) or 1.0) if self.tree.is_soft else lead or 1.0
        return Score([(column, weight / unit) for column, weight in terms], left_out, constant / unit, unit)

    def _linear(self, node: int) -> TestWords:
        tree, score = self.tree, self.score(node)
        threshold = float(tree.threshold[node]) / score.unit
        by_norm = tree.input_map is not None and tree.input_map.unit_rows
        if tree.is_soft:
            return TestWords(tuple(self._soft_parts(score, threshold, by_norm)))
        if by_norm:  # divided by the norm, the constant cannot move to the other side
            parts = _wrapped("(", self._sum(score, score.constant), ") / norm")
            return self._compared(tuple(parts), self._digits(threshold, three_digits(threshold)), score.unit < 0)
        bound = threshold - score.constant
        if len(score.terms) == 1 and not score.left_out:
            return self._one_term(score, bound)
        return self._compared(tuple(self._sum(score, 0.0)), self._bound(score, bound), score.unit < 0)

    def _bound(self, score: Score, bound: float) -> str:
        """Write a threshold of several columns: in the unit of the leading one, or in standard deviations."""
        spread = 0.0
        if score.terms and self._spread is not None:
            spread = 1.0 if self.is_standard else float(self._spread[score.terms[0][0]])
        bound = 0.0 if abs(bound) <= 1e-9 * spread else bound
        return self._digits(bound, threshold_tolerance(bound, "float64", spread))

    def _one_term(self, score: Score, bound: float) -> TestWords:
        """Write a linear test of one column as a test of that column."""
        column, is_flipped = score.terms[0][0], score.unit < 0
        if not self.is_coded(column):
            return self._compared((self.name(column),), self.threshold(bound, column), is_flipped, column)
        codes = self.codes(column)
        return self._sets(column, *self._parted(column, codes >= bound if is_flipped else codes <= bound))

    def _soft_parts(self, score: Score, threshold: float, by_norm: bool) -> list[str]:
        parts = self._sum(score, score.constant if by_norm else score.constant - threshold)
        if by_norm:
            parts = _wrapped("(", parts, ") / norm")
            if threshold:
                parts.append(self._signed(-threshold, False))
        side = "right" if score.unit > 0 else "left"
        if self.tree.routing == "logistic":
            return _wrapped(f"p({side}) = sigmoid(", parts, ")")
        return _wrapped(f"p({side}) = (1 + clip(", parts, ")) / 2")

    def card(self, node: int) -> str:
        """Describe what is tested in a few words: of a soft test only the score that decides."""
        if self.tree.feature[node] != LINEAR or not self.tree.is_soft:
            return self.test(node).subject
        score = self.score(node)
        by_norm = self.tree.input_map is not None and self.tree.input_map.unit_rows
        threshold = 0.0 if by_norm else float(self.tree.threshold[node]) / score.unit
        side = "right" if score.unit > 0 else "left"
        return f"{side}: " + " ".join(self._sum(score, score.constant - threshold))

    def _sum(self, score: Score, constant: float, *, in_units: bool = False) -> list[str]:
        """Write terms and a constant as a list of signed parts; ``in_units``: the terms are those of the columns."""
        parts: list[str] = []
        is_standard = self.is_standard and not in_units and len(score.terms) + score.left_out > 1
        for column, weight in score.terms:
            name = f"z({self._term_name(column)})" if is_standard else self._term_name(column)
            if is_standard or self.is_coded(column):
                self._noted.add(column)
            parts.append(self._signed(weight, not parts) + self.symbols.times + name)
        if score.left_out:
            parts.append(f"+ ({score.left_out} more)")
        if constant or not parts:
            parts.append(self._signed(constant, not parts))
        return parts

    def _signed(self, x: float, first: bool) -> str:
        minus = self.symbols.minus
        sign = (minus if x < 0 else "") if first else (f"{minus} " if x < 0 else "+ ")
        return sign + self._digits(abs(x), three_digits(x))

    def score_text(self, score: float) -> str:
        """Write a score."""
        return self._digits(score, three_digits(score))

    def notes(self) -> list[str]:
        """Say what ``code(…)`` and ``z(…)`` in the tests described so far stand for."""
        columns = sorted(self._noted)
        lines = [self._code_note(column) for column in columns if self.is_coded(column)]
        mean, spread = self.tree.column_means, self._spread
        if not (self.is_standard and columns) or mean is None or spread is None:
            return lines
        lines.append(f"z(column) = (column {self.symbols.minus} mean) / standard deviation, with")
        for column in columns:
            middle, width = float(mean[column]), float(spread[column])
            around = f"{self._digits(middle, 0.01 * width)} {self.symbols.plus_minus} "
            lines.append(f"{self._term_name(column)}: {around}{self._digits(width, three_digits(width))}")
        return lines

    def _code_note(self, column: int) -> str:
        pairs = list(zip(self.category_labels(column), self.codes(column).tolist()))
        listed = [f"{label} = {self._digits(code, three_digits(code))}" for label, code in pairs[:_MOST_CODES]]
        if len(pairs) > _MOST_CODES:
            listed.append(f"{len(pairs) - _MOST_CODES} more")
        return f"{self._term_name(column)}: {', '.join(listed)}"

    def _term_name(self, column: int) -> str:
        return f"code({self.name(column)})" if self.is_coded(column) else self.name(column)


def missing_columns(tree: Tree) -> Bools:
    """Whether each column was missing in training rows, by the schema or else by what the tree shows.

    A learner that allows missing values sends them to the heavier side where none came to a test; so a test that sends
    them to the other side, or asks for them alone, has seen some.
    """
    if tree.schema.missing is not None:
        return tree.schema.missing
    axis = np.flatnonzero(tree.feature >= 0)
    weight = tree.weighted_n_node_samples
    is_left_heavier = weight[tree.children_left[axis]] > weight[tree.children_right[axis]]
    has_seen = (tree.missing_go_to_left[axis] != is_left_heavier) | np.isinf(tree.threshold[axis])
    found = np.zeros(tree.n_features, np.bool_)
    found[tree.feature[axis[has_seen]]] = True
    return found


def _checked_missing(tree: Tree, show_missing: bool | npt.ArrayLike | None) -> Bools:
    if show_missing is None:
        # All on the right is what a learner leaves that knows no missing values.
        is_told = tree.schema.missing is not None or bool(tree.missing_go_to_left.any())
        return missing_columns(tree) if is_told else np.zeros(tree.n_features, np.bool_)
    found = np.asarray(show_missing)
    if found.dtype != np.bool_ or found.shape not in ((), (tree.n_features,)):
        raise ValueError(
            f"show_missing must be None, True, False or {tree.n_features} of them, one for each column, "
            f"got {show_missing!r}."
        )
    return np.broadcast_to(found, (tree.n_features,))


def _checked_units(tree: Tree, units: str) -> bool:
    if units not in ("original", "standard"):
        raise ValueError(f"units must be 'original' or 'standard', got {units!r}.")
    is_standard = units == "standard" and tree.weights.shape[0] > 0
    if is_standard and (tree.column_means is None or tree.column_spreads is None):
        raise ValueError(
            "units='standard' needs means and standard deviations of the columns, which this tree does not hold. "
            "Pass units='original'."
        )
    return is_standard


def _wrapped(before: str, parts: list[str], after: str) -> list[str]:
    parts = [before + parts[0], *parts[1:]]
    return [*parts[:-1], parts[-1] + after]
