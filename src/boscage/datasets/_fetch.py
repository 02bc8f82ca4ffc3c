"""Getting the data sets of the papers: from OpenML where the licence allows it, from LIBSVM files otherwise.

``catalogue.json`` knows for every set that a paper's page uses its size, fingerprints of the arrays that the page was
made from, and where the set comes from. What is fetched becomes an ``.npz`` file in a folder for ``BOSCAGE_DATA``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from boscage.base.whole_file import whole_file
from boscage.datasets._load import from_openml, list_datasets
from boscage.datasets._npz import DataFileError
from boscage.datasets._record import Dataset


@dataclass(frozen=True)
class Source:
    """Where a set comes from, and what the arrays behind the published pages look like.

    Attributes
    ----------
    name : str
        The name in this library.
    rows, features, classes : int
        Size of the arrays at hand.
    exact : str
        Fingerprint of rows and labels in their order.
    any_order : str
        Fingerprint of the rows, whatever their order.
    openml : str or None
        Name on OpenML, if it may be fetched from there.
    version : int
        Version on OpenML.
    one_hot : bool
        Whether category columns are turned into columns of 0 and 1.
    licence : str
        Terms of use, as far as they are known.
    how : str
        How to get the set by hand.
    """

    name: str
    rows: int
    features: int
    classes: int
    exact: str
    any_order: str
    openml: str | None
    version: int
    one_hot: bool
    licence: str
    how: str


@dataclass(frozen=True)
class Fetched:
    """A file that was written, and how its arrays compare to those behind the published pages."""

    path: Path
    data: Dataset
    agreement: str


@cache
def catalogue() -> dict[str, Source]:
    """Return the sources of all data sets of the papers that are not embedded, by name."""
    text = files("boscage.datasets").joinpath("catalogue.json").read_text(encoding="utf-8")
    return {name: Source(name=name, **entry) for name, entry in json.loads(text).items()}


def fingerprints(data: Dataset) -> tuple[str, str]:
    """Fingerprints of a data set: of its rows and labels in order, and of its rows in any order.

    Numbers count in single precision and classes by the order in which they appear, so that neither the precision of a
    file nor the names of its classes matter.

    Examples
    --------
    >>> from boscage.datasets import load_dataset
    >>> from boscage.datasets._fetch import fingerprints
    >>> exact, any_order = fingerprints(load_dataset("iris"))
    >>> len(exact), exact == any_order
    (16, False)
    """
    rows = [hashlib.sha256(row).digest() for row in _row_bytes(data.X)]
    _, first, codes = np.unique(data.y, return_index=True, return_inverse=True)
    appearance = np.argsort(np.argsort(first))[codes].astype("<i8")
    exact = hashlib.sha256(b"".join(rows) + appearance.tobytes())
    any_order = hashlib.sha256(b"".join(sorted(rows)))
    return exact.hexdigest()[:16], any_order.hexdigest()[:16]


def _row_bytes(X: Any) -> Iterable[bytes]:
    """Each row as bytes: of a dense matrix all numbers, of a sparse one places and numbers that are not 0."""
    if not sparse.issparse(X):
        single = np.ascontiguousarray(X, dtype="<f4") + np.float32(0)  # -0 becomes 0
        return (row.tobytes() for row in single)
    csr = sparse.csr_array(X).astype("<f4")
    csr.eliminate_zeros()
    csr.sort_indices()
    ends = zip(csr.indptr[:-1], csr.indptr[1:], strict=True)
    return (csr.indices[a:b].astype("<i4").tobytes() + csr.data[a:b].tobytes() for a, b in ends)


def fetch(name: str, folder: str | os.PathLike[str]) -> Fetched:
    """Fetch a data set from OpenML and write it into a folder.

    Parameters
    ----------
    name : str
        A name of the catalogue.
    folder : path
        Where ``NAME.npz`` goes; made if it is not there.

    Returns
    -------
    Fetched
        The file and whether its arrays are those behind the published pages.

    Raises
    ------
    LookupError
        The name is not known, the set may not be fetched, or OpenML did not give it.
    """
    source = _source(name)
    if source.openml is None:
        raise LookupError(f"data set {name!r} cannot be fetched ({source.licence}). By hand: {source.how}")
    data = from_openml(source.openml, source.version)
    if source.one_hot:
        data = _one_hot(data)
    origin = f"{data.origin}; licence: {source.licence}"
    return _written(source, replace(data, origin=origin), Path(folder))


def import_libsvm(name: str, paths: Sequence[str | os.PathLike[str]], folder: str | os.PathLike[str]) -> Fetched:
    """Make the file of a data set from files in LIBSVM format, the first of them the training part.

    Parameters
    ----------
    name : str
        A name of the catalogue.
    paths : sequence of path
        Files ``label index:value …``, plain, ``.gz`` or ``.bz2``. With more than one the first holds the training rows.
    folder : path
        Where ``NAME.npz`` goes.

    Returns
    -------
    Fetched
        The file and whether its arrays are those behind the published pages.
    """
    from sklearn.datasets import load_svmlight_files

    source = _source(name)
    try:
        parts = load_svmlight_files([os.fspath(path) for path in paths], n_features=source.features)
    except ValueError as error:
        files = ", ".join(map(str, paths))
        raise DataFileError(f"{files}: not in LIBSVM format, lines 'label index:value ...' ({error})") from error
    X, labels = sparse.vstack(parts[0::2]).tocsr(), np.concatenate(parts[1::2])
    names, y = np.unique(labels, return_inverse=True)
    is_sparse = X.nnz < 0.25 * X.shape[0] * X.shape[1] and X.shape[1] > 200
    data = Dataset(
        X=sparse.csr_array(X) if is_sparse else np.ascontiguousarray(X.toarray()),
        y=y.astype(np.int64),
        feature_names=tuple(f"x{j}" for j in range(source.features)),
        target_names=tuple(f"{value:g}" for value in names),
        n_train=parts[0].shape[0] if len(paths) > 1 else None,
        categorical_features=(),
        categories=(None,) * source.features,
        origin=f"LIBSVM files {', '.join(Path(path).name for path in paths)}; licence: {source.licence}",
    )
    return _written(source, data, Path(folder))


def how_to_get(names: Iterable[str]) -> list[str]:
    """Say line by line which of these sets were not found, and how to get them."""
    here, known = set(list_datasets()), catalogue()
    missing = [name for name in dict.fromkeys(names) if name not in here]
    lines = []
    quick = [name for name in missing if name in known and known[name].openml is not None]
    if quick:
        lines.append(f"not found: {', '.join(quick)}. `boscage data fetch {' '.join(quick)}` gets them from OpenML")
    for name in missing:
        if name not in quick:
            how = known[name].how if name in known else "put NAME.npz into the folder BOSCAGE_DATA"
            lines.append(f"not found: {name}. {how}")
    return lines


def _source(name: str) -> Source:
    known = catalogue()
    if name not in known:
        raise LookupError(f"data set {name!r} is in no paper. Pass one of {', '.join(known)}.")
    return known[name]


def _one_hot(data: Dataset) -> Dataset:
    """Turn every category column into one column for each level, in the order of the levels."""
    blocks, names = [], []
    for j, (name, levels) in enumerate(zip(data.feature_names, data.categories, strict=True)):
        if levels is None:
            blocks.append(data.X[:, [j]])
            names.append(name)
        else:
            blocks.append((data.X[:, [j]] == np.arange(len(levels))).astype(np.float32))
            names += [f"{name}={level}" for level in levels]
    X = np.ascontiguousarray(np.hstack(blocks))
    return replace(data, X=X, feature_names=tuple(names), categorical_features=(), categories=(None,) * len(names))


def _written(source: Source, data: Dataset, folder: Path) -> Fetched:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{source.name}.npz"
    with whole_file(path) as draft, open(draft, "wb") as file:
        np.savez_compressed(file, **_arrays(data))
    return Fetched(path, data, _agreement(source, data))


def _arrays(data: Dataset) -> dict[str, Any]:
    arrays: dict[str, Any] = {"y": data.y, "target_names": np.array(data.target_names), "origin": np.array(data.origin)}
    if sparse.issparse(data.X):
        X = data.X
        arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    else:
        arrays |= {"X": data.X, "feature_names": np.array(data.feature_names)}
    if data.n_train is not None:
        arrays["n_train"] = np.array(data.n_train)
    levels = {name: list(texts) for name, texts in zip(data.feature_names, data.categories, strict=True) if texts}
    if levels:
        arrays["categories"] = np.array(json.dumps(levels))
    return arrays


def _agreement(source: Source, data: Dataset) -> str:
    """Say in words how the arrays compare to those behind the published pages."""
    shape = (source.rows, source.features)
    if data.X.shape != shape:
        found = f"{data.X.shape[0]} × {data.X.shape[1]} instead of {shape[0]} × {shape[1]}"
        return f"not the arrays of the published page: {found}"
    exact, any_order = fingerprints(data)
    if exact == source.exact:
        return "the arrays of the published page"
    if any_order == source.any_order:
        return "the rows of the published page in another order or with other labels: its cells will differ a little"
    return "not the arrays of the published page: same size, other numbers"
