"""Courses for tests."""

from bench.course import Course, Sample


def growing(*rates: float, every: float = 1.0, start: float = 100.0) -> Course:
    """One sample more than rates; each rate holds for `every` seconds."""
    samples = [Sample(start, 0)]
    for rate in rates:
        samples.append(Sample(samples[-1].at + every, samples[-1].so_far + rate * every))
    return Course(samples)
