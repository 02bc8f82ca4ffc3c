"""
Decision boundaries
===================

Decision boundaries of axis-parallel, oblique, stochastic and optimal trees with at most eight leaves on two half-moons.
Colours show the predicted probability of the second class, which jumps at the tests of hard trees and changes smoothly
in the stochastic tree.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from boscage import OptimalTreeClassifier, TopDownTreeClassifier

X, y = make_moons(600, noise=0.25, random_state=0)
X_test, y_test = make_moons(2000, noise=0.25, random_state=1)
trees = {
    "axis": TopDownTreeClassifier(max_leaf_nodes=8),
    "optimal, depth 3": OptimalTreeClassifier(max_depth=3),
    "oblique": TopDownTreeClassifier(
        splits="oblique", criterion="entropy", max_leaf_nodes=8, random_state=0
    ),
    "hhcart": TopDownTreeClassifier(splits="hhcart", max_leaf_nodes=8),
    "stochastic": TopDownTreeClassifier(splits="stochastic", max_leaf_nodes=8),
}

# %%
# One panel for each tree, with its accuracy on 2,000 test rows.
side = np.linspace(-2.0, 3.0, 160)
grid = np.stack(np.meshgrid(side, side[side < 2.2] * 0.8), axis=-1)
figure, panels = plt.subplots(2, 3, figsize=(9, 5.6), sharey=True, layout="constrained")
for axes, (name, tree) in zip(panels.flat, trees.items()):
    tree.fit(X, y)
    share = tree.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
    axes.pcolormesh(
        grid[..., 0], grid[..., 1], share, cmap="RdBu_r", vmin=0, vmax=1, shading="auto", alpha=0.6
    )
    axes.scatter(*X.T, c=y, cmap="RdBu_r", s=4, edgecolor="black", linewidth=0.2)
    axes.set_title(f"{name}: {tree.score(X_test, y_test):.3f}")
panels[-1, -1].axis("off")
