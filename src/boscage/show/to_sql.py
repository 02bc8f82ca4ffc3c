"""A model as SQL: a CASE expression, or a query that adds the prediction to the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.base.whole_file import write_whole
from boscage.show.exported import Exported, Trees, category_set, exported, leaf_classes, row_map, stored_terms
from boscage.tree import LINEAR, Tree


def to_sql(
    tree: Trees,
    path: str | Path | None = None,
    *,
    classes: npt.ArrayLike | None = None,
    exponent: float = 1.0,
    mean: str = "arithmetic",
    table: str | None = None,
) -> str | Path:
    """Export a model to standard SQL.

    Parameters
    ----------
    tree : Tree or sequence of Tree
        Hard trees without linear leaves; several trees are averaged, which needs ``table``.
    path : str or path, optional
        Where to write the text. Default: return it.
    classes : array of shape (K,), optional
        Labels in order; an estimator passes its own. Default: 0, 1, ….
    exponent : float, default=1.0
        Power to which mean probabilities are raised before they are divided by their sum; a calibrated forest passes
        its ``exponent_``.
    mean : {"arithmetic", "geometric"}, default="arithmetic"
        How the trees' probabilities are averaged; a forest with ``refit="leaves"`` passes "geometric".
    table : str, optional
        Name of a table with the columns of the model. Default: write a CASE expression, for use in a query of your own.

    Returns
    -------
    str or Path
        Without ``table``, a CASE expression whose value is the prediction. With ``table``, a query of all columns of
        the table, the number of the leaf (``boscage_leaf``), ``probability_LABEL`` for each class and the label as
        ``prediction``; for regression trees, ``prediction``, or ``prediction_0``, … for several outputs. If it was
        written to a file, the path.

    Notes
    -----
    Columns must have the types of the training table: numbers, text, booleans. NULL is a missing value. Names are
    written in double quotes (in MySQL set ``sql_mode`` to ``ANSI``). A CASE expression is nested no deeper than log2 of
    the number of leaves, however deep the tree is, because databases limit nesting.

    Numbers are written with all their digits, and linear tests add their terms in the library's order. In a database
    that computes in double precision and reads decimals exactly, labels are those of Python (but for trees that divide
    rows by their norm, where a score within rounding of a threshold may fall on the other side).

    Examples
    --------
    >>> from boscage import TopDownTreeClassifier
    >>> tree = TopDownTreeClassifier().fit([[0.0], [1.0]], ["low", "high"])
    >>> print(tree.to_sql())
    CASE
      WHEN "feature_0" <= 0.5 THEN 'low'
      ELSE 'high'
    END
    """
    model = exported(tree, classes, exponent, mean)
    for each in model.trees:
        _refuse_what_sql_cannot_do(each)
    if table is None:
        text = _expression(model)
    elif isinstance(table, str) and table:
        text = _query(model, table)
    else:
        raise ValueError(f"table must be the name of a table, got {table!r}.")
    return text if path is None else write_whole(path, text + "\n")


def _refuse_what_sql_cannot_do(tree: Tree) -> None:
    what = "soft tests" if tree.is_soft and tree.n_leaves > 1 else "linear leaves" if tree.leaf_models else ""
    if what:
        raise ValueError(f"tree: to_sql cannot write {what}. Use to_onnx, to_c or to_javascript.")


# --- whole texts ----------------------------------------------------------------------------------------------------


def _expression(model: Exported) -> str:
    if len(model.trees) > 1 or (model.classes is None and model.width > 1):
        raise ValueError(
            "table=None is not allowed: several trees or outputs are more than one CASE expression. Pass the name of a "
            "table with the columns of the model."
        )
    tree = model.trees[0]
    if model.classes is not None:
        labels = [_literal(model.labels[k]) for k in leaf_classes(tree).tolist()]
    else:
        labels = [_real(x) for x in tree.leaf_proba[:, 0].tolist()]
    return "\n".join(_case(model, tree, labels))


def _query(model: Exported, table: str) -> str:
    """Leaves of all trees in an inner query, what they predict around it, the label around that."""
    several = len(model.trees) > 1
    names = [f"boscage_leaf_{t}" if several else "boscage_leaf" for t in range(len(model.trees))]
    leaves = []
    for tree, name in zip(model.trees, names):
        numbers = [str(i) for i in range(tree.n_leaves)]
        leaves.append("\n".join("    " + line for line in _case(model, tree, numbers)) + f" AS {_name(name)}")
    inner = ",\n".join(["    t.*", *leaves])
    values = [_mean(model, names, output) for output in range(model.width)]
    answers = _output_names(model)
    is_raised = model.exponent != 1 or model.geometric
    means = [f"boscage_mean_{k}" for k in range(model.width)] if is_raised else answers
    outer = ",\n".join(f"  {value} AS {_name(answer)}" for value, answer in zip(values, means))
    scored = f"SELECT\n  scored.*,\n{outer}\nFROM (\n  SELECT\n{inner}\n  FROM {_name(table)} AS t\n) AS scored"
    if is_raised:
        scored = _raised(model, scored, means, answers)
    if model.classes is None:
        return scored
    body = "\n".join("  " + line for line in scored.splitlines())
    best = _best(model, answers)
    return f"SELECT\n  answers.*,\n{best} AS {_name('prediction')}\nFROM (\n{body}\n) AS answers"


def _raised(model: Exported, query: str, means: list[str], answers: list[str]) -> str:
    """Raise the probabilities to the exponent of the model and divide them by their sum."""
    if model.geometric:  # logarithms of probabilities, which are far above those of the smallest numbers
        powers = [f"EXP({model.exponent!r} * {_name(mean)})" for mean in means]
    else:
        powers = [
            f"CASE WHEN {_name(mean)} > 0 THEN POWER({_name(mean)}, {model.exponent!r}) ELSE 0.0 END" for mean in means
        ]
    names = [f"boscage_power_{k}" for k in range(model.width)]
    total = " + ".join(map(_name, names))
    shares = [f"{_name(name)} / ({total})" for name in names]
    for values, columns, word in ((powers, names, "means"), (shares, answers, "powers")):
        body = "\n".join("  " + line for line in query.splitlines())
        added = ",\n".join(f"  {value} AS {_name(column)}" for value, column in zip(values, columns))
        query = f"SELECT\n  {word}.*,\n{added}\nFROM (\n{body}\n) AS {word}"
    return query


def _mean(model: Exported, leaves: list[str], output: int) -> str:
    """Mean of what the trees predict for one output."""
    parts = [_leaf_values(tree, name, output) for tree, name in zip(model.trees, leaves)]
    return parts[0] if len(parts) == 1 else "(" + "\n    + ".join(parts) + f") / {float(len(parts))!r}"


def _leaf_values(tree: Tree, leaf: str, output: int) -> str:
    """Value of a leaf by its number; the most frequent value needs no list."""
    values = tree.leaf_proba[:, output]
    distinct, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    most = int(counts.argmax())
    cases = []
    for i, value in enumerate(distinct.tolist()):
        if i != most:
            numbers = ", ".join(map(str, np.flatnonzero(place == i).tolist()))
            cases.append(f"WHEN {_name(leaf)} IN ({numbers}) THEN {_real(value)}")
    other = _real(float(distinct[most]))
    return f"CASE {' '.join(cases)} ELSE {other} END" if cases else other


def _best(model: Exported, answers: list[str]) -> str:
    """Label of the first of the largest probabilities."""
    last = _literal(model.labels[-1])
    lines = []
    for k, label in enumerate(model.labels[:-1]):
        others = [f"{_name(answers[k])} >= {_name(other)}" for other in answers[k + 1 :]]
        lines.append(f"    WHEN {' AND '.join(others)} THEN {_literal(label)}")
    return "\n".join(["  CASE", *lines, f"    ELSE {last}", "  END"]) if lines else f"  {last}"


def _output_names(model: Exported) -> list[str]:
    if model.classes is not None:
        names = [f"probability_{label}" for label in model.labels]
        is_clear = len({name.casefold() for name in names}) == len(names)  # databases do not tell A from a
        return names if is_clear else [f"probability_{k}" for k in range(model.width)]
    return ["prediction"] if model.width == 1 else [f"prediction_{k}" for k in range(model.width)]


# --- one tree -------------------------------------------------------------------------------------------------------


def _case(model: Exported, tree: Tree, answers: list[str]) -> list[str]:
    """Write the tree as lines of CASE expressions, of which each has a chain of nodes.

    At a node one child is nested inside THEN and the other goes on as the next WHEN of the same CASE. The child that
    is nested is the one that itself needs less nesting, so the nesting is no deeper than log2 of the leaves.
    """
    if tree.n_leaves == 1:
        return [answers[0]]
    nested = _nested_sides(tree)
    lines: list[str] = ["CASE"]
    # Work to do: lines that are ready, or a node and how far it is indented.
    stack: list[tuple[int, int] | str] = ["END", (0, 1)]
    while stack:
        work = stack.pop()
        if isinstance(work, str):
            lines.append(work)
            continue
        node, depth = work
        indent = "  " * depth
        if tree.is_leaf[node]:
            lines.append(f"{indent}ELSE {answers[tree.leaf_index[node]]}")
            continue
        is_right = bool(nested[node])
        children = (int(tree.children_left[node]), int(tree.children_right[node]))
        inside, behind = children[is_right], children[not is_right]
        when = f"{indent}WHEN {_condition(model, tree, node, is_right)} THEN"
        stack.append((behind, depth))
        if tree.is_leaf[inside]:
            lines.append(f"{when} {answers[tree.leaf_index[inside]]}")
        else:
            lines.append(f"{when} CASE")
            stack.append(f"{indent}END")
            stack.append((inside, depth + 1))
    return lines


def _nested_sides(tree: Tree) -> npt.NDArray[np.bool_]:
    """Whether the right child of each inner node is the one to nest."""
    levels = np.zeros(tree.node_count, np.int64).tolist()
    is_right = np.zeros(tree.node_count, np.bool_)
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    for node in range(tree.node_count - 1, -1, -1):  # children have larger numbers
        if left[node] < 0:
            continue
        a, b = levels[left[node]], levels[right[node]]
        is_right[node] = b < a
        levels[node] = max(a, b) if a != b else a + 1
    return is_right


def _condition(model: Exported, tree: Tree, node: int, is_right: bool) -> str:
    """Write what must hold to go to one side; never NULL where that matters, for NULL does not hold."""
    if tree.feature[node] == LINEAR:
        score = _score(model, tree, node)
        bound = _real(float(tree.threshold[node]))
        # A score that is NULL goes left, as NaN does.
        if is_right:
            return f"{score} > {bound}"
        plain = f"{score} <= {bound}"
        return plain if row_map(tree).fill is not None else f"COALESCE({plain}, 1 = 1)"
    column = _name(model.feature_names[int(tree.feature[node])])
    with_missing = bool(tree.missing_go_to_left[node]) != is_right
    if tree.category_offset[node] >= 0:
        return _category_condition(model, tree, node, column, is_right, with_missing)
    threshold = float(tree.threshold[node])
    if np.isinf(threshold):
        numbers_here = (threshold > 0) != is_right
        return _one_of(column, numbers_here, with_missing)
    plain = f"{column} {'>' if is_right else '<='} {_real(threshold)}"
    return f"({plain} OR {column} IS NULL)" if with_missing else plain


def _one_of(column: str, numbers: bool, missing: bool) -> str:
    if numbers and missing:
        return "1 = 1"
    return f"{column} IS NOT NULL" if numbers else f"{column} IS NULL" if missing else "1 = 0"


def _category_condition(model: Exported, tree: Tree, node: int, column: str, is_right: bool, with_missing: bool) -> str:
    """Unknown categories go with missing values, so the list is of the other side's where these are here."""
    is_listed = (category_set(tree, node) != is_right) != with_missing
    labels = model.category_labels(int(tree.feature[node])) or range(len(is_listed))
    listed = ", ".join(_literal(label) for label, here in zip(labels, is_listed.tolist()) if here)
    if with_missing:
        return f"({column} NOT IN ({listed}) OR {column} IS NULL)" if listed else "1 = 1"
    return f"{column} IN ({listed})" if listed else "1 = 0"


