"""Vowpal Wabbit as a peer, if it is installed: trained and asked in a process of its own, from its binary cache."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

_CHILD = """
import sys, time, vowpalwabbit
start = time.process_time()
model = vowpalwabbit.Workspace(sys.argv[1])
model.run_parser()
model.finish()
print(time.process_time() - start)
"""


def has_vw() -> bool:
    """Tell whether the package is installed."""
    return importlib.util.find_spec("vowpalwabbit") is not None


def vw(
    train: tuple[Any, npt.NDArray[Any]],
    test: tuple[Any, npt.NDArray[Any]],
    options: str,
    passes: int,
    seed: int = 0,
) -> dict[str, float]:
    """Train on shuffled rows and predict.

    Parameters
    ----------
    train, test : tuple of rows and labels
        Dense or CSR rows; labels 0 to K - 1.
    options : str
        Command line; ``{k}`` stands for the number of classes.
    passes : int
        Passes over the rows.
    seed : int, default=0
        Of the order of the rows.

    Returns
    -------
    dict
        ``error`` (a share), ``train`` and ``predict`` (CPU µs per row; parsing of text is left out of training where
        there are several passes).
    """
    folder = Path(tempfile.mkdtemp())
    try:
        X, y = train
        k = 1 + int(max(y.max(), test[1].max()))
        _write(folder / "train", X, y, np.random.default_rng(seed).permutation(len(y)))
        _write(folder / "test", *test, np.arange(len(test[1])))
        bits = 24 if sparse.issparse(X) else 20
        base = f"--quiet -b {bits} --holdout_off {options.format(k=k)} -d {folder}/train"
        once = _run(f"{base} --cache_file {folder}/once -k --passes 1 -f {folder}/model")
        took = once
        if passes > 1:
            total = _run(f"{base} --cache_file {folder}/cache -k --passes {passes} -f {folder}/model")
            took = (total - once) / (passes - 1)
        asked = f"--quiet -t -i {folder}/model -d {folder}/test -p {folder}/found --cache_file {folder}/test_cache"
        _run(f"{asked} -k")
        predict = _run(asked)
        found = np.loadtxt(folder / "found")[: len(test[1])].astype(int) - 1
        return {
            "error": float(np.mean(found != test[1])),
            "train": 1e6 * took / len(y),
            "predict": 1e6 * predict / len(test[1]),
        }
    finally:
        shutil.rmtree(folder)


def _write(path: Path, X: Any, y: npt.NDArray[Any], order: npt.NDArray[np.int64]) -> None:
    rows = X if sparse.issparse(X) else sparse.csr_array(X)  # a feature that is left out counts as zero
    with open(path, "w") as file:
        for i in order:
            at = slice(rows.indptr[i], rows.indptr[i + 1])
            pairs = zip(rows.indices[at].tolist(), rows.data[at].tolist())
            file.write(f"{y[i] + 1} | " + " ".join(f"{j}:{v:.6g}" for j, v in pairs) + "\n")


def _run(arguments: str) -> float:
    done = subprocess.run([sys.executable, "-c", _CHILD, arguments], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])
