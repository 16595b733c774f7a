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
    """What this site proves its identity with, and a private CA that it may trust."""

    certificate: FilePath = setting("This site's certificate (PEM), as made by `isthmus keygen`.", example="east.crt")
    key: FilePath = setting(
        "The certificate's private key (PEM, not encrypted, readable by its owner only).", example="east.key"
    )
    ca: FilePath | None = setting(
        "Certificates of a private CA (PEM). A peer without `certificate` is then recognised by its name, as a DNS"
        " name in a certificate that one of these has itself signed. So intermediate CAs must be in the file, too.",
        None,
    )


class Tunnel(Section):
    """The encrypted tunnels to the peers: where peers dial in, how long outages are borne, how much memory is used."""

    listen: ListenAddress | None = setting(
        "Address at which this site lets peers dial in. Needed if any peer has no `address`.", None
    )
    keepalive: Annotated[Duration, Within("100ms", "1h")] = setting(
        "How often each lane sends a PING. While it carries data, at least once a second.", "5s"
    )
    dead_after: Annotated[Duration, Within("200ms", "2h")] = setting(
        "A lane on which nothing has arrived for this long is given up. Must be longer than `keepalive`; make it"
        " longer than `keepalive` and a round trip together, or idle lanes are given up again and again.",
        "20s",
    )
    grace: Annotated[Duration, Within("0s", "24h")] = setting(
        "How long the arrays' connections are held after the last lane was lost. If a lane is up again by then, they"
        " resume where they stopped; otherwise they are reset. Keep it below the time after which the arrays"
        " themselves give up.",
        "120s",
    )
    window: Annotated[Size, Within("64KiB", "4GiB")] = setting(
        "How much one stream may have under way in each direction. The smaller window of the two sites counts. Data"
        " counts as it is sent, after deduplication and compression, but as an eighth of its plain bytes at least. At"
        " most twice this many plain bytes are under way. So data that does not shrink gets window / round trip at"
        " most, other data twice that.",
        "96MiB",
    )
    memory: Annotated[Size, Within("1MiB", "64GiB")] = setting(
        "How much all streams together may have under way, counted as for `window`. It is divided evenly among the"
        " peers, and each needs 1MiB. Must be at least `window`.",
        "192MiB",
    )
    unacked: Annotated[Size, Within("1MiB", "64GiB")] = setting(
        "How many bytes that were sent may be kept until the peers have acknowledged them. When it is used up, the"
        " arrays have to wait. It is divided evenly among the peers, and each needs 1MiB.",
        "64MiB",
    )
    streams: Annotated[Integer, Field(ge=1, le=65536)] = setting(
        "How many streams (array connections) one peer may have open here at once. Each takes at least 64KiB of the"
        " peer's part of `memory`.",
        1024,
    )
    congestion_control: CongestionControl = setting(
        "Congestion control of the tunnel's connections. `auto`: `bbr` where the kernel offers it, otherwise the"
        " kernel's default.",
        "auto",
    )
    lanes: Lanes = setting(
        "How many connections the tunnel to a peer has; with `dscp`, this many for each mark, 64 in all at most. Of"
        " two or more, the newest is kept for small, urgent frames; where packets are lost, up to two others carry"
        " copies of these. `auto`: one for urgent frames, three where packets are lost; and for bulk data one with"
        " `bbr`, otherwise as many as loss and round trip call for. Of the two sites' numbers the greater one"
        " counts.",
        "auto",
    )
    connect_timeout: Annotated[Duration, Within("100ms", "5m")] = setting(
        "How long an attempt to connect to a peer, or to the array behind an export, may take.", "10s"
    )
    drain: Annotated[Duration, Within("0s", "1h")] = setting(
        "How long live streams have after SIGTERM to end by themselves. Then they are reset; SIGINT (Ctrl-C) resets"
        " them at once. The site tells systemd how long it may take; a container's `stop_grace_period` must be"
        " longer than this.",
        "30s",
    )
    reconnect_max: Annotated[Duration, Within("100ms", "1h")] = setting(
        "The longest pause between two attempts to reach a peer. Pauses grow from attempt to attempt.", "15s"
    )


class Store(Section):
    """Where chunks are kept, so that data crosses the line only once. Make it as large as the data that comes again."""

    mode: Literal["memory", "disk"] = setting(
        "`memory` is fastest, but empty after a restart. `disk` can be larger, and keeps its content. `isthmus init`"
        " writes `disk` unless told otherwise.",
        "memory",
    )
    size: Annotated[Size, Within("64MiB", "1024TiB")] = setting(
        "Most memory (or disk space) that the store takes. When it is full, the data that was stored first is evicted,"
        " 2 or 4 MiB at a time, however often it was used. What a disk store holds beyond a smaller size is dropped at"
        " the next start, and told (IST-306). Not included: copies of a disk store that were set aside"
        " because they could not be trusted (three at most, kept until you delete them). `isthmus init` writes 10GiB"
        " unless told otherwise.",
        "1GiB",
    )
    path: FilePath | None = setting(
        "Directory of the disk store; it is made if it is missing. Needed for `disk`, unused for `memory`.", None
    )
    cache: Annotated[Size, Within("32MiB", "1TiB")] = setting(
        "Memory for data of the disk store that is being collected, waits to be written, or was read lately. Unused"
        " for `memory`.",
        "160MiB",
    )


