"""An estimator that learns nothing: it only checks its input."""

from types import SimpleNamespace

from sklearn.base import BaseEstimator, ClassifierMixin

from boscage.data.column_kinds import CategoryRule
from boscage.data.validation import fit_data, predict_data, set_data_attributes


class Checker(ClassifierMixin, BaseEstimator):
    def __init__(
        self,
        categorical_features="from_dtype",
        class_weight=None,
        allow_nan=True,
        accept_sparse=False,
        allow_categories=True,
    ):
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.allow_nan = allow_nan
        self.accept_sparse = accept_sparse
        self.allow_categories = allow_categories

    def fit(self, X, y, sample_weight=None):
        self.data_ = data = fit_data(
            self,
            X,
            y,
            sample_weight,
            class_weight=self.class_weight,
            categories=CategoryRule(self.categorical_features, self.allow_categories, self.allow_categories),
            allow_nan=self.allow_nan,
            accept_sparse=self.accept_sparse,
        )
        self.tree_ = SimpleNamespace(schema=data.schema)
        set_data_attributes(self, data)
        return self

    def rows(self, X):
        return predict_data(self, X, accept_sparse=self.accept_sparse)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.allow_nan
        tags.input_tags.sparse = self.accept_sparse
        return tags
