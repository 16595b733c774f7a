"""The status snapshot: what `/api/v1/status` shows, `isthmus status` prints and `/metrics` is made from.

Plain data, built by the site when asked. The keys are public interface; new ones may be added. The words below the keys
are the API's document (`proxy.web.document`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VerdictStatus:
    """What limited a stream or a tunnel over the last ten seconds (GUIDE.md, "Why is it slow?")."""

    limit: str
    """`outage`, `far array`, `store`, `shaping`, `cpu`, `wan rate`, `round trip or window`, `other site` or
    `source idle`."""
    share: float
    """Share of these ten seconds that it took, 0 to 1."""
    words: str
    """A sentence with the figure behind it."""


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """One TLS connection of a tunnel, as the kernel sees it. Bytes are TCP payload since the connection was made."""

    number: int
    """As in the log."""
    remote: str
    """Address and port of the other end."""
    dialler: bool
    """Whether this site made the connection."""
    dscp: int
    """DSCP mark of its packets, 0 to 63."""
    congestion_control: str
    """By the kernel's name, such as "bbr" or "cubic"."""
    round_trip_seconds: float
    """As TCP measures and smooths it."""
    congestion_window_segments: int
    """How many segments (full packets) may be on their way at once."""
    segment_bytes: int
    """TCP payload of a full packet."""
    silent: bool
    """Nothing is heard on it: it is suspected to be dead."""
    bytes_sent: int
    """Sent for the first time."""
    bytes_retransmitted: int
    """Sent again because they seemed lost."""
    bytes_received: int


@dataclass(frozen=True, slots=True)
class ShareStatus:
    """What this site sends to a peer for one forward or export, and the rates that the site's file sets for it.

    Bits and bytes include TLS, TCP and IP headers, but not what TCP sends again.
    """

    name: str
    """ "forward replication", "export array"."""
    priority: str
    """high, normal or low."""
    guarantee_bits_per_second: int | None
    """Null: none is configured."""
    maximum_bits_per_second: int | None
    """Null: none is configured."""
    dscp: int
    """DSCP mark of its packets, 0 to 63; 0 if none is configured."""
    bits_per_second: int
    """Average of the last five seconds."""
    wire_bytes: int
    """Since the site started."""
    held_seconds: float
    """Time in which data had to wait because of its `maximum` or the peer's `rate`."""
    bytes: dict[str, int]
    """The keys of Traffic, for all streams of this forward or export, ended and live."""
    held_by_maximum_seconds: float = 0.0
    """The part of `held_seconds` that its own `maximum` caused, not the peer's `rate`."""


@dataclass(frozen=True, slots=True)
class OnDemandStatus:
    """A forward that was opened because an iSCSI target named a portal (GUIDE.md, "Discovery and redirection")."""

    forward: str
    """The forward whose `range` and `ports` it uses."""
    portal: str
    """The address that the target named."""
    listen: str
    """The address that initiators are told instead."""
    streams: int
    """Connections that are live."""
    accepted: int
    """Connections since it was opened."""
    idle_seconds: float
    """Since it was last used or named. It closes when this reaches the forward's `idle`."""


@dataclass(frozen=True, slots=True)
class ZoneStatus:
    """One figure, and what it says about a faster line. README.md has the bounds of the zones."""

    figure: int
    """Bytes a second (`write_rate`), or bytes (`write_size`)."""
    zone: str
    """ "unlikely to help", "may help" or "likely to help"."""
    colour: str
    """The same: green, yellow or red."""


@dataclass(frozen=True, slots=True)
class AdviceStatus:
    """Would a faster line help? Two figures are rated, and the one that says less decides."""

    zone: str
    """ "unlikely to help", "may help" or "likely to help"."""
    colour: str
    """The same: green, yellow or red."""
    words: str
    """A sentence with both figures."""
    write_rate: ZoneStatus
    """Bytes a second written in the busiest ten seconds since the site started."""
    write_size: ZoneStatus
    """Bytes of a write, on average."""


@dataclass(frozen=True, slots=True)
class HistogramStatus:
    """How values are spread. The counts are not cumulative, unlike those of Prometheus."""

    bounds: tuple[float, ...]
    """Upper bounds, rising; each is included."""
    counts: tuple[int, ...]
    """One for each bound: values up to it and above the bound before. One more: values above all bounds."""
    total: float
    """Sum of all values."""


@dataclass(frozen=True, slots=True)
class CommandsStatus:
    """Reads, or writes, of an iSCSI volume since the site started."""

    commands: int
    """Those that ended with status GOOD."""
    bytes: int
    """What these have moved."""
    failed: int
    """Those that ended with another status."""
    sequential: int
    """Those that began where one of the last 16 of this kind ended."""
    random: int
    """All others that began."""
    sizes: HistogramStatus
    """Bytes of each that ended with GOOD."""
    seconds: HistogramStatus
    """Time of each that ended with GOOD, from command to status as they passed this site."""


