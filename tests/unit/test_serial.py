"""The marker `serial` does what it says."""

import pytest


@pytest.mark.serial
def test_what_is_marked_is_in_a_group_of_pytest_xdist(request: pytest.FixtureRequest) -> None:
    """By name, in each worker's list of tests: that is what tests are handed out by."""
    if not request.config.getoption("loadgroup", False):
        pytest.skip("not run by several workers that keep groups together (-n 3 --dist loadgroup)")
    assert request.node.nodeid.endswith("@serial")
