"""
Sparse oblique tests
====================

A linear test of thirty columns is accurate but hard to read. With ``max_terms``, the best test with at most that many
columns is searched for.
"""

# %%
# One test with three columns instead of thirty.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from boscage import TopDownTreeClassifier, WeightedOblique
from boscage.datasets import load_dataset

data = load_dataset("wdbc")
tree = TopDownTreeClassifier(WeightedOblique(max_terms=3), max_leaf_nodes=3, random_state=0).fit(
    data.X, data.y
)
print(tree.export_text(feature_names=data.feature_names, class_names=data.target_names))

# %%
# Accuracy against the maximum number of terms, by cross-validation.
limits = [1, 2, 3, 5, 8, None]
scores = [
    cross_val_score(
        TopDownTreeClassifier(WeightedOblique(max_terms=most), random_state=0), data.X, data.y, cv=5
    )
    for most in limits
]
axis = cross_val_score(TopDownTreeClassifier(), data.X, data.y, cv=5)
_, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
places = np.arange(len(limits))
axes.errorbar(
    places, np.mean(scores, axis=1), np.std(scores, axis=1) / np.sqrt(5), marker="o", capsize=3
)
axes.axhline(axis.mean(), color="0.5", ls="--", label="axis tree")
axes.legend(frameon=False, loc="upper left")
axes.set_xticks(places, [str(most or "all") for most in limits])
axes.set(xlabel="maximum number of terms", ylabel="accuracy (5 folds, standard error)")
