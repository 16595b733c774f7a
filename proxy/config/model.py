"""What a site's file can say: every section and key, with type, default and description.

The descriptions are the operator's documentation and the JSON Schema as well (`document`, `schema`). What can be wrong
with several keys together is in `checks`, so that all of it is reported at once.
"""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from proxy.config.addresses import DialledAddress, ListenAddress, RemoteAddress
from proxy.config.names import NAME_RULE
from proxy.config.ranges import Ports, Range
from proxy.config.timetable import Clock, Days, Span
from proxy.config.validators import Duration, Rate, Size, Within
from proxy.config.values import CongestionControl, Dscp, FilePath, HostName, Integer, Lanes, Level, Name, Switch


def setting(
    description: str, default: Any = ..., *, example: str | list[str] | None = None, key: str | None = None
) -> Any:
    """A key: what it means, and its default as it would stand in the file (required without) or an example.

    `key`: as it stands in the file, if not as here.
    """
    return Field(default, description=description, examples=None if example is None else [example], alias=key)


class Section(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class Site(Section):
    """This site."""

    name: Name = setting(f"Name by which the peers know this site: {NAME_RULE}.", example="east")


class Identity(Section):
    """By what this site proves who it is, and whom it trusts beyond the certificates of its peers."""

    certificate: FilePath = setting("This site's certificate (PEM), as made by `isthmus keygen`.", example="east.crt")
    key: FilePath = setting("Its private key (PEM, not encrypted, readable by its owner only).", example="east.key")
    ca: FilePath | None = setting(
        "Certificates of a private CA (PEM). A peer without `certificate` is then recognised by its name"
        " in a certificate that this CA itself has signed: those of intermediate CAs belong into the file, too.",
        None,
    )


class Tunnel(Section):
    """The encrypted link to the peers: where it listens, when it gives up, how much it may hold in memory."""

    listen: ListenAddress | None = setting("Where peers dial in. Needed as soon as one peer has no `address`.", None)
    keepalive: Annotated[Duration, Within("100ms", "1h")] = setting(
        "A PING goes by each lane so often; every second, if that is less, while it carries streams.", "5s"
    )
    dead_after: Annotated[Duration, Within("200ms", "2h")] = setting(
        "A lane on which nothing arrived for so long is given up. Longer than `keepalive`.", "20s"
    )
    grace: Annotated[Duration, Within("0s", "24h")] = setting(
        "For so long after the last lane was lost the arrays' connections are held, and resume where they"
        " stopped. Keep it below the time after which the arrays give up by themselves.",
        "120s",
    )
    window: Annotated[Size, Within("64KiB", "4GiB")] = setting(
        "What one stream may have under way, in bytes of batches as the line carries them, but no less than an eighth"
        " of the plain bytes; never more than twice so many plain bytes. Speed of a stream is at most"
        " window / round trip.",
        "96MiB",
    )
    memory: Annotated[Size, Within("1MiB", "64GiB")] = setting(
        "What all streams together may have under way, counted as in `window`; peers share it evenly, and each needs"
        " 1MiB of it. At least `window`.",
        "192MiB",
    )
    unacked: Annotated[Size, Within("1MiB", "64GiB")] = setting(
        "Bytes kept until peers have acknowledged them, shared evenly by the peers, each of which needs 1MiB of it;"
        " sources wait above that.",
        "64MiB",
    )
    streams: Annotated[Integer, Field(ge=1, le=65536)] = setting(
        "Live streams (array connections) that one peer may open; each takes at least 64KiB of its part of `memory`.",
        1024,
    )
    congestion_control: CongestionControl = setting(
        "Of the tunnel's connections. `auto`: `bbr` where the kernel offers it, otherwise the kernel's default.", "auto"
    )
    lanes: Lanes = setting(
        "Connections that the tunnel is spread over, 1 to 64; with `dscp`, so many for each mark, 64 together. Of"
        " two or more the newest is kept for what is small and urgent, and where packets are lost such frames go by"
        " up to two others as well. `auto`: that one, two more where packets are lost, and for bulk one with `bbr`,"
        " otherwise as many as loss and round trip call for. The site that dials opens them, and heeds the other site's"
        " need as well.",
        "auto",
    )
    connect_timeout: Annotated[Duration, Within("100ms", "5m")] = setting(
        "How long connecting may take, to a peer or to an export.", "10s"
    )
    drain: Annotated[Duration, Within("0s", "1h")] = setting(
        "After SIGTERM live streams have so long to end by themselves; then, or as soon as SIGINT (Ctrl-C) comes while"
        " it waits, they are reset. The site tells systemd how long it may take; a container's `stop_grace_period` has"
        " to be longer.",
        "30s",
    )
    reconnect_max: Annotated[Duration, Within("100ms", "1h")] = setting(
        "Longest pause between two attempts to reach a peer.", "15s"
    )


class Store(Section):
    """Where chunks are kept so that they cross the WAN only once. Size it like the data that is replicated again."""

    mode: Literal["memory", "disk"] = setting(
        "`memory` is fastest and empty after a restart; `disk` is larger and stays warm. `isthmus init` writes `disk`"
        " unless told otherwise.",
        "memory",
    )
    size: Annotated[Size, Within("64MiB", "1024TiB")] = setting(
        "Bound of the store, everything included but the copies of a disk store that were set aside because they could"
        " not be trusted: at most three, until you delete them. What was stored first goes first, a container of 2 or"
        " 4 MiB at a time, however often it was used. `isthmus init` writes 10GiB unless told otherwise.",
        "1GiB",
    )
    path: FilePath | None = setting(
        "Directory of the disk store; made if it is missing. Needed for `disk`, unused for `memory`.", None
    )
    cache: Annotated[Size, Within("32MiB", "1TiB")] = setting(
        "Memory for containers of the disk store: those being filled, those that wait to be written, those read lately."
        " Unused for `memory`.",
        "160MiB",
    )


class Chunking(Section):
    """How data is cut. The two sites need not agree, but find more duplicates if they do."""

    minimum: Annotated[Size, Within("1KiB", "256KiB")] = setting("Shortest chunk.", "4KiB")
    average: Annotated[Size, Within("1KiB", "256KiB")] = setting(
        "Chunk length aimed at. Smaller finds more duplicates and costs more CPU and index. At least twice `minimum`.",
        "16KiB",
    )
    maximum: Annotated[Size, Within("1KiB", "256KiB")] = setting("Longest chunk.", "64KiB")


class Compression(Section):
    """How data that the peer does not hold yet is compressed."""

    codec: Literal["zstd", "none"] = setting("`none` leaves it as it is.", "zstd")
    level: Level = setting(
        "Of zstd. `auto`: as high, and with as long a context, as each stream's line leaves time for,"
        " and not at all where the line is faster than that; where there is a `rate` or a `maximum`, at least level 1."
        " -5 (fastest) to 19 (smallest): always that, each batch by itself."
        " Data that does not compress is found and passed as is.",
        "auto",
    )


class Status(Section):
    """The page, health, status and metrics over HTTP (API.md)."""

    listen: ListenAddress = setting(
        "Where it is served. A loopback address asks for no password. Any other one needs `certificate` and `key`, and"
        " `token` or `clients`. Where an export leads peers to it, it needs `token` or `clients`, and `control_token`.",
        "127.0.0.1:8900",
    )
    certificate: FilePath | None = setting("Of the listener (PEM): with it, HTTPS (TLS 1.3) is spoken.", None)
    key: FilePath | None = setting("Its private key (PEM, not encrypted, readable by its owner only).", None)
    token: FilePath | None = setting(
        "File with the token that reading needs, 16 characters at least, readable by its owner only:"
        " `openssl rand -hex 32`, for example.",
        None,
    )
    control_token: FilePath | None = setting(
        "File with the token that `drain` and `reload` need, 16 characters at least, readable by its owner only; who"
        " shows it may read, too. Without it, these two are allowed on a loopback address only.",
        None,
    )
    clients: FilePath | None = setting(
        "Certificates (PEM) of clients, or of a CA that signs theirs: who shows one may read without a token.", None
    )
    names: tuple[HostName, ...] = setting(
        "Host names by which clients ask for it, beside its IP address. A request with any other Host header is"
        " refused.",
        (),
    )
    history: FilePath | None = setting(
        "File that keeps history and events across restarts, below 50 MB. Without it, `NAME-history.db` in systemd's"
        " state directory, or beside this file; where that cannot be written, or belongs to a site of another name, as"
        " to this one before it was renamed, history is kept in memory only."
        " Name it where systemd runs the site: commands typed in a shell do not see its state directory.",
        None,
    )


class Log(Section):
    """What is written to stderr."""

    level: Literal["debug", "info", "warning", "error"] = setting("Least severity that is written.", "info")
    format: Literal["auto", "text", "json"] = setting(
        "`auto`: text on a terminal, one JSON object a line otherwise.", "auto"
    )


LineRate = Annotated[Rate, Within("64kbit", "1Tbit")]
"""Bits a second on the wire: everything that packets are made of counts, but what the link itself adds."""


class ScheduledRate(Section):
    """Another rate of that peer at certain times, by this host's clock. The first table that fits the time counts."""

    days: Days = setting("Days on which it begins.", "mon-sun")
    begin: Clock = setting("When it begins.", example="08:00", key="from")
    end: Clock = setting("When it ends; on the next day if that is before `from`.", example="18:00", key="to")
    rate: LineRate = setting("The rate during that time.", example="10Mbit")


class Peer(Section):
    """A site that this one has a tunnel with. One table a peer."""

    name: Name = setting("The other site's `site.name`.", example="west")
    address: DialledAddress | None = setting(
        "Where to reach its tunnel listener. Without it, the peer is waited for.", None
    )
    certificate: FilePath | None = setting(
        "Its certificate (PEM), and no other is accepted. Needed unless `identity.ca` is given.", None
    )
    rate: LineRate | None = setting(
        "Most that this site sends to it, all lanes together, in bits on the wire: TLS, TCP and IP headers and what is"
        " sent again included. Without it, as much as the line takes.",
        None,
    )
    schedule: tuple[ScheduledRate, ...] = setting("Other rates at certain times.", ())

    def rate_at(self, when: datetime) -> int | None:
        """Bits a second that may be sent at that local time; None: no limit."""
        fits = (entry.rate for entry in self.schedule if Span(entry.days, entry.begin, entry.end).covers(when))
        return next(fits, self.rate)


_PRIORITY = setting(
    "Who goes first with what no `guarantee` claims: `high` before `normal` before `low`, which gets what the others"
    " leave. Those of one priority get the same.",
    "normal",
)
_GUARANTEE = setting(
    "Rate on the wire, of what this site sends, that is there whenever it is wanted; lent to others otherwise.", None
)
_MAXIMUM = setting("Rate on the wire that what this site sends does not exceed.", None)
_BURST = setting(
    "Bytes on the wire that may go at once after a rest, before `maximum` holds. Without it, 100 ms of `maximum`.", None
)
_DSCP = setting("Mark of the packets that this site sends (DiffServ); they travel on lanes of their own.", None)


class Forward(Section):
    """A local address whose connections are carried to an export of a peer. One table a forward; none is fine."""

    name: Name = setting("Name in logs and figures.", example="replication")
    listen: ListenAddress = setting("Where the near array connects to.", example="127.0.0.1:3260")
    peer: Name = setting("Name of the peer.", example="west")
    export: Name = setting("Name of the export, as the peer's file gives it.", example="array")
    protocol: Literal["auto", "tcp", "iscsi"] = setting(
        "What the connections carry. `iscsi`: headers and data are reduced each in its own way; what is not understood"
        " passes as it is, and a warning says so. `tcp`: just bytes. `auto`: iSCSI if the first bytes are a login; with"
        " `portal`, or `range` and `ports`, as `iscsi`.",
        "auto",
    )
    rewrite: Switch = setting(
        "Portal addresses that a far iSCSI target names to initiators, in discovery and when it says that it has moved,"
        " are replaced by those of forwards on this side, where `portal` or `range` of a forward to that peer says so."
        " `false`: what comes through this forward passes as it is.",
        True,
    )
    portal: RemoteAddress | None = setting(
        "The far portal that this forward stands for: where a target names it, initiators are sent to `listen`.", None
    )
    range: Range | None = setting(
        "Far portals for which forwards are opened on demand, on `ports`, when a target names them; or, with"
        " `transparent`, to which redirected connections go. The peer's export has to have that `range`, too. Without a"
        " port it is 3260.",
        None,
    )
    ports: Ports | None = setting(
        "Ports for them, at the address of `listen`. There are never more forwards on demand than ports; with as many"
        " as `range` has addresses each has always the same one.",
        None,
    )
    transparent: Switch = setting(
        "Connections that the host's packet filter has redirected to `listen` (deploy/nftables) go on to where they"
        " were meant to go, if that is in `range`; so arrays and initiators keep the far portals' own addresses, and"
        " what a target names passes as it is. Those that were meant for `listen` itself go to the export's address.",
        False,
    )
    idle: Annotated[Duration, Within("1s", "365d")] = setting(
        "A forward that was opened on demand closes when no connection and no target has asked for it for so long.",
        "1h",
    )
    priority: Literal["high", "normal", "low"] = _PRIORITY
    guarantee: LineRate | None = _GUARANTEE
    maximum: LineRate | None = _MAXIMUM
    burst: Annotated[Size, Within("1500B", "1GiB")] | None = _BURST
    dscp: Dscp | None = _DSCP


class Export(Section):
    """An address that named peers may reach through this site, and nothing else. One table an export; none is fine."""

    name: Name = setting("Name by which the peers ask for it.", example="array")
    address: RemoteAddress = setting("Where the far array listens.", example="10.1.0.5:3260")
    range: Range | None = setting(
        "A network whose addresses the peers may reach as well, by forwards that they open on demand: the portals that"
        " the array names in discovery and when it redirects. Without a port it is 3260.",
        None,
    )
    peers: Annotated[tuple[Name, ...], Field(min_length=1)] = setting(
        "Names of the peers that may reach it.", example=["east"]
    )
    priority: Literal["high", "normal", "low"] = _PRIORITY
    guarantee: LineRate | None = _GUARANTEE
    maximum: LineRate | None = _MAXIMUM
    burst: Annotated[Size, Within("1500B", "1GiB")] | None = _BURST
    dscp: Dscp | None = _DSCP


class SiteConfig(Section):
    """Configuration of one Isthmus site."""

    site: Site
    identity: Identity
    tunnel: Tunnel = Field(default_factory=Tunnel)
    store: Store = Field(default_factory=Store)
    chunking: Chunking = Field(default_factory=Chunking)
    compression: Compression = Field(default_factory=Compression)
    status: Status = Field(default_factory=Status)
    log: Log = Field(default_factory=Log)
    peers: tuple[Peer, ...] = Field((), alias="peer")
    forwards: tuple[Forward, ...] = Field((), alias="forward")
    exports: tuple[Export, ...] = Field((), alias="export")

    _source: Path = PrivateAttr(Path())

    def model_post_init(self, context: Any) -> None:
        """Keep the path of the file."""
        self._source = Path((context or {}).get("source", ""))

    @property
    def source(self) -> Path:
        """The file that this was loaded from, to load it again."""
        return self._source
