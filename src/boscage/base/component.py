"""The parts of a tree learner: value objects, their names, and which of them go together.

Every part (criterion, split family, growth order, leaf) is a `Component`. `register` gives a class its short name,
`resolve` turns names and objects into checked parts, `check_compatible` refuses combinations that cannot work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from boscage.base.named_parameters import NamedParameters, suggestion
from boscage.base.numbers import MOST, is_number


class IncompatibleParts(ValueError):
    """Two parts, or a part and a limit, that cannot be combined."""


@dataclass(frozen=True)
class Word:
    """Something one part can need and another provide: who provides it, what it is, and what to do without it.

    ``{other}`` in the remedy is what to pass in place of the part with the need.
    """

    role: str
    meaning: str
    remedy: str


# The vocabulary of `provides` and `needs`, in the order in which needs are judged. A family that brings a new
# requirement adds its word here.
WORDS: dict[str, Word] = {
    "slope": Word("criterion", "a criterion with a slope", "Pass criterion='gini' or criterion='entropy'."),
    "impurity": Word("criterion", "a criterion that is an impurity decrease", "Pass criterion='gini'."),
    "gini": Word("criterion", "the Gini criterion", "Pass criterion='gini'."),
    "cut": Word("splits", "thresholds chosen by the criterion", "Pass splits='axis', or a family with recut=True."),
    "linear tests": Word("splits", "tests that are linear in x", "Pass a linear family, for example splits='oblique'."),
    "hard": Word("splits", "tests that send a row to one side", "Pass splits='axis' or an oblique family."),
    "soft": Word("splits", "tests that send a row to both sides", "Pass splits='stochastic'."),
    "column sample": Word("splits", "tests of one column", "Pass splits='axis', or max_features=None."),
    "tests as found": Word("polish", "tests that stay as they are found", "Pass polish=None, or max_terms=None."),
    "leaf budget": Word(
        "growth",
        "an order of growth that can stop after any number of leaves",
        "Pass growth='best_first' or growth='heaviest_first', or max_leaf_nodes=None.",
    ),
    "squared error": Word(
        "splits",
        "a split family for regression",
        "Pass splits='axis', or splits='oblique' with criterion='squared_error'.",
    ),
    "numeric sums": Word("splits", "tests chosen by the sums of y", "Pass splits='axis' or criterion='squared_error'."),
    "quantiles": Word("splits", "tests chosen by the order of y", "Pass splits='axis' or criterion='squared_error'."),
    "class target": Word(
        "data", "class labels as the target", "Pass criterion='squared_error' for regression, or fit a classifier."
    ),
    "numeric target": Word("data", "a numeric target", "Pass criterion='gini' for classification, or fit a regressor."),
    "two classes": Word("data", "two classes", "Use another search, or a one-vs-rest wrapper."),
    "complete rows": Word("data", "data without missing values", "Impute first, for example with SimpleImputer."),
    "rows": Word("executor", "all rows in memory", "Use fit, or pass {other}."),
    "forest": Word(
        "learner", "a forest", "Use ForestClassifier or ForestRegressor, or pass splits='axis' or splits='oblique'."
    ),
}

_INSTEAD = {
    "criterion": "criterion='squared_error'",
    "leaf": "leaf='frequency', in regression leaf='constant'",
    "polish": "polish=None",
}

# What a limit asks of the parts, when it is set.
LIMIT_NEEDS: dict[str, frozenset[str]] = {
    "max_leaf_nodes": frozenset({"leaf budget"}),
    "max_features": frozenset({"column sample"}),
}


class Component(NamedParameters, BaseEstimator):  # type: ignore[misc]
    """A part of a learner: settings and nothing else, never changed by fitting.

    Equal class and equal parameters make equal parts. Subclasses store their parameters in ``__init__`` as they
    come, and look at them in `check`.
    """

    role: ClassVar[str] = ""
    provides: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()

    def __init__(self) -> None: ...

    def check(self) -> None:
        """Raise a ValueError that names the class, the parameter, its value and what is allowed."""

    def _key(self) -> tuple[Any, ...]:
        return type(self), tuple((name, _frozen(value)) for name, value in sorted(self.get_params(deep=False).items()))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Component) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _refuse(self, name: str, allowed: str) -> None:
        raise ValueError(f"{type(self).__name__}.{name}={getattr(self, name)!r} is not allowed. Pass {allowed}.")

    def _check_real(
        self,
        name: str,
        low: float = -math.inf,
        high: float = math.inf,
        *,
        open_low: bool = False,
        open_high: bool = False,
        otherwise: str | None = None,
    ) -> None:
        """Refuse all but finite numbers in [low, high], without the open ends; the message names what is allowed."""
        value: Any = getattr(self, name)
        inside = is_number(value) and low <= value <= high
        if inside and not (open_low and value == low) and not (open_high and value == high):
            return
        sides = [f"{'>' if open_low else '>='} {low:g}"] if low > -math.inf else []
        sides += [f"{'<' if open_high else '<='} {high:g}"] if high < math.inf else []
        allowed = " ".join(["a finite number", " and ".join(sides)]).rstrip()
        self._refuse(name, allowed if otherwise is None else f"{allowed}, or {otherwise}")

    def _check_integer(self, name: str, low: int, high: int = MOST, *, optional: bool = False) -> None:
        """Refuse all but integers in [low, high], and None if optional."""
        value: Any = getattr(self, name)
        if optional and value is None:
            return
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and low <= int(value) <= high:
            return
        upper = "" if high == MOST and not (is_number(value, whole=True) and value > high) else f" and <= {high}"
        self._refuse(name, f"an integer >= {low}{upper}{' or None' if optional else ''}")

    def _check_choice(self, name: str, choices: Iterable[object]) -> None:
        """Refuse all but the choices."""
        value = getattr(self, name)
        known = list(choices)
        if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in known):
            self._refuse(name, "one of " + ", ".join(map(repr, known)))


def _frozen(value: object) -> object:
    """Something hashable that is equal for equal parameter values."""
    if isinstance(value, np.ndarray):
        return "array", value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, (list, tuple)):
        return type(value), tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return dict, frozenset((name, _frozen(item)) for name, item in value.items())
    return value


@dataclass
class Role:
    """One of the questions a learner asks: its named parts, where they live, and how other objects become parts."""

    module: str
    parts: dict[str, type[Component]] = field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)  # by name, where they differ from the defaults
    wrap: Callable[[Any], Component] | None = None
    for_numbers: dict[str, str] = field(default_factory=dict)  # names that mean another part where y holds numbers


ROLES: dict[str, Role] = {
    "criterion": Role("boscage.criteria"),
    "splits": Role("boscage.splits"),
    "growth": Role("boscage.growth"),
    "leaf": Role("boscage.leaves", for_numbers={"linear": "ridge"}),
}

_Part = TypeVar("_Part", bound=type[Component])


def register(role: str, name: str, **settings: Any) -> Callable[[_Part], _Part]:
    """Class decorator: make the part, with these settings, known as ``role="name"``. A class may have several names."""

    def add(part: _Part) -> _Part:
        ROLES[role].parts[name] = part
        ROLES[role].settings[name] = settings
        return part

    return add


def names(role: str, target: str | None = "classes", *, forest: bool = False) -> list[str]:
    """Return the short names of the parts of a role, in the order of registration; second names are left out.

    Those of parts made for another target are left out too, unless it is None, and those for forests only unless
    ``forest``.
    """
    import_module(ROLES[role].module)
    known = ROLES[role]
    found: dict[tuple[type[Component], str], str] = {}
    for name, part in known.parts.items():
        if target is not None and getattr(part, "target", target) != target:
            continue
        if forest or not getattr(part, "forest_only", False):
            found.setdefault((part, repr(known.settings.get(name))), name)
    public = {name: known_as for known_as, name in known.for_numbers.items()}
    return list(dict.fromkeys(public.get(name, name) for name in found.values()))


def is_name(role: str, name: str) -> bool:
    """Whether a part of the role has this name."""
    import_module(ROLES[role].module)
    return name in ROLES[role].parts


@cache
def library_parts() -> dict[str, type[Component]]:
    """Return the parts of this library by role and class, such as "splits.Axis": those that a model file may name."""
    from boscage.criteria import Quantile
    from boscage.leaves import RefitLeaves
    from boscage.polish import Polish

    found: list[type[Component]] = [Polish, Quantile, RefitLeaves]  # those without a short name
    for role in ROLES.values():
        import_module(role.module)
        found += [part for part in role.parts.values() if part.__module__.startswith("boscage.")]
    return {f"{part.role}.{part.__name__}": part for part in found}


def resolve(role: str, value: object, target: str = "classes", *, forest: bool = False) -> Component:
    """Turn a short name or an object into a checked part: the one place where names are looked up.

    Parameters
    ----------
    role : str
        The parameter's name: ``"criterion"``, ``"splits"``, ``"growth"`` or ``"leaf"``.
    value : str, Component or callable
        A registered name, a part of this role, or (criterion only) a function G on [0, 1].
    target : {"classes", "numbers"}
        What the learner predicts: a few names mean different parts.
    forest : bool, default=False
        Whether messages name parts that are for forests only.

    Returns
    -------
    Component

    Examples
    --------
    >>> from boscage.base.component import resolve
    >>> resolve("criterion", "gini")
    Gini()
    """
    known = ROLES[role]
    if isinstance(value, str):
        if value not in known.parts:
            import_module(known.module)
        name = known.for_numbers.get(value, value) if target == "numbers" else value
        if name in known.parts:
            return _checked(known.parts[name](**known.settings.get(name, {})))
    elif isinstance(value, Component) and value.role == role:
        return _checked(value)
    elif known.wrap is not None and callable(value) and not isinstance(value, (type, Component)):
        return _checked(known.wrap(value))
    choices = ", ".join(map(repr, names(role, target, forest=forest)))
    message = f"{role}={value!r} is not known. Pass one of {choices}, or an object from {known.module}."
    message += suggestion(value, known.parts) if isinstance(value, str) else ""
    if isinstance(value, type) and issubclass(value, Component):
        message = f"{role}={value.__name__} is a class. Pass an object: {value.__name__}()."
    raise ValueError(message)


class PartsByName:
    """Mixin of estimators whose parameters may name a part: nested parameters need an object."""

    def set_params(self, **params: Any) -> Any:
        """Set parameters of the estimator, or of its parts as in ``splits__l2``.

        Parameters
        ----------
        **params
            Parameters by name. Those of a part need an object, such as ``splits=WeightedOblique()``, not a name.

        Returns
        -------
        self
        """
        for name in params:
            role, nested, _ = name.partition("__")
            value = params.get(role, getattr(self, role, None))
            if nested and isinstance(value, str):
                target = getattr(self, "_target", "classes")
                remedy = f"{role}={resolve(role, value, target)!r}" if role in ROLES else f"an object as {role}"
                raise ValueError(f"{name} cannot be set, because {role}={value!r} is a name. Pass {remedy} first.")
        return super().set_params(**params)  # type: ignore[misc]


def _checked(part: Component) -> Component:
    part.check()
    return part


def check_target(role: str, part: Any, target: str) -> None:
    """Refuse a part that is made for the other kind of target."""
    own = getattr(part, "target", None)
    if own is None or own == target:
        return
    choices = ", ".join(map(repr, names(role, target)))
    kinds = {"classes": "classification", "numbers": "regression"}
    raise IncompatibleParts(f"{role}={part!r} is for {kinds[own]}, not for {kinds[target]}. Pass one of {choices}.")


@dataclass(frozen=True)
class Fact:
    """What the data, the executor or a limit brings to the comparison of parts; shown as it is named."""

    shown: str
    provides: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()


def data_fact(n_outputs: int, *, has_missing: bool = False, target: str = "classes") -> Fact:
    """Describe the training data to `check_compatible`: outputs are classes, or numbers of a row."""
    is_classes = target == "classes"
    provides = {"class target" if is_classes else "numeric target"}
    if is_classes and n_outputs <= 2:
        provides.add("two classes")
    if not has_missing:
        provides.add("complete rows")
    missing = " with missing values" if has_missing else ""
    noun = ("class", "es") if is_classes else ("output", "s")
    return Fact(f"data of {n_outputs} {noun[0]}{noun[1] * (n_outputs != 1)}{missing}", frozenset(provides))


def check_compatible(**parts: object) -> None:
    """Raise `IncompatibleParts` if one of the parts needs what the part in charge of it does not provide.

    Parameters
    ----------
    **parts : Component, Fact, or the value of a limit
        Keyed by role (``criterion``, ``splits``, ``growth``, ``leaf``, ``polish``, ``data``, ``executor``,
        ``learner``) or by the name of a limit (``max_leaf_nodes``, ``max_features``). None stands for "not given"; a
        need is not judged when its role is not given.

    Examples
    --------
    >>> from boscage.base.component import check_compatible, resolve
    >>> check_compatible(growth=resolve("growth", "depth_first"), max_leaf_nodes=8)
    Traceback (most recent call last):
    ...
    boscage.base.component.IncompatibleParts: max_leaf_nodes=8 cannot be combined with growth=DepthFirst(): it needs \
an order of growth that can stop after any number of leaves. Pass growth='best_first' or growth='heaviest_first', or \
max_leaf_nodes=None.
    """
    present: dict[str, Component | Fact] = {}
    for role, part in parts.items():
        if role in LIMIT_NEEDS and part is not None:
            present[role] = Fact(f"{role}={part!r}", needs=LIMIT_NEEDS[role])
        elif isinstance(part, (Component, Fact)):
            present[role] = part
    for role, part in present.items():
        for need in sorted(part.needs, key=list(WORDS).index):
            word = WORDS[need]
            supplier = present.get(word.role)
            if supplier is None or need in supplier.provides:
                continue
            raise IncompatibleParts(
                f"{_shown(role, part)} cannot be combined with {_shown(word.role, supplier)}: "
                f"it needs {word.meaning}. {word.remedy.format(other=_INSTEAD.get(role, f'another {role}'))}"
            )


def _shown(role: str, part: Component | Fact) -> str:
    return part.shown if isinstance(part, Fact) else f"{role}={part!r}"
