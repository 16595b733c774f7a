"""Requests that schemathesis makes of the API's own document: none of them is a failure of the site (row 37)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import response_schema_conformance

from bench.sites import Site
from proxy.web.routes import API
from tests.integration.bed.sites import Bed

UNBOUNDED = (f"{API}/live", f"{API}/drain")
"""One never ends, and one ends the site: tested elsewhere."""
EXAMPLES = 25
DOCUMENT = Path(__file__).parents[3] / "proxy" / "web" / "openapi.json"

schema = schemathesis.pytest.from_fixture("api").exclude(path=list(UNBOUNDED))
"""Read when it is tested: to collect a test for each request took each worker a second."""


@pytest.fixture
def api() -> BaseSchema:
    return schemathesis.openapi.from_path(DOCUMENT)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    bed = Bed(tmp_path_factory.mktemp("any"))
    site = bed.site("east", {"west": ("127.0.0.1", 9)})
    site.start()
    site.wait_ready()
    yield site
    site.stop()
    assert not bed.complaints()


@schema.parametrize()
@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
)
def test_nothing_fails(case: schemathesis.Case, site: Site) -> None:
    response = case.call(base_url=f"http://127.0.0.1:{site.status_port}", headers={"Host": "localhost"})
    case.validate_response(response, checks=[not_a_server_error])
    if response.status_code == 200:
        case.validate_response(response, checks=[response_schema_conformance])
