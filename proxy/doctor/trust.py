"""Certificates that end, the clock by which they are judged, and the time zone in which it is read."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from proxy.config.model import SiteConfig
from proxy.doctor.facts import Clock, Zone
from proxy.doctor.findings import Finding, attention, ok, problem
from proxy.figures import ENDS_SOON, remaining
from proxy.identity import Certificate, compare_clocks, if_clock_is_right, show_fingerprint, show_moment

CLOCK = "clock"
ZONE = "time zone"
SOON = timedelta(seconds=ENDS_SOON)
DRIFT = 3600.0
"""Seconds that a file's time may be ahead of the clock: it was written on another host, or by another time zone."""


def renewal(site: str) -> str:
    """How a site gets its next certificate."""
    made = f"isthmus keygen --site {site} --out DIR --force on its host"
    return f"{made}, the .crt to the other site, then isthmus reload on both"


CA_RENEWAL = "have the CA renew it, put the new one into the file of identity.ca on all sites, then isthmus reload"


def certificate(about: str, facts: Certificate, now: datetime, anew: str) -> Finding:
    """`about`: whose it is; `anew`: how its successor is made."""
    shown = f"{facts.name}, SHA-256 {show_fingerprint(facts.fingerprint)[:23]}..., until {facts.expires:%Y-%m-%d}"
    if now < facts.begins:
        return problem(about, f"{shown}: it is not valid before {show_moment(facts.begins)}", compare_clocks(now))
    if now >= facts.expires:
        remedy = f"{if_clock_is_right(now)}: {anew}"
        return problem(about, f"{shown}: it has expired, and who shows it is refused", remedy)
    if facts.expires - now < SOON:
        return attention(about, f"{shown}: that is in {remaining((facts.expires - now).total_seconds())}", anew)
    return ok(about, shown)


def names(facts: Certificate, site: str) -> Iterator[Finding]:
    """Of this site's own certificate, where a private CA vouches for names."""
    if site not in facts.sites:
        found = (
            f"it is for {', '.join(facts.sites) or 'nobody by name'}, not for {site}: who does not pin it refuses it"
        )
        yield attention("own certificate", found, f"have the CA sign one for {site}, or pin this one at every peer")


def pinned(facts: Certificate, peer: str) -> Iterator[Finding]:
    """Of a peer's pinned certificate: TLS takes any name in it, but HELLO refuses a site that is called otherwise."""
    if facts.sites and peer not in facts.sites:
        found = f"it is for {', '.join(facts.sites)}: if that site is not called {peer}, no tunnel to it comes up"
        yield attention(f"certificate of {peer}", found, "have peer.name here be the site.name there")


def clock(facts: Clock) -> Finding:
    """Is it plausible, and does it follow a time server?"""
    says = f"{datetime.fromtimestamp(facts.now, UTC):%Y-%m-%d %H:%M:%S} UTC"
    serve = "timedatectl set-ntp true (systemd-timesyncd), or install and start chrony"
    if facts.now < facts.not_before - DRIFT:
        written = show_moment(datetime.fromtimestamp(facts.not_before, UTC))
        return problem(CLOCK, f"says {says}, but the site's own files were written {written}", f"set it: {serve}")
    if facts.synchronised is None:
        return attention(CLOCK, f"{says}; whether it is synchronised is not told", f"see timedatectl, or: {serve}")
    if facts.synchronised:
        return ok(CLOCK, f"{says}, synchronised")
    found = f"{says}, not synchronised: certificates are judged by it, and the logs of two sites do not compare"
    return attention(CLOCK, found, serve)


def zone(config: SiteConfig, facts: Zone | None) -> Iterator[Finding]:
    """Whether the rates that peers have at certain times begin when they should; elsewhere all times are UTC."""
    if facts is None or not any(peer.schedule for peer in config.peers):
        return
    if facts.known:
        yield ok(ZONE, f"peer.schedule goes by {facts.name or 'UTC, since no other is set'}")
        return
    found = f"{facts.name} is not known here, so UTC is taken: the rates of peer.schedule begin at the wrong hour"
    remedy = "correct it, such as TZ=Europe/Berlin in the unit, ISTHMUS_TIME_ZONE of a container; or install tzdata"
    yield problem(ZONE, found, f"{remedy}; then restart the site")
