"""The WAN stays away for longer than `grace`: both arrays are reset, and both sites say why. Then they start afresh."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from bench.sites import free_port
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, connect, how_it_ends, receipt, send, torn, whole
from tests.integration.bed.sites import Bed, drain, ends, run
from tests.integration.bed.wire import Wire

content = partial(volume, "content", 24 << 20)
WRITE = 64 << 10
SHORT = {"grace": "2s", "reconnect_max": "200ms"}


def test_longer_than_grace(bed: Bed) -> None:
    tunnel = ("127.0.0.1", free_port())
    with Wire(tunnel) as wire, Array() as far, ThreadPoolExecutor() as threads:
        pair = bed.pair(far.address, tunnel_address=tunnel, dialled=wire.address, tunnel=SHORT)
        run(*pair.sites)

        def strike(number: int) -> None:
            if number == 100:
                far.arrival(1)  # both streams are open
                wire.refuse()
                wire.cut()

        with connect(pair.entrance) as idle:
            sending = threads.submit(send, cut(content(), WRITE), pair.entrance, strike)
            torn(b"", sending.result())
            torn(b"", how_it_ends(idle))
        for arrival in (far.arrival(0).wait(), far.arrival(1).wait()):
            torn(content(), arrival)
        for site in pair.sites:
            assert sum(count for reason, count in ends(site).items() if "grace" in reason) == 2
        wire.accept()
        for site in pair.sites:
            site.wait_up()
        again = send(cut(content(), WRITE), pair.entrance)
        whole(receipt(content()), again)
        drain(*pair.sites)
