"""Figures 4-8 of the paper on stochastic trees: the domain of the weighted Gini index, its cells, single decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from boscage.datasets.planes import make_hyperplane
from boscage.experiments._runner import Job
from boscage.experiments._stochastic_trees import published
from boscage.theory.cells import PRINTED_VARIATION, REGIONS, domain_bounds, partition, weighted_gini

SHARE = 0.6  # ρ of Figures 4-7: the paper draws ρ >= 0.5
SIZE = 0.1  # of the cells of Figures 6 and 7
TITLES = {
    4: "The domain of WGI, divided by the line q = ρp",
    5: "WGI over its four regions",
    6: "Slices of p (Algorithm 3)",
    7: "Cells of p and q (Algorithm 2)",
}


def cell_figure(job: Job, figure: int) -> None:
    """Draw the domain, the regions, the slices or the cells for ρ = 0.6."""

    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        p = np.linspace(0, 1, 400)
        low, high = domain_bounds(p, SHARE)
        if figure in (4, 5):
            {4: _draw_domain, 5: _draw_surface}[figure](canvas, ax, p)
        ax.plot(p, SHARE * p, color="k", lw=1.2)
        if figure == 6:
            for edge in sorted({round(end, 9) for cell in partition(SHARE, SIZE) for end in (cell.low, cell.high)}):
                ax.plot([edge, edge], [float(end) for end in domain_bounds(edge, SHARE)], color="C0", lw=0.8)
        if figure == 7:
            for cell in partition(SHARE, SIZE):
                corners = cell.corners()
                ax.fill(*corners.T, fill=False, edgecolor=f"C{REGIONS.index(cell.region)}", lw=0.5)
        ax.plot(p, low, color="0.3", lw=1)
        ax.plot(p, high, color="0.3", lw=1)
        ax.set(xlabel="p, share of the weight that goes right", ylabel="q, class 1 that goes right")
        ax.set_title(f"{TITLES[figure]}, ρ = {SHARE:g}")

    job.picture(f"stochastic-figure-{figure}.png", draw, (6, 4.4))
    job.write(f"stochastic-figure-{figure}.md", f"# Figure {figure}: {TITLES[figure]}\n\n{_caption(figure)}\n")


def largest_variation(share: float, size: float) -> dict[str, float]:
    """Largest variation of WGI in a cell, in cell sizes, by region."""
    cells = list(partition(share, size))
    return {region: max(c.variation() for c in cells if c.region == region) / size for region in REGIONS}


def _caption(figure: int) -> str:
    if figure == 4:
        return (
            "R_a is above the line: WGI falls with q and grows with p. R_b is below: the other way round (Lemma C.1)."
        )
    if figure == 5:
        return "R_a,l and R_a,r meet at p = ρ, R_b,l and R_b,r at p = 1 − ρ. Nothing is gained on the line q = ρp."
    if figure == 6:
        return f"Slices of width at most ε = {SIZE:g}, with p = ρ and p = 1 − ρ among the ends."
    worst = largest_variation(SHARE, SIZE)
    said = ", ".join(
        f"R_{region} {worst[region]:.1f} ε (printed {PRINTED_VARIATION[region]:g} ε)" for region in REGIONS
    )
    return (
        f"{len(list(partition(SHARE, SIZE)))} cells of size ε = {SIZE:g}. Largest variation of WGI in a cell: {said}."
    )


def _draw_domain(canvas: Any, ax: Any, p: Any) -> None:
    low, high = domain_bounds(p, SHARE)
    ax.fill_between(p, SHARE * p, high, color="C0", alpha=0.35, label="R_a")
    ax.fill_between(p, low, SHARE * p, color="C1", alpha=0.35, label="R_b")
    ax.legend(frameon=False, loc="upper left")


def _draw_surface(canvas: Any, ax: Any, p: Any) -> None:
    part = np.linspace(0, 1, 200)[:, None]
    low, high = domain_bounds(p, SHARE)
    q = low + part * (high - low)
    filled = ax.contourf(np.broadcast_to(p, q.shape), q, weighted_gini(p, q, SHARE), levels=20, cmap="viridis")
    canvas.colorbar(filled, ax=ax, label="WGI")
    for edge in (SHARE, 1 - SHARE):
        ax.plot([edge, edge], [float(end) for end in domain_bounds(edge, SHARE)], color="w", ls="--", lw=1)


def decision_figure(job: Job) -> None:
    """Draw what the first nodes of the published tree see of one plane, and what they decide (Figure 8)."""
    X, y = make_hyperplane(300, 2, random_state=0)
    model = published(max_leaf_nodes=8).fit(X, y)
    reach = model.decision_path(X).toarray()
    nodes = np.flatnonzero(~model.tree_.is_leaf)[:3]

    def draw(canvas: Any) -> None:
        axes = canvas.subplots(len(nodes), 2)
        for node, (left, right) in zip(nodes, axes):
            size = 40 * reach[:, node] / reach[:, node].max()
            left.scatter(*X.T, s=size, c=np.where(y == 1, "C0", "C1"))
            left.set_title(f"node {node}: rows by weight", fontsize="medium")
            goes_right = reach[:, model.tree_.children_right[node]] / reach[:, node]
            shown = right.scatter(*X.T, s=12, c=goes_right, cmap="coolwarm", vmin=0, vmax=1)
            right.set_title(f"node {node}: probability of going right", fontsize="medium")
            canvas.colorbar(shown, ax=right)
        for ax in axes.flat:
            ax.set(xticks=[], yticks=[], aspect="equal")

    job.picture("stochastic-figure-8.png", draw, (7, 9))
    job.write(
        "stochastic-figure-8.md",
        "# Figure 8: decisions of single nodes\n\nOne plane, 300 rows, the first three nodes of the published tree. "
        "Left: the rows, as large as their weight in the node, coloured by class. Right: the probability of going "
        "right.\n",
    )
