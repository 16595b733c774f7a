"""What a Tunnel tells its driver. `stream` is the stream's number, `lane` the number that the driver gave the lane."""

from collections.abc import Mapping
from dataclasses import dataclass

from proxy.protocol.codes import CloseCode, ResetCode


@dataclass(frozen=True, slots=True)
class StreamOffered:
    """The peer asks for a stream: answer with `accept` or `reset`. Data may come before that."""

    stream: int
    export: str
    origin: str


@dataclass(frozen=True, slots=True)
class StreamAccepted:
    """The peer has connected the export of a stream that we opened."""

    stream: int


@dataclass(frozen=True, slots=True)
class DataReceived:
    """A batch. It is valid until the events of this `receive` have been drained; copy what is kept longer."""

    stream: int
    plain: int
    batch: bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """The far array has ended its side after `total` plain bytes, all of which were in earlier `DataReceived`."""

    stream: int
    total: int
    tokens: bytes


@dataclass(frozen=True, slots=True)
class StreamReset:
    """The stream has ended. `remote`: the peer said so; otherwise the tunnel lost it. Not given for our own `reset`."""

    stream: int
    code: ResetCode
    reason: str
    remote: bool


@dataclass(frozen=True, slots=True)
class MissReceived:
    """The peer lacks chunks and runs of these names. Whether the stream has named them is for the driver to check."""

    stream: int
    names: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class FillReceived:
    """An answer to a MISS: a chunk or a run's list, still in its codec and not verified. `size` 0: the peer lost it."""

    stream: int
    name: bytes
    codec: int
    size: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Arrived:
    """The peer has acknowledged frames of the stream. Given once after `await_ack`."""

    stream: int


@dataclass(frozen=True, slots=True)
class Consumed:
    """The far array was given every batch for which `send_data` returned `consumed` or less."""

    stream: int
    consumed: int


@dataclass(frozen=True, slots=True)
class Recalled:
    """The peer asks for credit that the stream does not use. The driver calls `waive` unless it needs that credit."""

    stream: int
    consumed: int
    limit: int


@dataclass(frozen=True, slots=True)
class Writable:
    """`sendable` would now say more than when `await_room` was called."""

    stream: int


@dataclass(frozen=True, slots=True)
class PeerDraining:
    """The peer will refuse new streams; given once."""

    reason: str


@dataclass(frozen=True, slots=True)
class LaneClosed:
    """The peer has closed this lane. The tunnel has forgotten it."""

    lane: int
    code: CloseCode
    reason: str


@dataclass(frozen=True, slots=True)
class LaneDead:
    """This lane is of no use any more: drop its connection. The tunnel has forgotten it."""

    lane: int
    reason: str


@dataclass(frozen=True, slots=True)
class LaneSilent:
    """A PING on this lane has not been answered for long: another lane may do better. Given once for each silence."""

    lane: int


@dataclass(frozen=True, slots=True)
class LanesWished:
    """How many lanes of each mark the peer wishes for."""

    counts: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class StoreRate:
    """How many plain bytes a second the peer's store gives of what is referred to; 0: it holds nobody up."""

    rate: int


@dataclass(frozen=True, slots=True)
class TunnelReset:
    """All streams are gone (a StreamReset for each came before); stream numbers begin anew."""

    reason: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """After an outage the first lane is up again, and the streams go on."""

    lane: int


Event = (
    StreamOffered
    | StreamAccepted
    | DataReceived
    | StreamEnded
    | StreamReset
    | MissReceived
    | FillReceived
    | Arrived
    | Consumed
    | Recalled
    | Writable
    | PeerDraining
    | LaneClosed
    | LaneDead
    | LaneSilent
    | LanesWished
    | StoreRate
    | TunnelReset
    | Resumed
)

OUTLIVING = (StreamReset, LaneClosed, LaneDead, TunnelReset)
"""Events that are still given after the tunnel's state was dropped; others that wait to be fetched are dropped, too."""
