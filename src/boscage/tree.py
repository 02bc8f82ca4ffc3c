"""The fitted tree: flat, read-only arrays with one meaning each.

Everything after learning (prediction, text, pictures, files) knows a tree only through these arrays.
Nothing that can be derived is stored: depth, parents, leaf numbers, importances are computed when asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage.base.record import Record, default_array, frozen_array

if TYPE_CHECKING:
    from boscage.edit import TreeEdit
    from boscage.explain import Explanation

LEAF = -1
"""``feature`` of a leaf, and ``children_left``/``children_right`` of a leaf; better ask ``Tree.is_leaf``."""
LINEAR = -3
"""``feature`` of a node whose test is a row of ``weights``; not −2, which marks a leaf in scikit-learn's trees."""
ROUTINGS = ("hard", "linear", "logistic")
TARGETS = ("classes", "numbers")

Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Int32s: TypeAlias = npt.NDArray[np.int32]
Int64s: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Weights: TypeAlias = "Floats | sparse.csr_array"
Routing: TypeAlias = Literal["hard", "linear", "logistic"]
Target: TypeAlias = Literal["classes", "numbers"]
Label: TypeAlias = "str | int | float | bool"

_BOOL, _UINT8, _INT32 = np.dtype(np.bool_), np.dtype(np.uint8), np.dtype(np.int32)
_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)
_MOST_SIZE = 1e300  # of a term, so that sums of terms are finite


def _frozen_weights(weights: Any, columns: int) -> Weights:
    """``weights`` as a read-only dense matrix or a read-only canonical CSR array."""
    if weights is None:
        return default_array(0, 0, _FLOAT64).reshape(0, columns)
    if isinstance(weights, np.ndarray) or not sparse.issparse(weights):
        return frozen_array(weights, _FLOAT64)
    out = sparse.csr_array(weights, dtype=np.float64)
    if not out.has_canonical_format:
        out = out.copy()
        out.sum_duplicates()
    for part in (out.data, out.indices, out.indptr):
        part.flags.writeable = False
    return out


@dataclass(frozen=True, eq=False, repr=False)
class Schema(Record):
    """What a row looks like: the columns a tree was fitted on.

    Parameters
    ----------
    n_features : int
        Number of columns d.
    dtype : {"float64", "float32"}, default="float64"
        Number type of the training rows; prediction keeps it.
    feature_names : tuple of str, optional
        One name per column.
    n_categories : array of int64 of shape (d,), optional
        Number of categories of each column, 0 for a numeric column. Default: all numeric.
    categories : tuple, optional
        For each column ``None`` (numeric) or the tuple of its category names (str, int, float or bool), in the
        order of their codes 0, 1, ….
    spread : array of float64 of shape (d,), optional
        Standard deviation of each column in training (of the numbers that stand for categories). Prediction does not
        use it; it weighs the terms of linear tests in importances and in texts.
    missing : array of bool of shape (d,), optional
        Which columns had missing values in training. Prediction does not use it; texts tell the side of missing values
        for these columns. Default: none had, or it is not known.
    """

    n_features: int
    dtype: str = "float64"
    feature_names: tuple[str, ...] | None = None
    n_categories: Int64s = None  # type: ignore[assignment]
    categories: tuple[tuple[Label, ...] | None, ...] | None = None
    spread: Floats | None = None
    missing: Bools | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        if self.spread is not None:
            put(self, "spread", frozen_array(self.spread, _FLOAT64))
        if self.missing is not None:
            put(self, "missing", frozen_array(self.missing, _BOOL))
        counts = self.n_categories
        counts = default_array(self.n_features, 0, _INT64) if counts is None else frozen_array(counts, _INT64)
        put(self, "n_categories", counts)
        if self.feature_names is not None:
            put(self, "feature_names", tuple(self.feature_names))
        if self.categories is not None:
            put(self, "categories", tuple(None if names is None else tuple(names) for names in self.categories))

    @property
    def any_categories(self) -> bool:
        """Whether some column is categorical."""
        return bool(self.n_categories.any())


