"""`isthmus doctor`: facts collected and judged."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dedupstore import lock
from proxy import identity
from proxy.cli import quantities
from proxy.cli.api import Api, Unanswered, asking
from proxy.cli.cells import as_dict, as_dicts, as_list
from proxy.cli.doctor_report import as_data, count, show
from proxy.cli.output import say, waiting
from proxy.cli.processes import believed
from proxy.cli.serve import history_of
from proxy.cli.users import as_user, other_owner
from proxy.config.loading import load
from proxy.config.mistakes import ConfigError
from proxy.config.model import Peer, SiteConfig
from proxy.doctor import addresses, host, kernel, peers, resources, trust, windows
from proxy.doctor.facts import Contact, Running
from proxy.doctor.findings import Finding, Level, attention, problem
from proxy.errors import ExitCode, OperatorError
from proxy.history.reading import why_not_of
from proxy.identity import Certificate, IdentityFault
from proxy.net.loops import loops
from proxy.net.probing import Neighbours, reach_all, try_to_bind
from proxy.net.tls import Certificates
from proxy.observe.codes import HISTORY_IN_MEMORY


@dataclass(frozen=True, slots=True)
class Line:
    """What the operator says about the line: bits a second, seconds."""

    rate: float | None
    round_trip: float | None


def run(config: Path, rate: str | None, round_trip: str | None, as_json: bool) -> int:
    """Look at everything; FAILED if there is a problem. Raises ConfigError, or OperatorError (USAGE)."""
    site = load(config, files=False)
    line = Line(
        quantities.rate("--rate", rate) if rate is not None else None,
        quantities.duration("--round-trip", round_trip) if round_trip is not None else None,
    )
    findings = list(examine(site, line))
    if as_json:
        say(json.dumps(as_data(site.site.name, findings), indent=2))
    else:
        show(findings)
    return ExitCode.FAILED if count(findings, Level.PROBLEM) else ExitCode.OK


def examine(site: SiteConfig, line: Line) -> Iterator[Finding]:
    """All findings, from the outside inward: peers and arrays, the line, this host."""
    # The newest: what started it, such as runuser or a container's init, may have the same words behind its own.
    process = max((int(found.name) for found in believed(site.source, site.identity.key)), default=0)
    running, status, health, silence = _asked(site, process)
    mistakes = _mistakes(site)
    certificates = None if mistakes else _load_certificates(site, mistakes)
    with waiting("peers and exports to answer"):
        reached = reach_all(site.peers, site.exports, certificates, site.tunnel.connect_timeout)
    owner = other_owner(site.identity.key)
    again = as_user(owner, "isthmus", "doctor", site.source) if owner is not None else ""
    yield from resources.user(owner, again)
    yield from silence
    yield from mistakes
    yield from _of_certificates(site)
    for peer in site.peers:
        yield from _of_peer(site, peer, reached, tried=certificates is not None)
        yield from _of_tunnel(peer, status, running, reached)
    yield from _of_other_peers(site, status)
    yield from _of_exports(site, reached)
    yield from _of_listeners(site, running)
    yield from _of_line(site, line, reached, status)
    yield from _of_host(site, status, process, runs=running is not Running.NOT)
    yield from _of_store(site, running, again)
    yield from _of_history(site, health)
    yield trust.clock(host.clock((site.source, site.identity.certificate)))
    yield from trust.zone(site, host.zone(process))
    for alarm in as_list(status.get("alarms")):
        yield attention(addresses.SITE, str(alarm), "see the log of isthmus serve")


def _asked(site: SiteConfig, process: int) -> tuple[Running, dict[str, Any], dict[str, Any], list[Finding]]:
    """Whether the site runs; its status and health, perhaps of another version, empty if it gives none; then, if it
    seems to run all the same, a finding. `process`: its number, or 0."""
    try:
        with asking(site) as api:
            return Running.ANSWERS, api.status(streams=False), _health(api), []
    except OperatorError as error:
        hangs = isinstance(error, Unanswered)
        if process or hangs:
            return Running.SILENT, {}, {}, [addresses.silence(process, error.message, hangs=hangs)]
        return Running.NOT, {}, {}, []


def _health(api: Api) -> dict[str, Any]:
    """Empty if it is not told, whatever the reason: that the site answers is known by then."""
    with suppress(OperatorError):
        return api.get("health")
    return {}


def _mistakes(site: SiteConfig) -> list[Finding]:
    """What is wrong with the files that the configuration names."""
    try:
        load(site.source)
    except ConfigError as error:
        return [problem(mistake.key, mistake.wrong, mistake.remedy) for mistake in error.mistakes]
    return []


def _load_certificates(site: SiteConfig, mistakes: list[Finding]) -> Certificates | None:
    """The certificates, loaded as by the site; None, and one more mistake, if TLS refuses what looked sound."""
    try:
        return Certificates(site)
    except (OSError, ValueError) as error:
        anew = "make certificates and keys with isthmus keygen, which TLS accepts"
        mistakes.append(problem("identity", f"TLS cannot use the certificates: {error}", anew))
        return None


def _of_certificates(site: SiteConfig) -> Iterator[Finding]:
    now = datetime.now(UTC)
    for about, anew, certificate in _all_certificates(site, now):
        yield trust.certificate(about, certificate, now, anew)
    for certificate in _read(site.identity.certificate)[:1] if site.identity.ca else ():
        yield from trust.names(certificate, site.site.name)
    for peer in site.peers:
        for certificate in _read(peer.certificate)[:1]:
            yield from trust.pinned(certificate, peer.name)


def _all_certificates(site: SiteConfig, now: datetime) -> Iterator[tuple[str, str, Certificate]]:
    """Of each certificate that can be read: whose it is, how to make its successor, and what is in it."""
    for certificate in _read(site.identity.certificate)[:1]:
        if certificate.begins <= now < certificate.expires:  # otherwise it is a mistake already
            yield "own certificate", trust.renewal(site.site.name), certificate
    for peer in site.peers:
        for certificate in _read(peer.certificate)[:1]:
            yield f"certificate of {peer.name}", trust.renewal(peer.name), certificate
    for certificate in _read(site.identity.ca):
        yield "certificate of the CA", trust.CA_RENEWAL, certificate


def _read(path: Path | None) -> tuple[Certificate, ...]:
    try:
        return identity.read_certificates(path) if path is not None else ()
    except IdentityFault:
        return ()


def _of_peer(site: SiteConfig, peer: Peer, reached: Neighbours, *, tried: bool) -> Iterator[Finding]:
    reach = reached.peers.get(peer.name)
    if reach is not None and reach.contact is Contact.ACCEPTED and not tried:
        found = f"{peer.address} accepts connections; TLS was not tried"
        yield attention(f"peer {peer.name}", found, "put the certificates above right first")
    elif reach is not None:
        own = site.identity.certificate
        fingerprint = next((certificate.fingerprint for certificate in _read(own)), b"")
        yield peers.reachability(peer, reach, str(own), fingerprint)
        yield from peers.path(peer, reach)


def _of_tunnel(peer: Peer, status: dict[str, Any], running: Running, reached: Neighbours) -> Iterator[Finding]:
    """What only the running site can tell about a peer; or, if it does not run, that it would be needed for that."""
    reach = reached.peers.get(peer.name)
    accepted = reach is not None and reach.contact is Contact.ACCEPTED
    if peer.address is None and running is Running.NOT:
        yield peers.waited_for(peer)
    for state in as_dicts(status.get("peers")):
        if state.get("name") == peer.name:
            refusal = str(status.get("last_refusal") or "")
            yield peers.tunnel(peer.name, state, refusal, dials_in=peer.address is None, reached=accepted)
            yield from peers.refusals(peer.name, state)


def _of_other_peers(site: SiteConfig, status: dict[str, Any]) -> Iterator[Finding]:
    """Peers that the file has and the running site, if it tells of any, has not; and the other way round."""
    known = [peer.name for peer in site.peers]
    told = (state.get("name") for state in as_dicts(status.get("peers")))
    named = [name for name in told if isinstance(name, str)]
    yield from (peers.added(name) for name in known if named and name not in named)
    yield from (peers.removed(name) for name in named if name not in known)


def _of_exports(site: SiteConfig, reached: Neighbours) -> Iterator[Finding]:
    """What is found about exports. What answers at one that leads back to this site says nothing about an array."""
    back = {export.name: forward for export, forward in loops(site)}
    for export in site.exports:
        if export.name in back:
            yield addresses.loop(export, back[export.name])
        else:
            yield addresses.export(export.name, export.address, reached.exports[export.name])


def _of_listeners(site: SiteConfig, running: Running) -> Iterator[Finding]:
    wanted = [
        ("tunnel listener", "tunnel.listen", site.tunnel.listen),
        ("status listener", "status.listen", site.status.listen),
    ]
    wanted += [(f"forward {forward.name}", "forward.listen", forward.listen) for forward in site.forwards]
    for about, key, address in wanted:
        if address is not None:
            yield addresses.listener(about, key, address, try_to_bind(address), running)


def _of_line(site: SiteConfig, line: Line, reached: Neighbours, status: dict[str, Any]) -> Iterator[Finding]:
    facts = host.kernel()
    round_trip = line.round_trip or _longest(reached, status)
    root = os.geteuid() == 0 and other_owner(site.identity.key) is None
    yield kernel.congestion(facts, site.tunnel, privileged=root)
    yield from kernel.tuning(facts)
    yield windows.buffers(facts, line.rate, round_trip, site.tunnel.lanes)
    yield from windows.tunnel(site.tunnel, len(site.peers), line.rate, round_trip)
    yield from peers.idle_lanes(site.tunnel, round_trip)
    proven = bool(reached.peers) and all(reach.full_size for reach in reached.peers.values())
    yield from kernel.probing(facts, proven=proven)


def _longest(reached: Neighbours, status: dict[str, Any]) -> float | None:
    """Seconds to the peer that is farthest away, measured now or by the running site."""
    measured = [reach.round_trip for reach in reached.peers.values()]
    measured += [state.get("round_trip_seconds") for state in as_dicts(status.get("peers"))]
    return max((seconds for seconds in measured if isinstance(seconds, int | float) and seconds > 0), default=None)


def _of_host(site: SiteConfig, status: dict[str, Any], process: int, *, runs: bool) -> Iterator[Finding]:
    """`process`: as above."""
    filled = as_dict(status.get("store")).get("prepared") is True
    yield resources.limits(process, runs=runs)
    yield resources.descriptors(site, host.descriptors(process))
    yield resources.processors(host.processors(process))
    memory = host.memory(process)
    yield from resources.memory(site, memory, filled=filled)
    yield from resources.index(site, memory)


def _of_store(site: SiteConfig, running: Running, again: str) -> Iterator[Finding]:
    """A running site's own store is in use, and by that site."""
    path = site.store.path if site.store.mode == "disk" else None
    if path is not None and running is Running.NOT and (holder := lock.holder(path)):
        yield problem(resources.STORE, f"{path} is in use by {holder}", "stop that, or name another store.path")
    yield from resources.disk(site, host.disk(path) if path is not None else None, again)


def _of_history(site: SiteConfig, health: dict[str, Any]) -> Iterator[Finding]:
    kept = history_of(site)
    reasons = as_dicts(health.get("reasons"))
    unkept = next((str(each.get("words", "")) for each in reasons if each.get("code") == str(HISTORY_IN_MEMORY)), "")
    yield resources.history(kept, host.unwritable(kept), why_not_of(kept, site.site.name), unkept)
