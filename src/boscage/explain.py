"""Why a tree predicts what it predicts for one row: the path in sentences, and what each column contributed."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from boscage.model import predict as _predict
from boscage.model.many_trees import ManyTrees
from boscage.show.contributions import (
    Contributions,
    contributions,
    plain_row,
    sharpened_contributions,
    softmax_contributions,
)
from boscage.show.describe import Describer
from boscage.tree import Floats, Tree

__all__ = ["Explanation", "Step", "explain"]

_MOST_SHOWN = 6  # columns in the text


@dataclass(frozen=True)
class Step:
    """One node on the path of a row.

    Parameters
    ----------
    node : int
        Its number.
    sentence : str
        The test and its outcome, such as ``petal width (cm) = 1.4 <= 1.75``; empty at a leaf.
    features : tuple of int
        Columns of the test, the largest terms first; empty at a leaf.
    value : float
        The tested value: of the column (categories as codes), or the score in the unit the test is shown in; NaN at a
        leaf.
    side : {"left", "right", ""}
        Where the row went; empty at a leaf.
    probability : float
        Probability of going there from this node; 1 in hard trees. At a leaf: of reaching it.
    """

    node: int
    sentence: str
    features: tuple[int, ...]
    value: float
    side: str
    probability: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """The explanation of one prediction; print it to read it.

    Parameters
    ----------
    path : list of Step
        Nodes from the root to the leaf (in soft trees, to the most probable leaf). Empty for a forest.
    contributions : ndarray of shape (d, K)
        How much each column contributed to the probability of each class, or to each output. ``base +
        contributions.sum(axis=0)`` is ``prediction``.
    base : ndarray of shape (K,)
        Starting point: the class fractions, or the value, at the root.
    prediction : ndarray of shape (K,)
        Predicted class probabilities, or values.
    feature_names, class_names, values : list of str
        Names of columns and of classes or outputs, and the row's values as text.
    is_soft : bool
        Whether the row can take other paths too.
    is_numbers : bool
        Whether the tree is a regression tree.
    n_trees : int
        Number of trees whose predictions are averaged.
    """

    path: list[Step]
    contributions: Floats
    base: Floats
    prediction: Floats
    feature_names: list[str]
    class_names: list[str]
    values: list[str]
    is_soft: bool = False
    is_numbers: bool = False
    n_trees: int = 1

    @property
    def best(self) -> int:
        """Index of the predicted class; in regression, of the first output."""
        return 0 if self.is_numbers else int(self.prediction.argmax())

    def table(self, target: int | str | None = None) -> list[tuple[str, str, float]]:
        """List name, value and contribution of the columns that contributed to a class, the largest first.

        Parameters
        ----------
        target : int or str, optional
            The class or output, by number or name. Default: the predicted class, the first output.
        """
        found = self._class_number(target)
        moved = self.contributions[:, found]
        order = np.argsort(-np.abs(moved), kind="stable")
        return [(self.feature_names[j], self.values[j], float(moved[j])) for j in order.tolist() if moved[j] != 0]

    def _class_number(self, target: int | str | None) -> int:
        if target is None:
            return self.best
        number = self.class_names.index(target) if isinstance(target, str) and target in self.class_names else target
        if not isinstance(number, (int, np.integer)) or not 0 <= number < len(self.class_names):
            raise ValueError(
                f"target must be the name of {'an output' if self.is_numbers else 'a class'} or a number below "
                f"{len(self.class_names)}, got {target!r}."
            )
        return int(number)

    def _reason(self) -> str:
        name, p = self.class_names[self.best], self.prediction[self.best]
        said = ", ".join(map(self._amount, self.prediction)) if self.is_numbers else f"{name} (probability {p:.2f})"
        if not self.path:
            return f"{said}, the mean of {self.n_trees} {'tree' if self.n_trees == 1 else 'trees'}"
        if len(self.path) == 1:
            return (
                f"{said} by the linear model of the only leaf" if self.contributions.any() else f"{said} for every row"
            )
        if not self.is_soft:
            return f"{said} because"
        return f"{said}; the most likely path, of probability {self.path[-1].probability:.2f}:"

    def _amount(self, amount: float, sign: str = "") -> str:
        """Write a probability with three decimals, a number with six digits."""
        return f"{amount + 0.0:{sign}.6g}" if self.is_numbers else f"{amount:{sign}.3f}"

    def _subject(self) -> str:
        if not self.is_numbers:
            return f"probability of {self.class_names[self.best]}"
        return "value" if len(self.class_names) == 1 else f"value of output {self.class_names[self.best]}"

    def _balance(self) -> list[tuple[str, float]]:
        """Lines of the sum for the predicted class: the base, the largest columns, the rest."""
        rows = self.table()
        lines = [("base", float(self.base[self.best]))]
        lines += [(f"{name} = {value}", amount) for name, value, amount in rows[:_MOST_SHOWN]]
        rest = [amount for _, _, amount in rows[_MOST_SHOWN:]]
        return [*lines, (f"{len(rest)} other columns", sum(rest))] if rest else lines

    def __str__(self) -> str:
        lines = [self._reason(), *(f"  {step.sentence}" for step in self.path if step.sentence)]
        sums = [*self._balance(), ("prediction", float(self.prediction[self.best]))]
        amounts = [self._amount(amount, "+") for _, amount in sums]
        width = max(map(len, amounts))
        lines += ["", self._subject()]
        return "\n".join([*lines, *(f"  {amount:<{width}}  {name}" for amount, (name, _) in zip(amounts, sums))])

    def _repr_html_(self) -> str:
        """Show the explanation in a notebook: sentences and a bar for each column."""
        steps = "".join(f"<li>{html.escape(step.sentence)}</li>" for step in self.path if step.sentence)
        lines = [*self._balance(), ("prediction", float(self.prediction[self.best]))]
        widest = max(abs(amount) for _, amount in lines) or 1.0
        rows = []
        for name, amount in lines:
            color = "#8a8f98" if name in ("base", "prediction") else "#3b7dd8" if amount >= 0 else "#d9544d"
            bar = f"display:inline-block;height:0.7em;background:{color};width:{12 * abs(amount) / widest:.2f}em"
            rows.append(
                f'<tr><td style="text-align:left">{html.escape(name)}</td><td>{self._amount(amount, "+")}</td>'
                f'<td style="text-align:left"><span style="{bar}"></span></td></tr>'
            )
        title = html.escape(self._reason())
        return f"<div><p>{title}</p><ul>{steps}</ul><table><tbody>{''.join(rows)}</tbody></table></div>"


def explain(
    tree: Tree,
    row: Any,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    decimals: int | None = None,
    max_terms: int = 5,
    units: str = "original",
) -> Explanation:
    r"""Explain the prediction of one row.

    Parameters
    ----------
    tree : Tree
        The tree.
    row : array of shape (d,) or (1, d)
        The row as floats, categories as codes; estimators take rows of tables.
    feature_names, class_names, decimals, max_terms, units
        As in :func:`boscage.export.export_text`.

    Returns
    -------
    Explanation

    Notes
    -----
    Let :math:`v_i` be the class fractions, or the value, of node i (at a leaf: what it predicts) and :math:`r_i` the
    probability that the row reaches it, 0 or 1 in hard trees. A prediction is that of the root and the steps down the
    tree,

    .. math:: p = v_0 + \sum_i r_i\,(v_i - v_{\mathrm{parent}(i)}),

    and each step belongs to the test above it. A test of one column gives its steps to that column. At a linear test a
    step to the right is shared by the columns that pushed the row to the right, in proportion to
    :math:`\max(0, \theta_j (x_j - \bar x_j))`, a step to the left by those that pushed it to the left; where none did,
    or the tree stores no means, by :math:`|\theta_j|\,\mathrm{sd}_j`. The step from a leaf's class fractions to the
    answer :math:`\mathrm{softmax}(Bx + b)` of its linear model is shared in proportion to
    :math:`\sum_k |B_{kj} - \bar B_j|\,|x_j - \bar x_j|`; in regression trees, the step from the leaf's value to that of
    its model is shared in proportion to :math:`\sum_k |B_{kj}|\,|x_j - \bar x_j|`. Leaves of a soft tree that are
    fitted jointly may lie far outside the range of y and cancel out: there :math:`v_i` of a leaf is the mean of its
    rows, and the rest of the prediction is shared in proportion to what each column has by then.

    This is the path of this tree through its training data. It is not a Shapley value: a column that would have served
    as well but is not on the path gets nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from boscage import TopDownTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = TopDownTreeClassifier(max_leaf_nodes=3).fit(X, load_iris().target_names[y])
    >>> print(tree.explain(X.iloc[50]))
    versicolor (probability 0.91) because
      petal length (cm) = 4.7 > 2.45
      petal width (cm) = 1.4 <= 1.75
    <BLANKLINE>
    probability of versicolor
      +0.333  base
      +0.407  petal width (cm) = 1.4
      +0.167  petal length (cm) = 4.7
      +0.907  prediction
    """
    words = Describer(tree, feature_names, class_names, decimals, max_terms, False, units)
    return explain_with(words, checked_row(tree, row))


def checked_row(tree: Tree, row: Any) -> Floats:
    """Return one row of floats in the tree's number type."""
    x: Any = row.toarray() if sparse.issparse(row) else np.asarray(row)
    if x.shape not in ((tree.n_features,), (1, tree.n_features)) or x.dtype.kind not in "fiub":
        raise ValueError(
            f"row must hold {tree.n_features} numbers, one for each column, got {x.dtype} of shape {x.shape}."
        )
    flat: Floats = np.ascontiguousarray(x.reshape(-1), dtype=x.dtype if x.dtype in ("f4", "f8") else np.float64)
    return flat


