"""
Look-ahead: learning XOR
========================

No single test helps with XOR, so greedy growth starts with a useless one. With ``lookahead=True``, a test is searched
together with the tests of its children.
"""

# %%
# XOR of two oblique hyperplanes in six columns.
import matplotlib.pyplot as plt
import numpy as np

from boscage import TopDownTreeClassifier, WeightedOblique

rng = np.random.default_rng(0)
X, X_test = rng.normal(size=(3000, 6)), rng.normal(size=(3000, 6))


def label(X):
    """Return which squares of the board the rows lie in."""
    return ((X[:, 0] + 0.5 * X[:, 1] > 0) ^ (X[:, 1] - 0.5 * X[:, 0] > 0)).astype(int)


y, y_test = label(X), label(X_test)
sizes = [2, 4, 8, 16, 32]
curves = {
    name: [
        TopDownTreeClassifier(part, max_leaf_nodes=size, random_state=0)
        .fit(X, y)
        .score(X_test, y_test)
        for size in sizes
    ]
    for name, part in {
        "axis": "axis",
        "oblique": WeightedOblique(),
        "oblique, lookahead": WeightedOblique(lookahead=True),
    }.items()
}

# %%
# With look-ahead, four leaves are enough.
_, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, scores in curves.items():
    axes.plot(sizes, scores, "o-", label=name)
axes.set_xscale("log", base=2)
axes.set_xticks(sizes, map(str, sizes))
axes.set(xlabel="leaves", ylabel="test accuracy")
axes.legend(frameon=False)
