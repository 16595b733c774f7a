"""A running pair takes over forwards, exports and rates from its files: what is not concerned does not notice."""

import http.client
import json
import socket
import tomllib
from contextlib import ExitStack
from typing import Any

from bench.sites import Address, Site, free_port
from proxy.web.routes import API
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, connect, how_dialling_ends, how_it_ends, receipt, send, torn, whole
from tests.integration.bed.sites import (
    Bed,
    Forward,
    Pair,
    alarm,
    ends,
    eventually,
    lanes_of,
    logged,
    text_of,
    wire_bytes,
)
from tests.patience import PATIENCE, until

SIZE = 8 << 20
WRITE = 256 << 10
NORTH = '[[peer]]\nname = "north"\ncertificate = "north.crt"\n'


def tell(site: Site, action: str) -> dict[str, Any]:
    """What `isthmus reload` or `isthmus drain` is answered."""
    connection = http.client.HTTPConnection("127.0.0.1", site.status_port, timeout=PATIENCE)
    connection.request("POST", f"{API}/{action}")
    answer: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def reload(site: Site) -> dict[str, Any]:
    return tell(site, "reload")


def edit(site: Site, before: str, after: str) -> dict[str, Any]:
    """Change the site's file, and have the site read it."""
    text = site.config.read_text()
    assert before in text
    site.config.write_text(text.replace(before, after, 1))
    return reload(site)


def taken_over(*names: str) -> dict[str, Any]:
    """The answer if all that was changed could be taken over."""
    answer = {"reloaded": True, "problem": "", "taken_over": list(names)}
    return answer | {"awaiting_restart": [], "draining": False}


def drains(site: Site) -> None:
    """Have it drain, and wait until it does."""
    tell(site, "drain")
    eventually(site, "draining", True)


def another_forward(port: int, export: str) -> str:
    return f'[[forward]]\nname = "second"\nlisten = "127.0.0.1:{port}"\npeer = "west"\nexport = "{export}"\n'


def another_export(address: Address) -> str:
    return f'[[export]]\nname = "second"\naddress = "{text_of(address)}"\npeers = ["east"]\n'


def door_of(pair: Pair) -> Address:
    """Where west is dialled."""
    host, _, port = tomllib.loads(pair.west.config.read_text())["tunnel"]["listen"].rpartition(":")
    return host, int(port)


def test_a_second_array_is_added_while_the_first_is_replicated(bed: Bed) -> None:
    """What was sent to the first array is warm for the second one: a restart would have emptied both stores."""
    content = volume("content", SIZE)
    second = "127.0.0.1", free_port()
    with Array() as first, Array() as other:
        pair = bed.pair(first.address)
        with pair.running():

            def add(number: int) -> None:
                if number == 3:
                    assert edit(pair.west, "[[export]]", f"{another_export(other.address)}[[export]]") == taken_over(
                        "export second"
                    )
                    answer = edit(pair.east, "[[forward]]", f"{another_forward(second[1], 'second')}[[forward]]")
                    assert answer == taken_over("forward second")

            whole(receipt(content), send(cut(content, WRITE), pair.entrance, add))
            before = wire_bytes(pair.east)
            whole(receipt(content), send(cut(content, WRITE), second))
            assert wire_bytes(pair.east) - before < SIZE / 50
            names = [share["name"] for share in pair.east.status()["peers"][0]["shares"]]
            assert sorted(names) == ["forward array", "forward second"]
            codes = [event["code"] for event in json.loads(pair.east.get(f"{API}/events")[1])["events"]]
            assert codes.count("IST-205") == 1


def test_what_is_withdrawn_ends_and_can_come_back(bed: Bed) -> None:
    """An export is for its peer no more, a forward is gone: live connections are reset, at both ends."""
    with Array() as array:
        pair = bed.pair(array.address)
        with pair.running():
            with connect(pair.entrance) as near:
                near.sendall(b"before")
                array.arrival()
                away = edit(pair.west, '[[export]]\nname = "array"', '[[export]]\nname = "other"')
                assert away == taken_over("export array", "export other")
                torn(b"", how_it_ends(near))
            assert array.arrival().over.wait(PATIENCE)
            torn(b"before", array.arrival())
            torn(b"", how_dialling_ends(pair.entrance))
            eventually(pair.east, "peers.0.refused_streams.not_exported", 1)
            edit(pair.west, 'name = "other"', 'name = "array"')
            with connect(pair.entrance) as near:
                near.sendall(b"again")
                array.arrival(1)
                text = pair.east.config.read_text()
                pair.east.config.write_text(text.partition("[[forward]]")[0])
                assert reload(pair.east) == taken_over("forward array")
                torn(b"", how_it_ends(near))
            assert array.arrival(1).over.wait(PATIENCE)
            torn(b"again", array.arrival(1))
            (west,) = pair.east.status()["peers"]
            assert (west["shares"], west["bytes"]["raw"]) == ([], len(b"before" + b"again"))
            assert _refuses(pair.entrance)
            pair.east.config.write_text(text)
            assert reload(pair.east) == taken_over("forward array")
            whole(receipt(b"whole"), send([b"whole"], pair.entrance))
            (west,) = pair.east.status()["peers"]
            assert west["shares"][0]["bytes"]["raw"] == len(b"whole"), "like its bytes on the wire it begins at 0"
            assert west["bytes"]["raw"] == len(b"before" + b"again" + b"whole")
            changed = "its way was changed in the site's file"
            reasons = ends(pair.east)
            assert (reasons[changed], reasons[f"by west: {changed} (origin_reset)"]) == (1, 1)


