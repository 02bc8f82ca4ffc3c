"""
Online learning with new classes
================================

:class:`~boscage.OnlineTreeClassifier` learns row by row and accepts new classes at any time. Here the ten digits arrive
in groups of three, three and four, and the model is saved and restored in the middle of the stream.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from boscage import OnlineTreeClassifier, load

X, X_test, y, y_test = train_test_split(
    *load_digits(return_X_y=True), test_size=0.3, random_state=0
)
model = OnlineTreeClassifier(random_state=0)
seen, accuracy = [], []
for last in (2, 5, 9):
    rows = np.flatnonzero(y <= last)
    for batch in np.array_split(np.random.default_rng(last).permutation(np.repeat(rows, 3)), 12):
        model.partial_fit(X[batch], y[batch])
        seen.append(len(batch))
        known = np.isin(y_test, model.classes_)
        accuracy.append(model.score(X_test[known], y_test[known]))
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "stream.boscage", resume=True)
        model = load(Path(folder) / "stream.boscage")
print(
    f"{len(model.classes_)} classes, accuracy {accuracy[-1]:.3f}, {model.memory_usage()['total'] / 1e6:.2f} MB"
)

# %%
# The two most probable classes of three rows.
labels, shares = model.predict_top_k(X_test[:3], 2)
for row in range(3):
    print(
        y_test[row],
        "→",
        ", ".join(f"{a} ({p:.2f})" for a, p in zip(labels[row], shares[row], strict=True)),
    )

# %%
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(np.cumsum(seen), accuracy)
axes.set(xlabel="rows seen", ylabel="accuracy on known classes", ylim=(0.8, 1))
for rows in np.cumsum(seen)[[11, 23]]:
    axes.axvline(rows, color="grey", linestyle=":")  # new classes begin
