"""The online classifiers: against the slow reference, against itself in other batches, and against bad input."""

import copy
import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import boscage
from boscage import LOMTreeClassifier, ModelFileError, OnlineTreeClassifier, _core, online
from reference_online import CONSTANTS, Beam, Lomtree, clusters

MODES = {
    "flat": {},
    "tree": {"flat_below": 0, "beam_width": 3},
    "two trees": {"flat_below": 5, "beam_width": 2, "n_trees": 2},
    "lomtree": {"of": LOMTreeClassifier},
    "sparse": {"scaling": "unit"},
    "sparse tree": {"scaling": "unit", "flat_below": 0, "beam_width": 3},
    "sparse lomtree": {"of": LOMTreeClassifier, "scaling": "unit", "max_internal_nodes": 12},
}


def make(of=OnlineTreeClassifier, **options):
    return of(**options)


every_mode = pytest.mark.parametrize("options", MODES.values(), ids=MODES)


@parametrize_with_checks([make(**options) for options in MODES.values()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def counts(rng, n=200, k=20, d=40):
    """Rows with few entries that are not zero."""
    y = rng.integers(0, k, n)
    X = rng.poisson(0.05, size=(n, d)).astype(float)
    X[np.arange(n), y] += 2 + rng.random(n)
    X[np.arange(n), (7 * y + 3) % d] += rng.random(n)
    return X, y


def seed_of(random_state):
    return int(np.random.RandomState(random_state).randint(2**31 - 1))


def assert_same_state(a, b):
    first, second = a._learner.state(True), b._learner.state(True)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
    np.testing.assert_array_equal(a.classes_, b.classes_)


# ---------------------------------------------------------------- the slow reference


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["flat", "tree", "two trees"])
def test_dense_beam_follows_the_reference(kind, weighted, rng):
    options = MODES[kind]
    X, y = clusters(rng, n=260, k=17)
    w = rng.exponential(size=len(y)) if weighted else np.ones(len(y))
    model = make(**options, random_state=3, replay_size=0)
    slow = Beam(6, seed=seed_of(3), flat_below=model.flat_below, width=model.beam_width, trees=model.n_trees)
    for start in range(0, 260, 52):
        part = slice(start, start + 52)
        model.partial_fit(X[part], y[part], classes=np.arange(17), sample_weight=w[part])
        for x, label, weight in zip(X[part], y[part], w[part]):
            slow.learn(x, int(label), weight)
        expected = np.array([slow.proba(x, 17) for x in X])
        np.testing.assert_allclose(model.predict_proba(X), expected, atol=2e-3)
    assert model.n_steps_ == slow.t == 260


def test_sparse_beam_follows_the_reference(rng):
    X, y = counts(rng)
    for options in (MODES["sparse"], MODES["sparse tree"]):
        model = make(**options, random_state=1, replay_size=0)
        slow = Beam(40, centred=False, seed=seed_of(1), flat_below=model.flat_below, width=model.beam_width)
        model.partial_fit(sparse.csr_array(X), y, classes=np.arange(20))
        for x, label in zip(X, y):
            slow.learn(x, int(label))
        expected = np.array([slow.proba(x, 20) for x in X])
        np.testing.assert_allclose(model.predict_proba(sparse.csr_array(X)), expected, atol=2e-3)


@pytest.mark.parametrize("scaling", ["center", "unit"])
def test_replay_follows_the_reference(scaling, rng):
    X, y = clusters(rng, n=240, k=8) if scaling == "center" else counts(rng, n=240, k=8)
    order = np.argsort(y, kind="stable")
    X, y = X[order].astype(np.float32), y[order]
    model = OnlineTreeClassifier(scaling=scaling, random_state=2, replay_size=3)
    slow = Beam(X.shape[1], centred=scaling == "center", seed=seed_of(2), replay=3)
    model.partial_fit(X, y, classes=np.arange(8))
    for x, label in zip(X.astype(float), y):
        slow.learn(x, int(label), replay=True)
    assert model.n_steps_ == slow.t > 1.5 * len(y)  # the stream is sorted: much is replayed
    np.testing.assert_allclose(model.predict_proba(X), [slow.proba(x, 8) for x in X.astype(float)], atol=5e-3)


OTHER = {
    "start_square": 0.3, "skip_below": 0.013, "create_above": 0.07, "average_power": 1, "leaf_size": 2,
    "router_rate": 0.25, "router_skip": 0.02, "dense_floor": 0.2, "sparse_floor": 0.5, "rebuild_until": 5,
    "regrow": 1.2, "power_rounds": 3, "halving_rounds": 2, "sparse_start": 20, "patience": 2.0, "probes": 3,
    "note_share": 1 / 64,
}  # fmt: skip


def test_the_constants_are_those_of_the_reference():
    named = [name for name in dir(_core.OnlineConstants) if not name.startswith("_")]
    assert {name: getattr(online._CONSTANTS, name) for name in named} == CONSTANTS
    assert OTHER.keys() == CONSTANTS.keys()
    assert not any(OTHER[name] == CONSTANTS[name] for name in OTHER)


@pytest.mark.parametrize("kind", ["tree", "sparse tree", "flat"])
def test_other_constants_reach_the_core_and_its_files(kind, rng, monkeypatch, tmp_path):
    others = _core.OnlineConstants()
    for name, value in OTHER.items():
        setattr(others, name, value)
    centred = kind != "sparse tree"
    X, y = clusters(rng, n=240, k=20) if centred else counts(rng, n=240, k=20)
    order = np.lexsort((rng.random(240), y >= 10))
    X, y = X[order].astype(np.float32), y[order]
    monkeypatch.setattr(online, "_CONSTANTS", others)
    model = make(**MODES[kind], random_state=2, replay_size=3).partial_fit(X[:150], y[:150])
    model.save(tmp_path / "model", resume=True)
    monkeypatch.undo()
    loaded = boscage.load(tmp_path / "model")
    for each in (model, loaded):
        each.partial_fit(X[150:], y[150:])
    assert_same_state(model, loaded)
    options = {"flat_below": model.flat_below, "width": model.beam_width, "replay": 3, "constants": OTHER}
    slow = Beam(X.shape[1], centred=centred, seed=seed_of(2), **options)
    book = model._book.labels.tolist()
    for x, label in zip(X.astype(float), y):
        slow.learn(x, book.index(label), replay=True)
    assert model.n_steps_ == slow.t > 1.1 * len(y)
    columns = model._book.column_of
    expected = np.array([slow.proba(x, 20) for x in X.astype(float)])
    # A gradient as good as at a threshold may fall on either side of it in single precision, so a few differ by more.
    np.testing.assert_allclose(model.predict_proba(X)[:, columns], expected, atol=2e-2)
    assert abs(model.predict_proba(X)[:, columns] - expected).mean() < 2e-4
    plain = make(**MODES[kind], random_state=2, replay_size=3).partial_fit(X, y)
    assert abs(plain.predict_proba(X) - model.predict_proba(X)).mean() > 2e-3


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_out_of_range_are_refused(name, rng, monkeypatch):
    X, y = clusters(rng)
    state = OnlineTreeClassifier().fit(X, y)._learner.state(True)
    integer = isinstance(CONSTANTS[name], int)
    array = state["constants.integers" if integer else "constants.numbers"]
    at = array.tolist().index(CONSTANTS[name])
    for wrong in (-1, 2**40) if integer else (-1e-3, 1e10, np.nan, np.inf):
        others = _core.OnlineConstants()
        setattr(others, name, wrong)
        monkeypatch.setattr(online, "_CONSTANTS", others)
        with pytest.raises(ValueError, match="constant"):
            OnlineTreeClassifier().fit(X, y)
        changed = array.copy()
        changed[at] = wrong
        with pytest.raises(ValueError, match="constants"):
            _core.OnlineLearner.from_state(state | {f"constants.{'integers' if integer else 'numbers'}": changed})


def lomtree_summary(model):
    """Shape, labels and class counts in prefix order, from the saved arrays."""
    s = model._learner.state(True)
    out, open_ = [], [0]
    while open_:
        node = open_.pop()
        inner = s["lom.router"][node] >= 0
        at = slice(s["lom.record_offsets"][node], s["lom.record_offsets"][node + 1])
        seen = tuple(zip(s["lom.record_labels"][at].tolist(), s["lom.record_counts"][at].tolist()))
        out.append((bool(inner), int(s["lom.label"][node]), float(s["lom.least"][node]), seen))
        open_ += [int(s["lom.right"][node]), int(s["lom.left"][node])] if inner else []
    return out


@pytest.mark.parametrize("limit", [None, 5, 9])
@pytest.mark.parametrize("scaling", ["center", "unit"])
def test_lomtree_follows_the_reference(limit, scaling, rng):
    X, y = clusters(rng, n=600, k=10)
    model = LOMTreeClassifier(scaling=scaling, max_internal_nodes=limit, swap_resistance=1.0)
    slow = Lomtree(6, centred=scaling == "center", limit=limit, resistance=1.0)
    for start in range(0, 600, 100):
        part = slice(start, start + 100)
        model.partial_fit(X[part], y[part], classes=np.arange(10))
        for x, label in zip(X[part], y[part]):
            slow.learn(x, int(label))
        assert lomtree_summary(model) == slow.summary()
    assert slow.swaps > 0
    assert model._learner.state(True)["lom.swaps"][0] == slow.swaps
    assert model.predict(X).tolist() == [slow.predict(x) for x in X]


# ---------------------------------------------------------------- the published tree's bookkeeping


def test_lomtree_statistics_equal_a_recount(rng):
    X, y = clusters(rng, n=500, k=9)
    w = rng.integers(1, 4, 500).astype(float)
    model = LOMTreeClassifier(max_internal_nodes=7, swap_resistance=0.5)
    model.partial_fit(X, y, sample_weight=w)
    s = model._learner.state(True)
    assert s["lom.swaps"][0] > 0
    inner = s["lom.router"] >= 0
    # The root has seen everything; every record's margins were counted at most as often as its rows.
    at = slice(s["lom.record_offsets"][0], s["lom.record_offsets"][1])
    by_label = np.bincount(model._book.column_of[s["lom.record_labels"][at]], s["lom.record_counts"][at], minlength=9)
    np.testing.assert_array_equal(by_label, np.bincount(y, w, 9))
    assert (s["lom.record_weights"] <= s["lom.record_counts"]).all()
    assert (abs(s["lom.record_sums"]) <= s["lom.record_weights"] * (1 + 1e-9)).all()
    for node in np.flatnonzero(inner):
        at = slice(s["lom.record_offsets"][node], s["lom.record_offsets"][node + 1])
        assert s["lom.weight"][node] == pytest.approx(s["lom.record_weights"][at].sum())
        assert s["lom.sum"][node] == pytest.approx(s["lom.record_sums"][at].sum(), abs=1e-9)
        assert s["lom.least"][node] == min(s["lom.least"][s["lom.left"][node]], s["lom.least"][s["lom.right"][node]])
    assert inner.sum() == 7


@pytest.mark.parametrize("resistance", [0.0, 0.1, 1.0, 4.0])
def test_swaps_never_lose_a_node_or_loop(resistance, rng):
    X, y = clusters(rng, n=1500, k=30)
    for limit in (1, 2, 3, 29):
        model = LOMTreeClassifier(max_internal_nodes=limit, swap_resistance=resistance)
        for start in range(0, 1500, 300):
            model.partial_fit(X[start : start + 300], y[start : start + 300])
            summary = lomtree_summary(model)  # a prefix walk: it ends, and meets every node once
            assert len(summary) == len(model._learner.state(True)["lom.left"])
            assert sum(inner for inner, *_ in summary) <= limit


def test_a_leaf_has_one_label(rng):
    X, y = clusters(rng, n=600)
    model = LOMTreeClassifier(random_state=0).fit(X, y)
    leaves, found = model.apply(X), model.predict(X)
    assert len({*zip(leaves.tolist(), found.tolist())}) == len(set(leaves.tolist())) > 1
    assert not hasattr(OnlineTreeClassifier, "apply")


def test_class_records_are_capped(rng):
    X, y = clusters(rng, n=800, k=60)
    model = LOMTreeClassifier(max_class_records=5).partial_fit(X, y)
    assert np.diff(model._learner.state(True)["lom.record_offsets"]).max() == 5
    for cap in (5, 40):  # fewer and more than are looked at for a rare one: sorted, and common classes stay
        many = np.r_[np.repeat([3, 57], 300), rng.permutation(np.tile(np.arange(60), 5))]
        rows = rng.normal(size=(900, 6))
        # the root has a router at once; a third class comes after the common ones
        capped = LOMTreeClassifier(max_class_records=cap).partial_fit(rows, many, classes=np.arange(60))
        s = capped._learner.state(True)
        root = s["lom.record_labels"][: s["lom.record_offsets"][1]]
        assert len(root) == cap
        assert (np.diff(root) > 0).all()
        assert {3, 57} <= set(root.tolist())
    free = LOMTreeClassifier().partial_fit(X, y)
    assert model.memory_usage()["tree"] < free.memory_usage()["tree"]


# ---------------------------------------------------------------- batches, files, copies


def stream(options, rng):
    X, y = counts(rng, n=240, k=20) if options.get("scaling") == "unit" else clusters(rng, n=240, k=20)
    return X, np.array([f"c{label:02d}" for label in y])


@every_mode
def test_batches_do_not_matter(options, rng):
    X, y = stream(options, rng)
    w = rng.exponential(size=240) * (rng.random(240) > 0.1)
    whole = make(**options, random_state=0).partial_fit(X, y, sample_weight=w)
    for cuts in (np.arange(1, 240), [1, 2, 50, 51, 239], rng.choice(240, 9, replace=False)):
        parts = make(**options, random_state=0)
        for rows in np.split(np.arange(240), np.sort(cuts)):
            if w[rows].any():
                parts.partial_fit(X[rows], y[rows], sample_weight=w[rows])
        seen = np.isin(whole.classes_, parts.classes_)  # a batch without weight was left out with its labels
        np.testing.assert_array_equal(whole.predict_proba(X)[:, seen], parts.predict_proba(X))


@every_mode
def test_unweighted_batches_give_the_same_bytes(options, rng):
    X, y = stream(options, rng)
    whole = make(**options, random_state=0).partial_fit(X, y)
    parts = make(**options, random_state=0)
    for rows in np.split(np.arange(240), [1, 3, 100, 101, 200]):
        parts.partial_fit(X[rows], y[rows])
    assert_same_state(whole, parts)


@every_mode
def test_a_saved_model_goes_on_as_if_never_saved(options, rng, tmp_path):
    X, y = stream(options, rng)
    model = make(**options, random_state=0).partial_fit(X[:150], y[:150])
    model.save(tmp_path / "a", resume=True)
    loaded = boscage.load(tmp_path / "a")
    for other in (loaded, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        other.partial_fit(X[150:], y[150:])
    model.partial_fit(X[150:], y[150:])
    assert_same_state(loaded, model)
    loaded.save(tmp_path / "b", resume=True)
    model.save(tmp_path / "c", resume=True)
    assert (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


@every_mode
def test_a_file_for_prediction_predicts_the_same_and_says_it_cannot_learn(options, rng, tmp_path):
    X, y = stream(options, rng)
    model = make(**options, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    model.save(tmp_path / "full", resume=True)
    loaded = boscage.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert (tmp_path / "model").stat().st_size < (tmp_path / "full").stat().st_size
    with pytest.raises(ValueError, match="resume=True"):
        loaded.partial_fit(X, y)
    with pytest.raises(ValueError, match="resume=True"):
        loaded.save(tmp_path / "again", resume=True)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@every_mode
def test_hostile_state_is_refused_and_never_crashes(options, rng):
    """Every array of the state is cut, lengthened, retyped, dropped and overwritten."""
    X, y = stream(options, rng)
    model = make(**options, random_state=0).partial_fit(X[:120], y[:120])
    sound = model._learner.state(True)
    batch = _core.RowBatch(np.ascontiguousarray(X))
    numbers = np.zeros(240, np.int32)
    refused = 0
    for name, array in sound.items():
        wrong = [None, array[:-1], np.append(array, array[-1:] if array.size else 0).astype(array.dtype)]
        wrong.append(array.astype(np.float32 if array.dtype != np.float32 else np.float64))
        for value in (-1, 2**31 - 1, 10**6) if array.dtype.kind == "i" else (np.nan, np.inf, -1e300, 1e30):
            for place in {0, array.size // 2, array.size - 1} if array.size else set():
                changed = array.copy()
                with np.errstate(over="ignore"):
                    changed[place] = np.array(value).astype(array.dtype)
                wrong.append(changed)
        for replacement in wrong:
            state = {key: value for key, value in sound.items() if key != name}
            if replacement is not None:
                state[name] = replacement
            try:
                learner = _core.OnlineLearner.from_state(state)
            except ValueError:
                refused += 1
                continue
            # Strange but consistent: it must still work.
            if learner.n_classes == len(model.classes_) and learner.n_features == X.shape[1]:
                learner.predict_all(batch, model._book.column_of, 1)
                learner.learn(batch, numbers, None, _core.LearnOptions(learner.n_classes), None)
                learner.predict_top(batch, 2, model._book.column_of, True, 1)
    assert refused > 4 * len(sound)


GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("resume", ["", "-resume"])
@pytest.mark.parametrize("kind", ["flat", "tree", "lomtree"])
def test_files_of_the_two_modes_load_as_the_two_classifiers(kind, resume):
    """Files of format 1 name one class for both learners."""
    name = f"online-{kind}{resume}"
    assert b"LOMTreeClassifier" in (GOLDEN / f"{name}.boscage").read_bytes()
    model = boscage.load(GOLDEN / f"{name}.boscage")
    assert type(model) is (LOMTreeClassifier if kind == "lomtree" else OnlineTreeClassifier)
    with np.load(GOLDEN / "online-rows.npz") as known:
        X, y = known["X"], known["y"]
        np.testing.assert_allclose(model.predict_proba(X[::6]), known[name], atol=1e-6)
        if resume:
            model.partial_fit(X[60:], y[60:])
            np.testing.assert_allclose(model.predict_proba(X[::6]), known[f"{name}-later"], atol=1e-6)


def test_a_file_of_the_other_learner_is_refused(rng, tmp_path):
    X, y = clusters(rng)
    for of, other in ((OnlineTreeClassifier, "LOMTreeClassifierX"), (LOMTreeClassifier, "OnlineTreeClassifier")):
        of().fit(X, y).save(tmp_path / "model")
        data = (tmp_path / "model").read_bytes()
        size = int.from_bytes(data[:8], "little")
        header = data[8 : 8 + size].replace(of.__name__.encode(), other.encode())
        (tmp_path / "other").write_bytes(len(header).to_bytes(8, "little") + header + data[8 + size :])
        with pytest.raises(ModelFileError):
            boscage.load(tmp_path / "other")


def test_a_file_with_parts_of_another_kind_is_refused(rng, tmp_path):
    X, y = clusters(rng)
    OnlineTreeClassifier().fit(X, y).save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    (tmp_path / "other").write_bytes(data.replace(b"OnlineTreeClassifier", b"OnlineTreeClassifieR"))
    with pytest.raises(ModelFileError):
        boscage.load(tmp_path / "other")
    size = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + size].replace(b"OnlineTreeClassifier", b"TopDownTreeClassifier")
    (tmp_path / "other").write_bytes(len(header).to_bytes(8, "little") + header + data[8 + size :])
    with pytest.raises(ModelFileError, match="TopDownTreeClassifier"):
        boscage.load(tmp_path / "other")
    for at in range(0, len(data), max(1, len(data) // 200)):
        broken = bytearray(data)
        broken[at] ^= 0x55
        (tmp_path / "other").write_bytes(bytes(broken))
        try:
            boscage.load(tmp_path / "other").predict(X)
        except (ModelFileError, ValueError):
            continue


# ---------------------------------------------------------------- weights, labels, rows


@every_mode
def test_weight_is_repetition_in_fit(options, rng):
    X, y = stream(options, rng)
    w = rng.integers(0, 4, 240)
    weighted = make(**options, random_state=0).fit(X, y, sample_weight=w)
    rows = rng.permutation(np.repeat(np.arange(240), w))
    repeated = make(**options, random_state=0).fit(X[rows], y[rows])
    scaled = make(**options, random_state=0).fit(X, y, sample_weight=1024.0 * w)
    if set(y[rows]) == set(y):
        assert_same_state(weighted, repeated)
    assert_same_state(weighted, scaled)


@every_mode
def test_weight_zero_leaves_a_row_out_of_the_stream(options, rng):
    X, y = stream(options, rng)
    w = (rng.random(240) > 0.3).astype(float)
    everything = make(**options, random_state=0).partial_fit(X, y, np.unique(y), sample_weight=w)
    kept = make(**options, random_state=0).partial_fit(X[w > 0], y[w > 0], np.unique(y))
    assert_same_state(everything, kept)


def test_heavier_rows_pull_harder(rng):
    X = rng.normal(size=(400, 3))
    y = rng.integers(0, 2, 400)  # nothing to learn but how often each class comes
    for of in (OnlineTreeClassifier, LOMTreeClassifier):
        light = of(random_state=0).fit(X, y, sample_weight=np.where(y == 1, 0.1, 1.0))
        heavy = of(random_state=0, class_weight={1: 10.0}).fit(X, y)
        assert (light.predict(X) == 1).mean() < 0.35 < 0.65 < (heavy.predict(X) == 1).mean()
    balanced = OnlineTreeClassifier(class_weight="balanced", random_state=0)
    few = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:20]]
    assert (balanced.fit(X[few], y[few]).predict(X) == 1).mean() > 0.25
    assert (clone(balanced).set_params(class_weight=None).fit(X[few], y[few]).predict(X) == 1).mean() < 0.05
    with pytest.raises(ValueError, match="balanced"):
        balanced.partial_fit(X, y)
    online = OnlineTreeClassifier(class_weight={1: 10.0}, random_state=0)
    assert (online.partial_fit(X[:1], y[:1]).partial_fit(X, y).predict(X) == 1).mean() > 0.65


@every_mode
def test_new_classes_may_come_at_any_time(options, rng):
    X, y = clusters(rng, n=900, k=30, noise=0.2)
    labels = np.array(["a", "bb", "ccc"])[y % 3] + y.astype(str)
    model = make(**options, random_state=0)
    model.partial_fit(X[y < 10], labels[y < 10])
    assert len(model.classes_) == 10
    model.partial_fit(X[y < 20], labels[y < 20], classes=np.unique(labels[y < 25]))
    assert model.classes_.tolist() == sorted(set(labels[y < 25]))
    model.partial_fit(X, labels).partial_fit(X, labels)
    assert model.classes_.tolist() == sorted(set(labels))
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    # six columns and the length of the row gone, or a single path: harder, but far from the 1/30 of chance
    assert model.score(X, labels) > (0.35 if options.get("of") or options.get("scaling") else 0.8)


def test_declared_classes(rng):
    X, y = clusters(rng, k=4)
    model = OnlineTreeClassifier().partial_fit(X, y, classes=[7, 3, 2, 1, 0])
    assert model.classes_.tolist() == [0, 1, 2, 3, 7]
    assert (model.predict_proba(X)[:, 4] == 0).all()  # never seen
    with pytest.raises(ValueError, match=r"not in classes: \[3\]"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="another type"):
        model.partial_fit(X, y.astype(str))
    assert model.classes_.tolist() == [0, 1, 2, 3, 7]


@every_mode
def test_top_k_is_the_head_of_the_probabilities(options, rng):
    X, y = stream(options, rng)
    model = make(**options, random_state=0).fit(X, y)
    proba = model.predict_proba(X)
    for k in (1, 3, 20):
        labels, shares = model.predict_top_k(X, k)
        assert labels.shape == shares.shape == (240, k)
        np.testing.assert_allclose(shares, -np.sort(-proba, axis=1)[:, :k], rtol=1e-5)
        assert all(len(set(row)) == k for row in labels)
        np.testing.assert_array_equal(labels[:, 0], model.predict(X))
        columns = np.searchsorted(model.classes_, labels)
        np.testing.assert_allclose(np.take_along_axis(proba, columns, 1), shares, rtol=1e-5)
    with pytest.raises(ValueError, match="k=21"):
        model.predict_top_k(X, 21)
    assert model.predict_top_k(X)[0].shape == (240, 5)
    few = y < "c03"
    assert make(**options, random_state=0).fit(X[few], y[few]).predict_top_k(X)[0].shape == (240, 3)


@every_mode
def test_sparse_and_dense_rows_and_their_types_agree(options, rng):
    X, y = stream(options, rng)
    X = np.round(X, 2).astype(np.float32)
    scaling = options.get("scaling", "center")
    options = {**options, "scaling": scaling}
    model = make(**options, random_state=0).fit(X, y)
    wide = sparse.csr_matrix(X.astype(np.float64))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for other in (X.astype(np.float64), np.asfortranarray(X), sparse.csr_array(X), sparse.csc_matrix(X), wide):
        again = make(**options, random_state=0).fit(other, y)
        assert_same_state(model, again)
        np.testing.assert_array_equal(model.predict(other), model.predict(X))


def test_threads_do_not_matter(rng):
    X, y = clusters(rng, n=2000, k=40)
    model = OnlineTreeClassifier(flat_below=0, random_state=0).fit(X, y)
    one = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(n_jobs=3).predict_proba(X), one)


@every_mode
def test_rows_are_predicted_alike_alone_and_together(options, rng):
    X, y = stream(options, rng)
    model = make(**options, random_state=0).fit(X, y)
    rows = np.tile(X, (2, 1))  # more than go down the tree together
    together = model.predict_proba(rows)
    np.testing.assert_array_equal(together[:240], together[240:])
    np.testing.assert_array_equal(together[:60], np.vstack([model.predict_proba(X[i : i + 1]) for i in range(60)]))


def test_many_trees_find_more_candidates(rng):
    X, y = clusters(rng, n=600, k=40)
    found = []
    for n_trees in (1, 12):
        model = OnlineTreeClassifier(flat_below=0, beam_width=1, n_trees=n_trees, random_state=0).fit(X, y)
        found.append((model.predict_proba(X) > 0).sum(axis=1).mean())
    assert found[1] > found[0] + 1


def test_labels_never_met_count_as_errors(rng):
    X, y = clusters(rng)
    model = OnlineTreeClassifier(random_state=0).fit(X, y)
    assert model.score(X, y + 100) == 0
    assert set(model.predict(X)) <= set(y)


# ---------------------------------------------------------------- bad input


@every_mode
def test_failed_calls_leave_the_model_unchanged(options, rng):
    X, y = stream(options, rng)
    model = make(**options, random_state=0).partial_fit(X, y)
    before = copy.deepcopy(model)
    bad = X.copy()
    bad[5, 2] = np.nan
    infinite = np.where(np.isnan(bad), np.inf, bad)
    negative = np.ones(240)
    negative[3] = -1
    calls = {
        "NaN": lambda: model.partial_fit(bad, y),
        "infinity": lambda: model.partial_fit(infinite, y),
        "sparse NaN": lambda: model.partial_fit(sparse.csr_array(bad), y),
        "1e150": lambda: model.partial_fit(np.where(np.isnan(bad), 1e200, bad), y),
        "negative": lambda: model.partial_fit(X, y, sample_weight=negative),
        "Pass weights up to": lambda: model.partial_fit(X, y, sample_weight=np.full(240, 1e12)),
        "shape": lambda: model.partial_fit(X, y, sample_weight=np.ones(3)),
        "features": lambda: model.partial_fit(X[:, :-1], y),
        "0 sample": lambda: model.partial_fit(X[:0], y[:0]),
        "inconsistent": lambda: model.partial_fit(X, y[:-1]),
        "None": lambda: model.partial_fit(X, None),
        "another type": lambda: model.partial_fit(X, np.arange(240)),
        "predict NaN": lambda: model.predict(bad),
        "predict features": lambda: model.predict(X[:, 1:]),
        "fit NaN": lambda: model.fit(bad, y),
        "fit negative": lambda: model.fit(X, y, sample_weight=negative),
        "fit continuous": lambda: model.fit(X, rng.random(240)),
    }
    for expected, call in calls.items():
        with pytest.raises((ValueError, TypeError)) as error:
            call()
        word = expected.removeprefix("sparse ").removeprefix("predict ").removeprefix("fit ")
        assert word in str(error.value), (expected, str(error.value))
    assert_same_state(model, before)
    assert model.n_features_in_ == X.shape[1]


SHARED = [
    {"scaling": None}, {"n_passes": 0}, {"learning_rate": 0.0}, {"learning_rate": np.nan}, {"learning_rate": None},
    {"class_weight": "equal"}, {"n_jobs": 0},
]  # fmt: skip
OF_THE_TREE = [{"flat_below": -1}, {"beam_width": 0}, {"n_trees": 1001}, {"replay_size": -1}]
OF_LOMTREE = [{"max_internal_nodes": 0}, {"swap_resistance": -1.0}, {"max_class_records": 1}]


@pytest.mark.parametrize(
    ("of", "options"),
    [(OnlineTreeClassifier, o) for o in SHARED + OF_THE_TREE] + [(LOMTreeClassifier, o) for o in SHARED + OF_LOMTREE],
    ids=str,
)
def test_parameters_are_checked(of, options, rng):
    X, y = clusters(rng)
    (name,) = options
    for call in ("fit", "partial_fit"):
        model = of(**options)
        with pytest.raises(ValueError, match=name):
            getattr(model, call)(X, y)
        assert not hasattr(model, "classes_")


def test_each_learner_has_its_own_parameters():
    """The old word says where its two meanings went; scikit-learn and help see the true signature."""
    shared = {"n_passes", "learning_rate", "scaling", "class_weight", "random_state", "n_jobs", "verbose"}
    own = {
        OnlineTreeClassifier: {"flat_below", "beam_width", "n_trees", "replay_size"},
        LOMTreeClassifier: {"max_internal_nodes", "swap_resistance", "max_class_records"},
    }
    for of, parameters in own.items():
        assert set(of().get_params()) == set(inspect.signature(of).parameters) == shared | parameters
        for call in (lambda of=of: of(mode="beam"), lambda of=of: of("lomtree")):
            with pytest.raises(TypeError, match=r"mode is gone: use OnlineTreeClassifier\(\) for mode='beam'"):
                call()
    with pytest.raises(TypeError, match="beam_width"):
        LOMTreeClassifier(beam_width=3)


def test_hostile_rows_are_refused_by_the_core():
    data, indptr = np.ones(2), np.array([0, 2], np.int64)
    for indices in ([1, 0], [0, 0], [0, 5], [-1, 0]):
        with pytest.raises(ValueError, match="indices"):
            _core.RowBatch(data, np.array(indices, np.int32), indptr, 5)
    for wrong in ([0, 3], [1, 0], [-1, 2], []):
        with pytest.raises(ValueError):
            _core.RowBatch(data, np.array([0, 1], np.int32), np.array(wrong, np.int64), 5)
