"""Whether the printed accuracies come from ten divisions into five folds, as the paper says, or from a single one.

A mean over one division of n rows is, but for folds of unequal size, a whole number of rows divided by n. The mean of
ten divisions is one in a case of ten. A single division also has a much larger error than ten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom, chi2

from boscage.experiments._runner import markdown_table

DATA = ("iris", "wine", "glass", "heart", "breast", "diabetes", "vehicle", "fourclass", "segment")
COUNTED = DATA[:-1]  # beyond 1,000 rows four digits do not tell whole numbers apart
DIVISIONS = 40
BY_CHANCE = 0.1
Printed = Mapping[str, Mapping[str, Sequence[float] | None]]


def right_rows(accuracy: float, rows: int) -> int | None:
    """Return the number of right rows behind an accuracy of four digits, or None if no whole number rounds to it.

    Examples
    --------
    >>> from boscage.experiments._wodt_divisions import right_rows
    >>> right_rows(0.9733, 150), right_rows(0.9263, 150)
    (146, None)
    """
    right = round(accuracy * rows)
    return right if abs(right / rows - accuracy) < 0.50001e-4 else None


def whole_numbers(printed: Printed, rows: Mapping[str, int]) -> dict[str, list[str]]:
    """Return the sets of up to 1,000 rows on which a printed column has a whole number of right rows, by method."""
    found: dict[str, list[str]] = {}
    for data in COUNTED:
        for method, value in printed[data].items():
            sets = found.setdefault(method, [])
            sets += [data] if value is not None and right_rows(value[0], rows[data]) is not None else []
    return found


def deviations(cell: Mapping[str, Any], printed: float) -> float:
    """Return how far print is above our mean, in standard deviations of the difference if print is one division."""
    means = np.mean(cell["accuracy"], axis=1)
    return float((printed - means.mean()) / (means.std(ddof=1) * np.sqrt(1 + 1 / len(means))))


def distances(cells: Mapping[str, Mapping[str, Any]], printed: Printed) -> dict[str, float]:
    """Return how far print is above our mean on each set; see :func:`deviations`."""
    return {data: deviations(cell, printed[data]["WODT"][0]) for data, cell in cells.items()}  # type: ignore[index]


def verdict(cells: Mapping[str, Mapping[str, Any]], printed: Printed) -> str:
    """Say in a sentence how print agrees with a single division."""
    away = distances(cells, printed)
    far = [f"{data} {-value:+.1f}" for data, value in away.items() if abs(value) > 2]
    return (
        "Printed numbers look like those of one division, not of ten (Table 5); against one, ours are within two of "
        f"its standard deviations on {len(away) - len(far)} of {len(away)} small sets (beyond: "
        f"{', '.join(far) or 'none'})"
    )


def table(cells: Mapping[str, Mapping[str, Any]], printed: Printed, rows: Mapping[str, int]) -> tuple[str, str]:
    """Return Table 5 and what it says; ``cells`` hold the accuracies of the folds, division by division."""
    header = ["data", "rows", "print", "right rows", f"ours, mean of {DIVISIONS} divisions", "deviation of a division",
              "print − ours in deviations", "divisions at print or beyond", "deviation of the five folds, print",
              "ours, median", "divisions with a smaller one"]  # fmt: skip
    lines, wider = [], []
    for data, cell in cells.items():
        accuracy, spread = printed[data]["WODT"]  # type: ignore[misc]
        folds = np.asarray(cell["accuracy"])
        means, spreads = folds.mean(axis=1), folds.std(axis=1)
        wider += [data] if spreads.min() > spread else []
        beyond = np.sign(accuracy - means.mean()) * (means - accuracy) > -0.5e-4
        right = right_rows(accuracy, rows[data]) if data in COUNTED else None
        counted = "not counted" if data not in COUNTED else str(right or "none")
        ours = [f"{means.mean():.4f}", f"{means.std(ddof=1):.4f}", f"{deviations(cell, accuracy):+.1f}"]
        small = [f"{spread:.4f}", f"{np.median(spreads):.4f}", str(int((spreads < spread).sum()))]
        lines.append([data, f"{rows[data]:,}", f"{accuracy:.4f}", counted, *ours, str(int(beyond.sum())), *small])
    return markdown_table(header, lines), _said(distances(cells, printed), wider, printed, rows)


def _said(away: Mapping[str, float], wider: Sequence[str], printed: Printed, rows: Mapping[str, int]) -> str:
    if not away:
        return "No data at hand."
    whole = whole_numbers(printed, rows)
    counts = ", ".join(f"{method} {len(sets)}" for method, sets in whole.items())
    chance = float(binom.sf(len(whole["WODT"]) - 1, len(COUNTED), BY_CHANCE))
    square = float(np.square(list(away.values())).sum())
    p = float(chi2.sf(square, len(away)))
    return (
        f"Printed accuracies that are a whole number of right rows, of {len(COUNTED)} sets of up to 1,000 rows: "
        f"{counts}. The mean of ten divisions is one in about one case of ten, so that the count of WODT has a "
        f"probability of 1 in {1 / chance:,.0f}, that of OC1 or CART-LC of 1 in {BY_CHANCE ** -len(COUNTED):,.0f}. "
        "So these columns seem to be those of a single division (on wine and glass, whose folds are unequal, the mean "
        "of the five folds of WODT need not be a whole number).\n\n"
        f"Against one division print is nowhere more than {max(map(abs, away.values())):.1f} deviations from ours, and "
        f"all sets together are in the usual range: sum of squares {square:.1f} for {len(away)} sets, p = {p:.2f}. The "
        "deviations of the five printed folds, too, scatter as those of one division do; for fifty folds they would be "
        f"near our medians. Smaller than in all {DIVISIONS} divisions of ours: {', '.join(wider) or 'none'}."
    )
