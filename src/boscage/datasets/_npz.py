"""A strict reader of the npz layout: plain arrays only, every size checked, one clear line when refused."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from boscage.datasets._record import Dataset

_CSR = ("data", "indices", "indptr", "shape")
_NAMES = ("X", *_CSR, "y", "target_names", "feature_names", "n_train", "fold", "categories")
_MOST_COLUMNS = 2**24
# What a damaged archive can raise: the zip container, the decompressor, and NumPy's parser of array headers.
_UNREADABLE = (
    ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError,
    SyntaxError, MemoryError, OverflowError, KeyError, TypeError,
)  # fmt: skip


class DataFileError(ValueError):
    """A data file is damaged, or not in the layout it should have."""


def read_npz(path: str | os.PathLike[str], target: str = "auto") -> Dataset:
    """Read a data set from an ``.npz`` file of plain arrays.

    The file holds ``X`` (rows by features) or, for sparse data, ``data``, ``indices``, ``indptr`` and ``shape`` of
    a CSR matrix; ``y``; and optionally ``target_names``, ``feature_names``, ``n_train``, ``fold``, ``categories`` and
    ``origin``.
    Other arrays in the file are ignored. Pickled objects are refused, so that reading a file never runs code.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : {"auto", "classes", "numbers"}, default="auto"
        Type of target: "auto" takes floats that are not all whole, and several columns, as regression targets, and
        everything else as classes.

    Returns
    -------
    Dataset
        float32 stays float32 and float64 float64; integers of up to 16 bits become float32, wider ones float64.

    Raises
    ------
    DataFileError
        The file is not an npz archive, or breaks a rule of the layout; the message says which.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> from boscage.datasets import read_npz
    >>> path = os.path.join(tempfile.mkdtemp(), "tiny.npz")
    >>> np.savez(path, X=[[0.5, 1.0], [2.0, 0.0]], y=["no", "yes"])
    >>> read_npz(path).target_names
    ('no', 'yes')
    """
    path = Path(path)
    if target not in ("auto", "classes", "numbers"):
        raise ValueError(f"target={target!r} is not known. Pass 'auto', 'classes' or 'numbers'.")
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    arrays = _arrays(path)
    X = _matrix(path, arrays)
    feature_names = _feature_names(path, arrays, X.shape[1])
    y, target_names = _target(path, arrays, X.shape[0], target)
    categories = _categories(path, arrays, X, feature_names)
    return Dataset(
        X=X,
        y=y,
        feature_names=feature_names,
        target_names=target_names,
        n_train=_n_train(path, arrays, X.shape[0]),
        categorical_features=tuple(j for j, levels in enumerate(categories) if levels is not None),
        categories=categories,
        origin=str(arrays["origin"]) if "origin" in arrays else f"file {path.name}",
        fold=_fold(path, arrays, X.shape[0]),
    )


def as_float(values: NDArray[Any]) -> NDArray[Any]:
    """Cast to the float type that a fit would use: small integers become float32, wide ones float64."""
    if values.dtype == np.float32 or (values.dtype.kind in "biu" and values.dtype.itemsize <= 2):
        return np.ascontiguousarray(values, dtype=np.float32)
    return np.ascontiguousarray(values, dtype=np.float64)


def _refuse(path: Path, why: str) -> NoReturn:
    raise DataFileError(f"{path}: {why}")


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Load the arrays the layout knows; anything zipfile or NumPy stumbles over is one clean error."""
    if not zipfile.is_zipfile(path):
        _refuse(path, "this is not an npz archive; write one with numpy.savez(path, X=..., y=...)")
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in (*_NAMES, "origin") if name in archive.files}
    except _UNREADABLE as error:
        reason = "it holds pickled objects" if "allow_pickle" in str(error) else f"it is damaged ({error})"
        raise DataFileError(f"{path}: cannot be read: {reason}") from error
    for name, value in arrays.items():
        if not isinstance(value, np.ndarray):
            _refuse(path, f"{name} is not an array")
    return arrays


