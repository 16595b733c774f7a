"""Reads the live site and fills the snapshot that `proxy.observe` defines."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from heapq import nlargest
from typing import TYPE_CHECKING

from proxy import __version__
from proxy.net.lane import Lane
from proxy.net.peer import Peer
from proxy.net.portals import Portals
from proxy.net.relay import Relay
from proxy.observe.advice import advise
from proxy.observe.counters import Traffic, together
from proxy.observe.snapshot import LaneStatus, PeerStatus, Snapshot, StoreStatus, StreamStatus, VerdictStatus
from proxy.observe.verdict import Verdict
from proxy.observe.volume_status import volume_status
from proxy.observe.waiting import SECOND, Times, Waiting

if TYPE_CHECKING:
    from proxy.net.site import Site

_WAITING = [(waiting, waiting.value) for waiting in Waiting]


def survey(site: "Site") -> Snapshot:
    """A snapshot of the site. Loop thread."""
    return replace(measured(site), streams=[_stream(peer, relay) for peer, relay in _live(site)])


def measured(site: "Site") -> Snapshot:
    """A snapshot that says of streams how many each peer has. Loop thread."""
    snapshot = outline(site)
    volumes = [[volume_status(volume) for volume in peer.relays.volumes.all()] for peer in site.peers.values()]
    peers = [replace(peer, volumes=own) for peer, own in zip(snapshot.peers, volumes, strict=True)]
    return replace(snapshot, peers=peers)


def busiest(site: "Site", count: int) -> list[StreamStatus]:
    """The `count` live streams that move most. Loop thread."""
    most = nlargest(count, _live(site), key=lambda each: each[1].waits.rate("sent") + each[1].waits.rate("delivered"))
    return [_stream(peer, relay) for peer, relay in most]


def compressing(site: "Site") -> Mapping[tuple[str, str], int]:
    """How many live streams each peer has, by what compresses them; `none` always. Loop thread."""
    counted = Counter({(name, "none"): 0 for name in site.peers})
    counted.update((peer.name, relay.compression.in_words) for peer, relay in _live(site))
    return counted


def outline(site: "Site") -> Snapshot:
    """A snapshot that says of streams how many each peer has, and nothing of volumes. Loop thread.

    Only this is cheap enough for once a second: to describe a stream takes 0.1 ms, so a thousand streams, even if they
    all rest, would hold up everything else for a tenth of each second; and a hub may know a thousand volumes.
    """
    peers = [_peer(peer, site.forwards.portals[name]) for name, peer in site.peers.items()]
    return Snapshot(
        site=site.config.site.name,
        version=__version__,
        started=site.started,
        uptime_seconds=time.monotonic() - site.began,
        ready=site.ready,
        draining=site.draining,
        peers=peers,
        streams=[],
        store=StoreStatus(**asdict(site.worker.store.figures()), prepared=site.worker.prepared),
        bytes=_together(peers),
        refused=site.door.refused if site.door is not None else 0,
        last_refusal=site.door.last_refusal if site.door is not None else "",
        certificates=list(site.certificates.status),
        reload_problem=site.reload_problem,
        processor_share=round(site.environment.processor.share, 3),
        alarms=site.alarms(),
    )


def _bytes(total: Traffic, wire: Mapping[str, int]) -> dict[str, int]:
    return {
        **total.as_dict(),
        "wire": wire["sent"],
        "wire_retransmitted": wire["retransmitted"],
        "wire_received": wire["received"],
    }


def _together(peers: Iterable[PeerStatus]) -> dict[str, int]:
    total = Counter(_bytes(Traffic(), Counter()))
    for peer in peers:
        total.update(peer.bytes)
    return dict(total)


def _peer(peer: Peer, portals: Portals) -> PeerStatus:
    figures = peer.tunnel.figures
    verdict = peer.relays.lookout.verdict()
    traffic = peer.relays.traffic()
    return PeerStatus(
        name=peer.name,
        state=peer.state,
        known_seconds=peer.known_seconds,
        lanes=[_lane(lane) for lane in peer.lanes],
        round_trip_seconds=figures.round_trip,
        outages=figures.outages,
        resumed=peer.resumed,
        shutdowns=peer.shutdowns,
        tunnel_resets=peer.tunnel_resets,
        short_packets=peer.short_packets,
        other_congestion_control=peer.other_congestion_control,
        drains=peer.tunnel.peer_drains,
        ended_seconds=peer.ended_seconds,
        farewell=peer.farewell,
        streams=len(peer.relays),
        unacked_bytes=figures.unacked_bytes,
        copied_bytes=figures.copied_bytes,
        references_suspended=peer.relays.references_suspended,
        store_bytes_per_second=peer.relays.relief.rate or None,
        last_error=peer.last_error,
        bytes=_bytes(together(traffic.values()), peer.lanes.wire()),
        ended_streams=dict(peer.relays.ended.reasons),
        refused_streams=dict(peer.relays.refusals.counts),
        refusals=peer.relays.refusals.status(),
        fallbacks=dict(peer.relays.fallbacks),
        portals={"rewritten": portals.rewritten, "passed": portals.passed},
        on_demand=portals.status(),
        verdict=_verdict(verdict),
        waiting_seconds=_seconds(peer.relays.lookout.waited),
        rate_bits_per_second=peer.shares.rate,
        held_seconds=peer.shares.held_seconds,
        shares=peer.shares.status(traffic),
        volumes=[],
        advice=advise(peer.relays.volumes.written.busiest, peer.relays.volumes.average_write, verdict),
    )


def _lane(lane: Lane) -> LaneStatus:
    info = lane.tcp_info()
    return LaneStatus(
        number=lane.number,
        remote=lane.remote,
        dialler=lane.dialler,
        dscp=lane.mark,
        congestion_control=lane.congestion_control,
        round_trip_seconds=info.round_trip_seconds,
        congestion_window_segments=info.congestion_window_segments,
        segment_bytes=info.segment_bytes,
        silent=lane.silent,
        bytes_sent=info.bytes_sent,
        bytes_retransmitted=info.bytes_retransmitted,
        bytes_received=info.bytes_received,
    )


def _live(site: "Site") -> list[tuple[Peer, Relay]]:
    return [(peer, relay) for peer in site.peers.values() for relay in peer.relays]


def _stream(peer: Peer, relay: Relay) -> StreamStatus:
    tally = relay.coders.tally
    return StreamStatus(
        id=relay.stream,
        peer=peer.name,
        forward=relay.name if relay.opener else None,
        export=None if relay.opener else relay.name,
        origin=relay.origin,
        initiator=tally.initiator if tally else None,
        target=tally.target if tally else None,
        direction="outward" if relay.opener else "inward",
        age_seconds=time.monotonic() - relay.began,
        compression=relay.compression.in_words,
        bytes=relay.traffic.as_dict(),
        sent_bits_per_second=round(8 * relay.waits.rate("sent")),
        delivered_bits_per_second=round(8 * relay.waits.rate("delivered")),
        verdict=_verdict(peer.relays.lookout.verdict_of(relay)),
        waiting_seconds=_seconds(relay.waits.total),
    )


def _verdict(verdict: Verdict) -> VerdictStatus:
    return VerdictStatus(verdict.limit.value, round(verdict.share, 3), verdict.words)


def _seconds(times: Times) -> dict[str, float]:
    """Seconds for each `Waiting`, also where they are 0, so that no counter comes and goes."""
    return {name: times.get(waiting, 0) / SECOND for waiting, name in _WAITING}
