"""One rule for threads: reads go side by side, writes one after the other, and a reader sees one model or the next.

What may crash runs in a process of its own.
"""

import contextlib
import copy
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from sklearn.base import is_regressor

import boscage
from boscage import (
    DuplicateWeights,
    ForestClassifier,
    ForestRegressor,
    LOMTreeClassifier,
    OnlineTreeClassifier,
    OptimalTreeClassifier,
    TopDownTreeClassifier,
    TopDownTreeRegressor,
    _core,
)

ONLINE = {
    "flat": "OnlineTreeClassifier(random_state=0, flat_below=10**6)",
    "tree": "OnlineTreeClassifier(random_state=0, flat_below=0, beam_width=3)",
    "lomtree": "LOMTreeClassifier(random_state=0)",
}
every_learner = pytest.mark.parametrize("make", ONLINE.values(), ids=ONLINE)

SETTING = """
import pickle, sys, threading, time
import numpy as np
import boscage
from boscage import LOMTreeClassifier, OnlineTreeClassifier
sys.setswitchinterval(1e-5)
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 6))
batches = [np.array([f"c{label}" for label in np.arange(400) % (50 + 10 * r)]) for r in range(12)]
def in_thread(work):
    errors = []
    def run():
        try:
            work()
        except BaseException as error:
            errors.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    return thread, errors
"""


def alone(code, make, seconds=120):
    """Run code in a process of its own; it prints "sound" at its end."""
    code = SETTING + f"make = lambda: {make}\n" + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=seconds, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "sound"), done.stderr[-2000:]


@every_learner
def test_reading_while_another_thread_learns(make):
    """Every answer is that of the model before or after some batch, labels and all."""
    alone(
        """
        states = []
        serial = make()
        for y in batches:
            serial.partial_fit(X, y)
            states.append((serial.predict_proba(X[:40]), serial.predict(X[:40]).tolist(),
                           [part.tolist() for part in serial.predict_top_k(X[:40], 3)], serial.n_steps_))
        model = make().partial_fit(X, batches[0])
        def learn():
            for y in batches[1:]:
                model.partial_fit(X, y)
                time.sleep(0.002)
        thread, errors = in_thread(learn)
        seen = set()
        def place(what, value, same):
            found = [number for number, state in enumerate(states) if same(state[what], value)]
            assert found, what
            return found[-1]
        equal = lambda a, b: a.shape == b.shape and bool((a == b).all())
        last = 0
        while thread.is_alive():
            for what, value, same in (
                (0, model.predict_proba(X[:40]), equal),
                (1, model.predict(X[:40]).tolist(), lambda a, b: a == b),
                (2, [part.tolist() for part in model.predict_top_k(X[:40], 3)], lambda a, b: a == b),
                (3, model.n_steps_, lambda a, b: a == b),
            ):
                seen.add(place(what, value, same))
            assert model.memory_usage()["total"] > 0
        thread.join()
        assert not errors, errors
        assert len(seen) > 1, seen
        assert equal(model.predict_proba(X[:40]), states[-1][0]) and model.classes_.tolist() == serial.classes_.tolist()
        print("sound")
        """,
        make,
    )


@every_learner
@pytest.mark.parametrize("start", ["unfitted", "fitted"])
def test_two_threads_that_learn(make, start):
    """The model is that of one of the two orders, also if both are the first."""
    alone(
        f"""
        fitted = {start == "fitted"}
        first, second = batches[3], batches[7][::-1]
        def begin():
            model = make()
            return model.partial_fit(X, batches[0]) if fitted else model
        orders = []
        for pair in ((first, second), (second, first)):
            model = begin()
            for y in pair:
                model.partial_fit(X, y)
            orders.append((model.predict_proba(X), model.classes_.tolist(), model.n_steps_))
        for _ in range(15):
            model = begin()
            gate = threading.Barrier(2)
            def learn(y):
                gate.wait()
                model.partial_fit(X, y)
            runs = [in_thread(lambda y=y: learn(y)) for y in (first, second)]
            for thread, errors in runs:
                thread.join()
                assert not errors, errors
            found = (model.predict_proba(X), model.classes_.tolist(), model.n_steps_)
            assert any(found[0].shape == o[0].shape and (found[0] == o[0]).all() and found[1:] == o[1:] for o in orders)
        print("sound")
        """,
        make,
    )


