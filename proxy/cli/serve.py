"""`isthmus serve`."""

from pathlib import Path

from proxy import log
from proxy.config import load
from proxy.net.service import run as run_site
from proxy.web.server import StatusServer


def run(config: Path) -> int:
    """Load, log, serve; the exit code."""
    site = load(config)
    log.configure(site.log.level, site.log.format)
    return run_site(site, StatusServer)
