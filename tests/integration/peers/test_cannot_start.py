"""`isthmus serve` that cannot start says all that is wrong, each with its remedy, and ends with the right code."""

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.sites import Site, environment, free_port
from proxy.errors import ExitCode
from tests.certificates import make
from tests.integration.bed.forked import isthmus
from tests.integration.bed.sites import Bed, Forward, drain
from tests.integration.peers.stage import listening
from tests.patience import PATIENCE


def serve(config: Path) -> tuple[int, str]:
    """Exit code and what was said."""
    done = isthmus("serve", str(config))
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def site(bed: Bed) -> Site:
    """Listens for tunnels and for an array."""
    forward = Forward("array", "east")
    tunnel = {"listen": f"127.0.0.1:{free_port()}"}
    return bed.site("west", {"east": None}, forwards=[forward], tunnel=tunnel, store={"mode": "disk"})


def test_all_ports_that_are_in_use(bed: Bed) -> None:
    west = site(bed)
    forward = west.config.read_text().split("[[forward]]")[1].split('"')[3]
    host, _, port = forward.rpartition(":")
    with socket.create_server(listening(west)), socket.create_server((host, int(port))):
        code, said = serve(west.config)
    assert code == ExitCode.LISTEN
    for named in ("tunnel.listen", "forward 'array' listen", forward, "in use", "says by whom"):
        assert named in said, said


def test_a_status_port_that_is_in_use(bed: Bed) -> None:
    """It is seen before the store is opened, and before anybody is served or called."""
    west = site(bed)
    with socket.create_server(("127.0.0.1", west.status_port)):
        code, said = serve(west.config)
    assert code == ExitCode.LISTEN
    assert f"status.listen = 127.0.0.1:{west.status_port}" in said
    assert not (bed.directory / "west-store").exists()
    west.start()
    west.wait_ready()
    drain(west)


def test_another_start_of_a_site_that_runs_harms_nothing(bed: Bed) -> None:
    """Not even if only its status address is taken: it has called nobody in the other's name."""
    with bed.pair(("127.0.0.1", free_port())).running() as pair:
        other = pair.east.config.with_name("other.toml")
        forward = f"127.0.0.1:{pair.entrance[1]}"
        other.write_text(pair.east.config.read_text().replace(forward, f"127.0.0.1:{free_port()}"))
        code, said = serve(other)
        assert code == ExitCode.LISTEN
        assert f"status.listen = 127.0.0.1:{pair.east.status_port}" in said
        assert pair.west.log.read_text().count("is up") == 1


def test_a_defect_ends_the_site_with_a_code_of_its_own(bed: Bed) -> None:
    """So a service manager starts it again."""
    west = site(bed)
    script = f"""
from proxy.net.site import Site
async def upkeep(self): raise ArithmeticError("on purpose")
Site._upkeep = upkeep
from proxy.cli import main
import sys
sys.argv = ["isthmus", "serve", {str(west.config)!r}]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == ExitCode.DEFECT, done.stderr
    assert "a defect, the site has to stop: on purpose" in done.stderr


def test_an_address_of_another_host(bed: Bed) -> None:
    west = site(bed)
    west.config.write_text(west.config.read_text().replace("127.0.0.1:", "192.0.2.77:", 1))
    code, said = serve(west.config)
    assert code == ExitCode.LISTEN
    assert "192.0.2.77" in said


def expire(directory: Path) -> None:
    make(directory / "west", "west", days=(-9, -1))


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "a key that others can read": (lambda here: (here / "west.key").chmod(0o640), "chmod 600"),
    "no key": (lambda here: (here / "west.key").unlink(), "identity.key"),
    "a certificate that has expired": (expire, "has expired"),
    "a pin that is no certificate": (lambda here: (here / "east.crt").write_text("?"), "peer[0].certificate"),
    "a pin of its own": (lambda here: (here / "east.crt").write_bytes((here / "west.crt").read_bytes()), "own"),
}


@pytest.mark.parametrize("what", SPOILT)
def test_files_that_cannot_be_used(bed: Bed, what: str) -> None:
    spoil, named = SPOILT[what]
    west = site(bed)
    spoil(bed.directory)
    code, said = serve(west.config)
    assert code == ExitCode.CONFIGURATION
    assert named in said, said


def test_many_mistakes_at_once(bed: Bed) -> None:
    """A wrong unit, an unknown key, a public status page, an unknown peer, a duplicate: none hides another."""
    west = site(bed)
    text = west.config.read_text()
    text = text.replace("[tunnel]\n", '[tunnel]\ngrace = "five minutes"\nkeepalife = "5s"\n')
    text = text.replace(f"127.0.0.1:{west.status_port}", f"0.0.0.0:{west.status_port}")
    text = text.replace('size = "64MiB"', 'size = "64 parsecs"').replace('peer = "east"', 'peer = "eest"')
    west.config.write_text(text)
    (bed.directory / "west.key").chmod(0o644)
    code, said = serve(west.config)
    assert code == ExitCode.CONFIGURATION
    assert "6 mistakes" in said, said
    for named in (
        "tunnel.grace",
        "five minutes",
        "keepalife",
        "keepalive",
        "store.size",
        "64 parsecs",
        "status.listen",
        "loopback",
        "forward[0].peer",
        "east",
        "chmod 600",
    ):
        assert named in said, (named, said)


@pytest.mark.parametrize("content", [None, b"", b"[site", b"\xff\xfe", b"site = 3\n"], ids=repr)
def test_files_that_are_no_configuration(bed: Bed, content: bytes | None) -> None:
    config = bed.directory / "site.toml"
    if content is not None:
        config.write_bytes(content)
    code, said = serve(config)
    assert code == ExitCode.CONFIGURATION
    assert "site.toml" in said
