"""The API's routes as data: what is served, to whom, what comes back. The server and the document read this table."""

from dataclasses import dataclass
from enum import Enum

from proxy.observe import answers
from proxy.observe.journal import EVENTS_MAX
from proxy.observe.ranges import RANGES
from proxy.observe.snapshot import Snapshot
from proxy.observe.streams import ORDERS

API = "/api/v1"
STREAMS_MAX = 1000
"""Streams in one answer."""


class Right(Enum):
    """What a request needs."""

    NONE = "none"
    READ = "read"
    CONTROL = "control"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query."""

    name: str
    words: str
    default: str | int = ""
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    """The parameter is a number, at most this one; if this is 0, it is text."""


@dataclass(frozen=True, slots=True)
class Route:
    """One address of the API."""

    method: str
    path: str
    words: str
    answer: type | None
    """The class of the answer; None: it is not JSON."""
    right: Right = Right.READ
    parameters: tuple[Parameter, ...] = ()
    media: str = "application/json"


ROUTES = (
    Route("GET", f"{API}/status", "The status: everything, as of now.", Snapshot),
    Route("GET", f"{API}/health", "The health ladder, with reasons and since when.", answers.HealthAnswer),
    Route(
        "GET",
        f"{API}/history",
        "Throughput and savings over a range of time.",
        answers.HistoryAnswer,
        parameters=(
            Parameter("range", "How far back.", "1h", choices=tuple(RANGES)),
            Parameter("of", 'Of what: "site", or one of `choices` of an earlier answer.', "site"),
        ),
    ),
    Route(
        "GET",
        f"{API}/streams",
        "Live streams, filtered and sorted. A stream has to pass all filters; an empty filter passes everything.",
        answers.StreamsAnswer,
        parameters=(
            Parameter("peer", "Name of the peer."),
            Parameter("forward", "Name of the forward."),
            Parameter("export", "Name of the export."),
            Parameter("direction", "Who opened it.", choices=("", "outward", "inward")),
            Parameter("limited_by", "The verdict's limit, such as `wan rate`."),
            Parameter("search", "Part of the origin, initiator or target; capitals make no difference."),
            Parameter("order", "What to sort by, largest first.", "rate", choices=tuple(ORDERS)),
            Parameter("limit", "How many at most.", 100, least=1, most=STREAMS_MAX),
        ),
    ),
    Route(
        "GET",
        f"{API}/events",
        "What happened, oldest first.",
        answers.EventsAnswer,
        parameters=(
            Parameter("after", "Only events with a greater number.", 0, least=0, most=2**53),
            Parameter("limit", "How many at most: the newest of them.", 200, least=1, most=EVENTS_MAX),
        ),
    ),
    Route("GET", f"{API}/warnings", "What gains less than one would expect.", answers.WarningsAnswer),
    Route("GET", f"{API}/store", "The store: fill, age, hits, what a larger one would bring.", answers.StoreAnswer),
    Route(
        "GET",
        f"{API}/live",
        'Server-sent events: once a second "live" (as below), and "event" (as in /api/v1/events) as they happen.',
        answers.LiveAnswer,
        media="text/event-stream",
    ),
    Route("GET", f"{API}/openapi.json", "This document.", None),
    Route(
        "POST",
        f"{API}/drain",
        "Accept nothing new, wait for live streams as long as `tunnel.drain` says, and end, as after SIGTERM.",
        answers.DrainAnswer,
        Right.CONTROL,
    ),
    Route(
        "POST",
        f"{API}/reload",
        "Read certificates, keys, pins and tokens again, as after SIGHUP; until then the former tokens are valid."
        " Connections to this listener end afterwards.",
        answers.ReloadAnswer,
        Right.CONTROL,
    ),
    Route("GET", "/metrics", "For Prometheus; the names are in METRICS.md.", None, media="text/plain"),
    Route(
        "GET",
        "/healthz",
        "`ok` (200), `starting` or `draining` (503); no token needed.",
        None,
        Right.NONE,
        media="text/plain",
    ),
)
