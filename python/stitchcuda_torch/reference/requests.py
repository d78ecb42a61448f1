"""What a request may hold: every field with its type, and its value where it may be left out."""

import json

NEEDED = object()


def parse(line, table):
    """(name, {field: value}). table: {name: {field: (type or choices, default)}}."""
    request = json.loads(line)
    if not isinstance(request, dict) or not isinstance(request.get("do"), str):
        raise ValueError('not a JSON object with "do"')
    name = request.pop("do")
    if name not in table:
        raise ValueError(f"unknown request '{name}'; there are: {', '.join(table)}")
    unknown = set(request) - set(table[name])
    if unknown:
        raise ValueError(f"unknown field '{sorted(unknown)[0]}' of '{name}'")
    return name, {field: value(request, field, kind, default) for field, (kind, default) in table[name].items()}


def value(request, field, kind, default):
    given = request.get(field, default)
    if given is NEEDED:
        raise ValueError(f"'{field}' is missing")
    if given is default:  # including None: null means left out
        return given
    if isinstance(kind, tuple):
        if given not in kind:
            raise ValueError(f"'{field}' is {given!r}; it may be one of: {', '.join(kind)}")
    elif not isinstance(given, (int, float) if kind is float else kind) or (isinstance(given, bool) and kind is not bool):
        raise ValueError(f"'{field}' is of the wrong type")
    return given


def is_for(line, fields):
    """Whether a line is a request without a name that has only these fields."""
    try:
        request = json.loads(line)
    except ValueError:
        return False
    return isinstance(request, dict) and bool(request) and set(request) <= set(fields)
