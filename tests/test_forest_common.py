"""scikit-learn's own checks on forests: no failure is expected but those it expects of its own forests."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from boscage import ForestClassifier, ForestRegressor, Gamma

WEIGHTS = "rows are drawn uniformly and weights multiply: with a bootstrap, weight 2 is not the row twice"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}


def expected(estimator):
    return EXPECTED if estimator.bootstrap or estimator.max_samples is not None else {}


@parametrize_with_checks(
    [
        ForestClassifier(4),
        ForestClassifier(4, bootstrap=False, max_samples=0.6),
        ForestClassifier(5, splits="axis"),
        ForestClassifier(5, splits="axis", bootstrap=False),
        ForestClassifier(4, splits="wodt", bootstrap="bayesian"),
        ForestClassifier(3, splits="oblique", leaf="linear", max_leaf_nodes=4),
        ForestClassifier(3, splits="stochastic", max_leaf_nodes=4, max_samples=0.7),
        ForestClassifier(3, refit="leaves", max_leaf_nodes=4, bootstrap=False),
        ForestRegressor(5),
        ForestRegressor(5, "axis"),
        ForestRegressor(5, "axis", bootstrap=False),
        ForestRegressor(2, "axis", Gamma()),
        ForestRegressor(2, "axis", "absolute_error"),
        ForestRegressor(2, "stochastic", max_leaf_nodes=4),
        ForestRegressor(4, refit="leaves", max_leaf_nodes=8),
    ],
    expected_failed_checks=expected,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_only_what_scikit_learn_expects_of_its_own_forests():
    instances = pytest.importorskip("sklearn.utils._test_common.instance_generator")
    from sklearn.ensemble import RandomForestClassifier

    assert EXPECTED.keys() <= instances.PER_ESTIMATOR_XFAIL_CHECKS[RandomForestClassifier].keys()
