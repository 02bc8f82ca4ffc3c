"""What all papers share: cells that are computed once and kept, resuming, progress, Markdown tables.

A paper is a module with ``TABLES`` and ``FIGURES`` (tuples of numbers), perhaps ``OPTIONS`` (names and types of
settings that can be changed), and ``reproduce(job)``, which is called for one table or figure at a time. A function
``conclude(job)`` is called at the end, for verdicts over all cells that are there. ``SEEDS`` says in words which random
seeds it uses, and ``SETS`` names the data sets it reads. A module asks
``job.cell`` for every number it needs: a cell that is already in the results file of the output folder is not computed
again, and the file is written after each new one, so that an interrupted run goes on where it stopped. ``job.expect``
says how many cells a table or figure has, for the remaining time.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from boscage import __version__
from boscage.base.whole_file import save_figure, write_whole
from boscage.datasets import list_datasets, load_dataset
from boscage.datasets._fetch import catalogue, how_to_get

PAPERS = {
    "lomtree": "lomtree",
    "stochastic": "stochastic",
    "topdown": "topdown",
    "weighted-optimal": "weighted_optimal",
    "wodt": "wodt",
}
BUDGETS = ("quick", "full")
T = TypeVar("T")


@dataclass
class Job:
    """One run of one paper's experiments.

    Parameters
    ----------
    paper : str
        Name in :data:`PAPERS`.
    tables, figures : tuple of int
        Which of them to make.
    budget : {"quick", "full"}
        How much to spend.
    out : Path
        Folder of the results.
    tell : callable
        Gets one line of text after each cell.
    advance : callable
        Gets the share of the tables and figures that are done, from 0 to their number, and what is being done.
    options : dict
        Settings in place of the budget's; which there are is the module's business.
    """

    paper: str
    tables: tuple[int, ...]
    figures: tuple[int, ...]
    budget: str
    out: Path
    tell: Callable[[str], None]
    advance: Callable[[float, str], None] = lambda done, text: None
    options: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    written: list[Path] = field(default_factory=list)
    pieces_done: int = 0
    _cells: int = 0
    _expected: int = 0

    @property
    def store(self) -> Path:
        """The file of finished cells."""
        return self.out / f"{self.paper}.json"

    def cell(self, name: str, settings: dict[str, Any], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the result of ``work``, from the file if it was computed before with the same settings."""
        key = _key(name, settings)
        known = self.results.get(key)
        if known is None:
            self._show(name)
            start, cpu = time.monotonic(), _cpu_seconds()
            known = {"name": name, "settings": settings, "result": work(), "version": __version__}
            known |= {"seconds": time.monotonic() - start, "cpu": _cpu_seconds() - cpu}
            self.results[key] = known
            write_whole(self.store, json.dumps(self.results, indent=1, sort_keys=True) + "\n")
            self.tell(f"{self.paper}: {name} ({known['seconds']:.1f} s)")
        self._cells += 1
        self._show(name)
        result: dict[str, Any] = known["result"]
        return result

    def expect(self, cells: int) -> None:
        """Say how many cells the table or figure in work will ask for."""
        self._expected = cells

    def finish_piece(self) -> None:
        """Count a table or figure as done."""
        self.pieces_done += 1
        self._cells = self._expected = 0
        self._show("")

    def _show(self, name: str) -> None:
        part = min(0.99, self._cells / self._expected) if self._expected else 0.0
        self.advance(self.pieces_done + part, f"{self.paper}: {name}" if name else self.paper)

    def known(self, name: str, settings: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result of a cell that was computed before, or None."""
        found = self.results.get(_key(name, settings))
        return None if found is None else found["result"]

    def write(self, name: str, text: str) -> None:
        """Write a text file into the output folder."""
        path = self.out / name
        write_whole(path, text)
        self.written.append(path)

    def picture(self, name: str, draw: Callable[[Any], None], size: tuple[float, float] = (7.0, 4.4)) -> None:
        """Let ``draw`` fill a matplotlib figure and write it into the output folder."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        path = self.out / name
        save_figure(figure, path, dpi=110, metadata={"Software": None})
        self.written.append(path)


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it started and that have ended."""
    return time.process_time() + sum(os.times()[2:4])


def _key(name: str, settings: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps([name, settings], sort_keys=True).encode()).hexdigest()[:16]


def read_set(name: str, take: Callable[[Any], T]) -> T | None:
    """Return what a function takes from a data set, kept for the next call; None if the set is not at hand."""
    return _taken(name, take) if name in list_datasets() else None


@cache
def _taken(name: str, take: Callable[[Any], T]) -> T:
    return take(load_dataset(name))


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a Markdown table.

    Examples
    --------
    >>> from boscage.experiments._runner import markdown_table
    >>> print(markdown_table(["p", "ours"], [["2", "0.1"]]))
    | p | ours |
    |---|---|
    | 2 | 0.1 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"|{'|'.join(line)}|" if line[0] == "---" else f"| {' | '.join(line)} |" for line in lines)


def run(
    paper: str,
    table: int | None = None,
    figure: int | None = None,
    budget: str = "quick",
    out: str | Path = "boscage-reproduce",
    tell: Callable[[str], None] = lambda line: None,
    advance: Callable[[float, str], None] = lambda done, text: None,
    options: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Run a paper's experiments again.

    Parameters
    ----------
    paper : str
        One of :data:`PAPERS`.
    table, figure : int, optional
        Only this table or figure; with neither, all of them.
    budget : {"quick", "full"}, default="quick"
        "quick" takes minutes, "full" hours.
    out : path, default="boscage-reproduce"
        Folder for the results; a run into the same folder goes on where the last one stopped.
    tell : callable
        Gets one line of text after each step.
    advance : callable
        Gets how many tables and figures are done, a number that grows with every cell, and what is being done.
    options : mapping, optional
        Settings of the paper's experiments in place of the budget's, as text or values.

    Returns
    -------
    list of Path
        The files written.
    """
    module, tables, figures = chosen_pieces(paper, table, figure)
    if budget not in BUDGETS:
        raise ValueError(f"budget={budget!r} is not known. Pass one of {', '.join(BUDGETS)}.")
    settings = _options(module, paper, options or {})
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    job = Job(paper, (), (), budget, folder, tell, advance, settings)
    if job.store.exists():
        job.results = json.loads(job.store.read_text(encoding="utf-8"))
    for line in how_to_get(getattr(module, "SETS", ())):
        tell(line)
    for job.tables, job.figures in [*(((n,), ()) for n in tables), *(((), (n,)) for n in figures)]:
        module.reproduce(job)
        job.finish_piece()
    if hasattr(module, "conclude"):
        module.conclude(job)
    job.write(f"{paper}-run.md", _how_it_was_made(job, module))
    return [*dict.fromkeys(job.written), *([job.store] if job.store.exists() else [])]


def _how_it_was_made(job: Job, module: Any) -> str:
    """Tell the command, seeds, versions and computing time behind a page."""
    import numpy
    import scipy
    import sklearn

    sets = getattr(module, "SETS", ())
    folder = "BOSCAGE_DATA=folder " if set(sets) & set(catalogue()) else ""
    changes = "".join(f" --set {name}={value}" for name, value in job.options.items())
    cells = list(job.results.values())
    cpu = sum(cell["cpu"] for cell in cells if "cpu" in cell)
    elapsed = [cell["seconds"] for cell in cells if "cpu" not in cell]
    spent = f"{cpu / 3600:.2g} CPU hours" if cpu or not elapsed else ""
    spent += f" ({cpu:.0f} s)" if 0 < cpu < 360 else ""
    if elapsed:
        older = f"{len(elapsed)} cell{'s' * (len(elapsed) > 1)}, whose CPU time was not recorded"
        spent += f"{' and ' if spent else ''}{sum(elapsed) / 3600:.2g} hours elapsed ({older})"
    versions = sorted({cell.get("version", "0.1.0") for cell in cells} | {__version__})
    lines = [
        "# How this page was made",
        f"`{folder}boscage reproduce {job.paper} --budget {job.budget}{changes}`: {len(cells)} cells, {spent}. The run "
        "keeps every cell, so it can be stopped and started again.",
        f"Seeds: {getattr(module, 'SEEDS', 'nothing is random')}.",
        f"Versions: boscage {', '.join(versions)}, Python {platform.python_version()}, NumPy {numpy.__version__}, "
        f"SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}.",
    ]
    if sets:
        embedded = [name for name in sets if name not in catalogue()]
        others = [name for name in sets if name in catalogue()]
        fetched = [name for name in others if catalogue()[name].openml is not None]
        by_hand = [name for name in others if name not in fetched]
        text = f"Data: {', '.join(embedded)} {'is' if len(embedded) == 1 else 'are'} embedded." if embedded else "Data:"
        text += f" `boscage data fetch {job.paper}` gets {', '.join(fetched)} from OpenML." if fetched else ""
        text += f" By hand (`boscage data list` says how): {', '.join(by_hand)}." if by_hand else ""
        lines.append(text)
    return "\n\n".join(lines) + "\n"


def chosen_pieces(paper: str, table: int | None, figure: int | None) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """Find the module of a paper, and which of its tables and figures are meant."""
    if paper not in PAPERS:
        raise ValueError(f"paper={paper!r} is not known. Pass one of {', '.join(sorted(PAPERS))}.")
    module = import_module(f"boscage.experiments.{PAPERS[paper]}")
    chosen: list[tuple[int, ...]] = []
    choices = (("table", table, figure, module.TABLES), ("figure", figure, table, module.FIGURES))
    for name, wanted, other, known in choices:
        if wanted is not None and wanted not in known:
            allowed = ", ".join(map(str, known)) or f"no {name}"
            raise ValueError(f"{name}={wanted!r} is not in {paper}. Pass one of {allowed}.")
        chosen.append((wanted,) if wanted is not None else known if other is None else ())
    return module, chosen[0], chosen[1]


def sets_of(paper: str) -> tuple[str, ...]:
    """Return the data sets that a paper's experiments read."""
    return tuple(getattr(import_module(f"boscage.experiments.{PAPERS[paper]}"), "SETS", ()))


def _options(module: Any, paper: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check names and turn text into values."""
    known = getattr(module, "OPTIONS", {})
    for name, value in given.items():
        if name not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"{name}={value!r} is not a setting of {paper}. There are: {listed}.")
    try:
        return {name: known[name](value) for name, value in given.items()}
    except ValueError as error:
        raise ValueError(f"A setting of {paper} has the wrong type: {error}.") from None
