"""Colours of classes: distinct hues, paler the more mixed a node is; of numbers: one hue, paler the smaller."""

from __future__ import annotations

import colorsys

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Distinct also to colour-blind readers; more classes than these get evenly spaced hues.
_PALETTE = (
    "#3b7dd8",
    "#e8852c",
    "#3fa66b",
    "#c8529a",
    "#8c6bd1",
    "#c9a227",
    "#2aa5b8",
    "#d9544d",
    "#8d6e4f",
    "#7c8794",
)


def class_colors(n_classes: int) -> list[tuple[float, float, float]]:
    """One RGB colour for each class, parts in [0, 1]."""
    if n_classes <= len(_PALETTE):
        return [(int(c[1:3], 16) / 255, int(c[3:5], 16) / 255, int(c[5:7], 16) / 255) for c in _PALETTE[:n_classes]]
    # Neighbouring classes get distant hues and alternate in lightness.
    golden = 0.618033988749895
    return [colorsys.hls_to_rgb((0.6 + k * golden) % 1, 0.5 + 0.1 * (k % 2), 0.6) for k in range(n_classes)]


def node_color(proba: Floats, colors: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Colour of the leading class, faded to white as the lead shrinks."""
    best = int(proba.argmax())
    even = 1 / len(proba)
    lead = 1.0 if len(proba) == 1 else max(0.0, (float(proba[best]) - even) / (1 - even))
    strength = 0.12 + 0.63 * lead
    red, green, blue = (1 - strength * (1 - part) for part in colors[best])
    return red, green, blue


def number_color(share: float) -> tuple[float, float, float]:
    """Colour of a number by its place between the smallest (0) and the largest (1): pale to strong."""
    strength = 0.08 + 0.67 * min(max(share, 0.0), 1.0)
    red, green, blue = (1 - strength * (1 - part) for part in class_colors(1)[0])
    return red, green, blue


def hex_color(rgb: tuple[float, float, float]) -> str:
    """Write a colour as #rrggbb."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)
