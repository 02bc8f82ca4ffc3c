"""The fits behind the LOMtree page: the paper's cuts, its search over rates and swap resistances, one measured fit."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage.experiments._runner import read_set
from boscage.online import LOMTreeClassifier, OnlineTreeClassifier

Floats = npt.NDArray[np.float64]
C = 3.0  # of the modified Gini
RATES = (0.25, 0.5, 0.75, 1.0, 2.0, 4.0, 8.0)
RESISTANCES = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
GIVEN = "given"  # the cut that comes with the data
# How kept cells tell the two classifiers apart.
MODES: dict[str, Any] = {"lomtree": LOMTreeClassifier, "beam": OnlineTreeClassifier}


def criteria(shares: Floats) -> dict[str, Floats]:
    r"""Entropy, Gini and modified Gini of class shares, each 1 for equal shares and 0 for a pure node.

    Parameters
    ----------
    shares : ndarray of shape (..., K)
        Non-negative, summing to 1 over the last axis.

    Returns
    -------
    dict
        :math:`\sum \pi \ln 1/\pi`, :math:`\sum \pi (1 - \pi)` and :math:`\sum \sqrt{\pi (C - \pi)} - \sqrt{C - 1}`,
        divided by their largest values.

    Examples
    --------
    >>> import numpy as np
    >>> from boscage.experiments.lomtree import criteria
    >>> {name: float(value) for name, value in criteria(np.array([0.5, 0.5])).items()}
    {'entropy': 1.0, 'gini': 1.0, 'modified gini': 1.0}
    """
    k = shares.shape[-1]
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    root = np.sqrt(C - 1)
    modified = np.sqrt(shares * (C - shares)).sum(-1) - root
    return {
        "entropy": -(shares * logs).sum(-1) / np.log(k),
        "gini": (shares * (1 - shares)).sum(-1) / (1 - 1 / k),
        "modified gini": modified / (np.sqrt(k * C - 1) - root),
    }


def _loaded(name: str) -> tuple[Any, Any, int | None] | None:
    """Rows, labels and the number of training rows of the given cut; None if the data set is not at hand."""
    return read_set(name, _single_precision)


def _single_precision(data: Any) -> tuple[Any, Any, int | None]:
    return data.X.astype(np.float32), np.asarray(data.y), data.n_train


def cut(name: str, which: int | str, most: int) -> tuple[Any, Any, Any] | None:
    """Return training, validation and test rows; None if the data set is not at hand.

    A number is the seed of a cut as in the paper: nine tenths to learn from, a tenth of those for validation. The given
    cut of a set without one is that of seed 0. At most ``most`` rows are learned from.
    """
    found = _loaded(name)
    if found is None:
        return None
    _, y, n_train = found
    if which == GIVEN and n_train is not None:
        learn, test = np.random.default_rng(0).permutation(n_train), np.arange(n_train, len(y))
    else:
        order = np.random.default_rng(0 if isinstance(which, str) else which).permutation(len(y))
        learn, test = np.split(order, [len(y) * 9 // 10])
    learn = learn[:most]
    train, validation = np.split(learn, [len(learn) * 9 // 10])
    return train, validation, test


def known_to_be_missing(name: str) -> bool:
    """Whether a data set is not at hand."""
    return _loaded(name) is None


def grid_errors(name: str, which: int | str, most: int, rate: float, options: dict[str, Any]) -> dict[str, Any]:
    """Measure the validation errors of one rate with all swap resistances."""
    X, y, _ = _loaded(name)  # type: ignore[misc]
    train, validation, _ = cut(name, which, most)  # type: ignore[misc]
    k, per_class = len(np.unique(y)), options["routers per class"]
    errors = {}
    for resistance in RESISTANCES:
        model = LOMTreeClassifier(
            n_passes=options["n_passes"], learning_rate=rate, swap_resistance=resistance,
            max_internal_nodes=per_class * k, random_state=0, n_jobs=1, verbose=False,
        )  # fmt: skip
        model.fit(X[train], y[train])
        errors[f"{resistance:g}"] = float(np.mean(model.predict(X[validation]) != y[validation]))
    return {"errors": errors, "classes": k}


def measured(name: str, which: int | str, most: int, refit: bool, options: dict[str, Any]) -> dict[str, Any]:
    """Fit once: test error, CPU µs per row, and the criteria over the leaves of a LOMtree.

    ``refit`` adds the validation rows to the training rows.
    """
    X, y, _ = _loaded(name)  # type: ignore[misc]
    train, validation, test = cut(name, which, most)  # type: ignore[misc]
    rows = np.concatenate([train, validation]) if refit else train
    parameters = {key: value for key, value in options.items() if key != "mode"}
    model = MODES[options["mode"]](random_state=0, n_jobs=1, verbose=False, **parameters)
    start = time.process_time()
    model.fit(X[rows], y[rows])
    middle = time.process_time()
    wrong = float(np.mean(model.predict(X[test]) != y[test]))
    end = time.process_time()
    result: dict[str, Any] = {"error": wrong, "classes": len(model.classes_), "rows": len(rows), "tests": len(test)}
    result |= {
        "train": 1e6 * (middle - start) / len(rows) / model.n_passes,
        "predict": 1e6 * (end - middle) / len(test),
    }
    if isinstance(model, LOMTreeClassifier):
        result |= _leaf_criteria(model, X[rows], y[rows])
    return result


def _leaf_criteria(model: LOMTreeClassifier, X: Any, y: Any) -> dict[str, float]:
    """Criteria of the training rows in the leaves, and the share of rows in the heaviest leaf."""
    leaves = np.unique(model.apply(X), return_inverse=True)[1]
    counts = np.zeros((leaves.max() + 1, len(model.classes_)))
    np.add.at(counts, (leaves, np.searchsorted(model.classes_, y)), 1.0)
    weight = counts.sum(1)
    values = criteria(counts / weight[:, None])
    found = {key: float(weight @ value / weight.sum()) for key, value in values.items()}
    return found | {"heaviest": float(weight.max() / weight.sum()), "leaves": len(weight)}


def rows_for_peers(name: str, most: int) -> tuple[Any, Any, Any, Any] | None:
    """Training and test rows of the given cut."""
    found, parts = _loaded(name), cut(name, GIVEN, most)
    if found is None or parts is None:
        return None
    (X, y, _), (train, validation, test) = found, parts
    rows = np.concatenate([train, validation])
    return X[rows], y[rows], X[test], y[test]
