"""
Theory: promised and actual progress of each split
==================================================

If every test is better than random guessing by an edge γ on the balanced rows of its node, the potential of the tree
must fall below a known curve. :func:`boscage.theory.boosting_report` compares a fitted tree with that curve.
"""

from boscage import TopDownTreeClassifier
from boscage.datasets import load_dataset
from boscage.theory import boosting_report, splits_needed

# %%
# A tree for two classes, with the criterion that has the best bound. For each split: the edge it had, the drop of the
# potential it made, and the least drop that a test of this edge can make.
heart = load_dataset("heart")
tree = TopDownTreeClassifier(criterion="sqrt", max_leaf_nodes=30).fit(heart.X, heart.y)
report = boosting_report(tree)
print(report)

# %%
# The potential stays under the curve of the smallest edge, and far under: most tests are better than the worst.
report.plot()

# %%
# Read the other way round, the curve says how many splits suffice for an error, if that edge can always be had. As the
# paper prints it, and in the sharper form:
for form in ("printed", "sharp"):
    print(f"{form}: ln t = {splits_needed('sqrt', report.edge, 0.1, form=form, log=True):.1f}")
