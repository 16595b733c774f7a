"""What the kernel and the site may hold under way, against what the line needs: twice the bandwidth-delay product.

Whoever has to raise the kernel's limits is advised to take four times that product, with which losses cost nothing.

The lanes set no buffer sizes themselves, so the kernel's auto-tuning counts, whose limits are the last figures of
tcp_rmem and tcp_wmem. net.core.rmem_max and wmem_max bound only what programs set themselves, and do not matter here.
"""

from collections.abc import Iterator

from proxy.config.model import Tunnel
from proxy.config.units import parse_size
from proxy.config.validators import Within
from proxy.config.values import LANES_MAX
from proxy.doctor.facts import Kernel, Limits
from proxy.doctor.findings import Finding, attention, ok
from proxy.doctor.kernel import BUFFERS
from proxy.doctor.wording import THEN_RESTART, sysctl
from proxy.figures import milliseconds
from proxy.figures import rate as show_rate
from proxy.figures import size as show_size
from proxy.plan.line import BUFFER_MAX, Line, sysctl_lines

TUNNEL = "tunnel memory"


def buffers(kernel: Kernel, rate: float | None, round_trip: float | None, lanes: int | None = None) -> Finding:
    """The limits of both directions. `rate`, `round_trip`: of the line, if they are known. `lanes`: as `tunnel.lanes`
    has them, if it does."""
    if kernel.read is None or kernel.write is None:
        return attention(BUFFERS, "the kernel does not say its limits", "see net.ipv4.tcp_rmem and tcp_wmem yourself")
    has = f"the kernel lets them grow to {show_size(kernel.read[2])} (receive) and {show_size(kernel.write[2])} (send)"
    if round_trip is None:
        wanting = "isthmus doctor CONFIG --rate 45Mbit --round-trip 100ms, with your line's figures"
        return attention(BUFFERS, f"{has}; whether that is enough depends on the line", wanting)
    if rate is None:
        enough = min(kernel.read[2], kernel.write[2]) * 8 / 2 / round_trip
        return ok(
            BUFFERS,
            f"{has}, enough for {show_rate(enough)} at {milliseconds(round_trip)} (--rate of the line has it judged)",
        )
    return _against_line(kernel.read, kernel.write, has, Line(rate, round_trip), lanes or 1)


def _against_line(read: Limits, write: Limits, has: str, line: Line, lanes: int) -> Finding:
    least = min(read[2], write[2])
    needs = f"{show_rate(line.rate)} at {milliseconds(line.round_trip)} needs {show_size(line.buffer)}"
    if least >= line.buffer:
        return ok(BUFFERS, f"{has}; {needs}")
    remedy = f"on both hosts {THEN_RESTART}: {sysctl(*sysctl_lines(line.advised, read, write))}"
    if line.fillable:
        return attention(BUFFERS, f"{has}, but {needs}", remedy)
    beyond = f"{needs}, more than the kernel takes: one connection cannot fill such a line"
    needed = -(-line.buffer // BUFFER_MAX) + 1  # one is kept for what is urgent
    full = least >= BUFFER_MAX
    if full and lanes >= needed:
        return ok(BUFFERS, f"{has}; {beyond}, but {lanes} lanes can")
    if needed > LANES_MAX:
        beyond += f", nor can {LANES_MAX}, the most that there may be"
    enough = f"{needed} or more" if needed < LANES_MAX else str(LANES_MAX)
    steps = [f"set lanes in [tunnel] to {enough}"] if lanes < min(needed, LANES_MAX) else []
    steps += [] if full else [remedy]
    return attention(BUFFERS, f"{has}, but {beyond}", ", and ".join(steps) or "none: not all of the line is used")


def tunnel(settings: Tunnel, peers: int, rate: float | None, round_trip: float | None) -> Iterator[Finding]:
    """The site's own bounds, of which `memory` and `unacked` are shared by its peers."""
    if rate is None or round_trip is None:
        return
    needed = Line(rate, round_trip).buffer
    small = {
        "window": (settings.window, 1),
        "memory": (settings.memory, peers),
        "unacked": (settings.unacked, peers),
    }
    found = [
        attention(
            TUNNEL,
            f"tunnel.{key} is {show_size(value)}{f' for {share} peers' if share > 1 else ''},"
            f" but {show_rate(rate)} at {milliseconds(round_trip)} needs {show_size(needed * share)}",
            _raised(key, needed * share),
        )
        for key, (value, share) in small.items()
        if value < needed * share
    ]
    yield from found or [
        ok(TUNNEL, f"window, memory and unacked are enough for {show_rate(rate)} at {milliseconds(round_trip)}")
    ]


def _raised(key: str, needed: int) -> str:
    """To that many bytes, or to as many as a site's file may have."""
    most = next(bounds.most for bounds in Tunnel.model_fields[key].metadata if isinstance(bounds, Within))
    if needed > parse_size(most):
        return f'{key} = "{most}" in [tunnel], on both sites: no more is possible, and not all of the line is used'
    return f'{key} = "{-(-needed >> 20)}MiB" in [tunnel], on both sites'
