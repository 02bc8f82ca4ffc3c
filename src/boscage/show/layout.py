"""Where the nodes of a drawn tree stand: subtrees as close as their outlines allow, parents above their children."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def tidy_positions(left: Numbers, right: Numbers, widths: Floats) -> Floats:
    """Horizontal centres of nodes, by the idea of Reingold and Tilford for nodes of different widths.

    Parameters
    ----------
    left, right : arrays of int
        Children, −1 at a leaf; children come after their parents.
    widths : array of float
        Space each node takes, its margin included.

    Returns
    -------
    array of float
        The root stands at 0.
    """
    n = len(left)
    offset = np.zeros(n)  # of a node from its parent
    # Outline of the subtree below each node, level by level, counted from the node.
    outlines: list[tuple[Floats, Floats] | None] = [None] * n
    for node in range(n - 1, -1, -1):
        half = widths[node] / 2
        if left[node] < 0:
            outlines[node] = np.array([-half]), np.array([half])
            continue
        a, b = outlines[left[node]], outlines[right[node]]
        assert a is not None
        assert b is not None
        shared = min(len(a[0]), len(b[0]))
        apart = float(np.max(a[1][:shared] - b[0][:shared]))
        offset[left[node]], offset[right[node]] = -apart / 2, apart / 2
        low, high = a[0] - apart / 2, b[1] + apart / 2
        # The deeper side alone makes the outline below the shallower one.
        low = np.concatenate([low, b[0][len(low) :] + apart / 2])
        high = np.concatenate([high, a[1][len(high) :] - apart / 2])
        outlines[node] = np.concatenate([[-half], low]), np.concatenate([[half], high])
        outlines[left[node]] = outlines[right[node]] = None
    x = np.zeros(n)
    for node in range(n):
        if left[node] >= 0:
            x[left[node]] = x[node] + offset[left[node]]
            x[right[node]] = x[node] + offset[right[node]]
    return x
