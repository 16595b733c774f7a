"""The share of a core that a thread uses."""

from proxy.observe.processor import Processor


def test_nothing_is_known_at_first() -> None:
    processor = Processor()
    assert (processor.share, processor.seconds) == (0, 0)
    processor.note(3.0, 100.0)
    assert (processor.share, processor.seconds) == (0, 0)
    processor.note(3.0, 100.0)
    assert (processor.share, processor.seconds) == (0, 0)


def test_the_last_ten_seconds() -> None:
    processor = Processor()
    for second in range(30):
        processor.note(float(max(0, second - 20)), 100.0 + second)
    assert processor.share == 0.9
    processor.note(10.0, 130.0)
    assert (processor.share, processor.seconds) == (1.0, 10.0)
