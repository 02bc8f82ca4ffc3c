"""The boosting analysis of LOMtree: Figures 1-3, and a table of errors and times of the online classifiers.

Figure 1 shows the bounds that J puts on balance and purity (the paper's, and the attained one), Figure 2 the three
criteria for two classes. For Figure 3 the published learner runs online with 1, 2, 4, … routers on four data sets; the
leaves of each tree give entropy, Gini and modified Gini (C = 3) of the training rows, and the test rows the error.
Table 1 sets the errors of the published learner beside those the paper's authors printed. Columns of
`OnlineTreeClassifier` and, if it is installed, of Vowpal Wabbit's online learners stand next to them.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage._whole_file import save_figure
from boscage.datasets import list_datasets, load_dataset
from boscage.experiments._runner import Job, markdown_table
from boscage.experiments._vowpal import has_vw, vw
from boscage.online import LOMTreeClassifier, OnlineTreeClassifier
from boscage.theory import purity_bound

TABLES = (1,)
FIGURES = (1, 2, 3)
DATA = ("mnist", "isolet", "sector-scale", "aloi")
PRINTED = {"isolet": "6.36", "sector-scale": "16.19", "aloi": "16.50"}
# Of 0.1, 0.25 and 0.5 the best on a fifth of the training rows held out, five passes (mnist was not tried);
# 0.5 elsewhere.
RATES = {"isolet": 0.25}
# largest number of training rows, passes, routers per class at most
SPEND: dict[str, tuple[int, int, int]] = {"quick": (8000, 3, 4), "full": (10**9, 20, 10)}
C = 3.0
# Title, command line and most classes. One-against-all takes time in proportion to the classes: hours for a thousand.
PEERS = (
    ("VW log_multi", "--log_multi {{k}} -l {rate}", 10**9),
    ("VW recall_tree", "--recall_tree {{k}} --loss_function logistic", 10**9),
    ("VW oaa", "--oaa {{k}} --loss_function logistic", 200),
)

# How kept cells tell the two classifiers apart.
MODES: dict[str, Any] = {"lomtree": LOMTreeClassifier, "beam": OnlineTreeClassifier}

Floats = npt.NDArray[np.float64]


def reproduce(job: Job) -> None:
    """Make the table and figures a job asks for."""
    if job.tables:
        _table(job)
    for figure in job.figures:
        {1: _figure_bounds, 2: _figure_criteria, 3: _figure_splits}[figure](job)


def criteria(shares: Floats) -> dict[str, Floats]:
    r"""Entropy, Gini and modified Gini of class shares, each 1 for equal shares and 0 for a pure node.

    Parameters
    ----------
    shares : ndarray of shape (..., K)
        Non-negative, summing to 1 over the last axis.

    Returns
    -------
    dict
        :math:`\sum \pi \ln 1/\pi`, :math:`\sum \pi (1 - \pi)` and :math:`\sum \sqrt{\pi (C - \pi)} - \sqrt{C - 1}`,
        divided by their largest values.

    Examples
    --------
    >>> import numpy as np
    >>> from boscage.experiments.lomtree import criteria
    >>> {name: float(value) for name, value in criteria(np.array([0.5, 0.5])).items()}
    {'entropy': 1.0, 'gini': 1.0, 'modified gini': 1.0}
    """
    k = shares.shape[-1]
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    root = np.sqrt(C - 1)
    modified = np.sqrt(shares * (C - shares)).sum(-1) - root
    return {
        "entropy": -(shares * logs).sum(-1) / np.log(k),
        "gini": (shares * (1 - shares)).sum(-1) / (1 - 1 / k),
        "modified gini": modified / (np.sqrt(k * C - 1) - root),
    }


@cache
def _split(name: str, most: int) -> tuple[Any, Any, Any, Any] | None:
    """Training and test rows; None if the data set is not at hand."""
    if name not in list_datasets():
        return None
    data = load_dataset(name)
    X, y, random = data.X.astype(np.float32), np.asarray(data.y), np.random.default_rng(0)
    if data.n_train is not None:
        rows, test = random.permutation(data.n_train), np.arange(data.n_train, len(y))
    else:  # nine tenths for training, as in the paper
        rows, test = np.split(random.permutation(len(y)), [len(y) * 9 // 10])
    return X[rows[:most]], y[rows[:most]], X[test], y[test]


def _cell(name: str, most: int, options: dict[str, Any]) -> dict[str, Any]:
    """Fit once: error, CPU µs per row, and the criteria over the leaves of a LOMtree."""
    found = _split(name, most)
    if found is None:
        return {"missing": True}
    X, y, X_test, y_test = found
    parameters = {key: value for key, value in options.items() if key != "mode"}
    model = MODES[options["mode"]](random_state=0, **parameters)
    start = time.process_time()
    model.fit(X, y)
    middle = time.process_time()
    wrong = float(np.mean(model.predict(X_test) != y_test))
    end = time.process_time()
    result: dict[str, Any] = {"error": wrong, "classes": len(model.classes_), "rows": len(y)}
    result |= {"train": 1e6 * (middle - start) / len(y) / model.n_passes, "predict": 1e6 * (end - middle) / len(y_test)}
    if isinstance(model, LOMTreeClassifier):
        leaves = np.unique(model.apply(X), return_inverse=True)[1]
        counts = np.zeros((leaves.max() + 1, len(model.classes_)))
        np.add.at(counts, (leaves, np.searchsorted(model.classes_, y)), 1.0)
        weight = counts.sum(1)
        values = criteria(counts / weight[:, None])
        result |= {key: float(weight @ value / weight.sum()) for key, value in values.items()}
    return result


def _ask(job: Job, name: str, **options: Any) -> dict[str, Any]:
    most, passes, _ = SPEND[job.budget]
    settings = {"data": name, "most": most, "n_passes": passes, **options}
    given = {"n_passes": passes, **options}
    return job.cell(f"{name} {options}", settings, lambda: _cell(name, most, given))


def _table(job: Job) -> None:
    header = ["data", "classes", "training rows", "LOMtree printed, 20 passes", "LOMtree, K − 1 routers"]
    header += ["LOMtree, 16 K routers", "16 K routers − printed", "LOMtree train, predict µs"]
    header += ["OnlineTreeClassifier", "its train, predict µs"]
    peers = PEERS if has_vw() else ()
    header += [f"{title}: error, train, predict µs" for title, *_ in peers]
    rows = []
    job.expect((3 + len(peers)) * len(DATA))
    for name in DATA:
        tuned = {"mode": "lomtree", "learning_rate": RATES.get(name, 0.5)}
        probe = _ask(job, name, mode="beam")
        if "missing" in probe:
            rows.append([name, *["not at hand"] * (len(header) - 1)])
            continue
        k = probe["classes"]
        few, many = (_ask(job, name, **tuned, max_internal_nodes=t) for t in (k - 1, 16 * k))
        errors = [f"{100 * cell['error']:.2f}" for cell in (few, many, probe)]
        times = [f"{cell['train']:.1f}, {cell['predict']:.1f}" for cell in (few, probe)]
        printed = PRINTED.get(name)
        gap = f"{100 * many['error'] - float(printed):+.2f}" if printed else ""
        flat = " (no tree)" if k <= OnlineTreeClassifier().flat_below else ""
        lomtree, online = [*errors[:2], gap, times[0]], [errors[2] + flat, times[1]]
        beside = [_peer(job, name, k, peer) for peer in peers]
        rows.append([name, str(k), str(probe["rows"]), printed or "not printed", *lomtree, *online, *beside])
    most, passes, _ = SPEND[job.budget]
    limit = f" of at most {most} training rows" if most < 10**6 else ""
    text = (
        "# Errors and times of the online trees\n\n"
        f"Test error in per cent after {passes} passes{limit}, and CPU time per row (one pass for training). The "
        "printed errors are those of the learner's first paper, on all rows. LOMtree is `LOMTreeClassifier`. "
        "`OnlineTreeClassifier` is another learner: up to 160 classes a flat softmax regression without a tree, beyond "
        "that the same scorers with a tree that proposes classes. Do not read it as a LOMtree.\n\n"
    )
    if peers:
        text += (
            "VW is Vowpal Wabbit, on the same rows, with the same passes and, in log_multi, the same rate. Its "
            "training is timed from its binary cache, without parsing.\n\n"
        )
    job.write("lomtree-table-1.md", text + markdown_table(header, rows) + "\n")


def _peer(job: Job, name: str, k: int, peer: tuple[str, str, int]) -> str:
    """Error and times of one of Vowpal Wabbit's learners."""
    title, options, most_classes = peer
    most, passes, _ = SPEND[job.budget]
    found = _split(name, most)
    if k > most_classes or found is None:
        return "not run"
    X, y, X_test, y_test = found
    command = options.format(rate=RATES.get(name, 0.5))
    codes = np.unique(np.concatenate([y, y_test]), return_inverse=True)[1]
    train, test = (X, codes[: len(y)]), (X_test, codes[len(y) :])
    settings = {"data": name, "most": most, "n_passes": passes, "vw": command}
    cell = job.cell(f"{name} {title}", settings, lambda: dict(vw(train, test, command, passes)))
    return f"{100 * cell['error']:.2f}, {cell['train']:.1f}, {cell['predict']:.1f}"