class Chunking(Section):
    """How data is cut into chunks. The two sites may differ, but find more duplicates if they agree."""

    minimum: Annotated[Size, Within("1KiB", "256KiB")] = setting("Shortest chunk. At most half of `average`.", "4KiB")
    average: Annotated[Size, Within("1KiB", "256KiB")] = setting(
        "Length of a chunk to aim at, on average. Shorter ones find more duplicates, but cost more CPU and a larger"
        " index. At least twice `minimum`, at most `maximum`.",
        "16KiB",
    )
    maximum: Annotated[Size, Within("1KiB", "256KiB")] = setting("Longest chunk.", "64KiB")


class Compression(Section):
    """How data that the peer does not hold yet is compressed."""

    codec: Literal["zstd", "none"] = setting("`zstd` compresses; `none` leaves data as it is.", "zstd")
    level: Level = setting(
        "Level of zstd, -5 (fastest) to 19 (smallest): always this one, without a long context. `auto`: for each"
        " stream, as high a level and as long a context as there is time for while the line is busy; and no"
        " compression where the line is faster than compression, unless a `rate` or `maximum` is set. Data that does"
        " not compress is recognised and passed as it is.",
        "auto",
    )


class Status(Section):
    """The status listener: the page, and health, status and metrics over HTTP (API.md)."""

    listen: ListenAddress = setting(
        "Address at which it listens. A loopback address needs neither certificate nor token. Any other address needs"
        " `certificate` and `key`, and `token` or `clients`. If an export lets peers reach this listener, it needs"
        " `control_token`, and `token` or `clients`.",
        "127.0.0.1:8900",
    )
    certificate: FilePath | None = setting(
        "The listener's certificate (PEM). With it, the listener speaks HTTPS (TLS 1.3).", None
    )
    key: FilePath | None = setting(
        "That certificate's private key (PEM, not encrypted, readable by its owner only).", None
    )
    token: FilePath | None = setting(
        "File with a token that is then needed to read: at least 16 characters, readable by its owner only."
        " `openssl rand -hex 32` makes one.",
        None,
    )
    control_token: FilePath | None = setting(
        "File with a token that is then needed to `drain` and `reload`, and also allows reading: at least 16"
        " characters, readable by its owner only. Without it, whoever may read on a loopback address may also drain"
        " and reload; on any other address nobody may.",
        None,
    )
    clients: FilePath | None = setting(
        "Certificates (PEM) of clients, or of a CA that signs theirs. A client that shows one may read without a"
        " token.",
        None,
    )
    names: tuple[HostName, ...] = setting(
        "Host names under which clients reach it. Requests with any other name in their Host header are refused;"
        " its IP address, and `localhost` for a loopback address, always work.",
        (),
    )
    history: FilePath | None = setting(
        "File that keeps history and events across restarts; it stays below 50 MB. Without this key it is"
        " `NAME-history.db` (NAME: `site.name`) in systemd's state directory, or else beside this file. If systemd runs"
        " the site, set it: commands typed in a shell do not know systemd's state directory. If the file cannot be"
        " written, holds something else, or belongs to a site of another name, such as this one before it was renamed,"
        " history is kept in memory only.",
        None,
    )


class Log(Section):
    """The log, which goes to stderr."""

    level: Literal["debug", "info", "warning", "error"] = setting("The least severity that is written.", "info")
    format: Literal["auto", "text", "json"] = setting(
        "`auto`: `text` on a terminal, otherwise `json`, one object a line.", "auto"
    )


LineRate = Annotated[Rate, Within("64kbit", "1Tbit")]
"""Bits a second on the wire: everything that packets are made of counts, but what the link itself adds."""


class ScheduledRate(Section):
    """Another rate to that peer at certain times of this host's local time. The first table that fits counts."""

    days: Days = setting("Days of the week on which the time begins.", "mon-sun")
    begin: Clock = setting("When the time begins.", example="08:00", key="from")
    end: Clock = setting("When the time ends; on the next day if `to` is before `from`.", example="18:00", key="to")
    rate: LineRate = setting("In place of the peer's `rate` during that time.", example="10Mbit")


