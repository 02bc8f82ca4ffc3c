"""
A forest with out-of-bag estimates
==================================

``ForestClassifier`` fits many trees on random samples of the rows and averages their predictions. The out-of-bag rows
give an estimate of the accuracy without a test set.
"""

# %%
# Test accuracy against the number of trees, for axis-parallel tests and for mixed tests, which are
# the default.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from boscage import ForestClassifier, TopDownTreeClassifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
sizes = [1, 3, 10, 30]
single = TopDownTreeClassifier(random_state=0).fit(X, y).score(X_test, y_test)
scores = {
    splits: [
        ForestClassifier(size, splits, random_state=0).fit(X, y).score(X_test, y_test)
        for size in sizes
    ]
    for splits in ("axis", "mixed")
}

# %%
# A single axis tree for comparison.
_, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for splits, found in scores.items():
    axes.plot(sizes, found, "o-", label=splits)
axes.axhline(single, color="0.5", ls="--", label="one axis tree")
axes.set_xscale("log")
axes.set_xticks(sizes, map(str, sizes))
axes.set(xlabel="trees", ylabel="test accuracy")
axes.legend(frameon=False)

# %%
# The out-of-bag estimate.
forest = ForestClassifier(60, oob_score=True, random_state=0).fit(X, y)
print(f"out of bag {forest.oob_score_:.3f}, new rows {forest.score(X_test, y_test):.3f}")
