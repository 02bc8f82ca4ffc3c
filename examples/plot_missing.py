"""
Missing values
==============

Axis trees learn at each test which side missing values go to. If values are not missing at random, this is more
accurate than imputation.
"""

# %%
# Half of the large values of one column are missing, so a missing value is informative.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from boscage import TopDownTreeClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 4))
y = (X[:, 0] + 0.5 * X[:, 1] > 0.3).astype(int)
tree = TopDownTreeClassifier(max_leaf_nodes=16)

# %%
# Accuracy against the fraction of large values that are missing, without imputation and with mean
# imputation.
shares = [0.0, 0.2, 0.4, 0.6, 0.8]
kept, filled = [], []
for share in shares:
    gaps = X.copy()
    gaps[(X[:, 0] > 0.3) & (rng.random(2000) < share), 0] = np.nan
    kept.append(cross_val_score(tree, gaps, y, cv=5).mean())
    filled.append(cross_val_score(make_pipeline(SimpleImputer(), tree), gaps, y, cv=5).mean())
_, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(shares, kept, "o-", label="no imputation")
axes.plot(shares, filled, "s--", label="mean imputation")
axes.set(xlabel="fraction of large values missing", ylabel="accuracy")
axes.legend(frameon=False)

# %%
# The text shows the side of missing values.
print(tree.fit(gaps, y).export_text(max_depth=2))
