"""Each verdict from its account, with the figure behind it, and ties."""

from dataclasses import replace
from pathlib import Path

import pytest

from proxy.observe.verdict import LIMITS, Figures, Limit, judge, with_rates
from proxy.observe.waiting import SECOND, Recent, Times, Waiting

MIB = 1 << 20
FIGURES = Figures(
    peer="west",
    sent=12e6,
    delivered=3.4e6,
    line=5.3875e6,
    resent=0.0124,
    round_trip=0.1,
    window=64 * MIB,
    taken=9e6,
    arrived=58 * MIB,
    unacked_max=32 * MIB,
    processor=0.7,
    receiver_limited=0.1,
    unwritten=24 * MIB,
)


def account(**seconds: float) -> dict[Waiting, int]:
    return {Waiting[name.upper()]: round(time * SECOND) for name, time in seconds.items()}


CASES: list[tuple[Times, Figures, Limit, float, str]] = [
    (account(source=9.2, cpu=0.8), FIGURES, Limit.SOURCE, 0.92, "nothing came from the array for 92% of the time"),
    (account(source=2, cpu=8), FIGURES, Limit.CPU, 0.8, "this process works 80% of the time, with 70% of a core"),
    (
        account(source=5, cpu=5),
        replace(FIGURES, processor=0.97),
        Limit.CPU,
        1.0,
        "this process works 100% of the time, with 97% of a core",
    ),
    (
        account(peer=5, cpu=5),
        replace(FIGURES, processor=0.97),
        Limit.CPU,
        1.0,
        "this process works 100% of the time, with 97% of a core",
    ),
    (account(cpu=10), replace(FIGURES, processor=0.0), Limit.CPU, 1.0, "this process works 100% of the time"),
    (
        account(cpu=10),
        replace(FIGURES, processor=0.2),
        Limit.CPU,
        1.0,
        "this process works 100% of the time, but gets only 20% of a core: its host is busy with something else",
    ),
    (
        account(source=10),
        replace(FIGURES, processor=0.97, sent=0.0, delivered=0.0),
        Limit.SOURCE,
        1.0,
        "nothing came from the array for 100% of the time",
    ),
    (
        account(store=7, source=3),
        FIGURES,
        Limit.STORE,
        0.7,
        "the store's disk took 70% of the time; 24 MiB wait to be written",
    ),
    (
        account(fill=4, store=3, peer=3),
        FIGURES,
        Limit.STORE,
        0.7,
        "fetching chunks that the store here lacks from west took 70% of the time",
    ),
    (account(line=9, cpu=1), FIGURES, Limit.WAN_RATE, 0.9, "the line takes 43.1 Mbit/s, of which 1.2% were sent again"),
    (account(line=9, cpu=1), replace(FIGURES, resent=0.0), Limit.WAN_RATE, 0.9, "the line takes 43.1 Mbit/s"),
    (
        account(line=9, cpu=1),
        replace(FIGURES, receiver_limited=0.88),
        Limit.WINDOW,
        0.9,
        "the TCP window of west's host was full for 88% of the time",
    ),
    (
        account(window=6, unacked=3, source=1),
        FIGURES,
        Limit.WINDOW,
        0.9,
        "window 64 MiB / 100 ms round trip = 671 MB/s",
    ),
    (
        account(window=3, unacked=6, source=1),
        FIGURES,
        Limit.WINDOW,
        0.9,
        "tunnel.unacked 32 MiB / 100 ms round trip = 336 MB/s",
    ),
    (
        account(window=3, unacked=6, source=1),
        replace(FIGURES, peers=3),
        Limit.WINDOW,
        0.9,
        "west's part of tunnel.unacked 32 MiB / 100 ms round trip = 336 MB/s",
    ),
    (
        account(line=4, window=3, unacked=3),
        FIGURES,
        Limit.WINDOW,
        0.6,
        "window 64 MiB / 100 ms round trip = 671 MB/s",
    ),
    (
        account(answer=4, window=3, unacked=3),
        replace(FIGURES, answer=0.35),
        Limit.WINDOW,
        0.6,
        "window 64 MiB / 100 ms round trip = 671 MB/s",
    ),
    (
        account(window=6, unacked=3, source=1),
        replace(FIGURES, pace=5.4e6, resent=0.0),
        Limit.WAN_RATE,
        0.6,
        "the line takes 43.1 Mbit/s",
    ),
    (
        account(window=6, unacked=3, source=1),
        replace(FIGURES, pace=400e6),
        Limit.WINDOW,
        0.9,
        "window 64 MiB / 100 ms round trip = 671 MB/s",
    ),
    (account(window=10), replace(FIGURES, round_trip=0.0), Limit.WINDOW, 1.0, "window 64 MiB is used up"),
    (
        account(window=8, source=2),
        replace(FIGURES, streams=0, window=0),
        Limit.WINDOW,
        0.8,
        "the window was used up for 80% of the time",
    ),
    (account(shaping=6, line=4), FIGURES, Limit.SHAPING, 0.6, "a configured rate holds it back for 60% of the time"),
    (
        account(shaping=6, line=4),
        replace(FIGURES, cap="the maximum of forward array, 30Mbit,"),
        Limit.SHAPING,
        0.6,
        "the maximum of forward array, 30Mbit, holds it back for 60% of the time",
    ),
    (
        account(far_array=8, window=2),
        FIGURES,
        Limit.FAR_ARRAY,
        0.8,
        "the far array takes 9 MB/s; 58 MiB have arrived there and wait",
    ),
    (account(far_array=8), replace(FIGURES, arrived=0), Limit.FAR_ARRAY, 1.0, "the far array takes 9 MB/s"),
    (
        account(far_array=8),
        replace(FIGURES, far_store=1_800_000, arrived=0),
        Limit.FAR_ARRAY,
        1.0,
        "the far array takes 9 MB/s; the store there gives 1.8 MB/s of what is referred to",
    ),
    (account(array=8, peer=2), FIGURES, Limit.FAR_ARRAY, 0.8, "the array here takes 3.4 MB/s"),
    (
        account(answer=8, source=2),
        replace(FIGURES, answer=0.104),
        Limit.WINDOW,
        0.8,
        "the arrays take turns: 104 ms until each answer, 100 ms of it round trip",
    ),
    (
        account(answer=8, source=2),
        replace(FIGURES, answer=0.35),
        Limit.FAR_ARRAY,
        0.8,
        "the arrays take turns: 350 ms until each answer, 100 ms of it round trip",
    ),
    (account(outage=7, line=3), FIGURES, Limit.OUTAGE, 0.7, "west could not be reached for 70% of the time"),
    (
        account(peer=9, cpu=1),
        FIGURES,
        Limit.PEER,
        0.9,
        "west sent nothing for 90% of the time; its own status says why",
    ),
]


