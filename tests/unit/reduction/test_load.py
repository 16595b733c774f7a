"""What a loop does: over the last moment, and in all."""

import pytest

from proxy.reduction.load import CompressionLoad, Measured


def test_load_is_of_the_last_moment() -> None:
    load = CompressionLoad()
    for tick in range(100):
        load.note(Measured(1000, 500, 0.002, 0.001), tick * 0.01)
    assert load.rate(1.0) == pytest.approx(100_000 * 0.918, rel=0.02)
    assert load.share(1.0) == pytest.approx(0.2 * 0.918, rel=0.02)
    assert load.cpu_share(1.0) == pytest.approx(0.1 * 0.918, rel=0.02)
    assert load.compresses(1.0)
    for tick in range(100):
        load.note(Measured(10, 5, 0.0, 0.0), 1.0 + tick * 0.1)
    assert load.share(11.0) < 0.001
    assert not load.compresses(11.0)


def test_the_loop_is_watched() -> None:
    load = CompressionLoad()
    for tick in range(200):
        load.turn(tick * 0.008, tick * 0.01)
    assert load.busy == pytest.approx(0.8, rel=0.02)
    load.turn(200 * 0.008, 30.0)
    assert load.busy < 0.01
