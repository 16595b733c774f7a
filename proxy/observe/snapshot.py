"""The status snapshot: what `/api/v1/status` shows, `isthmus status` prints and `/metrics` is made from.

Plain data, built by the site when asked. The keys are public interface; new ones may come.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VerdictStatus:
    """What limited a stream or a tunnel over the last ten seconds (deploy/GUIDE.md, "Why is it slow?")."""

    limit: str
    share: float
    """Of the time, 0 to 1."""
    words: str
    """A sentence with the figure."""


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """One TLS connection of a tunnel."""

    number: int
    remote: str
    dialler: bool
    dscp: int
    congestion_control: str
    round_trip_seconds: float
    congestion_window_segments: int
    segment_bytes: int
    silent: bool
    """Nothing is heard on it: it is suspected to be dead."""
    bytes_sent: int
    bytes_retransmitted: int
    bytes_received: int


@dataclass(frozen=True, slots=True)
class ShareStatus:
    """What this site sends to a peer for one forward or export. Bits and bytes are those on the wire."""

    name: str
    """ "forward replication", "export array"."""
    priority: str
    guarantee_bits_per_second: int | None
    maximum_bits_per_second: int | None
    dscp: int
    bits_per_second: int
    """Over the last five seconds."""
    wire_bytes: int
    held_seconds: float
    """How long it had data that waited for its maximum or the peer's rate."""
    bytes: dict[str, int]
    """Counts of Traffic, of the streams of this share, ended and live."""
    held_by_maximum_seconds: float = 0.0
    """Of `held_seconds`, for how long it was its own maximum that it waited for, and not the peer's rate."""


@dataclass(frozen=True, slots=True)
class OnDemandStatus:
    """A forward that was opened because a target named a portal."""

    forward: str
    """Whose range and ports it belongs to."""
    portal: str
    """What the target named."""
    listen: str
    """What initiators are told instead."""
    streams: int
    accepted: int
    idle_seconds: float


@dataclass(frozen=True, slots=True)
class ZoneStatus:
    """A figure, and what it says of a faster line (proxy/plan/zones.py)."""

    figure: int
    """Bytes a second, or bytes."""
    zone: str
    colour: str


@dataclass(frozen=True, slots=True)
class AdviceStatus:
    """Would a faster line help? What both figures say together is the more sceptical of the two."""

    zone: str
    colour: str
    words: str
    """A sentence with the figures."""
    write_rate: ZoneStatus
    """Bytes a second, over the busiest ten seconds so far."""
    write_size: ZoneStatus
    """Bytes, the average of all writes."""


