"""HTTP over one connection, as aiohttp does it, except that every answer has our headers, and that what aiohttp refuses
before the guard sees it is refused in our form.

A malformed request is its sender's fault: it makes one line in the log, and the answer repeats nothing of it.
"""

import logging
from collections.abc import Callable
from typing import TypeAlias

from aiohttp import web
from aiohttp.http import HttpProcessingError, RawRequestMessage

from proxy.web.answering import HEADERS, failure

log = logging.getLogger(__name__)

Factory: TypeAlias = Callable[..., web.BaseRequest]
NOWHERE = "*"
"""The path of a request whose address cannot be read."""


class Conversation(web.RequestHandler):
    """A connection's protocol; it ends with the first request that cannot be read."""

    __slots__ = ()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Add our headers if the response has not begun, and send what has not been sent yet."""
        if not resp.prepared:
            for name, value in HEADERS.items():
                resp.headers.setdefault(name, value)
        return await super().finish_response(request, resp, start_time)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to a request that has failed. Raises ConnectionError if it has been answered in part."""
        answer = _malformed(request, status, exc) if isinstance(exc, HttpProcessingError) else _defect(status, exc)
        if request.writer.output_size > 0:
            raise ConnectionError("a part of the answer has been sent")
        answer.force_close()
        return answer


def lenient(factory: Factory) -> Factory:
    """The factory of requests, made to take an address that cannot be read (`http://xn--/`) as `NOWHERE`: if it failed,
    aiohttp's task would end."""

    def make(message: RawRequestMessage, *more: object) -> web.BaseRequest:
        try:
            return factory(message, *more)
        except ValueError:
            return factory(message._replace(url=type(message.url)(NOWHERE)), *more)

    return make


def _malformed(request: web.BaseRequest, status: int, error: HttpProcessingError) -> web.Response:
    words, sender = error.message.strip().partition("\n")[0], request.remote or "one who has hung up"
    log.warning("a malformed request to the status listener, from %s: %s", sender, words)
    return failure(status, "the request is malformed", "see deploy/API.md")


def _defect(status: int, error: BaseException | None) -> web.Response:
    log.error("a defect: the status listener could not answer a request", exc_info=error)
    return failure(status, "a defect: this could not be answered", "its reason is in the site's log")
