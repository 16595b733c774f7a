"""Parameters of a query, read by the routes' table."""

from collections.abc import Mapping

from proxy.web.answering import BadRequest
from proxy.web.routes import Parameter

TEXT_MAX = 200
"""Characters of a parameter."""


def read(query: Mapping[str, str], parameters: tuple[Parameter, ...]) -> dict[str, str | int]:
    """Every parameter with its value or default. Raises BadRequest, also for a parameter that is not in the table."""
    known = {parameter.name for parameter in parameters}
    for name in query:
        if name not in known:
            raise BadRequest(f"no such parameter: {name[:TEXT_MAX]!r}; write {', '.join(sorted(known))}")
    return {each.name: _value(query[each.name], each) if each.name in query else each.default for each in parameters}


def _value(text: str, parameter: Parameter) -> str | int:
    if parameter.most:
        if not (text.isascii() and text.isdigit() and len(text) < 20) or not (
            parameter.least <= int(text) <= parameter.most
        ):
            raise BadRequest(f"{parameter.name} is not a number from {parameter.least} to {parameter.most}")
        return int(text)
    if parameter.choices and text not in parameter.choices:
        raise BadRequest(f"{parameter.name} is none of {', '.join(filter(None, parameter.choices))}")
    if len(text) > TEXT_MAX:
        raise BadRequest(f"{parameter.name} is longer than {TEXT_MAX} characters")
    return text
