"""After each of these tests no site's log has a traceback, words of the event loop, or an unprintable character."""

from collections.abc import Iterator

import pytest

from tests.integration.bed.sites import Bed
from tests.integration.peers.stage import records


@pytest.fixture(autouse=True)
def sober_logs(bed: Bed) -> Iterator[None]:
    yield
    for site in bed.sites:
        text = site.log.read_text() if site.log.exists() else ""
        assert "Traceback" not in text, site.tail()
        if text.startswith("{"):  # it is text where the test wants it so
            for record in records(site):
                assert "traceback" not in record, record
                assert record["logger"].startswith(("proxy.", "aiohttp.")), record
                assert str(record["message"]).isprintable(), record
