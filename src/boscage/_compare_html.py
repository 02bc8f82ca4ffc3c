"""A comparison as one web page: who is best, by how much, at what size and cost, and the trees themselves.

The page needs no network and shows every name as text. Trees are the interactive pieces of :mod:`boscage.html`.
"""

from __future__ import annotations

import base64
import io
import os
import platform
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.tree import DecisionTreeClassifier, export_text

from boscage import __version__
from boscage._compare_files import write_picture
from boscage._compare_stats import LEVEL, Standing, rank, standings
from boscage._compare_table import seconds
from boscage._compare_types import Contender, Result, Settings, Task
from boscage._whole_file import write_whole
from boscage.tree import Tree

_STYLE = """
.cmp { font-family: system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
.cmp h1 { margin: 0 0 .2rem; }
.cmp h2 { margin: 2.2rem 0 .6rem; }
.cmp .facts, .cmp .small { color: #59636e; }
.cmp .small { font-size: .875rem; }
.cmp .verdict { font-size: 1.1rem; line-height: 1.5; max-width: 50rem; }
.cmp .scroll { overflow-x: auto; }
.cmp table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
.cmp th, .cmp td { padding: .3rem .55rem; text-align: left; border-bottom: 1px solid #d8dee4; white-space: nowrap; }
.cmp th { font-weight: 600; }
.cmp .n { text-align: right; }
.cmp tr.best td { background: #e6f4ea; font-weight: 600; }
.cmp tr.same td { background: #f3faf5; }
.cmp tr.failed td { color: #a40e26; }
.cmp svg.ci { width: 12rem; height: 1.1rem; display: block; }
.cmp .ci line { stroke: #57606a; stroke-width: 1.4; }
.cmp .ci .grid { stroke: #d8dee4; stroke-width: 1; }
.cmp .ci circle { fill: #0969da; }
.cmp tr.best .ci circle { fill: #1a7f37; }
.cmp img { max-width: 100%; height: auto; background: #fff; border-radius: .4rem; }
.cmp details { border: 1px solid #d8dee4; border-radius: .5rem; margin: .6rem 0; padding: 0 .8rem; }
.cmp summary { cursor: pointer; padding: .6rem 0; font-weight: 600; }
.cmp summary span { font-weight: 400; color: #59636e; margin-left: .6rem; }
.cmp pre { overflow-x: auto; font-size: .8rem; line-height: 1.35; }
@media (prefers-color-scheme: dark) {
  .cmp .facts, .cmp .small, .cmp summary span { color: #9198a1; }
  .cmp th, .cmp td, .cmp details { border-color: #3d444d; }
  .cmp tr.best td { background: #12351d; }
  .cmp tr.same td { background: #0f2416; }
  .cmp tr.failed td { color: #ff8182; }
  .cmp .ci line { stroke: #9198a1; }
  .cmp .ci .grid { stroke: #3d444d; }
  .cmp .ci circle { fill: #4493f8; }
  .cmp tr.best .ci circle { fill: #3fb950; }
}
"""


def write_report(
    path: Path, task: Task, settings: Settings, results: list[Result], chosen: Iterable[Contender] = ()
) -> None:
    """Write the page of a comparison.

    Parameters
    ----------
    path : Path
        Where to write it.
    task, settings, results
        What was compared, how, and what came out.
    chosen : iterable of Contender
        Those whose results are given: the best of each family is fitted to all rows and shown. Default: no trees.
    """
    from boscage.html import page

    where = standings(results, settings)
    parts = [
        _head(task, settings, results, where),
        "<h2>All contenders</h2>" + _table(results, where),
        "<h2>Accuracy against size and time</h2>" + _pictures(task, results, settings),
        _trees(task, results, list(chosen)),
        _notes(results, settings),
    ]
    body = f'<main class="cmp">{"".join(parts)}</main>'
    write_whole(path, page(f"{task.name}: trees compared", body, style=_STYLE))


def _head(task: Task, settings: Settings, results: list[Result], where: dict[str, Standing]) -> str:
    rows, columns = task.X.shape
    facts = f"{rows:,} rows, {columns:,} features, {task.n_classes} classes · {settings.folds} folds"
    facts += f", drawn {settings.repeats} times" if settings.repeats > 1 else ""
    return f"<h1>{escape(task.name)}: {len(results)} contenders compared</h1>" \
           f'<p class="facts">{escape(facts)}</p>{_verdict(results, where)}'  # fmt: skip


