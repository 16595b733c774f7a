"""Where the time goes: accounts, and how seconds of several directions become one."""

import pytest

from proxy.observe.waiting import BLOCKED_BYTES, RECENT, SECOND, Recent, Spell, TimeAccount, Waiting, blend, moved_by

MS = SECOND // 1000
MB = 10**6


def test_time_goes_to_the_state_that_ends() -> None:
    account = TimeAccount(Waiting.SOURCE, 5 * MS)
    account.enter(Waiting.CPU, 8 * MS)
    account.enter(Waiting.LINE, 9 * MS)
    account.enter(Waiting.SOURCE, 19 * MS)
    assert account.take(20 * MS) == {Waiting.SOURCE: 4 * MS, Waiting.CPU: MS, Waiting.LINE: 10 * MS}


def test_a_wait_goes_on_after_it_was_taken() -> None:
    account = TimeAccount(Waiting.STORE, 0)
    account.take(7 * MS)
    assert account.state is Waiting.STORE
    assert account.take(9 * MS) == {Waiting.STORE: 2 * MS}


def test_a_wait_may_turn_out_to_be_another() -> None:
    account = TimeAccount(Waiting.WINDOW, 0)
    account.state = Waiting.LINE
    account.enter(Waiting.WINDOW, 3 * MS)
    assert account.take(4 * MS) == {Waiting.LINE: 3 * MS, Waiting.WINDOW: MS}


def test_a_wait_may_have_been_two() -> None:
    account = TimeAccount(Waiting.SOURCE, 0)
    account.divide(Waiting.ANSWER, 7 * MS)
    assert (account.state, account.since) == (Waiting.SOURCE, 7 * MS)
    assert account.take(9 * MS) == {Waiting.ANSWER: 7 * MS, Waiting.SOURCE: 2 * MS}


def shares(*spells: Spell) -> dict[Waiting, float]:
    return {state: round(time / SECOND, 3) for state, time in blend(spells).items()}


LINE = {Waiting.LINE: 600 * MS, Waiting.SOURCE: 400 * MS}
IDLE = {Waiting.SOURCE: SECOND}
QUIET = {Waiting.PEER: SECOND}
STUCK = {Waiting.FAR_ARRAY: SECOND}


def test_who_moves_more_counts_more() -> None:
    other = {Waiting.CPU: 2 * SECOND}
    found = shares(Spell(LINE, 30 * MB), Spell(other, 10 * MB))
    assert found == pytest.approx({Waiting.LINE: 0.45, Waiting.SOURCE: 0.3, Waiting.CPU: 0.25}, abs=0.01)


def test_idle_streams_do_not_hide_a_busy_one() -> None:
    found = shares(Spell(LINE, MB), *[Spell(IDLE, 0), Spell(QUIET, 0)] * 31)
    assert found[Waiting.LINE] == 0.6


def test_silence_is_the_sources() -> None:
    assert blend([Spell(IDLE, 0), Spell(QUIET, 0)]) == {Waiting.SOURCE: SECOND}


def test_who_is_held_up_counts_though_it_moves_nothing() -> None:
    assert shares(Spell(STUCK, 0), Spell(QUIET, 100))[Waiting.FAR_ARRAY] > 0.99
    assert shares(Spell(STUCK, 0), Spell(LINE, 99 * BLOCKED_BYTES))[Waiting.FAR_ARRAY] < 0.02


def test_a_stream_that_is_stuck_is_not_hidden_by_one_that_trickles() -> None:
    assert shares(Spell(STUCK, 0), Spell(IDLE, MB // 5))[Waiting.FAR_ARRAY] > 0.5


def test_without_streams_nothing_is_said() -> None:
    assert blend([]) == {}
    assert blend([Spell({}, 0)]) == {Waiting.SOURCE: SECOND}


def test_what_was_moved() -> None:
    one = Spell({Waiting.ANSWER: 300 * MS}, 10, answers=3, taken=5), Spell(QUIET, 20)
    other = Spell({Waiting.ANSWER: 100 * MS}, 1, answers=1, taken=1), Spell(QUIET, 2)
    assert moved_by([one, other]) == {
        "sent": 11,
        "delivered": 22,
        "answers": 4,
        "taken": 6,
        "answering": 400 * MS,
        "lived": 300 * MS,
    }


def test_the_last_ten_seconds() -> None:
    recent = Recent()
    assert (recent.rate("sent"), dict(recent.times)) == (0, {})
    recent.note(STUCK, {"sent": 1000.0}, 1.0)
    for _ in range(RECENT - 1):
        recent.note(IDLE, {"sent": 100.0}, 1.0)
    assert recent.times == {Waiting.FAR_ARRAY: SECOND, Waiting.SOURCE: (RECENT - 1) * SECOND}
    assert recent.rate("sent") == 190
    recent.note(IDLE, {}, 1.0)
    assert recent.times == {Waiting.SOURCE: RECENT * SECOND}
    assert recent.rate("sent") == 90


def test_a_second_that_took_longer_counts_for_as_long() -> None:
    recent = Recent()
    recent.note(STUCK, {"sent": 100.0}, 1.0)
    recent.note(IDLE, {"sent": 300.0}, 3.0)
    assert recent.times == {Waiting.FAR_ARRAY: SECOND, Waiting.SOURCE: 3 * SECOND}
    assert recent.rate("sent") == 100


def test_a_rate_is_that_of_the_time_in_which_it_was_waited_for() -> None:
    """Of seven idle seconds and three of a full line the line takes what it took in these three."""
    recent = Recent()
    for _ in range(7):
        recent.note(IDLE, {"line": 100.0}, 1.0)
    assert recent.rate_while("line", Waiting.LINE) == 100, "there is nothing better"
    for _ in range(3):
        recent.note({Waiting.LINE: SECOND}, {"line": 2000.0}, 1.0)
    assert recent.rate_while("line", Waiting.LINE, Waiting.WINDOW) == 2000
    assert recent.rate("line") == 670


def test_a_second_counts_as_far_as_it_was_waited_in_and_as_long_as_it_was() -> None:
    recent = Recent()
    recent.note({Waiting.LINE: SECOND}, {"line": 3000.0}, 1.5)
    recent.note({Waiting.LINE: SECOND // 2, Waiting.SOURCE: SECOND // 2}, {"line": 1000.0}, 1.0)
    assert recent.rate_while("line", Waiting.LINE) == (3000 + 500) / (1.5 + 0.5)
