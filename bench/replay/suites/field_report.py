"""The report of the field test."""

from collections.abc import Iterator

from bench.replay.document import Section, plain_section
from bench.replay.results import Results


def report(results: Results) -> Iterator[Section]:
    """The published tables with ours beside."""
    yield from plain_section("The field test", results)
