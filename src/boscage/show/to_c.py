"""A model as one C header: tables, and a loop that walks them. No allocation, no recursion."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from scipy import sparse

from boscage.base.templates import render
from boscage.base.whole_file import write_whole
from boscage.show.exported import Exported, Trees, check_dtype, exported, leaf_classes, narrowed
from boscage.show.flat import FlatTrees, flatten

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,60}")
_MOST_ON_STACK = 1 << 16  # numbers
_INTEGERS = (("int8_t", 1 << 7), ("int16_t", 1 << 15), ("int32_t", 1 << 31))


def to_c(
    tree: Trees,
    path: str | Path | None = None,
    *,
    classes: npt.ArrayLike | None = None,
    exponent: float = 1.0,
    mean: str = "arithmetic",
    name: str = "tree",
    dtype: str | None = None,
) -> str | Path:
    """Export a model as a single C99 header that needs no other library and allocates no memory.

    The header contains tables and static functions, so a program includes only what it calls:

    - ``int NAME_predict(const NAME_real *row)``: number of the class;
    - ``void NAME_predict_proba(const NAME_real *row, double *out)``: probabilities of the classes;
    - ``const char *NAME_class_name(int k)``: label of a class, as text;
    - ``int NAME_category(int column, const char *text)``, and ``NAME_category_number`` for categories that are numbers:
      code of a category, −1 if it is unknown.

    Regression trees have ``double NAME_predict(row)`` instead, or ``void NAME_predict(row, out)`` for several outputs.

    Parameters
    ----------
    tree : Tree or sequence of Tree
        The model; several trees are averaged. Trees of any kind and depth.
    path : str or path, optional
        Where to write the header. Default: return it as text.
    classes : array of shape (K,), optional
        Labels in order; an estimator passes its own. Default: 0, 1, ….
    exponent : float, default=1.0
        Power to which mean probabilities are raised before they are divided by their sum; a calibrated forest passes
        its ``exponent_``.
    mean : {"arithmetic", "geometric"}, default="arithmetic"
        How the trees' probabilities are averaged; a forest with ``refit="leaves"`` passes "geometric".
    name : str, default="tree"
        Prefix of all names in the header.
    dtype : {"float64", "float32"}, optional
        Data type of a row, double or float. Default: that of the training data.

    Returns
    -------
    str or Path
        The header; or, if it was written to a file, the path. In a row a category is its code and a missing value is
        NaN; an unknown code counts as missing.

    Notes
    -----
    Labels and probabilities are those of Python to the bit, except for exponentials (logistic tests and linear
    leaves) and as long as the compiler does not change floating-point operations: with GCC avoid ``-ffast-math``, and
    add ``-ffp-contract=off`` where the target has fused multiply-add.

    Examples
    --------
    >>> from boscage import TopDownTreeClassifier
    >>> tree = TopDownTreeClassifier().fit([[0.0], [1.0]], ["low", "high"])
    >>> path = tree.to_c("tree.h")  # doctest: +SKIP
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"name must be letters, digits and underscores, beginning with a letter, got {name!r}.")
    model = exported(tree, classes, exponent, mean)
    dtype = model.schema.dtype if dtype is None else dtype
    check_dtype("dtype", dtype)
    text = _Header(model, flatten(model), name, dtype).text()
    return text if path is None else write_whole(path, text)


