"""Asks a running site for its status, over the listener that its file names."""

import json
from http.client import HTTPConnection, HTTPException
from typing import Any

from proxy.config import SiteConfig
from proxy.errors import ExitCode, OperatorError

TIMEOUT = 15.0
"""Seconds that connecting and each read may take: the host may be busy."""
LARGEST_ANSWER = 64 << 20
"""Bytes; 65536 streams a peer need some 30 MiB."""


def fetch_status(config: SiteConfig) -> dict[str, Any]:
    """The status as the site gives it; keys may be missing. Raises OperatorError (UNREACHABLE)."""
    status = _decode(config, _get(config, "/api/v1/status"))
    if status.get("site", config.site.name) != config.site.name:
        other = f"the site that answers there is {status['site']!r}, not {config.site.name!r}"
        raise _unreachable(config, f"{other}; see status.listen in both files")
    return status


def _get(config: SiteConfig, path: str) -> bytes:
    listen = config.status.listen
    connection = HTTPConnection(listen.host, listen.port, timeout=TIMEOUT)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read(LARGEST_ANSWER)
    except (OSError, HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise _unreachable(config, f"{reason}; is `isthmus serve {config.source}` running?") from None
    finally:
        connection.close()
    if response.status != 200:
        raise _unreachable(config, f"HTTP {response.status} {response.reason}; does another program listen there?")
    return body


def _decode(config: SiteConfig, body: bytes) -> dict[str, Any]:
    try:
        status = json.loads(body)
    except (ValueError, RecursionError):
        status = None
    if not isinstance(status, dict):
        raise _unreachable(config, "the answer is not a status; does another program listen there?")
    return status


def _unreachable(config: SiteConfig, reason: str) -> OperatorError:
    where = f"no status of site {config.site.name} from {config.status.listen}"
    return OperatorError(f"{where}: {reason}", ExitCode.UNREACHABLE)
