"""It does not matter which site dials: one alone, both at the same moment, or one that comes much later."""

from concurrent.futures import ThreadPoolExecutor

from bench.sites import Site, free_port
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, receipt, send, torn, whole
from tests.integration.bed.sites import Bed, Forward, drain, eventually, run
from tests.integration.peers.stage import messages

CONTENT = volume("either way", 4 << 20)


def check(entrance: tuple[str, int]) -> None:
    sending = send(cut(CONTENT, 1 << 16), entrance)
    whole(receipt(CONTENT), sending)


def test_a_peer_without_an_address_is_waited_for(bed: Bed) -> None:
    """West is ready without it, refuses connections meanwhile, and waits again when it has gone."""
    with Array() as far, Array() as near:
        pair = bed.pair(far.address, near.address, tunnel={"drain": "0s"})
        pair.west.start()
        pair.west.wait_ready()
        eventually(pair.west, "peers.0.state", "waiting")
        refused = send([b"too early"], pair.back)
        torn(b"", refused)
        for _ in range(2):
            pair.east.start()
            pair.east.wait_ready()
            pair.west.wait_up()
            check(pair.back)
            check(pair.entrance)
            assert pair.east.stop() == 0
            eventually(pair.west, "peers.0.state", "waiting")
        assert pair.west.stop() == 0


def test_both_dial_at_once(bed: Bed) -> None:
    """There is one tunnel in the end, over one lane or two, and streams run both ways."""
    listening = {name: ("127.0.0.1", free_port()) for name in ("east", "west")}
    ahead, back = Forward("array", "west"), Forward("array", "east")
    with Array() as far, Array() as near:
        sites = [
            both_ways(bed, "east", "west", listening, ahead, near),
            both_ways(bed, "west", "east", listening, back, far),
        ]
        run(*sites)
        with ThreadPoolExecutor() as threads:
            for done in [threads.submit(check, entrance) for entrance in (ahead.address, back.address) * 3]:
                done.result()
        assert [len(array.arrivals) for array in (far, near)] == [3, 3]
        for site in sites:
            peer = site.status()["peers"][0]
            assert 1 <= len(peer["lanes"]) <= 2
            assert sum(peer["ended_streams"].values()) == 6
            assert not [message for message in messages(site) if "begins anew" in message]
        drain(*sites)


def both_ways(
    bed: Bed, name: str, peer: str, listening: dict[str, tuple[str, int]], forward: Forward, array: Array
) -> Site:
    """A site that listens, and dials its peer as well."""
    host, port = listening[name]
    return bed.site(
        name,
        {peer: listening[peer]},
        forwards=[forward],
        exports={"array": (array.address, [peer])},
        tunnel={"listen": f"{host}:{port}"},
    )
