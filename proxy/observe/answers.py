"""The shapes of what the API answers beside the status: health, history, streams, events, warnings, store, live.

Plain data; the API's document (deploy/API.md, proxy/web/openapi.json) is written from these classes and their words.
Times are seconds since 1970 (UTC), rates bits a second, shares of a whole 0 to 1. New keys may come.
"""

from dataclasses import dataclass
from enum import StrEnum

from proxy.observe.snapshot import StreamStatus, VerdictStatus


class Level(StrEnum):
    """How well something is, from best to worst."""

    HEALTHY = "healthy"
    ATTENTION = "attention"
    """It works; somebody should look at it in working hours."""
    DEGRADED = "degraded"
    """It works worse than it should, or a part of it does not."""
    CRITICAL = "critical"
    """Nothing is replicated; or, as the site's own certificate has ended, will be once its lanes have."""


class Severity(StrEnum):
    """How much an event matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is not healthy."""

    code: str
    """As of events: "IST-102" (deploy/EVENTS.md)."""
    level: Level
    words: str
    """A sentence with the figure."""
    remedy: str
    since: float
    about: str = ""
    """What tells it from others with its code, which may hold at the same time: "the certificate of peer west"."""


@dataclass(frozen=True, slots=True)
class LaneHealth:
    """One TLS connection of a tunnel. Rates and loss are of the last ten seconds."""

    number: int
    remote: str
    level: Level
    since: float
    reasons: list[Reason]
    round_trip_seconds: float
    loss: float
    """Share of the bytes that had to be sent again."""
    sent_bits_per_second: float
    received_bits_per_second: float
    window_bytes: int
    """TCP's congestion window."""
    congestion_control: str
    dscp: int


@dataclass(frozen=True, slots=True)
class TunnelHealth:
    """The link to a peer. Rates and loss are of the last ten seconds, all lanes together."""

    level: Level
    since: float
    reasons: list[Reason]
    state: str
    """up, outage, connecting or waiting."""
    round_trip_seconds: float | None
    loss: float
    sent_bits_per_second: float
    received_bits_per_second: float
    unacked_bytes: int
    outages: int
    """Times that the last lane was lost, since the site started."""
    resumed: int
    """Of these, how often the streams went on where they had stopped."""
    lanes: list[LaneHealth]


@dataclass(frozen=True, slots=True)
class PeerHealth:
    """Another site, as seen from here. Its level is no better than its tunnel's."""

    name: str
    level: Level
    since: float
    reasons: list[Reason]
    streams: int
    verdict: VerdictStatus
    tunnel: TunnelHealth


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """The chunk store."""

    level: Level
    since: float
    reasons: list[Reason]


@dataclass(frozen=True, slots=True)
class HealthAnswer:
    """The ladder: the site, its store, each peer, each tunnel, each lane. Every step has its own level and reasons.

    A site whose peers are all critical is critical; one of which some are is degraded.
    """

    site: str
    time: float
    level: Level
    since: float
    words: str
    """The whole in one sentence: the worst reason, or "replication is healthy"."""
    reasons: list[Reason]
    """Of the site itself: certificates, configuration, drain."""
    store: StoreHealth
    peers: list[PeerHealth]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""

    number: int
    """Rises by one with each event, also across restarts."""
    time: float
    code: str
    """Stable: "IST-101"; all of them are in deploy/EVENTS.md."""
    severity: Severity
    subject: str
    """What it is about: "site", "store", "peer west", "forward replication", "listener"."""
    words: str
    remedy: str
    """Empty where nothing needs doing."""
    count: int
    """More than 1: the same happened so often within a minute, and is told once."""


@dataclass(frozen=True, slots=True)
class EventsAnswer:
    """Events, oldest first."""

    first: int
    """Number of the oldest event that is still kept."""
    last: int
    """Number of the newest; 0 before the first. Give it as `after` next time."""
    events: list[Event]


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning: something that works, and gains less than an operator would expect."""

    code: str
    subject: str
    words: str
    """A sentence with the figures."""
    remedy: str
    since: float


@dataclass(frozen=True, slots=True)
class WarningsAnswer:
    """What holds now; empty when there is nothing to warn of."""

    warnings: list[Caution]


@dataclass(frozen=True, slots=True)
class RateSummary:
    """Of one line of a chart, in bits a second, over the steps in which the site ran."""

    peak: float
    """Of the busiest second."""
    p95: float
    """95th percentile of the steps' averages."""
    average: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Columns of the same length as `time`. Null: the site did not run. LAN: plain bytes of the arrays' connections;
    WAN: TCP payload of lanes (of a forward or export: bytes on the wire, and only what is sent)."""

    lan_sent: list[float | None]
    """From arrays here."""
    lan_received: list[float | None]
    """To arrays here."""
    wan_sent: list[float | None]
    """First transmissions."""
    wan_retransmitted: list[float | None]
    wan_received: list[float | None]


@dataclass(frozen=True, slots=True)
class Summaries:
    """For each column of the chart."""

    lan_sent: RateSummary
    lan_received: RateSummary
    wan_sent: RateSummary
    wan_retransmitted: RateSummary
    wan_received: RateSummary


@dataclass(frozen=True, slots=True)
class Waterfall:
    """What became of the bytes that were sent in that range, from the arrays to the line. Each is a number of bytes."""

    raw: int
    """Plain bytes from arrays here."""
    after_deduplication: int
    after_compression: int
    framing: int
    """What frames, TLS and the tunnel's own messages added."""
    wire: int
    """TCP payload, first transmissions: after_compression + framing."""
    retransmitted: int
    """Sent again, on top."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The seconds in which most plain bytes were new to the peer (cold), or known to it (warm)."""

    seconds: int
    """In which something was sent."""
    raw: int
    """Plain bytes in these seconds."""
    wire: int
    """Bytes sent for them, retransmissions included."""
    lan_bits_per_second: float
    """The average in these seconds."""
    gain: float | None
    """raw / wire; null without any."""


