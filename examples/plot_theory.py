"""
Theory: guaranteed and actual progress
======================================

If every test is better than random guessing by an edge γ on the balanced rows of its node, the potential of the tree
must fall below a known curve. :func:`boscage.theory.boosting_report` compares a fitted tree with that curve.
"""

from boscage import TopDownTreeClassifier
from boscage.datasets import load_dataset
from boscage.theory import boosting_report, splits_needed

# %%
# A tree for two classes, with the criterion that has the best bound. For each split, the table shows
# its edge, the drop of the potential, and the guaranteed drop for a test with this edge.
heart = load_dataset("heart")
tree = TopDownTreeClassifier(criterion="sqrt", max_leaf_nodes=30).fit(heart.X, heart.y)
report = boosting_report(tree)
print(report)

# %%
# The potential stays far below the curve for the smallest edge, because most tests are better than
# the worst one.
report.plot()

# %%
# Conversely, the curve tells how many splits suffice for a given error if every test has this edge:
# as printed in the paper, and in the sharper form.
for form in ("printed", "sharp"):
    print(f"{form}: ln t = {splits_needed('sqrt', report.edge, 0.1, form=form, log=True):.1f}")
