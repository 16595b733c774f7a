"""Rates of what grows over time."""

import threading

import pytest

from bench.course import Course, Recorder, Sample
from bench.wan import WanFailure
from tests.unit.bench.growing import growing


def test_a_course_is_even_between_samples() -> None:
    course = growing(10, 30)
    assert [course.count(at) for at in (0, 100, 100.5, 101, 101.5, 102, 999)] == [0, 0, 5, 10, 25, 40, 40]
    assert course.rate(100.5, 101.5) == 20
    assert course.rate(101, 101) == 0


def test_the_steady_part_leaves_out_rest_start_and_tail() -> None:
    course = growing(0, 0, 1, 1, 50, 50, 50, 2, 0, 0)
    assert (course.began, course.ended) == (102, 108)
    assert course.steady(2, 1) == 50
    assert course.steady(60) == 0


def test_all_whole_windows_count() -> None:
    course = growing(10, 20, 30, 40)
    assert list(course.windows(2, 100, 104)) == [15, 25, 35]
    assert list(course.windows(2, 100.5, 103)) == [25]
    assert list(course.windows(5, 100, 104)) == []


def test_a_course_in_even_spans() -> None:
    course = Course([Sample(7.0, 0), Sample(8.0, 10), Sample(9.0, 10), Sample(11.0, 50)])
    assert course.spans(2) == ([8.0, 10.0], [5.0, 20.0])
    assert Course([Sample(7.0, 0)]).spans() == ([], [])


def test_a_course_begins_when_it_is_asked_to() -> None:
    course = Course([Sample(1.0, 100), Sample(2.0, 110), Sample(3.0, 130)])
    assert course.since(1.5) == [[0.0, 0.0], [0.5, 5.0], [1.5, 25.0]]


def test_full_again_is_where_a_full_second_begins() -> None:
    burst = growing(9, 0, 0, 9, 0, 9, 9, 9)
    assert burst.full_again(101, 9, seconds=2) == 4
    assert burst.full_again(101, 9, seconds=1) == 2
    assert burst.full_again(107, 9, seconds=2) is None


def test_a_recorder_sees_the_beginning_and_the_end() -> None:
    counts = iter(range(10_000))
    with Recorder(lambda: next(counts)) as recorder:
        pass
    samples = recorder.course.samples
    assert [sample.so_far for sample in samples] == list(range(len(samples)))
    assert len(samples) >= 2
    assert sorted(samples) == samples


def test_a_count_that_is_gone_is_a_failure_of_what_is_recorded() -> None:
    """The thread ended with a traceback, and the course lacked the rest, or not, if the last question had an answer."""
    asked = threading.Event()

    def count() -> float:
        if threading.current_thread() is threading.main_thread():
            return 1.0
        asked.set()
        raise WanFailure("the line is gone")

    with pytest.raises(WanFailure, match="the line is gone"), Recorder(count):
        asked.wait()
