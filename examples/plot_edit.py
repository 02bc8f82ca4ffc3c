"""
Editing a tree
==============

Round a threshold and remove a branch by hand. Every edit reports its effect on the accuracy, and the original tree does
not change.
"""

# %%
# A tree for the wine data.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from boscage import TopDownTreeClassifier
from boscage.datasets import load_dataset

data = load_dataset("wine")
table = pd.DataFrame(data.X, columns=data.feature_names)
labels = np.array(data.target_names)[data.y]
tree = TopDownTreeClassifier(max_leaf_nodes=6).fit(table, labels)
print(tree.export_text())

# %%
# Round the threshold of the root, and turn the last test into a leaf.
threshold = float(tree.tree_.threshold[0])
last = int(np.flatnonzero(~tree.tree_.is_leaf)[-1])
edited = tree.edit(table, labels).set_threshold(0, round(threshold, -1)).prune(last)
print(edited.report)

# %%
# The edited tree can be used, saved and drawn like any other.
figure, panels = plt.subplots(2, 1, figsize=(8, 9), layout="constrained")
for axes, shown, name in zip(panels, (tree, edited.estimator), ("as grown", "edited"), strict=True):
    shown.plot(axes, legend=False)
    axes.set_title(name)
