"""Either proxy is killed, again and again, in the middle of a transfer; the sending array begins again each time.

What had arrived before each kill is an exact prefix of what was sent, and both arrays see a reset: an orderly end would
tell them that this was all. The last attempt is left alone and arrives whole.
"""

from functools import partial
from random import Random

import pytest

from bench.sites import Site
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, receipt, send, torn, whole
from tests.integration.bed.sites import Bed, Pair, run

SIZE = 24 << 20
content = partial(volume, "content", SIZE)
WRITE = 128 << 10
KILLS = 6


@pytest.mark.parametrize("victim", ["east", "west"])
def test_killed_in_mid_transfer(bed: Bed, victim: str) -> None:
    draw = Random(victim)
    with Array() as array:
        pair = bed.pair(array.address)
        run(*pair.sites)
        for _ in range(KILLS):
            send_and_kill(pair, getattr(pair, victim), draw.randrange(SIZE // WRITE - 8))
        sending = send(cut(content(), WRITE), pair.entrance)
        whole(receipt(content()), sending)
        *cut_short, last = (arrival.wait() for arrival in array.arrivals)
        for arrival in cut_short:
            torn(content(), arrival)
        whole(content(), last)
        assert any(arrival.data for arrival in cut_short)


def send_and_kill(pair: Pair, victim: Site, at: int) -> None:
    """Kill and restart the victim after that many writes; the sender gets a reset."""

    def strike(number: int) -> None:
        if number == at:
            victim.kill()
            victim.start()

    sending = send(cut(content(), WRITE), pair.entrance, strike)
    torn(b"", sending)
    for site in pair.sites:
        site.wait_up()
