"""The metrics that Prometheus sees. Names, units and meanings are public interface and are declared here alone."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from proxy.observe.snapshot import (
    CommandsStatus,
    HistogramStatus,
    PeerStatus,
    ShareStatus,
    Snapshot,
    StoreStatus,
    VolumeStatus,
)
from proxy.observe.volumes import FORMER

Family = type[CounterMetricFamily] | type[GaugeMetricFamily] | type[HistogramMetricFamily]
T = TypeVar("T")
"""What values are made from: the snapshot, without its streams, or the watch (`watch_metrics`)."""
Samples = Iterable[tuple[tuple[str, ...], float | HistogramStatus]]


@dataclass(frozen=True, slots=True)
class Declaration(Generic[T]):
    """A metric: name, kind, meaning, labels, and where its values come from."""

    name: str
    family: Family
    help: str
    labels: tuple[str, ...]
    values: Callable[[T], Samples]


def _per_peer(value: Callable[[PeerStatus], float]) -> Callable[[Snapshot], Samples]:
    return lambda snapshot: [((peer.name,), value(peer)) for peer in snapshot.peers]


def _bytes(key: str) -> Callable[[Snapshot], Samples]:
    return _per_peer(lambda peer: peer.bytes[key])


def _site(value: Callable[[Snapshot], float]) -> Callable[[Snapshot], Samples]:
    return lambda snapshot: [((), value(snapshot))]


def _store(value: Callable[[StoreStatus], float]) -> Callable[[Snapshot], Samples]:
    return lambda snapshot: [((), value(snapshot.store))]


def _per_key(counts: Callable[[PeerStatus], Mapping[str, float]]) -> Callable[[Snapshot], Samples]:
    """One sample for each key of a peer's counts."""
    return lambda snapshot: [
        ((peer.name, key), count) for peer in snapshot.peers for key, count in counts(peer).items()
    ]


def _ends(snapshot: Snapshot) -> Samples:
    """The earliest end for each role and name: a file may have an old and a new certificate of the same name."""
    ends: dict[tuple[str, ...], float] = {}
    for each in snapshot.certificates:
        whose = each.role, each.name
        ends[whose] = min(each.expires, ends.get(whose, each.expires))
    return ends.items()


def _per_share(value: Callable[[ShareStatus], float]) -> Callable[[Snapshot], Samples]:
    return lambda snapshot: [
        ((peer.name, share.name), value(share)) for peer in snapshot.peers for share in peer.shares
    ]


def _of_share(what: str) -> Callable[[Snapshot], Samples]:
    return _per_share(lambda share: share.bytes[what])


def _counted(peer: PeerStatus) -> list[VolumeStatus]:
    """All volumes but the former ones: each had a series that has ended, and a series of them all would leap whenever
    another joins."""
    return [volume for volume in peer.volumes if volume.share or volume.target != FORMER.target]


def _per_volume(value: Callable[[VolumeStatus], float]) -> Callable[[Snapshot], Samples]:
    return lambda snapshot: [
        ((peer.name, volume.share, volume.target, volume.unit), value(volume))
        for peer in snapshot.peers
        for volume in _counted(peer)
    ]


def _per_access(value: Callable[[CommandsStatus], float | HistogramStatus]) -> Callable[[Snapshot], Samples]:
    return lambda snapshot: [
        ((peer.name, volume.share, volume.target, volume.unit, access), value(commands))
        for peer in snapshot.peers
        for volume in _counted(peer)
        for access, commands in (("read", volume.reads), ("write", volume.writes))
    ]


def _faster_line(snapshot: Snapshot) -> Samples:
    """1 for the zone that a peer is in, 0 for the others; all 0 before anything has been written."""
    return [
        ((peer.name, zone), float(peer.advice is not None and peer.advice.colour == zone))
        for peer in snapshot.peers
        for zone in ("green", "yellow", "red")
    ]


C, G, H = CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
_PEER = ("peer",)
_SHARE = ("peer", "share")
_VOLUME = ("peer", "share", "target", "unit")
"""32 volumes a peer at most, and one for all others (proxy/observe/volumes.py); none for former ones."""
_ACCESS = (*_VOLUME, "access")

