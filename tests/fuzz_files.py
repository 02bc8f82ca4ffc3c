"""Fuzz the model loader: mutated golden files are refused with `ModelFileError`, or they work.

``python tests/fuzz_files.py --seconds 60`` runs until the time is over and prints what happened; ``make fuzz`` runs it
with the sanitizers. A file that breaks a promise is written to the current folder, and the error ends the process.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import boscage
from boscage import (
    ForestClassifier,
    ForestRegressor,
    ModelFileError,
    OptimalTreeClassifier,
    Quantile,
    RidgeLeaf,
    TopDownTreeClassifier,
    TopDownTreeRegressor,
)

GOLDEN = Path(__file__).parent / "golden"
_ODD = [0, 1, -1, 2, 7, 255, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 1e308, 5e-324, np.nan, np.inf, -0.0, 0.5]
_WORDS = ["0", "1", "-1", "99", "1e999", "null", "true", '""', "[]", "{}", "2147483648", '"x"', "0.5"]


def fresh_models() -> list[Any]:
    """Return a fitted model of each kind that the golden files do not have."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(60, 3)), 2)
    coded = np.column_stack([X[:, :2], rng.integers(0, 5, 60)])
    y, labels = X[:, 0] + X[:, 1] ** 2, np.where(X[:, 0] > X[:, 1], "yes", "no")
    both = np.column_stack([y, -y])
    missing = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    few = {"max_leaf_nodes": 5, "random_state": 0}
    return [
        TopDownTreeRegressor(**few, categorical_features=[2]).fit(coded, both),
        TopDownTreeRegressor(criterion=Quantile(0.1), **few).fit(missing, y),
        TopDownTreeRegressor("oc1", **few).fit(X, y),
        TopDownTreeRegressor("stochastic", **few).fit(X, y),
        TopDownTreeRegressor(leaf="linear", **few, categorical_features=[2]).fit(coded, y),
        TopDownTreeRegressor(leaf=RidgeLeaf(clip=False), **few).fit(missing, both),
        TopDownTreeRegressor(leaf=RidgeLeaf(blend=0.2), **few).fit(X, y),
        ForestRegressor(3, max_leaf_nodes=5, oob_score=True, random_state=0, categorical_features=[2]).fit(coded, both),
        ForestRegressor(2, "axis", leaf="linear", max_leaf_nodes=4, random_state=0).fit(X, y),
        ForestClassifier(3, max_leaf_nodes=5, oob_score=True, random_state=0).fit(missing, labels),
        ForestClassifier(2, "stochastic", max_leaf_nodes=4, random_state=0).fit(X, labels),
        ForestClassifier(2, refit="leaves", max_leaf_nodes=4, random_state=0).fit(missing, labels),
        ForestRegressor(2, refit="leaves", max_leaf_nodes=4, random_state=0).fit(X, both),
        ForestClassifier(3, max_leaf_nodes=4, calibrate=True, random_state=0).fit(X, labels),
        TopDownTreeClassifier("hhcart", leaf="linear", max_leaf_nodes=4).fit(X, labels),
        OptimalTreeClassifier(2).fit(X, labels),
    ]


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """Change a file in one to three places: a byte, a number of a tensor, a word of the header, or its length."""
    for _ in range(rng.integers(1, 4)):
        kind = rng.choice(4, p=[0.1, 0.6, 0.2, 0.1])
        if kind == 0:
            data = _byte(data, rng)
        elif kind == 1:
            data = _number(data, rng)
        elif kind == 2:
            data = _word(data, rng)
        else:
            cut = int(rng.integers(len(data) + 1))
            data = data[:cut] if rng.random() < 0.3 else data[:cut] + rng.bytes(int(rng.integers(9))) + data[cut:]
    return data


def _byte(data: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(data or b"\0")
    changed[rng.integers(len(changed))] = rng.integers(256)
    return bytes(changed)


def _parts(data: bytes) -> tuple[bytes, bytes]:
    size = int.from_bytes(data[:8], "little")
    return data[8 : 8 + size], data[8 + size :]


def _number(data: bytes, rng: np.random.Generator) -> bytes:
    """Put an odd number into a tensor, in its own type."""
    header, body = _parts(data)
    try:
        entries = [entry for name, entry in json.loads(header).items() if name != "__metadata__"]
        entry = entries[rng.integers(len(entries))]
        kind = {"I32": "i4", "I64": "i8", "F32": "f4", "F64": "f8", "U8": "u1", "BOOL": "u1"}[entry["dtype"]]
        begin, end = entry["data_offsets"]
        values = np.frombuffer(body[begin:end], kind).copy()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            odd = rng.choice(np.array(_ODD, dtype=object))
            values[rng.integers(len(values))] = np.array(odd, dtype="f8").astype(kind)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, UnicodeDecodeError, RecursionError):
        return _byte(data, rng)
    return data[:8] + header + body[:begin] + values.tobytes() + body[end:]


