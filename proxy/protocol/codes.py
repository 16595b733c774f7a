"""The numbers of PROTOCOL.md, each with its contract."""

from enum import IntEnum, unique

VERSION = 1
"""The only version so far: the lowest and the highest that our HELLO offers."""


@unique
class FrameType(IntEnum):
    """Types of frames. Those below OPEN are of the tunnel and not numbered, the others of a stream and numbered."""

    HELLO = 0x01
    """See `hello`. First frame of each side, once a lane."""
    CLOSE = 0x02
    """code u16, reason. The lane ends."""
    PING = 0x03
    """token u64. Answered by PONG at once."""
    PONG = 0x04
    """token u64. Measures the round trip."""
    ACK = 0x05
    """n x (stream u32, next u64). Frames below `next` need not be kept; 2^64-1: the stream is over."""
    CREDIT = 0x06
    """n x (stream u32, consumed u64, limit u64). Costs up to `limit` may be sent, up to `consumed` were delivered."""
    DRAIN = 0x07
    """reason. New streams will be refused."""
    LANES = 0x08
    """n x (mark u8, count u8). How many lanes of each mark the sender wishes for; replaces the sender's last LANES."""
    STORE = 0x09
    """rate u64. Plain bytes a second that the sender's store gives of what is referred to; replaces its last STORE."""
    OPEN = 0x10
    """export: u8 and text; origin: u8 and text. Asks for a stream; number 0."""
    ACCEPT = 0x11
    """Empty. The export is connected."""
    DATA = 0x12
    """A batch. Costs credit (PROTOCOL.md, "Flow control")."""
    END = 0x13
    """total u64, tokens. The sender's array ended its side."""
    RESET = 0x14
    """code u16, reason. Both directions end as soon as it arrives, even ahead of a gap."""
    MISS = 0x15
    """1 to 1024 fingerprints that the sender cannot resolve."""
    FILL = 0x16
    """fingerprint, codec u8, size u32, data. Answers a MISS; size 0 means "gone"."""
    WAIVE = 0x17
    """amount u64. The sender gives back that much credit, which it does not need."""


DATA, END, RESET, WAIVE = FrameType.DATA, FrameType.END, FrameType.RESET, FrameType.WAIVE
"""For comparisons that each frame passes: attributes of an enum class are slow to read."""
FIRST_NUMBERED, LAST = FrameType.OPEN, FrameType.WAIVE
"""The first type that is numbered, and the last type that there is; for such comparisons as well."""


@unique
class CloseCode(IntEnum):
    """Why a lane ends (PROTOCOL.md, "CLOSE codes")."""

    NOT_A_PEER = 1
    WRONG_NAME = 2
    VERSION = 3
    SETTINGS = 4
    SHUTDOWN = 5
    PROTOCOL_ERROR = 6
    SURPLUS = 7
    HANDSHAKE = 8


@unique
class ResetCode(IntEnum):
    """Why a stream ends without its arrays' END (PROTOCOL.md, "RESET codes")."""

    ORIGIN_RESET = 1
    NOT_EXPORTED = 2
    UNREACHABLE = 3
    GRACE_EXPIRED = 4
    PEER_RESTARTED = 5
    CHUNK_LOST = 6
    CORRUPT = 7
    SHUTDOWN = 8
    TOO_MANY_STREAMS = 9
    INTERNAL = 10
    PROTOCOL_ERROR = 11


FATAL = {CloseCode.PROTOCOL_ERROR: ResetCode.PROTOCOL_ERROR, CloseCode.SHUTDOWN: ResetCode.SHUTDOWN}
"""CLOSE codes that end the streams as well, and what they end with."""


@unique
class Capability(IntEnum):
    """Features that both HELLOs must name before either side uses them."""

    ZSTD = 1
    """Codec 1."""
    SLICES = 2
    """Tokens SLICE and MORE."""
    CONTEXTS = 3
    """Codec 2."""
    LANES = 4
    """The frame LANES."""
    PORTALS = 6
    """An address within an export's range in OPEN."""
    RUNS = 7
    """Token RUN."""
    SPANS = 8
    """Batches with a section of records. (5 was an earlier form, with another prediction; it is not used any more.)"""
    LEAN = 9
    """DATA costs what it takes to keep: at least an eighth of what it delivers, at most all of it."""
    WAIVERS = 10
    """The frame WAIVE, and CREDIT that asks for it."""
    STORE_RATE = 11
    """The frame STORE."""
