"""
Imbalanced classes
==================

With one positive row in twenty, a tree can be accurate while it ignores them. ``class_weight="balanced"`` gives both
classes the same total weight.
"""

# %%
# Two trees of the same size, with and without class weights.
import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, precision_recall_curve
from sklearn.model_selection import train_test_split

from boscage import TopDownTreeClassifier

X, y = make_classification(6000, 12, n_informative=5, weights=[0.95], flip_y=0.02, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
trees = {
    "plain": TopDownTreeClassifier(max_leaf_nodes=16, min_samples_leaf=10),
    "balanced": TopDownTreeClassifier(
        max_leaf_nodes=16, min_samples_leaf=10, class_weight="balanced"
    ),
}

# %%
# The point on each curve is the threshold that ``predict`` uses.
_, axes = plt.subplots(figsize=(5.5, 4), layout="constrained")
for k, (name, tree) in enumerate(trees.items()):
    tree.fit(X, y)
    predicted = tree.predict(X_test)
    balanced = balanced_accuracy_score(y_test, predicted)
    print(f"{name}: accuracy {tree.score(X_test, y_test):.3f}, balanced accuracy {balanced:.3f}")
    precision, recall, _ = precision_recall_curve(y_test, tree.predict_proba(X_test)[:, 1])
    axes.step(recall, precision, where="post", color=f"C{k}", label=name)
    hit = (predicted == 1) & (y_test == 1)
    axes.plot(hit.sum() / y_test.sum(), hit.sum() / max(1, predicted.sum()), "o", color=f"C{k}")
axes.set(xlabel="recall", ylabel="precision")
axes.legend(frameon=False)
