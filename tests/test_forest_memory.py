"""Memory of a fit beyond X, by the formula of the guide: 90 bytes for a row and 40 kB for a column, with a margin."""

import subprocess
import sys

import pytest

pytest.importorskip("resource")

SCRIPT = """
import resource
import numpy as np
from boscage import {kind}

X = np.empty((150_000, 20), np.float32)
for column, seed in zip(X.T, range(20)):
    column[:] = np.random.default_rng(seed).standard_normal(len(X), dtype=np.float32)
y = X[:, 0] > X[:, 1]
forest = {kind}(2, max_leaf_nodes=4, random_state=0)
forest.fit(X[:500], y[:500])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
forest.fit(X, y)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is in kilobytes on Linux alone")
@pytest.mark.parametrize("kind", ["ForestClassifier", "ForestRegressor"])
def test_memory_beyond_the_rows(kind):
    code = SCRIPT.format(kind=kind)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1.4 * (90 * 150_000 + 40_000 * 20)
    assert int(done.stdout) < 2.5 * 4 * 150_000 * 20
