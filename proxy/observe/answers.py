"""The shapes of what the API answers beside the status: health, history, streams, events, warnings, store, live.

Plain data; the API's document (deploy/API.md, proxy/web/openapi.json) is written from these classes and their words.
Times are seconds since 1970 (UTC), rates bits a second, shares of a whole 0 to 1. New keys may be added.
"""

from dataclasses import dataclass
from enum import StrEnum

from proxy.observe.snapshot import StreamStatus, VerdictStatus


class Level(StrEnum):
    """How well something is, from best to worst.

    Attention: it works, but somebody should look at it in working hours. Degraded: it works worse than it should, or a
    part of it does not work. Critical: nothing is replicated; or the site's own certificate has expired, and nothing
    will be replicated once the lanes that are up have ended.
    """

    HEALTHY = "healthy"
    ATTENTION = "attention"
    DEGRADED = "degraded"
    CRITICAL = "critical"


class Severity(StrEnum):
    """How much an event matters: for the record, something to look at, or something that does not work."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is not healthy."""

    code: str
    """Such as "IST-102"; EVENTS.md has all."""
    level: Level
    """How bad it is."""
    words: str
    """A sentence with the figure behind it."""
    remedy: str
    """What to do; empty where nothing needs doing."""
    since: float
    """When it began."""
    about: str = ""
    """What exactly it is about, where several reasons have the same code: "the certificate of peer west"."""


@dataclass(frozen=True, slots=True)
class LaneHealth:
    """One TLS connection of a tunnel. Rates and loss are averages of the last ten seconds."""

    number: int
    """As in the log."""
    remote: str
    """Address and port of the other end."""
    level: Level
    since: float
    """When it came to this level."""
    reasons: list[Reason]
    """Why it is not healthy, worst first."""
    round_trip_seconds: float
    """As TCP measures and smooths it."""
    loss: float
    """Share of the bytes sent that were sent again, 0 to 1."""
    sent_bits_per_second: float
    """TCP payload, with what was sent again."""
    received_bits_per_second: float
    """TCP payload."""
    window_bytes: int
    """TCP's congestion window: how much may be on its way at once."""
    congestion_control: str
    """By the kernel's name, such as "bbr" or "cubic"."""
    dscp: int
    """DSCP mark of its packets, 0 to 63."""


@dataclass(frozen=True, slots=True)
class TunnelHealth:
    """The link to a peer. Rates and loss are averages of the last ten seconds, over all lanes.

    One healthy lane is enough: lanes that are not healthy then make the tunnel's level "attention" at worst.
    """

    level: Level
    since: float
    """When it came to this level."""
    reasons: list[Reason]
    """Why it is not healthy, worst first; those of its lanes are with the lanes."""
    state: str
    """up, outage, connecting or waiting (see PeerStatus)."""
    round_trip_seconds: float | None
    """Smoothed round trip of the tunnel's own pings; null before the first."""
    loss: float
    """Share of the bytes sent that were sent again, 0 to 1."""
    sent_bits_per_second: float
    """TCP payload, with what was sent again."""
    received_bits_per_second: float
    """TCP payload."""
    unacked_bytes: int
    """Bytes that were sent, and are kept until the peer has acknowledged them (`tunnel.unacked`)."""
    outages: int
    """How often the last lane was lost since the site started, as in PeerStatus."""
    resumed: int
    """After how many of these the streams went on where they had stopped."""
    lanes: list[LaneHealth]


@dataclass(frozen=True, slots=True)
class PeerHealth:
    """Another site, as seen from here. Its level is no better than its tunnel's."""

    name: str
    level: Level
    since: float
    """When it came to this level."""
    reasons: list[Reason]
    """Why it is not healthy, worst first; those of its tunnel are with the tunnel."""
    streams: int
    """Live streams."""
    verdict: VerdictStatus
    """What limits the tunnel."""
    tunnel: TunnelHealth


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """Health of the store."""

    level: Level
    since: float
    """When it came to this level."""
    reasons: list[Reason]
    """Why it is not healthy, worst first."""


@dataclass(frozen=True, slots=True)
class HealthAnswer:
    """Health in steps: the site, its store, each peer, its tunnel, each lane. Each has a level and reasons of its own.

    The site is as bad as its worst part, with one exception: if only some peers are critical, they make it degraded.
    """

    site: str
    """`site.name`."""
    time: float
    """When this was found."""
    level: Level
    """Of the site with all its parts."""
    since: float
    """When it came to this level."""
    words: str
    """All in one sentence: the worst reason, or "replication is healthy"."""
    reasons: list[Reason]
    """Those of the site itself, worst first: certificates, a failed reload, the history file, drain."""
    store: StoreHealth
    peers: list[PeerHealth]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""

    number: int
    """Rises by one with each event, also across restarts."""
    time: float
    """When it happened; the first time if `count` is more than 1."""
    code: str
    """Such as "IST-101"; EVENTS.md has all. A code never changes its meaning."""
    severity: Severity
    subject: str
    """What it is about, such as "site", "store", "peer west", "forward replication", "listener"."""
    words: str
    """A sentence that says what happened."""
    remedy: str
    """What to do; empty where nothing needs doing."""
    count: int
    """How often the same happened within a minute: it is reported once."""


