"""Would a faster line help? What the zones make of figures, in words."""

import pytest

from proxy.observe.advice import advise
from proxy.observe.verdict import Limit, Verdict

KiB = 1 << 10


@pytest.mark.parametrize(
    ("rate", "average", "colours", "words"),
    [
        (82_100_000, 64 * KiB, "red red red", "is likely to help: 82.1 MB/s written"),
        (40_000_000, 12 * KiB, "yellow yellow yellow", "may help: 40 MB/s written"),
        (60_000_000, 4 * KiB, "green red green", "is unlikely to help: 60 MB/s written"),
        (1_000_000, 64 * KiB, "green green red", "is unlikely to help: 1 MB/s written"),
    ],
)
def test_zones(rate: float, average: float, colours: str, words: str) -> None:
    advice = advise(rate, average)
    assert advice is not None
    assert " ".join((advice.colour, advice.write_rate.colour, advice.write_size.colour)) == colours
    assert (advice.write_rate.figure, advice.write_size.figure) == (rate, average)
    assert advice.words.startswith(f"a faster line {words} in the busiest ten seconds")


def test_both_figures_are_said() -> None:
    advice = advise(60_000_000, 4 * KiB)
    assert advice is not None
    assert advice.words.endswith("60 MB/s written in the busiest ten seconds (red), 4 KiB a write on average (green)")


def test_nothing_written() -> None:
    assert advise(0, 0) is None


def test_a_full_line_is_said() -> None:
    """The zones see what was written, not what the line kept arrays from writing."""
    full = Verdict(Limit.WAN_RATE, 0.93, "the line takes 43 Mbit/s")
    held_back = advise(5_000_000, 64 * KiB, full)
    assert held_back is not None
    assert held_back.words.endswith(
        "; but the line was full for 93% of the last ten seconds: arrays may have more to write"
    )
    likely = advise(82_000_000, 64 * KiB, full)
    assert likely is not None
    assert "full" not in likely.words
    idle = advise(5_000_000, 64 * KiB, Verdict(Limit.SOURCE, 1.0, ""))
    assert idle is not None
    assert "full" not in idle.words
