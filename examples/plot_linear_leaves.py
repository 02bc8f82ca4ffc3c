"""
Linear models in the leaves
===========================

``leaf="linear"`` puts a logistic regression into every leaf. One test can then replace dozens of tests of a tree whose
leaves predict class fractions.
"""

# %%
# The classes are separated by a different line on each side of a step.
import matplotlib.pyplot as plt
import numpy as np

from boscage import TopDownTreeClassifier

rng = np.random.default_rng(0)


def draw(n):
    """Draw rows and labels."""
    X = rng.uniform(-1, 1, (n, 2))
    border = np.where(X[:, 0] < 0, -0.4 + 0.6 * X[:, 0], 0.4 + 0.6 * X[:, 0])
    return X, (X[:, 1] > border).astype(int)


(X, y), (X_test, y_test) = draw(1000), draw(5000)
trees = {
    "frequency, 2 leaves": TopDownTreeClassifier(max_leaf_nodes=2),
    "frequency, 20 leaves": TopDownTreeClassifier(max_leaf_nodes=20),
    "linear, 2 leaves": TopDownTreeClassifier(max_leaf_nodes=2, leaf="linear"),
}

# %%
# Probability of the second class, and test accuracy.
side = np.linspace(-1, 1, 150)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
for axes, (name, tree) in zip(panels, trees.items(), strict=True):
    share = tree.fit(X, y).predict_proba(grid)[:, 1].reshape(150, 150)
    axes.imshow(share, extent=(-1, 1, -1, 1), origin="lower", cmap="RdBu_r", vmin=0, vmax=1)
    axes.set_title(f"{name}: {tree.score(X_test, y_test):.3f}")