def _word(data: bytes, rng: np.random.Generator) -> bytes:
    """Put another word between two delimiters of the header; its length is kept true."""
    header, body = _parts(data)
    places = [i for i, char in enumerate(header) if char in b':,{}[]"']
    if len(places) < 2:
        return _byte(data, rng)
    first = int(rng.integers(len(places) - 1))
    begin, end = places[first] + 1, places[min(first + int(rng.integers(1, 3)), len(places) - 1)]
    header = header[:begin] + _WORDS[rng.integers(len(_WORDS))].encode() + header[end:]
    return len(header).to_bytes(8, "little") + header + body


def use(path: Path) -> str:
    """Load a file and do what can be done with a model; return how it went."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = boscage.load(path)
        except ModelFileError:
            return "refused"
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20, model.n_features_in_)) * 3 if model.n_features_in_ < 1000 else None
        if X is None:
            return "too wide"
        found = _predictions(model, X)
        model.save(path)
        assert np.array_equal(_predictions(boscage.load(path), X), found)
        if hasattr(model, "tree_") or hasattr(model, "trees_"):
            _export(model, X)
        else:
            _learn(model, X)
    return "works"


def _predictions(model: Any, X: np.ndarray) -> np.ndarray:
    """Predict finite numbers, or probabilities and labels; rows of the largest numbers too."""
    is_tree = hasattr(model, "tree_") or hasattr(model, "trees_")
    for rows in (np.sign(X) * (np.finfo(np.float64).max if is_tree else 1e150), X):
        found: np.ndarray = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)
        assert np.isfinite(found).all()
        if hasattr(model, "predict_proba"):
            assert (found >= 0).all()
            assert np.abs(found.sum(axis=1) - 1).max() < 1e-6
            assert np.isin(model.predict(rows), model.classes_).all()
    return found


def _export(model: Any, X: np.ndarray) -> None:
    """Write the model in every form; a refusal is an ordinary error with a message."""
    assert np.isfinite(model.feature_importances_).all()
    json.dumps(model.to_dict(), allow_nan=False)
    for name in ("export_text", "export_graphviz", "to_html", "to_c", "to_sql", "to_javascript"):
        try:
            written = getattr(model, name)()
        except ValueError as refused:
            written = str(refused)
        assert written
    assert np.isfinite(model.explain(X[:1]).contributions).all()
    if isinstance(model, ForestRegressor) and hasattr(model, "_leaf_targets"):
        assert np.isfinite(model.predict_quantiles(X)).all()


def _learn(model: boscage.OnlineTreeClassifier, X: np.ndarray) -> None:
    try:
        model.partial_fit(X, np.resize(model.classes_, len(X)))
    except ValueError as refused:
        if "learning state" not in str(refused):
            raise
    assert np.isfinite(model.predict_proba(X)).all()


def _fresh_files() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [model.save(Path(folder) / "model").read_bytes() for model in fresh_models()]


def fuzz(runs: int | None, seconds: float, seed: int) -> Counter[str]:
    """Try mutated files until the runs or the time are over; count what happened."""
    rng = np.random.default_rng(seed)
    files = [path.read_bytes() for path in sorted(GOLDEN.rglob("*.boscage"))]
    files += _fresh_files()
    found: Counter[str] = Counter()
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.boscage"
        while sum(found.values()) != runs and time.monotonic() < end:
            data = mutate(files[rng.integers(len(files))], rng)
            path.write_bytes(data)
            try:
                found[use(path)] += 1
            except BaseException:
                Path("crash.boscage").write_bytes(data)
                raise
    return found


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = fuzz(None, options.seconds, options.seed)
    print(f"{sum(found.values())} files: " + ", ".join(f"{count} {what}" for what, count in sorted(found.items())))


if __name__ == "__main__":
    main()
