"""What of a changed file a running site takes over, what awaits a restart, and which connections it ends."""

import pytest

from proxy.config.difference import difference, ending
from tests.unit.config.contract import EAST, site_of
from tests.unit.config.texts import NORTH

EXPORT = '\n[[export]]\nname = "home"\naddress = "10.1.0.5:3260"\npeers = ["west", "north"]\n'


@pytest.mark.parametrize(
    ("before", "after", "at_once", "restart"),
    [
        ("2GiB", "2GiB", (), ()),
        ("[site]", "# the same\n[site]", (), ()),
        ('mode = "memory"', 'mode = "memory"\ncache = "160MiB"', (), ()),  # the default
        ('"east.key"', '"new.key"', (), ()),
        ('"west.crt"', '"new.crt"', (), ()),
        ("2GiB", "3GiB", (), ("store.size",)),
        ("[status]\nlisten", '[status]\ntoken = "east.token"\nlisten', (), ("status.token",)),
        ("[status]", '[log]\nlevel = "debug"\n[status]', ("log.level",), ()),
        ("[status]", '[log]\nformat = "json"\n[status]', (), ("log.format",)),
        (
            "[tunnel]",
            '[tunnel]\nmemory = "300MiB"\nunacked = "100MiB"\nwindow = "200MiB"',
            ("tunnel.window", "tunnel.memory", "tunnel.unacked"),
            (),
        ),
        ("[tunnel]", "[tunnel]\nstreams = 30", (), ("tunnel.streams",)),
        ("[tunnel]", '[tunnel]\ngrace = "30s"\ndrain = "1s"', ("tunnel.grace", "tunnel.drain"), ()),
        ('address = "198.18.0.2:4500"', 'address = "198.18.0.9:4500"', ("peer west",), ()),
        ('"west.crt"', '"west.crt"\nrate = "10Mbit"', ("peer west",), ()),
        ("127.0.0.1:3260", "127.0.0.1:3261", ("forward replication",), ()),
        ("127.0.0.1:3260", "0.0.0.0:3260", (), ("forward replication",)),  # both cannot be bound at once
        ("127.0.0.1:3260", "[::]:3260", ("forward replication",), ()),
        ("127.0.0.1:3260", "127.0.0.2:3260", ("forward replication",), ()),
        ('name = "replication"', 'name = "other"', ("forward replication", "forward other"), ()),
        ("[[forward]]", f"{NORTH}{EXPORT}[[forward]]", ("peer north", "export home"), ()),
    ],
)
def test_what_differs(before: str, after: str, at_once: tuple[str, ...], restart: tuple[str, ...]) -> None:
    assert before in EAST
    found = difference(site_of(EAST), site_of(EAST.replace(before, after, 1)))
    assert (found.at_once, found.restart) == (at_once, restart)


FULL = EAST.replace("[[forward]]", f"{NORTH}{EXPORT}[[forward]]")


@pytest.mark.parametrize(
    ("before", "after", "ended"),
    [
        ("[site]", "[site]", []),
        ('export = "array"', 'export = "array"\npriority = "high"\nmaximum = "5Mbit"\ndscp = "cs1"', []),
        ('export = "array"', 'export = "other"', [("west", "forward replication")]),
        ('"127.0.0.1:3260"', '"127.0.0.1:3261"', [("west", "forward replication")]),
        ('name = "replication"', 'name = "other"', [("west", "forward replication")]),
        ('peer = "west"', 'peer = "north"', [("west", "forward replication")]),
        ('["west", "north"]', '["north", "west"]', []),
        ('["west", "north"]', '["north"]', [("west", "export home")]),
        ('["west", "north"]', '["west", "north"]\nguarantee = "1Mbit"', []),
        ("10.1.0.5", "10.1.0.6", [("west", "export home"), ("north", "export home")]),
        (EXPORT, "", [("west", "export home"), ("north", "export home")]),
    ],
)
def test_whose_connections_end(before: str, after: str, ended: list[tuple[str, str]]) -> None:
    assert before in FULL
    assert list(ending(site_of(FULL), site_of(FULL.replace(before, after, 1)))) == ended


def test_another_peer_of_an_export_ends_nothing() -> None:
    before = FULL.replace('["west", "north"]', '["west"]')
    assert list(ending(site_of(before), site_of(FULL))) == []
