"""Requests by name. What one may hold is the signature of the method that answers it, whose annotations are types or tuples of choices."""

import functools
import inspect
import json


class Requests:
    """The requests about one subject, with what is kept for them between requests."""

    def table(self):
        """{request: the method that answers it}"""
        return {name: getattr(self, name) for name, method in vars(type(self)).items() if hasattr(method, "is_request")}

    def forget(self):
        """Another task is being loaded."""


def request(method):
    method.is_request = True
    return method


def parse(line, table):
    """(method, {parameter: value}) of one request."""
    fields = json.loads(line)
    if not isinstance(fields, dict) or not isinstance(fields.get("do"), str):
        raise ValueError('not a JSON object with "do"')
    name = fields.pop("do")
    if name not in table:
        raise ValueError(f"unknown request '{name}'; there are: {', '.join(table)}")
    return table[name], checked(fields, table[name], f" of '{name}'")


def checked(fields, method, of=""):
    """{parameter: value} for the method."""
    parameters = parameters_of(method)
    unknown = fields.keys() - parameters.keys()
    if unknown:
        raise ValueError(f"unknown field '{min(unknown)}'{of}")
    return {parameter.name: value(fields, field, parameter.annotation, parameter.default) for field, parameter in parameters.items()}


@functools.cache
def parameters_of(method):
    return {parameter.name.rstrip("_"): parameter for parameter in inspect.signature(method).parameters.values()}


def value(fields, field, kind, default):
    given = fields.get(field, default)
    if given is inspect.Parameter.empty:
        raise ValueError(f"'{field}' is missing")
    if given is default:  # including None: null means left out
        return given
    if isinstance(kind, tuple):
        if given not in kind:
            raise ValueError(f"'{field}' is {given!r}; it may be one of: {', '.join(kind)}")
    elif not isinstance(given, (int, float) if kind is float else kind) or (isinstance(given, bool) and kind is not bool):
        raise ValueError(f"'{field}' is of the wrong type")
    return given


def is_for(line, method):
    """Whether a line is a request without a name that has only this method's fields."""
    try:
        request = json.loads(line)
    except ValueError:
        return False
    return isinstance(request, dict) and bool(request) and request.keys() <= parameters_of(method).keys()
