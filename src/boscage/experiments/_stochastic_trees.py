"""The stochastic trees that the experiments compare, and how one of them is chosen on training rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from boscage.leaves import Frequency
from boscage.splits.stochastic import StochasticLinear
from boscage.top_down import TopDownTreeClassifier

Make = Callable[[], Any]
PUBLISHED = "as published"
CHOSEN = "chosen on training rows"
_UNIT: dict[str, Any] = {"scale": "unit", "fit_intercept": False}
_STANDARD: dict[str, Any] = {"scale": "standard", "fit_intercept": False}


def tree(leaf: Any = "frequency", *, search: str = "exact", rows: dict[str, Any] | None = None, **limits: Any) -> Any:
    """Make a tree; ``rows`` are the settings of the family that scale rows, unit rows without a constant by default."""
    lookahead = limits.pop("lookahead", False)
    family = StochasticLinear(search, lookahead=lookahead, **(_UNIT if rows is None else rows))
    return TopDownTreeClassifier(family, leaf=leaf, verbose=False, **limits)


def published(leaf: Any = "frequency", rows: dict[str, Any] | None = None, **limits: Any) -> Any:
    """Make the paper's tree: Algorithm 3 with ε = 0.1 on unit rows."""
    return tree(leaf, search="fixed_p_search_q", rows=rows, **limits)


def variants(columns: str = "unit", **limits: Any) -> dict[str, Make]:
    """Return the trees of Figure 1 and of appendix I.1: the paper's, then ours.

    ``columns`` is what is done to columns before rows are divided by their norms: nothing ("unit"), or "standard". The
    paper does not say it. One variant has the other choice.
    """
    rows: dict[str, Any] = {"scale": columns, "fit_intercept": False}
    other, name = (_UNIT, "columns as they are") if columns == "standard" else (_STANDARD, "standardised columns")
    return {
        PUBLISHED: partial(published, rows=rows, **limits),
        "as published, majority leaves": partial(published, "majority", rows=rows, **limits),
        f"as published, {name}": partial(published, rows=other, **limits),
        "as published, with a constant": partial(published, rows={**rows, "fit_intercept": True}, **limits),
        "exact search": partial(tree, rows=rows, **limits),
        "joint leaves": partial(tree, Frequency(joint=True), rows=rows, **limits),
        "default rows": partial(tree, rows={}, **limits),
        "default rows, joint leaves": partial(tree, Frequency(joint=True), rows={}, **limits),
        "look-ahead, joint leaves": partial(tree, Frequency(joint=True), rows=rows, lookahead=True, **limits),
    }


class ChosenOnTrainingRows:
    """Fits the candidate that is right most often in 5-fold cross-validation of the training rows."""

    def __init__(self, candidates: dict[str, Make]) -> None:
        self.candidates = candidates

    def fit(self, X: Any, y: Any) -> ChosenOnTrainingRows:
        """Choose a candidate and fit it on all rows."""
        folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
        right = {
            name: sum(make().fit(X[train], y[train]).score(X[test], y[test]) for train, test in folds)
            for name, make in self.candidates.items()
        }
        self.name_ = max(right, key=lambda name: right[name])
        self.model_ = self.candidates[self.name_]().fit(X, y)
        return self

    def score(self, X: Any, y: Any) -> float:
        """Accuracy."""
        return float(self.model_.score(X, y))


class ScaledSVM:
    """Linear SVM on standardised columns."""

    def fit(self, X: Any, y: Any) -> ScaledSVM:
        """Fit on standardised columns."""
        self.scaler = StandardScaler().fit(X)
        self.svm = LinearSVC(dual="auto", max_iter=20_000).fit(self.scaler.transform(X), y)
        return self

    def score(self, X: Any, y: Any) -> float:
        """Accuracy."""
        return float(self.svm.score(self.scaler.transform(X), y))


def peers(depth: int) -> dict[str, Make]:
    """Return CART with a limit of depth, and a linear SVM."""
    return {"CART": lambda: DecisionTreeClassifier(max_depth=depth, random_state=0), "linear SVM": ScaledSVM}


def soft_error(make: Make, X: Any, y: Any) -> float:
    """Mean of |y − ŷ| on the training rows, ŷ the predicted probability of class 1."""
    probability = make().fit(X, y).predict_proba(X)[:, 1]
    return float(np.abs(y - probability).mean())
