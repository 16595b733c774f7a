"""The simulation with unlike sites: other memories and windows, with and without lean credit and foretelling.

At every step the budget is what windows and the foretold credit add up to, no window promises more than is reserved
for it, and no sender believes more than its receiver has said. Streams are also opened and reset in bursts, and what
those at rest do not use is asked back.
A failing seed is repeated with ISTHMUS_SEEDS=FIRST:LAST.
"""

from collections.abc import Callable
from random import Random

import pytest

from proxy.protocol.codes import WAIVE, Capability, ResetCode
from proxy.protocol.errors import OpenRefused
from proxy.protocol.frames import decode_waive
from proxy.protocol.outgoing import Outgoing
from proxy.protocol.settings import TunnelSettings
from proxy.protocol.stream import STREAM_RESET
from proxy.protocol.tunnel import Tunnel
from tests.simulation.simulated import GROUPS, for_seeds, simulate
from tests.simulation.sites import Site
from tests.simulation.world import World

KIB = 1 << 10


def settings_of(rng: Random) -> TunnelSettings:
    """Small ones, so that every bound is met."""
    return TunnelSettings(
        initial_credit=rng.choice([64, 64, 100, 256]) * KIB,
        opening_window=rng.choice([0, 64, 512, 24 << 10]) * KIB,
        window_max=rng.choice([64, 256, 1024, 8192]) * KIB,
        memory=rng.choice([512, 1024, 1024, 4096, 16384]) * KIB,
        unacked_max=rng.choice([128, 256, 1024]) * KIB,
        streams=rng.choice([1, 6, 6, 30]),
        keepalive=1.0,
        dead_after=3.0,
        rest=rng.choice([0.05, 0.3, 2.0]),
        grace=15.0,
    )


class YesterdaysTunnel(Tunnel):
    """Of a site that says and hears nothing of streams to come."""

    def _begin(self) -> None:
        super()._begin()
        self._state._foretold.heard = lambda stream, limit: None  # type: ignore[method-assign]
        self._state._foretelling.speak = lambda stream: False  # type: ignore[method-assign]


class UnlikeSite(Site):
    """One with settings of its own."""

    def __init__(self, world: World, name: str, peer: str) -> None:
        self.settings = settings_of(world.rng)
        old = world.chance(0.25)
        self.kind = YesterdaysTunnel if old else Tunnel
        unknown = {n for n in (Capability.LEAN, Capability.WAIVERS) if old or world.chance(0.2)}
        self.capabilities = [n for n in Capability if n not in unknown]
        super().__init__(world, name, peer)

    def something(self) -> Callable[[], None]:
        """What happens at some time: also a drain, of one site in some twenty."""
        rare = self.world.rng.randrange(60) == 0
        return self.drain if rare else self.world.rng.choice([self.talk, self.burst])

    def burst(self) -> None:
        """Streams that are opened, and some of them reset before anything of them was sent."""
        for _ in range(self.world.rng.randrange(1, 9)):
            if self.world.chance(0.5):
                self.talk()
                continue
            try:
                stream = self.tunnel.streams.open("export", "nobody")
            except OpenRefused:
                return
            self.refused.add(stream)
            if self.world.chance(0.3):
                self.pump()
            self.tunnel.streams.reset(stream, ResetCode.ORIGIN_RESET, "at once")
        self.pump()

    def check_bounds(self) -> None:
        figures = self.tunnel.figures
        assert figures.credit_bytes <= self.settings.memory
        self.check_budget()
        self.check_promises()
        if self.world.chance(0.1):  # as it seldom is: what is not used is asked back
            self.tunnel._state._budget.denied = True

    def check_budget(self) -> None:
        streams = self.tunnel._state
        budget, foretold = streams._budget, streams._foretelling
        grown = opening = foretold.more
        initial = growers = windows = 0
        for each in streams.live.values():
            if each.state is STREAM_RESET:
                continue
            one = each.incoming.window
            windows += 1
            initial += one._initial
            grown += one._grown
            opening += one._opened
            growers += one._grower
            assert one.consumed <= one.arrived <= one.limit
            promised = one.arrived if one.ended else one.limit
            assert promised - one.consumed <= one._initial + one._grown
        assert (budget.reserved, budget.grown, budget.opening) == (initial + grown, grown, opening)
        assert (budget.growers, budget.streams) == (growers, windows)

    def check_promises(self) -> None:
        mine, theirs = self.tunnel, self.other.tunnel
        if (mine.pairing.half, mine.pairing.other) != (theirs.pairing.other, theirs.pairing.half):
            return
        others = theirs._state.live
        for number, stream in mine._state.live.items():
            far = others.get(number)
            if far is None or stream.state is STREAM_RESET or far.state is STREAM_RESET:
                continue
            credit, window = stream.outgoing.credit, far.incoming.window
            waived = waived_on_the_way(stream.outgoing, far.incoming.expected)
            assert credit.limit <= window.limit
            assert credit.consumed - waived <= window.consumed <= window.arrived <= credit.sent - waived


def waived_on_the_way(outgoing: Outgoing, expected: int) -> int:
    """By the WAIVE frames that the other side, which has those below `expected`, has not had."""
    amount = 0
    for kind, payload in outgoing._control:
        if kind == WAIVE:
            amount += decode_waive(payload)
    for sent in outgoing._unacked:
        if sent.kind == WAIVE and sent.number >= expected:
            amount += decode_waive(sent.payload)
    return amount


def simulate_unlike(seed: int) -> None:
    for site in simulate(UnlikeSite, seed):
        site.check_budget()


@pytest.mark.timeout(0)
@pytest.mark.parametrize("group", range(GROUPS))
def test_unlike_sites(group: int) -> None:
    for_seeds(group, simulate_unlike)
