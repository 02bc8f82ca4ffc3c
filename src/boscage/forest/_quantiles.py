"""Quantiles of the targets of the training rows that share leaves with a row: quantile regression forests."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage.model.many_trees import ManyTrees
from boscage.model.predict import thread_count
from boscage.tree import Floats

_NAMES = ("targets", "row_weights", "row_leaves")
_NO_WEIGHT = np.empty(0)


@dataclass(frozen=True)
class LeafTargets:
    """The targets of the training rows, and the leaf of each of them in each tree.

    Attributes
    ----------
    y : array of shape (n, m)
        Targets.
    weight : array of shape (n,)
        Weights; empty if all are 1.
    leaf : array of unsigned integers of shape (trees, n)
        Node numbers.
    nodes : array of shape (trees,)
        Number of nodes of each tree.
    """

    y: Floats
    weight: Floats
    leaf: npt.NDArray[Any]
    nodes: npt.NDArray[np.int64]

    @classmethod
    def of(cls, trees: ManyTrees, X: Any, y: Floats, weight: Floats | None, n_jobs: int | None) -> LeafTargets:
        """Find the leaves of the rows of a fit, one tree after another."""
        nodes = _node_counts(trees)
        leaf = np.empty((len(trees), X.shape[0]), np.uint16 if nodes.max() <= 1 << 16 else np.uint32)
        for number, tree in enumerate(trees):
            leaf[number] = ManyTrees([tree]).apply(X, n_jobs)[:, 0]
        return cls(np.ascontiguousarray(y.reshape(len(y), -1)), _NO_WEIGHT if weight is None else weight, leaf, nodes)

    @cached_property
    def _native(self) -> Any:
        return _core.LeafRows(self.leaf.astype(np.uint32, copy=False), self.nodes, self.weight)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_native"}

    def quantiles(self, reached: npt.NDArray[np.int64], levels: Floats, n_jobs: int | None) -> Floats:
        """Return the quantiles for rows that reach these leaves (n, trees): shape (n, m, levels)."""
        found = np.empty((len(reached), self.y.shape[1], len(levels)))
        threads = thread_count(n_jobs, reached.size)
        for output, y in enumerate(self.y.T):
            values, rank = np.unique(y, return_inverse=True)
            found[:, output] = values[self._native.quantiles(reached, rank, levels, threads)]
        return found

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return what a file keeps."""
        return dict(zip(_NAMES, (self.y, self.weight, self.leaf)))

    @classmethod
    def from_tensors(cls, tensors: dict[str, npt.NDArray[Any]], trees: ManyTrees, rows: int) -> LeafTargets:
        """Take over what a file holds; raise ValueError where it does not fit the trees."""
        if tensors.keys() != set(_NAMES):
            raise ValueError("the tensors of a forest must be " + ", ".join(_NAMES))
        y, weight, leaf = (tensors[name] for name in _NAMES)
        shapes = y.shape == (rows, trees[0].n_outputs) and weight.shape in ((0,), (rows,))
        kinds = y.dtype == weight.dtype == np.float64 and leaf.dtype in (np.uint16, np.uint32)
        if not shapes or not kinds or leaf.shape != (len(trees), rows):
            raise ValueError("targets, row_weights or row_leaves of a forest do not fit its trees")
        if not np.isfinite(y).all() or not np.isfinite(weight).all() or (weight <= 0).any():
            raise ValueError("targets and row_weights of a forest must be finite, and weights above 0")
        for number, tree in enumerate(trees):
            if leaf[number].max() >= tree.node_count or (tree.children_left[leaf[number]] >= 0).any():
                raise ValueError("row_leaves of a forest must be leaves of its trees")
        return cls(y, weight, leaf, _node_counts(trees))


def _node_counts(trees: ManyTrees) -> npt.NDArray[np.int64]:
    return np.array([tree.node_count for tree in trees], np.int64)
