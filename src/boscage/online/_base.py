"""What the two online classifiers share: learning from a stream, prediction, files, and one rule for threads."""

from __future__ import annotations

import os
from abc import abstractmethod
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from boscage import _core
from boscage.base.callbacks import CallbackSupport, FitTask, fit_task, with_callbacks
from boscage.base.named_parameters import NamedParameters
from boscage.base.progress import Progress
from boscage.base.threads import n_threads
from boscage.data.distinct import distinct_rows
from boscage.data.validation import fit_data, plain_rows
from boscage.data.weights import apply_class_weight, check_sample_weight
from boscage.engine.estimator import ClassCount
from boscage.files import ModelState, save
from boscage.online._checks import check_options, check_rows_match, is_integer, row_batch
from boscage.online._labels import LabelBook, enter
from boscage.tree import Floats, Schema

_MAX_WEIGHT = 1e9  # beyond it, sums in single precision lose their meaning


class _Locks:
    """The locks of one estimator: many readers or one writer.

    A writer holds ``turn`` for its whole call, so that writers follow one another, and ``write`` only while it changes
    what readers use. A thread must not enter ``read`` or ``write`` inside either of them.
    """

    def __init__(self) -> None:
        _, self.turn = _core.shared_lock()  # unlike threading.Lock it looks for Ctrl-C by itself
        self.read, self.write = _core.shared_lock()


