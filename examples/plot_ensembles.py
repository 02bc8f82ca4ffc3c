"""
Ensembles, tuning and calibration
=================================

All trees are scikit-learn estimators, so they can be bagged, boosted, calibrated and tuned.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score

from boscage import StochasticLinear, TopDownTreeClassifier, WeightedOblique

X, y = load_breast_cancer(return_X_y=True)
tree = TopDownTreeClassifier(
    splits="oblique", criterion="entropy", max_leaf_nodes=8, random_state=0
)
models = {
    "one tree": tree,
    "bagged": BaggingClassifier(tree, n_estimators=10, random_state=0),
    "boosted": AdaBoostClassifier(tree, n_estimators=10, random_state=0),
    "calibrated": CalibratedClassifierCV(tree),
}
scores = {name: cross_val_score(model, X, y) for name, model in models.items()}
for name, score in scores.items():
    print(f"{name:11} {score.mean():.3f}")

# %%
# Parts have parameters of their own, which a grid search can tune too.
grid = GridSearchCV(
    TopDownTreeClassifier(
        splits=WeightedOblique(), criterion="entropy", max_leaf_nodes=4, random_state=0
    ),
    {"splits__l2": [0.0, 0.03], "max_leaf_nodes": [2, 4]},
).fit(X, y)
print(grid.best_params_, f"{grid.best_score_:.3f}")
soft = GridSearchCV(
    TopDownTreeClassifier(splits=StochasticLinear()),
    {"splits__scale": ["standard", "unit"], "max_leaf_nodes": [4, 16]},
).fit(X, y)
print(soft.best_params_, f"{soft.best_score_:.3f}")

# %%
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.boxplot(list(scores.values()), tick_labels=list(scores), orientation="horizontal")
axes.set(
    xlabel="accuracy in five folds", xlim=(min(np.min(s) for s in scores.values()) - 0.01, 1.0)
)
