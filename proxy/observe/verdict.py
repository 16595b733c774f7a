"""Why it is slow: what limited a stream or a tunnel over the last ten seconds, and the figure behind it.

`judge` is a pure function of the time accounts and of figures; deploy/GUIDE.md, "Why is it slow?", says what to do
about each verdict.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from proxy.figures import byte_rate, milliseconds, rate, size
from proxy.observe.waiting import SECOND, Recent, Times, Waiting

SATURATED = 0.9
"""Share of a core from which on the event loop has no time left, so that whatever arrives waits for it."""
TURNS_WORDS = "the arrays take turns"
"""How the words begin where neither a window nor an array that reads slowly limits, but each array waits for the
other's answer."""
RECEIVER_LIMITED = 0.5
"""Share of the time in which the other host's TCP takes no more, above which the line is not to blame."""
SLOW_ANSWER = 2.0
"""If an answer takes so many round trips or more, most of its time is the far array's."""
STARVED = 0.6
"""If the event loop has a core for less than this part of its working time, other processes are to blame."""
ALL_THE_TIME = 0.9
"""Part of the time in which there has to be a stream; with less, the loop's share of a core says nothing about it."""
FAR_BELOW = 4.0
"""If less than one part in so many of what a window allows is sent, what is under way takes more than a round trip."""
LOSS_WORTH_SAYING = 0.001


class Limit(StrEnum):
    """What limits. If two do so for the same time, the first in this order is named."""

    OUTAGE = "outage"
    FAR_ARRAY = "far array"
    STORE = "store"
    SHAPING = "shaping"
    CPU = "cpu"
    WAN_RATE = "wan rate"
    WINDOW = "round trip or window"
    PEER = "other site"
    SOURCE = "source idle"


_ORDER = list(Limit)

LIMITS = {
    Waiting.SOURCE: Limit.SOURCE,
    Waiting.ANSWER: Limit.FAR_ARRAY,
    Waiting.CPU: Limit.CPU,
    Waiting.STORE: Limit.STORE,
    Waiting.LINE: Limit.WAN_RATE,
    Waiting.SHAPING: Limit.SHAPING,
    Waiting.WINDOW: Limit.WINDOW,
    Waiting.UNACKED: Limit.WINDOW,
    Waiting.FAR_ARRAY: Limit.FAR_ARRAY,
    Waiting.OUTAGE: Limit.OUTAGE,
    Waiting.PEER: Limit.PEER,
    Waiting.ARRAY: Limit.FAR_ARRAY,
    Waiting.FILL: Limit.STORE,
}


@dataclass(frozen=True, slots=True)
class Figures:
    """What a verdict's sentence may name, in bytes and seconds: averages over the verdict's seconds, sizes as of now.

    Figures of the line are of the time in which streams waited for it or for a window, if they did.
    """

    peer: str = ""
    reachable: bool = True
    """A lane is up and heard of."""
    streams: int = 1
    sent: float = 0.0
    """Plain bytes a second from the array here."""
    pace: float = 0.0
    """As `sent`, but only over the seconds in which there was a stream; 0 if that is not known."""
    delivered: float = 0.0
    """Plain bytes a second to the array here."""
    line: float = 0.0
    """Bytes a second that the lanes sent, as TCP payload."""
    resent: float = 0.0
    """Of these, what was sent again, as a share."""
    receiver_limited: float = 0.0
    """Share of the time in which the other host's TCP took no more."""
    cap: str = ""
    """What holds the share back: a rate and whose."""
    round_trip: float = 0.0
    answer: float = 0.0
    """How long the array waited for each answer, in seconds."""
    window: int = 0
    """What one stream may have under way."""
    taken: float = 0.0
    """Plain bytes a second that the far array took while it was waited for, if it was."""
    arrived: int = 0
    """Bytes that have arrived at the far site, and that its array has not taken."""
    far_store: int = 0
    """Bytes a second that the far site's store gives, as it says; 0: it holds nobody up."""
    unacked_max: int = 0
    peers: int = 1
    """How many peers share tunnel.unacked; `unacked_max` is the part of one."""
    processor: float = 0.0
    """Share of a core that the event loop uses, and over how many seconds that is averaged."""
    processor_seconds: float = 0.0
    lived: float = 0.0
    """Seconds, of the last ten, in which there was at least one stream."""
    unwritten: int = 0
    """Bytes that wait for the store's disk."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`share`: of the time, 0 to 1. `words`: a sentence with the figure."""

    limit: Limit
    share: float
    words: str


def with_rates(figures: Figures, recent: Recent) -> Figures:
    """The figures, completed from what `moved_by` has counted."""
    answers, lived = recent.rate("answers"), recent.total("lived") / SECOND
    return replace(
        figures,
        sent=recent.rate("sent"),
        pace=recent.total("sent") / lived if lived else 0.0,
        delivered=recent.rate("delivered"),
        taken=recent.rate_while("taken", Waiting.FAR_ARRAY),
        answer=recent.rate("answering") / SECOND / answers if answers else 0.0,
        lived=lived,
    )


def judge(times: Times, figures: Figures) -> Verdict:
    """The limit that took most of that time. While the peer is out of reach it is that, whatever was before."""
    if not any(times.values()):
        return _nothing_yet(figures)
    limits: Counter[Limit] = Counter()
    for state, time in times.items():
        limits[_limit(state, figures)] += time
    limit = max(limits, key=lambda one: (limits[one], -_ORDER.index(one)))
    if not figures.reachable and limits[Limit.OUTAGE]:
        limit = Limit.OUTAGE
    share = limits[limit] / sum(times.values())
    return Verdict(limit, share, _WORDS[limit](figures, times, share))


