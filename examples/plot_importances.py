"""
Feature importances
===================

Impurity-based importances cost nothing, but they are computed on the training rows. Permutation importances on test
rows show which features the tree really needs.
"""

# %%
# A column of random numbers is added to the wine data.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

from boscage import TopDownTreeClassifier
from boscage.datasets import load_dataset

data = load_dataset("wine")
rng = np.random.default_rng(3)
X = np.column_stack([data.X, rng.normal(size=len(data.y))])
names = [*data.feature_names, "random"]
X, X_test, y, y_test = train_test_split(X, data.y, test_size=0.5, random_state=0, stratify=data.y)
trees = {
    name: TopDownTreeClassifier(name, random_state=0).fit(X, y) for name in ("axis", "oblique")
}

# %%
# The importance of a linear test is divided among its columns, so an oblique tree uses more of them.
figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for axes, (name, tree) in zip(panels, trees.items(), strict=True):
    shuffled = permutation_importance(tree, X_test, y_test, n_repeats=10, random_state=0)
    places = np.arange(len(names))
    axes.barh(places - 0.2, tree.feature_importances_, 0.4, label="impurity-based")
    axes.barh(places + 0.2, shuffled.importances_mean, 0.4, label="permutation, test rows")
    axes.set_yticks(places, names)
    axes.set_title(f"{name}, accuracy {tree.score(X_test, y_test):.3f}")
panels[0].invert_yaxis()
panels[0].legend(frameon=False)
