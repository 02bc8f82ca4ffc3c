"""Stochastic linear trees: Figures 1-3 and 9, Table 1, appendix I.1 and Theorem H.1, the paper's numbers beside ours.

"as published" is Algorithm 3 (ε = .1) with majority leaves on unit rows without a constant. Beside it stand what the
exact search, balanced classes (majority leaves need them where tests are weak: a slight excess of one class is the
majority in every leaf), frequency leaves, leaves fitted jointly, the default rows (centred, scaled, with a constant)
and the look-ahead add.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from boscage._whole_file import save_figure
from boscage.datasets import load_dataset
from boscage.datasets.planes import make_hyperplane, make_xor
from boscage.experiments._runner import Job, markdown_table
from boscage.leaves import Frequency
from boscage.splits.stochastic import StochasticLinear, solve_split
from boscage.theory import binomial_margin, margin_depth, margin_tree
from boscage.top_down import TopDownTreeClassifier

TABLES = (1,)
FIGURES = (1, 2, 3, 8)  # 9 is 2 again; 8 stands for appendix I.1 with Theorem H.1
# repetitions of cross-validation and of artificial problems; rows of Figures 2 and 3; leaves of Figure 2
SPEND: dict[str, dict[str, Any]] = {
    "quick": {"folds": 2, "repeats": 2, "rows": 4000, "leaves": 64, "noise": (0.0, 0.2), "widths": (6, 30)},
    "full": {
        "folds": 4,
        "repeats": 10,
        "rows": 10_000,
        "leaves": 128,
        "noise": (0.0, 0.1, 0.2, 0.3, 0.4),
        "widths": (6, 10, 14, 18, 22, 26, 30),
    },
}
PRINTED = {
    "promoters": {"CART": 0.80, "linear SVM": 0.87, "stochastic": 0.91},
    "heart-disease": {"CART": 0.70, "linear SVM": 0.73, "stochastic": 0.77},
    "heart": {"CART": 0.83, "linear SVM": 0.78, "stochastic": 0.85},
}
DEPTHS = {"promoters": 3, "heart-disease": 3, "heart": 5}  # where the paper says its trees converged
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
BIAS = {0.0: (0.80, 1.0), 1.0: (0.71, 0.707), 1.5: (0.67, 0.555), 2.0: (0.63, 0.447), 3.0: (0.60, 0.316),
        5.0: (0.55, 0.196), 10.0: (0.51, 0.099)}  # fmt: skip


def reproduce(job: Job) -> None:
    """Make the tables and figures a job asks for."""
    for table in job.tables:
        {1: _bias}[table](job)
    for figure in job.figures:
        {1: _data_sets, 2: _noise, 3: _xor, 8: _concepts}[figure](job)


def _tree(search: str = "exact", leaf: Any = "majority", *, unit: bool = True, **limits: Any) -> TopDownTreeClassifier:
    lookahead = limits.pop("lookahead", False)
    rows: dict[str, Any] = {"scale": "unit", "fit_intercept": False} if unit else {}
    family = StochasticLinear(search, lookahead=lookahead, **rows)
    return TopDownTreeClassifier(family, leaf=leaf, verbose=False, **limits)


def _stochastic(**limits: Any) -> dict[str, Callable[[], Any]]:
    return {
        "as published": lambda: _tree("fixed_p_search_q", **limits),
        "exact search": lambda: _tree(**limits),
        "balanced classes": lambda: _tree(class_weight="balanced", **limits),
        "frequency leaves": lambda: _tree(leaf="frequency", **limits),
        "joint leaves": lambda: _tree(leaf=Frequency(joint=True), **limits),
        "default rows": lambda: _tree(leaf="frequency", unit=False, **limits),
    }


class _ScaledSVM:
    """Linear SVM on scaled columns."""

    def fit(self, X: Any, y: Any) -> _ScaledSVM:
        self.scaler = StandardScaler().fit(X)
        self.svm = LinearSVC(dual="auto", max_iter=20_000).fit(self.scaler.transform(X), y)
        return self

    def score(self, X: Any, y: Any) -> float:
        return float(self.svm.score(self.scaler.transform(X), y))


def _peers(depth: int) -> dict[str, Callable[[], Any]]:
    return {"CART": lambda: DecisionTreeClassifier(max_depth=depth, random_state=0), "linear SVM": _ScaledSVM}


def _accuracy(job: Job, name: str, settings: dict[str, Any], scores: Callable[[], list[float]]) -> tuple[float, float]:
    def work() -> dict[str, Any]:
        found = scores()
        return {"mean": float(np.mean(found)), "sd": float(np.std(found)), "runs": len(found)}

    result = job.cell(name, settings, work)
    return float(result["mean"]), float(result["sd"])


def _shown(result: tuple[float, float]) -> str:
    return f"{result[0]:.3f} ± {result[1]:.3f}"


def _page(job: Job, name: str, title: str, text: str, header: list[str], rows: list[list[str]], remark: str) -> None:
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    made = f"Budget {job.budget}, {time.strftime('%Y-%m-%d')}, {machine}."
    job.write(f"stochastic-{name}.md", f"# {title}\n\n{text}\n\n{markdown_table(header, rows)}\n\n{remark}\n\n{made}\n")


def _picture(job: Job, name: str, draw: Callable[[Any], None]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
    draw(ax)
    path = job.out / f"stochastic-{name}.png"
    save_figure(fig, path, dpi=110)
    plt.close(fig)
    job.written.append(path)


def uci_rows(name: str) -> tuple[Any, Any]:
    """Rows and two classes of an embedded set as the paper has them: one-hot categories, diseases taken together."""
    data = load_dataset(name)
    X, y = np.asarray(data.X, dtype=np.float64), (np.asarray(data.y) > 0).astype(int)
    if name == "promoters":
        return np.concatenate([X[:, [j]] == np.arange(4) for j in range(X.shape[1])], axis=1).astype(float), y
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X), y


def _folds(name: str, make: Callable[[], Any], repeats: int) -> list[float]:
    X, y = uci_rows(name)
    scores = []
    for seed in range(repeats):
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y):
            scores.append(float(make().fit(X[train], y[train]).score(X[test], y[test])))
    return scores


def _data_sets(job: Job) -> None:
    spend = SPEND[job.budget]
    rows, drawn = [], {}
    for data, printed in PRINTED.items():
        makes = {**_peers(10), **_stochastic(max_depth=DEPTHS[data])}
        makes["default rows, majority"] = partial(_tree, unit=False, max_depth=DEPTHS[data])
        makes["default rows, joint"] = partial(_tree, leaf=Frequency(joint=True), unit=False, max_depth=DEPTHS[data])
        found = {}
        for method, make in makes.items():
            settings = {"data": data, "method": method, "repeats": spend["folds"], "depth": DEPTHS[data]}
            found[method] = _accuracy(job, f"figure 1 {data} {method}", settings,
                                      partial(_folds, data, make, spend["folds"]))  # fmt: skip
        drawn[data] = found
        best = max((m for m in found if m not in ("CART", "linear SVM")), key=lambda m: found[m][0])
        rows += [
            [data, method, _shown(result), f"{printed[method]:.2f}" if method in printed else
             (f"{printed['stochastic']:.2f}" if method == "as published" else ""), "best" if method == best else ""]
            for method, result in found.items()
        ]  # fmt: skip
    text = (f"Accuracy and its deviation over the folds of {spend['folds']} times 5-fold cross-validation (the paper "
            "does not say how it measured). Depth of the stochastic trees 3, 3 and 5, where the paper says they "
            "converged; CART to depth 10. Of eight configurations of the stochastic tree the best of each data set is "
            "marked: it was chosen on the folds that are reported, so a little flattering. A wider look (promoters: 60 "
            "configurations of rows, depth and leaves; heart: 24 of constant, depth and criterion) found .915 and .846 "
            "at best.")  # fmt: skip
    remark = ("Columns of the two heart sets have very different sizes: unit rows alone are ruled by the largest, so "
              "the published recipe needs scaled columns there (\"default rows\"). With 0/1 columns (promoters) unit "
              "rows serve best. Votes of weak leaves follow the larger class; leaves fitted jointly do not. The "
              "paper's .85 on heart is half a standard error above ours: too little to tell.")  # fmt: skip
    _page(job, "figure-1", "Figure 1: three data sets", text, ["data", "method", "ours", "paper", ""], rows, remark)

    def draw(ax: Any) -> None:
        methods = list(next(iter(drawn.values())))
        for i, (data, found) in enumerate(drawn.items()):
            for j, method in enumerate(methods):
                spread = found[method][1] / np.sqrt(5 * spend["folds"])
                ax.bar(i + 0.085 * j, found[method][0], 0.075, yerr=spread, color=f"C{j}", error_kw={"lw": 1},
                       label=method if i == 0 else None)  # fmt: skip
            ax.plot([i - 0.05, i + 0.085 * len(methods) - 0.035], [PRINTED[data]["stochastic"]] * 2, "k--", lw=1,
                    label="the paper's stochastic tree" if i == 0 else None)  # fmt: skip
        centre = 0.085 * (len(methods) - 1) / 2
        ax.set(xticks=[i + centre for i in range(3)], xticklabels=list(drawn), ylim=(0.45, 1), ylabel="accuracy")
        ax.legend(fontsize=7, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)

    _picture(job, "figure-1", draw)


def _artificial(make_data: Callable[[int], Any], make: Callable[[], Any], n: int, repeats: int) -> list[float]:
    """Accuracy on as many new rows of the same concept: the first n rows of each draw train."""
    scores = []
    for seed in range(repeats):
        X, y = make_data(seed)
        scores.append(float(make().fit(X[:n], y[:n]).score(X[n:], y[n:])))
    return scores


def _sweep(job: Job, number: int, name: str, values: Any, data: Callable[[Any, int, int], Any],
           makes: dict[str, Callable[[], Any]]) -> dict[str, list[tuple[float, float]]]:  # fmt: skip
    spend = SPEND[job.budget]
    n, repeats = spend["rows"], max(1, spend["repeats"] // 3)
    found: dict[str, list[tuple[float, float]]] = {method: [] for method in makes}
    for value in values:
        for method, make in makes.items():
            settings = {name: value, "method": method, "rows": n, "repeats": repeats, "leaves": spend["leaves"]}
            found[method].append(
                _accuracy(
                    job,
                    f"figure {number} {name}={value} {method}",
                    settings,
                    partial(_artificial, partial(data, value, 2 * n), make, n, repeats),
                )
            )
    return found


def _lines(job: Job, name: str, label: str, values: Any, found: dict[str, list[tuple[float, float]]]) -> None:
    def draw(ax: Any) -> None:
        for j, (method, results) in enumerate(found.items()):  # smaller and smaller: some lie on each other
            ax.plot(values, [mean for mean, _ in results], "o-", ms=11 - 0.9 * j, lw=1.5, label=method)
        ax.set(xlabel=label, ylabel="test accuracy", ylim=(0.45, 1.01))
        ax.legend(fontsize=8, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)

    _picture(job, name, draw)


def _noise(job: Job) -> None:
    spend = SPEND[job.budget]
    limits = {"max_depth": 10, "max_leaf_nodes": spend["leaves"]}
    makes = {**_peers(10), **_stochastic(**limits)}
    values = spend["noise"]
    found = _sweep(job, 2, "noise", values, lambda v, n, seed: make_hyperplane(n, 100, v, seed), makes)
    rows = [[method, *map(_shown, results)] for method, results in found.items()]
    text = (f"Accuracy on new noisy rows, d = 100, {spend['rows']} training rows, depth 10 and at most "
            f"{spend['leaves']} leaves (CART: depth 10). With noise θ no classifier "
            "passes 1 − θ. The paper prints a picture: the stochastic tree near the SVM and above CART.")  # fmt: skip
    remark = "The order of the paper (SVM, stochastic tree, CART) is to be read off the columns."
    _page(job, "figure-2", "Figures 2 and 9: a hyperplane with noise", text,
          ["method", *[f"θ = {v:g}" for v in values]], rows, remark)  # fmt: skip
    _lines(job, "figure-2", "noise", values, found)


def _xor(job: Job) -> None:
    spend = SPEND[job.budget]
    values = spend["widths"]
    makes = {**_peers(10), **_stochastic(max_depth=10, max_leaf_nodes=51)}
    makes["look-ahead, at most 8 leaves"] = lambda: _tree(
        leaf="frequency", unit=False, lookahead=True, max_leaf_nodes=8
    )
    found = _sweep(job, 3, "d", values, lambda v, n, seed: make_xor(n, v, None, seed), makes)
    rows = [[method, *map(_shown, results)] for method, results in found.items()]
    text = (f"Accuracy on new rows, XOR of two perpendicular planes, {spend['rows']} training rows, 50 internal nodes "
            "(CART: depth 10). The paper prints a picture.")  # fmt: skip
    remark = ("To first order XOR is invisible: the greedy tree feeds on chance differences and fades with d. The "
              "look-ahead sees the product of the two planes, needs three tests and stops there.")  # fmt: skip
    _page(job, "figure-3", "Figure 3: XOR in many dimensions", text,
          ["method", *[f"d = {v}" for v in values]], rows, remark)  # fmt: skip
    _lines(job, "figure-3", "dimension", values, found)


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


def _concepts(job: Job) -> None:
    n, repeats = 1000, SPEND[job.budget]["repeats"]
    rows, drawn = [], {}
    for name, (_, _, nodes, printed) in CONCEPTS.items():
        makes = _stochastic(max_leaf_nodes=nodes + 1)
        makes["look-ahead, joint leaves"] = partial(
            _tree, leaf=Frequency(joint=True), lookahead=True, max_leaf_nodes=nodes + 1
        )
        found = {}
        for method, make in makes.items():
            settings = {"concept": name, "method": method, "rows": n, "repeats": repeats}
            scores = partial(_artificial, partial(concept, name, 11 * n), make, n, repeats)
            found[method] = _accuracy(job, f"appendix {name} {method}", settings, scores)
        drawn[name] = found
        best = max(result[0] for result in found.values())
        verdict = "reached" if best >= printed - 0.005 else f"{best - printed:+.3f}"
        rows.append([name, f"{printed:.2f}", *map(_shown, found.values()), verdict])
    text = f"Accuracy on 10,000 new rows in the plane, {n} training rows, mean of {repeats} repetitions."
    remark = (
        "Random planes are easy or hard by the angles drawn, hence the deviations. The search is not what limits the "
        "published trees: the grid and the formula give the same accuracy. Votes of leaves are. Fitted jointly, the "
        "leaves of the same trees reach the printed numbers, of three planes too; the paper does not say how many rows "
        "it trained or tested on.\n\nTheorem H.1 in numbers:\n\n" + _margins(job)
    )
    _page(job, "appendix", "Appendix I.1: learning simple concepts, and Theorem H.1", text,
          ["concept", "paper", *next(iter(drawn.values())), "paper's number"], rows, remark)  # fmt: skip

    def draw(ax: Any) -> None:
        for j, method in enumerate(next(iter(drawn.values()))):
            ax.plot([found[method][0] for found in drawn.values()], range(len(drawn)), "o", color=f"C{j}", label=method)
        ax.plot([c[3] for c in CONCEPTS.values()], range(len(drawn)), "k|", ms=14, label="paper")
        ax.set(yticks=range(len(drawn)), yticklabels=list(drawn), xlabel="accuracy")
        ax.invert_yaxis()
        ax.grid(axis="y", lw=0.3)
        ax.legend(fontsize=7, ncols=4, loc="lower center", bbox_to_anchor=(0.3, 1.0), frameon=False)

    _picture(job, "appendix", draw)


def _margins(job: Job) -> str:
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
            from boscage._predict import predict_proba

            built = f"{np.abs(predict_proba(margin_tree(w, depth), kept)[:, 1] - proba).max():.0e}"
        rows.append([f"{margin:g}", f"{error:g}", str(depth), f"{worst:.4f}", built])
    return markdown_table(["margin", "error wanted", "depth", "largest expected error", "real tree − binomial"], rows)


def _bias(job: Job) -> None:
    repeats, n = SPEND[job.budget]["repeats"], 1000
    rows = []
    for bias, (printed, theta) in BIAS.items():

        def work(bias: float = bias) -> dict[str, Any]:
            means, last = [], []
            for seed in range(repeats):
                X, y = make_hyperplane(n, 2, random_state=seed)
                Z = np.c_[X, np.full(n, bias)] / np.sqrt(1 + bias**2)
                w = solve_split(Z, y).weights
                means.append(float(((1 + Z[y == 1] @ w) / 2).mean()))
                last.append(float(abs(w[-1])))
            return {"mean": float(np.mean(means)), "last": float(np.mean(last))}

        result = job.cell(f"table 1 b={bias}", {"bias": bias, "rows": n, "repeats": repeats}, work)
        rows.append([f"{bias:g}", f"{result['mean']:.3f}", f"{printed:.2f}", f"{1 / np.sqrt(1 + bias**2):.3f}",
                     f"{theta:.3f}", f"{result['last']:.3f}"])  # fmt: skip
    text = "Mean probability of going right of the positive rows at the root, with a constant b appended to the rows."
    remark = (f"Without a constant the mean is ½ + 1/π = {0.5 + 1 / np.pi:.3f} for a plane that is found exactly; with "
              "it the distance to ½ shrinks by θ_b.")  # fmt: skip
    _page(job, "table-1", "Table 1: an artificial bias", text,
          ["b", "ours", "paper", "θ_b", "paper", "weight of the constant"], rows, remark)  # fmt: skip