@dataclass(frozen=True, slots=True)
class Gain:
    """Bandwidth gain of one forward or export: what its arrays sent for each byte of the line."""

    share: str
    """ "forward replication", "export array"."""
    raw: int
    after_deduplication: int
    after_compression: int
    wire: int
    """Bytes on the wire, headers of TCP and IP included."""
    gain: float | None
    """raw / wire; null if nothing was sent."""
    by_deduplication: float
    """Share of the plain bytes that deduplication saved."""
    by_compression: float
    """Share of the plain bytes that compression saved of the rest."""


@dataclass(frozen=True, slots=True)
class HistoryAnswer:
    """Throughput and savings over a range of time."""

    range: str
    """5m, 1h, 6h, 1d, 7d or 30d."""
    of: str
    """ "site", "peer west", "forward replication", "export array"."""
    choices: list[str]
    """What else `of` may be."""
    step_seconds: int
    """Each entry of a column is the average over so long."""
    begins: float
    ends: float
    kept: str
    """ "disk", or "memory" where no file can be written: then a restart forgets."""
    time: list[float]
    """When each step ends."""
    chart: Chart
    """Bits a second."""
    summary: Summaries
    waterfall: Waterfall
    cold: Pass
    warm: Pass
    gains: list[Gain]
    """Over the same range, of the forwards and exports of which history is kept, whatever `of` is."""


@dataclass(frozen=True, slots=True)
class StreamsAnswer:
    """Streams that pass the filters."""

    total: int
    """Live streams of the site."""
    matching: int
    """Of these, how many pass the filters."""
    streams: list[StreamStatus]
    """At most `limit` of them, in the order asked for."""


@dataclass(frozen=True, slots=True)
class HitsByAge:
    """How many look-ups found their chunk at that age, the newest data first. Estimated from one look-up in 256."""

    newest_share: float
    """It was in that share of the store's size, counted from the newest data, and in none of the entries before."""
    share: float
    """Of all look-ups since the site started."""


@dataclass(frozen=True, slots=True)
class LargerStore:
    """An estimate: what a store of that size would have found beyond this one's hits. From evicted chunks, sampled."""

    size_bytes: int
    more_hits: float
    """Share of all look-ups."""


@dataclass(frozen=True, slots=True)
class StoreAnswer:
    """What is stored, and how well it serves."""

    mode: str
    """memory or disk."""
    size_bytes: int
    used_bytes: int
    """Bytes of chunks."""
    fill: float
    """used / size."""
    chunks: int
    oldest_seconds: float
    """Age of the oldest data; 0 until a container is full."""
    replaced_last_hour_bytes: int
    """Chunk bytes that went to make room."""
    hits: int
    """Look-ups that found their chunk, since the site started."""
    misses: int
    hit_rate: float | None
    """Null before the first look-up."""
    hits_by_age: list[HitsByAge]
    larger: list[LargerStore]
    """Empty while nothing was evicted: then a larger store would bring nothing."""
    advice: str
    """The same in a sentence."""
    verified_bytes: int
    """Bytes whose BLAKE3 was checked against a fingerprint, since the site started."""
    mismatches_caught: int
    """Chunks of peers that failed it and were refused."""
    invalid: int
    """Chunks of the store here that failed it and were dropped."""
    unlearned_bytes: int
    """Passed without being stored, for want of room or health."""
    unwritten_bytes: int
    """Waiting for the disk."""
    alarms: list[str]


@dataclass(frozen=True, slots=True)
class LiveRates:
    """Of the last second, in bits a second; names as in the chart of the history."""

    lan_sent: float
    lan_received: float
    wan_sent: float
    wan_retransmitted: float
    wan_received: float


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """What `/api/v1/live` sends once a second as the event "live"; the same bytes to all who listen."""

    site: str
    version: str
    time: float
    uptime_seconds: float
    draining: bool
    health: HealthAnswer
    rates: LiveRates
    bytes: dict[str, int]
    """As in the status: totals since the site started."""
    warnings: list[Caution]
    last_event: int
    """Number of the newest event: ask `/api/v1/events` for what is new."""
    streams_total: int
    streams: list[StreamStatus]
    """The 50 busiest."""


@dataclass(frozen=True, slots=True)
class DrainAnswer:
    """The site accepts nothing new, waits for its streams, and ends."""

    draining: bool


@dataclass(frozen=True, slots=True)
class ReloadAnswer:
    """Certificates, keys, pins and tokens were read anew."""

    reloaded: bool
    """False: the old ones stay in use."""
    problem: str
    """Why."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request was not answered."""

    error: str
    remedy: str