@dataclass(frozen=True, slots=True)
class EventsAnswer:
    """Events, oldest first."""

    first: int
    """Number of the oldest event that is kept, of 2000 at most; 0 if there is none."""
    last: int
    """Number of the newest event; 0 before the first. Ask with this as `after` next time."""
    events: list[Event]


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning: something works, but gains less than one would expect."""

    code: str
    """Such as "IST-501"; EVENTS.md has all."""
    subject: str
    """What it is about, such as "site", "store", "peer west", "forward replication"."""
    words: str
    """A sentence with the figures."""
    remedy: str
    """What to do."""
    since: float
    """When it began."""


@dataclass(frozen=True, slots=True)
class WarningsAnswer:
    """The warnings that hold now; an empty list if there are none."""

    warnings: list[Caution]


@dataclass(frozen=True, slots=True)
class RateSummary:
    """One column of the chart in three figures, bits a second. Time in which the site did not run is left out."""

    peak: float
    """In the busiest second."""
    p95: float
    """95th percentile of the column's entries."""
    average: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Columns of rates, each with one entry for each entry of `time`; null where the site did not run.

    LAN columns count plain bytes of the arrays' connections, WAN columns TCP payload of the lanes. For a forward or
    export, `wan_sent` includes TCP and IP headers, and the other two WAN columns are 0: they are known of peers only.
    """

    lan_sent: list[float | None]
    """From arrays here, to be sent to peers."""
    lan_received: list[float | None]
    """From peers, written to arrays here."""
    wan_sent: list[float | None]
    """Sent for the first time."""
    wan_retransmitted: list[float | None]
    """Sent again because it seemed lost."""
    wan_received: list[float | None]


@dataclass(frozen=True, slots=True)
class Summaries:
    """The columns of the chart, each in three figures."""

    lan_sent: RateSummary
    lan_received: RateSummary
    wan_sent: RateSummary
    wan_retransmitted: RateSummary
    wan_received: RateSummary


@dataclass(frozen=True, slots=True)
class Waterfall:
    """What became of the bytes that were sent in that range, step by step from the arrays to the line, in bytes."""

    raw: int
    """Plain bytes from arrays here."""
    after_deduplication: int
    """What was left when chunks that the peer holds had been replaced by references."""
    after_compression: int
    """What was left when that had been compressed."""
    framing: int
    """What frames, TLS and the tunnel's own messages added; for a forward or export TCP and IP headers as well."""
    wire: int
    """after_compression + framing: what was sent for the first time."""
    retransmitted: int
    """What TCP sent again, not included in `wire`; 0 for a forward or export, of which it is not known."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The seconds in which most of the plain bytes were new to the peer (`cold`) or known to it (`warm`)."""

    seconds: int
    """How many seconds that were."""
    raw: int
    """Plain bytes from arrays here in these seconds."""
    wire: int
    """Bytes sent to peers in these seconds, with what was sent again."""
    lan_bits_per_second: float
    """Plain bits a second from arrays here, on average in these seconds."""
    gain: float | None
    """raw / wire; null if nothing was sent."""


@dataclass(frozen=True, slots=True)
class Gain:
    """What one forward or export gains: how many bytes its arrays sent for each byte on the line."""

    share: str
    """ "forward replication", "export array"."""
    raw: int
    """Plain bytes from arrays here."""
    after_deduplication: int
    """Bytes left after deduplication."""
    after_compression: int
    """Bytes left after compression."""
    wire: int
    """Bytes sent on the line, with TLS, TCP and IP headers, without what TCP sent again."""
    gain: float | None
    """raw / wire; null if nothing was sent."""
    by_deduplication: float
    """What deduplication saved, as a share of `raw`, 0 to 1."""
    by_compression: float
    """What compression saved after that, as a share of `raw`, 0 to 1."""


@dataclass(frozen=True, slots=True)
class HistoryAnswer:
    """Throughput and savings over a range of time."""

    range: str
    """As asked for: 5m, 1h, 6h, 1d, 7d or 30d."""
    of: str
    """As asked for: "site", "peer west", "forward replication", "export array"."""
    choices: list[str]
    """All that `of` can be. History is kept of 32 at most: the site, its peers, then forwards and exports."""
    step_seconds: int
    """Seconds that one entry of a column is the average of."""
    begins: float
    """Beginning of the range."""
    ends: float
    """End of its last step, which is not over yet."""
    kept: str
    """ "disk"; or "memory" if the history file cannot be written (IST-404): then a restart loses it."""
    time: list[float]
    """When each step ends, the oldest first."""
    chart: Chart
    """Bits a second in each step."""
    summary: Summaries
    waterfall: Waterfall
    cold: Pass
    """Replication of data that was new to the peer."""
    warm: Pass
    """Replication of data that the peer knew already."""
    gains: list[Gain]
    """What each forward and export in `choices` gained in that range, whatever `of` is."""


