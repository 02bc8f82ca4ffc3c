"""Linear leaves of numbers: a ridge regression in each leaf, and trees that are grown for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from boscage import _core
from boscage.base.component import register
from boscage.data.distinct import mean_row_weight
from boscage.data.targets import MOST as _MOST
from boscage.data.targets import power_of_two
from boscage.leaves._leaf import Floats, Leaf, Nodes
from boscage.pruning import collapse, surviving_nodes

if TYPE_CHECKING:
    from boscage.data.validation import Dataset
    from boscage.engine.grow import Job
    from boscage.tree import InputMap, Tree

_LEAST_WEIGHT = 5.0
_CUTS = 32  # thresholds of a column that are compared
_MOST_LEAVES = 64
_RANGE = (np.finfo(np.float64).min, np.finfo(np.float64).max)
_MOST_CELLS = 2**28  # of a sparse matrix that is made dense
_MOST_COLUMNS = 10_000  # their products take 0.8 GB for each thread
_MOST_UNKNOWNS = 1200  # of the equations of all leaves
_LEAST_REACH = 1e-3
# What "auto" tries beside hard tests: blend, strength of the joint fit, whether tests are refined.
_BLENDED = ((0.05, 10.0, False), (0.1, 3.0, False), (0.1, 30.0, False), (0.2, 3.0, False), (0.2, 30.0, False))
_REFINED = ((0.1, 0.0, True), (0.2, 0.0, True), (0.4, 0.0, True), (0.8, 0.0, True))


@register("leaf", "ridge")
class RidgeLeaf(Leaf):
    r"""Each leaf has its own linear model, y = intercept + coef · x, clipped to the range of y in the leaf.

    Every node on the path from the root adds a ridge regression on the residuals of its ancestors, so the model of a
    leaf with few rows stays near that of its parent. The columns are standardised by the node's rows; the strength of
    each regression minimises the generalised cross-validation

    .. math:: \frac{\mathrm{RSS}}{(1 - \mathrm{df} / n)^2}

    over no regression at all and fifteen strengths from 0.001 to 10,000, where n is the weight of the node and df the
    effective number of parameters, including a share of those of the ancestors. A subtree is pruned unless its leaves
    lower n times this loss, in sum, by a factor of 1 + log(64 d) / n, where d is the number of columns.

    Parameters
    ----------
    l2 : float or "auto", default="auto"
        Strength of the penalty, at least 0, in units of sample weight (on standardised columns). "auto" chooses it in
        every node as above.
    grow : bool, default=True
        Whether tests are chosen for linear leaves, with ``splits="axis"`` and ``criterion="squared_error"``: for each
        of up to 32 thresholds of a column both sides get a ridge regression over the node's six most important
        columns, and the threshold with the least squared error wins. A tree without limits stops at 64 leaves then,
        and leaves have at least weight 5 (five rows). False grows the tree as for constant leaves.
    blend : float or "auto", default="auto"
        Above 0 the tests of the tree become soft: near a threshold the models of both sides are mixed (logistic
        routing), over ``blend`` times the typical distance of the node's rows from the threshold, and the models of all
        leaves are refitted jointly. Predictions become continuous; rows no longer follow one path. "auto" chooses
        between hard tests, hard tests with leaves of any weight (for outliers) and several degrees of softness by the
        squared error on held-out rows, which takes growing more trees. 0 keeps hard tests. Only trees of axis tests
        become soft.
    refine : bool or "auto", default="auto"
        Whether the tests of a soft tree are fitted too: starting from the soft tree, all tests and all models minimise
        the squared error jointly (up to 200 steps of L-BFGS, 60 from 33,000 rows on; a penalty keeps both near their
        starting values). Tests then combine columns. "auto" does so if ``blend="auto"``. False keeps one column in each
        test.
    clip : bool, default=True
        Whether predictions are kept within the range of y in the leaf; of soft tests within the range of all rows and
        half of it beyond that of the leaf.

    Notes
    -----
    A missing value is replaced by its column's mean, a category by the mean of y in it. X is copied once, as
    standardised float64.

    References
    ----------
    Quinlan: Learning with continuous classes, 1992. Shi, Li, Li: Gradient boosting with piece-wise linear regression
    trees, IJCAI 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from boscage import RidgeLeaf, TopDownTreeRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> y = np.where(X[:, 0] > 0, 3 * X[:, 1], -X[:, 1])
    >>> tree = TopDownTreeRegressor(leaf=RidgeLeaf(blend=0), max_leaf_nodes=2).fit(X, y)
    >>> tree.tree_.leaf_models.coef[:, 0].round(1) + 0.0
    array([[ 0., -1.],
           [ 0.,  3.]])
    """

    target: ClassVar[str] = "numbers"
    needs = frozenset({"rows", "hard"})
    strength = 10.0  # of the penalty of a joint fit
    least_weight = _LEAST_WEIGHT  # of a leaf
    folds_of_many: ClassVar[int] = 3  # a refined tree may err far off on few rows: one fifth need not show it

    def __init__(
        self,
        l2: float | str = "auto",
        *,
        grow: bool = True,
        blend: float | str = "auto",
        refine: bool | str = "auto",
        clip: bool = True,
    ) -> None:
        self.l2 = l2
        self.grow = grow
        self.blend = blend
        self.refine = refine
        self.clip = clip

    def check(self) -> None:
        """Refuse settings out of range."""
        for name in ("l2", "blend"):
            if getattr(self, name) != "auto":
                self._check_real(name, low=0, otherwise="'auto'")
        for name in ("grow", "clip"):
            self._check_choice(name, (True, False))
        self._check_choice("refine", ("auto", True, False))
        if self.refine is True and self.blend == 0:
            self._refuse("refine", "False or 'auto' with blend=0: hard tests are not refined")

    def candidates(self) -> list[Leaf]:
        """Return one leaf for each way to be tried: hard tests, soft ones, refined ones."""
        if self.blend != "auto":
            return [self]
        ways = _BLENDED if self.refine is False else _REFINED
        hard = [_Way(self, 0.0, 0.0, False, least) for least in (_LEAST_WEIGHT, 1.0)[: 2 if self.grow else 1]]
        return [*hard, *(_Way(self, *way) for way in ways)]

    @property
    def growth(self) -> Any:
        """The least weight of a leaf."""
        return self.least_weight

    def leaf_values(self, tree: Nodes) -> None:
        """Return None: constants stay those of the tree, beside the models."""

    def grows(self, job: Job) -> bool:
        """Whether this leaf grows its own tree for such a job."""
        from boscage.splits import Axis

        plain = type(job.splits) is Axis and job.max_features == 0
        return self.grow and plain and job.criterion.native()[0] == "squared_error"

    def grow_tree(self, job: Job) -> Tree:
        """Grow a tree for linear leaves; its models are in place."""
        job.native_target()  # refuses what the criterion does not know
        rows = _Rows.of(job)
        found = _core.grow_ridge_tree(rows.native(), self._settings(job, rows), job.threads, job.progress)
        tree = _pruned(_grown(found, rows, job), found["cost"])
        return self._with_models(tree[0], found, tree[1], rows)

    def _settings(self, job: Job, rows: _Rows) -> Any:
        limits, settings = job.limits, _core.RidgeSettings()
        settings.l2 = -1.0 if self.l2 == "auto" else float(self.l2)
        settings.max_leaves = min(limits.max_leaf_nodes or _MOST_LEAVES, 2**31 - 1)
        if limits.max_leaf_nodes is None and limits.max_depth is not None:
            settings.max_leaves = 2**31 - 1
        settings.max_depth = -1 if limits.max_depth is None else min(limits.max_depth, 2**31 - 1)
        settings.min_rows = limits.min_samples_leaf
        settings.min_rows_split = limits.min_samples_split
        settings.min_weight = max(self.least_weight, limits.min_weight_leaf)
        settings.min_gain = limits.min_drop / rows.scale / rows.scale
        settings.heaviest_first = job.growth.native() == "heaviest_first"
        return settings

    def finish(self, tree: Tree, job: Job) -> Tree:
        """Give a grown tree its models, and soft tests if asked."""
        if tree.is_soft:
            return self.refit(tree, job)
        if tree.leaf_models is None:
            rows = _Rows.of(job, tree.input_map)
            found = self._followed(tree, job, rows)
            tree, order = _pruned(tree, found["cost"])
            tree = self._with_models(tree, found, order, rows)
        if self.blend == 0:
            return tree
        from boscage.leaves._blend import blended

        return blended(tree, job, float(self.blend), self.strength, self.clip, refine=self.refine is True)

    def refit(self, tree: Tree, job: Job) -> Tree:
        """Fit the models of a tree again; its tests stay, soft ones too."""
        rows = _Rows.of(job, tree.input_map)
        hard = self._with_models(tree, self._followed(tree, job, rows), np.arange(tree.node_count), rows)
        if not tree.is_soft:
            return hard
        from boscage.leaves._blend import fitted_jointly

        return fitted_jointly(hard, hard, job, rows, self.strength or RidgeLeaf.strength, self.clip)

    def _followed(self, tree: Tree, job: Job, rows: _Rows) -> dict[str, Any]:
        from boscage.model.predict import apply

        leaf = apply(tree, job.data.X, job.threads)
        found: dict[str, Any] = _core.follow_ridge_tree(
            rows.native(),
            (tree.children_left, tree.children_right),
            leaf,
            self._settings(job, rows),
            job.threads,
            job.progress,
        )
        return found

    def _with_models(self, tree: Tree, found: dict[str, Any], order: npt.NDArray[Any], rows: _Rows) -> Tree:
        """Write the nodes' models, in units of y and of the columns, to the leaves of a pruned tree."""
        from boscage.tree import LeafModels, Schema

        nodes = order[tree.leaves]
        coef, intercept = rows.in_units(found["coef"][nodes], found["intercept"][nodes])
        bad = ~(np.isfinite(coef).all(axis=2) & (np.abs(intercept) <= _MOST))
        coef[bad], intercept[bad] = 0.0, rows.number(found["value"][nodes])[bad]
        seen = np.where(found["rows"][nodes] > 0, nodes, 0)  # the range of all rows for a leaf without any
        bounds = [rows.number(found[name][seen]) for name in ("low", "high")] if self.clip else [None, None]
        models = LeafModels(coef, intercept, *bounds)
        schema: Schema = replace(tree.schema, spread=rows.spread)
        return replace(tree, schema=schema, input_map=rows.map, leaf_models=models)


