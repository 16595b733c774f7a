"""What can be wrong between rates: of a forward or export, of all that share a peer, and of a peer's timetable.

As `checks`: each looks at the draft, skips what is unsound already, and notes what it finds.
"""

from collections.abc import Callable, Iterator

from proxy.config.mistakes import KeyPath
from proxy.config.reading import Draft
from proxy.config.timetable import DAY, WEEK, Span
from proxy.config.units import show_rate

_SHARING = ("forward", "export")


def guarantees_fit_their_maximum(draft: Draft) -> None:
    """guarantee <= maximum."""
    for table in _SHARING:
        for where, guarantee in draft.column(table, "guarantee").items():
            maximum = draft.get(*where[:2], "maximum")
            if maximum is not None and guarantee > maximum:
                draft.wrong(where, f"is above maximum ({show_rate(maximum)})", "lower it, or raise maximum")


def bursts_have_a_maximum(draft: Draft) -> None:
    """Without a maximum there is nothing to go above."""
    for table in _SHARING:
        for where, entry in draft.entries(table):
            if "burst" in entry and "maximum" not in entry:
                draft.wrong((*where, "burst"), "means nothing without maximum", "add maximum, or remove burst")


def guarantees_fit_the_peers_rate(draft: Draft) -> None:
    """A peer's rate is at no time below what its forwards and exports are guaranteed together."""
    for where, name in draft.column("peer", "name").items():
        rates = dict(_rates(draft, where[:2]))
        promised = sum(_guarantees(draft, name))
        if rates and promised > min(rates.values()):
            wrong = f"is less than what forwards and exports of {name} are guaranteed together ({show_rate(promised)})"
            draft.wrong(min(rates, key=lambda at: rates[at]), wrong, "raise it, or lower guarantee of some")


def spans_have_a_length(draft: Draft) -> None:
    """from and to differ."""
    for where, begin, end in _spans(draft):
        if _empty(begin, end):
            draft.wrong((*where, "to"), "is the same as from", 'for whole days write from = "00:00" and to = "24:00"')


def spans_can_apply(draft: Draft) -> None:
    """Every entry can apply. The first one that fits the time counts, so one that earlier ones cover never does."""
    taken: dict[KeyPath, set[int]] = {}
    for where, begin, end in _spans(draft):
        days = draft.get(*where, "days")
        if days is None or _empty(begin, end):
            continue
        covered = Span(days, begin, end).minutes()
        before = taken.setdefault(where[:3], set())
        if covered <= before:
            whole = "the whole week" if len(before) == WEEK else "that time"
            draft.wrong(where, f"never applies: entries above it cover {whole}", "move it up, or remove it")
        before |= covered


CHECKS: tuple[Callable[[Draft], None], ...] = (
    guarantees_fit_their_maximum,
    bursts_have_a_maximum,
    guarantees_fit_the_peers_rate,
    spans_have_a_length,
    spans_can_apply,
)


def _rates(draft: Draft, peer: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    """All rates of the peer, by place."""
    for where, value in draft.values.items():
        if where[:2] == peer and where[-1] == "rate":
            yield where, value


def _guarantees(draft: Draft, peer: str) -> Iterator[int]:
    """What is guaranteed on the tunnel to that peer. An export is guaranteed it towards each of its peers."""
    for table, key in (("forward", "peer"), ("export", "peers")):
        for where, guarantee in draft.column(table, "guarantee").items():
            named = draft.get(*where[:2], key) or ()
            if named == peer if isinstance(named, str) else peer in named:
                yield guarantee


def _empty(begin: int, end: int) -> bool:
    """Whether the span has no length. From 24:00 to 00:00 has none either: both are the same midnight."""
    return begin == end or (begin, end) == (DAY, 0)


def _spans(draft: Draft) -> Iterator[tuple[KeyPath, int, int]]:
    """Place, begin and end of all timetable entries where both are sound."""
    for where, begin in draft.values.items():
        if where[0] == "peer" and where[2:3] == ("schedule",) and where[-1] == "from":
            end = draft.get(*where[:-1], "to")
            if end is not None:
                yield where[:-1], begin, end
