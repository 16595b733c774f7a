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
_ORDERS = (
    "What to sort by, largest first. `rate`: plain bits a second, both directions; `age`; `raw`: plain bytes so far,"
    " both directions; `gain`: `raw` / `after_compression` of what was sent."
)


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
    Route(
        "GET",
        f"{API}/status",
        "All of the site now: peers, lanes, streams, volumes, store, counters.",
        Snapshot,
        parameters=(
            Parameter(
                "streams",
                "none: `streams` stays empty. To describe a thousand streams costs the site 0.1 s and the line 1 MB.",
                choices=("", "none"),
            ),
        ),
    ),
    Route("GET", f"{API}/health", "How healthy the site and its parts are, why, and since when.", answers.HealthAnswer),
    Route(
        "GET",
        f"{API}/history",
        "Throughput and savings over a range of time, up to 30 days.",
        answers.HistoryAnswer,
        parameters=(
            Parameter("range", "How far back from now.", "1h", choices=tuple(RANGES)),
            Parameter("of", '"site", or one of `choices` in an earlier answer, such as "peer west".', "site"),
        ),
    ),
    Route(
        "GET",
        f"{API}/streams",
        "Live streams, filtered and sorted. A stream has to pass all filters; an empty filter passes all streams.",
        answers.StreamsAnswer,
        parameters=(
            Parameter("peer", "Name of the peer."),
            Parameter("forward", "Name of the forward."),
            Parameter("export", "Name of the export."),
            Parameter(
                "direction",
                "outward: opened at this site, through a forward; inward: opened by the peer.",
                choices=("", "outward", "inward"),
            ),
            Parameter("limited_by", "What limits it, by the `limit` of its verdict, such as `wan rate`."),
            Parameter(
                "search", "Text that its `origin`, `initiator` or `target` contains; capitals make no difference."
            ),
            Parameter("order", _ORDERS, "rate", choices=tuple(ORDERS)),
            Parameter("limit", "How many streams at most.", 100, least=1, most=STREAMS_MAX),
        ),
    ),
    Route(
        "GET",
        f"{API}/events",
        "What happened, oldest first. The site keeps 2000 events.",
        answers.EventsAnswer,
        parameters=(
            Parameter("after", "Only events with a greater number; 0 for all.", 0, least=0, most=2**53),
            Parameter("limit", "How many at most; if there are more, the newest.", 200, least=1, most=EVENTS_MAX),
        ),
    ),
    Route(
        "GET",
        f"{API}/warnings",
        "What works, but gains less than one would expect, and what to do about it.",
        answers.WarningsAnswer,
    ),
    Route(
        "GET",
        f"{API}/store",
        "The store: how full it is, how often chunks are found in it, what a larger one would bring.",
        answers.StoreAnswer,
    ),
    Route(
        "GET",
        f"{API}/live",
        'A stream of server-sent events: "live" once a second, and "event" whenever something happens.',
        answers.LiveAnswer,
        media="text/event-stream",
    ),
    Route("GET", f"{API}/openapi.json", "This API as an OpenAPI 3.1 document.", None),
    Route(
        "POST",
        f"{API}/drain",
        "End the site, as SIGTERM does: take no new connections, give streams the time `tunnel.drain`, reset the rest.",
        answers.DrainAnswer,
        Right.CONTROL,
    ),
    Route(
        "POST",
        f"{API}/reload",
        "Read the site's file, certificates, keys, pins and tokens again, as SIGHUP does; CONFIGURATION.md says what a"
        " running site takes over. Show the token that the site has read last, not a new one."
        " Connections to this listener end afterwards.",
        answers.ReloadAnswer,
        Right.CONTROL,
    ),
    Route("GET", "/metrics", "Metrics for Prometheus; METRICS.md has their names.", None, media="text/plain"),
    Route(
        "GET",
        "/healthz",
        "`ok` (status 200), or `starting` or `draining` (503). It needs no token.",
        None,
        Right.NONE,
        media="text/plain",
    ),
)
