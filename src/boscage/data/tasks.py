"""Whether a target holds classes or numbers."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

TaskKind = Literal["classification", "regression"]
TASK_KINDS: tuple[TaskKind, ...] = get_args(TaskKind)

_FEW_VALUES = 50
_FEW_ROWS = 5


def task_of(y: NDArray[np.generic]) -> TaskKind:
    """Recognise from the target whether it is to be classified or predicted as a number.

    Fractional numbers are predicted as numbers. So are whole numbers of more than 50 different values that occur fewer
    than 5 times in the mean, such as prices. Everything else is treated as classes, as in scikit-learn.

    Parameters
    ----------
    y : ndarray of shape (n,)
        The target.

    Returns
    -------
    {"classification", "regression"}

    Examples
    --------
    >>> import numpy as np
    >>> from boscage.data.tasks import task_of
    >>> task_of(np.array(["a", "b"])), task_of(np.array([1.0, 2.5])), task_of(np.array([0, 1, 2]))
    ('classification', 'regression', 'classification')
    """
    if y.dtype.kind not in "iuf":
        return "classification"
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        return "regression"
    distinct = len(np.unique(y))
    return "regression" if distinct > _FEW_VALUES and len(y) < _FEW_ROWS * distinct else "classification"


def is_doubtful(y: NDArray[np.generic]) -> bool:
    """Whether classes may have been meant as numbers: whole numbers of more than 50 different values."""
    return y.dtype.kind in "iuf" and len(np.unique(y)) > _FEW_VALUES
