"""
Tuning with scikit-learn
========================

Parameters of parts are reached with two underscores, so a grid search can try split families and their settings
together.
"""

# %%
# Split families, sizes and penalties in one grid.
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import GridSearchCV

from boscage import Axis, TopDownTreeClassifier, WeightedOblique
from boscage.datasets import load_dataset

data = load_dataset("heart")
sizes = [2, 4, 8, 16]
grid = [
    {"splits": [Axis()], "max_leaf_nodes": sizes},
    {"splits": [WeightedOblique()], "splits__l2": [0.01, 0.1, 1.0], "max_leaf_nodes": sizes},
]
search = GridSearchCV(TopDownTreeClassifier(random_state=0), grid, cv=5).fit(data.X, data.y)
print(search.best_params_, round(search.best_score_, 3))

# %%
# The mean accuracy of every setting.
found = pd.DataFrame(search.cv_results_)
found["family"] = [
    "axis" if isinstance(p["splits"], Axis) else f"oblique, l2 = {p['splits__l2']}"
    for p in found["params"]
]
_, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, rows in found.groupby("family"):
    axes.plot(rows["param_max_leaf_nodes"].astype(int), rows["mean_test_score"], "o-", label=name)
axes.set_xscale("log", base=2)
axes.set_xticks(sizes, map(str, sizes))
axes.set(xlabel="max_leaf_nodes", ylabel="accuracy (5 folds)")
axes.legend(frameon=False)
