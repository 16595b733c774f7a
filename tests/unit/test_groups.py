"""Who belongs together runs in one worker: tests of a marker of which one runs at a time, and of a shared fixture."""

import pytest

from tests.conftest import GROUPS


@pytest.fixture(scope="module")
def shared() -> None:
    """What two tests of this file share."""


@pytest.fixture
def made_from_it(shared: None) -> None:
    """Made for each of them from it."""


@pytest.fixture(autouse=True)
def _by_several_workers(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("loadgroup", False):
        pytest.skip("not run by several workers that keep groups together (-n 3 --dist loadgroup)")


@pytest.mark.parametrize("group", [pytest.param(group, marks=getattr(pytest.mark, group)) for group in GROUPS])
def test_what_is_marked_is_in_a_group_of_pytest_xdist(request: pytest.FixtureRequest, group: str) -> None:
    """By name, in each worker's list of tests: that is what tests are handed out by."""
    assert request.node.nodeid.endswith(f"@{group}")


@pytest.mark.usefixtures("made_from_it")
def test_who_shares_what_a_fixture_made_is_in_the_group_of_the_file(request: pytest.FixtureRequest) -> None:
    """Otherwise each worker would make it by itself, as tests are handed out one by one."""
    assert request.node.nodeid.endswith("@tests/unit/test_groups.py")


def test_who_shares_nothing_is_in_none(request: pytest.FixtureRequest) -> None:
    assert "@" not in request.node.nodeid
