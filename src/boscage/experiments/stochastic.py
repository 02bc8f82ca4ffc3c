"""Stochastic linear trees: Figures 1-9, Table 1, appendix I.1 and Theorem H.1, the paper's numbers beside ours.

"as published" is Algorithm 3 (ε = 0.1) on unit rows without a constant, with frequency leaves: those that reproduce the
printed numbers. The paper leaves the choice open; majority leaves are a variant. Our own trees are beside it, each in a
row of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from boscage.datasets import load_dataset
from boscage.datasets.planes import make_hyperplane, make_xor
from boscage.experiments import _stochastic_theorems as theorems
from boscage.experiments._runner import Job, markdown_table
from boscage.experiments._stochastic_pictures import cell_figure, decision_figure
from boscage.experiments._stochastic_trees import (
    CHOSEN,
    PUBLISHED,
    ChosenOnTrainingRows,
    Make,
    peers,
    published,
    soft_error,
    tree,
    variants,
)
from boscage.leaves import Frequency
from boscage.splits.stochastic import solve_split
from boscage.theory import binomial_margin, margin_depth, margin_tree

TABLES = (1, 2)  # 2 is ours: appendix I.1, which has no number in the paper, with Theorem H.1
SETS = ("promoters", "heart-disease", "heart")
SEEDS = "cross-validation has the seeds 0 to 3, artificial data 0 to 9 (Figures 2 and 3: 0 to 4)"
FIGURES = (1, 2, 3, 4, 5, 6, 7, 8)  # 9 is 2 again
# repetitions of cross-validation and of artificial problems; rows of Figures 2 and 3
SPEND: dict[str, dict[str, Any]] = {
    "quick": {"folds": 1, "repeats": 1, "rows": 2000, "noise": (0.0, 0.2), "widths": (6, 30)},
    "full": {
        "folds": 4,
        "repeats": 10,
        "rows": 10_000,
        "noise": (0.0, 0.1, 0.2, 0.3, 0.4),
        "widths": (6, 10, 14, 18, 22, 26, 30),
    },
}
PRINTED = {
    "promoters": {"CART": 0.80, "linear SVM": 0.87, PUBLISHED: 0.91},
    "heart-disease": {"CART": 0.70, "linear SVM": 0.73, PUBLISHED: 0.77},
    "heart": {"CART": 0.83, "linear SVM": 0.78, PUBLISHED: 0.85},
}
# Depth of the stochastic tree and of CART: where the paper says they converged (CART on promoters: not by depth 10).
DEPTHS = {"promoters": (3, 10), "heart-disease": (3, 3), "heart": (5, 5)}
# What is done to columns before rows are divided by their norms, which the paper does not say. The 228 columns of
# promoters are 0 or 1 and stay as they are; those of the heart sets have different units.
COLUMNS = {"promoters": "unit", "heart-disease": "standard", "heart": "standard"}
# name: planes (None: two perpendicular ones, 0: one), classes 2:1, internal nodes, printed accuracy
CONCEPTS: dict[str, tuple[int | None, bool, int, float]] = {
    "one plane": (0, False, 15, 0.99),
    "one plane, classes 2:1": (0, True, 15, 0.94),
    "XOR of two fixed planes": (None, False, 15, 0.94),
    "XOR of two random planes": (2, False, 15, 0.90),
    "XOR of three random planes, 15 nodes": (3, False, 15, 0.81),
    "XOR of three random planes, 30 nodes": (3, False, 30, 0.90),
    "XOR of three random planes, 60 nodes": (3, False, 60, 0.93),
}
PEERS = ("CART", "linear SVM")
NEAR = 0.02  # what counts as the printed accuracy
SOFT = 0.3  # printed "around", for the first split of one plane, balanced and 2:1
BIAS = {0.0: (0.80, 1.0), 1.0: (0.71, 0.707), 1.5: (0.67, 0.555), 2.0: (0.63, 0.447), 3.0: (0.60, 0.316),
        5.0: (0.55, 0.196), 10.0: (0.51, 0.099)}  # fmt: skip

Result = tuple[float, float, int]  # mean, standard deviation, runs


def reproduce(job: Job) -> None:
    """Make the tables and figures a job asks for."""
    for table in job.tables:
        {1: _bias, 2: _concepts}[table](job)
    for figure in job.figures:
        if figure in (4, 5, 6, 7):
            cell_figure(job, figure)
        else:
            {1: _data_sets, 2: _noise, 3: _xor, 8: decision_figure}[figure](job)


def _accuracy(job: Job, name: str, settings: dict[str, Any], scores: Callable[[], list[float]]) -> Result:
    def work() -> dict[str, Any]:
        found = scores()
        return {"mean": float(np.mean(found)), "sd": float(np.std(found)), "runs": len(found)}

    result = job.cell(name, settings, work)
    return float(result["mean"]), float(result["sd"]), int(result["runs"])


def _shown(result: Result) -> str:
    return f"{result[0]:.3f} ± {result[1]:.3f}"


def _page(job: Job, name: str, title: str, text: str, header: list[str], rows: list[list[str]], remark: str) -> None:
    job.write(f"stochastic-{name}.md", f"# {title}\n\n{text}\n\n{markdown_table(header, rows)}\n\n{remark}\n")


# Figure 1 -------------------------------------------------------------------------------------------------------------


def uci_rows(name: str) -> tuple[Any, Any]:
    """Rows and two classes of an embedded set as the paper has them: one-hot categories, diseases taken together."""
    data = load_dataset(name)
    X, y = np.asarray(data.X, dtype=np.float64), (np.asarray(data.y) > 0).astype(int)
    if name == "promoters":
        return np.concatenate([X[:, [j]] == np.arange(4) for j in range(X.shape[1])], axis=1).astype(float), y
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X), y


def _folds(name: str, make: Make, repeats: int) -> list[float]:
    X, y = uci_rows(name)
    scores = []
    for seed in range(repeats):
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y):
            scores.append(float(make().fit(X[train], y[train]).score(X[test], y[test])))
    return scores


def _on_data(job: Job, data: str) -> dict[str, Result]:
    folds, (depth, cart) = SPEND[job.budget]["folds"], DEPTHS[data]
    candidates = variants(COLUMNS[data], max_depth=depth)
    makes: dict[str, Make] = {**peers(cart), **candidates, CHOSEN: partial(ChosenOnTrainingRows, candidates)}
    found = {}
    for method, make in makes.items():
        settings = {"data": data, "method": method, "repeats": folds, "depth": depth, "CART": cart}
        if COLUMNS[data] != "unit" and method not in peers(cart):
            settings["columns"] = COLUMNS[data]
        found[method] = _accuracy(job, f"figure 1 {data} {method}", settings, partial(_folds, data, make, folds))
    return found


def _data_sets(job: Job) -> None:
    folds = SPEND[job.budget]["folds"]
    job.expect(3 * 12)
    drawn = {data: _on_data(job, data) for data in PRINTED}
    rows = [
        [data, method, _shown(result), _print_of(data, method), _gap(data, method, result)]
        for data, found in drawn.items()
        for method, result in found.items()
    ]
    text = (
        f"Accuracy and its standard deviation over the folds of {folds} times 5-fold cross-validation (the paper does "
        "not say how it measured). Depth 3, 3 and 5 for the stochastic trees and for CART, where the paper says that "
        "they converged; on promoters CART has depth 10, where the paper says it still improves. The last row of a "
        "data set is the stochastic tree that is best in 5-fold cross-validation of the training rows."
    )
    remark = (
        "The paper does not say how the columns of the heart sets were scaled; here they are standardised before each "
        "row is divided by its norm. With the columns as they are, one of them dominates every row and the tree "
        "predicts the larger class, so that cannot be what the authors did."
    )
    _page(job, "figure-1", "Figure 1: three data sets", text, ["data", "method", "ours", "paper", "difference"], rows,
          remark)  # fmt: skip

    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        for i, (data, found) in enumerate(drawn.items()):
            width = 0.85 / len(found)
            for j, (method, (mean, deviation, runs)) in enumerate(found.items()):
                shown = method.replace("standardised columns", "columns scaled in the other way")
                ax.bar(i + width * j, mean, 0.9 * width, yerr=deviation / np.sqrt(runs), color=f"C{j % 10}",
                       hatch="//" if j >= 10 else None, error_kw={"lw": 1},
                       label=shown if i == 0 else None)  # fmt: skip
            ax.plot([i - width, i + 0.85], [PRINTED[data][PUBLISHED]] * 2, "k--", lw=1,
                    label="the paper's stochastic tree" if i == 0 else None)  # fmt: skip
        ax.set(xticks=[i + 0.4 for i in range(3)], xticklabels=list(drawn), ylim=(0.45, 1), ylabel="accuracy")
        ax.legend(fontsize=7, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)

    job.picture("stochastic-figure-1.png", draw)


def _print_of(data: str, method: str) -> str:
    return f"{PRINTED[data][method]:.2f}" if method in PRINTED[data] else ""


def _gap(data: str, method: str, result: Result) -> str:
    return f"{result[0] - PRINTED[data][method]:+.3f}" if method in PRINTED[data] else ""


# Figures 2, 3 and 9 ---------------------------------------------------------------------------------------------------


def _artificial(make_data: Callable[[int], Any], make: Make, n: int, repeats: int) -> list[float]:
    """Accuracy on as many new rows of the same concept: the first n rows of each draw train."""
    scores = []
    for seed in range(repeats):
        X, y = make_data(seed)
        scores.append(float(make().fit(X[:n], y[:n]).score(X[n:], y[n:])))
    return scores


def _sweep(job: Job, number: int, name: str, values: Any, data: Callable[[Any, int, int], Any],
           makes: dict[str, Make]) -> dict[str, list[Result]]:  # fmt: skip
    spend = SPEND[job.budget]
    n, repeats = spend["rows"], max(1, spend["repeats"] // 2)
    job.expect(len(values) * len(makes))
    found: dict[str, list[Result]] = {method: [] for method in makes}
    for value in values:
        for method, make in makes.items():
            settings = {name: value, "method": method, "rows": n, "repeats": repeats}
            scores = partial(_artificial, partial(data, value, 2 * n), make, n, repeats)
            found[method].append(_accuracy(job, f"figure {number} {name}={value} {method}", settings, scores))
    return found


def _lines(job: Job, name: str, label: str, values: Any, found: dict[str, list[Result]]) -> None:
    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        for j, (method, results) in enumerate(found.items()):  # smaller and smaller: some lie on each other
            ax.plot(values, [mean for mean, *_ in results], "o-", ms=11 - 0.9 * j, lw=1.5, label=method)
        ax.set(xlabel=label, ylabel="test accuracy", ylim=(0.45, 1.01))
        ax.legend(fontsize=8, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)

    job.picture(f"stochastic-{name}.png", draw)


def _noise_curves(job: Job) -> dict[str, list[Result]]:
    deep: dict[str, Any] = {"max_depth": 10}
    wide: dict[str, Any] = {**deep, "max_leaf_nodes": 128}
    makes: dict[str, Make] = {
        **peers(10),
        PUBLISHED: partial(published, **deep),
        "as published, majority leaves": partial(published, "majority", **deep),
        "exact search": partial(tree, **deep),
        "as published, at most 128 leaves": partial(published, **wide),
        "majority leaves, at most 128 leaves": partial(published, "majority", **wide),
        "joint leaves, at most 128 leaves": partial(tree, Frequency(joint=True), **wide),
    }
    noise = SPEND[job.budget]["noise"]
    return _sweep(job, 2, "noise", noise, lambda v, n, seed: make_hyperplane(n, 100, v, seed), makes)


def _noise(job: Job) -> None:
    spend, found = SPEND[job.budget], _noise_curves(job)
    rows = [[method, *map(_shown, results)] for method, results in found.items()]
    text = (
        f"Accuracy on new noisy rows, d = 100, {spend['rows']} training rows (the paper does not say how many it had), "
        "all trees of depth 10 as in the paper; three rows of the table have a limit of 128 leaves on top. With noise "
        "θ no classifier passes 1 − θ. The paper prints a picture: the stochastic tree near the SVM and above CART."
    )
    remark = (
        "The order of the paper (SVM, stochastic tree, CART) holds for every θ. Trees of depth 10 with majority leaves "
        "are far below the SVM, one more sign that the authors' leaves were frequencies."
    )
    _page(job, "figure-2", "Figures 2 and 9: a hyperplane with noise", text,
          ["method", *[f"θ = {v:g}" for v in spend["noise"]]], rows, remark)  # fmt: skip
    _lines(job, "figure-2", "noise", spend["noise"], found)


def _xor_curves(job: Job) -> dict[str, list[Result]]:
    deep: dict[str, Any] = {"max_depth": 10}
    few: dict[str, Any] = {**deep, "max_leaf_nodes": 51}
    makes: dict[str, Make] = {
        **peers(10),
        PUBLISHED: partial(published, **deep),
        "as published, majority leaves": partial(published, "majority", **deep),
        "exact search": partial(tree, **deep),
        "as published, 50 internal nodes": partial(published, **few),
        "joint leaves, 50 internal nodes": partial(tree, Frequency(joint=True), **few),
        "look-ahead, at most 8 leaves": partial(tree, rows={}, lookahead=True, max_leaf_nodes=8),
    }
    widths = SPEND[job.budget]["widths"]
    return _sweep(job, 3, "d", widths, lambda v, n, seed: make_xor(n, v, None, seed), makes)


def _xor(job: Job) -> None:
    spend, found = SPEND[job.budget], _xor_curves(job)
    rows = [[method, *map(_shown, results)] for method, results in found.items()]
    text = (
        f"Accuracy on new rows, XOR of two perpendicular planes, {spend['rows']} training rows, all trees of depth 10 "
        "as in the paper; other limits are in the name of the row. The paper prints a picture."
    )
    remark = (
        "To first order XOR is invisible: the greedy tree uses chance differences, and fewer of them are left as d "
        "grows. The look-ahead of this library finds the product of the two planes and needs three tests."
    )
    _page(job, "figure-3", "Figure 3: XOR in many dimensions", text,
          ["method", *[f"d = {v}" for v in spend["widths"]]], rows, remark)  # fmt: skip
    _lines(job, "figure-3", "dimension", spend["widths"], found)


# appendix I.1 ---------------------------------------------------------------------------------------------------------


def concept(name: str, n: int, seed: int) -> tuple[Any, Any]:
    """Rows of one of the paper's concepts in the plane."""
    planes, uneven, _, _ = CONCEPTS[name]
    rng = np.random.RandomState(seed)
    if planes == 0 and not uneven:
        return make_hyperplane(n, 2, random_state=rng)
    if planes == 0:  # a plane through the origin halves unit rows: keep every second row of one class
        X, y = make_hyperplane(4 * n, 2, random_state=rng)
        keep = (y == 1) | (rng.uniform(size=len(y)) < 0.5)
        return X[keep][:n], y[keep][:n]
    return make_xor(n, 2, planes, rng)


