"""Exported trees against ``predict``, and CSV files against pandas, in turns; the lowest CPU time of each counts."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from _measure import data_folder, in_turns, report
from boscage import TopDownTreeClassifier
from boscage.datasets import load_dataset
from boscage.datasets._csv import read_csv

ROUNDS = 9
MILLION = 1_000_000
RUN = """
#include "tree.h"
void run(const tree_real *X, long n, int *label) {
  long i;
  for (i = 0; i < n; ++i) label[i] = tree_predict(X + i * TREE_COLUMNS);
}
"""


def main() -> None:
    report("export_onnx", "ONNX: labels of 100,000 x 10 rows, one thread (CPU s)", onnx_rows())
    c_rows = header_rows()
    if c_rows:
        report("export_c", "C header: a tree of 65 leaves on pendigits, a million rows, cc -O2", c_rows)
    report("export_csv", "Reading a CSV file of 300,000 rows, one thread (CPU s)", csv_rows())


def onnx_rows() -> list[dict[str, Any]]:
    import onnxruntime

    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 10)).astype(np.float32)
    y = (X[:, :3].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    rows = []
    for leaves in (32, 100, 1000):
        model = TopDownTreeClassifier(max_leaf_nodes=leaves, n_jobs=1).fit(X, y)
        session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), options)
        for name, part in (("100,000 rows", X), ("one row", X[:1])):
            repeat = range(1 if len(part) > 1 else 1000)
            times = in_turns(
                ROUNDS,
                ours=lambda part=part, model=model, repeat=repeat: [model.predict(part) for _ in repeat],
                onnx=lambda part=part, session=session, repeat=repeat: [
                    session.run(["label"], {"X": part}) for _ in repeat
                ],
            )
            assert (session.run(["label"], {"X": part})[0] == model.predict(part)).all()
            native, onnx = (min(times[side]) / len(repeat) for side in ("ours", "onnx"))
            rows.append({"leaves": leaves, "what": name, "predict s": native, "onnxruntime s": onnx,
                         "ratio": onnx / native})  # fmt: skip
    return rows


def header_rows() -> list[dict[str, Any]]:
    compiler = shutil.which("cc")
    if data_folder() is None or compiler is None:
        print("C header: needs BOSCAGE_DATA and a C compiler")
        return []
    data = load_dataset("pendigits")
    X, rng = data.X.astype(np.float32), np.random.default_rng(0)
    rows = rng.uniform(X.min(axis=0) - 1, X.max(axis=0) + 1, size=(MILLION, X.shape[1])).astype(np.float32)
    rows[::2] = X[rng.integers(len(X), size=MILLION // 2)]
    found = []
    for splits in ("axis", "wodt"):
        model = TopDownTreeClassifier(splits, max_leaf_nodes=65, random_state=0, n_jobs=1).fit(X, data.y)
        with tempfile.TemporaryDirectory() as folder:
            model.to_c(Path(folder) / "tree.h")
            (Path(folder) / "run.c").write_text(RUN)
            (Path(folder) / "ask.c").write_text(
                '#include "tree.h"\nint ask(const tree_real *x) { return tree_predict(x); }\n'
            )
            subprocess.run([compiler, "-O2", "-c", "ask.c"], cwd=folder, check=True)
            subprocess.run(
                [compiler, "-O2", "-shared", "-fPIC", "-o", "run.so", "run.c", "-lm"], cwd=folder, check=True
            )
            told = subprocess.run(["size", "ask.o"], cwd=folder, capture_output=True, text=True, check=True).stdout
            run = ctypes.CDLL(f"{folder}/run.so").run
        label = np.empty(MILLION, dtype=np.int32)
        arguments = (
            rows.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_long(MILLION),
            label.ctypes.data_as(ctypes.c_void_p),
        )
        times = in_turns(ROUNDS, ours=partial(model.predict, rows), c=partial(run, *arguments))
        differ = int((model.classes_[label] != model.predict(rows)).sum())
        found.append({"splits": splits, "leaves": model.get_n_leaves(), "bytes": sum(map(int, told.split()[6:8])),
                      "ns a row": min(times["c"]) * 1e9 / MILLION,
                      "predict ns a row": min(times["ours"]) * 1e9 / MILLION,
                      "labels that differ": differ})  # fmt: skip
    return found


def csv_rows() -> list[dict[str, Any]]:
    rng, n = np.random.default_rng(0), 300_000
    numbers = pd.DataFrame(rng.normal(size=(n, 10)).round(6), columns=[f"x{i}" for i in range(10)])
    mixed = numbers.iloc[:, :6].assign(
        city=rng.choice(["Oslo", "Lima", "Pune", "Bonn"], n), old=rng.random(n) < 0.5, rings=rng.integers(1, 9, n)
    )
    mixed.loc[rng.random(n) < 0.1, "x0"] = np.nan
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, frame in (("10 columns of numbers", numbers), ("numbers, text, truth values and gaps", mixed)):
            path = Path(folder) / "table.csv"
            frame.to_csv(path, index=False)
            times = in_turns(ROUNDS, ours=lambda path=path: read_csv(path), theirs=lambda path=path: pd.read_csv(path))
            ours, theirs = min(times["ours"]), min(times["theirs"])
            rows.append({"file": name, "MB": path.stat().st_size / 1e6, "boscage s": ours, "pandas s": theirs,
                         "ratio": ours / theirs})  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