def _matrix(path: Path, arrays: dict[str, NDArray[Any]]) -> Any:
    sparse = [name for name in _CSR if name in arrays]
    if "X" in arrays and sparse:
        _refuse(path, f"holds both X and {', '.join(sparse)}; keep the dense or the sparse form")
    if "X" in arrays:
        _numbers(path, "X", arrays["X"], ndim=2)
        return as_float(arrays["X"])
    if len(sparse) < len(_CSR):
        missing = ", ".join(name for name in _CSR if name not in arrays)
        _refuse(path, f"holds no X (a sparse file needs {missing} as well)" if sparse else "holds no array X")
    return _csr(path, arrays)


def _numbers(path: Path, name: str, values: NDArray[Any], ndim: int) -> None:
    if values.dtype.kind not in "biuf":
        _refuse(path, f"{name} has type {values.dtype}; numbers are needed")
    if values.ndim != ndim:
        _refuse(path, f"{name} has {values.ndim} dimension(s), {ndim} are needed")


def _csr(path: Path, arrays: dict[str, NDArray[Any]]) -> Any:
    _numbers(path, "data", arrays["data"], ndim=1)
    for name in ("indices", "indptr", "shape"):
        _numbers(path, name, arrays[name], ndim=1)
        if arrays[name].dtype.kind not in "iu":
            _refuse(path, f"{name} has type {arrays[name].dtype}; integers are needed")
    data, indices, indptr, shape = (arrays[name] for name in _CSR)
    if shape.size != 2 or (shape < 0).any():
        _refuse(path, f"shape is {shape.tolist()}; two sizes, rows and columns, are needed")
    if int(shape[1]) > _MOST_COLUMNS:
        _refuse(path, f"shape is {shape.tolist()}; at most {_MOST_COLUMNS} columns are allowed")
    if indptr.size != int(shape[0]) + 1 or int(indptr[0]) != 0 or (indptr[1:] < indptr[:-1]).any():
        _refuse(path, "indptr must start at 0, never fall, and have one entry more than there are rows")
    if not int(indptr[-1]) == indices.size == data.size:
        _refuse(path, "data and indices must both be as long as the last entry of indptr")
    if indices.size and (indices.min() < 0 or int(indices.max()) >= int(shape[1])):
        _refuse(path, f"indices must lie between 0 and {int(shape[1]) - 1}")
    return csr_array((as_float(data), indices, indptr), shape=(int(shape[0]), int(shape[1])))


def _feature_names(path: Path, arrays: dict[str, NDArray[Any]], n_features: int) -> tuple[str, ...]:
    if "feature_names" not in arrays:
        return tuple(f"x{j}" for j in range(n_features))
    names = _texts(path, "feature_names", arrays["feature_names"])
    if len(names) != n_features:
        _refuse(path, f"feature_names has {len(names)} entries for {n_features} columns")
    if len(set(names)) != len(names):
        _refuse(path, "feature_names repeats a name")
    return names


def _texts(path: Path, name: str, values: NDArray[Any]) -> tuple[str, ...]:
    if values.dtype.kind not in "Uiu" or values.ndim != 1:
        _refuse(path, f"{name} must be a one-dimensional array of text, not {values.dtype} of shape {values.shape}")
    return tuple(str(value) for value in values)


def _target(
    path: Path, arrays: dict[str, NDArray[Any]], n_rows: int, target: str
) -> tuple[NDArray[Any], tuple[str, ...]]:
    if "y" not in arrays:
        _refuse(path, "holds no array y")
    y = arrays["y"]
    if target == "numbers" or (target == "auto" and _are_numbers(y, arrays)):
        return _numeric_target(path, y, n_rows), ()
    if y.ndim != 1 or y.size != n_rows:
        _refuse(path, f"y has shape {y.shape} for {n_rows} rows")
    if y.dtype.kind not in "biuU" and not (y.dtype.kind == "f" and bool((y == np.floor(y)).all())):
        _refuse(path, f"y has type {y.dtype}; class numbers or class names are needed")
    if "target_names" not in arrays:
        names, codes = np.unique(y if y.dtype.kind in "bU" else y.astype(np.int64), return_inverse=True)
        return codes.astype(np.int64), tuple(str(name) for name in names)
    target_names = _texts(path, "target_names", arrays["target_names"])
    if y.dtype.kind == "U":
        _refuse(path, "y is text, so target_names must be left out (or y given as class numbers)")
    if y.size and (y.min() < 0 or y.max() >= len(target_names)):
        _refuse(path, f"y must lie between 0 and {len(target_names) - 1}, the classes of target_names")
    return y.astype(np.int64), target_names


