"""What forests of classes and of numbers share: parameters, fitting, and looking at single trees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from boscage.base.callbacks import CallbackSupport
from boscage.base.component import PartsByName, resolve
from boscage.base.named_parameters import NamedParameters
from boscage.base.numbers import check_number, is_flag
from boscage.base.progress import Progress
from boscage.base.threads import n_threads
from boscage.data.validation import Dataset, predict_data, publish
from boscage.engine.estimator import of_one_fit
from boscage.engine.finish import Finish, choose
from boscage.engine.grow import Job, Limits
from boscage.engine.top_down import seed_of
from boscage.files import ModelState, save
from boscage.forest._bags import Bags, bags_from_json, bags_to_json, check_bags
from boscage.forest._batches import ForestBatches
from boscage.forest._grow import TreeGrower, grow_trees
from boscage.forest._out_of_bag import OutOfBag, out_of_bag_means
from boscage.forest._proximity import proximity
from boscage.forest._quantiles import LeafTargets
from boscage.forest._views import ForestViews
from boscage.leaves import RefitLeaves, refit_part
from boscage.model.many_trees import ManyTrees
from boscage.tree import Floats, Int64s, Tree

_OUT_OF_BAG = {"oob_score_", "oob_decision_function_", "oob_prediction_"}
_OPTIONAL = _OUT_OF_BAG | {"feature_names_in_", "_leaf_targets", "reading_"}
_STATE_KEYS = {"seed", "rows", "exponent", "oob_score"}


class BaseForest(NamedParameters, PartsByName, OutOfBag, ForestBatches, ForestViews, CallbackSupport, BaseEstimator):  # type: ignore[misc]
    """Trees grown on samples of the rows. What is specific to a kind of target is in the subclasses."""

    _many_trees: ClassVar[bool] = True
    _tree_class: ClassVar[Any]
    trees_: ManyTrees
    n_features_in_: int
    n_jobs: int | None
    verbose: bool | None
    n_estimators: int
    bootstrap: bool | str
    max_samples: Any
    max_features: Any
    oob_score: Any
    warm_start: bool
    random_state: Any
    splits: Any
    ccp_alpha: float
    refit: Any
    class_weight: Any = None
    _bags: tuple[Bags, ...]
    _exponent: float = 1.0
    _is_refit: bool = False
    _score_name: ClassVar[str]

    # ---- fitting -------------------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Grow the trees; nothing on self is changed before all of them are there."""
        self._check_settings()
        tree = self._tree()
        job, leaf = tree._job(X, y, sample_weight, named=self)
        refit = refit_part(self.refit)
        if refit is not None:
            refit.check_parts(job.splits, leaf, job.criterion)
        earlier = self._earlier(job)
        seed = seed_of(self.random_state) if earlier is None else earlier.bags[0].seed
        drawn = Bags.of(seed, job.data.X.shape[0], self.bootstrap, self.max_samples, balanced=self._is_balanced_by_bag)
        bags, numbers = self._each_bag(drawn, earlier)
        self._check_out_of_bag(bags)
        finish = choose(job, tree._grow, Finish(self.ccp_alpha, None, leaf, False))
        limits = tree._limits(job.data.X.shape[0], job.data.mass)
        trees = grow_trees(TreeGrower(job, drawn, finish, limits), numbers, n_threads(self.n_jobs), self.verbose)

        def one_leaf() -> Tree:
            grown: Tree = job.splits.grow(replace(job, limits=Limits(max_leaf_nodes=1), progress=None))
            return grown

        found = self._of_one_schema(trees, job.data, earlier, one_leaf)
        if refit is not None:
            found = self._refitted(found, refit, job)
        facts = self._out_of_bag(bags, partial(out_of_bag_means, found, job.data.X, bags, self.n_jobs), job.data)
        facts |= self._kept_rows(found, job) | {"_is_refit": refit is not None}
        self._publish(job.data, trees_=found, _bags=bags, **facts)

    def _check_settings(self) -> None:
        check_number("n_estimators", self.n_estimators, "an integer >= 1", 1, whole=True)
        check_bags(self.bootstrap, self.max_samples)
        resolve("splits", self.splits, forest=True)
        if not is_flag(self.oob_score) and not callable(self.oob_score):
            raise ValueError(f"oob_score={self.oob_score!r} is not allowed. Pass True, False or a function.")
        if not is_flag(self.warm_start):
            raise ValueError(f"warm_start={self.warm_start!r} is not allowed. Pass True or False.")

    def _tree(self, **changed: Any) -> Any:
        """Return an estimator of one tree with the parameters of the forest."""
        names = set(self._tree_class._get_param_names())
        given = {name: value for name, value in self.get_params(deep=False).items() if name in names}
        given |= {"max_features": self._max_features(), "random_state": 0}
        if given.get("class_weight") == "balanced_subsample":
            given["class_weight"] = None
        return self._tree_class(**(given | changed))

    def _max_features(self) -> Any:
        if self.max_features != "auto":
            return self.max_features
        splits: Any = resolve("splits", self.splits)
        return splits.forest_max_features

    def _each_bag(self, drawn: Bags, earlier: Any) -> tuple[tuple[Bags, ...], range]:
        """Return the bags of all trees, those of an earlier fit first, and the numbers of the trees to grow."""
        before = () if earlier is None else earlier.bags
        numbers = range(len(before), self.n_estimators)
        return (*before, *[drawn] * len(numbers)), numbers

    @property
    def _is_balanced_by_bag(self) -> bool:
        return isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample"

    def _earlier(self, job: Job) -> Any:
        """Return the fit that ``warm_start`` continues, or None."""
        if not self.warm_start or "trees_" not in self.__dict__:
            return None
        trees: ManyTrees = self.trees_
        if len(trees) > self.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {len(trees)} trees there are. With warm_start=True "
                "pass at least as many."
            )
        if len(trees) == self.n_estimators:
            warnings.warn(
                "warm_start=True and n_estimators is the number of trees there are: no tree is grown.",
                UserWarning,
                stacklevel=5,
            )
        fresh, old = job.data.schema, trees.schema
        if self.refit is None and self._is_refit:
            raise ValueError(
                "warm_start=True cannot be combined with refit=None here: the leaves of the trees there are were "
                "fitted together. Pass refit='leaves' again, or warm_start=False to start anew."
            )
        if replace(fresh, spread=old.spread, missing=old.missing) != old or not self._same_target(job.data):
            raise ValueError(
                "warm_start=True needs the columns and classes of the earlier fit. Pass warm_start=False to start anew."
            )
        return SimpleNamespace(trees=trees, bags=self._bags)

    def _refitted(self, trees: ManyTrees, refit: RefitLeaves, job: Job) -> ManyTrees:
        """Fit the leaves of all trees together, on all rows of the job."""
        rows = Bags.of(0, job.data.X.shape[0], False, None, balanced=self._is_balanced_by_bag)
        with Progress("fitting leaves: steps", self.verbose) as progress:
            data = rows.data(job.data, 0, keep_all=True)
            return refit.fit(trees, replace(job, data=data, progress=progress.callback))

    def _same_target(self, data: Dataset) -> bool:
        raise NotImplementedError

    # ---- out of bag ----------------------------------------------------------------------------------------------

    def _wants_out_of_bag(self) -> dict[str, Any]:
        """Return the parameters that need rows out of bag."""
        return {"oob_score": self.oob_score} if self.oob_score else {}

    def _check_out_of_bag(self, bags: Sequence[Bags]) -> None:
        for name, value in self._wants_out_of_bag().items():
            self._refuse_without_bags(bags, f"{name}={value!r} cannot be combined", is_refit=self.refit is not None)

    def _refuse_without_bags(self, bags: Sequence[Bags], what: str, *, is_refit: bool) -> None:
        if is_refit:
            raise ValueError(
                f"{what} with refit={self.refit or 'leaves'!r}: the leaves of all trees are fitted to all rows, so "
                "that none are out of bag. Pass refit=None, or compare on rows of your own."
            )
        if not any(own.leaves_out for own in bags):
            raise ValueError(
                f"{what} with bootstrap={self.bootstrap!r} and max_samples={self.max_samples!r}: every tree sees all "
                "rows, so that none are out of bag. Pass bootstrap=True or max_samples=0.8."
            )

    def _needs_out_of_bag(self, bags: Sequence[Bags]) -> bool:
        return self.refit is None and any(own.leaves_out for own in bags) and bool(self._wants_out_of_bag())

    @staticmethod
    def _of_one_schema(trees: list[Tree], data: Dataset, earlier: Any, one_leaf: Callable[[], Tree]) -> ManyTrees:
        """Give all trees the same columns: each has measured the spreads on its own rows, ``one_leaf`` does on all."""
        if earlier is not None:
            schema = earlier.trees.schema
            return ManyTrees([*earlier.trees, *(replace(tree, schema=schema) for tree in trees)])
        schema = data.schema
        if trees[0].schema.spread is not None:
            schema = replace(schema, spread=one_leaf().schema.spread)
        return ManyTrees([replace(tree, schema=schema) for tree in trees])

    def _out_of_bag(
        self,
        bags: Sequence[Bags],
        find: Callable[[], tuple[Floats, Int64s]],
        data: Dataset,
        seen: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return what the rows out of bag tell, as fitted attributes.

        ``find`` returns mean predictions out of bag and the number of their trees; it may put targets into ``seen``.
        """
        if not self._needs_out_of_bag(bags):
            return self._facts(None, data, bags)
        known = {own.rows for own in bags}
        if len(known) > 1:
            raise ValueError(
                f"warm_start=True with out-of-bag rows needs the rows of the earlier fit, but trees were grown on "
                f"{' and '.join(map(str, sorted(known)))} rows of positive weight. Pass the same rows, or "
                "oob_score=False and (of a classifier) calibrate=False, or warm_start=False to start anew."
            )
        means, count = find()
        if self.oob_score and not count.all():
            warnings.warn(
                f"{int((count == 0).sum())} rows are in the bag of every tree and have no out-of-bag prediction. "
                "Pass a larger n_estimators.",
                UserWarning,
                stacklevel=5,
            )
        return self._facts(means, replace(data, **seen) if seen else data, bags)

    def _kept_rows(self, trees: ManyTrees, job: Job) -> dict[str, Any]:
        """Return what a fitted forest keeps of its rows, as attributes."""
        return {}

    def _facts(self, means: Floats | None, data: Dataset, bags: Sequence[Bags]) -> dict[str, Any]:
        """Return the fitted attributes that depend on the kind of target; ``means`` are out of bag, NaN where none."""
        raise NotImplementedError

    def _all_rows(self, found: Floats, data: Dataset) -> Floats:
        """Return an array with a line for each row of the user's X; NaN for rows of weight 0."""
        if data.kept is None:
            return found
        lines = np.full((data.n_given, *found.shape[1:]), np.nan)
        lines[data.kept] = found
        return lines

    def _publish(self, data: Dataset, **found: Any) -> None:
        """Set what a fit has found in one step."""
        publish(self, data, _OPTIONAL, found)

    # ---- prediction ----------------------------------------------------------------------------------------------

    def _rows(self, X: Any) -> tuple[ManyTrees, Any]:
        """Return the trees and the checked rows; call it on a snapshot of one fit."""
        check_is_fitted(self, "trees_")
        rows = predict_data(self, X, accept_sparse=True)
        if self.trees_.needs_numbers and np.isnan(rows.data if sparse.issparse(rows) else rows).any():
            raise ValueError(
                f"Input X contains NaN. This {type(self).__name__} has linear tests and was fitted on rows without "
                "NaN, so it has no values to replace them with. Fill missing values first, for example with "
                "sklearn.impute.SimpleImputer."
            )
        return self.trees_, rows

    @of_one_fit
    def apply(self, X: Any) -> Int64s:
        """Return the leaf that each row ends up in, for each tree.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_estimators)
            Node numbers; in soft trees, of the most probable leaf.
        """
        trees, rows = self._rows(X)
        return trees.apply(rows, self.n_jobs)

    @of_one_fit
    def proximity(self, X: Any, other: Any = None) -> Floats:
        """Return the similarity of rows: the share of the trees in which two rows end in the same leaf.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Rows.
        other : array-like, DataFrame or sparse matrix of shape (m, d), optional
            Rows to compare them with. Default: X itself.

        Returns
        -------
        ndarray of shape (n, m)
            From 0 to 1.
        """
        leaves = self.apply(X)
        return proximity(leaves, leaves if other is None else self.apply(other))

    def _html_repr(self) -> str:
        """HTML of scikit-learn, and below it the top of the first tree."""
        shown: str = super()._html_repr()
        if "trees_" not in self.__dict__:
            return shown
        from boscage.show.notebook import tree_html

        names = {"class_names": [str(label) for label in vars(self)["classes_"]]} if "classes_" in vars(self) else {}
        head = f"<p>{len(self.trees_):,} trees, of which the first is</p>"
        return shown + head + tree_html(self.trees_[0], **names)

    # ---- files ---------------------------------------------------------------------------------------------------

    @of_one_fit
    def save(self, path: str | Path) -> Path:
        """Save the forest to a file that :func:`boscage.load` can read; it contains data, never code.

        The file contains all that prediction needs, and all parameters except ``n_jobs`` and ``verbose``. Parameters
        that are not data, such as functions, are omitted, and loading warns about them.

        Parameters
        ----------
        path : str or path-like
            The file to write. If writing fails, an existing file is left unchanged.

        Returns
        -------
        Path
            The path.
        """
        check_is_fitted(self, "trees_")
        score = self.__dict__.get("oob_score_")
        meta: dict[str, Any] = {
            "seed": int(self._bags[-1].seed),
            "rows": int(self._bags[-1].rows),
            "bags": bags_to_json(self._bags),
            "exponent": float(self._exponent),
            "oob_score": None if score is None or not np.isfinite(score) else float(score),
        }
        if self._is_refit:
            meta["refit"] = True
        kept: LeafTargets | None = self.__dict__.get("_leaf_targets")
        return save(self, path, ModelState({} if kept is None else kept.tensors(), meta))

    def _restore_state(self, state: ModelState) -> None:
        meta = state.meta
        is_refit = meta.get("refit") is True
        if meta.keys() - {"bags"} != _STATE_KEYS | ({"refit"} if is_refit else set()):
            raise ValueError("the state of a forest must have " + ", ".join(sorted(_STATE_KEYS)))
        for name in ("seed", "rows"):
            if type(meta[name]) is not int or not 0 <= meta[name] < 2**63:
                raise ValueError(f"{name} of a forest must be an integer >= 0")
        for name in ("exponent", "oob_score"):
            if not (name == "oob_score" and meta[name] is None) and type(meta[name]) is not float:
                raise ValueError(f"{name} of a forest must be a number")
        if not 0 < meta["exponent"] <= 1000 or not np.isfinite(meta["oob_score"] or 0.0):
            raise ValueError("exponent or oob_score of a forest is out of range")
        if is_refit and self.trees_[0].target == "classes":
            if any(tree.is_soft or tree.leaf_models or (tree.leaf_proba <= 0).any() for tree in self.trees_):
                raise ValueError("leaves of a forest were fitted together, but some give a class no probability")
            self.trees_ = ManyTrees(self.trees_.trees, geometric=True)
        if state.tensors:
            self._leaf_targets = LeafTargets.from_tensors(state.tensors, self.trees_, meta["rows"])
        if "bags" in meta:
            self._bags = bags_from_json(meta["bags"], meta["seed"], len(self.trees_))
        else:  # a file of an older version
            drawn = Bags.of(meta["seed"], meta["rows"], self.bootstrap, self.max_samples)
            self._bags = (drawn,) * len(self.trees_)
        self._is_refit, self._exponent = is_refit, meta["exponent"]
        if meta["oob_score"] is not None:
            self.oob_score_ = meta["oob_score"]

    def __getstate__(self) -> dict[str, Any]:
        return dict(super().__getstate__())  # in one step, unlike a walk over the attributes

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the chosen family can take."""
        tags = super().__sklearn_tags__()
        given: object = self.splits
        splits: Any = None if given is None else resolve("splits", given)
        tags.input_tags.allow_nan = splits is None or splits.allows_missing
        tags.input_tags.sparse = splits is not None and splits.allows_sparse
        return tags
