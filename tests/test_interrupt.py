"""Ctrl-C: KeyboardInterrupt within a fifth of a second, and nothing half-fitted left behind."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse

from boscage import CO2, OC1, Householder, Polish, TopDownTreeClassifier, WeightedOblique


def stops_soon(seconds, call):
    """Whether call() ends soon after Ctrl-C.

    The promise is 0.2 s on an idle machine; a test machine may be busy, so the best of some runs counts.
    """
    return any(interrupted_after(seconds, call) < 0.5 for _ in range(5))


def interrupted_after(seconds, call):
    """Run call(), send SIGINT after some seconds, return how long the call went on after it."""
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.perf_counter() - sent[0]
    finally:
        timer.cancel()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_a_fit(n_jobs, rng):
    X, y = rng.normal(size=(400_000, 30)).astype(np.float32), rng.integers(0, 2, 400_000)
    tree = TopDownTreeClassifier(n_jobs=n_jobs)
    assert stops_soon(0.5, lambda: tree.fit(X, y))
    assert not [name for name in vars(tree) if name.endswith("_") and not name.startswith("_")]


@pytest.mark.parametrize("splits", [Householder(), OC1(), CO2()], ids=repr)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_ctrl_c_stops_the_search_of_a_node(splits, layout, rng):
    X, y = layout(rng.normal(size=(20_000, 400))), rng.integers(0, 2, 20_000)
    tree = TopDownTreeClassifier(splits)
    assert stops_soon(0.3, lambda: tree.fit(X, y))


def test_ctrl_c_stops_polishing(rng):
    X, y = rng.normal(size=(20_000, 40)), rng.integers(0, 20, 20_000)
    tree = TopDownTreeClassifier(WeightedOblique(max_iter=1), max_leaf_nodes=3, polish=Polish(epochs=10**6))
    assert stops_soon(1.5, lambda: tree.fit(X, y))
    assert not hasattr(tree, "tree_")


def test_an_error_in_a_progress_bar_stops_the_fit(rng):
    from boscage import _core

    def broken(done):
        raise RuntimeError("planted")

    X, y = rng.normal(size=(300_000, 20)), rng.integers(0, 2, 300_000).astype(np.int32)
    nothing = np.empty(0)
    with pytest.raises(RuntimeError, match="planted"):
        _core.grow_axis(
            X,
            y,
            nothing,
            2,
            np.empty(0, np.int64),
            0,
            "gini",
            0.0,
            nothing,
            "best_first",
            -1,
            -1,
            1,
            0.0,
            0.0,
            1,
            broken,
        )
