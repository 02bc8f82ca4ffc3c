"""Long fits say how far they are: a bar on a terminal, silence in pipes; scikit-learn's callbacks hear of every fit."""

import io
import os
import pickle
import pty
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from boscage import LOMTreeClassifier, OnlineTreeClassifier, OptimalTreeClassifier, TopDownTreeClassifier
from boscage.base.progress import Progress
from boscage.splits import LinearTest, ProposingFamily

sklearn_callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 brought callbacks")
MODELS = [
    TopDownTreeClassifier(max_depth=3),
    TopDownTreeClassifier("stochastic", max_leaf_nodes=4),
    TopDownTreeClassifier("wodt", max_depth=2, random_state=0),
    OptimalTreeClassifier(max_depth=2),
    LOMTreeClassifier(random_state=0, n_passes=3),
    OnlineTreeClassifier(random_state=0, n_passes=3),
]


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(300, 4))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)


class Listener:
    """Writes down what it is told."""

    def __init__(self, stop_after=None):
        self.events = []
        self.stop_after = stop_after
        self.scores = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator.score(X, y))
        return self.stop_after is not None and self.events.count("end pass over the rows") >= self.stop_after


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_callbacks_hear_of_the_fit_and_change_nothing(model, rows):
    X, y = rows
    plain = clone(model).fit(X, y)
    listener = Listener()
    heard = clone(model).set_callbacks(listener).fit(X, y)
    assert listener.events[:2] == ["setup", "begin fit"]
    assert listener.events[-2:] == ["end fit", "teardown"]
    assert listener.scores == [plain.score(X, y)], "the fitted estimator can predict"
    steps = listener.events[2:-2]
    passes = 3 if isinstance(model, LOMTreeClassifier | OnlineTreeClassifier) else 0
    assert steps == ["begin pass over the rows", "end pass over the rows"] * passes
    np.testing.assert_array_equal(heard.predict_proba(X), plain.predict_proba(X))
    assert pickle.loads(pickle.dumps(plain)).score(X, y) == plain.score(X, y)


def test_a_callback_can_stop_the_passes(rows):
    X, y = rows
    short = OnlineTreeClassifier(random_state=0, n_passes=1).fit(X, y)
    stopped = OnlineTreeClassifier(random_state=0, n_passes=5).set_callbacks(Listener(stop_after=1)).fit(X, y)
    np.testing.assert_array_equal(stopped.predict_proba(X), short.predict_proba(X))


def test_a_failed_fit_is_torn_down_and_not_ended():
    listener = Listener()
    with pytest.raises(ValueError, match="max_depth"):
        TopDownTreeClassifier(max_depth=-1).set_callbacks(listener).fit([[0.0], [1.0]], [0, 1])
    assert listener.events == ["setup", "begin fit", "teardown"]


def test_a_search_hands_callbacks_down(rows):
    from sklearn.model_selection import GridSearchCV

    bar = sklearn_callback.ProgressBar()
    search = GridSearchCV(TopDownTreeClassifier(), {"max_depth": [1, 2]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.set_callbacks(bar).fit(*rows)
    assert search.best_params_


def test_without_callbacks_there_is_no_context(rows):
    model = TopDownTreeClassifier(max_depth=2).fit(*rows)
    assert not [name for name in vars(model) if "callback" in name]


def test_the_warning_of_an_unproven_tree_points_at_the_caller(rng):
    X = rng.normal(size=(400, 6))
    with pytest.warns(ConvergenceWarning) as caught:
        OptimalTreeClassifier(max_depth=4, time_limit=0).fit(X, rng.integers(0, 2, 400))
    assert caught[0].filename == __file__


# ---- bars ----


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_waits_two_seconds_and_needs_a_terminal(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("boscage.base.progress.time.monotonic", lambda: clock[0])
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress("work", total=10) as progress:
        assert progress.callback is progress
        clock[0] = 1.9
        progress(3)
        assert progress._bar is None
        clock[0] = 2.1
        progress(4)
        assert progress._bar is not None
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert Progress("work").callback is None, "a pipe"
    assert Progress("work", verbose=True).callback is not None
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert Progress("work", verbose=False).callback is None


class InPython(ProposingFamily):
    """A family written in Python."""

    def propose(self, node):
        yield (LinearTest(np.eye(node.X.shape[1])[0]),)


# Enough rows of noise for each family to work for several looks at the clock, which are 50 ms apart.
NOISE = {
    "axis": 200_000,
    "stochastic": 120_000,
    "wodt": 60_000,
    "oblique": 120_000,
    "hhcart": 25_000,
    "oc1": 1_200,
    "cart_lc": 6_000,
    "co2": 25_000,
}


@pytest.mark.parametrize("family", list(NOISE))
def test_every_family_reports_progress(family, rng, monkeypatch):
    counts = []
    monkeypatch.setattr(Progress, "__call__", lambda self, done: counts.append(done))
    X = rng.normal(size=(NOISE[family], 8))
    y = rng.integers(0, 2, len(X))
    limits = {"max_leaf_nodes": 400} if family == "stochastic" else {}
    TopDownTreeClassifier(family, verbose=True, random_state=0, **limits).fit(X, y)
    assert counts
    assert counts == sorted(counts)


def test_a_family_in_python_reports_every_node(rows, monkeypatch):
    counts = []
    monkeypatch.setattr(Progress, "__call__", lambda self, done: counts.append(done))
    model = TopDownTreeClassifier(InPython(), verbose=True, max_depth=3).fit(*rows)
    assert counts == list(range(1, len(counts) + 1))
    assert len(counts) >= model.tree_.node_count - model.tree_.n_leaves


SCRIPT = """
import numpy as np
from boscage import {name}
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
model = {name}({options}).fit(X, rng.integers(0, 2, 60))
"""


@pytest.mark.parametrize(
    "name", ["TopDownTreeClassifier", "OptimalTreeClassifier", "LOMTreeClassifier", "OnlineTreeClassifier"]
)
def test_defaults_are_silent_in_pipes_and_for_quick_fits(name):
    code = SCRIPT.format(name=name, options="")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (out.stdout, out.stderr) == ("", "")


def test_a_quick_fit_shows_nothing_on_a_terminal():
    main, side = pty.openpty()
    code = SCRIPT.format(name="TopDownTreeClassifier", options="")
    subprocess.run([sys.executable, "-c", code], stdout=side, stderr=side, check=True)
    os.close(side)
    try:
        assert os.read(main, 1000) == b""
    except OSError:  # Linux reports a closed side this way
        pass
    finally:
        os.close(main)
