"""
Sample weights
==============

A row with weight 2 counts twice, a row with weight 0 is ignored, and fractional weights are exact. Here the tree with
the least weighted error changes as one class gets more weight.
"""

import matplotlib.pyplot as plt
import numpy as np

from boscage import OptimalTreeClassifier, TopDownTreeClassifier
from boscage.datasets import load_dataset

heart = load_dataset("heart")
X, y = np.nan_to_num(heart.X), heart.y

# %%
# Repeating a row and giving it a weight of two lead to the same tree.
weight = np.random.default_rng(0).integers(0, 4, size=len(y))
twice = TopDownTreeClassifier(max_leaf_nodes=6).fit(
    np.repeat(X, weight, axis=0), np.repeat(y, weight)
)
weighted = TopDownTreeClassifier(max_leaf_nodes=6).fit(X, y, sample_weight=weight)
assert np.array_equal(twice.predict_proba(X), weighted.predict_proba(X))

# %%
# The fraction of patients predicted ill, as errors on ill patients become more expensive.
costs = np.geomspace(0.1, 10, 25)
share = [
    OptimalTreeClassifier(max_depth=2, alpha=0.0)
    .fit(X, y, sample_weight=np.where(y == 1, c, 1.0))
    .predict(X)
    .mean()
    for c in costs
]
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.semilogx(costs, share, marker="o")
axes.set(xlabel="weight of an ill patient", ylabel="fraction predicted ill", ylim=(0, 1))
