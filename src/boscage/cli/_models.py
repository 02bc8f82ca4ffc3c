"""The estimators that `boscage fit` knows by a short name, made from options."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from boscage.base.named_parameters import suggestion

if TYPE_CHECKING:
    from boscage.data.tasks import TaskKind

MODELS: dict[str, dict[str, str]] = {
    "tree": {"classification": "TopDownTreeClassifier", "regression": "TopDownTreeRegressor"},
    "forest": {"classification": "ForestClassifier", "regression": "ForestRegressor"},
    "optimal": {"classification": "OptimalTreeClassifier"},
    "online": {"classification": "OnlineTreeClassifier"},
    "lomtree": {"classification": "LOMTreeClassifier"},
}
"""Names of estimators by the name of the model and the task."""

_PARTS = ("splits", "criterion", "growth", "leaf")


def known_model(name: str) -> str:
    """Refuse the name of a model that does not exist."""
    if name not in MODELS:
        raise typer.BadParameter(f"{name!r} is not known; choose from {', '.join(MODELS)}", param_hint="--model")
    return name


def only_task(name: str) -> TaskKind | None:
    """Return the task of a model that has only one."""
    tasks: list[Any] = list(MODELS[name])
    return tasks[0] if len(tasks) == 1 else None


def check_task(name: str, task: str) -> None:
    """Refuse a task that a model cannot do."""
    if task not in MODELS[name]:
        able = [other for other, tasks in MODELS.items() if task in tasks]
        remedy = f"; --model {' or '.join(able)} can" if able else ""
        raise typer.BadParameter(f"--model {name} does not support {task}{remedy}", param_hint="--task")


def make_model(name: str, task: str, given: dict[str, Any], settings: list[str] | None) -> Any:
    """Make an unfitted estimator.

    Parameters
    ----------
    name : str
        One of `MODELS`.
    task : {"classification", "regression"}
        What it is for.
    given : dict
        Parameters by name; None stands for the estimator's default.
    settings : list of str
        Further parameters as ``NAME=VALUE``. ``splits__max_bins`` is the parameter ``max_bins`` of the split family.
    """
    import boscage

    cls = getattr(boscage, MODELS[name][task])
    known = cls().get_params(deep=False)
    chosen = {parameter: value for parameter, value in given.items() if value is not None}
    for parameter in chosen:
        if parameter not in known:
            option = "balanced" if parameter == "class_weight" else parameter.replace("_", "-")
            raise typer.BadParameter(
                f"cannot be combined with --model {name}: {_has(cls, known)}", param_hint=f"--{option}"
            )
    nested: dict[str, dict[str, Any]] = {}
    for text in settings or ():
        parameter, value = _setting(text)
        part, _, inner = parameter.partition("__")
        if part not in known:
            hint = suggestion(part, known)
            raise typer.BadParameter(f"{part!r} is not a parameter: {_has(cls, known)}.{hint}", param_hint="--set")
        if inner:
            nested.setdefault(part, {})[inner] = value
        else:
            chosen[part] = value
    with settings_are_usage(settings):
        for part, values in nested.items():
            chosen[part] = _part(part, chosen.get(part, known[part]), values, task)
    return cls(**chosen)


@contextmanager
def settings_are_usage(settings: list[str] | None) -> Generator[None, None, None]:
    """Turn the refusal of a value of ``--set`` into wrong usage; estimators check their parameters when they fit."""
    try:
        yield
    except (ValueError, TypeError) as error:
        for parameter, value in map(_setting, settings or ()):
            shown = rf"(\w+\.)?{re.escape(parameter.rpartition('__')[2])}={re.escape(repr(value))}(?!\w)"
            if re.match(shown, str(error)):
                raise typer.BadParameter(str(error), param_hint="--set") from None
        raise


def _setting(text: str) -> tuple[str, Any]:
    """Split NAME=VALUE; a value that is no JSON is text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--set")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _part(role: str, value: Any, values: dict[str, Any], task: str) -> Any:
    """Return a part with some of its parameters set."""
    from boscage.base.component import resolve

    if role not in _PARTS:
        raise typer.BadParameter(f"{role!r} has no parameters of its own", param_hint="--set")
    part = resolve(role, value, "classes" if task == "classification" else "numbers")
    known = part.get_params()
    for name in values:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise typer.BadParameter(
                f"{name!r} is not a parameter of {role} {value!r}: {has}.{suggestion(name, known)}", param_hint="--set"
            )
    return part.set_params(**values)


def _has(cls: type, known: dict[str, Any]) -> str:
    return f"{cls.__name__} has {', '.join(known)}"
