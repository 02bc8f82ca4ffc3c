"""Single trees against the best printed accuracies of single oblique trees, one thread, CPU seconds.

Bars: the best of the gradient-trained and alternately optimised single trees in print for each data set. The published
cut into training and test rows where there is one, else four fifths to learn from, stratified, seeds 0 to 4.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from _measure import data_folder, report
from boscage import Polish, TopDownTreeClassifier, WeightedOblique
from boscage.datasets import load_dataset

BARS = {"letter": 0.892, "pendigits": 0.970, "satimage": 0.876, "segment": 0.961, "connect4": 0.820, "mnist": 0.962}
SEEDS = range(5)


def tree(seed: int, polish: Any, leaves: int | None, l2: float = 0.03) -> TopDownTreeClassifier:
    return TopDownTreeClassifier(
        WeightedOblique(l2=l2), "entropy", max_leaf_nodes=leaves, polish=polish, random_state=seed, verbose=False
    )