@pytest.mark.parametrize(("times", "figures", "limit", "share", "words"), CASES)
def test_each_verdict(times: Times, figures: Figures, limit: Limit, share: float, words: str) -> None:
    verdict = judge(times, figures)
    assert (verdict.limit, round(verdict.share, 6), verdict.words) == (limit, share, words)


def test_the_guide_explains_each() -> None:
    guide = (Path(__file__).parents[3] / "deploy" / "GUIDE.md").read_text()
    assert [limit for limit in Limit if f"| `{limit.value}` |" not in guide] == []


def test_there_is_a_case_for_each() -> None:
    assert {limit for _, _, limit, _, _ in CASES} == set(Limit)


def test_everything_that_is_waited_for_means_something() -> None:
    assert set(LIMITS) == set(Waiting)
    for waiting in Waiting:
        assert judge({waiting: 1}, replace(FIGURES, answer=1.0)).limit is LIMITS[waiting]


@pytest.mark.parametrize("first", range(len(Limit) - 1))
def test_of_equals_the_first_is_named(first: int) -> None:
    waitings = {limit: waiting for waiting, limit in LIMITS.items()}
    one, other = list(Limit)[first : first + 2]
    verdict = judge({waitings[other]: 5, waitings[one]: 5}, FIGURES)
    assert (verdict.limit, verdict.share) == (one, 0.5)


def test_rates_of_the_last_seconds() -> None:
    recent = Recent()
    assert with_rates(FIGURES, recent).answer == 0
    recent.note({}, {"sent": 4.0, "delivered": 2.0, "answers": 8, "answering": 2 * SECOND}, 1.0)
    recent.note({}, {"sent": 2.0, "answers": 2}, 1.0)
    found = with_rates(FIGURES, recent)
    assert (found.sent, found.delivered, found.answer, found.line) == (3, 1, 0.2, FIGURES.line)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, ""), (8.9, ""), (9.1, ", but gets only 4% of a core: its host is busy with something else")],
)
def test_a_host_is_not_busy_with_others_because_there_was_no_stream(seconds: float, words: str) -> None:
    """A short stream was worked at for all its life, and the loop had nothing to do in the rest of ten seconds."""
    recent = Recent()
    recent.note(account(cpu=1), {"lived": seconds * SECOND}, 1.0)
    figures = replace(FIGURES, processor=0.04, processor_seconds=10.0)
    assert judge(recent.times, with_rates(figures, recent)).words == f"this process works 100% of the time{words}"


@pytest.mark.parametrize("times", [{}, account(source=0)])
def test_before_anything_is_known(times: Times) -> None:
    assert judge(times, FIGURES).words == "nothing is known yet"
    assert judge(times, replace(FIGURES, streams=0)).words == "no array is connected"
    away = judge(times, replace(FIGURES, reachable=False))
    assert (away.limit, away.words) == (Limit.OUTAGE, "there is no lane to west")


def test_while_the_peer_is_out_of_reach_it_is_that() -> None:
    """Health says so at once, and beside it the verdict said for five seconds that the source was idle."""
    times = account(source=9, outage=1)
    away = judge(times, replace(FIGURES, reachable=False))
    assert (away.limit, away.share) == (Limit.OUTAGE, 0.1)
    assert away.words == "west could not be reached for 10% of the time"
    assert judge(times, FIGURES).limit is Limit.SOURCE, "it is back"
    assert judge(account(source=9), replace(FIGURES, reachable=False)).limit is Limit.SOURCE, "no second of it is over"


@pytest.mark.parametrize(
    ("rate", "words"), [(0, "0 bit/s"), (125, "1 kbit/s"), (124.95e6, "1 Gbit/s"), (5e9, "40 Gbit/s")]
)
def test_rates_to_three_figures(rate: float, words: str) -> None:
    assert judge(account(line=1), replace(FIGURES, line=rate, resent=0)).words == f"the line takes {words}"
