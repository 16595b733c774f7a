"""History files, as sites that have ended leave them."""

from pathlib import Path

from proxy.history.file import open_history
from proxy.observe.answers import Event, Severity


def keep(path: Path, *words: str, site: str = "east") -> None:
    """A site's history file with such events, one a second since 1970."""
    file, _ = open_history(path, 0.0)
    file.claim(site)
    events = [Event(n + 1, float(n), "IST-101", Severity.INFO, "site", each, "", 1) for n, each in enumerate(words)]
    file.write({}, events, {}, 0.0)
    file.close()
