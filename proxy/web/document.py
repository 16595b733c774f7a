"""Writes what is derived from the routes and the shapes: proxy/web/openapi.json and deploy/API.md.

`python -m proxy.web.document` does it, in a checkout; a test fails when that was forgotten.
"""

import ast
import inspect
import json
from collections.abc import Iterator
from dataclasses import is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from proxy.observe import answers, snapshot
from proxy.observe.counters import Traffic
from proxy.observe.waiting import Waiting
from proxy.web.query import TEXT_MAX
from proxy.web.routes import ROUTES, Parameter, Right, Route

ROOT = Path(__file__).parents[2]
_VERSION = "1"
_SCHEMAS = "#/components/schemas/"

_FAILURES = {
    400: "The request cannot be understood, or a parameter is not one of its values.",
    401: "A token or client certificate is needed, and none or a wrong one was shown.",
    403: "This listener grants nobody that right, or the request comes from a web page of another origin.",
    405: "The route does not answer this method; the `Allow` header has those that it does.",
    413: "The request has a body; send none.",
    417: "The request has an `Expect` header; send none.",
    421: "The Host header names another host: use an address of the listener, or add the name to `status.names`.",
    429: "Too many requests, too many clients of `/api/v1/live`, or no time for more answers. `Retry-After` has the"
    " seconds to wait.",
}

_HEAD = """\
# API

Written by `python -m proxy.web.document`; change `proxy/web/routes.py`, `proxy/observe/answers.py` and
`proxy/observe/snapshot.py`.

The status listener (`status.listen`, by default http://127.0.0.1:8900) answers with JSON over HTTP.
`/api/v1/openapi.json` describes the same for programs. New keys may be added; those that are here stay. Unless said
otherwise

- times are seconds since 1970 (UTC), rates are bits a second, shares of a whole are 0 to 1;
- counters begin at 0 when the site starts;
- *here* is this site, and *sent* is from arrays here towards the peer;
- *plain bytes* are bytes as the arrays send and receive them; *TCP payload* is what the tunnel's connections carry,
  including TLS, without TCP and IP headers.

What the other words mean: [GUIDE.md](GUIDE.md#words).

- **Rights.** On a loopback address, reading needs no token unless `status.token` or `status.clients` is set. On any
  other address the listener speaks TLS 1.3 only, and reading needs `Authorization: Bearer TOKEN` with the content of
  the file `status.token`, or a client certificate that is in the file `status.clients` or was signed by one that is.
  `drain` and `reload` need the token in the file `status.control_token`, which also allows reading; `isthmus init`
  writes one. Without `status.control_token`, whoever may read on a loopback address may also drain and reload; on any
  other address nobody may.
- **Web pages of other origins** get nothing: the Host header must name this listener (one of its addresses, a name in
  `status.names`, or `localhost` on a loopback address), and `Origin` and `Sec-Fetch-Site`, if they are sent, must say
  that the request comes from the listener's own page.
- **Limits on requests.** One address may make 400 requests at once and 200 a second; all addresses together, except
  this host's, four times that. Clients with a valid token or certificate have a budget of their own; all users of the
  host itself count as one address. A header line may have 8 KiB. Requests have no body. Above the limits the answer is
  429, and the connection ends.
- **Limits on connections.** 128 in all, 64 from one address; beyond that, the one that has been idle longest is closed.
  An address may make 400 new ones at once and 200 a second (with TLS, 100 and 20); more are closed unanswered, so keep
  connections open. 32 may listen to `/api/v1/live`.
- **Limits on work.** All answers together take at most a tenth of the site's time. While that is used up, a request
  waits for up to half a second, and then gets an older answer (at most 30 s old) or, if there is none within 5 s, 429.
- **Failures** have the status codes of HTTP and the body `{"error": ..., "remedy": ...}`.
- **`/api/v1/live`** sends `event: live` once a second, with the JSON below as `data`, and `event: event` as soon as
  something happens, with an [Event](#event) as `data`. Further events in the same second, and events whose `count` has
  risen, come with the next `event: live`: the newest 64. A client that does not read is dropped. A browser's
  `EventSource` sends no `Authorization`: where a token is needed, read the stream with `fetch`.

| route | right | what |
|---|---|---|
"""

_WAITING = """\
## Waiting

What one direction of a stream waits for. *Outward* is from the array here to the peer, *inward* from the peer to it.

| key | meaning |
|---|---|"""


def documents() -> dict[Path, str]:
    """The content of each file."""
    api = openapi()
    return {
        ROOT / "proxy/web/openapi.json": json.dumps(api, indent=1) + "\n",
        ROOT / "deploy/API.md": "\n".join(_page(api)) + "\n",
    }