def explain_with(words: Describer, x: Floats) -> Explanation:
    """Explain a checked row in the words of a describer."""
    prediction = _predict.predict_proba(words.tree, x[None, :])[0]
    return _explanation(words, x, contributions(words.tree, x), prediction, path=path_steps(words, x))


def explain_forest(words: Describer, trees: ManyTrees, x: Floats, exponent: float) -> Explanation:
    """Explain what a forest predicts for a checked row: the mean of its trees, raised to a power if calibrated."""
    parts = [contributions(tree, x) for tree in trees.scored]
    mean = Contributions(*(np.mean(part, axis=0) for part in zip(*parts, strict=True)))
    if trees.geometric:
        found = softmax_contributions(mean)
    else:
        found = mean if exponent == 1 else sharpened_contributions(mean, exponent)
    return _explanation(words, x, found, trees.proba(x[None, :], exponent)[0], path=[], n_trees=len(trees))


def _explanation(
    words: Describer, x: Floats, found: Contributions, prediction: Floats, *, path: list[Step], n_trees: int = 1
) -> Explanation:
    columns = range(words.tree.n_features)
    return Explanation(
        path=path,
        contributions=found.columns,
        base=found.base,
        prediction=prediction,
        feature_names=[words.name(j) for j in columns],
        class_names=words.class_names,
        values=[value_text(words, j, x[j]) for j in columns],
        is_soft=words.tree.is_soft,
        is_numbers=words.is_numbers,
        n_trees=n_trees,
    )


