"""The time left: guesses, corrected by what has proved to be."""

from bench.replay.timing import TimeLeft


def test_guesses_are_corrected_by_what_is_done() -> None:
    left = TimeLeft([10.0, 20.0, 30.0])
    left.begin(100.0)
    assert left.seconds(100.0) == 60
    assert left.seconds(105.0) == 55
    left.end(120.0)
    left.begin(120.0)
    assert left.seconds(120.0) == 100, "the first took twice as long as guessed"
    assert left.seconds(170.0) == 60, "what takes longer than its guess is about to end"
    left.end(180.0)
    left.begin(180.0)
    left.end(181.0)
    assert left.seconds(181.0) == 0
