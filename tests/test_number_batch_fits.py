"""The regressor over batches: the tree of fit, to the byte, and its predictions in a file."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from boscage import TopDownTreeRegressor
from boscage.splits import Axis


@pytest.mark.parametrize("splits", [Axis(max_bins=32), "stochastic"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_tree_of_fit(splits, weighted, rng, tmp_path):
    X, y = rng.normal(size=(5000, 4)), rng.lognormal(size=5000)
    weight = rng.exponential(size=5000) if weighted else None
    parts = [slice(0, 1), slice(1, 3000), slice(3000, 5000)]
    batches = [(X[i], y[i]) + (() if weight is None else (weight[i],)) for i in parts]
    model = TopDownTreeRegressor(splits=splits, max_leaf_nodes=15, random_state=0)
    one = model.fit(X, y, sample_weight=weight)
    predicted, tree = one.predict(X), one.tree_
    again = TopDownTreeRegressor(splits=splits, max_leaf_nodes=15, random_state=0).fit_batches(batches)
    for name in ("children_left", "feature", "threshold", "value", "impurity", "weights"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(again.tree_, name), err_msg=name)
    np.testing.assert_array_equal(again.predict(X), predicted)
    assert again.predict_batches(batches, tmp_path / "numbers.parquet") == 5000
    written = pq.read_table(tmp_path / "numbers.parquet")["prediction"].to_numpy()
    np.testing.assert_allclose(written, predicted, rtol=1e-12, atol=0)  # products of other sizes round differently
    with pytest.raises(ValueError, match="proba=True is not allowed"):
        again.predict_batches(batches, tmp_path / "other.parquet", proba=True)


def test_what_needs_all_rows_says_so(rng):
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    for settings in ({"criterion": "absolute_error", "splits": Axis(max_bins=8)}, {"splits": "axis"}):
        with pytest.raises(ValueError, match="memory"):
            TopDownTreeRegressor(**settings).fit_batches([(X, y)])