class Peer(Section):
    """Another site, to which this one has a tunnel. One table a peer."""

    name: Name = setting("The other site's `site.name`.", example="west")
    address: DialledAddress | None = setting(
        "Where its `tunnel.listen` is reached. Without it, this site waits for the peer to dial.", None
    )
    certificate: FilePath | None = setting(
        "Its certificate (PEM); no other is accepted. Needed unless `identity.ca` is given.", None
    )
    rate: LineRate | None = setting(
        "Most that this site sends to it, all lanes together, in bits a second on the wire: with TLS, TCP and IP"
        " headers and retransmissions. Without it, as much as the line takes.",
        None,
    )
    schedule: tuple[ScheduledRate, ...] = setting("Other rates at certain times.", ())

    def rate_at(self, when: datetime) -> int | None:
        """Bits a second that may be sent at that local time; None: no limit."""
        fits = (entry.rate for entry in self.schedule if Span(entry.days, entry.begin, entry.end).covers(when))
        return next(fits, self.rate)


_PRIORITY = setting(
    "Who is served first from what no `guarantee` claims of the line: `high` before `normal` before `low`, which gets"
    " what the others leave. Forwards and exports of one priority share evenly.",
    "normal",
)
_GUARANTEE = setting(
    "Rate that this site can always send at, in bits a second on the wire. What is not used of it, others may have.",
    None,
)
_MAXIMUM = setting("Rate that this site never exceeds when it sends, in bits a second on the wire.", None)
_BURST = setting(
    "Bytes on the wire that may go at once after a rest, before `maximum` applies. Without it, as many as `maximum`"
    " allows in 100 ms.",
    None,
)
_DSCP = setting(
    "DSCP mark (DiffServ) of the packets that this site sends. Marked packets travel on lanes of their own.", None
)


class Forward(Section):
    """An address here whose connections are carried to an export of a peer. One table a forward; there may be none."""

    name: Name = setting("Its name in the status, metrics and the log.", example="replication")
    listen: ListenAddress = setting("Where the near array connects to.", example="127.0.0.1:3260")
    peer: Name = setting("The `name` of a peer in this file.", example="west")
    export: Name = setting("The `name` of an export in the peer's file.", example="array")
    protocol: Literal["auto", "tcp", "iscsi"] = setting(
        "What the connections carry. `iscsi`: headers and data are reduced separately; what is not understood"
        " passes as plain bytes, with a warning. `tcp`: plain bytes. `auto`: iSCSI if the first bytes are an iSCSI"
        " login, otherwise plain bytes; with `portal` or `ports`, the same as `iscsi`.",
        "auto",
    )
    rewrite: Switch = setting(
        "An iSCSI target names portal addresses to initiators, in discovery and when it redirects a login. If the"
        " `portal` or `range` of any forward to this peer covers such an address, it is replaced by that forward's"
        " address. `false`: addresses that come through this forward pass unchanged.",
        True,
    )
    portal: RemoteAddress | None = setting(
        "The far portal that this forward stands for: if a target names it, initiators are told `listen` instead.",
        None,
    )
    range: Range | None = setting(
        "A network of far portals. When a target names one of them, a forward to it is opened on one of `ports`."
        " With `transparent`: where redirected connections may go. The peer's export must have this `range`, too."
        " The port is 3260 unless given.",
        None,
    )
    ports: Ports | None = setting(
        "Ports on which forwards for `range` are opened, at the address of `listen`: one each, so never more than"
        " these. With as many ports as `range` has addresses, each address always gets the same port.",
        None,
    )
    transparent: Switch = setting(
        "`true`: connections that this host's packet filter redirects to `listen` (deploy/nftables) go to their"
        " original destination, which must be in `range`. So arrays and initiators use the far portals' own"
        " addresses, and addresses that targets name pass unchanged. Connections made to `listen` itself go to the"
        " export's `address`.",
        False,
    )
    idle: Annotated[Duration, Within("1s", "365d")] = setting(
        "A forward that was opened for `range` closes when no connection has used it, and no target has named its"
        " portal, for this long.",
        "1h",
    )
    priority: Literal["high", "normal", "low"] = _PRIORITY
    guarantee: LineRate | None = _GUARANTEE
    maximum: LineRate | None = _MAXIMUM
    burst: Annotated[Size, Within("1500B", "1GiB")] | None = _BURST
    dscp: Dscp | None = _DSCP


class Export(Section):
    """An array here that named peers may reach; they reach nothing else. One table an export; there may be none."""

    name: Name = setting("Name by which the peers ask for it.", example="array")
    address: RemoteAddress = setting("Where the array listens.", example="10.1.0.5:3260")
    range: Range | None = setting(
        "A network of which the peers may reach any address as well: the portals that the array names in discovery,"
        " and when it redirects a login. The port is 3260 unless given.",
        None,
    )
    peers: Annotated[tuple[Name, ...], Field(min_length=1)] = setting(
        "The `name` of each peer in this file that may reach it.", example=["east"]
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
