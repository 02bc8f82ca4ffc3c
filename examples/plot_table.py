"""
Text, categories and missing values
===================================

A DataFrame needs no preparation: text columns are treated as categories, and missing values are handled by the tree.
"""

# %%
# Passengers with a text column, a boolean column and missing ages.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from boscage import TopDownTreeClassifier

rng = np.random.default_rng(0)
table = pd.DataFrame(
    {
        "age": rng.normal(35, 15, 600).clip(1, 80).round(),
        "port": rng.choice(["Southampton", "Cherbourg", "Queenstown"], 600, p=[0.7, 0.2, 0.1]),
        "alone": rng.random(600) < 0.6,
    }
)
chance = 0.25 + 0.35 * (table.port == "Cherbourg") + 0.3 * (table.age < 15) - 0.15 * table.alone
survived = np.where(rng.random(600) < chance, "yes", "no")
table.loc[rng.random(600) < 0.2, "age"] = np.nan

# %%
# No encoding and no imputation. Each test shows which side missing values take.
tree = TopDownTreeClassifier(max_leaf_nodes=6, min_samples_leaf=15).fit(table, survived)
print(tree.export_text(show_missing=True))

# %%
# The same tree as a picture.
_, axes = plt.subplots(figsize=(11, 5), layout="constrained")
tree.plot(axes)

# %%
# A category that was not in the training data counts as missing.
new = pd.DataFrame({"age": [8.0, np.nan], "port": ["Belfast", "Cherbourg"], "alone": [False, True]})
print(pd.DataFrame(tree.predict_proba(new), columns=tree.classes_).round(2))