def _nothing_yet(figures: Figures) -> Verdict:
    if not figures.reachable:
        return Verdict(Limit.OUTAGE, 1.0, f"there is no lane to {figures.peer}")
    return Verdict(Limit.SOURCE, 1.0, "no array is connected" if not figures.streams else "nothing is known yet")


def _limit(state: Waiting, figures: Figures) -> Limit:
    """The limit behind a state, as `LIMITS` has it unless figures show that something else lies behind the wait.

    - A saturated loop reads late what has come: CPU, not the source or the peer.
    - An answer within two round trips came at once, and lanes that the other host's TCP holds up are not short of rate:
      WINDOW.
    - What is under way for many round trips waits for the line: a box on the way has taken it, as those for satellites
      do, so the lanes took all that there was credit for: WAN_RATE, not WINDOW.
    """
    limit = LIMITS[state]
    if limit in (Limit.SOURCE, Limit.PEER) and figures.processor >= SATURATED and figures.sent + figures.delivered:
        return Limit.CPU
    if state is Waiting.ANSWER and figures.answer < SLOW_ANSWER * figures.round_trip:
        return Limit.WINDOW
    if state is Waiting.LINE and figures.receiver_limited > RECEIVER_LIMITED:
        return Limit.WINDOW
    if state is Waiting.WINDOW and 0 < figures.pace * figures.round_trip * FAR_BELOW < figures.window:
        return Limit.WAN_RATE
    return limit


# -- sentences ---------------------------------------------------------------------------------------------------


def _outage(figures: Figures, times: Times, share: float) -> str:
    return f"{figures.peer} could not be reached for {share:.0%} of the time"


def _turns(figures: Figures) -> str:
    answer, round_trip = milliseconds(figures.answer), milliseconds(figures.round_trip)
    return f"{TURNS_WORDS}: {answer} until each answer, {round_trip} of it round trip"


def _far_array(figures: Figures, times: Times, share: float) -> str:
    answer, taking = times.get(Waiting.ANSWER, 0), times.get(Waiting.ARRAY, 0) + times.get(Waiting.FAR_ARRAY, 0)
    if answer > taking:
        return _turns(figures)
    if times.get(Waiting.ARRAY, 0) > times.get(Waiting.FAR_ARRAY, 0):
        return f"the array here takes {byte_rate(figures.delivered)}"
    waiting = f"; {size(figures.arrived)} have arrived there and wait" if figures.arrived else ""
    gives = byte_rate(figures.far_store)
    store = f"; the store there gives {gives} of what is referred to" if figures.far_store else ""
    return f"the far array takes {byte_rate(figures.taken)}{waiting}{store}"


def _store(figures: Figures, times: Times, share: float) -> str:
    if times.get(Waiting.FILL, 0) > times.get(Waiting.STORE, 0):
        return f"fetching chunks that the store here lacks from {figures.peer} took {share:.0%} of the time"
    return f"the store's disk took {share:.0%} of the time; {size(figures.unwritten)} wait to be written"


def _shaping(figures: Figures, times: Times, share: float) -> str:
    return f"{figures.cap or 'a configured rate'} holds it back for {share:.0%} of the time"


def _cpu(figures: Figures, times: Times, share: float) -> str:
    works = f"this process works {share:.0%} of the time"
    # The share is not known in the first seconds, and includes time in which there was no stream to work for.
    if not figures.processor or figures.lived < ALL_THE_TIME * figures.processor_seconds:
        return works
    if figures.processor < share * STARVED:
        return f"{works}, but gets only {figures.processor:.0%} of a core: its host is busy with something else"
    return f"{works}, with {figures.processor:.0%} of a core"


def _rate(figures: Figures, times: Times, share: float) -> str:
    lost = f", of which {figures.resent:.1%} were sent again" if figures.resent >= LOSS_WORTH_SAYING else ""
    return f"the line takes {rate(figures.line * 8)}{lost}"


def _window(figures: Figures, times: Times, share: float) -> str:
    states = Waiting.UNACKED, Waiting.WINDOW, Waiting.LINE, Waiting.ANSWER
    unacked, window, line, answer = (
        times.get(state, 0) if _limit(state, figures) is Limit.WINDOW else 0 for state in states
    )
    if answer > max(unacked, window, line):
        return _turns(figures)
    if line > max(unacked, window):
        return f"the TCP window of {figures.peer}'s host was full for {figures.receiver_limited:.0%} of the time"
    part = f"{figures.peer}'s part of " if figures.peers > 1 else ""
    name, most = (f"{part}tunnel.unacked", figures.unacked_max) if unacked > window else ("window", figures.window)
    if not most:  # the streams have ended meanwhile
        return f"the {name} was used up for {share:.0%} of the time"
    if not figures.round_trip:
        return f"{name} {size(most)} is used up"
    allowed = byte_rate(most / figures.round_trip)
    return f"{name} {size(most)} / {milliseconds(figures.round_trip)} round trip = {allowed}"


def _peer(figures: Figures, times: Times, share: float) -> str:
    return f"{figures.peer} sent nothing for {share:.0%} of the time; its own status says why"


def _source(figures: Figures, times: Times, share: float) -> str:
    return f"nothing came from the array for {share:.0%} of the time"


_WORDS: dict[Limit, Callable[[Figures, Times, float], str]] = {
    Limit.OUTAGE: _outage,
    Limit.FAR_ARRAY: _far_array,
    Limit.STORE: _store,
    Limit.SHAPING: _shaping,
    Limit.CPU: _cpu,
    Limit.WAN_RATE: _rate,
    Limit.WINDOW: _window,
    Limit.PEER: _peer,
    Limit.SOURCE: _source,
}
