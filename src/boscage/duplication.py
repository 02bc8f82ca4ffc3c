"""Weights for learners that take none: rows are copied in proportion to their weight.

`duplicate_dab` and `duplicate_sampled` say how often each row is copied, `duplication_bound` how far the error on the
copies can be from the weighted error, and `DuplicateWeights` wraps any classifier.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d, validate_data

from boscage.base.named_parameters import NamedParameters
from boscage.base.numbers import check_number
from boscage.data.labels import check_all_labelled
from boscage.data.weights import check_sample_weight
from boscage.engine.estimator import ClassCount, of_one_fit

__all__ = ["DuplicateWeights", "duplicate_dab", "duplicate_sampled", "duplication_bound"]

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
_BUDGET = "the copies per row, a finite number > 0"


def duplicate_dab(
    sample_weight: npt.ArrayLike, budget: float, random_state: Any = None, *, exact_total: bool = False
) -> Counts:
    r"""Count copies per row by deterministic and Bernoulli (DaB) duplication.

    With normalised weights ŵ, N rows and S = N·budget, row i is copied ⌊ŵ_i S⌋ times and once more with probability
    ŵ_i S − ⌊ŵ_i S⌋. The mean of every count is ŵ_i S; their sum has mean S and a deviation of at most √N / 2.

    Parameters
    ----------
    sample_weight : array-like of shape (N,)
        Finite, not negative, not all zero.
    budget : float
        Copies per row on average, p > 0.
    random_state : int, RandomState or None, default=None
        Seed of the Bernoulli draws: one uniform number per row, in row order.
    exact_total : bool, default=False
        Draw one uniform number for all rows instead (systematic sampling): the same means, each count still one of
        the two neighbours of ŵ_i S, and a sum of exactly S, rounded.

    Returns
    -------
    ndarray of int64 of shape (N,)

    References
    ----------
    Shar, Lécuyer: Weighted optimal decision trees.

    Examples
    --------
    >>> from boscage import duplicate_dab
    >>> duplicate_dab([1.0, 2.0, 3.0], budget=2, random_state=0)
    array([1, 2, 3])
    """
    wanted = _wanted_copies(sample_weight, budget)
    random = check_random_state(random_state)
    if exact_total:
        total = np.rint(wanted.sum())
        ends = np.cumsum(wanted)
        ends *= total / ends[-1]
        steps = np.floor(ends + random.random_sample() + 1e-12 * np.maximum(1.0, ends)).astype(np.int64)
        steps -= steps[-1] - int(total)
        counts: Counts = np.diff(np.maximum(steps, 0), prepend=0)
        return counts
    # A grain of rounding must not lose a copy: 0.29 · 100 is 29 copies.
    sure = np.floor(wanted + 1e-12 * np.maximum(1.0, wanted))
    chance = np.maximum(0.0, wanted - sure)
    more = random.random_sample(len(wanted)) < chance
    result: Counts = sure.astype(np.int64) + more
    return result


def duplicate_sampled(sample_weight: npt.ArrayLike, budget: float, random_state: Any = None) -> Counts:
    """Count copies per row when N·budget rows are drawn with replacement, by weight.

    Parameters
    ----------
    sample_weight : array-like of shape (N,)
        Finite, not negative, not all zero.
    budget : float
        Draws per row, p > 0; the number of draws is N·p, rounded, at least 1.
    random_state : int, RandomState or None, default=None
        Seed of the draws.

    Returns
    -------
    ndarray of int64 of shape (N,)
        Their sum is the number of draws.

    References
    ----------
    Behrouz, Lécuyer, Rudin, Seltzer: Fast optimization of weighted sparse decision trees, 2022.

    Examples
    --------
    >>> from boscage import duplicate_sampled
    >>> int(duplicate_sampled([1.0, 2.0, 0.0], budget=4, random_state=0).sum())
    12
    """
    wanted = _wanted_copies(sample_weight, budget)
    draws = max(1, round(len(wanted) * float(budget)))
    share = wanted / wanted.sum()
    random = check_random_state(random_state)
    return np.asarray(random.multinomial(draws, share / max(1.0, share.sum())), dtype=np.int64)


def _wanted_copies(sample_weight: npt.ArrayLike, budget: float) -> Floats:
    """ŵ_i · N · p."""
    check_number("budget", budget, _BUDGET, 0, above=True)
    given = np.asarray(sample_weight)
    if given.ndim != 1 or not len(given):
        raise ValueError(f"sample_weight has shape {given.shape}. Pass one weight per row, shape (N,), N >= 1.")
    weights = check_sample_weight(given, len(given))
    assert weights is not None
    weights = weights / weights.max()
    if len(weights) * float(budget) > 2**53:
        raise ValueError(f"budget={budget!r} means more than 2**53 copies of {len(weights)} rows. Pass less.")
    wanted: Floats = weights / weights.sum() * (len(weights) * float(budget))
    return wanted


def duplication_bound(
    n_rows: int, budget: float, delta: float = 0.05, *, method: str = "dab", form: str = "sharp"
) -> float:
    r"""Bound of |error on the copies (divided by N·p) − weighted error| for all 2^N labelings at once.

    With probability 1 − δ, N rows and budget p the paper's bounds are

    .. math:: \frac{1}{p}\sqrt{\frac{\ln 2}{2} + \frac{\ln(2/\delta)}{2N}}\ \text{(DaB)},\qquad
              \frac{1}{\sqrt p}\sqrt{\frac{\ln 2}{2} + \frac{\ln(2/\delta)}{2N}}\ \text{(sampling)}.

    The worst labeling takes all rows whose error has one sign. For DaB this gives
    min{1, ¼ + √(ln(2/δ)/(2N))} / p. For sampling it is half the sum of all deviations, at most 1/(2√p) on average and
    √(ln(1/δ)/(2Np)) above it. The sharp form is the smaller of these and the paper's.

    Parameters
    ----------
    n_rows : int
        N, at least 1.
    budget : float
        Copies per row p > 0.
    delta : float, default=0.05
        Chance that the bound fails, in (0, 1).
    method : {"dab", "sampling"}, default="dab"
        How rows are copied.
    form : {"sharp", "printed"}, default="sharp"
        Which of the two bounds; "paper" is another word for "printed".

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> from boscage import duplication_bound
    >>> round(duplication_bound(1500, 10, form="printed"), 4)
    0.059
    >>> round(duplication_bound(1500, 10), 4)
    0.0285
    """
    check_number("n_rows", n_rows, "an integer >= 1", 1, whole=True)
    check_number("budget", budget, _BUDGET, 0, above=True)
    check_number("delta", delta, "a probability in (0, 1)", 0, math.nextafter(1, 0), above=True)
    _check_method(method)
    if form not in ("printed", "paper", "sharp"):
        raise ValueError(f"form={form!r} is not known. Pass 'sharp' or 'printed'.")
    two_sided = math.log(2 / delta) / (2 * n_rows)
    paper = math.sqrt(math.log(2) / 2 + two_sided) / (budget if method == "dab" else math.sqrt(budget))
    if form != "sharp":
        return paper
    if method == "dab":
        return min(paper, min(1.0, 0.25 + math.sqrt(two_sided)) / budget)
    return min(paper, 0.5 / math.sqrt(budget) + math.sqrt(math.log(1 / delta) / (2 * n_rows * budget)))


def _check_method(method: str) -> None:
    if method not in ("dab", "sampling"):
        raise ValueError(f"method={method!r} is not known. Pass 'dab' or 'sampling'.")


def _exact_copies(weights: Floats, most: float) -> Counts | None:
    """Return counts proportional to the weights without any error, if at most so many copies do; else None."""
    units = weights / weights[weights > 0].min()
    counts = np.rint(units)
    if counts.sum() <= most and (np.abs(units - counts) <= 1e-12 * counts).all():
        whole: Counts = counts.astype(np.int64)
        return whole
    return None


def _take(X: Any, rows: Counts) -> Any:
    """Rows of X, in slices where it is an array: one long copy could not be interrupted."""
    if type(X) is not np.ndarray:
        return _safe_indexing(X, rows)
    taken = np.empty((len(rows), *X.shape[1:]), X.dtype)
    step = max(1, 10**6 // max(1, math.prod(X.shape[1:])))
    for start in range(0, len(rows), step):
        taken[start : start + step] = X[rows[start : start + step]]
    return taken


def _has(name: str) -> Any:
    def check(self: DuplicateWeights) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return available_if(check)


class DuplicateWeights(NamedParameters, ClassCount, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Add ``sample_weight`` to any classifier by fitting it on rows copied in proportion to their weight.

    Parameters
    ----------
    estimator : classifier
        Cloned and fitted on the copies; it never sees the weights.
    method : {"dab", "sampling"}, default="dab"
        :func:`duplicate_dab` or :func:`duplicate_sampled`. Weights that are whole multiples of the smallest one are
        copied exactly where the budget allows, whatever the method.
    budget : float, default=10
        Copies per row on average, p > 0. Memory and time of the wrapped fit grow with it.
    random_state : int, RandomState or None, default=None
        Seed of the copies.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (K,)
        All classes of y, including those of rows that were not copied.
    counts_ : ndarray of int64 of shape (n,)
        Copies of each row (1 for every row when fitted without weights).
    n_features_in_, feature_names_in_
        Number and names of the columns seen in ``fit``.

    Notes
    -----
    See :ref:`duplicate-weights` for the method, :doc:`/weights` for weights and :ref:`random-state` for the seed.
    Categories, missing values, threads and interruption depend on the wrapped classifier.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from boscage import DuplicateWeights
    >>> model = DuplicateWeights(KNeighborsClassifier(n_neighbors=3), budget=4)
    >>> model.fit([[0], [1], [2]], [0, 0, 1], sample_weight=[1, 1, 4]).predict([[1.4]])
    array([1])
    """

    def __init__(self, estimator: Any, method: str = "dab", budget: float = 10, random_state: Any = None) -> None:
        self.estimator = estimator
        self.method = method
        self.budget = budget
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> DuplicateWeights:
        """Copy the rows and fit the classifier on them.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Rows, of any kind the classifier takes.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; without them no row is copied.
        **fit_params
            Routed to the classifier's ``fit``; those with one entry per row are copied like the rows.

        Returns
        -------
        self
        """
        _check_method(self.method)
        check_number("budget", self.budget, _BUDGET, 0, above=True)
        if y is None:
            raise ValueError(
                "y=None is not allowed: DuplicateWeights requires y to be passed, but the target y is None."
            )
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
        if y.dtype == object:
            check_all_labelled(y)
        check_classification_targets(y)
        check_consistent_length(X, y)
        n = len(y)
        weights = check_sample_weight(sample_weight, n)
        counts = np.ones(n, np.int64) if weights is None else self._copies(weights)
        if not counts.any():
            raise ValueError(f"budget={self.budget!r} left no copy of any of the {n} rows. Pass a larger budget.")
        if get_config()["enable_metadata_routing"]:  # our own sample_weight stays here
            fit_params = process_routing(self, "fit", **fit_params).estimator.fit
        rows = np.repeat(np.arange(n), counts)
        params = {name: _copied(value, rows, n) for name, value in fit_params.items()}
        fitted = self._seeded(clone(self.estimator)).fit(_take(_indexable(X), rows), y[rows], **params)
        fresh = copy.copy(self)
        validate_data(fresh, X, skip_check_array=True)
        fresh.estimator_, fresh.classes_, fresh.counts_ = fitted, np.unique(y), counts
        self.__dict__ = fresh.__dict__  # in one step: a reader in another thread sees one fit or the next
        return self

    def _seeded(self, estimator: Any) -> Any:
        """Hand our seed on to a classifier that has none of its own."""
        if self.random_state is not None:
            random = check_random_state(self.random_state)
            for name, value in sorted(estimator.get_params(deep=True).items()):
                if (name == "random_state" or name.endswith("__random_state")) and value is None:
                    estimator.set_params(**{name: random.randint(np.iinfo(np.int32).max)})
        return estimator

    def _copies(self, weights: Floats) -> Counts:
        wanted = _wanted_copies(weights, self.budget)
        exact = _exact_copies(weights, max(wanted.sum() * (1 + 1e-12), np.count_nonzero(weights)))
        if exact is not None:
            return exact
        duplicate = duplicate_dab if self.method == "dab" else duplicate_sampled
        return duplicate(weights, self.budget, self.random_state)

    @of_one_fit
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict classes with the fitted classifier.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Rows, of any kind the classifier takes.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self, "estimator_")
        labels: npt.NDArray[Any] = self.estimator_.predict(self._seen(X))
        return labels

    @_has("predict_proba")  # type: ignore[untyped-decorator]
    @of_one_fit
    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities with the fitted classifier.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Rows, of any kind the classifier takes.

        Returns
        -------
        ndarray of shape (n, K)
            In the order of ``classes_``; 0 for classes of rows that were not copied.
        """
        check_is_fitted(self, "estimator_")
        given = self.estimator_.predict_proba(self._seen(X))
        out = np.zeros((len(given), len(self.classes_)), dtype=given.dtype)
        out[:, np.searchsorted(self.classes_, self.estimator_.classes_)] = given
        return out

    @_has("decision_function")  # type: ignore[untyped-decorator]
    @of_one_fit
    def decision_function(self, X: Any) -> Floats:
        """Return the decision function of the fitted classifier.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Rows, of any kind the classifier takes.

        Returns
        -------
        ndarray of shape (n,) or (n, K)
            As the classifier returns it.
        """
        check_is_fitted(self, "estimator_")
        scores: Floats = self.estimator_.decision_function(self._seen(X))
        return scores

    def _seen(self, X: Any) -> Any:
        if getattr(X, "ndim", 2) == 1:
            return X  # the classifier knows what to say
        validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def get_metadata_routing(self) -> MetadataRouter:
        """Route what ``fit`` gets: ``sample_weight`` stays here, the rest goes to the classifier."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router: MetadataRouter = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        """Take what the wrapped classifier takes."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
            tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        return tags


def _indexable(X: Any) -> Any:
    """X itself, or a form of it whose rows can be picked."""
    if sparse.issparse(X):
        return X.tocsr()
    return np.asarray(X) if hasattr(X, "__array__") and not hasattr(X, "columns") else X


def _copied(value: Any, rows: npt.NDArray[np.intp], n: int) -> Any:
    has_rows = hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict)) and len(value) == n
    return _safe_indexing(value, rows) if has_rows else value
