"""What a relay waits for, told by the relay as it happens, and found out of the tunnel while its source is not read."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from time import monotonic_ns
from typing import Protocol

from proxy.net.worker import StoreWorker
from proxy.observe.counters import Traffic
from proxy.observe.verdict import Figures, Verdict, judge, with_rates
from proxy.observe.waiting import RECENT, SECOND, Recent, Spell, TimeAccount, Waiting, blend, moved_by
from proxy.protocol.flow import Flow, Obstacle
from proxy.protocol.tunnel import Tunnel

_OBSTACLES = {
    Obstacle.LINE: Waiting.LINE,
    Obstacle.WINDOW: Waiting.WINDOW,
    Obstacle.FAR: Waiting.FAR_ARRAY,
    Obstacle.UNACKED: Waiting.UNACKED,
}
_TURN = 5 * 10**6
"""Nanoseconds below which an answer is not told from the source's own pace; nor below one round trip."""
_CPU, _SOURCE = Waiting.CPU, Waiting.SOURCE  # each read passes here, and an enum's attributes are slow
_OF_PEER = (Waiting.PEER, Waiting.FILL)
_UNSENT = (Waiting.LINE, Waiting.WINDOW, Waiting.UNACKED)


class WaitsOwner(Protocol):
    """What the waits of a relay need of its peer."""

    tunnel: Tunnel
    worker: StoreWorker

    @property
    def reachable(self) -> bool:
        """A lane is up, and heard of."""


class Waits:
    """Loop thread. Costs a reading of the clock for each change of state, and nothing for each byte."""

    def __init__(self, owner: WaitsOwner, stream: int, clock: Callable[[], int] = monotonic_ns) -> None:
        self.total: Counter[Waiting] = Counter()
        """Nanoseconds of both directions, up to the last `sample`."""
        self._owner = owner
        self._stream = stream
        self._clock = clock
        now = clock()
        self._outward = TimeAccount(Waiting.SOURCE, now)
        self._inward = TimeAccount(Waiting.PEER, now)
        self._recent = Recent()
        self._resting = False
        self._loading = False
        self._awaited = Waiting.PEER  # inward, before the peer was out of reach
        self._held = 0.0
        self.window = 0
        """The peer's window, as it was when the source last had to wait for it: since then it may have been given back.

        0 unless the verdict counts such a wait, or is going to.
        """
        self._window_age = 0  # samples since then
        self._answered = 0  # when the silent source was last given something, 0: not since it fell silent
        self._answers = 0
        self._turn = _TURN
        self._sent = 0
        self._delivered = 0

    @property
    def queued(self) -> bool:
        """The source is not read because of what was sent before and waits for a lane; what is sent now waits, too."""
        return self._resting and self._outward.state is Waiting.LINE

    def outward(self, state: Waiting) -> None:
        """Towards the peer: from now on it is this that is waited for, unless the source is not read anyway."""
        if self._outward.state is not state and not self._resting:
            self._enter(state)

    def inward(self, state: Waiting) -> None:
        """Towards the array: likewise."""
        if self._inward.state is not state:
            now = self._clock()
            self._inward.enter(state, now)
            if state is _CPU and self._outward.state is _SOURCE:
                self._answered = now

    def rest(self) -> None:
        """The source is not read: see why, now or anew."""
        flow = self._owner.tunnel.flow(self._stream)
        self._settle(flow)
        obstacle = self._obstacle(flow)
        if obstacle is Waiting.WINDOW and flow is not None:
            self.window, self._window_age = flow.window, 0
        self._enter(obstacle)  # also if it is the same: what has passed is settled
        self._resting = True

    def resume(self) -> None:
        """The source is read again."""
        self._settle(self._owner.tunnel.flow(self._stream))
        self._enter(Waiting.SOURCE)

    def load(self, loading: bool) -> None:
        """A chunk that the peer has missed is being read from our disk, or no longer: it takes nothing behind that."""
        self._loading = loading
        self.look()

    def look(self) -> None:
        """The peer can be reached again or not any more, some of what was sent has arrived, or time has passed."""
        if self._resting:
            self.rest()
        state, reachable = self._inward.state, self._owner.reachable
        if state in _OF_PEER and not reachable:
            self._awaited = state
            self.inward(Waiting.OUTAGE)
        elif state is Waiting.OUTAGE and reachable:
            self.inward(self._awaited)

    def sample(self, traffic: Traffic, round_trip: float) -> tuple[Spell, Spell]:
        """Once a second, and at the end: what has passed since, outward and inward. `round_trip` in seconds."""
        now = self._clock()
        self._turn = max(_TURN, round(round_trip * SECOND * 0.9))
        answers, self._answers, self._answered = self._answers, 0, 0
        sent, delivered = traffic.raw - self._sent, traffic.delivered - self._delivered
        self._sent, self._delivered = traffic.raw, traffic.delivered
        outward = Spell(self._outward.take(now), sent, answers)
        inward = Spell(self._inward.take(now), delivered)
        for spell in (outward, inward):
            self.total.update(spell.times)
        self._window_age = 0 if outward.times.get(Waiting.WINDOW) else self._window_age + 1
        if self._window_age >= RECENT:
            self.window = 0
        passed = sum(outward.times.values()) / SECOND
        self._recent.note(blend((outward, inward)), moved_by([(outward, inward)]), passed)
        return outward, inward

    def verdict(self, figures: Figures) -> Verdict:
        """Of the last ten seconds. `figures`: what is known of the peer, and of this stream's window."""
        figures = replace(figures, window=max(figures.window, self.window))
        return judge(self._recent.times, with_rates(figures, self._recent))

    def rate(self, what: str) -> float:
        """Plain bytes a second of the last ten seconds, "sent" or "delivered"."""
        return self._recent.rate(what)

    def _enter(self, state: Waiting) -> None:
        now = self._clock()
        if self._answered:
            self._end_turn(now)
        self._outward.enter(state, now)

    def _end_turn(self, now: int) -> None:
        """The source speaks, or rests. It took turns with the far array if the answer was what it was silent for."""
        answered, self._answered = self._answered, 0
        silent = answered - self._outward.since
        if silent >= self._turn and silent > now - answered:
            self._outward.divide(Waiting.ANSWER, answered)
            self._answers += 1

    def _settle(self, flow: Flow | None) -> None:
        """What the present wait was for, now that it has passed.

        What is unacknowledged while the lanes have more than they take waits for the lanes, not for a round trip: a
        full window always begins with full lanes. For as long as a cap held the share back, it waited for that.
        """
        self._resting = False
        outward = self._outward
        held = 0.0 if flow is None else flow.held
        shaped, self._held = held - self._held, held
        if outward.state not in _UNSENT:
            return
        if outward.state is not Waiting.LINE and self._owner.tunnel.backlog:
            outward.state = Waiting.LINE
        if shaped > 0:
            outward.divide(Waiting.SHAPING, min(self._clock(), outward.since + round(shaped * SECOND)))

    def _obstacle(self, flow: Flow | None) -> Waiting:
        owner = self._owner
        if owner.worker.congested:
            return Waiting.STORE
        if not owner.reachable:
            return Waiting.OUTAGE
        if self._loading:
            return Waiting.STORE
        if flow is None:
            return Waiting.SOURCE
        if flow.obstacle is Obstacle.LINE and not flow.queued:
            return _CPU  # only its own batch is in the way, and that can go
        return _OBSTACLES[flow.obstacle]
