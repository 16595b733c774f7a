"""After each of these tests no site's log has a traceback, words of the event loop, or an unprintable character."""

from collections.abc import Iterator

import pytest

from tests.integration.bed.sites import Bed
from tests.integration.peers.stage import records


@pytest.fixture(autouse=True)
def sober_logs(bed: Bed) -> Iterator[None]:
    yield
    for site in bed.sites:
        if site.log.exists():
            for record in records(site):
                assert "traceback" not in record, record
                assert record["logger"].startswith(("proxy.", "aiohttp.")), record
                assert str(record["message"]).isprintable(), record
