"""Whether each peer is reached, believes us, and is the one that it should be; and what the path to it takes."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from proxy.config.model import Peer, Tunnel
from proxy.config.units import show_duration
from proxy.doctor.facts import Contact, Reach
from proxy.doctor.findings import Finding, attention, ok, problem
from proxy.doctor.trust import renewal
from proxy.doctor.wording import sysctl
from proxy.figures import A_WHILE, milliseconds
from proxy.identity import show_fingerprint

LEAST_MTU = 1280
"""Bytes, that of IPv6 (RFC 8200); what is smaller wastes the line on headers, and is mostly a mistake."""
_THERE = "run isthmus doctor on its host: it is the side that dials, if peer.address in its file says where"
_ABOVE = "see the finding on the peer above; the log of isthmus serve says more"
_BY_ITS_CLOCK = "bad certificate", "certificate expired"
"""How TLS calls one that does not hold yet, or no more (RFC 8446, section 6.2; OpenSSL); one that is unknown is not."""
_TIMES_ASKED, _LONGEST = 4, 7200
"""What a PING and its answer take is to fit into dead_after that often, as `check` advises; seconds that it may be."""
_REACHED = "isthmus doctor on the host of {} tries it: start the array's target, or correct export.address there"
_AGREED = "make export of the forward at one site, and name, peers and range of the export at the other agree; then"
_AGREED += " isthmus reload where it was changed"
_TAKE_OVER = "isthmus reload, and restart the site if that says so"
_NAMED = "put right what that says, here or there; if it says nothing, see the logs of both sites"


def reachability(peer: Peer, reach: Reach, own_certificate: str, own_fingerprint: bytes) -> Finding:
    """The verdict on a peer that is dialled. `own_certificate`: the path of this site's."""
    about, where = f"peer {peer.name}", str(peer.address)
    if reach.contact is Contact.ACCEPTED:
        return ok(about, f"{where} accepts our certificate and shows its own; round trip {_ms(reach.round_trip)}")
    detail = f" ({reach.detail})" if reach.detail else ""
    found = f"{where}: {reach.contact.value}{detail}"
    if reach.shown:
        found += f"; it shows SHA-256 {show_fingerprint(reach.shown)}"
    judge = attention if reach.contact is Contact.UNCLEAR else problem
    return judge(about, found, _remedy(peer, reach, own_certificate, own_fingerprint))


def _remedy(peer: Peer, reach: Reach, own_certificate: str, own_fingerprint: bytes) -> str:
    assert peer.address is not None
    host, port = peer.address
    give = f"give it {own_certificate} (SHA-256 {show_fingerprint(own_fingerprint)}) as its peer.certificate:"
    give += " type there what `isthmus invite` prints here, with --replace, then `isthmus reload`"
    if any(words in reach.detail for words in _BY_ITS_CLOCK):
        seen = "by its clock ours does not hold yet, or no more: if it does by this host's (own certificate, above)"
        give = f"{seen}, set the clock of {host}; isthmus doctor there tells what that says. Otherwise {give}"
    remedies = {
        Contact.NO_NAME: f"correct peer.address, or the name server: getent hosts {host}",
        Contact.REFUSED: f"start isthmus serve on {host}, with tunnel.listen on port {port}",
        Contact.TIMEOUT: f"let TCP port {port} through every firewall on the way to {host}, and see that it is up",
        Contact.UNREACHABLE: f"see the route: ip route get {host}",
        Contact.BLACK_HOLE: "let ICMP type 3 code 4 (IPv6: ICMPv6 type 2) through the firewalls; or on both hosts: "
        + sysctl("net.ipv4.tcp_mtu_probing = 1"),
        Contact.SILENT: f"see whether a firewall on the way, or another program at port {port}, holds TLS back",
        Contact.NOT_TLS: f"another program may listen there: see ss -ltnp 'sport = :{port}' on {host}",
        Contact.WRONG_CERTIFICATE: _other_certificate(peer, reach.detail),
        Contact.NOT_TRUSTED: give,
        Contact.UNCLEAR: f"run isthmus doctor on {host}, too, and see the log there",
    }
    return remedies[reach.contact]


def _other_certificate(peer: Peer, detail: str) -> str:
    """One that only its dates make wrong is no other one than is pinned here."""
    if "not yet valid" in detail:
        return "see whether the clocks of both hosts are right (clock, below)"
    if "has expired" in detail:
        anew = renewal(peer.name) if peer.certificate else f"have the CA sign a new one for {peer.name}"
        return f"if the clock of this host is right (clock, below): {anew}"
    if not peer.certificate:
        return "use one of the CA's, or correct peer.address"
    typed = "type here what `isthmus invite` prints there, with --replace"
    return f"use its certificate, compared by SHA-256, as {peer.certificate}: {typed}; or correct peer.address"


