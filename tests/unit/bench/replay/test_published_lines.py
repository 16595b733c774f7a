"""What counts of a flow over a published line, and what excuses it. The flow is made up, and so is the line."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.course import Course
from bench.lines import Setting
from bench.replay import published_lines
from bench.replay.flow import Flow
from bench.replay.published_lines import settling, steady
from bench.replay.trial import Figure, Stage
from tests.unit.bench.growing import growing

OC3, T3 = Setting("155Mbit", 100), Setting("45Mbit", 100)
MB = 1e6


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A function: the throughput that is told of a flow."""

    def measure(arrived: Course, given_up: float | None, setting: Setting = OC3, used: float = 0.5) -> Figure:
        flow = Flow((), growing(0), arrived, given_up)
        monkeypatch.setattr(published_lines, "send", lambda *_: flow)
        monkeypatch.setattr(published_lines, "Cores", lambda: SimpleNamespace(used=lambda: used))
        wan: Any = SimpleNamespace(stats=lambda: {"west": {}, "east": {}})
        end: Any = SimpleNamespace()
        return steady(wan, setting, Stage(tmp_path, 1 / 65536), "cell", ("127.0.0.1", 9), end).figures[0]

    return measure


def test_slow_start_and_what_comes_late_do_not_count_of_what_was_given_up(measured: Any) -> None:
    slow_start = settling(OC3)
    assert 1 < slow_start < 2
    arrived = growing(MB, MB, *[10 * MB] * 8, 90 * MB)
    counted = (2 - slow_start) * MB + 8 * 10 * MB
    assert measured(arrived, 110.0).value == pytest.approx(8 * counted / MB / (10 - slow_start))


def test_all_of_what_was_sent_to_its_end_counts(measured: Any) -> None:
    assert measured(growing(0, MB, MB, *[10 * MB] * 8, 0), None).value == pytest.approx(8 * 82 / 10)


@pytest.mark.parametrize(
    ("setting", "rate", "used", "excused"),
    [(OC3, 10, 0.99, True), (OC3, 10, 0.5, False), (OC3, 18.6, 0.99, False), (T3, 3, 0.99, False)],
    ids=["full cores", "cores with time", "a full line", "a line that is too slow for that"],
)
def test_full_cores_excuse_what_does_not_fill_a_fast_line(
    measured: Any, setting: Setting, rate: float, used: float, excused: bool
) -> None:
    found = measured(growing(*[rate * MB] * 10), None, setting, used)
    assert found.remark == ("the cores were busy (99%)" if excused else "")
