"""Proximity of rows: the share of the trees in which they end in the same leaf. Typical rows, and outliers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from boscage.tree import Floats, Int64s

_PER_GROUP = 2
_SHARE_OF_GROUP = 0.1  # that a second typical row must stand for
_OUTLIERS = 8
_NEAREST_TO_NONE = 1e-4  # bounds the distance of rows that share no leaf
_NOTEWORTHY = 3.0  # times the median of a group


def proximity(leaves: Int64s, others: Int64s) -> Floats:
    """Return the share of trees (columns) in which rows of both sides have the same leaf."""
    found = np.zeros((len(leaves), len(others)), np.int32)
    for mine, theirs in zip(leaves.T, others.T):
        found += mine[:, None] == theirs
    shares: Floats = found / leaves.shape[1]
    return shares


class Typical(NamedTuple):
    """A row that stands for its group: its number, group, and mean proximity to the group."""

    row: int
    group: int
    mean: float


class Outlier(NamedTuple):
    """A row far from its group: its number, group, and how far, in medians of the group."""

    row: int
    group: int
    distance: float


def prototypes(near: Floats, group: Int64s) -> list[Typical]:
    """Return up to two rows for each group that are near to most of it; the second to those that the first is not.

    Parameters
    ----------
    near : array of shape (n, n)
        Proximities.
    group : array of shape (n,)
        Group of each row, from 0 on.
    """
    found = []
    for label in np.unique(group):
        members = np.flatnonzero(group == label)
        inside = near[np.ix_(members, members)]
        left = np.ones(len(members))
        chosen: list[int] = []
        for _ in range(min(_PER_GROUP, len(members))):
            sums = inside @ left
            sums[chosen] = -1.0
            best = int(sums.argmax())
            if chosen and sums[best] < _SHARE_OF_GROUP * len(members):
                break
            chosen.append(best)
            left *= 1 - inside[best]
            found.append(Typical(int(members[best]), int(label), float(inside[best].mean())))
    return found


def outliers(near: Floats, group: Int64s) -> list[Outlier]:
    """Return the rows that are farthest from their own group, the farthest first.

    The distance of a row is the size of its group divided by the sum of its squared proximities to the other rows of
    the group, in units of the median distance in the group. Only rows that are clearly apart are listed.
    """
    distance = np.zeros(len(group))
    for label in np.unique(group):
        members = np.flatnonzero(group == label)
        inside = near[np.ix_(members, members)]
        np.fill_diagonal(inside, 0.0)
        raw = 1 / np.maximum((inside**2).mean(axis=1), _NEAREST_TO_NONE)
        distance[members] = raw / np.median(raw)
    order = np.argsort(-distance, kind="stable")[:_OUTLIERS]
    return [Outlier(int(row), int(group[row]), float(distance[row])) for row in order if distance[row] >= _NOTEWORTHY]


def groups_of_numbers(y: npt.NDArray[Any]) -> tuple[Int64s, list[str]]:
    """Return the third of the targets that each row belongs to, and the names of the thirds."""
    values = np.asarray(y, np.float64).reshape(len(y), -1)[:, 0]
    ends = np.quantile(values, [1 / 3, 2 / 3])
    names = [f"y ≤ {ends[0]:.4g}", f"{ends[0]:.4g} < y ≤ {ends[1]:.4g}", f"y > {ends[1]:.4g}"]
    return np.searchsorted(ends, values, side="left").astype(np.int64), names
