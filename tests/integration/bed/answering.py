"""Whether sites answer all the while, whatever a disk, a peer or an array does: no event loop stands still.

with answering(pair.east, pair.west):
    ...
"""

import contextlib
import http.client
import threading
import time
from collections.abc import Iterator
from functools import partial

from bench.sites import Site
from tests.meanwhile import meanwhile

LATEST = 4.5
"""Seconds an answer may take: less than what stalls in these tests, and more than a busy machine stands still for."""
_PAUSE = 0.1


@contextlib.contextmanager
def answering(*sites: Site) -> Iterator[None]:
    """Ask each site for /healthz again and again meanwhile; all have to say in time that they are ready."""
    wrong: list[str] = []
    with meanwhile(*(partial(_ask, site, wrong) for site in sites)):
        yield
    assert not wrong, wrong


def _ask(site: Site, wrong: list[str], over: threading.Event) -> None:
    while not over.wait(_PAUSE):
        began = time.monotonic()
        try:
            code, said = site.get("/healthz")
        except OSError as error:
            wrong.append(f"{site.name} does not answer: {error}")
        else:
            if code != http.client.OK:
                wrong.append(f"{site.name} says {said!r}")
        if (seconds := time.monotonic() - began) > LATEST:
            wrong.append(f"{site.name} took {seconds:.1f} s")
