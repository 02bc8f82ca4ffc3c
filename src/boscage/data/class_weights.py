"""Arithmetic on vectors of class weights that keeps its digits: scales, complements, gaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def moderate(*weights: Floats) -> tuple[Any, ...]:
    """Multiply by a power of two so that the largest entry of each vector is in [½, 1[; the exponent comes last."""
    largest = np.max([w.max(axis=-1, initial=0.0) for w in weights], axis=0)
    exponent = np.frexp(largest)[1]
    return (*(np.ldexp(w, -exponent[..., None]) for w in weights), exponent)


def of_both_sides(formula: Callable[[Floats, Floats], Floats], right: npt.ArrayLike, left: npt.ArrayLike) -> Floats:
    """Apply a formula of the weights of two sides, at moderate scale; 0 where a side has no weight."""
    r, s = np.broadcast_arrays(np.asarray(right, dtype=np.float64), np.asarray(left, dtype=np.float64))
    r, s, exponent = moderate(r, s)
    is_split = (r.sum(axis=-1) > 1e-300) & (s.sum(axis=-1) > 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        usable = is_split[..., None]
        value = formula(np.where(usable, r, 1.0), np.where(usable, s, 1.0))
    return np.where(is_split, np.ldexp(value, exponent), 0.0)


def rest(W: Floats) -> Floats:
    """Weight of the other classes, by subtraction only where that costs at most one bit."""
    if W.shape[-1] == 2:
        swapped: Floats = W[..., ::-1]
        return swapped
    everything = W.sum(axis=-1, keepdims=True)
    dominant = everything < 2 * W
    others = np.where(dominant, 0.0, W).sum(axis=-1, keepdims=True)
    result: Floats = np.where(dominant, others, everything - W)
    return result


def entropy_gap(x: Floats, weight: Floats) -> Floats:
    """(1 + x) ln(1 + x) − x, 1 where the weight is 0 (x = −1); the series where the difference loses digits."""
    small = np.clip(x, -0.01, 0.01)
    tail = small * (1 / 30 + small * (-1 / 42 + small * (1 / 56 - small / 72)))
    series = small * small * (0.5 + small * (-1 / 6 + small * (1 / 12 + small * (-1 / 20 + tail))))
    closed = np.where(x > -1, (1 + x) * np.log1p(np.maximum(x, -1.0)) - x, 1.0)
    return np.where(weight > 0, np.where(np.abs(x) < 0.01, series, closed), 1.0)
