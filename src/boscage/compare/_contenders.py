"""Who takes part in a comparison: every tree that exists here, scikit-learn's models, and the peers that are installed.

A contender that cannot run on a task is given too, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

from scipy.sparse import issparse

from boscage.compare._peers import PeerModel
from boscage.compare._prepare import preparation, preparation_words
from boscage.compare._types import Contender, Provider, Settings, Task

_NO_SPARSE = "takes no sparse rows"
_NO_NUMBERS = "for classification only"


def _prepared(
    family: str,
    criterion: str,
    task: Task,
    model: Callable[[], Any],
    *,
    fill: bool = False,
    scale: bool = False,
    is_part: bool = False,
    unavailable: str = "",
) -> Contender:
    """Return a contender that sees one-hot coded categories, and filled or scaled numbers if need be."""
    from sklearn.pipeline import make_pipeline

    def make() -> Any:
        steps = preparation(task, fill=fill, scale=scale)
        return make_pipeline(*steps, model()) if steps else model()

    words = preparation_words(task, fill=fill, scale=scale)
    return Contender(family, criterion, make, is_part, words, unavailable)


def top_down_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """Every registered split family with each criterion, on the columns as ``fit`` takes them.

    For a family that takes no categories or missing values they are one-hot encoded and imputed.
    """
    import boscage
    from boscage.base.component import IncompatibleParts, check_compatible, data_fact, names, resolve

    target = "numbers" if task.is_regression else "classes"
    cls = boscage.TopDownTreeRegressor if task.is_regression else boscage.TopDownTreeClassifier
    facts = data_fact(1 if task.is_regression else task.n_classes, target=target)
    limits = settings.limits | {"n_jobs": settings.n_jobs, "random_state": settings.seed, "verbose": False}
    for family in names("splits", target):
        splits: Any = resolve("splits", family, target)

        def why_not(criterion: str, splits: Any = splits) -> str:
            part: Any = resolve("criterion", criterion, target)
            try:
                check_compatible(splits=splits, criterion=part, data=facts)
                if task.is_regression:
                    part.check_target(task.y)
            except (IncompatibleParts, ValueError) as error:
                return _need(error)
            return _NO_SPARSE if issparse(task.X) and not splits.allows_sparse else ""

        reasons = {criterion: why_not(criterion) for criterion in names("criterion", target)}
        if all(reasons.values()):  # the family cannot run at all: one line is enough
            yield Contender(family, "", partial(cls, family), True, unavailable=next(iter(reasons.values())))
            continue
        for criterion, reason in reasons.items():
            parts = {"splits": family, "criterion": criterion} | limits
            if splits.allows_categories:
                categorical = list(task.categorical_features) or None
                make = partial(cls, **parts, categorical_features=categorical)
                yield Contender(family, criterion, make, True, unavailable=reason)
            else:
                fill = not splits.allows_missing
                yield _prepared(
                    family, criterion, task, partial(cls, **parts), fill=fill, is_part=True, unavailable=reason
                )


def _need(error: Exception) -> str:
    """Return what a message says is needed, without names and remedies: the same text for all who need it."""
    said = str(error)
    _, found, rest = said.partition(" it needs ")
    return f"needs {rest.split('. ')[0].removesuffix('.')}" if found else said


def tuned_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """Give the small trees that fit themselves to the data: pruned by validation, or with linear leaves."""
    from boscage import TopDownTreeClassifier, TopDownTreeRegressor, WeightedOblique

    options: dict[str, Any] = settings.limits | {"n_jobs": settings.n_jobs, "random_state": settings.seed}
    options |= {"categorical_features": list(task.categorical_features) or None, "verbose": False}
    if task.is_regression:
        yield Contender("linear leaves", "squared_error", partial(TopDownTreeRegressor, leaf="linear", **options))
    else:
        pruned = WeightedOblique(prune_bits="auto")
        yield Contender("oblique pruned", "gini", partial(TopDownTreeClassifier, pruned, **options))


def forest_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """Give the forest with its defaults; limits of depth and leaves hold for single trees alone."""
    from boscage import ForestClassifier, ForestRegressor

    cls: Any = ForestRegressor if task.is_regression else ForestClassifier
    categorical = list(task.categorical_features) or None
    options: dict[str, Any] = {"n_jobs": settings.n_jobs, "random_state": settings.seed, "verbose": False}
    yield Contender("forest", "", partial(cls, **options, categorical_features=categorical))


def optimal_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """Give the proven optimal tree of depth 3 (or less).

    A search that meets its time limit keeps its best tree and says so in a warning.
    """
    from boscage import OptimalTreeClassifier

    depth = min(settings.max_depth or 3, 3)
    model = partial(OptimalTreeClassifier, max_depth=depth, time_limit=30, n_jobs=settings.n_jobs, verbose=False)
    reason = _NO_NUMBERS if task.is_regression else _NO_SPARSE if issparse(task.X) else ""
    yield _prepared("optimal", f"depth {depth}", task, model, fill=True, unavailable=reason)


def online_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """Give the online classifier, on imputed, scaled and one-hot encoded columns."""
    from boscage import OnlineTreeClassifier

    model = partial(OnlineTreeClassifier, random_state=settings.seed, n_jobs=settings.n_jobs)
    kind = "class tree" if task.n_classes > OnlineTreeClassifier().flat_below else "linear"
    reason = _NO_NUMBERS if task.is_regression else ""
    yield _prepared("online", kind, task, model, fill=True, scale=True, unavailable=reason)


def scikit_learn_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """scikit-learn's tree, linear model, random forest and gradient boosting.

    Limits of depth and leaves hold for the tree alone: an ensemble has its own defaults.
    """
    from sklearn import ensemble, linear_model, tree

    kind = "Regressor" if task.is_regression else "Classifier"
    seed, jobs = {"random_state": settings.seed}, {"n_jobs": settings.n_jobs}
    for criterion in ("squared_error",) if task.is_regression else ("gini", "entropy"):
        single = getattr(tree, f"DecisionTree{kind}")
        model = partial(single, criterion=criterion, **seed, **settings.limits)
        yield _prepared("sklearn tree", criterion, task, model)
    if task.is_regression:
        yield _prepared("sklearn ridge", "", task, linear_model.RidgeCV, fill=True, scale=True)
    else:
        logistic = partial(linear_model.LogisticRegression, max_iter=1000)
        yield _prepared("sklearn logistic", "", task, logistic, fill=True, scale=True)
    yield _prepared("sklearn forest", "", task, partial(getattr(ensemble, f"RandomForest{kind}"), **seed, **jobs))
    boosting = partial(
        getattr(ensemble, f"HistGradientBoosting{kind}"),
        categorical_features=list(task.categorical_features) or None,
        **seed,
    )
    yield Contender("sklearn boosting", "", boosting, unavailable=_NO_SPARSE if issparse(task.X) else "")


def peer_contenders(task: Task, settings: Settings) -> Iterator[Contender]:
    """Give the models of other packages that are installed; the others are listed as not installed."""
    depth = min(settings.max_depth or 3, 3)
    seed, jobs = {"random_state": settings.seed}, {"n_jobs": settings.n_jobs or 1}
    limits = {"max_depth": -1 if settings.max_depth is None else settings.max_depth} | seed
    limits |= {"min_samples_leaf": settings.min_samples_leaf}
    kind = "Regressor" if task.is_regression else "Classifier"
    # Family, criterion, package, class, options; whether it needs complete, dense rows.
    listed: list[tuple[str, str, str, str, dict[str, Any], bool]] = [
        ("obliquetree", "", "obliquetree", kind, {"use_oblique": True} | limits, True),
        ("contree", f"depth {depth}", "pycontree", "ConTree", {"max_depth": depth, "time_limit": 30}, True),
        ("lightgbm", "", "lightgbm", f"LGBM{kind}", {"verbose": -1} | seed | jobs, False),
        ("xgboost", "", "xgboost", f"XGB{kind}", seed | jobs, False),
    ]
    for family, criterion, package, name, options, is_plain in listed:
        reason = _NO_SPARSE if is_plain and issparse(task.X) else ""
        if package == "pycontree" and task.is_regression:
            reason = _NO_NUMBERS
        if find_spec(package) is None:
            reason = f"not installed: pip install {package}"
        model = partial(PeerModel, package, name, options)
        yield _prepared(family, criterion, task, model, fill=is_plain, unavailable=reason)


PROVIDERS: list[Provider] = [
    top_down_contenders,
    tuned_contenders,
    forest_contenders,
    online_contenders,
    optimal_contenders,
    scikit_learn_contenders,
    peer_contenders,
]
"""Where contenders come from, in the order they are run."""


def contenders(task: Task, settings: Settings) -> list[Contender]:
    """Return all contenders for a task; for those that cannot run on it, ``unavailable`` gives the reason.

    Parameters
    ----------
    task : Task
        The data.
    settings : Settings
        Limits, seed and threads of the models.

    Returns
    -------
    list of Contender
    """
    return [contender for provider in PROVIDERS for contender in provider(task, settings)]
