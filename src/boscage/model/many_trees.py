"""Prediction with many trees: sums over the trees in their order, in the compiled half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage.model.predict import _native_args, needs_numbers, thread_count
from boscage.tree import Floats, Int64s, Schema, Tree

Bits = npt.NDArray[np.uint8]


class ManyTrees(Sequence[Tree]):
    """Trees over the same columns, and their compiled half, which is made when first needed.

    Parameters
    ----------
    trees : sequence of Tree
        At least one.
    geometric : bool, default=False
        Whether probabilities are averaged by their geometric mean, divided by its sum.
    """

    def __init__(self, trees: Sequence[Tree], *, geometric: bool = False) -> None:
        self.trees = tuple(trees)
        self.geometric = geometric

    def __len__(self) -> int:
        return len(self.trees)

    def __getitem__(self, place: Any) -> Any:
        return self.trees[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ManyTrees) and (self.trees, self.geometric) == (other.trees, other.geometric)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {"trees": self.trees, "geometric": self.geometric}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"geometric": False} | state)

    @property
    def schema(self) -> Schema:
        """The columns, which all trees share."""
        return self.trees[0].schema

    @cached_property
    def needs_numbers(self) -> bool:
        """Whether a missing value would make some test or leaf model meaningless."""
        return any(map(needs_numbers, self.trees))

    @cached_property
    def _native(self) -> Any:
        return _core.Forest([tree._native for tree in self.scored], self.geometric)

    @property
    def scored(self) -> tuple[Tree, ...]:
        """The trees whose predictions are added up: those of logarithms where the mean is geometric."""
        return tuple(map(log_tree, self.trees)) if self.geometric else self.trees

    def _args(self, X: Any) -> tuple[Any, ...]:
        return _native_args(self.trees[0], X)

    def proba(self, X: Any, exponent: float = 1.0, n_jobs: int | None = 1) -> Floats:
        """Mean of what the trees predict, rows × K; if an exponent is given, raised to it and divided by the sum.

        A geometric mean is always divided by its sum.
        """
        found: Floats = self._native.proba(*self._args(X), float(exponent), self._threads(X, n_jobs))
        return found

    def sums(self, X: Any, chosen: Bits, n_jobs: int | None = 1) -> Floats:
        """Sum of what trees predict, rows × K, each tree for the rows chosen for it.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Rows.
        chosen : uint8 array of shape (trees, (n + 7) // 8)
            Bits of the rows, as of ``np.packbits(…, bitorder="little")``.
        """
        found: Floats = self._native.sums(*self._args(X), chosen, self._threads(X, n_jobs))
        return found

    def apply(self, X: Any, n_jobs: int | None = 1) -> Int64s:
        """Node number of the leaf of each row in each tree, rows × trees."""
        found: Int64s = self._native.apply(*self._args(X), self._threads(X, n_jobs))
        return found

    def _threads(self, X: Any, n_jobs: int | None) -> int:
        return thread_count(n_jobs, X.shape[0] * len(self.trees))


def log_tree(tree: Tree) -> Tree:
    """Return the tree with the logarithms of its leaves' probabilities; nodes above have the means of those below."""
    values = np.zeros((tree.node_count, tree.n_outputs))
    values[tree.leaves] = np.log(tree.leaf_proba)
    weight = tree.weighted_n_node_samples
    for node in np.flatnonzero(~tree.is_leaf)[::-1].tolist():  # children come after their parent
        children = [tree.children_left[node], tree.children_right[node]]
        values[node] = np.average(values[children], axis=0, weights=weight[children])
    return replace(tree, value=values, leaf_value=None, target="numbers")


def softmax(scores: Floats) -> Floats:
    """Return probabilities in proportion to e^score, row by row."""
    raised: Floats = np.exp(scores - scores.max(axis=1, keepdims=True))
    raised /= raised.sum(axis=1, keepdims=True)
    return raised


def sharpened(proba: Floats, exponent: float) -> Floats:
    """Return probabilities raised to a power and divided by their sum."""
    if exponent == 1.0:
        return proba
    raised: Floats = proba**exponent
    raised /= raised.sum(axis=1, keepdims=True)
    return raised
