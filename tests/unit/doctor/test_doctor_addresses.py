"""Listen addresses and exports: each finding with its remedy."""

import errno
import os
import shlex
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from proxy.config.addresses import Address
from proxy.doctor.addresses import export, listener, silence
from proxy.doctor.facts import Bound, Contact, Reach, Running
from proxy.doctor.findings import Finding, Level
from proxy.net.probing import try_to_bind
from tests.patience import PATIENCE

UNIT = Path(__file__).parents[3] / "deploy" / "systemd" / "isthmus@.service"
HERE, ARRAY = Address("127.0.0.1", 3260), Address("10.1.0.5", 3260)


def judged(error: int, running: Running = Running.NOT) -> Finding:
    bound = Bound(error, os.strerror(error) if error else "")
    return listener("forward array", "forward.listen", HERE, bound, running)


def test_a_free_address() -> None:
    assert (judged(0).level, judged(0).found) == (Level.OK, "127.0.0.1:3260 is free")


def test_an_address_that_the_running_site_has() -> None:
    finding = judged(errno.EADDRINUSE, Running.ANSWERS)
    assert (finding.level, finding.found) == (Level.OK, "127.0.0.1:3260 is in use, by the running site")


def test_an_address_that_the_running_site_should_have() -> None:
    finding = judged(0, Running.ANSWERS)
    assert (finding.level, finding.remedy) == (Level.PROBLEM, "isthmus reload")
    finding = listener("tunnel listener", "tunnel.listen", HERE, Bound(0, ""), Running.ANSWERS)
    assert (finding.level, finding.remedy) == (Level.PROBLEM, "restart the site")


@pytest.mark.parametrize("running", Running)
@pytest.mark.parametrize(
    ("error", "found", "remedy"),
    [
        (errno.EADDRNOTAVAIL, "is not an address of this host", "write an address that `ip address` lists"),
        (errno.EACCES, "may not be used by this user", "use a port from 1024 on as forward.listen; or give all users"),
        (errno.EAFNOSUPPORT, "cannot be used: Address family", "write another address as forward.listen"),
    ],
)
def test_an_address_that_cannot_be_had(error: int, found: str, remedy: str, running: Running) -> None:
    finding = judged(error, running)
    assert finding.level is Level.PROBLEM
    assert found in finding.found
    assert remedy in finding.remedy


def test_a_port_below_1024_needs_no_capability_of_a_unit_that_has_none() -> None:
    """Within PrivateUsers= one would be of no use, and the bounding set is empty; the kernel's setting is enough."""
    bound = Bound(errno.EACCES, os.strerror(errno.EACCES))
    finding = listener("forward array", "forward.listen", Address("127.0.0.1", 860), bound, Running.NOT)
    assert "'net.ipv4.ip_unprivileged_port_start = 860' >>" in finding.remedy
    assert "CapabilityBoundingSet=\n" in UNIT.read_text()
    assert "Capabilities=CAP" not in finding.remedy


@pytest.mark.parametrize(
    ("key", "host", "end"),
    [
        ("tunnel.listen", "198.18.0.1", "tunnel.listen, or 0.0.0.0:4500 for all"),
        ("tunnel.listen", "2001:db8::1", "tunnel.listen, or [::]:4500 for all"),
        ("status.listen", "2001:db8::1", "status.listen"),
    ],
)
def test_all_addresses_are_those_of_the_same_kind(key: str, host: str, end: str) -> None:
    """0.0.0.0 would answer nobody with IPv6; and a status listener on all would be refused as it stands."""
    bound = Bound(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    finding = listener("listener", key, Address(host, 4500), bound, Running.NOT)
    assert finding.remedy == f"write an address that `ip address` lists as {end}"


def test_an_address_that_another_program_has() -> None:
    finding = judged(errno.EADDRINUSE)
    assert finding.level is Level.PROBLEM
    assert finding.remedy.startswith("ss -tanp 'sport = :3260' says by whom")


@pytest.mark.skipif(shutil.which("ss") is None, reason="ss is not installed (iproute2)")
def test_a_port_that_a_connection_has_is_found_by_what_is_advised() -> None:
    """Of the kernel's own choice for who connects: nobody listens there, and yet it cannot be had."""
    with socket.create_server(("127.0.0.1", 0)) as array, socket.create_connection(array.getsockname()) as connection:
        address = Address("127.0.0.1", connection.getsockname()[1])
        bound = try_to_bind(address)
        assert bound.error == errno.EADDRINUSE
        finding = listener("forward replication", "forward.listen", address, bound, Running.NOT)
        command, _, _ = finding.remedy.partition(" says by whom")
        told = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True, timeout=PATIENCE)
        assert str(address) in told.stdout


def test_the_addresses_of_a_site_that_does_not_answer() -> None:
    assert judged(0, Running.SILENT).found == "127.0.0.1:3260 is free"
    finding = judged(errno.EADDRINUSE, Running.SILENT)
    assert (finding.level, finding.remedy) == (Level.OK, "")
    assert "it seems by the site that does not answer" in finding.found


def test_a_site_that_does_not_answer() -> None:
    hung, busy = silence(4711, "no answer", hangs=True), silence(4711, "refused", hangs=False)
    assert "it seems to run as process 4711 and does not answer: no answer" in hung.found
    assert "kill -KILL 4711" in hung.remedy
    assert "kill" not in busy.remedy
    assert silence(0, "no answer", hangs=True).found == "no answer"


def test_an_export_that_answers() -> None:
    finding = export("array", ARRAY, Reach(Contact.ACCEPTED, round_trip=0.0005))
    assert (finding.level, finding.found) == (Level.OK, "10.1.0.5:3260 accepts connections, 0.5 ms away")


@pytest.mark.parametrize(
    ("reach", "found", "remedy"),
    [
        (Reach(Contact.REFUSED), "10.1.0.5:3260: connection refused", "start the array's target there"),
        (Reach(Contact.TIMEOUT), "10.1.0.5:3260: no answer", "no firewall drops: ip route get 10.1.0.5"),
        (Reach(Contact.NO_NAME, "unknown"), "cannot be resolved (unknown)", "getent hosts 10.1.0.5"),
        (Reach(Contact.UNREACHABLE, "no route"), "cannot be reached (no route)", "ip route get 10.1.0.5"),
    ],
)
def test_an_export_that_does_not(reach: Reach, found: str, remedy: str) -> None:
    finding = export("array", ARRAY, reach)
    assert (finding.about, finding.level) == ("export array", Level.PROBLEM)
    assert found in finding.found
    assert remedy in finding.remedy
