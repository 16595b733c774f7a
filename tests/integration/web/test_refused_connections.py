"""A forward whose connections all fail: both sites say so, with the reason, until a connection succeeds."""

import signal
from functools import partial
from typing import Any

from bench.sites import Site, free_port
from proxy.net.endings import reset_connection
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import END, Array, connect, full_backlog, how_dialling_ends, send, torn
from tests.integration.bed.sites import Bed
from tests.integration.web.stage import ask, until

content = partial(volume, "content", 1 << 20)


def reasons(answer: Any) -> list[tuple[str, str]]:
    """Why the only peer is not well: code and level."""
    return [(reason["code"], reason["level"]) for reason in answer["peers"][0]["reasons"]]


def told(site: Site, code: str) -> str:
    """What the first event with that code says, when it has come."""
    until(site, "events", lambda answer: code in [event["code"] for event in answer["events"]])
    return next(str(each["words"]) for each in ask(site, "events")["events"] if each["code"] == code)


def test_an_array_that_is_down_is_told_at_both_sites_until_it_is_back(bed: Bed) -> None:
    address = ("127.0.0.1", free_port())
    with bed.pair(address).running() as pair:
        torn(b"", how_dialling_ends(pair.entrance))
        for site in pair.sites:
            until(site, "health", lambda answer: reasons(answer) == [("IST-112", "degraded")])
        no = f"cannot connect to 127.0.0.1:{address[1]}"
        assert told(pair.west, "IST-112").startswith(f"connections from east to export array fail: {no}")
        words = f"west refuses connections of forward array to its export array: {no}"
        assert told(pair.east, "IST-112").startswith(words)
        with Array(address=address):
            assert send(cut(content(), 1 << 16), pair.entrance).ended == END
            for site in pair.sites:
                until(site, "health", lambda answer: reasons(answer) == [])


def test_an_array_that_does_not_answer_before_the_other_gives_up_is_told_at_its_site(bed: Bed) -> None:
    with full_backlog() as silent, bed.pair(silent, tunnel={"connect_timeout": "5m"}).running() as pair:
        with connect(pair.entrance) as near:
            until(pair.west, "status", lambda answer: any(each["age_seconds"] > 4 for each in answer["streams"]))
            assert reasons(ask(pair.west, "health")) == []
            reset_connection(near)
        until(pair.west, "health", lambda answer: reasons(answer) == [("IST-112", "degraded")])
        assert "no answer in" in told(pair.west, "IST-112")


def test_what_is_not_exported_is_told_at_both_sites(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address)
        pair.west.config.write_text(pair.west.config.read_text().replace('name = "array"', 'name = "another"'))
        with pair.running():
            torn(b"", how_dialling_ends(pair.entrance))
            until(pair.east, "health", lambda answer: reasons(answer) == [("IST-113", "degraded")])
            until(pair.west, "health", lambda answer: reasons(answer) == [("IST-113", "attention")])
            words = "west refuses connections of forward array to its export array: 'array' is not exported to east"
            assert told(pair.east, "IST-113") == words
            assert told(pair.west, "IST-113") == "east asks for what it may not have: 'array' is not exported"
            assert not array.arrivals


def test_a_peer_that_drains_is_told(bed: Bed) -> None:
    """Its tunnel is up and its live streams go on, but no connection of the arrays here succeeds until it is back."""
    with Array() as array, bed.pair(array.address, tunnel={"drain": "5m"}).running() as pair:
        with connect(pair.entrance) as near:
            until(pair.west, "status", lambda answer: len(answer["streams"]) == 1)
            pair.west.signal(signal.SIGTERM)
            until(pair.east, "health", lambda answer: reasons(answer) == [("IST-114", "attention")])
            torn(b"", how_dialling_ends(pair.entrance))
            assert told(pair.east, "IST-114").startswith("west drains: ")
            reset_connection(near)
        until(pair.east, "health", lambda answer: reasons(answer) == [])
