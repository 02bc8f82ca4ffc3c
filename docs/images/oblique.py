"""Draw docs/images/oblique.png: the same 2,000 rows cut by an axis tree, by WODT and by WODT that looks ahead."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from boscage import TopDownTreeClassifier
from boscage.splits import WeightedOblique

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 2))
y = (X @ [1.0, 0.4] > 0) ^ (X @ [-0.5, 1.0] > 0)
trees = {
    "axis": TopDownTreeClassifier(),
    "oblique": TopDownTreeClassifier(splits="oblique", random_state=0),
    "oblique, lookahead=True": TopDownTreeClassifier(splits=WeightedOblique(lookahead=True), random_state=0),
}
grid = np.stack(np.meshgrid(np.linspace(-3, 3, 400), np.linspace(-3, 3, 400)), axis=-1).reshape(-1, 2)
fig, panels = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for ax, (name, tree) in zip(panels, trees.items()):
    tree.fit(X, y)
    ax.contourf(
        *grid.T.reshape(2, 400, 400), tree.predict(grid).reshape(400, 400), levels=1, cmap="coolwarm", alpha=0.3
    )
    ax.scatter(*X[:400].T, c=y[:400], cmap="coolwarm", s=3)
    ax.set(title=f"{name}: {tree.get_n_leaves()} leaves", xticks=[], yticks=[])
fig.savefig(Path(__file__).with_suffix(".png"), dpi=90)
