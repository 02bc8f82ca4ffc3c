"""
Changing a tree by hand
=======================

An expert rounds a threshold and removes a branch. Every change reports what it does to the accuracy, and the original
tree stays as it is.
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
# Round the threshold of the root, and make the last test a leaf.
threshold = float(tree.tree_.threshold[0])
last = int(np.flatnonzero(~tree.tree_.is_leaf)[-1])
edited = tree.edit(table, labels).set_threshold(0, round(threshold, -1)).prune(last)
print(edited.report)

# %%
# The edited tree predicts, saves and draws like any other.
figure, panels = plt.subplots(1, 2, figsize=(15, 5), layout="constrained")
for axes, shown, name in zip(panels, (tree, edited.estimator), ("as grown", "edited"), strict=True):
    shown.plot(axes, legend=False)
    axes.set_title(name)
