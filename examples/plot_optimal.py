"""
Optimal trees: bounds during the search
=======================================

:class:`~boscage.OptimalTreeClassifier` finds a first tree within milliseconds, then improves it and raises a lower
bound until the two meet. If the search is stopped earlier, both are kept. The data are three circles with a tenth of
the labels flipped and a weight for every row.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from boscage import OptimalTreeClassifier
from boscage.datasets import make_three_spheres

rng = np.random.default_rng(0)
X, y = make_three_spheres(500, random_state=0)
y = np.where(rng.random(500) < 0.1, 1 - y, y)
weight = rng.uniform(0.5, 1.5, 500)

# %%
# The same search with increasing time limits.
limits = [0.003, 0.01, 0.03, 0.1, 0.3, 1, None]
trees = []
for limit in limits:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        trees.append(OptimalTreeClassifier(4, time_limit=limit).fit(X, y, weight))
    print(
        f"{limit or 'no limit'}: {trees[-1].status_}, {trees[-1].objective_:.4f} ≥ {trees[-1].lower_bound_:.4f}"
    )

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].fill_between(
    range(len(limits)), [t.lower_bound_ for t in trees], [t.objective_ for t in trees], alpha=0.3
)
axes[0].plot([t.objective_ for t in trees], "o-", label="best tree")
axes[0].plot([t.lower_bound_ for t in trees], "o-", label="lower bound")
axes[0].set_xticks(range(len(limits)), [str(limit or "none") for limit in limits])
axes[0].set(xlabel="time limit in seconds", ylabel="error + 0.001 × leaves", ylim=(0, None))
axes[0].legend()

grid = np.stack(np.meshgrid(np.linspace(-3.5, 3.5, 200), np.linspace(-3.5, 3.5, 200)), axis=-1)
axes[1].contourf(
    grid[..., 0],
    grid[..., 1],
    trees[-1].predict(grid.reshape(-1, 2)).reshape(200, 200),
    levels=1,
    alpha=0.4,
)
axes[1].scatter(*X.T, c=y, s=6 * weight)
axes[1].set(title=f"{trees[-1].get_n_leaves()} leaves, {trees[-1].status_}", aspect="equal")
