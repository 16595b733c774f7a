"""Times what a relay waits for: the relay tells each change, and while its source is not read the tunnel says why."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from time import monotonic_ns
from typing import Protocol

from proxy.net.worker import StoreWorker
from proxy.observe.counters import Traffic
from proxy.observe.verdict import Figures, Verdict, judge, with_rates
from proxy.observe.waiting import RECENT, SECOND, Recent, Spell, TimeAccount, Waiting, blend, count, moved_by
from proxy.protocol.flow import Flow, Obstacle
from proxy.protocol.streams import Streams

_OBSTACLES = {
    Obstacle.LINE: Waiting.LINE,
    Obstacle.WINDOW: Waiting.WINDOW,
    Obstacle.FAR: Waiting.FAR_ARRAY,
    Obstacle.UNACKED: Waiting.UNACKED,
}
_TURN = 5 * 10**6
"""Nanoseconds. A source counts as having waited for what it is given if it was silent for so long before, or for nearly
a round trip if that is longer; a shorter silence may be its own pace."""
_CPU, _SOURCE = Waiting.CPU, Waiting.SOURCE  # each read passes here, and attributes of an enum class are slow to read
_OF_PEER = (Waiting.PEER, Waiting.FILL)
_UNSENT = (Waiting.LINE, Waiting.WINDOW, Waiting.UNACKED)


class WaitsOwner(Protocol):
    """What the waits of a relay need of its peer."""

    streams: Streams
    worker: StoreWorker

    @property
    def reachable(self) -> bool:
        """A lane is up and not silent."""


class Waits:
    """Times the waits of one relay. Costs a reading of the clock for each change of state, and nothing for each byte.

    Loop thread.
    """

    def __init__(
        self, owner: WaitsOwner, stream: int, traffic: Traffic, clock: Callable[[], int] = monotonic_ns
    ) -> None:
        """`traffic`: what the stream has moved; the figures that its coders count need not be up to date."""
        self.total: Counter[Waiting] = Counter()
        """Nanoseconds of both directions, up to the last `sample`."""
        self.taken = 0
        """Plain bytes that the far array has taken since the last `sample`, as its side says; the relay adds them."""
        self._owner = owner
        self._stream = stream
        self._traffic = traffic
        self._clock = clock
        now = clock()
        self._outward = TimeAccount(Waiting.SOURCE, now)
        self._inward = TimeAccount(Waiting.PEER, now)
        self._recent = Recent()
        self.resting = False
        """The source is not read, because there is no credit or the disk lags."""
        self._loading = False
        self._awaited = Waiting.PEER  # the inward state, before the peer was out of reach
        self._held = 0.0  # `Flow.held`, when it was last looked at
        self.window = 0
        """The peer's window when the source last had to wait for it; it may have been given back since.

        0 if there was no such wait in the seconds that a verdict counts.
        """
        self._window_age = 0  # samples since the source last waited for the window
        self._answered = 0  # when the silent source was last given something; 0: it was not since it fell silent
        self._answers = 0  # answers that the source has waited for, since the last sample
        self._turn = _TURN  # nanoseconds
        self._sent = 0  # totals, at the last sample
        self._delivered = 0

    @property
    def queued(self) -> bool:
        """True if the source is not read because data waits for a lane: anything sent now would wait for it as well."""
        return self.resting and self._outward.state is Waiting.LINE

    def outward(self, state: Waiting) -> None:
        """The outward direction waits for this from now on; has no effect while the source is not read (`rest`)."""
        if self._outward.state is not state and not self.resting:
            self._enter(state)

    def inward(self, state: Waiting) -> None:
        """The inward direction waits for this from now on."""
        if self._inward.state is not state:
            now = self._clock()
            self._inward.enter(state, now)
            if state is _CPU and self._outward.state is _SOURCE:
                self._answered = now

    def rest(self) -> None:
        """The source is not read: find out why, now or anew."""
        flow = self._owner.streams.flow(self._stream)
        if flow is not None and flow.obstacle is not Obstacle.LINE:
            self._owner.streams.await_ack(self._stream)  # which calls `look`: it may be another obstacle then
        self._settle(flow)
        obstacle = self._obstacle(flow)
        if obstacle is Waiting.WINDOW and flow is not None:
            self.window, self._window_age = flow.window, 0
        self._enter(obstacle)  # even if it is the same: the time so far has been settled
        self.resting = True

    def resume(self) -> None:
        """The source is read again."""
        self.resting = False
        self._settle(self._owner.streams.flow(self._stream))
        self._enter(Waiting.SOURCE)

    def load(self, loading: bool) -> None:
        """A chunk that the peer has missed, and waits for, is being read from our disk, or no longer."""
        self._loading = loading
        self.look()

    def look(self) -> None:
        """Find out anew what is waited for: the peer came into or went out of reach, some of what was sent has arrived,
        or time has passed."""
        if self.resting:
            self.rest()
        state, reachable = self._inward.state, self._owner.reachable
        if state in _OF_PEER and not reachable:
            self._awaited = state
            self.inward(Waiting.OUTAGE)
        elif state is Waiting.OUTAGE and reachable:
            self.inward(self._awaited)

    def sample(self, round_trip: float) -> tuple[Spell, Spell]:
        """Once a second: the times and bytes since the last sample, outward and inward. `round_trip` in seconds."""
        outward, inward = self.spell()
        self._turn = max(_TURN, round(round_trip * SECOND * 0.9))
        count(self.total, outward, inward)
        self._window_age = 0 if outward.times.get(Waiting.WINDOW) else self._window_age + 1
        if self._window_age >= RECENT:
            self.window = 0
        passed = sum(outward.times.values()) / SECOND
        self._recent.note(blend((outward, inward)), moved_by([(outward, inward)]), passed)
        return outward, inward

    def spell(self) -> tuple[Spell, Spell]:
        """As `sample`, for a stream that has ended, of which no verdict is wanted any more."""
        now = self._clock()
        answers, self._answers, self._answered = self._answers, 0, 0
        taken, self.taken = self.taken, 0
        traffic = self._traffic
        sent, delivered = traffic.raw - self._sent, traffic.delivered - self._delivered
        self._sent, self._delivered = traffic.raw, traffic.delivered
        outward = Spell(self._outward.take(now), sent, answers, taken)
        return outward, Spell(self._inward.take(now), delivered)

    def verdict(self, figures: Figures) -> Verdict:
        """What limited the stream in the last ten seconds. `figures`: of the peer, with this stream's window."""
        if self.window > figures.window:
            figures = replace(figures, window=self.window)
        return judge(self._recent.times, with_rates(figures, self._recent))

    def rate(self, what: str) -> float:
        """Plain bytes a second, "sent" or "delivered", over the last ten seconds."""
        return self._recent.rate(what)

    def _enter(self, state: Waiting) -> None:
        now = self._clock()
        if self._answered:
            self._end_turn(now)
        self._outward.enter(state, now)

    def _end_turn(self, now: int) -> None:
        """A silent source that was given something now speaks, or is not read. If it was silent for longer before that
        than afterwards, and for `_turn` at least, it had waited for that answer."""
        answered, self._answered = self._answered, 0
        silent = answered - self._outward.since
        if silent >= self._turn and silent > now - answered:
            self._outward.divide(Waiting.ANSWER, answered)
            self._answers += 1

    def _settle(self, flow: Flow | None) -> None:
        """Decide what the present wait was for, now that it is over, or a part of it.

        If the lanes still have more than they take, a wait for credit was in fact one for the line, and not for a round
        trip: the lanes are also full at first whenever a window is used up, so only the end of the wait tells. For as
        long as a cap held the share back, the wait was for the cap.
        """
        outward = self._outward
        held = 0.0 if flow is None else flow.held
        shaped, self._held = held - self._held, held
        if outward.state not in _UNSENT:
            return
        if outward.state is not Waiting.LINE and self._owner.streams.backlog:
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
            return _CPU  # nothing of the stream waits for lanes any more: it goes on as soon as the loop comes to it
        return _OBSTACLES[flow.obstacle]
