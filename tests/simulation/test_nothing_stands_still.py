"""Whatever arrays, lines, disks and windows do: when they do it no longer, all that was said arrives, and all is read.

Real peers, relays, tunnels, encoders and decoders of two sites; around them a loop whose time jumps. Nobody looks once
a second here: what goes on by events alone must go on by events alone. A failing seed is repeated with
ISTHMUS_LIVE_SEEDS=FIRST:LAST.
"""

import asyncio
import os
import random
from collections import deque
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import pytest

from dedupstore.chunker import Chunker
from proxy.net.relay import Relay
from proxy.protocol.codes import Capability
from proxy.protocol.settings import TunnelSettings
from proxy.protocol.tunnel import Tunnel
from tests.simulation.clockwork import Clockwork
from tests.simulation.relayed import Array, Sites
from tests.unit.iscsi.pdus import command, data_in, data_out, digests, login, login_answer, pdu, read_10, write_10
from tests.unit.reduction.sites import noise

KIB, MIB = 1 << 10, 1 << 20
GROUPS = 5
STILL = 5.0
"""Seconds without any progress: all that waits by design waits for less."""
VOLUME = 1 << 20


def seeds() -> list[list[int]]:
    """ISTHMUS_LIVE_SEEDS is how many (default 90), or FIRST:LAST; in groups, so that workers share them."""
    first, _, last = os.environ.get("ISTHMUS_LIVE_SEEDS", "90").rpartition(":")
    numbers = range(int(first or 0), int(last) + bool(first))
    return [list(numbers[group::GROUPS]) for group in range(GROUPS)]