def _axes(count: int) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, count, figsize=(4.4 * count, 3.8), layout="constrained", squeeze=False)
    return figure, axes


def _save(job: Job, figure: Any, number: int) -> None:
    import matplotlib.pyplot as plt

    path = job.out / f"lomtree-figure-{number}.png"
    save_figure(figure, path, dpi=110)
    plt.close(figure)
    job.written.append(path)
    job.tell(f"{job.paper}: figure {number}")


def _figure_bounds(job: Job) -> None:
    figure, axes = _axes(2)
    j = np.linspace(0, 1, 201)
    half = np.sqrt(1 - j) / 2
    axes[0, 0].plot(j, 0.5 + half, label="upper bound")
    axes[0, 0].plot(j, 0.5 - half, label="lower bound")
    axes[0, 0].vlines(j[::20], 0.5 - half[::20], 0.5 + half[::20], color="0.7")
    axes[0, 0].set(xlabel="J(h)", ylabel="balance Pr(h > 0)")
    for colour, beta in (("C0", 0.5), ("C1", 0.35), ("C2", 0.2)):
        allowed = j <= 4 * beta * (1 - beta)
        printed, sharp = (purity_bound(j[allowed], beta, form=form) for form in ("printed", "sharp"))
        axes[0, 1].plot(j[allowed], printed, color=colour, label=f"printed, β = {beta:g}")
        axes[0, 1].plot(j[allowed], sharp, "--", color=colour, label=f"attained, β = {beta:g}")
    axes[0, 1].set(xlabel="J(h)", ylabel="purity factor, at most")
    axes[0, 0].legend(frameon=False)
    axes[0, 1].legend(frameon=False, fontsize="small")
    _save(job, figure, 1)


