"""How much known data may be under way: little until the peer was found to know it, and after many misses."""

from proxy.reduction.trial import PROVEN, REMEMBERED, UNPROVEN_MAX, Trial


def proven(found: int = PROVEN) -> Trial:
    trial = Trial()
    trial.send(found)
    trial.end(found, found=True)
    return trial


def test_little_is_under_way_at_first() -> None:
    trial, crowded = Trial(), []
    for change in (UNPROVEN_MAX - 1, 1, -1):
        if change > 0:
            trial.send(change)
        else:
            trial.end(-change, found=False)
        crowded.append(trial.crowded)
    assert crowded == [False, True, False]


def test_what_was_found_lets_all_go() -> None:
    trial = proven()
    trial.send(100 * UNPROVEN_MAX)
    assert not trial.crowded


def test_what_was_given_up_proves_nothing() -> None:
    trial = Trial()
    trial.send(PROVEN)
    trial.end(PROVEN, found=False)
    trial.send(UNPROVEN_MAX)
    assert trial.crowded


def test_a_miss_is_forgiven_and_a_flood_is_not() -> None:
    trial = proven(100 * REMEMBERED)
    trial.send(UNPROVEN_MAX)
    trial.miss()
    assert not trial.crowded
    for _ in range(5):
        trial.miss()
    assert trial.crowded


def test_who_waits_is_called_once_when_there_is_room() -> None:
    trial, called = Trial(), []

    def call() -> None:
        called.append(trial.crowded)

    trial.send(UNPROVEN_MAX)
    trial.when_relieved(call)
    trial.when_relieved(call)
    trial.relieve()
    assert called == []
    trial.end(1, found=False)
    trial.relieve()
    trial.relieve()
    assert called == [False]


def test_who_is_called_may_wait_again() -> None:
    trial, called = Trial(), []

    def call() -> None:
        called.append(1)
        trial.when_relieved(call)

    trial.when_relieved(call)
    trial.relieve()
    assert called == [1]
