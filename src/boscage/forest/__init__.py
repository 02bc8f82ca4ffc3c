"""Forests: many trees, each grown on its own sample of the rows, whose predictions are averaged."""

from boscage.forest._classifier import ForestClassifier
from boscage.forest._regressor import ForestRegressor

__all__ = ["ForestClassifier", "ForestRegressor"]