def _on_concept(job: Job, name: str) -> dict[str, Result]:
    n, repeats = 1000, SPEND[job.budget]["repeats"]
    candidates = variants(max_leaf_nodes=CONCEPTS[name][2] + 1)
    makes: dict[str, Make] = {**candidates, CHOSEN: partial(ChosenOnTrainingRows, candidates)}
    found = {}
    for method, make in makes.items():
        settings = {"concept": name, "method": method, "rows": n, "repeats": repeats}
        scores = partial(_artificial, partial(concept, name, 11 * n), make, n, repeats)
        found[method] = _accuracy(job, f"appendix {name} {method}", settings, scores)
    return found


def _soft(job: Job) -> dict[str, dict[str, float]]:
    """Soft error of the first split, which tells which leaves the authors had."""
    repeats = SPEND[job.budget]["repeats"]
    found: dict[str, dict[str, float]] = {}
    for name in ("one plane", "one plane, classes 2:1"):
        found[name] = {}
        for leaf in ("frequency", "majority"):

            def work(name: str = name, leaf: str = leaf) -> dict[str, Any]:
                make = partial(published, leaf, max_leaf_nodes=2)
                return {"mean": float(np.mean([soft_error(make, *concept(name, 1000, s)) for s in range(repeats)]))}

            settings = {"concept": name, "leaf": leaf, "rows": 1000, "repeats": repeats}
            found[name][leaf] = float(job.cell(f"soft error {name} {leaf}", settings, work)["mean"])
    return found


