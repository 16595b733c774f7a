"""`isthmus plan`: what was asked, computed, and shown as tables or JSON."""

import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from proxy.cli import quantities
from proxy.cli.cells import rate, show
from proxy.cli.plan_report import report
from proxy.errors import ExitCode, OperatorError
from proxy.plan.congestion import BBR_LOSS_MAX, bbr, cubic, cubic_lanes, reno
from proxy.plan.line import BUFFER_MAX, LARGEST_MTU, LEAST_MTU, Line, light_round_trip, sysctl_lines
from proxy.plan.replication import SITE_RATE, TUNNEL_UNACKED, Way, Work, needed, ways
from proxy.plan.windows import ROUND_TRIPS, WINDOWS, table, window_rate
from proxy.plan.zones import Zone, by_rate, by_size, together

MOST_LOSS = 0.5
MOST_CONNECTIONS = 65536
ANY = 1.0
"""Bits a second where no rate was given: what is needed does not depend on it."""
_OF_A_VOLUME = {"reduction": "0%", "connections": 1, "site_rate": None, "start": None, "within": None}
"""Options that mean nothing without --volume, and their defaults."""
_OF_A_LINE = {"loss": "0%", "mtu": 1500, "distance": None, "window": "72KB", "volume": None, **_OF_A_VOLUME}
"""Likewise without --rate and --round-trip."""

Options = Mapping[str, Any]
"""As typed, by the names of the parameters in `commands`; None for what was not."""
_T = TypeVar("_T")


def run(options: Options, as_json: bool) -> None:
    """Compute what the options allow. Raises OperatorError (USAGE) if one is wrong, or nothing can be computed."""
    found = compute(options)
    show(found, report(found), as_json=as_json)


def compute(options: Options, now: datetime | None = None) -> dict[str, Any]:
    """All parts that were asked for; rates in bits a second, sizes in bytes, times in seconds. `now`: local time."""
    found: dict[str, Any] = {}
    zones = _zones(options)
    if any(options[name] is not None for name in ("rate", "round_trip", "within")):
        found |= _for_line(options, now or datetime.now())
    else:
        expect_nothing_of(options, _OF_A_LINE, "needs the line: add --rate and --round-trip")
    if options["table"]:
        found["table"] = {"windows": WINDOWS, "round_trips": ROUND_TRIPS, "rates": table()}
    if zones:
        found["zones"] = zones
    if not found:
        remedy = "give --rate and --round-trip, or --write-rate, --write-size or --table"
        raise OperatorError(f"there is nothing to compute; {remedy}", ExitCode.USAGE)
    return found


def _for_line(options: Options, now: datetime) -> dict[str, Any]:
    rate = _given(options, "rate", quantities.rate)
    if options["round_trip"] is None or (rate is None and options["within"] is None):
        missing = "--rate" if rate is None and options["round_trip"] else "--round-trip"
        raise OperatorError(f"{missing} is missing; a line has both, such as 45Mbit and 100ms", ExitCode.USAGE)
    line = Line(
        rate=rate or ANY,
        round_trip=quantities.duration("--round-trip", options["round_trip"]),
        loss=quantities.share("--loss", options["loss"], MOST_LOSS),
        mtu=_number("--mtu", options["mtu"], LEAST_MTU, LARGEST_MTU),
    )
    window = quantities.size("--window", options["window"])
    connections = _number("--connections", options["connections"], 1, MOST_CONNECTIONS)
    found: dict[str, Any] = {
        "notes": [*_implausible(line, _given(options, "distance", quantities.distance)), *notes(line)],
    }
    if rate:
        found |= {"line": _line(line), "connection": _connection(line, window), "buffers": _buffers(line)}
    volume = _given(options, "volume", quantities.size)
    if volume is None:
        remedy = "add how much has changed, such as --volume 10GB"
        expect_nothing_of(options, _OF_A_VOLUME, f"is of a replication; {remedy}")
    else:
        work = Work(
            volume,
            quantities.share("--reduction", options["reduction"]),
            connections,
            quantities.rate("--site-rate", options["site_rate"]) if options["site_rate"] else SITE_RATE,
        )
        windows = tuple(sorted({window, *WINDOWS}))
        if rate:
            found["replication"] = _replication(line, work, windows, _start(options, now))
            found["notes"] += bounds(line)
        else:
            expect_nothing_of(options, {"start": None}, "needs the line: add --rate")
        within = _given(options, "within", quantities.duration)
        if within:
            found["needed"] = _needed(line, work, windows, within)
    return found


def expect_nothing_of(options: Options, defaults: Mapping[str, Any], wrong: str) -> None:
    """Raises OperatorError if one of these was typed."""
    for name, default in defaults.items():
        if options[name] != default:
            raise OperatorError(f"--{name.replace('_', '-')} {wrong}", ExitCode.USAGE)


