"""What a relay waits for, told by the relay as it happens, and found out of the tunnel while its source is not read."""

from collections import Counter
from time import monotonic_ns
from typing import Protocol

from proxy.net.worker import StoreWorker
from proxy.observe.counters import Traffic
from proxy.observe.verdict import Figures, Verdict, judge
from proxy.observe.waiting import Account, Recent, Spell, Waiting, blend
from proxy.protocol.flow import Obstacle
from proxy.protocol.tunnel import Tunnel

_OBSTACLES = {
    Obstacle.LINE: Waiting.LINE,
    Obstacle.WINDOW: Waiting.WINDOW,
    Obstacle.FAR: Waiting.FAR_ARRAY,
    Obstacle.UNACKED: Waiting.UNACKED,
}
_UNACKNOWLEDGED = (Waiting.WINDOW, Waiting.UNACKED)


class WaitsOwner(Protocol):
    """What the waits of a relay need of its peer."""

    tunnel: Tunnel
    worker: StoreWorker

    @property
    def reachable(self) -> bool:
        """A lane is up, and heard of."""

    @property
    def line_full(self) -> bool:
        """Something is to be sent that the lanes do not take."""


class Waits:
    """Loop thread. Costs a reading of the clock for each change of state, and nothing for each byte."""

    def __init__(self, owner: WaitsOwner, stream: int) -> None:
        self.total: Counter[Waiting] = Counter()
        """Nanoseconds of both directions, up to the last `sample`."""
        self._owner = owner
        self._stream = stream
        now = monotonic_ns()
        self._outward = Account(Waiting.SOURCE, now)
        self._inward = Account(Waiting.PEER, now)
        self._recent = Recent()
        self._resting = False
        self._sent = 0
        self._delivered = 0

    def outward(self, state: Waiting) -> None:
        """Towards the peer: from now on it is this that is waited for, unless the source is not read anyway."""
        if self._outward.state is not state and not self._resting:
            self._outward.enter(state, monotonic_ns())

    def inward(self, state: Waiting) -> None:
        """Towards the array: likewise."""
        if self._inward.state is not state:
            self._inward.enter(state, monotonic_ns())

    def rest(self) -> None:
        """The source is not read: see why, now or anew.

        What is unacknowledged while the lanes have more than they take waits for the lanes, not for a round trip.
        Only what has passed can tell: a full window always begins with full lanes.
        """
        self._resume()
        self.outward(self._obstacle())
        self._resting = True

    def resume(self) -> None:
        """The source is read again."""
        self._resume()
        self.outward(Waiting.SOURCE)

    def look(self) -> None:
        """The peer can be reached again or not any more, some of what was sent has arrived, or time has passed."""
        if self._resting:
            self.rest()
        if self._inward.state in (Waiting.PEER, Waiting.OUTAGE):
            self.inward(Waiting.PEER if self._owner.reachable else Waiting.OUTAGE)

    def sample(self, traffic: Traffic) -> tuple[Spell, Spell]:
        """Once a second, and at the end: what has passed since, outward and inward."""
        now = monotonic_ns()
        sent, delivered = traffic.raw - self._sent, traffic.delivered - self._delivered
        self._sent, self._delivered = traffic.raw, traffic.delivered
        outward = Spell(self._outward.take(now), sent)
        inward = Spell(self._inward.take(now), delivered)
        for spell in (outward, inward):
            self.total.update(spell.times)
        self._recent.note(blend((outward, inward)), {"sent": sent, "delivered": delivered})
        return outward, inward

    def verdict(self, figures: Figures) -> Verdict:
        """Of the last ten seconds. `figures` are the stream's."""
        return judge(self._recent.times, figures)

    @property
    def rates(self) -> tuple[float, float]:
        """Plain bytes a second, sent and delivered, over the last ten seconds."""
        return self._recent.mean("sent"), self._recent.mean("delivered")

    def _resume(self) -> None:
        self._resting = False
        if self._outward.state in _UNACKNOWLEDGED and self._owner.line_full:
            self._outward.state = Waiting.LINE

    def _obstacle(self) -> Waiting:
        owner = self._owner
        if owner.worker.congested:
            return Waiting.STORE
        if not owner.reachable:
            return Waiting.OUTAGE
        flow = owner.tunnel.flow(self._stream)
        return _OBSTACLES[flow.obstacle] if flow is not None else Waiting.SOURCE
