"""
Custom criteria and split families
==================================

A criterion is a function, and a split family is a class with one method. Neither requires changes to the library.
"""

# %%
# A criterion is concave and symmetric on [0, 1], zero at both ends and one in the middle. For any
# other function, the error message names the property that it violates.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

from boscage import TopDownTreeClassifier
from boscage.splits import LinearTest, ProposingFamily


def between(q):
    """Between Gini's parabola and the square root of Kearns and Mansour."""
    return (4 * q * (1 - q)) ** 0.75


def broken(q):
    """Its peak is at 1/3."""
    return 8**0.5 * np.sqrt(q) * (1 - q)


X, y = load_breast_cancer(return_X_y=True)
print(
    f"{cross_val_score(TopDownTreeClassifier(criterion=between, max_leaf_nodes=6), X, y).mean():.3f}"
)
try:
    TopDownTreeClassifier(criterion=broken).fit(X, y)
except ValueError as error:
    print(error)

# %%
# A split family yields directions for the weighted rows of a node. The library finds the best
# threshold of each under the criterion, keeps the best test, and applies limits and growth order.


class Discriminant(ProposingFamily):
    """The direction of Fisher's discriminant between each class and the others, shrunk by `ridge`."""

    def __init__(self, ridge=0.1):
        self.ridge = ridge

    def propose(self, node):
        """One direction for each class."""
        centred = node.X - np.average(node.X, axis=0, weights=node.weight)
        spread = centred.T @ (centred * node.weight[:, None]) / node.weight.sum()
        spread += self.ridge * np.diag(np.diag(spread) + 1e-12)
        for k in np.unique(node.y):
            mean = np.average(centred[node.y == k], axis=0, weights=node.weight[node.y == k])
            yield [LinearTest(np.linalg.solve(spread, mean))]


leaves = [2, 3, 4, 6, 8, 12]
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for splits in ("axis", Discriminant(ridge=0.1)):
    scores = [
        cross_val_score(TopDownTreeClassifier(splits=splits, max_leaf_nodes=n), X, y).mean()
        for n in leaves
    ]
    axes.plot(leaves, scores, marker="o", label=str(splits))
axes.set(xlabel="leaves", ylabel="accuracy in five folds")
axes.legend()
