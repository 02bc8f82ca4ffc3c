"""The picture of a boosting report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from boscage.theory.report import BoostingReport


def draw_report(report: BoostingReport, ax: Any = None) -> Any:
    """Draw potential, error and bounds against the number of splits; a point for the edge of each split below."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
    table = report.table
    splits = np.concatenate([[0], table["split"]])

    def line(name: str, first: float, **style: Any) -> None:
        values = np.concatenate([[first], table[name]])
        if not np.isnan(values[1:]).all():
            ax.plot(splits, values, **style)

    symbol = "γ" if report.n_classes == 2 else "J/2"
    at = "" if math.isnan(report.edge) else f" at {symbol} = {report.edge:.3f}"
    line("bound", report.start, color="0.45", ls="--", label=f"{report.form} bound{at}")
    line("promised_potential", report.start, color="C1", ls="-.", label="only the promised drops")
    line("potential", report.start, color="C0", lw=2, label="potential G_t")
    line("error", report.start_error, color="C3", lw=1.5, label="training error")
    measure = np.abs(table["edge"]) if report.n_classes == 2 else table["J"] / 2
    ax.plot(table["split"], measure, ".", color="C2", ms=4, label=f"{symbol} of each split")
    ax.set(xlabel="splits", ylim=(0, 1.3 * report.start), title=f"{report.criterion}, {report.n_classes} classes")
    ax.set_xlim(0, max(1, len(table)))
    ax.grid(alpha=0.25)
    ax.legend(fontsize="small", frameon=False, loc="upper center", ncols=3)
    return ax
