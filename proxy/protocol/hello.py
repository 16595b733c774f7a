"""HELLO: what each side says first on a lane, and what follows from both (PROTOCOL.md, "HELLO")."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from struct import Struct

from proxy.protocol.codes import VERSION, CloseCode
from proxy.protocol.errors import HelloRefused, Misuse, PeerError
from proxy.protocol.frames import decode_text, encode_text
from proxy.protocol.reader import HELLO_MAX, MARK_MAX, Buffer

MAGIC = b"ISTHMUS\0"
HALF_BYTES = 16
IDENTITY_BYTES = 16
EPOCH_BYTES = 8
EPOCHS_MAX = 16
NAME_MAX = 64
CAPABILITIES_MAX = 64
SOFTWARE_MAX = 128
CREDIT_MIN = 64 << 10
CREDIT_MAX = 16 << 20
STREAMS_MAX = 1 << 16

_SITE, _PEER, _HALF, _KNOWN_HALF, _STORE, _EPOCHS, _CREDIT, _STREAMS, _CAPABILITIES, _SOFTWARE, _MARK = range(1, 12)
_PADDING = 12
_MUST = {_SITE, _PEER, _HALF, _STORE, _EPOCHS, _CREDIT, _STREAMS, _CAPABILITIES}

_HEAD = Struct(">8sHH")
_FIELD = Struct(">HH")
_U8 = Struct(">B")
_U16 = Struct(">H")
_U32 = Struct(">I")
_U64 = Struct(">Q")


@dataclass(frozen=True, slots=True)
class Agreement:
    """What follows from two HELLOs. The same for all lanes of the same pair of halves."""

    version: int
    capabilities: frozenset[int]
    initial_credit: int
    """What we may send on each stream before the first CREDIT."""
    streams: int
    """How many live streams we may have opened."""
    store: bytes
    """Identity of the peer's store."""
    epochs: tuple[bytes, ...]

    def __str__(self) -> str:
        """For the reason of a refusal."""
        can = f"version {self.version}, capabilities {sorted(self.capabilities)}"
        store = f"store {self.store.hex()[:8]} in epoch {self.epochs[0].hex()[:8]}"
        return f"{can}, credit {self.initial_credit}, {self.streams} streams, {store}"


@dataclass(frozen=True, slots=True)
class Hello:
    """One HELLO, with the fields of PROTOCOL.md. Raises Misuse if a length or value is not allowed there."""

    site: str
    peer: str
    half: bytes
    known_half: bytes | None
    store: bytes
    epochs: tuple[bytes, ...]
    initial_credit: int
    streams: int
    capabilities: frozenset[int] = frozenset()
    software: str = ""
    mark: int = 0
    """DSCP mark that the lane's packets shall carry, both ways; the dialler's word counts."""
    lowest: int = VERSION
    highest: int = VERSION

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise Misuse(f"HELLO cannot say this: {problem}")

    def encode(self, length: int = 0) -> bytes:
        """The payload of the HELLO frame, padded to that many bytes if it would be shorter."""
        fields = [
            (_SITE, self.site.encode()),
            (_PEER, self.peer.encode()),
            (_HALF, self.half),
            (_KNOWN_HALF, self.known_half),
            (_STORE, self.store),
            (_EPOCHS, b"".join(self.epochs)),
            (_CREDIT, _U64.pack(self.initial_credit)),
            (_STREAMS, _U32.pack(self.streams)),
            (_CAPABILITIES, b"".join(map(_U16.pack, sorted(self.capabilities)))),
            (_SOFTWARE, encode_text(self.software, SOFTWARE_MAX) or None),
            (_MARK, bytes([self.mark]) if self.mark else None),
        ]
        body = [_FIELD.pack(kind, len(value)) + value for kind, value in fields if value is not None]
        payload = _HEAD.pack(MAGIC, self.lowest, self.highest) + b"".join(body)
        padding = length - len(payload) - _FIELD.size
        return payload + _FIELD.pack(_PADDING, padding) + bytes(padding) if padding >= 0 else payload

    @classmethod
    def decode(cls, payload: Buffer) -> "Hello":
        """Read a HELLO, whatever versions it offers. Raises PeerError if it is malformed or does not have our magic."""
        if len(payload) > HELLO_MAX:
            raise PeerError("HELLO", f"{len(payload)} bytes, but at most {HELLO_MAX} are allowed")
        data = bytes(payload)
        if len(data) < _HEAD.size or not data.startswith(MAGIC):
            raise PeerError("HELLO", "it does not begin with the magic of Isthmus")
        _, lowest, highest = _HEAD.unpack_from(data)
        fields = _fields(data)
        if missing := sorted(_MUST - fields.keys()):
            raise PeerError("HELLO", f"fields {missing} are missing")
        try:
            return cls(
                site=_name(fields[_SITE]),
                peer=_name(fields[_PEER]),
                half=fields[_HALF],
                known_half=fields.get(_KNOWN_HALF),
                store=fields[_STORE],
                epochs=_epochs(fields[_EPOCHS]),
                initial_credit=_number(_U64, "initial credit", fields[_CREDIT]),
                streams=_number(_U32, "streams", fields[_STREAMS]),
                capabilities=_capabilities(fields[_CAPABILITIES]),
                software=decode_text("HELLO", fields.get(_SOFTWARE, b"")),
                mark=_number(_U8, "mark", fields.get(_MARK, b"\0")),
                lowest=lowest,
                highest=highest,
            )
        except Misuse as error:
            raise PeerError("HELLO", str(error)) from None


