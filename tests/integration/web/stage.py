"""What these tests share: the API's answers, waited for, and what a site's history file holds by now."""

import http.client
import json
import sqlite3
from array import array
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.sites import Site
from proxy.observe.steps import at
from proxy.web.routes import API
from tests.patience import PATIENCE


def ask(site: Site, path: str) -> Any:
    """An answer of the API."""
    code, body = site.get(f"{API}/{path}")
    assert code == http.client.OK, body
    return json.loads(body)


def until(site: Site, path: str, holds: Callable[[Any], bool]) -> Any:
    """Wait until an answer is as it should be; that answer."""
    found: list[Any] = []

    def look() -> bool:
        found[:] = [ask(site, path)]
        return holds(found[0])

    site.wait_for(look, f"does not answer {path} as it should", PATIENCE)
    return found[0]


def raw(site: Site) -> int:
    """What the history says was sent in the last hour."""
    return int(ask(site, "history?range=1h")["waterfall"]["raw"])


def wait_written(site: Site, path: Path, sent: int, events: int) -> None:
    """Wait until the file holds so many bytes sent, and events: a site that ends does not wait long for its disk."""

    def written() -> bool:
        with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
            rows = connection.execute("SELECT row FROM step WHERE range = '1h' AND series = 'site'").fetchall()
            told = connection.execute("SELECT count(*) FROM event").fetchone()[0]
        return sum(at(array("d", row), "raw") for (row,) in rows) == sent and told >= events

    site.wait_for(written, "does not write down its history", PATIENCE)