def path(peer: Peer, reach: Reach) -> Iterator[Finding]:
    """MTU and MSS, as far as a connection came up."""
    if reach.mtu is None or reach.segment is None:
        return
    about = f"path to {peer.name}"
    found = f"MTU {reach.mtu}, MSS {reach.segment}"
    if reach.full_size:
        found += ", packets of full size pass"
    if reach.mtu < LEAST_MTU:
        yield attention(about, found, "see which link has so small an MTU: ip link; tracepath to its address")
    elif reach.discovery is False:
        off = "; path MTU discovery is off: a smaller MTU on the way cuts every packet in pieces"
        yield attention(about, found + off, sysctl("net.ipv4.ip_no_pmtu_disc = 0"))
    else:
        yield ok(about, found)


def tunnel(
    name: str, state: Mapping[str, Any], refusal: str = "", *, dials_in: bool = False, reached: bool = False
) -> Finding:
    """What the running site says of its tunnel to a peer: an entry of `peers` in its status; keys may be missing.

    `refusal`: whom its tunnel listener refused last, and why. Nobody can tell whether it was the peer. `dials_in`: it
    is not dialled, so there is no finding on whether it is reached. `reached`: that finding has nothing amiss, as where
    TLS comes up and the sites then refuse each other by name.
    """
    about, said = f"tunnel to {name}", str(state.get("state", "unknown"))
    lanes = state.get("lanes")
    count = len(lanes) if isinstance(lanes, list) else 0
    error = "nothing is heard on its lanes" if count else str(state.get("last_error") or "")
    if said == "up":
        return ok(about, f"up, {count} {'lane' if count == 1 else 'lanes'}{_measured(state)}")
    if said == "waiting" and count:
        return attention(about, error, _THERE)
    if said == "waiting":
        # It may have dialled in, and been refused in the handshake.
        found = f"no lane is up; the last error: {error}" if error else "it has not dialled in"
        found += f", unless it is what was refused last: {refusal}" if refusal else ""
        return attention(about, found, _THERE)
    if said == "connecting" and not error:
        return attention(about, "not up yet", "run this again in some seconds")
    remedy = _THERE if dials_in else _NAMED if reached else _ABOVE
    return problem(about, f"{said}{f': {error}' if error else ''}", remedy)


def idle_lanes(settings: Tunnel, round_trip: float | None) -> Iterator[Finding]:
    """Is a PING answered before its lane is given up? `round_trip`: seconds to the peer that is farthest away."""
    asked = settings.keepalive + (round_trip or 0.0)
    if settings.dead_after > asked:
        return
    found = f"dead_after ({show_duration(settings.dead_after)}) leaves no time for keepalive"
    found += f" ({show_duration(settings.keepalive)}) and a round trip of {_ms(round_trip)}: lanes that carry nothing"
    found += " are given up again and again, unless the peer asks more often"
    longer = show_duration(min(math.ceil(_TIMES_ASKED * asked), _LONGEST))
    yield attention("idle lanes", found, f'dead_after = "{longer}" in [tunnel], then isthmus reload')


def refusals(name: str, state: Mapping[str, Any]) -> Iterator[Finding]:
    """What the peer has refused of late, by the running site's status; whether an export here is reached, is tried."""
    told = state.get("refusals")
    for each in told if isinstance(told, list) else []:
        seconds = each.get("seconds") if isinstance(each, dict) else None
        if not isinstance(seconds, int | float) or seconds >= A_WHILE:
            continue
        share, words = str(each.get("share", "")), str(each.get("words", ""))
        remedy = _REACHED.format(name) if each.get("reason") == "unreachable" else _AGREED
        if share.startswith("forward "):
            found = f"{name} refuses its connections to export {each.get('asked')}: {words}"
            yield problem(share, found, remedy)
        elif not share:
            yield attention(f"peer {name}", f"it asks for what it may not have: {words}", remedy)


def added(name: str) -> Finding:
    """A peer of the file that the running site, which has not taken that over, does not have."""
    found = "the running site does not know it, and refuses it: it has come into the file since"
    return problem(f"tunnel to {name}", found, _TAKE_OVER)


def removed(name: str) -> Finding:
    """A peer of the running site that is not in its file any more."""
    found = "the running site has it still: it is not in the file any more"
    return attention(f"tunnel to {name}", found, f"{_TAKE_OVER}; or write it into the file again")


def waited_for(peer: Peer) -> Finding:
    """A peer without an address, while no site runs that could say more."""
    return ok(
        f"peer {peer.name}", "dials in; start this site, then isthmus doctor on its host says whether it gets through"
    )


def _measured(state: Mapping[str, Any]) -> str:
    seconds = state.get("round_trip_seconds")
    return f", round trip {_ms(seconds)}" if isinstance(seconds, int | float) else ""


def _ms(seconds: float | None) -> str:
    return "unknown" if seconds is None else milliseconds(seconds)
