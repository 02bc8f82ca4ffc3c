"""
Regression trees
================

``TopDownTreeRegressor`` has the same parameters as the classifier, with criteria and leaves for regression.
"""

# %%
# A curve with a jump.
import matplotlib.pyplot as plt
import numpy as np

from boscage import TopDownTreeRegressor

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 400))
y = np.sin(x) + 2 * (x > 6) + 0.25 * rng.normal(size=400)
grid = np.linspace(0, 10, 1000)
trees = {
    "4 leaves": TopDownTreeRegressor(max_leaf_nodes=4),
    "12 leaves": TopDownTreeRegressor(max_leaf_nodes=12),
    "no limit": TopDownTreeRegressor(),
}

# %%
# Each leaf predicts the mean of its rows.
figure, panels = plt.subplots(1, 3, figsize=(12, 3.4), sharey=True, layout="constrained")
for axes, (name, tree) in zip(panels, trees.items(), strict=True):
    tree.fit(x[:, None], y)
    axes.plot(x, y, ".", color="0.75")
    axes.plot(grid, tree.predict(grid[:, None]), color="tab:red")
    truth = np.sin(grid) + 2 * (grid > 6)
    error = np.sqrt(np.mean((tree.predict(grid[:, None]) - truth) ** 2))
    axes.set_title(f"{name}: RMSE {error:.2f}")