@dataclass(frozen=True, slots=True)
class HistogramStatus:
    """How values are spread. `counts` has one more than `bounds`: each of values up to its bound, the last beyond."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float


@dataclass(frozen=True, slots=True)
class CommandsStatus:
    """Reads, or writes, of an iSCSI volume."""

    commands: int
    """That ended well: with status GOOD."""
    bytes: int
    """Of these."""
    failed: int
    """That ended with another status."""
    sequential: int
    """That began where one of the last 16 ended."""
    random: int
    """All others that began."""
    sizes: HistogramStatus
    """Bytes."""
    seconds: HistogramStatus
    """From command to status, as this site saw both pass."""


@dataclass(frozen=True, slots=True)
class VolumeStatus:
    """An iSCSI volume, as reached by one forward or export, since the site started."""

    share: str
    """ "forward replication", "export array"; empty for all volumes that are not told apart, or no longer."""
    target: str
    """Its name, or "others" and "former" for those."""
    unit: str
    connections: int
    """Live ones that have read or written here."""
    outstanding: int
    """Reads and writes under way."""
    outstanding_peak: int
    dropped: int
    """Reads and writes that had no status: aborted, or their connection ended."""
    reads: CommandsStatus
    writes: CommandsStatus
    write_bytes_per_second: int
    """Over the last ten seconds."""
    advice: AdviceStatus | None
    """Null if nothing was written."""


@dataclass(frozen=True, slots=True)
class RefusalStatus:
    """Connections of a forward, or for an export, cannot be made: none has been since these were refused."""

    share: str
    """ "forward replication" (the peer refuses), "export array" (this site cannot connect); empty: the peer asks for
    what is not exported to it."""
    asked: str
    """The export, or the address in its range, that the peer was asked for; of an export the address behind it."""
    reason: str
    """unreachable or not_exported."""
    words: str
    """Of the last one."""
    count: int
    seconds: float
    """Since the last one."""


@dataclass(frozen=True, slots=True)
class PeerStatus:
    """Another site and the tunnel to it."""

    name: str
    state: str
    """up, outage, connecting or waiting."""
    lanes: list[LaneStatus]
    round_trip_seconds: float | None
    outages: int
    """Times that the last lane was lost."""
    resumed: int
    """Of these, how often the streams went on where they had stopped."""
    shutdowns: int
    """Likewise, how often the peer had ended in order: the line was not at fault."""
    tunnel_resets: int
    """How often all streams, one or more, were lost: after `tunnel.grace`, or because the peer ended or began anew."""
    short_packets: bool
    """Packets of full size are lost on the way, so short ones are sent."""
    other_congestion_control: str
    """In words, if the kernel does another one than `tunnel.congestion_control`; otherwise empty."""
    drains: str
    """In words, while the peer drains and so takes no new connection; otherwise empty."""
    streams: int
    unacked_bytes: int
    copied_bytes: int
    """Bytes of short frames that went by further lanes as well because packets are lost, counted for each of these."""
    references_suspended: bool
    store_bytes_per_second: int | None
    """What its store gives of what is referred to, as it says; null: it holds nobody up."""
    last_error: str
    bytes: dict[str, int]
    """Counts of Traffic, of all streams, ended and live; and TCP payload of the lanes: `wire` (sent),
    `wire_retransmitted` and `wire_received`."""
    ended_streams: dict[str, int]
    """Counted by reason."""
    refused_streams: dict[str, int]
    """Connections that could not be made, counted as "unreachable" or "not_exported"."""
    refusals: list[RefusalStatus]
    """What cannot be connected as things stand: at most 16."""
    fallbacks: dict[str, int]
    """Times that a direction of an iSCSI connection went on as plain bytes, by reason."""
    portals: dict[str, int]
    """Portal addresses in texts of the peer's targets, "rewritten" to this side's or "passed" as they were."""
    on_demand: list[OnDemandStatus]
    verdict: VerdictStatus
    waiting_seconds: dict[str, float]
    """By what was waited for (see Waiting), of both directions of all streams, ended and live."""
    rate_bits_per_second: int | None
    """What may go to the peer at this time of the timetable; null: no limit."""
    held_seconds: float
    """How long data has waited for that."""
    shares: list[ShareStatus]
    volumes: list[VolumeStatus]
    """Of iSCSI connections: those with the most bytes first, at most 32, then what all others come to; and last, once
    some have made room for others, what those had come to."""
    advice: AdviceStatus | None
    """By all writes to them together; null if nothing was written."""


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """One array connection."""

    id: int
    peer: str
    forward: str | None
    export: str | None
    origin: str
    initiator: str | None
    """Its iSCSI name, if it is one and has logged in."""
    target: str | None
    """Likewise, the name of the target that it asked for."""
    direction: str
    """outward (we opened it) or inward."""
    age_seconds: float
    compression: str
    """Of what is sent: "none", "zstd 1", or with a context's length "zstd 9, 32 MiB".

    "none, for speed" while the line is faster than compression.
    """
    bytes: dict[str, int]
    """Counts of Traffic."""
    sent_bits_per_second: float
    """Plain bits from the array here, over the last ten seconds."""
    delivered_bits_per_second: float
    """Likewise, to the array here."""
    verdict: VerdictStatus
    waiting_seconds: dict[str, float]
    """As of a peer: of both directions together, so they grow by two a second."""


@dataclass(frozen=True, slots=True)
class CertificateStatus:
    """A certificate that this site shows or believes."""

    role: str
    """own, peer, ca, listener or clients."""
    name: str
    """Of the peer, or the certificate's own."""
    expires: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """Counters of the store since it was opened, and sizes now. Bytes are chunk bytes unless said otherwise."""

    mode: str
    """memory or disk."""
    size_bytes: int
    """The configured bound, everything included."""
    used_bytes: int
    """Bytes of chunks held now."""
    chunks: int
    containers: int
    puts: int
    put_bytes: int
    hits: int
    """Look-ups that found their chunk."""
    hit_bytes: int
    misses: int
    """Look-ups that did not find their chunk."""
    invalid: int
    """Chunks that failed verification and were dropped."""
    evicted_containers: int
    evicted_bytes: int
    unlearned: int
    """Chunks that were not stored, for want of room or health."""
    unlearned_bytes: int
    loads: int
    """Containers read from disk, or chunks alone."""
    unwritten_bytes: int
    """Sealed containers that wait to be written."""
    oldest_seconds: float
    """Since the container that was filled first was; 0 while none is full."""
    hits_by_age: list[int]
    """One look-up in 256 that found its chunk, by age: the newest tenth of the store first."""
    missed_by_size: list[tuple[int, float]]
    """An estimate: look-ups that a store that many times as large would have answered, beyond the hits."""
    alarms: list[str]
    """What an operator must know now, one sentence each, with the remedy."""
    prepared: bool
    """The store has its memory ready, ahead of need."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One site, now."""

    site: str
    version: str
    started: float
    uptime_seconds: float
    ready: bool
    draining: bool
    peers: list[PeerStatus]
    streams: list[StreamStatus]
    store: StoreStatus
    bytes: dict[str, int]
    """As of a peer, of all peers together: raw, after_deduplication, after_compression and wire are the waterfall."""
    refused: int
    """Connections to the tunnel listener that showed no peer's certificate, without those that ended by themselves
    before they had shown anything."""
    last_refusal: str
    """The last of them: from where, and why."""
    certificates: list[CertificateStatus]
    reload_problem: str
    """Why the last reload failed; empty if it did not."""
    processor_share: float
    """Of a core, that the event loop used over the last ten seconds."""
    alarms: list[str]
