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
    """A key: what it means, its default as it would stand in the file (without one the key is required), an example.

    `key`: its name in the file, if that differs from the field's.
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
        "Certificates of a private CA (PEM). A peer without `certificate` is then recognised by its name in a"
        " certificate that one of these has signed directly; intermediate CAs must therefore be in the file, too.",
        None,
    )


class Tunnel(Section):
    """The encrypted link to the peers: where it listens, when it gives up, how much it may hold in memory."""

    listen: ListenAddress | None = setting("Where peers dial in. Needed as soon as one peer has no `address`.", None)
    keepalive: Annotated[Duration, Within("100ms", "1h")] = setting(
        "How often each lane sends a PING; while it carries streams, at least once a second.", "5s"
    )
    dead_after: Annotated[Duration, Within("200ms", "2h")] = setting(
        "A lane on which nothing has arrived for this long is given up. Must be longer than `keepalive`, and has to be"
        " longer than that and a round trip together, or lanes that carry nothing are given up again and again.",
        "20s",
    )
    grace: Annotated[Duration, Within("0s", "24h")] = setting(
        "When the last lane is lost, the arrays' connections are held for this long, and resume where they"
        " stopped. Keep it below the time after which the arrays themselves give up.",
        "120s",
    )
    window: Annotated[Size, Within("64KiB", "4GiB")] = setting(
        "What one stream may have under way, either way: of two sites' windows the smaller one counts. Batches count as"
        " the line carries them, but as an eighth of their plain bytes at least; and never more than twice this many"
        " plain bytes are under way. The speed of a stream is at most window / round trip.",
        "96MiB",
    )
    memory: Annotated[Size, Within("1MiB", "64GiB")] = setting(
        "What all streams together may have under way, counted as for `window`. Peers share it evenly, and each"
        " needs 1MiB of it. Must be at least `window`.",
        "192MiB",
    )
    unacked: Annotated[Size, Within("1MiB", "64GiB")] = setting(
        "Bytes kept until the peers have acknowledged them; when it is full, sources wait. Peers share it evenly,"
        " and each needs 1MiB of it.",
        "64MiB",
    )
    streams: Annotated[Integer, Field(ge=1, le=65536)] = setting(
        "How many live streams (array connections) one peer may open. Each takes at least 64KiB of the peer's"
        " part of `memory`.",
        1024,
    )
    congestion_control: CongestionControl = setting(
        "Congestion control of the tunnel's connections. `auto`: `bbr` where the kernel offers it, otherwise the"
        " kernel's default.",
        "auto",
    )
    lanes: Lanes = setting(
        "How many connections the tunnel is spread over, 1 to 64; with `dscp`, this many for each mark, but no"
        " more than 64 in all. Where there are two or more, the newest is kept for small, urgent frames; where"
        " packets are lost, those are also sent by up to two others. `auto`: one for urgent frames and two more"
        " where packets are lost; for bulk one with `bbr`, otherwise as many as loss and round trip call for. The"
        " site that dials opens them; it takes account of what the other site needs.",
        "auto",
    )
    connect_timeout: Annotated[Duration, Within("100ms", "5m")] = setting(
        "How long it may take to connect to a peer or to an export.", "10s"
    )
    drain: Annotated[Duration, Within("0s", "1h")] = setting(
        "After SIGTERM, live streams have this long to end by themselves. Then they are reset, or sooner if"
        " SIGINT (Ctrl-C) comes meanwhile. The site tells systemd how long it may take; a container's"
        " `stop_grace_period` must be longer.",
        "30s",
    )
    reconnect_max: Annotated[Duration, Within("100ms", "1h")] = setting(
        "The longest pause between two attempts to reach a peer.", "15s"
    )


class Store(Section):
    """Where chunks are kept so that they cross the WAN only once. Size it like the data that is replicated again."""

    mode: Literal["memory", "disk"] = setting(
        "`memory` is fastest and empty after a restart; `disk` is larger and stays warm. `isthmus init` writes `disk`"
        " unless told otherwise.",
        "memory",
    )
    size: Annotated[Size, Within("64MiB", "1024TiB")] = setting(
        "Most that the store may take, everything included except copies of a disk store that were set aside"
        " because they could not be trusted (three at most, kept until you delete them). What was stored first is"
        " evicted first, a container of 2 or 4 MiB at a time, however often it was used. `isthmus init` writes"
        " 10GiB unless told otherwise.",
        "1GiB",
    )
    path: FilePath | None = setting(
        "Directory of the disk store; it is made if it is missing. Needed for `disk`, unused for `memory`.", None
    )
    cache: Annotated[Size, Within("32MiB", "1TiB")] = setting(
        "Memory for containers of the disk store: those being filled, waiting to be written, or read lately."
        " Unused for `memory`.",
        "160MiB",
    )


class Chunking(Section):
    """How data is cut. The two sites need not agree, but find more duplicates if they do."""

    minimum: Annotated[Size, Within("1KiB", "256KiB")] = setting("Shortest chunk.", "4KiB")
    average: Annotated[Size, Within("1KiB", "256KiB")] = setting(
        "Average chunk to aim at. A smaller one finds more duplicates, and costs more CPU and a larger index."
        " Must be at least twice `minimum`.",
        "16KiB",
    )
    maximum: Annotated[Size, Within("1KiB", "256KiB")] = setting("Longest chunk.", "64KiB")


class Compression(Section):
    """How data that the peer does not hold yet is compressed."""

    codec: Literal["zstd", "none"] = setting("`none` leaves data as it is.", "zstd")
    level: Level = setting(
        "Level of zstd. `auto`: for each stream, as high a level and as long a context as the line leaves time"
        " for, and no compression where the line is faster than compression; at least level 1 where there is a"
        " `rate` or a `maximum`. -5 (fastest) to 19 (smallest): always this level, each batch by itself. Data"
        " that does not compress is recognised and passed as it is.",
        "auto",
    )


class Status(Section):
    """The page, health, status and metrics over HTTP (API.md)."""

    listen: ListenAddress = setting(
        "Where it is served. A loopback address needs no password. Any other address needs `certificate` and"
        " `key`, and `token` or `clients`. If an export lets peers reach this listener, it needs `token` or"
        " `clients`, and `control_token`.",
        "127.0.0.1:8900",
    )
    certificate: FilePath | None = setting(
        "The listener's certificate (PEM). With it, the listener speaks HTTPS (TLS 1.3).", None
    )
    key: FilePath | None = setting("Its private key (PEM, not encrypted, readable by its owner only).", None)
    token: FilePath | None = setting(
        "File with the token that is needed to read: at least 16 characters, readable by its owner only. `openssl"
        " rand -hex 32` makes one.",
        None,
    )
    control_token: FilePath | None = setting(
        "File with the token that is needed to `drain` and `reload`, and also allows reading: at least 16"
        " characters, readable by its owner only. Without it, these two are allowed on a loopback address only.",
        None,
    )
    clients: FilePath | None = setting(
        "Certificates (PEM) of clients, or of a CA that signs theirs. A client that shows one may read without a"
        " token.",
        None,
    )
    names: tuple[HostName, ...] = setting(
        "Host names under which clients reach it, besides its IP address. A request with any other Host header is"
        " refused.",
        (),
    )
    history: FilePath | None = setting(
        "File that keeps history and events across restarts; it stays below 50 MB. Without this key it is"
        " `NAME-history.db` in systemd's state directory, or beside this file. If it cannot be written, or"
        " belongs to a site of another name (such as this one before it was renamed), history is kept in memory"
        " only. Set it where systemd runs the site: commands typed in a shell do not see systemd's state"
        " directory.",
        None,
    )


class Log(Section):
    """What is written to stderr."""

    level: Literal["debug", "info", "warning", "error"] = setting("The least severity that is written.", "info")
    format: Literal["auto", "text", "json"] = setting(
        "`auto`: text on a terminal, one JSON object a line otherwise.", "auto"
    )


LineRate = Annotated[Rate, Within("64kbit", "1Tbit")]
"""Bits a second on the wire: everything that packets are made of counts, but what the link itself adds."""


class ScheduledRate(Section):
    """Another rate of that peer at certain times, by this host's clock. The first table that fits the time counts."""

    days: Days = setting("Days on which that time begins.", "mon-sun")
    begin: Clock = setting("When it begins.", example="08:00", key="from")
    end: Clock = setting("When it ends; on the next day if that is before `from`.", example="18:00", key="to")
    rate: LineRate = setting("The rate during that time.", example="10Mbit")


