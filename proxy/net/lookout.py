"""Judges what limits a peer's streams ("why is it slow"): samples once a second, judges when somebody asks."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

from proxy.net.environment import Environment
from proxy.net.lanes import Lanes
from proxy.net.relay import Relay
from proxy.net.shares import Shares
from proxy.observe.verdict import Figures, Verdict, judge, with_rates
from proxy.observe.waiting import Recent, Spell, Waiting, blend, count, moved_by
from proxy.protocol.tunnel import Tunnel
from proxy.reduction.relief import Relief


class Lookout:
    """Samples and judges the streams of one peer. Loop thread."""

    def __init__(
        self,
        peer: str,
        relays: Mapping[int, Relay],
        tunnel: Tunnel,
        lanes: Lanes,
        shares: Shares,
        relief: Relief,
        environment: Environment,
        now: float,
    ) -> None:
        """`peer`: its name; `relays`: its live relays by stream; `relief`: of its store.

        `now`, here and in `sample`: seconds of the loop's clock.
        """
        self._peer = peer
        self._relays = relays
        self._tunnel = tunnel
        self._streams = tunnel.streams
        self._lanes = lanes
        self._shares = shares
        self._relief = relief
        self._sampled = now
        self._environment = environment
        self._ended: list[tuple[Spell, Spell]] = []  # of relays that have ended since the last sample
        self.waited: Counter[Waiting] = Counter()
        """Nanoseconds by what was waited for, of all streams and both directions, up to the last sample."""
        self._recent = Recent()
        self._of_line = 0.0, 0.0, 0.0
        """As of the last sample, for the time in which streams waited for lanes: bytes a second that the lanes sent,
        bytes a second of these that they sent again, and the share of time for which they were held up."""
        self._lanes_before: dict[str, float] = {}
        self._held_before: dict[int, float] = {}

    def sample(self, now: float) -> None:
        """To be called once a second."""
        self.look()
        samples, self._ended = self._ended, []
        samples += [self._count(relay.waits.sample(self._tunnel.round_trip)) for relay in self._relays.values()]
        passed, self._sampled = now - self._sampled, now
        self._recent.note(blend(chain.from_iterable(samples)), moved_by(samples) | self._line(), passed)
        # What the line takes shows only in seconds in which streams wait for it.
        line, again, held_up = (
            self._recent.rate_while(name, Waiting.LINE, Waiting.WINDOW) for name in ("line", "again", "held_up")
        )
        self._of_line = line, again, held_up

    def look(self) -> None:
        """Have each relay find out anew what it waits for."""
        for relay in self._relays.values():
            relay.waits.look()

    def ended(self, relay: Relay) -> None:
        """The relay has ended: what it has done since the last sample counts in the next sample."""
        self._ended.append(self._count(relay.waits.spell()))

    def verdict(self) -> Verdict:
        """What limited the tunnel over the last ten seconds."""
        times = self._recent.times
        figures = self._figures()
        if times.get(Waiting.WINDOW):  # only this needs a look at all streams
            figures = replace(figures, window=max(map(self._window, self._relays.values()), default=0))
        if times.get(Waiting.SHAPING):  # only this needs a look at all shares
            figures = replace(figures, cap=self._shares.cap)
        return judge(times, with_rates(figures, self._recent))

    def verdict_of(self, relay: Relay) -> Verdict:
        """What limited one stream over the last ten seconds."""
        flow = self._streams.flow(relay.stream)
        window, arrived = (flow.window, flow.arrived) if flow is not None else (0, 0)
        cap = self._shares.cap_of(relay.share)
        return relay.waits.verdict(replace(self._figures(), window=window, arrived=arrived, cap=cap))

    def _window(self, relay: Relay) -> int:
        """The stream's window: the present one, or the one that it lately had to wait for if that was larger."""
        flow = self._streams.flow(relay.stream)
        return 0 if flow is None else max(flow.window, relay.waits.window)

    def _count(self, spells: tuple[Spell, Spell]) -> tuple[Spell, Spell]:
        count(self.waited, *spells)
        return spells

    def _figures(self) -> Figures:
        """The figures that all streams have in common."""
        line, again, held_up = self._of_line
        environment = self._environment
        return Figures(
            peer=self._peer,
            reachable=self._lanes.up,
            streams=len(self._relays),
            line=line,
            resent=again / line if line else 0.0,
            receiver_limited=held_up,
            round_trip=self._tunnel.round_trip,
            far_store=self._relief.rate,
            unacked_max=environment.tunnel_settings.unacked_max,
            peers=len(environment.config.peers),
            processor=environment.processor.share,
            processor_seconds=environment.processor.seconds,
            unwritten=environment.worker.store.unwritten,
        )

    def _line(self) -> dict[str, float]:
        """What the lanes have done since the last sample: bytes sent, bytes of these sent again, seconds held up."""
        wire = self._lanes.wire()
        now: dict[str, float] = {"line": wire["sent"] + wire["retransmitted"], "again": wire["retransmitted"]}
        before, self._lanes_before = self._lanes_before, now
        moved = {name: max(0.0, total - before.get(name, 0.0)) for name, total in now.items()}
        return moved | {"held_up": self._held_up()}

    def _held_up(self) -> float:
        """Seconds since the last sample for which the other end's TCP receive window held a lane back: the mean of all
        lanes."""
        now = {lane.number: lane.tcp_info().receiver_limited_seconds for lane in self._lanes}
        before, self._held_before = self._held_before, now
        return sum(total - before.get(number, 0.0) for number, total in now.items()) / max(1, len(now))