# --- linear tests ---------------------------------------------------------------------------------------------------


def _score(model: Exported, tree: Tree, node: int) -> str:
    """Score of a linear test, added up in the library's order: eight sums by column, then these."""
    columns, weights = stored_terms(tree, node)
    sums: list[list[str]] = [[] for _ in range(8)]
    for column, weight in zip(columns.tolist(), weights.tolist()):
        if weight != 0:
            sums[column % 8].append(f"{_real(weight)} * {_seen(model, tree, column)}")
    parts = [" + ".join(terms) for terms in sums]
    while len(parts) > 1:
        parts = [_added(a, b) for a, b in zip(parts[::2], parts[1::2])]
    score = f"({parts[0] or '0.0'})"
    return f"{score} / {_norm(model, tree)}" if row_map(tree).unit_rows else score


def _added(a: str, b: str) -> str:
    return f"({a}) + ({b})" if a and b else a or b


def _seen(model: Exported, tree: Tree, column: int) -> str:
    """Write a column as linear tests see it."""
    given = row_map(tree)
    if column == tree.n_features:
        return _real(float(given.constant or 0.0))
    x = _name(model.feature_names[column])
    fill = None if given.fill is None else _real(float(given.fill[column]))
    if given.codes is not None and given.code_offset is not None and given.code_offset[column] >= 0:
        begin, count = int(given.code_offset[column]), int(tree.schema.n_categories[column])
        labels = model.category_labels(column) or range(count)
        cases = " ".join(
            f"WHEN {_literal(label)} THEN {_real(code)}"
            for label, code in zip(labels, given.codes[begin : begin + count].tolist())
        )
        x = f"CASE {x} {cases} ELSE {fill or 'NULL'} END" if cases else fill or "NULL"
    elif fill is not None:
        x = f"COALESCE({x}, {fill})"
    if given.shift is not None:
        x = f"({x} - {_bracketed(float(given.shift[column]))})"
    if given.scale is not None:
        x = f"({x} * {_bracketed(float(given.scale[column]))})"
    return x