@every_learner
def test_pickling_copying_and_saving_while_another_thread_learns(make):
    alone(
        """
        import copy, os, tempfile
        states = []
        serial = make()
        for y in batches:
            states.append(serial.partial_fit(X, y).predict_proba(X[:40]))
        model = make().partial_fit(X, batches[0])
        def learn():
            for y in batches[1:]:
                model.partial_fit(X, y)
                time.sleep(0.002)
        thread, errors = in_thread(learn)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            while thread.is_alive():
                model.save(path, resume=True)
                copies = (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model))
                for other in (*copies, boscage.load(path)):
                    found = other.predict_proba(X[:40])
                    assert any(found.shape == s.shape and (found == s).all() for s in states)
                    assert len(other.classes_) == found.shape[1]
                    other.partial_fit(X[:20], batches[-1][:20])  # its own learner: the stream does not notice
        thread.join()
        assert not errors, errors
        assert (model.predict_proba(X[:40]) == states[-1]).all()
        print("sound")
        """,
        make,
    )


@every_learner
def test_a_fit_and_a_batch_at_once(make):
    """Either the batch is forgotten by the fit, or learned after it."""
    alone(
        """
        y, later = batches[2], batches[5]
        fitted = make().fit(X, y)
        orders = [fitted.predict_proba(X), fitted.partial_fit(X, later).predict_proba(X)]
        for _ in range(10):
            model = make().partial_fit(X, batches[0])
            runs = [in_thread(lambda: model.fit(X, y)), in_thread(lambda: model.partial_fit(X, later))]
            for thread, errors in runs:
                thread.join()
                assert not errors, errors
            found = model.predict_proba(X)
            assert any(found.shape == o.shape and (found == o).all() for o in orders)
        print("sound")
        """,
        make,
    )


def long_batch(rng, n=30_000):
    """Enough numbers to be learned on a copy."""
    return rng.normal(size=(n, 20)), rng.integers(0, 300, n)


@pytest.mark.parametrize("of", [OnlineTreeClassifier, LOMTreeClassifier])
def test_a_long_batch_does_not_hold_up_readers(of, rng):
    X, y = long_batch(rng)
    model = of(random_state=0).partial_fit(X[:600], y[:600])
    before = model.predict_proba(X[:5])
    thread = threading.Thread(target=model.partial_fit, args=(np.tile(X, (4, 1)), np.tile(y, 4)))
    thread.start()
    answers = []
    while thread.is_alive():
        answers.append(model.predict_proba(X[:5]))
        time.sleep(0.005)
    thread.join()
    after = model.predict_proba(X[:5])
    old = [np.array_equal(found, before) for found in answers]
    assert sum(old) > 5
    assert all(np.array_equal(found, after) for found, was_old in zip(answers, old) if not was_old)
    assert not np.array_equal(after, before)


def test_ctrl_c_reaches_a_thread_that_waits(rng):
    X, y = rng.normal(size=(50, 6)), np.arange(50) % 5
    model = OnlineTreeClassifier(random_state=0).partial_fit(X, y)
    before = model.predict_proba(X)
    waits = []
    for lock, call in (
        (model._locks.turn, lambda: model.partial_fit(X, y)),
        (model._locks.read, lambda: model.partial_fit(X, y)),
        (model._locks.write, lambda: model.predict(X)),
        (model._locks.write, lambda: model.n_steps_),
    ):
        release, held = threading.Event(), threading.Event()

        def hold(lock=lock, release=release, held=held):
            with lock:
                held.set()
                release.wait(20)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        sent = []

        def interrupt(sent=sent):
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.23, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            call()
        waits.append(time.perf_counter() - sent[0])
        timer.join()
        release.set()
        thread.join()
        np.testing.assert_array_equal(model.predict_proba(X), before)  # nothing learned, no lock left behind
    assert min(waits) < 0.2
    assert max(waits) < 1.0  # the machine may be busy
    model.partial_fit(X, y)


def test_ctrl_c_in_a_long_batch_leaves_the_model_as_it_was(rng):
    X, y = long_batch(rng)
    model = OnlineTreeClassifier(random_state=0).partial_fit(X[:600], y[:600])
    before = pickle.dumps(model)
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(np.tile(X, (8, 1)), np.tile(y, 8) + 1000)
    timer.join()
    assert pickle.dumps(model) == before
    model.partial_fit(X[:100], y[:100])


class _Alarm(Exception):
    """Raised by a signal."""


@pytest.mark.parametrize("of", [OnlineTreeClassifier, LOMTreeClassifier])
def test_a_signal_between_learning_and_labels_breaks_nothing(of, rng):
    """A signal that arrives while a short batch is learned is seen when rows and labels are both in."""

    def ring(number, frame):
        raise _Alarm

    X, y = rng.normal(size=(300, 20)), np.arange(300)
    usual = 1.0
    for _ in range(5):
        model = of(random_state=0).partial_fit(X[:20], y[:20])
        start = time.perf_counter()
        model.partial_fit(X, y)
        usual = min(usual, time.perf_counter() - start)
    caught, previous = 0, signal.signal(signal.SIGALRM, ring)
    try:
        for delay in np.linspace(0.05, 1.2, 60) * usual:
            model = of(random_state=0).partial_fit(X[:20], y[:20])
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                model.partial_fit(X, y)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except _Alarm:
                caught += 1
            assert model.predict_proba(X).shape == (300, len(model.classes_))
            assert len(model.classes_) in (20, 300)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert caught > 0