DECLARATIONS: tuple[Declaration[Snapshot], ...] = (
    Declaration(
        "isthmus_ready", G, "1 while the site takes new connections", (), _site(lambda s: s.ready and not s.draining)
    ),
    Declaration("isthmus_draining", G, "1 while the site drains", (), _site(lambda s: s.draining)),
    Declaration("isthmus_uptime_seconds", G, "Seconds since the site started", (), _site(lambda s: s.uptime_seconds)),
    Declaration("isthmus_alarms", G, "Alarms that an operator must act on", (), _site(lambda s: len(s.alarms))),
    Declaration(
        "isthmus_refused_connections", C, "Connections refused at the tunnel (IST-201)", (), _site(lambda s: s.refused)
    ),
    Declaration("isthmus_peer_up", G, "1 while a lane is up and heard of", _PEER, _per_peer(lambda p: p.state == "up")),
    Declaration("isthmus_peer_lanes", G, "Lanes that are up", _PEER, _per_peer(lambda p: len(p.lanes))),
    Declaration("isthmus_peer_streams", G, "Live streams (array connections)", _PEER, _per_peer(lambda p: p.streams)),
    Declaration(
        "isthmus_peer_streams_ended",
        C,
        "Streams that have ended",
        _PEER,
        _per_peer(lambda p: sum(p.ended_streams.values())),
    ),
    Declaration(
        "isthmus_peer_streams_refused",
        C,
        "Connections to exports that could not be made (IST-112, IST-113)",
        ("peer", "reason"),
        _per_key(lambda p: p.refused_streams),
    ),
    Declaration(
        "isthmus_peer_outages",
        C,
        "How often the last lane was lost, orderly ends of the peer included; silence that ends earlier is not counted",
        _PEER,
        _per_peer(lambda p: p.outages),
    ),
    Declaration(
        "isthmus_peer_round_trip_seconds",
        G,
        "Smoothed round trip of the tunnel's own pings; 0 before the first",
        _PEER,
        _per_peer(lambda p: p.round_trip_seconds or 0.0),
    ),
    Declaration(
        "isthmus_peer_unacked_bytes",
        G,
        "Bytes sent and kept until the peer acknowledges them; tunnel.unacked bounds them",
        _PEER,
        _per_peer(lambda p: p.unacked_bytes),
    ),
    Declaration(
        "isthmus_waiting_seconds",
        C,
        "Seconds by what streams waited for; each live stream adds two a second, one for each direction",
        ("peer", "waiting"),
        _per_key(lambda p: p.waiting_seconds),
    ),
    Declaration(
        "isthmus_peer_rate_bits_per_second",
        G,
        "The peer's rate, or that of its schedule now; 0 without a limit",
        _PEER,
        _per_peer(lambda p: p.rate_bits_per_second or 0),
    ),
    Declaration(
        "isthmus_peer_held_seconds",
        C,
        "Seconds in which data had to wait because of isthmus_peer_rate_bits_per_second",
        _PEER,
        _per_peer(lambda p: p.held_seconds),
    ),
    Declaration(
        "isthmus_share_wire_bytes",
        C,
        "Bytes sent, with TLS, TCP, IP headers",
        _SHARE,
        _per_share(lambda s: s.wire_bytes),
    ),
    Declaration(
        "isthmus_share_held_seconds",
        C,
        "Seconds in which data had to wait because of the share's maximum or the peer's rate",
        _SHARE,
        _per_share(lambda s: s.held_seconds),
    ),
    Declaration("isthmus_sent_raw_bytes", C, "Plain bytes from arrays here", _PEER, _bytes("raw")),
    Declaration(
        "isthmus_sent_deduplicated_bytes", C, "Bytes left after deduplication", _PEER, _bytes("after_deduplication")
    ),
    Declaration("isthmus_sent_compressed_bytes", C, "Bytes left after compression", _PEER, _bytes("after_compression")),
    Declaration(
        "isthmus_sent_spared_bytes",
        C,
        "Bytes sent uncompressed, because the line carries them sooner as they are",
        _PEER,
        _bytes("spared"),
    ),
    Declaration(
        "isthmus_sent_relieved_bytes",
        C,
        "Bytes sent though the peer holds them, because its store is slower than the line (IST-506)",
        _PEER,
        _bytes("relieved"),
    ),
    Declaration(
        "isthmus_compression_seconds",
        C,
        "Seconds of CPU time that compression took",
        _PEER,
        _per_peer(lambda p: p.bytes["compression_microseconds"] / 1e6),
    ),
    Declaration("isthmus_sent_wire_bytes", C, "TCP payload sent for the first time, with TLS", _PEER, _bytes("wire")),
    Declaration("isthmus_sent_retransmitted_bytes", C, "TCP payload sent again", _PEER, _bytes("wire_retransmitted")),
    Declaration(
        "isthmus_sent_copied_bytes",
        C,
        "Bytes of copies: where packets are lost, short frames are sent over further lanes as well",
        _PEER,
        _per_peer(lambda p: p.copied_bytes),
    ),
    Declaration("isthmus_received_wire_bytes", C, "TCP payload received, with TLS", _PEER, _bytes("wire_received")),
    Declaration("isthmus_delivered_bytes", C, "Plain bytes written to arrays here", _PEER, _bytes("delivered")),
    Declaration("isthmus_verified_bytes", C, "Bytes checked against their fingerprints", _PEER, _bytes("verified")),
    Declaration("isthmus_references", C, "Chunks sent as references", _PEER, _bytes("references")),
    Declaration(
        "isthmus_misses", C, "Chunks, or lists of chunks, that this site had to ask for", _PEER, _bytes("misses")
    ),
    Declaration("isthmus_fills", C, "Chunks, or lists of chunks, that the peer had to ask for", _PEER, _bytes("fills")),
    Declaration(
        "isthmus_mismatches", C, "Received chunks with wrong fingerprints (IST-108)", _PEER, _bytes("mismatches")
    ),
    Declaration(
        "isthmus_iscsi_pdus", C, "iSCSI PDUs that were understood, both directions together", _PEER, _bytes("pdus")
    ),
    Declaration(
        "isthmus_iscsi_fallbacks",
        C,
        "Directions of iSCSI connections that went on as plain bytes; /api/v1/status has the reasons in fallbacks",
        _PEER,
        _per_peer(lambda p: sum(p.fallbacks.values())),
    ),
    Declaration(
        "isthmus_iscsi_portals",
        C,
        "Portal addresses that the peer's iSCSI targets named, rewritten to addresses here or passed unchanged",
        ("peer", "outcome"),
        _per_key(lambda p: p.portals),
    ),
    Declaration(
        "isthmus_on_demand_forwards",
        G,
        "Forwards that are open on demand, for portals that iSCSI targets named",
        _PEER,
        _per_peer(lambda p: len(p.on_demand)),
    ),
    Declaration(
        "isthmus_iscsi_records_bytes", C, "Bytes of iSCSI headers sent, before compression", _PEER, _bytes("records")
    ),
    Declaration(
        "isthmus_iscsi_records_compressed_bytes",
        C,
        "Bytes of iSCSI headers sent, after compression",
        _PEER,
        _bytes("records_compressed"),
    ),
    Declaration(
        "isthmus_iscsi_digests_computed",
        C,
        "iSCSI digests that were computed here from verified bytes, instead of being sent",
        _PEER,
        _bytes("digests_computed"),
    ),
    Declaration(
        "isthmus_iscsi_digests_wrong",
        C,
        "iSCSI data digests that were wrong when they came from an array here; they were passed on as they were",
        _PEER,
        _bytes("digests_wrong"),
    ),
    Declaration(
        "isthmus_volume_command_bytes",
        H,
        "Bytes of each read or write that ended with status GOOD; their sum is what was moved",
        _ACCESS,
        _per_access(lambda c: c.sizes),
    ),
    Declaration(
        "isthmus_volume_command_seconds",
        H,
        "Seconds from command to status, as both passed this site, of reads and writes with status GOOD",
        _ACCESS,
        _per_access(lambda c: c.seconds),
    ),
    Declaration(
        "isthmus_volume_failed_commands",
        C,
        "Reads and writes that ended with another status than GOOD",
        _ACCESS,
        _per_access(lambda c: c.failed),
    ),
    Declaration(
        "isthmus_volume_sequential_commands",
        C,
        "Reads and writes that began where one of the last 16 ended",
        _ACCESS,
        _per_access(lambda c: c.sequential),
    ),
    Declaration(
        "isthmus_volume_random_commands",
        C,
        "Reads and writes that began elsewhere",
        _ACCESS,
        _per_access(lambda c: c.random),
    ),
    Declaration(
        "isthmus_volume_dropped_commands",
        C,
        "Reads and writes that never got a status: they were aborted, or their connection ended",
        _VOLUME,
        _per_volume(lambda v: v.dropped),
    ),
    Declaration(
        "isthmus_volume_outstanding", G, "Reads and writes under way", _VOLUME, _per_volume(lambda v: v.outstanding)
    ),
    Declaration(
        "isthmus_volume_outstanding_peak",
        G,
        "Most reads and writes that were under way at once",
        _VOLUME,
        _per_volume(lambda v: v.outstanding_peak),
    ),
    Declaration(
        "isthmus_faster_line",
        G,
        "Would a faster line to the peer help? 1 for the zone of all iSCSI writes so far, 0 for the others",
        ("peer", "zone"),
        _faster_line,
    ),
    Declaration(
        "isthmus_certificate_expires_timestamp_seconds",
        G,
        "When the certificate expires, in seconds since 1970",
        ("role", "name"),
        _ends,
    ),
    Declaration(
        "isthmus_processor_share",
        G,
        "Share of a core, 0 to 1, that the event loop used over the last ten seconds; at 1 the CPU limits",
        (),
        _site(lambda s: s.processor_share),
    ),
    Declaration(
        "isthmus_peer_resumed",
        C,
        "Outages after which the streams went on where they had stopped",
        _PEER,
        _per_peer(lambda p: p.resumed),
    ),
    Declaration("isthmus_share_raw_bytes", C, "Plain bytes from arrays here", _SHARE, _of_share("raw")),
    Declaration(
        "isthmus_share_deduplicated_bytes",
        C,
        "Bytes left after deduplication",
        _SHARE,
        _of_share("after_deduplication"),
    ),
    Declaration(
        "isthmus_share_compressed_bytes", C, "Bytes left after compression", _SHARE, _of_share("after_compression")
    ),
    Declaration(
        "isthmus_share_delivered_bytes", C, "Plain bytes written to arrays here", _SHARE, _of_share("delivered")
    ),
    Declaration(
        "isthmus_store_size_bytes", G, "store.size: most that it may take", (), _store(lambda store: store.size_bytes)
    ),
    Declaration("isthmus_store_used_bytes", G, "Bytes of chunks held", (), _store(lambda store: store.used_bytes)),
    Declaration("isthmus_store_chunks", G, "Chunks held", (), _store(lambda store: store.chunks)),
    Declaration(
        "isthmus_store_oldest_seconds",
        G,
        "Age of the oldest data; 0 until a container is full",
        (),
        _store(lambda store: store.oldest_seconds),
    ),
    Declaration("isthmus_store_hits", C, "Look-ups that found their chunk", (), _store(lambda store: store.hits)),
    Declaration(
        "isthmus_store_misses", C, "Look-ups that did not find their chunk", (), _store(lambda store: store.misses)
    ),
    Declaration(
        "isthmus_store_invalid", C, "Damaged chunks, dropped (IST-304)", (), _store(lambda store: store.invalid)
    ),
    Declaration(
        "isthmus_store_evicted_bytes", C, "Bytes of chunks evicted", (), _store(lambda store: store.evicted_bytes)
    ),
    Declaration(
        "isthmus_store_unlearned_bytes",
        C,
        "Bytes of chunks that passed without being stored (IST-305)",
        (),
        _store(lambda store: store.unlearned_bytes),
    ),
    Declaration(
        "isthmus_store_unwritten_bytes",
        G,
        "Bytes in completed containers that wait to be written to disk",
        (),
        _store(lambda store: store.unwritten_bytes),
    ),
)