def openapi() -> dict[str, Any]:
    """The API as OpenAPI 3.1 has it."""
    _describe_by_docstrings()
    schemas: dict[str, Any] = {}
    for answer in (*(route.answer for route in ROUTES if route.answer), answers.Event, answers.Problem):
        schemas |= _schemas(answer)
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Isthmus", "version": _VERSION, "description": "The state of a site, and how to drain it."},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _schemas(answer: type) -> dict[str, Any]:
    """The schemas of the class and of the classes that it consists of, by name."""
    described = TypeAdapter(answer).json_schema(mode="serialization", ref_template=_SCHEMAS + "{model}")
    return {**described.pop("$defs", {}), answer.__name__: described}


def _describe_by_docstrings() -> None:
    """Have pydantic take the meanings of keys from the docstrings below them, so that the shapes need no pydantic."""
    for shape in (*vars(answers).values(), *vars(snapshot).values(), Traffic):
        if is_dataclass(shape):
            setattr(shape, "__pydantic_config__", ConfigDict(use_attribute_docstrings=True))  # noqa: B010


def _operation(route: Route) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": {"$ref": _SCHEMAS + route.answer.__name__}} if route.answer else {}
    if route.media == "text/event-stream":
        content = {"schema": {"type": "string"}}
    done = {"description": route.words, "content": {route.media: content}}
    failures = {str(code): _failure(words) for code, words in _FAILURES.items()}
    more = {"503": {"description": "The site is starting or draining."}} if route.path == "/healthz" else {}
    secured: list[dict[str, list[str]]] = [] if route.right is Right.NONE else [{}, {"token": []}]
    return {
        "summary": route.words,
        "operationId": f"{route.method.lower()}_{route.path.strip('/').replace('/', '_').replace('.', '_')}",
        "security": secured,
        "parameters": [_parameter(each) for each in route.parameters],
        "responses": {"200": done, **failures, **more},
    }


def _failure(words: str) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": {"$ref": f"{_SCHEMAS}Problem"}}}}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "maxLength": TEXT_MAX, "default": parameter.default}
    if parameter.most:
        schema = {
            "type": "integer",
            "minimum": parameter.least,
            "maximum": parameter.most,
            "default": parameter.default,
        }
    elif parameter.choices:
        schema = {"type": "string", "enum": list(parameter.choices), "default": parameter.default}
    return {"name": parameter.name, "in": "query", "description": parameter.words, "schema": schema}


# -- the page ----------------------------------------------------------------------------------------------------


def _page(described: dict[str, Any]) -> Iterator[str]:
    yield _HEAD + "\n".join(f"| `{r.method} {r.path}` | {r.right.value} | {r.words} |" for r in ROUTES) + "\n"
    for route in ROUTES:
        if route.parameters or route.answer:
            yield from _route(route)
    yield "# Shapes\n"
    shapes = described["components"]["schemas"] | _schemas(Traffic)  # the keys of each `bytes`
    for name, schema in sorted(shapes.items()):
        yield from _shape(name, schema)
    yield _WAITING
    yield from (f"| `{value}` | {meaning} |" for value, meaning in _meanings())


def _route(route: Route) -> Iterator[str]:
    yield f"## `{route.method} {route.path}`\n\n{route.words}\n"
    if route.parameters:
        yield "| parameter | value | default | meaning |\n|---|---|---|---|"
        yield from (f"| `{p.name}` | {_values(p)} | `{json.dumps(p.default)}` | {p.words} |" for p in route.parameters)
        yield ""
    if route.answer:
        yield f"Answer: [{route.answer.__name__}](#{route.answer.__name__.lower()})\n"


def _values(parameter: Parameter) -> str:
    if parameter.most:
        return f"{parameter.least} to {parameter.most}"
    return ", ".join(f"`{each}`" for each in parameter.choices if each) or "text"


def _shape(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"## {name}\n\n{' '.join(schema.get('description', '').split())}\n"
    if "enum" in schema:
        yield ", ".join(f"`{each}`" for each in schema["enum"]) + "\n"
        return
    yield "| key | value | meaning |\n|---|---|---|"
    for key, value in schema["properties"].items():
        yield f"| `{key}` | {_kind(value)} | {' '.join(value.get('description', '').split())} |"
    yield ""


def _meanings() -> Iterator[tuple[str, str]]:
    """Each value of `Waiting` and its meaning: the docstring below it, which Python itself does not keep."""
    (found,) = ast.parse(inspect.getsource(Waiting)).body
    assert isinstance(found, ast.ClassDef)
    for member, words in pairwise(found.body):
        match member, words:
            case ast.Assign(value=ast.Constant(value=value)), ast.Expr(value=ast.Constant(value=meaning)):
                yield str(value), str(meaning)


def _kind(value: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in value:
        return " or ".join(map(_kind, value["anyOf"]))
    if value.get("type") == "array":
        return f"list of {_kind(value['items'])}" if "items" in value else "list"
    if value.get("type") == "object":
        inner = value.get("additionalProperties")
        return f"object of {_kind(inner)}" if isinstance(inner, dict) and inner else "object"
    return str(value.get("type", "any"))


if __name__ == "__main__":
    for path, content in documents().items():
        path.write_text(content)
