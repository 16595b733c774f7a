"""What arrays say through the tunnels of `sites`, and what they are told: each side of a connection, and its checks."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from proxy.protocol import events
from proxy.protocol.codes import ResetCode
from proxy.protocol.reader import Buffer

if TYPE_CHECKING:
    from tests.simulation.sites import Site


@dataclass
class Talk:
    """One array connection, seen by both sites; index 0 is the opener's side."""

    name: str
    sent: list[int] = field(default_factory=lambda: [0, 0])
    ended: list[bool] = field(default_factory=lambda: [False, False])
    delivered: list[int] = field(default_factory=lambda: [0, 0])
    """Plain bytes that this side has received from the other."""
    finished: list[bool] = field(default_factory=lambda: [False, False])
    reset: list[bool] = field(default_factory=lambda: [False, False])


class Speaker:
    """One side of a Talk: sends to the tunnel what its array says, takes what comes, at its own pace."""

    def __init__(self, site: Site, talk: Talk, side: int, stream: int) -> None:
        rng = site.world.rng
        self.site, self.talk, self.side, self.stream = site, talk, side, stream
        self.to_send = rng.choice([0, 0, 1, 3000, 200_000, 600_000])
        self.pace = rng.choice([0.0, 0.0, 0.01, 0.2])
        self.appetite = rng.choice([0.0, 0.0, 0.0, 0.05, 0.5])
        self.ends_late = rng.choice([0.0, 0.5, 3.0])
        self.cost = 0
        self.acknowledged = 0
        self.referred: set[bytes] = set()
        self.incoming: deque[tuple[int, bytes]] = deque()
        self.missing: bytes | None = None
        self.taking = False
        self.end_came = False
        self.over = False
        self.started = False

    def start(self) -> None:
        """The stream can carry data."""
        self.started = True
        self.speak()
        if self.site.world.chance(0.15) and not self.site.world.calm:
            self.site.world.after(self.site.world.rng.uniform(0, 4), self.give_up)

    def speak(self) -> None:
        """Send as much as the tunnel takes, or a little."""
        tunnel, rng = self.site.tunnel, self.site.world.rng
        if self.over or not self.started:
            return
        while self.to_send and (room := tunnel.streams.sendable(self.stream)):
            plain = min(room, self.to_send, rng.choice([1, 500, 65536, 65536, 65536]))
            self._send(plain)
            if self.pace:
                self.site.soon(self.pace * rng.random(), self.speak)
                break
        if self.to_send:
            tunnel.streams.await_room(self.stream)
        elif not self.talk.ended[self.side]:
            self.site.soon(self.ends_late * rng.random(), self.end)
        self.site.pump()

    def recalled(self, cost: int, limit: int) -> None:
        """Credit is asked back: it is given, or about to be used."""
        if not self.over and self.site.world.chance(0.8):
            self.site.tunnel.streams.waive(self.stream, cost, limit)

    def _send(self, plain: int) -> None:
        offset = self.talk.sent[self.side]
        name = blake2b(f"{self.talk.name} {self.side} {offset}".encode(), digest_size=32).digest()
        batch = plain.to_bytes(4, "big") + offset.to_bytes(8, "big")
        if plain > 32 and self.site.world.chance(0.1):
            batch += name
            self.referred.add(name)
        if self.site.world.chance(0.3):
            batch += bytes(max(plain, 33))  # 32 would look like a reference
        self.cost = self.site.tunnel.streams.send_data(self.stream, batch, plain)
        self.talk.sent[self.side] += plain
        self.to_send -= plain

    def end(self) -> None:
        if self.over or self.talk.ended[self.side] or self.to_send:
            return
        self.talk.ended[self.side] = True
        self.site.tunnel.streams.send_end(self.stream, self.talk.sent[self.side], b"")
        self.site.pump()
        self.finish_if_done()

    def data(self, plain: int, batch: Buffer) -> None:
        """A batch has come; it is taken later."""
        offset = int.from_bytes(batch[4:12], "big")
        assert not self.over
        assert not self.end_came
        assert offset == self.talk.delivered[self.side], "bytes lost, repeated or out of order"
        self.talk.delivered[self.side] += plain
        assert self.talk.delivered[self.side] <= self.talk.sent[1 - self.side]
        reference = bytes(batch[12:]) if len(batch) == 44 else b""
        self.incoming.append((plain, reference))
        self.take_soon()

    def take_soon(self) -> None:
        if not self.taking and self.incoming:
            self.taking = True
            self.site.soon(0.0 if self.site.world.calm else self.appetite * self.site.world.rng.random(), self.take)

    def take(self) -> None:
        """The array takes one batch, if what it refers to is at hand."""
        self.taking = False
        if self.over or not self.incoming or self.missing:
            return
        plain, reference = self.incoming[0]
        if reference:
            self.missing = reference
            self.incoming[0] = plain, b""
            self.site.tunnel.streams.send_miss(self.stream, [reference])
        else:
            self.incoming.popleft()
            self.site.tunnel.streams.consumed(self.stream)
            self.take_soon()
            self.finish_if_done()
        self.site.pump()

    def missed(self, names: tuple[bytes, ...]) -> None:
        for name in names:
            assert name in self.referred, "asked for what nobody referred to"
            size = self.site.world.rng.choice([1, 5000, 200_000])
            self.site.tunnel.streams.send_fill(self.stream, name, bytes(size))

    def filled(self, name: bytes) -> None:
        assert name == self.missing, "filled, but not asked for, or twice"
        self.missing = None
        self.take_soon()

    def consumed(self, cost: int) -> None:
        assert self.acknowledged < cost <= self.cost
        self.acknowledged = cost
        self.finish_if_done()

    def ended(self, total: int) -> None:
        assert self.talk.ended[1 - self.side], "an end that the array never sent"
        assert total == self.talk.sent[1 - self.side] == self.talk.delivered[self.side]
        self.end_came = True
        self.finish_if_done()

    def finish_if_done(self) -> None:
        """As Relay: both ended, all taken here, all taken there."""
        ended = self.end_came and self.talk.ended[self.side]
        if ended and not self.over and not self.incoming and self.acknowledged == self.cost:
            self.over = self.talk.finished[self.side] = True

    def give_up(self) -> None:
        """The array resets its connection."""
        if not self.over:
            self.site.tunnel.streams.reset(self.stream, ResetCode.ORIGIN_RESET, "the array is gone")
            self.lost()
            self.site.pump()

    def lost(self) -> None:
        """The stream has ended without ending well."""
        if not self.over:
            self.over = self.talk.reset[self.side] = True


def tell(speaker: Speaker, event: events.Event) -> None:
    """An event of one live stream."""
    match event:
        case events.DataReceived(_, plain, batch):
            speaker.data(plain, batch)
        case events.StreamEnded(_, total):
            speaker.ended(total)
        case events.MissReceived(_, names):
            speaker.missed(names)
        case events.FillReceived(_, name):
            speaker.filled(name)
        case events.Consumed(_, cost):
            speaker.consumed(cost)
        case events.Recalled(_, cost, limit):
            speaker.recalled(cost, limit)
        case events.Writable():
            speaker.speak()
        case _:
            raise AssertionError(event)
