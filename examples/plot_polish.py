"""
Polishing an oblique tree
=========================

``polish`` optimises all tests of a grown tree jointly by gradient descent. The structure of the tree stays the same,
but its tests move.
"""

# %%
# Three rings in the plane and a tree with twelve leaves.
import matplotlib.pyplot as plt
import numpy as np

from boscage import Polish, TopDownTreeClassifier

rng = np.random.default_rng(0)


def rings(n):
    """Draw rows and their rings."""
    X = rng.uniform(-2, 2, (n, 2))
    radius = np.hypot(*X.T) + 0.15 * rng.normal(size=n)
    return X, np.digitize(radius, [0.8, 1.5])


(X, y), (X_test, y_test) = rings(1500), rings(3000)
options = {"splits": "oblique", "criterion": "entropy", "max_leaf_nodes": 12, "random_state": 0}
trees = {
    "as grown": TopDownTreeClassifier(**options),
    "polished, hard": TopDownTreeClassifier(**options, polish=Polish("hard")),
    "polished, soft": TopDownTreeClassifier(**options, polish=Polish("soft")),
}

# %%
# A hard tree sends each row to one leaf; a soft tree averages its leaves near the boundaries.
side = np.linspace(-2, 2, 200)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
for axes, (name, tree) in zip(panels, trees.items(), strict=True):
    tree.fit(X, y)
    image = tree.predict_proba(grid).reshape(200, 200, 3)
    axes.imshow(image, extent=(-2, 2, -2, 2), origin="lower", alpha=0.7)
    axes.set_title(f"{name}: {tree.score(X_test, y_test):.3f}")
