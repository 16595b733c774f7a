"""A running pair takes over forwards, exports and rates from its files: what is not concerned does not notice."""

import http.client
import json
import socket
from typing import Any

from bench.sites import Address, Site, free_port
from proxy.web.routes import API
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, connect, how_dialling_ends, how_it_ends, receipt, send, torn, whole
from tests.integration.bed.sites import Bed, alarm, ends, eventually, logged, text_of, wire_bytes
from tests.patience import PATIENCE

SIZE = 8 << 20
WRITE = 256 << 10


def reload(site: Site) -> dict[str, Any]:
    """What `isthmus reload` is answered."""
    connection = http.client.HTTPConnection("127.0.0.1", site.status_port, timeout=PATIENCE)
    connection.request("POST", f"{API}/reload")
    answer: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def edit(site: Site, before: str, after: str) -> dict[str, Any]:
    """Change the site's file, and have the site read it."""
    text = site.config.read_text()
    assert before in text
    site.config.write_text(text.replace(before, after, 1))
    return reload(site)


def taken_over(*names: str) -> dict[str, Any]:
    """The answer if all that was changed could be taken over."""
    return {"reloaded": True, "problem": "", "taken_over": list(names), "awaiting_restart": []}


def another_forward(port: int, export: str) -> str:
    return f'[[forward]]\nname = "second"\nlisten = "127.0.0.1:{port}"\npeer = "west"\nexport = "{export}"\n'


def another_export(address: Address) -> str:
    return f'[[export]]\nname = "second"\naddress = "{text_of(address)}"\npeers = ["east"]\n'


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
            assert pair.east.status()["peers"][0]["shares"] == []
            assert _refuses(pair.entrance)
            pair.east.config.write_text(text)
            assert reload(pair.east) == taken_over("forward array")
            whole(receipt(b"whole"), send([b"whole"], pair.entrance))
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


def test_all_or_nothing(bed: Bed) -> None:
    """A file of which a part needs a restart might not have passed the checks without that part."""
    port = free_port()
    with Array() as array:
        pair = bed.pair(array.address)
        with pair.running():
            east, text = pair.east, pair.east.config.read_text()
            east.config.write_text(
                text.replace("[[forward]]", f"{another_forward(port, 'array')}[[forward]]").replace(
                    "[tunnel]\n", '[tunnel]\nunacked = "65MiB"\n'
                )
            )
            answer = reload(east)
            assert (answer["reloaded"], answer["taken_over"]) == (True, [])
            assert answer["awaiting_restart"] == ["tunnel.unacked", "forward second"]
            logged(east, "what else was changed takes effect with a restart: tunnel.unacked, forward second")
            assert _refuses(("127.0.0.1", port))
            east.config.write_text(text.replace("[[forward]]", f"{another_forward(port, 'array')}[[forward]]"))
            assert reload(east) == taken_over("forward second")
            whole(receipt(b"whole"), send([b"whole"], ("127.0.0.1", port)))


def _refuses(address: Address) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(address) != 0


def _marks(site: Site) -> set[int]:
    return {lane["dscp"] for lane in site.status()["peers"][0]["lanes"]}


def _in_health(site: Site, code: str) -> bool:
    return code in site.get(f"{API}/health")[1].decode()
