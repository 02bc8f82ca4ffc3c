"""Finding a data set by name: inside the package, in the folder ``BOSCAGE_DATA``, on OpenML."""

from __future__ import annotations

import difflib
import os
import re
import warnings
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from boscage.datasets._npz import DataFileError, read_npz
from boscage.datasets._record import Dataset

_EMBEDDED = files("boscage.datasets") / "embedded"


def list_datasets() -> tuple[str, ...]:
    """Return the names that `load_dataset` finds on this machine: embedded data sets and those in ``BOSCAGE_DATA``.

    Examples
    --------
    >>> from boscage.datasets import list_datasets
    >>> "heart" in list_datasets()
    True
    """
    names = set(_embedded_names())
    folder = _folder()
    if folder is not None:
        names.update(path.stem for path in folder.glob("*.npz"))
    return tuple(sorted(names))


def load_dataset(name: str, target: str = "auto") -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        The name of an embedded set, of an ``.npz`` file (without the ending) in the folder given by the environment
        variable ``BOSCAGE_DATA``, or of a set on OpenML; looked for in this order.
    target : {"auto", "classes", "numbers"}, default="auto"
        Type of target, as in :func:`read_npz`. Data sets on OpenML must be for classification.

    Returns
    -------
    Dataset
        Rows, labels and names.

    Raises
    ------
    ValueError
        The name is not one word.
    LookupError
        The data set was not found; the message lists the places searched.

    Examples
    --------
    >>> from boscage.datasets import load_dataset
    >>> data = load_dataset("iris")
    >>> data.X.shape, data.target_names
    ((150, 4), ('setosa', 'versicolor', 'virginica'))
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][\w.()+-]*", name):
        raise ValueError(f"name={name!r} is not the name of a data set. Pass one of {', '.join(list_datasets())}.")
    if name in _embedded_names():
        with as_file(_EMBEDDED / f"{name}.npz") as path:
            return read_npz(path, target)
    folder = _folder()
    if folder is not None and (folder / f"{name}.npz").is_file():
        return read_npz(folder / f"{name}.npz", target)
    return from_openml(name)


def _embedded_names() -> tuple[str, ...]:
    return tuple(sorted(entry.name[:-4] for entry in _EMBEDDED.iterdir() if entry.name.endswith(".npz")))


def _folder() -> Path | None:
    value = os.environ.get("BOSCAGE_DATA")
    return Path(value) if value else None


def from_openml(name: str, version: int | str = "active") -> Dataset:
    """Fetch with scikit-learn, which keeps a copy in its data folder; every failure becomes one LookupError."""
    from sklearn.datasets import fetch_openml

    try:
        # The ARFF reader of scikit-learn needs no pandas and numbers the levels of nominal columns itself.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # retries, and several versions: `origin` names the one taken
            bunch = fetch_openml(name, version=version, as_frame=False, parser="liac-arff", n_retries=1)
    except Exception as error:  # the reasons range from sockets to ARFF syntax, and all mean "not available"
        raise LookupError(_not_found(name, f"{type(error).__name__}: {error}")) from error
    try:
        X = np.ascontiguousarray(bunch.data, dtype=np.float64)
        labels = np.asarray(bunch.target)
        if labels.ndim != 1 or labels.dtype.kind == "f":
            raise ValueError("its target is not one column of classes")
    except (TypeError, ValueError) as error:
        raise DataFileError(f"data set {name!r} from OpenML cannot be used: {error}") from error
    target_names, y = np.unique(labels.astype(str), return_inverse=True)
    feature_names = tuple(map(str, bunch.feature_names))
    levels = {column: tuple(map(str, texts)) for column, texts in (bunch.categories or {}).items()}
    return Dataset(
        X=X,
        y=y.astype(np.int64),
        feature_names=feature_names,
        target_names=tuple(map(str, target_names)),
        n_train=None,
        categorical_features=tuple(j for j, column in enumerate(feature_names) if column in levels),
        categories=tuple(levels.get(column) for column in feature_names),
        origin=_origin(name, bunch.details),
    )


def _origin(name: str, details: dict[str, str]) -> str:
    text = f"OpenML, data set {details.get('id', '?')}: {name} version {details.get('version', '?')}"
    return f"{text}, licence there: {details['licence']}" if details.get("licence") else text


def _not_found(name: str, reason: str) -> str:
    names = list_datasets()
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    folder = _folder()
    where = "BOSCAGE_DATA is not set" if folder is None else f"not in the folder BOSCAGE_DATA={folder}"
    reason = " ".join(reason.split())
    return f"data set {name!r} is not embedded, {where}, and OpenML did not give it ({reason}).{hint}"
