"""Classifiers for very many classes that learn online: `OnlineTreeClassifier` and `LOMTreeClassifier`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from boscage import _core
from boscage.base.threads import n_threads
from boscage.data.validation import plain_rows
from boscage.files import saveable
from boscage.online._base import OnlineClassifier
from boscage.online._checks import row_batch

__all__ = ["LOMTreeClassifier", "OnlineTreeClassifier"]

# While more than a share of the classes is overdue, scores get a head start, a factor of the logarithm of a class's
# present share. Share and factor of centred and of unit rows, chosen on validation rows by benchmarks/tune_online.py.
_FLOOD = {True: (0.75, 0.5), False: (0.5, 1.0)}
_CONSTANTS = _core.OnlineConstants()  # tune_online.py tries others


@saveable
class OnlineTreeClassifier(OnlineClassifier):
    r"""Online linear classifier for very many classes, with a tree that proposes candidate classes.

    Every class has a linear scorer. Candidate classes :math:`C(x)` compete in a softmax,
    :math:`\Pr(c \mid x) = e^{w_c \cdot x} / \sum_{c' \in C(x)} e^{w_{c'} \cdot x}`.

    While there are at most ``flat_below`` classes, all of them are candidates: the model is a flat softmax regression,
    without a tree. Beyond that, a balanced binary tree over the classes, built from the class means and with trained
    linear routers, proposes the classes of its ``beam_width`` most probable leaves, so that the time per row grows with
    log K.

    Scorers take AdaGrad steps. Prediction uses their average over time, in which later times count more. Columns are
    scaled on the fly. New classes may appear at any time.

    Parameters
    ----------
    n_passes : int, default=5
        Passes of `fit` over the shuffled rows, at least 1.
    learning_rate : float, default=2.0
        Step size, > 0.
    scaling : {"auto", "center", "unit"}, default="auto"
        "center" subtracts the running mean of each column and divides by its largest deviation. "unit" divides by the
        fourth root of the column's mean square and scales rows to length 1, so zeros stay zeros and weights take
        memory only where features occur. "auto" is "unit" if the first rows are sparse, else "center".
    flat_below : int, default=160
        Number of classes up to which every class is scored and there is no tree, at least 0.
    beam_width : int, default=40
        Leaves of the class tree, of up to four classes each, whose classes are scored. At least 1.
    n_trees : int, default=1
        Number of class trees whose candidates are combined, 1 to 1000. Time and memory of the routers grow with them.
        Two trees of half the width find more of the right classes than one.
    replay_size : int, default=8
        Number of rows to keep of each class. `partial_fit` replays them while the class is absent from the stream, so
        that classes are not forgotten when a stream is sorted by class. 0 disables replay.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class; classes that a dict does not name have weight 1. "balanced" needs `fit`.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling, of the initial class trees and of replay.
    n_jobs : int or None, default=None
        Number of threads for prediction: None means 1, -1 means all cores. The result does not depend on it.
    verbose : bool or None, default=None
        Whether to show a progress bar: None shows it on a terminal if the fit takes longer than two seconds, True
        always, False never.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels seen or declared, sorted.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (d,)
        Column names of the first rows, if all of them are strings.
    n_steps_ : int
        Training steps so far, replayed rows included.

    See Also
    --------
    LOMTreeClassifier : The published log-time tree.

    Notes
    -----
    `fit` merges equal rows with equal labels, orders rows by content and shuffles them by the seed; a row of weight 2
    is the same as the row twice. `partial_fit` takes rows in the given order; how a stream is split into batches does
    not change the model. The weights of the model are float32.

    X must be numeric, without missing values: see :doc:`/categories`. See :doc:`/weights` for sample and class weights,
    and :doc:`/running` for the random state and interruption. Several threads may use one object: see :ref:`threads`.

    Examples
    --------
    >>> from boscage import OnlineTreeClassifier
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = OnlineTreeClassifier(random_state=0).fit(X[:1200], y[:1200])
    >>> model.score(X[1200:], y[1200:]) > 0.9
    True
    >>> labels, shares = model.predict_top_k(X[1200:1201], k=2)
    >>> labels.shape, bool(shares[0, 0] > shares[0, 1])
    ((1, 2), True)
    """

    _is_lomtree = False

    def __init__(
        self,
        *,
        n_passes: int = 5,
        learning_rate: float = 2.0,
        scaling: str = "auto",
        flat_below: int = 160,
        beam_width: int = 40,
        n_trees: int = 1,
        replay_size: int = 8,
        class_weight: str | Mapping[Any, float] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_passes = n_passes
        self.learning_rate = learning_rate
        self.scaling = scaling
        self.flat_below = flat_below
        self.beam_width = beam_width
        self.n_trees = n_trees
        self.replay_size = replay_size
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _new_learner(self, n_features: int, centred: bool, seed: int) -> Any:
        return _core.OnlineLearner.online_tree(
            features=n_features,
            centred=centred,
            seed=seed,
            learning_rate=float(self.learning_rate),
            flat_below=int(self.flat_below),
            beam=int(self.beam_width),
            trees=int(self.n_trees),
            replay=int(self.replay_size),
            flood_above=_FLOOD[centred][0],
            head_start=_FLOOD[centred][1],
            constants=_CONSTANTS,
        )


@saveable
class LOMTreeClassifier(OnlineClassifier):
    r"""LOMtree, the published logarithmic-time online tree for very many classes.

    Every router h is trained online to maximise :math:`J(h) = 2 \sum_k \pi_k |\Pr(h > 0) - \Pr(h > 0 \mid k)|`, so that
    it halves the rows and keeps classes together. A leaf with two classes becomes a node while routers are free, and
    later takes the router of the lightest leaf's parent (a swap). Prediction follows a single path to a leaf and
    returns the leaf's most frequent class. It is faster than :class:`OnlineTreeClassifier` and far less accurate.

    Columns are scaled on the fly. New classes may appear at any time.

    Parameters
    ----------
    n_passes : int, default=5
        Passes of `fit` over the shuffled rows, at least 1.
    learning_rate : float, default=0.5
        Step size, > 0.
    scaling : {"auto", "center", "unit"}, default="auto"
        "center" subtracts the running mean of each column and divides by its largest deviation. "unit" divides by the
        fourth root of the column's mean square and scales rows to length 1, so zeros stay zeros and weights take
        memory only where features occur. "auto" is "unit" if the first rows are sparse, else "center".
    max_internal_nodes : int or None, default=None
        Maximum number of routers, at least 1. None means four for each known class.
    swap_resistance : float, default=4.0
        How much heavier than the lightest leaf a leaf must be to replace it, at least 0.
    max_class_records : int, default=1024
        Maximum number of classes recorded in each node, at least 2. Beyond that, a new class replaces a rare one (the
        rarest of 32).
    class_weight : dict, "balanced" or None, default=None
        Weight of each class; classes that a dict does not name have weight 1. "balanced" needs `fit`.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling in `fit`.
    n_jobs : int or None, default=None
        Number of threads for prediction: None means 1, -1 means all cores. The result does not depend on it.
    verbose : bool or None, default=None
        Whether to show a progress bar: None shows it on a terminal if the fit takes longer than two seconds, True
        always, False never.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels seen or declared, sorted.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (d,)
        Column names of the first rows, if all of them are strings.
    n_steps_ : int
        Training steps so far.

    See Also
    --------
    OnlineTreeClassifier : More accurate, with linear scorers for the classes.

    Notes
    -----
    `fit` merges equal rows with equal labels, orders rows by content and shuffles them by the seed; a row of weight 2
    is the same as the row twice. `partial_fit` takes rows in the given order; how a stream is split into batches does
    not change the model. The weights of the model are float32.

    X must be numeric, without missing values: see :doc:`/categories`. See :doc:`/weights` for sample and class weights,
    and :doc:`/running` for the random state and interruption. Several threads may use one object: see :ref:`threads`.

    References
    ----------
    Choromanska, Langford: Logarithmic time online multiclass prediction, NIPS 2015.

    Examples
    --------
    >>> from boscage import LOMTreeClassifier
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LOMTreeClassifier(random_state=0).fit(X[:1200], y[:1200])
    >>> model.score(X[1200:], y[1200:]) > 0.7
    True
    >>> model.apply(X[1200:]).shape
    (597,)
    """

    _is_lomtree = True

    def __init__(
        self,
        *,
        n_passes: int = 5,
        learning_rate: float = 0.5,
        scaling: str = "auto",
        max_internal_nodes: int | None = None,
        swap_resistance: float = 4.0,
        max_class_records: int = 1024,
        class_weight: str | Mapping[Any, float] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_passes = n_passes
        self.learning_rate = learning_rate
        self.scaling = scaling
        self.max_internal_nodes = max_internal_nodes
        self.swap_resistance = swap_resistance
        self.max_class_records = max_class_records
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf that each row ends up in.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            Node numbers; they may change as learning continues.
        """
        with self._reading():
            return self._leaves(X)

    def _leaves(self, X: Any) -> npt.NDArray[np.int32]:
        leaves: npt.NDArray[np.int32] = self._learner.leaves(row_batch(plain_rows(self, X)), n_threads(self.n_jobs))
        return leaves

    def _new_learner(self, n_features: int, centred: bool, seed: int) -> Any:
        return _core.OnlineLearner.lomtree(
            features=n_features,
            centred=centred,
            seed=seed,
            learning_rate=float(self.learning_rate),
            max_internal_nodes=0 if self.max_internal_nodes is None else int(self.max_internal_nodes),
            swap_resistance=float(self.swap_resistance),
            max_records=int(self.max_class_records),
        )
