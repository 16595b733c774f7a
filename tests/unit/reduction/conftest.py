"""Sites that have exchanged something with their peer."""

import pytest

from tests.unit.reduction.batches import CHUNK, hold
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import DATA, Site, send, site, two_sites


@pytest.fixture
def near() -> Site:
    """One that has sent DATA."""
    near, far = two_sites()
    send(near, far, [DATA])
    return near


@pytest.fixture
def far() -> Site:
    """One that has exchanged CHUNK."""
    far = site(ShelfStore())
    hold(far, CHUNK)
    return far