@dataclass(frozen=True, eq=False, repr=False)
class InputMap(Record):
    """What happens to a row x before a linear test sees it.

    In this order: a category code c of column j becomes ``codes[code_offset[j] + c]`` (an unknown code becomes
    NaN); NaN becomes ``fill[j]``; x becomes (x − shift)·scale; ``constant`` is appended as the last column; with
    ``unit_rows`` the row is divided by its Euclidean norm (a row of zeros is left as it is).

    Parameters
    ----------
    fill : array of shape (d,), optional
        What replaces NaN. Without it NaN stays, and a hard linear test sends such a row left.
    code_offset : array of int64 of shape (d,), optional
        −1 for numeric columns, else where the numbers of the column's categories begin in ``codes``.
    codes : array of shape (c,), optional
        The numbers that stand for categories.
    shift, scale : arrays of shape (d,), optional
        Centre and reciprocal spread of each column. Default: 0 and 1.
    constant : float, optional
        Value of an extra last column, multiplied by the last weight of each linear test.
    unit_rows : bool, default=False
        Whether rows are divided by their norm (the constant included).
    """

    fill: Floats | None = None
    code_offset: Int64s | None = None
    codes: Floats | None = None
    shift: Floats | None = None
    scale: Floats | None = None
    constant: float | None = None
    unit_rows: bool = False

    def __post_init__(self) -> None:
        for name in ("fill", "codes", "shift", "scale"):
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, frozen_array(array, _FLOAT64))
        if self.code_offset is not None:
            object.__setattr__(self, "code_offset", frozen_array(self.code_offset, _INT64))
        if self.constant is not None:
            object.__setattr__(self, "constant", float(self.constant))
        object.__setattr__(self, "unit_rows", bool(self.unit_rows))


@dataclass(frozen=True, eq=False, repr=False)
class LeafModels(Record):
    """A linear model in each leaf: class probabilities softmax(coef · x + intercept), or numbers.

    Here x is the row in the user's units, with categories turned into numbers and NaN filled by the input map
    (its shift, scale, constant and unit norm do not apply). Trees of numbers predict coef · x + intercept, clipped to
    [low, high].

    Parameters
    ----------
    coef : array of shape (n_leaves, K, d)
        Leaves in node order.
    intercept : array of shape (n_leaves, K)
        A class that cannot occur in a leaf gets a very negative intercept, such as −1000.
    low, high : arrays of shape (n_leaves, K), optional
        Bounds of what a leaf of numbers predicts, both or neither. Default: ±1e300.
    """

    coef: Floats
    intercept: Floats
    low: Floats | None = None
    high: Floats | None = None

    def __post_init__(self) -> None:
        for name in ("coef", "intercept", "low", "high"):
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, frozen_array(array, _FLOAT64))


_NODE_ARRAYS: dict[str, np.dtype[Any]] = {
    "children_left": _INT32,
    "children_right": _INT32,
    "feature": _INT32,
    "threshold": _FLOAT64,
    "value": _FLOAT64,
    "n_node_samples": _INT64,
    "weighted_n_node_samples": _FLOAT64,
    "impurity": _FLOAT64,
}
_OPTIONAL_NODE_ARRAYS: tuple[tuple[str, int, np.dtype[Any]], ...] = (
    ("missing_go_to_left", 0, _BOOL),
    ("category_offset", -1, _INT64),
    ("linear_row", -1, _INT32),
)