def _are_numbers(y: NDArray[Any], arrays: dict[str, NDArray[Any]]) -> bool:
    """Whether a target cannot be classes: several columns, or floats that are not all whole."""
    if "target_names" in arrays or y.dtype.kind not in "biuf":
        return False
    is_whole = y.dtype.kind != "f" or bool((y == np.floor(y)).all())
    return (y.ndim == 2 and y.shape[1] > 1) or not is_whole


def _numeric_target(path: Path, y: NDArray[Any], n_rows: int) -> NDArray[np.float64]:
    if y.dtype.kind not in "biuf":
        _refuse(path, f"y has type {y.dtype}; numbers are needed")
    if y.ndim not in (1, 2) or len(y) != n_rows or y.size == 0:
        _refuse(path, f"y has shape {y.shape} for {n_rows} rows")
    numbers = np.ascontiguousarray(y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y, dtype=np.float64)
    if not np.isfinite(numbers).all():
        _refuse(path, "y holds NaN or infinity")
    return numbers


def _fold(path: Path, arrays: dict[str, NDArray[Any]], n_rows: int) -> NDArray[np.int64] | None:
    if "fold" not in arrays:
        return None
    fold = arrays["fold"]
    if fold.dtype.kind not in "iu" or fold.shape != (n_rows,) or (fold.size and fold.min() < 0):
        _refuse(path, f"fold must hold one fold number, 0 or more, for each of the {n_rows} rows")
    return fold.astype(np.int64)


def _n_train(path: Path, arrays: dict[str, NDArray[Any]], n_rows: int) -> int | None:
    if "n_train" not in arrays:
        return None
    value = arrays["n_train"]
    if value.ndim != 0 or value.dtype.kind not in "iu" or not 0 < int(value) <= n_rows:
        _refuse(path, f"n_train must be one whole number between 1 and {n_rows}")
    return int(value)


def _categories(
    path: Path, arrays: dict[str, NDArray[Any]], X: Any, feature_names: tuple[str, ...]
) -> tuple[tuple[str, ...] | None, ...]:
    """Level names per column: one array shared by all columns, or a JSON object from column name to list."""
    if "categories" not in arrays:
        return (None,) * len(feature_names)
    if not isinstance(X, np.ndarray):
        _refuse(path, "categories are for dense files; sparse columns are numbers")
    value = arrays["categories"]
    if value.ndim == 1:
        levels: dict[str, Any] = {name: list(_texts(path, "categories", value)) for name in feature_names}
    else:
        try:
            levels = json.loads(str(value))
        except ValueError:
            _refuse(path, "categories must be an array of level names, or a JSON object from column to level names")
    if not isinstance(levels, dict) or not set(levels) <= set(feature_names):
        _refuse(path, "categories must name columns that are in feature_names")
    for name, texts in levels.items():
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            _refuse(path, f"categories of column {name!r} must be a list of level names")
        codes = X[:, feature_names.index(name)]
        codes = codes[~np.isnan(codes)]
        if codes.size and (codes.min() < 0 or codes.max() >= len(texts) or (codes != np.floor(codes)).any()):
            _refuse(path, f"column {name!r} must hold level numbers between 0 and {len(texts) - 1}, or NaN")
    return tuple(tuple(levels[name]) if name in levels else None for name in feature_names)
