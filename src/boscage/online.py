"""Very many classes, learned online: `LOMTreeClassifier`."""

from __future__ import annotations

import os
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
from boscage._callbacks import CallbackSupport, FitTask, fit_task, with_callbacks
from boscage._online_checks import check_options, check_rows_match, is_integer, row_batch
from boscage._online_labels import LabelBook, enter
from boscage._progress import Progress
from boscage._threads import n_threads
from boscage._validation import fit_data, plain_rows
from boscage._weights import apply_class_weight, check_sample_weight
from boscage.files import ModelState, save, saveable
from boscage.tree import Floats, Schema

_RATES = {"beam": 2.0, "lomtree": 0.5}
# While more than a share of the classes is overdue, scores get a head start, a factor of the logarithm of a class's
# present share. Share and factor of centred and of unit rows, chosen on validation rows by benchmarks/tune_online.py.
_FLOOD = {True: (0.75, 0.5), False: (0.5, 1.0)}
_CONSTANTS = _core.OnlineConstants()  # tune_online.py tries others
_MAX_WEIGHT = 1e9  # beyond it, sums in single precision lose their meaning


@saveable
class LOMTreeClassifier(CallbackSupport, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Classifier for very many classes that learns online, row by row, in time that grows like log K.

    The default mode scores candidate classes :math:`c \in C(x)` by linear functions and predicts
    :math:`\Pr(c \mid x) = e^{w_c \cdot x} / \sum_{c' \in C(x)} e^{w_{c'} \cdot x}`. Up to ``flat_below`` classes
    :math:`C(x)` is all of them; beyond, a balanced binary tree over the classes, built from class means and with
    trained linear routers, proposes the classes of its ``beam_width`` most probable leaves. Scorers take AdaGrad
    steps, and prediction uses their average over time, late times counting more.

    ``mode="lomtree"`` is the published log-time tree: every router h is trained online towards a large
    :math:`J(h) = 2 \sum_k \pi_k |\Pr(h > 0) - \Pr(h > 0 \mid k)|`, leaves turn into nodes while routers are free and
    later by swaps, and prediction walks a single path. It is faster and far less accurate.

    Inputs are scaled while they stream by. New classes may appear at any time.

    Parameters
    ----------
    mode : {"beam", "lomtree"}, default="beam"
        The learner, see above.
    n_passes : int, default=5
        Passes of `fit` over the shuffled rows, at least 1.
    learning_rate : float or None, default=None
        Size of the steps, > 0. None means 2 in mode "beam" and 0.5 in mode "lomtree".
    scaling : {"auto", "center", "unit"}, default="auto"
        "center" subtracts the running mean of each column and divides by its largest deviation; "unit" divides by the
        fourth root of the column's mean square and brings rows to length 1, so zeros stay zeros and weights take
        memory only where features occur. "auto" is "unit" if the first rows are sparse, else "center".
    flat_below : int, default=160
        Mode "beam": number of classes up to which every class is scored, at least 0.
    beam_width : int, default=40
        Mode "beam": leaves of the class tree, of up to four classes each, whose classes are scored. At least 1.
    n_trees : int, default=1
        Mode "beam": class trees whose candidates are united, 1 to 1000; time and memory of routers grow
        with them. Two trees of half the width find more.
    replay_size : int, default=8
        Mode "beam": rows kept of each class. `partial_fit` replays them while the stream leaves the class out, so
        that a stream sorted by class is not forgotten. 0 keeps none.
    max_internal_nodes : int or None, default=None
        Mode "lomtree": routers, at least 1. None means four per class known.
    swap_resistance : float, default=4.0
        Mode "lomtree": how much heavier than the lightest leaf a leaf must be to take over its place, at least 0.
    max_class_records : int, default=1024
        Mode "lomtree": classes remembered in each node, at least 2; a rare one makes room (the rarest of 32).
    class_weight : dict, "balanced" or None, default=None
        Factors of the classes; those a dict does not name count 1. "balanced" needs `fit`.
    random_state : int, RandomState or None, default=None
        Decides shuffling, the start of the class trees and replay.
    n_jobs : int or None, default=None
        Threads for prediction; the result does not depend on it.
    verbose : bool or None, default=None
        Progress: None shows a bar on a terminal after two seconds, True always, False never.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels met or declared, sorted.
    n_features_in_ : int
        Columns.
    feature_names_in_ : ndarray of str
        Only if X had names.
    n_steps_ : int
        Training steps so far, replayed rows included.

    Notes
    -----
    `fit` merges equal rows with equal labels, orders rows by content and shuffles them by the seed; a row of weight 2
    is the same as the row twice. `partial_fit` takes rows as they come; how a stream is cut into batches does not
    change the model. Weights are single precision.

    References
    ----------
    A. Choromanska and J. Langford, "Logarithmic time online multiclass prediction", NIPS 2015.

    Examples
    --------
    >>> from boscage import LOMTreeClassifier
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LOMTreeClassifier(random_state=0).fit(X[:1200], y[:1200])
    >>> model.score(X[1200:], y[1200:]) > 0.9
    True
    >>> labels, shares = model.predict_top_k(X[1200:1201], k=2)
    >>> labels.shape, bool(shares[0, 0] > shares[0, 1])
    ((1, 2), True)
    """

    _all_state = True  # for model files: there is no tree_
    _learner: Any
    _book: LabelBook
    classes_: npt.NDArray[Any]
    n_features_in_: int

    def __init__(
        self,
        mode: str = "beam",
        *,
        n_passes: int = 5,
        learning_rate: float | None = None,
        scaling: str = "auto",
        flat_below: int = 160,
        beam_width: int = 40,
        n_trees: int = 1,
        replay_size: int = 8,
        max_internal_nodes: int | None = None,
        swap_resistance: float = 4.0,
        max_class_records: int = 1024,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.mode = mode
        self.n_passes = n_passes
        self.learning_rate = learning_rate
        self.scaling = scaling
        self.flat_below = flat_below
        self.beam_width = beam_width
        self.n_trees = n_trees
        self.replay_size = replay_size
        self.max_internal_nodes = max_internal_nodes
        self.swap_resistance = swap_resistance
        self.max_class_records = max_class_records
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        kinds, weight = _core.distinct_rows(rows, data.y, data.weight)
        by_row = np.zeros(data.X.shape[0])
        by_row[kinds] = weight / weight.mean()  # weights are relative: their scale must not change the steps
        random = check_random_state(self.random_state)
        learner = self._new_learner(data.X, int(random.randint(2**31 - 1)))
        n_classes = len(data.classes)
        total = self.n_passes * len(kinds)
        with Progress("learning online: rows", self.verbose, total) as progress:
            for number in range(self.n_passes):
                order = kinds[random.permutation(len(kinds))]
                report = _shifted(progress, number * len(kinds))
                arguments = (rows, data.y, by_row, order, n_classes, False, number == 0, report)
                if task.step("pass over the rows", partial(learner.learn, *arguments)):
                    break
        self._set_fitted(learner, LabelBook(data.classes), data.schema)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows of a batch in their order, going on from what was learned before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Finite numbers.
        y : array-like of shape (n,)
            Labels; new ones may appear at any time.
        classes : array-like, optional
            Labels to expect. They appear in ``classes_`` at once, and y may hold no others than these.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0, multiplying the steps and the statistics. Weight 0 leaves the row out.

        Returns
        -------
        self
        """
        check_options(self)
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all the data and does not go with partial_fit. "
                "Pass a dict of weights, or sample_weight."
            )
        fitted = hasattr(self, "_learner")
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
        if fitted:
            learner = self._learner
        else:
            learner = self._new_learner(matrix, int(check_random_state(self.random_state).randint(2**31 - 1)))
        with Progress("learning online: rows", self.verbose, matrix.shape[0]) as progress:
            learner.learn(rows, labels, weight, None, len(book), True, True, progress.callback)
        self._set_fitted(learner, book, schema)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the most probable class, the first of them on ties.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        rows = self._rows(X)
        best = self._learner.predict_top(rows, 1, self._book.column_of, False, n_threads(self.n_jobs))
        return self._labels(best[:, 0])

    def predict_top_k(self, X: Any, k: int | None = None) -> tuple[npt.NDArray[Any], Floats]:
        """Predict the k most probable classes and their probabilities, never forming n × K numbers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows.
        k : int, optional
            From 1 to the number of classes. Default: 5, or all classes where there are fewer.

        Returns
        -------
        labels : ndarray of shape (n, k)
            Best first; where fewer classes are candidates, others follow with probability 0.
        probabilities : ndarray of shape (n, k)
            Softmax over the candidates; in mode "lomtree" the class shares of the leaf.
        """
        rows = self._rows(X)
        k = min(5, len(self._book)) if k is None else k
        if not is_integer(k) or not 1 <= k <= len(self._book):
            raise ValueError(f"k={k!r} is not allowed. Pass an integer from 1 to the {len(self._book)} classes.")
        found, shares = self._learner.predict_top(rows, int(k), self._book.column_of, True, n_threads(self.n_jobs))
        return self._labels(found), shares

    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of every class; classes that are no candidates get 0.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of ``classes_``; with very many classes prefer `predict_top_k`.
        """
        rows = self._rows(X)
        shares: Floats = self._learner.predict_all(rows, self._book.column_of, n_threads(self.n_jobs))
        return shares

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict logarithms of class probabilities."""
        with np.errstate(divide="ignore"):
            logarithms: Floats = np.log(self.predict_proba(X))
        return logarithms

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf each row ends in; only in mode "lomtree", where a row has one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            Node numbers; they may change when learning goes on.
        """
        rows = self._rows(X)
        if not self._learner.lomtree:
            raise ValueError("apply needs mode='lomtree': in mode 'beam' a row has candidates, not a leaf.")
        leaves: npt.NDArray[np.int32] = self._learner.leaves(rows, n_threads(self.n_jobs))
        return leaves

    @property
    def n_steps_(self) -> int:
        """Training steps so far, replayed rows included."""
        check_is_fitted(self, "_learner")
        return int(self._learner.n_examples)

    def memory_usage(self) -> dict[str, int]:
        """Return the bytes the learner holds, by part and in total.

        Returns
        -------
        dict
            ``scaling``, ``scorers``, ``tree`` (routers and node statistics), ``class_means``, ``replay``, ``total``.
        """
        check_is_fitted(self, "_learner")
        parts: dict[str, int] = self._learner.memory()
        return parts | {"total": sum(parts.values())}

    def save(self, path: str | os.PathLike[str], resume: bool = False) -> Path:
        """Write the model to a file that :func:`boscage.load` reads: data, never code.

        Parameters
        ----------
        path : str or path-like
            The file.
        resume : bool, default=False
            Also write what is needed to go on learning. A model saved in mid-stream, loaded and continued with
            `partial_fit` is equal to one never saved.

        Returns
        -------
        Path
            The path.
        """
        check_is_fitted(self, "_learner")
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
        if learner.n_classes != len(columns) or learner.n_features != self.n_features_in_:
            raise ValueError("the state does not fit the classes or the columns.")
        names = getattr(self, "feature_names_in_", None)
        self._set_fitted(
            learner,
            LabelBook(self.classes_[columns]),
            Schema(self.n_features_in_, "float64", None if names is None else tuple(names.tolist())),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _set_fitted(self, learner: Any, book: LabelBook, schema: Schema | None) -> None:
        self._learner = learner
        self._book = book
        self.classes_ = book.classes
        if schema is None:
            return
        self._schema = schema
        self.n_features_in_ = schema.n_features
        if schema.feature_names is not None:
            self.feature_names_in_ = np.array(schema.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self, "_learner")
        return row_batch(plain_rows(self, X))

    def _labels(self, found: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
        labels: npt.NDArray[Any] = self._book.labels[found]
        return labels

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

    def _new_learner(self, X: Any, seed: int) -> Any:
        centred = self.scaling == "center" or (self.scaling == "auto" and not sparse.issparse(X))
        return _core.OnlineLearner(
            features=X.shape[1],
            lomtree=self.mode == "lomtree",
            centred=centred,
            seed=seed,
            learning_rate=float(_RATES[self.mode] if self.learning_rate is None else self.learning_rate),
            flat_below=int(self.flat_below),
            beam=int(self.beam_width),
            trees=int(self.n_trees),
            max_internal_nodes=0 if self.max_internal_nodes is None else int(self.max_internal_nodes),
            swap_resistance=float(self.swap_resistance),
            max_records=int(self.max_class_records),
            replay=0 if self.mode == "lomtree" else int(self.replay_size),
            flood_above=_FLOOD[centred][0],
            head_start=_FLOOD[centred][1],
            constants=_CONSTANTS,
        )


def _shifted(progress: Progress, offset: int) -> Any:
    callback = progress.callback
    return None if callback is None else lambda done: callback(offset + done)