def _concepts(job: Job) -> None:
    repeats = SPEND[job.budget]["repeats"]
    job.expect(len(CONCEPTS) * 10 + 4)
    drawn = {name: _on_concept(job, name) for name in CONCEPTS}
    rows = [
        [name, f"{CONCEPTS[name][3]:.2f}", *map(_shown, found.values()), *_differences(name, found)]
        for name, found in drawn.items()
    ]
    soft = [
        [name, f"around {SOFT}", f"{leaves['frequency']:.3f}", f"{leaves['majority']:.3f}"]
        for name, leaves in _soft(job).items()
    ]
    text = (
        f"Accuracy on 10,000 new rows in the plane, 1000 training rows, mean of {repeats} repetitions. The last two "
        "columns are the differences from print of the published tree and of the tree chosen on training rows."
    )
    searches = max(abs(found[PUBLISHED][0] - found["exact search"][0]) for found in drawn.values())
    joint = [drawn[name]["joint leaves"][0] - CONCEPTS[name][3] for name in drawn if name.startswith("XOR")]
    remark = (
        "Random planes are easy or hard by the angles drawn, hence the deviations; the paper does not say how many "
        f"rows it trained or tested on. {_below_print(drawn)}"
        f"The grid search and the formula differ by at most {searches:.3f}. What limits "
        "the published trees on XOR is that leaves are labelled one by one: with leaves fitted jointly, the same trees "
        f"are {min(joint):+.3f} to {max(joint):+.3f} from print. With a constant appended to the rows, as a footnote "
        "of the paper's Appendix E assumes, the published trees do worse on random planes, which all pass through the "
        "origin. The paper appends one in the experiment of Table 1 only, so the published tree has none here.\n\n"
        "Soft error of the first split, the mean of |y − ŷ|, which the paper calls soft accuracy. It prints about 0.3 "
        "for both concepts, which is what frequency leaves have and majority leaves have not:\n\n"
        + markdown_table(["concept", "paper", "frequency leaves", "majority leaves"], soft)
        + "\n\nTheorem H.1 in numbers. A full tree has the same separator at every node, and a leaf says 1 where "
        "right turns outnumber left ones. The depth is that of the theorem, the error that of the worst of 4,000 rows, "
        "by the binomial formula. Where the tree is small enough to be built, the last column has the largest "
        "difference between its prediction and the formula:\n\n" + _margins()
    )
    header = ["concept", "paper", *next(iter(drawn.values())), "as published − paper", "chosen − paper"]
    _page(job, "table-2", "Appendix I.1: learning simple concepts, and Theorem H.1", text, header, rows, remark)

    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        for j, method in enumerate(next(iter(drawn.values()))):
            ax.plot([found[method][0] for found in drawn.values()], range(len(drawn)), "o", color=f"C{j}", label=method)
        ax.plot([c[3] for c in CONCEPTS.values()], range(len(drawn)), "k|", ms=14, label="paper")
        ax.set(yticks=range(len(drawn)), yticklabels=list(drawn), xlabel="accuracy")
        ax.invert_yaxis()
        ax.grid(axis="y", lw=0.3)
        ax.legend(fontsize=7, ncols=3, loc="lower center", bbox_to_anchor=(0.3, 1.0), frameon=False)

    job.picture("stochastic-table-2.png", draw)


