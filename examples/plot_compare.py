"""
Comparing models by cross-validation
====================================

The comparison behind ``boscage compare``, from Python: the same folds for all models, paired tests, and the smallest
tree that is about as good as the best model.
"""

# %%
# A few models on the heart data, ranked by AUC. Models that cannot run are listed with the reason.
import matplotlib.pyplot as plt
import numpy as np

from boscage.compare import Settings, Task, contenders, run_comparison, standings, trade_off
from boscage.datasets import load_dataset

data = load_dataset("heart")
task = Task("heart", data.X, np.array(data.target_names)[data.y])
settings = Settings(folds=5, max_leaf_nodes=12, metric="auc")
wanted = (
    "axis gini",
    "oblique entropy",
    "optimal depth 3",
    "sklearn tree gini",
    "sklearn forest",
    "sklearn logistic",
)
chosen = [contender for contender in contenders(task, settings) if contender.name in wanted]
results = list(run_comparison(task, settings, chosen))
where = standings(results, settings)
for result in sorted(results, key=lambda result: -result.mean("auc")):
    place = where[result.name]
    p = "best" if place.is_best else f"p = {place.p:.2f}"
    print(
        f"{result.name:18s} AUC {result.mean('auc'):.3f}  accuracy {result.mean('accuracy'):.3f}  {p}"
    )

# %%
# The smallest tree within one standard error of the best.
weighed = trade_off(results, settings)
print(
    f"best: {weighed.best.name}; tree: {weighed.tree.name} with {weighed.tree.mean('leaves'):.1f} leaves"
)

# %%
# AUC against leaves. Models that are not single trees are shown as dashed lines.
_, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for k, result in enumerate(results):
    if result.leaves:
        axes.plot(result.mean("leaves"), result.mean("auc"), "o", color=f"C{k}", label=result.name)
    else:
        axes.axhline(result.mean("auc"), color=f"C{k}", ls="--", label=result.name)
axes.set(xlabel="leaves", ylabel="AUC")
axes.legend(frameon=False, fontsize="small")
