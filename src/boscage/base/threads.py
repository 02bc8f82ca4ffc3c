"""n_jobs as scikit-learn means it, for our own thread pool."""

from __future__ import annotations

import os

import numpy as np


def available_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def n_threads(n_jobs: int | None) -> int:
    """Threads for an ``n_jobs`` argument: None means 1, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, (int, np.integer)) or n_jobs is True or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r} is not allowed. Pass None, a positive integer, or -1 for all cores.")
    return int(n_jobs) if n_jobs > 0 else max(1, available_cores() + 1 + int(n_jobs))
