"""
Your own criterion and split family
===================================

A criterion is a function, a split family a class with one method. Neither needs changes in the library.
"""

# %%
# A criterion: concave and symmetric on [0, 1], zero at both ends, one in the middle. Anything else is refused with the
# property that it breaks.
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
print(f"{cross_val_score(TopDownTreeClassifier(criterion=between, max_leaf_nodes=6), X, y).mean():.3f}")
try:
    TopDownTreeClassifier(criterion=broken).fit(X, y)
except ValueError as error:
    print(error)

# %%
# A split family: yield directions for the weighted rows of a node; the engine finds each one's best threshold under the
# criterion, keeps the best, obeys the limits and orders the growth.


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
    scores = [cross_val_score(TopDownTreeClassifier(splits=splits, max_leaf_nodes=n), X, y).mean() for n in leaves]
    axes.plot(leaves, scores, marker="o", label=str(splits))
axes.set(xlabel="leaves", ylabel="accuracy in five folds")
axes.legend()