class Peer(Section):
    """A site that this one has a tunnel with. One table a peer."""

    name: Name = setting("The other site's `site.name`.", example="west")
    address: DialledAddress | None = setting(
        "Where its tunnel listener is. Without it, this site waits for the peer to dial.", None
    )
    certificate: FilePath | None = setting(
        "Its certificate (PEM); no other is accepted. Needed unless `identity.ca` is given.", None
    )
    rate: LineRate | None = setting(
        "Most that this site sends to it over all lanes together, in bits on the wire: TLS, TCP and IP headers"
        " and retransmissions included. Without it, as much as the line takes.",
        None,
    )
    schedule: tuple[ScheduledRate, ...] = setting("Other rates at certain times.", ())

    def rate_at(self, when: datetime) -> int | None:
        """Bits a second that may be sent at that local time; None: no limit."""
        fits = (entry.rate for entry in self.schedule if Span(entry.days, entry.begin, entry.end).covers(when))
        return next(fits, self.rate)


_PRIORITY = setting(
    "Who is served first from what no `guarantee` claims: `high` before `normal` before `low`, which gets"
    " what the others leave. Those of one priority share evenly.",
    "normal",
)
_GUARANTEE = setting(
    "Rate on the wire, of what this site sends, that is available whenever it is wanted. While it is not"
    " used, others may have it.",
    None,
)
_MAXIMUM = setting("Rate on the wire that this site does not exceed when it sends.", None)
_BURST = setting(
    "Bytes on the wire that may go at once after a rest, before `maximum` applies. Without it, what `maximum`"
    " allows in 100 ms.",
    None,
)
_DSCP = setting("DiffServ mark of the packets that this site sends; they travel on lanes of their own.", None)