class _Way(RidgeLeaf):
    """A ridge leaf whose choices are made, with the strength of its joint fit: what validation compares."""

    def __init__(
        self, leaf: RidgeLeaf, blend: float, strength: float, refine: bool, least_weight: float = _LEAST_WEIGHT
    ) -> None:
        super().__init__(leaf.l2, grow=leaf.grow, blend=blend, refine=refine, clip=leaf.clip)
        self.strength, self.least_weight = strength, least_weight

    def candidates(self) -> list[Leaf]:
        """Return this leaf alone."""
        return [self]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Standardised rows, y of size about 1, weights, and the way back to the user's units."""

    Z: Floats
    y: Floats
    weight: Floats
    mean: Floats
    spread: Floats
    centre: Floats
    scale: float
    map: InputMap
    has_missing: npt.NDArray[np.bool_]

    @staticmethod
    def of(job: Job, given: InputMap | None = None) -> _Rows:
        """Standardise the rows of a job: categories as means of y, missing values at their column's mean.

        ``given`` says what stands for categories and missing values instead.
        """
        from boscage.tree import InputMap

        data = job.data
        if data.X.shape[1] > _MOST_COLUMNS:
            raise ValueError(
                f"leaf='linear' solves equations of all columns at once, and X has {data.X.shape[1]:,} columns. Pass "
                f"leaf='constant', or at most {_MOST_COLUMNS:,} columns."
            )
        if sparse.issparse(data.X) and data.X.shape[0] * data.X.shape[1] > _MOST_CELLS:
            raise ValueError(
                f"leaf='linear' makes a sparse X of shape {data.X.shape} dense, which would take too much memory. Pass "
                "leaf='constant', or fewer columns."
            )
        weight = np.ones(len(data.y)) if data.weight is None else data.weight
        Y = data.y.reshape(len(data.y), -1)
        scale = power_of_two(Y, job.data.weight)
        share = weight / weight.sum()
        centre = (share @ (Y / scale)) * scale
        y = np.ascontiguousarray((Y / scale) - centre / scale)
        Z: Floats = data.X.toarray() if sparse.issparse(data.X) else np.array(data.X, np.float64, order="C")
        Z = np.ascontiguousarray(Z, np.float64)
        if given is None:
            offset, codes = _category_means(data, Z, y[:, 0], weight)
        else:
            offset, codes = given.code_offset, given.codes
            _put_codes(data.n_categories, Z, offset, codes)
        present = ~np.isnan(Z)
        exponent = _to_moderate_size(Z)
        mass = share @ present
        mean = np.divide(share @ np.where(present, Z, 0.0), mass, out=np.zeros(Z.shape[1]), where=mass > 0)
        fill = mean if given is None or given.fill is None else _ldexp(given.fill, -exponent)
        Z = np.where(present, Z, fill) if not present.all() else Z
        Z -= mean
        size = np.abs(Z).max(axis=0)
        unit = np.where(size > 0, size, 1.0)
        spread = unit * np.sqrt(share @ (Z / unit) ** 2)
        Z /= np.where(spread > 0, spread, 1.0)
        # A column counts as constant where floats have no number for its spread, or for its inverse.
        in_units = _ldexp(spread, exponent)
        good = np.isfinite(in_units) & (in_units >= np.finfo(np.float64).tiny)
        Z[:, ~good] = 0.0
        # Shares may add up to a little more than 1.
        mean, fill = (np.clip(_ldexp(numbers, exponent), *_RANGE) for numbers in (mean, fill))
        return _Rows(
            np.ascontiguousarray(Z),
            y,
            np.ascontiguousarray(weight, np.float64),
            mean,
            np.where(good, in_units, 0.0),
            centre,
            scale,
            InputMap(fill=fill, code_offset=offset, codes=codes),
            np.asarray(~present.all(axis=0)),
        )

    def native(self) -> _core.NumberRows:
        """Return the rows as the core borrows them."""
        return _core.NumberRows(self.Z, self.y, self.weight)

    def within(self, size: float) -> _Rows:
        """Return the same rows with columns scaled down that hold larger numbers."""
        factor = np.minimum(1.0, size / np.maximum(np.abs(self.Z).max(axis=0), size))
        return self if (factor == 1).all() else replace(self, Z=self.Z * factor, spread=self.spread / factor)

    def sends_missing_left(self, found: dict[str, Any], node: int, column: int, bound: float) -> bool:
        """Whether missing values go left: with the column's mean, or to the heavier side where there were none."""
        if self.has_missing[column]:
            return bool(bound >= 0)
        weight = found["weight"]
        return bool(weight[found["children_left"][node]] > weight[found["children_right"][node]])

    def in_units(self, coef: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """Turn models of standardised rows into models of x and y; not finite where floats have no such numbers."""
        inverse = np.zeros_like(self.spread)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            np.divide(1.0, self.spread, out=inverse, where=self.spread > 0)
            plain: Floats = coef * inverse * self.scale
            constant: Floats = intercept * self.scale + self.centre - np.einsum("lkd,d->lk", plain, self.mean)
        return plain, constant

    def number(self, y: Floats) -> Floats:
        """Turn numbers of size 1 into units of y."""
        result: Floats = np.clip(y * self.scale + self.centre, -_MOST, _MOST)
        return result


def _to_moderate_size(Z: Floats) -> npt.NDArray[np.int64]:
    """Divide columns of very large or small numbers by powers of two, in place; return the exponents."""
    size = np.fmax(np.fmax.reduce(Z, axis=0, initial=0.0), -np.fmin.reduce(Z, axis=0, initial=0.0))
    exponent = np.where((size > 0) & ((size < 1e-140) | (size > 1e140)), np.frexp(size)[1], 0).astype(np.int64)
    for column in np.flatnonzero(exponent).tolist():
        Z[:, column] = _ldexp(Z[:, column], -exponent[column])
    return exponent


def _ldexp(numbers: Floats, exponent: Any) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        found: Floats = np.ldexp(numbers, exponent)
    return found


def _put_codes(n_categories: npt.NDArray[np.int64], Z: Floats, offset: Any, codes: Any) -> None:
    """Put the given numbers in place of categories."""
    for column in np.flatnonzero(n_categories):
        present = ~np.isnan(Z[:, column])
        Z[present, column] = codes[offset[column] + Z[present, column].astype(np.int64)]


def _category_means(
    data: Dataset, Z: Floats, y: Floats, weight: Floats
) -> tuple[npt.NDArray[np.int64] | None, Floats | None]:
    """Put the mean of y, drawn towards that of all rows as by one more row of mean weight, in place of categories."""
    n_categories = data.n_categories
    if not n_categories.any():
        return None, None
    offset = np.where(n_categories > 0, np.cumsum(n_categories) - n_categories, -1)
    codes = np.zeros(int(n_categories.sum()))
    one_row = mean_row_weight(data)
    for column in np.flatnonzero(n_categories):
        present = ~np.isnan(Z[:, column])
        cell, count = Z[present, column].astype(np.int64), int(n_categories[column])
        mass = np.bincount(cell, weight[present], count)
        means = np.bincount(cell, weight[present] * y[present], count) / (mass + one_row)
        codes[offset[column] : offset[column] + count] = means
        Z[present, column] = means[cell]
    return offset, codes


def _grown(found: dict[str, Any], rows: _Rows, job: Job) -> Tree:
    """Make a tree of the core's arrays: tests in the user's units, categories as sets."""
    from boscage.tree import Tree

    data, n = job.data, len(found["feature"])
    threshold, missing = np.zeros(n), np.zeros(n, np.bool_)
    offset, bits = np.full(n, -1, np.int64), []
    plain = data.X.toarray() if sparse.issparse(data.X) else data.X
    used = 0
    for node in np.flatnonzero(found["feature"] >= 0).tolist():
        column = int(found["feature"][node])
        bound = found["edge"][node]
        if data.n_categories[column]:
            assert rows.map.codes is not None
            assert rows.map.code_offset is not None
            begin, count = int(rows.map.code_offset[column]), int(data.n_categories[column])
            numbers = (rows.map.codes[begin : begin + count] - rows.mean[column]) / (rows.spread[column] or 1.0)
            packed = np.packbits(numbers <= bound, bitorder="little")
            offset[node], used = used, used + len(packed)
            bits.append(packed)
            missing[node] = rows.sends_missing_left(found, node, column, bound)
            continue
        goes_left = rows.Z[:, column] <= bound
        x = plain[:, column]
        low, high = float(np.nanmax(x[goes_left])), float(np.nanmin(x[~goes_left]))
        middle = low / 2 + high / 2
        threshold[node] = middle if low <= middle < high else low
        missing[node] = rows.sends_missing_left(found, node, column, bound)
    return Tree(
        children_left=found["children_left"],
        children_right=found["children_right"],
        feature=found["feature"],
        threshold=threshold,
        missing_go_to_left=missing,
        category_offset=offset,
        category_bits=np.concatenate(bits) if bits else np.empty(0, np.uint8),
        value=rows.number(found["value"]),
        n_node_samples=found["rows"],
        weighted_n_node_samples=found["weight"],
        impurity=np.minimum(found["impurity"] * rows.scale, 1e300 / rows.scale) * rows.scale,
        schema=data.schema,
        target="numbers",
    )


def _pruned(tree: Tree, cost: Floats) -> tuple[Tree, npt.NDArray[Any]]:
    """Make leaves of nodes whose subtree has no smaller cost; return the tree and the old numbers of its nodes."""
    best = np.array(cost)
    price = np.log(2 * _CUTS * tree.n_features)  # of the search for a test, in units of the variance left over
    collapsed = np.zeros(tree.node_count, np.bool_)
    for node in np.flatnonzero(~tree.is_leaf)[::-1].tolist():
        below = best[tree.children_left[node]] + best[tree.children_right[node]]
        below *= 1 + price / tree.weighted_n_node_samples[node]
        collapsed[node] = best[node] <= below
        best[node] = min(best[node], below)
    if not collapsed.any():
        return tree, np.arange(tree.node_count)
    order = surviving_nodes(tree, collapsed)[0]
    return collapse(tree, collapsed), order
