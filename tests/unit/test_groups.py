"""The markers of which one test runs at a time do what they say."""

import pytest

from tests.conftest import GROUPS


@pytest.mark.parametrize("group", [pytest.param(group, marks=getattr(pytest.mark, group)) for group in GROUPS])
def test_what_is_marked_is_in_a_group_of_pytest_xdist(request: pytest.FixtureRequest, group: str) -> None:
    """By name, in each worker's list of tests: that is what tests are handed out by."""
    if not request.config.getoption("loadgroup", False):
        pytest.skip("not run by several workers that keep groups together (-n 3 --dist loadgroup)")
    assert request.node.nodeid.endswith(f"@{group}")