@pytest.mark.parametrize("group", range(GROUPS))
def test_all_arrives_and_all_is_read(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in seeds()[group]:
        try:
            simulate(seed, monkeypatch)
        except BaseException as error:
            error.add_note(f"seed {seed}: repeat with ISTHMUS_LIVE_SEEDS={seed}:{seed}")
            raise


def simulate(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Clockwork(seed)
    with monkeypatch.context() as patch:
        patch.setattr("proxy.net.worker.time", SimpleNamespace(monotonic=loop.time))
        try:
            loop.run_until_complete(story(loop, patch))
        finally:
            loop.close()
    assert loop.errors == []


async def story(loop: Clockwork, patch: pytest.MonkeyPatch) -> None:
    told = Story(loop, patch)
    try:
        await told.tell()
    finally:
        told.sites.close()


class Talk:
    """One stream's two arrays."""

    def __init__(self, near: Array, far: Array, relay: Relay) -> None:
        self.near, self.far, self.relay = near, far, relay
        self.tag = 0
        self._asked: deque[tuple[int, bytes]] = deque()
        far.heard = self._answer

    def ask(self, said: bytes, answer: bytes) -> None:
        """The far array answers as soon as it has everything that was said so far."""
        self.near.say(said)
        self._asked.append((len(self.near.log), answer))

    def _answer(self) -> None:
        while self._asked and self._asked[0][0] <= len(self.far.got):
            self.far.say(self._asked.popleft()[1])

    @property
    def whole(self) -> bool:
        """Everything has arrived, and is read."""
        return all(
            not source.unread
            and (source.reading or source.ends)
            and len(sink.got) == len(source.log)
            and sink.ended == source.ends
            for source, sink in ((self.near, self.far), (self.far, self.near))
        )

    @property
    def state(self) -> tuple[object, ...]:
        return tuple(
            (len(array.unread), len(array.log), len(array.got), array.reading, array.ended)
            for array in (self.near, self.far)
        )


def arrays(talks: list[Talk]) -> list[Array]:
    return [array for talk in talks for array in (talk.near, talk.far)]


def ignorant(rng: random.Random, *arguments: Any, **settings: Any) -> Tunnel:
    """Of a site that knows only a part, as older ones do, but always what it needs; the other may know another part."""
    share = rng.choice([0.1, 0.5, 1.0])
    unknown = {capability for capability in Capability if rng.random() < share}
    return Tunnel(*arguments, capabilities=set(Capability) - unknown | {Capability.SLICES}, **settings)


@cache
def volume() -> bytes:
    return noise(VOLUME, 1)


class Story:
    """What happens, drawn from the loop's seed."""

    def __init__(self, loop: Clockwork, patch: pytest.MonkeyPatch) -> None:
        self.loop, self.rng = loop, loop.rng
        rng = self.rng
        self.steady = steady = rng.random() < 0.5
        """Nothing is in the way but what the stream itself holds."""
        self.spans = steady or rng.random() < 0.6
        near, far = self.settings(), self.settings() if rng.random() < 0.5 else None
        average = rng.choice([16 * KIB, 64 * KIB] if steady else [1 * KIB, 16 * KIB, 64 * KIB])
        chunker = Chunker(average // 4, average, average * 4)
        cap = "" if steady else rng.choice(["", "1Mbit", "100Mbit"])
        protocol = rng.choice(["iscsi", "auto"]) if self.spans else rng.choice(["tcp", "auto"])
        if not steady and rng.random() < 0.4:
            patch.setattr("proxy.net.peer.Tunnel", partial(ignorant, rng))
        self.sites = Sites(loop, near, chunker, protocol, cap, far=far)
        patch.setattr("proxy.net.arrays.connect", self.sites.connect)
        self.delay = rng.choice([0.0, 0.001] if steady else [0.0, 0.001, 0.02, 0.1])
        self.room = rng.choice([4 * KIB, 64 * KIB, MIB, 16 * MIB])
        pauses = [(0.001, 0.005), (0.0,), (0.0, 0.001), (0.0, 0.003, 0.03, 0.15)]
        self.pauses = rng.choice(pauses[:1] if steady else pauses)
        sizes = [(64 * KIB, 256 * KIB), (16 * KIB, 64 * KIB), (512, 8 * KIB), (512, 5120, 300 * KIB)]
        self.sizes = rng.choice(sizes[:1] if steady else sizes)
        pdus = [
            (64 * KIB, 256 * KIB),
            (512, 8 * KIB, 64 * KIB, 256 * KIB),
            (256 * KIB,),
            (64 * KIB,),
            (8 * KIB,),
            (512,),
        ]
        self.pdus = rng.choice(pdus[:3] if steady else pdus)
        self.news = rng.choice([0.0, 0.05] if steady else [0.0, 0.05, 1.0])
        """How much of what is said is not known."""
        self.answers = 0.0 if steady else rng.choice([0.0, 0.2])
        self.reads = rng.choice([0.0, 0.3, 1.0])
        """How much of it the far array says."""
        self.bytes = 3 * MIB if steady else MIB
        self.shift = rng.randrange(0, 64 * KIB, 512)
        self.digests = rng.random() < 0.2
        self.sums: dict[str, Any] = {"header_digest": self.digests, "data_digest": self.digests}

    def settings(self) -> TunnelSettings:
        """Of one site, or of both."""
        rng, steady = self.rng, self.steady
        memory = 192 * MIB if steady else rng.choice([MIB, 4 * MIB, 192 * MIB])
        window = rng.choice([MIB, 96 * MIB] if steady else [64 * KIB, 256 * KIB, MIB, 96 * MIB])
        return TunnelSettings(
            initial_credit=rng.choice([64 * KIB, 256 * KIB, MIB]),
            opening_window=rng.choice([64 * KIB, 24 * MIB]),
            window_max=min(memory, window),
            memory=memory,
            unacked_max=64 * MIB if steady else rng.choice([64 * KIB, MIB, 64 * MIB]),
        )

    async def tell(self) -> None:
        for _ in range(self.rng.choice([1, 2, 3])):
            self.sites.dial(self.delay, self.room)
            await asyncio.sleep(1.0)
        talks = [await self.begin() for _ in range(self.rng.choice([1, 1, 2, 4]))]
        self.calm(talks)
        self.write(talks[0], 0, volume(), MIB)
        await self.rest(talks)
        self.storm(talks)
        await asyncio.gather(*(self.talk(talk) for talk in talks))
        self.calm(talks)
        await self.rest(talks)
        for talk in talks:
            talk.near.say(pdu(0x40, tag=1) if self.spans else b"?")
        await self.rest(talks)
        for talk in talks:
            talk.near.end()
            talk.far.end()
        await self.rest(talks)
        await asyncio.sleep(STILL)
        for peer in (self.sites.near, self.sites.far):
            assert not peer.relays
            assert peer.relays.relief.idle
            assert peer.relays.reading.idle

    async def begin(self) -> Talk:
        near, relay = self.sites.open()
        talk = Talk(near, await self.sites.target(), relay)
        if self.spans:
            keys = digests(self.digests, self.digests)
            near.say(login(keys))
            await self.rest([talk])
            talk.far.say(login_answer(keys))
            await self.rest([talk])
        return talk

    async def talk(self, talk: Talk) -> None:
        rng = self.rng
        left = self.bytes
        while left > 0:
            size = rng.choice(self.sizes)
            at = (
                rng.randrange(0, VOLUME - size, 512)
                if rng.random() < 0.2
                else (self.shift + self.bytes - left) % VOLUME
            )
            at = min(at, VOLUME - size)
            data = rng.randbytes(size) if rng.random() < self.news else volume()[at : at + size]
            move = self.read if rng.random() < self.reads else self.write
            move(talk, at, data, rng.choice(self.pdus))
            left -= size
            if rng.random() < self.answers:
                talk.far.say(pdu(0x21, tag=1) if self.spans else b"!")
            if pause := rng.choice(self.pauses):
                await asyncio.sleep(pause)

    def write(self, talk: Talk, at: int, data: bytes, most: int) -> None:
        if not self.spans:
            talk.near.say(data)
            return
        talk.tag += 1
        said = command(talk.tag, write_10(at // 512, len(data) // 512), **self.sums)
        for offset in range(0, len(data), most):
            said += data_out(talk.tag, data[offset : offset + most], offset, **self.sums)
        talk.near.say(said)

    def read(self, talk: Talk, at: int, data: bytes, most: int) -> None:
        if not self.spans:
            talk.ask(b"?", data)
            return
        talk.tag += 1
        said = b""
        for offset in range(0, len(data), most):
            last = offset + most >= len(data)
            said += data_in(talk.tag, data[offset : offset + most], offset, status=last, **self.sums)
        talk.ask(command(talk.tag, read_10(at // 512, len(data) // 512), **self.sums), said)

    def storm(self, talks: list[Talk]) -> None:
        """What may trouble them, does."""
        rng = self.rng
        for array in arrays(talks):
            segments = [(16 * KIB, 64 * KIB), (1448, 2896, 64 * KIB), (16 * KIB, 1000), (MIB,)]
            array.segments = rng.choice(segments[: 1 if self.steady else None])
            gaps = [(0.0, 0.001), (0.0, 0.0, 0.0, 0.001, 0.005), (0.0,)]
            array.gaps = rng.choice(gaps[: 2 if self.steady else None])
        if self.steady:
            return
        self.loop.delays = rng.choice([(0.0,), (0.0, 0.002), (0.0, 0.05), (0.01, 3.0)])
        for store in (self.sites.near_store, self.sites.far_store):
            store.lags_at = rng.choice([1 << 60, 1 << 60, 100 * KIB])
            store.cold = rng.random() < 0.3
            if rng.random() < 0.3:
                store.lose(rng, 0.1)
        for array in arrays(talks):
            array.appetites = rng.choice([(0.0,), (0.0,), (0.0, 0.01), (0.0, 0.3)])
        for _ in range(rng.choice([0, 0, 3])):
            self.loop.call_later(rng.uniform(0, 2), self.break_)
        for _ in range(rng.choice([0, 3])):
            relief = rng.choice([self.sites.near, self.sites.far]).relays.relief
            self.loop.call_later(rng.uniform(0, 2), relief.told, rng.choice([0, 1, MIB, (1 << 64) - 1]))

    def break_(self) -> None:
        """A lane ends, and another one comes, perhaps later."""
        links = [link for link in self.sites.links if not link.lost]
        if links:
            self.rng.choice(links).abort("cut")
        self.loop.call_later(self.rng.choice([0.0, 0.5, 3.0]), self.sites.dial, self.delay, self.room)

    def calm(self, talks: list[Talk]) -> None:
        self.loop.delays = (0.0,)
        for array in arrays(talks):
            array.appetites = array.gaps = (0.0,)

    async def rest(self, talks: list[Talk]) -> None:
        """Until everything has arrived and everything is read."""
        states: list[object] = []
        while not all(talk.whole for talk in talks):
            before, states = states, [talk.state for talk in talks]
            assert states != before, f"it stands still: {states}"
            lost = [talk.relay.reason for talk in talks if talk.relay.closed and not talk.relay.in_order]
            assert not lost
            for _ in range(50):
                await asyncio.sleep(STILL / 50)
                if all(talk.whole for talk in talks):
                    break
        for talk in talks:
            assert talk.near.log == talk.far.got
            assert talk.far.log == talk.near.got