def _figure_criteria(job: Job) -> None:
    figure, axes = _axes(1)
    share = np.linspace(0, 1, 401)
    for name, value in criteria(np.stack([share, 1 - share], axis=-1)).items():
        axes[0, 0].plot(share, value, label=name)
    axes[0, 0].set(xlabel="share of the first class", ylabel="criterion")
    axes[0, 0].legend()
    _save(job, figure, 2)


def _figure_splits(job: Job) -> None:
    per_class = SPEND[job.budget][2]
    figure, axes = _axes(len(DATA))
    for ax, name in zip(axes[0], DATA):
        ax.set(title=name, xlabel="splits", xscale="log")
        first = _ask(job, name, mode="lomtree", learning_rate=RATES.get(name, 0.5), max_internal_nodes=1)
        if "missing" in first:
            ax.text(0.5, 0.5, "not at hand", transform=ax.transAxes, ha="center")
            continue
        counts = [1]
        while 2 * counts[-1] <= per_class * first["classes"]:
            counts.append(2 * counts[-1])
        job.expect(len(DATA) * len(counts))
        cells = [
            _ask(job, name, mode="lomtree", learning_rate=RATES.get(name, 0.5), max_internal_nodes=t) for t in counts
        ]
        for key in ("entropy", "gini", "modified gini", "error"):
            ax.plot(counts, [cell[key] for cell in cells], "o-", ms=3, label="test error" if key == "error" else key)
        ax.set_ylim(0, 1)
        ax.legend(fontsize=7)
    axes[0, 0].set_ylabel("normalised to [0, 1]")
    _save(job, figure, 3)
