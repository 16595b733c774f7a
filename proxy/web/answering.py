"""Encodes answers as JSON, and failures in the one form that all of them have."""

import json
from typing import Any

from aiohttp import web

from proxy.observe.answers import Problem

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "isthmus",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every answer that does not set others."""


def encode(value: object) -> bytes:
    """Compact JSON of plain values and of the shapes (dataclasses with slots), without a copy of them."""
    return json.dumps(value, default=_plain, separators=(",", ":")).encode()


def answer(value: object) -> web.Response:
    """A response 200 with that value."""
    return web.Response(body=encode(value), content_type="application/json")


def failure(status: int, error: str, remedy: str) -> web.Response:
    """A failure: what is wrong, and what to do."""
    return web.Response(status=status, body=encode(Problem(error, remedy)), content_type="application/json")


class BadRequest(Exception):
    """A parameter does not have an allowed value; the message says which one, and what is allowed."""


class Busy(Exception):
    """There is no time for an answer: it would have to wait for too long."""


def _plain(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