def agree(mine: Hello, theirs: Hello, needed: Collection[int] = ()) -> Agreement:
    """What both sides can do; both need the `needed` capabilities. Raises HelloRefused, which states both offers."""
    if theirs.site == mine.site:
        raise HelloRefused(CloseCode.WRONG_NAME, f"both sites are called {mine.site!r}")
    if (theirs.site, theirs.peer) != (mine.peer, mine.site):
        said = f"{theirs.site!r} calling {theirs.peer!r}"
        rule = "the peer.name of each has to be the site.name of the other"
        raise HelloRefused(CloseCode.WRONG_NAME, f"{said} came to {mine.site!r} expecting {mine.peer!r}; {rule}")
    version = min(mine.highest, theirs.highest)
    if version < max(mine.lowest, theirs.lowest):
        offers = (
            f"{mine.site} speaks {mine.lowest} to {mine.highest}, {theirs.site} {theirs.lowest} to {theirs.highest}"
        )
        older = mine.site if mine.highest < theirs.lowest else theirs.site
        raise HelloRefused(CloseCode.VERSION, f"no common version: {offers}; upgrade {older}")
    common = mine.capabilities & theirs.capabilities
    if not common.issuperset(needed):
        offers = f"{mine.site} needs {sorted(map(int, needed))}, {theirs.site} offers {sorted(theirs.capabilities)}"
        raise HelloRefused(CloseCode.SETTINGS, f"capabilities do not suffice: {offers}")
    return Agreement(version, common, theirs.initial_credit, theirs.streams, theirs.store, theirs.epochs)


def _problems(hello: Hello) -> Iterator[str]:
    """What is wrong with the values, in words."""
    for name in (hello.site, hello.peer):
        if not 1 <= len(name.encode(errors="replace")) <= NAME_MAX:
            yield f"a site's name has 1 to {NAME_MAX} bytes of UTF-8, not {len(name.encode(errors='replace'))}"
    if not 1 <= hello.lowest <= hello.highest <= 0xFFFF:
        yield f"versions {hello.lowest} to {hello.highest}"
    yield from _wrong_length("half", hello.half, HALF_BYTES)
    if hello.known_half is not None:
        yield from _wrong_length("known half", hello.known_half, HALF_BYTES)
    yield from _wrong_length("store", hello.store, IDENTITY_BYTES)
    for epoch in hello.epochs:
        yield from _wrong_length("epoch", epoch, EPOCH_BYTES)
    yield from _beyond("epochs", len(hello.epochs), 1, EPOCHS_MAX)
    yield from _beyond("initial credit", hello.initial_credit, CREDIT_MIN, CREDIT_MAX)
    yield from _beyond("streams", hello.streams, 1, STREAMS_MAX)
    yield from _beyond("mark", hello.mark, 0, MARK_MAX)
    yield from _beyond("capabilities", len(hello.capabilities), 0, CAPABILITIES_MAX)


def _wrong_length(name: str, value: bytes, length: int) -> Iterator[str]:
    if len(value) != length:
        yield f"{name} has {length} bytes, not {len(value)}"


def _beyond(name: str, value: int, lowest: int, highest: int) -> Iterator[str]:
    if not lowest <= value <= highest:
        yield f"{name} is {lowest} to {highest}, not {value}"


def _fields(data: bytes) -> dict[int, bytes]:
    fields: dict[int, bytes] = {}
    at = _HEAD.size
    while at < len(data):
        if at + _FIELD.size > len(data):
            raise PeerError("HELLO", f"the field at {at} is cut off")
        kind, length = _FIELD.unpack_from(data, at)
        at += _FIELD.size
        if at + length > len(data):
            raise PeerError("HELLO", f"field {kind} at {at - _FIELD.size} reaches beyond the end")
        if kind in fields:
            raise PeerError("HELLO", f"field {kind} comes twice")
        fields[kind] = data[at : at + length]
        at += length
    return fields


def _name(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise PeerError("HELLO", "a name is not UTF-8") from None


def _number(layout: Struct, name: str, value: bytes) -> int:
    if len(value) != layout.size:
        raise PeerError("HELLO", f"{name} has {layout.size} bytes, not {len(value)}")
    (number,) = layout.unpack(value)
    return int(number)


def _pieces(name: str, value: bytes, length: int) -> list[bytes]:
    if len(value) % length:
        raise PeerError("HELLO", f"{name} has {len(value)} bytes, not a multiple of {length}")
    return [value[at : at + length] for at in range(0, len(value), length)]


def _epochs(value: bytes) -> tuple[bytes, ...]:
    return tuple(_pieces("epochs", value, EPOCH_BYTES))


def _capabilities(value: bytes) -> frozenset[int]:
    pieces = _pieces("capabilities", value, 2)
    for problem in _beyond("capabilities", len(pieces), 0, CAPABILITIES_MAX):  # one that is named twice counts twice
        raise PeerError("HELLO", problem)
    return frozenset(_U16.unpack(piece)[0] for piece in pieces)
