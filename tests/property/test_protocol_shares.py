"""Any shares on any line: what each gets is what its rules say, caps hold, and no stream loses or disorders a frame."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from proxy.protocol.account import LEAD_MAX
from proxy.protocol.guarantees import LENDING_SECONDS
from proxy.protocol.meter import URGENT_SECONDS
from proxy.protocol.share import BURST_SECONDS, WIRE, WRITE_OVERHEAD, Priority, Share
from tests.unit.protocol.line import MBIT, Line, on_wire

KIB = 1 << 10
SECONDS = 5.0
RESTS, ASKS, FILLS = "rests", "asks", "fills"
ASKED_EVERY = 0.02
"""Seconds: with 5 KiB each time a stream is never bulk."""

FRAMES = st.sampled_from([600, 4 * KIB, 17_000, 32 * KIB])


@st.composite
def shares(draw: st.DrawFn) -> list[Share]:
    """Up to four, whose guarantees fit the slowest line."""
    found = []
    for number in range(draw(st.integers(1, 4))):
        guarantee = draw(st.none() | st.integers(1, 2))
        maximum = draw(st.none() | st.integers(guarantee or 1, 12))
        found.append(
            Share(
                f"share {number}",
                draw(st.sampled_from(Priority)),
                guarantee and guarantee * MBIT,
                maximum and maximum * MBIT,
            )
        )
    return found


def fluid(rules: list[Share], rate: float) -> list[float]:
    """What each share gets if all have data without end and frames are infinitely small."""
    got = [share.guarantee or 0.0 for share in rules]
    for priority in Priority:
        wanting = [index for index, share in enumerate(rules) if share.priority == priority]
        while wanting and (left := rate - sum(got)) > 1e-6:
            room = [(rules[index].maximum or rate) - got[index] for index in wanting]
            part = min(left / len(wanting), *room)
            for index in wanting:
                got[index] += part
            wanting = [index for index, space in zip(wanting, room, strict=True) if space > part + 1e-6]
    return got


@settings(max_examples=25, deadline=None)
@given(
    rules=shares(),
    streams=st.lists(st.integers(1, 3), min_size=4, max_size=4),
    frames=st.lists(st.sampled_from([4 * KIB, 9000, 17_000]), min_size=12, max_size=12),
    line_rate=st.integers(9, 20),
    cap=st.none() | st.integers(9, 25),
)
def test_all_get_what_their_rules_say(
    rules: list[Share], streams: list[int], frames: list[int], line_rate: int, cap: int | None
) -> None:
    """What a write comes to on the wire is estimated: by 1.2 % too much for 4 KiB, which here is taken for granted."""
    line = Line(line_rate * MBIT, lambda size: (size + WRITE_OVERHEAD) * WIRE)
    line.tunnel.scheduler.set_rate(cap and cap * MBIT, 0.0)
    sizes = iter(frames)
    opened = [
        [line.open(share, next(sizes)) for _ in range(count)] for share, count in zip(rules, streams, strict=False)
    ]
    line.run(SECONDS)
    rate = min(line_rate, cap or line_rate) * MBIT
    for numbers, expected in zip(opened, fluid(rules, rate), strict=True):
        got = line.rates(*numbers, since=1.0)
        assert abs(got - expected) < 0.05 * max(expected, 2 * MBIT)
        each = [line.rates(number, since=1.0) for number in numbers]
        assert max(each) - min(each) < 0.05 * max(expected, 2 * MBIT)
    for source in line.sources.values():
        assert source.numbers == list(range(1, len(source.numbers) + 1))


@settings(max_examples=25, deadline=None)
@given(
    changes=st.lists(shares(), min_size=2, max_size=3),
    frames=st.lists(st.sampled_from([4 * KIB, 17_000]), min_size=4, max_size=4),
    line_rate=st.integers(9, 20),
    caps=st.lists(st.none() | st.integers(9, 25), min_size=3, max_size=3),
)
def test_other_rules_hold_from_when_they_are_set(
    changes: list[list[Share]], frames: list[int], line_rate: int, caps: list[int | None]
) -> None:
    line = Line(line_rate * MBIT, lambda size: (size + WRITE_OVERHEAD) * WIRE)
    count = min(map(len, changes))
    former = changes[0][:count]
    streams = [line.open(share, frame) for share, frame in zip(former, frames, strict=False)]
    for rules, cap in zip(changes, caps, strict=False):
        for before, share in zip(former, rules, strict=False):
            line.tunnel.scheduler.change(before, share, line.now)
        former = rules[:count]
        line.tunnel.scheduler.set_rate(cap and cap * MBIT, line.now)
        began = line.now
        line.run(SECONDS + 1.0)
        rate = min(line_rate, cap or line_rate) * MBIT
        for stream, expected in zip(streams, fluid(former, rate), strict=True):
            assert abs(line.rates(stream, since=began + 1.0) - expected) < 0.05 * max(expected, 2 * MBIT)
    for source in line.sources.values():
        assert source.numbers == list(range(1, len(source.numbers) + 1))


@settings(max_examples=25, deadline=None)
@given(
    maximum=st.integers(1, 20),
    frame=FRAMES,
    pauses=st.lists(st.tuples(st.integers(0, 500), st.floats(0.001, 1.0)), max_size=12),
    period=st.sampled_from([0.01, 0.2, 1.0, 10.0]),
)
def test_no_period_brings_more_than_the_cap_allows(
    maximum: int, frame: int, pauses: list[tuple[int, float]], period: float
) -> None:
    """Arrays that begin and rest at any time."""
    line = Line(200 * MBIT)
    share = Share("capped", maximum=maximum * MBIT)
    streams = [line.open(share, frame, frames=0), line.open(share, 600, frames=0)]
    other = line.open(frame=KIB, frames=0)
    for number, (count, pause) in enumerate(pauses):
        line.sources[streams[number % 2]].left = count
        line.sources[other].left = count
        line.run(pause)
    line.run(0.1)
    allowed = share.maximum * (period + BURST_SECONDS + URGENT_SECONDS) + 2 * on_wire(frame + 16)  # type: ignore[operator]
    assert max(line.windows(period, *streams), default=0) <= allowed * 1.01


@settings(max_examples=20, deadline=None)
@given(
    guarantee=st.integers(1, 9),
    frame=FRAMES,
    others=st.lists(st.tuples(st.sampled_from(Priority), FRAMES), min_size=1, max_size=4),
    rest=st.floats(0.0, 1.5),
)
def test_a_guarantee_is_there_as_soon_as_it_is_wanted(
    guarantee: int, frame: int, others: list[tuple[Priority, int]], rest: float
) -> None:
    line = Line(10 * MBIT)
    wanted = line.open(Share("wanted", Priority.LOW, guarantee=guarantee * MBIT), frame, frames=0)
    for number, (priority, size) in enumerate(others):
        line.open(Share(f"other {number}", priority), size)
    line.run(rest)
    assert line.total() >= 0.98 * 10 * MBIT * rest - on_wire(frame), "lent while it is not used"
    line.sources[wanted].left = float("inf")
    since = line.now
    line.run(2)
    slack = 2 * on_wire(32 * KIB) + 4 * on_wire(frame)
    got = line.total(wanted, since=since)
    assert got >= 0.98 * 2 * guarantee * MBIT - slack
    assert got <= (2 + LENDING_SECONDS) * 10 * MBIT


@settings(max_examples=15, deadline=None)
@example([1, None, None], 1, [(12.0, [FILLS, FILLS, RESTS]), (4.0, [FILLS, FILLS, FILLS])])
@given(
    maxima=st.lists(st.none() | st.integers(1, 12), min_size=1, max_size=3),
    each=st.integers(1, 2),
    phases=st.lists(
        st.tuples(
            st.sampled_from([1.0, 4.0, 12.0]),
            st.lists(st.sampled_from([RESTS, ASKS, FILLS, FILLS]), min_size=6, max_size=6),
        ),
        min_size=2,
        max_size=4,
    ),
)
def test_nobody_who_has_something_stands_still(
    maxima: list[int | None], each: int, phases: list[tuple[float, list[str]]]
) -> None:
    """Arrays that rest, ask and fill in any order: what they had before, as whatever, never counts for long."""
    line = Line(40 * MBIT)
    rules = [Share(f"share {number}", maximum=most and most * MBIT) for number, most in enumerate(maxima)]
    streams = {line.open(share, 5 * KIB, frames=0): share for share in rules for _ in range(each)}
    longest = 2 * len(streams) * LEAD_MAX / line.rate
    for seconds, activities in phases:
        doing = dict(zip(streams, activities, strict=False))
        for stream, activity in doing.items():
            line.sources[stream].left = float("inf") if activity == FILLS else 0
        began = line.now
        asking = [stream for stream in doing if doing[stream] == ASKS]
        line.run(seconds, line.asking(asking, ASKED_EVERY))
        for stream, activity in doing.items():
            if activity == FILLS and streams[stream].maximum is None:
                assert line.longest_wait(stream, began) <= longest
