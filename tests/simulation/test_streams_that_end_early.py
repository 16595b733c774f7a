"""A stream may be over before everything of it has begun: what was said arrives all the same."""

import asyncio

from proxy.protocol.tunnel import TunnelSettings
from tests.simulation.relayed import Sites, tell


def test_both_arrays_end_while_the_far_one_is_being_connected() -> None:
    """The relay has the connection before the event loop says so; the stream ends in between."""

    async def story(sites: Sites) -> None:
        sites.loop.delays = (1.0,)
        near, relay = sites.open()
        near.say(b"the last words")
        near.end()
        far = await sites.target()
        far.end()
        await asyncio.sleep(5)
        assert relay.in_order
        assert (bytes(far.got), far.ended, far.broken) == (b"the last words", True, False)
        assert (near.ended, near.broken) == (True, False)
        assert not sites.far.leaving

    tell(story, TunnelSettings(), delay=0.0)
