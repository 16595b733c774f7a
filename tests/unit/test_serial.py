"""The marker `serial` does what it says."""

import os

import pytest


@pytest.mark.serial
def test_what_is_marked_is_in_a_group_of_pytest_xdist(request: pytest.FixtureRequest) -> None:
    """By name, in each worker's list of tests: that is what tests are handed out by."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("not run by several workers (-n)")
    assert request.node.nodeid.endswith("@serial")
