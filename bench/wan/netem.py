"""A line made by the kernel: a veth pair whose ends have the queueing discipline netem, with tbf in it for the rate.

What differs from the emulator over TUN devices: losses happen before the queue, and so do not use the line's rate.
netem's jitter changes the order of packets, and it has no path MTU, so lines with either are refused.
"""

import json
import socket
from dataclasses import dataclass
from typing import Any

from bench.wan import namespaces
from bench.wan.errors import WanFailure
from bench.wan.settings import OTHER, WAYS, Line, Way

MOST_PACKETS = 1_000_000
"""Packets that may be on their way in netem: so many that this never limits. The queue is tbf's."""
ETHERNET_BYTES = 14
"""What tbf counts for each packet besides its own bytes."""
BURST_SECONDS = 0.001
"""How much of a rest, in seconds at the rate, tbf may make up for at once."""


def lacking(namespace: str) -> str:
    """Why the kernel cannot make a line, or nothing. The namespace is left as it was."""
    try:
        namespaces.run(["tc", "-n", namespace, "qdisc", "add", "dev", "lo", "root", "netem"])
        namespaces.run(["tc", "-n", namespace, "qdisc", "delete", "dev", "lo", "root"])
    except WanFailure as error:
        return str(error)
    return ""


def unable(line: Line) -> str:
    """What of these settings netem cannot do, or nothing."""
    for name in WAYS:
        if line.way(name).path_mtu:
            return "netem has no path MTU"
        if line.way(name).jitter:
            return "netem's jitter changes the order of packets"
    return ""


def netem(way: Way, out: bool) -> list[str]:
    """Arguments of netem; an outage is the loss of everything."""
    words = ["limit", f"{MOST_PACKETS}", "delay", f"{way.delay * 1000:.3f}ms", *_loss(1.0 if out else way.loss, way)]
    if way.reorder and way.delay:  # without a delay to skip nothing can overtake
        words += ["reorder", _percent(way.reorder)]
    if way.duplicate:
        words += ["duplicate", _percent(way.duplicate)]
    return words


def tbf(way: Way, mtu: int) -> list[str]:
    """Arguments of tbf; the rate is that of whole IP packets if they are as long as the MTU."""
    framed = 1 + ETHERNET_BYTES / mtu
    burst = max(round(way.rate / 8 * BURST_SECONDS), 2 * (mtu + ETHERNET_BYTES))
    limit = round(way.queue_bytes(mtu) * framed)
    return ["rate", f"{round(way.rate * framed)}bit", "burst", f"{burst}b", "limit", f"{limit}b"]


def commands(namespace: str, way: Way, mtu: int, out: bool) -> list[list[str]]:
    """Commands that make the end in that namespace send as that way says."""
    replace = ["tc", "-n", namespace, "qdisc", "replace", "dev", namespaces.INTERFACE]
    return [
        [*replace, "root", "handle", "1:", "netem", *netem(way, out)],
        [*replace, "parent", "1:1", "handle", "10:", "tbf", *tbf(way, mtu)],
    ]


def clearing(namespace: str) -> list[str]:
    """The command that throws away the packets that wait or are on their way, and the settings."""
    return ["tc", "-n", namespace, "qdisc", "delete", "dev", namespaces.INTERFACE, "root"]


def veth(names: dict[str, str]) -> list[list[str]]:
    """Commands that make the pair of interfaces. TCP cuts its segments itself, so that single packets are lost."""
    east, west, name = names["east"], names["west"], namespaces.INTERFACE
    return [
        ["ip", "-n", east, "link", "add", name, "type", "veth", "peer", "name", name, "netns", west],
        *(["ip", "-n", each, "link", "set", "dev", name, "gso_max_segs", "1"] for each in (east, west)),
    ]


def _loss(share: float, way: Way) -> list[str]:
    if way.burst == 1 or share in (0, 1):
        return ["loss", "random", _percent(share)]
    return ["loss", "gemodel", _percent(way.onset), _percent(1 / way.burst)]


def _percent(share: float) -> str:
    return f"{share * 100:.7g}%"


@dataclass
class _Sum:
    """Sums of counters: tc's own begin anew whenever an outage begins or ends."""

    delivered: int = 0
    delivered_bytes: int = 0
    loss: int = 0
    outage: int = 0
    queue: int = 0


class NetemBackend:
    """See `bench.wan.backend.Backend`."""

    name = "netem"

    def __init__(self, names: dict[str, str], line: Line) -> None:
        """`names`: those of the namespaces east and west."""
        if reason := unable(line):
            raise WanFailure(f"{reason}; choose the backend tun")
        self._names, self._line = names, line
        self._out = dict.fromkeys(WAYS, False)
        self._sums = {name: _Sum() for name in WAYS}
        for command in veth(names):
            namespaces.run(command)
        for end, address in namespaces.ADDRESSES.items():
            namespaces.bring_up(names[end], address, line.mtu)
        self.set(line)

    def set(self, line: Line) -> None:
        if reason := unable(line):
            raise WanFailure(f"{reason}; take the line down, and up again with the backend tun")
        self._line = line
        for name in WAYS:
            self._apply(name)

    def outage(self, ways: tuple[str, ...], out: bool) -> None:
        for name in ways:
            self._sums[name] = self._counted(name)[0]
            self._out[name] = out
            namespaces.run(clearing(self._sender(name)))
            self._apply(name)

    def stats(self) -> dict[str, dict[str, Any]]:
        return {name: self._stats(name) for name in WAYS}

    def watched(self) -> list[socket.socket]:
        return []

    def close(self) -> None:
        """The interfaces go with the namespaces."""

    def _sender(self, name: str) -> str:
        """The namespace that sends that way."""
        return self._names[OTHER[name]]

    def _apply(self, name: str) -> None:
        for command in commands(self._sender(name), self._line.way(name), self._line.mtu, self._out[name]):
            namespaces.run(command)

    def _counted(self, name: str) -> tuple[_Sum, list[dict[str, Any]]]:
        """The counters until now, and what tc shows of netem and tbf."""
        shown = namespaces.run(
            ["tc", "-n", self._sender(name), "-j", "-s", "qdisc", "show", "dev", namespaces.INTERFACE]
        )
        found = {each["kind"]: each for each in json.loads(shown)}
        root, child = found["netem"], found["tbf"]
        before, out = self._sums[name], self._out[name]
        now = _Sum(
            before.delivered + root["packets"],
            before.delivered_bytes + root["bytes"] - root["packets"] * ETHERNET_BYTES,
            before.loss + (0 if out else root["drops"]),
            before.outage + (root["drops"] if out else 0),
            before.queue + child["drops"],
        )
        return now, [root, child]

    def _stats(self, name: str) -> dict[str, Any]:
        now, (root, child) = self._counted(name)
        return {
            **vars(now),
            "out": self._out[name],
            "packets": now.delivered + now.loss + now.outage + now.queue + root["qlen"],
            "on_the_way": root["qlen"],
            "waiting_bytes": child["backlog"],
        }
