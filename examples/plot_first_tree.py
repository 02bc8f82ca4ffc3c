"""
A first tree
============

Fit a small tree to the wine data, print it, draw it and save it.
"""

# %%
# A tree with four leaves, grown with the entropy criterion and scored on test rows.
import tempfile
from pathlib import Path

from sklearn.model_selection import train_test_split

from boscage import TopDownTreeClassifier, load
from boscage.datasets import load_dataset

wine = load_dataset("wine")
X, X_test, y, y_test = train_test_split(wine.X, wine.y, test_size=0.3, random_state=0)
tree = TopDownTreeClassifier(criterion="entropy", max_leaf_nodes=4).fit(X, y)
print(f"accuracy {tree.score(X_test, y_test):.3f} with {tree.get_n_leaves()} leaves")

# %%
# As text and as a picture. The bars show the class fractions of the training rows in each node.
print(tree.export_text(feature_names=wine.feature_names, class_names=wine.target_names))
tree.plot(feature_names=wine.feature_names, class_names=wine.target_names)

# %%
# A model file contains data, never code. The loaded model gives the same predictions.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "wine.boscage"
    tree.save(path)
    print(path.stat().st_size, "bytes")
    assert (load(path).predict(X_test) == tree.predict(X_test)).all()
