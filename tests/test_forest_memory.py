"""Memory of a fit beyond X, by the formula of the guide, with a margin."""

import subprocess
import sys

import pytest

ROWS = 150_000
SCRIPT = """
import numpy as np
from boscage import ForestClassifier, ForestRegressor

def peak():  # of this process alone: that of getrusage includes the one that started it
    return next(1024 * int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

X = np.empty(({rows}, {columns}), np.float32)
for column, seed in zip(X.T, range({columns})):
    column[:] = np.random.default_rng(seed).standard_normal(len(X), dtype=np.float32)
y = (np.arange(len(X)) + 0.5 * (X[:, 0] > 0)) % {classes} // 1
forest = {forest}
forest.fit(X[:500], y[:500])
before = peak()
forest.fit(X, y)
print(peak() - before)
"""


def growth(forest, columns, classes=2):
    """Return the bytes by which a fit raises the peak of a fresh process; few leaves, so that trees do not count."""
    code = SCRIPT.format(rows=ROWS, columns=columns, classes=classes, forest=forest)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


linux = pytest.mark.skipif(sys.platform != "linux", reason="the peak is in /proc")


@linux
@pytest.mark.parametrize(("kind", "for_a_row"), [("ForestClassifier", 60), ("ForestRegressor", 85)])
@pytest.mark.parametrize("threads", [1, 2])
def test_memory_beyond_the_rows(kind, for_a_row, threads):
    found = growth(f"{kind}({2 * threads}, max_leaf_nodes=4, n_jobs={threads}, random_state=0)", columns=10)
    assert found < 1.3 * threads * (for_a_row * ROWS + 40_000 * 10)
    assert found < threads * 2.5 * 4 * ROWS * 10


@linux
def test_memory_of_calibration():
    forest = "ForestClassifier(30, 'axis', max_depth=1, max_features=1, calibrate={}, random_state=0)"
    without = growth(forest.format(False), columns=2, classes=40)
    assert growth(forest.format(True), columns=2, classes=40) < without + 1.3 * 8 * 40 * ROWS