def _verdict(results: list[Result], where: dict[str, Standing]) -> str:
    """Say in words who won, and who cannot be told from the winner."""
    done = sorted((result for result in results if result.name in where), key=rank)
    if not done:
        return '<p class="verdict">No contender finished.</p>'
    best = done[0]
    text = f"Most accurate: <strong>{escape(best.name)}</strong>, {_accuracy(best, where[best.name])}{_leaves(best)}."
    equals = [result for result in done[1:] if not where[result.name].is_worse]
    if equals:
        text += f" {len(equals)} of the others cannot be told from it on these folds"
        small = min((r for r in [best, *equals] if r.leaves), key=lambda r: r.mean("leaves") or 0.0, default=None)
        text += (
            f"; the smallest tree among them is <strong>{escape(small.name)}</strong>{_leaves(small)}."
            if small
            else "."
        )
    elif len(done) > 1:
        text += " All others are significantly less accurate."
    return f'<p class="verdict">{text}</p>'


def _accuracy(result: Result, standing: Standing) -> str:
    half = standing.half_width
    return f"{result.mean('accuracy'):.3f}" + ("" if half is None else f" ± {half:.3f}")


def _leaves(result: Result) -> str:
    return f" with {result.mean('leaves'):.1f} leaves" if result.leaves else ""


def _table(results: list[Result], where: dict[str, Standing]) -> str:
    low, high = _range(results, where)
    heads = [
        "splits",
        "criterion",
        "accuracy",
        "95 % interval",
        "behind the best",
        "p",
        "leaves",
        "depth",
        "fit",
        "predict",
    ]
    numbers = {"accuracy", "behind the best", "p", "leaves", "depth", "fit", "predict"}
    header = "".join(f'<th scope="col"{" class=n" if head in numbers else ""}>{head}</th>' for head in heads)
    rows = "".join(_row(result, where.get(result.name), low, high) for result in sorted(results, key=rank))
    return f'<div class="scroll"><table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table></div>'


def _row(result: Result, standing: Standing | None, low: float, high: float) -> str:
    names = f"<td>{escape(result.family)}</td><td>{escape(result.criterion)}</td>"
    if result.error or standing is None:
        return f'<tr class="failed">{names}<td colspan="8">failed: {escape(result.error)}</td></tr>'
    kind = "best" if standing.is_best else "worse" if standing.is_worse else "same"
    leaves, depth = result.mean("leaves"), result.mean("depth")
    cells = [
        f"{result.mean('accuracy'):.3f}",
        "" if standing.is_best else f"{standing.behind:.3f}",
        "best"
        if standing.is_best
        else ""
        if standing.p is None
        else f"{standing.p:.3f}{'*' if standing.is_worse else ''}",
        "–" if leaves is None else f"{leaves:.1f}",
        "–" if depth is None else f"{depth:.1f}",
        seconds(result.mean("fit_seconds")),
        seconds(result.mean("predict_seconds")),
    ]
    shown = [f'<td class="n">{escape(cell)}</td>' for cell in cells]
    shown.insert(1, f"<td>{_interval(result, standing, low, high)}</td>")
    return f'<tr class="{kind}">{names}{"".join(shown)}</tr>'


def _range(results: list[Result], where: dict[str, Standing]) -> tuple[float, float]:
    """Least and largest accuracy of the interval drawings, with the intervals."""
    ends = [
        (result.mean("accuracy") or 0.0) + sign * (where[result.name].half_width or 0.0)
        for result in results if result.name in where for sign in (-1, 1)
    ]  # fmt: skip
    if not ends:
        return 0.0, 1.0
    low, high = max(0.0, min(ends)), min(1.0, max(ends))
    return (low, high) if high > low else (low - 0.05, high + 0.05)


def _interval(result: Result, standing: Standing, low: float, high: float) -> str:
    def at(value: float) -> str:
        return f"{4 + 192 * (min(max(value, low), high) - low) / (high - low):.1f}"

    mean, half = result.mean("accuracy") or 0.0, standing.half_width or 0.0
    label = f"{mean - half:.3f} to {mean + half:.3f}"
    return (
        f'<svg class="ci" viewBox="0 0 200 16" role="img" aria-label="{label}"><title>{label}</title>'
        '<line class="grid" x1="4" x2="196" y1="8" y2="8"></line>'
        f'<line x1="{at(mean - half)}" x2="{at(mean + half)}" y1="8" y2="8"></line>'
        f'<circle cx="{at(mean)}" cy="8" r="4"></circle></svg>'
    )