class Forward(Section):
    """A local address whose connections are carried to an export of a peer. One table a forward; none is fine."""

    name: Name = setting("Name in logs and figures.", example="replication")
    listen: ListenAddress = setting("Where the near array connects to.", example="127.0.0.1:3260")
    peer: Name = setting("Name of the peer.", example="west")
    export: Name = setting("Name of the export, as the peer's file gives it.", example="array")
    protocol: Literal["auto", "tcp", "iscsi"] = setting(
        "What the connections carry. `iscsi`: headers and data are reduced separately; what is not understood"
        " passes as it is, with a warning. `tcp`: just bytes. `auto`: iSCSI if the first bytes are a login; with"
        " `portal`, or `range` and `ports`, the same as `iscsi`.",
        "auto",
    )
    rewrite: Switch = setting(
        "A far iSCSI target names portal addresses to initiators, in discovery and when it redirects a login."
        " Where the `portal` or `range` of a forward to that peer covers such an address, it is replaced by that"
        " forward's. `false`: what comes through this forward passes as it is.",
        True,
    )
    portal: RemoteAddress | None = setting(
        "The far portal that this forward stands for: where a target names it, initiators are told `listen` instead.",
        None,
    )
    range: Range | None = setting(
        "Far portals for which forwards are opened on demand, on `ports`, when a target names them; or, with"
        " `transparent`, to which redirected connections may go. The peer's export must have this `range`, too."
        " The port is 3260 unless given.",
        None,
    )
    ports: Ports | None = setting(
        "Ports for these forwards, at the address of `listen`. There are never more forwards on demand than"
        " ports; with as many ports as `range` has addresses, each address always has the same one.",
        None,
    )
    transparent: Switch = setting(
        "Connections that the host's packet filter has redirected to `listen` (deploy/nftables) go on to their"
        " original destination, if that is in `range`. So arrays and initiators use the far portals' own"
        " addresses, and what a target names passes as it is. Connections made to `listen` itself go to the"
        " export's address.",
        False,
    )
    idle: Annotated[Duration, Within("1s", "365d")] = setting(
        "A forward that was opened on demand closes when no connection has used it, and no target has named it,"
        " for this long.",
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
        "A network whose addresses the peers may reach as well, by forwards that they open on demand: the portals"
        " that the array names in discovery and when it redirects. The port is 3260 unless given.",
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
