"""Many threads at once, for every estimator: the answers are those of one thread."""

import pickle
import subprocess
import sys
import sysconfig
import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_regressor

import boscage
from boscage import (
    DuplicateWeights,
    ForestClassifier,
    ForestRegressor,
    LOMTreeClassifier,
    OnlineTreeClassifier,
    OptimalTreeClassifier,
    StochasticLinear,
    TopDownTreeClassifier,
    TopDownTreeRegressor,
)
from boscage.base.component import names


def parabola(share):
    return 4 * share * (1 - share)


THREADS = 8
SPLITS = [name for name in names("splits") if name != "mixed"]
ESTIMATORS = {
    **{name: TopDownTreeClassifier(name, max_leaf_nodes=5, random_state=0) for name in SPLITS},
    "linear leaves": TopDownTreeClassifier("oblique", leaf="linear", max_leaf_nodes=3, random_state=0),
    "polished": TopDownTreeClassifier("wodt", polish="soft", max_leaf_nodes=3, random_state=0),
    "own criterion": TopDownTreeClassifier(criterion=parabola, max_leaf_nodes=5),
    "threads": TopDownTreeClassifier("oblique", max_leaf_nodes=5, n_jobs=2, random_state=0),
    "numbers": TopDownTreeRegressor(max_leaf_nodes=5),
    "numbers, linear leaves": TopDownTreeRegressor("oblique", leaf="linear", max_leaf_nodes=3, random_state=0),
    "forest": ForestClassifier(4, max_depth=4, n_jobs=2, random_state=0),
    "forest of axis trees": ForestClassifier(16, "axis", n_jobs=2, oob_score=True, random_state=0),
    "refitted forest": ForestClassifier(4, "axis", max_depth=3, refit="leaves", random_state=0),
    "forest of numbers": ForestRegressor(4, max_depth=4, n_jobs=2, random_state=0),
    "optimal": OptimalTreeClassifier(max_depth=2, n_jobs=2),
    "online": OnlineTreeClassifier(random_state=0),
    "lomtree": LOMTreeClassifier(random_state=0),
    "duplicated": DuplicateWeights(TopDownTreeClassifier(max_leaf_nodes=4), random_state=0),
}
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
METHODS = ("predict", "predict_proba", "apply", "decision_path", "predict_quantiles")
LOOKS = ("export_text", "to_dict", "memory_usage", "get_n_leaves")


