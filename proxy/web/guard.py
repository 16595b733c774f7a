"""Checks every request before it is answered: the host it names, the page it comes from, how often, with which right.

A browser carries a stranger's page into this host's networks. So the Host header has to name this listener (a name that
a stranger points here is refused: DNS rebinding), and if a browser says which page a request comes from, it has to be
ours.
"""

import asyncio
import ipaddress
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from aiohttp import web

from proxy.observe import codes
from proxy.observe.journal import Journal
from proxy.web.answering import BadRequest, Busy, failure
from proxy.web.gate import Visit
from proxy.web.parties import Budget, party_of
from proxy.web.rights import Rights
from proxy.web.routes import ROUTES, Right
from proxy.web.settings import Settings

Handler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_RIGHTS = {route.path: route.right for route in ROUTES}
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+))(?::[0-9]*)?")
"""A Host header: an address in brackets or a name, perhaps a port."""


@dataclass(slots=True)
class Guard:
    """Loop thread. `around` puts it before everything that answers."""

    settings: Settings
    rights: Rights
    journal: Journal
    visit_of: Callable[[web.BaseRequest], Visit | None]
    budget: Budget
    """Of requests, for each party."""

    def around(self, handler: Handler) -> Handler:
        """The handler with this guard before it. A middleware would not do: an application refuses some requests
        (`Expect`) before its middlewares see them."""

        async def guarded(request: web.BaseRequest) -> web.StreamResponse:
            return self._turn_away(request) or await self._serve(request, handler)

        return guarded

    def _turn_away(self, request: web.BaseRequest) -> web.Response | None:
        """The refusal of a request, whatever it asks for; None if it may go on. With a refusal the connection ends, so
        that the budget of connections bounds what follows."""
        answer = self._refuse_kind(request)
        if answer is not None:
            answer.force_close()
        return answer

    def _refuse_kind(self, request: web.BaseRequest) -> web.Response | None:
        known = self.rights.shown(request.headers.get("Authorization", ""), request.get_extra_info("peercert"))
        if not self.budget.spend(party_of(request.remote or ""), asyncio.get_running_loop().time(), known=known):
            return _too_often("too many requests")
        if not request.path.startswith("/"):
            return failure(400, "the request names no path of this listener", "see deploy/API.md")
        if "Expect" in request.headers:
            return failure(417, "no request has a body here, so nothing is expected", "send no Expect header")
        if request.body_exists:
            return failure(413, "no request has a body here", "send none")
        return None

    async def _serve(self, request: web.BaseRequest, handler: Handler) -> web.StreamResponse:
        visit = self.visit_of(request)
        if visit is None:
            return self._refuse(request) or await _answer(request, handler)
        visit.busy, visit.since = True, asyncio.get_running_loop().time()
        try:
            response = self._refuse(request) or await _answer(request, handler)
        finally:
            visit.busy, visit.since = False, asyncio.get_running_loop().time()
        if visit.renewed:
            response.force_close()
        return response

    def _refuse(self, request: web.BaseRequest) -> web.Response | None:
        party = party_of(request.remote or "")
        if not self._is_here(request):
            remedy = "use an address of this listener, or add the name to status.names"
            return failure(421, "this listener does not answer under that name", remedy)
        if not _is_ours(request):
            self._tell(f"a page of another site asked for {request.path}, from {party}")
            return failure(403, "requests from pages of other sites are refused", "open this listener's own page")
        return self._refuse_right(request, party)

    def _refuse_right(self, request: web.BaseRequest, party: str) -> web.Response | None:
        right = _right(request)
        if self.rights.granted(right, request.headers.get("Authorization", ""), request.get_extra_info("peercert")):
            return None
        if self.rights.refusable(right):
            return failure(403, "nobody may drain or reload over this listener", "set status.control_token")
        self._tell(f"no token or a wrong one for {request.path}, from {party}")
        key = "status.control_token" if right is Right.CONTROL else "status.token"
        answer = failure(401, "a token is needed", f"send Authorization: Bearer with the content of the file {key}")
        answer.headers["WWW-Authenticate"] = 'Bearer realm="isthmus"'
        return answer

    def _tell(self, words: str) -> None:
        self.journal.note(codes.ACCESS_DENIED, "listener", words, time.time())

    def _is_here(self, request: web.BaseRequest) -> bool:
        found = _HOST.fullmatch(request.headers.get("Host", ""))
        if found is None or len(request.headers.getall("Host", ())) != 1:
            return False
        name = (found[1] or found[2]).lower()
        if name in self.settings.names:
            return True
        local = request.get_extra_info("sockname")
        here = ipaddress.ip_address(str(local[0]).partition("%")[0]) if local else None
        if here is None:
            return False
        try:
            asked = ipaddress.ip_address(name)
        except ValueError:
            return here.is_loopback and name == "localhost"
        return asked == here or (here.is_loopback and asked.is_loopback)


def _right(request: web.BaseRequest) -> Right:
    """The right that the request's route needs. Under no route, and outside the API, there are only the page's files,
    which hold no data."""
    path = request.path
    fallback = Right.READ if path.startswith(("/api", "/metrics")) else Right.NONE
    return _RIGHTS.get(path, fallback)


def _is_ours(request: web.BaseRequest) -> bool:
    """Whether a request comes from our own page, as browsers say; of other programs, which say nothing, True.

    A link to the page from elsewhere may be followed: it shows nothing to whoever made the link.
    """
    origin = request.headers.get("Origin")
    if origin is not None and origin.lower() != f"{request.scheme}://{request.headers.get('Host', '')}".lower():
        return False
    if request.headers.get("Sec-Fetch-Site", "none") in ("same-origin", "none"):
        return True
    navigates = request.headers.get("Sec-Fetch-Mode") == "navigate"
    return navigates and request.method == "GET" and request.path == "/"


async def _answer(request: web.BaseRequest, handler: Handler) -> web.StreamResponse:
    """The handler's answer; an exception of aiohttp or of the handler becomes a failure in our own form."""
    try:
        return await handler(request)
    except BadRequest as error:
        return failure(400, str(error), "see deploy/API.md")
    except Busy:
        return _too_often("the site has no more time for answers")
    except web.HTTPMethodNotAllowed as error:
        answer = failure(405, "that method is not answered here", "see deploy/API.md")
        answer.headers["Allow"] = ", ".join(sorted(error.allowed_methods))
        return answer
    except web.HTTPException as error:
        return failure(error.status, error.reason.lower(), "see deploy/API.md")


def _too_often(error: str) -> web.Response:
    answer = failure(429, error, "ask less often")
    answer.headers["Retry-After"] = "1"
    return answer