class OnlineClassifier(NamedParameters, ClassCount, CallbackSupport, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers that learn row by row; a subclass makes the learner."""

    _all_state = True  # for model files: there is no tree_
    _is_lomtree: bool
    _locks: _Locks
    _learner: Any
    _book: LabelBook
    _schema: Schema
    classes_: npt.NDArray[Any]
    n_features_in_: int
    n_passes: int
    scaling: str
    class_weight: Any
    random_state: Any
    n_jobs: int | None
    verbose: bool | None

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Explain what has become of the first parameter of version 0.1; see `__init__` for those there are."""
        if args or "mode" in parameters:
            raise TypeError(
                f"{cls.__name__} has no parameter mode, and takes its parameters by name. mode is gone: use "
                "OnlineTreeClassifier() for mode='beam'; LOMTreeClassifier() is mode='lomtree'."
            )
        return super().__new__(cls, **parameters)

    @abstractmethod
    def _new_learner(self, n_features: int, centred: bool, seed: int) -> Any:
        """Make a learner that has seen nothing."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch, in several passes over the shuffled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Finite numbers.
        y : array-like of shape (n,)
            Labels of any type.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        check_options(self)
        with fit_task(self, X, y, sample_weight, steps=int(self.n_passes)) as task:
            self._fit(X, y, sample_weight, task)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, task: FitTask) -> None:
        data = fit_data(self, X, y, sample_weight, class_weight=self.class_weight, allow_nan=False, accept_sparse=True)
        rows = row_batch(data.X)
        kinds, _, weight = distinct_rows(data)
        by_row = np.zeros(data.X.shape[0])
        by_row[kinds] = weight / weight.mean()  # weights are relative: their scale must not change the steps
        random = check_random_state(self.random_state)
        learner = self._learner_for(data.X, random)
        n_classes = len(data.classes)
        total = self.n_passes * len(kinds)
        with Progress("learning online: rows", self.verbose, total) as progress:
            for number in range(self.n_passes):
                order = kinds[random.permutation(len(kinds))]
                report = _shifted(progress, number * len(kinds))
                options = _core.LearnOptions(n_classes, order, replay=False, keep=number == 0)
                if task.step("pass over the rows", partial(learner.learn, rows, data.y, by_row, options, report)):
                    break
        fresh = _fitted(learner, LabelBook(data.classes), data.schema)
        locks = self._own_locks()
        with locks.turn, locks.write:
            self.__dict__.update(fresh)
            if "feature_names_in_" not in fresh:
                self.__dict__.pop("feature_names_in_", None)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows, in their order, continuing from the current model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Finite numbers.
        y : array-like of shape (n,)
            Labels; new ones may appear at any time.
        classes : array-like, optional
            All labels that may occur. They appear in ``classes_`` at once, and y must not contain others.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0, multiplying the steps and the statistics. Weight 0 leaves the row out.

        Returns
        -------
        self
        """
        check_options(self)
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all the data and cannot be combined with partial_fit. "
                "Pass a dict of weights, or sample_weight."
            )
        locks = self._own_locks()
        with locks.turn:
            self._learn_batch(X, y, classes, sample_weight, locks)
        return self

    def _learn_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any, locks: _Locks) -> None:
        fitted = "_learner" in self.__dict__
        if fitted:
            self._check_resumable()
        book, labels = enter(self._book if fitted else None, y, classes, type(self).__name__)
        if fitted:
            matrix, schema = plain_rows(self, X), None
            check_rows_match(matrix, labels)
        else:
            data = fit_data(self, X, y, allow_nan=False, accept_sparse=True)
            matrix, schema = data.X, data.schema
        weight = self._batch_weight(sample_weight, labels, book)
        rows = row_batch(matrix)
        in_place = fitted and rows.is_short
        if in_place:
            learner = self._learner
        elif fitted:  # a long batch: others go on reading, and Ctrl-C leaves the model as it was
            learner = self._learner.copy()
        else:
            learner = self._learner_for(matrix, check_random_state(self.random_state))
        fresh = {} if in_place and book is self._book else _fitted(learner, book, schema)
        with Progress("learning online: rows", self.verbose, matrix.shape[0]) as progress:
            given = (rows, labels, weight, _core.LearnOptions(len(book)), progress.callback)
            if in_place:
                with locks.write:
                    learner.learn(*given, partial(self.__dict__.update, fresh) if fresh else None)
            else:
                learner.learn(*given)
                with locks.write:
                    self.__dict__.update(fresh)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the most probable class; ties go to the first class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        with self._reading():
            rows = row_batch(plain_rows(self, X))
            best = self._learner.predict_top(rows, 1, self._book.column_of, False, n_threads(self.n_jobs))
            labels: npt.NDArray[Any] = self._book.labels[best[:, 0]]
            return labels

    def predict_top_k(self, X: Any, k: int | None = None) -> tuple[npt.NDArray[Any], Floats]:
        """Predict the k most probable classes and their probabilities, without an array of rows × classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows.
        k : int, optional
            From 1 to the number of classes. Default: 5, or all classes if there are fewer.

        Returns
        -------
        labels : ndarray of shape (n, k)
            Best first; if fewer than k classes have a positive probability, others follow with probability 0.
        probabilities : ndarray of shape (n, k)
        """
        with self._reading():
            rows, known = row_batch(plain_rows(self, X)), len(self._book)
            k = min(5, known) if k is None else k
            if not is_integer(k) or not 1 <= k <= known:
                raise ValueError(f"k={k!r} is not allowed. Pass an integer from 1 to the {known} classes.")
            found, shares = self._learner.predict_top(rows, int(k), self._book.column_of, True, n_threads(self.n_jobs))
            return self._book.labels[found], shares

    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of every class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of ``classes_``; with very many classes prefer `predict_top_k`.
        """
        with self._reading():
            rows = row_batch(plain_rows(self, X))
            shares: Floats = self._learner.predict_all(rows, self._book.column_of, n_threads(self.n_jobs))
            return shares

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict log-probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of ``classes_``; minus infinity where the probability is 0.
        """
        with np.errstate(divide="ignore"):
            logarithms: Floats = np.log(self.predict_proba(X))
        return logarithms

    @property
    def n_steps_(self) -> int:
        """Training steps so far, replayed rows included."""
        with self._reading():
            return int(self._learner.n_examples)

    def memory_usage(self) -> dict[str, int]:
        """Return the memory used by the model in bytes, by part and in total.

        Returns
        -------
        dict
            ``scaling``, ``scorers``, ``tree`` (routers and node statistics), ``class_means``, ``replay``, ``total``.
        """
        with self._reading():
            parts: dict[str, int] = self._learner.memory()
        return parts | {"total": sum(parts.values())}

    def save(self, path: str | os.PathLike[str], resume: bool = False) -> Path:
        """Save the model to a file that :func:`boscage.load` can read; it contains data, never code.

        Parameters
        ----------
        path : str or path-like
            The file.
        resume : bool, default=False
            Whether to save the learning state too. A model that is saved in the middle of a stream, loaded and
            continued with `partial_fit` is then identical to one that was never saved.

        Returns
        -------
        Path
            The path.
        """
        with self._reading():
            if resume:
                self._check_resumable()
            state = ModelState(self._learner.state(resume), {"column_of": self._book.column_of.tolist()})
            return save(self, path, state, self._schema)

    def _restore_state(self, state: ModelState) -> None:
        columns = np.asarray(state.meta["column_of"], dtype=np.int32)
        if set(state.meta) != {"column_of"} or sorted(columns.tolist()) != list(range(len(self.classes_))):
            raise ValueError("the state's column_of is not an order of the classes.")
        if len(self.classes_) > 1 and not (self.classes_[1:] > self.classes_[:-1]).all():
            raise ValueError("the classes are not sorted.")
        learner = _core.OnlineLearner.from_state(state.tensors)
        if learner.is_lomtree != self._is_lomtree:
            raise ValueError(f"the state is not that of a {type(self).__name__}.")
        if learner.n_classes != len(columns) or learner.n_features != self.n_features_in_:
            raise ValueError("the state does not fit the classes or the columns.")
        names = getattr(self, "feature_names_in_", None)
        schema = Schema(self.n_features_in_, "float64", None if names is None else tuple(names.tolist()))
        self._own_locks()
        self.__dict__.update(_fitted(learner, LabelBook(self.classes_[columns]), schema))

    def __getstate__(self) -> dict[str, Any]:
        if "_learner" not in self.__dict__:
            return {name: value for name, value in super().__getstate__().items() if name != "_locks"}
        with self._locks.read:
            state: dict[str, Any] = super().__getstate__() | {"_learner": self._learner.state(True)}
        del state["_locks"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_learner" in state:
            state = state | {"_learner": _core.OnlineLearner.from_state(state["_learner"]), "_locks": _Locks()}
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _own_locks(self) -> _Locks:
        """Locks of this object, made at the first use by one of its threads; copies have their own."""
        locks: _Locks = self.__dict__.get("_locks") or self.__dict__.setdefault("_locks", _Locks())
        return locks

    def _reading(self) -> Any:
        if "_learner" not in self.__dict__:
            check_is_fitted(self, "_learner")
        return self._locks.read

    def _check_resumable(self) -> None:
        if not self._learner.can_learn:
            raise ValueError("This model was saved without its learning state. Save it with resume=True to go on.")

    def _batch_weight(self, sample_weight: Any, labels: Any, book: LabelBook) -> Floats | None:
        weight = check_sample_weight(sample_weight, len(labels))
        if self.class_weight is not None:
            named = self.class_weight
            known = {label: named[label] for label in book.labels.tolist() if label in named}
            weight = apply_class_weight(known, labels, book.labels, weight)
        if weight is not None and weight.max() > _MAX_WEIGHT:
            raise ValueError(f"sample_weight holds {weight.max():.3g}. Pass weights up to {_MAX_WEIGHT:.0e}.")
        return weight

    def _learner_for(self, X: Any, random: np.random.RandomState) -> Any:
        centred = self.scaling == "center" or (self.scaling == "auto" and not sparse.issparse(X))
        return self._new_learner(X.shape[1], centred, int(random.randint(2**31 - 1)))


def _fitted(learner: Any, book: LabelBook, schema: Schema | None) -> dict[str, Any]:
    """Attributes of a fitted model, to be set in one step; no schema: the columns stay as they are."""
    found = {"_learner": learner, "_book": book, "classes_": book.classes}
    if schema is not None:
        found |= {"_schema": schema, "n_features_in_": schema.n_features}
        if schema.feature_names is not None:
            found["feature_names_in_"] = np.array(schema.feature_names, dtype=object)
    return found


def _shifted(progress: Progress, offset: int) -> Any:
    callback = progress.callback
    return None if callback is None else lambda done: callback(offset + done)
