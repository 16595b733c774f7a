"""New certificates come into use by SIGHUP, under load, and no stream drops; broken ones do not come into use at all.

East gets a new key and certificate and west the new pin, in either order. When west has the new pin, the lane that the
old certificate opened ends, and comes back as soon as east has the new one, while the stream waits. Whatever is wrong
with new files, the old ones stay in use, and an alarm says what to put right.
"""

import shutil
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from bench.sites import Site, free_port
from tests.certificates import SERVER, make
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, held, receipt, send, whole
from tests.integration.bed.sites import Bed, drain, ends, eventually, logged, run
from tests.integration.bed.wire import Wire
from tests.integration.peers.stage import says
from tests.patience import PATIENCE

WRITE = 1 << 16


@pytest.mark.parametrize("first", ["east", "west"])
def test_new_certificates_under_load(bed: Bed, first: str) -> None:
    content = volume("under load", 64 << 20)
    reloaded = threading.Event()
    halfway = held(len(content) // WRITE // 2, reloaded)

    with Array() as array, ThreadPoolExecutor() as threads:
        pair = bed.pair(array.address, tunnel={"reconnect_max": "500ms"})
        run(*pair.sites)
        sending = threads.submit(send, cut(content, WRITE), pair.entrance, halfway)
        array.arrival()
        make(bed.directory / "east", "east")
        for site in sorted(pair.sites, key=lambda site: site.name != first):
            hang_up(site)
            says(site, "read anew")
        says(pair.west, "the certificate of this lane is no longer trusted")
        for site in pair.sites:
            logged(site, "resumed on lane")
            logged(site, 'with 1 stream"')
        reloaded.set()
        whole(receipt(content), sending.result(PATIENCE))
        assert pair.east.status()["peers"][0]["lanes"][0]["number"] > 1
        drain(*pair.sites)


def swap_key(east: Path) -> None:
    """The key of another certificate."""
    make(east.with_name("another"), "another")
    shutil.copy(east.with_name("another.key"), east.with_suffix(".key"))


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "no certificate at all": (lambda east: east.with_suffix(".crt").write_text("not PEM"), "identity.certificate"),
    "of another key": (swap_key, "does not belong"),
    "expired": (lambda east: make(east, "east", days=(-9, -1)), "has expired"),
    "for servers only": (lambda east: make(east, "east", purposes=(SERVER,)), "client authentication"),
    "a key that all can read": (lambda east: east.with_suffix(".key").chmod(0o644), "chmod 600"),
    "no key": (lambda east: east.with_suffix(".key").unlink(), "identity.key"),
}


def test_broken_certificates_stay_out_of_use(bed: Bed) -> None:
    content = volume("all the while", 1 << 20)
    east = bed.directory / "east"
    with Array() as array:
        pair = bed.pair(array.address)
        copy(east, bed.directory / "sound")
        run(*pair.sites)
        for what, (spoil, said) in BROKEN.items():
            spoil(east)
            hang_up(pair.east)
            pair.east.wait_for(lambda said=said: said in problem(pair.east), f"accepts a certificate {what}")  # type: ignore[misc]
            sending = send(cut(content, WRITE), pair.entrance)
            whole(receipt(content), sending, why=partial(str, what))
            copy(bed.directory / "sound", east)
        hang_up(pair.east)
        pair.east.wait_for(lambda: not problem(pair.east), "still has an alarm")
        assert pair.east.status()["peers"][0]["outages"] == 0
        drain(*pair.sites)


@pytest.mark.parametrize("name", ["east", "west"])
def test_an_outage_while_the_files_are_half_written(bed: Bed, name: str) -> None:
    """Lanes come up again with what is in use, before SIGHUP and after it, and streams go on."""
    content = volume("through an outage", 1 << 20)
    listening = "127.0.0.1", free_port()
    with Array() as array, Wire(listening) as wire:
        pair = bed.pair(array.address, tunnel_address=listening, dialled=wire.address)
        run(*pair.sites)
        site = getattr(pair, name)

        def lose_the_line(number: int) -> None:
            if number == 2:
                wire.cut()
            if number == 4:
                hang_up(site)
                site.wait_for(lambda: "the old ones stay in use" in problem(site), "takes over half of a file")
                eventually(site, "peers.0.resumed", 1)
                wire.cut()

        for file in (bed.directory / f"{name}.key", bed.directory / f"{name}.crt", site.config):
            file.write_text(file.read_text()[: file.stat().st_size // 2])
        sending = send(cut(content, WRITE), pair.entrance, lose_the_line)
        whole(receipt(content), sending, why=partial(ends, site))
        eventually(site, "peers.0.resumed", 2)
        drain(*pair.sites)


def copy(one: Path, other: Path) -> None:
    """A certificate and its key."""
    for kind in (".crt", ".key"):
        other.with_suffix(kind).unlink(missing_ok=True)
        shutil.copy(one.with_suffix(kind), other.with_suffix(kind))


def problem(site: Site) -> str:
    """The alarm about certificates that cannot be used, or nothing."""
    return "".join(alarm for alarm in site.status()["alarms"] if "the old ones stay in use" in alarm)


def hang_up(site: Site) -> None:
    """SIGHUP: read the certificates anew."""
    site.signal(signal.SIGHUP)
