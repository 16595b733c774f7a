"""What forwards stand for and open on demand, and ranges of exports: how they are written, and mistakes in them."""

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.config.addresses import Address
from proxy.config.mistakes import ConfigError
from proxy.config.ranges import PORTS_MAX, AddressRange, PortRange, parse_ports, parse_range
from tests.unit.config.contract import EAST, WEST, site_of
from tests.unit.config.mistakes import one_mistake
from tests.unit.config.texts import EXPORT, FORWARD, NORTH

RANGE = 'range = "10.1.0.0/24"\n'
PORTS = 'ports = "3261-3276"\n'
OTHER = FORWARD.replace("3261", "3360")


def test_all_that_may_be_said() -> None:
    east = site_of(EAST + 'portal = "10.1.0.5:3260"\nrewrite = false\nidle = "5m"\n' + RANGE + PORTS)
    (forward,) = east.forwards
    assert forward.portal == Address("10.1.0.5", 3260)
    assert forward.range == AddressRange(ip_network("10.1.0.0/24"), 3260)
    assert forward.ports == PortRange(3261, 3276)
    assert (forward.rewrite, forward.idle) == (False, 300)
    (export,) = site_of(WEST + RANGE.replace("24", "24:860")).exports
    assert export.range == AddressRange(ip_network("10.1.0.0/24"), 860)


def test_transparent() -> None:
    """With a range and without ports, also where nobody looks at the bytes."""
    text = EAST + 'transparent = true\nprotocol = "tcp"\n' + RANGE
    (forward,) = site_of(text).forwards
    assert (forward.transparent, forward.range) == (True, AddressRange(ip_network("10.1.0.0/24"), 3260))


def test_defaults() -> None:
    (forward,) = site_of(EAST).forwards
    assert (forward.rewrite, forward.portal, forward.range, forward.ports) == (True, None, None, None)
    assert forward.transparent is False


@pytest.mark.parametrize(
    ("text", "key", "wrong", "remedy"),
    [
        (EAST + 'rewrite = "no"\n', "forward[0].rewrite", "neither true nor false", "without quotes"),
        (EAST + 'portal = "10.1.0.5"\n', "forward[0].portal", "not a host and a port", "198.18.0.1:4500"),
        (EAST + PORTS + 'range = "10.1.0.5"\n', "forward[0].range", "not a network", '"10.1.0.0/24"'),
        (EAST + PORTS + 'range = "10.1.0.5/24"\n', "forward[0].range", "names a host", '"10.1.0.0/24"'),
        (EAST + PORTS + 'range = "10.1.0.0/33"\n', "forward[0].range", "not a network", '"10.1.0.0/24"'),
        (EAST + PORTS + 'range = "10.1.0.0/24:0"\n', "forward[0].range", "no port between", '"10.1.0.0/24:3261"'),
        (EAST + RANGE + 'ports = "3261"\n', "forward[0].ports", "not a range of ports", '"3261-3276"'),
        (EAST + RANGE + 'ports = "3276-3261"\n', "forward[0].ports", "ends before it begins", '"3261-3276"'),
        (EAST + RANGE + 'ports = "3261-70000"\n', "forward[0].ports", "no port between 1 and 65535", '"3261-3276"'),
        (EAST + RANGE + 'ports = "1024-2000"\n', "forward[0].ports", "more than 256 ports", "at most 256"),
        (EAST + RANGE, "forward[0].range", "means nothing without ports", 'add ports = "3261-3276"'),
        (EAST + PORTS, "forward[0].ports", "means nothing without range", "add range"),
        (EAST + "transparent = true\n", "forward[0].transparent", "means nothing without range", "add range"),
        (EAST + "transparent = 1\n" + RANGE + PORTS, "forward[0].transparent", "neither true nor false", "quotes"),
        (EAST + "transparent = true\n" + RANGE + PORTS, "forward[0].ports", "with transparent", "remove ports"),
        (EAST + "transparent = true\nrewrite = true\n" + RANGE, "forward[0].rewrite", "with transparent", "remove"),
        (EAST + 'idle = "1h"\n', "forward[0].idle", "means nothing without ports", "remove idle"),
        (EAST + 'protocol = "tcp"\nrewrite = true\n', "forward[0].rewrite", 'with protocol = "tcp"', "remove rewrite"),
        (
            EAST + 'portal = "Array.example:3260"\n' + OTHER + 'portal = "array.example:3260"\n',
            "forward[1].portal",
            "is the portal of forward[0] to that peer",
            "remove one",
        ),
        (
            EAST + RANGE + 'ports = "3260-3270"\n',
            "forward[0].ports",
            "port of forward[0].listen",
            "leave that port out",
        ),
        (EAST + RANGE + 'ports = "8890-8910"\n', "forward[0].ports", "port of status.listen", "leave that port out"),
        (
            EAST + RANGE + PORTS + OTHER + RANGE + 'ports = "3270-3280"\n',
            "forward[1].ports",
            "ports of another forward (3261-3276)",
            "ports of its own",
        ),
        (
            EAST + EXPORT + 'range = "127.0.0.0/24"\n',
            "export[0].range",
            "forward[0].listen of this site, which leads on to a peer",
            "network",
        ),
        (
            EAST + RANGE + PORTS + EXPORT + 'range = "127.0.0.0/24:3262"\n',
            "export[0].range",
            "forward[0].ports of this site, which leads on to a peer",
            "network",
        ),
    ],
)
def test_each_mistake_is_named(text: str, key: str, wrong: str, remedy: str) -> None:
    with one_mistake(key, wrong, remedy):
        site_of(text)