@dataclass(frozen=True, slots=True)
class StreamsAnswer:
    """Streams that pass the filters."""

    total: int
    """How many live streams the site has."""
    matching: int
    """How many of these pass the filters."""
    streams: list[StreamStatus]
    """Those that pass, in the order asked for, `limit` at most."""


@dataclass(frozen=True, slots=True)
class HitsByAge:
    """How many look-ups found their chunk in one tenth of the store, estimated from one look-up in 256."""

    newest_share: float
    """Which tenth, counted from the newest data: 0.1 is the newest, 0.2 the next, 1 the oldest."""
    share: float
    """Look-ups that found their chunk there, as a share of all look-ups since the site started, 0 to 1."""


@dataclass(frozen=True, slots=True)
class LargerStore:
    """What a larger store would have found as well, estimated from a sample of the chunks that were evicted."""

    size_bytes: int
    """Its size."""
    more_hits: float
    """Look-ups that missed here and would have been hits there, as a share of all look-ups, 0 to 1."""


@dataclass(frozen=True, slots=True)
class StoreAnswer:
    """What is stored, and how well it serves."""

    mode: str
    """memory or disk."""
    size_bytes: int
    """`store.size`: most that the store may take, everything included."""
    used_bytes: int
    """Bytes of chunks that it holds."""
    fill: float
    """used_bytes / size_bytes."""
    chunks: int
    """Chunks that it holds."""
    oldest_seconds: float
    """Age of the oldest data; 0 until a container is full."""
    replaced_last_hour_bytes: int
    """Bytes of chunks that were evicted to make room."""
    hits: int
    """Look-ups that found their chunk, since the site started."""
    misses: int
    """Look-ups that did not find their chunk, since the site started."""
    hit_rate: float | None
    """Share of look-ups that were hits, 0 to 1; null before the first look-up."""
    hits_by_age: list[HitsByAge]
    """Ten entries, the newest tenth of the store first."""
    larger: list[LargerStore]
    """Stores 2, 4 and 8 times as large. Empty while nothing was evicted: a larger store would then bring nothing."""
    advice: str
    """What `larger` says, in a sentence."""
    verified_bytes: int
    """Bytes that were checked against their fingerprints (BLAKE3), since the site started."""
    mismatches_caught: int
    """Chunks from peers that failed this check and were refused (IST-108)."""
    invalid: int
    """Chunks of this site's store that failed this check and were dropped (IST-304)."""
    unlearned_bytes: int
    """Bytes that passed without being stored, because there was no room or the disk failed or lagged (IST-305)."""
    unwritten_bytes: int
    """Bytes in completed containers that wait to be written to disk."""
    alarms: list[str]
    """What an operator must know about the store now, one sentence each, with the remedy."""


@dataclass(frozen=True, slots=True)
class LiveRates:
    """Rates of the last second, in bits a second. The keys are those of Chart."""

    lan_sent: float
    lan_received: float
    wan_sent: float
    wan_retransmitted: float
    wan_received: float


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """What `/api/v1/live` sends once a second as `event: live`, the same to all who listen."""

    site: str
    """`site.name`."""
    version: str
    """Of Isthmus."""
    time: float
    """When this was found."""
    uptime_seconds: float
    draining: bool
    """The site takes no new connections, and ends when its streams have ended."""
    health: HealthAnswer
    rates: LiveRates
    bytes: dict[str, int]
    """Totals since the site started, as `bytes` of Snapshot."""
    warnings: list[Caution]
    """Those that hold now."""
    last_event: int
    """Number of the newest event. If you know only older ones, ask `/api/v1/events` for the rest."""
    streams_total: int
    """How many live streams the site has."""
    streams: list[StreamStatus]
    """The 50 that move most."""


@dataclass(frozen=True, slots=True)
class DrainAnswer:
    """The site takes no new connections, waits for its streams, and ends."""

    draining: bool
    """Always true."""


@dataclass(frozen=True, slots=True)
class ReloadAnswer:
    """Whether the site's file, certificates, keys, pins and tokens were read anew."""

    reloaded: bool
    """False: some or all of the old ones stay in use."""
    problem: str
    """Why they do; empty otherwise."""
    taken_over: tuple[str, ...]
    """What else of the site's file was changed, and holds from now on: "forward array", "tunnel.memory"."""
    awaiting_restart: tuple[str, ...]
    """What else the site's file says that does not run, and will after a restart: "store.size", "forward array". If
    the file cannot be used, as of the last reload."""
    draining: bool
    """The site drains, so nothing is taken over any more: all that was changed awaits the next start."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request was not answered."""

    error: str
    """What is wrong with it."""
    remedy: str
    """What to do."""
