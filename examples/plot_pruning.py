"""
Cost-complexity pruning
=======================

``ccp_alpha`` is the penalty per leaf with which a fully grown tree is pruned. The pruning path contains all useful
values, as in scikit-learn.
"""

# %%
# All subtrees of the pruning path, scored on training and test rows.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from boscage import TopDownTreeClassifier
from boscage.datasets import load_dataset

data = load_dataset("wdbc")
X, X_test, y, y_test = train_test_split(
    data.X, data.y, test_size=0.4, random_state=1, stratify=data.y
)
path = TopDownTreeClassifier().cost_complexity_pruning_path(X, y)
trees = [TopDownTreeClassifier(ccp_alpha=alpha).fit(X, y) for alpha in path.ccp_alphas[:-1]]
leaves = np.array([tree.get_n_leaves() for tree in trees])

# %%
# Training accuracy decreases with every pruned leaf; test accuracy does not.
_, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(leaves, [tree.score(X, y) for tree in trees], "o-", label="training rows")
axes.plot(leaves, [tree.score(X_test, y_test) for tree in trees], "s-", label="test rows")
axes.set(xlabel="leaves", ylabel="accuracy")
axes.legend(frameon=False)
