"""
Predicting in SQL
=================

:meth:`~boscage.TopDownTreeClassifier.to_sql` exports a tree as SQL, so that predictions can be computed inside a
database. Here SQLite, which comes with Python, computes the predictions for a grid of points.
"""

import sqlite3

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from boscage import TopDownTreeClassifier

X, y = make_moons(400, noise=0.2, random_state=0)
model = TopDownTreeClassifier("wodt", max_leaf_nodes=5, random_state=0).fit(
    X, np.array(["upper", "lower"])[y]
)

# %%
# Without a table name, ``to_sql`` returns a CASE expression for use in your own query. Linear tests
# become sums of products.

print(TopDownTreeClassifier(max_leaf_nodes=4).fit(X, np.array(["upper", "lower"])[y]).to_sql())

# %%
# With a table name, it returns a complete query: the columns of the table, the leaf, the
# probabilities and the label.

grid = np.stack(
    np.meshgrid(np.linspace(-1.8, 2.8, 160), np.linspace(-1.3, 1.8, 120)), axis=-1
).reshape(-1, 2)
connection = sqlite3.connect(":memory:")
connection.execute("CREATE TABLE points (feature_0 REAL, feature_1 REAL)")
connection.executemany("INSERT INTO points VALUES (?, ?)", grid.tolist())
cursor = connection.execute(model.to_sql(table="points"))
names = [column[0] for column in cursor.description]
rows = cursor.fetchall()
connection.close()
print(names)

# %%
# The database and Python give the same predictions.

labels = [row[names.index("prediction")] for row in rows]
assert labels == model.predict(grid).tolist()

upper = np.array([row[names.index("probability_upper")] for row in rows])
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.pcolormesh(
    grid[:160, 0],
    grid[::160, 1],
    upper.reshape(120, 160),
    cmap="coolwarm",
    alpha=0.6,
    vmin=0,
    vmax=1,
    shading="nearest",
)
ax.scatter(*X.T, c=1 - y, cmap="coolwarm", s=12, edgecolors="white", linewidths=0.4)
ax.set_title("Probability of the upper moon, computed by SQLite")
plt.show()