def _below_print(drawn: dict[str, dict[str, Result]]) -> str:
    """Say how far below print the published tree is, where it is, in standard errors.

    The paper prints no deviations. Its mean of as many draws is taken to have the same as ours.
    """
    said = []
    for name, found in drawn.items():
        mean, deviation, runs = found[PUBLISHED]
        gap = CONCEPTS[name][3] - mean
        if gap > NEAR and runs > 1:
            said.append(f"{gap / (deviation * np.sqrt(2 / runs)):.1f} on the {name}")
    if not said:
        return ""
    return (
        f"Gaps of more than {NEAR} below print, in standard errors of the difference of two such means: "
        f"{'; '.join(said)}. "
    )


def _differences(name: str, found: dict[str, Result]) -> list[str]:
    return [f"{found[method][0] - CONCEPTS[name][3]:+.3f}" for method in (PUBLISHED, CHOSEN)]


def _margins() -> str:
    """Tabulate the expected error of the tree of Theorem H.1 at the depth it asks for."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    w = np.array([0.6, 0.8, 0.0])
    rows = []
    for margin, error in ((0.7, 0.1), (0.7, 0.05), (0.5, 0.1), (0.3, 0.05), (0.1, 0.05)):
        depth = margin_depth(margin, error)
        kept = X[np.abs(X @ w) >= margin]
        proba = binomial_margin(kept, w, depth)
        worst = float(np.where(kept @ w > 0, 1 - proba, proba).max())
        built = ""
        if depth <= 10:
            from boscage.model.predict import predict_proba

            built = f"{np.abs(predict_proba(margin_tree(w, depth), kept)[:, 1] - proba).max():.0e}"
        rows.append([f"{margin:g}", f"{error:g}", str(depth), f"{worst:.4f}", built])
    return markdown_table(["margin", "error wanted", "depth", "largest expected error", "real tree − binomial"], rows)


# Table 1 --------------------------------------------------------------------------------------------------------------


def _bias_cells(job: Job) -> dict[float, dict[str, Any]]:
    repeats, n = SPEND[job.budget]["repeats"], 1000
    found = {}
    for bias in BIAS:

        def work(bias: float = bias) -> dict[str, Any]:
            means, last = [], []
            for seed in range(repeats):
                X, y = make_hyperplane(n, 2, random_state=seed)
                Z = np.c_[X, np.full(n, bias)] / np.sqrt(1 + bias**2)
                w = solve_split(Z, y).weights
                means.append(float(((1 + Z[y == 1] @ w) / 2).mean()))
                last.append(float(abs(w[-1])))
            return {"mean": float(np.mean(means)), "last": float(np.mean(last))}

        found[bias] = job.cell(f"table 1 b={bias}", {"bias": bias, "rows": n, "repeats": repeats}, work)
    return found


def _bias(job: Job) -> None:
    cells = _bias_cells(job)
    rows = []
    for bias, (printed, theta) in BIAS.items():
        mean, ours = cells[bias]["mean"], 1 / np.sqrt(1 + bias**2)
        rows.append([f"{bias:g}", f"{mean:.3f}", f"{printed:.2f}", f"{mean - printed:+.3f}", f"{ours:.3f}",
                     f"{theta:.3f}", f"{0.5 + ours / np.pi:.3f}", f"{cells[bias]['last']:.3f}"])  # fmt: skip
    text = "Mean probability of going right of the positive rows at the root, with a constant b appended to the rows."
    remark = (
        "Without a constant the mean is ½ + 1/π = 0.818 for a plane that is found exactly; with it the distance to ½ "
        'shrinks by θ_b, which gives the column "law". At b = 10 the law gives 0.532, ours has '
        f"{cells[10.0]['mean']:.3f} and the paper prints 0.51. The paper says that the weight of the constant is "
        f"almost 0; here it grows with b, to {cells[10.0]['last']:.3f} at b = 10, since the classes of a sample are "
        "not quite equal."
    )
    header = ["b", "ours", "paper", "difference", "θ_b", "θ_b, paper", "law", "weight of the constant"]
    _page(job, "table-1", "Table 1: an artificial bias", text, header, rows, remark)


# verdicts -------------------------------------------------------------------------------------------------------------


def conclude(job: Job) -> None:
    """Write the verdicts; cells that are missing are computed by the tables, so only a whole run has them."""
    if not {f"figure 1 heart {CHOSEN}", f"appendix one plane {CHOSEN}"} <= {c["name"] for c in job.results.values()}:
        return
    if not any(cell["name"].startswith("figure 3 ") for cell in job.results.values()):
        return
    claims = [_data_claim(job), _noise_claim(job), *_xor_claims(job), _concept_claim(job), *_node_claim(job),
              _soft_claim(job), _bias_claim(job), *theorems.claims(job)]  # fmt: skip
    table = markdown_table(["claim of the paper", "verdict", "figures"], claims)
    job.write("stochastic-verdict.md", f"# Verdicts\n\n{table}\n")


def _data_claim(job: Job) -> list[str]:
    said, wins, close, clear = [], 0, False, 0
    for data in PRINTED:
        found = _on_data(job, data)
        ours = found[PUBLISHED]
        peer, best = max(((name, found[name]) for name in PEERS), key=lambda pair: pair[1][0])
        error = float(np.hypot(ours[1] / np.sqrt(ours[2]), best[1] / np.sqrt(best[2])))
        wins += ours[0] > best[0]
        close |= 0 < ours[0] - best[0] < 2 * error
        clear += ours[0] - best[0] >= 2 * error
        said.append(
            f"{data} {ours[0]:.3f} against {best[0]:.3f} ({peer}), standard error of the difference {error:.3f} (print "
            f"{_print_of(data, PUBLISHED)} against {max(PRINTED[data][name] for name in PEERS):.2f})"
        )
    verdict = f"reproduced on {wins} of 3 sets" if wins < 3 else "reproduced in the means" if close else "reproduced"
    note = f"two standard errors or more on {clear} of 3 sets; standardised columns on the heart sets"
    return ["Figure 1: better than CART and a linear SVM on three data sets", verdict, f"{'; '.join(said)}; {note}"]


def _noise_claim(job: Job) -> list[str]:
    found = _noise_curves(job)
    ours, cart, svm = ([r[0] for r in found[m]] for m in (PUBLISHED, "CART", "linear SVM"))
    holds = all(o > c for o, c in zip(ours, cart))
    far = max(s - o for s, o in zip(svm, ours))
    return ["Figures 2 and 9: near the SVM and above CART", "reproduced" if holds else "not reproduced",
            f"{ours[0]:.3f} against CART {cart[0]:.3f} and SVM {svm[0]:.3f} without noise; at most {far:.3f} below the "
            "SVM; the paper prints a picture without numbers"]  # fmt: skip


def _xor_claims(job: Job) -> list[list[str]]:
    found = _xor_curves(job)
    names = (PUBLISHED, "CART", "linear SVM", "as published, 50 internal nodes")
    ours, cart, svm, few = ([r[0] for r in found[m]] for m in names)
    above = sum(o > c > v for o, c, v in zip(ours, cart, svm))
    verdict = "reproduced" if above == len(ours) else f"reproduced for {above} of {len(ours)} dimensions"
    errors = [result[1] / np.sqrt(result[2]) for result in found[PUBLISHED]]
    rises = zip(np.diff(ours), np.hypot(errors[1:], errors[:-1]))
    rise, error = max(rises, default=(0.0, 0.0))
    if rise > error:
        verdict = "reproduced with a difference"
    gaps = [small - whole for small, whole in zip(few, ours)]
    return [
        ["Figure 3: above CART, and CART above the SVM, for all d; falling with d", verdict,
         f"{ours[0]:.3f} to {ours[-1]:.3f} against CART {cart[0]:.3f} to {cart[-1]:.3f} and SVM {min(svm):.3f} to "
         f"{max(svm):.3f}; largest rise from one d to the next {rise:+.3f}, its standard error {error:.3f}"],
        ["Figure 3: the same accuracy with 50 internal nodes (within 0.02)",
         "reproduced" if min(gaps) >= -0.02 else "not reproduced",
         f"{min(gaps):+.3f} to {max(gaps):+.3f} from depth 10; above CART for "
         f"{sum(o > c for o, c in zip(few, cart))} of {len(few)} dimensions"],
    ]  # fmt: skip


def _node_claim(job: Job) -> list[list[str]]:
    """Judge what more nodes bring on the XOR of three planes."""
    names = [name for name in CONCEPTS if name.startswith("XOR of three")]
    means, printed = [_on_concept(job, name)[PUBLISHED][0] for name in names], [CONCEPTS[name][3] for name in names]
    gains, theirs = np.diff(means), np.diff(printed)
    if not len(gains):
        return []
    shown = [", ".join(f"{gain:+.{digits}f}" for gain in part) for part, digits in ((gains, 3), (theirs, 2))]
    nodes = " to ".join(str(CONCEPTS[name][2]) for name in names)
    falls = bool(np.all(gains > 0) and np.all(np.diff(gains) < 0))
    return [["Appendix I.1: more nodes raise the accuracy on the XOR of three planes, less and less",
             "reproduced" if falls else "not reproduced",
             f"from {nodes} nodes: {shown[0]} (print {shown[1]})"]]  # fmt: skip


def _concept_claim(job: Job) -> list[str]:
    gaps = {name: _on_concept(job, name) for name in CONCEPTS}
    published_gaps = [gaps[name][PUBLISHED][0] - CONCEPTS[name][3] for name in CONCEPTS]
    chosen_gaps = [gaps[name][CHOSEN][0] - CONCEPTS[name][3] for name in CONCEPTS]
    near = sum(gap > -NEAR for gap in published_gaps)
    verdict = "reproduced" if near == len(gaps) else f"reproduced on {near} of {len(gaps)} concepts"
    short = _below_print(gaps).removesuffix(". ")
    return [f"Appendix I.1: accuracies on simple concepts (at most {NEAR} below print)", verdict,
            f"as published {min(published_gaps):+.3f} to {max(published_gaps):+.3f} from print; chosen on training "
            f"rows {min(chosen_gaps):+.3f} to {max(chosen_gaps):+.3f}{'. ' + short if short else ''}"]  # fmt: skip


def _soft_claim(job: Job) -> list[str]:
    found = _soft(job)
    values = [leaves["frequency"] for leaves in found.values()]
    near = all(abs(value - SOFT) < 0.03 for value in values)
    return ["Appendix I.1: soft error of the first split around 0.3", "reproduced" if near else "not reproduced",
            " and ".join(f"{value:.3f}" for value in values) + " with frequency leaves"]  # fmt: skip


def _bias_claim(job: Job) -> list[str]:
    cells = _bias_cells(job)
    gaps = [cells[bias]["mean"] - printed for bias, (printed, _) in BIAS.items()]
    last = max(cell["last"] for cell in cells.values())
    verdict = "reproduced" if last < 0.05 else "reproduced with a difference"
    return ["Table 1: a constant b moves the mean probability towards ½; its weight is almost 0", verdict,
            f"{min(gaps):+.3f} to {max(gaps):+.3f} from print; the weight grows to {last:.3f}"]  # fmt: skip
