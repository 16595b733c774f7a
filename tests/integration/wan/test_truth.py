"""The self-test measures what was set, by packets that really came: short trains, and no judgement of speed."""

import pytest

from bench.wan.truth import Measured, packets_on
from tests.integration.bed.lines import line_or_skip
from tests.patience import at_best

pytestmark = pytest.mark.root

MOST = 1.25 * 20e6
"""Bits a second: a queue may empty itself after a stall."""


def test_losses_are_found_as_set() -> None:
    with line_or_skip():
        pass  # or skip
    texts = {"rate": "20Mbit", "delay": "10ms", "loss": "20%"}

    def measured() -> dict[str, Measured]:
        return {each.what: each for each in packets_on(texts, "tun", packets=1000, seconds=0.5)}

    found = at_best(measured, lambda found: found["loss"].true and found["rate"].found <= MOST)
    assert set(found) == {"loss", "delay", "rate"}
    assert found["loss"].true
    assert 0.15 < found["loss"].found < 0.25
    assert found["delay"].found >= 0.01, "no packet is ahead of its time"
    assert found["rate"].found <= MOST
