"""
Optimal trees: error against size
=================================

``alpha`` is the penalty per leaf of an optimal tree. Since the trees are proven optimal, no tree of this depth can have
a lower training error with as many leaves.
"""

# %%
# Optimal trees for several penalties, and greedy trees of the same sizes.
import matplotlib.pyplot as plt

from boscage import OptimalTreeClassifier, TopDownTreeClassifier
from boscage.datasets import load_dataset

data = load_dataset("heart")
optimal, greedy = {}, {}
for alpha in (0.1, 0.03, 0.015, 0.008, 0.004, 0.001):
    tree = OptimalTreeClassifier(max_depth=3, alpha=alpha, time_limit=None).fit(data.X, data.y)
    leaves = tree.get_n_leaves()
    optimal[leaves] = 1 - tree.score(data.X, data.y)
    same = TopDownTreeClassifier(max_depth=3, max_leaf_nodes=max(leaves, 2)).fit(data.X, data.y)
    greedy[same.get_n_leaves()] = 1 - same.score(data.X, data.y)
    print(f"alpha {alpha}: {leaves} leaves, {tree.status_}, gap {tree.gap_:.3f}")

# %%
# The gap between the curves is the cost of greedy growth.
_, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(*zip(*sorted(greedy.items())), "s--", label="greedy")
axes.plot(*zip(*sorted(optimal.items())), "o-", label="optimal")
axes.set(xlabel="leaves", ylabel="error on the training rows")
axes.legend(frameon=False)