def path_steps(words: Describer, x: Floats) -> list[Step]:
    """Return the steps from the root to the leaf of largest reach."""
    tree = words.tree
    reach = _predict.decision_path(tree, x[None, :]).toarray()[0]
    node = int(_predict.apply(tree, x[None, :])[0])
    steps = [Step(node, "", (), float("nan"), "", float(reach[node]))]
    while (parent := int(tree.parent[node])) >= 0:
        side = "left" if tree.children_left[parent] == node else "right"
        steps.append(_step(words, parent, x, side, float(reach[node] / reach[parent])))
        node = parent
    return steps[::-1]


def _step(words: Describer, node: int, x: Floats, side: str, probability: float) -> Step:
    tree, test = words.tree, words.test(node)
    relation = test.if_left if side == "left" else test.if_right
    relation = " ".join(relation.split())
    if test.column >= 0:
        sentence = column_sentence(words, test.column, float(x[test.column]), relation)
        return Step(node, sentence, (test.column,), float(x[test.column]), side, probability)
    score = shown_score(words, node, x)
    features = tuple(column for column, _ in words.terms(node)[0])
    sentence = f"{test.subject} = {words.score_text(score)} {relation}"
    if tree.is_soft:
        sentence = f"{side} with probability {probability:.2f}: {test.subject}"
    return Step(node, sentence, features, score, side, probability)


def shown_score(words: Describer, node: int, x: Floats) -> float:
    """Return the score of a linear test in the unit in which the test is shown."""
    tree, shown = words.tree, words.score(node)
    theta: Any = tree.user_weights[[int(tree.linear_row[node])], :]
    total = float(np.asarray(theta @ plain_row(tree, x))[0])
    if tree.input_map is not None and tree.input_map.unit_rows:
        return (total + words.intercept(node)) / shown.unit / _norm(tree, x)
    # Moving the origin to the means moves the constant, and with it the score, by the same amount.
    return (total + words.intercept(node)) / shown.unit - (0.0 if tree.is_soft else shown.constant)


def _norm(tree: Tree, x: Floats) -> float:
    row_map, z = tree.input_map, plain_row(tree, x)
    assert row_map is not None
    z = z if row_map.shift is None else z - row_map.shift
    z = z if row_map.scale is None else z * row_map.scale
    return float(np.linalg.norm(z if row_map.constant is None else np.append(z, row_map.constant))) or 1.0


def value_text(words: Describer, column: int, x: float) -> str:
    """Write a value of a column; categories by name."""
    if words.tree.schema.n_categories[column]:
        labels = words.category_labels(column)
        return str(labels[int(x)]) if 0 <= x < len(labels) and x == int(x) else "missing"
    return "missing" if np.isnan(x) else f"{x + 0.0:.6g}".replace("-", words.symbols.minus)


def column_sentence(words: Describer, column: int, x: float, relation: str) -> str:
    """Say how the value of a column stands to its test."""
    name, value = words.name(column), value_text(words, column, x)
    if relation in ("is missing", "is not missing"):
        return f"{name} is missing" if value == "missing" and relation == "is missing" else f"{name} = {value}"
    if value == "missing":
        return f"{name} is missing, which goes with values {relation}"
    return f"{name} = {value}, {relation}" if "in {" in relation else f"{name} = {value} {relation}"
