"""Draw docs/images/axis.png: what a cut is worth to each criterion, and what pruning does to one tree."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from boscage import TopDownTreeClassifier
from boscage.criteria import Entropy, Gini, Sqrt
from boscage.datasets import load_dataset

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")

heart = load_dataset("heart")
column = heart.X[:, list(heart.feature_names).index("maximum_heart_rate_achieved")]
cuts = np.unique(column)[:-1]
classes = heart.y[:, None] == np.arange(2)
sides = np.array([classes[column > cut].sum(axis=0) for cut in cuts], dtype=float)
for name, criterion in {"gini": Gini(), "entropy": Entropy(), "sqrt": Sqrt()}.items():
    gain = criterion.gain(classes.sum(axis=0), sides) / criterion.unit / len(column)
    left.step(cuts, gain, where="post", label=name)
left.set(xlabel="threshold of the maximum heart rate (heart)", ylabel="drop of G, in units of G(½)", ylim=(0, None))
left.legend(frameon=False)

train, test, y_train, y_test = train_test_split(heart.X, heart.y, test_size=0.5, random_state=0, stratify=heart.y)
path = TopDownTreeClassifier(criterion="entropy").cost_complexity_pruning_path(train, y_train)
trees = [TopDownTreeClassifier(criterion="entropy", ccp_alpha=a).fit(train, y_train) for a in path.ccp_alphas]
leaves = [tree.get_n_leaves() for tree in trees]
right.plot(leaves, [tree.score(train, y_train) for tree in trees], ".-", label="training rows")
right.plot(leaves, [tree.score(test, y_test) for tree in trees], ".-", label="other rows")
right.set(xlabel="leaves left by pruning (heart)", ylabel="accuracy")
right.legend(frameon=False)
fig.savefig(Path(__file__).with_suffix(".png"), dpi=90)
