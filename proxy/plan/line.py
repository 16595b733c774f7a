"""A line, and what follows from its four figures."""

from dataclasses import dataclass

HEADERS = 40
"""Bytes of IPv4 and TCP without options (RFC 9293, RFC 791): MSS 1460 at MTU 1500, 8960 at 9000."""
TIMESTAMPS = 12
"""Bytes that the timestamp option takes of every segment (RFC 7323, padded), as Linux sends it."""
LEAST_MTU, LARGEST_MTU = 576, 65535
KERNEL_READ_LIMIT, KERNEL_WRITE_LIMIT = 6 << 20, 4 << 20
"""Largest buffers that Linux sets by itself on a host with enough memory. Lower ones are not advised."""
BUFFER_MAX = 2**31 - 1
"""Bytes: the largest limit that Linux takes."""
PAGE = 4096
FIBRE_KM = 199_861.0
"""Kilometres a second of light in fibre: 124,188 miles, two thirds of that in vacuum."""
KM_PER_MILE = 1.609344


@dataclass(frozen=True, slots=True)
class Line:
    """Bits a second below TCP (IP packets, Ethernet framing left out), seconds, share of packets lost, bytes."""

    rate: float
    round_trip: float
    loss: float = 0.0
    mtu: int = 1500

    @property
    def mss(self) -> int:
        """Largest segment that TCP announces, bytes."""
        return self.mtu - HEADERS

    @property
    def segment(self) -> int:
        """Payload of a full packet, bytes."""
        return self.mss - TIMESTAMPS

    @property
    def payload_rate(self) -> float:
        """Bits a second that TCP can carry without loss."""
        return self.rate * self.segment / self.mtu

    @property
    def goodput(self) -> float:
        """Bits a second that arrive, if every lost packet is sent once more and nothing else is lost."""
        return self.payload_rate * (1 - self.loss)

    @property
    def bandwidth_delay(self) -> int:
        """Bytes under way when the line is full: the window that one connection needs. Rounded up."""
        return -int(-self.rate * self.round_trip // 8)

    @property
    def buffer(self) -> int:
        """Bytes that the kernel has to be able to buffer: twice the bandwidth-delay product, in whole pages.

        A window is at most about half of the receive buffer, and what was lost is kept while it is sent once more.
        """
        return _pages(2 * self.bandwidth_delay)

    @property
    def advised(self) -> int:
        """Bytes that the kernel should be able to buffer: four times the bandwidth-delay product.

        A program is given room only while a third of the send buffer is free (Linux, sk_stream_is_writeable), and
        behind a lost packet waits what was under way, and what is sent until it has come again.
        """
        return _pages(4 * self.bandwidth_delay)

    @property
    def fillable(self) -> bool:
        """One connection could fill it: the kernel can buffer as much as that takes."""
        return self.buffer <= BUFFER_MAX

    @property
    def longest_km(self) -> float:
        """Kilometres of fibre to the other end, at most: light needs the whole round trip for the way and back."""
        return self.round_trip / 2 * FIBRE_KM


def _pages(size: int) -> int:
    """Rounded up to whole pages."""
    return -(-size // PAGE) * PAGE


def light_round_trip(km: float) -> float:
    """Seconds that the way and back take at least, through so much fibre."""
    return 2 * km / FIBRE_KM


def sysctl_lines(
    buffer: int, read: tuple[int, int, int] | None = None, write: tuple[int, int, int] | None = None
) -> tuple[str, ...]:
    """What to put into /etc/sysctl.d for buffers of so many bytes, or of as many as the kernel takes.

    Limits that are larger already stay.
    `read`, `write`: tcp_rmem and tcp_wmem as they are (least, at first, most); by default those of Linux.
    """
    read = read or (PAGE, 131072, KERNEL_READ_LIMIT)
    write = write or (PAGE, 16384, KERNEL_WRITE_LIMIT)
    buffer = min(buffer, BUFFER_MAX)
    return (
        f"net.ipv4.tcp_rmem = {read[0]} {read[1]} {max(read[2], buffer)}",
        f"net.ipv4.tcp_wmem = {write[0]} {write[1]} {max(write[2], buffer)}",
    )