def _pictures(task: Task, results: list[Result], settings: Settings) -> str:
    buffer = io.BytesIO()
    try:
        write_picture(buffer, task, results, settings)
    except ImportError:
        return '<p class="small">No picture: it needs the package matplotlib.</p>'
    data = base64.b64encode(buffer.getvalue()).decode()
    text = "Accuracy against the number of leaves, and against fit time; the numbers are in the table above."
    return f'<p><img src="data:image/svg+xml;base64,{data}" alt="{text}"></p>'


def _trees(task: Task, results: list[Result], chosen: list[Contender]) -> str:
    makers = {contender.name: contender for contender in chosen}
    best: dict[str, Result] = {}
    for result in sorted(results, key=rank):
        if not result.error and result.name in makers:
            best.setdefault(result.family, result)
    shown = ""
    for result in best.values():
        shown += _tree(task, makers[result.name], result, is_open=not shown)
    if not shown:
        return ""
    return f'<h2>The best tree of each family</h2><p class="small">Fitted to all rows.</p>{shown}'


def _tree(task: Task, contender: Contender, result: Result, *, is_open: bool) -> str:
    """Fit one contender to all rows and show its tree; nothing for a model that is no tree."""
    from boscage.html import tree_fragment

    model = contender.make()
    try:
        model.fit(task.X, task.y)
    except Exception as error:  # shown, as a failure in a fold is
        return _details(result, f"<p>Failed on all rows: {escape(str(error))}</p>", is_open)
    last = model[-1] if hasattr(model, "steps") else model
    names = _feature_names(task, model)
    tree = getattr(last, "tree_", None)
    classes = [str(label) for label in last.classes_]
    if isinstance(tree, Tree):
        return _details(
            result, tree_fragment(tree, title=result.name, feature_names=names, class_names=classes), is_open
        )
    if isinstance(last, DecisionTreeClassifier):
        text = export_text(last, feature_names=names, class_names=classes)
        return _details(result, f"<pre>{escape(text)}</pre>", is_open)
    return ""


def _feature_names(task: Task, model: Any) -> list[str] | None:
    """Names of the columns the tree itself sees: those of the task, or what preparation made of them."""
    if not task.feature_names:
        return None
    if not hasattr(model, "steps") or len(model.steps) == 1:
        return list(task.feature_names)
    given = model[:-1].get_feature_names_out(np.array(task.feature_names, dtype=object))
    return [str(name).split("__", 1)[-1] for name in given]


def _details(result: Result, inside: str, is_open: bool) -> str:
    facts = f"accuracy {result.mean('accuracy'):.3f}{_leaves(result)}"
    summary = f"<summary>{escape(result.name)}<span>{facts}</span></summary>"
    return f"<details{' open' if is_open else ''}>{summary}{inside}</details>"


def _notes(results: list[Result], settings: Settings) -> str:
    warned: dict[str, list[str]] = {}
    for result in results:
        for warning in result.warnings:
            warned.setdefault(" ".join(warning.split()), []).append(result.name)
    items = "".join(f"<li>{escape(', '.join(names))}: {escape(text)}</li>" for text, names in warned.items())
    machine = (
        f"boscage {__version__}, scikit-learn {sklearn.__version__}, Python {platform.python_version()}, "
        f"{platform.machine()}, {os.cpu_count()} cores, seed {settings.seed}"
    )
    return (
        '<h2>How to read this</h2><p class="small">All contenders saw the same folds. Intervals and p come from the '
        "corrected resampled t-test of Nadeau and Bengio, which allows for folds that share training rows: "
        f"{settings.folds * settings.repeats} differences, variance times 1/{settings.folds * settings.repeats} + "
        f"1/{settings.folds - 1}. A star marks p below {LEVEL:g} against the best. The p are not corrected for "
        "the number of contenders. Times are wall-clock means over folds.</p>"
        f'{f"<ul class=small>{items}</ul>" if items else ""}<p class="small">{escape(machine)}</p>'
    )