def test_readers_and_writers_take_turns():
    """Two threads that read without a pause do not keep a writer out, nor writers a reader."""
    read, write = _core.shared_lock()
    stop, count = threading.Event(), {"read": 0, "write": 0}

    def loop(lock, name, hold):
        while not stop.is_set():
            with lock:
                count[name] += 1
                time.sleep(hold)

    busy = [threading.Thread(target=loop, args=(read, "read", 0.002)) for _ in range(3)]
    busy += [threading.Thread(target=loop, args=(write, "write", 0.002)) for _ in range(2)]
    for thread in busy:
        thread.start()
    time.sleep(0.5)
    stop.set()
    for thread in busy:
        thread.join()
    assert min(count.values()) > 5


# ---------------------------------------------------------------- trees


def tree_models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    few = (X[:, 0] > 0).astype(int)
    many = np.array([f"k{label}" for label in np.digitize(X[:, 1], [-1, 0, 1])])
    named = np.where(X[:, 2] > 0, 1, 0) + 100  # as many classes as the first, under other labels
    return X, (few, many, named)


@contextlib.contextmanager
def switching_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize(
    "model",
    [
        TopDownTreeClassifier(max_depth=3),
        OptimalTreeClassifier(max_depth=1, time_limit=None),
        ForestClassifier(3, max_depth=3, random_state=0),
        TopDownTreeRegressor(max_depth=3, leaf="linear"),
        ForestRegressor(3, max_depth=3, random_state=0),
    ],
    ids=repr,
)
def test_predicting_while_another_thread_fits(model, tmp_path):
    X, labels = tree_models()
    if is_regressor(model):
        labels = (X[:, 0], X[:, 1] ** 2, np.column_stack([X[:, 2], X[:, 0]]))
    model = copy.deepcopy(model)
    known = [copy.deepcopy(model).fit(X, y) for y in labels]
    answers = [one.predict(X).tolist() for one in known]
    texts = [one.export_text() for one in known]
    model.fit(X, labels[0])
    stop, errors = threading.Event(), []

    def fit():
        number = 0
        while not stop.is_set():
            number += 1
            model.fit(X, labels[number % 3])

    def read():
        try:
            for number in range(100):
                assert model.predict(X).tolist() in answers
                if number % 10 == 0:
                    assert model.export_text() in texts
                    other = pickle.loads(pickle.dumps(model))
                    assert other.predict(X).tolist() in answers
                if number % 40 == 0:
                    path = tmp_path / f"{threading.get_ident()}"
                    model.save(path)
                    assert boscage.load(path).predict(X).tolist() in answers
        except BaseException as error:
            errors.append(error)

    with switching_often():
        writer, readers = threading.Thread(target=fit), [threading.Thread(target=read) for _ in range(2)]
        for thread in (writer, *readers):
            thread.start()
        for thread in readers:
            thread.join()
        stop.set()
        writer.join()
    assert not errors, errors[0]


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (DuplicateWeights(TopDownTreeClassifier(max_depth=2), budget=2), "predict_proba"),
        (ForestClassifier(2, max_depth=2, random_state=0, oob_score=True), "predict_proba"),
        (ForestRegressor(2, max_depth=2, random_state=0), "predict_interval"),
        (ForestRegressor(2, max_depth=2, random_state=0), "proximity"),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:.*no out-of-bag prediction")
def test_answers_that_need_several_attributes_are_those_of_one_fit(model, method):
    """Two fits of other columns and classes in turn; a reader knows the columns of the first."""
    X, (few, many, _) = tree_models()
    problems = [(X, few), (X, many)] if not is_regressor(model) else [(X, X[:, 0]), (X[:150], X[:150, 1] ** 2)]
    model = copy.deepcopy(model)
    answers = [getattr(copy.deepcopy(model).fit(*problem), method)(X).tolist() for problem in problems]
    model.fit(*problems[0])
    stop, seen = threading.Event(), set()

    def fit():
        number = 0
        while not stop.is_set():
            number += 1
            model.fit(*problems[number % 2])

    with switching_often():
        writer = threading.Thread(target=fit)
        writer.start()
        try:
            asked = 0
            while asked < 200 or len(seen) < 2:
                seen.add(answers.index(getattr(model, method)(X).tolist()))
                asked += 1
        finally:
            stop.set()
            writer.join()
