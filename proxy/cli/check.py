"""`isthmus check`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from proxy import identity
from proxy.cli.output import say
from proxy.config.loading import load
from proxy.config.model import Forward, Peer, SiteConfig
from proxy.config.units import show_size
from proxy.doctor import trust
from proxy.figures import remaining
from proxy.identity import Certificate
from proxy.net.loops import refuse_loops


def run(config: Path) -> None:
    """Say what the site would do, and what to beware of. Raises ConfigError, or OperatorError."""
    site = load(config)
    refuse_loops(site)  # finds them on the site's own host only
    say(f"{config} is valid.")
    for what, text in _summary(site):
        say(f"  {what:<8} {text}")
    for warning in _warnings(site, datetime.now(UTC)):
        say(f"warning: {warning}", err=True)


def _summary(site: SiteConfig) -> Iterator[tuple[str, str]]:
    yield "site", f"{site.site.name}, certificate {_certificate(site.identity.certificate)}"
    yield "tunnel", f"listens on {site.tunnel.listen}" if site.tunnel.listen else "does not listen, only dials"
    for peer in site.peers:
        yield "peer", _peer(peer)
    for forward in site.forwards:
        yield "forward", f"{forward.name}: {forward.listen} to {forward.export} at {forward.peer}{_portals(forward)}"
    for export in site.exports:
        reach = f"{export.address} and {export.range}" if export.range else str(export.address)
        yield "export", f"{export.name}: {reach} for {', '.join(export.peers)}"
    place = f" in {site.store.path}" if site.store.mode == "disk" else ""
    yield "store", f"{site.store.mode}, {show_size(site.store.size)}{place}"
    yield "status", f"{'https' if site.status.certificate else 'http'}://{site.status.listen}"


def _peer(peer: Peer) -> str:
    reached = f"dialled at {peer.address}" if peer.address else "waited for"
    known = f"certificate {_certificate(peer.certificate)}" if peer.certificate else "recognised by name (identity.ca)"
    return f"{peer.name}: {reached}, {known}"


def _portals(forward: Forward) -> str:
    """The portals that the forward leads to beside its export."""
    stands = f"; stands for {forward.portal}" if forward.portal else ""
    if forward.transparent:
        stands = f"; redirected connections to {forward.range}"
    return stands + (f"; on demand {forward.range} on ports {forward.ports}" if forward.ports else "")


def _certificate(path: Path) -> str:
    certificate = identity.read_certificates(path)[0]
    return f"{identity.show_fingerprint(certificate.fingerprint)} until {certificate.expires:%Y-%m-%d}"


def _warnings(site: SiteConfig, now: datetime) -> Iterator[str]:
    pinned = {peer.certificate: peer.name for peer in site.peers if peer.certificate is not None}
    for path in [site.identity.certificate, *pinned]:
        yield from _dates(path, identity.read_certificates(path)[0], now, "make a new one and give it to both sites")
    for path, name in pinned.items():
        for finding in trust.pinned(identity.read_certificates(path)[0], name):
            yield f"{path}: {finding.found}; {finding.remedy}"
    if site.identity.ca:
        for authority in identity.read_certificates(site.identity.ca):
            yield from _dates(site.identity.ca, authority, now, trust.CA_RENEWAL)
        if site.site.name not in identity.read_certificates(site.identity.certificate)[0].sites:
            yield f"the certificate is not for the name {site.site.name}: a peer that does not pin it will refuse it"


def _dates(path: Path, certificate: Certificate, now: datetime, anew: str) -> Iterator[str]:
    if certificate.begins > now:
        begins = identity.show_moment(certificate.begins)
        yield f"{path} ({certificate.name}) is not valid before {begins}; {identity.compare_clocks(now)}"
    elif certificate.expires <= now:
        ended = identity.show_moment(certificate.expires)
        remedy = f"{identity.if_clock_is_right(now)}, {anew}"
        yield f"{path} ({certificate.name}) has expired ({ended}), and who shows it is refused; {remedy}"
    elif (left := certificate.expires - now) < trust.SOON:
        yield f"{path} expires in {remaining(left.total_seconds())}; {anew}"
