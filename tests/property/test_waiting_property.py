"""Whatever an account is told, and whenever, its times add up to the time that has passed, exactly."""

from hypothesis import given
from hypothesis import strategies as st

from proxy.observe.verdict import Figures, Limit, judge
from proxy.observe.waiting import SECOND, Spell, TimeAccount, Waiting, blend

STATES = st.sampled_from(Waiting)
TIMES = st.dictionaries(STATES, st.integers(0, 10 * SECOND))
FLOATS = st.floats(0, 1e12)
SIZES = st.integers(0, 1 << 40)


@given(
    STATES,
    st.integers(0, 1 << 62),
    st.lists(st.tuples(st.integers(0, 1 << 40), st.none() | STATES, st.sampled_from(["enter", "rename", "divide"]))),
)
def test_nothing_is_lost_and_nothing_invented(
    first: Waiting, began: int, steps: list[tuple[int, Waiting | None, str]]
) -> None:
    account, now, taken = TimeAccount(first, began), began, 0
    for elapsed, state, how in steps:
        now += elapsed
        if state is None:
            taken += sum(account.take(now).values())
            assert taken == now - began
        elif how == "rename":
            account.state = state
        elif how == "divide":
            account.divide(state, (account.since + now) // 2)
        else:
            account.enter(state, now)
    assert taken + sum(account.take(now).values()) == now - began
    assert not any(account.take(now).values())


@given(st.lists(st.builds(Spell, TIMES, st.integers(0, 1 << 40)), min_size=1))
def test_a_blend_is_one_second_of_what_was_there(spells: list[Spell]) -> None:
    blended = blend(spells)
    assert abs(sum(blended.values()) - SECOND) <= len(Waiting) * len(spells)
    assert all(time >= 0 for time in blended.values())
    assert set(blended) <= {Waiting.SOURCE, *(state for spell in spells for state in spell.times)}


@given(
    TIMES,
    st.builds(
        Figures,
        peer=st.text(),
        reachable=st.booleans(),
        streams=SIZES,
        sent=FLOATS,
        delivered=FLOATS,
        line=FLOATS,
        resent=FLOATS,
        receiver_limited=FLOATS,
        round_trip=FLOATS,
        answer=FLOATS,
        window=SIZES,
        arrived=SIZES,
        unacked_max=SIZES,
        processor=FLOATS,
        unwritten=SIZES,
    ),
)
def test_there_is_always_one_verdict(times: dict[Waiting, int], figures: Figures) -> None:
    verdict = judge(times, figures)
    assert verdict.limit in Limit
    assert 0 < verdict.share <= 1
    is_out = verdict.limit is Limit.OUTAGE and not figures.reachable
    assert is_out or verdict.share >= 1 / len(Limit)
    assert verdict.words
