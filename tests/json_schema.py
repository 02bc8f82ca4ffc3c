"""The part of JSON schema that our own schema uses; anything else in it is an error."""

_KNOWN = {
    "$defs", "$id", "$ref", "$schema", "additionalProperties", "const", "description", "enum", "items", "maxItems",
    "minItems", "minimum", "oneOf", "prefixItems", "properties", "required", "title", "type",
}  # fmt: skip
_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    if name in _TYPES:
        return isinstance(value, _TYPES[name])
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and (name == "number" or float(value).is_integer())


def faults(value, schema, root, place="$"):
    """Places where a value breaks a schema."""
    assert set(schema) <= _KNOWN, set(schema) - _KNOWN
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        yield from faults(value, root["$defs"][name], root, place)
    if "const" in schema and value != schema["const"]:
        yield f"{place}: not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: not in {schema['enum']}"
    if "oneOf" in schema:
        fitting = [part for part in schema["oneOf"] if not any(faults(value, part, root, place))]
        if len(fitting) != 1:
            yield f"{place}: fits {len(fitting)} of {len(schema['oneOf'])} forms"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_type(value, kind) for kind in kinds):
        yield f"{place}: not of type {kinds}"
    elif isinstance(value, dict):
        yield from _object_faults(value, schema, root, place)
    elif isinstance(value, list):
        yield from _list_faults(value, schema, root, place)
    elif is_type(value, "number") and value < schema.get("minimum", value):
        yield f"{place}: below {schema['minimum']}"


def _object_faults(value, schema, root, place):
    yield from (f"{place}: lacks {name}" for name in schema.get("required", ()) if name not in value)
    known, other = schema.get("properties", {}), schema.get("additionalProperties", {})
    for name, part in value.items():
        if name in known:
            yield from faults(part, known[name], root, f"{place}.{name}")
        elif other is False:
            yield f"{place}: does not know {name}"
        else:
            yield from faults(part, other, root, f"{place}.{name}")


def _list_faults(value, schema, root, place):
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        yield f"{place}: has {len(value)} items"
    firsts = schema.get("prefixItems", [])
    for i, part in enumerate(value):
        yield from faults(part, firsts[i] if i < len(firsts) else schema.get("items", {}), root, f"{place}[{i}]")
