"""Models of other packages behind scikit-learn's methods."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator


class PeerModel(BaseEstimator):  # type: ignore[misc]
    """A model of another package, which sees classes as 0, 1, … and dense rows as C-contiguous float64.

    Parameters
    ----------
    package : str
        Where it comes from.
    name : str
        The class in that package; one that ends in "Regressor" takes the target as it is.
    options : dict
        Passed to it.
    """

    def __init__(self, package: str, name: str, options: dict[str, Any]) -> None:
        self.package = package
        self.name = name
        self.options = options

    def fit(self, X: Any, y: Any) -> PeerModel:
        """Fit the other package's model."""
        target = np.asarray(y)
        if self._has_classes:
            self.classes_, codes = np.unique(target, return_inverse=True)
            target = codes.astype(np.int64)
        self.model_ = getattr(import_module(self.package), self.name)(**self.options)
        if hasattr(self.model_, "predict_proba"):
            self.predict_proba = self._predict_proba
        self.model_.fit(_rows(X), target)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels or numbers."""
        found = np.asarray(self.model_.predict(_rows(X)))
        return self.classes_[found.astype(np.int64)] if self._has_classes else found

    def _predict_proba(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(self.model_.predict_proba(_rows(X)), dtype=np.float64)

    @property
    def _has_classes(self) -> bool:
        return not self.name.endswith("Regressor")


def _rows(X: Any) -> Any:
    return X if issparse(X) else np.ascontiguousarray(np.asarray(X, dtype=np.float64))