@dataclass(frozen=True, slots=True)
class VolumeStatus:
    """An iSCSI volume, as reached through one forward or export, since this site has the peer."""

    share: str
    """ "forward replication", "export array"; empty for the sums "others" and "former"."""
    target: str
    """Name of the iSCSI target. "others": all volumes that are not listed. "former": volumes that were listed once and
    gave up their place."""
    unit: str
    """LUN: a number, or 16 hexadecimal digits if it has several levels; empty for the sums."""
    connections: int
    """Live connections that have read or written here."""
    outstanding: int
    """Reads and writes that have no status yet."""
    outstanding_peak: int
    """Most of these at once."""
    dropped: int
    """Reads and writes that never got a status: they were aborted, or their connection ended."""
    reads: CommandsStatus
    writes: CommandsStatus
    write_bytes_per_second: int
    """Average of the last ten seconds."""
    advice: AdviceStatus | None
    """Null if nothing was written."""


@dataclass(frozen=True, slots=True)
class RefusalStatus:
    """Connections that failed to reach an export (IST-112, IST-113). Gone as soon as one succeeds."""

    share: str
    """ "forward replication": the peer refused them. "export array": this site could not connect. Empty: the peer asked
    for something that is not exported to it."""
    asked: str
    """The export that was asked for, or the address in its range; of an export here, the array's address."""
    reason: str
    """unreachable or not_exported."""
    words: str
    """What was said of the last one."""
    count: int
    """How many failed."""
    seconds: float
    """Seconds since the last one."""


@dataclass(frozen=True, slots=True)
class PeerStatus:
    """Another site and the tunnel to it. Counters begin when this site has it as a peer."""

    name: str
    state: str
    """up: a lane is up and heard of. If not: outage while streams wait for one; otherwise connecting (this site dials)
    or waiting (the peer has to dial)."""
    known_seconds: float
    """How long this site has had it as a peer."""
    lanes: list[LaneStatus]
    round_trip_seconds: float | None
    """Smoothed round trip of the tunnel's own pings; null before the first."""
    outages: int
    """How often the last lane was lost. Silence that ends before `tunnel.dead_after` is not counted, though the state
    is outage meanwhile."""
    resumed: int
    """After how many of these the streams went on where they had stopped."""
    shutdowns: int
    """How many of these were no fault of the line: the peer had ended in order."""
    tunnel_resets: int
    """How often live streams were lost: after `tunnel.grace`, or because the peer ended or was restarted."""
    short_packets: bool
    """Packets of full size get lost on the way, so short ones are sent (IST-110)."""
    other_congestion_control: str
    """In words, if the kernel uses another one than `tunnel.congestion_control` asks for; otherwise empty."""
    drains: str
    """In words, while the peer drains and takes no new connections; otherwise empty."""
    ended_seconds: float | None
    """How long ago the peer ended in order, until it is back; otherwise null."""
    farewell: str
    """Why it ended in order, the last time that it did, in its own words; empty if it never did."""
    streams: int
    """Live streams."""
    unacked_bytes: int
    """Bytes that were sent, and are kept until the peer has acknowledged them (`tunnel.unacked`)."""
    copied_bytes: int
    """Where packets are lost, short frames are sent over further lanes as well. Bytes of these copies."""
    references_suspended: bool
    """All data is sent as literals for a while, because the peer lacked what it should hold (IST-109)."""
    store_bytes_per_second: int | None
    """How fast the peer says that its store reads what references name; null: as fast as it is needed."""
    last_error: str
    """Why a lane was lost or did not come up; empty if no lane is missing."""
    bytes: dict[str, int]
    """The keys of Traffic, for all streams, ended and live; and TCP payload of all lanes: `wire` (sent for the first
    time), `wire_retransmitted` and `wire_received`."""
    ended_streams: dict[str, int]
    """How many streams have ended, by reason."""
    refused_streams: dict[str, int]
    """How many connections could not be made, by reason: "unreachable" (IST-112), "not_exported" (IST-113)."""
    refusals: list[RefusalStatus]
    """What cannot be connected at present: the latest 16 at most."""
    fallbacks: dict[str, int]
    """How many directions of iSCSI connections went on as plain bytes, by reason."""
    portals: dict[str, int]
    """Portal addresses that the peer's iSCSI targets named: "rewritten" to addresses here, or "passed" unchanged."""
    on_demand: list[OnDemandStatus]
    """Forwards that are open on demand."""
    verdict: VerdictStatus
    waiting_seconds: dict[str, float]
    """Seconds by what was waited for (see Waiting), added up over both directions of all streams, ended and live."""
    rate_bits_per_second: int | None
    """The peer's `rate`, or that of its timetable at this time; null: no limit."""
    held_seconds: float
    """Time in which data had to wait because of that rate."""
    shares: list[ShareStatus]
    """One for each forward to this peer and each export that it may reach."""
    volumes: list[VolumeStatus]
    """iSCSI volumes: at most 32, those with the most bytes first; then "others"; last "former", if there is one."""
    advice: AdviceStatus | None
    """For all iSCSI writes through this tunnel together; null if nothing was written."""


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """One array connection, carried in a tunnel."""

    id: int
    """Its number in the tunnel to that peer."""
    peer: str
    forward: str | None
    """The forward that it came through; null if the peer opened it."""
    export: str | None
    """The export that it leads to; null if this site opened it."""
    origin: str
    """Address and port of the array that made the connection."""
    initiator: str | None
    """Name of the iSCSI initiator; null without an iSCSI login."""
    target: str | None
    """Name of the iSCSI target that it asked for; null likewise."""
    direction: str
    """outward: opened here, through a forward. inward: opened by the peer."""
    age_seconds: float
    compression: str
    """How data that is sent is compressed now: "none", "zstd 1", or with a long context "zstd 9, 32 MiB". "none, for
    speed": the line is faster than compression."""
    bytes: dict[str, int]
    """The keys of Traffic."""
    sent_bits_per_second: float
    """Plain bits that came from the array here, average of the last ten seconds."""
    delivered_bits_per_second: float
    """Plain bits that went to the array here, likewise."""
    verdict: VerdictStatus
    waiting_seconds: dict[str, float]
    """Seconds by what was waited for (see Waiting). Both directions are added up: the sum grows by two a second."""


