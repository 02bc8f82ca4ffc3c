"""Who takes part in a comparison: every tree that exists here, scikit-learn's, and the peers that are installed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin

from boscage._compare_types import Contender, Provider, Settings, Task


def top_down_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """Every registered split family with each criterion that goes with it; categories one-hot coded if need be."""
    from sklearn.pipeline import make_pipeline

    from boscage import TopDownTreeClassifier
    from boscage._component import IncompatibleParts, check_compatible, data_fact, names, resolve

    facts = data_fact(task.n_classes, has_missing=task.has_missing)
    limits = settings.limits | {"n_jobs": settings.n_jobs, "random_state": settings.seed, "verbose": False}

    def tree(parts: dict[str, Any], takes_categories: bool) -> Any:
        if takes_categories or not task.categorical_features:
            categorical = list(task.categorical_features) or None
            return TopDownTreeClassifier(**parts, categorical_features=categorical)
        return make_pipeline(*_preparation(task, linear=False), TopDownTreeClassifier(**parts))

    for family in names("splits"):
        for criterion in names("criterion"):
            splits: Any = resolve("splits", family)
            try:
                check_compatible(splits=splits, criterion=resolve("criterion", criterion), data=facts)
            except IncompatibleParts:
                continue
            parts = {"splits": family, "criterion": criterion} | limits
            # A linear test has one weight per column, so it does far better on one-hot codes than on category numbers.
            by_name = splits.allows_categories and "linear tests" not in splits.provides
            yield Contender(family, criterion, partial(tree, parts, by_name), True)


def optimal_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """Give the proven optimal tree of depth 3 (or less), category columns one-hot coded, no missing cells.

    A search that meets its time limit keeps its best tree and says so in a warning.
    """
    from sklearn.pipeline import make_pipeline

    from boscage import OptimalTreeClassifier

    if task.has_missing or issparse(task.X):
        return
    depth = min(settings.max_depth or 3, 3)

    def optimal() -> Any:
        model = OptimalTreeClassifier(max_depth=depth, time_limit=30, n_jobs=settings.n_jobs, verbose=False)
        return make_pipeline(*_preparation(task, linear=False), model)

    yield Contender("optimal", f"depth {depth}", optimal)


def scikit_learn_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """scikit-learn's tree and its logistic regression; both see category columns one-hot coded."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    def tree(criterion: str) -> Any:
        model = DecisionTreeClassifier(criterion=criterion, random_state=settings.seed, **settings.limits)
        return make_pipeline(*_preparation(task, linear=False), model)

    def logistic() -> Any:
        return make_pipeline(*_preparation(task, linear=True), LogisticRegression(max_iter=1000))

    yield Contender("sklearn tree", "gini", lambda: tree("gini"))
    yield Contender("sklearn tree", "entropy", lambda: tree("entropy"))
    yield Contender("sklearn logistic", "", logistic)


def online_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """Give the online classifier, on filled, scaled and one-hot coded columns; few classes make it a linear model."""
    from sklearn.pipeline import make_pipeline

    from boscage import OnlineTreeClassifier

    def online() -> Any:
        model = OnlineTreeClassifier(random_state=settings.seed, n_jobs=settings.n_jobs)
        return make_pipeline(*_preparation(task, linear=True), model)

    has_tree = task.n_classes > OnlineTreeClassifier().flat_below
    yield Contender("online", "class tree" if has_tree else "linear", online)


def peer_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """Give the trees of other packages, where they are installed: obliquetree, and ConTree's optimal trees."""
    from sklearn.pipeline import make_pipeline

    if task.has_missing or issparse(task.X):
        return
    steps = partial(_preparation, task, linear=False)

    def peer(package: str, **options: Any) -> Any:
        return make_pipeline(*steps(), PeerTree(package, options))

    if find_spec("obliquetree") is not None:
        limits = {"max_depth": settings.max_depth if settings.max_depth is not None else -1}
        limits |= {"min_samples_leaf": settings.min_samples_leaf, "random_state": settings.seed}
        yield Contender("obliquetree", "", partial(peer, "obliquetree", use_oblique=True, **limits))
    if find_spec("pycontree") is not None:
        depth = min(settings.max_depth or 3, 3)
        yield Contender("contree", f"depth {depth}", partial(peer, "pycontree", max_depth=depth, time_limit=30))


class PeerTree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of another package with labels of any type.

    Parameters
    ----------
    package : {"obliquetree", "pycontree"}
        Where it comes from.
    options : dict
        Handed to it.
    """

    def __init__(self, package: str, options: dict[str, Any]) -> None:
        self.package = package
        self.options = options

    def fit(self, X: Any, y: Any) -> PeerTree:
        """Fit the other package's tree to labels 0, 1, …."""
        rows = np.ascontiguousarray(np.asarray(X, dtype=np.float64))
        self.classes_, codes = np.unique(y, return_inverse=True)
        name = {"obliquetree": "Classifier", "pycontree": "ConTree"}[self.package]
        self.model_ = getattr(import_module(self.package), name)(**self.options)
        self.model_.fit(rows, codes.astype(np.int64))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels."""
        found = self.model_.predict(np.ascontiguousarray(np.asarray(X, dtype=np.float64)))
        labels: NDArray[Any] = self.classes_[np.asarray(found).astype(np.int64)]
        return labels


PROVIDERS: list[Provider] = [
    top_down_contenders,
    online_contenders,
    optimal_contenders,
    scikit_learn_contenders,
    peer_contenders,
]
"""Where contenders come from, in the order they are run."""


def contenders(task: Task, settings: Settings) -> list[Contender]:
    """All contenders that make sense for a task."""
    return [contender for provider in PROVIDERS for contender in provider(task, settings)]


def _preparation(task: Task, *, linear: bool) -> list[Any]:
    """Pipeline steps for a model of plain numbers: fill and scale if it is linear, one-hot categories."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    steps: list[Any] = []
    if linear:
        fill = [SimpleImputer()] if task.has_missing else []
        steps = [*fill, StandardScaler(with_mean=not issparse(task.X))]
    if not task.categorical_features:
        return steps
    numeric = [j for j in range(task.X.shape[1]) if j not in task.categorical_features]
    numbers = make_pipeline(*steps) if steps else "passthrough"
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return [make_column_transformer((one_hot, list(task.categorical_features)), (numbers, numeric))]
