"""What can be known of a host and of what it reaches: plain values, without judgement. None: it could not be told."""

from dataclasses import dataclass
from enum import Enum

Limits = tuple[int, int, int]
"""Of a buffer, as the kernel has them: least, at first, at most, bytes."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """What the kernel does with TCP: files below /proc/sys/net."""

    available: tuple[str, ...] | None
    """Congestion controls that are built in or loaded."""
    allowed: tuple[str, ...] | None
    """Those that a process without CAP_NET_ADMIN may choose."""
    default: str | None
    modules: tuple[str, ...]
    """Congestion controls that could be loaded."""
    read: Limits | None
    """tcp_rmem."""
    write: Limits | None
    """tcp_wmem."""
    scaling: bool | None
    """tcp_window_scaling."""
    tuning: bool | None
    """tcp_moderate_rcvbuf."""
    probing: int | None
    """tcp_mtu_probing: 0 off, 1 after a black hole was noticed, 2 always."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes."""

    available: int | None
    """MemAvailable: what programs can have without swapping."""
    limit: int | None
    """Of the control group, the least of it and those above it; None if there is none."""
    throttled: int | None = None
    """Likewise: what it may have before the kernel slows it down (memory.high)."""


@dataclass(frozen=True, slots=True)
class Processors:
    """What a process may use."""

    cores: int
    quota: float | None
    """Cores' worth of time that the control group allows, the least of it and those above it; None if all."""


@dataclass(frozen=True, slots=True)
class Disk:
    """Where a disk store lies, or would: in its directory, or the nearest one above it that is there. Bytes."""

    free: int
    """What this user may still fill."""
    used: int
    """What the store takes already."""
    refused: str = ""
    """Why this user cannot write there; empty if it can."""


@dataclass(frozen=True, slots=True)
class NoDisk:
    """Where none can be had, or looked at."""

    words: str
    """Why."""
    denied: bool = False
    """This user may not look there."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds since the epoch."""

    now: float
    synchronised: bool | None
    """What the kernel says, or the time service's mark."""
    not_before: float
    """When the newest of the site's own files was written: it is later than that."""


@dataclass(frozen=True, slots=True)
class Zone:
    """By which a process tells the local time."""

    name: str
    """With where it is named; empty if it is nowhere: that is UTC."""
    known: bool
    """This host has it; otherwise the C library takes UTC, without a word."""


class Contact(Enum):
    """How an attempt to reach somebody ended."""

    ACCEPTED = "accepted"
    """A peer: TLS with both certificates. An export: the connection."""
    NO_NAME = "its name cannot be resolved"
    REFUSED = "connection refused"
    TIMEOUT = "no answer"
    UNREACHABLE = "cannot be reached"
    BLACK_HOLE = "packets of full size are lost"
    """TLS comes up with small packets only."""
    SILENT = "TCP connects, TLS does not answer"
    NOT_TLS = "TLS fails"
    WRONG_CERTIFICATE = "wrong certificate"
    """It shows another one than is trusted."""
    NOT_TRUSTED = "our certificate is refused"
    UNCLEAR = "no verdict"
    """It did not end the connection as a site does."""


@dataclass(frozen=True, slots=True)
class Reach:
    """One attempt. What is measured is None where there was no connection."""

    contact: Contact
    detail: str = ""
    """The system's or the TLS library's words."""
    round_trip: float | None = None
    """As the kernel measured it while connecting."""
    mtu: int | None = None
    """Of the path, as far as the kernel knows by then."""
    segment: int | None = None
    """Largest payload of a packet (TCP_MAXSEG)."""
    discovery: bool | None = None
    """Packets are sent with Don't Fragment (IP_MTU_DISCOVER): a smaller MTU on the way is noticed."""
    full_size: bool = False
    """A packet of full size was answered."""
    shown: bytes = b""
    """SHA-256 of the certificate that the other end shows, if it is the wrong one."""


class Running(Enum):
    """What the site itself does, while it is looked at."""

    ANSWERS = "it answers at its status listener"
    SILENT = "it seems to run, and does not answer"
    NOT = "it does not run"


@dataclass(frozen=True, slots=True)
class Bound:
    """What binding a listen address came to: 0, or the errno with its words."""

    error: int
    words: str = ""