class _Header:
    """Fills the template ``model.h.jinja``, of which it keeps the parts that the model needs."""

    def __init__(self, model: Exported, flat: FlatTrees, name: str, dtype: str) -> None:
        self.model, self.flat, self.name, self.dtype = model, flat, name, dtype
        columns = range(model.schema.n_features)
        self.text_labels = [model.category_labels(j) if model.is_text(j) else None for j in columns]
        self.number_labels = [None if model.is_text(j) else model.category_labels(j) for j in columns]
        is_classes, unit_rows = model.classes is not None, any(part.unit_rows for part in flat.maps)
        has_linear, has_models = bool(flat.is_linear.any()), flat.coef is not None
        is_soft = [tree.is_soft and tree.n_leaves > 1 for tree in model.trees]
        self.flags = {
            "classes": is_classes,
            "one_number": not is_classes and model.width == 1,
            "linear": has_linear,
            "sparse": sparse.issparse(flat.weights),
            "categories": bool(flat.is_category.any()),
            "models": has_models,
            "rows": has_linear or has_models,
            "soft": any(is_soft),
            "all_soft": all(is_soft),
            "several": len(model.trees) > 1,
            "table": model.is_one_hard_tree,
            "unit_rows": unit_rows,
            "math": any(is_soft) or has_models or unit_rows or model.exponent != 1 or model.geometric,
            "bounds": flat.low is not None,
            "sharpened": model.exponent != 1 and not model.geometric,
            "geometric": model.geometric,
            "text": any(self.text_labels),
            "numbers": any(self.number_labels),
            **{part: self._some(part) for part in ("codes", "fill", "shift", "scale", "constant")},
        }
        self._check_sizes()

    def _check_sizes(self) -> None:
        most = max(self._most(self.flat.first_inner), self._most(self.flat.first_leaf)) if self.flags["soft"] else 0
        columns = self.model.schema.n_features if self.flags["rows"] else 0
        if max(most, columns) > _MOST_ON_STACK:
            raise ValueError(
                f"tree: {most:,} leaves of a soft tree and {columns:,} columns of linear tests need too much memory on "
                f"the stack of a C program; to_c takes up to {_MOST_ON_STACK:,} of each."
            )

    @staticmethod
    def _most(firsts: npt.NDArray[Any]) -> int:
        return max(1, int(np.diff(firsts).max()))

    def _some(self, part: str) -> bool:
        return any(getattr(row_map, part) is not None for row_map in self.flat.maps)

    def text(self) -> str:
        from boscage import __version__

        model, flat, flags = self.model, self.flat, self.flags
        upper, trees = self.name.upper(), model.trees
        about = repr(trees[0]) if len(trees) == 1 else f"{len(trees)} trees, the first: {trees[0]!r}"
        numbers = "predict_all" if model.width == 1 else "predict"
        parts = {
            "name": self.name,
            "NAME": upper,
            "K": f"{upper}_{'CLASSES' if flags['classes'] else 'OUTPUTS'}",
            "about": _comment(about),
            "version": __version__,
            "columns": "\n".join(f" *   {j}: {self._column_words(j)}" for j in range(model.schema.n_features)),
            "n_columns": model.schema.n_features,
            "width": model.width,
            "n_trees": len(trees),
            "exponent": repr(model.exponent),
            "real": "float" if self.dtype == "float32" else "double",
            "tables": "\n".join(self._tables()),
            "root": int(flat.roots[0]),
            "answer": "predict_proba" if flags["classes"] else numbers,
            "most_inner": self._most(flat.first_inner),
            "most_leaves": self._most(flat.first_leaf),
            "plain": "plain" if flags["rows"] else "0",
            "seen": "seen" if flags["rows"] else "0",
            "class_names": _lines(_string(str(label)) for label in model.labels),
        }
        for kind, columns in (("text", self.text_labels), ("number", self.number_labels)):
            labels = [label for found in columns for label in found or ()]
            written = (_string(str(label)) if kind == "text" else repr(float(label)) for label in labels)
            parts[f"{kind}_labels"] = _lines(written)
            begins = np.cumsum([0, *(len(found or ()) for found in columns)])
            parts[f"{kind}_begins"] = _lines(map(str, begins.tolist()))
        # Nothing here is HTML: names stand in comments and in strings, where they have been escaped for C.
        return render("show/model.h.jinja", **flags, **{key: Markup(str(part)) for key, part in parts.items()})

    def _column_words(self, column: int) -> str:
        labels, name = self.model.category_labels(column), _comment(self.model.feature_names[column])
        count = int(self.model.schema.n_categories[column])
        if not count:
            return name
        if labels is None:
            return f"{name}, categories 0 to {count - 1}"
        return f"{name}: " + ", ".join(f"{code} = {_comment(str(label))}" for code, label in enumerate(labels))

    def _tables(self) -> list[str]:
        flat, flags = self.flat, self.flags
        found = [
            self._ints("child", flat.child.reshape(-1)),
            self._ints("column", flat.column),
            self._ints("kind", flat.missing_left + 2 * flat.is_category + 4 * flat.is_linear),
            self._thresholds(),
        ]
        if flags["categories"]:
            counts = np.where(flat.is_category, self.model.schema.n_categories[flat.column * flat.is_category], 0)
            found += [self._ints("set", flat.set_offset), self._ints("set_size", counts)]
            found.append(self._array("uint8_t", "bits", map(str, flat.category_bits.tolist())))
        found += [*(self._weights() if flags["linear"] else ()), *(self._maps() if flags["rows"] else ())]
        if not flags["table"]:
            found += self._trees()
        elif flags["classes"]:
            found.append(self._ints("leaf_class", leaf_classes(self.model.trees[0])))
        found += [self._ints("leaf_row", flat.value_of_leaf), self._reals("leaf_value", flat.values.reshape(-1))]
        for name in ("coef", "intercept", "low", "high"):
            if (array := getattr(flat, name)) is not None:
                found.append(self._reals(name, array.reshape(-1)))
        return found

    def _thresholds(self) -> str:
        """Thresholds; in a table of axis tests of the type of the rows, rounded so that these decide alike."""
        if self.dtype == "float64" or self.flags["linear"]:
            return self._reals("threshold", self.flat.threshold)
        return self._reals("threshold", narrowed(self.flat.threshold, np.float32), "float")

    def _trees(self) -> list[str]:
        flat = self.flat
        routing = [("hard", "linear", "logistic").index(tree.routing) for tree in self.model.trees]
        found = {
            "root": flat.roots,
            "map": flat.map_of_tree,
            "has_model": flat.has_models.astype(np.int64),
            "first_inner": flat.first_inner,
            "first_leaf": flat.first_leaf,
            "routing": np.where(np.diff(flat.first_leaf) > 1, routing, 0),
        }
        return [self._ints(name, values) for name, values in found.items()]

    def _weights(self) -> list[str]:
        weights = self.flat.weights
        if not sparse.issparse(weights):
            return [self._reals("weights", weights.reshape(-1))]
        return [
            self._reals("weights", weights.data),
            self._ints("weight_column", weights.indices),
            self._ints("weight_begin", weights.indptr),
        ]

    def _maps(self) -> list[str]:
        """Tables of the input maps; a map that lacks a step has numbers there that change nothing."""
        flat, flags, d = self.flat, self.flags, self.model.schema.n_features
        found = [f"#define {self.name.upper()}_SEEN {d + flags['constant']}"]
        for part, neutral in (("fill", np.nan), ("shift", 0.0), ("scale", 1.0)):
            if flags[part]:
                rows = [np.full(d, neutral) if (a := getattr(m, part)) is None else a for m in flat.maps]
                found.append(self._reals(part, np.concatenate(rows)))
        if flags["codes"]:
            begins = np.cumsum([0, *(0 if m.codes is None else m.codes.size for m in flat.maps)])
            offsets = [
                np.full(d, -1) if m.code_offset is None else np.where(m.code_offset < 0, -1, m.code_offset + begins[i])
                for i, m in enumerate(flat.maps)
            ]
            codes = [m.codes for m in flat.maps if m.codes is not None]
            found += [self._ints("code_begin", np.concatenate(offsets)), self._reals("code", np.concatenate(codes))]
            found.append(self._ints("n_categories", self.model.schema.n_categories))
        if flags["constant"]:
            found.append(self._reals("constant", np.array([m.constant or 0.0 for m in flat.maps])))
        if flags["unit_rows"]:
            found.append(self._ints("unit_rows", np.array([int(m.unit_rows) for m in flat.maps])))
        return found

    def _ints(self, name: str, values: npt.NDArray[Any]) -> str:
        most = max(int(values.max()), -1 - int(values.min())) if values.size else 0
        kind = next(kind for kind, limit in _INTEGERS if most < limit)
        return self._array(kind, name, map(str, values.tolist()))

    def _reals(self, name: str, values: npt.NDArray[Any], kind: str = "double") -> str:
        return self._array(kind, name, (_real(x, kind) for x in values))

    def _array(self, kind: str, name: str, values: Iterable[str]) -> str:
        listed = list(values) or ["0"]  # an array of C has at least one entry
        return f"static const {kind} {self.name}_{name}[{len(listed)}] = {{\n{_lines(listed)}}};"


def _real(x: Any, kind: str) -> str:
    """Write a number so that it is read back to the bit."""
    if np.isnan(x):
        return "NAN"
    if np.isinf(x):
        return "INFINITY" if x > 0 else "-INFINITY"
    if kind == "double":
        return repr(float(x))
    text = str(np.float32(x))
    return text + "f" if "." in text or "e" in text else text + ".0f"


def _lines(entries: Iterable[str], width: int = 116) -> str:
    """Write a list over several lines."""
    lines, line = [], ""
    for entry in entries:
        if line and len(line) + len(entry) > width:
            lines.append(f"  {line.rstrip()}")
            line = ""
        line += entry + ", "
    return "\n".join([*lines, f"  {line.removesuffix(', ')}"])


def _comment(text: str) -> str:
    """Make any text the inside of a comment; characters that cannot be seen, or reverse the text, become U+…."""
    plain = "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in " ".join(text.split()))
    return plain.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def _string(text: str) -> str:
    """Write any text as a C string: bytes of UTF-8, all but plain letters as octal escapes."""
    letters = [chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode()]
    return '"' + "".join(letters) + '"'