def test_what_is_no_mistake() -> None:
    """The same portal of another peer, the same ports at another address, a loop's network with another port."""
    same = 'portal = "10.1.0.5:3260"\n' + RANGE + PORTS
    other = OTHER.replace('"west"', '"north"').replace("127.0.0.1", "127.0.0.2")
    text = EAST + same + NORTH + other + same + EXPORT + 'range = "127.0.0.0/24:860"\n'
    assert len(site_of(text).forwards) == 2


def both_ways(address: str) -> str:
    """Transparent towards the far portals, and an array of its own for the peer, both with iSCSI's port."""
    own = f'[[export]]\nname = "own"\naddress = "{address}"\npeers = ["west"]\n'
    return EAST.replace("127.0.0.1:3260", "0.0.0.0:3260") + "transparent = true\n" + RANGE + own


def test_who_listens_on_all_addresses_may_export_another_hosts() -> None:
    assert site_of(both_ways("192.0.2.5:3260")).exports


@pytest.mark.parametrize("address", ["127.0.0.9:3260", "0.0.0.0:3260", "198.18.0.1:3260"])
def test_who_listens_on_all_addresses_does_not_export_one_of_them(address: str) -> None:
    with pytest.raises(ConfigError, match="of this site, which leads on to a peer"):
        site_of(both_ways(address))


@pytest.mark.parametrize("text", ["10.1.0.0/255.255.255.0", "10.1.0.0/0.0.0.255", "10.1.0.0/", "10.1.0.0", "10.1.0/24"])
def test_a_range_is_written_as_the_schema_says(text: str) -> None:
    with pytest.raises(ValueError, match="is not a network"):
        parse_range(text)


def test_what_a_range_covers() -> None:
    found = parse_range("10.1.0.0/30")
    assert found.covers(Address("10.1.0.3", 3260))
    assert not found.covers(Address("10.1.0.4", 3260))
    assert not found.covers(Address("10.1.0.3", 3261))
    assert not found.covers(Address("array.example", 3260))
    assert not found.covers(Address("::1", 3260))
    assert [found.place(Address(f"10.1.0.{host}", 3260)) for host in range(4)] == [0, 1, 2, 3]
    assert parse_range("[2001:db8::/64]:860").covers(Address("2001:db8::7", 860))


def test_each_place_has_its_port() -> None:
    ports = parse_ports("10-12")
    assert [ports.beginning_at(place)[0] for place in range(6)] == [10, 11, 12, 10, 11, 12]
    assert sorted(ports.beginning_at(1 << 64)) == [10, 11, 12]


@given(st.ip_addresses(), st.integers(0, 32), st.integers(1, 65535))
def test_ranges_are_read_as_they_are_shown(ip: object, bits: int, port: int) -> None:
    shown = str(AddressRange(ip_network(f"{ip}/{bits}", strict=False), port))
    assert str(parse_range(shown)) == shown
    assert parse_range(shown).port == port


@given(st.integers(1, 65535), st.integers(0, PORTS_MAX - 1))
def test_ports_are_read_as_they_are_shown(first: int, more: int) -> None:
    ports = PortRange(first, min(65535, first + more))
    assert parse_ports(str(ports)) == ports
