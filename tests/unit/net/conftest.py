"""What tests of the network layer share."""

import asyncio

import pytest

from tests.unit.net.loop import Loop


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    """The running loop, as far as what is tested knows."""
    loop = Loop()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    return loop