@dataclass(frozen=True, slots=True)
class CertificateStatus:
    """A certificate that this site shows or trusts."""

    role: str
    """own: this site's. peer: a peer's. ca: of `identity.ca`. listener: the status listener's. clients: of
    `status.clients`."""
    name: str
    """own and listener: the site's name. peer: the peer's. ca and clients: the certificate's subject."""
    expires: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """The store: counters since the site started, and sizes now. Bytes are those of chunks unless said otherwise."""

    mode: str
    """memory or disk."""
    size_bytes: int
    """`store.size`: most that the store may take, everything included."""
    used_bytes: int
    """Bytes of chunks that it holds."""
    chunks: int
    """Chunks that it holds."""
    containers: int
    """Containers that it holds: 2 or 4 MiB of chunks each, in the order in which they came."""
    puts: int
    """Chunks that were stored."""
    put_bytes: int
    hits: int
    """Look-ups that found their chunk."""
    hit_bytes: int
    misses: int
    """Look-ups that did not find their chunk."""
    invalid: int
    """Chunks that did not match their fingerprints and were dropped (IST-304)."""
    evicted_containers: int
    """Containers that were dropped to make room, the oldest first."""
    evicted_bytes: int
    unlearned: int
    """Chunks that were not stored, because there was no room or the disk failed or lagged (IST-305)."""
    unlearned_bytes: int
    loads: int
    """Reads from the disk, of a whole container or of one chunk."""
    unwritten_bytes: int
    """Bytes in completed containers that wait to be written to the disk."""
    oldest_seconds: float
    """Time since the oldest container was filled; 0 while none is full."""
    hits_by_age: list[int]
    """A sample of the hits, one in 256, by the chunk's age: how many were in the newest tenth of the store, in the next
    tenth, and so on."""
    missed_by_size: list[tuple[int, float]]
    """Estimates as pairs (factor, look-ups): a store that many times as large would have found so many of the missed
    chunks."""
    alarms: list[str]
    """What an operator must know now, one sentence each, with the remedy."""
    prepared: bool
    """The store has taken its memory from the system, and from now on runs at full speed."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One site, now."""

    site: str
    """`site.name`."""
    version: str
    """Of Isthmus."""
    started: float
    """When the site started."""
    uptime_seconds: float
    ready: bool
    """The site has started and takes connections, unless it drains."""
    draining: bool
    """It takes no new connections, and ends when its streams have ended."""
    peers: list[PeerStatus]
    streams: list[StreamStatus]
    """All that are live."""
    store: StoreStatus
    bytes: dict[str, int]
    """As `bytes` of a peer, for all peers together that there are now. From `raw` over `after_deduplication` and
    `after_compression` to `wire` they show what is saved."""
    refused: int
    """Connections to the tunnel listener that were refused, such as those that showed no peer's certificate (IST-201).
    Those that ended by themselves before they had shown anything are not counted."""
    last_refusal: str
    """Address and reason of the last of them; empty if there was none."""
    certificates: list[CertificateStatus]
    reload_problem: str
    """Why the last reload, or a part of it, failed; empty if it did not."""
    processor_share: float
    """Share of a core, 0 to 1, that the event loop used over the last ten seconds. At 1 it is the bottleneck."""
    alarms: list[str]
    """What an operator must act on now, one sentence each, with the remedy."""
