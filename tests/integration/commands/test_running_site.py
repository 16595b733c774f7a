"""What an operator types at a running site: events, reload, drain, over TLS with tokens as well.

Each command is typed at least once; what asks again is forked.
"""

import json
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest

from bench.sites import Site, environment, isthmus
from tests.certificates import make
from tests.integration.bed import forked
from tests.integration.bed.ends import Array
from tests.integration.bed.sites import Bed, Pair, run
from tests.patience import PATIENCE

TUNNEL_UP, TUNNEL_DOWN = "IST-101", "IST-102"


def typed(command: str, site: Site, *more: str) -> "subprocess.CompletedProcess[str]":
    """A command, once it has ended."""
    words = isthmus(command, str(site.config), *more)
    return subprocess.run(words, env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE)


def at_once(command: str, site: Site, *more: str) -> "subprocess.CompletedProcess[str]":
    """Likewise, but forked."""
    return forked.isthmus(command, str(site.config), *more)


def codes(site: Site) -> list[str]:
    """Of the events that the site tells of, oldest first."""
    shown = at_once("events", site, "--json")
    assert shown.returncode == 0, shown.stderr
    return [json.loads(line)["code"] for line in shown.stdout.splitlines()]


def test_events_of_a_tunnel_that_goes(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address, tunnel={"drain": "0s"})
        run(*pair.sites)
        pair.east.wait_for(lambda: TUNNEL_UP in codes(pair.east), "tells of no tunnel")
        pair.west.kill()
        pair.east.wait_for(lambda: TUNNEL_DOWN in codes(pair.east), "does not tell that it is gone")
        shown = typed("events", pair.east, "--since", "1h").stdout
        assert "the tunnel to west is up" in shown
        assert "→ " in shown
        assert at_once("events", pair.east, "--since", "2100-01-01").stdout == ""


def test_drain_ends_it_in_order(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address)
        run(*pair.sites)
        done = typed("drain", pair.east, "--wait")
        assert done.returncode == 0, done.stderr
        assert "east has ended" in done.stdout
        assert pair.east.stop() == 0
        assert at_once("drain", pair.east).returncode == 4


def test_reload_says_what_is_wrong(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address, tunnel={"drain": "0s"})
        run(*pair.sites)
        assert typed("reload", pair.east).returncode == 0
        (bed.directory / "west.crt").write_text("spoiled")
        kept = at_once("reload", pair.east)
        assert kept.returncode == 1
        assert "east keeps what it had: " in kept.stderr
        assert "west.crt" in kept.stderr


def secured(pair: Pair, directory: Path) -> Site:
    """East, with a status listener that asks for TLS and tokens."""
    make(directory / "listener", "east", days=(-1, 400))
    for name in ("reading", "control"):
        (directory / name).write_text(f"{name}-0123456789abcdef\n")
        (directory / name).chmod(0o600)
    keys = 'certificate = "listener.crt"\nkey = "listener.key"\ntoken = "reading"\ncontrol_token = "control"\n'
    text = pair.east.config.read_text()
    pair.east.config.write_text(text.replace("[status]\n", f"[status]\n{keys}"))
    return pair.east


def test_over_tls_with_tokens(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address, tunnel={"drain": "0s"})
        east = secured(pair, bed.directory)
        east.start()
        east.wait_for(lambda: at_once("status", east).returncode == 0, "does not answer")
        assert at_once("events", east).returncode == 0
        assert at_once("reload", east).returncode == 0
        (bed.directory / "control").write_text("another-0123456789abcdef")
        refused = at_once("drain", east)
        assert refused.returncode == 1
        assert f"it does not know the token in {bed.directory / 'control'}, and may still" in refused.stderr
        make(bed.directory / "listener", "east", days=(-1, 400))
        mistaken = typed("status", east)
        assert mistaken.returncode == 4
        assert "it shows another certificate than status.certificate; if that was replaced, have" in mistaken.stderr
        assert "running?" not in mistaken.stderr
        east.signal(signal.SIGHUP)
        east.wait_for(lambda: at_once("status", east).returncode == 0, "does not answer")
        assert "-0123456789abcdef" not in refused.stderr + mistaken.stderr


def bundled(site: Site, output: Path) -> dict[str, bytes]:
    """The parts of a new support bundle."""
    made = typed("support-bundle", site, "-o", str(output))
    assert made.returncode == 0, made.stderr
    with tarfile.open(output) as archive:
        files = {member.name.partition("/")[2]: archive.extractfile(member) for member in archive.getmembers()}
        return {name: file.read() for name, file in files.items() if file is not None}


@pytest.mark.typed("east")
def test_a_support_bundle_of_a_site_that_runs_and_then_does_not(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address)
        with pair.running():
            parts = bundled(pair.east, bed.directory / "first.tar.gz")
            tunnel_up = codes(pair.east)
        assert b"proxy." in parts["log.txt"]
        assert {"health.json", "history-1h.json", "metrics.txt", "doctor.json"} <= set(parts)
        assert b"isthmus_" in parts["metrics.txt"]
        down = bundled(pair.east, bed.directory / "second.tar.gz")
        assert "status.json" not in down
        assert set(tunnel_up) <= {event["code"] for event in json.loads(down["events.json"])}
        secret = [line for line in (bed.directory / "east.key").read_bytes().splitlines() if b"-----" not in line]
        for content in (*parts.values(), *down.values()):
            assert b"PRIVATE KEY" not in content
            assert not [line for line in secret if line in content]
