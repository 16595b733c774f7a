"""Asks a running site by its status listener, which its file names. Every failure becomes words for an operator."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any

from proxy.cli.output import waiting
from proxy.config.model import SiteConfig
from proxy.errors import ExitCode, OperatorError
from proxy.identity import IdentityFault, read_token
from proxy.net.inquiry import TIMEOUT, Inquiry, OtherCertificate, find_token
from proxy.text import printable, typed

API = "/api/v1"
_REFUSALS = 400, 401, 403, 421, 429
"""HTTP statuses with which the listener says in words why it refuses."""
_RELOAD = "systemctl reload, or kill -HUP with the number of its process"
"""What works without the listener."""


def fetch_status(config: SiteConfig) -> dict[str, Any]:
    """The status as the site gives it; keys may be missing. Raises OperatorError as `Api.status`."""
    with asking(config) as api:
        return api.status()


@contextmanager
def asking(config: SiteConfig, timeout: float = TIMEOUT) -> Iterator["Api"]:
    """Ask the site, as `Api`; if it takes long to answer, say at a terminal what is waited for."""
    with waiting(f"site {config.site.name} to answer at {config.status.listen}"), Api(config, timeout) as api:
        yield api


class Unanswered(OperatorError):
    """Somebody takes connections at the status listener's address, and has not answered in time."""


class Api:
    """A running site. A context manager; one thread. What it answers may come from another version."""

    def __init__(self, config: SiteConfig, timeout: float = TIMEOUT) -> None:
        """`timeout`: seconds that connecting and each answer may take."""
        self._config = config
        self._timeout = timeout
        self._inquiry = Inquiry(config, timeout)

    def __enter__(self) -> "Api":
        return self

    def __exit__(self, *raised: object) -> None:
        self._inquiry.__exit__(None, None, None)

    def status(self, *, streams: bool = True, control: bool = False) -> dict[str, Any]:
        """Raises OperatorError as `get`, also (UNREACHABLE) if another site answers.

        `streams`: with them, of which a hub may have a thousand; a site of an earlier version always gives them.
        `control`: by the control token, if there is one, since the site may not know the other any longer.
        """
        control = control and self._config.status.control_token is not None
        if streams:
            return self._status("status", control=control)
        try:
            return self._status("status?streams=none", control=control)
        except OperatorError as error:
            if error.code == ExitCode.UNREACHABLE:
                raise
        return self._status("status", control=control)

    def _status(self, what: str, *, control: bool) -> dict[str, Any]:
        status = self._decode(self._answer(f"{API}/{what}", control=control))
        if status.get("site", self._config.site.name) != self._config.site.name:
            other = f"the site that answers there is {status['site']!r}, not {self._config.site.name!r}"
            raise self._unreachable(f"{other}; see status.listen in both files")
        return status

    def get(self, what: str) -> dict[str, Any]:
        """`what`: below /api/v1, query included. Raises OperatorError (UNREACHABLE, or FAILED if it is refused).

        The latter includes IdentityFault, if the certificate by which the listener is known cannot be read.
        """
        return self._decode(self._answer(f"{API}/{what}"))

    def get_if_known(self, what: str) -> dict[str, Any]:
        """As `get`; empty for what a site of an earlier version does not know, or refuses to tell."""
        try:
            return self.get(what)
        except OperatorError as error:
            if error.code == ExitCode.UNREACHABLE and "HTTP 404" not in error.message:
                raise
            return {}

    def metrics(self) -> bytes:
        """As Prometheus reads them. Raises OperatorError."""
        return self._answer("/metrics")

    def post(self, what: str) -> dict[str, Any]:
        """Have the site do something. Raises OperatorError (UNREACHABLE, or FAILED if it is refused)."""
        return self._decode(self._answer(f"{API}/{what}", "POST", control=True))

    def _answer(self, path: str, method: str = "GET", *, control: bool = False) -> bytes:
        try:
            response, body = self._inquiry.ask(path, method, control=control)
        except TimeoutError:
            raise self._unanswered() from None
        except OtherCertificate as error:
            replaced = f"if that was replaced, have the site read it anew: {_RELOAD}"
            raise self._unreachable(f"{error}; {replaced}; otherwise it is another program") from None
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            raise self._unreachable(
                f"{reason}; is `{typed('isthmus', 'serve', self._config.source)}` running?"
            ) from None
        except HTTPException:
            raise self._unreachable("the answer is not HTTP; does another program listen there?") from None
        if response.status in _REFUSALS and (refusal := _refusal(body)):
            if response.status == HTTPStatus.UNAUTHORIZED:
                refusal = self._of_token(control=control)
            raise OperatorError(f"site {self._config.site.name} refuses {path}: {refusal}")
        if response.status != 200:
            http = f"HTTP {response.status} {printable(response.reason)}"
            raise self._unreachable(f"{http}; does another program listen there, or a site of an earlier version?")
        return body

    def _decode(self, body: bytes) -> dict[str, Any]:
        found = _json_object(body)
        if found is None:
            raise self._unreachable("the answer is not a status; does another program listen there?")
        return found

    def _of_token(self, *, control: bool) -> str:
        """Why it wants another token, or one. The listener's own words are for programs: which header to send."""
        status = self._config.status
        if shown := find_token(status, control=control):
            return self._unknown_token(shown[0])
        key, path = "status.token", status.token or status.control_token
        if control or path is None:
            key = "status.control_token" if control else key
            return f"a token is needed, and {self._config.source} names none; name the file of the site's as {key}"
        try:
            read_token(path, key)
        except IdentityFault as fault:
            return f"a token is needed, but {fault}"
        return self._unknown_token(path)  # which has become readable since

    def _unknown_token(self, path: Path) -> str:
        remedy = _RELOAD
        if self._config.status.control_token not in (None, path):
            remedy = typed("isthmus", "reload", self._config.source)
        unknown = f"it does not know the token in {path}, and may still have the one that it read at its start"
        return f"{unknown}; have it read the file anew: {remedy}"

    def _unreachable(self, reason: str) -> OperatorError:
        return OperatorError(f"{self._nothing}: {reason}", ExitCode.UNREACHABLE)

    def _unanswered(self) -> Unanswered:
        port = self._config.status.listen.port
        remedy = f"does it hang, or is it another program? ss -ltnp 'sport = :{port}' tells"
        late = f"no answer within {self._timeout:.0f} s from who listens there"
        return Unanswered(f"{self._nothing}: {late}; {remedy}", ExitCode.UNREACHABLE)

    @property
    def _nothing(self) -> str:
        return f"no status of site {self._config.site.name} from {self._config.status.listen}"


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _refusal(body: bytes) -> str | None:
    """Why it refuses, in the listener's own words; None if it has none."""
    problem = _json_object(body) or {}
    words = [printable(str(problem[key])) for key in ("error", "remedy") if problem.get(key)]
    return "; ".join(words) or None