def _line(line: Line) -> dict[str, Any]:
    return {
        "rate": line.rate,
        "round_trip": line.round_trip,
        "loss": line.loss,
        "mtu": line.mtu,
        "mss": line.mss,
        "segment": line.segment,
        "payload_rate": line.payload_rate,
        "goodput": line.goodput,
        "longest_km": line.longest_km,
    }


def _connection(line: Line, window: int) -> dict[str, Any]:
    allowed = window_rate(window, line.round_trip)
    return {
        "window": window,
        "window_rate": allowed,
        "window_throughput": min(allowed, cubic(line)),
        "reno": reno(line),
        "cubic": cubic(line),
        "cubic_lanes": cubic_lanes(line),
        "bbr": bbr(line),
    }


def _buffers(line: Line) -> dict[str, Any]:
    sysctl = (*sysctl_lines(line.advised), "net.ipv4.tcp_window_scaling = 1")
    return {"bandwidth_delay": line.bandwidth_delay, "limit": line.buffer, "sysctl": sysctl}


def _implausible(line: Line, km: float | None) -> list[str]:
    if km is None or light_round_trip(km) <= line.round_trip:
        return []
    least = f"light needs {light_round_trip(km) * 1000:.3g} ms for {km:,.0f} km of fibre and back"
    return [f"{least}, more than --round-trip: measure it with ping"]


def notes(line: Line) -> list[str]:
    """Why one may get less than the line's figures promise."""
    found = []
    if not line.fillable:
        needs = f"it needs buffers of {line.buffer:,} bytes, and the kernel takes no limit above {BUFFER_MAX:,}"
        found.append(f"one connection cannot fill such a line: {needs}; use several")
    if line.loss > BBR_LOSS_MAX:
        found.append(f"above {BBR_LOSS_MAX:.0%} loss BBR, too, gets less than the goodput: find where packets are lost")
    return found


def bounds(line: Line) -> list[str]:
    """Words that say so if a site with default settings does not fill the line."""
    allowed = window_rate(TUNNEL_UNACKED, line.round_trip)
    if allowed >= line.goodput:
        return []
    default = f"Isthmus is held to {rate(allowed)} by the default of tunnel.unacked"
    return [f"{default}: isthmus doctor CONFIG, with this line's --rate and --round-trip, says what to set"]


def _replication(line: Line, work: Work, windows: tuple[int, ...], start: float | None) -> list[dict[str, Any]]:
    return [{**way_data(own, way), "ends": _end(start, way.seconds)} for own, way in ways(line, work, windows)]


def _needed(line: Line, work: Work, windows: tuple[int, ...], seconds: float) -> dict[str, Any]:
    found = needed(line, work, windows, seconds)
    found_ways = [{"way": way.name, "window": own, "most": way.rate, "rate": rate} for own, way, rate in found]
    return {"volume": work.volume, "seconds": seconds, "ways": found_ways}


def way_data(window: int | None, way: Way) -> dict[str, Any]:
    """One way to replicate; `window`: the array's own, if that sends over the line. Bytes are whole ones."""
    on_line = math.ceil(way.on_line)
    return {"way": way.name, "window": window, "rate": way.rate, "seconds": way.seconds, "on_line": on_line}


def _zones(options: Options) -> dict[str, Any]:
    much = _judged(_given(options, "write_rate", quantities.size_rate), by_rate)
    large = _judged(_given(options, "write_size", quantities.size), by_size)
    both = together(much, large) if much and large else None
    found = {"write_rate": much, "write_size": large, "together": both}
    return {name: {"zone": zone.value, "colour": zone.colour} for name, zone in found.items() if zone is not None}


def _judged(figure: int | None, judge: Callable[[float], Zone]) -> Zone | None:
    return None if figure is None else judge(figure)


def _given(options: Options, name: str, read: Callable[[str, str], _T]) -> _T | None:
    text = options[name]
    return None if text is None else read(f"--{name.replace('_', '-')}", text)


def _number(option: str, number: int, least: int, most: int) -> int:
    if not least <= number <= most:
        raise OperatorError(f"{option} {number} is out of range; write {least} to {most}", ExitCode.USAGE)
    return number


def _start(options: Options, now: datetime) -> float | None:
    """The next time that the clock here shows that time of day, as seconds since 1970; None if none was given."""
    at = _given(options, "start", quantities.time_of_day)
    if at is None:
        return None
    today = datetime.combine(now.date(), at)
    start = today if today >= now.replace(second=0, microsecond=0) else today + timedelta(days=1)
    return start.timestamp()


def _end(start: float | None, seconds: float) -> str | None:
    """When it ends, as the clock here will show it, summer time or not; None without a start."""
    if start is None:
        return None
    try:
        return f"{datetime.fromtimestamp(start + seconds):%a %Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return "never"