def _norm(model: Exported, tree: Tree) -> str:
    """Length of the row that linear tests see; NULL would be 0 / 0, which counts as 0."""
    squares = [f"{(x := _seen(model, tree, j))} * {x}" for j in range(tree.n_columns)]
    return f"COALESCE(NULLIF(SQRT({' + '.join(squares)}), 0.0), 1.0)"


# --- names and numbers ----------------------------------------------------------------------------------------------


def _name(name: str) -> str:
    """Quote a name as SQL wants it."""
    if "\0" in name:
        raise ValueError(f"to_sql cannot write the name {name!r}: it holds the character 0.")
    return '"' + name.replace('"', '""') + '"'


def _literal(label: Any) -> str:
    """Write a label or category."""
    if isinstance(label, (bool, np.bool_)):
        return "TRUE" if label else "FALSE"
    if isinstance(label, (int, np.integer)):
        return str(int(label))
    if isinstance(label, (float, np.floating)):
        number = float(label)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else _real(number)
    text = str(label)
    if "\0" in text:
        raise ValueError(f"to_sql cannot write the text {text!r}: it holds the character 0.")
    return "'" + text.replace("'", "''") + "'"


def _real(x: float) -> str:
    return repr(float(x))


def _bracketed(x: float) -> str:
    return f"({x!r})" if x < 0 else repr(x)
