"""Parameters of an estimator as JSON and back.

None, booleans, integers, floats, text and lists are themselves; everything else is an object whose first key says what
it is: ``{"float": "inf"}``, ``{"tuple": […]}``, ``{"dict": [key, value, …]}``, ``{"array": {…}}``, or
``{"part": "splits.Axis", "settings": {…}}`` for a part of this library. NumPy scalars are written as Python's. What is
not data (a function, a generator, a part that somebody else wrote) is left out by name.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from boscage.base.component import ROLES, Component, library_parts, resolve
from boscage.data.label_codec import TOKEN, dtype_of
from boscage.model.file_bytes import canonical_json, expect, expect_keys

NOT_STORED = ("n_jobs", "verbose")
_MAX_BITS = 4096  # of an integer
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class _NotDataError(Exception):
    """A value that JSON cannot hold."""


def parameters_to_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """Describe parameters as ``{"values": {name: value}, "omitted": [names of those that are not data]}``.

    Raises
    ------
    ValueError
        If a part has a setting that is not allowed, or a name of a part is not known.
    """
    values: dict[str, Any] = {}
    omitted = []
    for name, value in sorted(parameters.items()):
        try:
            _check_part(name, value)
            values[name] = _encoded(value)
        except (_NotDataError, RecursionError):
            values[name] = None
            omitted.append(name)
    return {"values": values, "omitted": omitted}


def parameters_from_json(found: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Rebuild parameters and the names of those left out; what `parameters_to_json` could not have written is refused.

    Only parts of this library are made, and they check their settings.
    """
    expect_keys(found, {"values", "omitted"}, set(), "parameters")
    values, omitted = found["values"], found["omitted"]
    expect(type(values) is dict and all(name.isidentifier() for name in values), "parameters: values must have names")
    expect(type(omitted) is list and all(type(name) is str for name in omitted), "parameters: omitted must be names")
    expect(omitted == sorted(set(omitted)), "parameters: omitted must be sorted")
    decoded = {name: _decoded(value) for name, value in values.items()}
    for name in omitted:
        expect(name in values and values[name] is None, f"parameter {name[:40]!r} is omitted but has a value")
    written = parameters_to_json({name: value for name, value in decoded.items() if name not in omitted})
    expect(not written["omitted"], "parameters: a value is not data")
    written["values"] |= dict.fromkeys(omitted)
    expect(_same_form(values, written["values"]), "parameters: a value is not in canonical form")
    return decoded, tuple(omitted)


def _same_form(found: Any, written: Any) -> bool:
    """Whether ``found`` is how a value is written; a part may lack settings, which older versions did not have."""
    if type(found) is not type(written):
        return False
    if type(found) is list:
        return len(found) == len(written) and all(map(_same_form, found, written))
    if type(found) is dict and "part" in found:
        found, written = found["settings"], {name: written["settings"][name] for name in found["settings"]}
    if type(found) is dict:
        return found.keys() == written.keys() and all(_same_form(found[name], written[name]) for name in found)
    return bool(found == written)


def _check_part(name: str, value: Any) -> None:
    """Refuse unknown parts. Functions and parts of others, even those with a name, are not data."""
    if name == "polish":
        from boscage.polish import polish_part

        polish_part(value)
    elif name == "refit":
        from boscage.leaves import refit_part

        refit_part(value)
    elif name in ROLES:
        is_function = callable(value) and not isinstance(value, (type, Component))
        # None is what a part that could not be stored became when the model was loaded.
        if value is None or is_function or not _is_ours(resolve(name, value)):
            raise _NotDataError


def _is_ours(part: Component) -> bool:
    return type(part) in library_parts().values()


def _encoded(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _checked(int(value), abs(value).bit_length() <= _MAX_BITS)
    if isinstance(value, float):
        # Adding 0 turns -0.0 into 0.0: equal parameters, equal files.
        return float(value) + 0.0 if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, str):
        return _checked(str.__str__(value), _is_text(value))
    if isinstance(value, np.ndarray):
        return _encoded_array(value)
    if type(value) is list:
        return [_encoded(item) for item in value]
    if type(value) is tuple:
        return {"tuple": [_encoded(item) for item in value]}
    if type(value) is dict:
        pairs = [(_encoded(key), _encoded(item)) for key, item in value.items()]
        return {"dict": [part for pair in sorted(pairs, key=lambda pair: canonical_json(pair[0])) for part in pair]}
    if isinstance(value, Component) and _is_ours(value):
        value.check()
        settings = {name: _encoded(item) for name, item in value.get_params(deep=False).items()}
        return {"part": f"{value.role}.{type(value).__name__}", "settings": settings}
    raise _NotDataError


def _checked(value: Any, is_data: bool) -> Any:
    if not is_data:
        raise _NotDataError
    return value


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return False
    return True


def _encoded_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    token = array.dtype.kind if array.dtype.kind in ("O", "T") else array.dtype.str[1:]
    if type(array) is not np.ndarray or not TOKEN.fullmatch(token) or token[0] == "S":
        raise _NotDataError
    values = [_encoded(value) for value in array.reshape(-1).tolist()]
    return {"array": {"dtype": token, "shape": list(array.shape), "values": values}}


def _decoded(found: Any) -> Any:
    if type(found) is list:
        return [_decoded(item) for item in found]
    if type(found) is not dict:
        return found
    if "part" in found:
        return _decoded_part(found)
    expect(len(found) == 1, "parameters: an object must have one key")
    ((kind, content),) = found.items()
    if kind == "float":
        expect(type(content) is str and content in _FLOATS, "parameters: float must be nan, inf or -inf")
        return _FLOATS[content]
    if kind == "array":
        return _decoded_array(content)
    expect(kind in ("tuple", "dict"), f"parameters: {kind[:40]!r} is not known")
    expect(type(content) is list, f"parameters: {kind} must have a list")
    items = [_decoded(item) for item in content]
    if kind == "tuple":
        return tuple(items)
    expect(len(items) % 2 == 0, "parameters: a dict must have a value for each key")
    return dict(zip(items[::2], items[1::2]))


def _decoded_part(found: dict[str, Any]) -> Component:
    expect_keys(found, {"part", "settings"}, set(), "a part")
    name, settings = found["part"], found["settings"]
    expect(type(name) is str and name in library_parts(), f"parameters: there is no part {str(name)[:60]!r}")
    cls: Any = library_parts()[name]
    expect(type(settings) is dict, f"the settings of {name} must be an object")
    unknown = settings.keys() - set(cls._get_param_names())
    expect(not unknown, f"{name} has no setting {min(unknown, default='')[:40]!r}")
    part: Component = cls(**{key: _decoded(value) for key, value in settings.items()})
    try:
        part.check()
    except Exception as error:  # the settings come from a stranger
        raise ValueError(f"{name}: {error}") from error
    return part


def _decoded_array(found: Any) -> np.ndarray[Any, Any]:
    expect_keys(found, {"dtype", "shape", "values"}, set(), "an array")
    token, shape, values = found["dtype"], found["shape"], found["values"]
    expect(type(token) is str and type(values) is list and token[:1] != "S", "parameters: an array has no valid type")
    expect(type(shape) is list and len(shape) <= 4, "parameters: an array has no valid shape")
    expect(all(type(size) is int and 0 <= size < 1 << 31 for size in shape), "parameters: an array has no valid shape")
    expect(math.prod(shape) == len(values), "parameters: shape and values of an array do not agree")
    array = np.empty(len(values), dtype_of(token, len(values)))
    array[:] = [_decoded(value) for value in values]
    return array.reshape(shape)