@dataclass(frozen=True, eq=False, repr=False)
class Tree(Record):
    """A decision tree of n nodes over d columns, for K classes or K outputs.

    Node 0 is the root, and children have larger numbers than their parent. Arrays are not copied where their type
    allows it, and cannot be written to. Call :meth:`check` on a tree that you built yourself.

    Parameters
    ----------
    children_left, children_right : int32 arrays of shape (n,)
        Node numbers of the children, −1 at a leaf.
    feature : int32 array of shape (n,)
        Column of an axis or category test (≥ 0), −1 at a leaf, −3 at a linear test. To find leaves use ``is_leaf``:
        scikit-learn's marks of a leaf (``feature == -2``, ``threshold == -2``) do not occur here.
    threshold : float64 array of shape (n,)
        Axis test: left if x ≤ threshold. Linear test: right if w·x > threshold. 0 elsewhere.
    value : float64 array of shape (n, K)
        Weighted class fractions at every node; with ``target="numbers"``, the values predicted there.
    n_node_samples : int64 array of shape (n,)
        Training rows at the node (for soft routing: rows that can reach it).
    weighted_n_node_samples : float64 array of shape (n,)
        Training weight at the node.
    impurity : float64 array of shape (n,)
        Impurity of ``value`` under the criterion of the fit.
    schema : Schema
        The columns.
    routing : {"hard", "linear", "logistic"}, default="hard"
        Probability of going right: 1[w·x > t], (1 + clip(w·x − t, −1, 1))/2 or σ(w·x − t).
    missing_go_to_left : bool array of shape (n,), optional
        Side of NaN and of unseen categories in axis and category tests. Default: right.
    category_offset : int64 array of shape (n,), optional
        −1, or the first byte of the node's category set. Default: no category tests.
    category_bits : uint8 array, optional
        Category c of the tested column goes left if bit c % 8 of byte ``category_offset + c // 8`` is set.
    linear_row : int32 array of shape (n,), optional
        Row of ``weights`` of a linear test, else −1. Default: no linear tests.
    weights : float64 array or CSR array of shape (m, d or d + 1), optional
        One row for each linear test; the last column multiplies ``input_map.constant`` where there is one.
    leaf_value : float64 array of shape (n_leaves, K), optional
        What prediction averages, leaves in node order. Default: ``value`` at the leaves.
    input_map : InputMap, optional
        Applied to rows before linear tests.
    leaf_models : LeafModels, optional
        Linear models in the leaves, used in place of ``leaf_value``.
    target : {"classes", "numbers"}, default="classes"
        What ``value`` and ``leaf_value`` hold: class fractions, which sum to 1, or any finite numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from boscage.tree import Schema, Tree
    >>> tree = Tree(
    ...     children_left=[1, -1, -1], children_right=[2, -1, -1], feature=[0, -1, -1],
    ...     threshold=[0.5, 0, 0], value=[[0.5, 0.5], [1, 0], [0, 1]],
    ...     n_node_samples=[4, 2, 2], weighted_n_node_samples=[4, 2, 2],
    ...     impurity=[0.5, 0, 0], schema=Schema(n_features=1))
    >>> tree.check()
    >>> tree
    Tree(3 nodes, 2 leaves, depth 1, 2 classes, 1 feature, hard routing)
    """

    children_left: Int32s
    children_right: Int32s
    feature: Int32s
    threshold: Floats
    value: Floats
    n_node_samples: Int64s
    weighted_n_node_samples: Floats
    impurity: Floats
    schema: Schema
    routing: Routing = "hard"
    missing_go_to_left: Bools = None  # type: ignore[assignment]
    category_offset: Int64s = None  # type: ignore[assignment]
    category_bits: Bytes = None  # type: ignore[assignment]
    linear_row: Int32s = None  # type: ignore[assignment]
    weights: Weights = None
    leaf_value: Floats | None = None
    input_map: InputMap | None = None
    leaf_models: LeafModels | None = None
    target: Target = "classes"

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name, dtype in _NODE_ARRAYS.items():
            put(self, name, frozen_array(getattr(self, name), dtype))
        n = self.children_left.size
        for name, fill, dtype in _OPTIONAL_NODE_ARRAYS:
            given = getattr(self, name)
            put(self, name, default_array(n, fill, dtype) if given is None else frozen_array(given, dtype))
        bits = self.category_bits
        put(self, "category_bits", default_array(0, 0, _UINT8) if bits is None else frozen_array(bits, _UINT8))
        put(self, "weights", _frozen_weights(self.weights, self.n_columns))
        if self.leaf_value is not None:
            put(self, "leaf_value", frozen_array(self.leaf_value, _FLOAT64))

    def __repr__(self) -> str:
        def count(number: int, noun: str, plural: str = "s") -> str:
            return f"{number:,} {noun}" + ("" if number == 1 else plural)

        parts = [
            count(self.node_count, "node"),
            count(self.n_leaves, "lea", "ves") if self.n_leaves != 1 else "1 leaf",
            f"depth {self.max_depth}",
            count(self.n_outputs, "output") if self.target == "numbers" else count(self.n_outputs, "class", "es"),
            count(self.n_features, "feature"),
            f"{self.routing} routing",
        ]
        if self.weights.shape[0]:
            parts.append(count(self.weights.shape[0], "linear test"))
        return f"Tree({', '.join(parts)})"

    @property
    def node_count(self) -> int:
        """Number of nodes n."""
        return self.children_left.size

    @cached_property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.children_left < 0))

    @property
    def n_outputs(self) -> int:
        """Number of columns K of ``value``: classes or outputs."""
        return int(self.value.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes K; a regression tree has none and raises a ValueError."""
        if self.target != "classes":
            raise ValueError("This is a regression tree, which has no classes. Use n_outputs.")
        return self.n_outputs

    @property
    def n_features(self) -> int:
        """Number of columns d."""
        return self.schema.n_features

    @property
    def n_columns(self) -> int:
        """Number of columns a linear test sees: d, or d + 1 with a constant."""
        return self.schema.n_features + (self.input_map is not None and self.input_map.constant is not None)

    @property
    def is_soft(self) -> bool:
        """Whether a row can reach several leaves."""
        return self.routing != "hard"

    @cached_property
    def is_leaf(self) -> Bools:
        """Whether each node is a leaf; use this instead of the numbers in ``feature``."""
        return frozen_array(self.children_left < 0, _BOOL)

    @cached_property
    def leaves(self) -> Int64s:
        """Node numbers of the leaves, in order."""
        return frozen_array(np.flatnonzero(self.is_leaf), _INT64)

    @cached_property
    def leaf_index(self) -> Int64s:
        """Position of each leaf among the leaves, −1 at inner nodes."""
        index = np.full(self.node_count, -1, np.int64)
        index[self.leaves] = np.arange(self.n_leaves)
        return frozen_array(index, _INT64)

    @cached_property
    def parent(self) -> Int64s:
        """Parent of each node, −1 at the root."""
        parent = np.full(self.node_count, -1, np.int64)
        inner = np.flatnonzero(~self.is_leaf)
        parent[self.children_left[inner]] = inner
        parent[self.children_right[inner]] = inner
        return frozen_array(parent, _INT64)

    @cached_property
    def depth(self) -> Int64s:
        """Distance of each node from the root."""
        # Pointer doubling: after k rounds `ancestor` is 2^k steps up, so a chain of n nodes takes log2(n) rounds.
        ancestor = np.maximum(self.parent, 0)
        depth = (self.parent >= 0).astype(np.int64)
        while ancestor.any():
            depth += depth[ancestor]
            ancestor = ancestor[ancestor]
        return frozen_array(depth, _INT64)

    @cached_property
    def max_depth(self) -> int:
        """Depth of the deepest leaf; 0 for a single leaf."""
        return int(self.depth.max())

    @property
    def leaf_proba(self) -> Floats:
        """Class probabilities of each leaf, in node order, ignoring leaf models."""
        if self.leaf_value is not None:
            return self.leaf_value
        fractions: Floats = self.value[self.leaves]
        return fractions

    @property
    def user_weights(self) -> Weights:
        """Weights of the linear tests in the units of X, without the weight of the constant."""
        weights: Any = self.weights
        if self.n_columns > self.n_features:
            weights = weights[:, : self.n_features]
        if self.input_map is None or self.input_map.scale is None:
            return weights
        folded: Weights = weights * self.input_map.scale[None, :]
        return sparse.csr_array(folded) if sparse.issparse(folded) else folded

    @property
    def term_sizes(self) -> Weights:
        """|θ_j|·sd_j of every term of the linear tests: how much it moves the score over the training rows.

        θ are the weights in the user's units and sd the standard deviations of the columns; where these are not
        stored, 1/scale of the input map is used, or else 1.
        """
        if self.schema.spread is None:
            weights: Any = self.weights
            return abs(weights[:, : self.n_features])
        with np.errstate(over="ignore"):
            sized: Any = abs(self.user_weights) * self.schema.spread[None, :]
        if not sparse.issparse(sized):
            return np.minimum(sized, _MOST_SIZE)
        found = sparse.csr_array(sized)
        np.minimum(found.data, _MOST_SIZE, out=found.data)
        return found

    @property
    def column_means(self) -> Floats | None:
        """Mean of each column in training, categories as the numbers that stand for them; None where not stored.

        Trees with linear tests or linear leaves keep it in their input map, as ``shift`` or ``fill``.
        """
        if self.input_map is None:
            return None
        return self.input_map.fill if self.input_map.shift is None else self.input_map.shift

    @property
    def column_spreads(self) -> Floats | None:
        """Standard deviation of each column in training, from the schema or the input map; None where not stored."""
        if self.schema.spread is not None or self.input_map is None or self.input_map.scale is None:
            return self.schema.spread
        scale = self.input_map.scale
        return np.divide(1.0, scale, out=np.zeros_like(scale), where=scale != 0)

    @cached_property
    def _native(self) -> Any:
        """The compiled half used by prediction, made when first needed."""
        from boscage.model.predict import native_view

        return native_view(self)

    def explain(
        self,
        row: Any,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Any] | None = None,
        decimals: int | None = None,
        max_terms: int = 5,
        units: str = "original",
    ) -> Explanation:
        """Explain the prediction of one row; see :func:`boscage.explain.explain`.

        Parameters
        ----------
        row : array of shape (d,)
            Numbers, categories as codes.
        feature_names, class_names, decimals, max_terms, units
            As in :func:`boscage.explain.explain`.

        Returns
        -------
        Explanation
        """
        from boscage.explain import explain

        names = {"feature_names": feature_names, "class_names": class_names}
        return explain(self, row, **names, decimals=decimals, max_terms=max_terms, units=units)

    def edit(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> TreeEdit:
        """Start editing the tree; see :class:`boscage.edit.TreeEdit`.

        Parameters
        ----------
        X : array of shape (n, d), optional
            Training rows as floats, categories as codes.
        y : array of shape (n,), optional
            Class numbers.
        sample_weight : array of shape (n,), optional
            Weights.

        Returns
        -------
        TreeEdit
        """
        from boscage.edit import TreeEdit
        from boscage.engine.recount import checked_rows

        classes = np.arange(self.n_classes) if self.target == "classes" else None
        rows = None if X is None else checked_rows(None, self, classes, X, y, sample_weight)
        return TreeEdit(self, classes, None, rows)

    def show(
        self,
        X: Any = None,
        y: Any = None,
        *,
        height: int = 640,
        max_rows: int = 200,
        title: str = "Decision tree",
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Any] | None = None,
        decimals: int | None = None,
        max_terms: int = 5,
        show_missing: bool | npt.ArrayLike | None = None,
        units: str = "original",
    ) -> Any:
        """Show the interactive page in the notebook or, outside a notebook, in a browser.

        Parameters
        ----------
        X, y : arrays, optional
            Rows and labels to embed, as in :func:`boscage.html.to_html`.
        height : int, default=640
            Height in a notebook, in pixels.
        max_rows, title, feature_names, class_names, decimals, max_terms, show_missing, units
            As in :func:`boscage.html.to_html`.

        Returns
        -------
        Path or None
            The temporary file that the browser opens; None in a notebook.
        """
        from boscage.html import page, tree_fragment
        from boscage.show.notebook import show_page

        fragment = tree_fragment(
            self,
            X,
            y,
            max_rows,
            title=title,
            feature_names=feature_names,
            class_names=class_names,
            decimals=decimals,
            max_terms=max_terms,
            show_missing=show_missing,
            units=units,
        )
        return show_page(page(title, fragment), height)

    def _repr_html_(self) -> str:
        """Show the top of the tree in a notebook."""
        from boscage.show.notebook import tree_html

        return tree_html(self)

    def check(self) -> None:
        """Check that the arrays are valid and consistent.

        Raises
        ------
        ValueError
            Names the array, the node and what is wrong.
        """
        from boscage.model.check_tree import check_tree

        check_tree(self)