Compressing = Mapping[tuple[str, str], int]
"""How many live streams there are, by peer and what compresses them: a level, and one of seven lengths of a context."""

STREAM_DECLARATIONS: tuple[Declaration[Compressing], ...] = (
    Declaration(
        "isthmus_compressing_streams",
        G,
        "Live streams by how the data that they send is compressed now",
        ("peer", "compression"),
        lambda counted: counted.items(),
    ),
)
"""What is counted for Prometheus alone. The others need no look at each stream, of which there may be a thousand."""


class SiteCollector(Collector, Generic[T]):
    """Turns a snapshot, or what else `take` gives when Prometheus asks, into the declared metrics."""

    def __init__(self, take: Callable[[], T], declarations: Sequence[Declaration[T]]) -> None:
        self._take = take
        self._declarations = declarations

    def collect(self) -> Iterator[Metric]:
        """All declared metrics with their values now."""
        snapshot = self._take()
        for declaration in self._declarations:
            family = declaration.family(declaration.name, declaration.help, labels=declaration.labels)
            for labels, value in declaration.values(snapshot):
                _add(family, labels, value)
            yield family


def _add(
    family: CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily,
    labels: tuple[str, ...],
    value: float | HistogramStatus,
) -> None:
    """Add a sample; of a histogram's bounds only every second one, since powers of four do, and cost half."""
    if isinstance(value, HistogramStatus):
        assert isinstance(family, HistogramMetricFamily)
        buckets = list(zip((*map(str, map(float, value.bounds)), "+Inf"), accumulate(value.counts), strict=True))
        family.add_metric(labels, [*buckets[1:-1:2], buckets[-1]], value.total)
    else:
        assert not isinstance(family, HistogramMetricFamily)
        family.add_metric(labels, float(value))
