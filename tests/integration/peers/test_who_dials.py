"""It does not matter which site dials: one alone, both at the same moment, or one that comes much later."""

import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from bench.sites import Site, free_port
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, receipt, send, torn, whole
from tests.integration.bed.sites import Bed, Forward, drain, eventually, look_up, run
from tests.integration.peers.stage import messages
from tests.patience import PATIENCE

content = partial(volume, "either way", 4 << 20)


def check(entrance: tuple[str, int]) -> None:
    sending = send(cut(content(), 1 << 16), entrance)
    whole(receipt(content()), sending)


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


def test_an_attempt_that_fails_once_the_tunnel_is_up_is_no_error_of_it(bed: Bed) -> None:
    """Both have an address, and west's way to east is closed: what it had begun ends after east has come."""
    listening = ("127.0.0.1", free_port())
    with socket.create_server(("127.0.0.1", 0)) as closed:
        west = bed.site(
            "west",
            {"east": closed.getsockname()},
            tunnel={"listen": f"{listening[0]}:{listening[1]}", "connect_timeout": "5s"},
        )
        east = bed.site("east", {"west": listening})
        west.start()
        attempt, _ = closed.accept()
        with attempt:
            attempt.settimeout(PATIENCE)
            east.start()
            for site in (west, east):
                site.wait_ready()
                site.wait_up()
            while attempt.recv(1 << 16):
                pass
        east.wait_up()
        eventually(west, "peers.0.state", "up")
        assert look_up(west.status(), "peers.0.last_error") == ""
        drain(west, east)


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
