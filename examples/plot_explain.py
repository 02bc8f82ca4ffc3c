"""
Explaining one prediction
=========================

``explain`` shows which path a row takes and how much each column contributes to the prediction. The contributions sum
to the prediction.
"""

# %%
# A small tree for the breast cancer data.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from boscage import TopDownTreeClassifier
from boscage.datasets import load_dataset

data = load_dataset("wdbc")
table = pd.DataFrame(data.X, columns=data.feature_names)
labels = np.array(data.target_names)[data.y]
tree = TopDownTreeClassifier(max_leaf_nodes=8, min_samples_leaf=5).fit(table, labels)

# %%
# The path of the row, then the contributions.
found = tree.explain(table.iloc[[40]])
print(found)

# %%
# As a waterfall chart: from the fraction of the class in the training data to the probability for
# this row.
names = ["base"] + [f"{name} = {value}" for name, value, _ in found.table()]
steps = np.array([found.base[found.best]] + [amount for _, _, amount in found.table()])
ends = np.cumsum(steps)
_, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
colors = np.where(np.arange(len(steps)) == 0, "0.6", np.where(steps >= 0, "tab:blue", "tab:red"))
axes.barh(names, steps, left=ends - steps, color=colors)
axes.axvline(found.prediction[found.best], color="black", lw=1, ls="--")
axes.invert_yaxis()
axes.set_xlabel(f"probability of {found.class_names[found.best]}")
