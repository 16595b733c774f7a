"""`isthmus serve`."""

import os
from functools import partial
from pathlib import Path

from proxy import log
from proxy.cli.users import as_user, other_owner
from proxy.config.loading import load
from proxy.config.mistakes import ConfigError
from proxy.config.model import SiteConfig
from proxy.doctor import host, resources, trust
from proxy.doctor.facts import Zone
from proxy.doctor.findings import Level
from proxy.errors import ExitCode, OperatorError
from proxy.net.service import Front
from proxy.net.service import run as run_site
from proxy.net.threads import ensure_threads
from proxy.net.watching import Known
from proxy.observe import codes
from proxy.text import typed
from proxy.web.server import StatusServer
from proxy.web.settings import Settings


def run(config: Path) -> int:
    """Load, log, serve; the exit code."""
    site = _load(config)
    _refuse_for_another(site)
    ensure_threads()
    log.configure(site.log.level, site.log.format)
    settings = settings_of(site)
    try:
        return run_site(site, lambda listener, front: StatusServer(settings, _told(front), listener), history_of(site))
    finally:
        log.flush()  # before what the command line has to say


def _load(config: Path) -> SiteConfig:
    """The configuration. Raises ConfigError.

    Mistakes that may pass by themselves, such as a certificate that is not valid yet because this host has no battery
    for its clock and has not heard from a time server so far, exit with FAILED: upon that code, unlike CONFIGURATION, a
    service manager tries again.
    """
    try:
        return load(config)
    except ConfigError as error:
        if all(mistake.passes for mistake in error.mistakes):
            error.code = ExitCode.FAILED
        raise


def _refuse_for_another(site: SiteConfig) -> None:
    """Raises OperatorError if root serves for another user: root can read any key, but the store and the history that
    it makes could not be opened by the site's user later."""
    key = site.identity.key
    owner = other_owner(key)
    if os.geteuid() == 0 and owner is not None:
        wrong = f"the key {key} is {owner}'s, who could not open the store and the history that root makes"
        remedy = as_user(owner, "isthmus", "serve", site.source)
        as_root = f"or, if the site is to run as root, {typed('chown', 'root', key)}"
        raise OperatorError(f"{wrong}; {remedy}; {as_root}", ExitCode.CONFIGURATION)


def _told(front: Front) -> Front:
    """The front, whose site is told what it does not look at itself, for it to say so before that hurts."""
    front.watching.judge = partial(_judged, host.zone())
    return front


def _judged(zone: Zone | None, site: SiteConfig) -> list[Known]:
    """By the limits that hold now, and by the time zone that the process has had since its start."""
    found = [(codes.MEMORY_LIMITED, each) for each in resources.limit(site, host.memory())]
    found += [(codes.ZONE_UNKNOWN, each) for each in trust.zone(site, zone) if each.level is not Level.OK]
    return [(code, each.found, each.remedy) for code, each in found]


def settings_of(site: SiteConfig) -> Settings:
    """The section [status] as the listener wants it."""
    status = site.status
    return Settings(
        host=status.listen.host,
        certificate=status.certificate,
        key=status.key,
        token=status.token,
        control_token=status.control_token,
        clients=status.clients,
        names=status.names,
    )


def history_of(site: SiteConfig) -> Path:
    """The file that keeps history: as configured, or in systemd's state directory, or beside the site's file."""
    if site.status.history is not None:
        return site.status.history
    state = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    return (Path(state) if state else site.source.parent) / f"{site.site.name}-history.db"
