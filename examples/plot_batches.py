"""
Out-of-core training
====================

``fit_batches`` reads the data once for each level of the tree and keeps only sums in memory. It gives exactly the same
tree as ``fit``.
"""

# %%
# Here the data are a small Parquet file.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from boscage import Axis, TopDownTreeClassifier

rng = np.random.default_rng(0)
table = pd.DataFrame(rng.normal(size=(60_000, 5)).astype(np.float32), columns=list("abcde"))
table["y"] = (table.a * table.b + table.c > 0.2).astype(int)
sizes, errors, passes = [2, 4, 8, 16, 32, 64], [], []
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "rows.parquet"
    table.to_parquet(path)
    for leaves in sizes:
        tree = TopDownTreeClassifier(Axis(max_bins=64), max_leaf_nodes=leaves).fit_batches(
            path, "y"
        )
        errors.append(1 - tree.score(table.drop(columns="y"), table.y))
        passes.append(tree.reading_.passes)
same = TopDownTreeClassifier(Axis(max_bins=64), max_leaf_nodes=64).fit(
    table.drop(columns="y"), table.y
)
print("the same tree:", tree.tree_ == same.tree_)

# %%
# Larger trees need a few more passes over the file, one for each level.
_, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(sizes, errors, "o-", label="error")
axes.set_xscale("log", base=2)
axes.set_xticks(sizes, map(str, sizes))
axes.set(xlabel="leaves", ylabel="error")
right = axes.twinx()
right.plot(sizes, passes, "s--", color="tab:orange")
right.set_ylabel("passes over the file (dashed)")
