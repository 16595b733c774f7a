"""Discovery and redirection end on this side of the pair, with a real target and libiscsi's tools.

A group address sends every login on to a member, which is tgt; that is how some arrays balance their load. Without the
pair's doing initiators would then go around it. Needs root, tgt and libiscsi's tools.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.array import IQN, IscsiTarget
from bench.sites import Address, Site, free_ports
from proxy.iscsi.pdu import Opcode
from tests.integration.bed.ends import connect
from tests.integration.bed.sites import Bed, Pair, configure, drain, eventually, logged, run, text_of
from tests.integration.iscsi.group import Group
from tests.patience import PATIENCE
from tests.unit.iscsi.pdus import login, text

pytestmark = [pytest.mark.root, pytest.mark.serial]

GROUP, MEMBER = "127.0.0.2", "127.0.0.3"
PORTS = 4


@pytest.fixture
def target(site_directory: Path) -> Iterator[IscsiTarget]:
    """With a second portal, which is the group's member."""
    if lacking := IscsiTarget.lacking() or ("" if shutil.which("iscsi-inq") else "not installed: iscsi-inq"):
        pytest.skip(lacking)
    with IscsiTarget(site_directory, [1 << 20]) as target:
        portal = f"portal={MEMBER}:{target.address[1]}"
        command = ["tgtadm", "--lld", "iscsi", "--op", "new", "--mode", "portal", "--param", portal]
        subprocess.run(command, env={**os.environ, "TGT_IPC_SOCKET": str(site_directory / "tgtd")}, check=True)
        yield target


@pytest.fixture
def group(target: IscsiTarget) -> Iterator[Group]:
    """Names itself and both portals of tgt."""
    port = target.address[1]
    portals = [(GROUP, port), target.address, (MEMBER, port)]
    with Group((GROUP, port), IQN, (MEMBER, port), portals) as group:
        yield group


def test_a_configured_portal(bed: Bed, target: IscsiTarget) -> None:
    """Discovery names the forward, and what is behind it is reached through it."""
    pair = bed.pair(target.address)
    configure(pair.east, "forward", f'portal = "{text_of(target.address)}"\n')
    run(*pair.sites)
    direct, through = listed(target.address), listed(pair.entrance)
    assert through == direct.replace(text_of(target.address), text_of(pair.entrance))
    assert "DIRECT_ACCESS" in through
    assert portals(pair.east) == {"rewritten": 1, "passed": 0}
    assert on_demand(pair.east) == []
    drain(*pair.sites)


def test_portals_on_demand(bed: Bed, target: IscsiTarget, group: Group) -> None:
    """A login is sent on to a forward that was not there before; it outlives SIGHUP, closes when idle, and drains."""
    pair, ports = with_range(bed, target, group, idle="10s")
    run(*pair.sites)
    direct = inquired(target.address)
    assert inquired(pair.entrance) == direct
    (opened,) = on_demand(pair.east)
    assert opened["portal"] == f"{MEMBER}:{target.address[1]}"
    assert opened["accepted"] == 1
    here: Address = ("127.0.0.1", int(opened["listen"].rpartition(":")[2]))
    assert here[1] in ports
    pair.east.signal(signal.SIGHUP)
    assert inquired(here) == direct
    eventually(pair.east, "peers.0.on_demand", [])
    assert inquired(pair.entrance) == direct
    assert on_demand(pair.east)[0]["listen"] == opened["listen"]
    named = {line.rpartition(" Portal:")[2] for line in listed(pair.entrance).splitlines() if "Portal:" in line}
    assert named == {f"{address},1" for address in (text_of(pair.entrance), *listening(pair.east))}
    assert {each["portal"] for each in on_demand(pair.east)} == {text_of(target.address), opened["portal"]}
    assert portals(pair.east)["passed"] == 0
    with connect(here) as live:
        eventually(pair.east, "peers.0.streams", 1)
        for site in pair.sites:
            site.signal(signal.SIGTERM)
        pair.east.wait_for(lambda: refuses(here), "still accepts connections", PATIENCE)
        live.sendall(login(text(InitiatorName="iqn.2024-01.org.example:a", SessionType="Discovery")))
        assert live.recv(48)[0] == Opcode.LOGIN_RESPONSE
    drain(*pair.sites)


def test_without_a_mapping(bed: Bed, target: IscsiTarget, group: Group) -> None:
    """The address passes, so the initiator goes around; each is warned of once."""
    pair = bed.pair(group.address)
    run(*pair.sites)
    assert inquired(pair.entrance) == inquired(pair.entrance) == inquired(target.address)
    logged(pair.east, "will go around the proxy")
    warned = [line for line in pair.east.log.read_text().splitlines() if "go around the proxy" in line]
    assert len(warned) == 1
    assert f'portal = \\"{MEMBER}:{target.address[1]}\\"' in warned[0]
    assert portals(pair.east) == {"rewritten": 0, "passed": 2}
    drain(*pair.sites)


def test_the_other_site_does_not_export_the_range(bed: Bed, target: IscsiTarget, group: Group) -> None:
    """What it does not name is not reached, whatever this side asks for."""
    pair, _ = with_range(bed, target, group, exported=False)
    run(*pair.sites)
    tried = subprocess.run(["iscsi-inq", url(pair.entrance)], capture_output=True, timeout=PATIENCE, check=False)
    assert tried.returncode
    logged(pair.east, "is not in a range of export array")
    logged(pair.west, "is not in a range of export array")
    drain(*pair.sites)


def with_range(
    bed: Bed,
    target: IscsiTarget,
    group: Group,
    *,
    idle: str = "1h",
    exported: bool = True,
) -> tuple[Pair, range]:
    """East's forward stands for the group's address, and opens others; the ports that it has for that."""
    pair = bed.pair(group.address)
    ports = free_ports(PORTS)
    network = f'range = "127.0.0.0/29:{target.address[1]}"\n'
    own = f'portal = "{text_of(group.address)}"\nports = "{ports[0]}-{ports[-1]}"\nidle = "{idle}"\n'
    configure(pair.east, "forward", network + own)
    if exported:
        configure(pair.west, "export", network)
    return pair, ports


def listed(address: Address) -> str:
    """Targets and units that a portal's discovery leads to."""
    command = ["iscsi-ls", "-s", f"iscsi://{text_of(address)}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout


def inquired(address: Address) -> str:
    """What the unit says of itself."""
    command = ["iscsi-inq", url(address)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout


def url(address: Address) -> str:
    return f"iscsi://{text_of(address)}/{IQN}/1"


def portals(site: Site) -> dict[str, int]:
    found: dict[str, int] = site.status()["peers"][0]["portals"]
    return found


def on_demand(site: Site) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = site.status()["peers"][0]["on_demand"]
    return found


def refuses(address: Address) -> bool:
    try:
        connect(address).close()
    except ConnectionRefusedError:
        return True
    return False


def listening(site: Site) -> list[str]:
    return [each["listen"] for each in on_demand(site)]
