"""Streams of a snapshot, filtered and in order."""

from collections.abc import Callable

from proxy.observe.answers import StreamsAnswer
from proxy.observe.snapshot import StreamStatus


def rate(stream: StreamStatus) -> float:
    """Plain bits a second, both ways."""
    return stream.sent_bits_per_second + stream.delivered_bits_per_second


def gain(stream: StreamStatus) -> float:
    """Plain bytes that one byte on the line stood for, of what was sent."""
    return stream.bytes["raw"] / (stream.bytes["after_compression"] or 1)


ORDERS: dict[str, Callable[[StreamStatus], float]] = {
    "rate": rate,
    "age": lambda stream: stream.age_seconds,
    "raw": lambda stream: stream.bytes["raw"] + stream.bytes["delivered"],
    "gain": gain,
}


def select(
    streams: list[StreamStatus],
    *,
    peer: str = "",
    forward: str = "",
    export: str = "",
    direction: str = "",
    limited_by: str = "",
    search: str = "",
    order: str = "rate",
    limit: int = 100,
) -> StreamsAnswer:
    """Those that pass all filters that are not empty, largest first by `order`."""
    wanted = {"peer": peer, "forward": forward, "export": export, "direction": direction}
    found = [
        stream
        for stream in streams
        if all(not value or getattr(stream, name) == value for name, value in wanted.items())
        and (not limited_by or stream.verdict.limit == limited_by)
        and _contains(stream, search.lower())
    ]
    return StreamsAnswer(len(streams), len(found), sorted(found, key=ORDERS[order], reverse=True)[:limit])


def _contains(stream: StreamStatus, text: str) -> bool:
    return not text or any(text in (each or "").lower() for each in (stream.origin, stream.initiator, stream.target))