@pytest.fixture(autouse=True)
def busy_switching():
    """Under Python's global lock, threads change places as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def rows_and_target(estimator, seed=0, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(160, d))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    return X, y if is_regressor(estimator) else np.digitize(y, [-0.5, 0.7])


def at_once(*works):
    """Results of functions that begin at the same moment, each in a thread of its own."""
    gate, found, errors = threading.Barrier(len(works)), [None] * len(works), []

    def run(place, work):
        try:
            gate.wait()
            found[place] = work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found


def plain(value):
    """Something that can be compared."""
    if sparse.issparse(value):
        value = value.toarray()
    return value.tolist() if isinstance(value, np.ndarray) else value


def looks(model, X, folder):
    """What a fitted model can be asked, by name; each makes of it what can be compared."""

    def saved():
        path = folder / str(threading.get_ident())
        model.save(path)
        return path.read_bytes()

    found = {name: lambda name=name: plain(getattr(model, name)(X)) for name in METHODS if hasattr(model, name)}
    found |= {name: lambda name=name: plain(getattr(model, name)()) for name in LOOKS if hasattr(model, name)}
    found["pickle"] = lambda: plain(pickle.loads(pickle.dumps(model)).predict(X))
    if hasattr(model, "feature_importances_"):
        found["importances"] = lambda: plain(model.feature_importances_)
    if hasattr(model, "save"):
        found["save"] = saved
    return found


@every_estimator
def test_first_use_by_many_threads(estimator, tmp_path):
    """What is made when first needed is made by whichever thread comes first."""
    X, y = rows_and_target(estimator)
    fresh = pickle.dumps(clone(estimator).fit(X, y))
    expected = {name: look() for name, look in looks(pickle.loads(fresh), X, tmp_path).items()}
    for turn in range(6):
        wanted = list(expected)
        if turn % 2:  # the same question by all threads, or a different one by each
            wanted = [wanted[(turn // 2) % len(wanted)]] * THREADS
        asked = looks(pickle.loads(fresh), X, tmp_path)
        found = at_once(*(asked[name] for name in wanted))
        for name, answer in zip(wanted, found):
            assert answer == expected[name], name


@every_estimator
def test_fits_of_the_same_rows(estimator):
    """Estimators that share parameters and rows, fitted by threads of their own; one of them is fitted by two."""
    X, y = rows_and_target(estimator)
    expected = plain(clone(estimator).fit(X, y).predict(X))
    part = estimator.get_params(deep=False)  # not cloned: parts are shared
    for _ in range(3):
        models = [type(estimator)(**part) for _ in range(THREADS - 1)]
        for model in at_once(*(lambda model=model: model.fit(X, y) for model in [*models, models[0]])):
            assert plain(model.predict(X)) == expected


@every_estimator
@pytest.mark.filterwarnings("ignore:.*criterion of:UserWarning")  # a function is not data
def test_loading_by_many_threads(estimator, tmp_path):
    if not hasattr(estimator, "save"):
        pytest.skip("it has no model files")
    X, y = rows_and_target(estimator)
    model = clone(estimator).fit(X, y)
    expected = plain(model.predict(X))
    path = model.save(tmp_path / "model")

    for _ in range(3):
        for other in at_once(*[lambda: boscage.load(path)] * THREADS):
            assert plain(other.predict(X)) == expected


@every_estimator
def test_readers_see_one_fit_or_the_next(estimator, tmp_path):
    """Fits differ in rows and labels; no reader sees the labels of one with the tree of another."""
    fits = []
    for seed in range(3):
        X, y = rows_and_target(estimator, seed, d=4)
        fits.append((pd.DataFrame(X, columns=list("abcd")), y if is_regressor(estimator) else y + 10 * seed))
    known = []
    for X, y in fits:
        fitted = clone(estimator).fit(X, y)
        known.append({name: look() for name, look in looks(fitted, fits[0][0], tmp_path).items()})
    model = clone(estimator).fit(*fits[0])
    stop, errors = threading.Event(), []

    def fit():
        try:
            turn = 0
            while not stop.is_set():
                turn += 1
                model.fit(*fits[turn % 3])
        except BaseException as error:
            errors.append(error)

    def read():
        asked = looks(model, fits[0][0], tmp_path)
        for _ in range(4):
            for name, look in asked.items():
                answer = look()
                assert any(answer == each[name] for each in known), name

    writers = [threading.Thread(target=fit) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        at_once(*[read] * (THREADS - 2))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert not errors, errors[0]


@pytest.mark.parametrize(
    "estimator", [OnlineTreeClassifier(random_state=0), LOMTreeClassifier(random_state=0)], ids=repr
)
def test_reading_during_many_batches(estimator, tmp_path):
    """Readers see the model after some number of batches, which are learned in one order by two threads."""
    X, y = rows_and_target(estimator)
    batches = [(X[start : start + 20], y[start : start + 20] + start) for start in range(0, 160, 20)]
    states, serial = [], clone(estimator)
    for rows, labels in batches:
        states.append({name: look() for name, look in looks(serial.partial_fit(rows, labels), X, tmp_path).items()})
    model = clone(estimator).partial_fit(*batches[0])
    turn = threading.Lock()
    waiting = iter(batches[1:])

    def learn():
        while True:
            with turn:
                batch = next(waiting, None)
                if batch is None:
                    return
                model.partial_fit(*batch)

    def read():
        for name, look in looks(model, X, tmp_path).items():
            answer = look()
            assert any(answer == state[name] for state in states), name

    at_once(learn, learn, *[read] * (THREADS - 2))
    assert plain(model.predict_proba(X)) == states[-1]["predict_proba"]


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_trees_on_one_table(layout):
    """The columns of a table are sorted once, by the first of the trees that ask for it."""
    X, y = rows_and_target(ForestClassifier())
    X = layout(np.where(np.abs(X) > 0.3, X, 0))
    expected = ForestClassifier(16, "axis", random_state=0).fit(X, y)
    for _ in range(3):
        found = ForestClassifier(16, "axis", n_jobs=THREADS, random_state=0).fit(X, y)
        assert [tree.tree_ for tree in found.estimators_] == [tree.tree_ for tree in expected.estimators_]


def test_files_are_read_by_threads(tmp_path):
    """Passes over files and over one list of batches, by fits that run at once."""
    X, y = rows_and_target(TopDownTreeClassifier())
    table = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    for part in range(4):
        table.iloc[part * 40 : part * 40 + 40].to_parquet(tmp_path / f"{part}.parquet")

    def fit(source, splits):
        made = TopDownTreeClassifier(splits, max_leaf_nodes=4, n_jobs=2, random_state=0)
        return made.fit_batches(source, target="y").tree_

    kinds = [boscage.Axis(max_bins=16), StochasticLinear()]
    batches = [table[:50], table[50:]]
    expected = [fit(tmp_path, splits) for splits in kinds]
    for _ in range(2):
        works = [
            (lambda source=source, splits=splits: fit(source, splits))
            for splits in kinds
            for source in (tmp_path, batches)
        ]
        assert at_once(*works * 2) == [tree for tree in expected for _ in range(2)] * 2


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a global lock")
def test_no_import_brings_the_global_lock_back():
    """Python takes the lock again, with a warning, for the sake of an extension that does not do without."""
    code = """
        import sys, boscage
        tree = boscage.TopDownTreeClassifier().fit([[0.0], [1.0]], [0, 1])
        tree.predict([[1.0]]), tree.export_text()
        assert not sys._is_gil_enabled()
    """
    program = "\n".join(line.strip() for line in code.splitlines())
    subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", program], check=True, env={"PATH": ""})