def test_rates_change_under_a_stream_that_lives(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address)
        with pair.running(), connect(pair.entrance) as near:
            near.sendall(b"a")
            array.arrival()
            limited = edit(pair.east, '[[peer]]\nname = "west"\n', '[[peer]]\nname = "west"\nrate = "32Mbit"\n')
            assert limited == taken_over("peer west")
            assert pair.east.status()["peers"][0]["rate_bits_per_second"] == 32_000_000
            marked = edit(
                pair.east, "[[forward]]\n", '[[forward]]\nmaximum = "16Mbit"\ndscp = "cs1"\npriority = "low"\n'
            )
            assert marked == taken_over("forward array")
            (share,) = pair.east.status()["peers"][0]["shares"]
            assert (share["maximum_bits_per_second"], share["dscp"], share["priority"]) == (16_000_000, 8, "low")
            pair.east.wait_for(lambda: _marks(pair.east) == {0, 8}, "has no lane of that mark", PATIENCE)
            near.sendall(b"b" * (SIZE // 2))
            assert edit(pair.east, 'dscp = "cs1"\n', "") == taken_over("forward array")
            pair.east.wait_for(lambda: _marks(pair.east) == {0}, "keeps a lane of that mark", PATIENCE)
            near.sendall(b"b" * (SIZE // 2))
            near.shutdown(socket.SHUT_WR)
            whole(receipt(b"a" + b"b" * SIZE), how_it_ends(near))


def test_an_address_that_cannot_be_had_leaves_all_as_it_was(bed: Bed) -> None:
    """Until it is free; the alarm says so, and is over then."""
    with Array() as array, socket.socket() as stranger:
        pair = bed.pair(array.address)
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        port = stranger.getsockname()[1]
        with pair.running(), connect(pair.entrance) as near:
            near.sendall(b"before ")
            array.arrival()
            answer = edit(pair.east, "[[forward]]", f'{another_forward(port, "array")}maximum = "1Mbit"\n[[forward]]')
            assert (answer["reloaded"], answer["taken_over"]) == (False, [])
            wrong = f"what was changed (forward second) is not taken over: forward 'second' listen = 127.0.0.1:{port}"
            assert answer["problem"].startswith(f"{wrong}: Address already in use; ss -tanp")
            alarm(pair.east, wrong)
            pair.east.wait_for(lambda: _in_health(pair.east, "IST-204"), "does not say so in its health", PATIENCE)
            assert len(pair.east.status()["peers"][0]["shares"]) == 1
            stranger.close()
            assert reload(pair.east) == taken_over("forward second")
            assert pair.east.status()["alarms"] == []
            near.sendall(b"after")
            near.shutdown(socket.SHUT_WR)
            whole(receipt(b"before after"), how_it_ends(near))


def test_a_peer_comes_and_goes_while_another_replicates(bed: Bed) -> None:
    """As where a hub gets one more spoke; its part of the memory is taken from the others' while they use it."""
    content = volume("content", 3 * SIZE)
    with Array() as array:
        pair = bed.pair(array.address)
        west, alone = pair.west, pair.west.config.read_text()
        from_north = Forward("array", "west")
        north = bed.site("north", {"west": door_of(pair)}, forwards=[from_north])
        shared = alone.replace("[[export]]", f"{NORTH}[[export]]").replace('["east"]', '["east", "north"]')
        with pair.running(), ExitStack() as stack:

            def change(number: int) -> None:
                if number == 20:
                    west.config.write_text(shared)
                    assert reload(west) == taken_over("export array", "peer north")
                    north.start()
                    north.wait_up()
                    stack.enter_context(near := connect(from_north.address))
                    near.sendall(b"from north")
                    victims.append(near)
                    there = array.arrival(1)
                    north.wait_for(lambda: there.data == b"from north", "has not sent it", PATIENCE)
                if number == 60:
                    west.config.write_text(alone)
                    assert reload(west) == taken_over("peer north", "export array")

            victims: list[socket.socket] = []
            whole(receipt(content), send(cut(content, WRITE), pair.entrance, change))
            torn(b"", how_it_ends(victims[0]))
            torn(b"from north", array.arrival(1))
            assert ends(north) == {"by west: its way was changed in the site's file (origin_reset)": 1}
            logged(west, "the tunnel with north is over: west has north in its file no more")
            why = "west has ended in order: west has north in its file no more"
            logged(north, f"peer {why}")
            north.wait_for(lambda: why in north.get(f"{API}/events")[1].decode(), "does not tell why", PATIENCE)
            (east,) = west.status()["peers"]
            assert (east["name"], east["outages"], east["tunnel_resets"]) == ("east", 0, 0)
            eventually(north, "peers.0.state", "connecting")
            west.config.write_text(shared)
            assert reload(west) == taken_over("export array", "peer north")
            north.wait_up()
            whole(receipt(content), send(cut(content, WRITE), from_north.address))
            assert [peer["name"] for peer in west.status()["peers"]] == ["east", "north"]
            assert north.stop() == 0


def test_a_peer_s_address_changes_under_a_stream_that_lives(bed: Bed) -> None:
    """Lanes that are up stay; the next one is dialled where the file says."""
    with Array() as array:
        pair = bed.pair(array.address)
        east, old = pair.east, text_of(door_of(pair))
        with pair.running(), connect(pair.entrance) as near:
            near.sendall(b"before ")
            array.arrival()
            dead = f"127.0.0.1:{free_port()}"
            assert edit(east, old, dead) == taken_over("peer west")
            assert [lane["remote"] for lane in lanes_of(east)] == [old]
            near.sendall(b"between ")
            pair.west.kill()
            eventually(east, "peers.0.last_error", f"cannot connect to {dead}: Connection refused")
            assert east.status()["peers"][0]["state"] == "outage"
            pair.west.start()
            assert edit(east, dead, old) == taken_over("peer west")
            east.wait_up()
            torn(b"", how_it_ends(near))
            whole(receipt(b"whole"), send([b"whole"], pair.entrance))


def test_memory_is_taken_over(bed: Bed) -> None:
    """Less of it, and then more, while bulk is under way."""
    content, less = volume("content", 3 * SIZE), 'window = "1MiB"\nmemory = "2MiB"\nunacked = "1MiB"\n'
    with Array() as array:
        pair = bed.pair(array.address)
        with pair.running():

            def change(number: int) -> None:
                before, after = "[tunnel]\n", f"[tunnel]\n{less}"
                if number in (20, 60):
                    for site in pair.sites:
                        answer = edit(site, before, after) if number == 20 else edit(site, after, before)
                        assert answer == taken_over("tunnel.window", "tunnel.memory", "tunnel.unacked")

            whole(receipt(content), send(cut(content, WRITE), pair.entrance, change))


def test_all_lanes_come_up_where_the_other_site_has_begun_anew_since(bed: Bed) -> None:
    """All but the first were refused for good: the dialler offered another credit by them than by that one."""
    with Array() as array:
        pair = bed.pair(array.address, tunnel={"lanes": 2, "streams": 16, "memory": "64MiB", "window": "1MiB"})
        with pair.running():
            pair.east.wait_up()
            assert edit(pair.east, '"64MiB"', '"2MiB"') == taken_over("tunnel.memory")
            pair.west.kill()
            pair.west.start()
            pair.west.wait_ready()
            pair.east.wait_for(lambda: len(lanes_of(pair.west)) == 2, "has too few lanes", PATIENCE)
            whole(receipt(b"whole"), send([b"whole"], pair.entrance))


def test_times_are_taken_over(bed: Bed) -> None:
    """In an outage, and by an array's connection that comes after."""
    with Array() as array:
        pair = bed.pair(array.address)
        east, before = pair.east, 'reconnect_max = "1s"\n'
        with pair.running():
            with connect(pair.entrance) as near:
                near.sendall(b"before")
                array.arrival()
                pair.west.kill()
                eventually(east, "peers.0.state", "outage")
                assert edit(east, before, f'{before}grace = "1s"\n') == taken_over("tunnel.grace")
                torn(b"", how_it_ends(near))
            assert ends(east) == {"there was no lane to west for 1 s (grace_expired)": 1}
            pair.west.start()
            east.wait_up()
            times = f'{before}dead_after = "9s"\nkeepalive = "2s"\nconnect_timeout = "7s"\ndrain = "1s"\n'
            names = (f"tunnel.{name}" for name in ("keepalive", "dead_after", "connect_timeout", "drain"))
            assert edit(east, before, times) == taken_over(*names)
            with connect(pair.entrance) as near:
                near.sendall(b"again")
                array.arrival(1)
                drains(east)
                logged(east, "drains for 1 s at most")
                torn(b"", how_it_ends(near))
            until(lambda: not east.running, "it does not end")
            east.start()
            east.wait_up()


def test_all_or_nothing(bed: Bed) -> None:
    """A file of which a part needs a restart might not have passed the checks without that part."""
    port = free_port()
    with Array() as array:
        pair = bed.pair(array.address)
        with pair.running():
            east, text = pair.east, pair.east.config.read_text()
            east.config.write_text(
                text.replace("[[forward]]", f"{another_forward(port, 'array')}[[forward]]").replace(
                    "[tunnel]\n", "[tunnel]\nstreams = 65\n"
                )
            )
            answer = reload(east)
            assert (answer["reloaded"], answer["taken_over"]) == (True, [])
            assert answer["awaiting_restart"] == ["tunnel.streams", "forward second"]
            logged(east, "what else was changed takes effect with a restart: tunnel.streams, forward second")
            assert _refuses(("127.0.0.1", port))
            east.config.write_text(text.replace("[[forward]]", f"{another_forward(port, 'array')}[[forward]]"))
            assert reload(east) == taken_over("forward second")
            whole(receipt(b"whole"), send([b"whole"], ("127.0.0.1", port)))


def test_a_site_that_drains_takes_over_nothing_and_says_so(bed: Bed) -> None:
    """It was told that all was read anew, and nothing of what it had left as it was."""
    with Array() as array:
        pair = bed.pair(array.address)
        with pair.running():
            east, port = pair.east, free_port()
            with connect(pair.entrance) as near:
                near.sendall(b"before ")
                array.arrival()
                drains(east)
                assert reload(east) == taken_over() | {"draining": True}
                answer = edit(east, "[[forward]]", f"{another_forward(port, 'array')}[[forward]]")
                assert answer == taken_over() | {"awaiting_restart": ["forward second"], "draining": True}
                logged(east, "takes effect with the next start, since the site drains: forward second")
                assert _refuses(("127.0.0.1", port))
                near.sendall(b"after")
                near.shutdown(socket.SHUT_WR)
                whole(receipt(b"before after"), how_it_ends(near))
            until(lambda: not east.running, "it does not end")
            east.start()
            east.wait_up()
            whole(receipt(b"whole"), send([b"whole"], ("127.0.0.1", port)))


def _refuses(address: Address) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(address) != 0


def _marks(site: Site) -> set[int]:
    return {lane["dscp"] for lane in site.status()["peers"][0]["lanes"]}


def _in_health(site: Site, code: str) -> bool:
    return code in site.get(f"{API}/health")[1].decode()


def test_lanes_and_their_congestion_control_change_while_data_flows(bed: Bed) -> None:
    content = volume("content", SIZE)
    with Array() as array:
        pair = bed.pair(array.address, tunnel={"lanes": 1, "congestion_control": "cubic"})
        east = pair.east
        with pair.running():

            def lanes(count: int, control: str) -> None:
                ours = {lane["congestion_control"] for lane in lanes_of(east)}
                theirs = {lane["congestion_control"] for lane in lanes_of(pair.west)}
                assert (len(lanes_of(east)), ours, theirs) == (count, {control}, {"cubic"})

            def change(number: int) -> None:
                if number == 1:
                    lanes(1, "cubic")
                    assert edit(east, "lanes = 1", "lanes = 4") == taken_over("tunnel.lanes")
                    east.wait_for(lambda: len(lanes_of(east)) == 4, "has too few lanes", PATIENCE)
                if number == 3:
                    answer = edit(east, 'congestion_control = "cubic"', 'congestion_control = "reno"')
                    assert answer == taken_over("tunnel.congestion_control")
                    lanes(4, "reno")
                if number == 5:
                    assert edit(east, "lanes = 4", "lanes = 2") == taken_over("tunnel.lanes")
                    east.wait_for(lambda: len(lanes_of(east)) == 2, "keeps lanes that it does not need", PATIENCE)

            whole(receipt(content), send(cut(content, WRITE), pair.entrance, change))
            lanes(2, "reno")
            assert east.status()["peers"][0]["resumed"] == 0
