"""Which forward stands for a portal, what is opened on demand, for how long, and what is said where there is no way."""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest

from bench.sites import free_ports
from proxy.config.addresses import Address
from proxy.iscsi.portals import Portal
from proxy.net.peer import Peer
from proxy.net.portals import Portals
from proxy.protocol.codes import Capability
from tests.unit.config.contract import EAST, site_of

FAR = Address("10.1.0.5", 3260)


class FakePeer:
    """Agrees to what it is told to; there is no tunnel."""

    def __init__(self, *capabilities: Capability) -> None:
        self.name = "west"
        self.relays = SimpleNamespace(open=lambda *_: (None, "there is no tunnel"))
        self.tunnel = SimpleNamespace(agreement=object(), agreed=capabilities.__contains__)


class Bench:
    """Portals of a file like east's, with `more` keys of its forward, and a clock that a test sets."""

    def __init__(self, more: str = "", *, old: bool = False) -> None:
        self.now = 0.0
        site = site_of(EAST + more)
        self.forwards = site.forwards
        self.forward = site.forwards[0]
        peer = FakePeer(*([] if old else [Capability.PORTALS]))
        self.portals = Portals(cast(Peer, peer), site.forwards, self.run, lambda: self.now)
        self.tasks: list[asyncio.Task[None]] = []

    def find(self, host: str, local: str = "127.0.0.1") -> Address | None:
        return self.portals.find(Address(host, 3260), self.forward, local)

    def change(self, more: str) -> None:
        """The keys of the forward are others."""
        self.forwards = site_of(EAST + more).forwards
        self.forward = self.forwards[0]
        self.portals.change(self.forwards)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.portals.close()
        await self.closed()

    async def closed(self) -> None:
        """Each listener that was closed has come to its end."""
        if self.tasks:
            await asyncio.wait(self.tasks)

    def pass_until(self, now: float) -> None:
        """Second by second."""
        while self.now < now:
            self.now += 1.0
            self.portals.sample()

    def opened(self) -> dict[str, str]:
        return {each.portal: each.listen for each in self.portals.status()}

    def run(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.append(task)
        return task


def ranged(ports: int, network: str = "10.1.0.0/24") -> tuple[str, range]:
    """Keys of a forward with a range and so many free ports."""
    found = free_ports(ports)
    return f'range = "{network}"\nports = "{found[0]}-{found[-1]}"\nidle = "60s"\n', found


def test_an_address_with_an_interface_takes_no_port() -> None:
    """A target might name one address with any number of them, and leave no port to the others of the range."""
    more, ports = ranged(2, "2001:db8::/127")

    async def scene() -> None:
        async with Bench(more) as bench:
            for interface in ("a", "b", "c"):
                assert bench.find(f"2001:db8::%{interface}") is None
            told = [bench.find(host) for host in ("2001:db8::", "2001:db8::1")]
            assert told == [Address("127.0.0.1", port) for port in ports]

    asyncio.run(scene())


def test_a_configured_portal_comes_first() -> None:
    more, _ = ranged(2)
    with_name = (
        '[[forward]]\nname = "two"\nlisten = "127.0.0.1:3360"\npeer = "west"\nexport = "array"\n'
        'portal = "Array.Example:3260"\n'
    )
    bench = Bench('portal = "10.1.0.5:3260"\n' + more + with_name)
    assert bench.find("10.1.0.5") == Address("127.0.0.1", 3260)
    assert bench.find("array.example") == Address("127.0.0.1", 3360)
    assert bench.opened() == {}
    assert bench.portals.passed == 0


@pytest.mark.parametrize(
    ("listen", "local", "told"),
    [
        ("0.0.0.0", "192.0.2.7", "192.0.2.7:3260"),
        ("::", "2001:db8::7", "[2001:db8::7]:3260"),
        ("::", "fe80::7%eth0", "[fe80::7]:3260"),
        ("fe80::1%eth0", "fe80::1%eth0", "[fe80::1]:3260"),
        ("0.0.0.0", "2001:db8::7", "None"),
    ],
)
def test_what_initiators_are_told_of_a_wildcard(listen: str, local: str, told: str) -> None:
    """The address by which they came."""
    bench = Bench()
    forward = bench.forward.model_copy(update={"portal": FAR, "listen": Address(listen, 3260)})
    portals = Portals(cast(Peer, FakePeer()), [forward], bench.run, lambda: 0.0)
    assert str(portals.find(FAR, forward, local)) == told
    assert portals.passed == (told == "None")


def test_on_demand_there_are_as_many_as_ports(caplog: pytest.LogCaptureFixture) -> None:
    """Each place of the range has its own port, if that is free, also when it is asked for again."""
    more, ports = ranged(2)

    async def opening() -> None:
        async with Bench(more) as bench:
            assert bench.find("10.1.0.3") == bench.find("10.1.0.3") == Address("127.0.0.1", ports[1])
            assert bench.find("10.1.0.5") == Address("127.0.0.1", ports[0])
            assert bench.find("10.1.0.7") is bench.find("10.1.0.7") is None
            assert set(bench.opened()) == {"10.1.0.3:3260", "10.1.0.5:3260"}
            bench.portals.close()
            await bench.closed()
            assert bench.find("10.1.0.3") == Address("127.0.0.1", ports[1])
            assert bench.find("10.1.0.9") is None

    asyncio.run(opening())
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "10.1.0.7:3260 passes as it is" in warning
    assert "(all are in use)" in warning
    assert "give it more ports" in warning


def test_each_forward_opens_its_own() -> None:
    """Two fabrics, and one range behind both: nobody is sent to the other fabric's address. Without one, to that."""
    more, ports = ranged(1)
    beside = f'[[forward]]\nname = "two"\nlisten = "127.0.0.2:3260"\npeer = "west"\nexport = "array"\n{more}'
    without = '[[forward]]\nname = "three"\nlisten = "127.0.0.3:3260"\npeer = "west"\nexport = "array"\n'

    async def opening() -> None:
        async with Bench(more + beside + without) as bench:
            one, two, three = bench.forwards
            for forward, host in ((one, "127.0.0.1"), (two, "127.0.0.2"), (one, "127.0.0.1"), (three, "127.0.0.1")):
                assert bench.portals.find(FAR, forward, host) == Address(host, ports[0])
            assert [each.listen for each in bench.portals.status()] == [f"127.0.0.{n}:{ports[0]}" for n in (1, 2)]

    asyncio.run(opening())


def test_a_port_that_others_have_is_left_out() -> None:
    more, ports = ranged(2)

    async def opening() -> None:
        async with Bench(more) as bench:
            assert bench.find("10.1.0.2") == Address("127.0.0.1", ports[1])

    with socket.create_server(("127.0.0.1", ports[0])):
        asyncio.run(opening())


def test_ports_are_tried_again_after_a_second() -> None:
    more, ports = ranged(1)

    async def trying() -> None:
        async with Bench(more) as bench:
            with socket.create_server(("127.0.0.1", ports[0])):
                assert bench.find("10.1.0.2") is None
            assert bench.find("10.1.0.2") is None
            bench.portals.sample()
            assert bench.find("10.1.0.2") == Address("127.0.0.1", ports[0])

    asyncio.run(trying())


def test_while_the_site_is_stopped_nothing_closes() -> None:
    """Who has connected meanwhile waits to be accepted, and would be reset."""
    more, ports = ranged(1)

    async def waking() -> None:
        async with Bench(more) as bench:
            bench.find("10.1.0.2")
            bench.pass_until(10.0)
            bench.now = 3600.0
            bench.portals.sample()
            assert bench.opened()
            await visit(ports[0])
            bench.pass_until(3659.0)
            assert bench.opened()
            bench.pass_until(3661.0)
            assert not bench.opened()
            await bench.closed()

    asyncio.run(waking())


def test_what_nobody_asks_for_closes() -> None:
    more, ports = ranged(1)

    async def idling() -> None:
        async with Bench(more) as bench:
            bench.find("10.1.0.2")
            bench.pass_until(40.0)
            bench.find("10.1.0.2")
            bench.pass_until(99.0)
            assert bench.opened()
            await visit(ports[0])
            bench.portals.sample()
            bench.pass_until(158.0)
            assert bench.opened()
            bench.pass_until(160.0)
            assert not bench.opened()
            await bench.closed()
            with pytest.raises(ConnectionRefusedError):
                await visit(ports[0])
            assert bench.find("10.1.0.3") == Address("127.0.0.1", ports[0])

    asyncio.run(idling())


async def visit(port: int) -> None:
    """Connect; without a tunnel the forward resets that, perhaps at once."""
    with suppress(ConnectionResetError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        await reader.read()


@pytest.mark.parametrize(
    ("more", "old", "words"),
    [
        (lambda: "", False, 'give a forward portal = "10.9.0.1:3260", or range and ports'),
        (lambda: ranged(1, "10.9.0.0/24")[0], True, "the peer's version knows no ranges"),
        (lambda: ranged(1)[0], False, 'give a forward portal = "10.9.0.1:3260"'),
    ],
)
def test_without_a_way_the_address_passes_and_is_warned_of_once(
    caplog: pytest.LogCaptureFixture, more: Callable[[], str], old: bool, words: str
) -> None:
    bench = Bench(more(), old=old)
    assert bench.find("10.9.0.1") is bench.find("10.9.0.1") is None
    (warning,) = caplog.messages
    assert "10.9.0.1:3260 passes as it is" in warning
    assert "go around the proxy" in warning
    assert words in warning
    assert (bench.portals.rewritten, bench.portals.passed) == (0, 2)


def test_warnings_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    for number in range(1000):
        bench.find(f"10.9.{number // 250}.{number % 250}")
    assert bench.portals.passed == 1000
    assert len(caplog.messages) == 257
    assert caplog.messages[-1].endswith("(no others of this peer are told)")


def test_of_a_connection(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is replaced where the forward says so."""
    bench = Bench('portal = "10.1.0.5:3260"\n')
    seen = bench.portals.seen_by(bench.forward)("127.0.0.1")
    assert seen is not None
    assert seen.instead(Portal("10.1.0.5", 3260)) == Portal("127.0.0.1", 3260)
    assert seen.instead(Portal("10.1.0.6", 3260)) is None
    assert bench.portals.rewritten == 0  # it may turn out that there is no room
    seen.replaced(2)
    assert bench.portals.rewritten == 2
    seen.passed("an address is split over two PDUs")
    assert "passes forward replication as it is (an address is split over two PDUs)" in caplog.messages[-1]
    silent = Bench('rewrite = false\nportal = "10.1.0.5:3260"\n')
    assert silent.portals.seen_by(silent.forward)("127.0.0.1") is None


def test_what_a_changed_forward_has_opened_is_closed() -> None:
    more, ports = ranged(2)

    async def scene() -> None:
        async with Bench(more) as bench:
            assert bench.find("10.1.0.5") == Address("127.0.0.1", ports[1])
            bench.change(more + 'priority = "high"\n')
            assert list(bench.opened()) == ["10.1.0.5:3260"], "its share alone was changed"
            bench.change(more.replace("10.1.0.0/24", "10.1.0.4/30"))
            assert bench.opened() == {}
            assert bench.find("10.1.0.5") is not None
            assert bench.find("10.1.0.9") is None, "the range is the new one"
            bench.change('portal = "10.1.0.5:3260"\n')
            assert bench.opened() == {}
            assert bench.find("10.1.0.5") == Address("127.0.0.1", 3260)

    asyncio.run(scene())
