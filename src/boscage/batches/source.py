"""Sources: everything that can give the same rows again and again.

Files and folders of Parquet, Arrow and CSV, pyarrow datasets, lists of batches, and functions that return a fresh
iterator. `open_source` looks at what the user passed and refuses what can be read only once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from boscage.batches.arrow import Memory, arrow_batch
from boscage.batches.files import Piece, check_columns, dataset_pieces, files_dataset, is_dataset, is_path, read_ahead
from boscage.batches.rows import RawBatch
from boscage.data.column_kinds import NUMBERS_ONLY, CategoryRule, as_categories, is_table, select, table_names
from boscage.data.columns import columns_of
from boscage.data.labels import without_codes

# Batches of a file, or pieces of it, that wait while one is in work.
_READ_AHEAD = 1

_WHAT_TO_PASS = (
    "Pass a path, a pyarrow dataset, a list of batches, or a function without arguments that returns a fresh iterator "
    "of (X, y) or (X, y, sample_weight)."
)


class Source:
    """Rows that can be read any number of times: ``source.batches()`` begins anew.

    Parameters
    ----------
    start : callable
        Returns a fresh iterator of batches as the user has them; of a file's, of pieces that return one.
    target, weight : str or None
        Columns of labels and weights in batches that are tables.
    columns : sequence of str, optional
        Columns to learn from, in batches that are tables; files are read without the others.
    text : collection of str, default=()
        Columns of files that are categories of text.
    reads_files : bool, default=False
        Whether other threads may read ahead; iterators of the user's are used in the caller's.
    """

    def __init__(
        self,
        start: Callable[[], Iterator[Any]],
        target: str | None,
        weight: str | None,
        *,
        columns: Sequence[str] | None = None,
        text: Collection[str] = (),
        reads_files: bool = False,
    ) -> None:
        self.start = start
        self.target = target
        self.weight = weight
        self.columns = columns
        self.text = text
        self.reads_files = reads_files
        self.categories = NUMBERS_ONLY

    def with_categories(self, rule: CategoryRule) -> Source:
        """Return the same source, whose batches have categories by this rule."""
        other = copy.copy(self)
        other.categories = rule
        return other

    def given(self) -> Iterator[Any]:
        """Read all rows once more: batches as the user has them."""
        return read_ahead((piece() for piece in self.start()), _READ_AHEAD) if self.reads_files else self.start()

    def batches(self) -> Generator[RawBatch, None, None]:
        """Read all rows once more; a batch is good until the next is taken. Not for files."""
        for number, batch in enumerate(self.start()):
            raw = raw_batch(batch, self.target, self.weight, self.categories, self.columns, number)
            if len(raw.X):
                yield raw

    def pieces(self) -> Generator[Piece, None, None]:
        """Begin to read files once more: functions that return a table, to be called by any thread."""
        return read_ahead(self.start(), _READ_AHEAD)

    def take_apart(self, table: Any, memory: Memory) -> RawBatch:
        """Make a batch of a table; its columns lie in the memory."""
        return arrow_batch(as_categories(table, self.text), self.target, self.weight, self.categories, memory)


def open_source(
    source: Any,
    target: str | None = None,
    weight: str | None = None,
    *,
    needs_target: bool = True,
    categories: CategoryRule = NUMBERS_ONLY,
    columns: Sequence[str] | None = None,
    drop: Collection[str] = (),
    text: Collection[str] = (),
) -> Source:
    """Make a `Source` of what the user passed.

    Parameters
    ----------
    source : path, list of paths, pyarrow.dataset.Dataset, table, list of batches, or callable
        A path may be a file, a folder or a pattern with ``*``. A batch is a table with the column ``target``, or a
        tuple (X, y) or (X, y, sample_weight).
    target, weight : str, optional
        Columns of labels and of weights, in tables.
    needs_target : bool, default=True
        Whether files must have a column of labels.
    categories : CategoryRule, default=NUMBERS_ONLY
        Which columns are categories.
    columns : sequence of str, optional
        Columns of tables to learn from. Default: all but ``target`` and ``weight``.
    drop : collection of str, default=()
        Columns of files that are not read.
    text : collection of str, default=()
        Columns of files that are read as text and are categories, however many levels they have.
    """
    if isinstance(columns, str) or (columns is not None and not all(isinstance(name, str) for name in columns)):
        raise TypeError(f"columns={columns!r} is not allowed. Pass a list of column names, or None for all.")
    if is_path(source) or (isinstance(source, (list, tuple)) and source and all(map(is_path, source))):
        source = files_dataset(source, target, text)
    if is_dataset(source):
        for name in text:
            check_columns(source.schema.names, None, None, text=name)
        pieces = dataset_pieces(source, target, weight, needs_target, columns, drop)
        opened = Source(pieces, target, weight, text=text, reads_files=True)
    else:
        opened = _opened(source, target, weight, columns)
    return opened.with_categories(categories)


def _opened(source: Any, target: str | None, weight: str | None, columns: Sequence[str] | None) -> Source:
    if isinstance(source, Source):
        return source
    if is_table(source):
        return Source(lambda: iter([source]), target, weight, columns=columns)
    if hasattr(source, "__next__"):
        raise TypeError(
            f"source is a {type(source).__name__}, which can be read only once, and a fit reads its rows many times. "
            "Pass the function that makes it, not its result: fit_batches(make_batches), without parentheses."
        )
    if isinstance(source, (list, tuple)):
        if not source:
            raise ValueError(f"source is an empty {type(source).__name__}. {_WHAT_TO_PASS}")
        return Source(lambda: iter(source), target, weight, columns=columns)
    if callable(source):
        return Source(_callable_start(source), target, weight, columns=columns)
    raise TypeError(f"source is a {type(source).__name__}, which is not known. {_WHAT_TO_PASS}")


def _callable_start(source: Callable[[], Any]) -> Callable[[], Iterator[Any]]:
    last: list[Any] = []

    def start() -> Iterator[Any]:
        made = source()
        if last and made is last[0] and hasattr(made, "__next__"):
            raise TypeError(
                "source() returned the same iterator again, which is used up. It must make a fresh one at every call."
            )
        last[:] = [made]
        if not hasattr(made, "__iter__"):
            raise TypeError(f"source() returned a {type(made).__name__}, not an iterator. {_WHAT_TO_PASS}")
        return iter(made)

    return start


def raw_batch(
    batch: Any,
    target: str | None,
    weight: str | None,
    rule: CategoryRule = NUMBERS_ONLY,
    columns: Sequence[str] | None = None,
    number: int = 0,
) -> RawBatch:
    """Take a batch of the user's apart into X, y and weights."""
    if isinstance(batch, tuple) and not hasattr(batch, "columns"):
        if len(batch) not in (2, 3):
            raise ValueError(f"batch {number} is a tuple of {len(batch)}. Pass (X, y) or (X, y, sample_weight).")
        X, y, w = batch if len(batch) == 3 else (*batch, None)
    elif is_table(batch):
        if target is None:
            raise ValueError("target=None is not allowed with tables. Pass the name of the column of labels.")
        names = table_names(batch)
        check_columns([str(name) for name in names], target, weight)
        if type(batch).__module__.startswith("pyarrow"):
            kept = names if columns is None else _with_columns(names, columns, target, weight)
            return arrow_batch(batch.select(kept), target, weight, rule)
        X = select(batch, [name for name in names if name not in (target, weight)])
        y, w = batch[target], None if weight is None else batch[weight]
    else:
        raise TypeError(
            f"batch {number} is a {type(batch).__name__}. Pass a table with the column of labels, or a tuple (X, y) or "
            "(X, y, sample_weight)."
        )
    if X is not None and hasattr(X, "shape") and X.shape[0] == 0:
        return RawBatch(np.empty((0, 0)), np.empty(0), None)
    if columns is not None:
        if not is_table(X):
            raise ValueError("columns names columns of tables, and a batch holds an array. Pass columns=None.")
        X = select(X, _with_columns(table_names(X), columns))
    found = columns_of(_Batch(), X, rule)
    shown = None if found.names is None else tuple(found.names.tolist())
    given = None if w is None else w if np.ma.isMaskedArray(w) else np.asarray(w)
    n_bytes = found.matrix.nbytes + (0 if given is None else given.nbytes)
    return RawBatch(found.matrix, _labels(y), given, shown, n_bytes, found.labelled)


def _with_columns(names: Sequence[str], columns: Sequence[str], *others: str | None) -> list[str]:
    """Return the wanted columns, then others; refuse what is not there."""
    check_columns(names, None, None, columns=columns)
    return list(dict.fromkeys([*columns, *(name for name in others if name is not None)]))


class _Batch(BaseEstimator):  # type: ignore[misc]
    """Stands for the estimator in messages about a batch."""


def _labels(y: Any) -> npt.NDArray[Any]:
    y = without_codes(y)
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    return y if isinstance(y, np.ndarray) else np.asarray(y)
